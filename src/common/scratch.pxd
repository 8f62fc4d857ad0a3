# Large scratch memory, from the free list of memory.pxi: malloc would map and unmap it in every call.
cimport numpy as cnp


cdef inline cnp.ndarray allocate_scratch(Py_ssize_t n_bytes):
    """None: there is no memory."""
    try:
        from gatherscatter._kernels.common import empty
        from numpy import dtype
        return empty((n_bytes,), dtype("u1"))
    except (MemoryError, RuntimeError):  # the latter: the import system has no memory for a lock
        return None
