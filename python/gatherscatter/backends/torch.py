"""PyTorch tensors, on any device, with autograd, `torch.func` and `torch.compile`.

CPU tensors that need neither a gradient nor a trace go to the compiled kernels, which work on the same memory.
All others take PyTorch's primitives: index_select, gather, index_copy, index_add, scatter_reduce. Two steps are
operators of our own (gatherscatter::checked, gatherscatter::combined), so that a compiled graph can raise an
IndexError, and sums on the CPU keep their order in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any

import array_api_compat.torch as xp
import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from gatherscatter import errors, neutral, shapes, threads
from gatherscatter._kernels import gather as _gather_kernels
from gatherscatter._kernels import scatter as _scatter_kernels
from gatherscatter.backends import _checks, _rows
from gatherscatter.backends import numpy as kernels
from gatherscatter.shapes import ELEMENTS, ND, Plan

NAME = "PyTorch"
SMALL = Tensor  # the class that the short ways take

_NUMPY_DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    getattr(torch, name): np.dtype(name) for name in shapes.REDUCED if name != "bfloat16"
}
# Dtypes that NumPy has only from ml_dtypes, where that is installed: the dtype, and one that Tensor.numpy() knows.
_CARRIED: dict[torch.dtype, tuple[np.dtype[Any], torch.dtype]] = {}
try:
    import ml_dtypes
except ImportError:
    pass
else:
    for _name in ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"):
        if hasattr(torch, _name) and hasattr(ml_dtypes, _name):
            _dtype = np.dtype(getattr(ml_dtypes, _name))
            _NUMPY_DTYPES[getattr(torch, _name)] = _dtype
            _CARRIED[getattr(torch, _name)] = _dtype, (torch.int16 if _dtype.itemsize == 2 else torch.uint8)

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_INDEX_DTYPES = frozenset(
    (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
)
_LAST = torch.iinfo(torch.int64).max


def owns(value: Any) -> bool:
    return isinstance(value, Tensor)


def as_array(operator: str, argument: str, value: Any, like: Tensor) -> Tensor:
    try:
        array = torch.as_tensor(value, device=like.device)
    except (TypeError, ValueError, RuntimeError, OverflowError) as reason:
        raise errors.not_convertible(operator, argument, reason) from None
    if argument == "indices" and array.numel() == 0 and isinstance(value, (list, tuple)):
        return array.to(torch.int64)
    return array


def same_library(a: Tensor, b: Tensor) -> bool:
    return True


def gather(data: Tensor, indices: Tensor, plan: Plan, fill_value: Any, out: Tensor | None) -> Tensor:
    if out is None:
        arrays = _as_numpy(data, indices)
        if arrays is not None and indices.dtype in _INDEX_DTYPES:
            return _from_numpy(kernels.gather(arrays[0], arrays[1], plan, fill_value, None), data.dtype)
    _check(plan, data, indices)
    if out is not None:
        _check_out(out, data, plan.shape, plan)
        arrays = _as_numpy(data, indices, out)
        if arrays is not None and not out.is_neg() and not out.is_conj():
            kernels.gather(arrays[0], arrays[1], plan, fill_value, arrays[2])
            return out

    fill = _element(plan, "fill_value", fill_value, data) if plan.mode == "fill" else None
    result = _gather(_movable(data), indices, None if fill is None else _movable(fill), plan)
    if data.dtype in _SIGNED:
        result = result.view(data.dtype)
    return result if out is None else out.copy_(result)


def try_gather(kind: int, data: Tensor, indices: Tensor, axis: Any, batch_dims: Any) -> Tensor | None:
    if _is_watched():
        return None
    try:
        arrays = data.numpy(), indices.numpy()
    except (RuntimeError, TypeError):
        return None
    result = _gather_kernels.try_gather(kind, True, *arrays, axis, batch_dims, "raise", None, threads.limit)
    return None if result is None else torch.from_numpy(result)


def try_scatter(
    kind: int, data: Tensor, indices: Tensor, updates: Tensor, axis: Any, batch_dims: Any, reduction: Any
) -> Tensor | None:
    if _is_watched():
        return None
    try:
        arrays = data.numpy(), indices.numpy(), updates.numpy()
    except (RuntimeError, TypeError):
        return None
    result = _scatter_kernels.try_scatter(
        kind, True, *arrays, axis, batch_dims, reduction, "raise", True, None, threads.limit
    )
    return None if result is None else torch.from_numpy(result)


def _gather(data: Tensor, indices: Tensor, fill: Tensor | None, plan: Plan) -> Tensor:
    if plan.kind == ND or plan.batch_dims or 0 in data.shape:
        rows, outside = _resolve(indices, plan)
        return _rows.read(_MOVES, data, rows, outside, fill, plan)
    # Along one axis PyTorch has primitives that take data of any strides.
    axis = plan.axis
    index, outside = _rows.place(xp, _without_uint64(indices, plan), data.shape[axis], plan.mode, torch.int64)
    if outside is not None:
        index = _checked(index, outside, indices, plan) if fill is None else torch.where(outside, 0, index)
    if plan.kind == ELEMENTS:
        result = torch.gather(data, axis, index)
    else:
        result = data.index_select(axis, index.reshape(-1)).reshape(plan.shape)
        if outside is not None:
            outside = outside.reshape(outside.shape + (1,) * len(plan.row))
    return result if fill is None or outside is None else torch.where(outside, fill, result)


def scatter(data: Tensor, indices: Tensor, updates: Any, plan: Plan, out: Tensor | None) -> Tensor:
    _checks.reduction(plan, data)
    if not isinstance(updates, Tensor):
        updates = _neutral_updates(updates, plan, data)
    _check(plan, data, indices, updates)
    if out is not None:
        _check_out(out, data, plan.data, plan)
        arrays = _as_numpy(data, indices, updates, out)
        if arrays is not None and not out.is_neg() and not out.is_conj():
            kernels.scatter(arrays[0], arrays[1], arrays[2], plan, arrays[3])
            return out
    else:
        arrays = _as_numpy(data, indices, updates)
        if arrays is not None:
            return _from_numpy(kernels.scatter(arrays[0], arrays[1], arrays[2], plan, None), data.dtype)

    rows, _ = _resolve(indices, plan)
    result = _scatter(data, rows, updates, plan)
    return result if out is None else out.copy_(result)


def _scatter(data: Tensor, rows: Tensor, updates: Tensor, plan: Plan) -> Tensor:
    dtype = data.dtype
    if dtype not in _SIGNED:
        return _rows.write(_MOVES, data, rows, updates, plan)
    data, updates = _movable(data), _movable(updates)
    # For the order of max and min, turn the sign bit.
    turn = torch.iinfo(data.dtype).min if plan.reduction in ("max", "min") else 0
    result = _rows.write(_UNSIGNED_MOVES, data ^ turn, rows, updates ^ turn, plan) ^ turn
    return result.view(dtype)


def _movable(tensor: Tensor) -> Tensor:
    """The same bits, in a dtype for which PyTorch has its operators: for uint16, uint32 and uint64 it has few."""
    signed = _SIGNED.get(tensor.dtype)
    return tensor if signed is None else tensor.view(signed)


# The compiled kernels on a tensor's memory


# Where these say that nothing is watching, numbers in CPU memory are all there is to a call.
_compiles = torch.compiler.is_compiling
_modes = torch._C._len_torch_dispatch_stack
_trace = torch._C._get_tracing_state


def _is_watched() -> bool:
    """Whether a trace or a mode has to see PyTorch's own operators; tensors of torch.func refuse numpy() themselves."""
    return _compiles() or _modes() > 0 or forward_ad._current_level >= 0 or _trace() is not None


def _as_numpy(*tensors: Tensor) -> list[np.ndarray[Any, Any]] | None:
    """Arrays on the tensors' memory; None where the tensors need PyTorch: for a gradient, a trace, another device."""
    if _is_watched():
        return None
    arrays = []
    for tensor in tensors:
        if type(tensor) is not Tensor and type(tensor) is not torch.nn.Parameter:
            return None
        if tensor.requires_grad and torch.is_grad_enabled():
            return None
        try:
            arrays.append(_memory(tensor))
        except (RuntimeError, TypeError):
            if not tensor.is_cpu:
                return None
            try:
                arrays.append(_memory(tensor.detach().resolve_conj().resolve_neg()))
            except (RuntimeError, TypeError):
                return None
    return arrays


def _memory(tensor: Tensor) -> np.ndarray[Any, Any]:
    """An array on the tensor's memory.

    RuntimeError or TypeError for what has none: another device, a gradient, a view that negates or conjugates, a
    dtype that NumPy lacks.
    """
    carried = _CARRIED.get(tensor.dtype)
    if carried is None:
        array: np.ndarray[Any, Any] = tensor.numpy()
        return array
    return tensor.view(carried[1]).numpy().view(carried[0])


def _from_numpy(array: np.ndarray[Any, Any], dtype: torch.dtype) -> Tensor:
    carried = _CARRIED.get(dtype)
    if carried is None:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16 if carried[1] is torch.int16 else np.uint8)).view(dtype)


# What comes in


def _check(plan: Plan, data: Tensor, indices: Tensor, updates: Tensor | None = None) -> None:
    if indices.dtype not in _INDEX_DTYPES:
        raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
    _checks.same_device(plan, data, indices=indices, updates=updates)
    for tensor in (data, indices, updates):
        if tensor is not None and tensor.layout is not torch.strided:
            raise errors.cannot(NAME, plan.operator, f"a tensor of layout {tensor.layout}", "pass tensor.to_dense()")
    if updates is not None:
        _checks.updates(plan, updates, data)


def _check_out(out: Any, data: Tensor, shape: tuple[int, ...], plan: Plan) -> None:
    _checks.out(plan, out, data, shape, Tensor, "torch.Tensor")
    _checks.same_device(plan, data, out=out)


def _element(plan: Plan, argument: str, value: Any, data: Tensor) -> Tensor:
    dtype = _NUMPY_DTYPES.get(data.dtype)
    if dtype is None:  # no dtype of NumPy's: what float32 holds, rounded once more
        element = neutral.element(plan.operator, argument, value, np.dtype(np.float32))
        return torch.tensor(element.item(), dtype=data.dtype, device=data.device)
    element = neutral.element(plan.operator, argument, value, dtype)
    return _from_numpy(element.reshape(1), data.dtype).to(data.device)[0]


def _neutral_updates(updates: Any, plan: Plan, data: Tensor) -> Tensor:
    dtype = _NUMPY_DTYPES.get(data.dtype)
    if dtype is None or not isinstance(updates, (list, tuple)):
        return _element(plan, "updates", updates, data).expand(plan.shape)
    return _from_numpy(neutral.updates(plan.operator, updates, plan.shape, dtype), data.dtype).to(data.device)


def _without_uint64(indices: Tensor, plan: Plan) -> Tensor:
    """PyTorch does no arithmetic on uint64: as int64, in which what is too large stays outside or is wrapped."""
    if indices.dtype is not torch.uint64:
        return indices
    signed = indices.view(torch.int64)
    if plan.mode != "wrap":
        return torch.where(signed < 0, _LAST, signed)
    # Two's complement stands for 2**64 less than it should.
    sizes = plan.data[plan.axis : plan.axis + plan.depth]
    size = torch.tensor([max(n, 1) for n in sizes], device=indices.device)
    missing = torch.tensor([2**64 % max(n, 1) for n in sizes], device=indices.device)
    if plan.kind != ND:
        size, missing = size[0], missing[0]
    return torch.where(signed < 0, (signed % size + missing) % size, signed)


# Resolve


def _resolve(indices: Tensor, plan: Plan) -> tuple[Tensor, Tensor | None]:
    rows, outside = _rows.resolve(xp, _without_uint64(indices, plan), plan, torch.int64, indices.device)
    if outside is not None and plan.mode != "fill":
        rows = _checked(rows, outside, indices, plan)
    return rows, outside


def _checked(rows: Tensor, outside: Tensor, indices: Tensor, plan: Plan) -> Tensor:
    """The same row numbers, once it is known that none is outside."""
    if indices.is_meta:  # shapes alone: there are no indices to check
        return rows
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active() or type(outside) is not Tensor:
        traced: Tensor = _checked_operator(rows, outside, indices, plan.operator, plan.kind, plan.axis, plan.depth,
                                           plan.batch_dims, plan.data, 0)  # fmt: skip
        return traced
    if bool(outside.any()):
        raise _rows.explain(xp, indices, plan, outside)
    return rows


@torch.library.custom_op("gatherscatter::checked", mutates_args=())
def _checked_operator(
    rows: Tensor,
    outside: Tensor,
    indices: Tensor,
    operator: str,
    kind: int,
    axis: int,
    depth: int,
    batch_dims: int,
    data: Sequence[int],
    n_mapped: int,
) -> Tensor:
    """Return rows, or raise for the first index outside. The first n_mapped axes are those of torch.func.vmap."""
    if bool(outside.any()):
        if n_mapped:
            bad = outside.flatten(n_mapped).any(-1) if outside.ndim > n_mapped else outside
            example = tuple(bad.nonzero()[0].tolist())
            indices, outside = indices[example], outside[example]
        plan = Plan(operator, kind, "raise", axis, depth, batch_dims, tuple(outside.shape), (), tuple(data))
        raise _rows.explain(xp, indices, plan, outside)
    return rows.clone()


@_checked_operator.register_fake
def _(rows: Tensor, *arguments: Any) -> Tensor:
    return torch.empty_like(rows)


@_checked_operator.register_vmap
def _(info: Any, in_dims: Any, rows: Tensor, outside: Tensor, indices: Tensor, *plan: Any) -> tuple[Tensor, int]:
    tensors = [_mapped(t, d, info.batch_size) for t, d in zip((rows, outside, indices), in_dims[:3], strict=True)]
    return _checked_operator(*tensors, *plan[:-1], plan[-1] + 1), 0


def _mapped(tensor: Tensor, axis: int | None, size: int) -> Tensor:
    """The mapped axis in front; one is made where the tensor is the same for all."""
    return tensor.expand(size, *tensor.shape) if axis is None else tensor.movedim(axis, 0)


# Move: the primitives on rows of a table


def _take(table: Tensor, rows: Tensor) -> Tensor:
    return table.index_select(0, rows)


def _assign(table: Tensor, rows: Tensor, updates: Tensor) -> Tensor:
    # index_copy leaves open which of several updates wins, and gives all of them a gradient.
    rows = _rows.only_last(_MOVES, table.shape[0], rows)
    return _longer(table).index_copy(0, rows, updates)[:-1]


def _combine(table: Tensor, rows: Tensor, updates: Tensor, reduction: str, include_self: bool) -> Tensor:
    if not include_self:
        first, rows = _rows.without_first(_MOVES, table.shape[0], rows)
        table = _longer(table).index_copy(0, first, updates)[:-1]
    if reduction == "add" and table.dtype in (torch.float32, torch.float64) and not torch.compiler.is_compiling():
        return _longer(table).index_add(0, rows, updates)[:-1]  # which is in order, on the CPU
    if table.is_floating_point() or table.is_complex():
        with_gradients: Tensor = _Combine.apply(table, rows, updates, reduction)
        return with_gradients
    combined: Tensor = _combined(table, rows, updates, reduction)
    return combined


def _longer(table: Tensor) -> Tensor:
    """A copy of the table with one more row, the one for what names none."""
    return torch.cat([table, table.new_zeros(1, *table.shape[1:])])


_MOVES = _rows.Moves(
    NAME, xp, torch.int64, _take, _assign, _combine, torch.div, partial(_rows.floor_divide, xp), torch.complex
)


def _unsigned_floor_divide(sums: Tensor, counts: Tensor) -> Tensor:
    """Quotients of unsigned integers that are stored as signed ones."""
    bits = torch.iinfo(sums.dtype).bits
    if bits < 64:
        return ((sums.long() & (2**bits - 1)) // counts).to(sums.dtype)
    quotient = ((sums >> 1) & _LAST) // counts * 2  # of half of it, which is positive
    return quotient + (sums - quotient * counts >= counts)


_UNSIGNED_MOVES = _MOVES._replace(floor_divide=_unsigned_floor_divide)


@torch.library.custom_op("gatherscatter::combined", mutates_args=())
def _combined(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """The table with updates combined into it in order; a row number past its end names none."""
    if table.is_cpu and table.dtype in _NUMPY_DTYPES:
        plan = shapes.scatter(tuple(table.shape), tuple(rows.shape), 0, 0, "drop", reduction, True)
        result = kernels.scatter(_memory(table.detach()), _memory(rows), _memory(updates.detach()), plan, None)
        return _from_numpy(result, table.dtype)
    return _combined_by_primitives(table, rows, updates, reduction)


def _combined_by_primitives(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    dtype = table.dtype
    if dtype is torch.bool:
        reduction = {"add": "max", "mul": "min"}.get(reduction, reduction)
        return _combined_by_primitives(table.to(torch.uint8), rows, updates.to(torch.uint8), reduction).bool()
    if dtype.is_complex and reduction == "mul":
        return _rows.combine_in_rounds(xp, table, rows, updates, torch.mul, include_self=True)
    if dtype.is_complex:  # index_add would multiply by 1 + 0j, and infinity times 0 is NaN
        parts = _combined_by_primitives(torch.view_as_real(table), rows, torch.view_as_real(updates), reduction)
        return torch.view_as_complex(parts)
    result = _longer(table)
    if reduction == "add":
        return result.index_add_(0, rows, updates)[:-1].clone()
    index = rows.reshape(-1, *(1,) * (table.ndim - 1)).expand_as(updates)
    name = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return result.scatter_reduce_(0, index, updates, name)[:-1].clone()


@_combined.register_fake
def _(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    return torch.empty_like(table, memory_format=torch.contiguous_format)


@_combined.register_vmap
def _(info: Any, in_dims: Any, table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> tuple[Tensor, int]:
    n = info.batch_size
    table, rows, updates = (_mapped(t, d, n) for t, d in zip((table, rows, updates), in_dims[:3], strict=True))
    n_rows = table.shape[1]
    # One table of all; what names no row of its own names none of the others'.
    start = torch.arange(n, device=rows.device)[:, None] * n_rows
    rows = torch.where(rows < n_rows, rows + start, n * n_rows).reshape(-1)
    result = _combined(table.flatten(0, 1), rows, updates.flatten(0, 1), reduction)
    return result.reshape(table.shape), 0


class _Combine(torch.autograd.Function):
    """gatherscatter::combined with its gradients, to any order."""

    generate_vmap_rule = True

    @staticmethod
    def forward(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
        result: Tensor = _combined(table, rows, updates, reduction)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        table, rows, updates, ctx.reduction = inputs
        if ctx.reduction == "add":
            ctx.save_for_backward(rows)
        else:
            ctx.save_for_backward(rows, table, updates, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        rows, *saved = ctx.saved_tensors
        if ctx.reduction == "add":
            return grad, None, _take_or_zero(grad, rows), None
        table, updates, result = saved
        if ctx.reduction == "mul":
            to_table, to_updates = _rows.factors(_MOVES, table, rows, updates)
            return grad * to_table.conj(), None, _take_or_zero(grad, rows) * to_updates.conj(), None
        in_table, in_updates, count = _rows.winners(_MOVES, table, rows, updates, result)
        share = grad / count.to(grad.dtype)
        zero = torch.zeros((), dtype=grad.dtype, device=grad.device)
        to_updates = torch.where(in_updates, _take_or_zero(share, rows), zero)
        return torch.where(in_table, share, zero), None, to_updates, None


def _take_or_zero(table: Tensor, rows: Tensor) -> Tensor:
    return _longer(table).index_select(0, rows)


# torch.compile follows the planning itself, not the cache around it.
for _plan in (shapes.gather, shapes.gather_nd, shapes.gather_elements,
              shapes.scatter, shapes.scatter_nd, shapes.scatter_elements):  # fmt: skip
    torch.compiler.substitute_in_graph(_plan)(inspect.unwrap(_plan))
