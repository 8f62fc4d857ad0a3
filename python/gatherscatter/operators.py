"""One record per operator: what its indices name, and the words of its messages.

A dialect makes records of its own from these, with the names and the rules of its source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gatherscatter._kernels.codes import Kind
from gatherscatter.reductions import REDUCTIONS

# How indices name elements of data. Plain integers, which torch.compile reads too.
ND = int(Kind.ND)  # tuples along the last axis of indices
AXIS = int(Kind.AXIS)  # along one axis; a slice beyond it is a row
ELEMENTS = int(Kind.ELEMENTS)  # one index for each element of the result

MODES = ("raise", "clip", "wrap", "fill", "drop", "promise_in_bounds")
GATHER_MODES = tuple(mode for mode in MODES if mode != "drop")
SCATTER_MODES = tuple(mode for mode in MODES if mode != "fill")


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator, as its messages name it and its arguments.

    Attributes
    ----------
    name : str
        As messages name the function.
    kind : int
        ND, AXIS or ELEMENTS.
    scatters : bool
        Whether it writes updates; else it reads.
    data, indices, updates : str
        What the source calls these arguments.
    wrap_negative_indices : bool
        Whether ``i < 0`` means ``i + size``. Otherwise a negative index is out of bounds.
    negatives : str
        Why a negative index is out of bounds; the end of a sentence.
    index_dtypes, data_dtypes : tuple of str
        What the source's document takes, by NumPy's names; empty for all that the core takes.
    source : str
        The document of those, as messages name it.
    """

    name: str
    kind: int
    scatters: bool
    data: str = "data"
    indices: str = "indices"
    updates: str = "updates"
    wrap_negative_indices: bool = True
    negatives: str = ""
    index_dtypes: tuple[str, ...] = ()
    data_dtypes: tuple[str, ...] = ()
    source: str = ""

    def argument(self, role: str) -> str:
        """What the source calls an argument: "data", "indices" and "updates" may have names of its own."""
        return {"data": self.data, "indices": self.indices, "updates": self.updates}.get(role, role)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that it takes."""
        return SCATTER_MODES if self.scatters else GATHER_MODES

    def accepted(self, option: str) -> tuple[str, ...]:
        """The words that an option takes; empty if it takes no words."""
        return {"mode": self.modes, "reduction": tuple(REDUCTIONS)}.get(option, ())

    def replace(self, **fields: Any) -> Operator:
        """The same with other fields, for a dialect."""
        return replace(self, **fields)


GATHER = Operator("gather", AXIS, scatters=False)
GATHER_ND = Operator("gather_nd", ND, scatters=False)
GATHER_ELEMENTS = Operator("gather_elements", ELEMENTS, scatters=False)
SCATTER = Operator("scatter", AXIS, scatters=True)
SCATTER_ND = Operator("scatter_nd", ND, scatters=True)
SCATTER_ELEMENTS = Operator("scatter_elements", ELEMENTS, scatters=True)
