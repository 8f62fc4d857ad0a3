"""Which backend owns these arrays: the only ladder of types.

A library is recognised without being imported: an array of a library that nobody imported cannot exist.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from gatherscatter import errors
from gatherscatter.backends import numpy as numpy_backend

# Types of (data, indices), or (data, indices, updates), that are arrays of one library: no conversion, no
# further question. Filled by route().
known: dict[tuple[type, ...], ModuleType] = {(np.ndarray,) * n: numpy_backend for n in (2, 3)}

# Values without a library of their own; they become arrays of the others' library.
_NEUTRAL = (bool, int, float, complex, str, bytes, list, tuple, np.generic)


def route(operator: str, arguments: Mapping[str, Any]) -> tuple[ModuleType, list[Any]]:
    """Find the backend of the arguments, and make each of them an array of its library."""
    owner: tuple[str, Any] | None = None
    backend: ModuleType = numpy_backend
    for argument, value in arguments.items():
        if isinstance(value, _NEUTRAL):
            continue
        found = _backend_of(operator, argument, value)
        if owner is None:
            backend, owner = found, (argument, value)
        elif found is not backend or not backend.same_library(owner[1], value):
            raise errors.mixed_libraries(operator, owner, (argument, value))
    like = owner[1] if owner else None
    arrays = [
        # Updates that are no array take data's dtype and the plan's shape, which is for the backend.
        backend.as_array(operator, argument, value, like)
        if isinstance(value, _NEUTRAL) and argument != "updates"
        else value
        for argument, value in arguments.items()
    ]
    if all(array is value for array, value in zip(arrays, arguments.values(), strict=True)):
        known[tuple(map(type, arrays))] = backend
    return backend, arrays


def _backend_of(operator: str, argument: str, value: Any) -> ModuleType:
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise errors.masked(operator, argument)
        # memmap, recarray and matrix are views of plain data. A class with an __array_function__ of its own
        # (a quantity with a unit, say) gives its numbers a meaning that we would drop.
        if type(value).__array_function__ is not np.ndarray.__array_function__:
            raise errors.meaningful_subclass(operator, argument, value)
        return numpy_backend

    # Costs an import, so only once something came that is not NumPy's.
    import array_api_compat

    if array_api_compat.is_array_api_obj(value):
        from gatherscatter.backends import array_api

        return array_api
    raise errors.not_an_array(operator, argument, value)
