"""JAX: jit, grad, vmap, derivatives in both modes, and 32-bit indices."""

import gatherscatter as gs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from constants import FLOAT_REDUCTIONS, GATHER_MODES
from gatherscatter import tensorflow
from gatherscatter.backends.jax import programs
from jax.test_util import check_grads
from libraries import by_xla, on_devices

GEOMETRIES = {
    "gather": ((2, 4, 3), [[1, -1, 1], [0, 0, 2]], {"axis": 1, "batch_dims": 1}),
    "gather_nd": ((4, 3, 2), [[0, 1], [-1, 2], [0, 1], [3, 0]], {}),
    "gather_elements": ((4, 3), [[1, -1, 1], [1, 0, 2], [0, 0, 1]], {"axis": 0}),
}


@pytest.fixture(params=on_devices("jax"))
def device(request):
    with jax.default_device(jax.devices(request.param)[0]):
        yield


def geometry(function, mode):
    shape, places, options = GEOMETRIES[function.replace("scatter", "gather")]
    places = np.array(places)
    if mode not in ("raise", "promise_in_bounds"):
        places.flat[-1] = 9
    return shape, jnp.asarray(places), dict(options)


def distinct(shape, seed):
    """Numbers far enough apart for a finite difference, none near zero."""
    n = int(np.prod(shape))
    order = np.random.default_rng(seed).permutation(n)
    return jnp.asarray(((order - n / 2 + 0.3) / n + 0.01 * seed).reshape(shape))


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("function", "mode"),
    # By default three modes of each function.
    [
        pytest.param(function, mode, marks=[] if (i + j) % 4 else pytest.mark.slow)
        for i, function in enumerate(GEOMETRIES)
        for j, mode in enumerate(mode for mode in GATHER_MODES if mode != "raise")
    ],
)
def test_gathers_trace(function, mode):
    shape, indices, options = geometry(function, mode)
    data = distinct(shape, 0)

    def call(data, indices):
        return getattr(gs, function)(data, indices, mode=mode, **options)

    expected = call(data, indices)
    assert np.array_equal(jax.jit(call)(data, indices), expected)
    stacked = jax.vmap(call)(*(jnp.asarray(np.stack([one, sign * one])) for one, sign in ((data, -1), (indices, 1))))
    assert np.array_equal(stacked, np.stack([expected, -np.asarray(expected)]))
    check_grads(lambda data: call(jnp.asarray(data), indices), (data,), order=2)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("function", "mode", "reduction", "include_self"),
    # Any two of function, reduction and include_self. By default a third but "mul", which takes long to compile.
    [
        pytest.param(
            function,
            mode,
            reduction,
            n == 0,
            marks=[] if (i + j) % 6 == 3 * n and reduction != "mul" else pytest.mark.slow,
        )
        for i, (function, mode) in enumerate(
            [("scatter", "raise"), ("scatter_nd", "raise"), ("scatter_nd", "drop"), ("scatter_elements", "raise")]
        )
        for j, reduction in enumerate(FLOAT_REDUCTIONS)
        for n in range(2)
        if (i + j + n) % 2 == 0
    ],
)
def test_scatters_trace(function, mode, reduction, include_self):
    shape, indices, options = geometry(function, mode)
    data = distinct(shape, 0)
    like = getattr(gs, function.replace("scatter", "gather"))
    updates = distinct(like(data, indices, mode="clip", **options).shape, 7)
    options |= {"mode": mode, "reduction": reduction, "include_self": include_self}

    def call(data, updates):
        return getattr(gs, function)(data, indices, updates, **options)

    expected = call(data, updates)
    assert np.array_equal(jax.jit(call)(data, updates), expected)  # indices are known in the trace
    check_grads(
        lambda *arrays: call(*map(jnp.asarray, arrays)),
        (data, updates),
        order=2 if (function, mode) == ("scatter_nd", "raise") else 1,
    )
    if mode == "drop":
        jitted = jax.jit(getattr(gs, function), static_argnames=tuple(options))
        assert np.array_equal(jitted(data, indices, updates, **options), expected)


def test_scatters_map():
    data, updates = distinct((3, 4, 2), 0), distinct((3, 5, 2), 1)
    indices = jnp.asarray([[1, 1, 0, -1, 9], [0, 0, 0, 2, 1], [3, 2, 1, 9, 9]])
    for reduction in FLOAT_REDUCTIONS:

        def call(data, indices, updates, reduction=reduction):
            return gs.scatter(data, indices, updates, reduction=reduction, mode="drop")

        one_by_one = [call(*each) for each in zip(data, indices, updates, strict=True)]
        assert np.array_equal(jax.vmap(call)(data, indices, updates), np.stack(one_by_one))
        assert np.array_equal(jax.vmap(call, (None, 0, 0))(data[0], indices, updates)[0], one_by_one[0])


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_a_trace_cannot_raise(transform):
    data, indices = jnp.zeros((2, 3)), jnp.asarray([[0], [1]])
    with pytest.raises(NotImplementedError) as caught:
        transform(gs.gather)(data, indices)
    assert str(caught.value).startswith(
        "gather: the JAX backend does not support mode='raise' with traced indices (jit, vmap): an error cannot depend "
        "on values that are only known later; pass mode= one of 'clip', 'wrap', 'fill', 'promise_in_bounds'"
    )
    with pytest.raises(NotImplementedError, match=r"one of 'clip', 'wrap', 'drop', 'promise_in_bounds'"):
        transform(lambda i: gs.scatter(jnp.zeros(2), i, 1.0))(indices)
    with pytest.raises(NotImplementedError, match=r"source_indices .*one of 'clip', 'wrap', 'drop', 'promise_in_boun"):
        transform(lambda i: gs.gather_scatter(jnp.zeros(2), i, jnp.ones(2), i))(indices)


def test_known_indices_raise_in_a_trace():
    indices = jnp.asarray([0, 3])
    with pytest.raises(IndexError, match=r"^gather: indices\[1\] = 3 is out of bounds"):
        jax.jit(lambda data: gs.gather(data, indices))(jnp.zeros(3))


def test_an_axis_of_size_0_raises_in_a_trace():
    call = jax.jit(lambda i: gs.gather_nd(jnp.zeros((2, 0)), i, mode="clip"))
    with pytest.raises(IndexError, match=r"^gather_nd: no index is valid for axis 1 of data of shape \(2, 0\)"):
        call(jnp.zeros((1, 2), int))
    assert call(jnp.zeros((0, 2), int)).shape == (0,)


@pytest.mark.usefixtures("device")
def test_out_of_bounds_is_never_clipped_or_dropped_silently():
    data = jnp.arange(4.0)
    for bad in (4, -5):
        with pytest.raises(IndexError, match=rf"indices\[1\] = {bad} is out of bounds"):
            gs.gather(data, jnp.asarray([0, bad]))
        with pytest.raises(IndexError, match=rf"indices\[1\] = {bad} is out of bounds"):
            gs.scatter(data, jnp.asarray([0, bad]), 1.0)


def test_without_64_bits():
    with jax.enable_x64(False):
        data = jnp.arange(4.0)
        assert data.dtype == jnp.float32
        for dtype in (jnp.int8, jnp.uint8, jnp.uint32):
            indices = jnp.asarray([1, 3, 1], dtype)
            assert gs.gather(data, indices).tolist() == [1, 3, 1]
            assert gs.scatter(data, indices, 1.0, reduction="add").tolist() == [0, 3, 2, 4]
        far = jnp.asarray([2**32 - 1, 2], jnp.uint32)
        assert gs.gather(data, far, mode="clip").tolist() == [3, 2]
        assert gs.gather(data, far, mode="wrap").tolist() == [3, 2]
        assert gs.gather(data, far, mode="fill").tolist() == [0, 2]
        with pytest.raises(IndexError, match=rf"indices\[0\] = {2**32 - 1} is out of bounds"):
            gs.gather(data, far)
        wide = jax.ShapeDtypeStruct((2**31, 1), jnp.int8)
        with pytest.raises(NotImplementedError, match="its row ids need 64 bits"):
            jax.eval_shape(lambda data: gs.gather(data, jnp.asarray([0])), wide)


def test_equal_maxima_share_the_gradient():
    def call(data, updates):
        result = gs.scatter(data, jnp.asarray([1, 1, 1, 0]), updates, reduction="max")
        return (result * jnp.asarray([2.0, 3.0])).sum()

    of_data, of_updates = jax.grad(call, (0, 1))(jnp.asarray([1.0, 5.0]), jnp.asarray([5.0, 5.0, 2.0, 1.0]))
    assert of_data.tolist() == [1, 1]
    assert of_updates.tolist() == [1, 1, 0, 1]


def test_gradient_of_a_product_with_zeros():
    def call(data, updates):
        return gs.scatter(data, jnp.asarray([0, 2, 0, 2, 1]), updates, reduction="mul").sum()

    of_data, of_updates = jax.grad(call, (0, 1))(jnp.asarray([2.0, 0.0, 3.0]), jnp.asarray([5.0, 0.0, 7.0, 0.0, 4.0]))
    assert of_data.tolist() == [35, 4, 0]
    assert of_updates.tolist() == [14, 0, 10, 0, 0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda x: gs.gather(x, jnp.asarray([0]), out=x),
            NotImplementedError,
            "gather: the JAX backend does not support out=: a jax.Array is immutable; use the returned array",
        ),
        (
            lambda x: gs.gather(x, jnp.asarray([0.0])),
            TypeError,
            "gather: indices has dtype float64, but indices are integers of 8 to 64 bits; pass indices.astype('int64')",
        ),
        (
            lambda x: gs.scatter(x, jnp.asarray([0]), jnp.zeros(2)),
            ValueError,
            "scatter: updates has shape (2,); pass shape (1,), or one that broadcasts to it",
        ),
        (
            lambda x: gs.scatter(x.astype(jnp.float32), jnp.asarray([0]), jnp.zeros(1)),
            TypeError,
            "scatter: updates has dtype float64, but data has float32; pass updates.astype(data.dtype)",
        ),
        (
            lambda x: gs.scatter(x + 0j, jnp.asarray([0]), 1, reduction="max"),
            TypeError,
            "scatter: reduction='max' does not support dtype complex128; "
            "convert data and updates to one that it supports: bool, int8, int16, int32, int64, uint8, "
            "uint16, uint32, uint64, float16, bfloat16, float32, float64",
        ),
    ],
)
def test_message(call, kind, message):
    with pytest.raises(kind) as caught:
        call(jnp.zeros(3))
    assert str(caught.value) == message


def test_lists_and_scalars():
    data = jnp.asarray([1.5, 2.5], jnp.bfloat16)
    assert gs.gather(data, [1]).tolist() == [2.5]
    assert gs.gather(data, []).shape == (0,)
    assert gs.scatter(data, [1], 7).tolist() == [1.5, 7]
    assert gs.scatter(data, [1], [7.0], reduction="add").tolist() == [1.5, 9.5]
    assert gs.gather(data, [9], mode="fill", fill_value=0.5).tolist() == [0.5]


def test_a_call_outside_of_programs_is_one_program(monkeypatch):
    """On XLA's devices: compiled once, also with checked indices, and shared by calls of other names."""
    traced = []
    resolve_rows = programs.JAXTable.resolve_rows
    monkeypatch.setattr(
        programs.JAXTable, "resolve_rows", lambda *arguments: traced.append(arguments) or resolve_rows(*arguments)
    )
    data, indices, updates = jnp.zeros((23, 3)), jnp.array([1, -1, 22, 1]), jnp.ones((4, 3))

    def call(indices):
        with by_xla():
            gs.gather(data, indices)
            tensorflow.gather(data, jnp.abs(indices))
            return gs.scatter(data, indices, updates, reduction="mean", include_self=False)

    for _ in range(3):
        assert np.asarray(call(indices))[:, 0].tolist() == [0, 1] + 20 * [0] + [1]
    n = len(traced)
    assert n == 3  # TensorFlow's has no negative indices
    with pytest.raises(IndexError, match=r"^gather: indices\[2\] = 23 is out of bounds for data of shape \(23, 3\)"):
        call(indices.at[2].set(23))
    assert len(traced) == n + 1  # to find which one
