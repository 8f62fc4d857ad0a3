# cython: language_level=3, freethreading_compatible=True
"""Python enums of the codes that the kernels take and return."""
from enum import IntEnum

cimport common.strategies as strategies

include "codes.pxd"  # included, not cimported: a cpdef enum becomes a Python class in the module that declares it


class GatherStrategy(IntEnum):
    AUTO = strategies.AUTO
    BLOCKS = strategies.BLOCKS
    RUNS = strategies.RUNS
    COLUMNS = strategies.COLUMNS
    DATA_TILES = strategies.DATA_TILES


class ScatterStrategy(IntEnum):
    AUTO = strategies.AUTO
    SERIAL = strategies.SERIAL
    UNITS = strategies.UNITS
    ROWS = strategies.ROWS
    ROW_PIECES = strategies.ROW_PIECES
    PRIVATE = strategies.PRIVATE
    PARTITION = strategies.PARTITION
    COLUMN_TILES = strategies.COLUMN_TILES
    WINDOWS = strategies.WINDOWS
    RANGES = strategies.RANGES
    RESULT_TILES = strategies.RESULT_TILES
    LOCAL_RANGES = strategies.LOCAL_RANGES
