"""Custom operators of PyTorch: the check of bounds and the reductions, for traces and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import array_api_compat.torch as xp
import torch
from torch import Tensor

from gatherscatter import plan as plans
from gatherscatter.backends import sorting
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.torch import memory
from gatherscatter.operators import SCATTER, Operator
from gatherscatter.plan import Plan

# Checking bounds


def words_of(op: Operator) -> str:
    """The fields of an operator that messages need, as one string, since custom operators take no other objects."""
    return "\n".join((op.name, op.data, op.indices, op.negatives))


@torch.library.custom_op("gatherscatter::checked", mutates_args=())
def checked(
    rows: Tensor,
    outside: Tensor,
    indices: Tensor,
    words: str,
    kind: int,
    wrap_negative_indices: bool,
    axis: int,
    depth: int,
    batch_dims: int,
    data: Sequence[int],
    n_mapped: int,
) -> Tensor:
    """Return rows, or raise for the first index outside. The first n_mapped axes are from torch.func.vmap."""
    if bool(outside.any()):
        if n_mapped:
            bad = outside.flatten(n_mapped).any(-1) if outside.ndim > n_mapped else outside
            example = tuple(bad.nonzero()[0].tolist())
            indices, outside = indices[example], outside[example]
        name, data_name, indices_name, negatives = words.split("\n")
        op = Operator(name, kind, False, data_name, indices_name, negatives=negatives)
        plan = Plan(
            op, kind, "raise", wrap_negative_indices, axis, depth, batch_dims, tuple(outside.shape), (), tuple(data)
        )
        position = plans.unravel(int(outside.reshape(-1).to(torch.uint8).argmax()), tuple(outside.shape))
        raise plans.explain(plan, indices, plan.index_position(position))
    return rows.clone()


@checked.register_fake
def _(rows: Tensor, *arguments: Any) -> Tensor:
    return torch.empty_like(rows)


@checked.register_vmap
def _(info: Any, in_dims: Any, rows: Tensor, outside: Tensor, indices: Tensor, *plan: Any) -> tuple[Tensor, int]:
    tensors = [_mapped(t, d, info.batch_size) for t, d in zip((rows, outside, indices), in_dims[:3], strict=True)]
    return checked(*tensors, *plan[:-1], plan[-1] + 1), 0


def _mapped(tensor: Tensor, axis: int | None, size: int) -> Tensor:
    """The tensor with the mapped axis first; expanded along a new one if it is not mapped."""
    return tensor.expand(size, *tensor.shape) if axis is None else tensor.movedim(axis, 0)


# Reductions on rows of a table, as in backends/table.py


def longer(table: Tensor) -> Tensor:
    """A copy of the table with one more row, for dropped updates."""
    return torch.cat([table, table.new_zeros(1, *table.shape[1:])])


@torch.library.custom_op("gatherscatter::combined", mutates_args=())
def combined(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    """The table with updates combined into it, in order. An update with row id n_rows is dropped."""
    if table.is_cpu and table.dtype in memory.NUMPY_DTYPES:
        plan = plans.scatter(SCATTER, tuple(table.shape), tuple(rows.shape), 0, 0, "drop", reduction, True)
        data, indices, values = (memory.on_memory(tensor.detach()) for tensor in (table, rows, updates))
        return memory.from_numpy(NUMPY.scatter(data, indices, values, plan, None), table.dtype)
    return _combined_by_primitives(table, rows, updates, reduction)


def _combined_by_primitives(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    dtype = table.dtype
    if dtype is torch.bool:
        return _combined_by_primitives(table.to(torch.uint8), rows, updates.to(torch.uint8), reduction).bool()
    if dtype.is_complex and reduction == "mul":
        result: Tensor = sorting.combine(xp, table, rows, updates, torch.mul, include_self=True)
        return result
    if dtype.is_complex:  # by parts: index_add multiplies by 1 + 0j, and infinity times 0 is NaN
        parts = _combined_by_primitives(torch.view_as_real(table), rows, torch.view_as_real(updates), reduction)
        return torch.view_as_complex(parts)
    result = longer(table)
    if reduction == "add":
        return result.index_add_(0, rows, updates)[:-1].clone()
    index = rows.reshape(-1, *(1,) * (table.ndim - 1)).expand_as(updates)
    name = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return result.scatter_reduce_(0, index, updates, name)[:-1].clone()


@combined.register_fake
def _(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
    return torch.empty_like(table, memory_format=torch.contiguous_format)


@combined.register_vmap
def _(info: Any, in_dims: Any, table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> tuple[Tensor, int]:
    n = info.batch_size
    table, rows, updates = (_mapped(t, d, n) for t, d in zip((table, rows, updates), in_dims[:3], strict=True))
    n_rows = table.shape[1]
    # All tables in one; dropped updates get the row id past the end of it.
    start = torch.arange(n, device=rows.device)[:, None] * n_rows
    rows = torch.where(rows < n_rows, rows + start, n * n_rows).reshape(-1)
    result = combined(table.flatten(0, 1), rows, updates.flatten(0, 1), reduction)
    return result.reshape(table.shape), 0
