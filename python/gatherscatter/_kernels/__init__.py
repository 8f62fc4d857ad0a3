"""The compiled modules. They take NumPy arrays of checked shapes and return a status; Python raises the errors.

On x86-64, those with loops are compiled for AVX2, and in the folder ``baseline`` for CPUs without. An editable install
has the first ones only.
"""

import os

from gatherscatter._kernels.common import built_for_avx2, has_avx2

_baseline = os.path.join(__path__[0], "baseline")
_is_off = os.environ.get("GATHERSCATTER_AVX2") == "0" and os.path.isdir(_baseline)
uses_avx2 = built_for_avx2 and has_avx2 and not _is_off
if built_for_avx2 and not uses_avx2:
    __path__.insert(0, _baseline)
