"""What the built pages link to within themselves has to be there, and they load nothing from elsewhere.

Sphinx's linkcheck follows addresses, not links between pages, and what myst does not parse (cards, raw HTML, pictures
of a theme) warns of nothing.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "srcset")}


class _Page(HTMLParser):
    def __init__(self, file: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src", "srcset") and value:
                self.links.append((tag, name, value))


def faults(folder: Path) -> Iterator[str]:
    """A sentence for each link within the built pages in `folder` that leads nowhere, or loads from elsewhere."""
    folder = folder.resolve()
    pages = {file: _Page(file) for file in sorted(folder.rglob("*.html")) if "_static" not in file.parts}
    for file, page in pages.items():
        for tag, name, link in page.links:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            where = f"{file.relative_to(folder)}: {link}"
            if parts.scheme or parts.netloc:
                if (tag, name) in LOADED:
                    yield f"{where} is loaded from elsewhere"
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                yield f"{where} leads to no file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{where} leads to no place on its page"
