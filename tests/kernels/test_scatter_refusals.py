"""Calls that scatters reject, which leave data unchanged."""

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits
from constants import REDUCTIONS
from pairwise import each_pair, in_turn
from scatters import FLAT, FUNCTIONS, each, every
from strategies import lay_out, values

X = np.zeros((4, 5))
I1 = np.zeros((1, 1), int)
REFUSED = {
    "scatter: data is 0-d": lambda **o: gs.scatter(np.array(1.0), [0], [1.0], **o),
    "scatter: axis too large": lambda **o: gs.scatter(X, [0], np.zeros((1, 5)), axis=2, **o),
    "scatter: axis too small": lambda **o: gs.scatter(X, [0], np.zeros((1, 5)), axis=-3, **o),
    "scatter: batch_dims beyond axis": lambda **o: gs.scatter(X, np.zeros((4, 5), int), 0.0, batch_dims=1, **o),
    "scatter: batch_dims beyond indices": lambda **o: gs.scatter(X, np.zeros(4, int), 0.0, axis=1, batch_dims=2, **o),
    "scatter: batch sizes differ": lambda **o: gs.scatter(X, np.zeros((3, 1), int), 0.0, axis=1, batch_dims=1, **o),
    "scatter: updates too short": lambda **o: gs.scatter(X, np.array([0, 1, 1]), np.zeros((2, 5)), **o),
    "scatter: updates of a part of a row": lambda **o: gs.scatter(X, np.array([0, 1]), np.zeros(4), **o),
    "scatter: updates of the other axis": lambda **o: gs.scatter(X, np.array([0]), np.zeros((4, 1)), **o),
    "scatter: mode of gathers": lambda **o: gs.scatter(X, [0], 0.0, mode="fill", **o),
    "scatter: unknown mode": lambda **o: gs.scatter(X, [0], 0.0, mode="skip", **o),
    "scatter: unknown reduction": lambda **o: gs.scatter(X, [0], 0.0, reduction="sum", **o),
    "nd: indices is 0-d": lambda **o: gs.scatter_nd(X, np.array(0), 0.0, **o),
    "nd: tuples too long": lambda **o: gs.scatter_nd(X, np.zeros((2, 3), int), 0.0, **o),
    "nd: batch_dims too large": lambda **o: gs.scatter_nd(X, np.zeros((4, 1), int), 0.0, batch_dims=2, **o),
    "nd: batch sizes differ": lambda **o: gs.scatter_nd(X, np.zeros((3, 1), int), 0.0, batch_dims=1, **o),
    "nd: updates too short": lambda **o: gs.scatter_nd(X, np.zeros((3, 2), int), np.zeros(2), **o),
    "nd: updates do not broadcast": lambda **o: gs.scatter_nd(X, np.zeros((3, 1), int), np.zeros((2, 5)), **o),
    "nd: updates of elements for rows": lambda **o: gs.scatter_nd(X, np.zeros((2, 1), int), np.zeros(2), **o),
    "nd: mode of gathers": lambda **o: gs.scatter_nd(X, [[0]], 0.0, mode="fill", **o),
    "nd: unknown mode": lambda **o: gs.scatter_nd(X, [[0]], 0.0, mode="RAISE", **o),
    "nd: unknown reduction": lambda **o: gs.scatter_nd(X, [[0]], 0.0, reduction="Add", **o),
    "elements: data is 0-d": lambda **o: gs.scatter_elements(np.array(1.0), np.array(0), np.array(1.0), **o),
    "elements: ranks differ": lambda **o: gs.scatter_elements(X, np.array([0]), np.array([0.0]), **o),
    "elements: larger off the axis": lambda **o: gs.scatter_elements(X, np.zeros((1, 6), int), np.zeros((1, 6)), **o),
    "elements: axis too large": lambda **o: gs.scatter_elements(X, I1, np.zeros((1, 1)), axis=2, **o),
    "elements: updates of another shape": lambda **o: gs.scatter_elements(X, I1, np.zeros((1, 2)), **o),
    "elements: updates do not broadcast": lambda **o: gs.scatter_elements(
        X, np.zeros((3, 5), int), np.zeros((2, 5)), **o
    ),
    "elements: mode of gathers": lambda **o: gs.scatter_elements(X, I1, 0.0, mode="fill", **o),
    "elements: unknown mode": lambda **o: gs.scatter_elements(X, I1, 0.0, mode="skip", **o),
    "elements: unknown reduction": lambda **o: gs.scatter_elements(X, I1, 0.0, reduction="prod", **o),
}
REFUSED_TYPES = {
    "scatter: updates of a wider dtype": lambda **o: gs.scatter(X, [0], np.zeros((1, 5), "G"), **o),
    "scatter: updates of a wider kind": lambda **o: gs.scatter(X, [0], np.zeros((1, 5), "c8"), **o),
    "scatter: float indices": lambda **o: gs.scatter(X, [0.0], 0.0, **o),
    "scatter: bool indices": lambda **o: gs.scatter(X, np.array([True]), 0.0, **o),
    "scatter: axis no integer": lambda **o: gs.scatter(X, [0], 0.0, axis=0.0, **o),
    "scatter: mode no string": lambda **o: gs.scatter(X, [0], 0.0, mode=0, **o),
    "scatter: reduction no string": lambda **o: gs.scatter(X, [0], 0.0, reduction=np.add, **o),
    "scatter: masked updates": lambda **o: gs.scatter(X, [0], np.ma.zeros((1, 5)), **o),
    "scatter: masked indices": lambda **o: gs.scatter(X, np.ma.zeros(1, int), 0.0, **o),
    "scatter: no updates": lambda **o: gs.scatter(X, [0], None, **o),
    "nd: updates of a wider dtype": lambda **o: gs.scatter_nd(X, [[0]], np.zeros((1, 5), "G"), **o),
    "nd: float indices": lambda **o: gs.scatter_nd(X, [[0.0]], 0.0, **o),
    "nd: masked updates": lambda **o: gs.scatter_nd(X, [[0]], np.ma.zeros((1, 5)), **o),
    "nd: reduction no string": lambda **o: gs.scatter_nd(X, [[0]], 0.0, reduction=None, **o),
    "elements: updates of a wider dtype": lambda **o: gs.scatter_elements(X, I1, np.zeros((1, 1), "G"), **o),
    "elements: float indices": lambda **o: gs.scatter_elements(X, np.zeros((1, 1)), 0.0, **o),
    "elements: masked updates": lambda **o: gs.scatter_elements(X, I1, np.ma.zeros((1, 1)), **o),
    "elements: axis no integer": lambda **o: gs.scatter_elements(X, I1, 0.0, axis="0", **o),
}


class TestRefused:
    @in_turn("call", REFUSED.values())
    def test_values(self, call):
        out = np.full((4, 5), 7.0)
        for _ in range(2):  # a plan that was refused is not cached as one that holds
            with pytest.raises(ValueError, match=r"^scatter(_nd|_elements)?: "):
                call(out=out)
            with pytest.raises(ValueError, match=r"^scatter(_nd|_elements)?: "):
                call()
        assert (out == 7).all()

    @in_turn("call", REFUSED_TYPES.values())
    def test_types(self, call):
        out = np.full((4, 5), 7.0)
        for _ in range(2):
            with pytest.raises(TypeError, match=r"^scatter(_nd|_elements)?: "):
                call(out=out)
            with pytest.raises(TypeError, match=r"^scatter(_nd|_elements)?: "):
                call()
        assert (out == 7).all()

    @each
    def test_out(self, name):
        indices = np.array([[0]])
        call = FUNCTIONS[name]
        updates = np.zeros({"scatter": (1, 1, 5), "scatter_nd": (1, 5), "scatter_elements": (1, 1)}[name])
        assert call(X, indices, updates, out=np.ones((4, 5))).sum() == 0
        for out in (np.zeros((5, 4)), np.zeros(20), np.zeros((1, 4, 5)), np.broadcast_to(0.0, (4, 5))):
            with pytest.raises(ValueError, match=rf"^{name}: "):
                call(X, indices, updates, out=out)
        for out in (np.zeros((4, 5), "f4"), np.zeros((4, 5), ">f8"), np.ma.zeros((4, 5)), X.tolist()):
            with pytest.raises(TypeError, match=rf"^{name}: "):
                call(X, indices, updates, out=out)

    def test_read_only_data_in_place(self):
        data = np.zeros(3)
        data.flags.writeable = False
        for flat in FLAT.values():
            with pytest.raises(ValueError, match="read-only"):
                flat(data, np.array([0]), np.ones(1), out=data)
        assert not data.any()

    @every
    @in_turn(
        "dtype",
        ["U3", "S3", object, np.dtypes.StringDType(), "M8[D]", "m8[s]", "V7", "g", "G", [("x", "f4"), ("y", "f4")],
         ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4],
    )  # fmt: skip
    def test_reductions_of_what_only_moves(self, flat, dtype):
        data, updates = values((3,), np.dtype(dtype), 1), values((2,), np.dtype(dtype), 2)
        before = data.copy()
        of_dates = ("max", "min") if data.dtype.kind in "mM" else ()  # tests/kernels/test_dates.py
        for reduction in (name for name in REDUCTIONS[1:] if name not in of_dates):
            with pytest.raises(TypeError):
                flat(data, np.array([0, 1]), updates, reduction=reduction, out=data)
            with pytest.raises(TypeError):  # nor where there is nothing to reduce
                flat(data, np.zeros(0, int), updates[:0], reduction=reduction)
        assert_same_bits(data, before)
        result = flat(data, np.array([0, 1]), updates)
        assert_same_bits(result, np.concatenate([updates, data[2:]]).astype(data.dtype))

    @every
    def test_no_order_of_complex_numbers_and_no_mean_of_bools(self, flat):
        for dtype, reduction in (("F", "max"), ("D", "min"), ("?", "mean"), (">c16", "max")):
            with pytest.raises(TypeError):
                flat(np.zeros(3, dtype), np.array([0]), np.zeros(1, dtype), reduction=reduction)


def bad_calls(n, bad, where, dtype):
    """Every scatter's ways to meet one bad index: (call, shape of data, indices, updates, options)."""
    size = n // 4
    indices = np.random.default_rng(0).integers(-size, size, n)
    indices[where] = bad(size)
    updates = values((n,), dtype, 1)
    rows = values((n, 3), dtype, 1)
    pairs = np.stack([np.zeros_like(indices), indices], axis=1)
    square = np.broadcast_to(np.arange(size - 4)[:, None] % 5, (size - 4, 5)).copy()
    square[where * (size - 5) // (n - 1), 3] = bad(5)
    return {
        "scatter": (gs.scatter, (size,), indices, updates, {}),
        "scatter of rows": (gs.scatter, (size, 3), indices, rows, {}),
        "scatter along the last axis": (gs.scatter, (3, size), indices, rows.T, {"axis": 1}),
        "nd": (gs.scatter_nd, (size,), indices[:, None], updates, {}),
        "nd of rows": (gs.scatter_nd, (size, 3), indices[:, None], rows, {}),
        "nd of pairs": (gs.scatter_nd, (2, size), pairs, updates, {}),
        "nd in batches": (
            gs.scatter_nd, (2, size), indices.reshape(2, -1, 1), updates.reshape(2, -1), {"batch_dims": 1},
        ),
        "elements": (gs.scatter_elements, (size,), indices, updates, {}),
        "elements along the first axis": (
            gs.scatter_elements, (size, 4), indices.reshape(4, -1).T, updates.reshape(4, -1).T, {},
        ),
        "elements along the last axis": (
            gs.scatter_elements, (size, 5), square, values(square.shape, dtype, 1), {"axis": 1},
        ),
    }  # fmt: skip


class TestAllOrNothing:
    """In place, with one bad index: every byte is unchanged."""

    @each_pair(bad=[lambda n: n, lambda n: -n - 1, lambda n: 2**62], where=[0, 2020, 3999], dtype=["f4", "V3", object])
    def test_small(self, forced_threads, bad, where, dtype):
        dtype = np.dtype(dtype)
        for call, shape, indices, updates, options in bad_calls(4000, bad, where, dtype).values():
            for layout in ("C", "sliced"):
                data = lay_out(values(shape, dtype, 2), layout)
                before = data.copy()
                for reduction in ("none", "add", "mean") if dtype == "f4" else ("none",):
                    for mode in ("raise", "promise_in_bounds"):
                        with pytest.raises(IndexError):
                            call(data, indices, updates, out=data, mode=mode, reduction=reduction, **options)
                    if dtype == "f4":
                        with pytest.raises(IndexError):
                            call(data, indices, 1, out=data, reduction=reduction, **options)
                assert_same_bits(data, before)

    @pytest.mark.parametrize("where", [0, 200_001, 399_999])
    def test_large(self, where):
        for call, shape, indices, updates, options in bad_calls(400_000, lambda n: n, where, np.dtype("f4")).values():
            data = values(shape, np.dtype("f4"), 2)
            before = data.copy()
            other = before + 1
            for threads in (1, 2):
                gs.set_num_threads(threads)
                for reduction in ("none", "add", "mean"):
                    with pytest.raises(IndexError):
                        call(data, indices, updates, out=data, reduction=reduction, **options)
                    with pytest.raises(IndexError):
                        call(data, indices, updates, out=other, reduction=reduction, **options)
            assert_same_bits(data, before)
            assert_same_bits(other, before + 1)

    def test_clip_and_wrap_into_an_empty_axis(self):
        for dtype in ("f4", object):
            data = np.ones((3000, 0), dtype)
            for mode in ("clip", "wrap"):
                with pytest.raises(IndexError):
                    gs.scatter_elements(
                        data, np.zeros((3000, 1), int), np.ones((3000, 1), dtype), axis=1, mode=mode, out=data
                    )
                with pytest.raises(IndexError):
                    gs.scatter(data, np.zeros(1, int), np.ones((3000, 1), dtype), axis=1, mode=mode, out=data)


def test_bfloat16_into_strings():
    """NumPy casts other floats to strings, but not this one."""
    strings = np.array(["a", "b"], np.dtypes.StringDType())
    with pytest.raises(TypeError, match="scatter: updates has dtype bfloat16, but data has StringDType"):
        gs.scatter(strings, [0], np.ones(1, ml_dtypes.bfloat16))
