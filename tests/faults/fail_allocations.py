"""For test_allocation.py, in a separate process: make the allocations of calls fail, one after the other.

Arguments: "c" or "python" (whose allocations), "once" or "on" (one fails, or all from it on; CPython itself may loop
forever where all of its own fail), the function, the recipe, and the number of the first call.
"""

import gc
import json
import sys
from ctypes import CDLL, Structure, c_size_t

import fault_calls
import numpy as np
import segment_calls
from fault_hook import FOREVER, Hook
from gatherscatter import memory

LEAKED = 8192  # bytes, of one round of all failures: less than one scratch block, more than what Python's caches take
MAX_FAILURES = 5000
ROUNDS = 2  # the first one fills caches
MORE_ROUNDS = 6  # where the last one took memory: a leak does so in each, a heap that is rearranged once
SMALL, LARGE = 1500, 270_000  # items
FEW = 8  # calls
PASSES = 4  # in turn, of a call that can do without some of its allocations: then it has no more
OMP = "libgomp"  # ends the process where it gets no memory


class CAllocations:
    """malloc and related functions, and mmap."""

    def __init__(self):
        self.hook = Hook()

    def fail(self, n, last):
        self.hook.arm(n, last, OMP.encode())

    def stop(self):
        return self.hook.disarm()

    def culprit(self):
        return self.hook.culprit()


class PythonAllocations:
    """PyMem_RawMalloc, PyMem_Malloc, PyObject_Malloc and related functions."""

    def __init__(self):
        import _testcapi

        self.capi = _testcapi
        self.last = 0

    def fail(self, n, last):
        self.capi.set_nomemory(n - 1, 0 if last == FOREVER else last)

    def stop(self):
        self.capi.remove_mem_hooks()

    def culprit(self):
        return "Python"


class Mallinfo2(Structure):
    _fields_ = [
        (name, c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def in_use():
    """Bytes that the C library has given away, without those of the free list."""
    gc.collect()
    memory.empty_cache()
    library = CDLL(None)
    library.mallinfo2.restype = Mallinfo2
    found = library.mallinfo2()
    return found.uordblks + found.hblkhd


def attempt(allocations, n, last, function, values, options):
    """Run the call with its n-th allocation failing. Return its result and its exception."""
    try:
        allocations.fail(n, last)
        result = function(*values, **options)
        allocations.stop()
        return result, None
    except BaseException as error:
        allocations.stop()
        return None, error.with_traceback(None)


class Trial:
    """One call, with its expected result."""

    def __init__(self, call):
        self.call = call
        self.expected = call.expected()
        self.arrays = call.arrays()
        self.before = {name: array.copy() for name, array in self.arrays.named().items()}
        self.outs_before = tuple(out.copy() for out in self.arrays.outs)

    def count_references(self):
        return {name: sys.getrefcount(array) for name, array in self.arrays.named().items()}

    def restore(self):
        for out, before in zip(self.arrays.outs, self.outs_before, strict=True):
            out[...] = before

    def fault(self, result, error):
        """A description of what is wrong after a call whose allocation failed, or None."""
        # Some functions of CPython and NumPy raise SystemError where they have no memory for the error itself.
        if error is not None and not isinstance(error, MemoryError | SystemError):
            return f"raises {type(error).__name__}: {error}"
        if error is None and not fault_calls.same(result, self.expected):
            return "gives a wrong result"
        out = self.arrays.out
        if out is not None:
            is_complete = fault_calls.same(out, self.expected)
            if error is None and not is_complete:
                return "leaves out incomplete without an error"
            if not is_complete and not fault_calls.same(self.arrays.outs, self.outs_before):
                written = [np.count_nonzero(a != b) for a, b in zip(self.arrays.outs, self.outs_before, strict=True)]
                return f"leaves out half written: {written} items of {[out.size for out in self.arrays.outs]}"
        for name, array in self.arrays.inputs().items():
            if self.call.out != "overlapping" and not fault_calls.same(array, self.before[name]):
                return f"changes {name}"
        if not self.arrays.are_guarded():
            return "writes outside of an array"
        return None

    def sweep(self, allocations, lasts):
        """Fail the first allocation, the second, … until the call has no more; yield (n, fault)."""
        function, values, options = self.call.arguments(self.arrays)
        counts, passed = self.count_references(), 0
        for n in range(1, MAX_FAILURES):
            self.restore()
            with self.call.forced():
                result, error = attempt(allocations, n, n if lasts == "once" else FOREVER, function, values, options)
            found = self.fault(result, error)
            passed = passed + 1 if error is None else 0
            del result, error
            after = self.count_references()
            if found is None and after != counts:
                found = f"keeps references: {after} after {counts}"
            counts = after
            yield n, found and f"{found} ({allocations.culprit()})"
            if passed == PASSES:
                self.restore()
                if not fault_calls.same(self.call.run(self.arrays), self.expected):
                    yield n, "spoils the next call"
                return
        yield n, "never passes"


def main(whose, lasts, function, recipe, first):
    allocations = CAllocations() if whose == "c" else PythonAllocations()
    if (function, recipe) in fault_calls.ALL_RECIPES:
        reduced = {"reduced": fault_calls.SOME_REDUCED}
        chosen = fault_calls.calls(function, recipe, sizes=(SMALL,), **reduced)
        large = fault_calls.calls(function, recipe, sizes=(LARGE,), **reduced)
        # Of many, whose trials take ten times as long, every second one of C: those of "on" are the others.
        chosen += large[lasts == "on" :: 2] if len(large) > FEW and whose == "c" else large
        if whose == "c":  # objects; NumPy's own functions for these, and for strings, crash without Python's memory
            chosen += fault_calls.calls(function, recipe, sizes=(300,), dtypes=("O",), threads=(1,))
    else:
        chosen = segment_calls.calls(function, recipe)
    gc.freeze()  # what was imported, so that a collection takes no time
    for number, call in enumerate(chosen):
        if number < int(first):
            continue
        trial = Trial(call)
        trial.call.run(trial.arrays)  # starts OpenMP's threads
        grown, n_faults = [], 0
        while not n_faults and (len(grown) < ROUNDS or (grown[-1] > LEAKED and len(grown) < MORE_ROUNDS)):
            before = in_use()
            for n, found in trial.sweep(allocations, lasts):
                fault = f"{call}, allocation {n} of {whose}, {lasts}: {found}" if found else None
                n_faults += fault is not None
                print(json.dumps({"case": number, "what": str(call), "trial": n, "fault": fault}), flush=True)
            grown.append(in_use() - before)
        if not n_faults and grown[-1] > LEAKED:
            print(json.dumps({"fault": f"{call}: {grown} bytes more in use after all allocations failed"}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
