"""One record per operator: the kind of its indices, and the names in its messages.

A dialect derives its records from these, with the names and rules of its source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gatherscatter._kernels.common import Kind
from gatherscatter.reductions import REDUCTIONS

# How indices select elements of data. Plain integers, since torch.compile cannot trace the enum.
ND = int(Kind.ND)  # tuples along the last axis of indices
AXIS = int(Kind.AXIS)  # along one axis; the axes after it are the row
ELEMENTS = int(Kind.ELEMENTS)  # one index for each element of the result
ARRAYS = int(Kind.ARRAYS)  # a tuple of arrays, one for each of several adjacent axes; the axes after them are the row

MODES = ("raise", "clip", "wrap", "fill", "drop", "promise_in_bounds")
GATHER_MODES = tuple(mode for mode in MODES if mode != "drop")
SCATTER_MODES = tuple(mode for mode in MODES if mode != "fill")


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator, with the names and rules of its source.

    Attributes
    ----------
    name : str
        The function's name in messages.
    kind : int
        ND, AXIS, ELEMENTS or ARRAYS.
    scatters : bool
        Whether it is a scatter; otherwise it is a gather.
    data, indices, updates : str
        The source's names of these arguments.
    wrap_negative_indices : bool
        Whether ``i < 0`` means ``i + size``. Otherwise a negative index is out of bounds.
    broadcasts : bool
        Whether updates broadcast to their shape.
    casting : str
        The rule of `numpy.can_cast` by which updates are cast to data's dtype. A dialect casts none.
    negatives : str
        Why a negative index is out of bounds, as the end of a message.
    index_dtypes, data_dtypes : tuple of str
        The dtypes in the source's document, by NumPy's names; empty: all dtypes that the core supports.
    source : str
        The name of that document in messages.
    strict : Operator or None
        The operator with ``wrap_negative_indices=False``, if the user may choose it.
    user_modes : tuple of str
        The modes that the user may pass, if they are not those of a gather or a scatter.
    """

    name: str
    kind: int
    scatters: bool
    data: str = "data"
    indices: str = "indices"
    updates: str = "updates"
    wrap_negative_indices: bool = True
    broadcasts: bool = True
    casting: str = "safe"
    negatives: str = ""
    index_dtypes: tuple[str, ...] = ()
    data_dtypes: tuple[str, ...] = ()
    source: str = ""
    strict: Operator | None = None
    user_modes: tuple[str, ...] = ()

    def argument(self, role: str) -> str:
        """The source's name of an argument."""
        return {"data": self.data, "indices": self.indices, "updates": self.updates}.get(role, role)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes of this operator."""
        return SCATTER_MODES if self.scatters else GATHER_MODES

    def accepted(self, option: str) -> tuple[str, ...]:
        """The strings that an option accepts; empty if its value is not a string."""
        return {"mode": self.user_modes or self.modes, "reduction": tuple(REDUCTIONS)}.get(option, ())

    def replace(self, **fields: Any) -> Operator:
        """A copy with some fields replaced, for a dialect."""
        return replace(self, **fields)


def with_option(name: str, kind: int, *, scatters: bool) -> Operator:
    """An operator whose user chooses `wrap_negative_indices`."""
    op = Operator(name, kind, scatters)
    negatives = "with wrap_negative_indices=False a negative index is out of bounds"
    return op.replace(strict=op.replace(wrap_negative_indices=False, negatives=negatives))


GATHER = with_option("gather", AXIS, scatters=False)
GATHER_ND = with_option("gather_nd", ND, scatters=False)
GATHER_ELEMENTS = with_option("gather_elements", ELEMENTS, scatters=False)
SCATTER = with_option("scatter", AXIS, scatters=True)
SCATTER_ND = with_option("scatter_nd", ND, scatters=True)
SCATTER_ELEMENTS = with_option("scatter_elements", ELEMENTS, scatters=True)
