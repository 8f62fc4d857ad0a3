"""Prepared indices: checked, resolved and ordered once, for many gathers and scatters.

``prepare.py`` has the public function and class, ``resolve.py`` what it does with the indices.
"""

from gatherscatter.prepared.prepare import Prepared, prepare

__all__ = ["Prepared", "prepare"]
