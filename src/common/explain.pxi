# What the modules with routes tell Python of their calls. Included: a .pxd has no variables.
from common.routes cimport MAX_TEAMS, N_ROUTES, by_route

cdef unsigned int allowed_routes = ~<unsigned int>0
cdef bint explains = False
cdef double estimates[N_ROUTES * MAX_TEAMS]
cdef int explained_threads = 0  # the most of the call that was explained; 0: there was none
cdef int last_route_ = 0
cdef int last_threads_ = 1


cdef void remember(int route, int n_threads) noexcept:
    global last_route_, last_threads_
    if last_route_ != route or last_threads_ != n_threads:  # rarely: other threads read this cache line
        last_route_, last_threads_ = route, n_threads


def allow_routes(unsigned int routes):
    """Let the cost model choose among these routes, a mask, and direct."""
    global allowed_routes
    allowed_routes = routes


def explain(bint begins):
    """Begin to keep the estimates of calls, or end it and return those of the last one: {route: {threads: ns}}.

    Empty: no call was estimated since.
    """
    global explains, explained_threads
    found = by_route(estimates, 0 if begins else explained_threads)
    explains, explained_threads = begins, 0
    return found


def last_route():
    """The route that the last call took, and its number of threads."""
    return last_route_, last_threads_
