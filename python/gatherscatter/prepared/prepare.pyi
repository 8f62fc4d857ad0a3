"""Types of `prepare`."""

from collections.abc import Sequence
from typing import Literal, SupportsIndex, overload

import numpy as np

from gatherscatter._typing import Array, GatherMode, Integer, IntegerArray, Integers, IntLike, ScatterMode
from gatherscatter.prepared.indices import Prepared
from gatherscatter.prepared.segments import PreparedSegments

__all__ = ["prepare"]

@overload
def prepare(
    operator: Literal["segment"],
    shape: Sequence[SupportsIndex],
    indices: IntegerArray | Array | Integers | None = None,
    num_segments: IntLike | None = None,
    *,
    segment_ids: IntegerArray | Array | Integers | None = None,
    indptr: IntegerArray | Array | Integers | None = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = None,
    mode: Literal["raise", "drop", "promise_in_bounds"] = "raise",
) -> PreparedSegments: ...
@overload
def prepare(
    operator: Literal["gather", "scatter", "gather_nd", "scatter_nd", "gather_elements", "scatter_elements"],
    shape: Sequence[SupportsIndex],
    indices: IntegerArray | Array | Integers | Integer,
    *,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = None,
    mode: GatherMode | ScatterMode = "raise",
    wrap_negative_indices: bool | np.bool = True,
) -> Prepared: ...
