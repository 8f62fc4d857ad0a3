# cython: language_level=3, freethreading_compatible=True
"""Python enums of the codes that the kernels take and return."""
from enum import IntEnum

cimport common.routes as routes

include "codes.pxd"  # included, not cimported: a cpdef enum becomes a Python class in the module that declares it


class GatherRoute(IntEnum):
    AUTO = routes.AUTO
    DIRECT = routes.DIRECT
    RUNS = routes.RUNS
    COLUMNS = routes.COLUMNS
    TILES = routes.TILES


class ScatterRoute(IntEnum):
    AUTO = routes.AUTO
    DIRECT = routes.DIRECT
    BLOCKS = routes.BLOCKS
    PARTITION = routes.PARTITION
    PRIVATE = routes.PRIVATE
