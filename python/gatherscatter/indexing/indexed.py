"""`At`: the part of an array that an index selects, with the methods that gather from it and scatter to it.

`calls` and `elementwise` carry them out. ``indexed.pyi`` has the types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from gatherscatter import dispatch, threads
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.indexing import calls, elementwise
from gatherscatter.indexing.calls import GET, SCATTER
from gatherscatter.indexing.grammar import adjacent
from gatherscatter.operators import AXIS

__all__ = ["At"]


class At(elementwise.Methods):
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
    The result is bit for bit that of this loop, duplicates included, at every thread count; `divide` and `power` state
    what duplicates mean there. On a GPU, floats are added
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
            raise calls.index_error(GET, x, index, mode, wrap, error, fill_value) from None
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
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with ``x[index]`` replaced by `updates`.

        The last of duplicates wins.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, out, copy, xp : see `add`
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
        return self._update("none", updates, mode, include_self, wrap_negative_indices, None, out, copy)

    def add(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with `updates` added to ``x[index]``.

        Unlike ``x[index] += updates`` in NumPy, duplicate indices add up.

        Parameters
        ----------
        updates : array or scalar
            It is broadcast to the shape of ``x[index]``. An array is cast to x's dtype by NumPy's casting rule
            "same_kind". The values of a scalar or a list must fit x's dtype.
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
        copy : bool, optional
            None and True: the result is a new array. False: the result is written to x, as with ``out=x``.
        xp : module, optional
            Has no effect, since x determines the library. For code that calls ``array_api_extra.at``.

        Returns
        -------
        array
            The result, of x's library, shape, dtype and device. It is `out` if that is given.

        Raises
        ------
        IndexError, ValueError, TypeError, NotImplementedError
            As `get` and `scatter_nd`. With ``copy=False``, a ValueError if x cannot be written to, or if `out` is
            another array. `out` is unchanged.

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
        return self._update("add", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, copy)

    def subtract(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with `updates` subtracted from ``x[index]``.

        The method adds the negated updates, which gives the same bits. The negated updates take memory in addition to
        the result.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, copy, xp : see `add`
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
        return self._update(
            "add", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, copy, True
        )

    def multiply(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with ``x[index]`` multiplied by `updates`.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, copy, xp : see `add`
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
        return self._update("mul", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, copy)

    def min(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with the minimum of each element of ``x[index]`` and its updates.

        NaN propagates.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, out, copy, xp : see `add`
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
        return self._update("min", updates, mode, include_self, wrap_negative_indices, None, out, copy)

    def max(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with the maximum of each element of ``x[index]`` and its updates.

        NaN propagates.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, out, copy, xp : see `add`
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
        return self._update("max", updates, mode, include_self, wrap_negative_indices, None, out, copy)

    def mean(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        include_self: bool | np.bool = True,
        wrap_negative_indices: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with the mean of each element of ``x[index]`` and its updates.

        Means of integers are rounded down.

        Parameters
        ----------
        updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, copy, xp : see `add`
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
        return self._update("mean", updates, mode, include_self, wrap_negative_indices, accumulate_dtype, out, copy)

    def _update(
        self,
        reduction: str,
        updates: Any,
        mode: Any,
        include_self: Any,
        wrap: Any,
        accumulate_dtype: Any,
        out: Any,
        copy: Any,
        negate: bool = False,
    ) -> Any:
        x, index = self._x, self._index
        if copy is not None:
            out = elementwise.out_of(SCATTER, x, copy, out)
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
                raise calls.index_error(SCATTER, x, index, mode, wrap, error) from None
            if result is not None:
                return result
        options = (reduction, include_self, mode, accumulate_dtype)
        return calls.update(SCATTER, x, index, updates, options, wrap, out, negate)
