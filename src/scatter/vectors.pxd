# Steps on 32 bytes of floats or doubles, which compilers do not always make of loops (vectors.h).
from common.codes cimport ADD, MAX, MUL, ReductionCode
from common.items cimport inline_void
from scatter.steps cimport floating

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
    VECTOR = 32                 # bytes


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


cdef inline inline_void scale_vector(floating* type, char* to, const char* update, const char* weight) noexcept nogil:
    """`to` becomes the product of update and a weight, a number."""
    if floating is float:
        scale_floats(to, update, weight)
    else:
        scale_doubles(to, update, weight)
