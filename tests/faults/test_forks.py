"""Forked processes, also while kernels run, and worker processes of every start method."""

import multiprocessing
import os
import subprocess
import sys

import gatherscatter as gs
import numpy as np
import pytest
from fault_hook import HERE, how_it_ended, run_python
from libraries import needs

can_fork = needs(hasattr(os, "fork"), "this system has no fork")
TIMEOUT = 60  # seconds: a child that waits for its parent's threads waits forever
SETTINGS = {"OMP_DYNAMIC": "false", "OMP_NUM_THREADS": "2"}

WORK = """
import os, sys, threading, time
import numpy as np
import gatherscatter as gs

N = 1_000_000
rng = np.random.default_rng(0)
data, indices = np.zeros(N, np.float32), rng.integers(0, N, N)
counts = np.bincount(indices, minlength=N)

def work():
    scattered = gs.scatter(data, indices, 1, reduction="add")
    averaged = gs.scatter(data[:, None], indices, np.ones((N, 1), np.float32), reduction="mean", include_self=False)
    return np.array_equal(scattered, counts) and np.array_equal(gs.gather(scattered, indices), counts[indices]) and (
        averaged.max() == 1)
"""
FORKS = (
    WORK
    + """
def children(n):
    for _ in range(n):
        child = os.fork()
        if child == 0:
            os._exit(0 if work() and work() else 3)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
"""
)
IDLE = "\nassert work()\nchildren(3)\nassert work()\n"
BUSY = """
stop = threading.Event()

def run():
    while not stop.is_set():
        assert work()

threads = [threading.Thread(target=run) for _ in range(2)]
for thread in threads:
    thread.start()
try:
    for _ in range(20):
        time.sleep(0.013)
        children(1)
finally:
    stop.set()
    for thread in threads:
        thread.join()
"""
GRANDCHILD = """
assert work()
child = os.fork()
if child == 0:
    children(1)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
"""


@can_fork
@pytest.mark.slow
@pytest.mark.parametrize("code", [IDLE, BUSY, GRANDCHILD], ids=["after a call", "during calls", "of a fork"])
def test_forks(code):
    run = run_python("-c", FORKS + code, quiet=True, timeout=TIMEOUT, **SETTINGS)
    assert how_it_ended(run) is None


SUBPROCESS = """
import subprocess
assert work()
stop = threading.Event()
thread = threading.Thread(target=lambda: [work() for _ in iter(stop.is_set, True)])
thread.start()
for _ in range(20):
    subprocess.run(["true"], check=True)
    pid = os.posix_spawnp("true", ["true"], os.environ)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
thread.join()
"""


@can_fork
@pytest.mark.slow
def test_other_programs_are_started_during_calls():
    assert how_it_ended(run_python("-c", WORK + SUBPROCESS, timeout=TIMEOUT, **SETTINGS)) is None


def gather_in_worker(seed):
    """What a worker does; here so that spawned workers find it."""
    rng = np.random.default_rng(seed)
    data, indices = rng.random(300_000), rng.integers(0, 300_000, 300_000)
    assert np.array_equal(gs.gather(data, indices), data[indices])
    total = gs.scatter(np.zeros(300_000), indices, 1.0, reduction="add")
    return int(total.sum())


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_pools_of_processes(method):
    from concurrent.futures import ProcessPoolExecutor

    assert gather_in_worker(0) == 300_000
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        futures = [pool.submit(gather_in_worker, seed) for seed in range(6)]
        assert [future.result(timeout=TIMEOUT) for future in futures] == [300_000] * 6


JOBLIB = """
import joblib
from test_forks import gather_in_worker

gather_in_worker(0)
for backend in ("loky", "multiprocessing", "threading"):
    tasks = [joblib.delayed(gather_in_worker)(seed) for seed in range(6)]
    assert joblib.Parallel(n_jobs=2, backend=backend, timeout=60)(tasks) == [300_000] * 6
"""


@pytest.mark.slow
def test_joblib():
    run = run_python("-c", JOBLIB, timeout=2 * TIMEOUT, quiet=True, **SETTINGS)
    assert how_it_ended(run) is None


POOL = """
import multiprocessing, sys
import numpy as np
from test_forks import gather_in_worker

if __name__ == "__main__":
    gather_in_worker(0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map_async(gather_in_worker, range(6)).get(timeout=60) == [300_000] * 6
"""
LOADER = """
import sys
import gatherscatter as gs
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self):
        self.data = torch.arange(300_000.0)

    def __len__(self):
        return 16

    def __getitem__(self, i):
        indices = torch.randint(0, 300_000, (300_000,))
        rows = gs.gather(self.data, indices)
        assert torch.equal(rows, self.data[indices])
        counts = gs.scatter(torch.zeros(300_000), indices, 1.0, reduction="add")
        assert gs.gather(self.data.numpy(), indices.numpy())[0] == rows[0]
        return counts.sum()

if __name__ == "__main__":
    rows = Rows()
    rows[0]
    for persistent in (False, True):
        loader = DataLoader(rows, batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1],
                            persistent_workers=persistent)
        for _ in range(2):
            assert [batch.tolist() for batch in loader] == [[300_000.0] * 4] * 4
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.parametrize("code", [POOL, LOADER], ids=["multiprocessing.Pool", "torch DataLoader"])
def test_workers_after_calls_of_the_parent(code, method, tmp_path):
    (tmp_path / "main.py").write_text(code, encoding="utf-8")
    paths = os.pathsep.join([str(HERE), str(HERE.parent)])
    command = [sys.executable, "-W", "ignore", str(tmp_path / "main.py"), method]
    environment = os.environ | SETTINGS | {"PYTHONPATH": paths}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * TIMEOUT)
    assert how_it_ended(run) is None
