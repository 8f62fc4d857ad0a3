"""Dask arrays: errors raised at the call, and errors raised during the computation."""

import os
import subprocess
import sys
from importlib.util import find_spec

import array_api_strict
import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
from libraries import needs
from pairwise import in_turn

# Messages

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")


LAZY = da.zeros((4, 5), chunks=(2, 3))
BAD = np.array([[0, 0]] * 5 + [[2, 9], [7, 7]])
HALVES = da.from_array(np.arange(6), chunks=3)
UNKNOWN = HALVES[HALVES > 1]
SEGMENTS = gs.prepare("segment", (4,), [0, 1, 1, 0])
MASKED = da.ma.masked_array(LAZY, LAZY > 0)
WRONG = {
    "a bad tuple, known": (
        lambda: gs.gather_nd(LAZY, BAD),
        IndexError,
        "gather_nd: indices[5] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "a bad index, known, the first in row-major order and not of the first chunk": (
        lambda: gs.scatter(LAZY, np.array([[0, 9], [8, 0]]), da.zeros((2, 2, 5), chunks=(2, 1, 5))),
        IndexError,
        "scatter: indices[0, 1] = 9 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "a bad index in an axis of size 0": (
        lambda: gs.gather(da.zeros((0, 5), chunks=2), [1], mode="clip"),
        IndexError,
        "gather: indices[0] = 1 is out of bounds for data of shape (0, 5): axis 0 has size 0",
    ),
    "out": (
        lambda: gs.gather_nd(LAZY, BAD, out=np.zeros(7)),
        NotImplementedError,
        "gather_nd: the Dask backend does not support out=: a Dask array is computed later; use the returned array",
    ),
    "out of a scatter": (
        lambda: gs.scatter_nd(LAZY, BAD, 0, out=LAZY),
        NotImplementedError,
        "scatter_nd: the Dask backend does not support out=: a Dask array is computed later; use the returned array",
    ),
    "data of unknown size": (
        lambda: gs.gather(UNKNOWN, [0]),
        ValueError,
        "gather: data has unknown chunk sizes along axis 0, which has to be known; "
        "call data.compute_chunk_sizes() first",
    ),
    "indices of unknown size along a batch axis": (
        lambda: gs.gather(LAZY, UNKNOWN, axis=1, batch_dims=1),
        ValueError,
        "gather: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "indices of unknown size off the axis": (
        lambda: gs.gather_elements(LAZY, UNKNOWN[:, None], axis=1),
        ValueError,
        "gather_elements: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "tuples of unknown length": (
        lambda: gs.gather_nd(LAZY, UNKNOWN),
        ValueError,
        "gather_nd: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "unknown sizes and known updates": (
        lambda: gs.scatter(LAZY, UNKNOWN, np.zeros((4, 5))),
        ValueError,
        "scatter: indices has unknown chunk sizes along axis 0, which has to be known; "
        "call indices.compute_chunk_sizes() first",
    ),
    "unknown sizes in other numbers of chunks": (
        lambda: gs.scatter(LAZY, UNKNOWN, da.zeros((4, 5), chunks=1)),
        ValueError,
        "scatter: along axis 0 indices has 2 chunks but updates has 4, and chunks of unknown sizes cannot be "
        "rechunked; call compute_chunk_sizes() on both first",
    ),
    **{
        f"unknown sizes: {case}": (
            call,
            ValueError,
            f"{name}: {argument} has unknown chunk sizes along axis 0, which has to be known; "
            f"call {argument}.compute_chunk_sizes() first",
        )
        for case, call, name, argument in [
            ("segments", lambda: gs.segment_reduce(UNKNOWN, UNKNOWN, 6), "segment_reduce", "data"),
            ("data of segments", lambda: gs.segment_reduce(UNKNOWN, np.arange(4)), "segment_reduce", "data"),
            ("ids", lambda: gs.segment_softmax(HALVES, UNKNOWN, 6), "segment_softmax", "segment_ids"),
            (
                "a batch",
                lambda: gs.segment_reduce(LAZY, UNKNOWN[:, None], 6, axis=1, batch_dims=1),
                "segment_reduce",
                "segment_ids",
            ),
            ("data and pointers", lambda: gs.segment_reduce(UNKNOWN, indptr=[0, 2, 4]), "segment_reduce", "data"),
            ("pointers", lambda: gs.segment_reduce(HALVES, indptr=UNKNOWN), "segment_reduce", "indptr"),
            ("prepared", lambda: SEGMENTS.reduce(UNKNOWN), "segment_reduce", "data"),
            ("prepared, a gather", lambda: SEGMENTS.gather(UNKNOWN), "gather", "values"),
            ("prepared indices", lambda: gs.prepare("gather", (4,), [0]).gather(UNKNOWN), "gather", "data"),
            ("x", lambda: gs.bincount(UNKNOWN, HALVES, length=6), "bincount", "x"),
            ("weights", lambda: gs.bincount(HALVES, UNKNOWN, length=6), "bincount", "weights"),
            (
                "weights of pairs",
                lambda: gs.gather_scatter(HALVES, HALVES, HALVES, HALVES, weights=UNKNOWN),
                "gather_scatter",
                "weights",
            ),
            (
                "a dialect",
                lambda: gs.tensorflow.unsorted_segment_sum(LAZY[0], UNKNOWN, 6),
                "unsorted_segment_sum",
                "segment_ids",
            ),
            ("a dialect, sorted", lambda: gs.tensorflow.segment_sum(UNKNOWN, np.arange(4)), "segment_sum", "data"),
        ]
    },
    "a shape of unknown sizes": (
        lambda: gs.prepare("gather", UNKNOWN.shape, [0]),
        ValueError,
        "prepare: shape=(nan,) has unknown sizes; call data.compute_chunk_sizes() first",
    ),
    "dates in segments": (
        lambda: gs.segment_reduce(HALVES.astype("M8[s]"), np.arange(6), reduction="max"),
        NotImplementedError,
        "segment_reduce: the Dask backend does not support data of datetime64[s]: compute the array first, or pass "
        "(data - numpy.datetime64(0, 's')) / numpy.timedelta64(1, 's'), in which NaT is NaN",
    ),
    "updates of another shape": (
        lambda: gs.scatter(LAZY, HALVES, da.zeros((6, 4), chunks=1)),
        ValueError,
        "scatter: updates has shape (6, 4); pass shape (6, 5), or one that broadcasts to it",
    ),
    "updates of another dtype": (
        lambda: gs.scatter(LAZY.astype("f4"), HALVES, da.zeros((6, 5), chunks=1)),
        TypeError,
        "scatter: updates has dtype float64, but data has float32; pass updates.astype(data.dtype)",
    ),
    "float indices": (
        lambda: gs.gather(LAZY, LAZY),
        TypeError,
        "gather: indices has dtype float64, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
    ),
    "a fill value that does not fit": (
        lambda: gs.gather(LAZY.astype("u1"), HALVES, mode="fill", fill_value=256),
        TypeError,
        "gather: fill_value=256 cannot be held by data's dtype uint8 unchanged; pass a value of that dtype",
    ),
    "updates that do not fit": (
        lambda: gs.scatter(LAZY.astype("u1"), HALVES, 256),
        TypeError,
        "scatter: updates=256 cannot be held by data's dtype uint8 unchanged; pass a value of that dtype",
    ),
    "a reduction that the dtype lacks": (
        lambda: gs.scatter(LAZY.astype(bool), HALVES, True, reduction="mean"),
        TypeError,
        "scatter: reduction='mean' does not support dtype bool; "
        "convert data and updates to one that it supports: int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, float16, bfloat16, float32, float64, complex64, complex128",
    ),
    "masked data": (
        lambda: gs.gather(MASKED, [0]),
        TypeError,
        "gather: data is a masked array, whose mask would be lost; pass data.filled(...), or data.data and its mask in "
        "two calls",
    ),
    "masked updates": (
        lambda: gs.scatter(LAZY, [0], MASKED[:1]),
        TypeError,
        "scatter: updates is a masked array, whose mask would be lost; pass updates.filled(...), or updates.data and "
        "its mask in two calls",
    ),
    "another library beside": (
        lambda: gs.gather(LAZY, array_api_strict.zeros(3, dtype=array_api_strict.int64)),
        TypeError,
        "gather: data is a dask.array.Array but indices is an array_api_strict.Array; pass numpy.asarray(indices)",
    ),
    "another library before": (
        lambda: gs.gather(array_api_strict.zeros((4, 5)), LAZY),
        TypeError,
        "gather: data is an array_api_strict.Array but indices is a dask.array.Array; pass numpy.asarray(data)",
    ),
    "another library first": (
        lambda: gs.scatter(array_api_strict.zeros((4, 5)), np.array([0]), LAZY[:1]),
        TypeError,
        "scatter: data is an array_api_strict.Array but indices is a numpy.ndarray; "
        "pass array_api_strict.asarray(indices)",
    ),
}
WRONG_LATER = {
    "a bad tuple in a later chunk": (
        lambda: gs.gather_nd(LAZY, da.from_array(BAD, chunks=(3, 1))[:6]),
        IndexError,
        "gather_nd: indices[5] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "a bad index in a grid": (
        lambda: gs.gather(LAZY, da.from_array(np.array([[0, 1, 1], [1, 0, -6]]), chunks=1), axis=1),
        IndexError,
        "gather: indices[1, 2] = -6 is out of bounds for data of shape (4, 5): axis 1 has size 5",
    ),
    "a bad index for an element": (
        lambda: gs.scatter_elements(LAZY, da.from_array(np.array([[0, 1], [1, 4]]), chunks=1), 1.0),
        IndexError,
        "scatter_elements: indices[1, 1] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "a bad index among unknown sizes": (
        lambda: gs.gather(LAZY, UNKNOWN),
        IndexError,
        "gather: indices[2] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "a bad index of no slice": (
        lambda: gs.gather(LAZY[:, :0], HALVES),
        IndexError,
        "gather: indices[4] = 4 is out of bounds for data of shape (4, 0): axis 0 has size 4",
    ),
    "promised in vain": (
        lambda: gs.gather(LAZY, HALVES, mode="promise_in_bounds"),
        IndexError,
        "gather: indices[4] = 4 is out of bounds for data of shape (4, 5): axis 0 has size 4",
    ),
    "clipped into nothing": (
        lambda: gs.scatter(LAZY[:0], HALVES, 1.0, mode="clip"),
        IndexError,
        "scatter: indices[0] = 0 is out of bounds for data of shape (0, 5): axis 0 has size 0",
    ),
    "chunks that do not meet": (
        lambda: gs.scatter(LAZY, UNKNOWN % 4, da.zeros((6, 5), chunks=3)),
        ValueError,
        "scatter: a chunk of updates has shape (3,), but the chunk of indices has (1,); pass updates with chunks of "
        "the same sizes",
    ),
}


@needs(find_spec("dask.array._array_expr"), "this Dask has no arrays of expressions")
def test_the_message_for_arrays_of_expressions():
    """Which Dask has instead of its own where an option says so before they are imported."""
    code = "import dask.array, gatherscatter; gatherscatter.gather(dask.array.zeros(3), [0])"
    environment = {**os.environ, "DASK_ARRAY__QUERY_PLANNING": "True"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.stderr.splitlines()[-1] == (
        "NotImplementedError: gather: the Dask backend does not support arrays of Dask's option array.query-planning: "
        "they have no graph yet; set the option to False before dask.array is imported"
    )


@in_turn("case", WRONG)
def test_messages_at_the_call(case):
    call, error, message = WRONG[case]
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


@pytest.mark.parametrize("case", WRONG_LATER)
def test_messages_when_computed(case):
    call, error, message = WRONG_LATER[case]
    result = call()
    with pytest.raises(error) as raised:
        result.compute()
    assert str(raised.value) == message
