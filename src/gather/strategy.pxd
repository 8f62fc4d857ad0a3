# The choice of a strategy for a gather.
cimport numpy as cnp

from common.codes cimport ELEMENTS, Kind
from common.strategies cimport AUTO, BLOCKS, COLUMNS, DATA_TILES, RUNS, GatherStrategy
from gather.columns cimport Columns, describe_columns
from gather.data_tiles cimport can_use_tiles
from gather.job cimport Job
from gather.runs cimport has_runs


cdef inline GatherStrategy choose_strategy(const Job* job, Kind kind, cnp.ndarray data, cnp.ndarray indices,
                                           cnp.ndarray out, int axis, int forced, Columns* columns) noexcept:
    """forced: the strategy to choose if it can run the job; AUTO: none. columns: described if COLUMNS is chosen."""
    if out is None:  # only the indices are checked
        return BLOCKS
    if forced != AUTO:
        if forced == COLUMNS and kind == ELEMENTS and describe_columns(columns, job, data, indices, out, axis, True):
            return COLUMNS
        if forced == RUNS and has_runs(job, True):
            return RUNS
        if forced == BLOCKS:
            return BLOCKS
        if forced == DATA_TILES and can_use_tiles(job, True):
            return DATA_TILES
    elif can_use_tiles(job, False):
        return DATA_TILES
    if kind == ELEMENTS and describe_columns(columns, job, data, indices, out, axis, False):
        return COLUMNS
    if has_runs(job, False):
        return RUNS
    return BLOCKS
