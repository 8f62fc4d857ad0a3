# The order of prepared indices: updates grouped by destination row, once for many scatters. orders.pxi makes it.
from cpython.tuple cimport PyTuple_GET_SIZE
from libc.stdint cimport uint32_t
cimport numpy as cnp

from common.arrays cimport get_array

cdef struct Order:
    # CSR row pointers into updates: the end of each row's updates, which is the begin of the next row's.
    const uint32_t* end
    const uint32_t* updates     # sorted by row, and by number within a row
    # If the updates are rows of a source: one more than the greatest of these rows, and `updates` has them in the place
    # of the updates' numbers. 0: `updates` has numbers.
    Py_ssize_t n_source
    const uint32_t* numbers     # of the updates, in any case


cdef inline bint describe_order(tuple prepared, Py_ssize_t n_rows, Py_ssize_t n_updates, bint translated,
                                Order* order) noexcept:
    """Describe an order of so many rows and updates. False: it is another one.

    prepared: (end, updates), or if it is translated, as orders.translate.
    """
    cdef cnp.ndarray end = get_array(prepared, 0), updates = get_array(prepared, 1)
    if (PyTuple_GET_SIZE(prepared) != 2 + 2 * translated or cnp.PyArray_SIZE(end) != n_rows
            or cnp.PyArray_SIZE(updates) != n_updates):
        return False
    order.end = <const uint32_t*>cnp.PyArray_DATA(end)
    order.updates = <const uint32_t*>cnp.PyArray_DATA(updates)
    order.numbers = order.updates
    order.n_source = 0
    if translated:
        order.n_source = (<Py_ssize_t*>cnp.PyArray_DATA(get_array(prepared, 2)))[0]
        order.numbers = <const uint32_t*>cnp.PyArray_DATA(get_array(prepared, 3))
    return True
