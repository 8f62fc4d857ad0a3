"""Gathers and scatters by PyTorch's primitives, for tensors that the kernels cannot read: on a GPU, for instance.

They are index_select, gather, index_copy, index_add and scatter_reduce. Neither gradients nor traces are made here.
"""

from __future__ import annotations

from typing import Any

import array_api_compat.torch as xp
import torch
from torch import Tensor

from gatherscatter import determinism
from gatherscatter.backends import sorting
from gatherscatter.backends.table import TableBackend
from gatherscatter.plan import Plan

# PyTorch supports few operations on unsigned dtypes, so they are viewed as signed ones.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_LAST = torch.iinfo(torch.int64).max


class Primitives(TableBackend):
    """The operators on PyTorch's primitives. Arguments are checked by the caller."""

    name = "PyTorch"
    native = frozenset(("add", "mul", "max", "min"))
    makes_complex = True
    takes_along_axes = True

    def namespace(self, array: Any) -> Any:
        return xp

    def row_dtype(self, like: Any) -> Any:
        return torch.int64

    def dtype_name(self, array: Any) -> str:
        return str(array.dtype).rpartition(".")[2]

    # Resolve

    def resolve_axis(self, index: Any, size: int, plan: Plan) -> tuple[Any, Any | None]:
        """Convert uint64, on which PyTorch has no arithmetic, to int64."""
        if index.dtype is torch.uint64:
            signed = index.view(torch.int64)
            if plan.mode == "wrap" and size:  # a negative value is the number minus 2**64
                index = torch.where(signed < 0, (signed % size + 2**64 % size) % size, signed)
            else:
                index = torch.where(signed < 0, _LAST, signed)
        return super().resolve_axis(index, size, plan)

    # Move

    def read(self, data: Any, indices: Any, fill: Any | None, plan: Plan) -> Any:
        if data.dtype not in _SIGNED:
            return super().read(data, indices, fill, plan)
        fill = None if fill is None else fill.view(_SIGNED[data.dtype])
        return super().read(data.view(_SIGNED[data.dtype]), indices, fill, plan).view(data.dtype)

    def write(self, data: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        if data.dtype not in _SIGNED:
            return super().write(data, rows, updates, plan)
        signed = _SIGNED[data.dtype]
        # For max and min: flipping the sign bit maps the order of unsigned integers to that of signed ones.
        flip = torch.iinfo(signed).min if plan.reduction in ("max", "min") else 0
        result = _UNSIGNED.write(data.view(signed) ^ flip, rows, updates.view(signed) ^ flip, plan) ^ flip
        return result.view(data.dtype)

    def take_axis(self, data: Any, index: Any, axis: int) -> Any:
        shape = data.shape[:axis] + index.shape + data.shape[axis + 1 :]
        return data.index_select(axis, index.reshape(-1)).reshape(shape)

    def take_elements(self, data: Any, index: Any, axis: int) -> Any:
        return torch.gather(data, axis, index)

    def take(self, table: Any, rows: Any) -> Any:
        return table.index_select(0, rows)

    def put(self, table: Any, rows: Any, updates: Any) -> Any:
        return _longer(table).index_copy_(0, rows, updates)[:-1]

    def assign(self, table: Any, rows: Any, updates: Any) -> Any:
        """Every update of a row becomes the last one, so that the order in which they are written does not matter."""
        n_rows, n = table.shape[0], rows.shape[0]
        order = torch.arange(n, dtype=torch.int32 if n < 2**31 else torch.int64, device=rows.device)
        last = order.new_zeros(n_rows + 1).scatter_reduce_(0, rows, order, "amax")
        return self.put(table, rows, updates.index_select(0, last.index_select(0, rows)))

    def reduce(self, table: Any, rows: Any, updates: Any, reduction: str) -> Any:
        dtype = table.dtype
        if dtype is torch.bool:
            return self.reduce(table.to(torch.uint8), rows, updates.to(torch.uint8), reduction).bool()
        if dtype.is_complex and reduction == "mul":
            return sorting.combine(xp, table, rows, updates, _complex_product, include_self=True)
        if dtype.is_complex:  # by parts: index_add multiplies by 1 + 0j, and infinity times 0 is NaN
            parts = self.reduce(torch.view_as_real(table), rows, torch.view_as_real(updates), reduction)
            return torch.view_as_complex(parts.contiguous())
        if dtype.is_floating_point and reduction in _SEGMENTED and _is_deterministic():
            return _by_segments(table, rows, updates, reduction)
        if reduction == "add":
            return _longer(table).index_add_(0, rows, updates)[:-1]
        index = rows.reshape(-1, *(1,) * (table.ndim - 1)).expand_as(updates)
        name = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
        return _longer(table).scatter_reduce_(0, index, updates, name)[:-1]

    def divide(self, sums: Any, counts: Any) -> Any:
        return torch.div(sums, counts)

    def make_complex(self, real: Any, imag: Any) -> Any:
        return torch.complex(real, imag)


class _Unsigned(Primitives):
    """Unsigned integers viewed as signed ones of the same width."""

    def write(self, data: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        return TableBackend.write(self, data, rows, updates, plan)

    def floor_divide(self, sums: Any, counts: Any) -> Any:
        bits = torch.iinfo(sums.dtype).bits
        if bits < 64:
            return ((sums.long() & (2**bits - 1)) // counts).to(sums.dtype)
        quotient = ((sums >> 1) & _LAST) // counts * 2  # divide half of the sum, which is not negative, and double
        return quotient + (sums - quotient * counts >= counts)


def _is_deterministic() -> bool:
    return determinism.enabled or torch.are_deterministic_algorithms_enabled()


# The reduction's name in torch.segment_reduce, and its identity.
_SEGMENTED = {"add": ("sum", -0.0), "mul": ("prod", 1.0)}


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


def _longer(table: Tensor) -> Tensor:
    """A copy of the table with one more row, for dropped updates."""
    return torch.cat([table, table.new_zeros(1, *table.shape[1:])])


PRIMITIVES = Primitives()
_UNSIGNED = _Unsigned()
