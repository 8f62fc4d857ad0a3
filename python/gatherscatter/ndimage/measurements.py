"""The functions of ``scipy.ndimage`` that measure labelled arrays: signatures and docstrings."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.errors import labels as messages
from gatherscatter.ndimage.groups import read
from gatherscatter.segments.rules import operator

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


def sum_labels(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Sum the elements of each label.

    Parameters
    ----------
    input : array of numbers
        The elements.
    labels : array of integers, bools or floats, optional
        The label of each element, of a shape that broadcasts to input's. By default all elements are one group.
    index : label or array of labels, optional
        The labels that have a result. A scalar is one label; by default all labels above 0 are one group.

    Returns
    -------
    scalar, or array of index's shape
        For an array of labels, float64; else of the dtype of NumPy's sums. A label without elements has 0.

    Raises
    ------
    TypeError
        If `input` or labels have a dtype that is not supported, or a mask.
    ValueError
        If `labels` does not broadcast to `input`.

    See Also
    --------
    gatherscatter.segment_reduce : The same for labels from 0 on, for arrays of every library.

    References
    ----------
    ``scipy.ndimage.sum_labels``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.sum_labels(image, labels, [1, 2, 7])
    array([ 9., 10.,  0.])
    >>> ndimage.sum_labels(image, labels, 2), ndimage.sum_labels(image, labels)
    (np.int64(10), np.int64(19))
    """
    return read("sum_labels", input, labels, index).reduce("add")[0]


sum = sum_labels


def mean(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Average the elements of each label.

    Parameters
    ----------
    input : array of numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    scalar, or array of index's shape
        Of float64, or complex128. A label without elements has NaN.

    References
    ----------
    ``scipy.ndimage.mean``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.mean(image, labels, [1, 2])
    array([3., 5.])
    """
    return read("mean", input, labels, index).reduce("mean")[0]


def variance(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Compute the variance of the elements of each label.

    Parameters
    ----------
    input : array of numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    scalar, or array of index's shape
        The mean of the squared distances from the mean. A label without elements has NaN.

    References
    ----------
    ``scipy.ndimage.variance``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.variance(image, labels, [0, 2])
    array([0., 9.])
    """
    return read("variance", input, labels, index).reduce("var")[0]


def standard_deviation(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Compute the standard deviation of the elements of each label.

    Parameters
    ----------
    input : array of numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    scalar, or array of index's shape
        The square roots of the variances. A label without elements has NaN.

    References
    ----------
    ``scipy.ndimage.standard_deviation``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.standard_deviation(image, labels, [0, 2])
    array([0., 3.])
    """
    return np.sqrt(read("standard_deviation", input, labels, index).reduce("var")[0])


def median(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Compute the median of the elements of each label.

    Parameters
    ----------
    input : array of real numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    scalar, or array of index's shape
        Of input's dtype; of integers and bools float64. A label without elements has NaN, as one with a NaN has.

    References
    ----------
    ``scipy.ndimage.median``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.median(image, labels, [1, 2])
    array([3., 5.])
    """
    return read("median", input, labels, index, ordered=True).reduce("median")[0]


def minimum(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Find the least element of each label.

    Parameters
    ----------
    input : array of real numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    scalar, or array of index's shape
        Of input's dtype. NaN wins. A label without elements has 0; one group without elements is a ValueError.

    References
    ----------
    ``scipy.ndimage.minimum``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.minimum(image, labels, [1, 2])
    array([1, 2])
    """
    return read("minimum", input, labels, index, ordered=True).reduce("min")[0]


def maximum(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Find the greatest element of each label.

    Parameters
    ----------
    input : array of real numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    scalar, or array of index's shape
        Of input's dtype. NaN wins. A label without elements has 0; one group without elements is a ValueError.

    References
    ----------
    ``scipy.ndimage.maximum``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.maximum(image, labels, [1, 2])
    array([5, 8])
    """
    return read("maximum", input, labels, index, ordered=True).reduce("max")[0]


def minimum_position(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Find where the least element of each label is.

    Parameters
    ----------
    input : array of real numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    tuple of integers, or list of tuples
        Indices along each axis, of the first of equals. A label without elements has zeros; see `minimum`.

    References
    ----------
    ``scipy.ndimage.minimum_position``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.minimum_position(image, labels, [1, 2])
    [(np.int64(0), np.int64(1)), (np.int64(1), np.int64(2))]
    """
    groups = read("minimum_position", input, labels, index, ordered=True)
    return _unravelled(groups.reduce("argmin")[0], groups.values.shape)


def maximum_position(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Find where the greatest element of each label is.

    Parameters
    ----------
    input : array of real numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    tuple of integers, or list of tuples
        Indices along each axis, of the first of equals. A label without elements has zeros; see `minimum`.

    References
    ----------
    ``scipy.ndimage.maximum_position``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.maximum_position(image, labels, [1, 2])
    [(np.int64(1), np.int64(0)), (np.int64(0), np.int64(2))]
    """
    groups = read("maximum_position", input, labels, index, ordered=True)
    return _unravelled(groups.reduce("argmax")[0], groups.values.shape)


def extrema(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Find the least and the greatest element of each label, and where they are, in one pass.

    Parameters
    ----------
    input : array of real numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    tuple
        The results of `minimum`, `maximum`, `minimum_position` and `maximum_position`.

    References
    ----------
    ``scipy.ndimage.extrema``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> least, greatest, least_at, greatest_at = ndimage.extrema(image, labels, [1, 2])
    >>> least, greatest
    (array([1, 2]), array([5, 8]))
    """
    groups = read("extrema", input, labels, index, ordered=True)
    least, greatest, *places = groups.reduce("min", "max", "argmin", "argmax")
    return least, greatest, *(_unravelled(place, groups.values.shape) for place in places)


def center_of_mass(input: ArrayLike, labels: ArrayLike | None = None, index: ArrayLike | None = None) -> Any:
    """Average the positions of the elements of each label, with the elements as weights.

    Parameters
    ----------
    input : array of numbers
        The elements.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    tuple of floats, or list of tuples
        A coordinate along each axis. A label whose sum is 0 has NaN or infinity.

    References
    ----------
    ``scipy.ndimage.center_of_mass``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> image, labels = np.array([[3, 1, 8], [5, 1, 2]]), np.array([[1, 1, 2], [1, 0, 2]])
    >>> ndimage.center_of_mass(image, labels, 2)
    (np.float64(0.2), np.float64(2.0))
    """
    groups = read("center_of_mass", input, labels, index)
    (total,) = groups.reduce("add")
    grid = np.ogrid[tuple(slice(0.0, size) for size in groups.values.shape)]
    moments = np.empty(groups.values.shape, np.result_type(groups.values, float))  # one array for all axes
    found: list[Any] = []
    for places in grid:
        np.multiply(groups.values, places, out=moments)
        found += groups._replace(values=moments).reduce("add")
    with np.errstate(all="ignore"):
        found = [moment / total for moment in found]
    return list(map(tuple, np.array(found).T)) if np.ndim(total) else tuple(found)


def histogram(
    input: ArrayLike,
    min: float,
    max: float,
    bins: IntLike,
    labels: ArrayLike | None = None,
    index: ArrayLike | None = None,
) -> Any:
    """Count the elements of each label in bins of one width.

    Parameters
    ----------
    input : array of real numbers
        The elements.
    min, max : float
        The lower edge of the first bin and the upper edge of the last one, which belongs to it.
    bins : int
        The number of bins.
    labels, index : array of labels, and label or array of labels, optional
        The groups: see `sum_labels`.

    Returns
    -------
    array of integers, or array of objects of index's shape
        Elements outside the range are not counted. An array of objects has an array for each label; None for one
        without elements.

    References
    ----------
    ``scipy.ndimage.histogram``

    Examples
    --------
    >>> import numpy as np
    >>> from gatherscatter import ndimage
    >>> ndimage.histogram(np.array([0.1, 0.7, 0.8, 1.0]), 0, 1, 2, labels=np.array([1, 1, 2, 2]), index=[1, 2])
    array([array([1, 1]), array([0, 2])], dtype=object)
    """
    number = plans.integer(_HISTOGRAM, "bins", bins)
    if number < 1:
        raise messages.bins("histogram", number)
    if not -math.inf < min <= max < math.inf:
        raise messages.bounds("histogram", min, max)
    if labels is None and index is not None:
        raise messages.no_labels("histogram", index)
    groups = read("histogram", input, labels, index, ordered=True)
    return groups.histogram(np.linspace(min, max, number + 1))


def labeled_comprehension(
    input: ArrayLike,
    labels: ArrayLike | None,
    index: ArrayLike | None,
    func: Any,
    out_dtype: Any,
    default: Any,
    pass_positions: bool = False,
) -> NoReturn:
    """Refuse to call a Python function for each label, with what to write instead.

    Parameters
    ----------
    input, labels, index, func, out_dtype, default, pass_positions : object
        As in SciPy.

    Returns
    -------
    None
        It never returns.

    Raises
    ------
    NotImplementedError
        Always.

    References
    ----------
    ``scipy.ndimage.labeled_comprehension``

    Examples
    --------
    What replaces it, for labels from 0 on:

    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> values, labels = np.array([3.0, 1.0, 5.0]), np.array([0, 1, 0])
    >>> rows = gs.prepare("segment", values.shape, labels)
    >>> [float(np.ptp(part)) for part in np.split(values[rows.order], rows.indptr[1:-1])]
    [2.0, 0.0]
    """
    raise messages.no_comprehension("labeled_comprehension")


_HISTOGRAM = operator("histogram", "labels")


def _unravelled(positions: Any, shape: tuple[int, ...]) -> Any:
    """Row-major positions as a tuple of indices, or a list of tuples."""
    places = np.unravel_index(positions, shape)
    return list(zip(*(place.reshape(-1) for place in places), strict=True)) if np.ndim(positions) else tuple(places)
