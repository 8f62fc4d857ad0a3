"""Another thread writes to the arrays of a call: no access out of bounds, and an error or some result."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import fault_calls
import numpy as np
import pytest

WILD = [10**15, -(10**15), 2**62, -(2**63), 2**31, -1, 0, 7]
MOST_ATTEMPTS = 100
MODES = ("raise", "clip", "wrap", "drop", "fill")
some = [("none", True), ("add", True), ("mul", False), ("max", False), ("min", True), ("mean", True), ("mean", False)]


@contextlib.contextmanager
def another_thread(work):
    """Call work(random numbers) again and again, in another thread."""
    stop, rng = threading.Event(), np.random.default_rng(0)
    errors = []

    def run():
        try:
            while not stop.is_set():
                work(rng)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not errors


def chosen(function, strategy, n, outs, counts):
    modes = [mode for mode in MODES]
    return [
        call
        for call in fault_calls.calls(function, strategy, sizes=(n,), outs=outs, threads=counts, modes=modes)
        if (call.reduction, call.include_self) in some
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("function", "strategy"), fault_calls.ALL_RECIPES)
def test_indices_of_wild_values(function, strategy):
    for call in chosen(function, strategy, 100_000, ("new", "other", "in place"), (1, 2)):
        arrays = call.arrays()
        may_raise = call.mode == "raise" and not call.has_mask
        good, read = arrays.indices.copy(), {name: array.copy() for name, array in arrays.inputs().items()}

        def spoil(rng, indices=arrays.indices, good=good):
            where = rng.integers(0, indices.size, 500)
            indices.flat[where] = WILD[int(rng.integers(len(WILD)))]
            if rng.random() < 0.4:
                indices[...] = good

        seen = set()
        with another_thread(spoil):
            for attempt in range(MOST_ATTEMPTS):
                try:
                    call.run(arrays)
                    seen.add("result")
                except (IndexError, RuntimeError):  # RuntimeError: the index is good again when the error is written
                    seen.add("error")
                assert arrays.are_guarded(), call
                if attempt >= 3 and len(seen) == (2 if may_raise else 1):
                    break
        assert seen <= ({"error", "result"} if may_raise else {"result"}), call
        for name, array in read.items():
            assert name == "indices" or fault_calls.same(array, arrays.named()[name]), (call, name)
        if may_raise:  # that the other thread meets a call in time is chance; this is not
            arrays.indices.flat[-1] = WILD[0]
            with pytest.raises(IndexError):
                call.run(arrays)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "strategy"), fault_calls.ALL_RECIPES)
def test_data_updates_and_out(function, strategy):
    """Numbers that change leave all others right: the positions are not of their making."""
    for call in chosen(function, strategy, 100_000, ("new", "other", "in place"), (1, 2)):
        arrays = call.arrays()

        def spoil(rng, arrays=arrays):
            for array in (arrays.data, arrays.updates, arrays.out):
                if array is not None:
                    array.flat[rng.integers(0, array.size, 50)] = rng.integers(0, 100)

        with another_thread(spoil):
            for _ in range(3):
                call.run(arrays)
                assert arrays.are_guarded(), call


@pytest.mark.slow
@pytest.mark.parametrize("by_itself", [True, False])
def test_threads_that_call_all_at_once(by_itself):
    """16 Python threads, each with arrays of its own; by_itself: the library chooses routes and threads."""
    prepared = [
        (call, call.arrays(), call.expected())
        for function, strategy in fault_calls.RECIPES
        for call in fault_calls.calls(function, strategy, sizes=(2000, 150_000), outs=("new", "other", "strided"))
        if (call.reduction, call.include_self) in some[:3] + some[5:]
    ]
    order = np.random.default_rng(0).permutation(np.arange(len(prepared)).repeat(3))
    busy = [threading.Lock() for _ in prepared]

    def work(number):
        call, arrays, expected = prepared[number]
        function, values, options = call.arguments(arrays)
        with busy[number]:  # two calls into one out are the caller's fault
            result = function(*values, **options)
            return fault_calls.same(result, expected) and arrays.are_guarded()

    # A route is forced for the whole process, so one after the other; threads then meet in the same one.
    if by_itself:
        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, order.tolist()))
        return
    for function, strategy in fault_calls.RECIPES:
        own = [i for i, (call, _, _) in enumerate(prepared) if (call.function, call.strategy) == (function, strategy)]
        with prepared[own[0]][0].forced(), ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, own * 4))
