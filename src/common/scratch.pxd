# Large scratch memory, from the free list of memory.pxi: malloc would map and unmap it in every call.
cimport numpy as cnp

cdef enum:
    SCRATCH_BYTES = 1 << 26     # of a call, unless a single line or table needs more
    WINDOW_BYTES = 31 << 20     # of accumulators outside of the result, where records do not share the memory
    STACK_BYTES = 1 << 11       # of scratch memory that is so small that it is on the stack
    KEPT_BYTES = 1 << 18        # of an array: memory.pxi keeps the memory of no smaller ones


cdef inline cnp.ndarray allocate_scratch(Py_ssize_t n_bytes):
    """None: there is no memory."""
    try:
        from gatherscatter._kernels.common import empty
        from numpy import dtype
        return empty((n_bytes,), dtype("u1"))
    except (MemoryError, RuntimeError):  # the latter: the import system has no memory for a lock
        return None
