"""Indexing as in NumPy: ``at(x)[index]`` gathers from x and scatters into it, with any index that NumPy accepts.

``indexed.py`` has the methods. ``at.pyi`` has the overloads for type checkers.
"""

from __future__ import annotations

from typing import Any

from gatherscatter.errors.foreign import FromAt
from gatherscatter.indexing.indexed import At

__all__ = ["at"]


class at(FromAt):
    """Gather from `x`, or scatter into a copy of `x`, with any index that NumPy accepts.

    ``at(x)[index]`` returns an object with the methods `get`, `set`, `add`, `subtract`, `multiply`, `divide`,
    `power`, `min`, `max` and `mean`, which are documented in `At`. Nothing is computed until one of them is called.
    ``at(x, index)`` means the same.

    Parameters
    ----------
    x : array or list
        An array of any library. The results belong to the same library. A list or a scalar becomes a NumPy array.
    *index : index, optional
        An index as in ``at(x)[index]``, for code that is written so for ``array_api_extra.at``.

    See Also
    --------
    gather, gather_nd, gather_elements : Gathers by one array of indices.
    scatter, scatter_nd, scatter_elements : Scatters by one array of indices.

    Notes
    -----
    The index is any index of NumPy [1]_: integers, slices, ``...``, ``None``, integer arrays that broadcast against
    each other, boolean masks of any rank, and a tuple of these. Lists are treated as arrays. The axes of the result are
    in NumPy's order: the axes of the index arrays are in the position of the arrays in the index, or first if a slice,
    ``...`` or ``None`` separates the arrays. If there are index arrays, an integer counts as an index array.

    Slices, integers and ``None`` are applied as a view of `x`, without a copy. A NumPy mask takes 4 bytes for each
    element that it selects (8 bytes if it has 2**31 elements or more), or 8 bytes for each of its axes if these cannot
    be viewed as one axis.

    References
    ----------
    .. [1] NumPy user guide, https://numpy.org/doc/stable/user/basics.indexing.html

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> x = np.arange(12).reshape(3, 4)
    >>> gs.at(x)[[0, 2], 1:3].get()
    array([[ 1,  2],
           [ 9, 10]])
    >>> gs.at(x)[[0, 2], [1, -1]].set(-5)
    array([[ 0, -5,  2,  3],
           [ 4,  5,  6,  7],
           [ 8,  9, 10, -5]])
    >>> gs.at(x)[x > 8].add(100)
    array([[  0,   1,   2,   3],
           [  4,   5,   6,   7],
           [  8, 109, 110, 111]])
    >>> gs.at(np.zeros(3))[[0, 2, 0]].add([1.0, 2.0, 4.0])
    array([5., 0., 2.])
    """

    __slots__ = ("_x",)
    __iter__ = __contains__ = __reversed__ = None  # without these, Python would try the indices 0, 1, 2, … without end

    def __init__(self, x: Any, *index: Any) -> None:  # torch.compile cannot trace a default that is an object of ours
        self._x = At(x, *index) if index else x  # whose methods `FromAt` finds

    def __getitem__(self, index: Any) -> At:
        """Select the part of x that an index describes."""
        return At(self._x, index)

    def __repr__(self) -> str:
        return "gatherscatter.at(...)"
