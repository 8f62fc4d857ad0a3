"""The functions of ``torch_scatter.composite``: standard deviations, logarithms of sums of exponentials, softmax."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gatherscatter import errors
from gatherscatter._typing import IntLike
from gatherscatter.segments import segment_softmax
from gatherscatter.torch_scatter.groups import Groups, Names, axis_of, gathers, group, scatters

__all__ = ["scatter_log_softmax", "scatter_logsumexp", "scatter_softmax", "scatter_std", "softmax_csr"]

_STD = scatters("scatter_std")
_LOGSUMEXP = scatters("scatter_logsumexp")
_SOFTMAX = scatters("scatter_softmax")
_LOG_SOFTMAX = scatters("scatter_log_softmax")
_SOFTMAX_CSR = gathers("softmax_csr", "ptr")


def scatter_std(
    src: Tensor,
    index: Tensor,
    dim: IntLike = -1,
    out: Tensor | None = None,
    dim_size: IntLike | None = None,
    unbiased: bool = True,
) -> Tensor:
    """Compute the standard deviation of each group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: real numbers.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        What the squares are added to, in place. The result is another tensor.
    dim_size : int, optional
        The number of groups.
    unbiased : bool, default True
        Whether the sum of the squares of n elements is divided by n − 1, or by n.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        A group of one element, or of none, has 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Notes
    -----
    As in torch_scatter, 1e-6 is added to the number that the sum is divided by.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_std(torch.tensor([1.0, 3.0, 2.0, 4.0]), torch.tensor([0, 0, 2, 0]))
    tensor([1.5275, 0.0000, 0.0000])
    """
    groups = group(_STD, src, index, dim, out, dim_size)
    numbers = src if src.is_floating_point() else src.to(torch.get_default_dtype())
    counts = groups.counts().clamp_(min=1)
    apart = numbers - groups.spread(groups.add(numbers) / counts)
    squares = apart * apart
    sums = groups.add(squares) if out is None else groups.accumulate(squares, out, "add")
    degrees = (counts - 1).clamp_(min=1) if unbiased else counts
    variances = sums / (degrees.to(sums.dtype) + 1e-6)
    is_zero = variances == 0  # where the square root has no gradient
    return torch.where(is_zero, variances, torch.where(is_zero, 1, variances).sqrt())


def scatter_logsumexp(
    src: Tensor,
    index: Tensor,
    dim: IntLike = -1,
    out: Tensor | None = None,
    dim_size: IntLike | None = None,
    eps: float = 1e-12,
) -> Tensor:
    """Compute the logarithm of the sum of the exponentials of each group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: floating-point numbers.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    out : torch.Tensor, optional
        One more element of each group. The results are written to it, and it is returned.
    dim_size : int, optional
        The number of groups.
    eps : float, default 1e-12
        What is added to the sum, of which the greatest exponential is 1.

    Returns
    -------
    torch.Tensor, shape ``src.shape[:dim] + (dim_size,) + src.shape[dim + 1:]``
        An empty group has 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_logsumexp(torch.tensor([0.0, 0.0, 5.0]), torch.tensor([0, 0, 2]))
    tensor([0.6931, 0.0000, 5.0000])
    """
    groups = _of_floats(_LOGSUMEXP, src, index, dim, out, dim_size)
    start = src.new_full(groups.sizes, -math.inf) if out is None else out.detach().clone()
    greatest = groups.scatter(src.detach(), start, "max")
    shift = torch.where(greatest.isfinite(), greatest, 0)
    sums = groups.add((src - groups.spread(shift)).exp())
    nothing = torch.full_like(sums, -math.inf)
    if out is None:
        nothing = nothing.masked_fill(groups.counts() == 0, 0)
    else:
        sums = sums + (out - shift).exp()
    is_zero = sums == 0
    result = torch.where(is_zero, nothing, (torch.where(is_zero, 1, sums) + eps).log() + shift)
    return result if out is None else out.copy_(result)


def scatter_softmax(src: Tensor, index: Tensor, dim: IntLike = -1, dim_size: IntLike | None = None) -> Tensor:
    """Divide the exponential of each element by the sum of those of its group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: floating-point numbers.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    dim_size : int, optional
        The number of groups.

    Returns
    -------
    torch.Tensor, shape ``src.shape``
        In a group whose elements are all −inf, 0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    See Also
    --------
    gatherscatter.segment_softmax : The same for arrays of every library.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_softmax(torch.tensor([1.0, 1.0, 5.0]), torch.tensor([0, 0, 2]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    groups = _of_floats(_SOFTMAX, src, index, dim, None, dim_size)
    powers = _below_the_greatest(groups, src).exp()
    sums = groups.add(powers)
    return powers / groups.spread(torch.where(sums == 0, 1, sums))


def scatter_log_softmax(
    src: Tensor, index: Tensor, dim: IntLike = -1, eps: float = 1e-12, dim_size: IntLike | None = None
) -> Tensor:
    """Compute the logarithm of the softmax of each group.

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: floating-point numbers.
    index : torch.Tensor of integers
        The group of each element: see `scatter_sum`.
    dim : int, default -1
        The axis of `src` that is reduced.
    eps : float, default 1e-12
        What is added to the sum of the exponentials, of which the greatest is 1.
    dim_size : int, optional
        The number of groups.

    Returns
    -------
    torch.Tensor, shape ``src.shape``
        In a group whose elements are all −inf, −inf.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `scatter_sum`.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.scatter_log_softmax(torch.tensor([1.0, 1.0, 5.0]), torch.tensor([0, 0, 2]))
    tensor([-0.6931, -0.6931,  0.0000])
    """
    groups = _of_floats(_LOG_SOFTMAX, src, index, dim, None, dim_size)
    apart = _below_the_greatest(groups, src)
    sums = groups.add(apart.exp())
    return apart - groups.spread((torch.where(sums == 0, 1, sums) + eps).log())


def softmax_csr(src: Tensor, ptr: Tensor, dim: IntLike = 0) -> Tensor:
    """Compute the softmax of each segment of sorted elements (``pyg_lib.ops.softmax_csr``).

    Parameters
    ----------
    src : torch.Tensor, shape (d_0, …, d_{r−1})
        The elements: floating-point numbers.
    ptr : torch.Tensor of integers, shape (n + 1,)
        Segment ``i`` has the positions from ``ptr[i]`` to ``ptr[i + 1] - 1`` along `dim`.
    dim : int, default 0
        The axis of `src` that has the segments.

    Returns
    -------
    torch.Tensor, shape ``src.shape``
        Elements of no segment have 0.

    Raises
    ------
    IndexError
        If a pointer is not within src's size.
    ValueError, TypeError
        If the pointers decrease, or a shape or dtype does not fit.

    References
    ----------
    pyg_lib, https://pyg-lib.readthedocs.io

    Examples
    --------
    >>> import torch
    >>> from gatherscatter import torch_scatter
    >>> torch_scatter.softmax_csr(torch.tensor([1.0, 1.0, 5.0]), torch.tensor([0, 2, 3]))
    tensor([0.5000, 0.5000, 1.0000])
    """
    dim = axis_of(_SOFTMAX_CSR, src, ptr, dim)
    result: Tensor = segment_softmax(src, indptr=ptr, axis=dim)
    return result


def _of_floats(
    names: Names, src: Tensor, index: Tensor, dim: IntLike, out: Tensor | None, dim_size: IntLike | None
) -> Groups:
    groups = group(names, src, index, dim, out, dim_size)
    if not src.is_floating_point():
        raise errors.shape_rule(names.rows, f"src has dtype {src.dtype}; pass floating-point numbers")
    return groups


def _below_the_greatest(groups: Groups, src: Tensor) -> Tensor:
    """The elements less the greatest of their group, so that no exponential overflows."""
    fixed = src.detach()
    greatest = groups.scatter(fixed, src.new_full(groups.sizes, -math.inf), "max")
    return src - groups.spread(torch.where(greatest == -math.inf, 0, greatest))
