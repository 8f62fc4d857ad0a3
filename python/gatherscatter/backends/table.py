"""Base class for backends that use a library's own primitives on a table of rows.

The table is data with its leading axes reshaped to one: (n_rows, *row). Indices are resolved to row ids, which count
rows in row-major order. The row id n_rows means "no row": an update with it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from gatherscatter import errors
from gatherscatter.backends import sorting
from gatherscatter.backends.base import Backend
from gatherscatter.operators import AXIS, ELEMENTS, ND
from gatherscatter.plan import Plan, index_error, unravel
from gatherscatter.reductions import REDUCTIONS, Reduction


def reshaped(xp: Any, array: Any, shape: tuple[int, ...]) -> Any:
    """The array in a shape. One that has it costs no call of the library."""
    return array if tuple(array.shape) == shape else xp.reshape(array, shape)


def broadcast(xp: Any, array: Any, shape: tuple[int, ...]) -> Any:
    """The array broadcast to a shape; see `reshaped`."""
    return array if tuple(array.shape) == shape else xp.broadcast_to(array, shape)


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
        return self.deliver(plan, self.read(data, indices, fill, self.settled(indices, plan)), out)

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        """Check the arguments, then `write`."""
        self.check_reduction(plan, data)
        self.check_indices(plan, data, indices)
        updates = self.fit_updates(plan, updates, data) if self.owns(updates) else self.as_updates(plan, updates, data)
        self.check_devices(plan, data, updates=updates)
        if out is not None:
            self.check_out(plan, out, data, plan.data)
        return self.deliver(plan, self.write(data, indices, updates, self.settled(indices, plan)), out)

    def check_indices(self, plan: Plan, data: Any, indices: Any) -> None:
        """Check the dtype and device of indices."""
        if not self.namespace(indices).isdtype(indices.dtype, "integral"):
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
        self.check_devices(plan, data, indices=indices)

    # Resolve

    def settled(self, indices: Any, plan: Plan) -> Plan:
        """The plan for indices that are checked, if the mode raises: it promises what was found. Else the plan."""
        raises = plan.mode == "raise" or (0 in plan.sizes and plan.mode not in ("fill", "drop"))
        if not raises or 0 in indices.shape:
            return plan
        has_negative = False
        for (least, greatest), size in zip(self.bounds(indices, plan), plan.sizes, strict=True):
            if greatest >= size or least < (-size if plan.wrap_negative_indices else 0):
                raise self.index_error(indices, plan)
            has_negative = has_negative or least < 0
        return plan._replace(mode="promise_in_bounds", wrap_negative_indices=has_negative)

    def bounds(self, indices: Any, plan: Plan) -> list[tuple[int, int]]:
        """The least and the greatest index into each axis. There is at least one."""
        return [self.extremes(index) for index in self.by_axis(indices, plan)]

    def by_axis(self, indices: Any, plan: Plan) -> Any:
        """The indices into each axis that is indexed."""
        return [indices[..., i] for i in range(plan.depth)] if plan.kind == ND else [indices]

    def resolve_axes(self, indices: Any, plan: Plan) -> Iterator[tuple[Any, Any | None]]:
        """For each leading axis the index of each position, and a mask as from `resolve_axis`: broadcast, the tuples.

        Of an axis that is not indexed, that is the position itself.
        """
        xp = self.namespace(indices)
        given = iter(self.by_axis(indices, plan))
        for axis, size in enumerate(plan.leading):
            if not plan.axis <= axis < plan.axis + plan.depth:
                n = plan.tuples[axis]
                along = xp.arange(n, dtype=self.row_dtype(indices), device=self.device(indices))
                yield reshaped(xp, along, (n,) + (1,) * (len(plan.tuples) - axis - 1)), None
                continue
            index, outside = self.resolve_axis(next(given), size, plan)
            if plan.kind == AXIS:  # broadcast over the axes between the batch axes and the indexed one
                shape = plan.outer + plan.tuples[plan.axis :]
                index = reshaped(xp, index, shape)
                outside = None if outside is None else reshaped(xp, outside, shape)
            yield index, outside

    def resolve_rows(self, indices: Any, plan: Plan) -> tuple[Any, Any | None]:
        """Row id of each position of `plan.tuples`, and a mask of those outside, or None if the mode needs none.

        With mode "drop" the mask is None: rows outside get the row id n_rows.
        """
        xp = self.namespace(indices)
        rows = outside = None
        for size, (index, bad) in zip(plan.leading, self.resolve_axes(indices, plan), strict=True):
            if bad is not None:
                outside = bad if outside is None else outside | bad
            rows = index if rows is None else self.row_of(rows, size, index)
        if rows is None:  # empty tuples
            rows = xp.zeros((), dtype=self.row_dtype(indices), device=self.device(indices))
        rows = broadcast(xp, rows, plan.tuples)
        if outside is not None and plan.mode == "drop":
            return xp.where(outside, xp.full_like(rows, plan.n_rows), rows), None
        if outside is not None and plan.mode == "fill":
            outside = broadcast(xp, outside, plan.tuples)
        return rows, outside

    def row_of(self, rows: Any, size: int, index: Any) -> Any:
        """Row ids with one more axis, of this size."""
        return rows * size + index

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
        if index.dtype != dtype:
            index = xp.astype(index, dtype)
        promised = mode == "promise_in_bounds" and size
        if promised:
            return self.wrapped(index, size) if plan.wrap_negative_indices else index, None
        if mode == "wrap" and size:
            return index % size, None
        if plan.wrap_negative_indices:
            index = xp.where(index < 0, index + size, index)
        if mode == "clip" and size:
            return xp.clip(index, 0, size - 1), None
        return index, (index < 0) | (index >= size)

    def wrapped(self, index: Any, size: int) -> Any:
        """Indices into an axis, with negative ones counted from the end: in one operation, not in three."""
        return index % size

    def index_error(self, indices: Any, plan: Plan) -> Exception:
        """The error for the first index outside."""
        xp = self.namespace(indices)
        _, outside = self.resolve_rows(indices, plan)  # of the positions' axes, some of them of size 1
        assert outside is not None
        number = int(xp.argmax(xp.astype(xp.reshape(outside, (-1,)), xp.uint8)))
        return index_error(plan, indices, plan.index_position(unravel(number, tuple(outside.shape))))

    # Move

    def read(self, data: Any, indices: Any, fill: Any | None, plan: Plan) -> Any:
        """Steps 2 and 3 of a gather. `fill`: for mode "fill" an array of data's dtype and rank 0, else None."""
        if not self.takes_along_axes or plan.kind == ND or plan.batch_dims or 0 in data.shape:
            rows, outside = self.resolve_rows(indices, plan)
            return self.read_rows(data, rows, outside, fill, plan)
        xp, axis = self.namespace(data), plan.axis
        index, outside = self.resolve_axis(indices, data.shape[axis], plan)
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
        table = reshaped(xp, data, (plan.n_rows, *plan.row))
        if table.shape[0] == 0:  # there is no row to take: the result is empty or all fill
            zero = xp.zeros((), dtype=data.dtype, device=self.device(data))
            result = xp.broadcast_to(zero, plan.shape)
        else:
            if fill is not None:
                rows = xp.where(outside, 0, rows)
            result = reshaped(xp, self.take(table, reshaped(xp, rows, (plan.n_tuples,))), plan.shape)
        return result if fill is None else xp.where(self._column(outside, plan.row), fill, result)

    def write(self, data: Any, indices: Any, updates: Any, plan: Plan) -> Any:
        """Steps 2 and 3 of a scatter. `updates` has the plan's shape and data's dtype."""
        rows, _ = self.resolve_rows(indices, plan)
        return self.write_rows(data, rows, updates, plan)

    def write_rows(self, data: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        """Step 3 of a scatter, from row ids."""
        xp = self.namespace(data)
        if plan.n_rows == 0 or 0 in plan.shape:
            return xp.asarray(data, copy=True)
        table = reshaped(xp, data, (plan.n_rows, *plan.row))
        rows = reshaped(xp, rows, (plan.n_tuples,))
        updates = reshaped(xp, updates, (plan.n_tuples, *plan.row))
        return reshaped(xp, self.write_table(table, rows, updates, plan), plan.data)

    def write_table(self, table: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        """The table with updates combined into it."""
        reduction = REDUCTIONS[plan.reduction]
        if reduction.step is None:
            return self.assign(table, rows, updates)
        if reduction.finish is None:
            return self.combine(table, rows, updates, reduction, plan.include_self)
        xp, counts = self.namespace(table), self.counts(table.shape[0], rows)
        sums = self.combine(table, rows, updates, REDUCTIONS[reduction.step_of], plan.include_self, counts)
        counts = self._column(counts, plan.row)
        divisor = counts + 1 if plan.include_self else xp.where(counts > 0, counts, 1)
        return xp.where(counts > 0, self._quotient(sums, divisor, plan), sums)

    def counts(self, n_rows: int, rows: Any) -> Any:
        """How many updates each row gets."""
        xp = self.namespace(rows)
        zeros = xp.zeros((n_rows,), dtype=rows.dtype, device=self.device(rows))
        return self.combine(zeros, rows, xp.ones_like(rows), REDUCTIONS["add"], True)

    def assign(self, table: Any, rows: Any, updates: Any) -> Any:
        """The table with rows replaced by updates: the last update of a row wins."""
        return self.put(table, self.only_last(table.shape[0], rows), updates)

    def combine(
        self, table: Any, rows: Any, updates: Any, reduction: Reduction, include_self: bool, counts: Any = None
    ) -> Any:
        """The table with updates combined into it, in order. counts: of the updates of each row, if they are known."""
        if reduction.on_bool and self.dtype_name(table) == "bool":
            reduction = REDUCTIONS[reduction.on_bool]
        identity = None if include_self else reduction.identity(self.dtype_name(table))
        if identity is not None:  # each row that has updates starts from it
            counts = self.counts(table.shape[0], rows) if counts is None else counts
            table = self.emptied(table, self._column(counts > 0, table.shape[1:]), identity)
        elif not include_self:  # from its first update
            first, rows = self.without_first(table.shape[0], rows)
            table = self.put(table, first, updates)
        if reduction.name in self.native:
            return self.reduce(table, rows, updates, reduction.name)
        assert reduction.array_step is not None
        return self.combine_by_step(table, rows, updates, partial(reduction.array_step, self.namespace(table)))

    def emptied(self, table: Any, which: Any, number: Any) -> Any:
        """The table with a number in the rows of a mask."""
        xp = self.namespace(table)
        return xp.where(which, xp.asarray(number, dtype=table.dtype, device=self.device(table)), table)

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
        return reshaped(self.namespace(array), array, (*array.shape, *(1,) * len(row)))
