# OpenMP, or its absence, behind one shim; and how many threads a piece of work is worth.

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
    # Waking a team costs some 2 µs when its threads still spin and some 50 µs when they sleep. A thread
    # is worth it from about 20 µs of work on; below twice that, the call stays on the caller's thread.
    THREAD_NS = 20000
    MAX_TASKS = 1024
    # More tasks than threads, so that a thread that was held up leaves its share to the others.
    TASKS_PER_THREAD = 4


cdef inline int team_size(int limit, double work_ns) noexcept nogil:
    """Threads for some nanoseconds of work.

    limit: the most that may be used; 0 leaves that to OpenMP. A negative one asks for just -limit, however little
    the work: so tests cut small arrays as large ones are cut.
    """
    cdef double worth = work_ns / THREAD_NS
    if limit < 0:
        return min(-limit, <int>MAX_TASKS)
    if limit == 1 or worth < 2:
        return 1
    if limit == 0:
        limit = omp_max_threads()
    limit = min(limit, <int>MAX_TASKS)  # a thread reports into a table of so many places
    return <int>worth if worth < limit else limit
