"""Error messages of the dialects."""

import gatherscatter as gs
import numpy as np
import torch
from assertions import assert_refused, each_refused

D = np.zeros((4, 5))
I = np.zeros((3, 2), int)  # noqa: E741

WRONG = {
    "ONNX: a reduction of PyTorch's": (
        lambda: gs.onnx.scatter_nd(D, I, np.zeros(3), reduction="sum"),
        ValueError,
        "scatter_nd: reduction='sum' is not one of 'none', 'add', 'mul', 'max', 'min'; did you mean 'add'?",
    ),
    "ONNX: float indices": (
        lambda: gs.onnx.gather_nd(D, I.astype(float)),
        TypeError,
        "gather_nd: indices has dtype float64, but GatherND-13 takes int64: convert it",
    ),
    "OpenVINO: a reduction of NumPy's": (
        lambda: gs.openvino.scatter_elements_update(D, [[0]], [[1.0]], 0, reduction="add"),
        ValueError,
        "openvino.scatter_elements_update: reduction='add' is not one of 'none', 'sum', 'prod', 'min', 'max',"
        " 'mean'; did you mean 'sum'?",
    ),
    "TensorFlow: a policy with a typo": (
        lambda: gs.tensorflow.gather_nd(D, I, bad_indices_policy="INGORE"),
        ValueError,
        "gather_nd: bad_indices_policy='INGORE' is not one of '', 'DEFAULT', 'ERROR', 'IGNORE'; did you mean 'IGNORE'?",
    ),
    "TensorFlow: mixed": (
        lambda: gs.tensorflow.gather_nd(D, torch.zeros((3, 2), dtype=torch.int64)),
        TypeError,
        "gather_nd: params is a numpy.ndarray but indices is a torch.Tensor; pass numpy.asarray(indices)",
    ),
}


@each_refused(WRONG)
def test_message(call, kind, message):
    assert_refused(call, kind, message)
