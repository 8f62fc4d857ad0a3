# cython: cdivision=True
# Estimated times of the routes, in nanoseconds, by the numbers of the machine (common/machine.pxd).
from common.codes cimport MOMENTS, POWERS
from common.items cimport CACHE_LINE
from common.machine cimport shared
from common.routes cimport BLOCKS, DIRECT, N_ROUTES, NEVER, PARTITION, PRIVATE
from common.threads cimport TASKS_PER_THREAD, region_ns
from segments.job cimport Job, number_bytes
from segments.merge cimport may_regroup
from segments.routes cimport can_tile, pieces_of

cdef extern from *:
    """
    #define GS_STEP_NS 0.3  /* of an element, whose accumulator is near */
    #define GS_LEAST_GAIN 0.85  /* the time of several threads to that of one, from which they are worth their work */
    """
    double STEP_NS "GS_STEP_NS"
    double LEAST_GAIN "GS_LEAST_GAIN"

cdef struct Choice:
    int route
    int n_threads
    double ns


cdef inline double line_ns(Py_ssize_t table_bytes) noexcept nogil:
    """To reach a cache line of a table."""
    if table_bytes <= shared.machine.l2_bytes:
        return shared.machine.step_l2
    return shared.machine.step_l3 if table_bytes <= shared.machine.l3_bytes else shared.machine.step_memory


cdef inline double position_ns(const Job* job, Py_ssize_t table_bytes) noexcept nogil:
    """To reduce the elements of a position."""
    cdef double steps = 0
    cdef int a
    for a in range(job.n_accumulators):
        steps += 4 if job.accumulators[a] == MOMENTS or job.accumulators[a] == POWERS else 1
    return (job.columns * (steps * STEP_NS + number_bytes(job) / shared.machine.bandwidth)
            + (1 + job.row_bytes // CACHE_LINE) * line_ns(table_bytes))


cdef inline double work_ns(const Job* job) noexcept nogil:
    return position_ns(job, job.n * job.row_bytes) * job.n_units * job.size


cdef inline double tiles_ns(const Job* job, int n_threads) noexcept nogil:
    """Rows of more than one column are read out of order, without help of the hardware's prefetcher."""
    cdef double place = 2 * shared.machine.place + 1
    if job.columns > 1:
        place += 2 * (1 + job.columns * number_bytes(job) // CACHE_LINE) * shared.machine.step_memory
    return (position_ns(job, 0) + place) * job.n_units * job.size / n_threads


cdef inline double slices_ns(const Job* job, int n_threads) noexcept nogil:
    """Each thread reads all ids."""
    return work_ns(job) / n_threads + shared.machine.place * job.n_units * job.size


cdef inline bint takes_slices(const Job* job, int n_threads) noexcept nogil:
    return job.columns > 1 and slices_ns(job, n_threads) < tiles_ns(job, n_threads)


cdef inline Py_ssize_t block_for(const Job* job, int n_threads) noexcept nogil:
    """The length of a block, which is free if the accumulators have the same bits in blocks of any size."""
    if not may_regroup(job):
        return job.block
    return job.size if n_threads == 1 else max(job.block, job.size // (n_threads * TASKS_PER_THREAD))


cdef inline bint has_segments(const Job* job, int n_threads) noexcept nogil:
    """Whether there are enough segments of sorted ids for the threads."""
    return job.is_sorted and job.n >= n_threads * TASKS_PER_THREAD


cdef inline bint can_run(const Job* job, int route, int n_threads) noexcept nogil:
    cdef bint has_blocks = block_for(job, n_threads) < job.size
    cdef Py_ssize_t parts = job.n_units * pieces_of(job, n_threads)
    if n_threads == 1 or route == DIRECT:
        return route == DIRECT and (n_threads == 1 or (
            not has_blocks and (parts >= 2 * n_threads or parts % n_threads == 0)))
    if route == BLOCKS:
        return has_segments(job, n_threads)
    if route == PRIVATE:
        return has_blocks
    return (not has_blocks or may_regroup(job)) and not job.is_sorted and can_tile(job)


cdef inline double route_ns(const Job* job, int route, int n_threads) noexcept nogil:
    cdef double ns = work_ns(job) / n_threads
    if not can_run(job, route, n_threads):
        return NEVER
    if route == PARTITION:
        ns = slices_ns(job, n_threads) if takes_slices(job, n_threads) else tiles_ns(job, n_threads)
    if route == PRIVATE:  # tables are opened and merged
        ns += (job.size // block_for(job, n_threads) + 1) * job.n_units * 2 * job.n * job.row_bytes / (
            shared.machine.bandwidth * n_threads)
    return ns + region_ns(n_threads) * (2 if route == PARTITION or route == PRIVATE else 1)


cdef inline Choice choose(const Job* job, int max_threads, unsigned int routes, int least_threads) noexcept nogil:
    """routes: a mask of those that may be taken; direct can always be."""
    cdef Choice best
    cdef int n_threads = least_threads, route
    cdef double ns
    best.route, best.n_threads, best.ns = DIRECT, 1, NEVER if least_threads > 1 else work_ns(job) * LEAST_GAIN
    while True:
        for route in range(1, <int>N_ROUTES):
            if route == DIRECT or routes >> route & 1:
                ns = route_ns(job, route, n_threads)
                if ns < best.ns:
                    best.route, best.n_threads, best.ns = route, n_threads, ns
        if n_threads >= max_threads:
            return best
        n_threads = min(2 * n_threads, max_threads)
