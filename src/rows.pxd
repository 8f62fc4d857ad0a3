# What one tuple names, its row, described for the two arrays between which it moves or combines.
cimport numpy as cnp
from resolve cimport BESIDE, DATA, Walk, add_axis, copy_walk, finish_walk, start_walk

cdef struct Row:
    # Piece by piece: outer axes, then one inner axis, then bytes that lie together.
    Walk outer
    Py_ssize_t n_inner
    Py_ssize_t inner_data
    Py_ssize_t inner_beside
    Py_ssize_t item_bytes


cdef inline void drop_last(Walk* walk) noexcept:
    walk.n_dims -= 1
    walk.n //= walk.shape[walk.n_dims]


cdef inline Py_ssize_t abs_stride(Py_ssize_t stride) noexcept:
    return -stride if stride < 0 else stride


cdef inline void empty_row(Row* row) noexcept:
    start_walk(&row.outer)
    finish_walk(&row.outer)
    row.n_inner = 1
    row.inner_data = 0
    row.inner_beside = 0
    row.item_bytes = 0


cdef inline void describe_row(Row* row, cnp.ndarray data, int first_axis, cnp.ndarray beside, int beside_axis,
                              Py_ssize_t tuple_stride, bint whole_items) noexcept:
    """The axes of data from first_axis on, and those of beside from beside_axis on.

    whole_items: the item is one element, and not as many bytes as lie together in both arrays.
    tuple_stride: the smallest step between two tuples in data. A row axis with smaller steps is walked inside
    each tuple, one with larger steps (a transposed array) around the whole block, as memory lies.
    """
    cdef Walk* walk = &row.outer
    cdef int d, last
    empty_row(row)
    start_walk(walk)
    for d in range(cnp.PyArray_NDIM(data) - first_axis):
        add_axis(walk, cnp.PyArray_DIM(data, first_axis + d), 0, cnp.PyArray_STRIDE(data, first_axis + d),
                 cnp.PyArray_STRIDE(beside, beside_axis + d))
    if walk.n == 0:
        empty_row(row)
        return
    row.item_bytes = cnp.PyArray_ITEMSIZE(data)
    last = walk.n_dims - 1
    if (not whole_items and last >= 0 and walk.stride[last][DATA] == row.item_bytes
            and walk.stride[last][BESIDE] == row.item_bytes):
        row.item_bytes *= walk.shape[last]
        drop_last(walk)
        last -= 1
    if last >= 0 and abs_stride(walk.stride[last][DATA]) < tuple_stride:
        row.n_inner = walk.shape[last]
        row.inner_data = walk.stride[last][DATA]
        row.inner_beside = walk.stride[last][BESIDE]
        drop_last(walk)
    finish_walk(walk)


cdef inline void cut_row(const Row* whole, Py_ssize_t start, Py_ssize_t stop, Row* row, Py_ssize_t* data_shift,
                         Py_ssize_t* beside_shift) noexcept nogil:
    """A part of the row: of its outermost axis, or of its bytes where it has no axis."""
    copy_walk(&whole.outer, &row.outer)
    row.n_inner = whole.n_inner
    row.inner_data = whole.inner_data
    row.inner_beside = whole.inner_beside
    row.item_bytes = whole.item_bytes
    if whole.outer.n > 1:
        row.outer.shape[0] = stop - start
        row.outer.n = whole.outer.n // whole.outer.shape[0] * (stop - start)
        data_shift[0] = start * whole.outer.stride[0][DATA]
        beside_shift[0] = start * whole.outer.stride[0][BESIDE]
    elif whole.n_inner > 1:
        row.n_inner = stop - start
        data_shift[0] = start * whole.inner_data
        beside_shift[0] = start * whole.inner_beside
    else:
        row.item_bytes = stop - start
        data_shift[0] = start
        beside_shift[0] = start
