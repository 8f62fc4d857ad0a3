"""The self-check of `python -m gatherscatter`: every function is compared with `reference`, on each array library.

The calls and the seed are fixed, so that a reported failure can be reproduced.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gatherscatter import gathers, onnx, openvino, reference, scatters, segments, tensorflow, threads
from gatherscatter._kernels import common as _kernel
from gatherscatter.backends import kernels
from gatherscatter.operators import GATHER_MODES, SCATTER_MODES
from gatherscatter.prepared import prepare
from gatherscatter.reductions import REDUCTIONS, takes

SEED = 2026

# Fewer dtypes and options for libraries with slow calls: Dask builds a graph for each, JAX compiles a program.
_DTYPES = ("bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "U3")
_FEW_DTYPES = ("bool", "int32", "float32")

# Shapes of data and indices, options, and the sizes of the indexed axes. They cover batch axes, an axis in the middle,
# rows, and repeated indices.
_GEOMETRIES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, int], tuple[int, ...]]] = {
    "gather": ((2, 4, 2), (2, 5), {"axis": 1, "batch_dims": 1}, (4,)),
    "gather_nd": ((2, 3, 2, 2), (2, 4, 2), {"batch_dims": 1}, (3, 2)),
    "gather_elements": ((2, 4, 2), (2, 5, 2), {"axis": 1}, (4,)),
}


class Call(NamedTuple):
    """One call of a public function, with NumPy arrays."""

    function: str
    arrays: tuple[Any, ...]
    options: dict[str, Any]

    def __str__(self) -> str:
        arrays = [f"np.array({array.tolist()}, {array.dtype.str!r})" for array in self.arrays]
        options = [f"{name}={value!r}" for name, value in self.options.items()]
        return f"gs.{self.function}({', '.join(arrays + options)})"


class Check(NamedTuple):
    function: str
    library: str
    how: object  # str() of it is the code that reproduces the check
    wrong: Callable[[], str | None]  # returns what is wrong, or None; an exception is a failure too


class Failure(NamedTuple):
    function: str
    library: str
    what: str
    how: str


class Library(NamedTuple):
    name: str
    package: str
    version: str
    device: str
    asarray: Callable[[Any], Any]
    asnumpy: Callable[[Any], Any]


class Part(NamedTuple):
    """The checks of one library."""

    name: str
    checks: Sequence[Check]
    note: str = ""  # why there are no checks


def calls(few: bool) -> Iterator[Call]:
    """Calls of every function with all combinations of mode, reduction and dtype. few: a sample with each of these."""
    rng = np.random.default_rng(SEED)
    dtypes = _FEW_DTYPES if few else _DTYPES
    for function in ("gather", "gather_nd", "gather_elements"):
        # The step has no common divisor with the numbers of choices, so that the sample has every mode and dtype.
        for mode, dtype in list(product(GATHER_MODES, dtypes))[:: 2 if few else 1]:
            yield _call(rng, function, mode, "", True, dtype)
    for function in ("scatter", "scatter_nd", "scatter_elements"):
        choices = product(SCATTER_MODES, REDUCTIONS, (True, False), dtypes)
        has = (c for c in choices if takes(c[1], c[3]))
        for mode, reduction, include_self, dtype in list(has)[:: 19 if few else 1]:
            yield _call(rng, function, mode, reduction, include_self, dtype)


def _call(rng: np.random.Generator, function: str, mode: str, reduction: str, include_self: bool, dtype: str) -> Call:
    gather = "gather" + function.removeprefix("scatter").removeprefix("gather")
    shape, places, options, sizes = _GEOMETRIES[gather]
    beyond = 0 if mode in ("raise", "promise_in_bounds") else 2
    limits = np.array(sizes)
    indices = rng.integers(
        -limits - beyond, limits + beyond, (*places[:-1], limits.size) if limits.size > 1 else places
    )
    indices = indices.astype(np.int32)  # supported by every library
    data = _numbers(rng, shape, dtype)
    if not reduction:
        return Call(function, (data, indices), {**options, "mode": mode})
    named = getattr(reference, gather)(data, indices, mode="fill" if mode == "drop" else mode, **options)
    scatter = {**options, "reduction": reduction, "include_self": include_self, "mode": mode}
    return Call(function, (data, indices, _numbers(rng, named.shape, dtype)), scatter)


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Multiples of 1/4: their sums and products are exact in any order, so results are equal on every device."""
    numbers = rng.integers(0, 9, shape)
    if dtype == "bool":
        return numbers > 4
    if np.dtype(dtype).kind == "f":
        return ((numbers - 4) / 4).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return ((numbers - 4) / 4 + 1j * rng.integers(-2, 3, shape)).astype(dtype)
    return numbers.astype(dtype)


def libraries() -> Iterator[Library | Part]:
    """The installed array libraries; for one that cannot be used, a part that reports why."""
    yield Library("NumPy", "numpy", np.__version__, "cpu", lambda array: array, lambda array: array)
    for name, make in _LIBRARIES.items():
        if importlib.util.find_spec(name) is None:
            continue
        try:
            yield from make(importlib.import_module(name))
        except Exception as error:  # a broken installation may raise anything, and is reported
            what = _one_line(error)
            yield Part(name, [Check(f"import {name}", name, f"import {name}", partial(str, what))])


def _torch(torch: Any) -> Iterator[Library | Part]:
    def asnumpy(tensor: Any) -> Any:
        return tensor.cpu().numpy()

    yield Library("PyTorch", "torch", torch.__version__, "cpu", torch.from_numpy, asnumpy)
    if torch.cuda.is_available():
        asarray = partial(torch.asarray, device="cuda")
        yield Library("PyTorch", "torch", torch.__version__, "cuda", asarray, asnumpy)


def _jax(jax: Any) -> Iterator[Library | Part]:
    yield Library("JAX", "jax", jax.__version__, jax.default_backend(), jax.numpy.asarray, np.asarray)


def _cupy(cupy: Any) -> Iterator[Library | Part]:
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        n_devices = 0
    if n_devices:
        yield Library("CuPy", "cupy", cupy.__version__, "cuda", cupy.asarray, cupy.asnumpy)
    else:
        yield Part(f"CuPy {cupy.__version__}", [], "finds no device")


def _dask(dask: Any) -> Iterator[Library | Part]:
    array = importlib.import_module("dask.array")
    yield Library(
        "Dask", "dask", dask.__version__, "cpu",
        lambda numbers: array.from_array(numbers, chunks=2), lambda lazy: lazy.compute(scheduler="synchronous"),
    )  # fmt: skip


def _strict(strict: Any) -> Iterator[Library | Part]:
    yield Library("array-api-strict", "array_api_strict", strict.__version__, "cpu", strict.asarray, np.asarray)


_LIBRARIES: dict[str, Callable[[Any], Iterator[Library | Part]]] = {
    "torch": _torch,
    "jax": _jax,
    "cupy": _cupy,
    "dask": _dask,
    "array_api_strict": _strict,
}


def parts() -> Iterator[Part]:
    """All checks, grouped by library or subject."""
    n_threads = threads.get_num_threads()
    for library in libraries():
        if isinstance(library, Part):
            yield library
        elif library.package == "numpy":
            drawn = list(calls(few=False))
            yield Part(f"NumPy {library.version}", [_checked(library, call) for call in drawn])
            # Force the thread team, which such small calls would not use.
            forced = max(n_threads, 2)
            cut = [_checked(library, call, forced) for call in drawn]
            # A build without OpenMP cuts work in the same way, and runs the pieces one after the other.
            used = f"{forced} threads" if _kernel.openmp_version else f"1 thread, work cut for {forced}"
            yield Part(f"NumPy, {used}", [*cut, *map(_same_bits, REDUCTIONS)])
        else:
            some = [
                call for call in calls(few=True) if library.device == "cpu" or call.options.get("reduction") != "none"
            ]
            yield Part(
                f"{library.name} {library.version} ({library.device})", [_checked(library, call) for call in some]
            )
    outside = [call for call in calls(few=False) if call.options["mode"] == "clip" and call.arrays[0].dtype == "f4"]
    yield Part("out of bounds", [Check(call.function, "NumPy", call, partial(_not_refused, call)) for call in outside])
    yield Part("dialects", [_answer(*answer) for answer in _ANSWERS])
    reduced = [_reduced(name, by) for name, by in product(_OF_A_SEGMENT, ("ids", "indptr"))]
    sorted_segments = Check("segment_argsort", "NumPy", "python -m gatherscatter", _not_sorted)
    quantiles = Check("segment_quantile", "NumPy", "python -m gatherscatter", _wrong_quantiles)
    yield Part("segments", [*reduced, *map(_scanned, _SCANS), sorted_segments, quantiles])
    large = [(_many_rows, "scatter of prepared rows"), (_many_dropped, "scatter, mode='drop'")]
    yield Part("large", [Check(name, "NumPy", "python -m gatherscatter", wrong) for wrong, name in large])


def _function(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(gathers if name.startswith("gather") else scatters, name)
    return function


def _checked(library: Library, call: Call, n_threads: int = 0) -> Check:
    def wrong() -> str | None:
        expected = getattr(reference, call.function)(*call.arrays, **call.options)
        with kernels.forced(n_threads), np.errstate(all="ignore"):
            result = library.asnumpy(_function(call.function)(*map(library.asarray, call.arrays), **call.options))
        if result.dtype == expected.dtype and np.array_equal(result, expected):
            return None
        return f"{result.tolist()} is not {expected.tolist()}"

    return Check(call.function, library.name, call, wrong)


def _same_bits(reduction: Any) -> Check:
    """A reduction large enough for several threads, with rounding: compare the bits with those of one thread."""

    def wrong() -> str | None:
        rng = np.random.default_rng(SEED)
        data, updates = rng.random(1 << 16, np.float32) + 0.5, rng.random(1 << 19, np.float32) + 0.5
        indices = rng.integers(0, len(data), len(updates))
        results = []
        for limit in (1, threads.limit):
            with _at_most(limit):
                results.append(scatters.scatter(data, indices, updates, reduction=reduction))
        if results[0].tobytes() == results[1].tobytes():
            return None
        return f"reduction={reduction!r} has other bits on {threads.get_num_threads()} threads than on 1"

    return Check("scatter", "NumPy", "python -m gatherscatter", wrong)


def _not_refused(call: Call) -> str | None:
    """An index out of bounds must raise and leave `out` unchanged."""
    data, indices, *updates = call.arrays
    out = np.zeros(getattr(reference, call.function)(*call.arrays, **call.options).shape, data.dtype)
    options = {**call.options, "mode": "raise"}
    try:
        _function(call.function)(data, np.full_like(indices, max(data.shape)), *updates, out=out, **options)
    except IndexError:
        return "out was written to before an index out of bounds raised IndexError" if out.any() else None
    return f"indices that are all {max(data.shape)}, out of bounds, did not raise IndexError with mode='raise'"


# NumPy's functions for the elements of a segment.
_OF_A_SEGMENT: dict[str, Callable[[Any], Any]] = {
    "add": np.sum, "mul": np.prod, "max": np.max, "min": np.min, "mean": np.mean, "var": np.var, "std": np.std,
    "any": np.any, "all": np.all, "count": len, "first": lambda part: part[0], "last": lambda part: part[-1],
    "argmax": np.argmax, "argmin": np.argmin, "logsumexp": lambda part: np.log(np.exp(part).sum()),
    "median": np.median, "nunique": lambda part: len(np.unique(part)),
}  # fmt: skip


def _reduced(reduction: str, by: str) -> Check:
    """A reduction of segments, by their ids in any order, or by pointers to those that lie side by side."""
    rng = np.random.default_rng(SEED)
    ids, values = rng.permutation(np.arange(64) % 5), _numbers(rng, (64,), "f8")
    ids = np.sort(ids) if by == "indptr" else ids
    groups: dict[str, Any] = (
        {"segment_ids": ids} if by == "ids" else {"indptr": np.append(0, np.cumsum(np.bincount(ids)))}
    )

    def wrong() -> str | None:
        places = [np.flatnonzero(ids == segment) for segment in range(5)]
        expected = [_OF_A_SEGMENT[reduction](values[place]) for place in places]
        if reduction.startswith("arg"):
            expected = [place[position] for place, position in zip(places, expected, strict=True)]
        result = segments.segment_reduce(values, reduction=reduction, **groups)
        return None if np.allclose(result, expected, rtol=1e-13, atol=0) else f"{result.tolist()} is not {expected}"

    given = ", ".join(f"{name}=np.array({array.tolist()})" for name, array in groups.items())
    how = f"gs.segment_reduce(np.array({values.tolist()}), {given}, reduction={reduction!r})"
    return Check("segment_reduce", "NumPy", how, wrong)


# NumPy's running results of the elements of a segment.
_SCANS: dict[str, Callable[[Any], Any]] = {
    "add": np.cumsum, "mul": np.cumprod, "max": np.maximum.accumulate, "min": np.minimum.accumulate,
    "count": lambda part: np.arange(1, len(part) + 1),
}  # fmt: skip


def _scanned(reduction: Any) -> Check:
    rng = np.random.default_rng(SEED)
    ids, values = rng.permutation(np.arange(64) % 5), _numbers(rng, (64,), "f8")

    def wrong() -> str | None:
        result = segments.segment_scan(values, ids, reduction=reduction)
        expected = np.empty_like(result)
        for segment in range(5):
            expected[ids == segment] = _SCANS[reduction](values[ids == segment])
        return None if np.array_equal(result, expected) else f"{result.tolist()} is not {expected.tolist()}"

    how = f"gs.segment_scan(np.array({values.tolist()}), np.array({ids.tolist()}), reduction={reduction!r})"
    return Check("segment_scan", "NumPy", how, wrong)


def _not_sorted() -> str | None:
    rng = np.random.default_rng(SEED)
    ids, values = rng.integers(-1, 5, 300), rng.integers(0, 9, 300)
    result = segments.segment_argsort(values, ids)
    expected = np.lexsort((values * (ids >= 0), np.where(ids < 0, 5, ids)))
    return None if np.array_equal(result, expected) else f"{result.tolist()} is not {expected.tolist()}"


def _wrong_quantiles() -> str | None:
    rng = np.random.default_rng(SEED)
    ids, values, q = rng.permutation(np.arange(300) % 5), rng.random(300), [0.5, 0.1, 0.9]
    result = segments.segment_quantile(values, q, ids)
    expected = np.stack([np.quantile(values[ids == segment], q) for segment in range(5)], axis=1)
    return None if np.array_equal(result, expected) else f"{result.tolist()} is not {expected.tolist()}"


def _many_rows() -> str | None:
    rng = np.random.default_rng(SEED)
    indices, updates = rng.integers(0, 300, 3000), rng.integers(0, 9, (3000, 32)).astype(np.float32)
    result = prepare("scatter", (300,), indices).scatter(np.zeros((300, 32), np.float32), updates, reduction="add")
    expected = np.zeros((300, 32), np.float32)
    np.add.at(expected, indices, updates)
    return None if np.array_equal(result, expected) else "the sums differ from those of np.add.at"


def _many_dropped() -> str | None:
    rng = np.random.default_rng(SEED)
    indices = rng.integers(0, 1 << 17, 1 << 20)
    result = scatters.scatter(np.zeros(1 << 16), indices, 1.0, reduction="add", mode="drop")
    expected = np.bincount(indices[indices < 1 << 16], minlength=1 << 16)
    return None if np.array_equal(result, expected) else "the counts differ from those of np.bincount"


# Examples from the documents of the source systems.
_ANSWERS: tuple[tuple[Any, tuple[Any, ...], dict[str, Any], Any], ...] = (
    (onnx.gather_nd, ([[0, 1], [2, 3]], [[0, 0], [1, 1]]), {}, [0, 3]),
    (onnx.gather, ([[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]], [[0, 1], [1, 2]]), {},
     [[[1.0, 1.2], [2.3, 3.4]], [[2.3, 3.4], [4.5, 5.7]]]),
    (onnx.gather_elements, ([[1, 2], [3, 4]], [[0, 0], [1, 0]]), {"axis": 1}, [[1, 1], [4, 3]]),
    (onnx.scatter_nd, ([1, 2, 3, 4, 5, 6, 7, 8], [[4], [3], [1], [7]], [9, 10, 11, 12]), {},
     [1, 11, 3, 10, 9, 6, 7, 12]),
    (openvino.gather_nd, ([[1, 2], [3, 4]], [[0, 0], [1, 0]]), {}, [1, 3]),
    (openvino.gather, ([1, 2, 3, 4, 5], [0, 0, 4], 0), {}, [1, 1, 5]),
    (openvino.scatter_nd_update, ([1, 2, 3, 4, 5, 6, 7, 8], [[4], [3], [1], [7]], [9, 10, 11, 12]), {},
     [1, 11, 3, 10, 9, 6, 7, 12]),
    (tensorflow.gather_nd, ([["a", "b"], ["c", "d"]], [[0, 0], [1, 1]]), {}, ["a", "d"]),
    (tensorflow.gather_nd, ([1, 2], [[0], [5]]), {"bad_indices_policy": "IGNORE"}, [1, 0]),
    (tensorflow.tensor_scatter_nd_add, ([1, 1, 1, 1, 1, 1, 1, 1], [[4], [3], [1], [7]], [9, 10, 11, 12]), {},
     [1, 12, 1, 11, 10, 1, 1, 13]),
)  # fmt: skip


def _answer(function: Any, arguments: tuple[Any, ...], options: dict[str, Any], answer: Any) -> Check:
    dialect = function.__module__.removeprefix("gatherscatter.")
    name = f"{dialect}.{function.__name__}"
    written = ", ".join([*map(repr, arguments), *(f"{key}={value!r}" for key, value in options.items())])

    def wrong() -> str | None:
        result = function(*arguments, **options).tolist()
        return None if result == answer else f"{result} is not {answer}"

    return Check(name, dialect, f"gs.{name}({written})", wrong)


@contextlib.contextmanager
def _at_most(limit: int) -> Iterator[None]:
    """Limit the kernels' threads."""
    before = threads.limit
    threads.limit = limit
    try:
        yield
    finally:
        threads.limit = before


def _one_line(error: BaseException) -> str:
    return " ".join("".join(traceback.format_exception_only(error)).split())


class Outcome(NamedTuple):
    n_checks: int
    failures: list[Failure]
    seconds: float

    @property
    def verdict(self) -> str:
        if not self.failures:
            return f"all {self.n_checks} checks passed in {self.seconds:.1f} s"
        failed = sorted({failure.function for failure in self.failures})
        return f"{len(self.failures)} of {self.n_checks} checks failed: {', '.join(failed)}"


def run(report: Callable[[str], None], progress: Callable[[Sequence[Any], str], Any]) -> Outcome:
    """Run all checks. `report` gets a line for each part; `progress` wraps the checks of a part in a progress bar."""
    start = time.perf_counter()
    n_checks, failures = 0, list[Failure]()
    for part in parts():
        before = len(failures)
        for check in progress(part.checks, part.name):
            try:
                what = check.wrong()
            except Exception as error:
                what = f"raised {_one_line(error)}"
            if what is not None:
                failures.append(Failure(check.function, check.library, what, str(check.how)))
        n_checks += len(part.checks)
        passed = len(part.checks) - (len(failures) - before)
        report(f"{part.name:32} {part.note or f'{passed} of {len(part.checks)} passed'}")
    return Outcome(n_checks, failures, time.perf_counter() - start)
