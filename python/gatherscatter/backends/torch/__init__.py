"""PyTorch tensors, on any device, with autograd, `torch.func` and `torch.compile`.

CPU tensors go to the compiled kernels, as NumPy arrays that share their memory (``memory.py``); other tensors to
PyTorch's primitives (``primitives.py``). Both are operators of PyTorch's dispatcher (``operators.py``), so that traces
keep them, and have gradients (``autograd.py``). This module checks the arguments.

Small calls have no plan. The compiled `torch_tensors.try_gather` and `torch_tensors.try_scatter` (``small_calls.py``)
decide who takes them: the kernels' fast path, or with a gradient ``small_forward.py``, whose backward pass is in
``small_backward.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import array_api_compat.torch as xp
import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from gatherscatter import errors, threads, values
from gatherscatter import plan as plans
from gatherscatter._kernels import torch_tensors
from gatherscatter.backends.base import Backend, GatherOptions, ScatterOptions
from gatherscatter.backends.library import each, merged_shape
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.overlap import addresses
from gatherscatter.backends.torch import autograd, memory, operators, small_calls, small_forward
from gatherscatter.operators import ARRAYS, Operator
from gatherscatter.plan import Plan

# Negation of unsigned integers, which PyTorch lacks, is that of signed ones.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
_INDEX_DTYPES = frozenset(
    (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
)


class TorchBackend(Backend):
    """Tensors of PyTorch."""

    name = "PyTorch"
    array_name = "torch.Tensor"
    uses_orders = True
    has_negative_steps = False
    where_name = "torch.where"

    def owns(self, value: Any) -> bool:
        return isinstance(value, Tensor)

    def namespace(self, array: Any) -> Any:
        return xp

    def dtype_name(self, array: Any) -> str:
        return str(array.dtype).rpartition(".")[2]

    def asarray(self, value: Any, like: Any) -> Tensor:
        if isinstance(value, np.ndarray) and not torch.compiler.is_compiling():
            value = np.require(value, value.dtype.newbyteorder("="), ("C", "W"))  # what as_tensor takes
        return torch.as_tensor(value, device=like.device)

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        """For a dtype that NumPy lacks: float32, from which numbers are then rounded once more."""
        return memory.NUMPY_DTYPES.get(array.dtype, np.dtype(np.float32))

    def from_numpy(self, array: values.Array, like: Any) -> Tensor:
        if like.dtype not in memory.NUMPY_DTYPES:
            return torch.tensor(array.tolist(), dtype=like.dtype, device=like.device)
        if not array.ndim and like.dtype not in _SIGNED:  # made there: a copy to a GPU would wait for it
            return torch.full((), array.item(), dtype=like.dtype, device=like.device)
        writable = array.reshape(-1) if array.flags.writeable else array.flatten()
        flat = memory.from_numpy(writable, like.dtype)
        return flat.to(like.device).reshape(array.shape)

    def element(self, plan: Plan, argument: str, value: Any, data: Any) -> Any:
        """In torch.compile, which cannot trace NumPy's conversion, without NumPy."""
        if torch.compiler.is_compiling() and isinstance(value, Tensor):
            raise errors.not_readable(plan.operator, argument, "a traced tensor")  # whose repr cannot be traced
        if not torch.compiler.is_compiling() or type(value) not in (bool, int, float, complex):
            return super().element(plan, argument, value, data)
        if not _holds(data.dtype, value):
            raise errors.value_dtype(plan.operator, argument, value, data.dtype)
        return torch.full((), value, dtype=data.dtype, device=data.device)

    def negative(self, array: Any) -> Tensor:
        signed = _SIGNED.get(array.dtype)
        result: Tensor = -array if signed is None else (-array.view(signed)).view(array.dtype)
        return result

    # Small calls

    def try_gather(self, op: Operator, data: Any, indices: Any, options: GatherOptions, out: Any) -> Tensor | None:
        return small_calls.small_gather(
            op.kind, op.wrap_negative_indices, data, indices, *options, out, threads.limit, op
        )

    def try_scatter(
        self, op: Operator, data: Any, indices: Any, updates: Any, options: ScatterOptions, out: Any
    ) -> Tensor | None:
        return small_calls.small_scatter(
            op.kind, op.wrap_negative_indices, data, indices, updates, *options, out, threads.limit, op
        )

    def check_layout(self, op: Operator, **arguments: Any) -> None:
        """Check that the tensors have elements at strides. The shape of a nested tensor may be an error to ask for."""
        for argument, tensor in arguments.items():
            if not isinstance(tensor, Tensor):
                continue
            name = op.argument(argument)
            if tensor.is_nested:
                reason = f"pass torch.nested.to_padded_tensor({name}, 0)"
                raise errors.cannot("PyTorch", op, f"nested {name}", reason)
            if tensor.is_quantized:
                raise errors.cannot("PyTorch", op, f"quantized {name}", f"pass {name}.dequantize()")
            if tensor.layout is not torch.strided:
                reason = f"pass {name}.to_dense()"
                raise errors.cannot("PyTorch", op, f"{name} of layout {tensor.layout}", reason)

    # The operators

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        fill = None
        if plan.kind != ARRAYS:
            self._check_indices(plan, data, indices)
            fill = self.element(plan, "fill_value", fill_value, data) if plan.mode == "fill" else None
        if out is not None:
            self.check_out(plan, out, data, plan.shape)
        if out is not None or plan.kind == ARRAYS:
            arrays = self.readable(plan.operator, data=data, indices=indices, out=out)
            if arrays is not None:
                target = None if out is None else arrays.pop()
                source, index = arrays[0], tuple(arrays[1:]) if plan.kind == ARRAYS else arrays[1]
                return _delivered(NUMPY.gather(source, index, plan, fill_value, target), data, out)
        result = autograd.gather(data, indices, fill, operators.options_of(plan), plan)
        return result if out is None else out.copy_(result)

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        self.check_reduction(plan, data)
        if plan.kind != ARRAYS:
            self._check_indices(plan, data, indices)
        if isinstance(updates, Tensor):
            data, updates = _autocast(data, updates)
            updates = self.fit_updates(plan, updates, data)
        else:
            updates = self.as_updates(plan, updates, data)
        self.check_devices(plan, data, updates=updates)
        if out is not None:
            self.check_out(plan, out, data, plan.data)
            _check_gradients(plan, updates=updates, out=out)
        if out is not None or plan.kind == ARRAYS:
            arrays = self.readable(plan.operator, data=data, updates=updates, indices=indices, out=out)
            if arrays is not None:
                target = None if out is None else arrays.pop()
                source, update, *rest = arrays
                index = tuple(rest) if plan.kind == ARRAYS else rest[0]
                return _delivered(NUMPY.scatter(source, index, update, plan, target), data, out)
        options = operators.options_of(plan)
        result = autograd.scatter(data, indices, updates, plan.reduction, plan.include_self, options, plan)
        return result if out is None else out.copy_(result)

    def gather_scatter(self, arrays: Sequence[Any], to: Plan, of: Plan, out: Any) -> Any:
        data = arrays[0]
        self.check_reduction(to, data)
        if out is None:
            return autograd.gather_scatter(arrays, to, of)
        self.check_out(to, out, data, to.data)
        tensors = dict(zip(operators.PASSED, arrays, strict=False))
        _check_gradients(to, updates=tensors["source"], out=out)
        _check_gradients(to, updates=arrays[-1], out=out)
        found = self.readable(to.operator, **tensors, out=out)
        result = None if found is None else NUMPY.gather_scatter(found[:-1], to, of, found[-1])
        return None if result is None else _delivered(result, data, out)

    def constants(self) -> AbstractContextManager[Any]:
        """Outside inference mode, whose tensors no gradient can use later."""
        if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
            return nullcontext()
        return torch.inference_mode(False)

    def addresses(self, array: Any) -> values.Array | None:
        if torch.compiler.is_compiling() or not (memory.is_plain(array) and memory.fits(array)):
            return None
        strides = tuple(stride * array.itemsize for stride in array.stride())
        return addresses(array.data_ptr(), tuple(array.shape), strides, array.itemsize)

    def writes_views(self, array: Any) -> bool:
        return not _overlaps_itself(array)

    def readable(self, op: Operator, **arguments: Any) -> list[values.Array] | None:
        """`out` is written too, so that it may be no lazy negation or conjugate, of which a copy is read."""
        if memory.is_watched():
            return None
        named = [pair for pair in each(arguments) if isinstance(pair[1], Tensor)]
        tensors = [tensor for _, tensor in named]
        if not memory.is_plain(*tensors) or memory.needs_gradient(*tensors):
            return None
        out = arguments.get("out")
        if isinstance(out, Tensor) and (out.is_neg() or out.is_conj()):
            return None
        arrays = memory.as_numpy(*tensors)
        if arrays is not None:
            operators.check_storage(op, *named)
        return arrays

    def returned(self, result: values.Array, data: Any, dtype: str) -> Tensor:
        return memory.from_numpy(result, getattr(torch, dtype))

    def needs_gradient(self, array: Any) -> bool:
        return memory.needs_gradient(array)

    def recorded(self, result: Any, data: Any, indices: Any, formula: Callable[[Any, Any, Any], Any]) -> Tensor:
        return autograd.with_formula(result, data, indices, formula)

    def scatter_wide(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        """By the kernels, which need no wide copy, unless a gradient or a trace has to record the casts."""
        arrays = self.readable(plan.operator, data=data, indices=indices, updates=updates, out=out)
        call = super().scatter_wide if arrays is None else self.scatter
        return call(data, indices, updates, plan, out)

    def deliver(self, plan: Plan, result: Any, out: Any) -> Any:
        if out is None:
            return result
        if result.requires_grad and memory.is_recording():
            raise errors.out_gradient(plan.operator, "updates")
        return out.copy_(result)

    def check_out(self, plan: Plan, out: Any, data: Any, shape: tuple[int, ...]) -> None:
        super().check_out(plan, out, data, shape)
        _check_gradients(plan, data=data, out=out)

    def broadcast(self, array: Any, shape: tuple[int, ...]) -> Tensor:
        result: Tensor = array.expand(shape)
        return result

    def extremes(self, array: Any) -> tuple[int, int]:
        """By NumPy, or on a GPU by one reduction."""
        if not isinstance(array, Tensor):
            return super().extremes(array)
        if array.dtype in _SIGNED or (array.is_cpu and not memory.is_watched()):
            return super().extremes(self.as_numpy(array))
        if 0 in array.shape:
            return 0, -1
        with self.constants():
            least, greatest = torch.stack(torch.aminmax(array)).tolist()
        return least, greatest

    def without_gradient(self, array: Any) -> Tensor:
        result: Tensor = array.detach()
        return result

    def dtype_of(self, name: str, like: Any) -> Any:
        return getattr(torch, name)

    def astype(self, array: Any, dtype: Any) -> Tensor:
        result: Tensor = array.to(dtype)
        return result

    # For `at`

    def is_unknown(self, array: Any) -> bool:
        return torch.compiler.is_compiling() or bool(array.is_meta)

    def as_numpy(self, array: Any) -> values.Array | None:
        return super().as_numpy(array.detach().cpu())

    def merged(self, array: Any, axis: int, depth: int) -> Tensor | None:
        try:
            result: Tensor = array.view(merged_shape(tuple(array.shape), axis, depth))
        except RuntimeError:
            return None
        return result

    def selected(self, array: Any, key: tuple[Any, ...]) -> Tensor:
        result: Tensor = array[key].clone()
        return result

    def combined(self, plan: Plan, data: Any, updates: Any) -> Tensor:
        result: Tensor = updates.clone()
        return result

    def replaced(self, plan: Plan, array: Any, key: tuple[Any, ...], part: Any) -> Tensor:
        if memory.is_transformed():  # torch.func.vmap, which cannot write a mapped part to a tensor that is not
            return _in_place_of(array.to(part.dtype), key, part, 0)
        result: Tensor = array.to(part.dtype, copy=True)
        result[key] = part
        return result

    def _check_indices(self, plan: Plan, data: Any, indices: Any) -> None:
        if indices.dtype not in _INDEX_DTYPES:
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
        self.check_devices(plan, data, indices=indices)


def _holds(dtype: torch.dtype, value: bool | int | float | complex) -> bool:
    """Whether a dtype holds a Python number, with the rules of `values.element`."""
    if dtype.is_complex or type(value) is bool or value == 0:
        return True
    if dtype.is_floating_point:
        return type(value) is not complex
    if dtype is torch.bool or type(value) is not int:
        return False
    limits = torch.iinfo(dtype)
    return limits.min <= value <= limits.max


def _delivered(result: values.Array, data: Tensor, out: Tensor | None) -> Tensor:
    """The kernels' result as a tensor: `out`, if it is given, with a new version for autograd."""
    if out is None:
        return memory.from_numpy(result, data.dtype)
    if not out.is_inference():  # these have no version counter
        increment_version(out)
    return out


def _overlaps_itself(tensor: Tensor) -> bool:
    """Whether an axis repeats the same elements, as those of `Tensor.expand` do."""
    return any(n > 1 and stride == 0 for n, stride in zip(tensor.shape, tensor.stride(), strict=True))


def _autocast(data: Tensor, updates: Tensor) -> tuple[Tensor, Tensor]:
    """Under `torch.autocast`: both in the wider of two floating-point dtypes, as for torch.scatter_add."""
    if data.dtype is updates.dtype or not torch.is_autocast_enabled(data.device.type):
        return data, updates
    if not (data.is_floating_point() and updates.is_floating_point()):
        return data, updates
    wide = torch.promote_types(data.dtype, updates.dtype)
    return data.to(wide), updates.to(wide)


def _in_place_of(x: Tensor, key: tuple[Any, ...], part: Tensor, axis: int) -> Tensor:
    """A tensor like x with the part that a basic index selects replaced, without writing to x. axis: where to go on."""
    while axis < len(key) and key[axis] == slice(None):
        axis += 1
    if axis == len(key):
        return part
    item, front = key[axis], key[:axis]
    if isinstance(item, int):
        inner = _in_place_of(x[(*front, item)], (*front, *key[axis + 1 :]), part, axis)
        return torch.select_scatter(x, inner, axis, item)
    inner = _in_place_of(x[(*front, item)], (*front, slice(None), *key[axis + 1 :]), part, axis + 1)
    return torch.slice_scatter(x, inner, axis, item.start, item.stop, item.step or 1)


def _check_gradients(plan: Plan, out: Tensor, **tensors: Tensor) -> None:
    """Check that a call with `out` needs no gradient, and may change `out`."""
    if memory.is_recording():
        for argument, tensor in {**tensors, "out": out}.items():
            if tensor.requires_grad:
                raise errors.out_gradient(plan.operator, argument)
    if torch.compiler.is_compiling():  # which cannot trace the next question
        return
    if out.is_inference() and not torch.is_inference_mode_enabled():
        raise errors.out_inference(plan.operator)


BACKEND = TorchBackend()
torch_tensors.record_by(small_forward.gather, small_forward.scatter)

# torch.compile traces the functions that make plans, without the lru_cache around them. (Substitutes for them, by
# torch.compiler.substitute_in_graph, would import torch._dynamo, which a call outside of torch.compile does not need.)
plans.is_tracing = torch.compiler.is_compiling
