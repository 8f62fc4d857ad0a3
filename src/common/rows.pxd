# The strides of a row in the two arrays between which it is moved or combined.
cimport numpy as cnp

from common.walk cimport DATA, OTHER, Walk, add_axis, copy_walk, finish_walk, start_walk

cdef struct Row:
    # A row is a piece at each position of the outer axes; a piece is n_inner items of item_bytes contiguous bytes.
    Walk outer
    Py_ssize_t n_inner
    Py_ssize_t inner_data
    Py_ssize_t inner_other
    Py_ssize_t item_bytes


cdef inline void drop_last(Walk* walk) noexcept:
    walk.n_dims -= 1
    walk.n //= walk.shape[walk.n_dims]


cdef inline Py_ssize_t abs_stride(Py_ssize_t stride) noexcept:
    return -stride if stride < 0 else stride


cdef inline void empty_row(Row* row) noexcept nogil:
    start_walk(&row.outer)
    finish_walk(&row.outer)
    row.n_inner = 1
    row.inner_data = 0
    row.inner_other = 0
    row.item_bytes = 0


cdef inline void describe_row(Row* row, cnp.ndarray data, int first_axis, cnp.ndarray other, int other_axis,
                              Py_ssize_t tuple_stride, bint whole_items) noexcept:
    """Describe a row: the axes of data from first_axis on, and the axes of other from other_axis on.

    whole_items: an item is one element; otherwise, the bytes that are contiguous in both arrays.
    tuple_stride: the smallest stride of an indexed axis in data. The last axis of the row is the inner loop if its
    stride is smaller. Otherwise (a transposed array) it is an outer loop around the whole block of tuples, so that
    memory is accessed in order.
    """
    cdef Walk* walk = &row.outer
    cdef int d, last
    empty_row(row)
    start_walk(walk)
    for d in range(cnp.PyArray_NDIM(data) - first_axis):
        add_axis(walk, cnp.PyArray_DIM(data, first_axis + d), 0, cnp.PyArray_STRIDE(data, first_axis + d),
                 cnp.PyArray_STRIDE(other, other_axis + d))
    if walk.n == 0:
        empty_row(row)
        return
    row.item_bytes = cnp.PyArray_ITEMSIZE(data)
    last = walk.n_dims - 1
    if (not whole_items and last >= 0 and walk.stride[last][DATA] == row.item_bytes
            and walk.stride[last][OTHER] == row.item_bytes):
        row.item_bytes *= walk.shape[last]
        drop_last(walk)
        last -= 1
    if last >= 0 and abs_stride(walk.stride[last][DATA]) < tuple_stride:
        row.n_inner = walk.shape[last]
        row.inner_data = walk.stride[last][DATA]
        row.inner_other = walk.stride[last][OTHER]
        drop_last(walk)
    finish_walk(walk)


cdef inline Py_ssize_t cut_length(const Row* row) noexcept nogil:
    """The length along which cut_row cuts: of the outermost axis, or the bytes of a row without axes."""
    if row.outer.n > 1:
        return row.outer.shape[0]
    return row.n_inner if row.n_inner > 1 else row.item_bytes


cdef inline void cut_row(const Row* whole, Py_ssize_t start, Py_ssize_t stop, Row* row, Py_ssize_t* data_shift,
                         Py_ssize_t* other_shift) noexcept nogil:
    """The piece from start to stop along the cut_length, and the byte offsets of its start in the row."""
    copy_walk(&whole.outer, &row.outer)
    row.n_inner = whole.n_inner
    row.inner_data = whole.inner_data
    row.inner_other = whole.inner_other
    row.item_bytes = whole.item_bytes
    if whole.outer.n > 1:
        row.outer.shape[0] = stop - start
        row.outer.n = whole.outer.n // whole.outer.shape[0] * (stop - start)
        data_shift[0] = start * whole.outer.stride[0][DATA]
        other_shift[0] = start * whole.outer.stride[0][OTHER]
    elif whole.n_inner > 1:
        row.n_inner = stop - start
        data_shift[0] = start * whole.inner_data
        other_shift[0] = start * whole.inner_other
    else:
        row.item_bytes = stop - start
        data_shift[0] = start
        other_shift[0] = start


cdef inline int number_bytes(cnp.ndarray array) noexcept:
    """Width of a number with a byte order: an element, or a part of a complex element."""
    cdef int width = <int>cnp.PyArray_ITEMSIZE(array)
    return width // 2 if array.descr.kind == c'c' else width
