"""docs/recipes.md: each recipe gives the result of its NumPy code, and the notes on special cases are correct."""

import copy
import re
import sys
from pathlib import Path

import gatherscatter as gs
import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import page_code  # noqa: E402

PAGE = (DOCS / "recipes.md").read_text(encoding="utf-8")
SECTIONS = page_code.sections("recipes.md")
del SECTIONS["Times"]

# Sums are exact: the values are small whole numbers. Some indices occur more than once, and some lie beyond the arrays
# where the recipe is for that.
RNG = np.random.default_rng(0)
ROW, COLUMN = RNG.integers(-9, 29, (2, 20, 20))
XY = RNG.integers(-8, 72, (2, 500)) / 64 + 1 / 128  # no point lies on an edge of a bin
TRIANGLES = np.array([RNG.permutation(9)[:3] for _ in range(12)])
MESH = {
    "n": 9,
    "local": RNG.integers(-8, 8, (12, 3, 3)).astype(float),
    "row": np.repeat(TRIANGLES, 3, axis=1).ravel(),
    "column": np.tile(TRIANGLES, 3).ravel(),
}
PATTERN, PLACE = np.unique(MESH["row"] * 9 + MESH["column"], return_inverse=True)
MESH |= {"pattern": PATTERN, "places": gs.prepare("scatter", PATTERN.shape, PLACE), "indices": PATTERN % 9}
ARRAYS = {
    "One-hot": {"labels": np.array([2, 0, 2, 4]), "n": 5},
    "Group by": {
        "groups": np.array([2, 0, 2, 4, 0, 0]),
        "values": RNG.integers(-8, 8, (6, 3)).astype("f4"),
        "n": 6,
    },
    "Graph attention": {
        "features": RNG.integers(-8, 8, (9, 3)).astype(float),
        "source": RNG.integers(0, 9, 40),
        "target": RNG.integers(0, 8, 40),
        "scores": RNG.normal(size=40),
    },
    "Best row": {
        "groups": np.array([2, 0, 2, 4, 0, 0]),
        "scores": np.array([1.0, np.nan, 3.0, 0.0, 4.0, np.nan]),
        "rows": RNG.integers(-8, 8, (6, 3)),
        "n": 6,
    },
    "Statistics": {
        "groups": np.array([2, 0, 1, 2, 0, 2, 2]),
        "values": np.array([np.nan, 1, 2, 6, 4, np.nan, 3]),
        "n": 3,
    },
    "Binned": {  # some points on edges, some beyond them
        "points": RNG.integers(-1, 14, (60, 2)) / 4,
        "values": RNG.integers(-8, 8, 60).astype(float),
        "edges": (np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.5, 2.0, 2.5])),
    },
    "Median": {  # a NaN among others, and one alone
        "groups": np.array([2, 0, 4, 2, 0, 2, 2]),
        "values": np.array([3.0, -1.0, np.nan, np.nan, 4.0, 7.0, -2.0]),
        "n": 6,
    },
    "Expert routing": {
        "tokens": RNG.integers(-8, 8, (9, 2)).astype(float),
        "experts": RNG.integers(0, 4, (9, 2)),
        "weights": RNG.integers(0, 8, (9, 2)) / 8,
        "layers": RNG.integers(-8, 8, (5, 2, 2)).astype(float),
    },
    "Bincount": {"bins": RNG.integers(0, 5, (3, 20)), "weights": RNG.integers(0, 8, (3, 20)).astype(float), "n": 7},
    "2-D histogram": {"x": XY[0], "y": XY[1], "n": 8, "low": 0.0, "high": 1.0},
    "Top-k mask": {"scores": np.zeros((3, 7)), "top": np.array([[6, 1], [0, 3], [2, 5]])},
    "Confusion matrix": {"truth": RNG.integers(0, 4, 50), "predicted": RNG.integers(0, 4, 50), "n": 4},
    "k-means centroids": {
        "xp": np,
        "points": RNG.integers(-8, 8, (30, 2)).astype("f4"),
        "labels": np.arange(30) % 4,
        "k": 4,
    },
    "Embedding gradient": {
        "table": np.ones((9, 3), "f4"),
        "tokens": RNG.integers(0, 9, (4, 6)),
        "gradient": RNG.integers(-8, 8, (4, 6, 3)).astype("f4"),
    },
    "Graph messages": {
        "features": RNG.integers(-8, 8, (9, 3)).astype("f4"),
        "source": RNG.integers(0, 9, 40),
        "target": RNG.integers(0, 9, 40),
    },
    "Image warp": {"image": RNG.integers(0, 256, (20, 20, 3), np.uint8), "row": ROW, "column": COLUMN},
    "Splat": {"image": RNG.integers(0, 8, (20, 20, 3)).astype("f4"), "row": ROW, "column": COLUMN},
    "Segmentation": {
        "image": RNG.integers(0, 8, (20, 20, 3)).astype(float),
        "labels": RNG.integers(0, 5, (20, 20)),
        "n": 6,
    },
    "KV cache": {
        "cache": np.zeros((3, 2, 7, 4), "f2"),
        "new": RNG.integers(1, 8, (3, 2, 4)).astype("f2"),
        "position": np.array([6, 0, 3]),
    },
    "Sparse COO": {
        "row": RNG.integers(0, 5, 40),
        "column": RNG.integers(0, 6, 40),
        "values": RNG.integers(0, 8, 40).astype(float),
        "shape": (5, 6),
    },
    "Sparse CSR": {
        "indptr": np.array([0, 0, 3, 4, 4, 8]),
        "column": RNG.integers(0, 6, 8),
        "values": RNG.integers(-8, 8, 8).astype(float),
        "vector": RNG.integers(-8, 8, 6).astype(float),
    },
    "FEM assembly": MESH,
    "Climatology": {
        "month": np.arange(800) // 30 % 12,
        "temperature": np.where(np.arange(1600).reshape(800, 2) % 7, RNG.normal(size=(800, 2)), np.nan),
    },
}
TO_ROUNDING = {"Graph attention", "Statistics", "Binned", "Climatology"}


def blocks(start):
    """Functions that run a recipe and its NumPy code on the arrays above."""
    return page_code.pair("recipes.md", start, ARRAYS[start])


def outcome(code, given):
    """The arrays that code makes or changes."""
    names = {name: copy.deepcopy(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}
    exec(code, names := {**names, "gs": gs, "np": np})
    return {
        name: value
        for name, value in names.items()
        if isinstance(value, np.ndarray) and not np.array_equal(value, given.get(name))
    }


def test_every_recipe_is_here():
    assert len(SECTIONS) == len(ARRAYS)


@pytest.mark.parametrize("start", ARRAYS)
def test_recipes_run_as_they_stand(start):
    """Their outputs are tested with those of the other pages: test_docs.py."""
    first, *_ = page_code.blocks(page_code.section("recipes.md", start))
    page_code.run(page_code.source(first))


def test_the_gallery_has_every_recipe():
    gallery = PAGE.partition("\n## ")[0]
    anchors = re.findall(r'^:link: "#(.*)"$', gallery, re.M)
    # As docutils makes them, which the build checks too.
    assert sorted(anchors) == sorted(
        re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-0123456789") for title in SECTIONS
    )
    assert len(set(re.findall(r"^:img-top: (.*)$", gallery, re.M))) == len(SECTIONS)


@pytest.mark.parametrize(
    "words",
    ["one-hot", "group by", "group-by", "histogram", "scatter mean", "KV cache", "bincount", "message passing"],
)
def test_words_that_people_search_for(words):
    assert words in PAGE.replace("\n", " ") or words.capitalize() in PAGE


@pytest.mark.parametrize("start", ARRAYS)
def test_recipes_give_what_the_idioms_give(start):
    found, expected = (outcome(code, ARRAYS[start]) for code in blocks(start))
    # What only one of the two makes is on its way to the result.
    same = found.keys() & expected.keys()
    assert same
    for name in same:
        assert found[name].dtype == expected[name].dtype
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-14 if start in TO_ROUNDING else 0)


# What the page says of special cases


@pytest.mark.parametrize("start", ["Group by", "Best row", "Statistics", "Median", "Segmentation", "k-means centroids"])
def test_elements_of_no_group_change_nothing(start):
    """Some more behind the others, which have the group -1."""
    ours, idiom = blocks(start)
    given = ARRAYS[start]
    (ids,) = given.keys() & {"groups", "labels"}
    longer = {
        name: np.concatenate([value, value[:2]])
        if isinstance(value, np.ndarray) and len(value) == len(given[ids])
        else value
        for name, value in given.items()
    }
    longer[ids][-2:] = -1
    expected, found = outcome(ours, given), outcome(ours, longer)
    n = given.get("n", given.get("k"))
    results = [name for name in outcome(idiom, given).keys() - given.keys() if len(expected.get(name, ())) == n]
    assert results
    for name in results:
        np.testing.assert_array_equal(found[name], expected[name])


def test_points_without_a_coordinate_are_in_no_bin():
    given = copy.deepcopy(ARRAYS["Binned"])
    given["points"][:5, 1] = np.nan
    found = outcome(blocks("Binned")[0], given)
    rest = outcome(blocks("Binned")[0], given | {"points": given["points"][5:], "values": given["values"][5:]})
    assert (found["bins"][:5] == -1).all()
    np.testing.assert_array_equal(found["mean"], rest["mean"])


def test_medians_of_nothing():
    ours, _ = blocks("Median")
    for groups, values in (([-1, -1], [1.0, 2.0]), ([0, 1], [np.nan, np.nan])):
        given = {"groups": np.array(groups), "values": np.array(values), "n": 2}
        assert np.isnan(outcome(ours, given)["median"]).all()


def test_the_first_elements_of_each_group():
    line = re.search(r"first k of each group:\*\* `(.*?)`", PAGE)[1]
    given = {"groups": np.array([1, -1, 1, 0, 1]), "values": np.arange(5.0), "n": 2}
    running = outcome(blocks("Median")[0], given)["running"]
    assert eval(line, {**given, "running": running, "k": 2}).tolist() == [0, 2, 3]


def test_routes_to_no_expert():
    ours, idiom = blocks("Expert routing")
    given = copy.deepcopy(ARRAYS["Expert routing"])
    given["experts"][2:4, 1] = -1
    found = outcome(ours, given)["combined"]
    given["weights"][2:4, 1] = 0
    np.testing.assert_array_equal(found, outcome(idiom, given)["combined"])


@pytest.mark.parametrize(("start", "result"), [("Group by", "old"), ("Bincount", "counts"), ("Confusion", "confusion")])
def test_negative_numbers_in_scatters(start, result):
    """They are those of the last ones; the options that the page names leave them out."""
    text = page_code.section("recipes.md", start)
    options = re.search(r'mode="drop", wrap_negative_indices=False', text)[0]
    numbers = np.array([[0, -1]])
    if start == "Group by":
        call = re.search(r"Initial values:\*\* `(.*?)`", text)[1]
    elif start == "Bincount":
        call = re.search(r"Without weights:\*\* `(.*?)`", text)[1]
    else:
        call = "gs.at(np.zeros((n, n), np.int64))[truth, predicted].add(1)"
        assert call in text
    given = {"gs": gs, "np": np, "n": 2, "old": np.zeros(2), "groups": numbers[0], "values": np.ones(2)}
    given |= {"bins": numbers, "truth": np.array([0, 1]), "predicted": numbers[0]}
    expected = {
        "old": ([1, 1], [1, 0]),
        "counts": ([[1, 1]], [[1, 0]]),
        "confusion": ([[1, 0], [0, 1]], [[1, 0], [0, 0]]),
    }
    for code, wanted in zip((call, f"{call[:-1]}, {options})"), expected[result], strict=True):
        assert eval(code, given).tolist() == wanted


def test_labels_outside_have_a_row_of_zeros():
    rows = gs.gather(np.eye(3), np.array([-1, 1, 3]), mode="fill", wrap_negative_indices=False)
    assert rows.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_empty_clusters_keep_their_centroids():
    call = re.search(r"`(gs\.scatter\(old.*?)`", page_code.section("recipes.md", "k-means"))[1]
    given = {"old": np.array([9.0, 9.0, 9.0]), "labels": np.array([2, 2]), "points": np.array([1.0, 4.0])}
    assert eval(call, {"gs": gs, **given}).tolist() == [9, 9, 2.5]


def test_counts_without_weights():
    found = eval(
        re.search(r"Without weights:\*\* `(.*?)`", PAGE)[1], {"gs": gs, "np": np, "n": 3, "bins": [[0, 2], [2, 2]]}
    )
    assert found.tolist() == [[1, 0, 1], [0, 0, 2]]


def test_the_upper_end_of_a_histogram_is_dropped():
    given = {"x": np.array([0.5, 1.0]), "y": np.array([0.5, 1.0]), "n": 2, "low": 0.0, "high": 1.0}
    ours, idiom = (outcome(code, given)["histogram"].tolist() for code in blocks("2-D histogram"))
    assert ours == [[0, 0], [0, 1]]
    assert idiom == [[0, 0], [0, 2]]


def test_edges_of_several_heads():
    ours, _ = blocks("Graph attention")
    rng, given = np.random.default_rng(0), ARRAYS["Graph attention"]
    heads = {"features": rng.normal(size=(9, 2, 3)), "scores": rng.normal(size=(40, 2))}
    heads["scores"][given["target"] == 0] = -np.inf
    found = outcome(ours, given | heads)["received"]
    for head in range(2):
        one = {name: array[:, head] for name, array in heads.items()}
        np.testing.assert_allclose(found[:, head], outcome(ours, given | one)["received"], rtol=1e-14)
    assert (found[0] == 0).all()


def test_the_best_rows_as_a_mask():
    text = page_code.section("recipes.md", "Best row")
    given = ARRAYS["Best row"]
    mask = eval(
        re.search(r"As a mask:\*\* `(.*?)`", text)[1],
        {"gs": gs, "np": np, **given, **outcome(blocks("Best row")[0], given)},
    )
    assert mask.tolist() == [False, True, True, True, False, False]


def test_a_class_beyond_the_last_is_an_error():
    given = {"truth": np.array([0]), "predicted": np.array([2]), "n": 2}
    ours, idiom = blocks("Confusion matrix")
    with pytest.raises(IndexError, match="axis 1 has size 2"):
        outcome(ours, given)
    assert outcome(idiom, given)["confusion"].tolist() == [[0, 0], [1, 0]]


def test_a_cache_by_numpys_indexing():
    at = re.search(r"`(gs\.at.*?)`", page_code.section("recipes.md", "KV cache"))[1]
    given = ARRAYS["KV cache"]
    found, expected = outcome(at, given)["cache"], outcome(blocks("KV cache")[1], given)["cache"]
    np.testing.assert_array_equal(found, expected)
