"""docs/tour.md: its form, and the numbers in its text. test_docs.py runs its examples and compares the outputs."""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

import page_code  # noqa: E402

PAGE = (DOCS / "tour.md").read_text(encoding="utf-8")
STEPS = {title: text for title, text in page_code.sections("tour.md").items() if title != "Where next"}


def outputs(text):
    return [one.want for block in page_code.blocks(text) for one in page_code.examples(block) if one.want]


def test_there_are_ten_steps_each_with_its_output():
    assert [title.partition(".")[0] for title in STEPS] == [str(number) for number in range(1, 11)]
    assert [title for title, text in STEPS.items() if not outputs(text)] == []


def test_numbers_in_the_text_are_those_of_the_outputs():
    train = STEPS["9. Train a graph layer"]
    alone, losses, right, classes = outputs(train)
    assert f"{int(alone)} of {len(classes.strip())} nodes" in " ".join(train.split())
    assert int(alone) < int(right)
    values = [float(line.split()[1]) for line in losses.splitlines()]
    assert values == sorted(values, reverse=True)
    (table, *_) = outputs(STEPS["10. Larger than memory"])
    assert f"{int(table) // 10**9} GB" in STEPS["10. Larger than memory"]


def test_what_the_pictures_show_needs_no_pytorch():
    """The pages are built without it: docs/gallery.py skips the blocks that need it."""
    (warp, graph) = re.findall(r"\(pictures/(\S*)\.svg\)", PAGE)
    for title, picture in (("7. Warp an image", warp), ("9. Train a graph layer", graph)):
        assert picture in STEPS[title]
    names = page_code.run(page_code.numpy_alone("".join(page_code.sections("tour.md").values())))
    assert names["warped"].shape == names["image"].shape
    assert len(names["alone"]) == len(names["classes"]) == len(names["place"])
