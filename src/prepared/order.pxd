# The order of prepared indices: updates grouped by destination row, once for many scatters. orders.pyx makes it.
from libc.stdint cimport uint32_t
cimport numpy as cnp

cdef struct Order:
    # CSR row pointers into updates: the end of each row's updates, which is the begin of the next row's.
    const uint32_t* end
    const uint32_t* updates     # sorted by row, and by number within a row
    # If the updates are rows of a source: one more than the greatest of these rows, and `updates` has them in the place
    # of the updates' numbers. 0: `updates` has numbers.
    Py_ssize_t n_source


# The dicts are not typed as such: Cython's code for that borrows what it finds, and in free-threaded Python another
# thread may delete it meanwhile.
cdef inline cnp.ndarray find_order(object orders, cnp.ndarray indices, Py_ssize_t n_rows, Py_ssize_t n_updates,
                                   Order* order):
    """Describe the order of indices for so many rows. Returns its memory, which the caller keeps; None: no order."""
    try:
        entry = orders.get(<size_t>cnp.PyArray_DATA(indices))
        if entry is None:
            return None
        alive, memory, rows, n = entry
        if alive() is None or rows != n_rows or n != n_updates:
            return None
    except MemoryError:
        return None
    order.end = <const uint32_t*>cnp.PyArray_DATA(<cnp.ndarray>memory)
    order.updates = order.end + n_rows
    order.n_source = 0
    return memory


cdef inline cnp.ndarray find_translation(object translations, cnp.ndarray indices, cnp.ndarray update_rows,
                                         cnp.ndarray memory, Order* order):
    """Translate the order of indices, which has this memory. Returns memory as find_order; None: not translated."""
    try:
        entry = translations.get(<size_t>cnp.PyArray_DATA(indices))
        if entry is None:
            return None
        alive, of_order, translated, n_source = entry
        if alive() is not update_rows or of_order is not memory:
            return None
    except MemoryError:
        return None
    order.updates = <const uint32_t*>cnp.PyArray_DATA(<cnp.ndarray>translated)
    order.n_source = n_source
    return translated
