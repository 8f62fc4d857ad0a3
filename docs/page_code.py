"""The code of a page: its sections, its Python blocks, and what these compute."""

import ast
import doctest
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def sections(page: str) -> dict[str, str]:
    """The text of each section of second rank, by its heading."""
    text = (HERE / page).read_text(encoding="utf-8")
    return dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


def section(page: str, start: str) -> str:
    """The text of the section whose heading starts with these words."""
    (found,) = (text for heading, text in sections(page).items() if heading.startswith(start))
    return found


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def examples(block: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(block)


def source(block: str) -> str:
    """The statements of a block, without its prompts and outputs."""
    return "".join(example.source for example in examples(block)) or block


def run(code: str) -> dict[str, Any]:
    """The names that code defines."""
    names: dict[str, Any] = {}
    exec(compile(code, "<page>", "exec"), names)
    return names


def numpy_alone(text: str) -> str:
    """The code of the examples that raise nothing, and need no library but those that the pages are built with."""
    return "".join(source(one) for one in blocks(text) if examples(one) and not re.search("torch|dask|Error", one))


def work(code: str, given: Collection[str]) -> str:
    """What of an example is left to do once these arrays are given.

    That is what follows the last statement that assigns one of them, but for lines that only show a result.
    """
    statements = ast.parse(code).body
    made = [number for number, one in enumerate(statements) if not set(given).isdisjoint(_assigned(one))]
    left = statements[made[-1] + 1 if made else 0 :]
    return "\n".join(ast.unparse(one) for one in left if not (isinstance(one, ast.Expr) and not _calls_gs(one)))


def pair(page: str, start: str, given: Collection[str]) -> tuple[str, str]:
    """Of a recipe: what its first block does with the given arrays, and the idiom, which has no prompts."""
    first, *others = blocks(section(page, start))
    (idiom,) = (block for block in others if not examples(block))
    return work(source(first), given), idiom


def _assigned(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _calls_gs(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "gs" for node in ast.walk(statement))
