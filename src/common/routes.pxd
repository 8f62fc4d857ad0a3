# The routes of scatters: see the docstring of scatter/scatter.pyx.
cdef enum Route:
    AUTO = 0  # the cost model's choice
    DIRECT
    BLOCKS
    PARTITION
    PRIVATE
    N_ROUTES
