"""Updates of `at` that are no reductions: `divide` and `power` gather, compute and set. Also what `copy` means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gatherscatter import dispatch, values
from gatherscatter.backends.base import Backend
from gatherscatter.errors import indexing as messages
from gatherscatter.errors import kind_of
from gatherscatter.errors.foreign import FromIndexed
from gatherscatter.indexing import calls
from gatherscatter.indexing.calls import SCATTER, UPDATED
from gatherscatter.operators import Operator

# For each method: the standard's name of its function, and the kinds of dtypes that hold its results.
_FUNCTIONS: Final = {"divide": ("divide", ("float", "complex")), "power": ("pow", ("int", "float", "complex"))}


class Methods(FromIndexed):
    """The base of `At`, with the methods that are no reductions."""

    __slots__ = ()
    _index: Any
    _x: Any

    def divide(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with ``x[index]`` divided by `updates`.

        The quotients are those of x's library. Duplicates do not divide repeatedly: each quotient is computed from the
        element of x, and the last of them wins, as in ``x[index] /= updates`` in NumPy.

        Parameters
        ----------
        updates, mode, wrap_negative_indices, out, copy, xp : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        Raises
        ------
        TypeError
            If x holds integers or bools, whose quotients it could not hold.
        IndexError, ValueError, NotImplementedError
            As `add`. `out` is unchanged.

        See Also
        --------
        add : What the parameters mean.
        multiply : Which multiplies at duplicates repeatedly.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.array([1.0, 2.0, 3.0]))[1:].divide([4.0, 2.0])
        array([1. , 0.5, 1.5])
        """
        return _update("divide", self._x, self._index, updates, mode, wrap_negative_indices, out, copy)

    def power(
        self,
        updates: Any,
        *,
        mode: str = "raise",
        wrap_negative_indices: bool | np.bool = True,
        out: Any = None,
        copy: bool | np.bool | None = None,
        xp: Any = None,
    ) -> Any:
        """Return a copy of x with ``x[index]`` raised to the power `updates`.

        The powers are those of x's library; powers of integers wrap around. Duplicates are treated as in `divide`: the
        last one wins.

        Parameters
        ----------
        updates, mode, wrap_negative_indices, out, copy, xp : see `add`
            As in `add`.

        Returns
        -------
        array
            As in `add`.

        Raises
        ------
        TypeError
            If x holds bools.
        ValueError
            If x holds integers and an exponent is negative. Exponents that are traced or lazy are not checked.
        IndexError, NotImplementedError
            As `add`. `out` is unchanged.

        See Also
        --------
        add : What the parameters mean.
        divide : What duplicates mean.

        Examples
        --------
        >>> import numpy as np
        >>> import gatherscatter as gs
        >>> gs.at(np.array([1, 2, 3]))[1:].power([3, 2])
        array([1, 8, 9])
        """
        return _update("power", self._x, self._index, updates, mode, wrap_negative_indices, out, copy)


def _update(method: str, x: Any, index: Any, updates: Any, mode: Any, wrap: Any, out: Any, copy: Any) -> Any:
    """Set ``x[index]`` to a function of its elements and updates."""
    op = SCATTER
    if copy is not None:
        out = out_of(op, x, copy, out)
    strict, mode = calls.checked(op, mode, wrap)
    backend, array, given, updates = calls.routed(strict, x, index, updates)
    function, kinds = _FUNCTIONS[method]
    if kind_of(array.dtype) not in kinds:
        raise messages.no_function(op, method, array.dtype)
    compute = getattr(backend.namespace(array), function)
    plan = calls.plan_of(strict)
    if out is not None:
        backend.check_out(plan, out, array, tuple(array.shape))
    by = calls.as_array(backend, strict, array, updates, ())
    if method == "power":
        _check_exponents(backend, op, by)
    mask = calls.unknown_mask(backend, given)
    if mask is not None:
        calls.check_where(backend, strict, given, mask, updates)
        return calls.where(backend, strict, array, given, mask, _computed(compute, array, by), out)
    x = x if out is x else array
    # A position that the scatter drops may have any value.
    part = calls.get(UPDATED, x, index, "fill" if mode == "drop" else mode, int(mode == "drop"), wrap, None)
    new = _computed(compute, part, calls.fitting(op, by, tuple(part.shape)))
    return calls.update(op, x, index, new, ("none", True, mode, None), wrap, out)


def _computed(compute: Callable[[Any, Any], Any], part: Any, by: Any) -> Any:
    if isinstance(part, np.ndarray):  # no warning of 1 / 0, as everywhere in this package
        with np.errstate(all="ignore"):
            return compute(part, by)
    return compute(part, by)


def _check_exponents(backend: Backend, op: Operator, by: Any) -> None:
    if not backend.dtype_name(by).startswith("int"):
        return
    known = None if backend.is_unknown(by) else backend.as_numpy(by)
    if known is not None and (known < 0).any():
        raise messages.negative_exponent(op)


def out_of(op: Operator, x: Any, copy: Any, out: Any) -> Any:
    """The array to write to, by the options `copy` and `out`."""
    if copy is not None and not isinstance(copy, (bool, np.bool)):
        raise messages.copy_value(op, copy)
    if copy is None or copy:
        if copy and out is not None and out is x:
            raise messages.copy_and_out(op, copy)
        return out
    if out is not None and out is not x:
        raise messages.copy_and_out(op, copy)
    if isinstance(x, values.TYPES) or not dispatch.backend_of(op, "data", x).is_writable(x):
        raise messages.copy_read_only(op, x)
    return x
