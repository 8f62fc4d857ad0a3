"""What the tests take from the package: the words of options, and which dtypes each reduction takes."""

from gatherscatter.shapes import GATHER_MODES, REDUCED, REDUCED_BY, REDUCTIONS, SCATTER_MODES

__all__ = ["DTYPES", "FUNCTIONS", "GATHERS", "GATHER_MODES", "REDUCTIONS", "SCATTERS", "SCATTER_MODES", "reduces"]

GATHERS = ("gather", "gather_nd", "gather_elements")
SCATTERS = ("scatter", "scatter_nd", "scatter_elements")
FUNCTIONS = GATHERS + SCATTERS
DTYPES = tuple(REDUCED)  # the names of those that some reduction takes


def reduces(reduction, dtype):
    """Whether the reduction takes the dtype of that name, in either byte order; "none" takes every dtype."""
    return reduction == "none" or dtype in REDUCED_BY[reduction]
