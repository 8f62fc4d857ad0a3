from enum import IntEnum

class Kind(IntEnum):
    ND = 0
    AXIS = 1
    ELEMENTS = 2
    ARRAYS = 3

class Mode(IntEnum):
    RAISE = 0
    CLIP = 1
    WRAP = 2
    SKIP = 3

class Status(IntEnum):
    OK = -1
    INDEX_DTYPE = -2
    REFERENCES = -3
    NO_MEMORY = -4
    INTERRUPTED = -5
    INCONSISTENT = -6
    UNSUITED = -7

class ReductionCode(IntEnum):
    ASSIGN = 0
    ADD = 1
    MUL = 2
    MAX = 3
    MIN = 4
    MEAN = 5
    TAKE = 6

class TypeCode(IntEnum):
    NONE = 0
    BOOL = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    UINT8 = 6
    UINT16 = 7
    UINT32 = 8
    UINT64 = 9
    FLOAT16 = 10
    BFLOAT16 = 11
    FLOAT32 = 12
    FLOAT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15

class Accumulator(IntEnum):
    COUNT = 0
    TRUES = 1
    FALSES = 2
    FIRST = 3
    LAST = 4
    TOTAL = 5
    COUNTED_TOTAL = 6
    PRODUCT = 7
    MAXIMUM = 8
    MINIMUM = 9
    GREATEST = 10
    LEAST = 11
    MOMENTS = 12
    SQUARES = 13
    POWERS = 14

class GatherRoute(IntEnum):
    AUTO = 0
    DIRECT = 1
    RUNS = 2
    COLUMNS = 3
    TILES = 4

class ScatterRoute(IntEnum):
    AUTO = 0
    DIRECT = 1
    BLOCKS = 2
    PARTITION = 3
    PRIVATE = 4
