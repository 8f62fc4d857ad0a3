"""Indexing as in NumPy: ``at(x)[index]`` gathers from x and scatters into it, with any index that NumPy accepts.

`calls` carries them out. ``at.pyi`` has the overloads for type checkers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from gatherscatter import dispatch, threads
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.indexing import absent, calls
from gatherscatter.indexing.calls import GET, SCATTER
from gatherscatter.indexing.grammar import adjacent
from gatherscatter.operators import AXIS

__all__ = ["At", "at"]


class at(absent.FromAt):
    """Gather from `x`, or scatter into a copy of `x`, with any index that NumPy accepts.

    ``at(x)[index]`` returns an object with the methods `get`, `set`, `add`, `subtract`, `multiply`, `min`, `max` and
    `mean`, which are documented in `At`. Nothing is computed until one of them is called.

    Parameters
    ----------
    x : array or list
        An array of any library. The results belong to the same library. A list or a scalar becomes a NumPy array.

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

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> At:
        """Select the part of x that an index describes."""
        return At(self._x, index)

    def __repr__(self) -> str:
        return "gatherscatter.at(...)"


class At(absent.FromIndexed):
    """The part of an array that an index selects: ``at(x)[index]``.

    Each method is equivalent to a loop over the positions ``t`` of ``x[index]`` in row-major order. With
    ``destination(t)`` being the position in `x` of the element ``x[index][t]``::

        get                 result[t] = x[destination(t)]
        the other methods   result = copy(x)
                            result[destination(t)] = f(result[destination(t)], updates[t])

    where the method determines ``f``.

    See Also
    --------
    at : The function that makes it.

    Notes
    -----
    The result is bit for bit that of this loop, duplicates included, at every thread count. On a GPU, floats are added
    in an unspecified order unless `use_deterministic_algorithms` is enabled.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.at([1, 2, 3])[::2].multiply(10)
    array([10,  2, 30])
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Any, index: Any) -> None:
        self._x = x
        self._index = index

    def __repr__(self) -> str:
        return "gatherscatter.at(...)[...]"

    def get(
        self,
        *,
        mode: str = "raise",
        fill_value: Any = 0,
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
    ) -> Any:
        """Return the values of ``x[index]`` as a new array.

        The result is never a view of x, not even for a slice.

        Parameters
        ----------
        mode : {"raise", "clip", "wrap", "fill", "promise_in_bounds"}, default "raise"
            How to treat an integer that is out of bounds, in the index or in an index array: see `gather_nd`. A slice
            is cut to the axis in every mode.
        fill_value : scalar, default 0
            Value for ``mode="fill"``. It must fit the dtype of x; 0 is the zero of any dtype.
        wrap_negative_indices : bool, default True
            Whether negative integers count from the end. If False, they are out of bounds. Negative bounds of
            slices count from the end in both cases, as in Python.
        out : array, optional
            Array to write the result to, with the shape and dtype of the result. It may have any strides and may
            overlap x.

        Returns
        -------
        array
            The result, of the shape of ``x[index]`` and of x's library, dtype and device. It is `out` if that is
            given.

        Raises
        ------
        IndexError
            If NumPy does not accept the index, if its arrays do not broadcast to one shape, or if an integer is out of
            bounds and the mode raises. `out` is unchanged.
        ValueError, TypeError
            As `gather_nd`.
        NotImplementedError
            For a traced mask or a Dask mask: the number of elements that it selects is unknown at the call.

        See Also
        --------
        gatherscatter.gather : Gather by one array of indices.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> x = np.arange(6).reshape(2, 3)
        >>> gs.at(x)[:, [2, 0]].get()
        array([[2, 0],
               [5, 3]])
        >>> gs.at(x)[[0, 1], [0, 7]].get(mode="fill", fill_value=-1)
        array([ 0, -1])
        """
        x, index = self._x, self._index
        # Fast path: arrays that index adjacent axes. None: the index must be parsed, or there is another error.
        wrap, result = wrap_negative_indices, None
        try:
            if type(x) is ndarray:
                kind, axis, arrays = adjacent(index, x.ndim) if type(index) is tuple else (AXIS, 0, index)
                result = try_gather(kind, wrap, x, arrays, axis, 0, mode, fill_value, out, threads.limit, GET)
            elif wrap is True and (backend := dispatch.known.get((type(x), type(index)))):
                result = backend.try_gather(GET, x, index, (0, 0, mode, fill_value), out)
        except IndexError as error:
            raise calls.explained(GET, x, index, mode, wrap, error, fill_value) from None
        if result is not None:
            return result
        return calls.get(GET, x, index, mode, fill_value, wrap, out)

    def set(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
    ) -> Any:
        """Return a copy of x with ``x[index]`` replaced by `updates`.

        The last of duplicates wins.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, out : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        See Also
        --------
        add : What the parameters mean.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.zeros((2, 3), int))[:, [0, 2]].set([[1, 2], [3, 4]])
        array([[1, 0, 2],
               [3, 0, 4]])
        """
        return self._update("none", updates, mode, include_self, wrap_negative_indices, None, out)

    def add(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Return a copy of x with `updates` added to ``x[index]``.

        Unlike ``x[index] += updates`` in NumPy, duplicate indices add up.

        Parameters
        ----------
        updates : array or scalar
            It is broadcast to the shape of ``x[index]``. An array is cast to x's dtype by NumPy's casting rule
            "same_kind". The values of a scalar, an array of rank 0 or a list must fit x's dtype.
        mode : {"raise", "clip", "wrap", "drop", "promise_in_bounds"}, default "raise"
            How to treat an integer that is out of bounds, in the index or in an index array: see `scatter_nd`.
        include_self : bool, default True
            Whether a destination starts from its element of x. If False, it starts from its first update.
        wrap_negative_indices : bool, default True
            Whether negative integers count from the end. If False, they are out of bounds.
        accumulate_dtype : dtype, optional
            A wider dtype for sums and products: see `scatter_nd`.
        out : array, optional
            Array to write the result to, with the shape and dtype of x. ``out=x`` works in place.

        Returns
        -------
        array
            The result, of x's library, shape, dtype and device. It is `out` if that is given.

        Raises
        ------
        IndexError, ValueError, TypeError, NotImplementedError
            As `get` and `scatter_nd`. `out` is unchanged.

        See Also
        --------
        gatherscatter.scatter : Scatter by one array of indices.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.zeros(3))[[1, 1, 2]].add(1.0)
        array([0., 2., 1.])
        """
        return self._update("add", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out)

    def subtract(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Return a copy of x with `updates` subtracted from ``x[index]``.

        The method adds the negated updates, which gives the same bits. The negated updates take memory in addition to
        the result.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        See Also
        --------
        add : What the parameters mean.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.zeros(3))[[1, 1, 2]].subtract(1.0)
        array([ 0., -2., -1.])
        """
        return self._update("add", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, True)

    def multiply(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Return a copy of x with ``x[index]`` multiplied by `updates`.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        See Also
        --------
        add : What the parameters mean.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.ones(3))[[1, 1, 2]].multiply(2.0)
        array([1., 4., 2.])
        """
        return self._update("mul", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out)

    def min(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
    ) -> Any:
        """Return a copy of x with the minimum of each element of ``x[index]`` and its updates.

        NaN propagates.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, out : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        See Also
        --------
        add : What the parameters mean.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.array([5, 5, 5]))[[0, 2, 0]].min([4, 9, 3])
        array([3, 5, 5])
        """
        return self._update("min", updates, mode, include_self, wrap_negative_indices, None, out)

    def max(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
    ) -> Any:
        """Return a copy of x with the maximum of each element of ``x[index]`` and its updates.

        NaN propagates.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, out : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        See Also
        --------
        add : What the parameters mean.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.array([5, 5, 5]))[[0, 2, 0]].max([4, 9, 7])
        array([7, 5, 9])
        """
        return self._update("max", updates, mode, include_self, wrap_negative_indices, None, out)

    def mean(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Return a copy of x with the mean of each element of ``x[index]`` and its updates.

        Means of integers are rounded down.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        See Also
        --------
        add : What the parameters mean.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.array([9.0, 9.0]))[[0, 0]].mean([1.0, 2.0], include_self=False)
        array([1.5, 9. ])
        """
        return self._update("mean", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out)

    def _update(
        self,
        reduction: str,
        updates: Any,
        mode: Any,
        include_self: Any,
        wrap: Any,
        accumulate_dtype: Any,
        out: Any,
        negate: bool = False,
    ) -> Any:
        x, index = self._x, self._index
        if accumulate_dtype is None and not negate:
            result = None
            try:
                if type(x) is ndarray:
                    kind, axis, arrays = adjacent(index, x.ndim) if type(index) is tuple else (AXIS, 0, index)
                    result = try_scatter(
                        kind, wrap, x, arrays, updates, axis, 0, reduction, mode, include_self, out, threads.limit,
                        SCATTER,
                    )  # fmt: skip
                elif wrap is True and (backend := dispatch.known.get((type(x), type(index), type(updates)))):
                    result = backend.try_scatter(SCATTER, x, index, updates, (0, 0, reduction, mode, include_self), out)
            except IndexError as error:
                raise calls.explained(SCATTER, x, index, mode, wrap, error) from None
            if result is not None:
                return result
        options = (reduction, include_self, mode, accumulate_dtype)
        return calls.update(SCATTER, x, index, updates, options, wrap, out, negate)
