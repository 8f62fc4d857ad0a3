"""README.md and its figure: the numbers are those of the benchmarks, and links work on GitHub and on PyPI."""

import doctest
import html
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from libraries import needs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = r"""\]\(([^)#\s]+)|(?:src|srcset)="([^"]+)\""""


@pytest.fixture
def speed(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import speed

    yield speed
    sys.modules.pop("speed")


def test_alt_text_has_the_numbers_of_the_record(speed):
    text = (DOCS / "benchmarks" / "index.md").read_text(encoding="utf-8")
    texts = re.findall(r"!\[(.*?)\]\([^)]*speed\.svg\)", text, re.DOTALL)
    assert [" ".join(one.split()) for one in texts] == [speed.alt(speed.rows())]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_committed_figure_has_the_numbers_of_the_record(speed, theme):
    """matplotlib writes each text in front of its glyphs. If this fails: python docs/draw.py docs/_static speed"""
    drawn = re.findall("<!-- (.*?) -->", (DOCS / "_static" / f"speed.{theme}.svg").read_text(encoding="utf-8"))
    expected = [text for row in speed.rows() for text in (row.workload, *reversed(row.labels))]
    start = drawn.index(expected[0])
    assert list(map(html.unescape, drawn[start : start + len(expected)])) == expected


def test_the_record_is_read(speed):
    assert len(speed.rows()) == 14


def test_the_pages_state_what_the_benchmarks_found():
    def read(page):
        return " ".join((ROOT / page).read_text(encoding="utf-8").split())

    peers = read("docs/benchmarks/zen4/peers.md")
    mean = re.search(r"mean of the speedups is ([\d.]+) over", peers)[1]
    slower = re.search(r"slower than the fastest other library in: (.*?)\.", peers)[1].split(", ")
    for page in ("README.md", "docs/index.md", "docs/benchmarks/index.md"):
        assert f"{mean} times as fast" in read(page)
    for page in ("README.md", "docs/benchmarks/index.md"):
        assert ("is the fastest too" in read(page)) == (slower == ["none"])


@needs((ROOT / ".ci").exists(), "the sdist has no .ci")
def test_the_commands_that_the_pages_state_are_those_of_ci():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    new, rest = (
        re.findall(rf'^{name} \w+ "(.+)"$', text, re.MULTILINE) for name in ("in_new_environment", "in_environment_of")
    )
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    assert len(new) == 2
    assert set(new) <= set(README.splitlines())
    start = contributing.index(rest[0])
    assert contributing[start : start + 5] == [*rest, "```"]


@needs((ROOT / "noxfile.py").exists(), "the sdist has no noxfile.py")
def test_what_the_other_commands_name_exists():
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    sessions = re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE)
    markers = [marker.split(":")[0] for marker in settings["tool"]["pytest"]["ini_options"]["markers"]]
    extras = ",".join(re.findall(r"pip install [^`\n]*\[([\w,-]+)\]", text)).split(",")
    [required] = re.findall('^pip install ("scikit-build-core.*)$', text, re.MULTILINE)
    named = shlex.split(" ".join(re.findall(r"nox -s ([^`;\n]+)", text)))
    files = re.findall(r"\bpython\s+((?:tests|benchmarks|docs|examples)/[\w/.]+)", text)
    assert set(settings["build-system"]["requires"]) | {"cmake", "ninja"} == set(shlex.split(required))
    assert set(extras) <= settings["project"]["optional-dependencies"].keys()
    assert set(re.findall(r"pytest -m (\w+)", text)) <= set(markers)
    assert len(named) > 5
    assert {name.split("(")[0] for name in named} <= set(sessions)
    assert len(files) > 8
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_the_example_runs():
    [code] = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(doctest.DocTestParser().get_doctest(code, {}, "README", "README.md", 0)).attempted > 5
    assert runner.summarize(verbose=False).failed == 0


def test_links_lead_to_files():
    links = ["".join(pair) for pair in re.findall(TARGETS, README)]
    assert len(links) > 10
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_pypi_gets_absolute_links_and_raw_pictures():
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["metadata"]["hooks"]
    text = README
    for substitution in hook["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    links = ["".join(pair) for pair in re.findall(TARGETS, text)]
    assert [link for link in links if "://" not in link] == []
    pictures = [link for link in links if link.endswith((".svg", ".png"))]
    assert pictures
    assert all(link.startswith("https://raw.githubusercontent.com/") for link in pictures)
