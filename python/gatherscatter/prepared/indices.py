"""The objects that `prepare` makes of indices. ``indices.pyi`` has the overloads for type checkers."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gatherscatter import core, errors, threads
from gatherscatter import plan as plans
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends import kernels
from gatherscatter.backends.base import Backend
from gatherscatter.backends.library import merged_shape
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.operators import AXIS, ELEMENTS, ND, Operator
from gatherscatter.plan import Plan, Shape
from gatherscatter.prepared.resolve import OPERATORS, RESOLVED, tuples

__all__ = ["Prepared"]

Array = NDArray[Any]


# Modes for indices that select nothing.
_SKIPPING = ("fill", "drop")

# An order by slice is of use for rows of as many bytes and up to as many rows for each index.
_SHORTEST_ROW = 64
_MOST_ROWS_PER_INDEX = 8
# Any order is of use for data of as many bytes.
_SMALLEST_ORDERED = 1 << 16

# Up to as many tuples are kept as such too: a view of data with their axes as one takes longer than a small call.
_FEW = 1 << 10


class Prepared:
    """Indices that `prepare` has checked, resolved and copied.

    The methods have the meaning, the bits and the errors of the function that `prepare` was called for, and of the
    gather or scatter with the same indices. Their results belong to the library of `data`, and have gradients.

    See Also
    --------
    prepare : The function that makes it.

    Examples
    --------
    >>> import gatherscatter as gs
    >>> gs.prepare("gather", shape=(3,), indices=[2, 0])
    <gatherscatter.Prepared: 'gather', shape=(3,), axis=0, mode='raise'; 2 indices, 8 bytes>
    """

    __slots__ = (
        "__weakref__", "_can_order", "_converted", "_counts", "_few", "_indices", "_is_dense", "_leading", "_modes",
        "_n_slices", "_orders", "_plan",
    )  # fmt: skip

    def __init__(self) -> None:
        raise TypeError("Prepared: objects of this class are made by gatherscatter.prepare; call that")

    @classmethod
    def _of(cls, indices: Array, plan: Plan) -> Prepared:
        self = cls.__new__(cls)
        self._indices = indices
        self._plan = plan
        self._converted: dict[Any, Any] = {}  # indices of other libraries, and tuples
        self._counts: Array | None = None
        self._few: Array | None = None  # tuples
        self._leading = plan.leading
        self._modes = ("fill", "drop") if plan.mode in _SKIPPING else ("raise", "raise")
        self._n_slices = math.prod(plan.sizes)
        self._orders = kernels.Orders(indices, self._n_slices)
        self._is_dense = self._n_slices <= _MOST_ROWS_PER_INDEX * indices.size
        self._can_order = (
            plan.axis == 0
            and plan.kind != ELEMENTS
            and indices.dtype == np.int32
            and self._n_slices > 0
            and 0 < indices.size < np.iinfo(np.uint32).max
        )
        if plan.kind == ND and indices.size <= _FEW:
            self._few = self._as_tuples()
        return self

    def __repr__(self) -> str:
        plan = self._plan
        axis = "" if plan.kind == ND else f", axis={plan.axis}"
        batch = f", batch_dims={plan.batch_dims}" if plan.batch_dims else ""
        what = f"{plan.operator.name!r}, shape={plan.data}{axis}{batch}, mode={plan.mode!r}"
        return f"<gatherscatter.Prepared: {what}; {self._indices.size} indices, {self.nbytes} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        plan = self._plan
        fields = plan.operator.name, plan.wrap_negative_indices, plan.data, plan.depth, plan.axis, plan.batch_dims
        return _restored, (self._indices, *fields, plan.mode)

    def __copy__(self) -> Prepared:
        return self

    def __deepcopy__(self, _: Any) -> Prepared:
        return self

    @property
    def operator(self) -> str:
        """The name of the function whose indices these are.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("gather", shape=(3,), indices=[2, 0]).operator
        'gather'
        """
        return self._plan.operator.name

    @property
    def shape(self) -> Shape:
        """The shape of data that `prepare` was called with.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("gather", shape=(3,), indices=[2, 0]).shape
        (3,)
        """
        return self._plan.data

    @property
    def nbytes(self) -> int:
        """The bytes of memory of the indices and, once they are made, of their order and its form for `gather_scatter`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("gather", shape=(3,), indices=[2, 0]).nbytes
        8
        """
        arrays = [self._indices, *(array for array in self._converted.values() if isinstance(array, np.ndarray))]
        return sum(array.nbytes for array in arrays) + self._orders.nbytes

    @property
    def counts(self) -> Array:
        """How many indices select each slice: a NumPy array of int64, which is read-only.

        Its shape is that of data without the axes of a slice.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("gather", shape=(3,), indices=[2, 0, 2]).counts
        array([1, 0, 2])
        """
        if self._counts is None:
            counts = self.scatter(np.zeros(self._plan.leading, np.int64), 1, reduction="add")
            counts.flags.writeable = False
            self._counts = counts
        return self._counts

    def gather(self, data: Any, *, fill_value: Any = 0, out: Any = None) -> Any:
        """Gather from `data`.

        Parameters
        ----------
        data : array or list
            Of the shape that `prepare` was called with. The axes of a slice may differ, in size and in number.
        fill_value : scalar, default 0
            For indices that are out of bounds, with ``mode="fill"`` or ``"drop"``.
        out : array, optional
            As for the function.

        Returns
        -------
        array
            As of the function.

        Raises
        ------
        TypeError, ValueError
            The errors of the function, except those for its indices, and an error for another shape of `data`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("gather", (3,), [2, 0]).gather([1.5, 2.5, 3.5])
        array([3.5, 1.5])
        """
        plan, mode = self._plan, self._modes[0]
        small = self._small(data, scatters=False)
        if small is not None:
            kind, table, indices = small
            axis = 0 if kind == ND else plan.axis
            result = try_gather(
                kind, False, table, indices, axis, plan.batch_dims, mode, fill_value, out, threads.limit,
                None, self._orders.tiles,
            )  # fmt: skip
            if result is not None:
                return result
        op = OPERATORS[plan.operator.name].gather
        backend, (data,) = core.arrays(op, data=data)
        self._check_shape(op, data)
        orders = self._order(backend, op, data, scatters=False)
        kind, (table,) = self._views(backend, data)
        indices = self._as_indices(backend, op, kind, data)
        return core.gather_on(
            backend, RESOLVED[op.name, kind], table, indices, plan.axis, plan.batch_dims, mode, fill_value, out,
            small is not None, orders,
        )  # fmt: skip

    def scatter(
        self,
        data: Any,
        updates: Any,
        *,
        reduction: str = "none",
        include_self: bool | np.bool = True,
        accumulate_dtype: Any = None,
        out: Any = None,
    ) -> Any:
        """Scatter `updates` into a copy of `data`.

        Parameters
        ----------
        data : array or list
            Of the shape that `prepare` was called with. The axes of a slice may differ, in size and in number.
        updates : array or scalar
            As for the function.
        reduction : {"none", "add", "mul", "max", "min", "mean"}, default "none"
            As for the function.
        include_self : bool, default True
            As for the function.
        accumulate_dtype : dtype or str, optional
            As for the function.
        out : array, optional
            As for the function. Pass ``out=data`` to scatter in place.

        Returns
        -------
        array
            As of the function.

        Raises
        ------
        TypeError, ValueError
            The errors of the function, except those for its indices, and an error for another shape of `data`.

        Examples
        --------
        >>> import gatherscatter as gs
        >>> gs.prepare("scatter", (3,), [2, 0, 2]).scatter([0, 0, 0], [1, 2, 3], reduction="add")
        array([2, 0, 4])
        """
        plan, mode = self._plan, self._modes[1]
        small = self._small(data, scatters=True) if accumulate_dtype is None else None
        asked = small is not None and (out is None or out is data or small[1] is data)
        if small is not None and asked:
            kind, table, indices = small
            axis = 0 if kind == ND else plan.axis
            target = table if out is data else out
            result = try_scatter(
                kind, False, table, indices, updates, axis, plan.batch_dims, reduction, mode, include_self, target,
                threads.limit, None, self._orders.by_row,
            )  # fmt: skip
            if result is not None:
                return out if out is not None else result if table is data else result.reshape(data.shape)
        op = OPERATORS[plan.operator.name].scatter
        backend, (data, updates) = core.arrays(op, data=data, updates=updates)
        self._check_shape(op, data)
        orders = self._order(backend, op, data, scatters=True)
        if out is None:
            kind, (table,) = self._views(backend, data)
            target = None
        else:
            backend.check_out(plan._replace(operator=op), out, data, tuple(data.shape))
            kind, (table, target) = self._views(backend, data, data if out is data else backend.plain(out))
        result = core.scatter_on(
            backend, RESOLVED[op.name, kind], table, self._as_indices(backend, op, kind, data), updates, plan.axis,
            plan.batch_dims, reduction, include_self, mode, accumulate_dtype, target, asked, orders,
        )  # fmt: skip
        if out is not None:
            return out
        return result if kind == plan.kind else backend.namespace(data).reshape(result, tuple(data.shape))

    def _small(self, data: Any, *, scatters: bool) -> tuple[int, Array, Array] | None:
        """For the fast path of small calls: a kind, data or a view of it, and the indices. None: a view has to be made.

        The fast path carries a call out if all is simple, and declines it if not. No index can be bad.
        """
        if type(data) is not np.ndarray or data.shape[: len(self._leading)] != self._leading:
            return None
        if data.nbytes >= _SMALLEST_ORDERED:  # otherwise the call does nothing, which takes longer
            self._order(NUMPY, self._plan.operator, data, scatters=scatters)
        plan = self._plan
        if plan.kind != ND:
            return plan.kind, data, self._indices
        if self._few is not None:
            return ND, data, self._few
        if not data.flags.c_contiguous:
            return None
        return AXIS, data.reshape(merged_shape(data.shape, plan.axis, plan.depth)), self._indices

    def _check_shape(self, op: Operator, data: Any) -> None:
        """The axes up to the last indexed one have to be those of the plan."""
        leading, found = self._leading, tuple(data.shape)
        exact = self._plan.kind == ELEMENTS
        if found[: None if exact else len(leading)] != leading:
            plans.check_known(op, "data", found)
            raise errors.prepared_shape(op, found, leading, self._plan.data, exact=exact)

    def _views(self, backend: Backend, *arrays: Any) -> tuple[int, tuple[Any, ...]]:
        """Arrays of data's shape with the axes of a tuple as one; and the kind of the indices into them.

        If a view cannot have these axes as one: the arrays, whose indices are tuples.
        """
        plan = self._plan
        if plan.kind != ND:
            return plan.kind, arrays
        views = tuple([backend.merged(array, plan.axis, plan.depth) for array in arrays])
        return (ND, arrays) if any(view is None for view in views) else (AXIS, views)

    def _as_indices(self, backend: Backend, op: Operator, kind: int, like: Any) -> Any:
        """The indices of a kind as an array of a library."""
        indices = self._indices
        if kind == ND:
            indices = self._as_tuples()
        if backend.takes_numpy_indices:
            return indices
        key = kind, backend.name, str(backend.device(like))
        found = self._converted.get(key)
        if found is None:
            with backend.constants():
                found = backend.as_argument(op, "indices", indices, like)
            if not backend.is_unknown(found):
                self._converted[key] = found
        return found

    def _as_tuples(self) -> Array:
        found: Array | None = self._converted.get(ND)
        if found is None:
            found = self._converted[ND] = tuples(self._indices, self._plan.sizes)
        return found

    def _order(
        self, backend: Backend, op: Operator, data: Any, *, scatters: bool, depth: int = 0
    ) -> kernels.Orders | None:
        """Order the indices, by slice or by tile, if this call or its gradient can use that. None: it uses no order."""
        if not backend.uses_orders or plans.is_tracing():
            return None
        orders, make = self._orders, None
        slice_bytes = math.prod(data.shape[depth or len(self._leading) :]) * data.dtype.itemsize
        if self._can_order and self._n_slices * slice_bytes >= _SMALLEST_ORDERED:
            if slice_bytes < _SHORTEST_ROW:
                make = orders.tile if not scatters and orders.should_tile(slice_bytes) else None
            elif self._is_dense and orders.by_row is None and (scatters or backend.needs_gradient(data)):
                make = orders.group
        if make is not None and backend.readable(op, data=backend.without_gradient(data)) is not None:
            with contextlib.suppress(MemoryError):  # the call is possible without it
                make()
        return orders


# For gather_scatter


def positions_of(prepared: Prepared) -> Shape:
    """The shape of the positions, each of which has one index or tuple."""
    return prepared._indices.shape


def axes_of(prepared: Prepared) -> tuple[int, int]:
    """After how many axes of data the axes of the positions follow in updates, and how many of these they share."""
    plan = prepared._plan
    return (0, 0) if plan.kind == ELEMENTS else (plan.axis, plan.batch_dims)


def rows_of(prepared: Prepared, backend: Backend, op: Operator, data: Any) -> tuple[Any, kernels.Orders | None] | None:
    """The indices along axis 0 as an array of a library, and their orders; None if they are not of this kind."""
    prepared._check_shape(op, data)
    if prepared._plan.kind == ELEMENTS or len(prepared._leading) != 1 or prepared._modes[0] == "fill":
        return None
    orders = prepared._order(backend, op, data, scatters=op.scatters)
    return prepared._as_indices(backend, op, AXIS, data), orders


# For segments


def prepared_indices(plan: Plan, indices: Array) -> Prepared:
    """Indices that the plan is for, as an object."""
    return Prepared._of(kernels.numbers(plan, indices), plan)


def numbers_of(prepared: Prepared) -> Array:
    """The number of the slice that each index selects, among those of its batch."""
    return prepared._indices


def indices_on(prepared: Prepared, backend: Backend, op: Operator, like: Any) -> Any:
    """The indices along an axis as an array of a library, on like's device."""
    return prepared._as_indices(backend, op, AXIS, like)


def orders_on(
    prepared: Prepared, backend: Backend, op: Operator, data: Any, depth: int, *, scatters: bool
) -> kernels.Orders | None:
    """The orders for a call whose slices are data without its first `depth` axes."""
    return prepared._order(backend, op, data, scatters=scatters, depth=depth)


def _restored(
    indices: Array, name: str, wraps: bool, shape: Shape, depth: int, axis: int, batch_dims: int, mode: str
) -> Prepared:
    """The object that `Prepared.__reduce__` describes."""
    op = plans.without_negatives(OPERATORS[name].own(name), wraps)
    given = (*indices.shape, depth) if op.kind == ND else indices.shape
    if not indices.flags.owndata:  # the memory may change, as that of a buffer of pickle's protocol 5
        indices = indices.copy()
    return Prepared._of(indices, plans.gather(op, shape, given, axis, batch_dims, mode))
