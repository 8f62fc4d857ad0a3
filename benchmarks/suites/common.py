"""Arrays of the suites, and the number of threads."""

import gatherscatter as gs
import numpy as np

SMALL, LARGE = 100, 1_000_000  # elements that a call moves
THREADS = ["1", "all"]
LAYOUTS = ["C", "strided"]
# Shorter samples and fewer than asv's own, so that a benchmark takes half a second; two rounds, which asv continuous
# interleaves on request.
TIMING = {"sample_time": 0.01, "repeat": (3, 10, 0.5), "warmup_time": 0.05, "rounds": 2}


def timed(suite):
    """Give a suite the settings of them all."""
    for name, value in TIMING.items():
        setattr(suite, name, value)
    return suite


def use_threads(threads, n):
    if threads == "all":
        if n == SMALL:
            raise NotImplementedError("a small call stays on one thread")
        gs.set_num_threads(None)
    else:
        gs.set_num_threads(int(threads))


def numbers(shape, dtype, layout="C"):
    """Random; strided ones have a gap behind every item of the last axis."""
    rng = np.random.default_rng(0)
    if layout == "strided":
        return numbers((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
    return rng.integers(0, 100, shape).astype(dtype)


def places(below, shape, layout="C"):
    """Random indices, in the layout."""
    rng = np.random.default_rng(1)
    if layout == "strided":
        return rng.integers(0, below, (*shape[:-1], 2 * shape[-1]))[..., ::2]
    return rng.integers(0, below, shape)
