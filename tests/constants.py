"""What the tests take from the package: the words of options, which dtypes each reduction takes, and plans."""

from gatherscatter import shapes as plans

GATHERS = ("gather", "gather_nd", "gather_elements")
SCATTERS = ("scatter", "scatter_nd", "scatter_elements")
FUNCTIONS = GATHERS + SCATTERS
GATHER_MODES, SCATTER_MODES = plans.GATHER_MODES, plans.SCATTER_MODES
REDUCTIONS = tuple(plans.REDUCTIONS)
DTYPES = tuple(plans.REDUCED)  # the names of those that some reduction takes
ND, AXIS, ELEMENTS = plans.ND, plans.AXIS, plans.ELEMENTS  # the kinds of indices


def reduces(reduction, dtype):
    """Whether the reduction takes the dtype of that name, in either byte order; "none" takes every dtype."""
    return reduction == "none" or dtype in plans.REDUCED_BY[reduction]
