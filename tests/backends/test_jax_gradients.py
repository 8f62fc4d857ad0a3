"""JAX: derivatives of any order, by the kernels."""

import gatherscatter as gs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from constants import FLOAT_REDUCTIONS
from gatherscatter.backends import kernels
from jax.test_util import check_grads
from jax_cases import KINDS, ROWS, functions, numbers, operands


@pytest.fixture
def moved(monkeypatch):
    """The calls that reach the kernels."""
    calls = []
    for name in ("gather", "scatter"):
        original = getattr(kernels, name)

        def counted(*arguments, original=original, name=name, **options):
            calls.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(kernels, name, counted)
    return calls


def test_both_passes_of_a_gradient_run_on_the_kernels(moved):
    indices = jnp.asarray(ROWS)

    def loss(data):
        messages = gs.gather(data, indices, mode="promise_in_bounds")
        return (gs.scatter(data, indices, messages, reduction="add", mode="promise_in_bounds") ** 2).sum()

    data = numbers((3, 2))
    gradient = jax.grad(loss)(data)
    assert moved == ["gather", "scatter", "gather", "scatter"]
    del moved[:]
    assert np.allclose(jax.jit(jax.grad(loss))(data), gradient)
    assert moved == []  # a compiled program has no kernel in it


@pytest.mark.parametrize(
    "kind", [kind if i % 3 == 0 else pytest.param(kind, marks=pytest.mark.slow) for i, kind in enumerate(KINDS)]
)
def test_derivatives_of_gathers(kind):
    data, indices, _, options = operands(kind)
    gather = functions(kind)[1]
    for mode in ("raise", "fill"):
        check_grads(lambda x, mode=mode: gather(jnp.asarray(x), indices, mode=mode, **options) ** 2, (data,), order=2)


@pytest.mark.parametrize(
    ("kind", "reduction", "include_self"),
    # Any two of kind, reduction and include_self; by default one that compiles soon.
    [
        pytest.param(kind, reduction, n == 0, marks=[] if (i, j, n) == (5, 1, 0) else pytest.mark.slow)
        for i, kind in enumerate(KINDS)
        for j, reduction in enumerate(FLOAT_REDUCTIONS)
        for n in range(2)
        if (i + j + n) % 2 == 0
    ],
)
def test_derivatives_of_scatters(kind, reduction, include_self):
    data, indices, updates, options = operands(kind)
    scatter = functions(kind)[0]

    def call(data, updates):
        return scatter(data, indices, updates, reduction=reduction, include_self=include_self, **options)

    def cubes(data, updates):
        return (call(data, updates) ** 3).sum()

    tangents = numbers(data.shape, 2), numbers(updates.shape, 3)
    _, forward = jax.jvp(call, (data, updates), tangents)
    step = 1e-6
    moved = [call(data + s * tangents[0], updates + s * tangents[1]) for s in (step, -step)]
    assert np.allclose(forward, (moved[0] - moved[1]) / (2 * step), atol=1e-8)
    of_data = jax.jvp(lambda data: call(data, updates), (data,), tangents[:1])[1]
    of_updates = jax.jvp(lambda updates: call(data, updates), (updates,), tangents[1:])[1]
    assert np.allclose(of_data + of_updates, forward)
    _, pull = jax.vjp(call, data, updates)
    weights = numbers(data.shape, 4)
    of_both = pull(weights)
    assert np.allclose(np.vdot(weights, forward), sum(map(np.vdot, of_both, tangents)))
    assert all(map(np.allclose, jax.linearize(call, data, updates)[1](*tangents), forward))
    # Compiled, and of the second order: forward over reverse beside reverse over forward.
    both = (0, 1)
    assert all(map(np.allclose, jax.jit(jax.grad(cubes, both))(data, updates), jax.grad(cubes, both)(data, updates)))
    hessians = [
        jax.tree.leaves(way(data, updates))
        for way in (jax.jacfwd(jax.grad(cubes, both), both), jax.jit(jax.jacrev(jax.jacfwd(cubes, both), both)))
    ]
    assert all(map(np.allclose, *hessians))


@pytest.mark.parametrize(
    "reduction", ["add", *(pytest.param(name, marks=pytest.mark.slow) for name in ("none", "mul", "mean"))]
)
def test_derivatives_of_complex_scatters(reduction):
    data, updates = numbers(4) + 1j * numbers(4, 1), numbers(5, 2) + 1j * numbers(5, 3)
    indices = jnp.asarray([[1], [1], [0], [-1], [1]])

    def call(*arrays):
        data, updates = map(jnp.asarray, arrays)
        return gs.scatter_nd(data, indices, updates, reduction=reduction)

    check_grads(call, (data, updates), order=2)


def test_dropped_factors_have_no_gradient():
    """Their product may be infinite."""

    def product(updates):
        return gs.scatter(jnp.ones(2), jnp.asarray([0, 7, 8]), updates, reduction="mul", mode="drop").sum()

    updates = jnp.asarray([2.0, jnp.inf, 3.0])
    assert jax.grad(product)(updates).tolist() == [1, 0, 0]
    assert jax.jit(jax.grad(product))(updates).tolist() == [1, 0, 0]


def test_the_second_derivative_of_a_product_with_a_zero():
    def product(updates):
        return gs.scatter(jnp.asarray([2.0]), jnp.asarray([0, 0]), updates, reduction="mul").sum()

    assert jax.hessian(product)(jnp.asarray([0.0, 7.0])).tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("values", "include_self"),
    [
        pytest.param((2.0, 0.0, 7.0), True, marks=pytest.mark.slow),
        pytest.param((0.0, 0.0, 7.0), False, marks=pytest.mark.slow),
        pytest.param((0.0, 0.0, 0.0), True, marks=pytest.mark.slow),
    ],
)
def test_products_with_zeros_to_the_third_order(values, include_self):
    indices = jnp.asarray([0, 0])

    def product(x):
        return gs.scatter(x[:1], indices, x[1:], reduction="mul", include_self=include_self).sum()

    def plain(x):
        return x[0] * x[1] * x[2] if include_self else x[1] * x[2]

    x = jnp.asarray(values)
    for derivative in (jax.grad, jax.hessian, lambda f: jax.jacfwd(jax.jacrev(jax.grad(f)))):
        assert np.array_equal(derivative(product)(x), derivative(plain)(x))
    assert np.array_equal(jax.jit(jax.hessian(product))(x), jax.hessian(plain)(x))


def test_an_update_that_is_dropped_gets_no_gradient():
    indices = jnp.asarray([0, 9, 0, -1])
    for reduction in FLOAT_REDUCTIONS:

        def call(updates, reduction=reduction):
            return gs.scatter(jnp.ones(3), indices, updates, reduction=reduction, mode="drop").sum()

        assert jax.grad(call)(jnp.asarray([1.0, 2.0, 3.0, 4.0]))[1] == 0


def test_a_fill_value_has_no_tangent():
    def call(data):
        return gs.gather(data, jnp.asarray([0, 5]), mode="fill", fill_value=7.0)

    data = jnp.asarray([1.0, 2.0])
    for each in (call, jax.jit(call)):
        result, tangent = jax.jvp(each, (data,), (jnp.ones(2),))
        assert (result.tolist(), tangent.tolist()) == ([1, 7], [1, 0])
        assert jax.grad(lambda data, each=each: each(data).sum())(data).tolist() == [1, 0]


@pytest.mark.slow
def test_gradients_have_the_dtype_of_the_data():
    indices = jnp.asarray([1, 1])
    for dtype in (jnp.bfloat16, jnp.float16, jnp.float32):
        data, updates = jnp.asarray([1, 2], dtype), jnp.asarray([3, 4], dtype)
        for reduction in FLOAT_REDUCTIONS:

            def call(data, updates, reduction=reduction):
                return (gs.scatter(data, indices, updates, reduction=reduction)).sum()

            of_both = jax.grad(call, (0, 1))(data, updates)
            assert [each.dtype for each in of_both] == [dtype, dtype]
        assert jax.grad(lambda x: gs.gather(x, indices).sum())(data).tolist() == [0, 2]


# Beside JAX's own functions. True: for indices that are distinct, since JAX differentiates no other.

SAMPLES = {
    "set": (lambda x, i, u: x.at[i].set(u), lambda x, i, u: gs.scatter(x, i, u), True),
    "add": (lambda x, i, u: x.at[i].add(u), lambda x, i, u: gs.scatter(x, i, u, reduction="add"), False),
    "multiply": (
        lambda x, i, u: x.at[i].multiply(u, unique_indices=True),
        lambda x, i, u: gs.scatter(x, i, u, reduction="mul"),
        True,
    ),
    "take": (lambda x, i, u: jnp.take(x, i, axis=0) * u, lambda x, i, u: gs.gather(x, i) * u, False),
    "columns": (
        lambda x, i, u: jnp.take(x, i % 2, axis=1) * u[:, :1],
        lambda x, i, u: gs.gather(x, i % 2, axis=1) * u[:, :1],
        False,
    ),
    "take_along_axis": (
        lambda x, i, u: jnp.take_along_axis(x, jnp.stack([i, 3 - i], axis=1), axis=0) * u,
        lambda x, i, u: gs.gather_elements(x, jnp.stack([i, 3 - i], axis=1), axis=0) * u,
        False,
    ),
    "pairs": (
        lambda x, i, u: x[i, i % 2] * u[:, 0],
        lambda x, i, u: gs.gather_nd(x, jnp.stack([i, i % 2], axis=-1)) * u[:, 0],
        False,
    ),
    "segment_sum": (
        lambda x, i, u: jax.ops.segment_sum(u, i, 4) + x,
        lambda x, i, u: gs.scatter(jnp.zeros_like(x), i, u, reduction="add") + x,
        False,
    ),
}


@pytest.mark.parametrize("dtype", [jnp.float32, pytest.param(jnp.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SAMPLES)
def test_values_and_gradients_are_those_of_jax(name, dtype):
    theirs, ours, distinct = SAMPLES[name]
    x, indices = numbers((4, 2), 0, dtype), jnp.asarray([3, 1, 0, 2] if distinct else [3, 1, 3, 0])
    updates = numbers((4, 2), 1, dtype)

    def plain(call):
        return lambda x, u: call(x, indices, u)

    def differentiated(call):
        return jax.grad(lambda x, u: (call(x, indices, u) ** 3).sum(), (0, 1))

    ways = [plain, differentiated]
    if dtype == jnp.float64:
        ways.append(lambda call: jax.jacfwd(differentiated(call)))
    for way in ways:
        found, expected = way(ours)(x, updates), jax.jit(way(theirs))(x, updates)
        assert jax.tree.all(jax.tree.map(lambda a, b: a.dtype == b.dtype and np.allclose(a, b), found, expected))


@pytest.mark.parametrize("name", ["max", "min"])
def test_values_of_maxima_are_those_of_jax(name):
    x, indices, updates = numbers((4, 2)), jnp.asarray(ROWS), numbers((5, 2), 1)
    expected = getattr(x.at[indices], name)(updates)
    assert np.array_equal(gs.scatter(x, indices, updates, reduction=name), expected)
