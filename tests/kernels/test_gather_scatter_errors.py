"""gather_scatter's errors, whichever way a call takes; and the numbers of slices that indices are resolved to."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused, assert_same_bits, each_refused
from gatherscatter import plan as plans
from gatherscatter._kernels import gather as kernel
from gatherscatter.backends import kernels
from gatherscatter.operators import GATHER, GATHER_ELEMENTS, GATHER_ND
from pairwise import in_turn

DATA, SOURCE = np.zeros((4, 16)), np.ones((3, 16))


def to():
    """Made for each call: an order that a scatter makes lives as long as the object."""
    return gs.prepare("scatter", (4,), [0, 1])


def of():
    return gs.prepare("gather", (3,), [0, 2])


def call(indices=(0, 1), source_indices=(0, 2), *, data=DATA, source=SOURCE, **words):
    given = [list(array) if isinstance(array, tuple) else array for array in (indices, source_indices)]

    def made():
        pair = [array() if callable(array) else array for array in given]
        return gs.gather_scatter(data, pair[0], source, pair[1], **words)

    return made


@pytest.fixture(params=["one pass", "two steps"])
def _either_way(request, monkeypatch):
    if request.param == "one pass":
        monkeypatch.setattr(kernels, "ONE_PASS_BYTES", 0)


OUT_OF_BOUNDS = {
    "source": (call((0, 1), (0, 3)), "source_indices[1] = 3 is out of bounds for source of shape (3, 16): axis 0 has "
               "size 3"),
    "data": (call((0, 4)), "indices[1] = 4 is out of bounds for data of shape (4, 16): axis 0 has size 4"),
    "both": (call((4, 0), (0, 3)), "source_indices[1] = 3 is out of bounds for source of shape (3, 16): axis 0 has "
             "size 3"),
    "negative": (call(np.array([0, 1]), np.array([-3, -4])), "source_indices[1] = -4 is out of bounds for source of "
                 "shape (3, 16): axis 0 has size 3"),
    "shaped": (call(np.array([[0, 1], [2, -5]]), np.zeros((2, 2), int)), "indices[1, 1] = -5 is out of bounds for data "
               "of shape (4, 16): axis 0 has size 4"),
    "no wrap": (call((0, 1), (0, -1), wrap_negative_indices=False), "source_indices[1] = -1 is out of bounds for "
                "source of shape (3, 16): axis 0 has size 3, and with wrap_negative_indices=False a negative index is "
                "out of bounds"),
    "uint64": (call(np.array([0, 2**64 - 1], "u8")), "indices[1] = 18446744073709551615 is out of bounds for data of "
               "shape (4, 16): axis 0 has size 4"),
    "empty source": (call(source=SOURCE[:0]), "source_indices[0] = 0 is out of bounds for source of shape (0, 16): "
                     "axis 0 has size 0"),
    "empty source, clip": (call(source=SOURCE[:0], mode="clip"), "source_indices[0] = 0 is out of bounds for source of "
                           "shape (0, 16): axis 0 has size 0"),
    "empty data, wrap": (call(data=DATA[:0], mode="wrap"), "indices[0] = 0 is out of bounds for data of shape (0, 16): "
                         "axis 0 has size 0"),
    "empty data, promised": (call(data=DATA[:0], mode="promise_in_bounds"), "indices[0] = 0 is out of bounds for data "
                             "of shape (0, 16): axis 0 has size 0"),
}  # fmt: skip


@pytest.mark.usefixtures("_either_way")
@each_refused({
    **{name: (each, IndexError, f"gather_scatter: {message}") for name, (each, message) in OUT_OF_BOUNDS.items()},
    "other length": (call((0, 1), (0, 1, 2)), ValueError,
                     "gather_scatter: indices has shape (2,) and source_indices has shape (3,); they are pairs, so "
                     "pass arrays of one shape"),
    "one for all": (call((0, 1), 0), ValueError,
                    "gather_scatter: indices has shape (2,) and source_indices has shape (); they are pairs, so pass "
                    "arrays of one shape"),
    "ragged": (call([[0, 1], [2]]), ValueError,
               "gather_scatter: indices is a ragged list; pass lists of equal lengths, padded where need be"),
    "mode of gather": (call(mode="fill"), ValueError,
                       "gather_scatter: mode='fill' is not one of 'raise', 'clip', 'wrap', 'drop', "
                       "'promise_in_bounds'; did you mean 'drop'?"),
    "no string": (call(mode=3), TypeError,
                  "gather_scatter: mode=3 is not a string; pass one of 'raise', 'clip', 'wrap', 'drop', "
                  "'promise_in_bounds'"),
    "axis of source": (call(axis=2), ValueError,
                       "gather_scatter: axis=2 is not in [-2, 1] for source of shape (3, 16); pass 0 for its first "
                       "axis, -1 for its last"),
    "axis of data": (call((0, 1), (0, 1), axis=2, source=np.zeros((3, 16, 2))), ValueError,
                     "gather_scatter: axis=2 is not in [-2, 1] for data of shape (4, 16); pass 0 for its first axis, "
                     "-1 for its last"),
    "axis": (call(axis="x"), TypeError, "gather_scatter: axis='x' is not an integer; pass an int"),
    "reduction": (call(reduction="sum"), ValueError,
                  "gather_scatter: reduction='sum' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; did you "
                  "mean 'add'?"),
    "include_self": (call(include_self=1), TypeError,
                     "gather_scatter: include_self=1 is not a bool; pass True or False"),
    "wrap": (call(wrap_negative_indices=1), TypeError,
             "gather_scatter: wrap_negative_indices=1 is not a bool; pass True or False"),
    "dtype": (call(source=SOURCE.astype("c8")), TypeError,
              "gather_scatter: source has dtype complex64, but data has float64; pass data.astype(source.dtype)"),
    "longer rows": (call(source=np.zeros((3, 17))), ValueError,
                    "gather_scatter: gather(source, source_indices) has shape (2, 17); pass shape (2, 16), or one that "
                    "broadcasts to it"),
    "more axes": (call(source=np.zeros((3, 16, 1))), ValueError,
                  "gather_scatter: gather(source, source_indices) has shape (2, 16, 1); pass shape (2, 16), or one "
                  "that broadcasts to it"),
    "scalar source": (call(source=5.0), ValueError,
                      "gather_scatter: source has shape (), so it has no axis to index; pass reshape(source, (1,))"),
    "scalar data": (call(data=5.0), ValueError,
                    "gather_scatter: data has shape (), so it has no axis to index; pass reshape(data, (1,))"),
    "float indices": (call(np.array([0.0, 1.0])), TypeError,
                      "gather_scatter: indices has dtype float64, but indices are integers of 8 to 64 bits; pass "
                      "indices.astype('int64')"),
    "float source indices": (call(np.array([0, 1]), np.array([0.0, 1.0])), TypeError,
                             "gather_scatter: source_indices has dtype float64, but indices are integers of 8 to 64 "
                             "bits; pass source_indices.astype('int64')"),
    "mask": (call(np.array([0, 1]), np.array([True, False])), TypeError,
             "gather_scatter: source_indices has dtype bool, which makes it a mask; pass the numbers of its true "
             "elements, flatnonzero(source_indices)"),
    "complex": (call(data=DATA.astype("F"), source=SOURCE.astype("F"), reduction="max"), TypeError,
                "gather_scatter: reduction='max' does not support dtype complex64; convert data and gather(source, "
                "source_indices) to one that it supports: bool, int8, int16, int32, int64, uint8, uint16, uint32, "
                "uint64, float16, bfloat16, float32, float64"),
    "shape of out": (call(out=np.zeros((3, 16))), ValueError,
                     "gather_scatter: out has shape (3, 16), but the result has shape (4, 16); pass out of that shape"),
    "dtype of out": (call(out=np.zeros((4, 16), "f4")), TypeError,
                     "gather_scatter: out has dtype float32, but the result has data's dtype float64; pass out of that "
                     "dtype"),
    "one prepared": (call(to), TypeError,
                     "gather_scatter: indices is prepared, and source_indices is not; call prepare for both, or for "
                     "none"),
    "other prepared": (call(source_indices=of), TypeError,
                       "gather_scatter: source_indices is prepared, and indices is not; call prepare for both, or for "
                       "none"),
    "option of prepare": (call(to, of, axis=1), ValueError,
                          "gather_scatter: axis=1 cannot be passed with prepared indices; pass them to prepare"),
    "options of prepare": (call(to, of, mode="clip", wrap_negative_indices=False), ValueError,
                           "gather_scatter: mode='clip' and wrap_negative_indices=False cannot be passed with prepared "
                           "indices; pass them to prepare"),
    "an array as an option": (call(to, of, axis=np.array([0, 0])), ValueError,
                              "gather_scatter: axis=array([0, 0]) cannot be passed with prepared indices; pass them to "
                              "prepare"),
    "prepared pairs": (call(to, gs.prepare("gather", (3,), [0, 2, 1])), ValueError,
                       "gather_scatter: indices has shape (2,) and source_indices has shape (3,); they are pairs, so "
                       "pass arrays of one shape"),
    "source not of prepare": (call(to, of, source=DATA), ValueError,
                              "gather_scatter: source has shape (4, 16), but the source_indices were prepared for "
                              "shape (3,); pass source whose shape begins with (3,), or call prepare for this shape"),
    "data not of prepare": (call(to, of, data=SOURCE), ValueError,
                            "gather_scatter: data has shape (3, 16), but the indices were prepared for shape (4,); "
                            "pass data whose shape begins with (4,), or call prepare for this shape"),
})  # fmt: skip
def test_refusals(call, kind, message):
    assert_refused(call, kind, message)


@pytest.mark.usefixtures("_either_way")
def test_options_that_are_the_defaults_go_with_prepared_indices():
    found = call(to, of, axis=np.int64(0), mode="raise", wrap_negative_indices=np.True_)()
    assert_same_bits(found, gs.gather_scatter(DATA, to(), SOURCE, of()))


@pytest.mark.usefixtures("_either_way")
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_a_failed_call_leaves_out_as_it_was(n_threads):
    rng = np.random.default_rng(0)
    data, source = rng.random((200, 24)), rng.random((90, 24))
    indices, rows = rng.integers(0, 200, 700), rng.integers(0, 90, 700)
    for place in (0, 350, 699):
        for bad_to, bad_of in ((200, 0), (0, 90)):
            pair = indices.copy(), rows.copy()
            pair[0][place] += bad_to and 200
            pair[1][place] += bad_of and 90
            name = "indices" if bad_to else "source_indices"
            for target in (data.copy(), np.full((200, 24), 7.0)):
                before = target.copy()
                for given in (data, target):
                    with kernels.forced(n_threads), pytest.raises(IndexError, match=rf": {name}\[{place}\] = "):
                        gs.gather_scatter(given, pair[0], source, pair[1], reduction="add", out=target)
                    assert_same_bits(target, before)
    target = np.full((200, 24), 7.0)
    for words in ({"reduction": "sum"}, {"axis": 5}, {"mode": "no"}, {"include_self": None}):
        with pytest.raises((ValueError, TypeError)):
            gs.gather_scatter(data, indices, source, rows, out=target, **words)
    assert (target == 7).all()


class TestNumbers:
    """Indices as the numbers of slices: by all threads, and as the loop finds them."""

    @in_turn("n_threads", [1, 2, 3, 8])
    @in_turn("mode", ["raise", "clip", "wrap", "fill", "promise_in_bounds"])
    @pytest.mark.parametrize("dtype", ["i1", "i4", "i8", ">i8"])
    def test_positions(self, mode, dtype, n_threads):
        rng = np.random.default_rng(0)
        for size, n in ((100, 1), (100, 64), (100, 1000), (7, 5)):
            low, high = (-size, size) if mode in ("raise", "promise_in_bounds") else (-127, 127)
            indices = rng.integers(low, high, n).astype(dtype)
            wrapped = np.where(indices < 0, indices.astype(int) + size, indices)
            expected = {
                "clip": np.clip(wrapped, 0, size - 1),
                "wrap": wrapped % size,
                "fill": np.where((wrapped < 0) | (wrapped >= size), -1, wrapped),
            }.get(mode, wrapped)
            plan = plans.gather(GATHER, (size, 3), (n,), 0, 0, mode)
            with kernels.forced(n_threads):
                assert_same_bits(kernels.numbers(plan, indices), expected.astype("i4"))

    @pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
    def test_tuples_batches_and_elements(self, n_threads):
        rng = np.random.default_rng(0)
        with kernels.forced(n_threads):
            tuples = np.stack([rng.integers(-n, n, (3, 50)) for n in (4, 5)], axis=-1)
            plan = plans.gather(GATHER_ND, (4, 5, 6), tuples.shape, 0, 0, "raise")
            assert_same_bits(kernels.numbers(plan, tuples), (tuples % [4, 5] @ [5, 1]).astype("i4"))
            plan = plans.gather(GATHER_ND, (3, 4, 5), tuples.shape, 0, 1, "raise")
            assert_same_bits(kernels.numbers(plan, tuples), (tuples % [4, 5] @ [5, 1]).astype("i4"))
            indices = rng.integers(-9, 9, (3, 40))
            plan = plans.gather(GATHER, (3, 2, 9), indices.shape, 2, 1, "raise")
            assert_same_bits(kernels.numbers(plan, indices), (indices % 9).astype("i4"))
            plan = plans.gather(GATHER_ELEMENTS, (3, 9), indices.shape, 1, 0, "raise")
            assert_same_bits(kernels.numbers(plan, indices), (indices % 9).astype("i4"))
            plan = plans.gather(GATHER, (2**31 + 8, 1), (2,), 0, 0, "raise")
            assert_same_bits(kernels.numbers(plan, np.array([-1, 5])), np.array([2**31 + 7, 5]))

    @pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
    def test_the_first_bad_index(self, n_threads):
        """Of all threads' parts, whichever thread is first."""
        indices = np.zeros((10, 100), np.int64)
        for places in ([0], [999], [1, 999], [499, 501], [130, 700, 998]):
            bad = indices.copy()
            bad.reshape(-1)[places] = 50
            where = f"{places[0] // 100}, {places[0] % 100}"
            plan = plans.gather(GATHER, (50,), bad.shape, 0, 0, "raise")
            with kernels.forced(n_threads), pytest.raises(IndexError, match=rf"gather: indices\[{where}\] = 50 is"):
                kernels.numbers(plan, bad)
        tuples = np.zeros((500, 2), np.int64)
        tuples[[301, 400], 1] = 8
        plan = plans.gather(GATHER_ND, (3, 8), tuples.shape, 0, 0, "raise")
        with kernels.forced(n_threads), pytest.raises(IndexError, match=r"gather_nd: indices\[301\] = \(0, 8\) is"):
            kernels.numbers(plan, tuples)

    def test_arrays_that_do_not_fit_the_plan(self):
        ids, indices = kernels.row_ids((5,)), np.zeros(6, np.int64)
        short, wide = np.empty(6, "i4"), np.empty(12, "i4")
        others = short.view("i2")[:6], short.view("u4"), wide[::2]
        for start, numbers in ((1, short), (-1, short), *((0, other) for other in others)):
            status = kernel.resolve(1, ids, indices, 0, 0, kernels.MODES["raise"], True, start, numbers, 2)
            assert status == kernels.INCONSISTENT

    def test_numbers_that_are_known_are_not_made_again(self):
        """The indices of a prepared object are numbers already."""
        given = np.random.default_rng(0).integers(0, 50, 400)
        prepared = gs.prepare("gather", (50,), given)
        plan = plans.gather(GATHER, (50, 3), (400,), 0, 0, "raise")
        assert kernels.numbers(plan, prepared._indices) is not prepared._indices
        assert kernels.numbers(plan._replace(orders=prepared._orders), prepared._indices) is prepared._indices


def test_out_whose_elements_share_memory():
    """Named by the function that was called, whether its indices are prepared or not."""
    out = np.lib.stride_tricks.as_strided(np.zeros(16), DATA.shape, (0, 8))
    for indices in ([0, 1], [0, 2]), (to(), of()):
        with pytest.raises(ValueError, match="gather_scatter: elements of out share memory"):
            gs.gather_scatter(DATA, indices[0], SOURCE, indices[1], out=out)


class TestSourceThatChanges:
    """The kernel reads no memory outside of the source, whatever happened since its indices were checked."""

    N = 40_000

    def test_numbers_that_are_no_rows(self):
        """As in a damaged pickle of prepared indices."""
        pair = gs.prepare("scatter", (self.N,), np.arange(self.N))
        make, (_, *others) = pair.__reduce__()
        damaged = make(np.full(self.N, 2_000_000_000, np.int32), *others)
        data, out = np.ones((self.N, 16), np.float32), np.zeros((self.N, 16), np.float32)
        with pytest.raises(RuntimeError, match="changed during the call"):
            gs.gather_scatter(data, pair, data, damaged, reduction="add", out=out)
        assert not out.any()

    def test_source_that_shrinks(self, monkeypatch):
        source, data = np.ones((self.N, 16), np.float32), np.zeros((4, 16), np.float32)
        numbers = kernels.numbers

        def shrink(*arguments):
            found = numbers(*arguments)
            source.resize((10, 16), refcheck=False)
            return found

        monkeypatch.setattr(kernels, "numbers", shrink)
        with pytest.raises(RuntimeError, match="changed during the call"):
            gs.gather_scatter(data, np.arange(self.N) % 4, source, np.arange(self.N), reduction="add")
