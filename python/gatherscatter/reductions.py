"""One record per reduction, used by the plan, the reference, the messages and the backends.

The compiled steps on elements are in ``src/scatter/steps.pxd``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gatherscatter._kernels.common import ReductionCode, TypeCode

# The dtypes that the kernels reduce, by NumPy's names, in the order of their type codes.
DTYPES: tuple[str, ...] = tuple(code.name.lower() for code in TypeCode if code != TypeCode.NONE)
COMPLEX = ("complex64", "complex128")


_KINDS = "biufc"  # from narrow to wide
_CASTS = "buifc"  # by the rule same_kind, each to itself and those after it
_BITS = re.compile(r"\d+$")


def wider_dtypes(dtype: str) -> tuple[str, ...]:
    """The wider dtypes of the same kind, narrowest first."""
    return tuple(name for name in DTYPES if kind_of(name) == kind_of(dtype) and _bits(name) > _bits(dtype))


def holding_dtypes(dtype: str) -> tuple[str, ...]:
    """The dtypes of the same kind or a wider kind, to which Python's number of this kind is converted."""
    return tuple(name for name in DTYPES if _KINDS.index(kind_of(name)) >= _KINDS.index(kind_of(dtype)))


def can_cast(given: str, to: str, casting: str) -> bool:
    """`numpy.can_cast` by the rule "safe" or "same_kind", of dtypes by name; of bfloat16 too."""
    if casting == "same_kind":
        return 0 <= _CASTS.find(kind_of(given)) <= _CASTS.find(kind_of(to))
    if to == "bfloat16" and kind_of(given) in "biu":
        to = "float16"  # both hold the integers of 8 bits
    elif given == "bfloat16":
        given = "float32"  # which the floats that hold bfloat16 hold too; strings hold any number
        if kind_of(to) not in "fc":
            return False
    try:
        return np.can_cast(given, to)
    except TypeError:  # a dtype that NumPy lacks
        return False


def _bits(dtype: str) -> int:
    found = _BITS.search(dtype)
    return int(found[0]) if found else 0


def dtype_name(dtype: Any) -> str:
    """NumPy's name of a dtype of any library, or of a name of a dtype."""
    name = str(dtype)
    if name.startswith(("torch.", "array_api_strict.")):
        return name.rpartition(".")[2]
    try:
        return str(np.dtype(dtype).name)
    except TypeError:  # "bfloat16"
        return name


def kind_of(dtype: str) -> str:
    """NumPy's letter for the kind of a dtype name: "b", "i", "u", "f" or "c"."""
    return "f" if dtype.startswith("bfloat") else dtype[:1]


@dataclass(frozen=True, eq=False)
class Reduction:
    """How an update is combined with the element at its destination.

    Attributes
    ----------
    name : str
        The value of the option `reduction`.
    code : int
        The kernels' code of the reduction; `step_of` has that of its step.
    dtypes : tuple of str
        The supported dtypes; empty for "none", which supports any.
    associative : str
        Kinds of dtypes for which regrouping the updates cannot change a bit of the result. For other kinds the
        updates of a destination must be applied one after the other.
    rounds : bool
        Whether a step may round or overflow, so that an `accumulate_dtype` makes a difference.
    idempotent : bool
        Whether ``step(step(a, u), u)`` is ``step(a, u)``.
    identity : callable
        Maps the name of a dtype to the number e for which ``step(e, u)`` is u bit for bit; None if there is none.
    step : callable or None
        Combines an element with an update: ``step(element, update)``, NumPy scalars of one dtype. None: the update
        replaces the element.
    array_step : callable or None
        The same for arrays of an array-API namespace: ``array_step(xp, elements, updates)``.
    on_bool : str
        The equivalent reduction for bools, for libraries without arithmetic on them.
    finish : callable or None
        Applied at the end to each element that has updates: ``finish(element, number of terms)``. None: no last step.
    step_of : str
        For a reduction that differs only in `finish`: the reduction with the same step.
    synonyms : tuple of str
        Names in other libraries, for messages.
    """

    name: str
    code: int
    dtypes: tuple[str, ...]
    associative: str
    rounds: bool
    idempotent: bool
    identity: Callable[[str], Any]
    step: Callable[[Any, Any], Any] | None
    array_step: Callable[[Any, Any, Any], Any] | None
    on_bool: str = ""
    finish: Callable[[Any, int], Any] | None = None
    step_of: str = ""
    synonyms: tuple[str, ...] = ()

    def identity_bytes(self, dtype: str) -> bytes | None:
        """The bytes of the identity, in native byte order; None if there is none."""
        value = self.identity(dtype)
        if value is None:
            return None
        if dtype != "bfloat16":
            return np.array(value, dtype).tobytes()
        upper = slice(2, 4) if sys.byteorder == "little" else slice(0, 2)  # bfloat16 is the upper half of float32
        return np.array(value, np.float32).tobytes()[upper]


# Steps on scalars


def _add(a: Any, b: Any) -> Any:
    return a + b  # for bools: or


def _multiply(a: Any, b: Any) -> Any:
    if isinstance(a, np.complexfloating):  # written out, so that no product is fused with the sum
        real = a.real * b.real - a.imag * b.imag
        imag = a.real * b.imag + a.imag * b.real
        return type(a)(complex(real, imag))
    return a * b  # for bools: and


def _maximum(a: Any, b: Any) -> Any:
    return a if a >= b or a != a else b  # NaN propagates; if equal (0.0 and -0.0), the destination is kept


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
    stays = a >= b  # not xp.maximum: the standard does not specify it for NaN
    return xp.where(stays | xp.isnan(a) if xp.isdtype(a.dtype, "real floating") else stays, a, b)


def _array_minimum(xp: Any, a: Any, b: Any) -> Any:
    if xp.isdtype(a.dtype, "bool"):
        return xp.logical_and(a, b)
    stays = a <= b
    return xp.where(stays | xp.isnan(a) if xp.isdtype(a.dtype, "real floating") else stays, a, b)


# Identities


def _zero(dtype: str) -> Any:
    # -0.0 + u is u bit for bit; 0.0 + -0.0 is 0.0.
    return {"f": -0.0, "c": complex(-0.0, -0.0)}.get(kind_of(dtype), 0)


def _one(dtype: str) -> Any:
    return None if kind_of(dtype) == "c" else 1  # 1 + 0j is no identity: its 0 times infinity is NaN


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
    rounds=False,
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
    rounds=True,
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
    rounds=True,
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
    rounds=False,
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
    rounds=False,
    idempotent=True,
    identity=_highest,
    step=_minimum,
    array_step=_array_minimum,
    synonyms=("amin", "minimum"),
)
_MEAN = replace(
    _ADD,
    name="mean",
    code=ReductionCode.MEAN,
    dtypes=tuple(name for name in DTYPES if name != "bool"),
    finish=_mean,
    step_of="add",
    synonyms=("average", "avg"),
)

REDUCTIONS: dict[str, Reduction] = {record.name: record for record in (_NONE, _ADD, _MUL, _MAX, _MIN, _MEAN)}


def takes(reduction: str, dtype: str) -> bool:
    """Whether a reduction supports a dtype, both by name."""
    record = REDUCTIONS[reduction]
    is_date = dtype.startswith(("datetime64", "timedelta64"))  # of NumPy
    return not record.dtypes or dtype in record.dtypes or (is_date and reduction in ("max", "min"))
