# cython: language_level=3, freethreading_compatible=True
"""What all kernels share: codes, the build, what they know of the machine and of each other's calls, kept memory."""
import os
from enum import IntEnum

cimport common.routes as routes
from common.machine cimport export_shared, shared as _shared
from common.threads cimport (
    OPENMP_VERSION, begin_call, end_call, free_cpus, lowered, omp_max_threads, remember_choice,
)

include "codes.pxd"  # included, not cimported: a cpdef enum becomes a Python class in the module that declares it
include "memory.pxi"

cdef extern from *:
    """
    #if defined(__clang__)
      #define GS_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
      #define GS_COMPILER "gcc " __VERSION__
    #elif defined(_MSC_VER)
      #define GS_STR_(x) #x
      #define GS_STR(x) GS_STR_(x)
      #define GS_COMPILER "msvc " GS_STR(_MSC_VER)
    #else
      #define GS_COMPILER "unknown"
    #endif
    #ifdef GS_BUILT_FOR_AVX2
    enum { GS_AVX2 = 1 };
    static int gs_has_avx2(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("x86-64-v3") != 0;
    }
    #else
    enum { GS_AVX2 = 0 };
    static int gs_has_avx2(void) { return 0; }
    #endif
    static void gs_share_loops(void) { gs_shared->far_loop_of = gs_far_loop_of; }
    """
    const char* COMPILER "GS_COMPILER"
    bint BUILT_FOR_AVX2 "GS_AVX2"
    bint _has_avx2 "gs_has_avx2" ()
    void share_loops "gs_share_loops" ()

# Within these the estimates neither divide by zero nor overflow.
limits = {
    "l2_bytes": (1 << 12, 1 << 32),
    "l3_bytes": (1 << 12, 1 << 40),
    "bandwidth": (1e-3, 1e6),
    "bandwidth_growth": (1e-3, 1.0),
    "step_l2": (1e-3, 1e6),
    "step_l3": (1e-3, 1e6),
    "step_memory": (1e-3, 1e6),
    "resolve": (1e-3, 1e6),
    "place": (1e-3, 1e6),
    "region": (1.0, 1e15),
    "region_thread": (1.0, 1e15),
    "slice": (1.0, 1e15),
}


class GatherRoute(IntEnum):
    AUTO = routes.AUTO
    DIRECT = routes.DIRECT
    RUNS = routes.RUNS
    COLUMNS = routes.COLUMNS
    TILES = routes.TILES


class ScatterRoute(IntEnum):
    AUTO = routes.AUTO
    DIRECT = routes.DIRECT
    BLOCKS = routes.BLOCKS
    PARTITION = routes.PARTITION
    PRIVATE = routes.PRIVATE


cdef Py_ssize_t cache_bytes(int level):
    """Of the first CPU; 0: unknown. (sysconf has the sum of a socket's L3 on AMD.)"""
    try:
        with open(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size") as file:
            return int(file.read().rstrip("K\n")) << 10
    except (OSError, ValueError, OverflowError):  # not Linux
        return 0


cdef Py_ssize_t within(name, Py_ssize_t number):
    """What the system says, within the limits."""
    least, most = limits[name]
    return min(max(number, <Py_ssize_t>least), <Py_ssize_t>most)


openmp_version = OPENMP_VERSION
compiler = COMPILER.decode("ascii", "replace").strip()
built_for_avx2 = BUILT_FOR_AVX2  # the modules beside this one; those in the folder baseline are for any CPU
has_avx2 = _has_avx2()
share_loops()
shared = export_shared()  # for the other modules
_shared.machine.l2_bytes = within("l2_bytes", max(cache_bytes(2), <Py_ssize_t>1 << 18))
# A virtual machine shows the whole L3 of a socket, whatever share of the socket's cores it has.
# The largest of today's CPUs have 16 MiB for a core.
_shared.machine.l3_bytes = within(
    "l3_bytes", max(min(cache_bytes(3), max(os.cpu_count() or 1, 2) * (16 << 20)), _shared.machine.l2_bytes)
)
if _shared.machine.l2_bytes > 1 << 20:  # Xeons, whose L3 is a mesh
    _shared.machine.step_l3 = 2.2
if os.environ.get("OMP_WAIT_POLICY", "").lower() == "passive":  # a team's threads sleep between its regions
    _shared.machine.region, _shared.machine.region_thread = 20000, 1500


def get_machine():
    """The numbers that the cost of a call is estimated from: see machine.pxd."""
    return _shared.machine


def set_machine(dict numbers not None):
    """Set numbers of the machine by name, each within its limits."""
    cdef dict all = _shared.machine
    for name, number in numbers.items():
        least, most = limits[name]
        if not least <= number <= most:
            raise ValueError(f"set_machine: {name}={number!r} is not within {least} to {most}")
        all[name] = type(least)(number)
    _shared.machine = all


def max_threads():
    """OpenMP's choice for the calling thread: OMP_NUM_THREADS, or the number of CPUs that it may run on."""
    return omp_max_threads()


def limit_is_set():
    """Remember OpenMP's choice of now, at which the user's limit was set."""
    remember_choice()


def max_threads_within(int limit):
    """The limit, or OpenMP's choice if that was lowered since the limit was set."""
    return lowered(limit)


def cpus_for(int team):
    """For tests: how many threads of a team other processes leave CPUs for; the readings are this module's own."""
    return max(1, free_cpus(team))


def limit_of_call(int limit):
    """For tests: begin a call, and return the limit of its threads. This module counts only such calls."""
    return begin_call(limit)


def call_ends():
    """For tests: end a call that this thread has begun."""
    end_call()


def force(int n_threads):
    """For tests: use exactly n_threads from now on. 0: not forced."""
    _shared.forced = n_threads


def main_thread_is(size_t ident):
    """Set the identifier of the interpreter's main thread, which checks for signals."""
    _shared.main_thread = ident
