"""What each reduction of a scatter does to numbers, and updates that are scalars or lists."""

import itertools

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from constants import FLOAT_REDUCTIONS, reduces
from gatherscatter import reference
from pairwise import in_turn
from scatters import FLAT, FUNCTIONS, LOOPS, every
from strategies import numbers


class TestReductions:
    def test_nan_propagates_and_ties_keep_the_destination(self, forced_threads):
        nan, inf = np.nan, np.inf
        data = np.array([nan, 1.0, 1.0, 0.0, -0.0, -inf, 2.0])
        updates = np.array([5.0, nan, 0.0, -0.0, 0.0, inf, nan, 3.0, 7.0])
        indices = np.array([0, 1, 2, 3, 4, 5, 6, 6, 1])
        for dtype in ("f8", "f4", "f2", ml_dtypes.bfloat16, ">f8"):
            for call in FLAT.values():
                largest = call(data.astype(dtype), indices, updates.astype(dtype), reduction="max")
                smallest = call(data.astype(dtype), indices, updates.astype(dtype), reduction="min")
                expected = np.array([nan, nan, 1.0, 0.0, -0.0, inf, nan], dtype)
                assert_same_numbers(largest, expected)
                assert_same_numbers(smallest, np.array([nan, nan, 0.0, 0.0, -0.0, -inf, nan], dtype))

    def test_float16_and_bfloat16_round_at_every_step(self, forced_threads):
        """2048 + 1 is 2048 in float16, and 256 + 1 is 256 in bfloat16: a wider sum would end higher."""
        for dtype, stuck in ((np.float16, 2048), (ml_dtypes.bfloat16, 256)):
            for call in FLAT.values():
                data, ones = np.array([stuck], dtype), np.ones(1000, dtype)
                indices = np.zeros(1000, int)
                assert call(data, indices, ones, reduction="add") == dtype(stuck)
                assert call(data, indices, ones, reduction="mean") == dtype(stuck / 1001)
                assert call(data, indices, ones, reduction="mean", include_self=False) == dtype(min(stuck, 1000) / 1000)

    def test_every_float16_and_bfloat16_is_converted(self):
        """All 65536 bit patterns, with each of some partners."""
        for dtype in (np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)):
            data = np.arange(2**16, dtype="u2").view(dtype)
            for partner in (0.0, -0.0, 1.0, 1e-7, 3e-5, 1e4, -1.0, np.inf, 1.001):
                updates = np.full(2**16, partner, dtype)
                with np.errstate(all="ignore"):
                    expected = {"add": data + updates, "mul": data * updates}
                for reduction, wanted in expected.items():
                    result = gs.scatter(data, np.arange(2**16), updates, reduction=reduction)
                    assert_same_numbers(result, wanted)

    @pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16], ids=str)
    def test_means_of_16_bit_floats_are_rounded_once(self, dtype):
        """Every number, divided by counts of which the quotient is rounded by way of float32, and of others."""
        terms = np.arange(1 << 16, dtype="u2").view(dtype)
        zeros = np.zeros(1 << 16, dtype)
        for n in (2, 3, 7, 100, 1023, 2047, 2048, 2049, 3001):
            updates = np.broadcast_to(zeros, (n - 1, 1 << 16))
            result = gs.scatter(terms[None], np.zeros(n - 1, int), updates, reduction="mean")[0]
            with np.errstate(all="ignore"):
                assert_same_numbers(result, ((terms + zeros).astype("f8") / n).astype(dtype))

    def test_integers_wrap_around_and_means_floor(self, forced_threads):
        for call in FLAT.values():
            data = np.array([100, -7, 0], "i1")
            indices, updates = np.array([0, 1, 0, 2]), np.array([100, -2, 1, -1], "i1")
            assert call(data, indices, updates, reduction="add").tolist() == [-55, -9, -1]
            assert call(data, indices, updates, reduction="mul").tolist() == [16, 14, 0]
            assert call(data, indices, updates, reduction="mean").tolist() == [-19, -5, -1]
            alone = call(data, indices, updates, reduction="mean", include_self=False)
            assert alone.tolist() == [50, -2, -1]
            high = np.array([2**64 - 1], "u8")
            assert call(high, np.array([0]), high, reduction="add").tolist() == [2**64 - 2]
            assert call(high, np.array([0]), high, reduction="mean").tolist() == [2**63 - 1]

    def test_a_count_beyond_the_integers_range(self, forced_threads):
        """The mean of 300 int8 ones is 44 // 300: the sum wraps, the count does not."""
        for call in FLAT.values():
            zeros = np.zeros(300, int)
            data, ones = np.array([0], "i1"), np.ones(300, "i1")
            assert call(data, zeros, ones, reduction="mean", include_self=False).tolist() == [0]
            assert call(data, zeros, -ones, reduction="mean", include_self=False).tolist() == [-1]
            assert call(data.astype("u1"), zeros, ones.astype("u1") * 3, reduction="mean").tolist() == [0]

    def test_bools(self, forced_threads):
        data = np.array([False, False, True, True])
        indices, updates = np.array([0, 1, 2, 3]), np.array([False, True, False, True])
        for call in FLAT.values():
            for reduction, expected in (("add", data | updates), ("max", data | updates)):
                assert_same_bits(call(data, indices, updates, reduction=reduction), expected)
            for reduction, expected in (("mul", data & updates), ("min", data & updates)):
                assert_same_bits(call(data, indices, updates, reduction=reduction), expected)

    def test_bools_that_are_other_bytes_than_0_and_1(self, forced_threads):
        """A view of bytes may hold them: NumPy takes them for True."""
        data, updates = np.array([0, 2, 4, 0], "u1").view("?"), np.array([6, 1, 0, 0], "u1").view("?")
        for call in FLAT.values():
            for reduction, expected in (("add", [1, 1, 1, 0]), ("mul", [0, 1, 0, 0]), ("max", [1, 1, 1, 0])):
                result = call(data, np.arange(4), updates, reduction=reduction)
                assert result.astype("i1").astype(bool).tolist() == [bool(i) for i in expected]

    def test_complex_products_are_numpys(self, forced_threads):
        """Not C's, which repairs what infinities make NaN."""
        inf, nan = np.inf, np.nan
        data = np.array([complex(inf, 0), complex(inf, inf), complex(1e30, -1e30), complex(nan, 1), complex(-0.0, 0.0)])
        updates = np.array([1 + 1j, 1 - 1j, complex(1e30, 1e30), 2j, complex(-0.0, -1)])
        for dtype in ("F", "D", ">c8"):
            d, u = data.astype(dtype), updates.astype(dtype)
            expected = reference.scatter(d, np.arange(5), u, reduction="mul")
            for call in FLAT.values():
                assert_same_numbers(call(d, np.arange(5), u, reduction="mul"), expected)

    @every
    def test_include_self_false(self, flat, forced_threads):
        data = np.array([100, 200, 300, 400])
        indices, updates = np.array([2, 0, 2, 2]), np.array([5, 3, -4, 8])
        expected = {
            "none": [3, 200, 8, 400],
            "add": [3, 200, 9, 400],
            "mul": [3, 200, -160, 400],
            "max": [3, 200, 8, 400],
            "min": [3, 200, -4, 400],
            "mean": [3, 200, 3, 400],
        }
        for reduction, wanted in expected.items():
            assert flat(data, indices, updates, reduction=reduction, include_self=False).tolist() == wanted
            dropped = flat(data, np.append(indices, 9), np.append(updates, 1), reduction=reduction, mode="drop",
                           include_self=False)  # fmt: skip
            assert dropped.tolist() == wanted

    @every
    def test_include_self_false_with_only_dropped_updates_leaves_data(self, flat):
        for reduction in FLOAT_REDUCTIONS:
            result = flat(np.array([1.5, 2.5]), np.array([7, -9]), np.array([1.0, 2.0]), reduction=reduction,
                          mode="drop", include_self=False)  # fmt: skip
            assert result.tolist() == [1.5, 2.5]


class TestScalarUpdates:
    @in_turn(
        ("dtype", "scalar"),
        [("?", True), ("i1", -3), ("u8", 2**64 - 1), ("f2", 1.5), (ml_dtypes.bfloat16, 2), ("f4", 2), ("f8", -0.0),
         ("F", 1 - 2j), ("D", 2.5), (">i8", 7), (">f4", 0.5)],
    )  # fmt: skip
    def test_is_broadcast(self, dtype, scalar, forced_threads):
        data = numbers((6,), np.dtype(dtype), 0)
        indices = np.array([5, 0, 5, -1, 2])
        for reduction, name in itertools.product(FLOAT_REDUCTIONS, FUNCTIONS):
            if reduces(reduction, data.dtype.name):
                places = indices[:, None] if name == "scatter_nd" else indices
                result = FUNCTIONS[name](data, places, scalar, reduction=reduction)
                assert_same_numbers(result, LOOPS[name](data, places, scalar, reduction=reduction))

    def test_rows_and_batches(self, forced_threads):
        data = np.arange(24.0).reshape(2, 3, 4)
        places = np.array([[2, 0], [1, 1]])
        result = gs.scatter(data, places, 1, axis=1, batch_dims=1, reduction="add")
        assert_same_bits(result, reference.scatter(data, places, 1, axis=1, batch_dims=1, reduction="add"))
        result = gs.scatter_nd(data, places, 1, batch_dims=1, reduction="add")
        assert_same_bits(result, reference.scatter_nd(data, places, 1, batch_dims=1, reduction="add"))

    def test_of_dtypes_that_only_move(self):
        assert gs.scatter(np.array(["a", "b"]), np.array([1]), "c").tolist() == ["a", "c"]
        assert gs.scatter(np.array([None, None]), np.array([1]), "c").tolist() == [None, "c"]
        words = np.array(["a", "b"], np.dtypes.StringDType())
        assert gs.scatter(words, np.array([1]), "long " * 9).tolist() == ["a", "long " * 9]

    @every
    @in_turn(
        ("dtype", "scalar"), [("i4", 1.5), ("u1", 256), ("u1", -1), ("?", 2), ("f4", 1j), ("i4", "7"), ("f4", None)]
    )
    def test_that_do_not_fit(self, flat, dtype, scalar):
        data = np.zeros(3, dtype)
        with pytest.raises(TypeError):
            flat(data, np.array([0]), scalar, out=data)
        assert not data.any()


class TestListsOfUpdates:
    @pytest.mark.parametrize(
        ("dtype", "updates"),
        [("u1", [255]), ("i1", [-128]), ("f4", [1]), ("f4", [0.1]), ("f2", [np.inf]), ("D", [1j]), ("?", [True]),
         ("U2", ["ab"]), (object, [None]), (">i4", [7]), (ml_dtypes.bfloat16, [0.5]), ("u8", [2**64 - 1])],
    )  # fmt: skip
    def test_take_datas_dtype(self, dtype, updates):
        data = np.zeros(3, dtype)
        expected = data.copy()
        expected[1] = updates[0]
        assert_same_bits(gs.scatter(data, [1], updates), expected)

    @pytest.mark.parametrize(
        ("dtype", "updates"),
        [("i1", [128]), ("u1", [-1]), ("i8", [2**63]), ("f4", [1e300]), ("f2", [70000.0]), ("i4", [1.5]), ("f8", [1j]),
         ("U2", ["abc"]), ("?", [1]), ("i4", ["1"])],
    )  # fmt: skip
    def test_are_refused_where_it_does_not_hold_them(self, dtype, updates):
        with pytest.raises(TypeError, match=r"^scatter: updates is a list of .* values that data's dtype"):
            gs.scatter(np.zeros(3, dtype), [1], updates)


@pytest.mark.parametrize("include_self", [1, 0, None, "no", np.array([True, False])])
def test_include_self_is_a_bool(include_self):
    with pytest.raises(TypeError, match=r"^scatter: include_self=.* is not a bool; pass True or False$"):
        gs.scatter(np.zeros(3), [1], 1.0, reduction="add", include_self=include_self)
    assert gs.scatter(np.ones(3), [1], 1.0, reduction="add", include_self=np.bool(False)).tolist() == [1, 1, 1]
