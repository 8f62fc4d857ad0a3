/* What the kernels know of the machine, of other threads that run on it, and of each other's calls. The module common
   has it; the others import a pointer to it. */
#ifndef GS_MACHINE_H
#define GS_MACHINE_H
#include <Python.h>
#include <stddef.h>
#include <stdint.h>

#include "gather/loops/far_items.h"

typedef struct {  /* machine.pxd says what each is */
    ptrdiff_t l2_bytes, l3_bytes;
    double bandwidth, bandwidth_growth, step_l2, step_l3, step_memory, resolve, place, region, region_thread, slice;
} gs_machine_t;

typedef struct {
    gs_machine_t machine;
    int choice;  /* OpenMP's number of threads, when the user's limit was set */
    int calls;   /* that run now */
    int forced;  /* for tests: exactly so many threads, however little the work; 0: not forced */
    uintptr_t main_thread;  /* the interpreter's, which checks for signals */
    gs_far_loop (*far_loop_of)(ptrdiff_t item_bytes);  /* the module common has the loops, for both builds of gather */
    /* The last readings, for load.h; times are of the monotonic clock. */
    int64_t read_at, window_start, window_cpu_time, ticks_at, last_busy, last_own;
    int64_t team_at;       /* a team of ours was used */
    int last_team;         /* its size */
    int n_cpus, n_own;     /* online; that the caller may use */
    int busy;              /* CPUs that this process used in the last window, rounded */
    int others_were_busy;  /* other processes: half a CPU or more */
    int others, spinning;  /* threads that run or wait for a CPU: of other processes, and of others in this one */
} gs_shared_t;

/* Times are from a Zen 4, a Zen 5 and a Xeon (Sapphire Rapids), whose numbers differ by less than two, but for
   L3 (common.pyx); the growth of bandwidth and the times of a region from 16 cores of the Xeon. */
static gs_shared_t gs_own_shared = {
    .machine = {1 << 20, 32 << 20, 20.0, 0.7, 0.5, 0.9, 4.0, 0.2, 1.6, 5000.0, 700.0, 3e6}, .others_were_busy = 1};
static gs_shared_t *gs_shared = &gs_own_shared;
#define GS_SHARED "gatherscatter._kernels.common.shared"

static PyObject *gs_export_shared(void) { return PyCapsule_New(&gs_own_shared, GS_SHARED, NULL); }
static int gs_import_shared(void) {
    PyObject *module = PyImport_ImportModule("gatherscatter._kernels.common");
    void *shared = module ? PyCapsule_Import(GS_SHARED, 0) : NULL;
    Py_XDECREF(module);
    if (!shared) return -1;
    gs_shared = (gs_shared_t *)shared;
    return 0;
}

#endif
