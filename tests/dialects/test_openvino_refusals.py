"""OpenVINO's operators: what each version rejects, with the full messages."""

import numpy as np
import pytest
from gatherscatter import openvino
from libraries import EAGER, on_each
from openvino_calls import BATCHES, SQUARE, array, call
from pairwise import in_turn


def one(function, indices, **options):
    """The shortest call of each function with indices for an axis of size 3, as tuples where it takes those."""
    tuples = function in (openvino.gather_nd, openvino.scatter_nd_update)
    arguments = [array([1, 2, 3]), array(indices)[..., None] if tuples else array(indices)]
    if function in (openvino.scatter_nd_update, openvino.scatter_elements_update):
        arguments.append(array([7] * len(indices)))
    if function not in (openvino.gather_nd, openvino.scatter_nd_update):
        arguments.append(0)
    return arguments, options


OUTSIDE = "is out of bounds for data of shape (3,): axis 0 has size 3"
REFUSED_NEGATIVES = [
    (openvino.gather_nd, {"version": 5}, f"openvino.gather_nd: indices[1] = (-1,) {OUTSIDE}, and GatherND-5 "
     "takes no negative index: version=8 counts it from the end"),
    (openvino.gather_elements, {}, f"openvino.gather_elements: indices[1] = -1 {OUTSIDE}, and GatherElements-6 "
     "takes no negative index: add the size along the axis, or use gatherscatter.gather_elements"),
    (openvino.scatter_nd_update, {"version": 3}, f"openvino.scatter_nd_update: indices[1] = (-1,) {OUTSIDE}, and "
     "ScatterNDUpdate-3 takes no negative index: version=15 counts it from the end"),
    (openvino.scatter_elements_update, {"version": 3}, f"openvino.scatter_elements_update: indices[1] = -1 {OUTSIDE}, "
     "and ScatterElementsUpdate-3 takes no negative index: version=12 counts it from the end"),
]  # fmt: skip


@pytest.mark.parametrize("library", on_each(EAGER))
@in_turn(("function", "options", "message"), REFUSED_NEGATIVES)
def test_documents_without_negative_indices_refuse_them(library, function, options, message):
    arguments, options = one(function, [2, -1, 0], **options)
    with pytest.raises(IndexError) as error:
        call(library, function, *arguments, **options)
    assert str(error.value) == message
    arguments, options = one(function, [2, 1, 0], **options)
    call(library, function, *arguments, **options)


@pytest.mark.parametrize("library", on_each(EAGER))
@in_turn(
    ("function", "options"),
    [
        (openvino.gather_nd, {"version": 5}),
        (openvino.gather_nd, {"version": 8}),
        (openvino.gather_elements, {}),
        (openvino.scatter_nd_update, {"version": 3}),
        (openvino.scatter_nd_update, {"version": 15}),
        (openvino.scatter_nd_update, {"reduction": "sub"}),
        (openvino.scatter_elements_update, {"version": 3}),
        (openvino.scatter_elements_update, {"version": 12}),
    ],
)
def test_an_index_past_the_end_is_an_error(library, function, options):
    arguments, options = one(function, [0, 3], **options)
    with pytest.raises(IndexError, match=r"indices\[1\] = (\(3,\)|3) is out of bounds for data of shape \(3,\)"):
        call(library, function, *arguments, **options)


def test_narrow_negative_indices_are_refused_where_their_dtype_cannot_hold_the_size():
    data, indices = np.arange(300), np.array([-1], np.int8)
    with pytest.raises(IndexError, match=r"indices = \(-1,\) is out of bounds.*takes no negative index"):
        openvino.gather_nd(data, indices[:, None][0], version=5)
    with pytest.raises(IndexError, match=r"indices\[0\] = -1 is out of bounds.*takes no negative index"):
        openvino.scatter_elements_update(data, indices, array([0]), 0, version=3)
    assert openvino.gather_nd(data, indices).tolist() == 299


@pytest.mark.parametrize("library", on_each(EAGER))
@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_index_dtypes_are_those_of_the_documents(library, dtype):
    indices = array([2, 0, 1], dtype)
    for version in (7, 8):
        assert call(library, openvino.gather, array([1, 2, 3]), indices, 0, version=version).tolist() == [3, 1, 2]
    for version in (5, 8):
        result = call(library, openvino.gather_nd, array([1, 2, 3]), indices[:, None], version=version)
        assert result.tolist() == [3, 1, 2]
    for version in (3, 12):
        result = call(library, openvino.scatter_elements_update, array([1, 2, 3]), indices, array([7, 8, 9]), 0,
                      version=version)  # fmt: skip
        assert result.tolist() == [8, 9, 7]
    with pytest.raises(TypeError) as error:
        call(library, openvino.gather_elements, array([1, 2, 3]), indices, 0)
    name = library.asarray(indices).dtype
    assert str(error.value) == (
        f"openvino.gather_elements: indices has dtype {name}, but GatherElements-6 takes int32, int64: "
        "convert it to one of these"
    )
    for version in (3, 15):
        with pytest.raises(TypeError) as error:
            call(library, openvino.scatter_nd_update, array([1, 2, 3]), indices[:, None], array([7, 8, 9]),
                 version=version)  # fmt: skip
        assert str(error.value) == (
            f"openvino.scatter_nd_update: indices has dtype {name}, but ScatterNDUpdate-{version} takes int32, int64: "
            "convert it to one of these"
        )


I1 = array([0])
INTEGERS = "int8, int16, int32, int64, uint8, uint16, uint32, uint64"
REFUSALS = [
    (ValueError, lambda: openvino.gather(I1, I1, 0, version=2), "openvino.gather: version=2 is not one of 1, 7, 8"),
    (ValueError, lambda: openvino.gather_nd(I1, I1, version=6), "openvino.gather_nd: version=6 is not one of 5, 8"),
    (ValueError, lambda: openvino.scatter_nd_update(I1, I1, I1, version=4),
     "openvino.scatter_nd_update: version=4 is not one of 3, 15"),
    (ValueError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, version=15),
     "openvino.scatter_elements_update: version=15 is not one of 3, 12"),
    *((ValueError, lambda name=name: openvino.scatter_nd_update(I1, I1, I1, name, version=3),
       f"openvino.scatter_nd_update: version 3 has no reduction={name!r}; it was added in version 15")
      for name in ("sum", "sub", "prod", "min", "max")),
    *((ValueError, lambda name=name: openvino.scatter_elements_update(I1, I1, I1, 0, name, version=3),
       f"openvino.scatter_elements_update: version 3 has no reduction={name!r}; it was added in version 12")
      for name in ("sum", "prod", "min", "max", "mean")),
    (ValueError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, use_init_val=False, version=3),
     "openvino.scatter_elements_update: version 3 has no use_init_val=False; it was added in version 12"),
    (ValueError, lambda: openvino.scatter_nd_update(I1, I1, I1, "mean"),
     "openvino.scatter_nd_update: reduction='mean' is not one of 'none', 'sum', 'sub', 'prod', 'min', 'max'"),
    (ValueError, lambda: openvino.scatter_nd_update(I1, I1, I1, "add", version=3),
     "openvino.scatter_nd_update: reduction='add' is not one of 'none', 'sum', 'sub', 'prod', 'min', 'max'; "
     "did you mean 'sum'?"),
    (ValueError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, "sub"),
     "openvino.scatter_elements_update: reduction='sub' is not one of 'none', 'sum', 'prod', 'min', 'max', 'mean'"),
    (TypeError, lambda: openvino.scatter_nd_update(I1, I1, I1, None),
     "openvino.scatter_nd_update: reduction=None is not a string; did you mean 'none'?"),
    (TypeError, lambda: openvino.scatter_elements_update(I1, I1, I1, 0, use_init_val=1),
     "openvino.scatter_elements_update: use_init_val=1 is not a bool; pass True or False"),
    (TypeError, lambda: openvino.gather(I1, I1, [0, 1]),
     "openvino.gather: axis=[0, 1] is not an integer; pass one axis, or call openvino.gather_nd for several"),
    (TypeError, lambda: openvino.gather_elements(I1, I1, "0"),
     "openvino.gather_elements: axis='0' is not an integer; pass axis=0"),
    (TypeError, lambda: openvino.gather_nd(I1, I1, 0.0),
     "openvino.gather_nd: batch_dims=0.0 is not an integer; pass batch_dims=0"),
    (ValueError, lambda: openvino.gather(BATCHES, I1, 1, -2),
     "openvino.gather: batch_dims=-2 counts back beyond the 1 axes of indices; pass -1 or more"),
    (ValueError, lambda: openvino.gather_elements(SQUARE, array([[0, 1, 1]]), 1),
     "openvino.gather_elements: indices of shape (1, 3) and data of shape (2, 2) differ along axis 0, but may differ "
     "only along axis=1 (gatherscatter.gather_elements takes smaller indices)"),
    (TypeError, lambda: openvino.gather(I1, array([0.0], float), 0),
     f"openvino.gather: indices has dtype float64, but Gather-8 takes {INTEGERS}: convert it to one of these"),
    (TypeError, lambda: openvino.gather_nd(I1, np.array([True]), version=5),
     f"openvino.gather_nd: indices has dtype bool, but GatherND-5 takes {INTEGERS}: convert it to one of these"),
    (TypeError, lambda: openvino.scatter_elements_update(I1, array([0.0], float), I1, 0),
     "openvino.scatter_elements_update: indices has dtype float64, but ScatterElementsUpdate-12 takes "
     f"{INTEGERS}: convert it to one of these"),
    (TypeError, lambda: openvino.scatter_nd_update(I1, I1, array(1.0, float), "sub"),
     "openvino.scatter_nd_update: updates has dtype float64, but data has int64; pass data.astype(updates.dtype)"),
    (TypeError, lambda: openvino.gather(None, I1, 0), "openvino.gather: data is None; pass an array"),
]  # fmt: skip


@in_turn(("kind", "refused", "message"), REFUSALS)
def test_refusals_word_for_word(kind, refused, message):
    with pytest.raises(kind) as error:
        refused()
    assert type(error.value) is kind
    assert str(error.value) == message


def test_bools_have_no_mean():
    with pytest.raises(TypeError, match="reduction='mean' does not support dtype bool"):
        openvino.scatter_elements_update(np.array([True]), I1, np.array([True]), 0, "mean")


def test_batch_axes_have_equal_sizes():
    for version in (5, 8):
        with pytest.raises(ValueError, match="data and indices share their leading sizes"):
            openvino.gather_nd(SQUARE, array([[0]]), 1, version)
