"""Kind ARRAYS: the rules of its arguments, `out`, and what the kernels refuse."""

import re

import numpy as np
import pytest
from arrays import GET, gather, scatter
from assertions import assert_same_bits
from gatherscatter._kernels import gather as gather_kernel
from gatherscatter._kernels import scatter as scatter_kernel
from gatherscatter._kernels.common import Kind, Mode, ReductionCode, Status, TypeCode
from gatherscatter.operators import ARRAYS


class TestRules:
    def test_more_arrays_than_axes(self):
        i = np.arange(2)
        with pytest.raises(ValueError, match=re.escape("data of shape (2, 3, 4) has 2 axes from axis 1 on; pass at")):
            gather(np.zeros((2, 3, 4)), (i, i, i), 1)
        with pytest.raises(ValueError, match=re.escape("3 arrays, one for each axis, but data of shape (2, 3) has 2")):
            scatter(np.zeros((2, 3)), (i, i, i), 1.0)

    def test_indices_that_are_no_integers(self):
        i = np.arange(2)
        with pytest.raises(TypeError, match="indices has dtype float64"):
            gather(np.zeros((2, 3)), (i, i.astype(float)))

    def test_axis_counts_from_the_end_too(self):
        data, i = np.arange(24.0).reshape(2, 3, 4), np.array([1, 0])
        assert_same_bits(gather(data, (i, i + 1), -2), data[:, i, i + 1])

    @pytest.mark.parametrize("axis", [0, 1])
    @pytest.mark.parametrize("mode", ["raise", "clip", "wrap"])
    def test_no_index_is_in_an_axis_of_size_0(self, mode, axis):
        data = np.zeros((2,) * axis + (3, 0, 2))
        i, message = np.zeros(2, "u8"), rf"indices\[0\] = \(0, 0\) is out of bounds .* axis {axis + 1} has size 0"
        with pytest.raises(IndexError, match=message):
            gather(data, (i, i), axis, mode=mode)
        with pytest.raises(IndexError, match=message):
            scatter(data, (i.astype("i1"), i), 1.0, axis, mode=mode)
        assert gather(data, (i[:0], i[:0]), axis, mode=mode).shape == (2,) * axis + (0, 2)
        with pytest.raises(IndexError, match=message):  # data has no element, but the index is bad nevertheless
            gather(data[:0] if axis else data[..., :0], (i, i), axis, mode=mode)

    def test_indices_are_checked_if_data_is_empty_in_front_of_them(self):
        data, i = np.zeros((0, 3, 4)), np.array([0, 3])
        assert gather(data, (i - 1, i), 1).shape == (0, 2)
        with pytest.raises(IndexError, match=r"indices\[1\] = \(3, 3\) is out of bounds"):
            gather(data, (i, i), 1)
        assert gather(data, (i, i), 1, mode="clip").shape == (0, 2)
        assert gather(data, (i, i), 1, mode="fill").shape == (0, 2)

    def test_an_index_that_is_skipped_skips_the_tuple(self):
        data, y, x = np.arange(12.0).reshape(3, 4), np.array([0, 9, 2]), np.array([3, 0, -9])
        assert gather(data, (y, x), mode="fill", fill_value=-1.0).tolist() == [3.0, -1.0, -1.0]
        grid = gather(data, np.broadcast_arrays(y[:, None], x), mode="fill", fill_value=-1.0)
        assert grid.tolist() == [[3.0, 0.0, -1.0], [-1.0, -1.0, -1.0], [11.0, 8.0, -1.0]]
        assert scatter(data, (y, x.astype("i1")), 99.0, mode="drop").tolist() == [
            [0.0, 1.0, 2.0, 99.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0],
        ]  # fmt: skip

    @pytest.mark.parametrize("x", [np.array([0, -1]), np.array([0, -1], "i1"), np.broadcast_to(np.array(-1), (2,))])
    def test_negative_indices_may_be_out_of_bounds(self, x):
        data, y = np.zeros((2, 3)), np.arange(2)
        with pytest.raises(IndexError, match=r"indices\[\d\] = \(\d, -1\) is out of bounds"):
            gather(data, (y, x), op=GET.replace(wrap_negative_indices=False))


class TestOut:
    def test_in_place(self):
        data, y, x = np.arange(12.0).reshape(3, 4), np.array([0, 0, 2]), np.array([1, 1, 3], "i4")
        assert scatter(data, (y, x), 5.0, reduction="add", out=data) is data
        assert (data[0, 1], data[2, 3], data.sum()) == (11.0, 16.0, 66.0 + 15.0)

    def test_out_may_be_an_index_array(self):
        data = np.arange(9).reshape(3, 3)
        for layout in ("alike", "mixed"):
            y, x = np.array([2, 1, 0]), np.array([1, 0, 2])
            arrays = (y, x) if layout == "alike" else (y.astype("i1"), x)
            expected = data[arrays]
            assert gather(data, arrays, out=x) is x
            assert_same_bits(x, expected)
        x = np.array([[1, 0, 2], [0, 1, 0], [2, 2, 1]])
        expected = x.copy()
        np.add.at(expected, (np.broadcast_to(np.arange(3), (3, 3)), x.copy()), 1)
        assert_same_bits(scatter(x, (np.broadcast_to(np.arange(3), (3, 3)), x), 1, reduction="add", out=x), expected)

    def test_nothing_is_written_if_an_index_is_bad(self):
        data, y = np.zeros((3, 400)), np.zeros(400, int)
        x = np.arange(400, dtype="i4")
        x[399] = 400
        out = np.full(400, 7.0)
        with pytest.raises(IndexError, match=r"indices\[399\] = \(0, 400\)"):
            gather(data, (y, x), out=out)
        assert (out == 7.0).all()
        with pytest.raises(IndexError, match=r"indices\[399\] = \(0, 400\)"):
            scatter(data, (y, x), 1.0, out=data)
        assert not data.any()


class TestKernels:
    """The compiled functions reject arguments that no plan makes."""

    def call(self, data, indices, out, axis=0):
        return gather_kernel.gather(Kind.ARRAYS, data, indices, out, axis, 0, Mode.RAISE, True, None, False, 1)

    def test_shapes_that_differ(self):
        data, i, out = np.zeros((3, 3)), np.arange(3), np.zeros(3)
        assert self.call(data, (i, i), out) == Status.OK
        assert self.call(data, (i, i[:2]), out) == Status.INCONSISTENT
        assert self.call(data, (i, i[:, None]), out) == Status.INCONSISTENT
        assert self.call(data, (i, i, i), out) == Status.INCONSISTENT
        assert self.call(data, (i, i), out[:2]) == Status.INCONSISTENT
        assert self.call(data, (i, i), out, axis=1) == Status.INCONSISTENT
        assert self.call(data, (i, i > 0), out) == Status.INDEX_DTYPE
        assert self.call(data, (i > 0, i), out) == Status.INDEX_DTYPE

        def add(indices):
            return scatter_kernel.scatter(
                Kind.ARRAYS, None, indices, out, data, 0, 0, Mode.RAISE, True, ReductionCode.ADD, TypeCode.FLOAT64,
                TypeCode.NONE, True, False, 1,
            )  # fmt: skip

        assert add((i, i)) == Status.OK
        assert add((i, i[:2])) == Status.INCONSISTENT
        assert add((i, i > 0)) == Status.INDEX_DTYPE

    @pytest.mark.parametrize("indices", [[np.arange(3)] * 2, (), (np.arange(3), [0, 1, 2]), np.arange(3), None])
    def test_what_is_no_tuple_of_arrays(self, indices):
        with pytest.raises(TypeError):
            self.call(np.zeros((3, 3)), indices, np.zeros(3))
        with pytest.raises(TypeError):
            gather_kernel.resolve(Kind.ARRAYS, np.zeros((3, 3)), indices, 0, 0, Mode.RAISE, True, 0, np.zeros(3, int))
        assert gather_kernel.try_gather(ARRAYS, True, np.zeros((3, 3)), indices, 0, 0, "raise", 0, None, 1) is None

    def test_a_tuple_is_for_this_kind_only(self):
        i = np.arange(3)
        with pytest.raises(TypeError, match="tuple"):
            gather_kernel.gather(Kind.AXIS, np.zeros(3), (i,), np.zeros(3), 0, 0, Mode.RAISE, True, None, False, 1)
        assert gather_kernel.try_gather(Kind.AXIS, True, np.zeros(3), (i,), 0, 0, "raise", 0, None, 1) is None

    def test_small_calls(self):
        data, y, x = np.arange(12.0).reshape(3, 4), np.array([0, 9, 2]), np.array([3, 0, -9], "i4")
        arrays, options = (y, x), (0, 0, "fill", -1.0)
        result = gather_kernel.try_gather(ARRAYS, True, data, arrays, *options, None, 1)
        assert result.tolist() == [3.0, -1.0, -1.0]
        out = np.zeros(3)
        assert gather_kernel.try_gather(ARRAYS, True, data, arrays, *options, out, 1) is out
        assert out.tolist() == [3.0, -1.0, -1.0]
        for bad in ((y, x[:2]), (y, x, x), (y, x > 0), (y,) * 3):
            assert gather_kernel.try_gather(ARRAYS, True, data, bad, *options, None, 1) is None
        # out is one of the arrays
        assert gather_kernel.try_gather(ARRAYS, True, data.astype(int), (y, y), 0, 0, "clip", 0, y, 1) is None
        result = scatter_kernel.try_scatter(ARRAYS, True, data, arrays, 9.0, 0, 0, "add", "drop", True, None, 1)
        assert_same_bits(result, scatter(data, arrays, 9.0, reduction="add", mode="drop"))
        assert scatter_kernel.try_scatter(ARRAYS, True, data, arrays, 9.0, 0, 0, "add", "raise", True, None, 1) is None
        assert scatter_kernel.try_scatter(ARRAYS, True, data, y, 9.0, 0, 0, "add", "raise", True, None, 1) is None
        # No position, so the kernel would not check the indices.
        assert gather_kernel.try_gather(ARRAYS, True, np.zeros((0, 3, 4)), arrays, 1, 0, "raise", 0, None, 1) is None
