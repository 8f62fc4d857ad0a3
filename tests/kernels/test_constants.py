"""Constants of the sources: one place for each name, a word of what it is, and no more of them than now.

Constants are the numbers of `cdef enum:`, of C's enums and of `#define`. Codes are not: their enums have a name, or
they have no number. Nor are switches of the build, which are 0 or 1. As a script, this prints how many each file has.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
MOST = 125  # constants: one that is new takes the place of another, or has a meaning that no other has

needs_sources = pytest.mark.absent("the sources are not here", when=SOURCES.exists())


def constants():
    """(name, file, line, whether it has a word: a comment on its line, or one above its group) of each constant."""
    found = []
    for path in sorted(path for path in SOURCES.rglob("*.*") if path.suffix in (".h", ".pxd", ".pxi", ".pyx")):
        name, inside, has_word = str(path.relative_to(SOURCES)), False, False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            comment = re.search(r"# |/\*|\*/$", line)
            if re.match("cdef enum:", line):
                inside, has_word = True, False
                continue
            inside = inside and line.startswith("    ")
            entries = re.findall(r"^    ([A-Z]\w*) = ", line) if inside else []
            entries += re.findall(r"^ *#define ([A-Z]\w*) (?![01]\s*$)[-\d.(]", line)
            for members in re.findall(r"\benum \{(.*?)\}", line):
                entries += re.findall(r"\b([A-Z]\w*) = (?![01] *(?:,|$))", members)
            found += [(entry, name, number, has_word or comment is not None) for entry in entries]
            has_word = has_word if entries else bool(comment)
    return found


@needs_sources
def test_a_name_has_one_place():
    places = Counter(name.removeprefix("GS_") for name, *_ in constants())
    assert {name: n for name, n in places.items() if n > 1} == {}


@needs_sources
def test_each_has_a_word():
    assert [constant[:3] for constant in constants() if not constant[3]] == []


@needs_sources
def test_there_are_no_more():
    assert 100 < len(constants()) <= MOST


if __name__ == "__main__":
    found = constants()
    for file, n in Counter(file for _, file, *_ in found).items():
        print(f"{n:4} {file}")
    print(f"{len(found):4} in all")
