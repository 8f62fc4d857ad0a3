"""Options and forms of arguments that every library has: negative indices, broadcast updates, wide sums."""

from functools import partial

import gatherscatter as gs
import libraries
import numpy as np
import pytest
from assertions import assert_refused, assert_same_numbers
from constants import GATHER_MODES, GATHERS, SCATTER_MODES, SCATTERS
from gatherscatter import reference
from gatherscatter.reductions import DTYPES, REDUCTIONS, wider_dtypes
from libraries import LIBRARIES, on, on_each
from strategies import numbers, numpy_dtype

EXPENSIVE = ("JAX, XLA", "PyTorch, dispatcher", "Dask")  # see test_backends.py
# (shape of data, indices, options)
CALLS = {
    "": ((2, 5, 3), [[1, -2, 1], [0, -1, 4]], {"axis": 1, "batch_dims": 1}),
    "_nd": ((4, 3, 2), [[1, -1], [3, 2], [-3, 0], [3, 2]], {}),
    "_elements": ((3, 5, 2), [[[0, -1], [4, 4], [-5, 0]], [[1, 1], [1, 1], [-4, 3]]], {"axis": 1}),
}


def call(library, function, arrays, **options):
    arrays = [library.asarray(one) if isinstance(one, np.ndarray) else one for one in arrays]
    with library.way(), np.errstate(all="ignore"):
        return library.asnumpy(getattr(gs, function)(*arrays, **options))


def case(function, dtype="int32", seed=0):
    """(data, indices, updates, options) of a call."""
    shape, indices, options = CALLS[function.removeprefix("gather").removeprefix("scatter")]
    data, indices = numbers(shape, numpy_dtype(dtype), seed), np.array(indices)
    named = getattr(reference, "gather" + function.removeprefix("gather").removeprefix("scatter"))
    return data, indices, numbers(named(data, indices, **options).shape, data.dtype, seed + 1), options


def each_function(functions):
    """Parameters: library, function. An expensive library gets one gather and one scatter; the others are slow."""
    for library in LIBRARIES:
        for i, function in enumerate(functions):
            is_slow = library.name in EXPENSIVE and i % 3 != 1
            marks = [*on(library), *([pytest.mark.slow] if is_slow else [])]
            yield pytest.param(library, function, marks=marks, id=f"{library}-{function}")


@pytest.mark.parametrize(("library", "function"), list(each_function([*GATHERS, *SCATTERS])))
def test_negative_indices_may_be_out_of_bounds(library, function):
    data, indices, updates, options = case(function)
    scatters = function.startswith("scatter")
    arrays = (data, indices, updates) if scatters else (data, indices)
    options = {**options, "wrap_negative_indices": False, **({"reduction": "add"} if scatters else {"fill_value": 7})}
    for mode in SCATTER_MODES if scatters else GATHER_MODES:
        if mode in ("raise", "promise_in_bounds"):
            continue
        expected = getattr(reference, function)(*arrays, mode=mode, **options)
        assert_same_numbers(call(library, function, arrays, mode=mode, **options), expected)
        if scatters:
            options["reduction"] = "max"
    options.pop("fill_value", None)  # the error would mention that mode="raise" ignores it
    with pytest.raises(IndexError, match=r"and with wrap_negative_indices=False a negative index is out of bounds$"):
        call(library, function, arrays, **options)
    inside = np.abs(indices) % 3
    arrays = (data, inside, updates) if scatters else (data, inside)
    assert_same_numbers(call(library, function, arrays, **options), getattr(reference, function)(*arrays, **options))


@pytest.mark.parametrize("value", [1, 0, None, "no"])
def test_the_option_is_a_bool(value):
    for arrays, function in (((np.arange(3), [0]), gs.gather), ((np.arange(3), [0], 1), gs.scatter)):
        name = function.__name__
        message = f"{name}: wrap_negative_indices={value!r} is not a bool; pass True or False"
        assert_refused(lambda: function(*arrays, wrap_negative_indices=value), TypeError, message)  # noqa: B023
    assert gs.gather(np.arange(3), [-1], wrap_negative_indices=np.True_).tolist() == [2]


@pytest.mark.parametrize(("library", "function"), list(each_function(SCATTERS)))
def test_updates_broadcast(library, function):
    data, indices, updates, options = case(function)
    for reduction, some in (
        ("add", updates[:1]),
        ("none", updates[..., :1]),
        ("mean", updates[0]),
        ("max", updates[(0,) * updates.ndim]),
    ):
        every = np.broadcast_to(some, updates.shape)
        expected = getattr(reference, function)(data, indices, every, reduction=reduction, **options)
        result = call(library, function, (data, indices, np.array(some)), reduction=reduction, **options)
        assert_same_numbers(result, expected)
    with pytest.raises(ValueError, match=r"updates has shape .*; pass shape .*, or one that broadcasts to it$"):
        call(library, function, (data, indices, np.zeros((*updates.shape[:-1], 7), data.dtype)), **options)


CASTS = ("bool", "int8", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_casts_that_lose_nothing(library, rank):
    """By NumPy's rule "safe"; `at` casts by "same_kind". An array of rank 0 is cast as one of rank 1."""
    indices, ones = np.array([0, 2, 0]), np.ones((3,) * rank)
    for to in ("uint8", "float32", "float64", "complex64"):
        data, expected = np.zeros(3, to), np.array([2, 0, 1], to)
        for given in CASTS:
            updates = ones.astype(given)
            if np.can_cast(given, to):
                assert_same_numbers(call(library, "scatter", (data, indices, updates), reduction="add"), expected)
            else:
                with pytest.raises(TypeError, match=r"^scatter: updates has dtype .*; pass (updates|data|astype)"):
                    call(library, "scatter", (data, indices, updates))

            def add():
                x, index, by = (library.asarray(one) for one in (data, indices, updates))  # noqa: B023
                with library.way():
                    return library.asnumpy(gs.at(x)[index].add(by))

            if np.can_cast(given, to, "same_kind"):
                assert_same_numbers(add(), expected)
            else:
                with pytest.raises(TypeError, match=r"^at: updates of dtype .* by the rule same_kind"):
                    add()


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_scalars_count_by_their_value(library):
    data, indices = np.zeros(3, np.float32), np.array([0, 2, 0])
    for one in (1.5, np.float64(1.5)):
        assert call(library, "scatter", (data, indices, one), reduction="add").tolist() == [3, 0, 1.5]
    small = np.zeros(3, np.int8)
    for one in (127, np.int64(127)):
        assert call(library, "scatter", (small, indices, one)).tolist() == [127, 0, 127]
    for one in (128, np.int64(128), 1.5):
        with pytest.raises(TypeError, match=r"^scatter: updates"):
            call(library, "scatter", (small, indices, one))


def test_bfloat16_is_cast_without_ml_dtypes():
    torch = pytest.importorskip("torch")
    index, wide = torch.tensor([1]), torch.zeros(2)
    assert gs.scatter(wide, index, torch.tensor([1.5], dtype=torch.bfloat16)).tolist() == [0, 1.5]
    assert gs.scatter(wide.bfloat16(), index, torch.tensor([200], dtype=torch.uint8)).tolist() == [0, 200]
    for dtype, to in ((torch.int16, torch.bfloat16), (torch.half, torch.bfloat16), (torch.bfloat16, torch.half)):
        with pytest.raises(TypeError, match=r"^scatter: updates has dtype"):
            gs.scatter(wide.to(to), index, torch.ones(1, dtype=dtype))


def test_numpy_scalars_go_with_other_libraries():
    torch = pytest.importorskip("torch")
    data, index = torch.zeros(3), torch.tensor([1])
    assert gs.scatter(data, index, np.array(2.5, "f4")).tolist() == [0, 2.5, 0]
    with pytest.raises(TypeError, match=r"^scatter: updates has dtype float64, .*; pass updates.item\(\)$"):
        gs.scatter(data, index, np.array(2.5))
    with pytest.raises(TypeError, match=r"updates is a numpy.ndarray"):
        gs.scatter(data, index, np.array([2.5]))


def test_a_scalar_keeps_its_gradient():
    torch = pytest.importorskip("torch")
    one = torch.tensor(2.0, requires_grad=True)
    gs.scatter(torch.zeros(3, dtype=torch.float64), torch.tensor([0, 2, 0]), one, reduction="add").sum().backward()
    assert one.grad.tolist() == 3
    row = torch.ones(1, 2, requires_grad=True)
    gs.scatter(torch.zeros(3, 2, dtype=torch.float64), torch.tensor([0, 2, 0]), row, reduction="add").sum().backward()
    assert row.grad.dtype is torch.float32
    assert row.grad.tolist() == [[3, 3]]


def test_a_traced_scalar():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def add(one, dtype="float32"):
        indices = jnp.array([0, 2, 0])
        return gs.scatter(jnp.zeros(3, dtype), indices, one, reduction="add", mode="drop").sum()

    assert jax.jit(add)(jnp.float32(1.5)) == 4.5
    assert jax.jit(add)(1.5) == 4.5
    assert jax.jit(add)(2) == 6
    assert jax.jit(add)(jnp.float16(1.5)) == 4.5
    assert jax.grad(add)(1.5) == 3
    grad = jax.grad(partial(add, dtype="float64"))
    assert grad(jnp.float32(1.5)).dtype == jax.jit(grad)(jnp.ones(3, jnp.float32)).dtype == jnp.float32
    with pytest.raises(TypeError, match=r"updates has dtype float\d\d, but data has int8"):
        jax.jit(partial(add, dtype="int8"))(1.5)
    with pytest.raises(TypeError, match="updates has dtype float32, but data has float16"):
        jax.jit(partial(add, dtype="float16"))(jnp.float32(1.5))


WIDE = [(dtype, wide) for dtype in DTYPES for wide in wider_dtypes(dtype)]


@pytest.mark.parametrize("library", on_each(LIBRARIES))
@pytest.mark.parametrize("reduction", [name for name, record in REDUCTIONS.items() if record.rounds])
def test_wide_sums(library, reduction):
    some = WIDE if library.name == "NumPy" else WIDE[:: 5 if library.name in ("JAX, XLA", "Dask") else 2]
    for i, (dtype, wide) in enumerate(some):
        if not (libraries.has_dtype(library, dtype) and libraries.has_dtype(library, wide)):
            continue
        if libraries.cannot(library, "scatter", reduction, dtype):
            continue
        function = SCATTERS[i % 3]
        data, indices, updates, options = case(function, dtype, i)
        options = {**options, "reduction": reduction, "include_self": i % 2 == 0, "accumulate_dtype": wide}
        with np.errstate(all="ignore"):
            expected = getattr(reference, function)(data, indices, updates, **options)
        result = call(library, function, (data, indices, updates), **options)
        if libraries.rounds_otherwise(library, reduction, dtype):
            continue  # too few updates to tell the roundings apart
        assert_same_numbers(result, expected)


@pytest.mark.parametrize("library", on_each(LIBRARIES))
def test_ones_added_up(library):
    """The sum of 300 ones is 256 in bfloat16, whose next number after it is 258."""
    dtype = "float32" if library.package == "array_api_strict" else "bfloat16"
    data, indices = np.zeros(2, numpy_dtype(dtype)), np.zeros(300, int)
    ones = np.full(300, 1 if dtype == "bfloat16" else 2**-24, data.dtype)
    data[0] = 0 if dtype == "bfloat16" else 1
    plain = call(library, "scatter", (data, indices, ones), reduction="add")
    wide = call(library, "scatter", (data, indices, ones), reduction="add", accumulate_dtype=wider_dtypes(dtype)[-1])
    if library.in_order:
        assert plain[0] == (256 if dtype == "bfloat16" else 1)
    assert wide[0] == (300 if dtype == "bfloat16" else np.float32(1 + 300 * 2**-24))


@pytest.mark.parametrize(
    ("dtype", "given", "options", "kind", "message"),
    [
        ("float32", "float16", {}, TypeError, "'float16' is not a wider dtype of the same kind as data's"),
        ("float32", "int64", {}, TypeError, "accumulate_dtype='int64' is not a wider dtype of the same kind as data's"),
        ("float64", "longdouble", {}, TypeError, "no dtype is wider than float64; omit it"),
        ("int8", "uint16", {}, TypeError, "data's int8; pass one of 'int16', 'int32', 'int64'"),
        ("float16", "wide", {}, TypeError, "accumulate_dtype='wide' is not a dtype of reductions; pass one"),
        ("float16", 3, {}, TypeError, "accumulate_dtype=3 is not a dtype of reductions; pass one of"),
        ("bool", "int8", {}, TypeError, "no dtype is wider than bool; omit it"),
        ("float16", "float32", {"reduction": "max"}, ValueError, "'max' never rounds; omit it"),
        ("float16", "float32", {"reduction": "none"}, ValueError, "is for reduction= one of 'add', 'mul', 'mean', and"),
    ],
)
def test_refused_accumulators(dtype, given, options, kind, message):
    with pytest.raises(kind, match=message):
        gs.scatter(np.zeros(3, dtype), [0], 1, accumulate_dtype=given, **{"reduction": "add", **options})


def test_names_of_accumulators():
    data = np.zeros(1, np.float16)
    for dtype in ("float32", np.float32, np.dtype("f4"), "f4", "single"):
        assert gs.scatter(data, [0], 1, reduction="add", accumulate_dtype=dtype).tolist() == [1]
    assert gs.scatter(data, [0], 1, reduction="max", accumulate_dtype="float16").tolist() == [1]  # data's own
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(1, dtype=torch.bfloat16)
    for dtype in (torch.float32, "float32"):
        assert gs.scatter(tensor, [0], 1, reduction="add", accumulate_dtype=dtype).tolist() == [1]


def test_gradients_of_wide_sums():
    torch = pytest.importorskip("torch")
    index = torch.tensor([0, 2, 0])
    for reduction in ("add", "mul", "mean"):
        data, updates = (torch.rand(n, requires_grad=True) for n in (3, 3))

        def sums(data, updates, reduction=reduction):
            return gs.scatter(data, index, updates, reduction=reduction, accumulate_dtype="float64")

        sums(data, updates).sum().backward()
        twice = [one.detach().double().requires_grad_() for one in (data, updates)]
        gs.scatter(twice[0], index, twice[1], reduction=reduction).sum().backward()
        for one, other in zip((data, updates), twice, strict=True):
            torch.testing.assert_close(one.grad, other.grad.float())
