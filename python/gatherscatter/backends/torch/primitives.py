"""Gathers and scatters by PyTorch's primitives, for tensors that the kernels cannot read: on a GPU, for instance.

They are index_select, gather, index, index_copy, index_add and scatter_reduce. Neither gradients nor traces are made
here. On a GPU each operator is a pass over memory, and a few microseconds of the host's time, so there are few.
"""

from __future__ import annotations

from typing import Any

import array_api_compat.torch as xp
import torch
from torch import Tensor

from gatherscatter import determinism
from gatherscatter.backends import sorting
from gatherscatter.backends.table import TableBackend, reshaped
from gatherscatter.operators import AXIS, ELEMENTS, ND
from gatherscatter.plan import Plan
from gatherscatter.reductions import REDUCTIONS

# PyTorch supports few operations on unsigned dtypes, so they are viewed as signed ones.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_LAST = torch.iinfo(torch.int64).max


class Primitives(TableBackend):
    """The operators on PyTorch's primitives. Arguments are checked by the caller."""

    name = "PyTorch"
    takes_along_axes = True

    def namespace(self, array: Any) -> Any:
        return xp

    def row_dtype(self, like: Any) -> Any:
        return torch.int64

    def dtype_name(self, array: Any) -> str:
        return str(array.dtype).rpartition(".")[2]

    # Resolve

    def bounds(self, indices: Any, plan: Plan) -> list[tuple[int, int]]:
        """By one reduction and one synchronisation."""
        if indices.dtype is torch.uint64:  # 2**63 and more become negative, and are the greatest
            pairs = self.bounds(indices.view(torch.int64), plan)
            return [(0, least % 2**64) if least < 0 else (least, greatest) for least, greatest in pairs]
        if indices.dtype in _SIGNED:
            indices = indices.long()
        if plan.kind != ND:
            least, greatest = torch.stack(torch.aminmax(indices)).tolist()
            return [(least, greatest)]
        columns = indices if indices.ndim == 2 else indices.reshape(-1, plan.depth)
        return list(zip(*torch.stack(torch.aminmax(columns, dim=0)).tolist(), strict=True))

    def by_axis(self, indices: Any, plan: Plan) -> Any:
        return indices.unbind(-1) if plan.kind == ND else (indices,)

    def resolve_axis(self, index: Any, size: int, plan: Plan) -> tuple[Any, Any | None]:
        """Convert uint64, on which PyTorch has no arithmetic, to int64."""
        if index.dtype is torch.uint64:
            signed = index.view(torch.int64)
            if plan.mode == "wrap" and size:  # a negative value is the number minus 2**64
                index = torch.where(signed < 0, (signed % size + 2**64 % size) % size, signed)
            else:
                index = torch.where(signed < 0, _LAST, signed)
        return super().resolve_axis(index, size, plan)

    def row_of(self, rows: Any, size: int, index: Any) -> Any:
        return torch.add(index, rows, alpha=size)

    # Gather

    def read(self, data: Any, indices: Any, fill: Any | None, plan: Plan) -> Any:
        if data.dtype in _SIGNED:
            fill = None if fill is None else fill.view(_SIGNED[data.dtype])
            return self.read(data.view(_SIGNED[data.dtype]), indices, fill, plan).view(data.dtype)
        by_several = (plan.kind == ND and plan.depth) or plan.batch_dims
        if not by_several or fill is not None or 0 in data.shape:
            return super().read(data, indices, fill, plan)
        if plan.mode == "promise_in_bounds":  # indexing by tensors wraps negative indices itself
            plan = plan._replace(wrap_negative_indices=False)
        return data[tuple(index for index, _ in self.resolve_axes(indices, plan))]

    def take_axis(self, data: Any, index: Any, axis: int) -> Any:
        rows = data.index_select(axis, index if index.ndim == 1 else index.reshape(-1))
        return reshaped(xp, rows, data.shape[:axis] + index.shape + data.shape[axis + 1 :])

    def take_elements(self, data: Any, index: Any, axis: int) -> Any:
        return torch.gather(data, axis, index)

    def take(self, table: Any, rows: Any) -> Any:
        return table.index_select(0, rows)

    # Scatter

    def write(self, data: Any, indices: Any, updates: Any, plan: Plan) -> Any:
        if data.dtype in _SIGNED:
            return _write_unsigned(data, indices, updates, plan)
        if plan.n_rows == 0 or 0 in plan.shape:
            return data.clone()
        if (
            plan.kind == ND
            or plan.batch_dims
            or (plan.kind == ELEMENTS and plan.reduction == "none")
            or (plan.mode == "drop" and plan.axis)  # the slice for dropped updates is cut off along the first axis
            or data.dtype.is_complex
            or (plan.reduction in _ROUNDING and _is_deterministic())
        ):
            return super().write(data, indices, updates, plan)
        axis = plan.axis
        index, outside = self.resolve_axis(indices, data.shape[axis], plan)
        if outside is not None:
            index = torch.where(outside, data.shape[axis], index)
        if plan.kind == AXIS and index.ndim != 1:
            index = index.reshape(-1)
            updates = updates.reshape(*data.shape[:axis], len(index), *plan.row)
        return self.write_along(data, axis, index, updates, plan)

    def write_table(self, table: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        return self.write_along(table, 0, rows, updates, plan)

    def write_along(self, table: Tensor, axis: int, index: Tensor, updates: Tensor, plan: Plan) -> Tensor:
        """The table with updates combined into it along an axis. index: one for each slice, or for each element."""
        dtype, size = table.dtype, table.shape[axis]
        if dtype is torch.bool and plan.reduction != "none":
            name = REDUCTIONS[plan.reduction].on_bool or plan.reduction
            views = table.view(torch.uint8), axis, index, updates.view(torch.uint8)
            return self.write_along(*views, plan._replace(reduction=name)).view(dtype)
        if dtype.is_complex and plan.reduction == "mul":
            return sorting.combine(xp, table, index, updates, _complex_product, include_self=plan.include_self)
        if dtype.is_complex and plan.reduction != "none":
            # By parts: index_add multiplies by 1 + 0j, and infinity times 0 is NaN.
            parts = [torch.view_as_real(each.resolve_conj()) for each in (table, updates)]
            return torch.view_as_complex(self.write_along(parts[0], axis, index, parts[1], plan))
        is_copy = plan.mode == "drop"
        if is_copy:  # with one more slice, for dropped updates
            rest = table.new_zeros((*table.shape[:axis], 1, *table.shape[axis + 1 :]))
            table = torch.cat([table, rest], axis)
        result = self._combined(table, is_copy, axis, index, updates, plan)
        return result.narrow(axis, 0, size) if is_copy else result

    def _combined(self, table: Tensor, is_copy: bool, axis: int, index: Tensor, updates: Tensor, plan: Plan) -> Tensor:
        reduction, include_self = plan.reduction, plan.include_self
        if reduction == "none":
            if any(updates.stride()):  # else all updates are one element
                updates = updates.index_select(axis, _last(table.shape[axis], index))
            return _run("index_copy", is_copy, table, axis, index, updates)
        step = REDUCTIONS[reduction].step_of or reduction
        in_order = step in _SEGMENTED and table.is_floating_point() and _is_deterministic()
        if step in _REDUCED and not in_order:
            if index.ndim < table.ndim:  # repeated along the other axes, without a copy
                strides = [0] * table.ndim
                strides[axis] = index.stride(0)
                index = index.as_strided(updates.shape, strides)
            return _run(
                "scatter_reduce", is_copy, table, axis, index, updates, _REDUCED[step], include_self=include_self
            )
        counts = None
        if reduction == "mean":
            counts = _counts(table, axis, index, int(include_self))
        if not include_self:  # destinations start from the identity
            start = REDUCTIONS[step].identity(self.dtype_name(table))
            if counts is not None:
                table = table.masked_fill(counts > 0, start)
            elif index.ndim == 1:
                table = _run("index_fill", is_copy, table, axis, index, start)
            else:
                table = _run("scatter", is_copy, table, axis, index, start)
            is_copy = True
        if in_order:
            result = _by_segments(table, index, updates, step)
        else:
            result = _run("index_add" if index.ndim == 1 else "scatter_add", is_copy, table, axis, index, updates)
        if counts is None:
            return result
        return self.quotient(result, counts if include_self else counts.clamp_(min=1))

    def quotient(self, sums: Tensor, counts: Tensor) -> Tensor:
        """The sums divided by counts, in place where that rounds once."""
        if not sums.is_floating_point():
            return self.floor_divide(sums, counts)
        if sums.element_size() < 4:  # counts would be rounded to its dtype
            return (sums.float() / counts).to(sums.dtype)
        return sums.div_(counts)


class _Unsigned(Primitives):
    """Unsigned integers viewed as signed ones of the same width."""

    def floor_divide(self, sums: Any, counts: Any) -> Any:
        bits = torch.iinfo(sums.dtype).bits
        if bits < 64:
            return ((sums.long() & (2**bits - 1)) // counts).to(sums.dtype)
        quotient = ((sums >> 1) & _LAST) // counts * 2  # divide half of the sum, which is not negative, and double
        return quotient + (sums - quotient * counts >= counts)


def _write_unsigned(data: Tensor, indices: Tensor, updates: Tensor, plan: Plan) -> Tensor:
    signed = _SIGNED[data.dtype]
    table, values = data.view(signed), updates.view(signed)
    if plan.reduction not in ("max", "min"):
        return _UNSIGNED.write(table, indices, values, plan).view(data.dtype)
    flip = torch.iinfo(signed).min  # of the sign bit: maps the order of unsigned integers to that of signed ones
    return (_UNSIGNED.write(table ^ flip, indices, values ^ flip, plan) ^ flip).view(data.dtype)


def _run(name: str, in_place: bool, table: Tensor, *arguments: Any, **options: Any) -> Tensor:
    """A method of tensors, in place or not."""
    result: Tensor = getattr(table, f"{name}_" if in_place else name)(*arguments, **options)
    return result


def _last(size: int, index: Tensor) -> Tensor:
    """For each update the number of the last one with its destination: so the order of writing does not matter."""
    order = torch.arange(len(index), dtype=torch.int32 if len(index) < 2**31 else torch.int64, device=index.device)
    return order.new_zeros(size).scatter_reduce_(0, index, order, "amax").index_select(0, index)


def _counts(table: Tensor, axis: int, index: Tensor, start: int) -> Tensor:
    """How many updates each destination gets, and start more. Broadcasts to the table."""
    if index.ndim > 1:
        return index.new_full(table.shape, start).scatter_add_(axis, index, index.new_ones(()).expand(index.shape))
    before, after = (1,) * axis, (1,) * (table.ndim - axis - 1)
    counts = index.new_full((*before, table.shape[axis], *after), start)
    return counts.index_add_(axis, index, index.new_ones(()).expand(*before, len(index), *after))


def _is_deterministic() -> bool:
    return determinism.enabled or torch.are_deterministic_algorithms_enabled()


# The reductions that round, and the names of some reductions in torch.segment_reduce (with the identity) and in
# Tensor.scatter_reduce.
_ROUNDING = frozenset(("add", "mul", "mean"))
_SEGMENTED = {"add": ("sum", -0.0), "mul": ("prod", 1.0)}
_REDUCED = {"mul": "prod", "max": "amax", "min": "amin"}


def _by_segments(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """Combine floats in order on any device, without atomic operations.

    Rows of the table and updates are sorted by row id. A stable sort keeps their order, and `torch.segment_reduce`
    combines the elements of a segment one after the other if its data has two axes (on a GPU, one axis would be
    combined as a tree).
    """
    n_rows = table.shape[0]
    every = torch.cat([torch.arange(n_rows, device=rows.device), rows])
    ids, order = torch.sort(every, stable=True)
    values = torch.cat([table, updates]).reshape(len(every), -1).index_select(0, order)
    ends = torch.searchsorted(ids, torch.arange(n_rows + 1, device=rows.device))
    name, identity = _SEGMENTED[reduction]
    result = torch.segment_reduce(values, name, lengths=ends.diff(), axis=0, initial=identity, unsafe=True)
    return result.reshape(table.shape)


def _complex_product(a: Tensor, b: Tensor) -> Tensor:
    """With each product rounded: `torch.mul` may fuse products and sums."""
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


PRIMITIVES = Primitives()
_UNSIGNED = _Unsigned()
