# Free lists of memory for results.
#
# The first touch of a new page costs more than the gather that fills it: a page fault, and the system zeroes the page.
# So the memory of a freed result is kept for the next one, up to a limit. Results are allocated through NumPy's allocator
# hook (NEP 49), with which each array holds the handler that frees it.
#
# There are two lists, with one limit for both. Large results, of 4 MiB or more, get huge pages. When freed, all but the
# latest 128 MiB of them are marked with MADV_FREE: the system may reclaim them under memory pressure, and until then
# their next use causes no page fault. (To mark 64 MiB takes half a millisecond: it interrupts all CPUs.) Small results,
# of 256 KiB or more, get ordinary pages, at most 32 MiB of which are kept and not marked, since marking them takes longer
# than writing them. (The C library keeps memory of this size too, but returns it whenever two results are freed after
# each other.)
#
# A fork waits until no thread holds the lock, which nobody would release in the child.
#
# Linux only; other systems use NumPy's default allocator.
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_New
from cpython.pythread cimport PyThread_acquire_lock, PyThread_allocate_lock, PyThread_release_lock, PyThread_type_lock
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset
cimport numpy as cnp

from common.items cimport CACHE_LINE, PAGE
from common.scratch cimport KEPT_BYTES

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    enum { GS_HUGE_PAGE = 1 << 21 };  /* bytes, of x86-64 and most of ARM */
    #if defined(__linux__)
      #include <malloc.h>
      #include <pthread.h>
      #include <stdint.h>
      #include <stdlib.h>
      #include <sys/mman.h>
      #define GS_KEEPS 1
      /* Small blocks are the C library's. Large ones are mapped anew: the C library might reuse memory that has
         ordinary pages already. (With AddressSanitizer all are the C library's: it then knows where they end.) */
    #if defined(__SANITIZE_ADDRESS__)
      static int gs_maps(int huge) { return 0; }
    #else
      static int gs_maps(int huge) { return huge; }
    #endif
      static void* gs_map(size_t size, int huge) {
          void* memory;
          char *start, *aligned;
          if (!gs_maps(huge)) return posix_memalign(&memory, huge ? GS_HUGE_PAGE : GS_PAGE, size) ? NULL : memory;
          if (size > SIZE_MAX - GS_HUGE_PAGE) return NULL;
          start = mmap(NULL, size + GS_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          if (start == MAP_FAILED) return NULL;
          aligned = start + (-(uintptr_t)start & (GS_HUGE_PAGE - 1));
          if (aligned > start) munmap(start, aligned - start);
          munmap(aligned + size, start + GS_HUGE_PAGE - aligned);  /* size is a multiple of a page */
          madvise(aligned, size, MADV_HUGEPAGE);
          return aligned;
      }
      static void gs_unmap(void* memory, size_t size, int huge) {
          if (gs_maps(huge)) munmap(memory, size);
          else free(memory);
      }
      /* The C library may keep what was freed. */
      static void gs_trim(void) {
      #ifdef __GLIBC__
          malloc_trim(0);
      #endif
      }
      static void gs_at_fork(void (*prepare)(void), void (*after)(void)) { pthread_atfork(prepare, after, after); }
      static void gs_mark_free(void* memory, size_t size) {
      #ifdef MADV_FREE
          madvise(memory, size, MADV_FREE);
      #endif
      }
    #else
      #define GS_KEEPS 0
      static void* gs_map(size_t size, int huge) { return NULL; }
      static void gs_unmap(void* memory, size_t size, int huge) {}
      static void gs_trim(void) {}
      static void gs_at_fork(void (*prepare)(void), void (*after)(void)) {}
      static void gs_mark_free(void* memory, size_t size) {}
    #endif
    """
    bint KEEPS "GS_KEEPS"
    enum:
        HUGE_PAGE "GS_HUGE_PAGE"
    # size: a multiple of a page, or of a huge page.
    void* map_pages "gs_map"(size_t size, bint huge) noexcept nogil
    void unmap_pages "gs_unmap"(void* memory, size_t size, bint huge) noexcept nogil
    void trim "gs_trim"() noexcept nogil
    void at_fork "gs_at_fork"(void (*prepare)() noexcept nogil, void (*after)() noexcept nogil) noexcept nogil
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
    LARGE = 2 * HUGE_PAGE       # bytes that get huge pages: of less, rounding up would waste too much
    SMALL_LIMIT = 1 << 25       # bytes of small results that are kept
    MAX_BLOCKS = 16             # of a list: all are looked at under the lock
    UNMARKED_LIMIT = 1 << 27    # bytes of the latest large results that the system may not reclaim

cdef struct Block:
    char* memory
    size_t capacity
    bint is_marked

cdef struct Kept:
    Block blocks[MAX_BLOCKS]  # the oldest first
    int n_blocks
    size_t bytes
    size_t limit  # of this list

cdef Kept kept_small
cdef Kept kept_large
cdef size_t limit = 0  # of both lists together
cdef PyThread_type_lock lock = PyThread_allocate_lock()
cdef PyDataMem_Handler handler
memset(&kept_small, 0, sizeof(Kept))
memset(&kept_large, 0, sizeof(Kept))


cdef inline size_t* capacity_of(void* memory) noexcept nogil:
    """The size of the allocation, which includes the cache line in front of the array that it is in."""
    return <size_t*>(<char*>memory - CACHE_LINE)


cdef void lock_for_fork() noexcept nogil:
    PyThread_acquire_lock(lock, 1)


cdef void unlock_after_fork() noexcept nogil:
    PyThread_release_lock(lock)


at_fork(lock_for_fork, unlock_after_fork)


cdef inline Kept* list_of(size_t capacity) noexcept nogil:
    return &kept_large if capacity >= LARGE else &kept_small


cdef inline Block remove(Kept* kept, int i) noexcept nogil:
    cdef Block block = kept.blocks[i]
    kept.bytes -= kept.blocks[i].capacity
    kept.n_blocks -= 1
    while i < kept.n_blocks:
        kept.blocks[i] = kept.blocks[i + 1]
        i += 1
    return block


cdef inline void unmap(Block block) noexcept nogil:
    unmap_pages(block.memory, block.capacity, block.capacity >= LARGE)


cdef inline void mark_oldest(Kept* kept) noexcept nogil:
    """Mark large blocks of the list, but for the latest. The caller has the lock: nobody takes them meanwhile."""
    cdef size_t unmarked = 0
    cdef int i
    for i in range(kept.n_blocks - 1, -1, -1):
        if not kept.blocks[i].is_marked:
            unmarked += kept.blocks[i].capacity
            if unmarked > UNMARKED_LIMIT:
                mark_free(kept.blocks[i].memory, kept.blocks[i].capacity)
                kept.blocks[i].is_marked = True


cdef void* allocate(void* ctx, size_t size) noexcept nogil:
    cdef bint is_large = size + CACHE_LINE + PAGE > LARGE  # so that rounding up to a page cannot make it large
    cdef size_t page = HUGE_PAGE if is_large else PAGE
    cdef size_t capacity = (size + CACHE_LINE + page - 1) & ~(page - 1)
    cdef Kept* kept = list_of(capacity)
    cdef char* memory = NULL
    cdef int i, best = -1
    if capacity < size:
        return NULL
    PyThread_acquire_lock(lock, 1)
    # Best fit, at most a quarter too large. Of equal ones the latest: the caches may hold scratch memory, which is
    # released before the result, so that each gets its own again.
    for i in range(kept.n_blocks):
        if capacity <= kept.blocks[i].capacity <= capacity + capacity // 4:
            if best < 0 or kept.blocks[i].capacity <= kept.blocks[best].capacity:
                best = i
    if best >= 0:
        capacity = kept.blocks[best].capacity
        memory = remove(kept, best).memory
    PyThread_release_lock(lock)
    if memory == NULL:
        memory = <char*>map_pages(capacity, is_large)
    if memory == NULL:
        return NULL
    (<size_t*>memory)[0] = capacity
    return memory + CACHE_LINE


cdef void release(void* ctx, void* memory, size_t size) noexcept nogil:
    cdef size_t capacity
    cdef Kept* kept
    cdef char* base
    cdef Block dropped[2 * MAX_BLOCKS]
    cdef int i, n_dropped = 0
    cdef bint is_marked
    if memory == NULL:
        return
    capacity = capacity_of(memory)[0]
    kept = list_of(capacity)
    base = <char*>memory - CACHE_LINE
    is_marked = capacity > UNMARKED_LIMIT  # at once, without the lock
    if is_marked:
        mark_free(base, capacity)
    PyThread_acquire_lock(lock, 1)
    if capacity > kept.limit:
        PyThread_release_lock(lock)
        unmap_pages(base, capacity, capacity >= LARGE)
        return
    while (
        kept.n_blocks == MAX_BLOCKS
        or kept.bytes + capacity > kept.limit
        or kept_small.bytes + kept_large.bytes + capacity > limit
    ):
        # The oldest of its own list, if there is one.
        dropped[n_dropped] = remove(kept if kept.n_blocks else &kept_large if kept_large.n_blocks else &kept_small, 0)
        n_dropped += 1
    kept.blocks[kept.n_blocks].memory = base
    kept.blocks[kept.n_blocks].capacity = capacity
    kept.blocks[kept.n_blocks].is_marked = is_marked
    kept.n_blocks += 1
    kept.bytes += capacity
    if capacity >= LARGE:
        mark_oldest(kept)
    PyThread_release_lock(lock)
    for i in range(n_dropped):
        unmap(dropped[i])


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
    if CACHE_LINE + size <= capacity:
        return memory
    larger = allocate(ctx, size)
    if larger == NULL:
        return NULL
    memcpy(larger, memory, capacity - CACHE_LINE)
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
    """As numpy.empty; the memory is returned to a free list when the array is freed."""
    cdef object before, n
    cdef object size = dtype.itemsize
    for n in shape:
        size *= n
    if not KEEPS or size < KEPT_BYTES or kept_large.limit == 0 or dtype.hasobject:
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
    """Bytes on the free lists now."""
    return kept_small.bytes + kept_large.bytes


cdef void shrink(size_t n_bytes) noexcept nogil:
    """Set the limit of both lists, and give the excess back: large blocks first, the oldest first."""
    global limit
    cdef Block dropped[2 * MAX_BLOCKS]
    cdef int i, n_dropped = 0
    PyThread_acquire_lock(lock, 1)
    limit = n_bytes
    kept_large.limit = n_bytes
    kept_small.limit = min(n_bytes, <size_t>SMALL_LIMIT)
    while kept_small.bytes + kept_large.bytes > limit:
        dropped[n_dropped] = remove(&kept_large if kept_large.n_blocks else &kept_small, 0)
        n_dropped += 1
    PyThread_release_lock(lock)
    for i in range(n_dropped):
        unmap(dropped[i])


def set_limit(size_t n_bytes):
    """Keep at most so many bytes, and return the excess to the system now. 0: keep nothing."""
    shrink(n_bytes)


def empty_cache():
    """Return all kept memory to the system now."""
    cdef Block dropped[2 * MAX_BLOCKS]
    cdef int i, n_dropped = 0
    with nogil:
        PyThread_acquire_lock(lock, 1)
        while kept_small.n_blocks + kept_large.n_blocks:
            dropped[n_dropped] = remove(&kept_large if kept_large.n_blocks else &kept_small, 0)
            n_dropped += 1
        PyThread_release_lock(lock)
        for i in range(n_dropped):
            unmap(dropped[i])
        trim()
