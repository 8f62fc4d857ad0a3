"""CuPy arrays: ``cupy.take`` and ``cupy.add.at``, and custom kernels where CuPy has no primitive.

CuPy wraps every index around, so bounds are checked before rows are moved: one reduction over the indices and one
synchronisation. Atomic operations run in any order, so the rounding of float sums and products may vary, unless
`gatherscatter.use_deterministic_algorithms` was called. With reduction "none" the last update wins, since all others
are removed first.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import array_api_compat.cupy as xp
import cupy
import numpy as np

from gatherscatter import determinism, errors, values
from gatherscatter.backends import sorting
from gatherscatter.backends.overlap import addresses
from gatherscatter.backends.table import TableBackend
from gatherscatter.operators import ND
from gatherscatter.plan import Plan

# Dtypes that cupy.add.at takes.
_ADDED = ("int32", "int64", "uint32", "uint64", "float16", "float32", "float64")


class CuPyBackend(TableBackend):
    """Arrays of CuPy, on any CUDA device."""

    name = "CuPy"
    array_name = "cupy.ndarray"
    where_name = "cupy.where"
    native = frozenset(("add", "mul", "max", "min"))
    makes_complex = True
    takes_along_axes = True

    def owns(self, value: Any) -> bool:
        return isinstance(value, cupy.ndarray)

    def namespace(self, array: Any) -> Any:
        return xp

    def row_dtype(self, like: Any) -> Any:
        return cupy.int64

    def asarray(self, value: Any, like: Any) -> Any:
        with like.device:
            return cupy.asarray(np.asarray(value))

    def from_numpy(self, array: values.Array, like: Any) -> Any:
        with like.device:
            return cupy.asarray(array)

    def numpy_dtype(self, array: Any) -> np.dtype[Any]:
        """CuPy's dtypes are NumPy's."""
        dtype: np.dtype[Any] = array.dtype
        return dtype

    def dtype_of(self, name: str, like: Any) -> np.dtype[Any]:
        return np.dtype(name)

    def addresses(self, array: Any) -> values.Array:
        return addresses(array.data.ptr, array.shape, array.strides, array.itemsize)

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        with data.device:
            return super().gather(data, indices, plan, fill_value, out)

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        with data.device:
            return super().scatter(data, indices, updates, plan, out)

    def check_indices(self, plan: Plan, data: Any, indices: Any) -> None:
        if indices.dtype.kind not in "iu":
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
        self.check_devices(plan, data, indices=indices)

    def read(self, data: Any, indices: Any, fill: Any | None, plan: Plan) -> Any:
        return super().read(_movable(data), indices, _movable(fill), plan).view(data.dtype)

    def write(self, data: Any, indices: Any, updates: Any, plan: Plan) -> Any:
        # CuPy promotes bfloat16 to float32 in some operations.
        return super().write(data, indices, updates, plan).astype(data.dtype, copy=False)

    def write_table(self, table: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        """With one more row if updates may be dropped, since CuPy wraps every index around."""
        if plan.mode != "drop":
            return super().write_table(table, rows, updates, plan)
        moved = _movable(table)
        longer = cupy.concatenate([moved, cupy.zeros((1, *table.shape[1:]), moved.dtype)]).view(table.dtype)
        return super().write_table(longer, rows, updates, plan)[:-1]

    def bounds(self, indices: Any, plan: Plan) -> list[tuple[int, int]]:
        """By one synchronisation."""
        if plan.kind != ND:
            return [tuple(cupy.stack([indices.min(), indices.max()]).get().tolist())]
        columns = indices.reshape(-1, plan.depth)
        return list(zip(*cupy.stack([columns.min(axis=0), columns.max(axis=0)]).get().tolist(), strict=True))

    # Primitives

    def take_axis(self, data: Any, index: Any, axis: int) -> Any:
        return cupy.take(data, index, axis=axis)

    def take_elements(self, data: Any, index: Any, axis: int) -> Any:
        """Slice data first: ``take_along_axis`` requires equal sizes along the other axes."""
        same = tuple(slice(None) if d == axis else slice(n) for d, n in enumerate(index.shape))
        return cupy.take_along_axis(data[same], index, axis)

    def take(self, table: Any, rows: Any) -> Any:
        return cupy.take(table, rows, axis=0)

    def put(self, table: Any, rows: Any, updates: Any) -> Any:
        return _run(_assigning(), table, rows, updates, cupy.zeros(1, cupy.int32), 0)

    def assign(self, table: Any, rows: Any, updates: Any) -> Any:
        """The number of the last update of each row, then that update."""
        n = rows.shape[0]
        numbers = cupy.arange(n, dtype=cupy.int32 if n < 2**31 else cupy.int64)
        last = self.reduce(cupy.zeros(table.shape[0], numbers.dtype), rows, numbers, "max")
        return _run(_assigning(), table, rows, updates, last, 1)

    def emptied(self, table: Any, which: Any, number: Any) -> Any:
        start = cupy.asarray(np.asarray(number, table.dtype))
        return cupy.where(which, _movable(start), _movable(table)).view(table.dtype)

    def reduce(self, table: Any, rows: Any, updates: Any, reduction: str) -> Any:
        dtype = table.dtype
        if determinism.enabled and dtype.kind not in "biu" and reduction in ("add", "mul"):
            return _combine_in_order(table, rows, updates, reduction)
        if dtype.itemsize == 1:  # no atomic operations on bytes: reduce in int32, whose low byte is the result
            wide = self.reduce(table.astype(cupy.int32), rows, updates.astype(cupy.int32), reduction)
            return wide.astype(dtype)
        if reduction == "add" and dtype.kind == "c":
            parts = [array.reshape(*array.shape, 1).view(f"f{dtype.itemsize // 2}") for array in (table, updates)]
            return self.reduce(parts[0], rows, parts[1], reduction).view(dtype)[..., 0]
        if reduction == "add" and dtype.name in _ADDED:
            result = table.copy(order="C")
            cupy.add.at(result, rows, updates)
            return result
        if dtype.itemsize == 16:  # no atomic operations on 16 bytes either
            return sorting.combine(xp, table, rows, updates, cupy.multiply, include_self=True)
        return _run(_combining(reduction, dtype.itemsize), table, rows, updates)

    def as_numpy(self, array: Any) -> values.Array | None:
        result: values.Array = cupy.asnumpy(array)
        return result

    def make_complex(self, real: Any, imag: Any) -> Any:
        parts = cupy.stack([real, imag], axis=-1)
        return parts.view(cupy.result_type(real.dtype, cupy.complex64))[..., 0]


def _movable(array: Any) -> Any:
    """View bfloat16 as int16 for movement, since some functions of CuPy convert bfloat16 to float32."""
    return array.view(cupy.int16) if array is not None and array.dtype.name == "bfloat16" else array


def _run(kernel: Any, table: Any, rows: Any, updates: Any, *options: Any) -> Any:
    result = table.copy(order="C")
    width = math.prod(table.shape[1:])
    if width:
        kernel(updates.reshape(-1), rows, *options, width, table.shape[0], result.reshape(-1))
    return result


@cache
def _assigning() -> Any:
    """A kernel that writes the last update of each row, or every one if a row has one at most."""
    return cupy.ElementwiseKernel(
        "T update, raw int64 rows, raw L last, int32 chooses, int64 width, int64 n_rows",
        "raw T table",
        """
        const long long row = rows[i / width];
        if (row < n_rows && !(chooses && last[row] != i / width)) table[row * width + i % width] = update;
        """,
        "gatherscatter_assign",
    )


_STEPS = {
    "add": "a + b",
    "mul": "a * b",
    # NaN propagates; if equal, the destination is kept.
    "max": "(a >= b || a != a) ? a : b",
    "min": "(a <= b || a != a) ? a : b",
}


@cache
def _combining(reduction: str, itemsize: int) -> Any:
    """A kernel that combines by atomic compare-and-swap, on integers of the item's size."""
    word = {2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}[itemsize]
    return cupy.ElementwiseKernel(
        "T update, raw int64 rows, int64 width, int64 n_rows",
        "raw T table",
        f"""
        const long long row = rows[i / width];
        if (row < n_rows) {{
            {word}* address = reinterpret_cast<{word}*>(&table[row * width + i % width]);
            {word} found = *address, assumed;
            do {{
                assumed = found;
                const T a = *reinterpret_cast<const T*>(&assumed);
                const T b = update;
                const T c = {_STEPS[reduction]};
                found = atomicCAS(address, assumed, *reinterpret_cast<const {word}*>(&c));
            }} while (found != assumed);
        }}
        """,
        f"gatherscatter_{reduction}",
    )


def _combine_in_order(table: Any, rows: Any, updates: Any, reduction: str) -> Any:
    """Combine without atomic operations: one thread for each element applies its updates one after the other."""
    order = cupy.argsort(rows)  # stable
    ends = cupy.searchsorted(rows[order], cupy.arange(table.shape[0] + 1, dtype=rows.dtype))
    width = math.prod(table.shape[1:])
    result = cupy.empty(table.shape, table.dtype)
    if result.size:
        _in_order(reduction)(
            cupy.ascontiguousarray(table).reshape(-1), updates.reshape(-1), order, ends, width, result.reshape(-1)
        )
    return result


@cache
def _in_order(reduction: str) -> Any:
    return cupy.ElementwiseKernel(
        "T start, raw T updates, raw int64 order, raw int64 ends, int64 width",
        "T result",
        f"""
        const long long row = i / width;
        T a = start;
        for (long long j = ends[row]; j < ends[row + 1]; ++j) {{
            const T b = updates[order[j] * width + i % width];
            a = {_STEPS[reduction]};
        }}
        result = a;
        """,
        f"gatherscatter_{reduction}_in_order",
        options=("--fmad=false",),  # a fused product would have other bits
    )


BACKEND = CuPyBackend()
