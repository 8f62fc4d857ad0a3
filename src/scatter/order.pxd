# The order of prepared indices: updates grouped by destination row, once for many scatters. orders.pyx makes it.
from libc.stdint cimport uint32_t
cimport numpy as cnp

cdef struct Order:
    # CSR row pointers into updates: the end of each row's updates, which is the begin of the next row's.
    const uint32_t* end
    const uint32_t* updates     # sorted by row, and by number within a row


cdef inline bint describe_order(cnp.ndarray memory, Py_ssize_t n_rows, Py_ssize_t n_updates, Order* order) noexcept:
    """False: there is no order, or one of other sizes. memory: as in orders.pyx; the caller keeps it."""
    if memory is None or cnp.PyArray_NBYTES(memory) != (n_rows + n_updates) * <Py_ssize_t>sizeof(uint32_t):
        return False
    order.end = <const uint32_t*>cnp.PyArray_DATA(memory)
    order.updates = order.end + n_rows
    return True
