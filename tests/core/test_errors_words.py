"""Error messages for arguments with another library's name, and for options passed by position."""

import inspect

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused, each_refused
from gatherscatter.operators import GATHER_MODES, SCATTER_MODES

D = np.zeros((4, 5))
I = np.array([0, 1])  # noqa: E741
IE = np.zeros((2, 5), int)
U = np.zeros((2, 5))
SIX = (gs.gather, gs.gather_nd, gs.gather_elements, gs.scatter, gs.scatter_nd, gs.scatter_elements)

NAMES = {
    "dim": (lambda: gs.gather(D, I, dim=0), "gather: dim=0 is axis=0 here"),
    "a NumPy axis": (lambda: gs.gather(D, I, dim=np.int64(0)), "gather: dim= is axis= here"),
    "reduce": (
        lambda: gs.scatter(D, I, U, reduce="sum"),
        "scatter: reduce='sum' is reduction='add' here",
    ),
    "reduce, of no reduction": (
        lambda: gs.scatter(D, I, U, reduce="std"),
        "scatter: reduce= is reduction= here",
    ),
    "src": (
        lambda: gs.scatter(D, I, src=U),
        "scatter: src= is updates= here; torch.scatter is scatter_elements",
    ),
    "src, of elements": (lambda: gs.scatter_elements(D, IE, src=U), "scatter_elements: src= is updates= here"),
    "index": (
        lambda: gs.gather(D, index=I),
        "gather: index= is indices= here; torch.gather is gather_elements",
    ),
    "all of torch.gather": (
        lambda: gs.gather_elements(input=D, dim=0, index=IE),
        "gather_elements: input= is data=, dim=0 is axis=0, index= is indices= here",
    ),
    "params": (lambda: gs.gather_nd(params=D, indices=I), "gather_nd: params= is data= here"),
    "value": (lambda: gs.scatter(D, I, value=2.0), "scatter: value=2.0 is updates=2.0 here"),
    "name": (lambda: gs.gather(D, I, name="g"), "gather: name= has no meaning here; omit it"),
    "dim_size": (
        lambda: gs.scatter(U, I, dim=0, dim_size=3, reduce="sum"),
        "scatter: dim_size= is data.shape[axis] here; pass zeros of that size as data, and the values as updates",
    ),
    "shape": (
        lambda: gs.scatter_nd(I, U, shape=(3, 5)),
        "scatter_nd: shape= is data.shape here; pass zeros of that size as data, and the values as updates",
    ),
    "accumulate, an array": (
        lambda: gs.scatter_nd(D, I, U, accumulate=np.ones(2)),
        "scatter_nd: accumulate=array([1., 1.]) is reduction='add' here",
    ),
    "accumulate": (
        lambda: gs.scatter_nd(D, I, U, accumulate=True),
        "scatter_nd: accumulate=True is reduction='add' here",
    ),
    "inplace": (lambda: gs.scatter(D, I, U, inplace=True), "scatter: inplace= is out= here: pass out=data"),
    "an axis of tuples": (
        lambda: gs.gather_nd(D, I, axis=1),
        "gather_nd: there is no axis= here: its tuples index the leading axes of data; for one axis call gather, or "
        "gather_elements",
    ),
    "batch_dims of elements": (
        lambda: gs.scatter_elements(D, IE, U, batch_dims=1),
        "scatter_elements: there is no batch_dims= here: all its axes but axis are shared; omit batch_dims=, or "
        "call scatter",
    ),
    "a gather's reduction": (
        lambda: gs.gather_nd(D, I, reduce="sum"),
        "gather_nd: there is no reduce= here: it is for scatters; call scatter_nd",
    ),
    "a scatter's fill_value": (
        lambda: gs.scatter(D, I, U, fill_value=0),
        "scatter: there is no fill_value= here: it is for gathers; omit fill_value=",
    ),
    "gather_scatter's axis": (
        lambda: gs.gather_scatter(D, I, D, I, dim=0),
        "gather_scatter: dim=0 is axis=0 here",
    ),
    "gather_scatter's accumulate_dtype": (
        lambda: gs.gather_scatter(D, I, D, I, accumulate_dtype="float64"),
        "gather_scatter: there is no accumulate_dtype= here; pass some of data, indices, source, source_indices, "
        "weights, axis, reduction, include_self, mode, wrap_negative_indices, out",
    ),
    "prepare's axis": (lambda: gs.prepare("gather", (3,), I, dim=0), "prepare: dim=0 is axis=0 here"),
    "ONNX's axis": (lambda: gs.onnx.gather(D, I, dim=0), "gather: dim=0 is axis=0 here"),
    "a slip": (lambda: gs.gather(D, I, axs=1), "gather: there is no axs= here; did you mean axis=?"),
}
POSITIONS = {
    "axis": (lambda: gs.gather(D, I, 0), "gather: axis is a keyword: pass axis=0"),
    "axis, of NumPy": (
        lambda: gs.gather_elements(D, IE, np.int8(0)),
        "gather_elements: axis is a keyword: pass axis=0",
    ),
    "axis, too large to show": (
        lambda: gs.gather(D, I, 10**5000),
        "gather: axis is a keyword: pass axis=<int>",
    ),
    "PyTorch's order, too large to show": (
        lambda: gs.gather_elements(D, 10**5000, IE),
        "gather_elements: axis is a keyword: call gather_elements(data, indices, axis=<int>)",
    ),
    "batch_dims": (lambda: gs.gather_nd(D, I, 0), "gather_nd: batch_dims is a keyword: pass batch_dims=0"),
    "reduction": (lambda: gs.scatter_nd(D, I, 1.0, "sum"), "scatter_nd: reduction is a keyword: pass reduction='add'"),
    "mode": (lambda: gs.gather(D, I, "clamp"), "gather: mode is a keyword: pass mode='clip'"),
    "gather_scatter's reduction": (
        lambda: gs.gather_scatter(D, I, D, I, "add"),
        "gather_scatter: reduction is a keyword: pass reduction='add'",
    ),
    "prepare's axis": (
        lambda: gs.prepare("gather", (3,), I, 0),
        "prepare: num_segments=0 is for operator='segment', not 'gather'; pass axis= and other options by keyword",
    ),
    "ONNX's reduction": (
        lambda: gs.onnx.scatter_nd(D, I[:, None], U, "max", opset=18),
        "scatter_nd: reduction is a keyword: pass reduction='max'",
    ),
    "PyTorch's order": (
        lambda: gs.gather(D, 1, I),
        "gather: axis is a keyword: call gather(data, indices, axis=1); torch.gather is gather_elements",
    ),
    "PyTorch's order, scatter": (
        lambda: gs.scatter_elements(D, 0, IE, U),
        "scatter_elements: axis is a keyword: call scatter_elements(data, indices, updates, axis=0)",
    ),
    "PyTorch's order, src": (
        lambda: gs.scatter_elements(D, 0, IE, src=U),
        "scatter_elements: axis is a keyword: call scatter_elements(data, indices, updates, axis=0)",
    ),
}
MISSING = {
    "indices": (lambda: gs.gather(D), "gather: indices is missing; pass an array of integers"),
    "data": (lambda: gs.gather(indices=I), "gather: data is missing; pass an array"),
    "updates": (lambda: gs.scatter(D, I), "scatter: updates is missing; pass an array"),
}
_ND = " or pass stack(indices, axis=-1), for arrays of tuples pass stack(indices)"
ARRAYS = {
    "a tuple": (
        lambda: gs.gather_nd(D, (I, I)),
        f"gather_nd: indices is a tuple of arrays; for one array per axis call gs.at(data)[indices].get(){_ND}",
    ),
    "what numpy.nonzero returns": (
        lambda: gs.scatter_nd(D, np.nonzero(D == 0), 1.0),
        "scatter_nd: indices is a tuple of arrays; for one array per axis call gs.at(data)[indices].set(updates) or "
        f".add(updates){_ND}",
    ),
    "of shapes that broadcast": (
        lambda: gs.gather_nd(D, (I[:, None], I)),
        f"gather_nd: indices is a tuple of arrays; for one array per axis call gs.at(data)[indices].get(){_ND}",
    ),
    "a list": (
        lambda: gs.gather_nd(D, [I, I]),
        "gather_nd: indices is a list of arrays; for one array per axis call gs.at(data)[tuple(indices)].get()" + _ND,
    ),
    "a tuple, along an axis": (
        lambda: gs.gather(D, (I, I)),
        "gather: indices is a tuple of arrays; for one array per axis call gs.at(data)[indices].get(), for one array "
        "of indices pass stack(indices)",
    ),
    "a tuple, of elements": (
        lambda: gs.scatter_elements(D, (I, I), 1.0),
        "scatter_elements: indices is a tuple of arrays; for one array per axis call gs.at(data)[indices]"
        ".set(updates) or .add(updates), for one array of indices pass stack(indices)",
    ),
}
MODES = {
    "wrap_around": ("gather", "wrap"),
    "grid-wrap": ("gather", "wrap"),
    "clamp_to_edge": ("scatter", "clip"),
    "fill_or_drop": ("scatter", "drop"),
    "FILL_OR_DROP": ("gather", "fill"),
}


@each_refused({name: (call, TypeError, text) for name, (call, text) in {**NAMES, **POSITIONS, **MISSING}.items()})
def test_arguments(call, kind, message):
    assert_refused(call, kind, message)


@each_refused({name: (call, TypeError, text) for name, (call, text) in ARRAYS.items()})
def test_several_arrays_as_indices(call, kind, message):
    assert_refused(call, kind, message)


def test_what_has_one_meaning_is_taken():
    data = np.arange(20).reshape(4, 5)
    assert gs.gather_nd(data, (np.array(1), np.int64(2))) == 7
    assert gs.gather_nd(data, (1, 2)) == 7
    assert gs.gather_nd(data, ((1, 2), (0, 1))).tolist() == [7, 1]
    assert gs.gather(data, [I, I], axis=1).shape == (4, 2, 2)  # a list is one array in NumPy's indexing too
    assert gs.gather_elements(data, [I, I]).tolist() == [[0, 6], [0, 6]]
    assert gs.tensorflow.gather_nd(data, [np.array([1, 2]), np.array([0, 1])]).tolist() == [7, 1]


@pytest.mark.parametrize("word", MODES)
def test_modes(word):
    name, meant = MODES[word]
    modes = GATHER_MODES if name == "gather" else SCATTER_MODES
    arguments = (D, I) if name == "gather" else (D, I, 1.0)
    message = f"{name}: mode={word!r} is not one of {', '.join(map(repr, modes))}; did you mean {meant!r}?"
    assert_refused(lambda: getattr(gs, name)(*arguments, mode=word), ValueError, message)


@pytest.mark.parametrize("function", SIX, ids=lambda function: function.__name__)
def test_no_function_takes_what_it_does_not_name(function):
    name = function.__name__
    arguments = (D, IE, U) if "scatter" in name else (D, IE)
    names = ", ".join(inspect.signature(function).parameters)
    message = f"{name}: there is no other= here; pass some of {names}"
    assert_refused(lambda: function(*arguments, other=1), TypeError, message)
    with pytest.raises(TypeError, match=f"^{name}: only data.* may be positional; pass the others by keyword: "):
        function(*arguments, None, None)
    with pytest.raises(TypeError, match=f"^{name}: data is missing; pass an array$"):
        function()


@pytest.mark.parametrize("function", SIX, ids=lambda function: function.__name__)
def test_signatures_show_what_may_be_passed(function):
    parameters = inspect.signature(function).parameters.values()
    assert {p.kind for p in parameters} == {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    required = [p.name for p in parameters if p.default is inspect.Parameter.empty]
    assert required == ["data", "indices", "updates"][: len(required)]
    assert len(required) == (3 if "scatter" in function.__name__ else 2)
