"""The calls of `at`: a gather or a scatter of the core on a view of x.

A scatter goes into a view of a copy of x, in place. In libraries where that is impossible or would lose a gradient, the
view is scattered into a new array, which then takes its place in a copy of x.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gatherscatter import core, dispatch, errors, indexing, memory, operators, values, views
from gatherscatter import plan as plans
from gatherscatter.backends.base import Backend
from gatherscatter.errors import indexing as messages
from gatherscatter.indexing import Parsed
from gatherscatter.operators import AXIS, ND, Operator
from gatherscatter.plan import Plan, Shape
from gatherscatter.views import Call, View

GET = Operator("at", AXIS, scatters=False, data="x", indices="index")
SCATTER = Operator("at", AXIS, scatters=True, data="x", indices="index")

_NO_NEGATIVES = "wrap_negative_indices=False takes no negative index"
_AS_GIVEN = {op: op.replace(wrap_negative_indices=False, negatives=_NO_NEGATIVES) for op in (GET, SCATTER)}
# The same for other kinds of indices.
_ARRAYS: int = getattr(operators, "ARRAYS", -1)
_OF_KIND = {
    (op, kind): op.replace(kind=kind) for op in (*_AS_GIVEN, *_AS_GIVEN.values()) for kind in (ND, _ARRAYS)
}  # fmt: skip

# Options of a scatter: (reduction, include_self, mode, accumulate_dtype).
Options = tuple[Any, Any, Any, Any]

_WHERE = {"JAX": "jax.numpy.where", "Dask": "dask.array.where", "PyTorch": "torch.where"}

# The two calls


def get(op: Operator, x: Any, index: Any, mode: Any, fill_value: Any, wrap: Any, out: Any) -> Any:
    """``x[index]`` by a gather."""
    op, mode = _checked(op, mode, wrap)
    backend, x, given = _route(op, x, index)
    _refuse_unknown(backend, op, given)
    parsed = _parse(backend, op, x, given, mode)
    if parsed.is_basic and backend.name == "NumPy" and out is None and mode != "fill":  # NumPy copies views faster
        part = x[(*parsed.view[1:], ...)]
        result = memory.empty(part.shape, x.dtype)
        result[...] = part
        return result
    call = views.call(backend, op, x, parsed, out)
    if out is None or _refuses_out(backend):
        return call.from_core(_gather(call, mode, fill_value, out))
    if not (call.is_moved or call.flips):
        return _gather(call, mode, fill_value, out)
    _check_out(backend, op, x, out, call.shape)
    if call.flips or not _writes_views(backend):
        return _deliver(call, call.from_core(_gather(call, mode, fill_value, None)), out)
    _gather(call, mode, fill_value, call.to_core(backend.plain(out)))
    return out


def update(
    op: Operator, x: Any, index: Any, updates: Any, options: Options, wrap: Any, out: Any, negate: bool = False
) -> Any:
    """X with updates combined into ``x[index]``, by a scatter. negate: subtract them."""
    op, mode = _checked(op, options[2], wrap)
    options = (*options[:2], mode, options[3])
    backend, x, given = _route(op, x, index, updates)
    masked = _unknown_mask(backend, given)
    if masked is not None:
        return _update_where(backend, op, x, given, masked, updates, options, out, negate)
    parsed = _parse(backend, op, x, given, mode)
    if backend.name == "NumPy":
        return _update_numpy(backend, op, x, parsed, updates, options, out, negate)
    call = views.call(backend, op, x, parsed, updates, out)
    updates = _updates(call, updates, options[0], negate)
    if out is not None and (_refuses_out(backend) or (out is x and _writes_views(backend))):
        _scatter(call, updates, options, call.data)
        return out
    if out is not None:
        _check_out(backend, op, x, out, tuple(x.shape))
    result = call.view.undone(call.xp, _scatter(call, updates, options, None))
    if not parsed.is_whole:
        result = _put_back(call, result)
    return result if out is None else _deliver(call, result, out)


def _update_numpy(
    backend: Backend, op: Operator, x: Any, parsed: Parsed, updates: Any, options: Options, out: Any, negate: bool
) -> Any:
    """A scatter in place, into a view of `out` or of a copy of x."""
    if parsed.is_whole and not any(selector.is_mask for selector in parsed.selectors):
        call = views.call(backend, op, x, parsed)
        if call.view == View():  # x itself
            return _scatter(call, _updates(call, updates, options[0], negate), options, out)
    in_place = out is not None and _is_same(out, x)
    if out is not None:
        _check_out(backend, op, x, out, x.shape)
    if in_place:
        target = backend.plain(out)
    else:
        target = memory.empty(x.shape, x.dtype)
        target[...] = x
    call = views.call(backend, op, target, parsed)
    _scatter(call, _updates(call, updates, options[0], negate), options, call.data)
    if out is None:
        return target
    if not in_place:
        backend.plain(out)[...] = target
    return out


def _update_where(
    backend: Backend,
    op: Operator,
    x: Any,
    given: tuple[Any, ...],
    mask: Any,
    updates: Any,
    options: Options,
    out: Any,
    negate: bool,
) -> Any:
    """A scatter of one value to where a mask is true: how many elements that are, is not known."""
    is_scalar = isinstance(updates, values.TYPES) and not isinstance(updates, (list, tuple))
    others = [item for item in given if item is not mask and item is not Ellipsis and item != indexing.FULL]
    if others or out is not None or not (is_scalar or getattr(updates, "shape", None) == ()):
        raise messages.unknown_mask(op, backend.name, _WHERE.get(backend.name, "where"))
    parsed = indexing.parse(op, given, tuple(x.shape))
    every = update(op, x, (), updates, options, op.wrap_negative_indices, None, negate)
    n_after = len(x.shape) - parsed.selectors[0].axis_of_x - len(mask.shape)
    xp = backend.namespace(x)
    return xp.where(xp.reshape(mask, (*mask.shape, *(1,) * n_after)), every, x)


# Arguments


def _checked(op: Operator, mode: Any, wrap: Any) -> tuple[Operator, str]:
    """The operator and the mode, once the options are found to be right."""
    if type(wrap) is not bool:
        wrap = plans.boolean(op, "wrap_negative_indices", wrap)
    if type(mode) is not str:
        mode = plans.string(op, "mode", mode)
    plans.gather(op, (1,), (), 0, 0, mode)  # checks the mode
    return op if wrap else _AS_GIVEN.get(op, op), mode


def _route(op: Operator, x: Any, index: Any, updates: Any = 0) -> tuple[Backend, Any, tuple[Any, ...]]:
    """The backend, x as an array of its library, and the items of the index, arrays in that library."""
    arguments = {"data": x}
    if not isinstance(updates, values.TYPES):
        arguments["updates"] = updates
    if isinstance(x, values.TYPES):  # becomes an array of the index's library
        for item in index if isinstance(index, tuple) else (index,):
            if hasattr(item, "shape") and not isinstance(item, (np.ndarray, np.generic)):
                arguments["indices"] = item
                break
    backend, (x, *_) = dispatch.route(op, arguments)

    def as_array(value: Any) -> Any:
        if backend.name == "JAX":
            with sys.modules["jax"].ensure_compile_time_eval():
                return backend.as_argument(op, "indices", value, x)
        return backend.as_argument(op, "indices", value, x)

    given = list(indexing.items(op, index, as_array))
    for number, item in enumerate(given):
        if not indexing.is_array(item):
            continue
        if type(item) is np.ndarray:  # goes with arrays of any library, as a list does
            if backend.name not in ("NumPy", "Dask"):
                given[number] = views.constant(backend, item if item.flags.writeable else item.copy(), x)
        elif type(item) is not type(x):
            backend, (x, given[number]) = dispatch.route(op, {"data": x, "indices": item})
    return backend, x, tuple(given)


def _parse(backend: Backend, op: Operator, x: Any, given: tuple[Any, ...], mode: str) -> Parsed:
    return indexing.parse(op, given, tuple(x.shape), mode, negative_steps=backend.name not in ("PyTorch", "Dask"))


def _unknown_mask(backend: Backend, given: Sequence[Any]) -> Any | None:
    """The first mask whose elements are not known at the call: traced, or of Dask."""
    for item in given:
        if indexing.is_array(item) and indexing.kind_of(item.dtype) == "bool" and _is_unknown(backend, item):
            return item
    return None


def _refuse_unknown(backend: Backend, op: Operator, given: Sequence[Any]) -> None:
    if _unknown_mask(backend, given) is not None:
        raise messages.unknown_mask(op, backend.name, _WHERE.get(backend.name, "where"))


def _is_unknown(backend: Backend, array: Any) -> bool:
    if backend.name == "JAX":
        return isinstance(array, sys.modules["jax"].core.Tracer)
    if backend.name == "PyTorch":
        return bool(sys.modules["torch"].compiler.is_compiling())
    return backend.name == "Dask" and type(array) is not np.ndarray


def _updates(call: Call, updates: Any, reduction: Any, negate: bool) -> Any:
    """Updates for the core: a scalar as it is, an array in x's dtype and broadcast to the shape of x[index]."""
    backend, op, x, shape = call.backend, call.op, call.x, call.shape
    if negate:
        backend.check_reduction(_plan(op, "add"), x)
        if backend.dtype_name(x) == "bool":
            raise messages.no_subtract(op, x.dtype)
    if isinstance(updates, np.generic) and backend.name in ("NumPy", "Dask"):
        updates = np.asarray(updates)
    if isinstance(updates, (list, tuple)):
        array = values.as_array(op, "updates", updates)
        cast = values.cast(array, backend.numpy_dtype(x))
        if cast.dtype != backend.numpy_dtype(x):
            raise errors.updates_values(op, array.dtype, x.dtype)
        updates = backend.from_numpy(cast, x)
    elif isinstance(updates, values.TYPES):
        if not negate:
            return updates
        updates = backend.element(_plan(op, "add"), "updates", updates, x)
    else:
        updates = backend.plain(updates)
        if updates.dtype != x.dtype:
            if not _is_same_kind(backend, updates, x):
                raise messages.updates_kind(op, updates.dtype, x.dtype)
            updates = _cast(backend, updates, x.dtype)
    if negate:
        updates = backend.negative(updates)
    while len(updates.shape) > len(shape) and updates.shape[0] == 1:  # as in NumPy's assignment
        updates = updates[0, ...]
    if not indexing.fits(tuple(updates.shape), shape):
        raise messages.updates_broadcast(op, updates.shape, shape)
    return call.to_core(backend.namespace(updates).broadcast_to(updates, shape))


def _cast(backend: Backend, array: Any, dtype: Any) -> Any:
    if isinstance(array, np.ndarray):
        return array.astype(dtype, copy=False)  # NumPy 2.0 has no astype function
    return backend.namespace(array).astype(array, dtype, copy=False)


_KINDS = ("bool", "uint", "int", "float", "complex")


def _is_same_kind(backend: Backend, updates: Any, x: Any) -> bool:
    """Whether ``numpy.can_cast`` says so by the rule same_kind, which is for every library."""
    ranks = []
    for array in (updates, x):
        name = backend.dtype_name(array).removeprefix("b") if array is not None else ""
        name = "bool" if name.startswith("ool") else name
        ranks.append(next((n for n, kind in enumerate(_KINDS) if name.startswith(kind)), -1))
    if min(ranks) >= 0:
        return ranks[0] <= ranks[1]
    if isinstance(x, np.ndarray) and isinstance(updates, np.ndarray):
        return np.can_cast(updates.dtype, x.dtype, "same_kind")
    return False


# The call of the core


def _gather(call: Call, mode: str, fill_value: Any, out: Any) -> Any:
    data, arrays, axis = call.data, call.arrays, call.axis
    try:
        if len(arrays) == 1:
            return core.gather(call.op, data, arrays[0], axis, 0, mode, fill_value, out=out)
        op, indices, shape = _several(call)
        if isinstance(indices, tuple):
            if type(data) is np.ndarray:
                result = call.backend.try_gather(op, data, indices, (axis, 0, mode, fill_value), out)
                if result is not None:
                    return result
            plan = plans.gather(op, tuple(data.shape), shape, axis, 0, mode)
            return call.backend.gather(data, indices, plan, fill_value, out)
        return core.gather(op, data, indices, 0, 0, mode, fill_value, out=out)
    except IndexError as error:
        raise _explained(call, mode, error) from None


def _scatter(call: Call, updates: Any, options: Options, out: Any) -> Any:
    """The scatter into data, or in place of it if `out` is data."""
    data, arrays, axis = call.data, call.arrays, call.axis
    reduction, include_self, mode, accumulate_dtype = options
    wide = {} if accumulate_dtype is None else {"accumulate_dtype": accumulate_dtype}
    try:
        if len(arrays) == 1:
            given = axis, 0, reduction, include_self, mode
            return core.scatter(call.op, data, arrays[0], updates, *given, out=out, **wide)
        op, indices, shape = _several(call)
        if isinstance(indices, tuple):
            if not wide and type(data) is np.ndarray:
                simple = axis, 0, reduction, mode, include_self
                result = call.backend.try_scatter(op, data, indices, updates, simple, out)
                if result is not None:
                    return result
            checked = plans.boolean(op, "include_self", include_self)
            plan = plans.scatter(op, tuple(data.shape), shape, axis, 0, mode, reduction, checked, *wide.values())
            run = call.backend.scatter_wide if plan.accumulate_dtype else call.backend.scatter
            return run(data, indices, updates, plan, out)
        return core.scatter(op, data, indices, updates, 0, 0, reduction, include_self, mode, out=out, **wide)
    except IndexError as error:
        raise _explained(call, mode, error) from None


def _several(call: Call) -> tuple[Operator, Any, Shape]:
    """Several index arrays, broadcast: a tuple of them if the backend takes that, else stacked; and their shape."""
    common = call.common
    shape = (*common, len(call.arrays))
    if call.takes_arrays:
        arrays = tuple(_broadcast(call.backend, array, common) for array in call.arrays)
        return _OF_KIND[call.op, _ARRAYS], arrays, shape
    if call.backend.name == "JAX" and not any(_is_unknown(call.backend, array) for array in call.arrays):
        with sys.modules["jax"].ensure_compile_time_eval():
            stacked = _stacked(call)
    else:
        stacked = _stacked(call)
    return _OF_KIND[call.op, ND], stacked, shape


def _stacked(call: Call) -> Any:
    """The index arrays along a last axis. Where their dtypes differ, it has the library's own."""
    arrays = call.arrays
    if any(array.dtype != arrays[0].dtype for array in arrays):
        arrays = tuple(_as_signed(call.backend, array) for array in arrays)
    xp = np if all(isinstance(array, np.ndarray) for array in arrays) else call.xp
    return xp.stack([xp.broadcast_to(array, call.common) for array in arrays], axis=-1)


def _as_signed(backend: Backend, array: Any) -> Any:
    """An index array in the library's default dtype. What that cannot hold is out of bounds, and stays so."""
    xp = np if isinstance(array, np.ndarray) else backend.namespace(array)
    dtype = xp.asarray(0).dtype
    name, bits = backend.dtype_name(array), xp.iinfo(dtype).bits
    if not name.startswith("uint") or int(name.removeprefix("uint")) < bits:
        return _cast(backend, array, dtype)
    signed = _cast(backend, array, dtype)
    return xp.where(signed < 0, xp.iinfo(dtype).max, signed)


def _explained(call: Call, mode: str, error: IndexError) -> IndexError:
    """The error in terms of x and the whole index, if the index arrays can be read."""
    arrays: list[Any] = []
    number = 0
    try:
        for selector in call.parsed.selectors:
            n = 1 if call.view.shape or not selector.is_mask else selector.depth
            array = call.arrays[number]
            arrays.append(None if selector.is_mask else np.asarray(getattr(array, "cpu", lambda a=array: a)()))
            number += n
        return indexing.explain(call.op, call.parsed, tuple(call.x.shape), mode, arrays) or error
    except (TypeError, RuntimeError, ValueError, AttributeError):  # traced, or on a device
        return error


def _broadcast(backend: Backend, array: Any, shape: Shape) -> Any:
    return array if tuple(array.shape) == shape else backend.broadcast(array, shape)


# Results


def _plan(op: Operator, reduction: str = "none") -> Plan:
    """A plan for the checks of a backend, which read its operator and reduction."""
    return Plan(op, AXIS, "raise", True, 0, 1, 0, (), (), (), reduction)


def _refuses_out(backend: Backend) -> bool:
    """Whether the backend has an error for every `out`."""
    return backend.name in ("JAX", "Dask")


def _writes_views(backend: Backend) -> bool:
    """Whether basic indexing gives views, so that a scatter into one changes its array."""
    return backend.name in ("NumPy", "PyTorch")


def _is_same(out: Any, x: Any) -> bool:
    """Whether two NumPy arrays have the same elements."""
    if not isinstance(out, np.ndarray) or out.shape != x.shape or out.dtype != x.dtype or out.strides != x.strides:
        return False
    return bool(out.ctypes.data == x.ctypes.data)


def _check_out(backend: Backend, op: Operator, x: Any, out: Any, shape: Shape) -> None:
    """Check `out` for a result of that shape, before anything is written."""
    if backend.owns(out) and dispatch.backend_of(op, "out", out) is backend:
        out = backend.plain(out)
    backend.check_out(_plan(op), out, x, shape)
    if backend.name == "NumPy" and not out.flags.writeable:
        raise errors.out_read_only(op)
    if backend.name == "PyTorch":
        torch = sys.modules["torch"]
        if torch.is_grad_enabled():
            for argument, tensor in (("data", x), ("out", out)):
                if tensor.requires_grad:
                    raise errors.out_gradient(op, argument)


def _deliver(call: Call, result: Any, out: Any) -> Any:
    """Write the result to `out`, which `_check_out` has found to be right, and return that."""
    if call.backend.name == "PyTorch":
        if result.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise errors.out_gradient(call.op, "updates")
        out.copy_(result)
    else:
        call.backend.plain(out)[...] = result
    return out


def _put_back(call: Call, part: Any) -> Any:
    """A copy of x in which the part that the basic index picks is replaced."""
    x, key = call.x, call.parsed.basic
    if call.backend.name == "JAX":
        return x.at[key].set(part)
    if call.backend.name == "PyTorch":
        from gatherscatter.backends.torch import memory as tensors

        if tensors.is_transformed():  # torch.func.vmap, which cannot write a mapped part to a tensor that is not
            return _in_place_of(x.to(part.dtype), key, part, 0)
        result = x.to(part.dtype, copy=True)
    elif call.backend.name == "Dask":
        if 0 in part.shape:  # which Dask's assignment refuses
            return x
        result = x.copy()
    else:
        if not hasattr(type(x), "__setitem__"):
            raise messages.not_writable(call.op, x)
        result = call.xp.asarray(x, copy=True)
    result[key] = part
    return result


def _in_place_of(x: Any, key: tuple[Any, ...], part: Any, axis: int) -> Any:
    """A tensor like x, with the part that a basic index picks replaced, without a write. axis: to go on from."""
    torch = sys.modules["torch"]
    while axis < len(key) and key[axis] == indexing.FULL:
        axis += 1
    if axis == len(key):
        return part
    item, front = key[axis], key[:axis]
    if isinstance(item, int):
        inner = _in_place_of(x[(*front, item)], (*front, *key[axis + 1 :]), part, axis)
        return torch.select_scatter(x, inner, axis, item)
    inner = _in_place_of(x[(*front, item)], (*front, indexing.FULL, *key[axis + 1 :]), part, axis + 1)
    return torch.slice_scatter(x, inner, axis, item.start, item.stop, item.step or 1)
