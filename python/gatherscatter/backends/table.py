"""Base class for backends that use a library's own primitives on a table of rows.

The table is data with its leading axes reshaped to one: (n_rows, *row). Indices are resolved to row ids, which count
rows in row-major order. The row id n_rows means "no row": an update with it is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from gatherscatter import errors
from gatherscatter.backends import sorting
from gatherscatter.backends.base import Backend
from gatherscatter.operators import AXIS, ELEMENTS, ND
from gatherscatter.plan import Plan, explain, unravel
from gatherscatter.reductions import REDUCTIONS, Reduction


class TableBackend(Backend):
    """The operators on top of a few primitives, none of which writes in place. Row ids are 1-d arrays.

    A backend implements `take`, `put` and `reduce`; also `divide`, `floor_divide` and `make_complex` if the functions
    of the array API standard do not suffice.

    Attributes
    ----------
    native : frozenset of str
        The reductions that `reduce` supports. The others use `array_step` in the record of the reduction.
    makes_complex : bool
        Whether the backend implements `make_complex`.
    takes_along_axes : bool
        Whether it implements `take_axis` and `take_elements`, which need no table and so no contiguous data.
    """

    native: ClassVar[frozenset[str]] = frozenset()
    makes_complex: ClassVar[bool] = False
    takes_along_axes: ClassVar[bool] = False

    # Primitives

    def take(self, table: Any, rows: Any) -> Any:
        """Rows of the table. All row ids are less than n_rows."""
        return self.namespace(table).take(table, rows, axis=0)

    def put(self, table: Any, rows: Any, updates: Any) -> Any:
        """The table with rows replaced by updates. Row ids are distinct, except for n_rows."""
        raise NotImplementedError

    def reduce(self, table: Any, rows: Any, updates: Any, reduction: str) -> Any:
        """The table with updates combined into it, in order, by one of the `native` reductions."""
        raise NotImplementedError

    def take_axis(self, data: Any, index: Any, axis: int) -> Any:
        """Slices of data along an axis, for an index of any rank: ``numpy.take``."""
        raise NotImplementedError

    def take_elements(self, data: Any, index: Any, axis: int) -> Any:
        """Elements of data along an axis. The index may be smaller than data along the other axes."""
        raise NotImplementedError

    def row_dtype(self, like: Any) -> Any:
        """The dtype of row ids, in like's namespace."""
        raise NotImplementedError

    def divide(self, sums: Any, counts: Any) -> Any:
        """Quotients of real floating-point numbers, each rounded once."""
        return self.namespace(sums).divide(sums, counts)

    def floor_divide(self, sums: Any, counts: Any) -> Any:
        """Floored quotients of integers of any width and positive counts, which have the dtype of row ids."""
        xp, dtype = self.namespace(sums), sums.dtype
        if xp.iinfo(dtype).bits < xp.iinfo(counts.dtype).bits:
            return xp.astype(xp.astype(sums, counts.dtype) // counts, dtype)
        return sums // xp.astype(counts, dtype)

    def make_complex(self, real: Any, imag: Any) -> Any:
        """Complex numbers from their real and imaginary parts."""
        raise NotImplementedError

    # The operators

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        """Check the arguments, then `read`."""
        self.check_indices(plan, data, indices)
        if out is not None:
            self.check_out(plan, out, data, plan.shape)
        fill = self.element(plan, "fill_value", fill_value, data) if plan.mode == "fill" else None
        return self.deliver(plan, self.read(data, indices, fill, plan), out)

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        """Check the arguments, then `resolve` and `write`."""
        self.check_reduction(plan, data)
        self.check_indices(plan, data, indices)
        updates = self.fit_updates(plan, updates, data) if self.owns(updates) else self.as_updates(plan, updates, data)
        self.check_devices(plan, data, updates=updates)
        if out is not None:
            self.check_out(plan, out, data, plan.data)
        rows, _ = self.resolve(indices, plan)
        return self.deliver(plan, self.write(data, rows, updates, plan), out)

    def check_indices(self, plan: Plan, data: Any, indices: Any) -> None:
        """Check the dtype and device of indices."""
        if not self.namespace(indices).isdtype(indices.dtype, "integral"):
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
        self.check_devices(plan, data, indices=indices)

    # Resolve

    def resolve(self, indices: Any, plan: Plan) -> tuple[Any, Any | None]:
        """Row ids, and for ``mode="fill"`` a mask of those outside. Raises an IndexError in a mode that raises."""
        rows, outside = self.resolve_rows(indices, plan)
        return self.check_bounds(rows, outside, indices, plan), outside

    def check_bounds(self, rows: Any, outside: Any | None, indices: Any, plan: Plan) -> Any:
        """Raise an IndexError if a row is outside, except for mode "fill"; return the rows."""
        if outside is not None and plan.mode != "fill" and bool(self.namespace(outside).any(outside)):
            raise self.explain(indices, plan, outside)
        return rows

    def resolve_rows(self, indices: Any, plan: Plan) -> tuple[Any, Any | None]:
        """Row id of each position of `plan.tuples`, and a mask of those outside, or None if the mode needs none.

        With mode "drop" the mask is None: rows outside get the row id n_rows.
        """
        xp, device = self.namespace(indices), self.device(indices)
        n_axes = len(plan.tuples)
        rows = outside = None
        for axis, size in enumerate(plan.leading):
            component = axis - plan.axis
            if not 0 <= component < plan.depth:  # not indexed: the position is the index into this axis
                n = plan.tuples[axis]
                along = xp.arange(n, dtype=self.row_dtype(indices), device=device)
                along = xp.reshape(along, (n,) + (1,) * (n_axes - axis - 1))
                rows = along if rows is None else rows * size + along
                continue
            index, bad = self.resolve_axis(indices[..., component] if plan.kind == ND else indices, size, plan)
            if plan.kind == AXIS:  # broadcast over the axes between the batch axes and the indexed one
                shape = plan.outer + plan.tuples[plan.axis :]
                index = xp.reshape(index, shape)
                bad = None if bad is None else xp.reshape(bad, shape)
            if bad is not None:
                outside = bad if outside is None else outside | bad
            rows = index if rows is None else rows * size + index
        rows = xp.zeros((), dtype=self.row_dtype(indices), device=device) if rows is None else rows  # empty tuples
        rows = xp.broadcast_to(rows, plan.tuples)
        if outside is not None and plan.mode == "drop":
            return xp.where(outside, xp.full_like(rows, plan.n_rows), rows), None
        if outside is not None and plan.mode == "fill":
            outside = xp.broadcast_to(outside, plan.tuples)
        return rows, outside

    def resolve_axis(self, index: Any, size: int, plan: Plan) -> tuple[Any, Any | None]:
        """Indices into one axis with the mode applied, and a mask of those outside, or None if the mode needs none."""
        xp, mode = self.namespace(index), plan.mode
        dtype = self.row_dtype(index)
        last = xp.iinfo(dtype).max
        if xp.iinfo(index.dtype).max > last:  # avoid overflow: no axis is that long, so larger indices can be clipped
            if mode == "wrap" and size:
                index = index % xp.asarray(size, dtype=index.dtype, device=self.device(index))
            else:
                end = xp.asarray(last, dtype=index.dtype, device=self.device(index))
                index = xp.where(index > end, end, index)
        index = xp.astype(index, dtype)
        if plan.wrap_negative_indices:
            index = xp.where(index < 0, index + size, index)
        if mode == "clip" and size:
            return xp.clip(index, 0, size - 1), None
        if mode == "wrap" and size:
            return index % size, None
        if mode == "promise_in_bounds" and size:
            return index, None
        return index, (index < 0) | (index >= size)

    def explain(self, indices: Any, plan: Plan, outside: Any) -> Exception:
        """The error for the first index outside. The mask has the positions' axes, some of them of size 1."""
        xp = self.namespace(outside)
        number = int(xp.argmax(xp.astype(xp.reshape(outside, (-1,)), xp.uint8)))
        return explain(plan, indices, plan.index_position(unravel(number, tuple(outside.shape))))

    # Move

    def read(self, data: Any, indices: Any, fill: Any | None, plan: Plan) -> Any:
        """Steps 2 and 3 of a gather. `fill`: for mode "fill" an array of data's dtype and rank 0, else None."""
        if not self.takes_along_axes or plan.kind == ND or plan.batch_dims or 0 in data.shape:
            rows, outside = self.resolve(indices, plan)
            return self.read_rows(data, rows, outside, fill, plan)
        xp, axis = self.namespace(data), plan.axis
        index, outside = self.resolve_axis(indices, data.shape[axis], plan)
        bad = outside
        if plan.kind == AXIS and outside is not None:  # with the axes of `plan.tuples` first
            bad = xp.reshape(outside, (1,) * axis + tuple(outside.shape))
        index = self.check_bounds(index, bad, indices, plan)
        if fill is not None:
            index = xp.where(outside, 0, index)
        if plan.kind == ELEMENTS:
            result = self.take_elements(data, index, axis)
        else:
            result = self.take_axis(data, index, axis)
            outside = None if outside is None else self._column(outside, plan.row)
        return result if fill is None else xp.where(outside, fill, result)

    def read_rows(self, data: Any, rows: Any, outside: Any | None, fill: Any | None, plan: Plan) -> Any:
        """Step 3 of a gather, from row ids."""
        xp = self.namespace(data)
        if outside is None:
            fill = None
        table = xp.reshape(data, (plan.n_rows, *plan.row))
        if table.shape[0] == 0:  # there is no row to take: the result is empty or all fill
            zero = xp.zeros((), dtype=data.dtype, device=self.device(data))
            result = xp.broadcast_to(zero, plan.shape)
        else:
            if fill is not None:
                rows = xp.where(outside, xp.zeros_like(rows), rows)
            result = xp.reshape(self.take(table, xp.reshape(rows, (-1,))), plan.shape)
        return result if fill is None else xp.where(self._column(outside, plan.row), fill, result)

    def write(self, data: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        """Step 3 of a scatter. `updates` has the plan's shape and data's dtype."""
        xp = self.namespace(data)
        if plan.n_rows == 0 or math.prod(plan.shape) == 0:
            return xp.asarray(data, copy=True)
        rows = xp.reshape(rows, (-1,))
        table = xp.reshape(data, (plan.n_rows, *plan.row))
        updates = xp.reshape(updates, (plan.n_tuples, *plan.row))
        reduction = REDUCTIONS[plan.reduction]
        if reduction.step is None:
            result = self.assign(table, rows, updates)
        elif reduction.finish is None:
            result = self.combine(table, rows, updates, reduction, plan.include_self)
        else:
            sums = self.combine(table, rows, updates, REDUCTIONS[reduction.step_of], plan.include_self)
            zeros = xp.zeros((plan.n_rows,), dtype=rows.dtype, device=self.device(rows))
            counts = self.combine(zeros, rows, xp.ones_like(rows), REDUCTIONS["add"], True)
            divisor = self._column(xp.where(counts > 0, counts + int(plan.include_self), 1), plan.row)
            result = xp.where(self._column(counts > 0, plan.row), self._quotient(sums, divisor, plan), sums)
        return xp.reshape(result, plan.data)

    def assign(self, table: Any, rows: Any, updates: Any) -> Any:
        """The table with rows replaced by updates: the last update of a row wins."""
        return self.put(table, self.only_last(table.shape[0], rows), updates)

    def combine(self, table: Any, rows: Any, updates: Any, reduction: Reduction, include_self: bool) -> Any:
        """The table with updates combined into it, in order."""
        if not include_self:  # each row starts from its first update
            first, rows = self.without_first(table.shape[0], rows)
            table = self.put(table, first, updates)
        if reduction.on_bool and self.dtype_name(table) == "bool":
            reduction = REDUCTIONS[reduction.on_bool]
        if reduction.name in self.native:
            return self.reduce(table, rows, updates, reduction.name)
        assert reduction.array_step is not None
        return self.combine_by_step(table, rows, updates, partial(reduction.array_step, self.namespace(table)))

    def combine_by_step(self, table: Any, rows: Any, updates: Any, step: Callable[[Any, Any], Any]) -> Any:
        """Combine by a reduction that the library has no primitive for: ``step(elements, updates)``."""
        return sorting.combine(self.namespace(table), table, rows, updates, step, include_self=True)

    def only_last(self, n_rows: int, rows: Any) -> Any:
        """The row ids, with n_rows for each update that a later one replaces, so that they are distinct."""
        return self._chosen(n_rows, rows, "max", -1)

    def without_first(self, n_rows: int, rows: Any) -> tuple[Any, Any]:
        """The row ids split in two: those of the first update of each row, and the others. n_rows fills the gaps."""
        first = self._chosen(n_rows, rows, "min", rows.shape[0])
        return first, self.namespace(rows).where(first == n_rows, rows, n_rows)

    def _chosen(self, n_rows: int, rows: Any, which: str, start: int) -> Any:
        xp, device = self.namespace(rows), self.device(rows)
        order = xp.arange(rows.shape[0], dtype=rows.dtype, device=device)
        chosen = xp.full((n_rows,), start, dtype=rows.dtype, device=device)
        chosen = self.combine(chosen, rows, order, REDUCTIONS[which], True)
        is_row = rows < n_rows
        chosen = self.take(chosen, xp.where(is_row, rows, 0))
        return xp.where(is_row & (chosen == order), rows, n_rows)

    def _quotient(self, sums: Any, counts: Any, plan: Plan) -> Any:
        """Sums divided by counts: see `means.quotient`."""
        xp, dtype, name = self.namespace(sums), sums.dtype, self.dtype_name(sums)
        if name.startswith(("int", "uint")):
            return self.floor_divide(sums, counts)
        if name.startswith("complex"):
            if not self.makes_complex:
                reason = "the standard cannot make complex numbers from their parts; scatter the parts separately"
                raise errors.cannot(self.name, plan.operator, f"reduction='mean' of {dtype}", reason)
            real, imag = xp.real(sums), xp.imag(sums)
            counts = xp.astype(counts, real.dtype)
            return self.make_complex(self.divide(real, counts), self.divide(imag, counts))
        wide = xp.float32 if name in ("float16", "bfloat16") else dtype
        return xp.astype(self.divide(xp.astype(sums, wide), xp.astype(counts, wide)), dtype)

    def _column(self, array: Any, row: tuple[int, ...]) -> Any:
        """An array over positions, with axes of size 1 appended for the row."""
        return self.namespace(array).reshape(array, (*array.shape, *(1,) * len(row)))
