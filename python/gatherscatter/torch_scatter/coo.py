"""The functions ``*_coo``: sorted groups, by `index`. They are those of unsorted groups along its last axis."""

from __future__ import annotations

from torch import Tensor

from gatherscatter import core
from gatherscatter._typing import IntLike
from gatherscatter.torch_scatter.groups import axis_of, delivered, gathers, scatters
from gatherscatter.torch_scatter.scatters import averaged, combined, extreme, reduced

__all__ = [
    "gather_coo",
    "segment_add_coo",
    "segment_coo",
    "segment_max_coo",
    "segment_mean_coo",
    "segment_min_coo",
    "segment_sum_coo",
]

REDUCTIONS = ("sum", "add", "mean", "min", "max")
_SUM = scatters("segment_sum_coo")
_MEAN = scatters("segment_mean_coo")
_MIN = scatters("segment_min_coo")
_MAX = scatters("segment_max_coo")
_SEGMENT = scatters("segment_coo")
_GATHER = gathers("gather_coo", "index")


def segment_sum_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: IntLike | None = None) -> Tensor:
    """Sum the elements of each group of sorted elements.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    index : torch.Tensor of integers, shape ``src.shape[:k]``
        The group of each position along its last axis. Sizes of 1 broadcast. It need not be sorted here.
    out : torch.Tensor, optional
        What the groups are added to, in place. It is returned.
    dim_size : int, optional
        The number of groups. By default that of `out`, or the greatest index + 1.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:k - 1] + (dim_size,) + src.shape[k:]``
        An empty group has 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_sum_coo(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 0, 2, 2]))
    tensor([3., 0., 7.])
    """
    return combined(_SUM, src, index, None, out, dim_size, "add")


segment_add_coo = segment_sum_coo


def segment_mean_coo(src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: IntLike | None = None) -> Tensor:
    """Average the elements of each group of sorted elements.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    index : torch.Tensor of integers, shape ``src.shape[:k]``
        The group of each position along its last axis. Sizes of 1 broadcast. It need not be sorted here.
    out : torch.Tensor, optional
        What is added to the sums before they are divided by the number of elements of `src`. The means are written to
        it, and it is returned.
    dim_size : int, optional
        The number of groups. By default that of `out`, or the greatest index + 1.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:k - 1] + (dim_size,) + src.shape[k:]``
        Of src's dtype: means of integers are rounded down. An empty group has 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_mean_coo(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 0, 2, 2]))
    tensor([1.5000, 0.0000, 3.5000])
    """
    return averaged(_MEAN, src, index, None, out, dim_size)


def segment_min_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: IntLike | None = None
) -> tuple[Tensor, Tensor]:
    """Find the least element of each group of sorted elements, and where it is.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    index : torch.Tensor of integers, shape ``src.shape[:k]``
        The group of each position along its last axis. Sizes of 1 broadcast. It need not be sorted here.
    out : torch.Tensor, optional
        What the groups are compared with. The minima are written to it.
    dim_size : int, optional
        The number of groups. By default that of `out`, or the greatest index + 1.

    Returns
    -------
    out : torch.Tensor, shape ``src.shape[:k - 1] + (dim_size,) + src.shape[k:]``
        The minima; 0 for an empty group. NaN wins.
    arg_out : torch.Tensor of int64
        Their positions along the axis, the first of equals; the size of `src` for an empty group,
        or where `out` was not greater.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_min_coo(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 0, 2, 2]))
    (tensor([1., 0., 3.]), tensor([0, 4, 2]))
    """
    return extreme(_MIN, src, index, None, out, dim_size, "min")


def segment_max_coo(
    src: Tensor, index: Tensor, out: Tensor | None = None, dim_size: IntLike | None = None
) -> tuple[Tensor, Tensor]:
    """Find the greatest element of each group of sorted elements, and where it is.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    index : torch.Tensor of integers, shape ``src.shape[:k]``
        The group of each position along its last axis. Sizes of 1 broadcast. It need not be sorted here.
    out : torch.Tensor, optional
        What the groups are compared with. The maxima are written to it.
    dim_size : int, optional
        The number of groups. By default that of `out`, or the greatest index + 1.

    Returns
    -------
    out : torch.Tensor, shape ``src.shape[:k - 1] + (dim_size,) + src.shape[k:]``
        The maxima; 0 for an empty group. NaN wins.
    arg_out : torch.Tensor of int64
        Their positions along the axis, the first of equals; the size of `src` for an empty group,
        or where `out` was not less.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_max_coo(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 0, 2, 2]))
    (tensor([2., 0., 4.]), tensor([1, 4, 3]))
    """
    return extreme(_MAX, src, index, None, out, dim_size, "max")


def segment_coo(
    src: Tensor,
    index: Tensor,
    out: Tensor | None = None,
    dim_size: IntLike | None = None,
    reduce: str = "sum",
) -> Tensor:
    """Reduce the elements of each group of sorted elements.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements.
    index : torch.Tensor of integers, shape ``src.shape[:k]``
        The group of each position along its last axis. Sizes of 1 broadcast. It need not be sorted here.
    out : torch.Tensor, optional
        What the groups are combined with, in place: see the functions of each reduction. It is returned.
    dim_size : int, optional
        The number of groups. By default that of `out`, or the greatest index + 1.
    reduce : {"sum", "add", "mean", "min", "max"}, default "sum"
        The reduction. "add" is "sum".

    Returns
    -------
    torch.Tensor, shape ``src.shape[:k - 1] + (dim_size,) + src.shape[k:]``
        An empty group has 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.segment_coo(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0, 0, 2, 2]), reduce="mean")
    tensor([1.5000, 0.0000, 3.5000])
    """
    return reduced(_SEGMENT, src, index, None, out, dim_size, reduce, REDUCTIONS)


def gather_coo(src: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """Gather the value of its group for each element.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        A value for each group.
    index : torch.Tensor of integers, shape ``src.shape[:k - 1] + (n,)``
        The group of each element, along its last axis. It need not be sorted here.
    out : torch.Tensor, optional
        Where the result is written.

    Returns
    -------
    torch.Tensor, shape ``index.shape + src.shape[k:]``
        The values.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.gather_coo(torch.tensor([1.5, 0.0, 3.5]), torch.tensor([0, 0, 2, 2]))
    tensor([1.5000, 1.5000, 3.5000, 3.5000])
    """
    dim = axis_of(_GATHER, src, index, None)
    return delivered(_GATHER, core.gather(_GATHER, src, index, dim, dim), out)
