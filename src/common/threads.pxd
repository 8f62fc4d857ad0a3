# A shim for OpenMP, which a serial build lacks, and the size of the thread team for an amount of work.
#
# A parallel region ends when its last thread does. On a busy machine that thread may wait milliseconds for a CPU, even
# if there is little work. So a team uses only CPUs that other processes leave free, and calls that run at once on
# several Python threads share the CPUs (both on Linux; OMP_DYNAMIC=false turns them off).
#
# OpenMP ends the process if it cannot create a thread. So from time to time, threads are created and joined as a test,
# and a team gets at most as many threads as could be created.
from libc.math cimport sqrt

from common.codes cimport OK
from common.machine cimport shared

cdef extern from "common/load.h":
    enum:
        OPENMP_VERSION "GS_OPENMP"  # as yyyymm; 0 for a serial build
    int omp_max_threads "gs_max_threads" () nogil
    int free_cpus "gs_free_cpus" (int team) nogil
    int begin_call "gs_begin_call" (int limit) nogil
    void note_team "gs_note_team" (int team) nogil
    void end_call "gs_end_call" () nogil
    int possible_threads "gs_possible_threads" (int team) nogil
    void remember_choice "gs_remember_choice" () nogil
    int lowered "gs_lowered" (int limit) nogil

cdef enum:
    MIN_TEAM_NS = 40000         # of work: less is not worth to find out what the machine does
    MAX_TASKS = 1024            # tasks report into arrays of this length
    TASKS_PER_THREAD = 4        # so that dynamic scheduling can balance the load; twice as many of unequal tasks
    # Less work than this, for as few tuples, keeps the GIL. To release it and take it again costs 50 ns, or 200 after
    # many writes. With more tuples, page faults of a memory-mapped file could keep other threads waiting.
    BRIEF_NS = 16000
    BRIEF_TUPLES = 500
    BRIEF_ELEMENTS = 1 << 12    # of segments, in place of both


cdef inline int most_threads(int limit, double work_ns) noexcept nogil:
    """The most threads that a call of so much work may have: no more than there are free CPUs.

    limit: the maximum; 0: OpenMP's choice.
    """
    if shared.forced:
        return possible_threads(min(shared.forced, <int>MAX_TASKS)) if shared.forced > 1 else 1
    if limit == 1 or work_ns < MIN_TEAM_NS:
        return 1
    limit = omp_max_threads() if limit <= 0 else lowered(limit)
    limit = min(limit, <int>MAX_TASKS)
    if limit > 1:
        limit = free_cpus(limit)
    return limit if limit > 1 else 1


cdef inline double region_ns(int n_threads) noexcept nogil:
    """Nanoseconds to start a team and to wait for it, without its work.

    A region ends when its last thread does. If more threads run than there are CPUs, such as those of another library
    that spin, that one waits for its turn.
    """
    if n_threads == 1:
        return 0
    return (shared.machine.region + shared.machine.region_thread * (n_threads - 2)
            + (shared.machine.slice if shared.spinning and n_threads + shared.spinning > shared.n_own else 0))


cdef inline int best_team(int limit, double work_ns) noexcept nogil:
    """The number of threads, up to limit, that does evenly divided work in one region soonest."""
    cdef int n_threads, least
    if limit == 1:
        return 1
    n_threads = <int>max(2.0, min(<double>limit, sqrt(work_ns / max(shared.machine.region_thread, 1.0))))
    least = min(n_threads, shared.n_own - shared.spinning)  # without a wait
    if shared.spinning and least > 1 and work_ns / least + region_ns(least) < work_ns / n_threads + region_ns(
            n_threads):
        n_threads = least
    return n_threads if work_ns / n_threads + region_ns(n_threads) < work_ns else 1


cdef inline int team_size(int limit, double work_ns) noexcept nogil:
    """The number of threads for evenly divided work of this many nanoseconds; limit: as in most_threads."""
    limit = most_threads(limit, work_ns)
    if shared.forced:
        return limit
    limit = best_team(limit, work_ns)
    if limit > 1:
        limit = possible_threads(limit)
        note_team(limit)
    return limit


cdef inline bint may_have_team(int limit, double work_ns) noexcept nogil:
    """Whether a call has enough work for a team: then its limit is that of begin_call, and end_call ends it."""
    return limit != 1 and not shared.forced and work_ns >= MIN_TEAM_NS


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
