"""One record per reduction: everything that the plan, the reference, the messages and the backends know of it.

What a reduction does to one element of a dtype is compiled from ``src/scatter/reductions.pxd``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gatherscatter._kernels.codes import ReductionCode, TypeCode

# The dtypes that have arithmetic, by NumPy's names, in the order of their type codes.
DTYPES: tuple[str, ...] = tuple(code.name.lower() for code in TypeCode if code != TypeCode.NONE)
COMPLEX = ("complex64", "complex128")


def kind_of(dtype: str) -> str:
    """NumPy's letter for the kind of a dtype name: "b", "i", "u", "f" or "c"."""
    return "f" if dtype == "bfloat16" else dtype[0]


@dataclass(frozen=True, eq=False)
class Reduction:
    """How an update is combined with the element at its destination.

    Attributes
    ----------
    name : str
        As users write it.
    code : int
        What the kernels call the step.
    dtypes : tuple of str
        The dtypes that it takes; empty for "none", which takes any.
    associative : str
        Kinds of dtypes for which grouping the updates, in order, cannot change a bit of the result. For other kinds
        each destination has to meet its updates one after the other.
    idempotent : bool
        Whether ``step(step(a, u), u)`` is ``step(a, u)``.
    identity : callable
        By the name of a dtype, the number e for which ``step(e, u)`` is u to the bit; None where there is none.
    step : callable or None
        One update combined with one element, as NumPy scalars of one dtype. None: the update replaces the element.
    array_step : callable or None
        The same on arrays of an array-API namespace: ``array_step(xp, elements, updates)``.
    on_bool : str
        The reduction that does the same to bools, where libraries have no arithmetic for them.
    finish : callable or None
        Applied to each element that met updates, with their number; None: nothing is left to do.
    step_of : str
        The reduction whose step it takes, where it differs in `finish` alone.
    synonyms : tuple of str
        What other libraries call it, for messages.
    """

    name: str
    code: int
    dtypes: tuple[str, ...]
    associative: str
    idempotent: bool
    identity: Callable[[str], Any]
    step: Callable[[Any, Any], Any] | None
    array_step: Callable[[Any, Any, Any], Any] | None
    on_bool: str = ""
    finish: Callable[[Any, int], Any] | None = None
    step_of: str = ""
    synonyms: tuple[str, ...] = ()

    def identity_bytes(self, dtype: str) -> bytes | None:
        """The identity as it lies in memory, in the machine's byte order."""
        value = self.identity(dtype)
        if value is None:
            return None
        if dtype != "bfloat16":
            return np.array(value, dtype).tobytes()
        upper = slice(2, 4) if sys.byteorder == "little" else slice(0, 2)  # bfloat16 is the upper half of float32
        return np.array(value, np.float32).tobytes()[upper]


# Steps on scalars


def _add(a: Any, b: Any) -> Any:
    return a + b  # of two bools: or


def _multiply(a: Any, b: Any) -> Any:
    if isinstance(a, np.complexfloating):  # each product rounds, whatever the machine could fuse
        real = a.real * b.real - a.imag * b.imag
        imag = a.real * b.imag + a.imag * b.real
        return type(a)(complex(real, imag))
    return a * b  # of two bools: and


def _maximum(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b  # a NaN stays; of equals the destination stays


def _minimum(a: Any, b: Any) -> Any:
    return a if a <= b or a != a else b


def _mean(total: Any, count: int) -> Any:
    """A sum divided by the number of its terms: floats round once, integers are floored."""
    if isinstance(total, np.integer):
        return type(total)(int(total) // count)
    if isinstance(total, np.complexfloating):
        part = type(total.real)
        return type(total)(complex(total.real / part(count), total.imag / part(count)))
    if total.dtype.char in "fd":
        return total / type(total)(count)
    return type(total)(np.float64(total) / count)


# Steps on arrays


def _array_add(xp: Any, a: Any, b: Any) -> Any:
    return xp.logical_or(a, b) if xp.isdtype(a.dtype, "bool") else a + b


def _array_multiply(xp: Any, a: Any, b: Any) -> Any:
    return xp.logical_and(a, b) if xp.isdtype(a.dtype, "bool") else a * b


def _array_maximum(xp: Any, a: Any, b: Any) -> Any:
    if xp.isdtype(a.dtype, "bool"):
        return xp.logical_or(a, b)
    stays = a >= b  # the standard leaves it open what its own maximum makes of NaN
    return xp.where(stays | xp.isnan(a) if xp.isdtype(a.dtype, "real floating") else stays, a, b)


def _array_minimum(xp: Any, a: Any, b: Any) -> Any:
    if xp.isdtype(a.dtype, "bool"):
        return xp.logical_and(a, b)
    stays = a <= b
    return xp.where(stays | xp.isnan(a) if xp.isdtype(a.dtype, "real floating") else stays, a, b)


# Identities


def _zero(dtype: str) -> Any:
    # -0.0 + u is u to the bit; 0.0 + -0.0 is not.
    return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(kind_of(dtype), 0)


def _one(dtype: str) -> Any:
    return None if kind_of(dtype) == "c" else 1  # 1 + 0j is none: (0 + 0j) times infinity is NaN


def _lowest(dtype: str) -> Any:
    return {"b": False, "f": -np.inf}[kind_of(dtype)] if kind_of(dtype) in "bf" else np.iinfo(dtype).min


def _highest(dtype: str) -> Any:
    return {"b": True, "f": np.inf}[kind_of(dtype)] if kind_of(dtype) in "bf" else np.iinfo(dtype).max


def _no_identity(dtype: str) -> Any:
    return None


_REAL = tuple(name for name in DTYPES if name not in COMPLEX)

_NONE = Reduction(
    name="none",
    code=ReductionCode.ASSIGN,
    dtypes=(),
    associative="",
    idempotent=True,
    identity=_no_identity,
    step=None,
    array_step=None,
    synonyms=("assign", "set", "update", "replace", "overwrite", "="),
)
_ADD = Reduction(
    name="add",
    code=ReductionCode.ADD,
    dtypes=DTYPES,
    associative="biu",
    idempotent=False,
    identity=_zero,
    step=_add,
    array_step=_array_add,
    on_bool="max",
    synonyms=("sum", "plus", "+"),
)
_MUL = Reduction(
    name="mul",
    code=ReductionCode.MUL,
    dtypes=DTYPES,
    associative="biu",
    idempotent=False,
    identity=_one,
    step=_multiply,
    array_step=_array_multiply,
    on_bool="min",
    synonyms=("prod", "product", "multiply", "*"),
)
_MAX = Reduction(
    name="max",
    code=ReductionCode.MAX,
    dtypes=_REAL,
    associative="biuf",
    idempotent=True,
    identity=_lowest,
    step=_maximum,
    array_step=_array_maximum,
    synonyms=("amax", "maximum"),
)
_MIN = Reduction(
    name="min",
    code=ReductionCode.MIN,
    dtypes=_REAL,
    associative="biuf",
    idempotent=True,
    identity=_highest,
    step=_minimum,
    array_step=_array_minimum,
    synonyms=("amin", "minimum"),
)
_MEAN = replace(
    _ADD,
    name="mean",
    dtypes=tuple(name for name in DTYPES if name != "bool"),
    finish=_mean,
    step_of="add",
    synonyms=("average", "avg"),
)

REDUCTIONS: dict[str, Reduction] = {record.name: record for record in (_NONE, _ADD, _MUL, _MAX, _MIN, _MEAN)}


def takes(reduction: str, dtype: str) -> bool:
    """Whether a reduction takes a dtype, by their names."""
    record = REDUCTIONS[reduction]
    return not record.dtypes or dtype in record.dtypes
