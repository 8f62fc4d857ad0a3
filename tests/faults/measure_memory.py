"""For test_scratch.py, in a separate process: the memory of a call without its result, by the system and tracemalloc.

Arguments: the function, strategy, reduction, include_self (0 or 1), out, and the number of items in millions.
"""

import json
import sys
import tracemalloc
from pathlib import Path

import fault_calls
from gatherscatter import memory


def peak():
    """The most memory that the process ever had, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    raise OSError("no VmHWM")


def main(function, strategy, reduction, include_self, out, millions):
    dtype = "i4" if strategy == "private" else "f4"
    make = lambda n: fault_calls.Call(function, strategy, reduction, include_self == "1", out, n, 2, dtype)  # noqa: E731
    small = make(3000)
    small.run(small.arrays())  # modules are imported, and OpenMP's threads run
    call = make(int(float(millions) * 1e6))
    arrays = call.arrays()
    if arrays.out is not None:
        arrays.out[...] = arrays.out  # in memory
    function, values, options = call.arguments(arrays)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = peak()
    with call.forced():
        result = function(*values, **options)
        extra = peak() - before
        ran = call.last_route()
        result_bytes = 0 if arrays.out is not None else result.nbytes
        del result
        memory.empty_cache()
        tracemalloc.start()
        function(*values, **options)
        traced = tracemalloc.get_traced_memory()[1]
    print(json.dumps({"resident": extra - result_bytes, "traced": traced - result_bytes, "route": ran}))


if __name__ == "__main__":
    main(*sys.argv[1:])
