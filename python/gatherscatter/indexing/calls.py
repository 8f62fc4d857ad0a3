"""The calls of `at`: a gather or a scatter of the core on a view of x.

A scatter goes into a view of `out` or of a copy of x, in place. For libraries where that is impossible or would lose a
gradient, the view is scattered into a new array, which then takes its place in a copy of x.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import core, dispatch, errors, threads, values
from gatherscatter import plan as plans
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends.base import Backend, fits
from gatherscatter.backends.overlap import may_overlap_itself
from gatherscatter.errors import ignored_fill_value
from gatherscatter.errors import indexing as messages
from gatherscatter.indexing import grammar, views
from gatherscatter.indexing.grammar import Parsed
from gatherscatter.indexing.views import Call, View
from gatherscatter.operators import ARRAYS, AXIS, ND, Operator, with_option
from gatherscatter.plan import Plan


def _operator(kind: int, *, scatters: bool, modes: tuple[str, ...] = ()) -> Operator:
    op = with_option("at", kind, scatters=scatters)
    assert op.strict is not None
    names: dict[str, Any] = {"data": "x", "indices": "index", "user_modes": modes, "casting": "same_kind"}
    return op.replace(**names, strict=op.strict.replace(**names))


GET = _operator(AXIS, scatters=False)
SCATTER = _operator(AXIS, scatters=True)
UPDATED = _operator(AXIS, scatters=False, modes=SCATTER.accepted("mode"))  # what an update reads first

# The same for other kinds of indices.
_OF_KIND: dict[tuple[Operator, int], Operator] = {
    (one, kind): one.replace(kind=kind)
    for op in (GET, SCATTER, UPDATED)
    for one in (op, op.strict)
    if one is not None
    for kind in (ND, ARRAYS)
}

_ZERO = np.zeros((), np.int64)  # the one element of the first axis that a basic index inserts
_SMALL = 1 << 20  # bytes of an array that is copied before it is known whether a fast path takes the call

# Options of a scatter: (reduction, include_self, mode, accumulate_dtype).
Options = tuple[Any, Any, Any, Any]

# The two calls


def get(op: Operator, x: Any, index: Any, mode: Any, fill_value: Any, wrap: Any, out: Any) -> Any:
    """``x[index]`` by a gather."""
    if type(x) is np.ndarray:
        simple = grammar.simplified(x, index, wrap)
        if simple is not None:
            view, kind, axis, arrays = simple
            try:
                result = try_gather(kind, wrap, view, arrays, axis, 0, mode, fill_value, out, threads.limit, op)
            except IndexError as error:
                raise index_error(op, x, index, mode, wrap, error, fill_value) from None
            if result is not None:
                return result
    op, mode = checked(op, mode, wrap)
    backend, x, given, _ = routed(op, x, index)
    parsed = _parse(backend, op, x, given, mode)
    if unknown_mask(backend, given) is not None:
        part = backend.masked(x, given) if out is None else None
        if part is None:
            raise messages.unknown_mask(op, backend.unknown_name, backend.where_name)
        return part
    if parsed.is_basic and out is None and mode != "fill":
        backend.check_layout(op, data=x)
        part = backend.selected(x, (*parsed.view[1:], ...))
        if part is not None:
            flips = tuple(axis - 1 for axis in parsed.flipped)
            return backend.namespace(x).flip(part, axis=flips) if flips else part
    call = views.call(backend, op, x, parsed, out=out)
    if out is None:
        return call.from_core(_gather(call, mode, fill_value, None))
    if not (call.is_moved or call.flips):
        return _gather(call, mode, fill_value, out)
    plan = plan_of(op)
    backend.check_out(plan, out, x, call.shape)
    if call.flips or not backend.writes_views(out):
        return backend.deliver(plan, call.from_core(_gather(call, mode, fill_value, None)), out)
    _gather(call, mode, fill_value, call.to_core(backend.plain(out)))
    return out


def update(
    op: Operator, x: Any, index: Any, updates: Any, options: Options, wrap: Any, out: Any, negate: bool = False
) -> Any:
    """Combine updates into ``x[index]`` by a scatter. negate: subtract them."""
    if type(x) is np.ndarray and (x.nbytes <= _SMALL if out is None else out is x and not may_overlap_itself(x)):
        target = x if out is x else x.copy()
        if not negate and _try_update(op, target, index, updates, options, wrap):
            return target
    op, mode = checked(op, options[2], wrap)
    options = (*options[:2], mode, options[3])
    in_place = out is x
    backend, x, given, updates = routed(op, x, index, updates)
    plan = plan_of(op)
    if out is not None:
        backend.check_out(plan, out, x, tuple(x.shape))
    masked = unknown_mask(backend, given)
    if masked is not None:
        return _update_where(backend, op, x, given, masked, updates, options, out, negate)
    parsed = _parse(backend, op, x, given, mode)
    is_whole = parsed.is_whole and not any(selector.is_mask for selector in parsed.selectors)
    call = views.call(backend, op, x, parsed, updates, out) if is_whole else None
    if call is not None and call.view == View():
        return _scatter(call, _updates(call, updates, options[0], negate), options, out)
    target: Any = x if in_place and backend.writes_views(x) else backend.copied(x)
    if target is not None:
        if call is None or target is not x:
            call = views.call(backend, op, target, parsed, updates, out)
        _scatter(call, _updates(call, updates, options[0], negate), options, call.data)
        return out if target is x else backend.deliver(plan, target, out)
    call = call or views.call(backend, op, x, parsed, updates, out)
    updates = _updates(call, updates, options[0], negate)
    result = _combined(call, updates, options)
    if result is None:
        result = _scatter(call, updates, options, None)
    result = call.view.undone(call.xp, result)
    if not parsed.is_whole:
        result = backend.replaced(plan, x, parsed.basic, result)
    return backend.deliver(plan, result, out)


def _combined(call: Call, updates: Any, options: Options) -> Any | None:
    """The view of x with one update for each element, as a basic index has it. None: a scatter has to make it."""
    backend, op, data = call.backend, call.op, call.data
    reduction, include_self, _, accumulate_dtype = options
    if backend.takes_numpy_indices or not call.parsed.is_basic or accumulate_dtype is not None:
        return None
    plan = plan_of(op, reduction)._replace(include_self=plans.boolean(op, "include_self", include_self))
    if plan.include_self and reduction != "none" and not backend.combines:
        return None
    backend.check_layout(op, data=data, updates=updates)
    backend.check_reduction(plan, data)
    updates = as_array(backend, op, data, updates, call.shape)
    backend.check_devices(plan, data, updates=updates)
    return backend.combined(plan, data, backend.namespace(data).broadcast_to(updates, tuple(data.shape)))


def _try_update(op: Operator, x: NDArray[Any], index: Any, updates: Any, options: Options, wrap: Any) -> bool:
    """Fast path: whether x was updated in place. If not, nothing was run."""
    simple = grammar.simplified(x, index, wrap)
    reduction, include_self, mode, accumulate_dtype = options
    if simple is None or accumulate_dtype is not None:
        return False
    view, kind, axis, arrays = simple
    try:
        result = try_scatter(
            kind, wrap, view, arrays, updates, axis, 0, reduction, mode, include_self, view, threads.limit, op
        )
    except IndexError as error:
        raise index_error(op, x, index, mode, wrap, error) from None
    return result is not None


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
    """Scatter one value to the elements where a mask is true. Their number is unknown at the call."""
    check_where(backend, op, given, mask, updates)
    every = update(op, x, (), updates, options, op.wrap_negative_indices, None, negate)
    return where(backend, op, x, given, mask, every, out)


def check_where(backend: Backend, op: Operator, given: tuple[Any, ...], mask: Any, updates: Any) -> None:
    """Check that the mask is the whole index, and updates are one value."""
    is_scalar = isinstance(updates, values.TYPES) and not isinstance(updates, (list, tuple))
    others = [item for item in given if item is not mask and item is not Ellipsis and not grammar.is_full(item)]
    if others or not (is_scalar or getattr(updates, "shape", None) == ()):
        raise messages.unknown_mask(op, backend.unknown_name, backend.where_name)


def where(backend: Backend, op: Operator, x: Any, given: tuple[Any, ...], mask: Any, every: Any, out: Any) -> Any:
    """The elements of `every` where a mask is true, and of x elsewhere."""
    parsed = grammar.parse(op, given, tuple(x.shape))
    n_after = len(x.shape) - parsed.selectors[0].axis_of_x - len(mask.shape)
    xp = backend.namespace(x)
    result = xp.where(xp.reshape(mask, (*mask.shape, *(1,) * n_after)), every, x)
    return backend.deliver(plan_of(op), result, out)


# Arguments


def checked(op: Operator, mode: Any, wrap: Any) -> tuple[Operator, str]:
    """Check the options. Return the operator and the mode."""
    op = op if wrap is True else plans.without_negatives(op, wrap)
    if type(mode) is not str:
        mode = plans.string(op, "mode", mode)
    plans.gather(op, (1,), (), 0, 0, mode)  # checks the mode
    return op, mode


def _as_indices(op: Operator, backend: Backend, x: Any, value: Any) -> Any:
    """A list or a NumPy array as an index array of x's library."""
    with backend.constants():
        return backend.as_argument(op, "indices", value, x)


def routed(op: Operator, x: Any, index: Any, updates: Any = 0) -> tuple[Backend, Any, tuple[Any, ...], Any]:
    """The backend, x as an array of its library, the items of the index, arrays in that library, and updates."""
    arguments = {"data": x}
    is_number = type(updates) is np.ndarray and updates.ndim == 0 and updates.dtype.kind in "biufc"
    if not (is_number or isinstance(updates, values.TYPES)):
        arguments["updates"] = updates
    if isinstance(x, values.TYPES):  # becomes an array of the index's library
        for item in index if isinstance(index, tuple) else (index,):
            if hasattr(item, "shape") and not isinstance(item, (np.ndarray, np.generic)):
                arguments["indices"] = item
                break
    backend, arrays = dispatch.route(op, arguments)
    x = arrays[0]
    if "updates" in arguments:
        updates = arrays[1]
    elif is_number and dispatch.backend_of(op, "updates", updates) is not backend:
        updates = dispatch.as_number(op, backend, updates, x)

    as_array = partial(_as_indices, op, backend, x)
    given = list(grammar.items(op, index, as_array))
    for number, item in enumerate(given):
        if not grammar.is_array(item):
            continue
        if type(item) is np.ndarray:  # goes with arrays of any library, as a list does
            given[number] = item if backend.takes_numpy_indices else as_array(item)
        elif type(item) is not type(x):
            backend, (x, given[number]) = dispatch.route(op, {"data": x, "indices": item})
        if _is_mask(item) and not tuple(item.shape) and not backend.is_unknown(item):
            given[number] = bool(item)
    return backend, x, tuple(given), updates


def _parse(backend: Backend, op: Operator, x: Any, given: tuple[Any, ...], mode: str) -> Parsed:
    return grammar.parse(op, given, tuple(x.shape), mode, negative_steps=backend.has_negative_steps)


def _is_mask(item: Any) -> bool:
    return grammar.is_array(item) and grammar.kind_of(item.dtype) == "bool"


def unknown_mask(backend: Backend, given: Sequence[Any]) -> Any | None:
    """The first mask of which it is unknown at the call how many elements it selects."""
    return next((item for item in given if _is_mask(item) and not backend.counts_mask(item)), None)


def _updates(call: Call, updates: Any, reduction: Any, negate: bool) -> Any:
    """Updates for the core: scalars unchanged, arrays with x's dtype and the core's order of axes."""
    backend, op, x, shape = call.backend, call.op, call.x, call.shape
    plan = plan_of(op, "add" if negate else reduction)
    if negate:
        backend.check_reduction(plan, x)
        if backend.dtype_name(x) == "bool":
            raise messages.no_subtract(op, x.dtype)
    is_one = not isinstance(updates, (list, tuple)) and (isinstance(updates, values.TYPES) or not tuple(updates.shape))
    if is_one and not negate:
        return updates
    updates = as_array(backend, op, x, updates, shape)
    if not is_one and any(n != n for n in shape) and _broadcasts(updates, shape):  # NaN: unknown to Dask
        raise errors.unknown_size(op, "data", [n != n for n in x.shape].index(True))
    if negate:
        updates = backend.negative(updates)
    return updates if is_one else call.to_core(fitting(op, updates, shape))


def _broadcasts(updates: Any, shape: tuple[int, ...]) -> bool:
    """Whether updates must be broadcast to a shape or, as arrays of NumPy, be cut into its chunks."""
    ones = any(n == 1 != m for n, m in zip(updates.shape, shape, strict=False))
    return ones or len(updates.shape) < len(shape) or isinstance(updates, np.ndarray)


def as_array(backend: Backend, op: Operator, x: Any, updates: Any, shape: tuple[int, ...]) -> Any:
    """Updates as an array of x's library and dtype, of their own shape. shape: of x[index], for a list of objects."""
    if isinstance(updates, (list, tuple)):
        own = shape if getattr(x.dtype, "kind", "") == "O" else values.shape_of(op, "updates", updates)
        return backend.from_numpy(values.updates(op, updates, own, backend.numpy_dtype(x)), x)
    if isinstance(updates, values.TYPES):
        return backend.element(plan_of(op), "updates", updates, x)
    return backend.cast_updates(op, updates, x)


def fitting(op: Operator, updates: Any, shape: tuple[int, ...]) -> Any:
    """Updates without leading axes beyond those of x[index], to whose shape they must broadcast."""
    while len(updates.shape) > len(shape) and updates.shape[0] == 1:  # as in NumPy's assignment
        updates = updates[0, ...]
    if not fits(tuple(updates.shape), shape):
        raise messages.updates_broadcast(op, updates.shape, shape)
    return updates


# The call of the core


def _gather(call: Call, mode: str, fill_value: Any, out: Any) -> Any:
    op, indices, axis = _indices(call, mode)
    try:
        return core.gather_on(call.backend, op, call.data, indices, axis, 0, mode, fill_value, out)
    except IndexError as error:
        raise ignored_fill_value(_index_error(call, mode, error), mode, fill_value) from None


def _scatter(call: Call, updates: Any, options: Options, out: Any) -> Any:
    """The scatter into data, or in place of it if `out` is data."""
    reduction, include_self, mode, accumulate_dtype = options
    op, indices, axis = _indices(call, mode)
    try:
        return core.scatter_on(
            call.backend, op, call.data, indices, updates, axis, 0, reduction, include_self, mode, accumulate_dtype,
            out,
        )  # fmt: skip
    except IndexError as error:
        raise _index_error(call, mode, error) from None


def _indices(call: Call, mode: str) -> tuple[Operator, Any, int]:
    """The operator, the indices and the first axis of a call of the core.

    Several index arrays are a tuple if the backend takes that, else they are stacked.
    """
    backend, arrays, common = call.backend, call.arrays, call.common
    if call.parsed.is_basic:
        return call.op, views.constant(backend, _ZERO, call.x), call.axis
    if len(arrays) == 1:
        return call.op, arrays[0], call.axis
    if call.takes_arrays:
        every = tuple([a if tuple(a.shape) == common else backend.broadcast(a, common) for a in arrays])
        return _OF_KIND[call.op, ARRAYS], every, call.axis
    is_known = not any(backend.is_unknown(array) for array in arrays)
    with backend.constants() if is_known else nullcontext():
        return _OF_KIND[call.op, ND], _stacked(call, mode), 0


def _stacked(call: Call, mode: str) -> Any:
    """The index arrays stacked along a last axis. If their dtypes differ, in the library's default dtype."""
    arrays = call.arrays
    if any(array.dtype != arrays[0].dtype for array in arrays):
        sizes = call.data.shape[call.axis :]
        arrays = tuple([_as_signed(call.backend, a, size, mode) for a, size in zip(arrays, sizes, strict=False)])
    xp = np if all(isinstance(array, np.ndarray) for array in arrays) else call.xp
    return xp.stack([xp.broadcast_to(array, call.common) for array in arrays], axis=-1)


def _as_signed(backend: Backend, array: Any, size: Any, mode: str) -> Any:
    """An index array in the library's default dtype. A value that this cannot hold is out of bounds, and stays so.

    size: of the axis.
    """
    xp = np if isinstance(array, np.ndarray) else backend.namespace(array)
    dtype = xp.asarray(0).dtype
    name, bits = backend.dtype_name(array), xp.iinfo(dtype).bits
    signed = backend.astype(array, dtype)
    if not name.startswith("uint") or int(name.removeprefix("uint")) < bits:
        return signed
    outside = xp.iinfo(dtype).max
    if mode == "wrap" and isinstance(size, int) and size:  # those are `signed` plus 2**bits
        outside = (signed % size + 2**bits % size) % size
    return xp.where(signed < 0, outside, signed)


def index_error(
    op: Operator, x: Any, index: Any, mode: Any, wrap: Any, error: IndexError, fill_value: Any = 0
) -> IndexError:
    """The error of a fast path, which takes arrays of integers only, in terms of x and the whole index."""
    op, mode = checked(op, mode, wrap)
    backend, x, given, _ = routed(op, x, index)
    parsed = _parse(backend, op, x, given, mode)
    arrays = [backend.as_numpy(selector.array) for selector in parsed.selectors]
    found = grammar.index_error(op, parsed, tuple(x.shape), mode, arrays) or error
    return ignored_fill_value(found, mode, fill_value)


def _index_error(call: Call, mode: str, error: IndexError) -> IndexError:
    """The error in terms of x and the whole index, if the index arrays can be read."""
    arrays: list[Any] = []
    number = 0
    for selector in call.parsed.selectors:
        found = None if selector.is_mask else call.backend.as_numpy(call.arrays[number])
        if found is None and not selector.is_mask:
            return error
        arrays.append(found)
        number += 1 if call.view.shape or not selector.is_mask else selector.depth
    return grammar.index_error(call.op, call.parsed, tuple(call.x.shape), mode, arrays) or error


def plan_of(op: Operator, reduction: str = "none") -> Plan:
    """A plan for the checks of a backend, which read its operator and reduction."""
    return Plan(op, AXIS, "raise", True, 0, 1, 0, (), (), (), reduction)
