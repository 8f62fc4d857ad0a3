"""Which backend takes a call: the only place where types are told apart.

A library is recognised without being imported: an array of a library that was not imported cannot exist.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module, metadata
from typing import Any

import numpy as np

from gatherscatter import errors, values
from gatherscatter.backends.base import Backend
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.operators import ND, Operator

# Backends of this package but PyTorch's, by the package that the arrays' class is of; and that of any other library.
MODULES = {
    "jax": "gatherscatter.backends.jax",
    "jaxlib": "gatherscatter.backends.jax",
    "cupy": "gatherscatter.backends.cupy",
    "dask": "gatherscatter.backends.dask",
}
ANY_NAMESPACE = "gatherscatter.backends.array_api"

# Other distributions add backends here (backends/base.py says how).
GROUP = "gatherscatter.backends"

# Types of (data, indices), or (data, indices, updates), that are arrays of one library: nothing is to be converted.
# Filled by route().
known: dict[tuple[type, ...], Backend] = {(np.ndarray,) * n: NUMPY for n in (2, 3)}


def route(op: Operator, arguments: Mapping[str, Any], *, convert_updates: bool = False) -> tuple[Backend, list[Any]]:
    """The backend of the arguments, and each of them as an array of its library.

    Updates that are no array stay what they are, since they take data's dtype and the plan's shape; with
    `convert_updates` they become an array by themselves.
    """
    backend, owner = _owner(op, arguments)
    like = owner[1] if owner else None
    arrays = [
        backend.as_argument(op, argument, value, like)
        if isinstance(value, values.TYPES) and (argument != "updates" or convert_updates)
        else value
        for argument, value in arguments.items()
    ]
    for argument, array, value in zip(arguments, arrays, arguments.values(), strict=True):
        if argument == "indices" and array is not value:
            _check_index_list(op, value, array, arguments.get("data"))
    if all(array is value for array, value in zip(arrays, arguments.values(), strict=True)):
        known[tuple(map(type, arrays))] = backend
    return backend, arrays


def _owner(op: Operator, arguments: Mapping[str, Any]) -> tuple[Backend, tuple[str, Any] | None]:
    """The backend of the arguments that are arrays, and one of these."""
    owner: tuple[str, Any] | None = None
    backend: Backend = NUMPY
    for argument, value in arguments.items():
        if isinstance(value, values.TYPES):
            continue
        found = backend_of(op, argument, value)
        if owner is None or backend.name in found.mixes_with:
            backend, owner = found, (argument, value)
        elif found.name in backend.mixes_with:
            continue
        elif found is not backend or not backend.same_library(owner[1], value):
            raise errors.mixed_libraries(op, owner, (argument, value))
    return backend, owner


def _check_index_list(op: Operator, value: Any, array: Any, data: Any) -> None:
    """Check indices that came as a list or a scalar."""
    dtype = getattr(array, "dtype", np.dtype(int))  # which another distribution's arrays may lack
    if errors.kind_of(dtype) not in ("int", "bool"):
        raise errors.index_values(op, dtype)
    # As an array, [] is one empty tuple, which names all of data; but it is what a search that found nothing gives.
    n_axes = len(np.shape(data) if isinstance(data, (list, tuple)) else getattr(data, "shape", ()))
    if op.kind == ND and isinstance(value, (list, tuple)) and not value and n_axes:
        raise errors.no_tuple_length(op, n_axes)


def check_index_dtype(op: Operator, data: Any, indices: Any) -> None:
    """Refuse what no library takes for an index; what else one refuses is for its backend."""
    if errors.kind_of(indices.dtype) in ("bool", "float", "complex"):
        raise errors.index_dtype(op, indices.dtype, data.dtype) from None


def backend_of(op: Operator, argument: str, value: Any) -> Backend:
    """The backend that an array belongs to."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise errors.masked(op, argument)
        # memmap, recarray and matrix are views of plain data. A class with an __array_function__ of its own
        # (a quantity with a unit, say) gives its numbers a meaning that we would drop.
        if type(value).__array_function__ is not np.ndarray.__array_function__:
            raise errors.meaningful_subclass(op, argument, value)
        return NUMPY
    # The packages that define its class and the bases of it; one after the other, since torch.compile cannot follow
    # every version of PyTorch into the bases of its tensors.
    for base in type(value).__mro__:
        backend = _of_package(base.__module__.partition(".")[0])
        if backend is not None and backend.owns(value):
            return backend
    backend = _load(ANY_NAMESPACE)
    if backend.owns(value):
        return backend
    raise errors.not_an_array(op, argument, value)


def _of_package(package: str) -> Backend | None:
    if package == "torch":  # a statement, which torch.compile can trace where a compiled function makes the first call
        from gatherscatter.backends.torch import BACKEND

        return BACKEND
    return _load(MODULES[package]) if package in MODULES else _plugin(package)


@cache
def _load(module: str) -> Backend:
    backend: Backend = import_module(module).BACKEND
    return backend


@cache
def _plugin(package: str) -> Backend | None:
    for entry in metadata.entry_points(group=GROUP, name=package):
        backend: Backend = entry.load()
        return backend
    return None
