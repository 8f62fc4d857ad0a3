"""The base class of backends: the interface that `dispatch` and `core` use, with defaults.

A backend for another array library derives from `Backend`, or from `table.TableBackend` if the library has the
primitives listed there. Its distribution registers an instance in the entry-point group "gatherscatter.backends". The
entry point's name is the top-level package of the array class.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from gatherscatter import errors, values
from gatherscatter.backends.library import Indexing
from gatherscatter.backends.overlap import overlaps_itself, share_memory
from gatherscatter.errors import indexing as messages
from gatherscatter.operators import Operator
from gatherscatter.plan import Plan
from gatherscatter.reductions import REDUCTIONS, can_cast, holding_dtypes, takes

# Options of the fast path: (axis, batch_dims, mode, fill_value), and (axis, batch_dims, reduction, mode, include_self).
GatherOptions = tuple[Any, Any, Any, Any]
ScatterOptions = tuple[Any, Any, Any, Any, Any]

# The fast paths of other libraries than NumPy, by the name of data's type: functions like the kernels' `try_gather` and
# `try_scatter`, which return None for other types of that name. A backend may register functions that take much less
# time than the way to its own `try_gather`. (By the type itself, torch.compile could not trace a first call.)
small_gathers: dict[str, Callable[..., Any]] = {}
small_scatters: dict[str, Callable[..., Any]] = {}


# How to read the number in an array of the standard, by the kind of its dtype.
_READ: dict[str, Any] = {"bool": bool, "int": int, "float": float, "complex": complex}


def fits(found: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of shape `found` broadcasts to `shape`."""
    return len(found) <= len(shape) and all(
        n == 1 or n == m or n != n or m != m  # not `in`, which compares no symbolic sizes; NaN: unknown to Dask
        for n, m in zip(found[::-1], shape[::-1], strict=False)
    )


class Chunked(Protocol):
    """Functions of segments on lazy arrays, chunk by chunk."""

    def segments(self, data: Any, ids: Any, skipna: bool) -> Any:
        """The segments of an array (segments/by_scatters.py)."""

    def scanned(self, data: Any, ids: Any, dtype: str, reverse: bool, function: Callable[..., Any]) -> Any:
        """The results of a function of each chunk, in order of the numbered axes.

        ids: of segments. dtype: of the results, by name. reverse: from the last chunk on. function: of a chunk, its
        ids and the states after the chunk before, which are None for the first; to the result and the states.
        """

    def mapped(self, array: Any, function: Callable[[values.Array], values.Array]) -> Any | None:
        """A function on NumPy arrays of int64, of each chunk; None if an array has no chunks."""

    def by_segments(
        self, data: Any, ids: Any, layout: Any, function: Callable[[Any, Any], Any], lead: tuple[int, ...], n: int,
        dtype: str,
    ) -> Any:  # fmt: skip
        """A function of data and ids, of chunks that have whole segments.

        layout: of the segments. Results have first axes of the sizes `lead`, and one of size n for the numbered ones.
        """


class Backend(Indexing):
    """Steps 2 (resolve) and 3 (move) of every operator, for the arrays of one library.

    Attributes
    ----------
    mixes_with : tuple of str
        Names of backends whose arrays may be mixed with its own in one call, which this backend then runs.
    takes_numpy_indices : bool
        Whether `gather` and `scatter` take NumPy arrays as indices.
    uses_orders : bool
        Whether calls of `readable` arrays, their gradients included, use the orders of prepared indices, and may be
        passed to `gather_scatter`.
    chunked : Chunked or None
        The segments of its arrays, if these are lazy.
    """

    mixes_with: ClassVar[tuple[str, ...]] = ()
    takes_numpy_indices: ClassVar[bool] = False
    uses_orders: ClassVar[bool] = False
    chunked: ClassVar[Chunked | None] = None

    # Converting arguments

    def as_argument(self, op: Operator, argument: str, value: Any, like: Any) -> Any:
        """A list or scalar as the array of an argument ("data", "indices" or "updates")."""
        try:
            array = self.asarray(value, like)
        except (TypeError, ValueError, RuntimeError, OverflowError) as reason:  # a ragged list, a number too large
            raise errors.not_convertible(op, argument, reason) from None
        if argument == "indices" and 0 in array.shape and isinstance(value, (list, tuple)):
            xp = self.namespace(array)  # [] would be an array of floats
            return xp.zeros(array.shape, dtype=xp.asarray(0).dtype, device=self.device(array))
        return array

    def element(self, plan: Plan, argument: str, value: Any, data: Any) -> Any:
        """A scalar argument as an array of data's dtype and rank 0, with its value unchanged."""
        return self.from_numpy(values.element(plan.operator, argument, value, self.numpy_dtype(data)), data)

    def as_updates(self, plan: Plan, updates: Any, data: Any) -> Any:
        """Updates passed as a scalar or a list, as an array of the plan's shape and data's dtype."""
        if not isinstance(updates, (list, tuple)):
            return self.namespace(data).broadcast_to(self.element(plan, "updates", updates, data), plan.shape)
        return self.from_numpy(values.updates(plan.operator, updates, plan.shape, self.numpy_dtype(data)), data)

    # The operators

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        """Gather by a plan: the rows of data that indices select. They are written to `out` if that is not None."""
        raise NotImplementedError

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        """Scatter by a plan: a copy of data with updates combined into it. `updates` may be a scalar or a list."""
        raise NotImplementedError

    def try_gather(self, op: Operator, data: Any, indices: Any, options: GatherOptions, out: Any) -> Any | None:
        """Fast path for small calls: a gather without a plan. Options are as the user passed them.

        None if the call breaks a rule or is not simple enough, so that nothing was run: then `gather` is called with a
        plan. A bad index is an error.
        """
        return None

    def try_scatter(
        self, op: Operator, data: Any, indices: Any, updates: Any, options: ScatterOptions, out: Any
    ) -> Any | None:
        """Fast path for a scatter; see `try_gather`."""
        return None

    def gather_scatter(self, arrays: Sequence[Any], to: Plan, of: Plan, out: Any) -> Any:
        """A gather along axis 0, and the scatter of its result along axis 0; None if it takes two steps.

        arrays: data, indices, source, source_indices and, if what is gathered is multiplied, weights of its dtype.
        """
        return None

    def scatter_wide(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        """A scatter with the plan's `accumulate_dtype`. Here: in copies of data and updates of that dtype."""
        self.check_reduction(plan, data)
        if out is not None:
            self.check_out(plan, out, data, plan.data)
        convert = self.as_updates if isinstance(updates, values.TYPES) else self.fit_updates
        updates = convert(plan, updates, data)
        wide = self.dtype_of(plan.accumulate_dtype, data)
        result = self.scatter(
            self.astype(data, wide), indices, self.astype(updates, wide), plan._replace(accumulate_dtype=""), None
        )
        return self.deliver(plan, self.astype(result, data.dtype), out)

    def deliver(self, plan: Plan, result: Any, out: Any) -> Any:
        """The result; if `out` is given, copy the result to it and return it. `check_out` has checked it."""
        if out is None:
            return result
        self.plain(out)[...] = result
        return out

    # Checks of arguments

    def check_layout(self, op: Operator, **arguments: Any) -> None:
        """Check that the arrays have a shape and elements at strides. Called before a plan is made."""

    def check_reduction(self, plan: Plan, data: Any) -> None:
        """Check that the plan's reduction supports data's dtype."""
        if not takes(plan.reduction, self.dtype_name(data)):
            dtypes = REDUCTIONS[plan.reduction].dtypes
            raise errors.reduction_dtype(plan.operator, plan.reduction, data.dtype, dtypes)

    def fit_updates(self, plan: Plan, updates: Any, data: Any) -> Any:
        """Updates passed as an array, cast to data's dtype and broadcast to the plan's shape."""
        updates = self.cast_updates(plan.operator, updates, data)
        found = tuple(updates.shape)
        if found == plan.shape:
            return updates
        if not (plan.operator.broadcasts and fits(found, plan.shape)):
            raise errors.updates_shape(plan.operator, found, plan.shape)
        return self.broadcast(updates, plan.shape)

    def cast_updates(self, op: Operator, updates: Any, data: Any) -> Any:
        """Updates passed as an array, cast to data's dtype by the operator's rule."""
        if updates.dtype == data.dtype:
            return updates
        if getattr(updates, "weak_type", False) and not tuple(updates.shape):  # of JAX: a Python number
            self._check_number(op, updates, data)
        else:
            self.check_cast(op, updates, data)
        return self.astype(updates, data.dtype)

    def check_cast(self, op: Operator, updates: Any, data: Any) -> None:
        """Check that the operator's rule casts updates to data's dtype."""
        if op.source or op.casting == "no" or not self._can_cast(updates, data, op.casting):
            refusal = messages.updates_kind if op.casting == "same_kind" else errors.updates_dtype
            raise refusal(op, updates.dtype, data.dtype)

    def _can_cast(self, updates: Any, data: Any, casting: Any) -> bool:
        """Whether `numpy.can_cast` allows it by a rule, which applies to every library."""
        found, dtype = updates.dtype, data.dtype
        names = self.dtype_name(updates), self.dtype_name(data)
        if isinstance(found, np.dtype) and isinstance(dtype, np.dtype) and "bfloat16" not in names:
            return np.can_cast(found, dtype, casting)  # names of strings do not tell their lengths
        return can_cast(*names, casting)

    def _check_number(self, op: Operator, updates: Any, data: Any) -> None:
        """Check that data's dtype holds a number; if it is traced, that the dtype is of its kind or a wider one."""
        value = _number_in(updates)
        if value is not None:
            values.element(op, "updates", value, self.numpy_dtype(data))
        elif self.dtype_name(data) not in holding_dtypes(self.dtype_name(updates)):
            raise errors.updates_dtype(op, updates.dtype, data.dtype)

    def check_out(self, plan: Plan, out: Any, data: Any, shape: tuple[int, ...]) -> None:
        """Check the type, shape, dtype and device of `out`. shape: of the result."""
        if not self.owns(out):
            raise errors.out_type(plan.operator, out, self.array_name)
        if tuple(out.shape) != shape:
            raise errors.out_shape(plan.operator, out.shape, shape)
        if out.dtype != data.dtype:
            raise errors.out_dtype(plan.operator, out.dtype, data.dtype)
        self.check_memory(plan.operator, out)
        self.check_devices(plan, data, out=out)

    def check_memory(self, op: Operator, *outs: Any) -> None:
        """Check that each element of `out`, or of several, can be written to without changing another."""
        known = [found for found in map(self.addresses, outs) if found is not None]
        if any(map(overlaps_itself, known)):
            raise errors.out_overlaps_itself(op)
        if len({*map(id, outs)}) < len(outs) or any(itertools.starmap(share_memory, itertools.combinations(known, 2))):
            raise errors.outs_share_memory(op)

    def check_devices(self, plan: Plan, data: Any, **others: Any) -> None:
        """Check that the other arrays are on data's device."""
        for argument, array in others.items():
            if array is not None and self.device(array) != self.device(data):
                raise errors.devices_differ(plan.operator, argument, self.device(array), self.device(data))


def _number_in(array: Any) -> Any:
    """The number in an array of rank 0 as a scalar of Python or NumPy; None if it is not known now."""
    try:
        return array.item() if hasattr(array, "item") else _READ[errors.kind_of(array.dtype)](array)
    except (KeyError, TypeError, ValueError, RuntimeError):  # not a number; traced
        return None
