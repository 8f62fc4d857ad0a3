# cython: language_level=3, freethreading_compatible=True, boundscheck=False, wraparound=False, cdivision=True
"""Orders of prepared indices (prepared.py): updates grouped by destination row, which scatters of rows need.

An order belongs to an index array that owns its memory, to which nobody writes. Scatters find it by the address of that
memory, so every way to a scatter has it: a call, a gradient, an array of another library on the same memory. When the
array is deleted, so is its order: it is found only while a weak reference to the array is alive.
"""
from cython.parallel cimport prange
from libc.stdint cimport INT32_MAX, UINT32_MAX, int32_t, uint32_t
from libc.string cimport memset
from functools import partial
from weakref import ref
cimport numpy as cnp

from common.codes cimport ADD, OK
from common.interrupts cimport Interrupts, arm, raise_if_interrupted, set_main_thread, with_interrupts
from common.threads cimport remember_choice, team_size
from scatter.grouping cimport Rows, order_updates
from scatter.job cimport Job

cnp.import_array()

cdef int forced_threads = 0
# By the address of the indices: (weak reference to them, memory, number of rows, number of updates). The memory has the
# row pointers, then the sorted updates (see order.pxd).
known = {}


def _forget(address, dead):
    """The callback of a weak reference: delete the order, unless another array has the address now."""
    entry = known.get(address)
    if entry is not None and entry[0] is dead:
        known.pop(address, None)


def group(cnp.ndarray rows not None, Py_ssize_t n_rows, empty, int n_threads):
    """Group updates by row, for all scatters with these indices. Returns the bytes of memory that this takes.

    rows: the row of each update, or -1 for none; int32, contiguous, with memory of its own that is never written to
    again. empty: makes an array of a shape and a dtype.
    """
    cdef cnp.ndarray memory
    cdef Rows grouping
    cdef Job job
    cdef Interrupts interrupts
    cdef Py_ssize_t owner, n = cnp.PyArray_SIZE(rows)
    cdef int team = team_size(n_threads, forced_threads, <double>n)
    address = <size_t>cnp.PyArray_DATA(rows)
    if (cnp.PyArray_TYPE(rows) != cnp.NPY_INT32 or not cnp.PyArray_ISCARRAY_RO(rows)
            or not cnp.PyArray_CHKFLAGS(rows, cnp.NPY_ARRAY_OWNDATA) or not 0 < n_rows <= INT32_MAX
            or n >= <Py_ssize_t>UINT32_MAX):
        raise ValueError("rows are contiguous, of dtype int32 and less than 2**32, and own their memory")
    entry = known.get(address)
    if entry is not None and entry[0]() is rows and entry[2] == n_rows:
        return entry[1].nbytes
    memory = empty((n_rows + n,), cnp.PyArray_DescrFromType(cnp.NPY_UINT32))
    memset(&grouping, 0, sizeof(Rows))
    memset(&job, 0, sizeof(Job))
    arm(&interrupts)
    job.interrupts = &interrupts
    job.step.reduction = ADD
    grouping.job = &job
    grouping.n_rows = n_rows
    grouping.n = n
    grouping.n_chunks = team
    grouping.row = <int32_t*>cnp.PyArray_DATA(rows)
    grouping.end = <uint32_t*>cnp.PyArray_DATA(memory)
    grouping.order = grouping.end + n_rows
    for owner in prange(team, num_threads=team, schedule="static", nogil=True):
        order_updates(&grouping, owner)
    raise_if_interrupted(with_interrupts(&interrupts, OK))
    known[address] = ref(rows, partial(_forget, address)), memory, n_rows, n
    return cnp.PyArray_NBYTES(memory)


def force(int n_threads):
    """For tests: use exactly n_threads from now on. 0: not forced."""
    global forced_threads
    forced_threads = n_threads


def main_thread_is(size_t ident):
    """Set the identifier of the interpreter's main thread, which asks for signals."""
    set_main_thread(ident)


def limit_is_set():
    """Remember OpenMP's choice of now, at which the user's limit was set."""
    remember_choice()
