# Codes of the strategies. Not in codes.pxd: both Python enums have AUTO, which can be declared only once in C.

cdef enum:
    AUTO = 0  # the kernel's choice

# Described in the docstring of gather/gather.pyx.
cdef enum GatherStrategy:
    BLOCKS = 1
    RUNS
    COLUMNS
    DATA_TILES

# Described in the docstring of scatter/scatter.pyx.
cdef enum ScatterStrategy:
    SERIAL = 1
    UNITS
    ROWS
    ROW_PIECES
    PRIVATE
    PARTITION
    COLUMN_TILES
    WINDOWS
    RANGES
    RESULT_TILES
    LOCAL_RANGES
