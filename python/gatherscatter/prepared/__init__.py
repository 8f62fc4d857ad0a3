"""Prepared indices: checked, resolved and ordered once, for many gathers and scatters.

``prepare.py`` has the public function, ``indices.py`` and ``segments.py`` the classes of its results, and
``resolve.py`` what is done with the indices.
"""

from gatherscatter.prepared.indices import Prepared
from gatherscatter.prepared.prepare import prepare
from gatherscatter.prepared.segments import PreparedSegments

__all__ = ["Prepared", "PreparedSegments", "prepare"]
