# Codes shared by the kernels and Python; common.pyx exports them as Python enums.

cpdef enum Kind:
    ND = 0        # tuples along the last axis of indices
    AXIS = 1      # single indices into one axis; the axes after it are the row
    ELEMENTS = 2  # one index for each element of the result
    ARRAYS = 3    # a tuple of arrays of one shape, one for each of adjacent axes; the axes after them are the row

cpdef enum Mode:
    RAISE = 0
    CLIP = 1
    WRAP = 2
    SKIP = 3  # "fill" for gathers, "drop" for scatters

# Return values of kernels. Any other value is the position of the first bad index: tuple × k + component.
cpdef enum Status:
    OK = -1
    INDEX_DTYPE = -2   # indices are not integers
    REFERENCES = -3    # items own references, for which the kernels keep no counts
    NO_MEMORY = -4     # nothing was written
    INTERRUPTED = -5   # a signal's handler raised an exception, which is set
    INCONSISTENT = -6  # the arrays are not those of a valid plan; nothing was read or written
    UNSUITED = -7      # the kernel does not take these arrays; nothing was written

cpdef enum ReductionCode:
    ASSIGN = 0
    ADD
    MUL
    MAX
    MIN
    MEAN  # ADD, and the sums are divided at the end

cpdef enum TypeCode:
    NONE = 0
    BOOL
    INT8
    INT16
    INT32
    INT64
    UINT8
    UINT16
    UINT32
    UINT64
    FLOAT16
    BFLOAT16
    FLOAT32
    FLOAT64
    COMPLEX64
    COMPLEX128

cdef enum:
    N_CODES = 32  # that dtypes and reductions may have: bits of a mask

# What segments are while they are reduced: see segments/accumulators.pxd.
cpdef enum Accumulator:
    COUNT = 0
    TRUES
    FALSES
    FIRST
    LAST
    TOTAL
    COUNTED_TOTAL
    PRODUCT
    MAXIMUM
    MINIMUM
    GREATEST
    LEAST
    MOMENTS
    SQUARES
    POWERS  # the last one
