# Signals, such as Ctrl-C, during a kernel. Python runs their handlers on its main thread only. If that thread called
# the kernel, it asks the interpreter for signals about every 50 ms. If a handler raises an exception, all threads stop.
#
# A scatter or gather into the caller's array can be stopped only until the array is written to (`disarm`). While the
# main thread waits at a barrier, a signal is handled only after the last task of the other threads.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uintptr_t

from common.codes cimport INTERRUPTED
from common.machine cimport shared

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(_WIN32)
      #define WIN32_LEAN_AND_MEAN
      #define NOMINMAX
      #include <windows.h>
      static uintptr_t gs_this_thread(void) { return GetCurrentThreadId(); }
      static int64_t gs_now_ms(void) { return (int64_t)GetTickCount64(); }
    #else
      #include <pthread.h>
      #include <time.h>
      static inline uintptr_t gs_this_thread(void) { return (uintptr_t)pthread_self(); }
      static int64_t gs_now_ms(void) {
          struct timespec now;
          clock_gettime(CLOCK_MONOTONIC, &now);
          return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
      }
    #endif
    /* Written by the caller's thread, and read by the others. */
    #if defined(__GNUC__) || defined(__clang__)
      #define GS_IS_SET(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)
      #define GS_SET(flag) __atomic_store_n(&(flag), 1, __ATOMIC_RELAXED)
    #else
      #define GS_IS_SET(flag) (*(volatile int *)&(flag))
      #define GS_SET(flag) (*(volatile int *)&(flag) = 1)
    #endif
    #if defined(__GNUC__) || defined(__clang__)
      #define GS_COLD_INT __attribute__((noinline, cold)) int
    #else
      #define GS_COLD_INT int
    #endif
    """
    ctypedef int cold_int "GS_COLD_INT"
    uintptr_t this_thread "gs_this_thread" () noexcept nogil
    int64_t now_ms "gs_now_ms" () noexcept nogil
    bint is_set "GS_IS_SET" (int flag) noexcept nogil
    void set_flag "GS_SET" (int flag) noexcept nogil

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept
    PyObject* PyErr_Occurred() noexcept
    void PyErr_Fetch(PyObject** exception_class, PyObject** value, PyObject** traceback) noexcept
    void PyErr_Restore(PyObject* exception_class, PyObject* value, PyObject* traceback) noexcept

cdef enum:
    INTERVAL_MS = 50            # milliseconds between two questions: nobody notices as long a delay
    CLOCK_WORK = 1 << 20        # units of about a nanosecond, or 8 bytes of a copy: after as much the clock is read
    WORK_STEP = CLOCK_WORK >> 4  # updates or positions of a loop before it tells its work: less, since some take longer

cdef struct Interrupts:
    int stopped                 # a handler raised an exception, which is kept here meanwhile
    bint armed
    char padding[64]            # all threads read `stopped`; the rest, on another cache line, is the main thread's
    Py_ssize_t work             # since the clock was read
    int64_t next_ms             # when to ask next; 0: the clock was not read yet
    PyObject* exception_class
    PyObject* value
    PyObject* traceback


cdef inline void arm(Interrupts* interrupts) noexcept nogil:
    interrupts.stopped = False
    interrupts.armed = this_thread() == shared.main_thread
    interrupts.work = 0
    interrupts.next_ms = 0


cdef inline void disarm(Interrupts* interrupts) noexcept nogil:
    """Let the kernel run to its end. The interpreter runs the handlers of signals after it."""
    interrupts.armed = False


cdef inline cold_int ask(Interrupts* interrupts) noexcept nogil:
    """Read the clock and, if it is time, ask. Returns whether a signal's handler raised an exception."""
    cdef int64_t now = now_ms(), waited
    interrupts.work = 0
    if interrupts.next_ms == 0:
        interrupts.next_ms = now + INTERVAL_MS
    elif now >= interrupts.next_ms:
        with gil:
            if PyErr_CheckSignals() < 0:
                PyErr_Fetch(&interrupts.exception_class, &interrupts.value, &interrupts.traceback)
                set_flag(interrupts.stopped)
        # Other Python threads may hold the GIL for long: then ask less often, but twice a second.
        waited = now_ms() - now
        interrupts.next_ms = now + waited + min(max(<int64_t>INTERVAL_MS, 20 * waited), <int64_t>10 * INTERVAL_MS)
    return interrupts.stopped


cdef inline bint is_interrupted(Interrupts* interrupts, Py_ssize_t work) noexcept nogil:
    """Whether the kernel has to stop. work: since the last call on this thread, in units of about a nanosecond."""
    if is_set(interrupts.stopped):
        return True
    if not interrupts.armed or this_thread() != shared.main_thread:
        return False
    interrupts.work += work
    return interrupts.work >= CLOCK_WORK and ask(interrupts)


cdef inline Py_ssize_t block_of(Py_ssize_t tuple_work, Py_ssize_t most) noexcept nogil:
    """How many tuples to resolve at a time, so that they are at most CLOCK_WORK (but for a single one)."""
    return max(<Py_ssize_t>1, min(most, CLOCK_WORK // tuple_work))


cdef inline Py_ssize_t with_interrupts(Interrupts* interrupts, Py_ssize_t status) noexcept:
    """A kernel's status at its end: INTERRUPTED, with the exception set, if it was stopped."""
    if not interrupts.stopped:
        return status
    PyErr_Restore(interrupts.exception_class, interrupts.value, interrupts.traceback)
    return INTERRUPTED


cdef inline int raise_if_interrupted(Py_ssize_t status) except -1:
    return -1 if status == INTERRUPTED and PyErr_Occurred() != NULL else 0
