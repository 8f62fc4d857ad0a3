"""The dialects on Dask arrays."""

from functools import partial

import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits

pytestmark = pytest.mark.usefixtures("dask_in_this_thread")


@pytest.mark.parametrize("lazy", [(True, False), (False, True), (True, True)], ids=["data", "indices", "both"])
@pytest.mark.parametrize("known", [np.asarray, np.ndarray.tolist], ids=["arrays", "lists"])
def test_dialects_take_dask_arrays(lazy, known):
    """In one call with arrays of NumPy, and with lists."""
    data = np.arange(12.0, dtype="f4").reshape(4, 3)
    tuples, updates = np.array([[0, 1], [3, 2]]), np.array([5.0, 6.0], "f4")
    along, rows = np.array([[0, 2, 1], [3, 3, 0]]), np.ones((4, 1, 3), "f4")
    caches, starts = np.stack([data] * 4), np.array([0, 1, 1, 0])

    def both(call, data, indices, *more):
        given = da.from_array(data, chunks=2) if lazy[0] else data
        places = da.from_array(indices, chunks=1) if lazy[1] else known(indices)
        result = call(given, places, *more)
        assert isinstance(result, da.Array)
        assert_same_bits(result.compute(), call(data, indices, *more))

    for call, *arrays in (
        (gs.onnx.gather, data, along),
        (gs.onnx.gather_nd, data, tuples),
        (gs.onnx.gather_elements, data, along),
        (partial(gs.onnx.scatter_nd, reduction="add"), data, tuples, updates),
        (gs.onnx.scatter_elements, data, along, rows[:2, 0]),
        (lambda cache, starts, rows: gs.onnx.tensor_scatter(cache, rows, starts, axis=1), caches, starts, rows),
        (gs.openvino.gather, data, along, 0),
        (gs.openvino.gather_nd, data, tuples),
        (gs.openvino.gather_elements, data, along, 0),
        (gs.openvino.scatter_nd_update, data, tuples, updates),
        (gs.openvino.scatter_elements_update, data, along, rows[:2, 0], 0),
        (lambda data, rows: gs.openvino.scatter_update(data, rows, 0, 0), data, tuples),
        (lambda data, ids: gs.openvino.segment_max(data, ids, 3, "LOWEST"), data, np.array([0, 0, 2, 2])),
        (lambda table, rows: gs.openvino.embedding_bag_offsets(table, rows, [0, 1, 1], 2), data, along[0]),
        (partial(gs.openvino.embedding_bag_packed, reduction="mean"), data, along),
        (lambda table, rows: gs.openvino.embedding_segments_sum(table, rows, [1, 1, 3], 4), data, along[0]),
        (gs.tensorflow.gather, data, along),
        (partial(gs.tensorflow.gather_nd, bad_indices_policy="IGNORE"), data, tuples - 1),
        (gs.tensorflow.tensor_scatter_nd_update, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_add, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_sub, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_min, data, tuples, updates),
        (gs.tensorflow.tensor_scatter_nd_max, data, tuples, updates),
        (partial(gs.tensorflow.unsorted_segment_sum, num_segments=4), data, tuples[:, [1, 0, 1, 1]][0] - 1),
        (partial(gs.tensorflow.unsorted_segment_max, num_segments=4), data, np.tile([[0, 2, -1]], (4, 1))),
        (lambda updates, indices: gs.tensorflow.scatter_nd(indices, updates, (4, 3)), updates, tuples),
    ):
        both(call, *arrays)


def test_what_dialects_refuse_of_dask_arrays():
    tuples = np.array([[0, 1], [3, 2]])
    lazy = da.zeros((4, 3), chunks=2)
    with pytest.raises(IndexError, match=r"^gather_nd: indices\[0\] = .* is out of bounds"):
        gs.tensorflow.gather_nd(lazy, da.from_array(tuples, chunks=1) - 1).compute()
