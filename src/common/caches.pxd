# Sizes of the CPU's caches, and whether its cores share the speed of memory.
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
    static Py_ssize_t gs_assumed_l2 = -1;
    static void gs_assume_l2(Py_ssize_t n_bytes) { gs_assumed_l2 = n_bytes; }
    static Py_ssize_t gs_l2_bytes(void) {
        static Py_ssize_t known = -1;
        if (gs_assumed_l2 >= 0) return gs_assumed_l2;
        if (known < 0) known = gs_read_cache_bytes("/sys/devices/system/cpu/cpu0/cache/index2/size");
        return known;
    }
    static Py_ssize_t gs_l3_bytes(void) {
        static Py_ssize_t known = -1;
        if (known < 0) known = gs_read_cache_bytes("/sys/devices/system/cpu/cpu0/cache/index3/size");
        return known;
    }
    static int gs_is_intel(void) {
    #if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
        __builtin_cpu_init();
        return __builtin_cpu_is("intel") != 0;
    #else
        return 0;
    #endif
    }
    /* Whether two cores read memory about twice as fast as one. Measured so on an Intel Xeon (20 and 40 GB/s); on AMD's
       EPYC of Zen 4, one core reads about 28 of the 30 GB/s that two do. Others were not measured. */
    static int gs_assumed_bandwidth = -1;
    static void gs_assume_bandwidth(int adds) { gs_assumed_bandwidth = adds; }
    static int gs_cores_add_bandwidth(void) {
        return gs_assumed_bandwidth >= 0 ? gs_assumed_bandwidth : gs_is_intel();
    }
    """
    # For tests: what cores_add_bandwidth returns, 0 or 1; -1: what it finds.
    void assume_bandwidth "gs_assume_bandwidth" (int adds) noexcept nogil
    # For tests: what l2_bytes returns; -1: what it finds.
    void assume_l2 "gs_assume_l2" (Py_ssize_t n_bytes) noexcept nogil
    Py_ssize_t l2_bytes "gs_l2_bytes" () noexcept nogil
    Py_ssize_t l3_bytes "gs_l3_bytes" () noexcept nogil
    bint cores_add_bandwidth "gs_cores_add_bandwidth" () noexcept nogil
    # Whether it pays to prefetch the lines of hundreds of buckets that are written to in random order: 1.1 to 1.5 times
    # as fast on an Intel Xeon, 0.95 times on Zen 4.
    bint prefetches_buckets "gs_is_intel" () noexcept nogil

cdef enum:
    # Half of L3, within these limits.
    MIN_CACHED_BYTES = 1 << 23
    MAX_CACHED_BYTES = 3 << 23


cdef inline Py_ssize_t cached_bytes() noexcept nogil:
    """The bytes of randomly addressed data that stay in the caches while other arrays are read."""
    return min(max(<Py_ssize_t>MIN_CACHED_BYTES, l3_bytes() // 2), <Py_ssize_t>MAX_CACHED_BYTES)
