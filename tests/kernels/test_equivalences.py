"""NumPy's own gathers and scatters as special cases of the six functions: one table, equal bit for bit.

NumPy's scatters are compared on the loop's own terms: `ufunc.at` works in row-major order, and in an assignment with
duplicates the last wins.
"""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_same_bits

DTYPES = ("?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "F", "D", ">f4")
INTEGERS_AND_FLOATS = tuple(spec for spec in DTYPES if spec not in ("?", "F", "D"))
MOVED = (*DTYPES, "U3", "M8[s]", "V5", object)


class Arrays:
    """Shared operands of one dtype; each call gives new ones, so that a call may write to them."""

    def __init__(self, dtype):
        rng = np.random.default_rng(5)
        dtype = np.dtype(dtype)

        def draw(*shape):
            whole = rng.integers(-9, 9, shape)
            if dtype.kind == "V":
                return np.frombuffer(rng.bytes(whole.size * dtype.itemsize), dtype).reshape(shape)
            if dtype.kind in "fO" and dtype.itemsize > 2:
                whole = whole + rng.random(shape)
            elif dtype.kind == "c":
                whole = whole + 1j * rng.integers(-9, 9, shape)  # whole numbers: fused products round elsewhere
            return whole.astype(dtype)

        self.line, self.square, self.cube = draw(50), draw(12, 20), draw(5, 8, 6)
        self.i = rng.integers(-50, 50, 70)
        self.rows, self.columns = rng.integers(0, 12, 30), rng.integers(-20, 0, 30)
        self.grid = rng.integers(0, 8, (3, 4))
        self.pairs = np.stack([rng.integers(-5, 5, (4, 9)), rng.integers(-8, 8, (4, 9))], axis=-1)
        self.triples = np.stack([rng.integers(-n, n, 90) for n in (5, 8, 6)], axis=-1)
        self.down, self.across = rng.integers(0, 12, (9, 20)), rng.integers(-20, 20, (12, 25))
        self.middle = rng.integers(0, 8, (5, 8, 6))
        self.distinct = np.stack([rng.permutation(20)[:7] for _ in range(12)])
        self.per_batch = rng.integers(0, 8, (5, 3))
        self.mask = rng.integers(0, 2, 50).astype(bool)
        self.of_i, self.of_rows, self.of_pairs, self.of_triples = draw(70), draw(30, 20), draw(4, 9, 6), draw(90)
        self.of_columns, self.of_across, self.of_down = draw(12, 30), draw(12, 25), draw(9, 20)
        self.of_distinct, self.of_cells, self.one = draw(12, 7), draw(30), draw(1)[0]


def at(ufunc):
    def call(data, where, updates):
        result = data.copy()
        ufunc.at(result, where, updates)
        return result

    return call


def put(data, where, updates):
    result = data.copy()
    result[where] = updates
    return result


def put_along_axis(data, indices, updates, axis):
    result = data.copy()
    np.put_along_axis(result, indices, updates, axis)
    return result


def np_put(data, where, updates, mode="raise"):
    result = data.copy()
    np.put(result, where, updates, mode)
    return result


def components(tuples):
    return tuple(np.moveaxis(tuples, -1, 0))


def open_rows(indices):
    return np.arange(len(indices))[:, None], indices


def from_columns(a, ufunc):
    result = a.square.copy()
    ufunc.at(result, np.s_[:, a.columns], a.of_columns)
    return result


# name: (dtypes, our call, NumPy's)
GATHERS = {
    "take": (MOVED, lambda a: gs.gather(a.line, a.i), lambda a: np.take(a.line, a.i)),
    "take, axis 0": (MOVED, lambda a: gs.gather(a.square, a.rows), lambda a: np.take(a.square, a.rows, 0)),
    "take, last axis": (
        MOVED,
        lambda a: gs.gather(a.square, a.columns, axis=-1),
        lambda a: np.take(a.square, a.columns, -1),
    ),
    "take, grid of indices": (
        MOVED,
        lambda a: gs.gather(a.cube, a.grid, axis=1),
        lambda a: np.take(a.cube, a.grid, 1),
    ),
    "take, one index": (
        MOVED,
        lambda a: gs.gather(a.cube, np.array(3), axis=2),
        lambda a: np.take(a.cube, 3, 2),
    ),
    "take, clip": (  # NumPy clips negative indices to 0; ours count from the back first
        MOVED,
        lambda a: gs.gather(a.line, a.down * 9, mode="clip"),
        lambda a: np.take(a.line, a.down * 9, mode="clip"),
    ),
    "take, wrap": (
        MOVED,
        lambda a: gs.gather(a.line, a.i * 9, mode="wrap"),
        lambda a: np.take(a.line, a.i * 9, mode="wrap"),
    ),
    "data[i]": (MOVED, lambda a: gs.gather(a.cube, a.pairs[..., 0]), lambda a: a.cube[a.pairs[..., 0]]),
    "data[:, i]": (MOVED, lambda a: gs.gather(a.cube, a.grid, axis=1), lambda a: a.cube[:, a.grid]),
    "data[arange(b)[:, None], i]": (
        MOVED,
        lambda a: gs.gather(a.cube, a.per_batch, axis=1, batch_dims=1),
        lambda a: a.cube[open_rows(a.per_batch)],
    ),
    "compress": (
        MOVED,
        lambda a: gs.gather(a.line, np.flatnonzero(a.mask)),
        lambda a: np.compress(a.mask, a.line),
    ),
    "data[mask]": (
        MOVED,
        lambda a: gs.gather_nd(a.line, np.argwhere(a.mask)),
        lambda a: a.line[a.mask],
    ),
    "data[tuple(moveaxis(i, -1, 0))], elements": (
        MOVED,
        lambda a: gs.gather_nd(a.cube, a.triples),
        lambda a: a.cube[components(a.triples)],
    ),
    "data[tuple(moveaxis(i, -1, 0))], rows": (
        MOVED,
        lambda a: gs.gather_nd(a.cube, a.pairs),
        lambda a: a.cube[components(a.pairs)],
    ),
    "ravel_multi_index and take": (
        MOVED,
        lambda a: gs.gather_nd(a.cube, a.triples),
        lambda a: np.take(a.cube, np.ravel_multi_index(components(a.triples % (5, 8, 6)), a.cube.shape)),
    ),
    "take_along_axis, axis 0": (
        MOVED,
        lambda a: gs.gather_elements(a.square, a.down),
        lambda a: np.take_along_axis(a.square, a.down, 0),
    ),
    "take_along_axis, last axis": (
        MOVED,
        lambda a: gs.gather_elements(a.square, a.across, axis=-1),
        lambda a: np.take_along_axis(a.square, a.across, -1),
    ),
    "take_along_axis, middle axis": (
        MOVED,
        lambda a: gs.gather_elements(a.cube, a.middle, axis=1),
        lambda a: np.take_along_axis(a.cube, a.middle, 1),
    ),
    "sort": (
        DTYPES,
        lambda a: gs.gather_elements(a.square, np.argsort(a.square, axis=0, kind="stable")),
        lambda a: np.sort(a.square, axis=0, kind="stable"),
    ),
    "choose": (
        DTYPES,
        lambda a: gs.gather_elements(a.square, a.down[:1]),
        lambda a: np.choose(a.down[:1], a.square[:, None]),
    ),
}
SCATTERS = {
    "data[i] = u": (MOVED, lambda a: gs.scatter(a.line, a.i, a.of_i), lambda a: put(a.line, a.i, a.of_i)),
    "data[i] = u, rows": (
        MOVED,
        lambda a: gs.scatter(a.square, a.rows, a.of_rows),
        lambda a: put(a.square, a.rows, a.of_rows),
    ),
    "data[:, i] = u": (
        MOVED,
        lambda a: gs.scatter(a.square, a.columns, a.of_columns, axis=1),
        lambda a: put(a.square, np.s_[:, a.columns], a.of_columns),
    ),
    "data[i] = scalar": (
        DTYPES,
        lambda a: gs.scatter(a.square, a.rows, a.one.item()),
        lambda a: put(a.square, a.rows, a.one),
    ),
    "data[mask] = scalar": (
        DTYPES,
        lambda a: gs.scatter_nd(a.line, np.argwhere(a.mask), a.one.item()),
        lambda a: put(a.line, a.mask, a.one),
    ),
    "put": (MOVED, lambda a: gs.scatter(a.line, a.i, a.of_i), lambda a: np_put(a.line, a.i, a.of_i)),
    "put, wrap": (
        MOVED,
        lambda a: gs.scatter(a.line, a.i * 9, a.of_i, mode="wrap"),
        lambda a: np_put(a.line, a.i * 9, a.of_i, "wrap"),
    ),
    "put, clip": (
        MOVED,
        lambda a: gs.scatter(a.line, np.abs(a.i * 9), a.of_i, mode="clip"),
        lambda a: np_put(a.line, np.abs(a.i * 9), a.of_i, "clip"),
    ),
    "data[tuple(moveaxis(i, -1, 0))] = u, elements": (
        MOVED,
        lambda a: gs.scatter_nd(a.cube, a.triples, a.of_triples),
        lambda a: put(a.cube, components(a.triples), a.of_triples),
    ),
    "data[tuple(moveaxis(i, -1, 0))] = u, rows": (
        MOVED,
        lambda a: gs.scatter_nd(a.cube, a.pairs, a.of_pairs),
        lambda a: put(a.cube, components(a.pairs), a.of_pairs),
    ),
    "data[rows, columns] = u": (
        MOVED,
        lambda a: gs.scatter_nd(a.square, np.stack([a.rows, a.columns], -1), a.of_cells),
        lambda a: put(a.square, (a.rows, a.columns), a.of_cells),
    ),
    "put_along_axis": (
        MOVED,
        lambda a: gs.scatter_elements(a.square, a.distinct, a.of_distinct, axis=1),
        lambda a: put_along_axis(a.square, a.distinct, a.of_distinct, 1),
    ),
    "put_along_axis, duplicates": (
        MOVED,
        lambda a: gs.scatter_elements(a.square, a.across, a.of_across, axis=-1),
        lambda a: put_along_axis(a.square, a.across, a.of_across, -1),
    ),
    "put_along_axis, axis 0": (
        MOVED,
        lambda a: gs.scatter_elements(a.square, a.down, a.of_down),
        lambda a: put_along_axis(a.square, a.down, a.of_down, 0),
    ),
    "inverse permutation": (
        ("i8",),
        lambda a: gs.scatter_elements(
            np.zeros((12, 20), int), np.argsort(a.square), np.broadcast_to(np.arange(20), (12, 20)), axis=1
        ),
        lambda a: np.argsort(np.argsort(a.square)),
    ),
    "bincount": (
        ("i8",),
        lambda a: gs.scatter(np.zeros(12, int), a.rows, 1, reduction="add"),
        lambda a: np.bincount(a.rows, minlength=12),
    ),
    "bincount of weights": (
        ("f8",),
        lambda a: gs.scatter(np.zeros(12), a.rows, a.of_cells, reduction="add"),
        lambda a: np.bincount(a.rows, a.of_cells, 12),
    ),
    "histogramdd": (
        ("i8",),
        lambda a: gs.scatter_nd(np.zeros((5, 8), int), a.pairs, 1, reduction="add"),
        lambda a: np.histogramdd(a.pairs.reshape(-1, 2) % (5, 8), bins=(range(6), range(9)))[0].astype(int),
    ),
    "mean of groups": (
        ("f8",),
        lambda a: gs.scatter(np.zeros(12), a.rows, a.of_cells, reduction="mean", include_self=False),
        lambda a: np.bincount(a.rows, a.of_cells, 12) / np.maximum(np.bincount(a.rows, minlength=12), 1),
    ),
}
for _name, _ufunc, _reduction, _dtypes in (
    ("add", np.add, "add", DTYPES),
    ("multiply", np.multiply, "mul", DTYPES),
    ("maximum", np.maximum, "max", ("?", *INTEGERS_AND_FLOATS)),
    ("minimum", np.minimum, "min", ("?", *INTEGERS_AND_FLOATS)),
):
    SCATTERS |= {
        f"{_name}.at": (
            _dtypes,
            lambda a, r=_reduction: gs.scatter(a.line, a.i, a.of_i, reduction=r),
            lambda a, f=_ufunc: at(f)(a.line, a.i, a.of_i),
        ),
        f"{_name}.at, rows": (
            _dtypes,
            lambda a, r=_reduction: gs.scatter(a.square, a.rows, a.of_rows, reduction=r),
            lambda a, f=_ufunc: at(f)(a.square, a.rows, a.of_rows),
        ),
        f"{_name}.at, [:, i]": (
            _dtypes,
            lambda a, r=_reduction: gs.scatter(a.square, a.columns, a.of_columns, axis=1, reduction=r),
            lambda a, f=_ufunc: from_columns(a, f),
        ),
        f"{_name}.at, tuples": (
            _dtypes,
            lambda a, r=_reduction: gs.scatter_nd(a.cube, a.triples, a.of_triples, reduction=r),
            lambda a, f=_ufunc: at(f)(a.cube, components(a.triples), a.of_triples),
        ),
        f"{_name}.at, tuples of rows": (
            _dtypes,
            lambda a, r=_reduction: gs.scatter_nd(a.cube, a.pairs, a.of_pairs, reduction=r),
            lambda a, f=_ufunc: at(f)(a.cube, components(a.pairs), a.of_pairs),
        ),
        f"{_name}.at, along axis 1": (
            _dtypes,
            lambda a, r=_reduction: gs.scatter_elements(a.square, a.across, a.of_across, axis=1, reduction=r),
            lambda a, f=_ufunc: at(f)(a.square, open_rows(a.across), a.of_across),
        ),
        f"{_name}.at, along axis 0": (
            _dtypes,
            lambda a, r=_reduction: gs.scatter_elements(a.square, a.down, a.of_down, reduction=r),
            lambda a, f=_ufunc: at(f)(a.square, (a.down, np.arange(20)), a.of_down),
        ),
    }

TABLE = GATHERS | SCATTERS


@pytest.mark.parametrize("name", TABLE)
def test_equals_numpy(name):
    dtypes, ours, numpys = TABLE[name]
    for dtype in dtypes:
        arrays = Arrays(dtype)
        with np.errstate(all="ignore"):  # ufunc.at warns of what overflows in float16
            expected = numpys(arrays)
        assert_same_bits(ours(arrays), np.asarray(expected))


def test_the_table_covers_all_six():
    """Each function in gatherscatter's namespace that gathers or scatters stands in the table."""
    called = {name for _, ours, _ in TABLE.values() for name in ours.__code__.co_names}
    functions = {name for name in gs.__all__ if name.startswith(("gather", "scatter"))} - {
        "gather_scatter"
    }  # two of them
    assert functions <= called
    assert len(functions) == 6
