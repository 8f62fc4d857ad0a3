"""Gradients of gathers and scatters, in reverse and forward mode, to any order.

`gather` and `scatter` choose how a call is recorded: by PyTorch's dispatcher in a trace, a transform of torch.func or
forward mode; by a `torch.autograd.Function`, which takes less time, if only a gradient is wanted; or not at all. The
formulas (``backends/derivatives.py``) call `gather` and `scatter` again, so derivatives of any order follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import array_api_compat.torch as xp
import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import Function, forward_ad
from torch.autograd.function import _SingleLevelFunction

from gatherscatter.backends import derivatives
from gatherscatter.backends.torch import memory, operators, small_backward
from gatherscatter.backends.torch.operators import IndexingByOptions, Options
from gatherscatter.plan import Plan

# A gather's mode, and that of the scatters in its formulas; a scatter's mode, and that of its gathers.
_SCATTER_MODES = {"fill": "drop", "raise": "promise_in_bounds"}
_GATHER_MODES = {"drop": "fill", "raise": "promise_in_bounds"}


def gather(data: Tensor, indices: Tensor, fill: Tensor | None, options: Options, plan: Plan | None = None) -> Tensor:
    """A gather, with its gradient. plan: the same as options, if it is known."""
    if memory.is_watched() or not memory.is_plain(data, indices):
        result: Tensor = operators.gather(data, indices, fill, *options.values)
        return result
    result = operators.gathered(data, indices, fill, plan or options.plan(False, data.shape, indices.shape))
    return with_gather(result, data, indices, options)


def scatter(
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: str,
    include_self: bool,
    options: Options,
    plan: Plan | None = None,
) -> Tensor:
    """A scatter, with its gradients."""
    if memory.is_watched() or not memory.is_plain(data, indices, updates):
        result: Tensor = operators.scatter(data, indices, updates, reduction, include_self, *options.values)
        return result
    if plan is None:
        plan = options.plan(True, data.shape, indices.shape, reduction, include_self)
    result = operators.scattered(data, indices, updates, plan)
    return with_scatter(result, data, indices, updates, reduction, include_self, options)


def with_gather(result: Tensor, data: Tensor, indices: Tensor, options: Options) -> Tensor:
    """The result of a gather, recorded for reverse mode if a gradient is wanted."""
    if memory.needs_gradient(data):
        result = _Gather.apply(data, indices, options, _Box(result))
    return result


def with_scatter(
    result: Tensor,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: str,
    include_self: bool,
    options: Options,
) -> Tensor:
    """The result of a scatter, recorded for reverse mode if a gradient is wanted."""
    if memory.needs_gradient(data, updates):
        result = _Scatter.apply(data, indices, updates, reduction, include_self, options, _Box(result))
    return result


def with_formula(result: Tensor, data: Tensor, indices: Tensor, formula: Formula) -> Tensor:
    """A result, recorded with the formula of its gradient."""
    recorded: Tensor = _Reduced.apply(data, indices, formula, _Box(result))
    return recorded


def gather_scatter(tensors: Sequence[Tensor], to: Plan, of: Plan) -> Tensor | None:
    """A gather and a scatter along axis 0 in one pass, with its gradients; None if that is not possible.

    tensors: data, indices, source, source_indices and, if there are, weights.
    """
    wants = memory.needs_gradient(*tensors)
    if memory.is_watched() or not memory.is_plain(*tensors) or (wants and to.reduction not in ("add", "mean")):
        return None
    result = operators.passed(tensors, to, of)
    if result is not None and wants:
        options = operators.options_of(to), operators.options_of(of)
        result = _GatherScatter.apply(to.reduction, to.include_self, *options, _Box(result), *tensors)
    return result


Formula = Callable[[Any, Any, Any], Any]


class _Box(NamedTuple):
    """A finished result. A plain tensor would count as an input, and the output as an alias of it."""

    result: Tensor


class _Indexing(IndexingByOptions):
    """Gathers and scatters on tensors by the indices of one call."""

    xp = xp

    def __init__(self, indices: Tensor, data: Any, options: Options) -> None:
        super().__init__(indices, data, options)
        self.integer = torch.int32 if math.prod(indices.shape) < 2**31 else torch.int64

    def gather(self, data: Any) -> Tensor:
        options = self.options._replace(mode=_GATHER_MODES.get(self.options.mode, self.options.mode))
        if not memory.needs_gradient(data):
            result = small_backward.gather(data, self.indices, options)
            if result is not None:
                return result
        return gather(data, self.indices, _zeros((), data) if options.mode == "fill" else None, options)

    def scatter(self, data: Any, updates: Any, reduction: str, include_self: bool = True) -> Tensor:
        return scatter(data, self.indices, updates, reduction, include_self, self.options)

    def assigned(self, grad: Any, wants: Any) -> tuple[Any, Any]:
        if memory.needs_gradient(grad) or memory.is_watched() or not memory.is_plain(grad, self.indices):
            return super().assigned(grad, wants)
        if not wants[1]:  # destinations have no gradient
            plan = self.options.plan(True, grad.shape, self.indices.shape, "none", True)
            return self.scatter(grad, _zeros((), grad).expand(plan.shape), "none"), None
        if not wants[0]:
            return super().assigned(grad, wants)
        return operators.assigned(grad, self.indices, self.options) or super().assigned(grad, wants)

    def integers(self, shape: Any, value: int) -> Tensor:
        return torch.full((), value, dtype=torch.int64, device=self.indices.device).expand(shape)

    def numbers(self, shape: Any) -> Tensor:
        return torch.arange(1, math.prod(shape) + 1, device=self.indices.device).reshape(shape)


def _zeros(shape: Any, like: Tensor) -> Tensor:
    """Zeros of like's dtype and device, without axes of vmap, which those of `Tensor.new_zeros` have."""
    return torch.zeros(tuple(shape), dtype=like.dtype, device=like.device)


# Formulas. ctx: a context of autograd


def _save_gather(ctx: Any, data: Tensor, indices: Tensor, options: Options) -> None:
    ctx.save_for_backward(indices)
    ctx.shape, ctx.options = data.shape, options


def _gather_vjp(ctx: Any, grad: Tensor) -> Tensor:
    grad = _dense(grad)
    (indices,) = ctx.saved_tensors
    options = ctx.options._replace(mode=_SCATTER_MODES.get(ctx.options.mode, ctx.options.mode))
    if not memory.needs_gradient(grad):
        result = small_backward.sums(ctx.shape, indices, grad, options)
        if result is not None:
            return result
    if not memory.is_watched() and grad.ndim and grad.stride(-1) > 1:
        grad = grad.contiguous()  # such as a transposed one: the kernels take longer for strided rows than the copy
    zeros = memory.zeros(ctx.shape, grad.dtype) if grad.is_cpu and not memory.is_watched() else _zeros(ctx.shape, grad)
    return scatter(zeros, indices, grad, "add", True, options)


def _gather_jvp(ctx: Any, tangent: Tensor) -> Tensor:
    (indices,) = _primals(ctx)
    with forward_ad._set_fwd_grad_enabled(True):
        return gather(tangent, indices, _zeros((), tangent) if ctx.options.mode == "fill" else None, ctx.options)


def _values_for(reduction: str, *values: Tensor) -> tuple[Tensor, ...]:
    """What the formulas need of (data, updates, result): linear reductions nothing, products not the result."""
    return values[: {"mul": 2, "max": 3, "min": 3}.get(reduction, 0)]


def _values_of(saved: list[Any]) -> tuple[Any, Any, Any]:
    """(data, updates, result) from what is saved; None for what is not."""
    data, updates, result = [*saved, None, None, None][:3]
    return data, updates, result


def _save_scatter(
    ctx: Any, data: Tensor, indices: Tensor, updates: Tensor, reduction: str, include_self: bool, options: Options,
    result: Tensor,
) -> None:  # fmt: skip
    ctx.save_for_backward(indices, *_values_for(reduction, data, updates, result))
    ctx.reduction, ctx.include_self, ctx.shape = reduction, include_self, data.shape
    ctx.options = options._replace(mode="promise_in_bounds") if options.mode == "raise" else options


def _scatter_vjp(ctx: Any, grad: Tensor, wants: tuple[bool, bool]) -> tuple[Any, Any]:
    grad = _dense(grad)
    indices, *values = ctx.saved_tensors
    if not memory.needs_gradient(grad, *values):
        ready = small_backward.scatter_vjp(indices, values, grad, ctx.reduction, ctx.include_self, ctx.options, wants)
        if ready is not None:
            return ready
    data, updates, result = _values_of(values)
    at = _Indexing(indices, ctx.shape, ctx.options)
    return derivatives.scatter_vjp(at, ctx.reduction, ctx.include_self, data, updates, result, grad, wants)


def _scatter_jvp(ctx: Any, of_data: Any, of_updates: Any) -> Tensor:
    indices, *values = _primals(ctx)
    data, updates, result = _values_of(values)
    at = _Indexing(indices, ctx.shape, ctx.options)
    with forward_ad._set_fwd_grad_enabled(True):
        if of_data is None:
            of_data = _zeros(ctx.shape, of_updates)
        if of_updates is None:
            of_updates = _zeros((*at.tuples, *ctx.shape[len(at.leading) :]), of_data)
        tangents = of_data, of_updates
        tangent: Tensor = derivatives.scatter_jvp(at, ctx.reduction, ctx.include_self, data, updates, result, tangents)
    return tangent


def _dense(grad: Tensor) -> Tensor:
    return grad if grad.layout is torch.strided else grad.to_dense()


def _primals(ctx: Any) -> list[Tensor]:
    """Saved tensors without the tangents of this level, with those of the levels outside."""
    level = max(forward_ad._current_level, 0)
    return [forward_ad.unpack_dual(tensor, level=level).primal for tensor in ctx.saved_tensors]


# Reverse mode alone: a result that is ready is recorded


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, indices: Tensor, options: Options, box: _Box) -> Tensor:
        _save_gather(ctx, data, indices, options)
        return box.result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _gather_vjp(ctx, grad), None, None, None


class _Scatter(Function):
    @staticmethod
    def forward(
        ctx: Any,
        data: Tensor,
        indices: Tensor,
        updates: Tensor,
        reduction: str,
        include_self: bool,
        options: Options,
        box: _Box,
    ) -> Tensor:
        _save_scatter(ctx, data, indices, updates, reduction, include_self, options, box.result)
        return box.result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        to_data, to_updates = _scatter_vjp(ctx, grad, (ctx.needs_input_grad[0], ctx.needs_input_grad[2]))
        return to_data, None, to_updates, None, None, None, None


class _Reduced(Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, indices: Tensor, formula: Formula, box: _Box) -> Tensor:
        ctx.save_for_backward(data, indices, box.result)
        ctx.formula = formula
        return box.result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        data, _, result = ctx.saved_tensors  # indices: an error if they have changed
        return ctx.formula(data, result, grad), None, None, None


class _Passing(_Indexing):
    """The indexing of `gather_scatter`: what the formulas gather becomes the gradients of source and weights."""

    def __init__(self, data: Any, to: Options, of: Options, tensors: Sequence[Tensor], wants: Sequence[bool]) -> None:
        super().__init__(tensors[0], data, to)
        self.of, self.tensors, self.wants = of, tensors, wants

    def of_rows(self) -> _Indexing:
        return _Indexing(self.indices, self.leading, self.options)

    def gather(self, data: Any) -> Any:
        """Both gradients; None for one that nobody wants."""
        indices, source, source_indices, *weights = self.tensors
        to_source = to_weights = None
        if self.wants[0]:
            rows = data, indices, *weights
            to_source = _weighted_sums(source.shape, source_indices, rows, self.of, self.options)
        if self.wants[1]:
            to_weights = _dots((source, source_indices, data, indices), weights[0].shape, self.of, self.options)
        return to_source, to_weights


def _weighted_sums(shape: Any, indices: Tensor, rows: Sequence[Tensor], to: Options, of: Options) -> Tensor:
    """Sums of rows of a source, in an array of this shape. rows: source, its indices and, if there are, weights."""
    source, source_indices, *weights = rows
    result = None
    if not memory.is_watched() and memory.is_plain(source, *weights) and source.is_contiguous():
        zeros = memory.zeros((1, *shape[1:]), source.dtype).expand(shape)
        plan = to.plan(True, shape, indices.shape, "add", True)
        result = gather_scatter((zeros, indices, *rows), plan, of.plan(False, source.shape, source_indices.shape))
    if result is None:
        updates = gather(source, source_indices, None, of)
        for factors in weights:
            updates = updates * factors.reshape(*factors.shape, *[1] * (updates.ndim - factors.ndim))
        result = scatter(memory.zeros(shape, source.dtype), indices, updates, "add", True, to)
    return result


def _dots(tensors: Sequence[Tensor], shape: Any, first: Options, second: Options) -> Tensor:
    """Dot products of rows of two tensors, of this shape, with their gradients. tensors: each with its indices."""
    a, at_a, b, at_b = tensors
    result: Tensor | None = None
    if not memory.is_watched() and memory.is_plain(*tensors):
        if memory.needs_gradient(a, b):
            result = _Dots.apply(shape, first, second, *tensors)
        else:
            result = operators.dots(tensors, shape, first, second)
    if result is None:
        products = gather(a, at_a, None, first) * gather(b, at_b, None, second)
        result = products.reshape(*shape, products.shape[len(shape) :].numel()).sum(-1)
    return result


class _Dots(Function):
    @staticmethod
    def forward(
        ctx: Any, shape: Any, first: Options, second: Options, a: Tensor, at_a: Tensor, b: Tensor, at_b: Tensor
    ) -> Tensor:
        ctx.save_for_backward(a, at_a, b, at_b)
        ctx.options = first, second
        return _dots((a.detach(), at_a, b.detach(), at_b), shape, first, second)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        a, at_a, b, at_b = ctx.saved_tensors
        first, second = ctx.options
        grad = _dense(grad)
        wants = ctx.needs_input_grad
        to_a = _weighted_sums(a.shape, at_a, (b, at_b, grad), first, second) if wants[3] else None
        to_b = _weighted_sums(b.shape, at_b, (a, at_a, grad), second, first) if wants[5] else None
        return None, None, None, to_a, None, to_b, None


class _GatherScatter(Function):
    @staticmethod
    def forward(
        ctx: Any, reduction: str, include_self: bool, to: Options, of: Options, box: _Box, data: Tensor,
        *tensors: Tensor,
    ) -> Tensor:  # fmt: skip
        ctx.save_for_backward(*tensors)
        ctx.shape, ctx.rules = data.shape, (reduction, include_self)
        ctx.options = [x._replace(mode="promise_in_bounds") if x.mode == "raise" else x for x in (to, of)]
        return box.result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        wants = *ctx.needs_input_grad, False
        of_data, of_source, of_weights = wants[5], wants[7], wants[9]
        (reduction, include_self), (to, of) = ctx.rules, ctx.options
        at = _Passing(ctx.shape, to, of, ctx.saved_tensors, (of_source, of_weights))
        grad = _dense(grad)
        grad = grad if memory.is_watched() else grad.contiguous()
        asked = of_data, of_source or of_weights
        to_data, found = derivatives.scatter_vjp(at, reduction, include_self, None, None, None, grad, asked)
        to_source, to_weights = found or (None, None)
        return (*(None,) * 5, to_data, None, to_source, None, to_weights)[: len(wants) - 1]


# Everything else: the dispatcher calls an operator once for each level of torch.func


class _Call(NamedTuple):
    """What the dispatcher and the levels outside need to know of a call."""

    keys: Any
    grad_enabled: bool
    forward_enabled: bool

    def below(self, operator: Any, *arguments: Any) -> Tensor:
        """The operator without autograd of this level."""
        # Function.apply() turned gradients off, for the levels outside too.
        with (
            torch.set_grad_enabled(self.grad_enabled),
            forward_ad._set_fwd_grad_enabled(self.forward_enabled),
            torch._C._AutoDispatchBelowAutograd(),
        ):
            result: Tensor = operator.redispatch(self.keys & torch._C._after_autograd_keyset, *arguments)
        return result


# These are called for one level at a time. (Function.apply() would pass the call to all levels.)
class _GatherOnce(_SingleLevelFunction):
    @staticmethod
    def forward(ctx: Any, call: _Call, data: Tensor, indices: Tensor, fill: Any, *options: Any) -> Tensor:
        _save_gather(ctx, data, indices, Options.of_values(*options))
        ctx.save_for_forward(indices)
        return call.below(operators.gather, data, indices, fill, *options)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, _gather_vjp(ctx, grad), *(None,) * (2 + len(ctx.options.values))

    @staticmethod
    def jvp(ctx: Any, _: Any, tangent: Tensor, *__: Any) -> Tensor:
        return _gather_jvp(ctx, tangent)


class _ScatterOnce(_SingleLevelFunction):
    @staticmethod
    def forward(
        ctx: Any,
        call: _Call,
        data: Tensor,
        indices: Tensor,
        updates: Tensor,
        reduction: str,
        include_self: bool,
        *options: Any,
    ) -> Tensor:
        result = call.below(operators.scatter, data, indices, updates, reduction, include_self, *options)
        _save_scatter(ctx, data, indices, updates, reduction, include_self, Options.of_values(*options), result)
        ctx.save_for_forward(*ctx.to_save)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        to_data, to_updates = _scatter_vjp(ctx, grad, (ctx.needs_input_grad[1], ctx.needs_input_grad[3]))
        return None, to_data, None, to_updates, *(None,) * (2 + len(ctx.options.values))

    @staticmethod
    def jvp(ctx: Any, of_call: Any, of_data: Any, of_indices: Any, of_updates: Any, *others: Any) -> Tensor:
        return _scatter_jvp(ctx, of_data, of_updates)


def _register(name: str, operator: Any, function: type[_SingleLevelFunction]) -> None:
    def autograd(keys: Any, *arguments: Any) -> Tensor:
        call = _Call(keys, torch.is_grad_enabled(), torch._C._is_fwd_grad_enabled())
        if not (call.grad_enabled and torch._C._any_requires_grad(*arguments)) and not memory.is_transformed():
            return call.below(operator, *arguments)
        with enable_single_level_autograd_function():
            result: Tensor = function.apply(call, *arguments)  # type: ignore[attr-defined]
        return result

    operators.LIBRARY.impl(name, autograd, "Autograd", with_keyset=True)


_register("gather", operators.gather, _GatherOnce)
_register("scatter", operators.scatter, _ScatterOnce)
