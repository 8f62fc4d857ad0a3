"""JAX: vmap, scan, checkpoint and transposes of the primitives; settings that forbid promotions."""

import gatherscatter as gs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from constants import FLOAT_REDUCTIONS
from jax_cases import KINDS, ROWS, functions, numbers, operands

AXES = [(0, 0, 0), (0, None, 0), (None, 0, None), (0, 0, None), (None, None, 0), (1, None, -1), (0, None, None)]


@pytest.mark.parametrize(
    ("kind", "axes"),
    # By default a few.
    [
        pytest.param(kind, axes, marks=[] if (i + 3 * j) % 32 == 0 else pytest.mark.slow, id=f"{kind}-{axes}")
        for i, kind in enumerate(KINDS)
        for j, axes in enumerate(AXES)
    ],
)
def test_any_axes_are_mapped(kind, axes):
    n = 3
    *arrays, options = operands(kind)
    scatter, gather = functions(kind)
    size = arrays[1].max() + 1
    stacked = [
        jnp.asarray(
            array if axis is None else np.stack([array + j if k != 1 else (array + j) % size for j in range(n)], axis)
        )
        for k, (array, axis) in enumerate(zip(map(np.asarray, arrays), axes, strict=True))
    ]

    def one(j):
        return [
            a if axis is None else jnp.asarray(np.take(np.asarray(a), j, axis))
            for a, axis in zip(stacked, axes, strict=True)
        ]

    def gathers(data, indices):
        return gather(data, indices, mode="clip", **options)

    def scatters(data, indices, updates):
        return scatter(data, indices, updates, mode="clip", reduction="add", **options)

    def gradients(*arrays):
        loss = lambda d, i, u: (scatters(d, i, u) ** 2 * gathers(d, i).sum()).sum()  # noqa: E731
        return jax.grad(loss, (0, 2))(*arrays)

    for call, k in ((gathers, 2), (scatters, 3), (gradients, 3)):
        if axes[:k] == (None,) * k:
            continue
        expected = jax.tree.map(lambda *each: np.stack(each), *[call(*one(j)[:k]) for j in range(n)])
        for way in (lambda f: f, jax.jit)[: 1 + (call is gradients)]:  # whose program has the calls of the others
            found = way(jax.vmap(call, axes[:k]))(*stacked[:k])
            assert jax.tree.all(jax.tree.map(np.allclose, found, expected))
    pairs = jnp.asarray(np.stack([stacked[1]] * 2))
    nested = jax.vmap(jax.vmap(scatters, axes), (None, 0, None))(stacked[0], pairs, stacked[2])
    assert np.allclose(nested[1], jax.vmap(scatters, axes)(*stacked))


@pytest.mark.parametrize(
    ("call", "shape"), [(gs.gather, (7, 3)), (gs.gather_elements, (7, 3, 2)), (gs.gather_nd, (7, 3, 1))]
)
def test_a_table_that_is_not_mapped_is_not_repeated(call, shape):
    data, indices = jnp.zeros((1000, 2)), jnp.zeros(shape, int)
    program = jax.make_jaxpr(jax.vmap(lambda indices: call(data, indices, mode="clip")))(indices)
    assert max(v.aval.size for equation in program.eqns for v in equation.outvars) <= 7 * 3 * 2


@pytest.mark.slow
def test_in_a_scan_and_a_checkpoint():
    data, indices, updates = numbers((3, 2)), jnp.asarray(ROWS), numbers((5, 2), 1)

    def step(x, scale):
        x = gs.scatter(x, indices, scale * updates * gs.gather(x, indices), reduction="mean")
        return x, gs.gather(x, indices).sum()

    def loop(x):
        total = 0.0
        for scale in (1.0, 2.0, 3.0):
            x, y = step(x, scale)
            total += y
        return total + (x**2).sum()

    def scanned(x):
        x, y = jax.lax.scan(step, x, jnp.asarray([1.0, 2.0, 3.0]))
        return y.sum() + (x**2).sum()

    for way, calls in (
        (jax.grad, (scanned, jax.checkpoint(loop), jax.checkpoint(scanned), jax.jit(scanned))),
        (jax.hessian, (scanned, jax.checkpoint(loop))),
    ):
        expected = way(loop)(data)
        for call in calls:
            assert np.allclose(way(call)(data), expected)


def test_tangents_of_integers():
    data, indices = numbers(3), jnp.asarray(ROWS)
    none = np.zeros(indices.shape, jax.dtypes.float0)
    _, tangent = jax.jvp(lambda d, i: gs.gather(d, i, mode="wrap"), (data, indices), (data, none))
    assert np.array_equal(tangent, data[indices])
    of_data, of_indices = jax.vjp(gs.gather, data, indices)[1](jnp.ones(5))
    assert of_data.tolist() == [1, 1, 3]
    assert of_indices.dtype == jax.dtypes.float0
    counts = jax.jvp(lambda x: x * gs.scatter(jnp.zeros(3, int), indices, 1, reduction="add"), (2.0,), (1.0,))[1]
    assert counts.tolist() == [1, 1, 3]


def test_linear_transposes():
    indices, updates = jnp.asarray(ROWS), numbers(5)
    (found,) = jax.linear_transpose(lambda x: gs.gather(x, indices), jnp.zeros(3))(updates)
    assert np.allclose(found, jnp.zeros(3).at[indices].add(updates))
    (found,) = jax.linear_transpose(lambda u: gs.scatter(jnp.zeros(3), indices, u), updates)(jnp.arange(1.0, 4))
    assert found.tolist() == [0, 1, 0, 3, 2]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow) for kind in ("scatter_nd", "scatter, batch", "scatter_elements")],
)
def test_nothing_needs_a_promotion(kind):
    data, indices, updates, options = operands(kind)
    data, updates = data.astype(jnp.bfloat16), updates.astype(jnp.bfloat16)
    scatter, gather = functions(kind)
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        for mode in ("clip", "wrap", "fill", "promise_in_bounds"):
            call = lambda data, indices, mode=mode: gather(data, indices, mode=mode, **options)  # noqa: E731
            assert np.array_equal(jax.jit(call)(data, indices), call(data, indices))
        for reduction in FLOAT_REDUCTIONS:

            def loss(d, u, reduction=reduction):
                both = [
                    scatter(d, indices, u, reduction=reduction, include_self=include_self, **options)
                    for include_self in (True, False)
                ]
                return sum(both).sum()

            jax.grad(loss, (0, 1))(data, updates)
            jax.jit(jax.grad(loss, (0, 1))).lower(data, updates)
            jax.jit(lambda d, u, loss=loss: jax.jvp(loss, (d, u), (d, u))).lower(data, updates)
