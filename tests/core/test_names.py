"""Names of other libraries: the error says what the call is here."""

import subprocess
import sys

import gatherscatter as gs
import numpy as np
import pytest
from assertions import assert_refused
from pairwise import in_turn

CALLS = {
    "scatter_add": "scatter_elements(data, indices, updates, reduction='add'), or of slices scatter",
    "scatter_max": "scatter_elements(data, indices, updates, reduction='max'), or of slices scatter",
    "scatter_argmax": "segment_reduce(data, segment_ids, reduction='argmax')",
    "scatter_std": "segment_reduce(data, segment_ids, reduction='std')",
    "scatter_softmax": "segment_softmax(data, segment_ids)",
    "scatter_nd_add": "scatter_nd(data, indices, updates, reduction='add')",
    "tensor_scatter_nd_update": "scatter_nd(data, indices, updates, reduction='none')",
    "segment_sum": "segment_reduce(data, segment_ids, reduction='add')",
    "unsorted_segment_mean": "segment_reduce(data, segment_ids, reduction='mean')",
    "segment_csr": "segment_reduce(data, indptr=indptr, reduction='add')",
    "segment_max_csr": "segment_reduce(data, indptr=indptr, reduction='max')",
    "segment_median": "segment_reduce(data, segment_ids, reduction='median')",
    "percentile": "segment_quantile(data, q, segment_ids), with q from 0 to 1",
    "argsort": "segment_argsort(data, segment_ids)",
    "index_add": "scatter(data, indices, updates, axis=axis, reduction='add')",
    "take": "gather(data, indices, axis=axis)",
    "put": "at(x)[index].set(values)",
    "cumsum": "segment_scan(data, segment_ids)",
    "cumcount": 'segment_scan(data, segment_ids, reduction="count", exclusive=True)',
}


@in_turn("name", CALLS)
def test_functions(name):
    with pytest.raises(AttributeError) as caught:
        getattr(gs, name)
    assert str(caught.value) == f"module 'gatherscatter' has no attribute {name!r}; call gs.{CALLS[name]}"


def test_the_module_that_imports_pytorch():
    program = "import gatherscatter as gs; gs.torch_scatter"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1] == (
        "AttributeError: module 'gatherscatter' has no attribute 'torch_scatter'; it imports PyTorch, so import it by "
        "name: from gatherscatter import torch_scatter"
    )


@pytest.mark.parametrize("name", ["frobnicate", "scatter_frobnicate", "__wrapped__", "segment_"])
def test_other_names(name):
    with pytest.raises(AttributeError) as caught:
        getattr(gs, name)
    assert str(caught.value) == f"module 'gatherscatter' has no attribute {name!r}"


WORDS = {
    "ddof": (1, "ddof= is correction= here"),
    "skip_nan": (True, "skip_nan= is skipna= here"),
    "dim_size": (3, "dim_size= is num_segments= here"),
    "dim": (0, "dim= is axis= here"),
    "reduce": ("sum", "reduce= is reduction= here"),
    "sorted": (True, "sorted= has no meaning here; omit it"),
}


@pytest.mark.parametrize("word", WORDS)
def test_arguments_of_segments(word):
    value, message = WORDS[word]
    with pytest.raises(TypeError) as caught:
        gs.segment_reduce(np.zeros(2), [0, 1], **{word: value})
    assert str(caught.value) == f"segment_reduce: {message}"


def test_arguments_of_quantiles():
    with pytest.raises(TypeError) as caught:
        gs.segment_quantile(np.zeros(2), 0.5, [0, 1], interpolation="lower")
    assert str(caught.value) == "segment_quantile: interpolation= is method= here"


def test_reductions_of_segments():
    assert_refused(
        lambda: gs.scatter(np.zeros(2), [0, 1], [1.0, 2.0], reduction="argmax"),
        ValueError,
        "scatter: reduction='argmax' is not one of 'none', 'add', 'mul', 'max', 'min', 'mean'; call segment_reduce",
    )
