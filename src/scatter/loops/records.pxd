# The loops of PARTITION that apply records. records.h describes them.
from libc.stdint cimport uint32_t

cdef extern from "scatter/loops/records.h":
    enum:
        UNMARKED "GS_UNMARKED"
        BITS "GS_BITS"
        FIRST_BITS "GS_FIRST_BITS"
        CELLS "GS_CELLS"

    ctypedef void (*RecordLoop "gs_record_loop")(char* tile, uint32_t* bits, const char* records,
                                                 Py_ssize_t n) noexcept nogil
    RecordLoop reduction_of_records "gs_reduction_of_records" (int reduction, int type, int marks) noexcept nogil
    RecordLoop assignment_of_records "gs_assignment_of_records" (Py_ssize_t bytes) noexcept nogil
    RecordLoop short_sums "gs_short_sums" () noexcept nogil
