"""Indexing as in NumPy: ``at(x)[index]`` gathers from x and scatters into it, with any index that NumPy accepts.

``at.py``, ``indexed.py`` and ``elementwise.py`` have the public classes. ``grammar.py`` parses an index, ``views.py``
converts it to a view of x and index arrays for axes of that view, and ``calls.py`` calls the core with these.
"""

from gatherscatter.indexing.at import at
from gatherscatter.indexing.indexed import At

__all__ = ["At", "at"]
