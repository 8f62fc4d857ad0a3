# cython: language_level=3, freethreading_compatible=True
"""Python enums of the codes that the kernels take and return."""
from enum import IntEnum

cimport common.routes as routes
cimport common.strategies as strategies

include "codes.pxd"  # included, not cimported: a cpdef enum becomes a Python class in the module that declares it


class GatherStrategy(IntEnum):
    AUTO = strategies.AUTO
    BLOCKS = strategies.BLOCKS
    RUNS = strategies.RUNS
    COLUMNS = strategies.COLUMNS
    DATA_TILES = strategies.DATA_TILES


class ScatterRoute(IntEnum):
    AUTO = routes.AUTO
    DIRECT = routes.DIRECT
    BLOCKS = routes.BLOCKS
    PARTITION = routes.PARTITION
    PRIVATE = routes.PRIVATE
