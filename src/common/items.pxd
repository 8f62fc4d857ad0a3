# Item types, and the attributes that kernels are compiled with.
#
# Movement is compiled per item width, whatever the dtype: float32, int32 and a 4-byte string share one kernel (copies.h).
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "common/compiler.h":
    ctypedef void inline_void "GS_INLINE_VOID"
    ctypedef void flat_void "GS_FLAT_VOID"
    ctypedef char* restricted "gs_restricted"
    ctypedef const char* const_restricted "gs_const_restricted"
    int64_t scalar "gs_scalar" (int64_t x) nogil
    void prefetch_l2 "GS_PREFETCH_L2" (const void* p) nogil
    void prefetch_l1 "GS_PREFETCH_L1" (const void* p) nogil
    # Also just before a store in random order: stores leave the store buffer in order, so that one that misses L1
    # delays all others, while prefetches overlap.
    void prefetch_write "GS_PREFETCH_WRITE" (const void* p) nogil
    void prefetch_row "gs_prefetch_row" (const char* row, Py_ssize_t size) nogil
    void prefetch_row_l2 "gs_prefetch_row_l2" (const char* row, Py_ssize_t size) nogil

cdef extern from *:
    """
    typedef struct { char bytes[12]; } gs_bytes12;
    typedef struct { char bytes[16]; } gs_bytes16;
    typedef struct { char bytes[24]; } gs_bytes24;
    typedef struct { char bytes[32]; } gs_bytes32;
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
      #define GS_LITTLE_ENDIAN 0
    #else
      #define GS_LITTLE_ENDIAN 1
    #endif
    enum { GS_PAGE = 1 << 12 };       /* bytes */
    enum { GS_PREFETCHED = 1 << 10 };  /* bytes of a row or of a block: the hardware prefetches the rest */
    """
    enum:
        PAGE "GS_PAGE"
        PREFETCHED "GS_PREFETCHED"
    bint is_little_endian "GS_LITTLE_ENDIAN"
    ctypedef struct bytes12 "gs_bytes12":
        pass
    ctypedef struct bytes16 "gs_bytes16":
        pass
    ctypedef struct bytes24 "gs_bytes24":
        pass
    ctypedef struct bytes32 "gs_bytes32":
        pass

# 12 and 24 bytes: points of 3 components.
ctypedef fused item_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    bytes12
    bytes16
    bytes24
    bytes32

# Items that fit a register: the widths of single elements.
ctypedef fused element_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    bytes16

cdef enum:
    MAX_ELEMENT_BYTES = 16  # of the widest element_t
    CACHE_LINE = 64         # bytes (128 on some CPUs)
    L1_BYTES = 1 << 15      # of the smallest of today's CPUs
    MAX_TILES = 1 << 10     # to which records are sorted: as many write streams as L1 and the TLB sustain
    STREAM_AHEAD = 1 << 12  # bytes from what is read sequentially to what is prefetched: see prefetch_stream
    AHEAD = 16              # elements from one that is processed to one whose memory is prefetched,
    ROWS_AHEAD = 8          # and rows, of several cache lines each


cdef inline inline_void prefetch_stream(const char* p, Py_ssize_t n_bytes) noexcept nogil:
    """Software prefetch of what will be read sequentially STREAM_AHEAD bytes after n_bytes at p.

    Between random accesses the hardware prefetcher loses a stream: without this, indices and updates would arrive late.
    """
    cdef Py_ssize_t i = 0
    while i < n_bytes:
        prefetch_l2(p + STREAM_AHEAD + i)
        i += CACHE_LINE


cdef inline bint fits_register(Py_ssize_t n_bytes) noexcept nogil:
    return 0 < n_bytes <= 2 or n_bytes == 4 or n_bytes == 8 or n_bytes == 16


cdef inline void copy_lines(char* target, const char* source, Py_ssize_t n_bytes) noexcept nogil:
    """Copy a few times 64 bytes, without a call of memcpy, which takes longer."""
    cdef Py_ssize_t line
    for line in range(n_bytes // CACHE_LINE):
        memcpy(target + line * CACHE_LINE, source + line * CACHE_LINE, CACHE_LINE)


cdef inline Py_ssize_t whole_lines(Py_ssize_t n_bytes) noexcept nogil:
    """n_bytes, rounded up to cache lines."""
    return (n_bytes + CACHE_LINE - 1) & -<Py_ssize_t>CACHE_LINE


cdef inline char* at_line(char* p) noexcept nogil:
    """The first begin of a cache line from p on."""
    return p + (-<Py_ssize_t>p & (CACHE_LINE - 1))
