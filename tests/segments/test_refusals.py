"""Calls of segments that are refused: one sentence with the value and the fix; `out` stays as it was."""

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused
from gatherscatter.backends import kernels
from pairwise import in_turn

DATA, IDS = np.arange(6.0), np.array([0, 1, 1, -1, 2, 0])

CASES = {
    "no ids": (
        lambda: gs.segment_reduce(DATA),
        TypeError,
        "segment_reduce: segment_ids and indptr are missing; pass one of them",
    ),
    "both": (
        lambda: gs.segment_reduce(DATA, IDS, indptr=[0, 6]),
        TypeError,
        "segment_reduce: both segment_ids and indptr are given; pass one of them",
    ),
    "labels": (
        lambda: gs.segment_reduce(DATA[:2], ["a", "b"]),
        TypeError,
        "segment_reduce: segment_ids has dtype <U1, but ids are integers of 8 to 64 bits from 0 on; ids of labels are "
        "numpy.unique(labels, return_inverse=True)[1]; pass these",
    ),
    "floats": (
        lambda: gs.segment_softmax(DATA, IDS * 1.0),
        TypeError,
        "segment_softmax: segment_ids has dtype float64, but ids are integers of 8 to 64 bits from 0 on; ids that are "
        "whole numbers are segment_ids.astype('int64'); pass these",
    ),
    "labels, some of them missing": (
        lambda: gs.segment_reduce(DATA, np.array(["owl"] * (len(DATA) - 1) + [None])),
        TypeError,
        "segment_reduce: segment_ids has dtype object, but ids are integers of 8 to 64 bits from 0 on; ids of labels, "
        "of which some may be missing, are pandas.factorize(labels)[0]; pass these",
    ),
    "a variance of dates": (
        lambda: gs.segment_reduce(DATA.astype("M8[D]"), IDS, reduction="var", skipna=True),
        TypeError,
        "segment_reduce: reduction='var' does not support dtype datetime64[D]; it takes numbers: pass "
        "(data - numpy.datetime64(0, 's')) / numpy.timedelta64(1, 's'), in which NaT is NaN",
    ),
    "a sum of dates": (
        lambda: gs.segment_reduce(DATA.astype("M8[ns]"), IDS),
        TypeError,
        "segment_reduce: reduction='add' does not support dtype datetime64[ns]; it takes numbers and durations: pass "
        "(data - numpy.datetime64(0, 's')) / numpy.timedelta64(1, 's'), in which NaT is NaN",
    ),
    "a product of durations": (
        lambda: gs.segment_reduce(DATA.astype("m8[ns]"), IDS, reduction="mul"),
        TypeError,
        "segment_reduce: reduction='mul' does not support dtype timedelta64[ns]; it takes numbers: pass "
        "data / numpy.timedelta64(1, 's'), in which NaT is NaN",
    ),
    "medians of dates as floats": (
        lambda: gs.segment_reduce(DATA.astype("M8[D]"), IDS, reduction=("median", "count"), dtype="f8"),
        TypeError,
        "segment_reduce: dtype='f8', but results of dates have data's dtype, datetime64[D]; pass no dtype, and convert "
        "them",
    ),
    "a huge id": (
        lambda: gs.segment_reduce(DATA[:2], [0, 1 << 40]),
        ValueError,
        "segment_reduce: the greatest of 2 ids is 1099511627776, so that there would be 1099511627777 segments; pass "
        "num_segments= if that is meant; ids of labels are numpy.unique(labels, return_inverse=True)[1]; pass these",
    ),
    "another length": (
        lambda: gs.segment_reduce(DATA, IDS[:4]),
        ValueError,
        "segment_reduce: segment_ids has shape (4,); with axis=0 and batch_dims=0 it has one id for each position of "
        "data of shape (6,): pass shape (6,)",
    ),
    "a reduction of another name": (
        lambda: gs.segment_reduce(DATA, IDS, reduction="sum"),
        ValueError,
        "segment_reduce: reduction='sum' is not one of 'add', 'mul', 'max', 'min', 'mean', 'var', 'std', 'any', 'all', "
        "'count', 'first', 'last', 'argmax', 'argmin', 'logsumexp', 'median', 'nunique'; did you mean 'add'?",
    ),
    "size": (
        lambda: gs.segment_reduce(DATA, IDS, reduction="size"),
        ValueError,
        "segment_reduce: reduction='size' is not one of 'add', 'mul', 'max', 'min', 'mean', 'var', 'std', 'any', "
        "'all', 'count', 'first', 'last', 'argmax', 'argmin', 'logsumexp', 'median', 'nunique'; did you mean 'count'?",
    ),
    "a mode of indices": (
        lambda: gs.segment_reduce(DATA, IDS, mode="wrap"),
        ValueError,
        "segment_reduce: mode='wrap' is not for segment ids, of which a negative one means no segment; pass one of "
        "'raise', 'drop', 'promise_in_bounds'",
    ),
    "a maximum of nothing": (
        lambda: gs.segment_reduce(DATA.astype(int), IDS, 5, reduction="max"),
        ValueError,
        "segment_reduce: segment 3 has too few elements for reduction='max', and int64 has no NaN to say so; pass "
        "fill_value=",
    ),
    "a complex maximum": (
        lambda: gs.segment_reduce(DATA * 1j, IDS, reduction="argmax"),
        TypeError,
        "segment_reduce: reduction='argmax' does not support dtype complex128; it takes real numbers: convert data",
    ),
    "a dtype without effect": (
        lambda: gs.segment_reduce(DATA, IDS, reduction="max", dtype="f4"),
        ValueError,
        "segment_reduce: dtype='f4' is for reduction= one of 'add', 'mul', 'mean', 'var', 'std', 'logsumexp', "
        "'median', not 'max'; pass no dtype",
    ),
    "a narrow dtype": (
        lambda: gs.segment_reduce(DATA, IDS, dtype=np.int64),
        TypeError,
        "segment_reduce: dtype='int64' cannot hold a result of data of dtype float64; pass a dtype of its kind",
    ),
    "pointers that decrease": (
        lambda: gs.segment_reduce(DATA, indptr=[0, 4, 3]),
        ValueError,
        "segment_reduce: indptr[2] = 3 is below the 4 before it; pass sorted pointers",
    ),
    "another number": (
        lambda: gs.segment_reduce(DATA, None, 3, indptr=[0, 4, 6]),
        ValueError,
        "segment_reduce: num_segments=3, but indptr has 2 segments; pass no num_segments",
    ),
    "a negative number": (
        lambda: gs.segment_reduce(DATA, IDS, -1),
        ValueError,
        "segment_reduce: num_segments=-1 is negative; pass 0 or more",
    ),
    "fills": (
        lambda: gs.segment_reduce(DATA, IDS, reduction=("max", "min"), fill_value=(0, 1, 2)),
        ValueError,
        "segment_reduce: fill_value=(0, 1, 2) is not 2 values, one for each reduction; pass None for the default",
    ),
    "a list": (
        lambda: gs.segment_reduce(DATA, IDS, reduction=["add", "max"]),
        TypeError,
        "segment_reduce: reduction=['add', 'max'] is a list; pass a tuple, reduction=('add', 'max')",
    ),
    "an array twice": (
        lambda: gs.segment_reduce(DATA, IDS, reduction=("max", "min"), out=(DATA[:3],) * 2),
        ValueError,
        "segment_reduce: two arrays of out share memory, so one result would overwrite another; pass others",
    ),
    "out of another dtype": (
        lambda: gs.segment_reduce(DATA, IDS, reduction="count", out=DATA[:3]),
        TypeError,
        "segment_reduce: out has dtype float64, but the result has dtype int64; pass out of that dtype",
    ),
    "more segments than memory": (
        lambda: gs.segment_reduce(DATA, IDS, 2**62),
        ValueError,
        "segment_reduce: num_segments=4611686018427387904 is more than an array can hold; pass at most 281474976710656",
    ),
    "more segments than memory, prepared": (
        lambda: gs.prepare("segment", DATA.shape, IDS, 2**70),
        ValueError,
        "segment_reduce: num_segments=1180591620717411303424 is more than an array can hold; pass at most "
        "281474976710656",
    ),
    "a median of complex numbers": (
        lambda: gs.segment_reduce(DATA * 1j, IDS, reduction="median"),
        TypeError,
        "segment_reduce: reduction='median' does not support dtype complex128; it takes real numbers: convert data",
    ),
    "an order of complex numbers": (
        lambda: gs.segment_argsort(DATA * 1j, IDS),
        TypeError,
        "segment_argsort: data has dtype complex128; pass real numbers, bools or dates, which have an order",
    ),
    "quantiles between dates": (
        lambda: gs.segment_quantile(DATA.astype("M8[D]"), 0.5, IDS),
        TypeError,
        "segment_quantile: method='linear' does not support dtype datetime64[D]; pass 'lower', 'higher', 'nearest', or "
        "pass (data - numpy.datetime64(0, 's')) / numpy.timedelta64(1, 's'), in which NaT is NaN",
    ),
    "a percentage": (
        lambda: gs.segment_quantile(DATA, [0.5, 90], IDS),
        ValueError,
        "segment_quantile: q=90 is not within 0 to 1; pass 0.9 for 90 %",
    ),
    "no number": (
        lambda: gs.segment_quantile(DATA, np.array([0.5, np.nan]), IDS),
        ValueError,
        "segment_quantile: q=nan is not within 0 to 1; pass numbers of that range",
    ),
    "a word": (
        lambda: gs.segment_quantile(DATA, "median", IDS),
        TypeError,
        "segment_quantile: q='median' is not a number from 0 to 1; pass one, or an array of one axis of them",
    ),
    "a missing number": (
        lambda: gs.segment_quantile(DATA, [0.5, None], IDS),
        TypeError,
        "segment_quantile: q=[0.5, None] is not a number from 0 to 1; pass one, or an array of one axis of them",
    ),
    "a bool": (
        lambda: gs.segment_quantile(DATA, True, IDS),
        TypeError,
        "segment_quantile: q=True is not a number from 0 to 1; pass one, or an array of one axis of them",
    ),
    "quantiles of two axes": (
        lambda: gs.segment_quantile(DATA, [[0.5]], IDS),
        ValueError,
        "segment_quantile: q has shape (1, 1); pass a number, or an array of one axis of numbers",
    ),
    "another method": (
        lambda: gs.segment_quantile(DATA, 0.5, IDS, method="hazen"),
        ValueError,
        "segment_quantile: method='hazen' is not one of 'linear', 'lower', 'higher', 'nearest', 'midpoint'",
    ),
    "a quantile of nothing": (
        lambda: gs.segment_quantile(DATA.astype(int), 0.5, IDS, 5, method="lower"),
        ValueError,
        "segment_quantile: segment 3 has too few elements for method='lower', and int64 has no NaN to say so; pass "
        "fill_value=",
    ),
    "an out without the axis of q": (
        lambda: gs.segment_quantile(DATA, [0.5, 1], IDS, out=np.zeros(3)),
        ValueError,
        "segment_quantile: out has shape (3,), but the result has shape (2, 3); pass out of that shape",
    ),
    "a word for an order": (
        lambda: gs.segment_argsort(DATA, IDS, descending="yes"),
        TypeError,
        "segment_argsort: descending='yes' is not a bool; pass True or False",
    ),
    "one out": (
        lambda: gs.segment_reduce(DATA, IDS, reduction=("max", "min"), out=DATA),
        TypeError,
        "segment_reduce: out=array([0., 1., 2., 3., 4., 5.]) is not a tuple; pass 2 arrays, one for each reduction",
    ),
}


@in_turn("name", CASES)
def test_refused(name):
    assert_refused(*CASES[name])


def test_categories():
    """Their codes are ids."""
    pd = pytest.importorskip("pandas")
    labels = pd.Categorical(["owl", "hen", None])
    cases = [(labels, "codes"), (pd.CategoricalIndex(labels), "codes"), (pd.Series(labels), "cat.codes.to_numpy()")]
    for ids, codes in cases:
        message = (
            f"segment_reduce: segment_ids is a pandas.{type(ids).__name__}, which is not an array; "
            f"pass segment_ids.{codes}"
        )
        assert_refused(lambda ids=ids: gs.segment_reduce(DATA[:3], ids), TypeError, message)
        assert gs.segment_reduce(DATA[:3], eval(f"ids.{codes}", {"ids": ids})).tolist() == [1, 0]
    message = "segment_reduce: data is a pandas.Categorical, which is not an array; pass data.to_numpy()"
    assert_refused(lambda: gs.segment_reduce(labels, IDS[:3]), TypeError, message)


@pytest.mark.parametrize("reduction", ["add", "argmax", ("max", "count")])
def test_a_bad_id_leaves_out_as_it_was(reduction):
    n = 2 if isinstance(reduction, tuple) else 1
    outs = tuple(np.full(3, 7, "i8" if i or reduction == "argmax" else "f8") for i in range(n))
    ids = np.array([0, 1, 2, 9, 1, 0])
    with pytest.raises(IndexError, match=r"segment_ids\[3\] = 9 is not below num_segments=3; pass num_segments=10"):
        gs.segment_reduce(DATA, ids, 3, reduction=reduction, out=outs if n > 1 else outs[0])
    assert all((out == 7).all() for out in outs)
    found = gs.segment_reduce(DATA, ids, 3, reduction=reduction, mode="drop", out=outs if n > 1 else outs[0])
    assert found is outs[0] or found == outs or all(a is b for a, b in zip(found, outs, strict=True))
    assert not any((out == 7).all() for out in outs)


def test_pointers_beyond_data():
    with pytest.raises(IndexError, match=r"indptr\[1\] = 8 is not within \[0, 6\]"):
        gs.segment_reduce(DATA, indptr=[0, 8])
    with pytest.raises(IndexError, match=r"indptr\[0\] = -1 is not within \[0, 6\]"):
        gs.segment_reduce(DATA, indptr=[-1, 5])


def test_ids_of_any_integer_dtype():
    for dtype in ("i1", "u1", "i2", "u4", "u8", ">i4"):
        ids = np.array([0, 1, 1, 3, 2, 0], dtype)
        assert gs.segment_reduce(DATA, ids).tolist() == [5, 3, 4, 3]
    with pytest.raises(IndexError):
        gs.segment_reduce(DATA, np.array([0, 1, 1, 2**64 - 1, 2, 0], "u8"), 3)
    with pytest.raises(IndexError, match=r"segment_ids\[4\] = 2 is not below num_segments=2; pass num_segments=3"):
        gs.segment_reduce(DATA, IDS, 2)
    assert gs.segment_reduce(np.zeros(0), np.zeros(0, int)).shape == (0,)
    assert gs.segment_reduce([1.0, 2.0], [-1, -1]).shape == (0,)
    assert gs.segment_reduce([1, 2, 3], [0, 0, 1]).tolist() == [3, 3]


@in_turn("reduction", ["add", "max", "count", "var", "logsumexp", ("add", "argmax"), "softmax"])
@pytest.mark.parametrize(("dtype", "n_threads"), [("i8", 1), ("i8", 3), ("i4", 3), ("u2", 1), ("u8", 3)])
@pytest.mark.parametrize("columns", [1, 3])
def test_large_ids_among_many(reduction, dtype, n_threads, columns):
    """They are found while the elements are reduced; `out` keeps what it has."""
    ids = np.arange(20_000) % 50
    ids[[17_000, 19_000]] = 50
    data, ids = np.ones((20_000, columns)), ids.astype(dtype)
    out = None
    if isinstance(reduction, tuple):
        out = tuple(np.full((50, columns), 7, kind) for kind in ("f8", "i8"))
    options = {} if reduction == "softmax" else {"reduction": reduction, "out": out}
    function = gs.segment_softmax if reduction == "softmax" else gs.segment_reduce
    with kernels.forced(n_threads), pytest.raises(IndexError, match=r"segment_ids\[17000\] = 50"):
        function(data, ids, 50, **options)
    assert out is None or all((one == 7).all() for one in out)
    dropped = gs.segment_reduce(data[:, 0], ids, 50, reduction="count", mode="drop")
    np.testing.assert_array_equal(dropped, np.bincount(ids.astype("i8"), minlength=50)[:50])
