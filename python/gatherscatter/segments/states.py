"""Segments of NumPy arrays: the kernels reduce elements to accumulators, and these become the results.

One pass over the data makes all accumulators of a call whose numbers are of one kind
(src/segments/accumulators.pxd). Log-sum-exp needs another one, with the maxima, and so do variances, with the means,
where the first element of a segment is far from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import errors, memory, threads
from gatherscatter._kernels import segments as _kernel
from gatherscatter._kernels.codes import Accumulator, Status, TypeCode
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.errors import segments as messages
from gatherscatter.operators import Operator
from gatherscatter.reductions import COMPLEX, DTYPES, REDUCTIONS, kind_of
from gatherscatter.segments import rules
from gatherscatter.segments.ids import Ids, settled
from gatherscatter.segments.reduce import Segments
from gatherscatter.values import Array

# The accumulator of each reduction.
_ACCUMULATORS = {
    "add": Accumulator.TOTAL,
    "mean": Accumulator.COUNTED_TOTAL,
    "var": Accumulator.MOMENTS,
    "std": Accumulator.MOMENTS,
    "mul": Accumulator.PRODUCT,
    "any": Accumulator.TRUES,
    "all": Accumulator.TRUES,
    "count": Accumulator.COUNT,
    "first": Accumulator.FIRST,
    "last": Accumulator.LAST,
    "max": Accumulator.MAXIMUM,
    "min": Accumulator.MINIMUM,
    "argmax": Accumulator.GREATEST,
    "argmin": Accumulator.LEAST,
}
# Those with a count as their first word.
_WITH_COUNT = Accumulator.COUNT, Accumulator.COUNTED_TOTAL, Accumulator.PRODUCT, Accumulator.MOMENTS
_POWERS = np.array([-math.inf, 0.0])  # the maximum comes first
# Units that the kernels take as columns: so many, each of at most so many numbers.
_FEWEST_UNITS, _MOST_NUMBERS = 64, 64


def _code(name: str) -> int:
    return int(_ACCUMULATORS[name])


def _words(name: str, wide: str) -> Array:
    """The words that a reduction's accumulator begins with, as float64, of numbers of a wide dtype."""
    count = np.zeros(1, "i8")
    if name in ("count", "any", "all"):
        return count.view("f8")
    if name in ("first", "last"):
        return (count - 1).view("f8")
    if name in ("var", "std"):
        return np.zeros(4)
    reduction = {"mean": "add", "argmax": "max", "argmin": "min"}.get(name, name)
    identity = REDUCTIONS[reduction].identity(wide)
    number = np.array([1 if identity is None else identity], wide).view("f8")  # None: a product of complex numbers
    if name in ("mean", "mul"):
        return np.concatenate([count.view("f8"), number])
    return np.concatenate([number, (count - 1).view("f8")]) if name in ("argmax", "argmin") else number


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


def borrowed_segments(data: Any, ids: Ids, skipna: bool) -> Segments | None:
    """The segments of an array that the kernels can read; None: they cannot."""
    backend = ids.backend
    given = ids.array if ids.pointers is None else ids.pointers
    arrays = backend.borrowed(ids.layout, data, given) if backend.dtype_name(data) in DTYPES else None
    if arrays is None:
        return None
    if backend is NUMPY:
        return KernelSegments(data, ids, skipna)
    counts = None if ids.counts is None else backend.as_numpy(ids.counts)
    borrowed = ids._replace(backend=NUMPY, counts=counts)
    borrowed = borrowed._replace(array=arrays[1]) if ids.pointers is None else borrowed._replace(pointers=arrays[1])
    return BorrowedSegments(data, ids, KernelSegments(arrays[0], borrowed, skipna))


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
            fill = self.backend.borrowed(self.layout, element, element)[0]  # type: ignore[index]
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
        numbers = math.prod(self.layout.numbered) * math.prod(self.layout.inner)
        few = numbers <= _MOST_NUMBERS and math.prod(self.layout.outer) >= _FEWEST_UNITS
        self._turns = few and self.layout.batch_dims == 0  # units are taken as columns
        self._words: dict[tuple[Pass, str], Array] = {}
        self._apart: Array | None = None

    def expect(self, names: Sequence[str], dtypes: Sequence[str]) -> None:
        for name, dtype in zip(names, dtypes, strict=True):
            if name in _ACCUMULATORS:
                self._expected.setdefault(self.pass_of(name, dtype), []).append(name)
        passes = self.skips or self.has_pointers or self._turns
        self._are_scatters = not passes and all(map(self._may_scatter, names, dtypes))

    def _may_scatter(self, name: str, dtype: str) -> bool:
        """Whether scatters, which reduce in order, give the same bits, for which they take less time than a pass."""
        if name in ("add", "mul", "mean"):
            return not self._in_blocks or kind_of(dtype) in "biu"
        return name in ("max", "min", "count")

    def pass_of(self, name: str, dtype: str = "") -> Pass:
        if name in ("count", "first", "last") and not self.skips:
            return Pass("ids")
        if name in ("var", "std") and self.name in COMPLEX:
            return Pass("parts")
        is_sum = name in ("add", "mul", "mean")
        as_floats = kind_of(self.name) in "biu" and (
            name in ("var", "std", "logsumexp") or (is_sum and kind_of(dtype) == "f")
        )
        as_floats = as_floats or (name == "logsumexp" and dtype == "float64")
        return Pass("data", as_floats, is_sum and self.name in ("float16", "bfloat16") and dtype != "float64")

    def words(self, name: str, dtype: str = "") -> Array:
        """The words of a reduction's accumulator: (words, units, segments, columns), as float64."""
        return self._words_of(self.pass_of(name, dtype), name)

    def _words_of(self, key: Pass, name: str) -> Array:
        names = [name, *self._expected.get(key, ())]
        place = self._place(name, names)
        if (key, place) not in self._words:
            places = {self._place(one, names): None for one in names}
            begins = [_words(one, self._wide(key)) for one in places]
            table = self._table(key, np.concatenate(begins))
            self._run(key, tuple(zip(map(_code, places), map(len, begins), strict=True)), table)
            parts = np.split(self._split(key, table), np.cumsum([len(words) for words in begins])[:-1])
            self._words.update(zip(((key, one) for one in places), parts, strict=True))
        return self._words[key, place]

    @staticmethod
    def _place(name: str, names: Sequence[str]) -> str:
        """The reduction of these whose accumulator has that of this one."""
        if name in ("max", "min"):
            return f"arg{name}" if f"arg{name}" in names else name
        if name == "add" and "mean" in names:
            return "mean"
        return {"std": "var", "all": "any"}.get(name, name)

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
        status, is_rough = _kernel.reduce(
            values, self.kernel_ids, self.has_pointers, table, codes, int(TypeCode[values.dtype.name.upper()]),
            key.as_floats, self.skips, key.rounds, key.of != "ids", self._block, threads.limit,
        )  # fmt: skip
        _check(self.op, status)
        self._is_rough |= is_rough

    @cached_property
    def kernel_ids(self) -> Array:
        """The ids as the kernels take them: (batches, positions). Or pointers: (batches, segments + 1)."""
        layout, pointers = self.layout, self.given.pointers
        n_batches = math.prod(layout.data[: layout.batch_dims])
        if pointers is not None:
            return np.require(pointers.reshape(n_batches, layout.n + 1), np.int64, ["C", "A"])
        ids = self.ids.reshape(n_batches, math.prod(layout.numbered))
        return np.require(ids, ids.dtype if ids.dtype in (np.int32, np.int64) else np.int64, ["C", "A"])

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

    # Words as arrays of a result's shape

    def number(self, name: str, dtype: str) -> Array:
        """The sum, product or extreme of each segment."""
        wide = self._wide(self.pass_of(name, dtype))
        words = self.words(name, dtype)
        words = words[len(words) - (2 if wide == "complex128" else 1) :] if name in ("add", "mul", "mean") else words
        if wide == "complex128":
            number = np.empty(words.shape[1:], wide)
            number.real, number.imag = words[0], words[1]
        else:
            number = words[0].view(wide)
        return number.reshape(self.layout.shape)

    def count(self, name: str) -> Any:
        """The accumulator of a reduction, or the last word of it, that is a count or a position."""
        words, layout = self.words(name)[-1].view("i8"), self.layout
        if self.pass_of(name).of == "ids":
            lead = (*layout.data[: layout.batch_dims], *[1] * (layout.axis - layout.batch_dims))
            return words.reshape(*lead, layout.n, *[1] * len(layout.inner))
        return words.reshape(layout.shape)

    def _count(self) -> Any:
        if self.known_counts is not None and not self.skips:
            return super()._count()
        for key, names in self._expected.items():
            counted = [name for name in names if _ACCUMULATORS[name] in _WITH_COUNT]
            if key.of == "data" and counted and not self._are_scatters:
                return self._words_of(key, counted[0])[0].view("i8").reshape(self.layout.shape)
        return self.count("count")

    # The reductions

    def reduce(self, name: str, dtype: str, fill: Any, min_count: int) -> Any:
        if kind_of(dtype) == "c" and self.name not in COMPLEX:
            data = self.data.astype(self.wide(dtype))
            return KernelSegments(data, self.given, self.skips).reduce(name, dtype, fill, min_count)
        return super().reduce(name, dtype, fill, min_count)

    def is_scatter(self, name: str, dtype: str) -> bool:
        """Whether a scatter does it, which is faster than an accumulator of a pass, unless others need the pass."""
        return self._are_scatters and (name != "mean" or self.name == dtype)

    def scatter(self, values: Any, start: Any, reduction: str, wide: str = "", include_self: bool = False) -> Any:
        if self.mode == "drop":  # scatters take longer to drop updates
            self._ids, self.mode, self.has_rest = settled(self.ids, self.layout.n), "promise_in_bounds", True
        identity = REDUCTIONS[reduction].identity(values.dtype.name)
        if identity is None or reduction == "mean":
            return super().scatter(values, start, reduction, wide, include_self)
        return self.filled(super().scatter(values, identity, reduction, wide, True), start, identity)

    def filled(self, result: Array, start: Any, empty: Any) -> Array:
        """A result, with what an empty segment has. empty: what it has now; or where that may be, as bools."""
        if not hasattr(empty, "shape"):
            is_start = not hasattr(start, "shape") and start == empty
            if is_start and (empty or kind_of(result.dtype.name) in "biu"):  # an empty sum is -0.0
                return result
            empty = result == empty
        return result if not empty.any() else np.where(self.counts == 0, self.full((), start, result), result)

    def _add(self, name: str, dtype: str, start: Any) -> Any:
        if self.is_scatter(name, dtype):
            return super()._add(name, dtype, start)
        result = self.number(name, dtype)
        empty = rules.RULES[name].empty
        if name == "add" and result.dtype.kind in "fc":
            empty = self._are_identities(result)
        return self.filled(self.cast(result, dtype), start, empty)

    _mul = _add

    @staticmethod
    def _are_identities(sums: Array) -> Array:
        """Whether sums are -0.0, as those of no elements are."""
        parts = sums.view("f8").reshape(*sums.shape, sums.itemsize // 8)
        return np.all((parts == 0) & np.signbit(parts), axis=-1)

    def _mean(self, name: str, dtype: str, start: Any) -> Any:
        if self.is_scatter(name, dtype):
            return super()._mean(name, dtype, start)
        sums = self.cast(self.number("mean", dtype), self.wide(dtype))
        parts = sums.reshape(*sums.shape, 1).view(sums.real.dtype)  # complex numbers are divided part by part
        means = parts / np.maximum(self.counts, 1).astype(parts.dtype)[..., None]
        return self.ended(means.view(sums.dtype)[..., 0], dtype, start)

    def variance(self, dtype: str) -> Array:
        if self._apart is None:
            self._apart = self._squares()
        degrees = self.counts.astype("f8") - self.correction
        return np.where(degrees > 0, self._apart / degrees, math.nan)

    def _squares(self) -> Array:
        """The sum of each segment's squared distances from its mean."""
        squares: Array
        counts, first, apart, squares = self.words("var")
        counts = np.maximum(counts.view("i8"), 1)
        less = apart / counts
        less *= apart
        squares -= less
        less /= _kernel.ROUGH_MOMENTS
        if self._is_rough or np.any(less > squares):
            key = self.pass_of("var")
            table = self._table(key, np.zeros(3))
            words = self._split(key, table)  # a view
            words[0] = first + apart / counts
            self._run(key, ((int(Accumulator.SQUARES), 3),), table)
            _, apart, squares = words
            squares -= apart * (apart / counts)  # the mean was rounded
        np.maximum(squares, 0, out=squares)
        if self.name in COMPLEX:
            squares = squares.reshape(*self.layout.shape, 2)
            squares = squares[..., 0] + squares[..., 1]
        return squares.reshape(self.layout.shape)

    def _any(self, name: str, dtype: str, start: Any) -> Any:
        trues = self.count(name)
        return self.filled(trues > 0 if name == "any" else trues == self.counts, start, rules.RULES[name].empty)

    _all = _any

    def _max(self, name: str, dtype: str, start: Any) -> Any:
        if self.is_scatter(name, dtype):
            return super()._max(name, dtype, start)
        result = self.number(name, dtype)
        is_empty = result == REDUCTIONS[name].identity(result.dtype.name)
        return self.filled(result.astype(self.data.dtype), start, is_empty)

    _min = _max

    def arg(self, name: str, min_count: int) -> Any:
        found = self.count(f"arg{name}")
        return np.where(self.counts < min_count, -1, found) if min_count > 1 else found.copy()

    def places(self, name: str) -> Any:
        places = self.count(name)
        return places if self.skips else places.reshape(*self.layout.data[: self.layout.batch_dims], self.layout.n)

    def _logsumexp(self, name: str, dtype: str, start: Any) -> Any:
        key = self.pass_of(name, dtype)
        table = self._table(key, _POWERS)
        for code in (Accumulator.MAXIMUM, Accumulator.POWERS):
            self._run(key, ((int(code), 2),), table)
        greatest, sums = self._split(key, table)
        result = np.where(sums == 0, -math.inf, greatest + np.log(sums))
        return self.ended(result.reshape(self.layout.shape), dtype, start)

    def softmax(self, dtype: str, is_log: bool) -> Array:
        values = self.values("data")
        table = self._table(Pass("data"), _POWERS)
        out = memory.empty(values.shape, self.backend.dtype_of(dtype, self.data))
        codes = int(TypeCode[self.name.upper()]), int(TypeCode[dtype.upper()])
        ids = self.kernel_ids, self.has_pointers
        _check(self.op, _kernel.softmax(values, *ids, table, out, *codes, is_log, self._block, threads.limit))
        if self._turns:
            units, columns = math.prod(self.layout.outer), math.prod(self.layout.inner)
            out = out.reshape(out.shape[1], units, columns).swapaxes(0, 1)
        return out.reshape(self.layout.data)


def _check(op: Operator, status: int) -> None:
    if status == Status.NO_MEMORY:
        raise messages.no_memory(op)
    if status != Status.OK:
        raise errors.changed_meanwhile(op, "the shape, dtype or flags of an array")
