"""The functions ``scatter_*``: groups by `index`, in any order."""

from __future__ import annotations

import torch
from torch import Tensor

from gatherscatter import errors
from gatherscatter._typing import IntLike
from gatherscatter.backends.torch import memory
from gatherscatter.torch_scatter.groups import Names, at_arg, called_by_scripts, group, scatters

__all__ = [
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_mean",
    "scatter_min",
    "scatter_mul",
    "scatter_sum",
]

_SUM = scatters("scatter_sum")
_MUL = scatters("scatter_mul")
_MEAN = scatters("scatter_mean")
_MIN = scatters("scatter_min")
_MAX = scatters("scatter_max")
_SCATTER = scatters("scatter")


def scatter_sum(
    src: Tensor, index: Tensor, dim: IntLike = -1, out: Tensor | None = None, dim_size: IntLike | None = None
) -> Tensor:
    """Sum the elements of each group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    index : torch.Tensor of integers
        The group of each element along `dim`, from 0 on. It broadcasts to src's shape: one axis is `dim`; more axes
        are src's first ones.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        What the groups are added to, in place. It is returned.
    dim_size : int, optional
        The number of groups. By default that of `out`, or the greatest index + 1.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        An empty group has 0.

    Raises
    ------
    IndexError
        If an index is negative, or not below the number of groups.
    ValueError, TypeError
        If a shape or dtype does not fit.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_sum(torch.tensor([1.0, 3.0, 2.0, 4.0]), torch.tensor([0, 2, 0, 2]))
    tensor([3., 0., 7.])
    """
    return combined(_SUM, src, index, dim, out, dim_size, "add")


scatter_add = scatter_sum


def scatter_mul(
    src: Tensor, index: Tensor, dim: IntLike = -1, out: Tensor | None = None, dim_size: IntLike | None = None
) -> Tensor:
    """Multiply the elements of each group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        What the groups are multiplied with, in place. It is returned.
    dim_size : int, optional
        The number of groups.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        An empty group has 1.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_mul(torch.tensor([1.0, 3.0, 2.0, 4.0]), torch.tensor([0, 2, 0, 2]))
    tensor([ 2.,  1., 12.])
    """
    return combined(_MUL, src, index, dim, out, dim_size, "mul")


def scatter_mean(
    src: Tensor, index: Tensor, dim: IntLike = -1, out: Tensor | None = None, dim_size: IntLike | None = None
) -> Tensor:
    """Average the elements of each group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        What is added to the sums before they are divided by the number of elements of `src`. The means are written to
        it, and it is returned.
    dim_size : int, optional
        The number of groups.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        Of src's dtype: means of integers are rounded down. An empty group has 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_mean(torch.tensor([1.0, 3.0, 2.0, 4.0]), torch.tensor([0, 2, 0, 2]))
    tensor([1.5000, 0.0000, 3.5000])
    """
    return averaged(_MEAN, src, index, dim, out, dim_size)


def scatter_min(
    src: Tensor, index: Tensor, dim: IntLike = -1, out: Tensor | None = None, dim_size: IntLike | None = None
) -> tuple[Tensor, Tensor]:
    """Find the least element of each group, and where it is.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        What the groups are compared with. The minima are written to it.
    dim_size : int, optional
        The number of groups.

    Returns
    -------
    out : torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        The minima; 0 for an empty group. NaN wins.
    arg_out : torch.Tensor of int64
        Their positions along `dim`, the first of equals; ``src.size(dim)`` where there is none, or `out` was not
        greater.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_min(torch.tensor([1.0, 3.0, 2.0, 4.0]), torch.tensor([0, 2, 0, 2]))
    (tensor([1., 0., 3.]), tensor([0, 4, 1]))
    """
    return extreme(_MIN, src, index, dim, out, dim_size, "min")


def scatter_max(
    src: Tensor, index: Tensor, dim: int = -1, out: Tensor | None = None, dim_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """Find the greatest element of each group, and where it is.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        What the groups are compared with. The maxima are written to it.
    dim_size : int, optional
        The number of groups.

    Returns
    -------
    out : torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        The maxima; 0 for an empty group. NaN wins.
    arg_out : torch.Tensor of int64
        Their positions along `dim`, the first of equals; ``src.size(dim)`` where there is none, or `out` was not less.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_max(torch.tensor([1.0, 3.0, 2.0, 4.0]), torch.tensor([0, 2, 0, 2]))
    (tensor([2., 0., 4.]), tensor([2, 4, 3]))
    """
    return _scatter_max(src, index, dim, out, dim_size)


def scatter(
    src: Tensor,
    index: Tensor,
    dim: int = -1,
    out: Tensor | None = None,
    dim_size: int | None = None,
    reduce: str = "sum",
) -> Tensor:
    """Reduce the elements of each group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        What the groups are combined with, in place: see the functions of each reduction. It is returned.
    dim_size : int, optional
        The number of groups.
    reduce : {"sum", "add", "mul", "mean", "min", "max"}, default "sum"
        The reduction. "add" is "sum".

    Returns
    -------
    torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        An empty group has 0, or 1 for "mul".

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    See Also
    --------
    gatherscatter.segment_reduce : More reductions, for arrays of every library.

    Examples
    --------
    The index broadcasts along the first and the last axis:

    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> src, index = torch.ones(10, 6, 64), torch.tensor([0, 1, 0, 1, 2, 1])
    >>> torch_scatter.scatter(src, index, dim=1, reduce="sum").shape
    torch.Size([10, 3, 64])
    """
    return _scatter(src, index, dim, out, dim_size, reduce)


# torch.jit.script compiles `scatter` and `scatter_max` to calls of these in Python, for which it knows no defaults.


@called_by_scripts
def _scatter(src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None, reduce: str) -> Tensor:
    return reduced(_SCATTER, src, index, dim, out, dim_size, reduce, REDUCTIONS)


@called_by_scripts
def _scatter_max(
    src: Tensor, index: Tensor, dim: int, out: Tensor | None, dim_size: int | None
) -> tuple[Tensor, Tensor]:
    return extreme(_MAX, src, index, dim, out, dim_size, "max")


# What these functions share with those of sorted groups, whose dim is None: the last axis of index

REDUCTIONS = ("sum", "add", "mul", "mean", "min", "max")


def reduced(
    names: Names, src: Tensor, index: Tensor, dim: IntLike | None, out: Tensor | None, dim_size: IntLike | None,
    reduce: str, accepted: tuple[str, ...],
) -> Tensor:  # fmt: skip
    """Any reduction, by its name."""
    if reduce not in accepted:
        raise errors.unknown_choice(names.rows, "reduce", reduce, accepted)
    if reduce == "mean":
        return averaged(names, src, index, dim, out, dim_size)
    if reduce in ("min", "max"):
        if out is None and not (memory.is_watched() or memory.needs_gradient(src)):
            return group(names, src, index, dim, out, dim_size).best(src, reduce)  # which need not be found
        return extreme(names, src, index, dim, out, dim_size, reduce)[0]
    return combined(names, src, index, dim, out, dim_size, "mul" if reduce == "mul" else "add")


def combined(
    names: Names, src: Tensor, index: Tensor, dim: IntLike | None, out: Tensor | None, dim_size: IntLike | None,
    reduction: str,
) -> Tensor:  # fmt: skip
    """Sums or products."""
    groups = group(names, src, index, dim, out, dim_size)
    if out is not None:
        return groups.accumulate(src, out, reduction)
    start = src.new_ones if reduction == "mul" else src.new_zeros
    return groups.scatter(src, start(groups.sizes), reduction)


def averaged(
    names: Names, src: Tensor, index: Tensor, dim: IntLike | None, out: Tensor | None, dim_size: IntLike | None
) -> Tensor:
    """Means; what is in out counts for the sum but not for the number of elements."""
    groups = group(names, src, index, dim, out, dim_size)
    if out is None:
        return groups.mean(src)
    sums, counts = groups.accumulate(src, out, "add"), groups.counts().clamp_(min=1)
    return sums.div_(counts, rounding_mode=None if out.is_floating_point() or out.is_complex() else "floor")


def extreme(
    names: Names,
    src: Tensor,
    index: Tensor,
    dim: IntLike | None,
    out: Tensor | None,
    dim_size: IntLike | None,
    which: str,
) -> tuple[Tensor, Tensor]:
    """Minima or maxima, and their positions."""
    groups = group(names, src, index, dim, out, dim_size)
    if out is None:
        arg = groups.arg(src, which)
        return at_arg(src, arg, groups.dim), arg
    before = out.detach().clone()
    best = groups.scatter(src.detach(), before, which)
    is_new = (best != before) & ~before.isnan()
    arg = torch.where(is_new, groups.arg(src, which), src.shape[groups.dim])
    return out.copy_(torch.where(is_new, at_arg(src, arg, groups.dim), out)), arg
