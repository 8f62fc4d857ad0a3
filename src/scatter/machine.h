/* What the cost model knows of the machine (machine.pxd). Times are in nanoseconds. */
#ifndef GS_MACHINE_H
#define GS_MACHINE_H
#include <stddef.h>

typedef struct {
    ptrdiff_t l2_bytes, l3_bytes;
    double bandwidth, bandwidth_growth, step_l2, step_l3, step_memory, resolve, place, region, region_thread;
} gs_machine_t;

static gs_machine_t gs_machine = {1 << 20, 32 << 20, 20.0, 0.7, 0.5, 0.9, 4.0, 0.2, 0.9, 3000.0, 300.0};

#endif
