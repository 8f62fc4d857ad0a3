"""Signals whose handler raises, such as Ctrl-C: the call ends, and `out` is unchanged or complete."""

import gc
import random
import signal
import time

import fault_calls
import gatherscatter as gs
import numpy as np
import pytest
from fault_hook import how_it_ended, run_python
from gatherscatter.backends import kernels
from libraries import needs

pytestmark = needs(hasattr(signal, "setitimer"), "there is no timer that sends signals")


STREAMED = 4_300_000  # items of 4 bytes: a result that is written with non-temporal stores
MOST_ATTEMPTS = 30  # of interrupting a call, whose time varies
OUTS = ("other", "in place", "strided", "overlapping")
REDUCED = [("none", True), ("add", True), ("max", False), ("mean", True)]


class Interrupted(BaseException):
    pass


@pytest.fixture
def timer():
    """Run a function, and send a signal so many seconds after its start; whether it was interrupted."""
    armed = False

    def handle(*_):
        if armed:
            raise Interrupted

    def run(seconds, function, *arguments):
        nonlocal armed
        try:
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, seconds)
                function(*arguments)
            finally:
                armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            return True
        return False

    before = signal.signal(signal.SIGALRM, handle)
    gc.disable()  # an exception in a callback of the collector, such as Hypothesis's, is lost
    yield run
    gc.enable()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize(("function", "recipe"), fault_calls.ALL_RECIPES)
def test_out_is_as_before_or_complete(timer, function, recipe, out):
    n_interrupted, rng = 0, random.Random(0)
    size = STREAMED if out in ("other", "in place") else 2_000_000
    # Of the reductions of scatters two in turn: each meets each kind of out on every second recipe.
    turn = [*fault_calls.ALL_RECIPES].index((function, recipe)) + OUTS.index(out)
    calls = fault_calls.calls(function, recipe, sizes=(size,), outs=(out,), reduced=REDUCED)
    for call in calls[turn % 2 :: 2] if len(calls) > 1 else calls:
        arrays, expected = call.arrays(), call.expected()
        before = arrays.out.copy()
        read = {name: array.copy() for name, array in arrays.inputs().items()}

        def restore(arrays=arrays, before=before, read=read):
            arrays.out[...] = before
            for name, array in arrays.inputs().items():
                array[...] = read[name]

        times = []
        for _ in range(2):  # the first call takes longer: its memory is new
            restore()
            started = time.perf_counter()
            call.run(arrays)
            times.append(time.perf_counter() - started)
            assert fault_calls.same(arrays.out, expected)
        n_of_call = 0
        for attempt in range(MOST_ATTEMPTS):
            restore()
            was_interrupted = timer(max(rng.random() * min(times), 1e-6), call.run, arrays)
            n_of_call += was_interrupted
            is_complete = fault_calls.same(arrays.out, expected)
            assert is_complete or (was_interrupted and fault_calls.same(arrays.out, before)), call
            assert arrays.are_guarded(), call
            if n_of_call and attempt >= 2:
                break
        n_interrupted += n_of_call
        call.run(arrays) if out != "overlapping" else None  # the next call
    assert n_interrupted or not fault_calls.calls(function, recipe, outs=(out,))


@pytest.mark.parametrize(
    "reduction", [pytest.param("max", marks=pytest.mark.slow), ("max", "min", "argmax", "var", "count")]
)
def test_all_outs_of_segments_are_as_before_or_complete(timer, reduction):
    rng, n = random.Random(0), 100_000
    data, ids = np.arange(1000.0), np.arange(1000)  # most of the time, the results are made and written
    expected = gs.segment_reduce(data, ids, n, reduction=reduction)
    made = expected if isinstance(expected, tuple) else (expected,)
    outs = tuple(np.empty_like(array) for array in made)
    out = outs if isinstance(expected, tuple) else outs[0]

    def call():
        gs.segment_reduce(data, ids, n, reduction=reduction, out=out)

    started = time.perf_counter()
    call()
    took = time.perf_counter() - started
    n_interrupted = 0
    for _ in range(60):
        for array in outs:
            array[...] = 7
        was_interrupted = timer(max(rng.random() * took, 1e-6), call)
        n_interrupted += was_interrupted
        are_complete = [fault_calls.same(array, result) for array, result in zip(outs, made, strict=True)]
        are_as_before = [bool((array == 7).all()) for array in outs]
        assert all(are_complete) or (was_interrupted and all(are_as_before)), (are_complete, are_as_before)
    assert n_interrupted


# Calls of minutes and more, that take little memory: name, and an expression.
ENDLESS = {
    "gather_nd of empty rows": "gs.gather_nd(np.empty((4, 0), 'u1'), np.broadcast_to(np.int8(0), (2**40, 2**22, 1)))",
    "gather of empty rows": "gs.gather(np.empty((4, 0), 'u1'), np.broadcast_to(np.int64(0), (2**40,)))",
    "gather_nd's check": "kernels.check_indices(*PLANNED)",
    "scatter_nd of empty rows": "gs.scatter_nd(np.empty((4, 0), 'u1'), np.broadcast_to(np.int8(0), (2**40, 1)),"
    " np.empty((2**40, 0), 'u1'))",
} | {
    f"scatter_nd of {rows or 'elements'} by {route}, {reduction}{', out=data' if out else ''}": (
        f"scatter_nd({route!r}, {rows!r}, {reduction!r}, {out})"
    )
    for route, rows, reduction, out in [
        ("direct", "", "none", False),
        ("direct", "", "none", True),
        ("direct", "", "add", False),
        ("direct", "", "mean", False),
        ("direct", "", "mean", True),
        ("direct", "points", "add", False),
        ("direct", "rows", "add", True),
        ("direct", "long rows", "add", False),
        ("direct", "long rows", "add", True),
        ("partition", "", "add", False),
        ("partition", "", "mean", True),
        ("partition", "points", "add", True),
        ("partition", "rows", "add", False),
        ("private", "", "add", False),
        ("private", "rows", "add", False),
        ("blocks", "", "add", False),
        ("blocks", "", "mean", True),
        ("blocks", "rows", "add", False),
    ]
}
ENDLESS |= {
    f"scatter_elements along axis {axis} by {route}, {reduction}": f"scatter_elements({route!r}, {axis}, {reduction!r})"
    for route, axis, reduction in [
        ("direct", 0, "add"),
        ("direct", 1, "add"),
        ("direct", 1, "mean"),
        ("partition", 0, "add"),
        ("partition", 1, "mean"),
    ]
}
IN_EVERY_RUN = "scatter_nd of elements by partition, add"
LATENCY = """
import signal, sys, time
import numpy as np
import gatherscatter as gs
from gatherscatter import operators, plan
from gatherscatter.backends import kernels

PLANNED = (
    plan.gather(operators.GATHER_ND, (4,), (2**40, 1), 0, 0, "raise"),
    np.zeros(4), np.broadcast_to(np.int64(1), (2**40, 1)),
)
THREADS = {threads}

def scatter_nd(route, rows, reduction, in_place):
    row = {{"rows": (64,), "long rows": (4096,), "points": (3,)}}.get(rows, ())
    dtype = "i4" if route == "private" else "f4"
    data = np.zeros((1000, *row), dtype)
    indices = np.broadcast_to(np.int64(1), (2**36, 1))
    updates = np.broadcast_to(np.ones((), dtype), (2**36, *row))
    with kernels.forced(THREADS, scatter=route):
        gs.scatter_nd(data, indices, updates, reduction=reduction, out=data if in_place else None)

def scatter_elements(route, axis, reduction):
    shape = (4, 2**36) if axis else (2**36, 64)
    data = np.zeros((4, 1000) if axis else (1000, 64), "f4")
    indices, updates = np.broadcast_to(np.int64(1), shape), np.broadcast_to(np.float32(1), shape)
    with kernels.forced(THREADS, scatter=route):
        gs.scatter_elements(data, indices, updates, axis=axis, reduction=reduction)

def handle(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handle)
for name, call in {{{calls}}}.items():
    print(f"{{name}}:", end=" ", flush=True)  # the last one, if it does not end
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    started = time.perf_counter()
    try:
        call()
        sys.exit("it ended by itself")
    except KeyboardInterrupt:
        print(f"{{time.perf_counter() - started - 0.1:.3f}} s after the signal")
"""


@pytest.mark.parametrize(
    ("names", "threads"),
    [([IN_EVERY_RUN], 2), *(pytest.param(list(ENDLESS), threads, marks=pytest.mark.slow) for threads in (1, 2, 8))],
    ids=["one-2", "all-1", "all-2", "all-8"],
)
def test_endless_calls_end(names, threads):
    """One after the other, in one process."""
    calls = ", ".join(f"{name!r}: lambda: {ENDLESS[name]}" for name in names)
    run = run_python("-c", LATENCY.format(calls=calls, threads=threads), timeout=120)
    print(run.stdout)  # shown by -rP
    assert how_it_ended(run) is None, run.stdout
    assert run.stdout.count("s after the signal") == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("route", ["direct", "runs", "columns"])
def test_a_long_gather_ends(timer, route):
    """Seconds of random access, on one thread."""
    rng = np.random.default_rng(0)
    n = 40_000_000
    data, indices = np.zeros(n, "f4"), rng.integers(0, n, n)
    if route == "columns":
        data, indices = data.reshape(-1, 4000), (indices % (n // 4000)).reshape(-1, 4000)
    function = gs.gather_elements if route == "columns" else gs.gather
    with kernels.forced(1, gather=route):
        function(data, indices)  # takes longer: its memory is new
        started = time.perf_counter()
        function(data, indices)
        took = time.perf_counter() - started
        started = time.perf_counter()
        assert timer(took / 10, function, data, indices)  # else it went on to its end
        print(f"{time.perf_counter() - started:.3f} s of {took:.3f} s")


def test_an_exception_of_a_handler_is_not_replaced():
    """Nor is its MemoryError taken for one of a result that is too large."""

    class Mine(MemoryError):
        pass

    def handle(*_):
        raise Mine("of the handler")

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Mine, match="of the handler"):
            gs.gather_nd(np.empty((4, 0), "u1"), np.broadcast_to(np.int8(0), (2**40, 2**22, 1)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_a_handler_that_locks_out():
    out = np.ones((40_000, 1000), "f4")

    def handle(*_):
        out.flags.writeable = False

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        data, indices = np.zeros((40_000, 2000), "f4")[:, ::2], np.broadcast_to(np.int64(0), (2**31, 2))
        with pytest.raises(RuntimeError, match="flags of an array changed during the call"):
            gs.scatter_nd(data, indices, np.broadcast_to(np.float32(1), (2**31,)), out=out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert (out == 1).all()


DAEMON = """
import threading, time
import numpy as np
import gatherscatter as gs

gs.set_num_threads(1)
n = 20_000_000
indices, updates = np.random.default_rng(0).integers(0, n, n), np.ones(n, "f4")

def run():
    data = np.zeros(n, "f4")
    while True:
        gs.scatter(data, indices, updates, reduction="add")

threading.Thread(target=run, daemon=True).start()
time.sleep(0.5)
"""


@pytest.mark.slow
def test_the_interpreter_ends_while_a_daemon_thread_is_in_a_kernel():
    for _ in range(6):  # without the rule that only the main thread asks, half of them aborted
        assert how_it_ended(run_python("-c", DAEMON, timeout=60)) is None
