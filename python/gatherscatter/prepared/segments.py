"""The objects that `prepare` makes of the ids of segments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import core, dispatch, errors
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.backends import kernels
from gatherscatter.backends.base import Backend
from gatherscatter.errors import segments as messages
from gatherscatter.operators import GATHER, Operator
from gatherscatter.plan import Shape
from gatherscatter.prepared.indices import Prepared, indices_on, numbers_of, orders_on
from gatherscatter.prepared.resolve import grouped
from gatherscatter.reductions import kind_of
from gatherscatter.segments import functions, rules
from gatherscatter.segments.ids import Ids
from gatherscatter.segments.rules import Layout
from gatherscatter.segments.scans import scan_segments

__all__ = ["PreparedSegments"]

_GATHER = (GATHER.strict or GATHER).replace(indices="segment_ids")


class PreparedSegments:
    """Ids of segments that `prepare` has checked, counted and copied.

    The methods have the meaning, the bits and the errors of the functions. Their results belong to the library of
    `data`, and have gradients. `counts`, `order` and `indptr` belong to the library of the ids.

    See Also
    --------
    prepare : The function that makes it.
    segment_reduce, segment_scan, segment_quantile, segment_argsort, segment_softmax, segment_log_softmax : Its methods
        as functions that use their ids once.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.prepare("segment", (4,), [1, 0, 1, -1])
    <gatherscatter.PreparedSegments: shape=(4,), axis=0; 2 segments, 16 bytes>
    """

    __slots__ = ("__weakref__", "_arrays", "_converted", "_has_rest", "_layout", "_like", "_rows")

    _arrays: dict[str, NDArray[np.int64]]  # counts and, once they are asked for, order and indptr
    _converted: dict[tuple[str, ...], Any]  # these as arrays of other libraries
    _has_rest: bool
    _layout: Layout
    _like: Any  # an empty array of the ids' library and device
    _rows: Prepared  # the ids as indices of a scatter; the last row, if there is one more, is for no segment

    def __init__(self) -> None:
        raise TypeError("PreparedSegments: objects of this class are made by gatherscatter.prepare; call that")

    @classmethod
    def _of(cls, rows: Prepared, layout: Layout, like: Any) -> PreparedSegments:
        self = cls.__new__(cls)
        self._rows, self._layout, self._like = rows, layout, like
        self._has_rest = rows.shape[-1] > layout.n
        self._arrays = {"counts": _fixed(rows.counts[..., : layout.n].copy())}  # torch.compile takes no views
        self._converted = {}
        return self

    def __repr__(self) -> str:
        layout = self._layout
        batch = f", batch_dims={layout.batch_dims}" if layout.batch_dims else ""
        what = f"shape={layout.data}, axis={layout.axis}{batch}; {layout.n} segments, {self._rows.nbytes} bytes"
        return f"<gatherscatter.PreparedSegments: {what}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedSegments._of, (self._rows, self._layout, self._like)

    @property
    def shape(self) -> Shape:
        """The shape of data that `prepare` was called with.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).shape
        (4,)
        """
        return self._layout.data

    @property
    def num_segments(self) -> int:
        """The number of segments.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).num_segments
        2
        """
        return self._layout.n

    @property
    def counts(self) -> Any:
        """The number of elements of each segment, of shape ``shape[:batch_dims] + (num_segments,)``.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).counts
        array([1, 2])
        """
        return self._own("counts")

    @property
    def order(self) -> Any:
        """The positions of the elements that have a segment, segment after segment: stable, so in order within each.

        They are row-major positions in an array of the ids' shape: those along the axis, for ids of one axis.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).order
        array([1, 0, 2])
        """
        return self._own("order")

    @property
    def indptr(self) -> Any:
        """Where each segment begins in `order`, and the end of the last one. Segments of batches follow each other.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).indptr
        array([0, 1, 3])
        """
        return self._own("indptr")

    def reduce(
        self,
        data: Any,
        *,
        reduction: str | tuple[str, ...] = "add",
        skipna: bool = False,
        min_count: IntLike = 0,
        fill_value: Any = None,
        correction: float = 0,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Reduce the elements of each segment, as `segment_reduce`.

        Parameters
        ----------
        data : array or list
            Of the shape that `prepare` was called with. The axes after those that the ids number may differ, in size
            and in number.
        reduction : str or tuple of str, default "add"
            As for the function; so are the next parameters.
        skipna : bool, default False
            Whether NaN and NaT do not count.
        min_count : int, default 0
            Segments with fewer elements have `fill_value`, or NaN.
        fill_value : scalar, optional
            The result of segments with too few elements.
        correction : float, default 0
            For ``"var"`` and ``"std"``.
        dtype : dtype, optional
            The result's dtype.
        out : array or tuple of arrays, optional
            Where to write the result or the results.

        Returns
        -------
        array or tuple of arrays
            As of the function.

        Raises
        ------
        TypeError, ValueError
            The errors of the function, except those for its ids, and an error for another shape of `data`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).reduce([1.0, 2.0, 5.0, 9.0], reduction="max")
        array([2., 5.])
        """
        data, ids = self._read(rules.REDUCE, data)
        return functions.reduce_segments(data, ids, reduction, skipna, min_count, fill_value, correction, dtype, out)

    def scan(
        self,
        data: Any,
        *,
        reduction: str = "add",
        exclusive: bool = False,
        reverse: bool = False,
        skipna: bool = False,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Running sum, product, maximum, minimum or count of each segment, as `segment_scan`.

        Parameters
        ----------
        data : array or list
            As for `reduce`.
        reduction : {"add", "mul", "max", "min", "count"}, default "add"
            As for the function; so are the next parameters.
        exclusive : bool, default False
            Whether the element itself is left out.
        reverse : bool, default False
            Whether to begin at the last element of each segment.
        skipna : bool, default False
            Whether NaN and NaT are left out.
        dtype : dtype, optional
            The result's dtype.
        out : array, optional
            Where to write the result.

        Returns
        -------
        array
            As of the function.

        Raises
        ------
        TypeError, ValueError, NotImplementedError
            As `reduce`, and the errors of the function for its options.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).scan([2.0, 3.0, 4.0, 9.0])
        array([ 2.,  3.,  6., nan])
        """
        return scan_segments(*self._read(rules.SCAN, data), reduction, exclusive, reverse, skipna, dtype, out)

    def quantile(
        self,
        data: Any,
        q: Any,
        *,
        method: str = "linear",
        skipna: bool = False,
        min_count: IntLike = 0,
        fill_value: Any = None,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Find quantiles of each segment, as `segment_quantile`.

        Parameters
        ----------
        data : array or list
            As for `reduce`.
        q : float or array of floats of one axis
            The quantiles, from 0 to 1.
        method : {"linear", "lower", "higher", "nearest", "midpoint"}, default "linear"
            As for the function; so are the next parameters.
        skipna : bool, default False
            Whether NaN and NaT do not count.
        min_count : int, default 0
            Segments with fewer elements have `fill_value`, or NaN.
        fill_value : scalar, optional
            The result of segments with too few elements.
        dtype : dtype, optional
            The result's dtype.
        out : array, optional
            Where to write the result.

        Returns
        -------
        array
            As of the function.

        Raises
        ------
        TypeError, ValueError
            As `reduce`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).quantile([1.0, 2.0, 5.0, 9.0], 0.75)
        array([2., 4.])
        """
        found = self._read(rules.QUANTILE, data)
        return functions.quantiles_of_segments(*found, q, method, skipna, min_count, fill_value, dtype, out)

    def argsort(self, data: Any, *, descending: bool = False) -> Any:
        """Sort the elements of each segment, and return their positions by segment, as `segment_argsort`.

        Segment ``i`` has those from ``indptr[i]`` to ``indptr[i + 1] - 1``, without `batch_dims`.

        Parameters
        ----------
        data : array or list
            As for `reduce`.
        descending : bool, default False
            Whether the greatest element of a segment comes first.

        Returns
        -------
        array of integers
            As of the function.

        Raises
        ------
        TypeError, ValueError
            As `reduce`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).argsort([5.0, 2.0, 1.0, 9.0])
        array([1, 2, 0, 3])
        """
        return functions.order_of_segments(*self._read(rules.ARGSORT, data), descending)

    def softmax(self, data: Any, *, dtype: Any = None, out: Any = None) -> Any:
        """Softmax of each segment, as `segment_softmax`.

        Parameters
        ----------
        data : array or list
            As for `reduce`.
        dtype : dtype, optional
            The result's dtype.
        out : array, optional
            Where to write the result.

        Returns
        -------
        array
            As of the function.

        Raises
        ------
        TypeError, ValueError
            As `reduce`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).softmax([2.0, 3.0, 2.0, 9.0])
        array([0.5, 1. , 0.5, 0. ])
        """
        return functions.softmax_of_segments(*self._read(rules.SOFTMAX, data), dtype, out, is_log=False)

    def log_softmax(self, data: Any, *, dtype: Any = None, out: Any = None) -> Any:
        """Logarithm of the softmax of each segment, as `segment_log_softmax`.

        Parameters
        ----------
        data : array or list
            As for `reduce`.
        dtype : dtype, optional
            The result's dtype.
        out : array, optional
            Where to write the result.

        Returns
        -------
        array
            As of the function.

        Raises
        ------
        TypeError, ValueError
            As `reduce`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (3,), [1, 0, 1]).log_softmax([2.0, 3.0, 2.0]).round(3)
        array([-0.693,  0.   , -0.693])
        """
        return functions.softmax_of_segments(*self._read(rules.LOG_SOFTMAX, data), dtype, out, is_log=True)

    def gather(self, values: Any, fill_value: Any = None) -> Any:
        """For each element, the value of its segment.

        Parameters
        ----------
        values : array or list
            A value for each segment: of the shape of a result of `reduce`, with any axes after that of the segments.
        fill_value : scalar, optional
            For elements of no segment. By default NaN or NaT.

        Returns
        -------
        array
            Of the shape of data.

        Raises
        ------
        TypeError, ValueError
            The errors of `gatherscatter.gather`; an error for another shape of `values`, and for an element of no
            segment if `fill_value` is not given and the dtype has no NaN.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("segment", (4,), [1, 0, 1, -1]).gather([0.5, 2.5])
        array([2.5, 0.5, 2.5, nan])
        """
        layout, op = self._layout, _GATHER
        backend, (values,) = core.arrays(op.replace(data="values"), data=values)
        found, expected = tuple(values.shape), (*layout.outer, layout.n)
        if found[: len(expected)] != expected:
            plans.check_known(op.replace(data="values"), "data", found)
            raise messages.values_shape(op, found, expected)
        if fill_value is None:
            fill_value = self._nan(backend, values) if self._has_rest else 0
        indices = indices_on(self._rows, backend, op, values)
        orders = None if self._has_rest else self._orders(backend, op, values, 1, scatters=False)
        return core.gather_on(
            backend, op, values, indices, layout.axis, layout.batch_dims, "fill", fill_value, None,
            orders is not None, orders,
        )  # fmt: skip

    def _nan(self, backend: Backend, values: Any) -> Any:
        """What says that there is no value, in the dtype of values."""
        name = backend.dtype_name(values)
        if name[:8] == "datetime" or name[:9] == "timedelta":
            return np.asarray("NaT", values.dtype)[()]
        if kind_of(name) in "fc":
            return float("nan")
        ids = numbers_of(self._rows)
        position = plans.unravel(int(np.argmax(ids == self._layout.n)), ids.shape)
        raise messages.element_of_none(_GATHER, position, values.dtype)

    def _read(self, op: Operator, data: Any) -> tuple[Any, Ids]:
        """Data as an array, and its ids as an array of its library."""
        layout = self._layout
        backend, (data,) = core.arrays(op, data=data)
        found, expected = tuple(data.shape), layout.data[: layout.axis + layout.depth]
        if found[: len(expected)] != expected:
            plans.check_known(op, "data", found)
            raise errors.prepared_shape(op, found, expected, layout.data, exact=False)
        if isinstance(data, np.ndarray) and not data.dtype.isnative:
            data = data.astype(data.dtype.newbyteorder("="))
        orders = self._orders(backend, op, data, layout.depth, scatters=True)
        # Updates are dropped by the order, or by the libraries; NumPy's kernels take longer for that.
        has_rest = self._has_rest and (backend.takes_numpy_indices or orders is not None)
        mode = "drop" if self._has_rest and not has_rest else "promise_in_bounds"
        layout, array = layout._replace(operator=op, data=found), indices_on(self._rows, backend, op, data)
        # Dask takes NumPy's indices, but no NumPy array where it computes with counts.
        counts = None if backend.name == "Dask" else self._array("counts", backend, data)
        return data, Ids(backend, layout, array, mode, has_rest, counts, orders)

    def _orders(
        self, backend: Backend, op: Operator, data: Any, depth: int, *, scatters: bool
    ) -> kernels.Orders | None:
        """Orders that a call can use. depth: how many axes of data the ids number."""
        if self._layout.axis:
            return None
        found = orders_on(self._rows, backend, op, data, depth, scatters=scatters)
        return None if found is None or (found.by_row is None and found.tiles is None) else found

    def _own(self, name: str) -> Any:
        """Counts, order or indptr as an array of the ids' library and device."""
        backend, (like,) = dispatch.route(rules.REDUCE, {"indices": self._like})
        return self._array(name, backend, like)

    def _array(self, name: str, backend: Backend, like: Any) -> Any:
        """The same of another library and like's device."""
        if name not in self._arrays:
            self._group()
        if backend.takes_numpy_indices:
            return self._arrays[name]
        key = name, backend.name, str(backend.device(like))
        found = self._converted.get(key)
        if found is None:
            with backend.constants():
                found = backend.as_argument(rules.REDUCE, "indices", self._arrays[name], like)
            if not backend.is_unknown(found):
                self._converted[key] = found
        return found

    def _group(self) -> None:
        """Find the order and where the segments begin in it."""
        b, ids = self._layout.batch_dims, numbers_of(self._rows)
        order, indptr = grouped(ids.reshape(math.prod(ids.shape[:b]), math.prod(ids.shape[b:])), self._arrays["counts"])
        self._arrays["order"] = _fixed(order.astype(np.int64))
        self._arrays["indptr"] = _fixed(indptr)


def _fixed(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """The array, made read-only."""
    array.flags.writeable = False
    return array
