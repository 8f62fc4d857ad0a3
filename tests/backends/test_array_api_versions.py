"""Every function at each version of the array API standard, and without shapes that depend on data.

The other files run at array-api-strict's own version, with such shapes.
"""

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
from pairwise import in_turn

OWN = xp.__array_api_version__
VERSIONS = ("2023.12", "2024.12", "2025.12")  # docs/backends.md names them

X = np.arange(24.0).reshape(6, 4) % 7
IDS = np.array([2, 0, 2, 4, -1, 2])
N = 6  # segments, some of them empty
# What has functions of its own above the backend; each takes the conversion of its arrays.
CALLS = {
    "at, rows": lambda a: gs.at(a(X))[a(IDS), 1:].add(2.0),
    "at, unsigned": lambda a: gs.at(a(X))[a(np.array([1, 5], "u8")), a(np.array([0, -1]))].get(),
    "at, basic": lambda a: gs.at(a(X))[::-2, None, 1].get(),
    "at, basic fill": lambda a: gs.at(a(X))[7, 1:].get(mode="fill", fill_value=9.0),
    "at, drop": lambda a: gs.at(a(X), (7, slice(None))).set(9.0, mode="drop"),
    "at, pairs": lambda a: gs.at(a(X), ([0, 5, 0], a(np.array([1, -1, 1])))).multiply(a(X[0, :3] + 2)),
    "at, rank 0": lambda a: gs.at(a(X))[a(np.array(True)), 1:].add(a(X[1:])),
    "at, wide": lambda a: gs.at(a(X.astype("f4")))[1:, ::2].mean(3.0, accumulate_dtype="float64"),
    "at, small integers": lambda a: gs.at(a(X.astype("i1")))[1:, ::-2].mean(a(np.array([-100, 3], "i1"))),
    "at, bools": lambda a: gs.at(a(X > 3), slice(1, 4)).add(a(X[0] > 2)),
    "at, mask set": lambda a: gs.at(a(X))[a(X > 3)].set(0),
    "at, mask divided": lambda a: gs.at(a(X))[a(X > 3)].divide(2.0),
    "at, mask of rows": lambda a: gs.at(a(X), a(X[:, 0] > 3)).subtract(2.0),
    **{
        f"at, {name} {index}": partial(
            lambda name, index, include_self, a: getattr(gs.at(a(X), index), name)(
                a(X[0, 2:] + 1), **({} if name in ("divide", "power") else {"include_self": include_self})
            ),
            name,
            index,
            include_self,
        )
        for name in ("set", "add", "subtract", "multiply", "divide", "power", "min", "max", "mean")
        for index, include_self in (((3, slice(2, None)), True), ((slice(1, -1), slice(1, None, 2)), False))
    },
    "bincount, length": lambda a: gs.bincount(a(IDS + 1), length=6),
    "bincount": lambda a: gs.bincount(a(IDS), minlength=7, mode="drop"),
    "bincount, weights": lambda a: gs.bincount(a(IDS), a(X[:, 1]), mode="drop"),
    "gather_scatter": lambda a: gs.gather_scatter(a(X), a(IDS), a(X), a(IDS + 3), mode="drop", reduction="mean"),
    "gather_scatter, weights": lambda a: gs.gather_scatter(a(X), a(IDS), a(X), a(IDS), weights=a(X[:, 2])),
    "softmax": lambda a: gs.segment_softmax(a(X), a(IDS), N),
    "log_softmax": lambda a: gs.segment_log_softmax(a(X), a(IDS), N),
    "scan": lambda a: gs.segment_scan(a(X), a(IDS), N, reduction="max", exclusive=True, reverse=True),
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
    params=[
        *(pytest.param(one, marks=needs(one <= OWN, f"array-api-strict is at {OWN}")) for one in VERSIONS),
        "fixed shapes",
    ],
    autouse=True,
)
def version(request):
    flags = {"api_version": request.param}
    if request.param not in VERSIONS:
        flags = {"api_version": OWN, "data_dependent_shapes": False, "boolean_indexing": False}
    with xp.ArrayAPIStrictFlags(**flags):
        yield flags["api_version"]


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


@in_turn("name", CALLS)
def test_other_functions(name):
    expected, result = CALLS[name](np.asarray), CALLS[name](to_strict)
    np.testing.assert_allclose(np.asarray(result), expected, 1e-12, strict=True)


def test_masks_that_select_an_unknown_number(version):
    x, mask = to_strict(X), to_strict(X > 3)
    if xp.get_array_api_strict_flags()["data_dependent_shapes"]:
        assert np.asarray(gs.at(x)[mask].get()).tolist() == X[X > 3].tolist()
        assert np.asarray(gs.at(x)[mask].set(x[mask])).tolist() == X.tolist()
        return
    unknown = r"^at: the number of elements that an array API mask selects is unknown at the call; "
    with pytest.raises(NotImplementedError, match=unknown + r"use where\(mask, x, fill_value\), or pass integers$"):
        gs.at(x)[mask].get()
    for call in (
        lambda: gs.at(x)[mask].set(x[0, :2]),
        lambda: gs.at(x)[1:, mask[0, ...]].add(1.0),
        lambda: gs.at(x)[mask].divide(x[0, :2]),
    ):
        with pytest.raises(NotImplementedError, match=unknown + r"pass a scalar for updates, or use where\("):
            call()
