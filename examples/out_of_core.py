"""Look up and update a table of embeddings that is larger than the memory of all workers together.

    pip install '.[dask]' && python examples/out_of_core.py

Writes a table to disk (Zarr), starts a cluster of worker processes with a memory limit, looks up ids in the table and
adds gradients to the rows with these ids. Both results go to disk, chunk by chunk, and are checked there. Prints the
time, the peak memory of each worker and what they sent to each other; the bar shows how far the tasks are.
"""

import argparse
import contextlib
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import gatherscatter as gs
import numpy as np
import zarr
from distributed import Client, LocalCluster, progress

MIB = 2**20
SETTINGS = {
    # Small pieces of memory are then freed at once, so that workers are not paused for memory that nobody uses.
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 16384,
    # Tasks stay where their chunk of the table is.
    "distributed.scheduler.work-stealing": False,
}
WIDTH = 32  # numbers of float32 in a row
CHUNK = 2**16  # rows in a chunk: 8 MiB


def rows_of(numbers):
    """What the table holds in the rows of these numbers."""
    return numbers.astype("f4")[:, None] / np.float32(7) + np.arange(WIDTH, dtype="f4")


def gradients_of(numbers):
    return np.sin(numbers)[:, None].astype("f4") * np.arange(WIDTH, dtype="f4")


def gradients_of_chunk(block_info=None):
    return gradients_of(np.arange(*block_info[None]["array-location"][0]))


def write_table(path, n_rows):
    table = zarr.create_array(path, shape=(n_rows, WIDTH), chunks=(CHUNK, WIDTH), dtype="f4", compressors=None)
    for first in range(0, n_rows, CHUNK):
        table[first : first + CHUNK] = rows_of(np.arange(first, min(first + CHUNK, n_rows)))
    return table


def peak_mib():
    status = Path("/proc/self/status")
    if status.exists():  # Linux, where getrusage starts from the memory of the parent process
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MIB if sys.platform == "darwin" else 1024)


def sent_mib(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total / MIB


def to_disk(client, path, array):
    """Compute an array into a Zarr array on disk, and say what that took."""
    target = zarr.create_array(path, shape=array.shape, chunks=array.chunksize, dtype=array.dtype, compressors=None)
    before = sum(client.run(sent_mib).values())
    start = time.perf_counter()
    future = client.compute(array.store(target, lock=False, compute=False))
    progress(future, notebook=False)
    future.result()
    seconds = time.perf_counter() - start
    moved = sum(client.run(sent_mib).values()) - before
    peaks = ", ".join(f"{peak:.0f}" for peak in client.run(peak_mib).values())
    print(f"\n{path.name}: {array.nbytes / MIB:.0f} MiB in {seconds:.1f} s; {moved:.0f} MiB moved between workers;")
    print(f"  peak memory of each worker so far: {peaks} MiB")
    return target


def check(condition):
    if not condition:
        raise SystemExit("the result is not what it should be")


def check_lookup(result, ids):
    for first in range(0, len(ids), CHUNK):
        check(np.array_equal(result[first : first + CHUNK], rows_of(ids[first : first + CHUNK])))


def check_update(result, ids, n_rows):
    """Against NumPy's loop over the same gradients, in the same order, bit for bit."""
    for first in range(0, n_rows, CHUNK):
        expected = rows_of(np.arange(first, min(first + CHUNK, n_rows)))
        here = np.flatnonzero((ids >= first) & (ids < first + CHUNK))
        np.add.at(expected, ids[here] - first, gradients_of(here))
        check(np.array_equal(result[first : first + CHUNK], expected))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--memory-mib", type=int, default=512, help="limit of each worker, which takes some 180 by itself"
    )
    parser.add_argument("--table-mib", type=int, default=3072)
    parser.add_argument("--ids", type=int, default=2**21)
    parser.add_argument(
        "--directory", type=Path, help="on a disk that takes three times the table (default: temporary)"
    )
    given = parser.parse_args()
    n_rows = given.table_mib * MIB // (4 * WIDTH)

    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.directory)))
        print(f"writing a table of {n_rows} rows of {WIDTH} numbers, {given.table_mib} MiB, to {directory}")
        write_table(directory / "table", n_rows)
        stack.enter_context(dask.config.set(SETTINGS))
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=given.workers,
                threads_per_worker=1,
                memory_limit=given.memory_mib * MIB,
                local_directory=str(directory),  # where workers spill to
                dashboard_address=":0",
            )
        )
        client = stack.enter_context(Client(cluster))
        print(f"{given.workers} workers of {given.memory_mib} MiB each; watch them at {client.dashboard_link}")

        table = da.from_zarr(directory / "table")
        ids = da.random.default_rng(0).integers(0, n_rows, given.ids, chunks=2 * CHUNK)
        gradients = da.map_blocks(gradients_of_chunk, chunks=(ids.chunks[0], WIDTH), dtype="f4")
        looked_up = to_disk(client, directory / "looked-up", gs.gather(table, ids))
        updated = to_disk(client, directory / "updated", gs.scatter(table, ids, gradients, reduction="add"))

        print("checking both")
        known = ids.compute()
        check_lookup(looked_up, known)
        check_update(updated, known, n_rows)
        print("both are what NumPy's loop gives, bit for bit")


if __name__ == "__main__":
    main()
