# Codes of the strategies, apart from codes.pxd: both Python enums have AUTO, which a C namespace can have only once.

cdef enum:
    AUTO = 0  # the kernel's choice

# The head of gather/gather.pyx says what each is.
cdef enum GatherStrategy:
    BLOCKS = 1
    RUNS
    COLUMNS

# The head of scatter/scatter.pyx says what each is.
cdef enum ScatterStrategy:
    SERIAL = 1
    UNITS
    ROWS
    ROW_PIECES
    PRIVATE
    PARTITION
