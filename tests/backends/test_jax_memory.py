"""JAX on the CPU: calls outside of traces share JAX's memory with the kernels, and their results are JAX's own."""

import gc
import os
import subprocess
import sys

import gatherscatter as gs
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from constants import DTYPES
from gatherscatter import memory
from gatherscatter.backends import kernels
from gatherscatter.backends.jax import BACKEND, eager

# Elements of float32: a copy and not; NumPy's allocator; the free list.
SIZES = [1 << 10, 1 << 14, 300_001, 3 << 20]


@pytest.fixture
def given(monkeypatch):
    """The arrays that the kernels are given, the result last."""
    calls = []
    for name, result in (("gather", 3), ("scatter", 4)):
        original = getattr(kernels, name)

        def kept(*arguments, original=original, result=result, **options):
            calls.append([*arguments[1:result], arguments[result]])
            return original(*arguments, **options)

        monkeypatch.setattr(kernels, name, kept)
    return calls


def pointers(arrays):
    return [array.unsafe_buffer_pointer() if isinstance(array, jax.Array) else array.ctypes.data for array in arrays]


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_copied(size, given):
    data, indices = jnp.asarray(np.arange(size, dtype="f4")), jnp.asarray(np.arange(size)[::-1].copy())
    updates = jnp.asarray(-np.asarray(data))
    results = [
        gs.gather(data, indices, mode="promise_in_bounds"),
        gs.scatter(data, indices, updates, reduction="add", mode="promise_in_bounds"),
    ]
    if size < 4096:  # for such calls there is another way, without a plan
        assert given == []
        return
    for arrays, found, result in zip(given, ([data, indices], [data, indices, updates]), results, strict=True):
        # `scatter` is given data in front of indices too.
        assert pointers(arrays[:-1]) == pointers(found)
        assert not any(array.flags.writeable for array in arrays[:-1])
        shared = result.unsafe_buffer_pointer() == arrays[-1].ctypes.data
        assert shared == (result.nbytes >= 1 << 16)
        assert arrays[-1].ctypes.data % 64 == 0 or not shared
    numbers = np.arange(size, dtype="f4")
    assert np.array_equal(results[0], numbers[::-1])
    assert np.array_equal(results[1], numbers - numbers[::-1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_takes_the_kernels(dtype, given):
    data = jnp.asarray(np.ones((40_000, 2), jnp.dtype(dtype)))
    indices = jnp.asarray(np.arange(10_000) % 200, "u1" if dtype == "bool" else None)
    found = gs.gather(data, indices), gs.scatter(data, indices, jnp.asarray(np.asarray(data)[:10_000]))
    assert [arrays[0].ctypes.data for arrays in given] == [data.unsafe_buffer_pointer()] * 2
    for result in found:
        assert result.dtype == data.dtype
        assert not result.weak_type
        assert (np.asarray(result) == 1).all()


@pytest.mark.slow
def test_results_outlive_the_call():
    data = np.random.default_rng(0).random(3 << 20, np.float32)
    order = np.random.default_rng(1).permutation(len(data))
    for size in (100, 100_000, len(data)):
        results = []
        for i in range(6):
            array = jnp.asarray(data + i)
            results.append(gs.gather(array, jnp.asarray(order[:size])))
            results.append(gs.scatter(array, jnp.asarray(order[:size]), jnp.zeros(size, jnp.float32)))
            del array
            gc.collect()
        for i in range(6):
            assert np.array_equal(results[2 * i], (data + i)[order[:size]])
            expected = data + i
            expected[order[:size]] = 0
            assert np.array_equal(results[2 * i + 1], expected)


@pytest.mark.parametrize("size", SIZES)
def test_arrays_never_change(size):
    data, indices = jnp.arange(size, dtype=jnp.float32), jnp.arange(size // 2)
    first = gs.gather(data, indices)
    kept = np.array(first)
    second = gs.scatter(first, indices, first, reduction="add")
    double = jax.jit(lambda x: 2 * x, donate_argnums=0)(second)  # XLA may reuse the memory of `second`
    assert second.is_deleted()
    others = [gs.gather(data, indices + i % 2) for i in range(4)]
    assert np.array_equal(double, 4 * kept)
    assert np.array_equal(first, kept)
    assert np.array_equal(others[0], kept)
    assert np.array_equal(data, np.arange(size))
    assert not np.asarray(first).flags.writeable
    jax.jit(lambda x: x + 1, donate_argnums=0)(data)
    assert np.array_equal(first, kept)
    with pytest.raises(RuntimeError, match="deleted"):
        gs.gather(data, indices)


def test_memory_is_kept_for_the_next_result():
    data, indices = jnp.zeros(3 << 20, jnp.float32), jnp.arange(3 << 20)
    for _ in range(3):
        gs.gather(data, indices).block_until_ready()
    jnp.asarray(np.zeros(3))  # JAX lets go of the NumPy arrays at its next call
    gc.collect()
    assert memory.kept() >= data.nbytes


def test_small_calls_need_no_plan(monkeypatch):
    monkeypatch.setattr(type(BACKEND), "gather", None)
    monkeypatch.setattr(type(BACKEND), "scatter", None)
    data, indices = jnp.arange(6.0).reshape(3, 2), jnp.asarray([2, 0])
    assert gs.gather(data, indices).tolist() == [[4, 5], [0, 1]]
    assert gs.scatter(data, indices, data[:2], reduction="add").tolist() == [[2, 4], [2, 3], [4, 6]]
    assert gs.scatter(data, indices, 7).tolist() == [[7, 7], [2, 3], [7, 7]]


def test_no_updates():
    for size in (2, 200_000):
        data, none = jnp.asarray(np.arange(float(size))), jnp.asarray(np.zeros(0, int))
        result = gs.scatter(data, none, jnp.zeros(0), reduction="add")
        assert np.array_equal(result, data)
        assert result.unsafe_buffer_pointer() != data.unsafe_buffer_pointer()
        assert gs.gather(data, none).shape == (0,)
        gradient = jax.grad(lambda x, none=none: gs.scatter(x, none, jnp.zeros(0)).sum())(data)
        assert np.array_equal(gradient, np.ones(size))


@pytest.mark.parametrize("size", [3, 100_000])
def test_as_constants_of_a_program(size):
    data, indices = jnp.arange(float(size)), jnp.asarray([2, 0])
    assert jax.jit(lambda x: x + gs.gather(data, indices))(1.0).tolist() == [3, 1]
    assert jax.jit(lambda x: x + gs.scatter(data, indices, 5.0))(1.0)[:3].tolist() == [6, 2, 6]
    assert jax.grad(lambda x: (x * gs.gather(data, indices)).sum())(1.0) == 2


@pytest.mark.parametrize("size", [3, 100_000])
def test_under_settings_of_jax(size):
    data, indices, updates = jnp.arange(float(size)), jnp.asarray([2, 0]), jnp.ones(2)
    with jax.disable_jit():
        assert isinstance(gs.gather(data, indices), jax.Array)
        assert isinstance(gs.scatter(data, indices, updates), jax.Array)
        assert jax.grad(lambda x: gs.gather(x, indices).sum())(data)[:3].tolist() == [1, 0, 1]
    with jax.transfer_guard("disallow_explicit"):
        gs.gather(data, indices)
        gs.scatter(data, indices, updates)
    with jax.enable_x64(False):
        narrow = jnp.arange(size), jnp.arange(float(size)), jnp.arange(size) + 0j
        for array in narrow:
            for result in (gs.gather(array, indices), gs.scatter(array, indices, array[:2], reduction="add")):
                assert result.dtype == array.dtype
                assert result.dtype.itemsize <= 8
    fill = gs.gather(jnp.zeros(size), jnp.asarray([-1, size]), mode="fill", fill_value=-0.0)
    assert np.signbit(fill).tolist() == [False, True]
    lazy = jax.vmap(lambda x: gs.gather(x, jnp.asarray([size]), mode="fill", fill_value=-0.0))(jnp.zeros((2, size)))
    assert np.signbit(lazy).all()


def test_other_arrays_take_xla(given):
    keys = jax.random.wrap_key_data(jnp.asarray(np.arange(6, dtype="u4").reshape(3, 2)))
    indices = jnp.asarray([2, 0])
    for call in (gs.gather, jax.jit(lambda keys, _: gs.gather(keys, indices))):
        assert jax.random.key_data(call(keys, indices)).tolist() == [[4, 5], [0, 1]]
    assert gs.gather(jnp.asarray([1, 2, 3], jnp.float8_e4m3fn), indices).tolist() == [3, 1]
    assert given[1:] == []  # the check of indices that the trace knows
    assert eager.share(keys) is None


# Several devices, for which JAX has to be told before it starts.
DEVICES = """
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_num_cpu_devices", 4)
import gatherscatter as gs
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

def same(a, b):
    assert (a.sharding, a.committed) == (b.sharding, b.committed), (a.sharding, a.committed, b.sharding, b.committed)
    assert jnp.array_equal(a, b)

devices = jax.devices()
for size in (5, 100_000):
    data, indices = jnp.arange(float(size)), jnp.asarray([2, 0])
    theirs = jax.jit(lambda data, indices: data[indices])
    same(gs.gather(data, indices), theirs(data, indices))
    far = jax.device_put(data, devices[3])
    same(gs.gather(far, indices), theirs(far, indices))
    same(gs.scatter(far, jax.device_put(indices, devices[3]), 1.0), jax.jit(lambda x: x.at[indices].set(1.0))(far))
    there = jax.device_put(indices, devices[3])
    same(jax.grad(lambda x: gs.gather(x, there).sum())(far), jax.grad(lambda x: x[there].sum())(far))
    with jax.default_device(devices[2]):
        same(gs.gather(data, indices), theirs(data, indices))
    try:
        gs.gather(far, jax.device_put(indices, devices[1]))
    except ValueError as error:
        assert "incompatible devices" in str(error)
    else:
        raise AssertionError

mesh = Mesh(np.array(devices), ("x",))
spread = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("x")))
assert gs.gather(spread, jnp.asarray([7, 1])).tolist() == [7, 1]
assert jax.grad(lambda x: (gs.gather(x, jnp.asarray([7, 1])) ** 2).sum())(spread).tolist() == [0, 2, 0, 0, 0, 0, 0, 14]

table, places, weights = jnp.arange(10.0), jnp.arange(8) % 5, jnp.arange(8.0)

def part(table, places, weights):
    updates = weights * gs.gather(table, places, mode="clip")
    total = gs.scatter(jnp.zeros(10), places, updates, reduction="add", mode="drop")
    return total + gs.scatter(table, places, updates, reduction="mul", mode="drop")

spread = jax.shard_map(
    lambda *arrays: jax.lax.psum(part(*arrays), "x"), mesh=mesh, in_specs=(P(), P("x"), P("x")), out_specs=P()
)
plain = lambda table, places, weights: sum(part(table, places[i : i + 2], weights[i : i + 2]) for i in (0, 2, 4, 6))
loss = lambda call: lambda table, weights: (call(table, places, weights) * jnp.arange(10.0)).sum()
for way in (lambda f: f, jax.jit):
    assert jnp.allclose(way(spread)(table, places, weights), plain(table, places, weights))
    found, expected = (way(jax.grad(loss(call), (0, 1)))(table, weights) for call in (spread, plain))
    assert all(map(jnp.allclose, found, expected))
"""


@pytest.mark.slow
def test_on_several_devices():
    environment = os.environ | {"JAX_ENABLE_X64": "0"}
    done = subprocess.run([sys.executable, "-c", DEVICES], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
