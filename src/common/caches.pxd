# Sizes of the CPU's caches.
cdef extern from *:
    """
    #if defined(__linux__)
      #include <stdio.h>
    #endif
    /* Bytes of a cache of the first CPU; 0: unknown. (sysconf has the sum of a socket's L3 on AMD.) */
    static Py_ssize_t gs_read_cache_bytes(const char *path) {
        long kibibytes = 0;
        (void)path;
    #if defined(__linux__)
        FILE *file = fopen(path, "re");
        if (file) {
            if (fscanf(file, "%ldK", &kibibytes) != 1 || kibibytes < 0 || kibibytes > 1 << 21) kibibytes = 0;
            fclose(file);
        }
    #endif
        return (Py_ssize_t)kibibytes << 10;
    }
    static Py_ssize_t gs_l2_bytes(void) {
        static Py_ssize_t known = -1;
        if (known < 0) known = gs_read_cache_bytes("/sys/devices/system/cpu/cpu0/cache/index2/size");
        return known;
    }
    static Py_ssize_t gs_l3_bytes(void) {
        static Py_ssize_t known = -1;
        if (known < 0) known = gs_read_cache_bytes("/sys/devices/system/cpu/cpu0/cache/index3/size");
        return known;
    }
    """
    Py_ssize_t l2_bytes "gs_l2_bytes" () noexcept nogil
    Py_ssize_t l3_bytes "gs_l3_bytes" () noexcept nogil

cdef enum:
    # Half of L3, within these limits.
    MIN_CACHED_BYTES = 1 << 23
    MAX_CACHED_BYTES = 3 << 23


cdef inline Py_ssize_t cached_bytes() noexcept nogil:
    """The bytes of randomly addressed data that stay in the caches while other arrays are read."""
    return min(max(<Py_ssize_t>MIN_CACHED_BYTES, l3_bytes() // 2), <Py_ssize_t>MAX_CACHED_BYTES)
