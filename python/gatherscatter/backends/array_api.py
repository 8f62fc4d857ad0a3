"""Arrays of any library that follows the array API standard, by way of array-api-compat.

A gather is the standard's ``take``. The standard has no scatter, so updates are sorted by row id (``sorting.py``).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

from gatherscatter import errors, values
from gatherscatter.backends import sorting
from gatherscatter.backends.table import TableBackend
from gatherscatter.plan import Plan
from gatherscatter.reductions import REDUCTIONS, Reduction, kind_of


class _Before2024:
    """The namespace of an older version of the standard: `where` takes Python's scalars only since 2024.12."""

    def __init__(self, xp: Any):
        self._xp = xp

    def __getattr__(self, name: str) -> Any:
        return getattr(self._xp, name)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        if isinstance(a, (int, float, complex)):
            a = self._xp.asarray(a, dtype=b.dtype, device=device(b))
        elif isinstance(b, (int, float, complex)):
            b = self._xp.asarray(b, dtype=a.dtype, device=device(a))
        return self._xp.where(condition, a, b)


class ArrayAPIBackend(TableBackend):
    """Arrays of any library that follows the standard."""

    name = unknown_name = "array API"
    combines = True

    def owns(self, value: Any) -> bool:
        return is_array_api_obj(value) and not isinstance(value, (type, np.generic))

    def same_library(self, a: Any, b: Any) -> bool:
        return array_namespace(a) is array_namespace(b)

    def namespace(self, array: Any) -> Any:
        xp = array_namespace(array)
        return _Before2024(xp) if getattr(xp, "__array_api_version__", "2024.12") < "2024.12" else xp

    def device(self, array: Any) -> Any:
        return device(array)

    def row_dtype(self, like: Any) -> Any:
        return array_namespace(like).int64

    def asarray(self, value: Any, like: Any) -> Any:
        return array_namespace(like).asarray(value, device=device(like))

    def from_numpy(self, array: values.Array, like: Any) -> Any:
        xp = array_namespace(like)
        flat = xp.asarray(array.reshape(-1).tolist(), dtype=like.dtype, device=device(like))
        return xp.reshape(flat, array.shape)

    def counts_mask(self, mask: Any) -> bool:
        info = getattr(array_namespace(mask), "__array_namespace_info__", None)
        return info is None or bool(info().capabilities()["data-dependent shapes"])

    def combined(self, plan: Plan, data: Any, updates: Any) -> Any:
        reduction, xp = REDUCTIONS[plan.reduction], self.namespace(data)
        if reduction.array_step is None or not plan.include_self:
            return super().combined(plan, data, updates)
        result = reduction.array_step(xp, data, updates)
        if reduction.finish is None:
            return result
        return self._quotient(result, xp.asarray(2, dtype=self.row_dtype(data), device=device(data)), plan)

    def check_out(self, plan: Plan, out: Any, data: Any, shape: tuple[int, ...]) -> None:
        if not isinstance(out, type(data)):
            raise errors.out_type(plan.operator, out, errors.type_name(data))
        super().check_out(plan, out, data, shape)
        if not hasattr(type(out), "__setitem__"):
            raise errors.cannot(self.name, plan.operator, "out=", f"a {errors.type_name(out)} cannot be written to")

    def assign(self, table: Any, rows: Any, updates: Any) -> Any:
        return sorting.assign(self.namespace(table), table, rows, updates)

    def combine(
        self, table: Any, rows: Any, updates: Any, reduction: Reduction, include_self: bool, counts: Any = None
    ) -> Any:
        xp = self.namespace(table)
        assert reduction.array_step is not None
        step = partial(reduction.array_step, xp)
        associative = kind_of(self.dtype_name(table)) in reduction.associative
        return sorting.combine(xp, table, rows, updates, step, include_self=include_self, associative=associative)

    def counts(self, n_rows: int, rows: Any) -> Any:
        return sorting.counts(self.namespace(rows), n_rows, rows)


BACKEND = ArrayAPIBackend()
