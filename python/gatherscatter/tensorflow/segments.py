"""TensorFlow's reductions of sorted segments."""

from __future__ import annotations

from typing import Any

from gatherscatter._typing import AnyIndices, DataT, Listed
from gatherscatter.operators import Operator
from gatherscatter.reductions import COMPLEX, DTYPES, kind_of
from gatherscatter.segments import dialects
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.tensorflow.tensors import enter

__all__ = ["segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum"]

# The dtypes in TensorFlow's definitions.
NUMBERS = DTYPES[1:]
REAL = tuple(name for name in NUMBERS if name not in COMPLEX)
IDS = ("int32", "int64")


def _operator(name: str, data_dtypes: tuple[str, ...] = NUMBERS) -> Operator:
    return dialects.operator(name, f"tf.math.{name}", IDS, data_dtypes)


_SUM = _operator("segment_sum")
_MEAN = _operator("segment_mean")
_MIN = _operator("segment_min", REAL)
_MAX = _operator("segment_max", REAL)
_PROD = _operator("segment_prod")


def segment_sum(data: DataT | Listed[DataT], segment_ids: AnyIndices, name: object = None) -> DataT:
    """Sum the elements of each segment of sorted ids (``tf.math.segment_sum``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Numbers, r ≥ 1.
    segment_ids : array of int32 or int64, shape (d_0,)
        The segment of each position along data's first axis: sorted, from 0 on. Numbers may be missing.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(segment_ids[-1] + 1,) + data.shape[1:]``
        Of data's library, dtype and device. A segment without elements has 0; without ids, there is none.

    Raises
    ------
    IndexError
        If an id is negative.
    ValueError
        If the ids are not sorted, or a shape does not fit; if the ids are traced or lazy, so that the number of
        segments is not known.
    TypeError
        If TensorFlow's definition does not have a dtype.

    See Also
    --------
    unsorted_segment_sum : The same for ids in any order.
    gatherscatter.segment_reduce : Without TensorFlow's rules.

    Notes
    -----
    Integers wrap around. Sums of 16-bit floats are rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.segment_sum(np.array([1, 2, 3, 4]), [0, 0, 2, 2])
    array([3, 0, 7])
    """
    segments, leave = _sorted(_SUM, data, segment_ids)
    return leave(dialects.reduced(segments, "add"))


def segment_mean(data: DataT | Listed[DataT], segment_ids: AnyIndices, name: object = None) -> DataT:
    """Average the elements of each segment of sorted ids (``tf.math.segment_mean``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Numbers, r ≥ 1.
    segment_ids : array of int32 or int64, shape (d_0,)
        The segment of each position along data's first axis: sorted, from 0 on. Numbers may be missing.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(segment_ids[-1] + 1,) + data.shape[1:]``
        Of data's library, dtype and device. Means of integers are rounded toward zero. A segment without elements has
        0.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_sum`.

    See Also
    --------
    unsorted_segment_mean : For ids in any order; means of integers are floats.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.segment_mean(np.array([1.0, 2.0, 3.0, 5.0]), [0, 0, 2, 2])
    array([1.5, 0. , 4. ])
    """
    segments, leave = _sorted(_MEAN, data, segment_ids)
    if kind_of(segments.name) in "iu":
        return leave(dialects.mean_of_integers(segments))
    return leave(dialects.reduced(segments, "mean", 0))


def segment_min(data: DataT | Listed[DataT], segment_ids: AnyIndices, name: object = None) -> DataT:
    """Take the minimum of each segment of sorted ids (``tf.math.segment_min``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Real numbers, r ≥ 1.
    segment_ids : array of int32 or int64, shape (d_0,)
        The segment of each position along data's first axis: sorted, from 0 on. Numbers may be missing.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(segment_ids[-1] + 1,) + data.shape[1:]``
        Of data's library, dtype and device. A segment without elements has 0; one with a NaN has NaN.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_sum`.

    See Also
    --------
    unsorted_segment_min : For ids in any order; an empty segment has the greatest number.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.segment_min(np.array([1, 2, 3, 4]), [0, 0, 2, 2])
    array([1, 0, 3])
    """
    segments, leave = _sorted(_MIN, data, segment_ids)
    return leave(dialects.reduced(segments, "min", 0))


def segment_max(data: DataT | Listed[DataT], segment_ids: AnyIndices, name: object = None) -> DataT:
    """Take the maximum of each segment of sorted ids (``tf.math.segment_max``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Real numbers, r ≥ 1.
    segment_ids : array of int32 or int64, shape (d_0,)
        The segment of each position along data's first axis: sorted, from 0 on. Numbers may be missing.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(segment_ids[-1] + 1,) + data.shape[1:]``
        Of data's library, dtype and device. A segment without elements has 0; one with a NaN has NaN.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_sum`.

    See Also
    --------
    unsorted_segment_max : For ids in any order; an empty segment has the lowest number.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.segment_max(np.array([1, 2, 3, 4]), [0, 0, 2, 2])
    array([2, 0, 4])
    """
    segments, leave = _sorted(_MAX, data, segment_ids)
    return leave(dialects.reduced(segments, "max", 0))


def segment_prod(data: DataT | Listed[DataT], segment_ids: AnyIndices, name: object = None) -> DataT:
    """Multiply the elements of each segment of sorted ids (``tf.math.segment_prod``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Numbers, r ≥ 1.
    segment_ids : array of int32 or int64, shape (d_0,)
        The segment of each position along data's first axis: sorted, from 0 on. Numbers may be missing.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(segment_ids[-1] + 1,) + data.shape[1:]``
        Of data's library, dtype and device. A segment without elements has 1.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `segment_sum`.

    See Also
    --------
    unsorted_segment_prod : The same for ids in any order.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.segment_prod(np.array([1, 2, 3, 4]), [0, 0, 2, 2])
    array([ 2,  1, 12])
    """
    segments, leave = _sorted(_PROD, data, segment_ids)
    return leave(dialects.reduced(segments, "mul"))


def _sorted(op: Operator, data: Any, segment_ids: Any) -> tuple[Segments, Any]:
    """The segments of an array, and the function that converts the result back to a tensor."""
    (data, segment_ids), leave = enter(op, data=data, indices=segment_ids)
    return dialects.read_sorted(op, data, segment_ids, None, unsorted=f"unsorted_{op.name}"), leave
