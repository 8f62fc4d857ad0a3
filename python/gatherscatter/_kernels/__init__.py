"""The compiled modules. They take NumPy arrays of checked shapes and return a status; Python raises the errors.

On x86-64, those with loops are compiled for AVX2, and in the folder ``baseline`` for CPUs without.
"""

import os

from gatherscatter._kernels.threads import built_for_avx2, has_avx2

uses_avx2 = built_for_avx2 and has_avx2 and os.environ.get("GATHERSCATTER_AVX2") != "0"
if built_for_avx2 and not uses_avx2:
    __path__.insert(0, os.path.join(__path__[0], "baseline"))
