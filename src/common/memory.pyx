# cython: language_level=3, freethreading_compatible=True
"""A free list of memory for large results.

The first touch of a new page costs more than the gather that fills it: a page fault, and the system zeroes the page.
So the memory of a freed large result is kept for the next one, up to a limit. It is marked with MADV_FREE: the system
may reclaim it under memory pressure, and until then its next use causes no page fault. Results are allocated through
NumPy's allocator hook (NEP 49), with which each array holds the handler that frees it.

Linux only; other systems use NumPy's default allocator.
"""
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.pythread cimport PyThread_acquire_lock, PyThread_allocate_lock, PyThread_release_lock, PyThread_type_lock
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    #if defined(__linux__)
      #include <stdlib.h>
      #include <sys/mman.h>
      #define GS_KEEPS 1
      static void* gs_map(size_t size, size_t alignment) {
          void* memory;
          if (posix_memalign(&memory, alignment, size) != 0) return NULL;
          madvise(memory, size, MADV_HUGEPAGE);
          return memory;
      }
      static void gs_unmap(void* memory) { free(memory); }
      static void gs_mark_free(void* memory, size_t size) {
      #ifdef MADV_FREE
          madvise(memory, size, MADV_FREE);
      #endif
      }
    #else
      #define GS_KEEPS 0
      static void* gs_map(size_t size, size_t alignment) { return NULL; }
      static void gs_unmap(void* memory) {}
      static void gs_mark_free(void* memory, size_t size) {}
    #endif
    """
    bint KEEPS "GS_KEEPS"
    void* map_pages "gs_map"(size_t size, size_t alignment) noexcept nogil
    void unmap_pages "gs_unmap"(void* memory) noexcept nogil
    void mark_free "gs_mark_free"(void* memory, size_t size) noexcept nogil  # allow the system to reclaim it

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyDataMemAllocator:
        void* ctx
        void* (*malloc)(void* ctx, size_t size) noexcept nogil
        void* (*calloc)(void* ctx, size_t count, size_t size) noexcept nogil
        void* (*realloc)(void* ctx, void* memory, size_t size) noexcept nogil
        void (*free)(void* ctx, void* memory, size_t size) noexcept nogil
    ctypedef struct PyDataMem_Handler:
        char name[127]
        uint8_t version
        PyDataMemAllocator allocator
    object PyDataMem_SetHandler(object handler)
    object PyDataMem_GetHandler()
    PyObject* PyDataMem_DefaultHandler

cdef enum:
    LARGE = 1 << 22     # bytes: smaller arrays use NumPy's allocator, since the C library keeps free lists for them
    PAGE = 1 << 21      # a huge page
    HEADER = 64         # bytes in front of an array, for the capacity
    MAX_BLOCKS = 16

cdef struct Block:
    char* memory
    size_t capacity

cdef struct Kept:
    Block blocks[MAX_BLOCKS]  # the oldest first
    int n_blocks
    size_t bytes
    size_t limit

cdef Kept kept
cdef PyThread_type_lock lock = PyThread_allocate_lock()
cdef PyDataMem_Handler handler
kept.n_blocks = 0
kept.bytes = 0
kept.limit = 0


cdef inline size_t* capacity_of(void* memory) noexcept nogil:
    """The size of the allocation, header included."""
    return <size_t*>(<char*>memory - HEADER)


cdef inline char* remove(int i) noexcept nogil:
    cdef char* memory = kept.blocks[i].memory
    kept.bytes -= kept.blocks[i].capacity
    kept.n_blocks -= 1
    while i < kept.n_blocks:
        kept.blocks[i] = kept.blocks[i + 1]
        i += 1
    return memory


cdef void* allocate(void* ctx, size_t size) noexcept nogil:
    cdef size_t capacity = (size + HEADER + PAGE - 1) & ~(<size_t>PAGE - 1)
    cdef char* memory = NULL
    cdef int i, best = -1
    if capacity < size:
        return NULL
    PyThread_acquire_lock(lock, 1)
    for i in range(kept.n_blocks):  # best fit, at most a quarter too large
        if capacity <= kept.blocks[i].capacity <= capacity + capacity // 4:
            if best < 0 or kept.blocks[i].capacity < kept.blocks[best].capacity:
                best = i
    if best >= 0:
        capacity = kept.blocks[best].capacity
        memory = remove(best)
    PyThread_release_lock(lock)
    if memory == NULL:
        memory = <char*>map_pages(capacity, PAGE)
    if memory == NULL:
        return NULL
    (<size_t*>memory)[0] = capacity
    return memory + HEADER


cdef void release(void* ctx, void* memory, size_t size) noexcept nogil:
    cdef size_t capacity
    cdef char* base
    cdef char* dropped[MAX_BLOCKS]
    cdef int i, n_dropped = 0
    if memory == NULL:
        return
    capacity = capacity_of(memory)[0]
    base = <char*>memory - HEADER
    mark_free(base, capacity)
    PyThread_acquire_lock(lock, 1)
    if capacity > kept.limit:
        PyThread_release_lock(lock)
        unmap_pages(base)
        return
    while kept.n_blocks == MAX_BLOCKS or kept.bytes + capacity > kept.limit:
        dropped[n_dropped] = remove(0)
        n_dropped += 1
    kept.blocks[kept.n_blocks].memory = base
    kept.blocks[kept.n_blocks].capacity = capacity
    kept.n_blocks += 1
    kept.bytes += capacity
    PyThread_release_lock(lock)
    for i in range(n_dropped):
        unmap_pages(dropped[i])


cdef void* allocate_zeroed(void* ctx, size_t count, size_t size) noexcept nogil:
    cdef void* memory
    if size and count > (<size_t>-1) // size:
        return NULL
    memory = allocate(ctx, count * size)
    if memory != NULL:
        memset(memory, 0, count * size)
    return memory


cdef void* reallocate(void* ctx, void* memory, size_t size) noexcept nogil:
    """NumPy's resize()."""
    cdef size_t capacity
    cdef void* larger
    if memory == NULL:
        return allocate(ctx, size)
    capacity = capacity_of(memory)[0]
    if HEADER + size <= capacity:
        return memory
    larger = allocate(ctx, size)
    if larger == NULL:
        return NULL
    memcpy(larger, memory, capacity - HEADER)
    release(ctx, memory, capacity)
    return larger


memcpy(handler.name, b"gatherscatter", 14)
handler.version = 1
handler.allocator.ctx = NULL
handler.allocator.malloc = allocate
handler.allocator.calloc = allocate_zeroed
handler.allocator.realloc = reallocate
handler.allocator.free = release
cdef object capsule = PyCapsule_New(&handler, b"mem_handler", NULL)
keeps = bool(KEEPS)


def empty(tuple shape, cnp.dtype dtype not None):
    """As numpy.empty; the memory of a large array is returned to the free list when the array is freed."""
    cdef object before, n
    cdef object size = dtype.itemsize
    for n in shape:
        size *= n
    if not KEEPS or size < LARGE or kept.limit == 0 or dtype.hasobject:
        return np.empty(shape, dtype)
    before = PyDataMem_GetHandler()
    if <PyObject*>before != PyDataMem_DefaultHandler:  # another handler is installed
        return np.empty(shape, dtype)
    PyDataMem_SetHandler(capsule)
    try:
        return np.empty(shape, dtype)
    finally:
        PyDataMem_SetHandler(before)


def kept_bytes():
    """Bytes on the free list now."""
    return kept.bytes


def set_limit(size_t limit):
    """Keep at most `limit` bytes, and return the excess to the system now."""
    cdef char* dropped[MAX_BLOCKS]
    cdef int i, n_dropped = 0
    PyThread_acquire_lock(lock, 1)
    kept.limit = limit
    while kept.bytes > limit:
        dropped[n_dropped] = remove(0)
        n_dropped += 1
    PyThread_release_lock(lock)
    for i in range(n_dropped):
        unmap_pages(dropped[i])
