"""Step 1 of every operator: shapes and options become a validated, frozen plan. No array library is needed.

Plans are cached by what they are made from, so that a small call does not validate twice.
"""

import math
from functools import lru_cache
from typing import NamedTuple

from gatherscatter import errors

Shape = tuple[int, ...]

MODES = ("raise", "clip", "wrap", "fill", "drop", "promise_in_bounds")
GATHER_MODES = tuple(mode for mode in MODES if mode != "drop")


class TuplePlan(NamedTuple):
    """What gather_nd does: for each of `tuples` places, one row of `row` elements."""

    operator: str
    mode: str
    batch_dims: int  # b
    depth: int  # k: the axes that a tuple indexes, data's axes b … b+k−1
    tuples: Shape  # indices.shape[:-1]
    row: Shape  # data.shape[b+k:]
    shape: Shape  # of the result

    @property
    def n_tuples(self) -> int:
        return math.prod(self.tuples)


def integer(operator: str, argument: str, value: object) -> int:
    try:
        return value.__index__()  # type: ignore[attr-defined,no-any-return]
    except (AttributeError, TypeError):  # arrays have the method, and refuse when they are no single integer
        raise errors.not_integer(operator, argument, value) from None


def string(operator: str, argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise errors.not_string(operator, argument, value)
    return str(value)


def _gather_mode(operator: str, mode: str) -> None:
    if mode == "drop":
        raise errors.foreign_mode(operator, mode, "fill")
    if mode not in GATHER_MODES:
        raise errors.unknown_mode(operator, mode, GATHER_MODES)


@lru_cache(maxsize=4096)
def gather_nd(data: Shape, indices: Shape, batch_dims: int, mode: str) -> TuplePlan:
    operator = "gather_nd"
    _gather_mode(operator, mode)
    r, q = len(data), len(indices)
    if q == 0:
        raise errors.shape_rule(
            operator, "indices has shape (); it needs a last axis that holds the tuples: pass indices[None]"
        )
    highest = min(q - 1, r)
    if not 0 <= batch_dims <= highest:
        raise errors.shape_rule(
            operator,
            f"batch_dims={batch_dims} is not in [0, {highest}] for data of shape {data} and indices of shape {indices}",
        )
    k = indices[-1]
    if batch_dims + k > r:
        beyond = f" beyond batch_dims={batch_dims}" if batch_dims else ""
        raise errors.shape_rule(
            operator,
            f"indices of shape {indices} holds tuples of {k} indices, "
            f"but data of shape {data} has {r - batch_dims} axes{beyond}",
        )
    if data[:batch_dims] != indices[:batch_dims]:
        raise errors.shape_rule(
            operator,
            f"the first batch_dims={batch_dims} axes differ: "
            f"{data[:batch_dims]} of data, {indices[:batch_dims]} of indices",
        )
    row = data[batch_dims + k :]
    return TuplePlan(operator, mode, batch_dims, k, indices[:-1], row, indices[:-1] + row)
