"""Segments of NumPy arrays: the kernels reduce elements to accumulators, and these become the results.

One pass over the data makes all states of a call whose numbers are of one kind (src/segments/accumulators.pxd).
Log-sum-exp needs another one, with the maxima, and so do variances, with the means, where the first element of a
segment is far from the others.

`Segments.reduce` (by_scatters.py) has the steps of a reduction. `KernelSegments` has those that the kernels take:
`words`, `scatter`, `is_scatter`, `needs_fill` and `divided`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import memory, threads
from gatherscatter._kernels import segments as _kernel
from gatherscatter._kernels.common import Accumulator, TypeCode
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.reductions import COMPLEX, DTYPES, REDUCTIONS, kind_of
from gatherscatter.segments import rules
from gatherscatter.segments.aggregations import AGGREGATIONS, STATES, Aggregation, Words, begin
from gatherscatter.segments.arguments import are_columns, check_status, kernel_ids
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.segments.ids import Ids, checked, settled, too_large
from gatherscatter.values import Array

BY_ONE_SCATTER = ("add", "mean", "max", "min")
_FEW = 1 << 12  # elements, and results


# Words that are two of the kernels'.
_SLOTS = {("complex128", "total"): 2, ("complex128", "product"): 2}


def _begin(state: str, wide: str) -> Array:
    """The words that a segment begins with, as float64, of numbers of a wide dtype."""
    words = []
    for kind in STATES[state].words:
        dtype = "i8" if kind in ("count", "place", "hits") else "f8" if kind == "number" else wide
        words.append(np.array([begin(kind, wide)], dtype).view("f8"))
    return np.concatenate(words)


class Pass(NamedTuple):
    """A pass over the data.

    Attributes
    ----------
    of : str
        "data", "parts" (the real and imaginary ones, as columns) or "ids" (alone).
    as_floats : bool
        Whether all numbers are reduced as float64.
    rounds : bool
        Whether sums and products are rounded to float32 after each step.
    """

    of: str
    as_floats: bool = False
    rounds: bool = False


def few_reduced(data: Any, ids: Ids, name: str) -> Any | None:
    """A reduction of few floats without options, by one scatter in place; None: it takes more than that."""
    layout, backend = ids.layout, ids.backend
    if ids.pointers is not None or math.prod(layout.data) > _FEW or math.prod(layout.shape) > _FEW:
        return None
    arrays = (data, ids.array) if backend is NUMPY else backend.readable(layout.operator, data=data, indices=ids.array)
    if arrays is None or arrays[0].dtype not in (np.float64, np.float32):
        return None
    if rules.block_length(layout) < math.prod(layout.numbered):
        return None
    values, indices = arrays
    options = layout.axis, layout.batch_dims, name, "drop" if ids.has_rest else ids.mode, False
    with np.errstate(all="ignore"):
        precise = values if name in ("max", "min") else values.astype(np.float64, copy=False)
        table = np.full(layout.shape, 0.0 if name == "add" else math.nan, precise.dtype)
        found = NUMPY.try_scatter(layout.operator, table, indices, precise, options, table)
        if found is None:
            return None
        found = found.astype(values.dtype, copy=False)
    return found if backend is NUMPY else backend.returned(found, data, values.dtype.name)


def borrowed_segments(data: Any, ids: Ids, skipna: bool) -> Segments | None:
    """The segments of an array that the kernels can read; None: they cannot."""
    backend = ids.backend
    given = ids.array if ids.pointers is None else ids.pointers
    if backend.dtype_name(data) not in DTYPES:
        return None
    arrays = backend.readable(ids.layout.operator, data=data, indices=given)
    if arrays is None:
        return None
    if backend is NUMPY:
        return KernelSegments(data, ids, skipna)
    counts = None if ids.counts is None else backend.as_numpy(ids.counts)
    borrowed = ids._replace(backend=NUMPY, counts=counts)
    borrowed = borrowed._replace(array=arrays[1]) if ids.pointers is None else borrowed._replace(pointers=arrays[1])
    return BorrowedSegments(data, ids, KernelSegments(arrays[0], borrowed, skipna))


def _has(array: Array, number: Any) -> bool:
    """Whether an element has the bits of a number, or of complex ones a part of it: 0.0 are not -0.0."""
    bits = f"u{array.itemsize // (2 if array.dtype.kind == 'c' else 1)}"
    return bool(np.any(array.view(bits) == np.array([number], array.dtype).view(bits)[0]))


class BorrowedSegments(Segments):
    """The segments of an array of another library, whose memory the kernels read."""

    def __init__(self, data: Any, ids: Ids, by_kernels: KernelSegments, skipna: bool = False) -> None:
        super().__init__(data, ids, skipna)
        self.by_kernels = by_kernels

    def expect(self, names: Sequence[str], dtypes: Sequence[str]) -> None:
        self.by_kernels.expect(names, dtypes)
        self.by_kernels.correction = self.correction

    def reduce(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        if fill is not None:
            element = self.element(dtype, fill)
            (fill,) = self.backend.readable(self.op, data=element) or (None,)
        with np.errstate(all="ignore"):
            return self.returned(self.by_kernels.reduce(name, dtype, fill, min_count), dtype)

    def softmax(self, dtype: str, is_log: bool) -> Any:
        return self.returned(self.by_kernels.softmax(dtype, is_log), dtype)

    def returned(self, result: Array, dtype: str) -> Any:
        if result.dtype.kind in "iu":  # JAX's may have 32 bits
            result = result.astype(dtype, copy=False)
        return self.backend.returned(np.ascontiguousarray(result), self.data, dtype)


class KernelSegments(Segments):
    """The segments of a NumPy array of numbers or bools."""

    def __init__(self, data: Any, ids: Ids, skipna: bool) -> None:
        if data.dtype == np.bool:  # whose bytes may be others than 0 and 1, as those of a view
            data = data.view("u1") != 0
        super().__init__(data, ids, False)
        self.has_pointers = ids.pointers is not None
        self.skips = skipna and kind_of(self.name) in "fc"
        self._expected: dict[Pass, list[str]] = {}
        self._block = rules.block_length(self.layout)
        self._in_blocks = self._block < math.prod(self.layout.numbered)
        self._are_scatters = self._is_rough = False
        self._turns = are_columns(self.layout)
        self._words: dict[tuple[Pass, str], Words] = {}
        self._delivered: set[str] = set()

    def expect(self, names: Sequence[str], dtypes: Sequence[str]) -> None:
        for name, dtype in zip(names, dtypes, strict=True):
            state = AGGREGATIONS[name].state
            if STATES[state].code is not None and state != "powers":  # which take two passes
                self._expected.setdefault(self.pass_of(state, dtype), []).append(state)
        passes = self.skips or self.has_pointers or self._turns
        self._are_scatters = not passes and all(map(self._may_scatter, names, dtypes))

    def _may_scatter(self, name: str, dtype: str) -> bool:
        """Whether a scatter, which reduces in order, gives the same bits, for which it takes less time than a pass."""
        if name in ("add", "mul"):
            is_wide = kind_of(dtype) in "fc" and self.wide(dtype) != dtype  # rows of wide sums take a scatter longer
            in_order = not self._in_blocks and not (is_wide and math.prod(self.layout.inner) > 1)
            return in_order or kind_of(dtype) in "biu"
        return name in ("max", "min", "count")

    def pass_of(self, state: str, dtype: str) -> Pass:
        if STATES[state].of_ids and not self.skips:
            return Pass("ids")
        if state == "moments" and self.name in COMPLEX:
            return Pass("parts")
        is_sum = state in ("total", "mean", "product")
        as_floats = kind_of(self.name) in "biu" and (
            state in ("moments", "powers") or (is_sum and kind_of(dtype) == "f")
        )
        as_floats = as_floats or (state == "powers" and dtype == "float64")
        return Pass("data", as_floats, is_sum and self.name in ("float16", "bfloat16") and dtype != "float64")

    def words(self, state: str, dtype: str) -> Words:
        if STATES[state].code is None:
            return Segments(self.data, self.given, self.skips).words(state, dtype)
        return self._words_of(self.pass_of(state, dtype), state)

    def _words_of(self, key: Pass, state: str) -> Words:
        if (key, state) not in self._words:
            if state == "powers":
                tables = {state: self._powers(key)}
            else:
                tables = self._reduced(key, dict.fromkeys([state, *self._expected.get(key, ())]))
            for one, table in tables.items():
                self._words[key, one] = self._whole(key, one, table)
        return self._words[key, state]

    def _reduced(self, key: Pass, states: Collection[str]) -> dict[str, Array]:
        """The words of states that one pass makes: each an array (words, units, segments, columns) of float64."""
        own = [one for one in states if STATES[one].within[0] not in states]
        begins = [_begin(one, self._wide(key)) for one in own]
        table = self._table(key, np.concatenate(begins))
        codes = tuple((int(STATES[one].code or 0), len(words)) for one, words in zip(own, begins, strict=True))
        self._run(key, codes, table)
        found = dict(
            zip(own, np.split(self._split(key, table), np.cumsum(list(map(len, begins)))[:-1], axis=0), strict=True)
        )
        for one in states:
            if one not in found:
                wider, at = STATES[one].within
                found[one] = found[wider][at:]
        return found

    def _whole(self, key: Pass, state: str, table: Array) -> Words:
        """The words of a state, of a result's shape, or broadcasting to it. table: see `_reduced`."""
        layout, words, i = self.layout, [], 0
        if state == "moments":
            table = self._settled(key, table)
        lead = (*layout.data[: layout.batch_dims], *[1] * (layout.axis - layout.batch_dims))
        shape = (*lead, layout.n, *[1] * len(layout.inner)) if key.of == "ids" else layout.shape
        for kind in STATES[state].words:
            n, number = _SLOTS.get((self._wide(key), kind), 1), table[i]
            if n == 2:
                number = np.empty(number.shape, "c16")
                number.real, number.imag = table[i], table[i + 1]
            elif kind != "number":
                number = number.view("i8" if kind in ("count", "place", "hits") else self._wide(key))
            if key.of == "parts":  # the squares of both are one
                pairs = number.reshape(*layout.shape, 2)
                number = pairs[..., 0] if kind == "count" else pairs[..., 0] + pairs[..., 1] * (1 if i == 3 else 1j)
            words.append(number.reshape(shape))
            i += n
        if state in ("first", "last"):
            places = words[0] if self.skips else words[0].reshape(*layout.data[: layout.batch_dims], layout.n)
            return self.at_places(places)
        return (*words, None) if state == "mean" else tuple(words)

    def _wide(self, key: Pass) -> str:
        """The dtype of a pass's numbers."""
        kind = kind_of(self.name)
        if kind == "f" or key.as_floats or key.of == "parts":
            return "float64"
        return {"c": "complex128", "i": "int64"}.get(kind, "uint64")

    def _table(self, key: Pass, words: Array) -> Array:
        """A table for a pass: (units, segments, words, columns). words: those that each segment begins with."""
        units, columns = math.prod(self.layout.outer), math.prod(self.layout.inner)
        columns *= 2 if key.of == "parts" else 1
        if key.of == "ids":
            units, columns = len(self.kernel_ids), 1
        elif self._turns:
            units, columns = 1, units * columns
        shape = (units, self.layout.n, len(words), columns)
        table: Array = memory.empty(shape, np.dtype("f8"))
        for i, word in enumerate(words.view("i8")):  # bits: some are of integers. One by one is faster than all at once
            table.view("i8")[:, :, i] = word
        return table

    def _split(self, key: Pass, table: Array) -> Array:
        """The words of a table: (words, units, segments, columns)."""
        if self._turns and key.of != "ids":
            units = math.prod(self.layout.outer)
            return table.reshape(*table.shape[1:3], units, table.shape[3] // units).transpose(1, 2, 0, 3)
        return np.moveaxis(table, 2, 0)

    def _run(self, key: Pass, codes: tuple[tuple[int, int], ...], table: Array) -> None:
        """Run a pass. codes: of each accumulator, and how many words it has."""
        values = self.values(key.of)
        status, is_rough, is_outside = _kernel.reduce(
            values, self.kernel_ids, self.has_pointers, table, codes, int(TypeCode[values.dtype.name.upper()]),
            key.as_floats, self.skips, key.rounds, key.of != "ids", self._block, threads.limit,
        )  # fmt: skip
        self._check(status, is_outside)
        self._is_rough |= is_rough

    def _check(self, status: int, is_outside: bool) -> None:
        if is_outside and self.mode == "unknown" and self.given.raises:
            raise too_large(self.given)
        check_status(self.op, status)

    @cached_property
    def kernel_ids(self) -> Array:
        return kernel_ids(self.given._replace(array=self._ids))

    def values(self, of: str) -> Any:
        """The array of a pass: (units, positions, columns), or (1, positions, units * columns)."""
        layout = self.layout
        if of == "ids":
            return np.empty((len(self.kernel_ids), math.prod(layout.numbered), 1), "i1")  # not read
        values: Array = np.require(self.data, requirements=["C", "A"])
        values = values.reshape(math.prod(layout.outer), math.prod(layout.numbered), math.prod(layout.inner))
        if of == "parts":
            if self.skips:
                values = np.where(np.isnan(values), np.asarray(complex(math.nan, math.nan), values.dtype), values)
            values = values.view(values.real.dtype)
        if self._turns:
            units, positions, columns = values.shape
            values = np.ascontiguousarray(values.swapaxes(0, 1)).reshape(1, positions, units * columns)
        return values

    def _count(self) -> Any:
        if self.known_counts is not None and not self.skips:
            return super()._count()
        for key, states in self._expected.items():
            counted = [state for state in states if "count" in STATES[state].words]
            if key.of != "ids" and counted and not self._are_scatters:
                return self._words_of(key, counted[0])[0]
        return self.words("count", "")[0]

    # The reductions

    def reduce(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        if kind_of(dtype) == "c" and self.name not in COMPLEX:
            data = self.data.astype(self.wide(dtype))
            return KernelSegments(data, self.given, self.skips).reduce(name, dtype, fill, min_count)
        result = super().reduce(name, dtype, fill, min_count)
        is_shared = name in self._delivered  # of words, or their table
        self._delivered.add(name)
        return result.copy() if is_shared else np.ascontiguousarray(result)

    def is_scatter(self, what: Aggregation, dtype: str) -> bool:
        return self._are_scatters and super().is_scatter(what, dtype)

    def scatter(self, values: Any, start: Any, reduction: str, wide: str = "", include_self: bool = False) -> Any:
        if self.mode == "unknown":
            self.mode = checked(self.given).mode
        if self.mode == "drop":  # scatters take longer to drop updates
            self._ids, self.mode, self.has_rest = settled(self.ids, self.layout.n), "promise_in_bounds", True
        identity = REDUCTIONS[reduction].identity(values.dtype.name)
        if identity is None or include_self:
            return super().scatter(values, start, reduction, wide, include_self)
        result = super().scatter(values, identity, reduction, wide, True)
        is_identity = not hasattr(start, "shape") and start == identity
        if is_identity and (identity or kind_of(result.dtype.name) in "biu"):  # a sum of none is -0.0
            return result
        if not _has(result, identity):
            return result
        return np.where(self.counts == 0, self.full((), start, result), result)

    def needs_fill(self, name: str, start: Any, words: Words) -> bool:
        state = AGGREGATIONS[name].state
        kinds = STATES[state].words
        if not super().needs_fill(name, start, words):
            return False
        if kinds[0] in ("count", "place"):
            return bool(np.any(words[0] == begin(kinds[0], "")))
        if kinds[0] == "hits":
            return True
        return _has(words[-1], begin(kinds[-1], words[-1].dtype.name))

    def divided(self, totals: Any, counts: Any) -> Array:
        parts = totals.reshape(*totals.shape, 1).view(totals.real.dtype)  # complex numbers are divided part by part
        means: Array = (parts / counts.astype(parts.dtype)[..., None]).view(totals.dtype)[..., 0]
        return means

    def _settled(self, key: Pass, table: Array) -> Array:
        """Moments of which no digit is lost, by another pass where the first element is far from the others."""
        n = np.maximum(table[0].view("i8"), 1).astype("f8")
        less = table[2] / n * table[2]
        less -= (table[3] - less) * _kernel.ROUGH_MOMENTS
        if self._is_rough or np.any((less > 0) | np.isinf(table[3])):
            squares = self._table(key, np.zeros(3))
            words = self._split(key, squares)  # a view
            words[0] = table[1] + table[2] / n
            self._run(key, ((int(Accumulator.SQUARES), 3),), squares)
            settled: Array = np.concatenate([table[:1], words])
            return settled
        return table

    def _powers(self, key: Pass) -> Array:
        table = self._table(key, _begin("powers", "float64"))
        for code in (Accumulator.MAXIMUM, Accumulator.POWERS):
            self._run(key, ((int(code), 2),), table)
        return self._split(key, table)

    def softmax(self, dtype: str, is_log: bool) -> Array:
        single = {self.name, dtype} <= {"float32", "float16", "bfloat16"}
        values = self.values("data").astype("f4" if single else "f8", copy=False)
        table = self._table(Pass("data"), _begin("powers", "float64"))
        out = memory.empty(values.shape, values.dtype)
        code, ids = int(TypeCode.FLOAT32 if single else TypeCode.FLOAT64), (self.kernel_ids, self.has_pointers)
        self._check(*_kernel.softmax(values, *ids, table, out, code, is_log, self._block, threads.limit))
        out = self.cast(out, dtype)
        if self._turns:
            units, columns = math.prod(self.layout.outer), math.prod(self.layout.inner)
            out = out.reshape(out.shape[1], units, columns).swapaxes(0, 1)
        result: Array = out.reshape(self.layout.data)
        return result
