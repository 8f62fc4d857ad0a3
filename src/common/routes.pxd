# The routes of scatters and segments (scatter/scatter.pyx, segments/routes.pxd), and of gathers (gather/gather.pyx).
cdef extern from *:
    """
    #define GS_NEVER 1e18  /* nanoseconds: the route cannot run, or is never the best one */
    """
    double NEVER "GS_NEVER"

cdef enum Route:
    AUTO = 0  # the cost model's choice
    DIRECT
    BLOCKS
    PARTITION
    PRIVATE
    N_ROUTES

cdef enum GatherRoute:  # besides AUTO and DIRECT
    RUNS = 2
    COLUMNS
    TILES

cdef enum:
    MAX_TEAMS = 12              # 1, 2, 4, … threads


cdef inline dict by_route(const double* ns, int max_threads):
    """Estimates, N_ROUTES for each number of threads, as {Route: {threads: ns}}. max_threads = 0: there are none."""
    cdef int n_threads = 1, route
    found = {}
    while max_threads:
        for route in range(1, <int>N_ROUTES):
            if ns[route] < NEVER:
                found.setdefault(route, {})[n_threads] = ns[route]
        ns += N_ROUTES
        if n_threads >= max_threads:
            break
        n_threads = min(2 * n_threads, max_threads)
    return found
