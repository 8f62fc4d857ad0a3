# Codes of the strategies. Not in codes.pxd: both Python enums have AUTO, which can be declared only once in C.

cdef enum:
    AUTO = 0  # the kernel's choice

# Described in the docstring of gather/gather.pyx.
cdef enum GatherStrategy:
    BLOCKS = 1
    RUNS
    COLUMNS
    DATA_TILES
