"""COLUMNS: gather_elements along an axis with a long stride, by tiles of columns, row by row."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits
from gatherscatter._kernels import gather
from gatherscatter._kernels.common import GatherRoute
from gatherscatter.backends import kernels
from pairwise import each_pair, in_turn


def by_columns(data, indices, n_threads=1, **options):
    with kernels.forced(n_threads, gather="columns"):
        result = gs.gather_elements(data, indices, axis=0, **options)
        assert gather.last_route()[0] == GatherRoute.COLUMNS
    return result


def expected_of(data, indices):
    return np.take_along_axis(data, np.where(indices < 0, indices + len(data), indices), axis=0)


def draw(rows, columns, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (rows, columns * np.dtype(dtype).itemsize), "u1").view(dtype)


@each_pair(
    dtype=["u1", "u2", "i4", "i8", "V16"], columns=[1, 63, 64, 300], index_dtype=["i2", "i4", "i8"], n_threads=[1, 3]
)
def test_items(index_dtype, dtype, columns, n_threads):
    data = draw(50, columns, dtype)
    indices = np.random.default_rng(1).integers(0, 50, (70, columns)).astype(index_dtype)
    if dtype == "V16":
        data = data.view("c16")
    assert_same_bits(by_columns(data, indices, n_threads), expected_of(data, indices))


@pytest.mark.parametrize("n_negative", [1, 16, 17, 40, 500])
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
def test_rows_with_negative_indices(index_dtype, n_negative):
    rng = np.random.default_rng(0)
    data, indices = draw(90, 130, "f4"), rng.integers(0, 90, (500, 130)).astype(index_dtype)
    for row in rng.permutation(500)[:n_negative]:
        indices[row, rng.integers(130)] -= 90
    expected = expected_of(data, indices)
    assert_same_bits(by_columns(data, indices), expected)
    assert_same_bits(by_columns(data, indices, mode="wrap"), expected)
    every_other = np.repeat(indices, 2, axis=1)[:, ::2]
    assert_same_bits(by_columns(data, every_other), expected)


@in_turn("value", [90, -91, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("place", [(0, 0), (0, 63), (250, 64), (499, 129)])
def test_an_index_out_of_bounds(place, value):
    data, indices = draw(90, 130, "f4"), np.random.default_rng(0).integers(0, 90, (500, 130))
    for index_dtype in ("i4", "i8"):
        given = indices.astype(index_dtype)
        given[place] = value
        out = np.zeros((500, 130), "f4")
        position = ", ".join(map(str, place))
        with kernels.forced(1, gather="columns"):
            with pytest.raises(IndexError, match=rf"indices\[{position}\] = {value} "):
                gs.gather_elements(data, given, axis=0)
            with pytest.raises(IndexError, match=rf"indices\[{position}\] = {value} "):
                gs.gather_elements(data, given, axis=0, out=out)
        assert not out.any()
        named = np.where((given >= -90) & (given < 90), given, 0)
        expected = expected_of(data, named)
        expected[place] = 5
        assert_same_bits(by_columns(data, given, mode="fill", fill_value=np.float32(5)), expected)


@pytest.mark.parametrize(("columns", "n_threads"), [(1024, 1), (1000, 3), (1021, 1), (1021, 3)])
def test_results_that_are_streamed(columns, n_threads):
    """Of 16 MiB or more, with rows that begin at cache lines, and with others."""
    rng = np.random.default_rng(0)
    data, indices = draw(300, columns, "f4"), rng.integers(0, 300, (4400, columns), "i4")
    indices[::700, ::7] -= 300
    expected = expected_of(data, indices)
    assert_same_bits(by_columns(data, indices, n_threads), expected)
    wide = np.zeros((4400, columns + 40), "f4")
    for start in (0, 3, 16):
        wide[:] = 0
        by_columns(data, indices, n_threads, out=wide[:, start : start + columns])
        assert_same_bits(wide[:, start : start + columns], expected)
        assert not wide[:, :start].any()
        assert not wide[:, start + columns :].any()
