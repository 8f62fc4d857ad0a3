"""The memory of freed results that is kept for later results."""

import ctypes
import gc
import os
import subprocess
import sys
import threading

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter import memory
from gatherscatter._kernels import common as kernel
from libraries import needs

pytestmark = needs(kernel.keeps, "memory is kept on Linux alone")
MIB = 1 << 20


def keep(mebibytes):
    gs.set_cache_limit(mebibytes * MIB)


@pytest.fixture(autouse=True)
def _nothing_kept():
    gc.collect()
    before = gs.get_cache_limit()
    gs.empty_cache()
    keep(64)
    yield
    gs.empty_cache()
    gs.set_cache_limit(before)


def large(n=8 * MIB):
    return memory.empty((n,), np.dtype("u1"))


def address(array):
    return array.ctypes.data


def test_a_freed_result_is_the_next_ones_memory():
    first = large()
    where = address(first)
    assert memory.kept() == 0
    del first
    assert 8 * MIB < memory.kept() <= 12 * MIB
    assert address(large()) == where


@pytest.mark.parametrize("n", [8 * MIB, MIB], ids=["large", "small"])
def test_of_equal_memory_the_latest_is_the_next(n):
    """Scratch memory, which the caches may hold, is freed before the result that was made with it."""
    result, scratch = large(n), large(n)
    result_at, scratch_at = address(result), address(scratch)
    del scratch, result
    again = large(n), large(n)
    assert [address(array) for array in again] == [result_at, scratch_at]


def test_large_results_have_pages_of_their_own():
    """The C library would reuse freed memory, whose pages stay ordinary ones."""
    others = [np.ones(20 * MIB, np.uint8) for _ in range(3)]  # freed, such arrays become part of its heap
    del others
    others = [np.ones(20 * MIB, np.uint8) for _ in range(3)]
    del others
    result = large(12 * MIB)
    where = address(result)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        lines = [line.split() for line in maps]
    (found,) = [line for line in lines if int(line[0].split("-")[0], 16) <= where < int(line[0].split("-")[1], 16)]
    assert found[5:] != ["[heap]"]
    assert where % (2 * MIB) == 64


def lazily_freed():
    """The bytes of this process that the system may reclaim."""
    with open("/proc/self/smaps_rollup", encoding="utf-8") as rollup:
        return sum(int(line.split()[1]) << 10 for line in rollup if line.startswith("LazyFree:"))


@needs(os.path.exists("/proc/self/smaps_rollup"), "the system does not tell what it may reclaim")
def test_all_but_the_latest_may_be_reclaimed():
    """The latest 128 MiB are not marked, so that results that are freed and made again cost no system call."""
    keep(1000)
    before = lazily_freed()

    def marked():
        return (lazily_freed() - before) // MIB

    arrays = [large(60 * MIB) for _ in range(4)]
    for array in arrays:
        array[:] = 1
    del array
    counts = []
    while arrays:
        arrays.pop()
        counts.append(marked())
    assert counts[:2] == [0, 0]
    assert 60 <= counts[2] <= 62
    assert 120 <= counts[3] <= 124
    again = large(60 * MIB)  # the latest
    assert marked() == counts[-1]
    again[:] = 2
    del again
    huge = large(200 * MIB)
    huge[:] = 1
    del huge
    assert marked() >= counts[-1] + 200  # at once


def test_what_is_alive_is_nobody_elses():
    first = large()
    view = first[5:]
    del first
    second = large()
    second[...] = 1
    view[...] = 2
    assert second.min() == second.max() == 1


def test_all_operators_use_it():
    data, indices = np.zeros((4 * MIB, 1), np.float32), np.zeros((2 * MIB, 1), np.int64)
    gs.gather_nd(data, indices)
    assert memory.kept() > 8 * MIB
    gs.empty_cache()
    gs.scatter_nd(data, indices, 1.0, reduction="add")
    assert memory.kept() > 16 * MIB


def test_it_is_bounded():
    blocks = [large(24 * MIB) for _ in range(4)]
    del blocks
    assert memory.kept() <= 64 * MIB
    large(100 * MIB)
    assert memory.kept() <= 64 * MIB
    keep(30)
    assert memory.kept() <= 30 * MIB
    keep(0)
    assert memory.kept() == 0
    large()
    assert memory.kept() == 0


def test_both_lists_together_are_bounded():
    keep(40)
    blocks = [large(size) for size in [MIB] * 12 + [9 * MIB] * 3 + [2 * MIB] * 12]
    for block in blocks:
        assert memory.kept() <= 40 * MIB
        del block
    while blocks:
        blocks.pop()
        assert memory.kept() <= 40 * MIB
    assert memory.kept() > 20 * MIB
    for limit in (35, 20, 3, 0):
        keep(limit)
        assert memory.kept() <= limit * MIB
    assert gs.get_cache_limit() == 0


RESIDENT = """
import os
import gatherscatter as gs
import numpy as np
from gatherscatter import memory
MIB = 1 << 20
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
blocks = [memory.empty((size,), np.dtype("u1")) for size in [MIB] * 16 + [8 * MIB] * 4]
for block in blocks:
    block[...] = 1
before = resident()
del block, blocks
assert memory.kept() > 40 * MIB
gs.empty_cache()
assert resident() < before - 40 * MIB
"""


def test_all_is_returned_to_the_system():
    run = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_memory_is_kept_again_after_all_was_returned():
    large()
    gs.empty_cache()
    assert memory.kept() == 0
    assert gs.get_cache_limit() == 64 * MIB
    large()
    assert memory.kept() > 0


def test_many_blocks():
    blocks = [large(5 * MIB) for _ in range(40)]
    keep(1000)
    del blocks
    assert 0 < memory.kept() <= 16 * 8 * MIB


def test_a_block_is_not_much_larger_than_asked():
    first = large(40 * MIB)
    where = address(first)
    del first
    assert address(large(8 * MIB)) != where
    assert address(large(38 * MIB)) == where


def test_resize_copies():
    array = large()
    array[...] = 7
    array.resize(20 * MIB, refcheck=False)
    assert array[: 8 * MIB].min() == 7
    assert array[8 * MIB :].max() == 0
    array.resize(10, refcheck=False)
    assert array.tolist() == [7] * 10


def test_small_ones_and_objects_are_numpys():
    memory.empty((10,), np.dtype("u1"))
    assert memory.empty((MIB,), np.dtype(object))[0] is None
    assert memory.kept() == 0
    with pytest.raises((MemoryError, ValueError)):
        memory.empty((1 << 62,), np.dtype("f8"))


def test_results_of_less_than_a_huge_page():
    first, second = large(MIB), large(MIB // 2)
    addresses = {address(first), address(second)}
    del first, second
    assert 3 * MIB // 2 < memory.kept() < 2 * MIB
    first, second = large(MIB), large(MIB // 2)
    assert {address(first), address(second)} == addresses
    first[...] = 1
    second[...] = 2
    assert first.max() == 1
    blocks = [large(3 * MIB) for _ in range(15)]
    del blocks
    assert memory.kept() <= 32 * MIB


def test_threads():
    def work():
        for n in range(30):
            array = large((5 + n % 3) * MIB)
            array[::4096] = threading.get_ident() % 251
            assert (array[::4096] == threading.get_ident() % 251).all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.kept() <= 64 * MIB


ENVIRONMENT = """
import importlib, os, warnings
import gatherscatter as gs
import numpy as np
from gatherscatter import memory
for value in {values!r}:
    os.environ["GATHERSCATTER_KEEP_MIB"] = value
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        importlib.reload(memory)
    gs.gather(np.zeros(1), np.zeros(1 << 20, int))
    print(memory.get_cache_limit(), memory.kept() > 0, *(str(warning.message) for warning in caught))
"""


def test_the_environment_says_how_much():
    most = str(sys.maxsize)
    expected = {
        "20": f"{20 * MIB} True",
        "0": "0 False",
        "": f"{512 * MIB} True",
        "17592186044416": f"{most} True",  # 2**64 bytes
        "9" * 30: f"{most} True",
    }
    for value in ("some", "-1", "1.5", "²", "9" * 5000):
        shown = repr(value[:60])
        why = f"gatherscatter: GATHERSCATTER_KEEP_MIB={shown} is not a whole number of mebibytes; 512 are kept"
        expected[value] = f"{512 * MIB} True {why}"
    code = ENVIRONMENT.format(values=list(expected))
    environment = os.environ | {"GATHERSCATTER_KEEP_MIB": "17592186044416"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == list(expected.values()), run.stderr


@pytest.mark.parametrize(
    ("n_bytes", "kind", "message"),
    [
        (1.0, TypeError, "n_bytes=1.0 is not an integer; pass a number of bytes, 0 to keep nothing"),
        ("1", TypeError, "n_bytes='1' is not an integer; pass a number of bytes, 0 to keep nothing"),
        (None, TypeError, "n_bytes=None is not an integer; pass a number of bytes, 0 to keep nothing"),
        (-1, ValueError, f"n_bytes=-1 is not in [0, {sys.maxsize}]; pass 0 to keep nothing"),
        (2**64, ValueError, f"n_bytes={2**64} is not in [0, {sys.maxsize}]; pass 0 to keep nothing"),
    ],
)
def test_limits_that_are_refused(n_bytes, kind, message):
    with pytest.raises(kind) as caught:
        gs.set_cache_limit(n_bytes)
    assert str(caught.value) == f"set_cache_limit: {message}"
    assert gs.get_cache_limit() == 64 * MIB


FORKS = """
import ctypes, os, signal, sys, threading
import numpy as np
from gatherscatter import memory

# The allocator's functions, which ctypes calls without the GIL: a thread is inside of them when the process is forked.
# An array has its handler at its end: a capsule with the functions, behind 128 bytes of name and version.
array = memory.empty((1 << 19,), np.dtype("u1"))
capsule = ctypes.py_object.from_address(id(array) + np.ndarray.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)).value
ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
handler = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"mem_handler")
assert ctypes.string_at(handler) == b"gatherscatter"
_, malloc, _, _, free = (ctypes.c_void_p * 5).from_address(handler + 128)
malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(malloc)
free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(free)

def work():
    while not ended:
        free(None, malloc(None, 1 << 19), 1 << 19)

ended = []
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
n_hanging = 0
for _ in range(N):
    child = os.fork()
    if not child:
        signal.alarm(2)
        memory.empty((1 << 19,), np.dtype("u1"))
        os._exit(0)
    n_hanging += os.waitpid(child, 0)[1] != 0
ended.append(True)
for thread in threads:
    thread.join()
print(n_hanging)
"""


@pytest.mark.slow
def test_forks_while_threads_allocate():
    code = FORKS.replace("N)", "200)")
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.stdout == "0\n", run.stderr


def test_an_allocator_of_the_users_is_left_alone():
    """A second handler (NEP 49) with the functions of NumPy's own, set by NumPy's C API."""
    capi = ctypes.pythonapi
    capi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    capi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capi.PyCapsule_New.restype = ctypes.py_object
    capi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    table = capi.PyCapsule_GetPointer(np._core._multiarray_umath._ARRAY_API, None)
    entries = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(entries[304])  # PyDataMem_SetHandler
    get_handler = ctypes.PYFUNCTYPE(ctypes.py_object)(entries[305])
    name = np._core.multiarray.get_handler_name

    assert name(large()) == "gatherscatter"
    gs.empty_cache()
    own = ctypes.create_string_buffer(ctypes.string_at(capi.PyCapsule_GetPointer(get_handler(), b"mem_handler"), 168))
    own[:5] = b"users"
    before = set_handler(capi.PyCapsule_New(ctypes.addressof(own), b"mem_handler", None))
    try:
        assert name(large()).startswith("users")
        gs.gather(np.zeros(8), np.zeros(MIB, int))
    finally:
        set_handler(before)
    assert memory.kept() == 0
