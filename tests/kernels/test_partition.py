"""PARTITION: buckets, their segments and links, tiles, rounds. The result is the sequential loop's to the bit."""

import os
import subprocess
import sys
import tracemalloc

import gatherscatter as gs
import ml_dtypes
import numpy as np
import pytest
from assertions import assert_same_bits, assert_same_numbers
from gatherscatter import reference
from gatherscatter._kernels import scatter as kernel
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels

TEAMS = [1, 2, 3, 8, 192]
# By the width of a record's payload, with the dtypes' own kernels.
DTYPES = ["u1", "i2", "f2", ml_dtypes.bfloat16, "f4", "i8", "f8", "D"]


def partitioned(n_threads, data, indices, updates, l2_bytes=-1, **options):
    with kernels.forced(n_threads, scatter="partition", l2_bytes=l2_bytes):
        result = gs.scatter(data, indices, updates, **options)
        assert kernel.last_strategy() == ScatterStrategy.PARTITION
    return result


def loop(data, indices, updates, reduction):
    result = data.copy()
    if reduction == "none":
        for i, update in zip(indices.tolist(), updates, strict=True):
            result[i] = update
    else:
        for i, update in zip(indices.tolist(), updates, strict=True):
            result[i] = {"add": np.add, "max": np.maximum}[reduction](result[i], update)
    return result


def operands(n_destinations, n_updates, dtype, seed=0):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-2, 3, n_updates)
    updates = (rng.choice([-1, 1], n_updates) * scale * rng.random(n_updates)).astype(dtype)
    return rng.random(n_destinations).astype(dtype), rng.integers(0, n_destinations, n_updates), updates


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n_threads", TEAMS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of casts to integers
def test_every_payload_on_every_team(dtype, n_threads):
    data, indices, updates = operands(900, 4000, np.dtype(dtype))
    for reduction in ("add", "none"):
        expected = loop(data, indices, updates, reduction)
        assert_same_bits(partitioned(n_threads, data, indices, updates, reduction=reduction), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_tiles_of_a_large_result_are_streamed(dtype, n_threads):
    """16 MiB or more: a tile is written in scratch memory, then to the result, which begins and ends within a line."""
    dtype = np.dtype(dtype)
    n = (1 << 24) // dtype.itemsize + 1001
    data, indices, updates = operands(n, 3000, dtype)
    for reduction in ("add", "none", "max"):
        if dtype == "D" and reduction == "max":
            continue
        with kernels.forced(1, scatter="serial"):
            expected = gs.scatter(data, indices, updates, reduction=reduction)
        assert_same_bits(partitioned(n_threads, data, indices, updates, reduction=reduction), expected)
        target = np.zeros(n + 2, dtype)
        partitioned(n_threads, data, indices, updates, reduction=reduction, out=target[1:-1])
        assert_same_bits(target[1:-1], expected)
        assert target[0] == target[-1] == 0


@pytest.mark.parametrize("l2_bytes", [0, 1 << 30])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_tile_is_written_at_once_or_while_the_next_is_made(dtype, reduction, include_self, l2_bytes):
    """In parts: there are enough updates for many of them. In place too, where the result begins within a line."""
    data, indices, updates = operands((1 << 24) // np.dtype(dtype).itemsize + 1001, 150_000, np.dtype(dtype))
    indices[indices % 7 == 0] = 5  # tiles differ in their number of records
    words = {"reduction": reduction, "include_self": include_self}
    with kernels.forced(1, scatter="serial"):
        expected = gs.scatter(data, indices, updates, **words)
    assert_same_bits(partitioned(3, data, indices, updates, l2_bytes, **words), expected)
    memory = np.empty(len(data) + 128 // data.itemsize, dtype)
    start = (-memory.ctypes.data % 64 + 16) // data.itemsize
    target = memory[start : start + len(data)]
    target[...] = data
    partitioned(1, target, indices, updates, l2_bytes, out=target, **words)
    assert_same_bits(target, expected)


def test_few_updates_in_place_are_serial():
    """For one update in more than a cache line. PARTITION, which copies the tiles, for more."""
    rng = np.random.default_rng(0)
    data = np.zeros(8 << 20, "f4")
    for n, out, strategy in (
        (data.nbytes // 100, data, ScatterStrategy.SERIAL),
        (data.nbytes // 100, None, ScatterStrategy.PARTITION),
        (data.nbytes // 40, data, ScatterStrategy.PARTITION),
    ):
        indices = rng.integers(0, len(data), n)
        expected = data + np.bincount(indices, minlength=len(data)).astype("f4")
        with kernels.forced(2):
            found = gs.scatter(data, indices, np.float32(1), reduction="add", out=out)
        assert kernel.last_strategy() == strategy
        assert_same_bits(found, expected)


def special_operands(dtype):
    """Elements of which a third have no update, and numbers that show how a step treats NaN, zeros and overflow."""
    rng = np.random.default_rng(0)
    if dtype.kind == "f":
        special = np.array([np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf, 1e-40], dtype)
    else:
        special = np.array([0, 1, np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    data, updates = ((rng.standard_normal(n) * 50).astype(dtype) for n in (3001, 5000))
    for array in (data, updates):
        places = rng.integers(0, len(array), len(array) // 20)
        array[places] = rng.choice(special, len(places))
    return data, rng.integers(0, 2000, 5000), updates


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min", "mean"])
@pytest.mark.parametrize("dtype", ["i4", "i8", "u4", "u8", "f4", "f8"])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of casts to integers
def test_loops_of_records(dtype, reduction, include_self):
    """Each keeps the marks of its tiles: bits, counts, or none."""
    data, indices, updates = special_operands(np.dtype(dtype))
    words = {"reduction": reduction, "include_self": include_self}
    with np.errstate(all="ignore"):
        expected = reference.scatter(data, indices, updates, **words)
    for n_threads in (1, 3, 192):
        assert_same_numbers(partitioned(n_threads, data, indices, updates, **words), expected)
    indices[::7] = 10**6
    with np.errstate(all="ignore"):
        expected = reference.scatter(data, indices, updates, mode="drop", **words)
    for n_threads in (1, 3, 192):
        out = data.copy()
        partitioned(n_threads, out, indices, updates, mode="drop", out=out, **words)
        assert_same_numbers(out, expected)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "mean"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_marks_of_teams_without_scratch_memory_for_tiles(dtype, reduction):
    """192 tiles of 64 KiB exceed it: the first update replaces an element in the result."""
    data, indices, updates = operands((1 << 24) // np.dtype(dtype).itemsize + 9, 60_000, np.dtype(dtype))
    updates[::9] *= -0.0 if dtype[0] == "f" else 1  # -0.0 and 0.0
    for words in ({"reduction": reduction, "include_self": False}, {"reduction": reduction}):
        with kernels.forced(1, scatter="serial"):
            expected = gs.scatter(data, indices, updates, **words)
        assert_same_bits(partitioned(192, data, indices, updates, **words), expected)
        out = data.copy()
        partitioned(192, out, indices, updates, out=out, **words)
        assert_same_bits(out, expected)


@pytest.mark.slow
@pytest.mark.parametrize("reduction", ["add", "max", "mean"])
@pytest.mark.parametrize("include_self", [True, False])
def test_marks_of_more_updates_than_records(reduction, include_self):
    """Bits go on in later rounds; tiles with counts are taken in groups. All of it needs less than 64 MiB."""
    data, indices, updates = operands(9_000_000, 13_000_000, np.dtype("f4"))
    indices[: 6 << 20] %= 4096  # one tile has more than there is memory for
    for at in (indices, indices % 8_000_000):
        words = {"reduction": reduction, "include_self": include_self}
        with kernels.forced(1, scatter="serial"):
            expected = gs.scatter(data, at, updates, **words)
        for n_threads in (1, 3):
            out = data.copy()
            tracemalloc.start()
            try:
                partitioned(n_threads, out, at, updates, out=out, **words)
                most = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert_same_bits(out, expected)
            assert most < 1 << 26
            assert_same_bits(partitioned(n_threads, data, at, updates, **words), expected)


@pytest.mark.parametrize("dtype", ["u1", "f8", "D"])
def test_buckets_of_every_length(dtype):
    """Up to some segments: of 128 bytes in so small a job, so that a bucket ends before, at and after each link."""
    for n in range(1, 70):
        updates = np.arange(1, n + 1).astype(dtype)
        result = partitioned(1, np.zeros(64, dtype), np.full(n, 7), updates)
        assert result[7] == updates[-1]
        assert np.count_nonzero(result) == 1
        result = partitioned(1, np.zeros(64, dtype), np.full(n, 7), updates, reduction="add")
        assert result[7] == updates.sum(dtype=dtype)


@pytest.mark.parametrize("n_threads", [1, 2, 192])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_segments_of_full_size(dtype, n_threads):
    n = 300_000
    data, indices, updates = operands(20_000, n, np.dtype(dtype))
    expected = data.copy()
    np.add.at(expected, indices, updates)  # one after the other
    assert_same_bits(partitioned(n_threads, data, indices, updates, reduction="add"), expected)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_one_destination_gets_all(n_threads):
    data, _, updates = operands(5000, 100_000, np.dtype("f4"))
    indices = np.full(100_000, 4321)
    expected = data.copy()
    np.add.at(expected, indices, updates)
    assert_same_bits(partitioned(n_threads, data, indices, updates, reduction="add"), expected)


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "D"])
@pytest.mark.parametrize("n_threads", [1, 3, 192])
def test_skipped_updates_are_nowhere(dtype, n_threads):
    data, indices, updates = operands(900, 3000, np.dtype(dtype))
    indices[::3] += 900
    indices[1::7] -= 5000
    inside = (indices >= -900) & (indices < 900)
    expected = loop(data, indices[inside] % 900, updates[inside], "add")
    assert_same_bits(partitioned(n_threads, data, indices, updates, reduction="add", mode="drop"), expected)
    nothing = partitioned(n_threads, data, np.full(3000, 900), updates, reduction="add", mode="drop")
    assert_same_bits(nothing, data)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("step", [-1, 2, -3])
def test_results_of_any_stride(n_threads, step):
    data, indices, updates = operands(2700, 5000, np.dtype("f4"))
    indices %= len(data[::step])
    expected = data.copy()
    expected[::step] = loop(data[::step], indices, updates, "add")
    with kernels.forced(n_threads, scatter="partition"):
        gs.scatter(data[::step], indices, updates, reduction="add", out=data[::step])
        assert kernel.last_strategy() == ScatterStrategy.PARTITION
    assert_same_bits(data, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_short_rows_are_read_where_they_lie(n_threads):
    rng = np.random.default_rng(0)
    data, updates = rng.random((700, 3), "f4"), rng.random((4000, 3), "f4")
    indices = rng.integers(0, 700, 4000)
    expected = data.copy()
    np.add.at(expected, indices, updates)
    assert_same_bits(partitioned(n_threads, data, indices, updates, reduction="add"), expected)


def test_a_bad_index_in_the_last_chunk_leaves_out_as_it_was():
    data, indices, updates = operands(900, 4000, np.dtype("f4"))
    before = data.copy()
    indices[-1] = 900
    for n_threads in TEAMS:
        with kernels.forced(n_threads, scatter="partition"), pytest.raises(IndexError, match=r"\[3999\] = 900"):
            gs.scatter(data, indices, updates, reduction="add", out=data)
        assert_same_bits(data, before)


@pytest.mark.parametrize("n_threads", [1, 2, 192])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduction", ["none", "add", "mean"])
def test_tuples_that_can_name_the_first_rows_only(reduction, include_self, n_threads):
    """The tiles after them are data's; once they were taken for a part of the last tile, past its accumulators."""
    rng = np.random.default_rng(0)
    data, updates = rng.random((40, 640), "f4"), rng.random((2, 300), "f4")
    indices = rng.integers(0, 640, updates.shape)
    options = {"axis": 1, "reduction": reduction, "include_self": include_self}
    expected = reference.scatter_elements(data, indices, updates, **options)
    with kernels.forced(n_threads, scatter="partition"):
        assert_same_bits(gs.scatter_elements(data, indices, updates, **options), expected)
        assert kernel.last_strategy() == ScatterStrategy.PARTITION
        gs.scatter_elements(data, indices, updates, out=data, **options)
    assert_same_bits(data, expected)


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
def test_large_results_in_place(reduction):
    """Whole tiles of contiguous results are copied and written back; of strided ones, only what has an update."""
    rng = np.random.default_rng(0)
    n_slices, n = 1 << 22, 1 << 19  # 16 MiB of float32, from which results are written with non-temporal stores
    indices, updates = rng.integers(0, n_slices, n), rng.standard_normal(n).astype("f4")
    for step in (1, 2):
        memory = rng.standard_normal(n_slices * step).astype("f4")
        between = memory.reshape(-1, step)[:, 1:].copy()
        data = memory[::step]
        with kernels.forced(1, scatter="serial"):
            expected = gs.scatter(data, indices, updates, reduction=reduction)
        with kernels.forced(2, scatter="partition"):
            gs.scatter(data, indices, updates, reduction=reduction, out=data)
            assert kernel.last_strategy() == ScatterStrategy.PARTITION
        assert_same_bits(data.copy(), expected)
        assert_same_bits(memory.reshape(-1, step)[:, 1:].copy(), between)


COMBINED = """
import sys
import gatherscatter as gs
import numpy as np
from gatherscatter._kernels import scatter as kernel
from gatherscatter._kernels.codes import ScatterStrategy
from gatherscatter.backends import kernels

rng = np.random.default_rng(0)
n = 2_200_000  # 16 MiB of records, which then may be collected in cache lines
indices = rng.integers(-900_000, 1_000_000, n)  # some are skipped
indices[:200_000] = 77  # many segments of one bucket
for dtype in ("f4", "u2", "u1"):
    data, updates = rng.integers(0, 99, 900_000).astype(dtype), rng.integers(0, 99, n).astype(dtype)
    for options in ({"reduction": "none"}, {"reduction": "add"}, {"reduction": "add", "include_self": False}):
        with kernels.forced(1, scatter="serial"):
            expected = gs.scatter(data, indices, updates, mode="drop", **options)
        for n_threads in (1, 2, 3, 192):
            with kernels.forced(n_threads, scatter="partition"):
                result = gs.scatter(data, indices, updates, mode="drop", **options)
                assert kernel.last_strategy() == ScatterStrategy.PARTITION
            assert result.tobytes() == expected.tobytes(), (dtype, options, n_threads)
bad = indices % 900_000
bad[2_100_000] = 900_000
before = data.copy()
for n_threads in (1, 3):
    with kernels.forced(n_threads, scatter="partition"):
        try:
            gs.scatter(data, bad, updates, reduction="add", out=data)
        except IndexError as error:
            assert "indices[2100000] = 900000 is out of bounds" in str(error), error
        else:
            sys.exit("no error")
    assert data.tobytes() == before.tobytes()
"""


@pytest.mark.parametrize("streams", ["0", "1"])
def test_records_with_and_without_write_combining_buffers(streams):
    environment = os.environ | {"GATHERSCATTER_STREAM": streams}
    subprocess.run([sys.executable, "-c", COMBINED], env=environment, check=True, timeout=300)
