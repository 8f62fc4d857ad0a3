# Steps on 32 bytes of floats or doubles, which compilers do not always make of loops (vectors.h).
from common.codes cimport ADD, MAX, MIN, MUL, ReductionCode
from common.items cimport CACHE_LINE, inline_void, prefetch_l2, prefetch_write
from scatter.steps cimport floating, value_t

cdef extern from "scatter/vectors.h":
    void add_floats "gs_floats_add" (char* to, const char* update) nogil
    void multiply_floats "gs_floats_multiply" (char* to, const char* update) nogil
    void max_floats "gs_floats_max" (char* to, const char* update) nogil
    void min_floats "gs_floats_min" (char* to, const char* update) nogil
    void scale_floats "gs_floats_scale" (char* to, const char* update, const char* weight) nogil
    void add_doubles "gs_doubles_add" (char* to, const char* update) nogil
    void multiply_doubles "gs_doubles_multiply" (char* to, const char* update) nogil
    void max_doubles "gs_doubles_max" (char* to, const char* update) nogil
    void min_doubles "gs_doubles_min" (char* to, const char* update) nogil
    void scale_doubles "gs_doubles_scale" (char* to, const char* update, const char* weight) nogil

cdef enum:
    VECTOR = 32                 # bytes, of AVX2


cdef inline bint has_vectors(ReductionCode step) noexcept nogil:
    """Whether combine_vector has the step."""
    return step == ADD or step == MUL or step == MAX or step == MIN


cdef inline inline_void combine_vector(ReductionCode step, floating* type, char* to, const char* update) noexcept nogil:
    """The last step is "min"."""
    if step == ADD:
        if floating is float:
            add_floats(to, update)
        else:
            add_doubles(to, update)
    elif step == MUL:
        if floating is float:
            multiply_floats(to, update)
        else:
            multiply_doubles(to, update)
    elif step == MAX:
        if floating is float:
            max_floats(to, update)
        else:
            max_doubles(to, update)
    elif floating is float:
        min_floats(to, update)
    else:
        min_doubles(to, update)


cdef inline inline_void combine_vectors(ReductionCode step, value_t* type, char* accumulator, const char* update,
                                        const char* later_update, const char* later_accumulator,
                                        Py_ssize_t size) noexcept nogil:
    """Rows of whole vectors. Later ones are prefetched line by line: of many lines at once, the CPU drops some.

    later_accumulator: NULL: accumulators are in a cache.
    """
    cdef Py_ssize_t at = 0
    if value_t is float or value_t is double:
        while at < size:
            prefetch_l2(later_update + at)
            if later_accumulator != NULL:
                prefetch_write(later_accumulator + at)
            combine_vector(step, type, accumulator + at, update + at)
            if at + VECTOR < size:
                combine_vector(step, type, accumulator + at + VECTOR, update + at + VECTOR)
            at += CACHE_LINE
        prefetch_l2(later_update + size - 1)
        if later_accumulator != NULL:
            prefetch_write(later_accumulator + size - 1)


cdef inline inline_void scale_vector(floating* type, char* to, const char* update, const char* weight) noexcept nogil:
    """`to` becomes the product of update and a weight, a number."""
    if floating is float:
        scale_floats(to, update, weight)
    else:
        scale_doubles(to, update, weight)
