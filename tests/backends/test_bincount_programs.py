"""Gradients of bincount, and bincount in compiled programs."""

import gatherscatter as gs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from libraries import to_dask

X = np.array([1, 3, 1, 0])


def test_gradients_and_programs():
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: gs.bincount(torch.from_numpy(X), w), weights)
    x, w = jnp.asarray(X), jnp.asarray([1.0, 2.0, 3.0, 4.0])

    def call(x, w):
        return gs.bincount(x, w, length=3, mode="drop")

    np.testing.assert_array_equal(jax.jit(call)(x, w), [4.0, 4.0, 0.0])
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda w: (call(x, w) ** 2).sum()))(w), [8.0, 0.0, 8.0, 8.0])
    for unknown in (lambda: jax.jit(gs.bincount)(x), lambda: gs.bincount(to_dask(X))):
        with pytest.raises(
            NotImplementedError, match=r"^bincount: the greatest value of a .* is unknown .*; pass length="
        ):
            unknown()
