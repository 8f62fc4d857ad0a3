"""PyTorch tensors, on any device, with autograd, `torch.func` and `torch.compile`.

CPU tensors that need neither a gradient nor a trace go to the compiled kernels, as NumPy arrays that share their
memory (``memory.py``). Other tensors use PyTorch's primitives: index_select, gather, index_copy, index_add,
scatter_reduce. Two steps are custom operators (``operators.py``): the check of bounds, so that a compiled graph can
raise an IndexError, and reductions, so that a compiled graph keeps the order of updates on the CPU.
"""

from __future__ import annotations

import inspect
from typing import Any

import array_api_compat.torch as xp
import numpy as np
import torch
from torch import Tensor

from gatherscatter import errors, threads, values
from gatherscatter import plan as plans
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends import derivatives
from gatherscatter.backends.base import GatherOptions, ScatterOptions
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.table import TableBackend
from gatherscatter.backends.torch import memory, operators
from gatherscatter.operators import Operator
from gatherscatter.plan import Plan

# PyTorch supports few operations on unsigned dtypes, so they are viewed as signed ones.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_INDEX_DTYPES = frozenset(
    (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
)
_LAST = torch.iinfo(torch.int64).max


class TorchBackend(TableBackend):
    """Tensors of PyTorch."""

    name = "PyTorch"
    array_name = "torch.Tensor"
    native = frozenset(("add", "mul", "max", "min"))
    makes_complex = True
    takes_along_axes = True

    def owns(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def namespace(self, array: Any) -> Any:
        return xp

    def row_dtype(self, like: Any) -> Any:
        return torch.int64

    def dtype_name(self, array: Any) -> str:
        return str(array.dtype).rpartition(".")[2]

    def asarray(self, value: Any, like: Any) -> Tensor:
        return torch.as_tensor(value, device=like.device)

    def negative(self, array: Any) -> Tensor:
        signed = _SIGNED.get(array.dtype)
        result: Tensor = -array if signed is None else (-array.view(signed)).view(array.dtype)
        return result

    # Small calls

    def try_gather(self, op: Operator, data: Any, indices: Any, options: GatherOptions, out: Any) -> Tensor | None:
        arrays = _small(data, indices, out, None)
        if arrays is None:
            return None
        source, index, target, _ = arrays
        result = try_gather(op.kind, op.wrap_negative_indices, source, index, *options, target, threads.limit)
        return result if result is None else torch.from_numpy(result) if out is None else out

    def try_scatter(
        self, op: Operator, data: Any, indices: Any, updates: Any, options: ScatterOptions, out: Any
    ) -> Tensor | None:
        arrays = _small(data, indices, out, updates)
        if arrays is None:
            return None
        source, index, target, update = arrays
        result = try_scatter(op.kind, op.wrap_negative_indices, source, index, update, *options, target, threads.limit)
        return result if result is None else torch.from_numpy(result) if out is None else out

    # The operators

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        self.check_indices(plan, data, indices)
        if out is not None:
            self.check_out(plan, out, data, plan.shape)
        arrays = memory.as_numpy(data, indices) if out is None else _writable(data, indices, out)
        if arrays is None:
            return super().gather(data, indices, plan, fill_value, out)
        if out is None:
            return memory.from_numpy(NUMPY.gather(arrays[0], arrays[1], plan, fill_value, None), data.dtype)
        NUMPY.gather(arrays[0], arrays[1], plan, fill_value, arrays[2])
        return out

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        self.check_reduction(plan, data)
        self.check_indices(plan, data, indices)
        if not isinstance(updates, Tensor):
            updates = self.as_updates(plan, updates, data)
        self.check_updates(plan, updates, data)
        self.check_devices(plan, data, updates=updates)
        _check_layout(plan, updates)
        if out is not None:
            self.check_out(plan, out, data, plan.data)
        arrays = memory.as_numpy(data, indices, updates) if out is None else _writable(data, indices, updates, out)
        if arrays is None:
            return super().scatter(data, indices, updates, plan, out)
        result = NUMPY.scatter(arrays[0], arrays[1], arrays[2], plan, None if out is None else arrays[3])
        return memory.from_numpy(result, data.dtype) if out is None else out

    def check_indices(self, plan: Plan, data: Any, indices: Any) -> None:
        if indices.dtype not in _INDEX_DTYPES:
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
        self.check_devices(plan, data, indices=indices)
        _check_layout(plan, data, indices)

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        """For a dtype that NumPy lacks: float32, from which numbers are then rounded once more."""
        return memory.NUMPY_DTYPES.get(array.dtype, np.dtype(np.float32))

    def from_numpy(self, array: values.Array, like: Any) -> Tensor:
        if like.dtype not in memory.NUMPY_DTYPES:
            return torch.tensor(array.tolist(), dtype=like.dtype, device=like.device)
        flat = memory.from_numpy(array.reshape(-1), like.dtype)
        return flat.to(like.device).reshape(array.shape)

    def deliver(self, result: Any, out: Any) -> Any:
        return result if out is None else out.copy_(result)

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

    def check_bounds(self, rows: Any, outside: Any | None, indices: Any, plan: Plan) -> Any:
        """In a trace or transform, the check is a custom operator."""
        if outside is None or plan.mode == "fill" or indices.is_meta:  # meta tensors have no values to check
            return rows
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active() or type(outside) is not Tensor:
            return operators.checked(
                rows, outside, indices, operators.words_of(plan.operator), plan.kind, plan.wrap_negative_indices,
                plan.axis, plan.depth, plan.batch_dims, plan.data, 0,
            )  # fmt: skip
        return super().check_bounds(rows, outside, indices, plan)

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
        return operators.longer(table).index_copy(0, rows, updates)[:-1]

    def reduce(self, table: Any, rows: Any, updates: Any, reduction: str) -> Any:
        if reduction == "add" and table.dtype in (torch.float32, torch.float64) and not torch.compiler.is_compiling():
            return operators.longer(table).index_add(0, rows, updates)[:-1]  # in order on the CPU
        if table.is_floating_point() or table.is_complex():
            return _Combine.apply(table, rows, updates, reduction)
        return operators.combined(table, rows, updates, reduction)

    def divide(self, sums: Any, counts: Any) -> Any:
        return torch.div(sums, counts)

    def make_complex(self, real: Any, imag: Any) -> Any:
        return torch.complex(real, imag)


class _UnsignedBackend(TorchBackend):
    """Unsigned integers viewed as signed ones of the same width."""

    def write(self, data: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        return TableBackend.write(self, data, rows, updates, plan)

    def floor_divide(self, sums: Any, counts: Any) -> Any:
        bits = torch.iinfo(sums.dtype).bits
        if bits < 64:
            return ((sums.long() & (2**bits - 1)) // counts).to(sums.dtype)
        quotient = ((sums >> 1) & _LAST) // counts * 2  # divide half of the sum, which is not negative, and double
        return quotient + (sums - quotient * counts >= counts)


def _small(data: Any, indices: Any, out: Any, updates: Any) -> tuple[Any, Any, Any, Any] | None:
    """(data, indices, out, updates) as NumPy arrays on the same memory; what is no tensor, as it is.

    None if the call is not for the fast path: one of them needs more than `Tensor.numpy`, or `out` is no tensor.
    """
    # Not for subclasses of Tensor, whose results may be of the subclass.
    if memory.is_watched() or not type(data) is type(indices) is Tensor or type(out) not in (Tensor, type(None)):
        return None
    try:
        source = data.numpy()
        target = source if out is data else None if out is None else out.numpy()
        return source, indices.numpy(), target, updates.numpy() if type(updates) is Tensor else updates
    except (RuntimeError, TypeError):
        return None


def _writable(*tensors: Tensor) -> list[np.ndarray[Any, Any]] | None:
    """As `memory.as_numpy`; the last tensor is written to, so it must not be a lazy negation or conjugate."""
    out = tensors[-1]
    return None if out.is_neg() or out.is_conj() else memory.as_numpy(*tensors)


def _check_layout(plan: Plan, *tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor.layout is not torch.strided:
            reason = "pass tensor.to_dense()"
            raise errors.cannot("PyTorch", plan.operator, f"a tensor of layout {tensor.layout}", reason)


BACKEND = TorchBackend()
_UNSIGNED = _UnsignedBackend()


class _Combine(torch.autograd.Function):
    """gatherscatter::combined with gradients of any order."""

    generate_vmap_rule = True

    @staticmethod
    def forward(table: Tensor, rows: Tensor, updates: Tensor, reduction: str) -> Tensor:
        result: Tensor = operators.combined(table, rows, updates, reduction)
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
            to_table, to_updates = derivatives.factors(BACKEND, table, rows, updates)
            return grad * to_table.conj(), None, _take_or_zero(grad, rows) * to_updates.conj(), None
        in_table, in_updates, count = derivatives.winners(BACKEND, table, rows, updates, result)
        share = grad / count.to(grad.dtype)
        zero = torch.zeros((), dtype=grad.dtype, device=grad.device)
        to_updates = torch.where(in_updates, _take_or_zero(share, rows), zero)
        return torch.where(in_table, share, zero), None, to_updates, None


def _take_or_zero(table: Tensor, rows: Tensor) -> Tensor:
    return operators.longer(table).index_select(0, rows)


# torch.compile traces the functions that make plans, without the lru_cache around them.
torch.compiler.substitute_in_graph(plans.gather)(inspect.unwrap(plans.gather))
torch.compiler.substitute_in_graph(plans.scatter)(inspect.unwrap(plans.scatter))
