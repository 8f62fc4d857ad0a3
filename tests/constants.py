"""Constants of the package for the tests: values of options, the dtypes of each reduction, and the operators."""

from gatherscatter import operators, reductions
from gatherscatter.reductions import takes as reduces
from gatherscatter.segments.aggregations import AGGREGATIONS

__all__ = ["reduces"]

GATHERS = ("gather", "gather_nd", "gather_elements")
SCATTERS = ("scatter", "scatter_nd", "scatter_elements")
FUNCTIONS = GATHERS + SCATTERS
OPERATORS = {name: getattr(operators, name.upper()) for name in FUNCTIONS}
GATHER_MODES, SCATTER_MODES = operators.GATHER_MODES, operators.SCATTER_MODES
REDUCTIONS = tuple(reductions.REDUCTIONS)
FLOAT_REDUCTIONS = tuple(name for name in REDUCTIONS if reduces(name, "float64"))
DTYPES = reductions.DTYPES  # the names of those that some reduction takes
_REAL = tuple(name for name in DTYPES if name not in reductions.COMPLEX)
SEGMENT_REDUCTIONS = {name: _REAL if rule.is_real else DTYPES for name, rule in AGGREGATIONS.items()}
ND, AXIS, ELEMENTS = operators.ND, operators.AXIS, operators.ELEMENTS  # the kinds of indices
