"""Sphinx's configuration: `sphinx-build -W --keep-going -n -b html docs docs/_build/html`.

The pages are Markdown that reads well on GitHub too. What that takes is at the end: links out of docs/ lead to the
repository, pictures come in a light and a dark form, and mermaid's drawings are drawn here, without its script.
"""

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gatherscatter
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import draw  # noqa: E402
import flow_chart  # noqa: E402
import links  # noqa: E402
from sheet import THEMES  # noqa: E402

logger = logging.getLogger(__name__)
REPOSITORY = "https://github.com/gatherscatter/gatherscatter"

project = "gatherscatter"
author = "The gatherscatter developers"
project_copyright = "The gatherscatter developers"
version = release = gatherscatter.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "pictures", "benchmarks/*/*"]
nitpicky = True

# Markdown

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]

# The reference: docstrings in numpydoc's form.

autosummary_generate = True
# The pages are built without PyTorch and PyTorch Geometric too.
autodoc_mock_imports = [] if find_spec("torch") else ["torch", "gatherscatter.backends.torch"]
autodoc_mock_imports += [] if find_spec("torch_geometric") else ["torch_geometric"]
autodoc_typehints = "none"  # every parameter's type stands in its docstring
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# All of numpydoc's checks but these: an extended summary and "See Also" are written where there is something to say.
numpydoc_validation_checks = {"all", "ES01", "SA01"}

# Links to other projects' pages need a network: the workflow asks for them, other builds do without.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "torch": ("https://docs.pytorch.org/docs/stable", None),
    "jax": ("https://docs.jax.dev/en/latest", None),
    "dask": ("https://docs.dask.org/en/stable", None),
}
if not os.environ.get("GATHERSCATTER_INTERSPHINX"):
    intersphinx_mapping = {}

# HTML

html_theme = "pydata_sphinx_theme"
html_title = f"gatherscatter {version}"
html_static_path = ["_static"]
html_css_files = ["gatherscatter.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "github_url": REPOSITORY,
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}
WIDE = ("index", "tour", "recipes", "for-libraries", "browser", "how-it-works", "kernels", "contributing", "changelog")
html_sidebars = {page: [] for page in WIDE}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# `-b linkcheck` follows external links only with `-D linkcheck_ignore=^$`, because a build should not fail if a server
# does not respond. Links between pages are checked in every build, by myst and by links.py.
linkcheck_ignore = [r"https?://"]


# What lets a page be read on GitHub too


def links_out_of_docs(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let relative links to files outside of docs/ lead to the page here that includes them, or to the repository."""
    pages = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
    folder = (HERE / docname).parent

    def target(match: re.Match[str]) -> str:
        path, anchor = match["path"], match["anchor"] or ""
        file = (folder / path).resolve()
        if file.is_relative_to(HERE):
            return match[0]
        name = file.relative_to(HERE.parent).as_posix()
        if not file.exists():
            logger.warning("a link leads to %s, which is not there", name, location=docname)
        if name in pages:
            return f"]({os.path.relpath(HERE / pages[name], folder)}{anchor})"
        return f"]({REPOSITORY}/blob/main/{name}{anchor})"

    source[0] = re.sub(r"\]\((?P<path>\.\./[^)#\s]*)(?P<anchor>#[^)\s]*)?\)", target, source[0])


def tabs(app: Sphinx, docname: str, source: list[str]) -> None:
    """Show the tables that a list below `<!-- tabs -->` links to, one for each machine, in tabs."""

    def shown(match: re.Match[str]) -> str:
        items = re.findall(r"\[(.+)\]\((.+)\)", match[1])
        parts = [f":::{{tab-item}} {name}\n:sync: {name}\n```{{include}} {file}\n```\n:::" for name, file in items]
        return "\n".join(["::::{tab-set}", ":sync-group: machine", *parts, "::::"])

    source[0] = re.sub(r"^<!-- tabs -->\n\n((?:- .+\n)+)", shown, source[0], flags=re.MULTILINE)


class TwoPictures(SphinxTransform):
    """Show pictures/NAME.svg as it was drawn for the theme, light or dark."""

    default_priority = 100

    def apply(self, **kwargs: Any) -> None:
        for image in list(self.document.findall(nodes.image)):
            if "pictures/" not in image["uri"]:
                continue
            pair = []
            for theme in THEMES:
                one = image.deepcopy()
                one["uri"] = image["uri"].removesuffix(".svg") + f".{theme}.svg"
                one["classes"] = [*image["classes"], "drawn", f"only-{theme}"]
                one["loading"] = "lazy"  # the browser loads the one that it shows
                pair.append(one)
            image.replace_self(pair)


class Mermaid(SphinxDirective):
    """A flow chart in the part of mermaid's language that flow_chart.py reads."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        name = flow_chart.flow_chart("\n".join(self.content), HERE / "pictures")
        up = "../" * self.env.docname.count("/")
        label = "Flow chart: " + "; ".join(line.strip() for line in self.content[1:])
        return [nodes.paragraph("", "", nodes.image(uri=f"{up}pictures/{name}.svg", alt=label))]


def links_within(app: Sphinx, exception: Exception | None) -> None:
    """Check the pages as they were built."""
    if exception is None and app.builder.name == "html":
        for fault in links.faults(Path(app.outdir)):
            logger.warning("%s", fault)


def setup(app: Sphinx) -> None:
    draw.everything(HERE / "pictures")
    app.add_directive("mermaid", Mermaid)
    app.add_transform(TwoPictures)
    app.connect("source-read", links_out_of_docs)
    app.connect("source-read", tabs)
    app.connect("build-finished", links_within)
