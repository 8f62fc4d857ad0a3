"""gatherscatter.tensorflow in the traces of JAX and PyTorch."""

import gatherscatter.tensorflow as gtf
import pytest

# Traces


def test_jax_traced():
    import jax
    import jax.numpy as jnp

    params = jnp.arange(1, 5)

    @jax.jit
    def ignoring(indices):
        return gtf.gather_nd(params, indices, bad_indices_policy="IGNORE")

    assert ignoring(jnp.array([[1], [-1], [4]])).tolist() == [2, 0, 0]

    @jax.jit
    def adding(indices):
        return gtf.tensor_scatter_nd_add(params, indices, params[:3], bad_indices_policy="IGNORE")

    assert adding(jnp.array([[1], [-1], [4]])).tolist() == [1, 3, 3, 4]
    with pytest.raises(NotImplementedError, match="mode='raise' with traced indices"):
        jax.jit(lambda indices: gtf.gather_nd(params, indices))(jnp.array([[1]]))
    with pytest.raises(
        NotImplementedError, match=r"^tensor_scatter_nd_update: the JAX .* does not support mode='raise'"
    ):
        jax.jit(lambda indices: gtf.tensor_scatter_nd_update(params, indices, params[:1]))(jnp.array([[1]]))


def test_jax_known_indices_are_checked_in_a_trace():
    import jax
    import jax.numpy as jnp

    good, bad = jnp.array([[1]]), jnp.array([[0], [-1]])
    assert jax.jit(lambda params: gtf.gather_nd(params, good))(jnp.arange(3)).tolist() == [1]
    with pytest.raises(IndexError, match=r"^gather_nd: indices\[1\] = \(-1,\).* TensorFlow's indices are not negative"):
        jax.jit(lambda params: gtf.gather_nd(params, bad))(jnp.arange(3))


@pytest.mark.filterwarnings("error")
def test_jax_without_64_bits():
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(False):
        for dtype in (jnp.int16, jnp.int32):
            indices = jnp.array([[1], [-1], [3]], dtype)
            assert gtf.gather_nd(jnp.arange(3), indices, bad_indices_policy="IGNORE").tolist() == [1, 0, 0]
            with pytest.raises(IndexError) as caught:
                gtf.gather_nd(jnp.arange(3), indices)
            assert str(caught.value) == (
                "gather_nd: indices[1] = (-1,) is out of bounds for params of shape (3,): axis 0 has size 3, "
                "and TensorFlow's indices are not negative"
            )


def test_torch_vmap_and_gradients():
    import torch

    params = torch.arange(1.0, 5.0, requires_grad=True)
    indices = torch.tensor([[1], [-1], [1]])
    gtf.gather_nd(params, indices, bad_indices_policy="IGNORE").sum().backward()
    assert params.grad.tolist() == [0, 2, 0, 0]
    table = torch.arange(6).reshape(2, 3)
    mapped = torch.func.vmap(lambda row, i: gtf.gather_nd(row, i, bad_indices_policy="IGNORE"))
    assert mapped(table, torch.tensor([[[1], [-1]], [[3], [0]]])).tolist() == [[1, 0], [0, 3]]
    with pytest.raises(IndexError, match="gather_nd: indices"):
        torch.func.vmap(gtf.gather_nd)(table, torch.tensor([[[1]], [[-1]]]))


def test_torch_compiled():
    import torch

    params = torch.arange(1, 5)

    @torch.compile(fullgraph=True, backend="eager")
    def ignoring(indices):
        return gtf.gather_nd(params, indices, bad_indices_policy="IGNORE")

    @torch.compile(fullgraph=True, backend="eager")
    def subtracting(indices):
        return gtf.tensor_scatter_nd_sub(params, indices, params[:2])

    assert ignoring(torch.tensor([[1], [-1]])).tolist() == [2, 0]
    assert subtracting(torch.tensor([[1], [2]])).tolist() == [1, 1, 1, 4]
    # The check is the core's, for which what was negative is the largest number.
    with pytest.raises(IndexError, match=r"indices\[1\] = \(-1,\) is out of bounds"):
        subtracting(torch.tensor([[1], [-1]]))


def test_torch_shapes_alone():
    import torch

    params, indices = torch.zeros((3, 2), device="meta"), torch.zeros((4, 1), dtype=torch.int64, device="meta")
    assert gtf.gather_nd(params, indices).shape == (4, 2)
    assert gtf.scatter_nd(indices, torch.zeros((4, 2), device="meta"), [3, 2]).shape == (3, 2)
