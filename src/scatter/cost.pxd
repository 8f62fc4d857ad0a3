# cython: cdivision=True
# The choice of a route and of the number of threads: the least estimated time.
#
# A route's time is a sum of passes. A pass over n updates takes n × ns / T on T threads, or as long as memory needs
# for its bytes; the start and the end of a team cost a region. All routes give the same bits, so a wrong estimate costs
# time only. Where updates go is estimated from a sample of the tuples.
from libc.math cimport pow
from libc.stdint cimport int64_t

from common.codes cimport ASSIGN
from common.items cimport CACHE_LINE, PAGE
from common.machine cimport shared
from common.resolve cimport SKIPPED, resolve_block
from common.routes cimport BLOCKS, DIRECT, N_ROUTES, NEVER, PARTITION, PRIVATE
from common.scratch cimport WINDOW_BYTES
from common.threads cimport region_ns
from common.walk cimport Cursor, seek
from scatter.blocks cimport can_take_blocks, has_scratch_tiles
from scatter.buckets cimport can_partition, record_size
from scatter.direct cimport by_units, can_use_slots, cuts_rows, slots_bytes
from scatter.job cimport Job, must_write_data
from scatter.kernels cimport are_points
from scatter.private cimport can_be_private, private_bytes

cdef enum:
    SAMPLED = 64                # pairs of neighbouring tuples
    GROUPS = 8                  # of them
    PAGES = 1 << 8              # that a result has: of a smaller one, they are smaller. Rows nearer than one are near
    MIN_SAMPLED = 1 << 12       # updates: to apply fewer takes no longer than a sample
    MIN_WORTH = 1 << 16         # updates: with fewer, a sample would take a large part of the time
    WORTH_BLOCKS = 1 << 5       # bytes of a row, for one thread to take blocks, of a result that L3 does not hold

cdef extern from *:
    """
    #define GS_REPEATS 0.8  /* share of tuples: fewer, and the ends of runs are mispredicted too often */
    """
    double REPEATS "GS_REPEATS"

cdef struct Sample:
    double equal                # the share of tuples whose row is that of the tuple before
    double near                 # the share of tuples whose row is near that of the tuple before
    double share                # of the updates that go to the page that has the most
    double reach[GROUPS]        # bytes that the rows of each eighth of the updates span, ascending

cdef struct Choice:
    int route
    int n_threads
    double ns


cdef inline void insert_number(int64_t* numbers, Py_ssize_t n, int64_t number) noexcept nogil:
    """Insert it into n ascending numbers."""
    while n and numbers[n - 1] > number:
        numbers[n] = numbers[n - 1]
        n -= 1
    numbers[n] = number


cdef inline Sample take_sample(const Job* job) noexcept nogil:
    cdef Sample sample
    cdef int64_t pair[2]
    cdef int64_t rows[SAMPLED]
    cdef int64_t widths[GROUPS]
    cdef Cursor cursor
    cdef Py_ssize_t i, n, seen = 0, near = 0, most = 1, run = 1, repeated = 0
    cdef Py_ssize_t row_bytes = max(job.kernel.row_bytes, 1), first, last
    cdef Py_ssize_t page = max(min(<Py_ssize_t>PAGE, job.n_rows * row_bytes // PAGES) // row_bytes, <Py_ssize_t>1)
    sample.near = sample.equal = sample.share = 0
    for i in range(GROUPS):
        sample.reach[i] = <double>job.n_rows * row_bytes / GROUPS
    if job.walk.n < MIN_SAMPLED:
        return sample
    for i in range(SAMPLED):
        seek(&job.walk, job.walk.n // SAMPLED * i, &cursor)
        resolve_block(&job.tuples, &job.walk, &cursor, 2, False, pair, &n)
        if n != 2 or pair[0] == SKIPPED or pair[1] == SKIPPED:
            continue
        near += -page < pair[1] - pair[0] < page
        repeated += pair[1] == pair[0]
        insert_number(rows, seen, pair[0])
        seen += 1
    if seen < SAMPLED // 2:
        return sample
    for i in range(1, seen):
        run = run + 1 if rows[i] // page == rows[i - 1] // page else 1
        most = max(most, run)
    for i in range(GROUPS):
        first, last = seen * i // GROUPS, seen * (i + 1) // GROUPS
        insert_number(widths, i, rows[min(last, seen - 1)] - rows[first] + 1)
    for i in range(GROUPS):
        sample.reach[i] = <double>widths[i] * row_bytes
    sample.near = <double>near / seen
    sample.equal = <double>repeated / seen
    sample.share = max(0.0, (most - 3.0) / seen)  # of uniform ones, three may meet by chance
    return sample


cdef inline double moved(double n_bytes, int n_threads) noexcept nogil:
    """ns to move bytes; in L3, half as long."""
    cdef double bandwidth = shared.machine.bandwidth
    if n_threads > 1:
        bandwidth *= pow(n_threads, shared.machine.bandwidth_growth)
    return n_bytes / bandwidth * (0.5 if n_bytes <= shared.machine.l3_bytes else 1)


cdef inline double share_in(const Sample* sample, double cache_bytes) noexcept nogil:
    """The share of the updates whose rows a cache of this size holds: where most updates go."""
    cdef double share = 0
    cdef int i
    for i in range(GROUPS):
        if sample.reach[i] > cache_bytes:
            return share + cache_bytes / sample.reach[i] / GROUPS
        share += 1.0 / GROUPS
        cache_bytes -= sample.reach[i]
    return 1


cdef inline double step_ns(const Sample* sample, double growth) noexcept nogil:
    """ns to apply an update, if rows are `growth` times as long. Other data take three quarters of the caches."""
    cdef double in_l2 = share_in(sample, shared.machine.l2_bytes / (4 * growth))
    cdef double in_l3 = max(in_l2, share_in(sample, shared.machine.l3_bytes / (4 * growth)))
    return (in_l2 * shared.machine.step_l2 + (in_l3 - in_l2) * shared.machine.step_l3
            + (1 - in_l3) * shared.machine.step_memory)


cdef inline Sample uniform(double n_bytes) noexcept nogil:
    """Updates that go to all of these bytes alike."""
    cdef Sample sample
    cdef int i
    for i in range(GROUPS):
        sample.reach[i] = n_bytes / GROUPS
    return sample


cdef inline double apply_ns(const Job* job, double step) noexcept nogil:
    """ns to apply an update. step: to an element; rows have more cache lines, which the CPU reads side by side."""
    cdef double ns = step, more = step - shared.machine.step_l2
    if job.by_last:
        return ns + (1 if more > 0 else 0)
    if job.kernel.mark_bytes:
        ns *= 1.3
    if job.copies_updates:
        ns += 1 if job.rows_are_elements else 8
    if not job.rows_are_elements:
        ns += job.kernel.row_bytes / (8 * shared.machine.bandwidth) + (0.5 if are_points(&job.kernel) else 2)
        ns += 1.5 * more * job.kernel.row_bytes / CACHE_LINE
    return ns


cdef inline double update_ns(const Job* job, const Sample* sample, double far) noexcept nogil:
    """apply_ns in the mean of all updates. far: of a step, if its row is not near that of the update before."""
    cdef double ns = apply_ns(job, far)
    if not job.rows_are_elements and not job.by_last and far > 2 * shared.machine.step_l2:
        # the updates come between the rows, so that the CPU does not read later rows meanwhile
        ns += job.row_bytes / (1.4 * shared.machine.bandwidth)
    return sample.near * apply_ns(job, shared.machine.step_l2) + (1 - sample.near) * ns


cdef inline double read_ns(const Job* job, const Sample* sample, double n) noexcept nogil:
    """ns to read n rows of updates out of order: their first lines are reached one by one; then prefetchers help."""
    cdef Sample updates = uniform(<double>job.walk.n * job.row_bytes)
    return (1 - sample.near) * n * (1 + min(<double>job.row_bytes / CACHE_LINE, 4.0)) * step_ns(&updates, 0.5)


cdef inline double result_ns(const Job* job, const Sample* sample, int n_threads) noexcept nogil:
    """ns to open and close all rows."""
    cdef double n_bytes = 0, ns = 0
    if must_write_data(job):
        n_bytes = 2.0 * job.out_bytes
    if job.by_last:
        n_bytes = 2.0 * job.out_bytes
        ns = read_ns(job, sample, min(job.n_rows, job.walk.n)) / n_threads
    elif not job.in_result:
        n_bytes += 2.0 * job.n_rows * job.kernel.row_bytes
    n_bytes += 2.0 * job.n_rows * job.kernel.mark_bytes
    return ns + moved(n_bytes, n_threads)


cdef inline double update_bytes(const Job* job) noexcept nogil:
    return job.tuples.k * job.tuples.width + (4 if job.by_last else job.row_bytes)


cdef inline double direct_ns(const Job* job, const Sample* sample, int n_threads) noexcept nogil:
    cdef double n = <double>job.walk.n, ns, ns_near = 0, far, each
    cdef double growth = 1 + <double>job.kernel.mark_bytes / job.kernel.row_bytes
    cdef int n_shares = 1, n_writers = n_threads
    cdef bint units = by_units(job)
    cdef Sample unit
    if job.update_rows != NULL:  # the source's rows, about as many, take their share of the caches
        growth *= 2
    far = step_ns(sample, growth)
    if job.n_units > 1:  # one after another
        unit = uniform(<double>job.unit_rows * job.kernel.row_bytes)
        far = min(far, step_ns(&unit, growth))
    if units:
        n_shares = <int>min(<Py_ssize_t>n_threads, job.n_units)
    each = update_ns(job, sample, far)
    if n_shares == 1 and n_threads > 1 and cuts_rows(job):
        each /= n_threads
    elif not units and not job.in_result:  # by one thread, in windows
        n_writers = 1
    each += job.tuples.k * shared.machine.resolve
    if can_use_slots(job):
        ns = n * (each + (4 + <double>slots_bytes(job) / shared.machine.l2_bytes) * shared.machine.step_memory)
        return ns + (moved(2.0 * job.out_bytes, n_threads) if must_write_data(job) else 0) + region_ns(n_threads)
    if must_write_data(job) and not job.by_last and sample.near > 0.75 and job.out_bytes > shared.machine.l3_bytes // 2:
        # data are read twice
        ns_near = moved(2 * min(<double>job.out_bytes, n * job.row_bytes), 1)
    ns = ns_near + max(n * each / n_shares, moved(n * update_bytes(job), n_shares)) + result_ns(job, sample, n_writers)
    if n_shares == 1 and job.checks_first:
        ns += n * job.tuples.k * shared.machine.resolve / n_threads
    if not units and not job.in_result:  # windows
        ns *= 1 + job.n_rows * job.kernel.row_bytes // WINDOW_BYTES
    return ns + region_ns(n_threads) * (1 if n_shares > 1 else 1 + job.divides)


cdef inline double partition_ns(const Job* job, const Sample* sample, int n_threads) noexcept nogil:
    cdef double n = <double>job.walk.n, record = record_size(job), result = result_ns(job, sample, n_threads)
    cdef double place_bytes = job.tuples.k * job.tuples.width + 2 * record, apply_bytes = record
    cdef double apply = apply_ns(job, shared.machine.step_l2)
    if job.order == NULL and (job.copies_updates or not (job.rows_are_elements or job.by_last)):  # records are unpacked
        apply += 2
    apply *= n * max(1.0 / n_threads, sample.share)
    if job.by_updates:
        result = n * 5 / n_threads + (result if must_write_data(job) else 0)
    if job.update_rows == NULL and not job.by_last and (job.order != NULL or not job.rows_are_elements):
        result += read_ns(job, sample, n) / n_threads
    if job.order != NULL:  # accumulators stay in registers, or in L1
        return max(0.8 * apply, moved(n * (4 + 0.8 * job.row_bytes), n_threads)) + result + region_ns(n_threads)
    if job.rows_are_elements:
        place_bytes += job.row_bytes
    elif not job.by_last:
        apply_bytes += job.row_bytes
    return (max(n * (job.tuples.k * shared.machine.resolve + shared.machine.place) / n_threads,
                moved(n * place_bytes, n_threads))
            + max(apply, moved(n * apply_bytes, n_threads)) + result + 2 * region_ns(n_threads))


cdef inline double blocks_ns(const Job* job, const Sample* sample, int n_threads) noexcept nogil:
    cdef double n = <double>job.walk.n, filter_ns = 2 if has_scratch_tiles(job) or job.kernel.mark_bytes else 1.5
    if sample.near < 0.75 or (
            n_threads == 1 and (job.row_bytes < WORTH_BLOCKS or job.out_bytes < shared.machine.l3_bytes)):
        return NEVER
    return (max(n * (2 * job.tuples.k * shared.machine.resolve + apply_ns(job, shared.machine.step_l2) + filter_ns)
                * max(1.0 / n_threads, sample.share),
                moved(n * (update_bytes(job) + job.tuples.k * job.tuples.width), n_threads))
            + result_ns(job, sample, n_threads) + 2 * region_ns(n_threads))


cdef inline double private_ns(const Job* job, const Sample* sample, int n_threads) noexcept nogil:
    cdef double n = <double>job.walk.n
    cdef double growth = <double>private_bytes(job) / (job.n_rows * job.kernel.row_bytes)
    cdef double each = job.tuples.k * shared.machine.resolve + update_ns(job, sample, step_ns(sample, growth))
    # Copies are merged row by row. Those of assignments have marks, by which rows without updates are left out.
    return (max(n * each / n_threads, moved(n * update_bytes(job), n_threads))
            + job.n_rows * ((6.0 if job.kernel.step == ASSIGN else 1.0) + apply_ns(job, shared.machine.step_l2))
            + moved(2.0 * n_threads * private_bytes(job), n_threads) + result_ns(job, sample, n_threads)
            + 2 * region_ns(n_threads))


cdef inline double route_ns(const Job* job, const Sample* sample, int route, int n_threads) noexcept nogil:
    """The estimated time of a route; NEVER: it can't run the job, or is never the best one."""
    if route == DIRECT:
        return direct_ns(job, sample, n_threads)
    if route == PARTITION and can_partition(job):
        return partition_ns(job, sample, n_threads)
    if route == BLOCKS and can_take_blocks(job):
        return blocks_ns(job, sample, n_threads)
    if route == PRIVATE and can_be_private(job, n_threads):
        return private_ns(job, sample, n_threads)
    return NEVER


cdef inline bint can_run(const Job* job, int route, int n_threads) noexcept nogil:
    """Whether a route can run the job, however slowly."""
    return (route == DIRECT or (route == PARTITION and can_partition(job))
            or (route == BLOCKS and can_take_blocks(job))
            or (route == PRIVATE and can_be_private(job, n_threads)))


cdef inline void estimate_all(const Job* job, int max_threads, double* ns) noexcept nogil:
    """The estimates that choose compares: N_ROUTES for each number of threads, 1, 2, 4, …, max_threads."""
    cdef Sample sample = take_sample(job)
    cdef int n_threads = 1, route
    while True:
        for route in range(1, <int>N_ROUTES):
            ns[route] = route_ns(job, &sample, route, n_threads)
        ns += N_ROUTES
        if n_threads >= max_threads:
            return
        n_threads = min(2 * n_threads, max_threads)


cdef inline bint needs_no_sample(const Job* job) noexcept nogil:
    """Whether no route is faster than direct on one thread."""
    return job.in_result and not job.kernel.mark_bytes and (job.walk.n < MIN_SAMPLED or (
        job.walk.n < MIN_WORTH and job.out_bytes <= shared.machine.l2_bytes))


cdef inline Choice choose(Job* job, int max_threads, unsigned int routes, int least_threads) noexcept nogil:
    """routes: a mask of those that may be taken; direct can always be."""
    cdef Choice best, one
    cdef Sample sample
    cdef int n_threads = least_threads, route
    best.route = DIRECT
    best.n_threads = least_threads
    if max_threads == 1 and needs_no_sample(job):
        best.ns = 0
        return best
    sample = take_sample(job)
    job.repeats = sample.equal > REPEATS  # see apply_run
    best.ns = 1e30
    while True:
        for route in range(1, <int>N_ROUTES):
            if route == DIRECT or routes >> route & 1:
                one.ns = route_ns(job, &sample, route, n_threads)
                if one.ns < best.ns:
                    best.route = route
                    best.n_threads = n_threads
                    best.ns = one.ns
        if n_threads >= max_threads:
            return best
        n_threads = min(2 * n_threads, max_threads)
