"""Which backend owns these arrays: the only ladder of types.

A library is recognised without being imported: an array of a library that nobody imported cannot exist.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import Any

import numpy as np

from gatherscatter import errors, neutral
from gatherscatter.backends import numpy as numpy_backend

# Other distributions add backends here: a name is that of the package whose classes the arrays are of, its value
# a module with the functions that gatherscatter/backends/__init__.py lists.
GROUP = "gatherscatter.backends"

# Types of (data, indices), or (data, indices, updates), that are arrays of one library: no conversion, no
# further question. Filled by route().
known: dict[tuple[type, ...], ModuleType] = {(np.ndarray,) * n: numpy_backend for n in (2, 3)}


# Ways for small calls, by the one type of all arrays (backends/__init__.py). Filled by route().
small_gathers: dict[type, Callable[..., Any]] = {}
small_scatters: dict[type, Callable[..., Any]] = {}


def route(operator: str, arguments: Mapping[str, Any]) -> tuple[ModuleType, list[Any]]:
    """Find the backend of the arguments, and make each of them an array of its library."""
    owner: tuple[str, Any] | None = None
    backend: ModuleType = numpy_backend
    for argument, value in arguments.items():
        if isinstance(value, neutral.TYPES):
            continue
        found = backend_of(operator, argument, value)
        if owner is None or backend in getattr(found, "BESIDE", ()):
            backend, owner = found, (argument, value)
        elif found in getattr(backend, "BESIDE", ()):
            continue
        elif found is not backend or not backend.same_library(owner[1], value):
            raise errors.mixed_libraries(operator, owner, (argument, value))
    like = owner[1] if owner else None
    arrays = [
        # Updates that are no array take data's dtype and the plan's shape, which is for the backend.
        backend.as_array(operator, argument, value, like)
        if isinstance(value, neutral.TYPES) and argument != "updates"
        else value
        for argument, value in arguments.items()
    ]
    for argument, array, value in zip(arguments, arrays, arguments.values(), strict=True):
        if argument == "indices" and array is not value:
            dtype = getattr(array, "dtype", np.dtype(int))  # which another distribution's arrays may lack
            if errors.kind_of(dtype) not in ("int", "bool"):
                raise errors.index_values(operator, dtype)
            # Nothing was found, and it would be taken for the one empty tuple, which names everything.
            n_axes = len(getattr(arrays[0], "shape", ()))
            if "_nd" in operator and isinstance(value, (list, tuple)) and not value and n_axes:
                raise errors.no_tuple_length(operator, n_axes)
    if all(array is value for array, value in zip(arrays, arguments.values(), strict=True)):
        known[tuple(map(type, arrays))] = backend
        # Not for subclasses, whose results may be of their own class.
        if set(map(type, arrays)) == {getattr(backend, "SMALL", None)}:
            small_gathers[type(arrays[0])] = backend.try_gather  # pyright: ignore[reportAttributeAccessIssue]
            small_scatters[type(arrays[0])] = backend.try_scatter  # pyright: ignore[reportAttributeAccessIssue]
    return backend, arrays


def check_index_dtype(operator: str, data: Any, indices: Any) -> None:
    """Refuse what no library takes for an index; what else one refuses is for its backend."""
    if errors.kind_of(indices.dtype) in ("bool", "float", "complex"):
        raise errors.index_dtype(operator, indices.dtype, data.dtype) from None


def backend_of(operator: str, argument: str, value: Any) -> ModuleType:
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise errors.masked(operator, argument)
        # memmap, recarray and matrix are views of plain data. A class with an __array_function__ of its own
        # (a quantity with a unit, say) gives its numbers a meaning that we would drop.
        if type(value).__array_function__ is not np.ndarray.__array_function__:
            raise errors.meaningful_subclass(operator, argument, value)
        return numpy_backend
    # The packages that define its class and the bases of it; one after the other, since torch.compile cannot follow
    # every version of PyTorch into the bases of its tensors.
    for base in type(value).__mro__:
        backend = _backend_for(base.__module__.partition(".")[0])
        if backend is not None and backend.owns(value):
            return backend
    backend = _any_namespace()
    if backend.owns(value):
        return backend
    raise errors.not_an_array(operator, argument, value)


def _backend_for(package: str) -> ModuleType | None:
    # Statements, not importlib: torch.compile traces them where a compiled function makes the first call.
    if package == "torch":
        from gatherscatter.backends import torch

        return torch
    if package in ("jax", "jaxlib"):
        from gatherscatter.backends import jax

        return jax
    if package == "cupy":
        from gatherscatter.backends import cupy

        return cupy
    if package == "dask":
        from gatherscatter.backends import dask

        return dask
    return _plugin(package)


def _any_namespace() -> ModuleType:
    from gatherscatter.backends import array_api

    return array_api


@cache
def _plugin(package: str) -> ModuleType | None:
    for entry in metadata.entry_points(group=GROUP, name=package):
        backend: ModuleType = entry.load()
        return backend
    return None
