"""For test_threads_limits.py, in a separate process: run every recipe at once, and compare with one thread.

Arguments: how many threads ("auto": as the library chooses), how many of them can be created ("all"), how many items,
and the number of the first call.
"""

import json
import os
import sys

import fault_calls
from fault_hook import Hook


def main(threads, creatable, n, first):
    count = 0 if threads == "auto" else int(threads)
    chosen = [
        call
        for function, recipe in fault_calls.RECIPES
        for call in fault_calls.calls(
            function,
            recipe,
            sizes=(int(n),),
            outs=("new", "in place")[: 1 if int(n) > 1_000_000 else 2],
            threads=(count,),
            reduced=fault_calls.SOME_REDUCED,
        )
    ]
    is_alone = "OMP_STACKSIZE" in os.environ  # with stacks that are too small for the kernels
    if creatable != "all":
        Hook().allow_threads(int(creatable))
    for number, call in enumerate(chosen):
        if number < int(first):
            continue
        expected, arrays = call.expected(), call.arrays()
        print(json.dumps({"case": number, "what": str(call), "trial": 0}), flush=True)
        result = call.run(arrays)
        fault = None
        if not fault_calls.same(result, expected) or not arrays.are_guarded():
            fault = f"{call}: gives a wrong result"
        elif count and creatable == "all" and not is_alone and call.is_forced and call.last_route() != call.route:
            fault = f"{call}: ran {call.last_route()}"
        if fault:
            print(json.dumps({"fault": fault}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
