"""SciPy's measurements of labelled arrays, with the names and rules of ``scipy.ndimage``, for NumPy's arrays.

Arguments, their order, their defaults and results are those of SciPy 1.17. A label without elements has the sum 0, the
mean NaN, and 0 as its extremes and their positions. NaN wins in extremes and medians. SciPy is never imported.
"""

from typing import NoReturn

from gatherscatter.ndimage.measurements import (
    center_of_mass,
    extrema,
    histogram,
    labeled_comprehension,
    maximum,
    maximum_position,
    mean,
    median,
    minimum,
    minimum_position,
    standard_deviation,
    sum,
    sum_labels,
    variance,
)

__all__ = [
    "center_of_mass",
    "extrema",
    "histogram",
    "labeled_comprehension",
    "maximum",
    "maximum_position",
    "mean",
    "median",
    "minimum",
    "minimum_position",
    "standard_deviation",
    "sum",
    "sum_labels",
    "variance",
]


def __dir__() -> list[str]:
    return __all__  # tab completion shows what is public, not what the module imports


def __getattr__(name: str) -> NoReturn:
    hint = "" if name.startswith("_") else (
        "; it has SciPy's measurements of labelled arrays: import other functions, such as label and find_objects, "
        "from scipy.ndimage"
    )  # fmt: skip
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
