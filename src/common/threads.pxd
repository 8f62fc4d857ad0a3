# A shim for OpenMP, which a serial build lacks, and the size of the thread team for an amount of work.
from common.codes cimport OK

cdef extern from *:
    """
    #ifdef _OPENMP
      #include <omp.h>
      #define GS_OPENMP _OPENMP
      static int gs_max_threads(void) { return omp_get_max_threads(); }
    #else
      #define GS_OPENMP 0
      static int gs_max_threads(void) { return 1; }
    #endif
    """
    enum:
        OPENMP_VERSION "GS_OPENMP"  # as yyyymm; 0 for a serial build
    int omp_max_threads "gs_max_threads" () nogil

cdef enum:
    # Waking a thread team costs about 2 µs if its threads still spin, and 50 µs if they sleep. A thread is worth it
    # from about 20 µs of work on. With less than twice that, the call stays on the caller's thread.
    THREAD_NS = 20000
    MAX_TASKS = 1024
    # More tasks than threads, so that dynamic scheduling can balance the load.
    TASKS_PER_THREAD = 4


cdef inline int team_size(int limit, int forced, double work_ns) noexcept nogil:
    """The number of threads for work of this many nanoseconds.

    limit: the maximum; 0: OpenMP's choice. forced: exactly this number, however little the work; 0: not forced.
    """
    cdef double worth = work_ns / THREAD_NS
    if forced:
        return min(forced, <int>MAX_TASKS)
    if limit == 1 or worth < 2:
        return 1
    if limit <= 0:
        limit = omp_max_threads()
    limit = min(limit, <int>MAX_TASKS)  # tasks report into arrays of this length
    return <int>worth if worth < limit else limit


cdef inline Py_ssize_t n_tasks_for(int n_threads) noexcept nogil:
    return min(<Py_ssize_t>(n_threads * TASKS_PER_THREAD), <Py_ssize_t>MAX_TASKS)


cdef inline Py_ssize_t first_error(const Py_ssize_t* status, Py_ssize_t n) noexcept nogil:
    """The status of the first task that found a bad index, or OK."""
    cdef Py_ssize_t i
    for i in range(n):
        if status[i] != OK:
            return status[i]
    return OK


cdef inline Py_ssize_t chunk_start(Py_ssize_t n, Py_ssize_t n_chunks, Py_ssize_t chunk) noexcept nogil:
    """The start of a chunk if n work items are cut into n_chunks of equal size (± 1)."""
    return n // n_chunks * chunk + min(n % n_chunks, chunk)
