"""The pages of docs/: their examples run, and both calls in a row of the migration guides give the same result."""

import copy
import doctest
import re
import types
import warnings
from pathlib import Path

import gatherscatter as gs
import numpy as np
import pytest
from gatherscatter import torch_scatter

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if "_build" not in page.parts)


def fences(page):
    """The Python blocks of a page, with the number of the line in front of each."""
    text = (DOCS / page).read_text()
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text[: match.start(1)].count("\n"), match[1]


def with_examples():
    """The pages that have examples; those of other libraries need these."""
    for page in PAGES:
        if any(">>>" in block for _, block in fences(page)):
            yield pytest.param(page, marks=[pytest.mark.peers] if page in ("pytorch-geometric.md", "flox.md") else [])


@pytest.mark.usefixtures("dask_in_this_thread")
@pytest.mark.parametrize("page", with_examples())
def test_examples_run(page):
    parser, runner, names = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False), {}
    try:
        for line, block in fences(page):
            if page == "flox.md" and ">>>" not in block:  # what its readers copy
                exec(block, names)
            test = parser.get_doctest(block, names, page, str(DOCS / page), line)
            test.globs = names  # the names of one block are those of the next
            runner.run(test, clear_globs=False)
    finally:
        gs.set_num_threads(None)
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_examples():
    assert {"index.md", "modes.md", "guide/tuples.md", "guide/elements.md"} <= {
        page for page in PAGES if any(">>>" in block for _, block in fences(page))
    }


@pytest.mark.parametrize(
    "module",
    [gs, gs.ndimage, gs.onnx, gs.openvino, gs.tensorflow, torch_scatter],
    ids=lambda module: module.__name__,
)
def test_every_function_is_in_the_reference_with_an_example(module):
    _, _, dialect = module.__name__.partition(".")
    page = (DOCS / "reference" / f"{dialect or 'index'}.md").read_text()
    listed = set(re.findall(r"^   (\w+)$", page, re.MULTILINE))
    functions = {name for name in module.__all__ if callable(getattr(module, name))}
    assert listed == functions
    assert [name for name in functions if ">>>" not in getattr(module, name).__doc__] == []


def rows(system, timed=False):
    """The calls of a page: pairs of cells that hold code, below a heading "gatherscatter", with times behind or not."""
    page, ours, pairs = f"coming-from-{system}.md", False, []
    for line in (DOCS / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            ours = False
        elif len(cells) > 1 and cells[1] == "gatherscatter":
            ours = (len(cells) > 3) == timed
        elif ours and "`" in cells[0]:
            # "`one`, `other`": the first call, and all that are the same
            pairs += [(theirs, cells[1].strip("`")) for theirs in re.findall(r"`([^`]+)`", cells[0])]
    return pairs


def outcome(code, names):
    """The value of a call (None for a statement), and the array that it may have changed. It gets copies."""
    names = {name: copied(value) for name, value in names.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's, which calls index_reduce a beta
        *statements, last = code.split("; ")
        for statement in statements:
            exec(statement, names)
        try:
            value = eval(last, names)
        except SyntaxError:
            value = exec(last, names)
    return value, names.get("data", names.get("x"))


def copied(value):
    return copy.deepcopy(value) if type(value).__name__ in ("ndarray", "Tensor") else value


def the_same(theirs, ours, names):
    (expected, changed), (found, ours_changed) = outcome(theirs, names), outcome(ours, names)
    pairs = [(changed, ours_changed)] if expected is None else [(expected, found), (changed, ours_changed)]
    for one, other in pairs:
        one, other = np.asarray(one), np.asarray(other)
        assert other.shape == one.shape
        assert other.dtype == one.dtype
        np.testing.assert_array_equal(other, one)


# Values are small integers, so that sums are exact in any order.
ROWS = np.array([4, 0, 2, 0])
PAIRS = np.array([[4, 0], [0, 3], [2, 2], [5, 4]])
X = np.arange(1.0, 31.0, dtype="f4").reshape(6, 5)
WITH_NAN = np.where(X == 7, np.float32("nan"), X)
ONE_EACH = np.array([[1, 3], [0, 0], [2, 4], [4, 4], [3, 1], [0, 2]])
DISTINCT = np.array([[0, 5, 1, 2, 3], [4, 0, 2, 1, 5], [2, 3, 0, 5, 1]])
U = np.arange(1.0, 16.0, dtype="f4").reshape(3, 5)
R = np.arange(2.0, 22.0, dtype="f4").reshape(4, 5)
V = np.array([3, 5, 7, 9], "f4")


@pytest.mark.parametrize(("theirs", "ours"), rows("numpy"))
def test_coming_from_numpy(theirs, ours):
    names = {"gs": gs, "np": np, "data": X.copy(), "b": 6, "n": 7, "mask": X % 3 == 0, "u": V, "w": V.astype("f8")}
    names |= {"labels": np.array(["owl", "hen", "owl", "emu", "hen", "owl"]), "c": np.array([0, 2, 3, 6])}
    if "gs.segment_reduce" in ours:  # with empty groups, and elements of no group, as far as NumPy's code takes them
        names |= {"data": WITH_NAN, "g": np.array([2, 0, 2, -1 if "g ==" in theirs else 4, 0, 0])}
        names |= {"g": np.array([2, 0, 2, 1, 0, -1]), "n": 3} if "argmax" in ours else {}
    if "_nd" in ours:
        names["i"] = PAIRS
    elif "batch_dims" in ours:
        names["i"] = ONE_EACH
    else:
        names["i"] = np.array([4, 0, 2, 1])
        if "axis=1" in ours:
            names["u"] = np.arange(24, dtype="f4").reshape(6, 4)
    # The same place twice, except where NumPy leaves open which update wins.
    names |= {"p": PAIRS[:, 0], "q": PAIRS[:, 1]} if " = " in theirs else {"p": ROWS, "q": np.array([1, 3, 2, 3])}
    the_same(theirs, ours, names)


@pytest.mark.parametrize(("theirs", "ours"), rows("numpy", timed=True))
def test_coming_from_numpy_timed(theirs, ours):
    rows, along = np.array([4, 0, 2, 1]), np.array([[1, 3], [0, 2], [2, 4], [4, 0], [3, 1], [0, 2]])
    names = {"gs": gs, "np": np, "data": X.reshape(-1), "i": rows, "u": V, "w": V.astype("f8"), "n": 7}
    if "_nd" in ours:
        names |= {"data": X, "i": PAIRS}
    elif "_elements" in ours:
        names |= {"data": X, "i": along, "u": np.arange(12, dtype="f4").reshape(6, 2)}
    elif "axis=1" in ours:
        names |= {"data": X}
    the_same(theirs, ours, names)


def helpers():
    """The rows of the page for authors of libraries: a helper's call, and ours."""
    text = (DOCS / "for-libraries.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(\w+\(.*\))` \| `(gs\..*)` \|$", text, re.MULTILINE)


def on_a_copy(function):
    def helper(x, *arguments):
        x = x.copy()
        function(x, *arguments)
        return x

    return helper


@pytest.mark.parametrize(("theirs", "ours"), helpers())
def test_helpers_that_can_be_deleted(theirs, ours):
    updates, index = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0])
    names = {
        "add_at": on_a_copy(np.add.at),
        "maximum_at": on_a_copy(np.maximum.at),
        "set_at": on_a_copy(np.ndarray.__setitem__),
        "put_along_axis": on_a_copy(np.put_along_axis),
        "scatter_sum": lambda values, groups, n: np.bincount(groups, values, n),
        "scatter_mean": lambda values, groups, n: np.array([values[groups == group].mean() for group in range(n)]),
        "bincount": np.bincount,
        "take_along_axis": np.take_along_axis,
        "take": np.take,
        "x": np.array([0.0, 1.5, 0.5]),
        "index": index if "_mean" not in theirs else np.array([0, 2, 1]),
        "updates": updates,
        "weights": updates,
        "axis": 0,
        "n": 3,
    }
    expected = eval(theirs, dict(names))
    np.testing.assert_array_equal(eval(ours, {**names, "gs": gs}), expected)
    # The sentence on negative indices.
    names["index"] = np.array([0, -1, 1])
    if "segment_reduce" in ours:
        assert eval(ours, {**names, "gs": gs})[:2].tolist() == [1.0, 3.0]
    elif "bincount" in ours:
        with pytest.raises(IndexError, match="negative values have no bin"):
            eval(ours, {**names, "gs": gs})
    else:
        np.testing.assert_array_equal(eval(ours, {**names, "gs": gs}), eval(theirs, dict(names)))


@pytest.mark.parametrize(("theirs", "ours"), rows("pytorch"))
def test_coming_from_pytorch(theirs, ours):
    import torch

    # Where the order of duplicates is open in PyTorch, there are none.
    open_order = re.search(r"copy|fill", theirs)
    arrays = {
        "x": X,
        "i": np.array([4, 0, 2, 1]) if open_order else ROWS,
        "p": PAIRS[:, 0],
        "q": PAIRS[:, 1],
        "j": DISTINCT,
        "k": ONE_EACH,
        "f": np.array([7, 0, 29]),
        "r": R,
        "v": V,
        "u": U,
        "w": V,
        "s": np.array([2, 0, 2, 1, 0, 0]) if "argmax" in ours else np.array([3, 0, 3, 1, 0, 0]),
        "c": np.array([0, 1, 1, 4, 4]) if "embedding_bag" in theirs else np.array([0, 2, 2, 3, 6, 6]),
        "m": np.array([2, 0, 1, 3, 0]),
    }
    if "segment_" in ours:
        arrays["x"] = WITH_NAN
    # torch_scatter and pyg_lib themselves are not installed.
    pyg_lib = types.SimpleNamespace(ops=torch_scatter)
    names = {"gs": gs, "torch": torch, "torch_scatter": torch_scatter, "pyg_lib": pyg_lib, "n": 6}
    the_same(theirs, ours, names | {name: torch.asarray(value) for name, value in arrays.items()})


@pytest.mark.parametrize(("theirs", "ours"), rows("jax"))
def test_coming_from_jax(theirs, ours):
    import jax
    import jax.numpy as jnp

    arrays = {
        "x": X,
        "i": np.array([4, -1, 9, 2]),
        "p": np.array([4, -1, 9, 2]),
        "q": np.array([0, 3, 2, -7]),
        "k": np.array([[1, 3], [0, -1], [2, 9], [4, 4], [3, -8], [0, 2]]),
        "good": PAIRS,
        "s": np.array([4, 0, 9, 0]),
        "mask": X % 3 == 0,
        "r": R,
        "v": V,
    }
    names = {
        "at_elements": jax.lax.GatherDimensionNumbers(
            offset_dims=(), collapsed_slice_dims=(0, 1), start_index_map=(0, 1)
        ),
        "to_elements": jax.lax.ScatterDimensionNumbers(
            update_window_dims=(), inserted_window_dims=(0, 1), scatter_dims_to_operand_dims=(0, 1)
        ),
    }
    if "segment_reduce" in ours:
        arrays |= {"s": np.array([4, -1, 9, 4]), "r": np.where(R == 3, np.float32("nan"), R)}
    names |= {"gs": gs, "jax": jax, "jnp": jnp, "n": 6}
    the_same(theirs, ours, names | {name: jnp.asarray(value) for name, value in arrays.items()})


def close(theirs, ours, names):
    expected, found = (np.asarray(outcome(code, names)[0]) for code in (theirs, ours))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


S = np.array([3.0, 1.0, np.nan, 5.0, 2.0, np.nan, 4.0, 4.0])
# Of labels, one missing; the categories have an empty group between the others, and one at the end.
K = ["owl", "hen", "owl", "owl", "hen", "emu", "emu", None]
CATEGORIES = ["emu", "gnu", "hen", "owl", "yak"]


@pytest.mark.parametrize(
    ("theirs", "ours", "empty"),
    [
        (*row, empty)
        for row in rows("pandas")
        for empty in (False, True)
        if "groupby(" in row[0] and not (empty and "idxmax" in row[0])  # for which pandas raises an error
    ],
)
def test_coming_from_pandas(theirs, ours, empty):
    import pandas as pd

    s, k = pd.Series(S), pd.Series(pd.Categorical(K, CATEGORIES) if empty else K)
    g, n = (k.cat.codes.to_numpy(), 5) if empty else (pd.factorize(k, sort=True)[0], 3)
    names = {"gs": gs, "np": np, "s": s, "k": k, "v": S, "g": g, "n": n, "table": pd.DataFrame({"a": s, "b": -s})}
    close(theirs.replace("groupby(k)", "groupby(k, observed=False)"), ours, names)


def labels():
    """The table of labels on the page for those who know pandas: what they are, and the code of their numbers."""
    text = (DOCS / "coming-from-pandas.md").read_text(encoding="utf-8")
    return re.findall(r"^\| ([^|]+) \| `([^`]+)`[^|]*\|$", text.partition("In the next table")[0], re.MULTILINE)


@pytest.mark.parametrize(("what", "code"), labels())
def test_numbers_of_labels(what, code):
    """Each label has its place among the sorted ones as its number, and a missing one has a negative number."""
    import pandas as pd

    listed = sorted({one for one in K if one}) if "factorize" in code or "unique" in code else CATEGORIES
    expected = [listed.index(one) if one else -1 for one in K]
    given, size = {"k": pd.Series(K)}, len(listed)
    if "without missing" in what:
        given, expected = {"k": np.array(K[:-1])}, expected[:-1]
    elif "Categorical" in what:
        given = {"k": pd.Categorical(K, CATEGORIES)}
    elif "category" in what:
        given = {"k": pd.Series(K, dtype=pd.CategoricalDtype(CATEGORIES))}
    elif "bins" in what:  # edges outside, and one on an edge
        given, size = {"x": [0.5, 2.5, 2.0, 0.0, np.nan, 4.0], "edges": [0, 1, 2, 3]}, 3
        expected = [0, 2, 1, -1, -1, -1]
    elif "columns" in what:
        given, size = {"table": pd.DataFrame({"a": [2, 1, None, 2, 1], "b": ["x", "y", "x", "x", "x"]})}, 3
        expected = [2, 1, -1, 2, 0]
    elif "several" in what:  # of more pairs than their codes can count
        one, other = (pd.Categorical(numbers, range(20)) for numbers in ([0, 19, None, 19, 3], [1, 19, 1, None, 0]))
        given, size = {"g1": one.codes, "g2": other.codes, "n1": 20, "n2": 20}, 400
        expected = [1, 399, -1, -1, 60]
    names = {"np": np, "pd": pd, **given}
    exec(code, names)
    assert np.maximum(names["g"], -1).tolist() == expected  # any negative number means none
    assert names.get("n", size) == len(names.get("names", range(size))) == size


def test_every_row_of_labels_is_read():
    assert len(labels()) == 7


@pytest.mark.peers
@pytest.mark.parametrize(("theirs", "ours"), [row for row in rows("pandas") if "groupby(" not in row[0]])
def test_coming_from_flox(theirs, ours):
    import flox
    import numbagg

    names = {"gs": gs, "np": np, "flox": flox, "numbagg": numbagg, "n": 5}
    close(theirs, ours, names | {"v": S, "g": np.array([2, 0, 2, 2, 0, 1, 1, 0]), "table": np.stack((S, -S), 1)})


@pytest.mark.peers
def test_numbaggs_variances_lose_digits():
    import numbagg

    values, ids = np.random.default_rng(0).normal(size=100) + 1e6, np.zeros(100, int)
    exact = np.var(values, ddof=1)
    ours = gs.segment_reduce(values, ids, reduction="var", correction=1)[0]
    assert abs(ours / exact - 1) < 1e-14 < 1e-7 < abs(numbagg.group_nanvar(values, ids)[0] / exact - 1)


# What readers have: elements of no group, a group without elements between the others and one at the end, and NaN.
GROUPS = np.random.default_rng(0).permutation(np.repeat([-1, 0, 1, 3], 10))
INTEGERS, OTHERS, WEIGHTS = np.random.default_rng(1).integers([[0], [-1], [1]], [[10], [3], [9]], (3, 40))
VALUES = INTEGERS.astype(float)
VALUES[[2, 1, 3]] = np.nan  # of no group, and two of group 1


def each(function, empty):
    """The function of the elements of each group, and what an empty one has instead."""

    def of_groups(groups, *arrays):
        parts = [[array[groups == group] for array in arrays] for group in range(5)]
        return np.array([function(*part) if part[0].size else empty for part in parts])

    return of_groups


def in_pairs(groups, values, others):
    return np.array([[values[(groups == one) & (others == other)].sum() for other in range(3)] for one in range(5)])


# For each row of the table in docs/guide/groups.md: a loop over the groups, and its arrays.
NOT_HERE = {
    "weighted mean": (each(lambda one, weights: np.average(one, weights=weights), np.nan), VALUES, WEIGHTS),
    "range": (each(np.ptp, np.nan), VALUES),
    "norm": (each(np.linalg.norm, 0), VALUES),
    "any function of a group": (each(lambda part: np.ptp(part[1:] - part[:-1]), np.nan), VALUES),
    "mode": (each(lambda part: np.bincount(part).argmax(), -1), INTEGERS),
    "several labels": (in_pairs, VALUES, OTHERS),
}

NAMES = "names, ids = np.unique(labels, return_inverse=True)"
PAGE = (DOCS / "guide" / "groups.md").read_text(encoding="utf-8").partition("## Not here")[2]


def not_here():
    """The code of each row, but for those without a call on groups."""
    codes = re.findall(r"^\| ([^|`]+) \| `([^`|]+)`[^|]*\|$", PAGE, re.MULTILINE)
    return [(task.partition(",")[0], code) for task, code in codes if code not in ("indptr", NAMES)]


def test_the_loops_are_those_of_the_table():
    assert [task for task, _ in not_here()] == list(NOT_HERE)
    assert NAMES in PAGE


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(("task", "code"), not_here())
def test_what_is_not_among_the_reductions(task, code, skip):
    """Beside a loop over the groups; also with NaN left out, as the page has it."""
    (loop, *arrays), groups = NOT_HERE[task], GROUPS
    if skip:
        without_nan = re.search(r"`(groups = np\.where[^`]*)`", PAGE)[1]
        groups, _ = outcome(f"{without_nan}; groups", {"np": np, "values": VALUES, "groups": GROUPS})
        assert (groups == np.where(np.isnan(VALUES), -1, GROUPS)).all()
    names = {"gs": gs, "np": np, "groups": groups, "n": 5, "values": arrays[0] if task == "mode" else VALUES}
    for made in re.findall("`((?:rows|parts) = [^`]*)`", PAGE):
        exec(made, names)
    found, _ = outcome(code, names | {"weights": WEIGHTS, "others": OTHERS})
    np.testing.assert_allclose(found, loop(groups, *arrays), rtol=1e-14)


def node(operator, inputs, attributes):
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    names = [f"input{n}" for n in range(len(inputs))]
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["result"], **attributes)],
        "graph",
        [
            helper.make_tensor_value_info(name, numpy_helper.from_array(array).data_type, array.shape)
            for name, array in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))[0]


@pytest.mark.parametrize(("theirs", "ours"), rows("onnx"))
def test_coming_from_onnx(theirs, ours):
    arrays = {
        "x": X,
        "b": np.arange(24, dtype="f4").reshape(2, 3, 4),
        "i": ROWS,
        "t": PAIRS,
        "bt": np.array([[[2], [0]], [[1], [1]]]),
        "j": ONE_EACH if theirs.startswith("Gather") else np.array([[1, 3], [0, 2], [2, 4], [4, 1], [3, 1], [0, 2]]),
        "u": np.arange(12, dtype="f4").reshape(6, 2),
        "v": V,
    }
    operator = re.match(r"\w+", theirs)[0]
    names = {"gs": gs, operator: lambda *inputs, **attributes: node(operator, inputs, attributes)} | arrays
    the_same(theirs, ours, names)


def test_opsets_are_onnxs():
    from onnx import defs

    stated = re.findall(r"^\| `(\w+)\((.*)\)` \|.*\| (\d+) \|$", (DOCS / "coming-from-onnx.md").read_text(), re.M)
    assert len(stated) == len(rows("onnx"))
    for operator, arguments, opset in stated:
        used = re.findall(r"(\w+)=", arguments)
        value = re.search(r'reduction="(\w+)"', arguments)

        def has(version, operator=operator, used=used, value=value):
            try:
                schema = defs.get_schema(operator, version)
            except defs.SchemaError:
                return False
            if not set(used) <= set(schema.attributes):
                return False
            return value is None or value[1] in schema.attributes["reduction"].description

        assert next(version for version in range(1, 25) if has(version)) == int(opset), (operator, arguments)


@pytest.mark.peers
@pytest.mark.parametrize(("theirs", "ours"), rows("tensorflow"))
def test_coming_from_tensorflow(theirs, ours):
    import tensorflow as tf

    arrays = {
        "x": X,
        "b": np.arange(24, dtype="f4").reshape(2, 3, 4),
        "i": ROWS,
        "t": PAIRS,
        "far": np.array([[4, 0], [0, 5], [2, 2], [6, 4]]),
        "bt": np.array([[[2], [0]], [[1], [1]]]),
        "k": ONE_EACH,
        "r": R,
        "v": V,
        "s": np.array([0, 0, 2, 2]),
    }
    expected = outcome(theirs, {"tf": tf, "n": 6} | arrays)[0].numpy()
    found = outcome(ours, {"gs": gs, "np": np, "n": 6} | arrays)[0]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_pages_state_calls():
    """The reader of tables finds them: a change of their form must not switch the tests off."""
    for system in ("numpy", "pandas", "pytorch", "jax", "onnx", "tensorflow"):
        assert len(rows(system)) > 8, system
    assert len(rows("numpy", timed=True)) > 8
