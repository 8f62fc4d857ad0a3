"""The groups that `index` puts the elements of `src` into, and the steps that every function is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from gatherscatter import core, errors
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike, SegmentReduction
from gatherscatter.backends.torch import BACKEND
from gatherscatter.errors.foreign import FunctionT
from gatherscatter.errors.text import a, type_name
from gatherscatter.gathers import gather_elements
from gatherscatter.operators import GATHER, GATHER_ELEMENTS, SCATTER, SCATTER_ELEMENTS, Operator
from gatherscatter.segments import segment_reduce

SIXTEEN_BITS = (torch.float16, torch.bfloat16)


# What torch.jit.script needs for annotations, which are postponed here.
_TYPES = {
    "Tensor": Tensor,
    "Tensor | None": Optional[Tensor],  # noqa: UP045 - the pages are built with a mock of Tensor, which has no |
    "tuple[Tensor, Tensor]": tuple[Tensor, Tensor],
    "int": int,
    "int | None": int | None,
    "str": str,
}


def called_by_scripts(function: FunctionT) -> FunctionT:
    """Decorator of functions that what torch.jit.script compiles calls in Python."""
    function.__annotations__ = {name: _TYPES[text] for name, text in function.__annotations__.items()}
    ignored: FunctionT = torch.jit.ignore(function)
    return ignored


class Names(NamedTuple):
    """The operators of one function: of ids along an axis, of one id for each element, and of counts by the former."""

    rows: Operator
    elements: Operator
    counts: Operator


def _strict(like: Operator, name: str, data: str, indices: str) -> Operator:
    return like.replace(
        casting="no",
        name=name,
        data=data,
        indices=indices,
        updates="src",
        wrap_negative_indices=False,
        broadcasts=False,
        negatives="torch_scatter's indices are not negative",
    )


def scatters(name: str) -> Names:
    return Names(
        _strict(SCATTER, name, "out", "index"),
        _strict(SCATTER_ELEMENTS, name, "out", "index"),
        _strict(SCATTER, name, "the groups", "index"),
    )


def gathers(name: str, indices: str) -> Operator:
    return _strict(GATHER, name, "src", indices)


_SPREAD_ROWS = _strict(GATHER, "gather", "the groups", "index")
_SPREAD_ELEMENTS = _strict(GATHER_ELEMENTS, "gather", "the groups", "index")


class Groups(NamedTuple):
    """Where the elements of `src` go.

    ids: of src's first `batch_dims` axes and of the axis `dim`; with `each` one for every element of src.
    sizes: the shape of a result.
    """

    names: Names
    ids: Tensor
    dim: int
    batch_dims: int
    each: bool
    sizes: tuple[int, ...]

    def scatter(self, src: Tensor, start: Tensor, reduction: str, out: Tensor | None = None, **options: Any) -> Tensor:
        wide = "float32" if src.dtype in SIXTEEN_BITS and reduction in ("add", "mul", "mean") else None
        op = self.names.elements if self.each else self.names.rows
        result: Tensor = core.scatter(
            op, start, self.ids, src, self.dim, self.batch_dims, reduction, accumulate_dtype=wide, out=out, **options
        )
        return result

    def add(self, src: Tensor) -> Tensor:
        """The sums."""
        return self.scatter(src, src.new_zeros(self.sizes), "add")

    def mean(self, src: Tensor) -> Tensor:
        return self.scatter(src, src.new_zeros(self.sizes), "mean", include_self=False)

    def best(self, src: Tensor, which: str) -> Tensor:
        """The least or greatest elements; 0 for an empty group."""
        return self.scatter(src, src.new_zeros(self.sizes), which, include_self=False)

    def accumulate(self, src: Tensor, out: Tensor, reduction: str) -> Tensor:
        """Sums, products or extrema of the groups and of what is in out, in place."""
        if torch.is_grad_enabled() and (src.requires_grad or out.requires_grad):
            return out.copy_(self.scatter(src, out.clone(), reduction))
        return self.scatter(src, out, reduction, out)

    def counts(self) -> Tensor:
        """The number of elements of each group. Broadcasts to a result's shape."""
        dim, b = self.dim, self.batch_dims
        if self.each:
            shape, axis, view = self.sizes, dim, self.sizes
        else:
            shape, axis = (*self.sizes[:b], self.sizes[dim]), b
            view = (*self.sizes[:b], *[1] * (dim - b), self.sizes[dim], *[1] * (len(self.sizes) - dim - 1))
        zeros = torch.zeros(shape, dtype=torch.int64, device=self.ids.device)
        op = self.names.elements if self.each else self.names.counts
        counts: Tensor = core.scatter(op, zeros, self.ids, 1, axis, b, "add")
        return counts.reshape(view)

    def spread(self, values: Tensor) -> Tensor:
        """The value of its group for each element of src, of which every id is known to be in bounds."""
        op = _SPREAD_ELEMENTS if self.each else _SPREAD_ROWS
        result: Tensor = core.gather(op, values, self.ids, self.dim, self.batch_dims, "promise_in_bounds")
        return result

    def arg(self, src: Tensor, which: str) -> Tensor:
        """Where in src the first greatest or least element of each group is; the size of src for an empty group."""
        self.counts()  # raises for an index out of bounds; below, a negative one would mean no group
        axis, b, dim = self.dim, self.batch_dims, self.dim
        src, ids = src.detach(), self.ids
        if self.each:
            src, ids = src.movedim(dim, -1), ids.movedim(dim, -1)
            axis = b = src.dim() - 1
        reduction: SegmentReduction = "argmax" if which == "max" else "argmin"
        found = segment_reduce(
            src, ids, self.sizes[dim], reduction=reduction, axis=axis, batch_dims=b, mode="promise_in_bounds"
        )
        found = torch.where(found < 0, src.shape[axis], found)
        return found.movedim(-1, dim) if self.each else found


def at_arg(src: Tensor, arg: Tensor, dim: int) -> Tensor:
    """The elements of src that arg names, with their gradient; 0 for an empty group."""
    result: Tensor = gather_elements(src, arg, axis=dim, mode="fill", wrap_negative_indices=False)
    return result


def group(names: Names, src: Tensor, index: Tensor, dim: IntLike | None, out: Tensor | None, dim_size: Any) -> Groups:
    """The groups of a call of torch_scatter."""
    op = names.rows
    dim = axis_of(op, src, index, dim)
    shape = tuple(src.shape)
    if index.dim() == 1:
        view = index.reshape([1] * dim + [-1] + [1] * (len(shape) - dim - 1))
    else:
        view = index.reshape(*index.shape, *[1] * (len(shape) - index.dim()))
    full = expanded(op, view, shape, index)
    if out is not None:
        n = out.shape[dim] if isinstance(out, Tensor) and out.dim() == len(shape) else 0
        check_out(op, out, (*shape[:dim], n, *shape[dim + 1 :]))
    elif dim_size is not None:
        n = plans.integer(op, "dim_size", dim_size)
        if n < 0:
            raise errors.shape_rule(op, f"dim_size={n} is negative; pass the number of groups")
    else:
        n = max(int(index.to(torch.int64).max()) + 1, 0) if index.numel() else 0
    sizes = (*shape[:dim], n, *shape[dim + 1 :])
    if any(not is_repeated(view, axis) for axis in range(dim + 1, len(shape))):
        return Groups(names, full, dim, 0, True, sizes)
    b = dim if any(not is_repeated(view, axis) for axis in range(dim)) else 0
    ids = view
    for axis in (*range(len(shape) - 1, dim, -1), *([] if b else range(dim - 1, -1, -1))):
        ids = ids.select(axis, 0)
    return Groups(names, ids.expand(*shape[:b], shape[dim]), dim, b, False, sizes)


def axis_of(op: Operator, src: Tensor, index: Tensor, dim: IntLike | None) -> int:
    """Check the tensors. The axis that dim is, from 0 on; None: the last one of index."""
    for name, value in (("src", src), (op.indices, index)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{op.name}: {name} is {a(type_name(value))}; pass a torch.Tensor")
    r, shape = src.dim(), tuple(src.shape)
    if not 1 <= index.dim() <= r:
        rule = f"{op.indices} has shape {tuple(index.shape)}; pass 1 to {r} axes for src of shape {shape}"
        raise errors.shape_rule(op, rule if r else "src has shape (), so it has no axis; pass src.reshape(1)")
    axis = index.dim() - 1 if dim is None else plans.integer(op, "dim", dim)
    if not -r <= axis < r:
        rule = f"dim={axis} is not in [{-r}, {r - 1}] for src of shape {shape}"
        raise errors.shape_rule(op, f"{rule}; pass 0 for its first axis, -1 for its last")
    return axis % r


def expanded(op: Operator, view: Tensor, shape: Sequence[int], index: Tensor) -> Tensor:
    """A view of the index that has as many axes, broadcast."""
    if any(n not in (1, m) for n, m in zip(view.shape, shape, strict=True)):
        rule = f"{op.indices} of shape {tuple(index.shape)} does not broadcast to {tuple(shape)}"
        raise errors.shape_rule(op, f"{rule}; pass one axis of the size along dim, or src's first axes")
    return view.expand(shape)


def delivered(op: Operator, result: Tensor, out: Tensor | None) -> Tensor:
    """The result, in out if there is one."""
    if out is None:
        return result
    check_out(op, out, tuple(result.shape))
    if out.dtype != result.dtype:
        raise errors.out_dtype(op, out.dtype, result.dtype)
    return out.copy_(result)


def check_out(op: Operator, out: Tensor, shape: tuple[int, ...]) -> None:
    if not isinstance(out, Tensor):
        raise errors.out_type(op, out, "torch.Tensor")
    if tuple(out.shape) != shape:
        raise errors.out_shape(op, tuple(out.shape), shape)
    BACKEND.check_memory(op, out)


def is_repeated(view: Tensor, axis: int) -> bool:
    """Whether all indices along an axis are one element in memory."""
    return view.shape[axis] == 1 or (view.shape[axis] > 0 and view.stride(axis) == 0)
