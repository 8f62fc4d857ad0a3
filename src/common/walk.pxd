# A walk: iteration over axes that several arrays share, as NumPy's nditer, with strides per operand and a cursor.
#
# Axes are added outermost first. Adjacent axes are coalesced if every operand's strides allow it.
cimport cython
from libc.string cimport memcpy

cdef enum:
    MAX_DIMS = 64  # NumPy's

cdef enum:  # operands
    INDICES
    DATA
    OTHER  # a gather's result, a scatter's updates
    N_OPERANDS

cdef struct Walk:
    int n_dims
    Py_ssize_t n  # the number of positions
    Py_ssize_t shape[MAX_DIMS]
    Py_ssize_t stride[MAX_DIMS][N_OPERANDS]

cdef struct Cursor:
    Py_ssize_t coordinate[MAX_DIMS]
    Py_ssize_t offset[N_OPERANDS]


cdef inline void start_walk(Walk* walk) noexcept nogil:
    walk.n_dims = 0
    walk.n = 1


cdef inline void add_axis(Walk* walk, Py_ssize_t n, Py_ssize_t s0, Py_ssize_t s1, Py_ssize_t s2) noexcept nogil:
    """Add an axis as the new innermost one."""
    cdef int last = walk.n_dims - 1
    walk.n *= n
    if n == 1:
        return
    if last >= 0 and (walk.stride[last][0] == n * s0 and walk.stride[last][1] == n * s1
                      and walk.stride[last][2] == n * s2):
        walk.shape[last] *= n
    else:
        last += 1
        walk.n_dims += 1
        walk.shape[last] = n
    walk.stride[last][0] = s0
    walk.stride[last][1] = s1
    walk.stride[last][2] = s2


cdef inline void finish_walk(Walk* walk) noexcept nogil:
    """Ensure that there is at least one axis, so that there is an innermost one."""
    cdef int operand
    if walk.n_dims == 0:
        walk.n_dims = 1
        walk.shape[0] = 1
        for operand in range(N_OPERANDS):
            walk.stride[0][operand] = 0


cdef inline void copy_walk(const Walk* source, Walk* target) noexcept nogil:
    """Copy the axes that are in use: the whole struct is 2 KiB."""
    target.n_dims = source.n_dims
    target.n = source.n
    memcpy(target.shape, source.shape, source.n_dims * sizeof(source.shape[0]))
    memcpy(target.stride, source.stride, source.n_dims * sizeof(source.stride[0]))


cdef inline bint is_linear(const Walk* walk, int operand) noexcept nogil:
    """Whether the operand's offset advances by one constant stride over the whole walk."""
    cdef int d
    for d in range(walk.n_dims - 1):
        if walk.stride[d][operand] != walk.shape[d + 1] * walk.stride[d + 1][operand]:
            return False
    return True


@cython.cdivision(True)
cdef inline void seek(const Walk* walk, Py_ssize_t position, Cursor* cursor) noexcept nogil:
    cdef int d, operand
    cdef Py_ssize_t c
    for operand in range(N_OPERANDS):
        cursor.offset[operand] = 0
    for d in range(walk.n_dims - 1, -1, -1):
        c = 0
        if position != 0:  # else an axis may have size 0
            c = position % walk.shape[d]
            position = position // walk.shape[d]
        cursor.coordinate[d] = c
        for operand in range(N_OPERANDS):
            cursor.offset[operand] += c * walk.stride[d][operand]


cdef inline void advance(const Walk* walk, Py_ssize_t n, Cursor* cursor) noexcept nogil:
    """Move n positions along the innermost axis, at most to its end, and carry into the outer ones."""
    cdef int d = walk.n_dims - 1
    cdef int operand
    cursor.coordinate[d] += n
    for operand in range(N_OPERANDS):
        cursor.offset[operand] += n * walk.stride[d][operand]
    while d > 0 and cursor.coordinate[d] == walk.shape[d]:
        cursor.coordinate[d] = 0
        cursor.coordinate[d - 1] += 1
        for operand in range(N_OPERANDS):
            cursor.offset[operand] += walk.stride[d - 1][operand] - walk.shape[d] * walk.stride[d][operand]
        d -= 1
