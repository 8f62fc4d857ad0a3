"""Another thread writes to the arrays of a call: no access out of bounds, and an error or some result."""

import contextlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import fault_calls
import gatherscatter as gs
import numpy as np
import pytest
import segment_calls
from fault_hook import how_it_ended, run_python
from libraries import needs
from pairwise import pairwise

WILD = [10**15, -(10**15), 2**62, -(2**63), 2**31, -1, 0, 7]
MOST_ATTEMPTS = 100
LONGEST_GAP = 0.07  # of a call, of which the check of the ids is more
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


def chosen(function, recipe, n, outs, counts):
    """Calls in which any two of reduction, mode, out and number of threads meet."""
    calls = {
        ((call.reduction, call.include_self), call.mode, call.out, call.threads): call
        for call in fault_calls.calls(function, recipe, sizes=(n,), outs=outs, threads=counts, modes=MODES)
        if (call.reduction, call.include_self) in some
    }
    axes = [list(dict.fromkeys(values)) for values in zip(*calls, strict=True)]
    return [calls[one] for one in pairwise(*axes)]


@pytest.mark.slow
@pytest.mark.parametrize(("function", "recipe"), fault_calls.ALL_RECIPES)
def test_indices_of_wild_values(function, recipe):
    for call in chosen(function, recipe, 100_000, ("new", "other", "in place"), (1, 2)):
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
@pytest.mark.parametrize(("function", "recipe"), fault_calls.ALL_RECIPES)
def test_data_updates_and_out(function, recipe):
    """Numbers that change leave all others right: the positions are not of their making."""
    for call in chosen(function, recipe, 100_000, ("new", "other", "in place"), (1, 2)):
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
@pytest.mark.parametrize(("function", "route"), segment_calls.RECIPES)
def test_segments_whose_arguments_change(function, route):
    """Ids or pointers of wild values, and data."""
    for call in segment_calls.calls(function, route, shapes=[(20_000, 0), (20_000, 3)]):
        arrays, expected = call.arrays(), call.expected()
        good, last = arrays.indices.copy(), int(arrays.indices.max())

        def spoil(rng, arrays=arrays, good=good, last=last):
            where = rng.integers(0, good.size, 50)
            arrays.indices[where] = rng.choice([*WILD, last]) if rng.random() < 0.3 else rng.integers(-1, last + 1, 50)
            arrays.data.flat[rng.integers(0, arrays.data.size, 50)] = rng.integers(0, 100)
            if rng.random() < 0.5:
                arrays.indices[...] = good

        with another_thread(spoil):
            for _ in range(5):
                result = None
                # RuntimeError: the index is good again when the error is written
                with contextlib.suppress(IndexError, ValueError, RuntimeError):
                    result = call.run(arrays)
                assert arrays.are_guarded(), call
                if result is not None and call.name != "order":  # whose size is that of the elements with a segment
                    assert np.shape(result) == np.shape(expected), call


LAST_ID = """
import mmap, tempfile, threading
import numpy as np
import gatherscatter as gs
from gatherscatter.backends import kernels

with tempfile.TemporaryFile() as file:
    file.truncate(2 * mmap.PAGESIZE)
    memory = mmap.mmap(file.fileno(), 2 * mmap.PAGESIZE)
    file.truncate(mmap.PAGESIZE)  # from here on, a read of the second page ends the process
ids = np.frombuffer(memory, np.int64, 64, mmap.PAGESIZE - 64 * 8)
flips = np.arange(100_000) % 2
last = np.lib.stride_tricks.as_strided(ids[-1:], flips.shape, (0,))
data, stop = np.zeros((5000, 64), "f4"), threading.Event()

def flip():
    while not stop.is_set():
        last[...] = flips

thread = threading.Thread(target=flip)
thread.start()
try:
    with kernels.forced(4):  # parts that begin at the last id, or behind it
        for _ in range(10):
            assert gs.{function}(data, ids, 2, axis=1{options}).shape == {shape}
finally:
    stop.set()
    thread.join()
"""


@needs(sys.platform == "linux", "pages behind the end of a file cannot be mapped")
@pytest.mark.parametrize(
    ("function", "options", "shape"),
    [
        ("segment_softmax", "", (5000, 64)),
        pytest.param("segment_log_softmax", "", (5000, 64), marks=pytest.mark.slow),
        pytest.param("segment_reduce", ", reduction='logsumexp'", (5000, 2), marks=pytest.mark.slow),
    ],
)
def test_a_last_id_that_changes(function, options, shape):
    """Sorted before and after each change: no id behind the last one is read."""
    run = run_python("-c", LAST_ID.format(function=function, options=options, shape=shape), timeout=60)
    assert how_it_ended(run) is None


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_other_threads_run_while_ids_are_checked(dtype):
    """The longest time between two ticks of another thread is a small part of a call, in one of many attempts."""
    ids = np.repeat(np.arange(1000, dtype=dtype), 20_000)
    data = np.zeros(ids.shape, "i1")

    def longest_gap():
        ticks = []

        def tick(_):
            ticks.append(time.perf_counter())
            time.sleep(1e-4)

        with another_thread(tick):
            started = time.perf_counter()
            gs.segment_reduce(data, ids, 1000, reduction="count")
            ended = time.perf_counter()
        within = [started, *(tick for tick in ticks if started < tick < ended), ended]
        return np.diff(within).max() / (ended - started)

    assert any(longest_gap() < LONGEST_GAP for _ in range(MOST_ATTEMPTS))


@pytest.mark.slow
@pytest.mark.parametrize("by_itself", [True, False])
def test_threads_that_call_all_at_once(by_itself):
    """16 Python threads, each with arrays of its own; by_itself: the library chooses routes and threads."""
    prepared = [
        (call, call.arrays(), call.expected())
        for function, recipe in fault_calls.RECIPES
        for call in fault_calls.calls(function, recipe, sizes=(2000, 150_000), outs=("new", "other", "strided"))
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
    for function, recipe in fault_calls.RECIPES:
        own = [i for i, (call, _, _) in enumerate(prepared) if (call.function, call.recipe) == (function, recipe)]
        with prepared[own[0]][0].forced(), ThreadPoolExecutor(16) as pool:
            assert all(pool.map(work, own * 4))
