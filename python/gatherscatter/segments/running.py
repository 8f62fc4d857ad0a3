"""Scans of segments: by the kernel where it can read the arrays, else by array functions (``doubling.py``)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gatherscatter import core, memory, threads
from gatherscatter._kernels import segments as _kernel
from gatherscatter._kernels.common import TypeCode
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.errors import segments as messages
from gatherscatter.operators import SCATTER_ELEMENTS
from gatherscatter.reductions import REDUCTIONS, kind_of
from gatherscatter.segments import doubling, rules
from gatherscatter.segments.arguments import are_columns, check_status, kernel_ids
from gatherscatter.segments.doubling import Scan
from gatherscatter.segments.ids import Ids, expanded, has_segment
from gatherscatter.values import Array

# NaT is the least int64. As uint64, less by this number, it is the greatest, and the others stay in order.
_LIFT = np.uint64(2**63 + 1)


def like(data: Any, ids: Ids, dtype: str) -> Any:
    """An array of a result's dtype, which needs a gradient if the result does."""
    backend = ids.backend
    if dtype == backend.dtype_name(data):
        return data
    if kind_of(dtype) in "fc":
        return backend.astype(data[:0], backend.dtype_of(dtype, data))
    return backend.namespace(data).zeros((0,), dtype=backend.dtype_of(dtype, data), device=backend.device(data))


def scan(data: Any, ids: Ids, asked: Scan) -> Any:
    """The scan of an array, of data's shape."""
    backend, op = ids.backend, ids.layout.operator
    if kind_of(asked.dtype) == "c" != kind_of(backend.dtype_name(data)):
        data = backend.astype(data, backend.dtype_of(asked.dtype, data))
    if backend.chunked:
        of_chunk = partial(_of_chunk, layout=ids.layout, asked=asked)
        return backend.chunked.scanned(data, ids, asked.dtype, asked.reverse, of_chunk)
    constant = asked.reduction == "count" or not backend.needs_gradient(data)
    if asked.reduction == "mul":
        data = backend.without_derivative(data, messages.no_gradient(op, asked.reduction))
    found = _borrowed(data if constant else backend.without_gradient(data), ids, asked)
    if found is None:
        return doubling.scan(data, ids, asked)
    if constant:
        return found
    given = expanded(ids) if ids.pointers is None else ids.pointers
    formula = _gradient_of_sums if asked.reduction == "add" else _gradient_of_extremes
    return backend.recorded(found, data, given, partial(formula, ids, asked))


def _borrowed(data: Any, ids: Ids, asked: Scan) -> Any:
    """The scan by the kernel. None: it cannot read the arrays."""
    backend = ids.backend
    given = ids.array if ids.pointers is None else ids.pointers
    arrays = backend.readable(ids.layout.operator, data=data, indices=given)
    if arrays is None:
        return None
    if ids.pointers is None:
        of_numpy = ids._replace(backend=NUMPY, array=arrays[1])
    else:
        of_numpy = ids._replace(backend=NUMPY, pointers=arrays[1])
    result, _ = by_kernel(arrays[0], of_numpy, asked)
    return result if backend is NUMPY else backend.returned(result, data, asked.dtype)


def by_kernel(data: Array, ids: Ids, asked: Scan, states: Array | None = None) -> tuple[Array, Array | None]:
    """The scan of a NumPy array, and the states after its last position, if those before the first are given."""
    layout, name = ids.layout, data.dtype.name
    if asked.reduction == "count":
        return _counts(data, ids, asked, states)
    if data.dtype.kind in "mM":
        return _of_dates(data, ids, asked), None
    dtype = data.dtype if asked.dtype == name else NUMPY.dtype_of(asked.dtype, data)
    if data.dtype == np.bool:  # whose bytes may be others than 0 and 1, as those of a view
        data = (data.view("u1") != 0).view("u1")
    wide = wide_of(name, asked)
    words = np.array([asked.identity(name, wide), asked.none], wide)
    if states is not None and states.size == 0:
        states = np.full((math.prod(layout.outer), layout.n, math.prod(layout.inner)), words[0])
    return _run(data, ids, asked, words, dtype, states), states


def wide_of(name: str, asked: Scan) -> str:
    """The dtype of the states of numbers of a dtype."""
    kind, result = kind_of(name), kind_of(asked.dtype)
    if result == "c":
        return "complex128"
    if kind == "f" or result == "f":
        return "float32" if rules.bits(name) == 16 and kind == "f" and asked.dtype != "float64" else "float64"
    return "int64" if kind == "i" else "uint64"


def _counts(data: Array, ids: Ids, asked: Scan, states: Array | None) -> tuple[Array, Array | None]:
    """Sums of ones: of data's shape where some may not count, else of that of the ids."""
    layout, words = ids.layout, np.array([0, asked.none])
    if asked.skips:
        valid = ~(np.isnat if data.dtype.kind in "mM" else np.isnan)(data)
    else:
        b, inner = layout.batch_dims, len(layout.inner)
        shape = (*layout.data[:b], *[1] * (layout.axis - b), *layout.numbered, *[1] * inner)
        valid = np.ones(shape, np.bool)
        ids = ids._replace(layout=layout._replace(data=shape))
    if states is not None and states.size == 0:
        states = np.zeros((math.prod(ids.layout.outer), layout.n, math.prod(ids.layout.inner)), np.int64)
    asked = asked._replace(skips=False)
    result = _run(valid.view("i1"), ids, asked, words, np.dtype(asked.dtype), states)
    return result if result.shape == layout.data else _copied(np.broadcast_to(result, layout.data)), states


def _of_dates(data: Array, ids: Ids, asked: Scan) -> Array:
    """Maxima and minima, by the kernel on integers."""
    lifts = (asked.reduction == "max") != asked.skips  # so that NaT wins, or never does
    numbers = data.view("u8") - _LIFT if lifts else data.view("i8")
    nat = np.array("NaT", data.dtype).view("i8")
    none = nat.view("u8") - _LIFT if lifts else nat
    of_numbers = asked._replace(skips=False, dtype=numbers.dtype.name)
    words = np.array([of_numbers.identity(numbers.dtype.name, ""), none], numbers.dtype)
    result = _run(numbers, ids, of_numbers, words, numbers.dtype, None)
    result = (result + _LIFT if lifts else result).view(data.dtype)
    return np.where(np.isnat(data), np.array("NaT", data.dtype), result) if asked.skips else result


def _run(values: Array, ids: Ids, asked: Scan, words: Array, dtype: Any, states: Array | None) -> Array:
    layout = ids.layout
    units, size, columns = math.prod(layout.outer), math.prod(layout.numbered), math.prod(layout.inner)
    values = values.reshape(units, size, columns)
    turns = are_columns(layout) and states is None
    if turns:
        values = _copied(values.swapaxes(0, 1)).reshape(1, size, units * columns)
    values = np.require(values, requirements=["C", "A"])
    out = memory.empty(values.shape, dtype)
    status = _kernel.scan(
        values, kernel_ids(ids), ids.pointers is not None, layout.n, words, states, out, _code_of(values),
        _code_of(words), _code_of(out), int(REDUCTIONS[asked.step].code), asked.exclusive, asked.reverse,
        asked.skips and values.dtype.kind not in "biu", threads.limit,
    )  # fmt: skip
    check_status(layout.operator, status)
    return (_copied(out.reshape(size, units, columns).swapaxes(0, 1)) if turns else out).reshape(layout.data)


def _copied(array: Array) -> Array:
    """A contiguous copy, in memory that is kept for the next call."""
    copy: Array = memory.empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def _code_of(array: Array) -> int:
    return int(TypeCode["UINT8" if array.dtype == np.bool else array.dtype.name.upper()])


def _of_chunk(
    data: Array, array: Array, states: Array | None, *, layout: rules.Layout, asked: Scan
) -> tuple[Array, Array]:
    """A chunk of a lazy array, with the states that its segments begin with, which are None for the first chunk."""
    ids = Ids(NUMPY, layout._replace(data=data.shape), array, "drop")
    begun = np.empty(0) if states is None else states.copy()  # a task changes no other's result
    result, after = by_kernel(data, ids, asked, begun)
    assert after is not None
    return result, after


# Gradients of data: of data, the result and the gradient of it. They are made of differentiable calls.


def _counting(data: Any, ids: Ids, asked: Scan) -> Any:
    """Which results depend on data."""
    xp, found = ids.backend.namespace(data), has_segment(ids)
    return found & ~xp.isnan(data) if asked.skips else found


def _gradient_of_sums(ids: Ids, asked: Scan, data: Any, result: Any, grad: Any) -> Any:
    backend, xp, name = ids.backend, ids.backend.namespace(data), ids.backend.dtype_name(data)
    counting, zero = _counting(backend.without_gradient(data), ids, asked), xp.zeros_like(grad)
    backwards = Scan("add", asked.exclusive, not asked.reverse, False, name)
    found = scan(xp.where(counting, grad, zero), ids, backwards)
    return xp.where(counting, found, xp.zeros_like(found))


def _gradient_of_extremes(ids: Ids, asked: Scan, data: Any, result: Any, grad: Any) -> Any:
    """To the first element, in the order of the scan, that had the value."""
    backend, layout, xp = ids.backend, ids.layout, ids.backend.namespace(data)
    data = backend.without_gradient(data)
    counting = _counting(data, ids, asked)
    before = scan(data, ids, asked._replace(exclusive=True))
    is_first = scan(data, ids, asked._replace(reduction="count", exclusive=True, dtype="int64")) == 0
    wins = data > before if asked.reduction == "max" else data < before
    wins = counting & (is_first | wins | (xp.isnan(data) & ~xp.isnan(before)))
    size = math.prod(layout.numbered)
    places = xp.arange(size, dtype=xp.int64, device=backend.device(data))
    places = xp.reshape(places, (*layout.numbered, *[1] * len(layout.inner)))
    latest = Scan("min" if asked.reverse else "max", asked.exclusive, asked.reverse, False, "int64")
    places = xp.where(wins, places, xp.full_like(places, size if asked.reverse else -1))
    merged = *layout.outer, size, *layout.inner
    op = (SCATTER_ELEMENTS.strict or SCATTER_ELEMENTS).replace(name=layout.operator.name)
    grad = xp.where(counting, grad, xp.zeros_like(grad))
    found = core.scatter_on(
        backend, op, xp.zeros(merged, dtype=grad.dtype, device=backend.device(grad)),
        xp.reshape(scan(places, ids, latest), merged), xp.reshape(grad, merged), layout.axis, 0, "add", True, "drop",
        None, None,
    )  # fmt: skip
    return xp.reshape(found, layout.data)
