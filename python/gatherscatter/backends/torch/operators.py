"""The operators ``gatherscatter::gather`` and ``gatherscatter::scatter`` of PyTorch's dispatcher.

Each runs on the kernels, or on PyTorch's primitives if the kernels cannot read the tensors. Here are also their shapes
without numbers (for meta and fake tensors) and their rules for `torch.func.vmap`. ``autograd.py`` has their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gatherscatter import errors
from gatherscatter import plan as plans
from gatherscatter.backends import kernels
from gatherscatter.backends.derivatives import Indexing
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.torch import memory
from gatherscatter.backends.torch.primitives import PRIMITIVES
from gatherscatter.operators import AXIS, ELEMENTS, Operator
from gatherscatter.plan import Plan


class Options(NamedTuple):
    """How indices select rows of data of any shape, in a gather and in the scatter with the same indices."""

    operator: Operator
    axis: int
    batch_dims: int
    mode: str
    n_mapped: int = 0  # how many leading axes are of torch.func.vmap: messages leave them out
    orders: Any = None  # as in a plan; the dispatcher's operators do not take it

    @property
    def kind(self) -> int:
        return self.operator.kind

    @classmethod
    def of_values(
        cls, kind: int, axis: int, batch_dims: int, mode: str, wrap_negative_indices: bool, names: str, n_mapped: int
    ) -> Options:
        """From what the dispatcher's operators take."""
        op = _operator(*names.split("\n"), kind, False, wrap_negative_indices)
        return cls(op, axis, batch_dims, mode, n_mapped)

    @property
    def values(self) -> tuple[Any, ...]:
        """What the dispatcher's operators take: numbers, and strings for the mode and for messages."""
        op, names = self.operator, "\n".join(_names(self.operator))
        return op.kind, self.axis, self.batch_dims, self.mode, op.wrap_negative_indices, names, self.n_mapped

    def plan(self, scatters: bool, data: Any, indices: Any, *reduction: Any) -> Plan:
        """The plan for data and indices of these shapes."""
        make = plans.scatter if scatters else plans.gather
        op = _operator(*_names(self.operator), self.kind, scatters, self.operator.wrap_negative_indices)
        plan = make(op, tuple(data), tuple(indices), self.axis, self.batch_dims, self.mode, *reduction)
        return plan if self.orders is None else plan._replace(orders=self.orders)

    def mapped(self) -> Options:
        """Options with one more leading axis of torch.func.vmap in data and indices."""
        batch_dims = 0 if self.kind == ELEMENTS else self.batch_dims + 1
        return self._replace(axis=self.axis + 1, batch_dims=batch_dims, n_mapped=self.n_mapped + 1)


def options_of(plan: Plan) -> Options:
    return Options(plan.operator, plan.axis, plan.batch_dims, plan.mode, orders=plan.orders)


def _names(op: Operator) -> tuple[str, ...]:
    """The names that messages need."""
    return op.name, op.data, op.indices, op.updates, op.negatives


@lru_cache(maxsize=256)  # few, unless a program calls the dispatcher's operators with names of its own
def _operator(
    name: str, data: str, indices: str, updates: str, negatives: str, kind: int, scatters: bool, wraps: bool
) -> Operator:
    return Operator(name, kind, scatters, data, indices, updates, wraps, negatives=negatives)


class IndexingByOptions(Indexing):
    """The common part of the indexing of tensors and of their arrays. `options` has the mode of a scatter."""

    def __init__(self, indices: Any, data: Any, options: Options) -> None:
        self.indices, self.options = indices, options
        plan = options.plan(True, data, indices.shape, "none", True)
        self.leading, self.tuples = plan.leading, plan.tuples

    def of_rows(self) -> Indexing:
        return self if self.options.kind == ELEMENTS else type(self)(self.indices, self.leading, self.options)

    def of_table(self, rows: Any) -> Indexing:
        op = _operator(*_names(self.options.operator), AXIS, True, False)
        return type(self)(rows, rows.shape, Options(op, 0, 0, "drop"))


# The operators on plain tensors


def gathered(data: Tensor, indices: Tensor, fill: Tensor | None, plan: Plan) -> Tensor:
    """A gather. fill: for mode "fill", an element of data's dtype."""
    check_storage(plan.operator, ("data", data), ("indices", indices))
    arrays = memory.as_numpy(data, indices) if fill is None else memory.as_numpy(data, indices, fill)
    if arrays is None:
        return _by_primitives(PRIMITIVES.read, data, indices, fill, plan)
    value = 0 if fill is None else arrays[2]
    return memory.from_numpy(NUMPY.gather(arrays[0], arrays[1], plan, value, None), data.dtype)


def scattered(data: Tensor, indices: Tensor, updates: Tensor, plan: Plan) -> Tensor:
    """A scatter."""
    check_storage(plan.operator, ("data", data), ("indices", indices), ("updates", updates))
    arrays = memory.as_numpy(data, indices, updates)
    if arrays is None:
        return _by_primitives(PRIMITIVES.write, data, indices, updates, plan)
    return memory.from_numpy(NUMPY.scatter(arrays[0], arrays[1], arrays[2], plan, None), data.dtype)


PASSED = "data", "indices", "source", "source_indices", "weights"


def passed(tensors: Sequence[Tensor], to: Plan, of: Plan) -> Tensor | None:
    """A gather and a scatter in one pass; None if that is not possible."""
    check_storage(to.operator, *zip(PASSED, tensors, strict=False))
    arrays = memory.as_numpy(*tensors)
    result = None if arrays is None else NUMPY.gather_scatter(arrays, to, of, None)
    return None if result is None else memory.from_numpy(result, tensors[0].dtype)


def dots(tensors: Sequence[Tensor], shape: Any, first: Options, second: Options) -> Tensor | None:
    """Dot products of rows of two tensors; None if the kernel cannot compute them. tensors: each with its indices."""
    arrays = memory.as_numpy(*(tensor.contiguous() for tensor in tensors))
    if arrays is None:
        return None
    a, of_a, b, of_b = arrays
    pair = first.plan(False, a.shape, of_a.shape), second.plan(False, b.shape, of_b.shape)
    result = kernels.dots(a, of_a, b, of_b, pair, tuple(shape))
    return None if result is None else memory.from_numpy(result, tensors[0].dtype)


def assigned(grad: Tensor, indices: Tensor, options: Options) -> tuple[Tensor, Tensor] | None:
    """The gradients of an assignment in one pass; None if that is not possible."""
    arrays = memory.as_numpy(grad, indices)
    if arrays is None:
        return None
    found = kernels.take(options.plan(True, grad.shape, indices.shape, "none", True), *arrays)
    to_data, to_updates = (memory.from_numpy(array, grad.dtype) for array in found)
    return to_data, to_updates


def _by_primitives(call: Any, data: Tensor, indices: Tensor, third: Any, plan: Plan) -> Tensor:
    """Call without gradients of the primitives, since ours are recorded later. The result is not a view."""
    try:
        with torch.no_grad():
            result: Tensor = call(data, indices, third, PRIMITIVES.settled(indices, plan))
    except NotImplementedError:
        what = f"dtype {data.dtype} on the device {data.device}"
        reason = f"its primitives lack it; pass {plan.operator.data}.view(torch.uint8)"
        raise errors.cannot("PyTorch", plan.operator, what, reason) from None
    return result.detach() if result._is_view() else result


def check_storage(op: Operator, *arguments: tuple[str, Tensor]) -> None:
    """Check that each tensor's elements lie in its storage: neither the kernels nor most of PyTorch's do."""
    for argument, tensor in arguments:
        if not memory.fits(tensor):
            raise errors.storage(op, argument, tensor.shape, tensor.untyped_storage().nbytes())


# The same, in PyTorch's dispatcher

LIBRARY = torch.library.Library("gatherscatter", "DEF")
_OPTIONS = "int kind, int axis, int batch_dims, str mode, bool wrap_negative_indices, str words, int n_mapped"
LIBRARY.define(f"gather(Tensor data, Tensor indices, Tensor? fill, {_OPTIONS}) -> Tensor")
LIBRARY.define(
    f"scatter(Tensor data, Tensor indices, Tensor updates, str reduction, bool include_self, {_OPTIONS}) -> Tensor"
)
gather = torch.ops.gatherscatter.gather.default
scatter = torch.ops.gatherscatter.scatter.default


@torch.library.impl(LIBRARY, "gather", "CompositeExplicitAutograd")
def _(data: Tensor, indices: Tensor, fill: Tensor | None, *options: Any) -> Tensor:
    return _in_items(gathered, False, data, indices, (fill,), (), Options.of_values(*options))


@torch.library.impl(LIBRARY, "scatter", "CompositeExplicitAutograd")
def _(data: Tensor, indices: Tensor, updates: Tensor, reduction: str, include_self: bool, *options: Any) -> Tensor:
    return _in_items(scattered, True, data, indices, (updates,), (reduction, include_self), Options.of_values(*options))


def _in_items(
    call: Any, scatters: bool, data: Tensor, indices: Tensor, third: Any, reduction: Any, options: Options
) -> Tensor:
    """One call. If it raises an IndexError: the calls of vmap one by one, of which the first bad one raises its own."""
    try:
        result: Tensor = call(data, indices, *third, options.plan(scatters, data.shape, indices.shape, *reduction))
    except IndexError:
        n = options.n_mapped
        one = options._replace(axis=options.axis - n, batch_dims=max(options.batch_dims - n, 0), n_mapped=0)
        for item in product(*map(range, indices.shape[:n])) if n else ():
            extra = (third[0][item],) if scatters else third
            call(
                data[item], indices[item], *extra, one.plan(scatters, data[item].shape, indices[item].shape, *reduction)
            )
        raise
    return result


@torch.library.register_fake("gatherscatter::gather", lib=LIBRARY)
def _(data: Tensor, indices: Tensor, fill: Tensor | None, *options: Any) -> Tensor:
    return data.new_empty(Options.of_values(*options).plan(False, data.shape, indices.shape).shape)


@torch.library.register_fake("gatherscatter::scatter", lib=LIBRARY)
def _(data: Tensor, indices: Tensor, updates: Tensor, *options: Any) -> Tensor:
    return data.new_empty(data.shape)


@torch.library.register_vmap("gatherscatter::gather", lib=LIBRARY)
def _(info: Any, in_dims: Any, data: Tensor, indices: Tensor, fill: Any, *options: Any) -> tuple[Tensor, int]:
    data, indices, mapped = mapped_gather(info.batch_size, in_dims, data, indices, Options.of_values(*options))
    return gather(data, indices, fill, *mapped.values), 0


@torch.library.register_vmap("gatherscatter::scatter", lib=LIBRARY)
def _(
    info: Any,
    in_dims: Any,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: str,
    include_self: bool,
    *options: Any,
) -> tuple[Tensor, int]:
    data, indices, updates, mapped = mapped_scatter(
        info.batch_size, in_dims, data, indices, updates, Options.of_values(*options)
    )
    return scatter(data, indices, updates, reduction, include_self, *mapped.values), 0


# vmap: the mapped axes become leading axes of one call


def mapped_gather(
    size: int, in_dims: Any, data: Tensor, indices: Tensor, options: Options
) -> tuple[Tensor, Tensor, Options]:
    if in_dims[1] is None and options.kind == AXIS and options.batch_dims == 0:  # another axis that is not indexed
        return data.movedim(in_dims[0], 0), indices, options._replace(axis=options.axis + 1)
    return _leading(data, in_dims[0], size), _leading(indices, in_dims[1], size), options.mapped()


def mapped_scatter(
    size: int, in_dims: Any, data: Tensor, indices: Tensor, updates: Tensor, options: Options
) -> tuple[Tensor, Tensor, Tensor, Options]:
    data, updates = _leading(data, in_dims[0], size), _leading(updates, in_dims[2], size)
    if in_dims[1] is None and options.kind == AXIS and options.batch_dims == 0:
        return data, indices, updates, options._replace(axis=options.axis + 1)
    return data, _leading(indices, in_dims[1], size), updates, options.mapped()


def _leading(tensor: Tensor, axis: int | None, size: int) -> Tensor:
    """The tensor with the mapped axis first; expanded along a new one if it is not mapped."""
    return tensor.expand(size, *tensor.shape) if axis is None else tensor.movedim(axis, 0)
