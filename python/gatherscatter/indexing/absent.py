"""Attributes that `at` and `At` lack, each with an error that names the right call.

These are descriptors, because a class with ``__getattr__`` makes the call of every method slower: ``gs.at(x)[i].get()``
would take 17 % longer. `dir` does not list them, and `hasattr` is false.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from numpy import ndarray

from gatherscatter.errors import hints
from gatherscatter.reductions import REDUCTIONS

METHODS: Final = ("get", "set", "add", "subtract", "multiply", "divide", "power", "min", "max", "mean")
_OF_ARRAYS = [name for name in dir(ndarray) if not name.startswith("_")]
_OF_OTHERS = [
    *("sub", "mul", *hints.UPDATES),
    *(word for one in REDUCTIONS.values() for word in one.synonyms),
    *(f"{name}_" for name in ("set", "add", "sub", "mul", "multiply", "min", "max", "amin", "amax")),  # PyTorch's
]


class _Absent:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise hints.no_attribute(self._name, METHODS, ndarray, is_indexed=issubclass(owner, FromIndexed))


class _Indexed:
    """A method of `At`, for ``at(x, index)``, which keeps ``at(x)[index]`` in place of x."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        indexed = getattr(instance, "_x", None)
        if isinstance(indexed, FromIndexed):
            return getattr(indexed, self._name)
        raise hints.no_attribute(self._name, METHODS, ndarray, is_indexed=False)


class _Listed:
    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if hasattr(self, name)]


class FromAt(_Listed):
    """The base of `at`."""

    __slots__ = ()

    def __setitem__(self, index: Any, updates: Any) -> None:
        raise hints.no_assignment()


class FromIndexed(_Listed):
    """The base of `At`."""

    __slots__ = ()

    def __iadd__(self, updates: Any) -> NoReturn:
        raise hints.no_operator("+=", "add(updates, out=x)")

    def __isub__(self, updates: Any) -> NoReturn:
        raise hints.no_operator("-=", "subtract(updates, out=x)")

    def __imul__(self, updates: Any) -> NoReturn:
        raise hints.no_operator("*=", "multiply(updates, out=x)")

    def __itruediv__(self, updates: Any) -> NoReturn:
        raise hints.no_operator("/=", "divide(updates, out=x)")

    def __ipow__(self, updates: Any) -> NoReturn:
        raise hints.no_operator("**=", "power(updates, out=x)")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Raise an error, since NumPy would make an array that contains this object."""
        raise hints.not_an_array_yet()


for _name in (*METHODS, *_OF_ARRAYS):
    setattr(FromAt, _name, _Indexed(_name) if _name in METHODS else _Absent(_name))
for _name in (*_OF_ARRAYS, *_OF_OTHERS):
    if _name.isidentifier() and _name not in METHODS:
        setattr(FromIndexed, _name, _Absent(_name))
