"""The functions ``*_csr``: sorted groups, by the pointers of CSR."""

from __future__ import annotations

import torch
from torch import Tensor

from gatherscatter import core, errors
from gatherscatter._typing import SegmentReduction
from gatherscatter.operators import Operator
from gatherscatter.segments import segment_reduce
from gatherscatter.torch_scatter.coo import REDUCTIONS
from gatherscatter.torch_scatter.groups import (
    at_arg,
    axis_of,
    called_by_scripts,
    delivered,
    expanded,
    gathers,
    is_repeated,
)

__all__ = [
    "gather_csr",
    "segment_add_csr",
    "segment_csr",
    "segment_max_csr",
    "segment_mean_csr",
    "segment_min_csr",
    "segment_sum_csr",
]

_SUM = gathers("segment_sum_csr", "indptr")
_MEAN = gathers("segment_mean_csr", "indptr")
_MIN = gathers("segment_min_csr", "indptr")
_MAX = gathers("segment_max_csr", "indptr")
_SEGMENT = gathers("segment_csr", "indptr")
_GATHER = gathers("gather_csr", "indptr")


def segment_sum_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Sum the elements of each CSR segment.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    indptr : torch.Tensor of integers, shape ``src.shape[:k] + (n + 1,)``
        Segment ``i`` has the positions from ``indptr[..., i]`` to ``indptr[..., i + 1] - 1`` along the axis k. Sizes
        of 1 broadcast.
    out : torch.Tensor, optional
        Where the result is written.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:k] + (n,) + src.shape[k + 1:]``
        An empty segment has 0.

    Raises
    ------
    IndexError
        If a pointer is not within src's size.
    ValueError, TypeError
        If the pointers decrease, or a shape or dtype does not fit.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_sum_csr(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 2, 2, 4]))
    tensor([3., 0., 7.])
    """
    return _sum_csr(_SUM, src, indptr, out)


segment_add_csr = segment_sum_csr


def segment_mean_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Average the elements of each CSR segment.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    indptr : torch.Tensor of integers, shape ``src.shape[:k] + (n + 1,)``
        Segment ``i`` has the positions from ``indptr[..., i]`` to ``indptr[..., i + 1] - 1`` along the axis k. Sizes
        of 1 broadcast.
    out : torch.Tensor, optional
        Where the result is written.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:k] + (n,) + src.shape[k + 1:]``
        Of src's dtype: means of integers are rounded down. An empty segment has 0.

    Raises
    ------
    IndexError
        If a pointer is not within src's size.
    ValueError, TypeError
        If the pointers decrease, or a shape or dtype does not fit.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_mean_csr(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 2, 2, 4]))
    tensor([1.5000, 0.0000, 3.5000])
    """
    return _mean_csr(_MEAN, src, indptr, out)


def segment_min_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Find the least element of each CSR segment, and where it is.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    indptr : torch.Tensor of integers, shape ``src.shape[:k] + (n + 1,)``
        Segment ``i`` has the positions from ``indptr[..., i]`` to ``indptr[..., i + 1] - 1`` along the axis k. Sizes
        of 1 broadcast.
    out : torch.Tensor, optional
        Where the result is written.

    Returns
    -------
    out : torch.Tensor, shape ``src.shape[:k] + (n,) + src.shape[k + 1:]``
        The minima; 0 for an empty segment. NaN wins.
    arg_out : torch.Tensor of int64
        Their positions along the axis, the first of equals; the size of `src` for an empty segment.

    Raises
    ------
    IndexError
        If a pointer is not within src's size.
    ValueError, TypeError
        If the pointers decrease, or a shape or dtype does not fit.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_min_csr(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 2, 2, 4]))
    (tensor([1., 0., 3.]), tensor([0, 4, 2]))
    """
    return _extreme_csr(_MIN, src, indptr, out, "min")


def segment_max_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Find the greatest element of each CSR segment, and where it is.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    indptr : torch.Tensor of integers, shape ``src.shape[:k] + (n + 1,)``
        Segment ``i`` has the positions from ``indptr[..., i]`` to ``indptr[..., i + 1] - 1`` along the axis k. Sizes
        of 1 broadcast.
    out : torch.Tensor, optional
        Where the result is written.

    Returns
    -------
    out : torch.Tensor, shape ``src.shape[:k] + (n,) + src.shape[k + 1:]``
        The maxima; 0 for an empty segment. NaN wins.
    arg_out : torch.Tensor of int64
        Their positions along the axis, the first of equals; the size of `src` for an empty segment.

    Raises
    ------
    IndexError
        If a pointer is not within src's size.
    ValueError, TypeError
        If the pointers decrease, or a shape or dtype does not fit.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_max_csr(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 2, 2, 4]))
    (tensor([2., 0., 4.]), tensor([1, 4, 3]))
    """
    return _extreme_csr(_MAX, src, indptr, out, "max")


def segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None, reduce: str = "sum") -> Tensor:
    """Reduce the elements of each CSR segment.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    indptr : torch.Tensor of integers, shape ``src.shape[:k] + (n + 1,)``
        Segment ``i`` has the positions from ``indptr[..., i]`` to ``indptr[..., i + 1] - 1`` along the axis k. Sizes
        of 1 broadcast.
    out : torch.Tensor, optional
        Where the result is written.
    reduce : {"sum", "add", "mean", "min", "max"}, default "sum"
        The reduction. "add" is "sum".

    Returns
    -------
    torch.Tensor, shape ``src.shape[:k] + (n,) + src.shape[k + 1:]``
        An empty segment has 0.

    Raises
    ------
    IndexError
        If a pointer is not within src's size.
    ValueError, TypeError
        If the pointers decrease, or a shape or dtype does not fit.

    See Also
    --------
    gatherscatter.segment_reduce : More reductions, for arrays of every library.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_csr(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 2, 2, 4]), reduce="mean")
    tensor([1.5000, 0.0000, 3.5000])
    """
    return _segment_csr(src, indptr, out, reduce)


@called_by_scripts  # torch.jit.script compiles `segment_csr` to a call of it in Python
def _segment_csr(src: Tensor, indptr: Tensor, out: Tensor | None, reduce: str) -> Tensor:
    if reduce not in REDUCTIONS:
        raise errors.unknown_choice(_SEGMENT, "reduce", reduce, REDUCTIONS)
    if reduce == "mean":
        return _mean_csr(_SEGMENT, src, indptr, out)
    if reduce in ("min", "max"):
        return _extreme_csr(_SEGMENT, src, indptr, out, reduce)[0]
    return _sum_csr(_SEGMENT, src, indptr, out)


def gather_csr(src: Tensor, indptr: Tensor, out: Tensor | None = None) -> Tensor:
    """Gather the value of its segment for each element.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        A value for each segment.
    indptr : torch.Tensor of integers, shape ``src.shape[:k] + (n + 1,)``
        The pointers of the segments, along src's axis k of size n: see `segment_sum_csr`.
    out : torch.Tensor, optional
        Where the result is written. Its size is the number of elements, by default the last pointer.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:k] + (indptr.flatten()[-1],) + src.shape[k + 1:]``
        The values; 0 for an element of no segment.

    Raises
    ------
    IndexError
        If a pointer is not within the number of elements.
    ValueError, TypeError
        If the pointers decrease, or a shape or dtype does not fit.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.gather_csr(torch.tensor([1.5, 0.0, 3.5]), torch.tensor([0, 2, 2, 4]))
    tensor([1.5000, 1.5000, 3.5000, 3.5000])
    """
    pointers, dim, b = _pointers(_GATHER, src, indptr)
    if src.shape[dim] != pointers.shape[-1] - 1:
        rule = f"indptr of shape {tuple(indptr.shape)} has {pointers.shape[-1] - 1} segments, but src has "
        raise errors.shape_rule(_GATHER, f"{rule}{src.shape[dim]}; pass a pointer more than src has along axis {dim}")
    last = int(indptr.flatten()[-1]) if indptr.numel() else 0
    n = last if out is None else out.shape[dim]
    _check(pointers, dim, n)
    positions = torch.arange(n, dtype=pointers.dtype, device=src.device).expand(*pointers.shape[:-1], n)
    ids = torch.searchsorted(pointers.contiguous(), positions.contiguous(), right=True) - 1
    return delivered(_GATHER, core.gather(_GATHER, src, ids, dim, b, "fill"), out)


def _pointers(op: Operator, src: Tensor, indptr: Tensor) -> tuple[Tensor, int, int]:
    """The pointers, of the axes that they need; the axis of src that is reduced; and the number of batch axes."""
    dim = axis_of(op, src, indptr, None)
    if not indptr.shape[-1]:
        indptr = indptr.new_zeros((*indptr.shape[:-1], 1))  # no segments
    full = expanded(op, indptr, (*src.shape[:dim], indptr.shape[-1]), indptr)
    if all(is_repeated(indptr, axis) for axis in range(dim)):
        return indptr[(0,) * dim], dim, 0
    return full, dim, dim


def _check(pointers: Tensor, dim: int, n: int) -> None:
    """Check pointers to the n elements of a result, as `segment_reduce` checks those to elements of data."""
    for value in (int(pointers.min()), int(pointers.max())) if pointers.numel() else ():
        if not 0 <= value <= n:
            raise IndexError(f"gather_csr: a pointer of indptr is {value}, but the result's axis {dim} has size {n}")
    if bool((pointers.diff() < 0).any()):
        raise errors.shape_rule(_GATHER, "indptr decreases; pass sorted pointers")


def _sum_csr(op: Operator, src: Tensor, indptr: Tensor, out: Tensor | None) -> Tensor:
    pointers, dim, b = _pointers(op, src, indptr)
    return delivered(op, _sums(src, pointers, dim, b), out)


def _sums(src: Tensor, pointers: Tensor, dim: int, batch_dims: int) -> Tensor:
    """Sums of src's dtype, integers too."""
    dtype = str(src.dtype).removeprefix("torch.")
    result: Tensor = segment_reduce(src, indptr=pointers, axis=dim, batch_dims=batch_dims, dtype=dtype)
    return result


def _mean_csr(op: Operator, src: Tensor, indptr: Tensor, out: Tensor | None) -> Tensor:
    pointers, dim, b = _pointers(op, src, indptr)
    if src.is_floating_point() or src.is_complex():
        means = segment_reduce(src, indptr=pointers, axis=dim, batch_dims=b, reduction="mean", fill_value=0)
        return delivered(op, means, out)
    sums = _sums(src, pointers, dim, b)
    counts = pointers.diff().clamp_(min=1)
    counts = counts.reshape(*counts.shape[:b], *[1] * (dim - b), counts.shape[b], *[1] * (src.dim() - dim - 1))
    return delivered(op, sums.div_(counts, rounding_mode="floor"), out)


def _extreme_csr(op: Operator, src: Tensor, indptr: Tensor, out: Tensor | None, which: str) -> tuple[Tensor, Tensor]:
    pointers, dim, b = _pointers(op, src, indptr)
    reduction: SegmentReduction = "argmax" if which == "max" else "argmin"
    arg = segment_reduce(src.detach(), indptr=pointers, axis=dim, batch_dims=b, reduction=reduction)
    arg = torch.where(arg < 0, src.shape[dim], arg)
    return delivered(op, at_arg(src, arg, dim), out), arg
