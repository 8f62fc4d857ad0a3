"""Calls of every kind, on small JAX arrays."""

import gatherscatter as gs
import jax.numpy as jnp
import numpy as np

ROWS = [2, 0, 2, -1, 1]
KINDS = {
    "scatter": ((3, 2), ROWS, (5, 2), {}),
    "scatter, axis": ((2, 3, 2), [1, 1, 0], (2, 3, 2), {"axis": 1}),
    "scatter, batch": ((2, 2, 3), [[1, 1, 0], [2, 0, 2]], (2, 2, 3), {"axis": 2, "batch_dims": 1}),
    "scatter_nd": ((3, 2, 2), [[0, 1], [2, 0], [0, 1]], (3, 2), {}),
    "scatter_nd, batch": ((2, 3, 2), [[[1], [1]], [[0], [2]]], (2, 2, 2), {"batch_dims": 1}),
    "scatter_elements": ((3, 2), [[1, 0], [1, 2], [0, 0]], (3, 2), {"axis": 0}),
    "scatter_elements, shorter": ((3, 4), [[1, 0, 1], [3, 3, 0]], (2, 3), {"axis": 1}),
}


def numbers(shape, seed=0, dtype=float):
    """Distinct numbers far enough apart for a finite difference, some of them negative and none near zero."""
    n = int(np.prod(shape))
    return jnp.asarray(((np.random.default_rng(seed).permutation(n) - n / 3 + 0.3) / n).reshape(shape), dtype)


def operands(kind):
    data, places, updates, options = KINDS[kind]
    return numbers(data), jnp.asarray(places), numbers(updates, 1), options


def functions(kind):
    name = kind.partition(",")[0]
    return getattr(gs, name), getattr(gs, name.replace("scatter", "gather"))
