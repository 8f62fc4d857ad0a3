# cython: language_level=3, freethreading_compatible=True
"""The build: the version of OpenMP and the compiler."""
from common.threads cimport (
    OPENMP_VERSION, begin_call, end_call, free_cpus, lowered, omp_max_threads, remember_choice,
)

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
    """
    const char* COMPILER "GS_COMPILER"

openmp_version = OPENMP_VERSION
compiler = COMPILER.decode("ascii", "replace").strip()


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
