"""Dask arrays on worker processes: `pytest -m distributed`."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import dask
import dask.array as da
import gatherscatter as gs
import numpy as np
import pytest
import zarr
from assertions import assert_same_bits
from distributed import Client, LocalCluster
from gatherscatter import memory
from strategies import numbers

pytestmark = pytest.mark.distributed

MIB = 2**20


def start(directory, **options):
    """Two worker processes of one thread each, spawned as Dask's default is."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", **options}
    return LocalCluster(local_directory=str(directory), **options)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with start(tmp_path_factory.mktemp("workers")) as cluster, Client(cluster) as client:
        yield client


def bytes_sent(client):
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def test_processes_give_the_same_bits(client):
    rng = np.random.default_rng(0)
    data, updates = numbers((60, 7), np.dtype("f4"), 0), numbers((30, 20, 7), np.dtype("f4"), 3)
    indices = rng.integers(-70, 70, (30, 20, 1))
    lazy = da.from_array(data, chunks=(9, 3))
    for places in (indices, da.from_array(indices, chunks=(7, 6, 1))):
        result = gs.gather_nd(lazy, places, mode="fill")
        assert_same_bits(result.compute(), gs.gather_nd(data, indices, mode="fill"))
        for reduction in ("none", "add", "mean"):
            options = {"mode": "wrap", "reduction": reduction, "include_self": False}
            result = gs.scatter_nd(lazy, places, da.from_array(updates, chunks=5), **options)
            assert_same_bits(result.compute(), gs.scatter_nd(data, indices, updates, **options))


def test_a_bad_index_in_another_process(client):
    indices = da.from_array(np.array([[0, 0]] * 5 + [[2, 9]]), chunks=(2, 2))
    with pytest.raises(IndexError) as raised:
        gs.gather_nd(da.zeros((4, 5), chunks=2), indices).compute()
    message = "gather_nd: indices[5] = (2, 9) is out of bounds for data of shape (4, 5): axis 1 has size 5"
    assert str(raised.value) == message


def test_tasks_have_names_that_the_dashboard_shows(client):
    data, indices = da.zeros(100, chunks=10), da.arange(50, chunks=10)
    gs.scatter(data, indices, gs.gather(data, indices), reduction="add").compute()
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"gather-split", "gather-bucket", "gather-pick", "gather"} <= set(names)
    assert {"scatter-split", "scatter-send", "scatter-parcel", "scatter"} <= set(names)


def test_workers_keep_no_memory(client):
    """It would count as theirs, and they are paused and killed for what they hold."""
    gs.gather(da.zeros(100, chunks=10), da.arange(50, chunks=10)).compute()
    assert set(client.run(lambda: memory.limit).values()) == {0}


def test_what_moves_is_what_is_asked_for(client):
    """A few rows of a large table: neither the table nor, for each chunk of it, the indices move."""
    data = da.zeros((2**17, 64), chunks=(2**12, 64)).persist()
    indices = da.from_array(np.random.default_rng(0).integers(0, 2**17, 2**13), chunks=2**10).persist()
    before = bytes_sent(client)
    result = gs.gather(data, indices).persist()
    result[:1].compute()
    moved = bytes_sent(client) - before
    assert 0 < moved < 1.5 * (result.nbytes + indices.nbytes)
    assert moved < data.nbytes / 4


ROWS, WIDTH, CHUNK, UPDATES = 160 * 2**14, 128, 2**14, 2**20
LIMIT = 512 * MIB


def table_rows(numbers):
    return numbers.astype("f4")[:, None] / np.float32(7) + np.arange(WIDTH, dtype="f4")


def update_rows(numbers):
    return np.sin(numbers)[:, None].astype("f4") * np.arange(WIDTH, dtype="f4")


def made_updates(block_info=None):
    start, end = block_info[None]["array-location"][0]
    return update_rows(np.arange(start, end))


def stored(path, array):
    target = zarr.create_array(path, shape=array.shape, chunks=array.chunksize, dtype=array.dtype, compressors=None)
    array.store(target, lock=False)
    return target


def test_data_larger_than_all_workers_together(tmp_path):
    """1.25 GiB on disk, two workers of 0.5 GiB each, which spill at 70 % of it, pause at 80 %, and die at 95 %.

    A worker takes some 180 MiB before it does anything.
    """
    table = zarr.create_array(tmp_path / "table", shape=(ROWS, WIDTH), chunks=(CHUNK, WIDTH), dtype="f4")
    for first in range(0, ROWS, CHUNK):
        table[first : first + CHUNK] = table_rows(np.arange(first, first + CHUNK))
    # Where small pieces of memory are freed at once, what a worker is seen to take is what it holds (docs/dask.md).
    at_once = dask.config.set({"distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 16384})
    with at_once, start(tmp_path, memory_limit=LIMIT) as cluster, Client(cluster) as client:
        workers = client.scheduler_info()["workers"]
        assert sum(worker["memory_limit"] for worker in workers.values()) == 2 * LIMIT < table.nbytes
        data = da.from_zarr(tmp_path / "table")
        indices = da.random.default_rng(0).integers(0, ROWS, UPDATES, chunks=CHUNK)
        updates = da.map_blocks(made_updates, chunks=((CHUNK,) * (UPDATES // CHUNK), WIDTH), dtype="f4")
        gathered = stored(tmp_path / "gathered", gs.gather(data, indices))
        scattered = stored(tmp_path / "scattered", gs.scatter(data, indices, updates, reduction="add"))
        ids = indices.compute()
        peaks = client.run(peak_of_process)
        print(f"peaks of {[round(peak / MIB) for peak in peaks.values()]} MiB")
        assert set(peaks) == set(workers), "a worker was killed for its memory"
        assert max(peaks.values()) < LIMIT
    for first in range(0, UPDATES, CHUNK):
        expected = table_rows(ids[first : first + CHUNK])
        assert_same_bits(gathered[first : first + CHUNK], expected)
    for first in range(0, ROWS, CHUNK):
        here = np.flatnonzero((ids >= first) & (ids < first + CHUNK))
        there = table_rows(np.arange(first, first + CHUNK))
        expected = gs.scatter(there, ids[here] - first, update_rows(here), reduction="add")
        assert_same_bits(scattered[first : first + CHUNK], expected)


def peak_of_process():
    """From /proc on Linux, because getrusage starts from the memory of the parent process."""
    status = Path("/proc/self/status")
    if not status.exists():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) * 1024


def slowly(chunk):
    time.sleep(0.05)
    return chunk


@pytest.mark.parametrize("operator", ["gather", "scatter"])
def test_a_worker_killed_in_the_middle(tmp_path, operator):
    rng = np.random.default_rng(0)
    data, updates = numbers((4000, 3), np.dtype("f4"), 0), numbers((3000, 3), np.dtype("f4"), 3)
    ids = rng.integers(0, 4000, 3000)
    with start(tmp_path) as cluster, Client(cluster) as client:
        lazy = da.from_array(data, chunks=(100, 3)).map_blocks(slowly)
        indices = da.from_array(ids, chunks=150)
        if operator == "gather":
            result, expected, step = gs.gather(lazy, indices), gs.gather(data, ids), "gather-pick"
        else:
            given = da.from_array(updates, chunks=(150, 3)).map_blocks(slowly)
            result = gs.scatter(lazy, indices, given, reduction="add")
            expected, step = gs.scatter(data, ids, updates, reduction="add"), "scatter-parcel"
        future = client.compute(result)
        while client.run_on_scheduler(finished, step) < 50:
            time.sleep(0.01)
        victim = min(client.run(os.getpid).values())
        assert not future.done()
        os.kill(victim, signal.SIGKILL)
        assert_same_bits(future.result(timeout=300), expected)
        assert victim not in client.run(os.getpid).values()


def finished(step, dask_scheduler):
    prefix = dask_scheduler.task_prefixes.get(step)
    return 0 if prefix is None else prefix.state_counts["memory"] + prefix.state_counts["released"]
