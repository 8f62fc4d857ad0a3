"""Dispatch: the backend for a call, by the types of its arguments.

Array libraries are recognised without importing them: an array exists only if its library is already imported.
"""

import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from gatherscatter import errors, values
from gatherscatter import plan as plans
from gatherscatter.backends.base import Backend
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.backends.numpy import is_masked
from gatherscatter.operators import ND, Operator

# Backends by the top-level package of the array's class. PyTorch is in `_of_package`; ANY_NAMESPACE is the fallback.
MODULES = {
    "jax": "gatherscatter.backends.jax",
    "jaxlib": "gatherscatter.backends.jax",
    "cupy": "gatherscatter.backends.cupy",
    "dask": "gatherscatter.backends.dask",
}
ANY_NAMESPACE = "gatherscatter.backends.array_api"

# The entry-point group for backends of other distributions (see backends/base.py).
GROUP = "gatherscatter.backends"

# Cache, filled by route(): types of (data, indices) or (data, indices, updates) that need no conversion. It holds only
# classes that live as long as their module, and is emptied when it is full.
_MAX_KNOWN = 1024
known: dict[tuple[type, ...], Backend] = {(np.ndarray,) * n: NUMPY for n in (2, 3)}


def route(op: Operator, arguments: Mapping[str, Any], *, convert_updates: bool = False) -> tuple[Backend, list[Any]]:
    """The backend of the arguments, and each argument as an array of its library.

    Updates that are a list or a scalar are converted later, to data's dtype and the plan's shape; with
    `convert_updates` they are converted now, to their own.
    """
    number: Any = arguments.get("updates")
    is_number = type(number) is np.ndarray and number.ndim == 0 and number.dtype.kind in "biufc"
    backend, owner = _owner(op, {**arguments, "updates": 0} if is_number else arguments)
    is_number = is_number and backend is not NUMPY
    if is_number:
        arguments = {**arguments, "updates": number[()]}
    indices = arguments.get("indices")
    if isinstance(indices, (list, tuple)):
        _check_ambiguous(op, indices)
    like = owner[1] if owner else None
    arrays = []
    for argument, value in arguments.items():
        if not isinstance(value, values.TYPES):
            arrays.append(backend.plain(value))
        elif argument == "updates" and not convert_updates:
            arrays.append(value)
        else:
            arrays.append(backend.as_argument(op, argument, value, like))
    if is_number and not op.source:
        as_number(op, backend, number, arrays[list(arguments).index("data")])
    if isinstance(indices, values.TYPES):
        _check_index_list(op, indices, arrays[list(arguments).index("indices")], arguments.get("data"))
    # The keys of `known` do not name the arguments: a list as updates must not be taken for known indices.
    is_call = "indices" in arguments or not isinstance(arguments.get("updates"), values.TYPES)
    is_plain = all(array is value for array, value in zip(arrays, arguments.values(), strict=True))
    if is_call and is_plain and not plans.is_tracing():  # a compiler must see no global variable change
        _remember(tuple(map(type, arrays)), backend)
    return backend, arrays


def as_number(op: Operator, backend: Backend, updates: values.Array, data: Any) -> Any:
    """A NumPy array of rank 0 as a scalar, which goes with arrays of any library. Its dtype counts, as of an array."""
    backend.check_cast(op, updates, data)
    return updates[()]


def _remember(kinds: tuple[type, ...], backend: Backend) -> None:
    for kind in kinds:  # classes created in a function may be unlimited in number
        module = sys.modules.get(kind.__module__)
        if module is None or vars(module).get(kind.__qualname__) is not kind:
            return
    if len(known) >= _MAX_KNOWN:
        known.clear()
    known[kinds] = backend


def _owner(op: Operator, arguments: Mapping[str, Any]) -> tuple[Backend, tuple[str, Any] | None]:
    """The backend of the arguments that are arrays, and the name and value of one such argument."""
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


def _check_ambiguous(op: Operator, value: list[Any] | tuple[Any, ...]) -> None:
    """Refuse a tuple of arrays as indices, which in NumPy's indexing are one for each axis; for ND also a list.

    Elsewhere a list of arrays is one array, as in NumPy's indexing. A dialect follows its source.
    """
    if op.source or not (op.kind == ND or isinstance(value, tuple)):
        return
    others = [kind for kind in set(map(type, value)) if not issubclass(kind, values.TYPES)]
    if others and any(getattr(one, "shape", ()) for one in value):
        raise errors.index_arrays(op, value)


def _check_index_list(op: Operator, value: Any, array: Any, data: Any) -> None:
    """Check indices that were passed as a list or a scalar."""
    dtype = getattr(array, "dtype", np.dtype(int))  # arrays of an external backend may have no dtype
    if errors.kind_of(dtype) not in ("int", "bool"):
        raise errors.index_values(op, dtype)
    # An array of shape (0,) is one empty tuple, which selects all of data; a list [] more likely means "no tuples".
    n_axes = len(np.shape(data) if isinstance(data, (list, tuple)) else getattr(data, "shape", ()))
    if op.kind == ND and isinstance(value, (list, tuple)) and not value and n_axes:
        raise errors.no_tuple_length(op, n_axes)


def check_index_dtype(op: Operator, data: Any, indices: Any) -> None:
    """Refuse index dtypes that no library supports; the backend checks the rest."""
    if errors.kind_of(indices.dtype) in ("bool", "float", "complex"):
        raise errors.index_dtype(op, indices.dtype, data.dtype) from None


def backend_of(op: Operator, argument: str, value: Any) -> Backend:
    """The backend that an array belongs to."""
    if isinstance(value, np.ndarray):
        if is_masked(value):
            raise errors.masked(op, argument)
        # memmap, recarray and matrix are views of plain data. A class with a custom __array_function__ (such as a
        # quantity with a unit) adds a meaning to its numbers, which the result would lose.
        if type(value).__array_function__ is not np.ndarray.__array_function__:
            raise errors.meaningful_subclass(op, argument, value)
        return NUMPY
    if hasattr(value, "__torch_function__"):  # a tensor; torch.compile cannot trace the loop below for a parameter
        backend = _of_package("torch")
        if backend is not None and backend.owns(value):
            return backend
    # The class may be a subclass, so its bases count too.
    for base in type(value).__mro__:
        backend = _of_package(base.__module__.partition(".")[0])
        if backend is not None and backend.owns(value):
            return backend
    backend = _load(ANY_NAMESPACE)
    if backend.owns(value):
        return backend
    raise errors.not_an_array(op, argument, value)


def _of_package(package: str) -> Backend | None:
    if package == "torch":  # torch.compile can trace an import statement, but not import_module
        from gatherscatter.backends.torch import BACKEND

        return BACKEND
    return _load(MODULES[package]) if package in MODULES else _plugin(package)


@cache
def _load(module: str) -> Backend:
    backend: Backend = import_module(module).BACKEND
    return backend


@lru_cache(maxsize=256)  # bounded, since a program may create modules
def _plugin(package: str) -> Backend | None:
    from importlib import metadata  # takes longer to import than this package

    for entry in metadata.entry_points(group=GROUP, name=package):
        backend: Backend = entry.load()
        return backend
    return None
