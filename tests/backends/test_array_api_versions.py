"""Every function at each version of the array API standard. The other files run at array-api-strict's own version."""

from functools import partial

import array_api_strict as xp
import gatherscatter as gs
import gatherscatter.openvino as go
import gatherscatter.tensorflow as gtf
import numpy as np
import pytest
from constants import SEGMENT_REDUCTIONS
from gatherscatter import reference, self_check
from libraries import needs, to_strict

OWN = xp.__array_api_version__
VERSIONS = ("2023.12", "2024.12", "2025.12")  # docs/backends.md names them

X = np.arange(24.0).reshape(6, 4) % 7
IDS = np.array([2, 0, 2, 4, -1, 2])
N = 6  # segments, some of them empty
# What has functions of its own above the backend; each takes the conversion of its arrays.
CALLS = {
    "at, rows": lambda a: gs.at(a(X))[a(IDS), 1:].add(2.0),
    "at, unsigned": lambda a: gs.at(a(X))[a(np.array([1, 5], "u8")), a(np.array([0, -1]))].get(),
    "at, mask": lambda a: gs.at(a(X))[a(X > 3)].get(),
    "at, mask set": lambda a: gs.at(a(X))[a(X > 3)].set(0),
    "at, mask divided": lambda a: gs.at(a(X))[a(X > 3)].divide(2.0),
    "bincount": lambda a: gs.bincount(a(IDS), minlength=7, mode="drop"),
    "bincount, weights": lambda a: gs.bincount(a(IDS), a(X[:, 1]), mode="drop"),
    "gather_scatter": lambda a: gs.gather_scatter(a(X), a(IDS), a(X), a(IDS + 3), mode="drop", reduction="mean"),
    "gather_scatter, weights": lambda a: gs.gather_scatter(a(X), a(IDS), a(X), a(IDS), weights=a(X[:, 2])),
    "softmax": lambda a: gs.segment_softmax(a(X), a(IDS), N),
    "log_softmax": lambda a: gs.segment_log_softmax(a(X), a(IDS), N),
    "pointers": lambda a: gs.segment_reduce(a(X), indptr=a(np.array([0, 2, 2, 5]))),
    "prepared": lambda a: gs.prepare("segment", X.shape, a(IDS), N).reduce(a(X), reduction="var"),
    "OpenVINO": lambda a: go.embedding_bag_offsets(a(X), a(np.array([1, 0, 3])), a(np.array([0, 2, 2])), 4),
    "TensorFlow, roots": lambda a: gtf.unsorted_segment_sqrt_n(a(X), a(IDS), N),
    "TensorFlow, integers": lambda a: gtf.unsorted_segment_mean(a(IDS), a(IDS), N),
    **{
        f"segments, {name}": partial(lambda how, a: gs.segment_reduce(a(X), a(IDS), N, reduction=how), name)
        for name in SEGMENT_REDUCTIONS
    },
}


@pytest.fixture(
    params=[pytest.param(one, marks=needs(one <= OWN, f"array-api-strict is at {OWN}")) for one in VERSIONS],
    autouse=True,
)
def version(request):
    with xp.ArrayAPIStrictFlags(api_version=request.param):
        yield request.param


def test_gathers_and_scatters(version):
    """With each mode and reduction, on a device that is not the default."""
    device, cpu = xp.Device("device1"), xp.Device("CPU_DEVICE")
    for call in self_check.calls(few=True):
        arrays = [xp.asarray(array, device=device) for array in call.arrays]
        result = getattr(gs, call.function)(*arrays, **call.options)
        assert result.__array_namespace__().__array_api_version__ == version
        assert result.device == device
        expected = getattr(reference, call.function)(*call.arrays, **call.options)
        np.testing.assert_array_equal(np.asarray(xp.asarray(result, device=cpu)), expected, str(call), strict=True)


@pytest.mark.parametrize("name", CALLS)
def test_other_functions(name):
    expected, result = CALLS[name](np.asarray), CALLS[name](to_strict)
    np.testing.assert_allclose(np.asarray(result), expected, 1e-12, strict=True)
