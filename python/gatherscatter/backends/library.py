"""What the parts of this package ask of an array library: its arrays, their gradients, and indexing for `at`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np

from gatherscatter import threads, values
from gatherscatter._kernels import segments as _segments
from gatherscatter.errors import indexing as messages
from gatherscatter.operators import Operator
from gatherscatter.plan import Plan


def merged_shape(shape: tuple[int, ...], axis: int, depth: int) -> tuple[int, ...]:
    """A shape with `depth` adjacent axes as one."""
    return (*shape[:axis], math.prod(shape[axis : axis + depth]), *shape[axis + depth :])


def each(arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Arguments with their names; of a tuple, such as the indices of kind ARRAYS, each item."""
    found = []
    for name, value in arguments.items():
        found += [(name, one) for one in value] if isinstance(value, tuple) else [(name, value)]
    return found


class Gradients:
    """Derivatives of results that the library does not see the kernels make. Here: it has none."""

    def needs_gradient(self, array: Any) -> bool:
        """Whether `recorded` is for results that are made of this array."""
        return False

    def recorded(self, result: Any, data: Any, indices: Any, formula: Callable[[Any, Any, Any], Any]) -> Any:
        """A result with a gradient for data: formula(data, result, gradient of the result)."""
        raise NotImplementedError

    def without_gradient(self, array: Any) -> Any:
        """The array as a constant of derivatives."""
        return array

    def without_derivative(self, array: Any, error: Exception) -> Any:
        """The array; a derivative of what is made of it is an error."""
        if self.needs_gradient(array):
            raise error
        return array


class Library(Gradients):
    """Arrays of one library.

    Attributes
    ----------
    name : str
        The library's name, for messages.
    array_name : str
        The public name of its array class.
    unknown_name : str
        What an array for which `is_unknown` holds is called in messages.
    """

    name: ClassVar[str]
    array_name: ClassVar[str] = "array"
    unknown_name: ClassVar[str] = "traced"

    # Recognising and converting

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

    def plain(self, array: Any) -> Any:
        """The array, without attributes that a subclass may override, such as its shape."""
        return array

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        """The NumPy dtype that holds the same values as an array's dtype."""
        return np.dtype(self.dtype_name(array))

    def from_numpy(self, array: values.Array, like: Any) -> Any:
        """Convert a NumPy array of dtype ``numpy_dtype(like)`` to an array of like's library, dtype and device."""
        raise NotImplementedError

    # Memory that the kernels read

    def readable(self, op: Operator, **arguments: Any) -> list[values.Array] | None:
        """The arrays among the arguments as NumPy arrays on the same memory, which the kernels can read.

        None: that is impossible, or a gradient or a trace has to record the call. Of tuples each array counts. A call
        whose arrays are readable may have indices of kind ARRAYS.
        """
        return None

    def returned(self, result: values.Array, data: Any, dtype: str) -> Any:
        """What the kernels made of readable arrays, as an array of the library of data, one of them. dtype: by name."""
        return self.from_numpy(result, self.astype(data[:0], self.dtype_of(dtype, data)))

    # Properties

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

    def addresses(self, array: Any) -> values.Array | None:
        """An array that lies where this one does, for the questions in `overlap`, not to be read; None: unknown."""
        return None

    def is_unknown(self, array: Any) -> bool:
        """Whether the elements of an array are known only after the call: it is traced or lazy."""
        return False

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

    # New arrays and views

    def zeros(self, shape: tuple[int, ...], like: Any) -> Any:
        """Zeros of like's dtype, on like's device, that nobody writes to."""
        return self.namespace(like).zeros(shape, dtype=like.dtype, device=self.device(like))

    def astype(self, array: Any, dtype: Any) -> Any:
        """The array cast to a dtype of its library."""
        return self.namespace(array).astype(array, dtype)

    def broadcast(self, array: Any, shape: tuple[int, ...]) -> Any:
        """The array broadcast to a shape, without a copy if the library can."""
        return self.namespace(array).broadcast_to(array, shape)

    def merged(self, array: Any, axis: int, depth: int) -> Any | None:
        """A view of an array with `depth` adjacent axes as one; None if that would take a copy."""
        return None

    def negative(self, array: Any) -> Any:
        """The negated elements; unsigned integers wrap around."""
        return self.namespace(array).negative(array)

    def product(self, a: Any, b: Any) -> Any:
        """The products of two arrays of one dtype, which are broadcast."""
        return a * b

    def extremes(self, array: Any) -> tuple[int, int]:
        """The least and the greatest of known integers, which may be NumPy's; (0, -1) of none."""
        if 0 in array.shape:
            return 0, -1
        xp = np if isinstance(array, np.ndarray) else self.namespace(array)
        if xp is np and array.dtype in (np.int32, np.int64) and array.flags.c_contiguous and array.flags.aligned:
            return _segments.extremes(array, threads.limit)
        with self.constants():
            return int(xp.min(array)), int(xp.max(array))


class Indexing(Library):
    """What `at` needs besides gathers and scatters.

    Attributes
    ----------
    has_negative_steps : bool
        Whether the library's slices may have negative steps.
    combines : bool
        Whether `combined` takes each reduction, not only those where the update replaces the element.
    where_name : str
        The public name of its function ``where``, for messages.
    """

    has_negative_steps: ClassVar[bool] = True
    combines: ClassVar[bool] = False
    where_name: ClassVar[str] = "where"

    def counts_mask(self, mask: Any) -> bool:
        """Whether it can be known at the call how many elements of a mask are true."""
        return not self.is_unknown(mask)

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

    def writes_views(self, array: Any) -> bool:
        """Whether basic indexing gives views of the array, through which each of its elements is written by itself."""
        return False

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
