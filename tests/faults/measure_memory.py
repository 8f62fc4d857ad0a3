"""For test_scratch.py, in a separate process: the memory of calls without the result, by the system and tracemalloc.

Arguments: the function, the recipe, and the number of items in millions. A line of JSON for each call.
"""

import ctypes
import json
import sys
import tracemalloc
from pathlib import Path

import fault_calls
from gatherscatter import memory

LIBC = ctypes.CDLL(None)


def peak():
    """The most memory that the process ever had, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    raise OSError("no VmHWM")


def measured(call):
    """What a call takes, in bytes, and the route that it ran."""
    arrays = call.arrays()
    if arrays.out is not None:
        arrays.out[...] = arrays.out  # in memory
    function, values, options = call.arguments(arrays)
    memory.empty_cache()
    LIBC.malloc_trim(0)  # what calls before left in the heap
    tracemalloc.start()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = peak()
    with call.forced():
        result = function(*values, **options)
        extra = peak() - before
        traced = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        ran = call.last_route()
    n_bytes = 0 if arrays.out is not None else result.nbytes
    return {"resident": extra - n_bytes, "traced": traced - n_bytes, "route": ran}


def main(function, recipe, millions):
    def calls(n):
        outs, reduced = ("new", "in place"), fault_calls.SOME_REDUCED
        return fault_calls.calls(function, recipe, sizes=(n,), outs=outs, reduced=reduced)

    for call in calls(3000):  # modules are imported, and OpenMP's threads run
        call.run(call.arrays())
    for call in calls(int(float(millions) * 1e6)):
        print(json.dumps(measured(call)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
