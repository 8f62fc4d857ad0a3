"""The base class of backends: the interface that `dispatch` and `core` use, with defaults.

A backend for another array library derives from `Backend`, or from `table.TableBackend` if the library has the
primitives listed there. Its distribution registers an instance in the entry-point group "gatherscatter.backends". The
entry point's name is the top-level package of the array class.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from gatherscatter import errors, threads, values
from gatherscatter._kernels import segments as _segments
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


def merged_shape(shape: tuple[int, ...], axis: int, depth: int) -> tuple[int, ...]:
    """A shape with `depth` adjacent axes as one."""
    return (*shape[:axis], math.prod(shape[axis : axis + depth]), *shape[axis + depth :])


def each(arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Arguments with their names; of a tuple, such as the indices of kind ARRAYS, each item."""
    items = ((name, value if isinstance(value, tuple) else (value,)) for name, value in arguments.items())
    return [(name, one) for name, values in items for one in values]


class Backend:
    """Steps 2 (resolve) and 3 (move) of every operator, for the arrays of one library.

    Attributes
    ----------
    name : str
        The library's name, for messages.
    array_name : str
        The public name of its array class.
    mixes_with : tuple of str
        Names of backends whose arrays may be mixed with its own in one call, which this backend then runs.
    takes_numpy_indices : bool
        Whether `gather` and `scatter` take NumPy arrays as indices.
    uses_orders : bool
        Whether calls of `readable` arrays, their gradients included, use the orders of prepared indices, and may be
        passed to `gather_scatter`.
    has_negative_steps : bool
        Whether its slices may have negative steps.
    combines : bool
        Whether `combined` takes each reduction, not only those where the update replaces the element.
    where_name : str
        The public name of its function ``where``, for messages.
    unknown_name : str
        What an array for which `is_unknown` holds is called in messages.
    """

    name: ClassVar[str]
    array_name: ClassVar[str] = "array"
    mixes_with: ClassVar[tuple[str, ...]] = ()
    takes_numpy_indices: ClassVar[bool] = False
    uses_orders: ClassVar[bool] = False
    has_negative_steps: ClassVar[bool] = True
    combines: ClassVar[bool] = False
    where_name: ClassVar[str] = "where"
    unknown_name: ClassVar[str] = "traced"

    # Recognising and converting arguments

    def owns(self, value: Any) -> bool:
        """Whether a value is an array of this library."""
        raise NotImplementedError

    def same_library(self, a: Any, b: Any) -> bool:
        """Whether two arrays of this backend may be in one call."""
        return True

    def namespace(self, array: Any) -> Any:
        """The array-API namespace of an array."""
        raise NotImplementedError

    def asarray(self, value: Any, like: Any) -> Any:
        """A list or scalar as an array. `like`: an array on the device to use; None for the default device."""
        raise NotImplementedError

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

    def plain(self, array: Any) -> Any:
        """The array, without attributes that a subclass may override, such as its shape."""
        return array

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        """The NumPy dtype that holds the same values as an array's dtype."""
        return np.dtype(self.dtype_name(array))

    def from_numpy(self, array: values.Array, like: Any) -> Any:
        """Convert a NumPy array of dtype ``numpy_dtype(like)`` to an array of like's library, dtype and device."""
        raise NotImplementedError

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

    def gather_scatter(self, arrays: Sequence[Any], to: Plan, of: Plan, out: Any) -> Any:
        """A gather along axis 0, and the scatter of its result along axis 0; None if it takes two steps.

        arrays: data, indices, source, source_indices and, if what is gathered is multiplied, weights of its dtype.
        """
        return None

    def readable(self, op: Operator, **arguments: Any) -> list[values.Array] | None:
        """The arrays among the arguments as NumPy arrays on the same memory, which the kernels can read.

        None: that is impossible, or a gradient or a trace has to record the call. Of tuples each array counts. A call
        whose arrays are readable may have indices of kind ARRAYS.
        """
        return None

    def returned(self, result: values.Array, data: Any, dtype: str) -> Any:
        """What the kernels made of readable arrays, as an array of the library of data, one of them. dtype: by name."""
        return self.from_numpy(result, self.astype(data[:0], self.dtype_of(dtype, data)))

    def segments(self, data: Any, ids: Any, skipna: bool) -> Any | None:
        """The segments of an array, if this library has an own way to reduce them (segments/reduce.py)."""
        return None

    def needs_gradient(self, array: Any) -> bool:
        """Whether `recorded` is for results that are made of this array."""
        return False

    def recorded(self, result: Any, data: Any, indices: Any, formula: Callable[[Any, Any, Any], Any]) -> Any:
        """A result with a gradient for data: formula(data, result, gradient of the result)."""
        raise NotImplementedError

    def without_derivative(self, array: Any, error: Exception) -> Any:
        """The array; a derivative of what is made of it is an error."""
        if self.needs_gradient(array):
            raise error
        return array

    def scanned(self, data: Any, ids: Any, dtype: str, reverse: bool, function: Callable[..., Any]) -> Any | None:
        """The results of a function of each block of a lazy array, in order of the numbered axes; None for others.

        ids: of segments. dtype: of the results, by name. reverse: from the last block on. function: of a block, its
        ids and the states after the block before, which are None for the first; to the result and the states.
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

    def check_layout(self, op: Operator, **arguments: Any) -> None:
        """Check that the arrays have a shape and elements at strides. Called before a plan is made."""

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

    def negative(self, array: Any) -> Any:
        """The negated elements; unsigned integers wrap around."""
        return self.namespace(array).negative(array)

    def without_gradient(self, array: Any) -> Any:
        """The array as a constant of derivatives."""
        return array

    def extremes(self, array: Any) -> tuple[int, int]:
        """The least and the greatest of known integers, which may be NumPy's; (0, -1) of none."""
        if 0 in array.shape:
            return 0, -1
        xp = np if isinstance(array, np.ndarray) else self.namespace(array)
        if xp is np and array.dtype in (np.int32, np.int64) and array.flags.c_contiguous and array.flags.aligned:
            return _segments.extremes(array, threads.limit)
        with self.constants():
            return int(xp.min(array)), int(xp.max(array))

    def by_block(self, array: Any, function: Callable[[values.Array], values.Array]) -> Any | None:
        """A function on NumPy arrays of int64, of each block of a lazy array; None if there are no blocks."""
        return None

    def by_segments(
        self, data: Any, ids: Any, layout: Any, function: Callable[[Any, Any], Any], lead: tuple[int, ...], n: int,
        dtype: str,
    ) -> Any | None:  # fmt: skip
        """A function of lazy data and ids, of blocks that have whole segments; None if there are no blocks.

        layout: of the segments. Results have first axes of the sizes `lead`, and one of size n for the numbered ones.
        """
        return None

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        """Zeros of like's dtype, on like's device, that nobody writes to."""
        return self.namespace(like).zeros(shape, dtype=like.dtype, device=self.device(like))

    def astype(self, array: Any, dtype: Any) -> Any:
        """The array cast to a dtype of its library."""
        return self.namespace(array).astype(array, dtype)

    def broadcast(self, array: Any, shape: tuple[int, ...]) -> Any:
        """The array broadcast to a shape, without a copy if the library can."""
        return self.namespace(array).broadcast_to(array, shape)

    def product(self, a: Any, b: Any) -> Any:
        """The products of two arrays of one dtype, which are broadcast."""
        return a * b

    def value_of(self, array: Any) -> Any:
        """The number in an array of rank 0 as a scalar of Python or NumPy; None if it is not known now."""
        try:
            return array.item() if hasattr(array, "item") else _READ[errors.kind_of(array.dtype)](array)
        except (KeyError, TypeError, ValueError, RuntimeError):  # not a number; traced
            return None

    def is_traced(self) -> bool:
        """Whether the call is traced by a compiler, which must not see a global variable change."""
        return False

    # For `at`

    def is_unknown(self, array: Any) -> bool:
        """Whether the elements of an array are known only after the call: it is traced or lazy."""
        return False

    def counts_mask(self, mask: Any) -> bool:
        """Whether it can be known at the call how many elements of a mask are true."""
        return not self.is_unknown(mask)

    def as_numpy(self, array: Any) -> values.Array | None:
        """The elements as a NumPy array; None if they cannot be read now."""
        try:
            found = np.asarray(array)
        except (AttributeError, RuntimeError, TypeError, ValueError):
            return None
        return None if found.dtype == object else found

    def constants(self) -> AbstractContextManager[Any]:
        """A context in which arrays made from known values are known too, in a trace as well."""
        return nullcontext()

    def nonzero(self, mask: Any, flat: bool) -> tuple[Any, ...]:
        """The positions of a mask's true elements: an index array for each axis, of this library or of NumPy.

        flat: one index array, of their row-major numbers.
        """
        xp = self.namespace(mask)
        found: tuple[Any, ...] = xp.nonzero(xp.reshape(mask, (-1,)) if flat else mask)
        return found

    def masked(self, array: Any, key: tuple[Any, ...]) -> Any | None:
        """What an index with an unknown mask selects; None if no array has an unknown number of elements."""
        return None

    def merged(self, array: Any, axis: int, depth: int) -> Any | None:
        """A view of an array with `depth` adjacent axes as one; None if that would take a copy."""
        return None

    def writes_views(self, array: Any) -> bool:
        """Whether basic indexing gives views of the array, through which each of its elements is written by itself."""
        return False

    def addresses(self, array: Any) -> values.Array | None:
        """An array that lies where this one does, for the questions in `overlap`, not to be read; None: unknown."""
        return None

    def is_writable(self, array: Any) -> bool:
        """Whether the elements of an array can be assigned to, as by ``out=``."""
        return hasattr(type(array), "__setitem__")

    def selected(self, array: Any, key: tuple[Any, ...]) -> Any | None:
        """A new array with the elements that a basic index selects. None: a gather has to make it."""
        return self.namespace(array).asarray(array[key], copy=True)

    def copied(self, array: Any) -> Any | None:
        """A copy to which a scatter may write in place.

        None if there is none, or if a gradient or a trace could not see how the result is made: by `replaced` then.
        """
        return None

    def combined(self, plan: Plan, data: Any, updates: Any) -> Any:
        """Each element of data combined with one update, in a new array. updates: of data's shape and dtype."""
        return self.namespace(data).asarray(updates, copy=True)

    def replaced(self, plan: Plan, array: Any, key: tuple[Any, ...], part: Any) -> Any:
        """A copy of an array in which the part that a basic index selects is replaced."""
        if not hasattr(type(array), "__setitem__"):
            raise messages.not_writable(plan.operator, array)
        result = self.namespace(array).asarray(array, copy=True)
        result[key] = part
        return result

    # Properties of arrays

    def dtype_of(self, name: str, like: Any) -> Any:
        """The dtype of like's library with this NumPy name."""
        return getattr(self.namespace(like), name)

    def dtype_name(self, array: Any) -> str:
        """NumPy's name of the dtype: "float32" for torch.float32; "str" for strings and objects."""
        dtype = array.dtype
        if getattr(dtype, "kind", "") in ("U", "S", "O", "T"):
            return "str"
        return str(getattr(dtype, "name", dtype)).rpartition(".")[2]

    def device(self, array: Any) -> Any:
        """The device of an array; None for a traced array without one."""
        return getattr(array, "device", None)

    # Checks of arguments

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
        value = self.value_of(updates)
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
