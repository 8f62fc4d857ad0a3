"""Memory of large results that comes back for the next ones."""

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
from gatherscatter._kernels import memory as kernel
from libraries import needs

pytestmark = needs(kernel.keeps, "memory is kept on Linux alone")
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _nothing_kept():
    gc.collect()
    memory.keep(0)
    memory.keep(64)
    yield
    memory.keep(0)
    memory.keep(memory.limit)


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
    memory.keep(0)
    memory.keep(64)
    gs.scatter_nd(data, indices, 1.0, reduction="add")
    assert memory.kept() > 16 * MIB


def test_it_is_bounded():
    blocks = [large(24 * MIB) for _ in range(4)]
    del blocks
    assert memory.kept() <= 64 * MIB
    large(100 * MIB)
    assert memory.kept() <= 64 * MIB
    memory.keep(30)
    assert memory.kept() <= 30 * MIB
    memory.keep(0)
    assert memory.kept() == 0
    large()
    assert memory.kept() == 0


def test_many_blocks():
    blocks = [large(5 * MIB) for _ in range(40)]
    memory.keep(1000)
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


def test_the_environment_says_how_much():
    code = (
        "import numpy as np\n"
        "from gatherscatter import memory\n"
        "memory.empty((1 << 23,), np.dtype('u1'))\n"
        "print(memory.kept())\n"
    )

    def run(value):
        environment = os.environ | {"GATHERSCATTER_KEEP_MIB": value}
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert run("0").stdout == "0\n"
    assert int(run("20").stdout) > 0
    odd = run("some")
    assert int(odd.stdout) > 0
    assert "GATHERSCATTER_KEEP_MIB='some' is not a whole number of mebibytes; 512 are kept" in odd.stderr


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
    memory.keep(0)
    memory.keep(64)
    own = ctypes.create_string_buffer(ctypes.string_at(capi.PyCapsule_GetPointer(get_handler(), b"mem_handler"), 168))
    own[:5] = b"users"
    before = set_handler(capi.PyCapsule_New(ctypes.addressof(own), b"mem_handler", None))
    try:
        assert name(large()).startswith("users")
        gs.gather(np.zeros(8), np.zeros(MIB, int))
    finally:
        set_handler(before)
    assert memory.kept() == 0
