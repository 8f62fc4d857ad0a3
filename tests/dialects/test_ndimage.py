"""gatherscatter.ndimage: the measurements of labelled arrays, drawn beside scipy.ndimage, what it refuses, and each row
of docs/differences.md.
"""

import inspect
import re
import warnings
from pathlib import Path

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused, each_refused
from gatherscatter import ndimage as ours
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage as scipys

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
NAN = np.nan
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4")
DTYPES = ("bool", *INTEGERS, "float16", "float32", "float64", ">f4")
MEASUREMENTS = [name for name in ours.__all__ if name not in ("histogram", "labeled_comprehension")]
OF_PLACES = ("minimum_position", "maximum_position", "extrema")


def measured(module, name, *arguments):
    """A measurement of SciPy warns of what it divides by 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(module, name)(*arguments)


def same(found, expected, rtol=0):
    """Equal results of one type, the numbers up to rounding."""
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, rtol)
    elif expected is None or getattr(expected, "dtype", np.dtype(int)).hasobject:
        assert np.shape(found) == np.shape(expected)
        for one, other in zip(np.ravel(found), np.ravel(expected), strict=True) if expected is not None else ():
            same(one, other)
        assert (found is None) == (expected is None)
    else:
        assert found.dtype == expected.dtype.newbyteorder("=")
        assert np.isscalar(found) == np.isscalar(expected)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@st.composite
def images(draw, dtypes=DTYPES, distinct=False):
    """An array, labels that broadcast to it, and an index in one of its forms."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    size, dtype = int(np.prod(shape)), np.dtype(draw(st.sampled_from(dtypes)))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    values = rng.permutation(size) if distinct else rng.integers(0 if dtype.kind in "bu" else -9, 9, size)
    image = (values / (4 if dtype.kind == "f" else 1)).astype(dtype).reshape(shape)  # whose sums are exact
    if draw(st.booleans()):
        image = np.asarray(image.T.copy().T)
    form = draw(st.sampled_from(["none", "positive", "scalar", "list", "array"]))
    if form == "none":
        return image, None, None
    kind = np.dtype(draw(st.sampled_from(("bool", *INTEGERS, "float32", "float64"))))
    few = [0, 1, 2, 3, 4] if kind.kind in "bu" else [-2, 0, 1, 2, 3, 5]
    far = [0, 7, 1 << 40, (1 << 40) + 3] if kind.itemsize == 8 else few
    names = np.array(draw(st.sampled_from([few, far]))).astype(kind)
    sizes = shape[draw(st.integers(0, len(shape))) :]
    sizes = tuple(draw(st.sampled_from([1, n])) for n in sizes)
    labels = rng.choice(names, sizes)
    if form == "positive":
        return image, labels, None
    absent = [9, 100] if form == "array" else [9]
    known = st.sampled_from([*names.astype("int64").tolist(), *absent])
    if form == "scalar":
        return image, labels, draw(known)
    listed = draw(st.lists(known, min_size=1, max_size=6))
    if form == "list":
        return image, labels, listed
    index = np.array(listed, draw(st.sampled_from(["int64", "float64"])))
    return image, labels, index[None] if draw(st.booleans()) else index


def compare(name, image, labels, index):
    try:
        expected = measured(scipys, name, image, labels, index)
    except ValueError:  # one group without an element
        with pytest.raises(ValueError, match=f"{name}: no label is"):
            measured(ours, name, image, labels, index)
        return
    if name == "median" and np.ndim(index):  # that of a label without elements is any element
        expected = np.where(np.isin(index, labels), expected, np.array(NAN, expected.dtype))
    rtol = 0 if name not in ("mean", "variance", "standard_deviation") else 1e-2 if image.dtype == "float16" else 1e-6
    same(getattr(ours, name)(image, labels, index), expected, rtol)


@pytest.mark.parametrize("name", [name for name in MEASUREMENTS if name not in OF_PLACES])
@given(drawn=images())
def test_measurements_are_scipys(name, drawn):
    compare(name, *drawn)


@pytest.mark.parametrize("name", OF_PLACES)
@given(drawn=images(DTYPES[1:], distinct=True))
def test_places_are_scipys(name, drawn):
    compare(name, *drawn)


@given(drawn=images(), low=st.integers(-9, 3), span=st.integers(0, 9), bins=st.integers(1, 7))
def test_histograms_are_scipys(drawn, low, span, bins):
    image, labels, index = drawn
    if index is not None and np.dtype(labels.dtype).kind != "f":  # SciPy refuses those that labels cannot be
        kept = np.asarray(index)[np.asarray(index).astype(labels.dtype) == index]
        index = kept if np.ndim(index) and kept.size else kept.tolist()[0] if kept.size else 1
    if np.ndim(index) > 1:  # which SciPy's histogram does not take
        index = np.ravel(index)
    call = image, low, low + span, bins, labels, index
    same(measured(ours, "histogram", *call), measured(scipys, "histogram", *call))


@pytest.mark.parametrize("low", [0.1, -1e9, -3e-310])
def test_bins_whose_edges_are_rounded(low):
    """Each edge, and the numbers next to it, of bins whose width no float holds, or none that is normal."""
    for bins, width in ((7, 0.9), (1000, 1e9), (49, 1.0), (3, 5e-310)):
        edges = np.linspace(low, low + width, bins + 1)
        image = np.concatenate([edges, np.nextafter(edges, -1e300), np.nextafter(edges, 1e300), [NAN, np.inf, -np.inf]])
        labels = np.ones(image.size, np.int8)
        found = ours.histogram(image, low, low + width, bins, labels, [1])[0]
        np.testing.assert_array_equal(found, scipys.histogram(image, low, low + width, bins, labels, [1])[0])


# Arrays of more elements, whose labels are looked up in each of the ways that there are.
LABELS = {
    "from 0 on": (np.arange(50), "int32"),
    "far from 0": (np.arange(50) + 100_000, "int32"),
    "negative": (np.arange(50) - 25, "int8"),
    "all of 8 bits": (np.arange(-128, 128), "int8"),
    "apart": (np.arange(50) * 100, "uint16"),
    "apart and negative": (np.arange(50) * 100 - 2500, "int64"),
    "the greatest": (np.arange(50, dtype="uint64") + np.uint64(2**64 - 50), "uint64"),
    "the least and the greatest": (np.array([-(2**63), -1, 0, 2**63 - 1]), "int64"),
    "hashes": (np.random.default_rng(1).integers(-(2**63), 2**63, 50), "int64"),
    "bools": (np.array([0, 1]), "bool"),
    "floats": (np.arange(50) / 4, "float32"),
    "floats with NaN": (np.array([NAN, -np.inf, 0, 0.5, np.inf]), "float64"),
    "of the other byte order": (np.arange(50) * 7, ">i4"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind(kind):
    """All labels that there are, most of them, and some that are not."""
    rng = np.random.default_rng(0)
    names, dtype = LABELS[kind]
    names = names.astype(dtype)
    labels, image = rng.choice(names, (80, 75)), rng.permutation(6000).reshape(80, 75)
    for index in (names, rng.permutation(names)[: len(names) // 2 + 1], np.append(names, names[:1] + names[-1:])):
        members = [image[labels == one] for one in index]
        count = np.array([part.size for part in members])
        assert (ours.sum_labels(image, labels, index) == [part.sum() for part in members]).all()
        extremes = ours.extrema(image, labels, index)
        assert extremes[0].tolist() == [part.min() if part.size else 0 for part in members]
        assert extremes[1].tolist() == [part.max() if part.size else 0 for part in members]
        assert [image[at] for at, n in zip(extremes[3], count, strict=True) if n] == extremes[1][count > 0].tolist()
        counts = ours.histogram(image, 0, 6000, 3, labels, index)
        assert [0 if one is None else one.sum() for one in counts] == count.tolist()


def test_numbers_between_two_that_a_float_holds():
    labels = np.array([2**53, 2**53 + 1, 2**63, 2**63 + 1], np.uint64)
    assert ours.sum_labels([1.0, 2.0, 4.0, 8.0], labels, labels[::-1]).tolist() == [8, 4, 2, 1]
    assert ours.sum_labels([1.0, 2.0, 4.0, 8.0], labels, [-1, 2**53]).tolist() == [0, 1]


def test_labels_that_their_dtype_lacks():
    labels = np.array([255, 1], np.uint8)
    assert ours.sum_labels([1.0, 2.0], labels, [-1, 255, 511, 257, NAN]).tolist() == [0, 1, 0, 0, 0]
    assert ours.sum_labels([1.0, 2.0], labels, 511) == 0


@pytest.mark.parametrize("index", [[1, 5], np.array([[2.0]]), []])
def test_arrays_without_elements(index):
    image, labels = np.zeros((0, 3), np.float32), np.zeros((0, 3), int)
    shape = np.shape(index)
    assert ours.sum_labels(image, labels, index).tolist() == np.zeros(shape).tolist()
    assert np.isnan(ours.mean(image, labels, index)).all()
    assert ours.maximum(image, labels, index).dtype == np.float32
    assert ours.histogram(image, 0, 1, 2, labels, index).shape == shape
    assert ours.center_of_mass([[1.0]], [[1]], []) == []


def test_complex_numbers():
    image, labels = np.array([1 + 2j, 3j, 5], np.complex64), [1, 1, 2]
    for index in (None, 1):
        same(ours.sum_labels(image, labels, index), scipys.sum_labels(image, labels, index))
        for name in ("mean", "variance", "standard_deviation"):
            same(getattr(ours, name)(image, labels, index), getattr(scipys, name)(image, labels, index), 1e-6)
    assert ours.mean(image, labels, [2, 1]).tolist() == [5, 0.5 + 2.5j]
    assert ours.variance(image, labels, [2, 1]).tolist() == [0, 0.5]


def test_an_array_of_one_label_is_a_scalar():
    found = ours.sum_labels([1.0, 2.0], [1, 2], np.array(2))
    assert (found, type(found)) == (2, np.float64)
    assert ours.maximum_position([1.0, 2.0], [1, 2], np.array(2)) == (1,)


def test_signatures_are_scipys():
    for name in ours.__all__:
        mine, theirs = (inspect.signature(getattr(module, name)).parameters for module in (ours, scipys))
        assert [(one.name, one.default) for one in mine.values()] == [(p.name, p.default) for p in theirs.values()]


IMAGE, MARKS = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0, 1], [1, 2]])
NUMBERED = "unique labels are numbered by numpy.unique(labels, return_inverse=True)[1]; pass these"
CASES = {
    "labels of another shape": (
        lambda: ours.mean(IMAGE, [1, 2, 3]),
        ValueError,
        "mean: labels of shape (3,) does not broadcast to input of shape (2, 2); pass a label for each element",
    ),
    "labels that are strings": (
        lambda: ours.sum_labels(IMAGE, [["a", "b"]], "a"),
        TypeError,
        f"sum_labels: labels has dtype <U1, but labels are integers, bools or floats; {NUMBERED}",
    ),
    "an index that is a string": (
        lambda: ours.median(IMAGE, MARKS, ["1"]),
        TypeError,
        f"median: index has dtype <U1, but labels are integers, bools or floats; {NUMBERED}",
    ),
    "a masked array": (
        lambda: ours.variance(np.ma.masked_greater(IMAGE, 2), MARKS),
        TypeError,
        "variance: input is a numpy.ma.MaskedArray, whose mask would have no effect; pass input.data, with the label 0 "
        "where it is masked",
    ),
    "dates": (
        lambda: ours.minimum(IMAGE.astype("M8[s]"), MARKS),
        TypeError,
        "minimum: input has dtype datetime64[s]; pass bools, integers or floats of at most 64 bits",
    ),
    "extremes of complex numbers": (
        lambda: ours.extrema(IMAGE * 1j, MARKS),
        TypeError,
        "extrema: input has dtype complex128, which has no order; pass input.real or abs(input)",
    ),
    "one label without an element": (
        lambda: ours.minimum(IMAGE, MARKS, 7),
        ValueError,
        "minimum: no label is index=7, and there is no minimum of nothing; pass index=[7], which gives 0",
    ),
    "no label above 0": (
        lambda: ours.maximum_position(IMAGE, -MARKS),
        ValueError,
        "maximum_position: no label is above 0, and there is no maximum_position of nothing; pass index=[1], which "
        "gives 0",
    ),
    "no element at all": (
        lambda: ours.extrema([]),
        ValueError,
        "extrema: input is empty, and there is no extrema of nothing; pass input with elements",
    ),
    "bins that are no integer": (
        lambda: ours.histogram(IMAGE, 0, 1, 2.5),
        TypeError,
        "histogram: bins=2.5 is not an integer; pass an int",
    ),
    "no bins": (
        lambda: ours.histogram(IMAGE, 0, 1, 0),
        ValueError,
        "histogram: bins=0 is below 1; pass the number of bins",
    ),
    "bounds that decrease": (
        lambda: ours.histogram(IMAGE, 2, 1, 3),
        ValueError,
        "histogram: min=2 and max=1 bound no range; pass finite numbers, the lower one first",
    ),
    "an index without labels": (
        lambda: ours.histogram(IMAGE, 0, 1, 3, index=2),
        ValueError,
        "histogram: index=2 selects labels, but labels is None; pass labels, or no index",
    ),
    "a function for each label": (
        lambda: ours.labeled_comprehension(IMAGE, MARKS, [1, 2], np.mean, float, 0),
        NotImplementedError,
        "labeled_comprehension: a Python function is not called for each label; call gatherscatter.segment_reduce, "
        'which has most reductions, or with rows = gatherscatter.prepare("segment", input.shape, labels) take the '
        "elements of each label as numpy.split(input.reshape(-1)[rows.order], rows.indptr[1:-1])",
    ),
}


@each_refused(CASES)
def test_refused(call, kind, message):
    assert_refused(call, kind, message)


# The rows of docs/differences.md


def test_difference_nan_wins():
    image, labels = [NAN, 1.0, 2.0], [1, 1, 1]
    assert scipys.minimum(image, labels, [1]) == 1
    assert np.isnan(ours.minimum(image, labels, [1]))
    assert scipys.minimum_position(image, labels, [1]) == [(1,)]
    assert ours.minimum_position(image, labels, [1]) == [(0,)]
    assert scipys.median(image, labels, [1]) == 2
    assert np.isnan(ours.median(image, labels, [1]))
    with pytest.raises(IndexError):
        scipys.maximum_position(image, labels)
    assert ours.maximum_position(image, labels) == ours.maximum_position(image, labels, [1])[0] == (0,)


def test_difference_the_first_of_equals():
    assert scipys.maximum_position([5, 5], [1, 1], [1]) == [(1,)]
    assert scipys.maximum_position([5, 5], [1, 1], 1) == (0,)
    assert ours.maximum_position([5, 5], [1, 1], [1]) == [(0,)]
    assert ours.extrema([5, 5], [1, 1], 1)[2:] == ((0,), (0,))


def test_difference_medians_of_absent_labels():
    assert scipys.median([5.0, 7.0], [1, 1], [3]) == 5
    assert np.isnan(ours.median([5.0, 7.0], [1, 1], [3]))


def test_difference_means_of_one_group():
    near = (1e4 + np.random.default_rng(0).random((256, 256))).astype("f4")
    one = np.ones_like(near, int)
    exact = near.mean(dtype=float)
    assert abs(scipys.mean(near, one, 1) - exact) > 1e-5
    assert ours.mean(near, one, 1) == pytest.approx(exact, abs=1e-9)
    with np.errstate(all="ignore"):
        assert scipys.mean(near.astype("f2"), one, 1) == np.inf
    assert ours.mean(near.astype("f2"), one, 1) == pytest.approx(1e4, abs=8)


def test_difference_labels_are_numbers():
    assert scipys.sum_labels([1.0, 2.0], np.array(["a", "b"]), "b") == 2
    with pytest.raises(TypeError):
        ours.sum_labels([1.0, 2.0], np.array(["a", "b"]), "b")


def test_difference_fractions():
    assert scipys.sum_labels([1.0, 2.0], [1, 1], [1.5]) == 3
    assert ours.sum_labels([1.0, 2.0], [1, 1], [1.5]) == ours.sum_labels([1.0, 2.0], [1, 1], 1.5) == 0


def test_difference_labels_that_their_dtype_lacks():
    call = [1.0, 2.0], 0, 3, 3, np.array([1, 1], np.uint8), [-1]
    with pytest.raises(ValueError, match="precision"):
        scipys.histogram(*call)
    assert ours.histogram(*call).tolist() == [None]


def test_difference_more_labels_than_elements():
    image, labels = np.array([[1.0], [2.0]]), np.array([[1, 2], [2, 1]])
    with pytest.raises(IndexError):
        scipys.maximum_position(image, labels, 1)
    assert ours.maximum_position(image, labels, 1) == (1, 1)
    assert scipys.center_of_mass(image, labels, 2) == (2 / 3, 0)
    assert ours.center_of_mass(image, labels, 2) == (2 / 3, 1 / 3)


def test_difference_arrays_without_elements():
    with pytest.raises(ValueError, match="zero-size"):
        scipys.sum_labels(np.zeros(0), np.zeros(0, int), [1])
    assert ours.sum_labels(np.zeros(0), np.zeros(0, int), [1]) == 0


def test_difference_complex_numbers():
    with pytest.raises(TypeError):
        scipys.sum_labels([1j, 2j], [1, 1], [1])
    assert ours.sum_labels([1j, 2j], [1, 1], [1]) == 3j
    assert scipys.maximum([1j, 2j]) == 2j
    with pytest.raises(TypeError):
        ours.maximum([1j, 2j])


def test_difference_other_dtypes():
    for image in (np.array([1, 2], "M8[s]"), np.array([1, 2], np.longdouble)):
        scipys.maximum(image, [1, 2], [1])
        if image.dtype != np.float64:  # as on Windows
            with pytest.raises(TypeError):
                ours.maximum(image, [1, 2], [1])


def test_difference_masked_arrays():
    image = np.ma.masked_array([1.0, 2.0], [False, True])
    assert scipys.sum_labels(image, [1, 1], [1]) == 3
    with pytest.raises(TypeError):
        ours.sum_labels(image, [1, 1], [1])


def test_difference_warnings():
    with pytest.warns(RuntimeWarning):
        scipys.mean([1.0], [1], [2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(ours.mean([1.0], [1], [2]))
        assert np.isnan(ours.center_of_mass([0.0], [1], 1)).all()
        assert np.isnan(ours.variance([1.0], [1], 2))


def test_difference_no_function_is_called():
    assert scipys.labeled_comprehension([1, 2], [1, 1], [1], len, int, 0) == 2
    with pytest.raises(NotImplementedError):
        ours.labeled_comprehension([1, 2], [1, 1], [1], len, int, 0)


def test_every_difference_is_on_the_page():
    section = PAGE.read_text(encoding="utf-8").partition("\n## SciPy\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert rows == [name.removeprefix("test_difference_") for name in globals() if name.startswith("test_difference_")]


def test_other_functions_are_scipys():
    with pytest.raises(AttributeError, match=r"'label'; it has SciPy's measurements .* from scipy\.ndimage"):
        ours.label  # noqa: B018


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8"])
def test_table_of_the_page(dtype):
    """Each line of docs/ndimage.md, for labels from 0 on, of which some are absent."""
    page = (Path(__file__).parents[2] / "docs" / "ndimage.md").read_text(encoding="utf-8")
    rng = np.random.default_rng(0)
    V, L, K = rng.integers(0, 200, (7, 9)).astype(dtype), rng.choice([0, 1, 2, 5], (7, 9)), np.array([5, 1, 2])
    low, high, bins = 0, 100, 4
    B = (V * (bins / high)).astype(int)
    inside = high >= V
    B[high == V] = bins - 1
    names = {
        **{name: getattr(gs, name) for name in ("segment_reduce", "bincount", "prepare")},
        **{"np": np, "V": V, "L": L, "N": L.max() + 1, "K": K, "bins": bins, "B": B, "inside": inside},
    }
    rows = re.findall(r"^\| `(\w+)\(V, .*?\| `(.*?)`", page, re.MULTILINE)
    assert len(rows) == 9
    for name, code in rows:
        if name in ("sum_labels", "mean", "variance", "standard_deviation", "median", "minimum", "center_of_mass"):
            np.testing.assert_allclose(eval(code, names), getattr(ours, name)(V, L, K), rtol=1e-12)
        elif name == "minimum_position":
            found = np.transpose(eval(code, names)).tolist()
            assert found == [list(place) for place in ours.minimum_position(V, L, K)]
        elif name == "histogram":
            expected = np.stack(list(ours.histogram(V, low, high, bins, L, K)))
            np.testing.assert_array_equal(eval(code, names), expected)
