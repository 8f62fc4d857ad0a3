# The choice of a route and of the number of threads: the least estimated time, in nanoseconds.
cimport numpy as cnp

from common.codes cimport ELEMENTS, Kind
from common.machine cimport shared
from common.routes cimport COLUMNS, DIRECT, N_ROUTES, NEVER, RUNS, TILES
from common.threads cimport region_ns
from gather.columns cimport Columns, describe_columns
from gather.job cimport Job, work_ns
from gather.runs cimport has_runs
from gather.tiles cimport can_use_tiles
from prepared.tile_order cimport read_ns, scattered_ns

cdef extern from *:
    """
    #define GS_IN_ONE_LOOP 0.75 /* the time to resolve and to move in one loop, to that in two */
    """
    double IN_ONE_LOOP "GS_IN_ONE_LOOP"

cdef enum:
    LINE_NS = 4     # to reach an item with a cache line of its own; an element is packed in 1 ns

cdef struct Choice:
    int route
    int n_threads
    double ns


cdef inline unsigned int routes_of(const Job* job, Kind kind, cnp.ndarray data, cnp.ndarray indices, cnp.ndarray out,
                                   int axis, int forced, Columns* columns) noexcept:
    """A mask of the routes that may be the fastest, and of the forced one if it can run the job, however slowly.

    columns: described if COLUMNS is among them.
    """
    cdef unsigned int routes = 1 << DIRECT
    if out is None:  # only the indices are checked
        return routes
    if can_use_tiles(job):
        routes |= 1 << TILES
    if kind == ELEMENTS and describe_columns(columns, job, data, indices, out, axis, forced == COLUMNS):
        routes |= 1 << COLUMNS
    if has_runs(job, forced == RUNS):
        routes |= 1 << RUNS
    return routes


cdef inline double route_ns(const Job* job, const Columns* columns, unsigned int routes, int route,
                            int n_threads) noexcept nogil:
    cdef double ns = work_ns(job)
    if not routes >> route & 1:
        return NEVER
    if route != DIRECT:
        ns *= IN_ONE_LOOP
    if route == TILES:
        ns += read_ns(job.tile_order.n_slices, job.row.item_bytes)
    elif route == COLUMNS:
        ns += <double>columns.outer.n * columns.n_columns * columns.size
    elif routes >> TILES & 1:
        ns += scattered_ns(job.tile_order.n_slices, job.row.item_bytes, job.walk.n)
    elif routes >> COLUMNS & 1:
        ns += <double>job.walk.n * LINE_NS
    return ns / n_threads + region_ns(n_threads) * (2 if route == TILES else 1)


cdef inline Choice choose(const Job* job, const Columns* columns, unsigned int routes, unsigned int allowed,
                          int max_threads, double* ns) noexcept nogil:
    """routes: those that can run the job. allowed: a mask of those that may be taken; direct always may.

    ns: becomes the estimates, N_ROUTES for each number of threads, 1, 2, 4, …, max_threads.
    """
    cdef Choice best
    cdef int n_threads = 1, route, least = max_threads if shared.forced else 1
    best.route, best.n_threads, best.ns = DIRECT, least, NEVER
    while True:
        for route in range(1, <int>N_ROUTES):
            ns[route] = route_ns(job, columns, routes, route, n_threads)
            if ns[route] < best.ns and n_threads >= least and (route == DIRECT or allowed >> route & 1):
                best.route, best.n_threads, best.ns = route, n_threads, ns[route]
        ns += N_ROUTES
        if n_threads >= max_threads:
            return best
        n_threads = min(2 * n_threads, max_threads)
