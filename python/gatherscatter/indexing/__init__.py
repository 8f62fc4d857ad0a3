"""Indexing as in NumPy: ``at(x)[index]`` gathers from x and scatters into it, by any index of NumPy's.

``at.py`` has the public classes. ``grammar.py`` reads an index, ``views.py`` makes it a view of x and index arrays for
axes of that, and ``calls.py`` calls the core with these.
"""

from gatherscatter.indexing.at import At, at

__all__ = ["At", "at"]
