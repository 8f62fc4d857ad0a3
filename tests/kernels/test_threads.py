"""The thread count, and forked processes."""

import functools
import os
import subprocess
import sys
import sysconfig
import time

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter._kernels import common as kernel
from gatherscatter.backends import kernels
from libraries import needs


def test_set_and_get():
    assert gs.get_num_threads() == kernel.max_threads()
    gs.set_num_threads(5)
    assert gs.get_num_threads() == (5 if kernel.openmp_version else 1)
    gs.set_num_threads(None)
    assert gs.get_num_threads() == kernel.max_threads()


@pytest.mark.parametrize(
    ("n", "kind", "message"),
    [
        (0, ValueError, "n=0 is not in [1, 1024]; pass one of these, or None"),
        (-3, ValueError, "n=-3 is not in [1, 1024]; pass one of these, or None"),
        (1025, ValueError, "n=1025 is not in [1, 1024]; pass one of these, or None"),
        (10**12, ValueError, "n=1000000000000 is not in [1, 1024]; pass one of these, or None"),
        (2.0, TypeError, "n=2.0 is not an integer; pass 1 or more, or None"),
        (np.arange(2), TypeError, "n=array([0, 1]) is not an integer; pass 1 or more, or None"),
    ],
)
def test_numbers_that_are_refused(n, kind, message):
    gs.set_num_threads(3)
    with pytest.raises(kind) as caught:
        gs.set_num_threads(n)
    assert str(caught.value) == f"set_num_threads: {message}"
    assert gs.get_num_threads() == (3 if kernel.openmp_version else 1)
    gs.set_num_threads(1024)
    assert gs.get_num_threads() == (1024 if kernel.openmp_version else 1)


# What threadpoolctl does: it calls omp_set_num_threads of the OpenMP library that the process has loaded.
LOWERED = """
import ctypes, os, time
import numpy as np
import gatherscatter as gs

with open("/proc/self/maps") as file:
    (library,) = {line.split()[-1] for line in file if "omp" in line.rpartition("/")[2]}
omp = ctypes.CDLL(library)

def n_threads():  # the threads of a team stay
    gs.gather(data, indices)
    time.sleep(0.1)  # in which those that leave the team end
    return gs.get_num_threads(), len(os.listdir("/proc/self/task"))

data, indices = np.arange(1_000_000.0), np.arange(4_000_000) % 1_000_000
omp.omp_set_num_threads(2)
gs.set_num_threads(4)
omp.omp_set_num_threads(1)
print(*n_threads())
omp.omp_set_num_threads(2)
print(*n_threads())
omp.omp_set_num_threads(1)
gs.set_num_threads(3)  # later, so it holds
print(*n_threads())
gs.set_num_threads(None)
print(*n_threads())
"""


@functools.cache
def lowered():
    """The numbers that are reported, and the threads of the process, which the team of a call leaves."""
    # OMP_DYNAMIC=false: however many CPUs there are, and however busy.
    environment = {**os.environ, "OMP_DYNAMIC": "false", "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", LOWERED], capture_output=True, text=True, check=True, env=environment)
    return list(zip(*(map(int, line.split()) for line in run.stdout.splitlines()), strict=True))


on_linux = needs(sys.platform == "linux" and kernel.openmp_version, "OpenMP's library is looked up on Linux")


@on_linux
def test_openmps_choice_may_be_lowered_after_a_limit_was_set():
    assert lowered()[0] == (1, 4, 3, 1)


@on_linux
@needs("gcc" in kernel.compiler, "GCC's OpenMP ends threads that leave a team, and Clang's keeps them")
def test_kernels_use_the_lowered_choice():
    assert lowered()[1] == (1, 4, 3, 3)  # the last call, on one thread, leaves the team of the one before


def test_the_environment_is_respected():
    code = "import gatherscatter as gs; print(gs.get_num_threads())"
    environment = {**os.environ, "OMP_NUM_THREADS": "3"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert int(run.stdout) == (3 if kernel.openmp_version else 1)


FORK = """
import multiprocessing, warnings
import numpy as np
import gatherscatter as gs

data = np.arange(1_000_000.0)
indices = np.arange(1_000_000)[::-1, None].copy()
gs.set_num_threads(2)

def child(_):
    result = gs.gather_nd(data, indices)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gs.set_num_threads(4)
    return gs.get_num_threads(), len(caught), int(result[0])

gs.gather_nd(data, indices)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(child, range(2)))
"""


if hasattr(os, "fork"):

    def test_forked_children_do_not_hang():
        command = [sys.executable, "-W", "ignore", "-c", FORK]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
        threads_and_warnings = (1, 1 if kernel.openmp_version else 0, 999999)
        assert run.stdout.strip() == str([threads_and_warnings] * 2), run.stderr


MANY = """
import numpy as np
import gatherscatter as gs
from gatherscatter.backends import kernels

indices = np.random.default_rng(0).integers(0, 900_000, 1_300_000, dtype=np.int32)
with kernels.forced(600, scatter="partition"):
    result = gs.scatter(np.zeros(900_000, np.int32), indices, 1, reduction="add")
print(np.array_equal(result, np.bincount(indices, minlength=900_000)))
"""


def test_far_more_threads_than_the_tables_were_made_for():
    run = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=120)
    assert run.stdout.strip() == "True", (run.returncode, run.stderr)


@pytest.mark.parametrize("n_threads", [129, 256])
def test_more_pieces_of_rows_than_tasks(n_threads):
    data = np.arange(700 * 65536, dtype="u1").reshape(700, 65536)
    with kernels.forced(n_threads):
        np.testing.assert_array_equal(gs.gather(data, np.arange(700)[::-1]), data[::-1])


def test_many_python_threads_at_once():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    data = rng.random((1000, 50))
    indices = rng.integers(-1000, 1000, (50_000, 1))
    expected = data[indices[:, 0]]
    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: gs.gather_nd(data, indices), range(16)):
            np.testing.assert_array_equal(result, expected)


@needs(sysconfig.get_config_var("Py_GIL_DISABLED"), "this Python has the GIL")
def test_import_leaves_the_gil_off():
    code = "import sys, gatherscatter; print(sys._is_gil_enabled())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n", run.stderr


if sys.platform == "linux" and kernel.openmp_version:

    @pytest.mark.parametrize(("dynamic", "expected"), [("true", 1), ("false", os.cpu_count())])
    def test_busy_processes_leave_no_cpus(dynamic, expected):
        code = "from gatherscatter._kernels.common import cpus_for; import os; input('now')"
        command = [sys.executable, "-uc", code + "; print(cpus_for(os.cpu_count()))"]
        environment = {**os.environ, "OMP_DYNAMIC": dynamic}
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        with run:
            assert (
                run.stdout.read(3) == "now"
            )  # it has imported the package: the loops take no longer than they have to
            loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() + 1)]
            try:
                time.sleep(0.2)  # until they run
                printed, _ = run.communicate("\n", timeout=60)
            finally:
                for loop in loops:
                    loop.kill()
                    loop.wait()
        assert int(printed) == expected


AFFINITY = ("OMP_DYNAMIC", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
BOUND = """
import os, time
from gatherscatter._kernels import common
cpus = os.sched_getaffinity(0)
assert common.cpus_for(1000) <= len(cpus)
os.sched_setaffinity(0, {min(cpus)})
time.sleep(0.01)  # a reading is used for half a millisecond
assert common.cpus_for(1000) == 1
"""


@needs(hasattr(os, "sched_setaffinity"), "the CPUs of a process cannot be set here")
@needs((os.cpu_count() or 1) > 1, "there is one CPU")
def test_a_process_that_is_bound_to_a_cpu_after_the_import():
    environment = {name: value for name, value in os.environ.items() if name not in AFFINITY}
    subprocess.run([sys.executable, "-c", BOUND], check=True, env=environment, timeout=60)


SHARED = """
import threading, time
from gatherscatter._kernels.common import call_ends, limit_of_call

def call(limit=8, seconds=0):
    begun = limit_of_call(limit)
    time.sleep(seconds)
    call_ends()
    return begun

def on_another(function):
    results = []
    thread = threading.Thread(target=lambda: results.extend(function()))
    thread.start()
    thread.join()
    return results

def alone():
    return call(), call(seconds=0.11), call(), call(limit=3)

def beside_one():
    call(seconds=0.11)
    before = call()
    begun, ended = threading.Event(), threading.Event()
    other = threading.Thread(target=lambda: (limit_of_call(8), begun.set(), ended.wait(), call_ends()))
    limit_of_call(8)
    other.start()
    begun.wait()
    call_ends()
    ended.set()
    other.join()
    return before, call(), call(limit=3), call(limit=1)

print(call(), on_another(alone), on_another(beside_one), call())
"""


@needs(sys.platform == "linux" and kernel.openmp_version, "calls share the CPUs on Linux, with OpenMP")
@pytest.mark.parametrize(
    ("dynamic", "expected"),
    [("true", "8 [1, 1, 8, 3] [8, 4, 1, 1] 8"), ("false", "8 [8, 8, 8, 3] [8, 8, 3, 1] 8")],
)
def test_calls_on_several_python_threads_share_the_cpus(dynamic, expected):
    environment = {**os.environ, "OMP_DYNAMIC": dynamic}
    run = subprocess.run(
        [sys.executable, "-c", SHARED], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    assert run.stdout.strip() == expected


POOL = """
import os, threading
import numpy as np
import gatherscatter as gs

gs.set_num_threads(2)
data, indices, zeros = np.ones((1000, 8)), np.arange(200_000) % 1000, np.zeros((1000, 8))
updates = data[indices]
ready = threading.Barrier(2)

def calls():
    ready.wait()
    for _ in range(15):
        gs.gather(data, indices)
        gs.scatter(zeros, indices, updates, reduction="add")
    ready.wait()
    counts.append(len(os.listdir("/proc/self/task")))
    ready.wait()

for function in (gs.gather, lambda x, i: gs.scatter(zeros, i, updates, reduction="add")):
    function(data, indices)
counts = [len(os.listdir("/proc/self/task"))]
threads = [threading.Thread(target=calls) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(max(counts[1:]) - counts[0])
"""


@needs(sys.platform == "linux" and kernel.openmp_version, "calls share the CPUs on Linux, with OpenMP")
@pytest.mark.parametrize(("dynamic", "more"), [("true", 2), ("false", 4)])
def test_a_pool_of_python_threads_has_no_teams(dynamic, more):
    environment = {**os.environ, "OMP_DYNAMIC": dynamic}
    run = subprocess.run(
        [sys.executable, "-c", POOL], capture_output=True, text=True, check=True, env=environment, timeout=120
    )
    assert int(run.stdout) == more
