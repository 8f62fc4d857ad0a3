"""TensorFlow's reductions of segments by ids in any order."""

from __future__ import annotations

from typing import Any

from gatherscatter import core
from gatherscatter._typing import AnyIndices, AnyValues, DataT, Integer, IntLike, Listed, Scalar
from gatherscatter.operators import Operator
from gatherscatter.reductions import kind_of
from gatherscatter.segments import dialects, rules
from gatherscatter.segments.by_scatters import Segments
from gatherscatter.tensorflow.segments import IDS, NUMBERS, REAL
from gatherscatter.tensorflow.tensors import enter

__all__ = [
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
]

FLOATS = tuple(name for name in REAL if kind_of(name) == "f")
SUM_IDS = ("int16", *IDS)


def _operator(name: str, data_dtypes: tuple[str, ...], index_dtypes: tuple[str, ...] = IDS) -> Operator:
    return dialects.operator(name, f"tf.math.{name}", index_dtypes, data_dtypes)


_SUM = _operator("unsorted_segment_sum", NUMBERS, SUM_IDS)
_MEAN = _operator("unsorted_segment_mean", REAL, SUM_IDS)
_MIN = _operator("unsorted_segment_min", REAL)
_MAX = _operator("unsorted_segment_max", REAL)
_PROD = _operator("unsorted_segment_prod", NUMBERS)
_SQRT_N = _operator("unsorted_segment_sqrt_n", FLOATS, SUM_IDS)


def unsorted_segment_sum(
    data: DataT | Listed[DataT] | Scalar, segment_ids: AnyIndices | Integer, num_segments: IntLike, name: object = None
) -> DataT:
    """Sum the elements of each segment, by ids in any order (``tf.math.unsorted_segment_sum``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Numbers.
    segment_ids : array of int16, int32 or int64, shape ``data.shape[:k]``
        The segment of each element or slice of `data`, for any k from 0 to r. Elements of a negative id belong to no
        segment.
    num_segments : int
        The number of segments, above all ids.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(num_segments,) + data.shape[k:]``
        Of data's library, dtype and device. A segment without elements has 0.

    Raises
    ------
    IndexError
        If an id is `num_segments` or more.
    ValueError
        If a shape does not fit, or `num_segments` is negative.
    TypeError
        If TensorFlow's definition does not have a dtype.
    NotImplementedError
        In ``jax.jit``, where such ids cannot raise; call `gatherscatter.segment_reduce` with one of its modes.

    See Also
    --------
    segment_sum : For sorted ids, of which the last has the number of segments.
    gatherscatter.segment_reduce : Without TensorFlow's rules.

    Notes
    -----
    Integers wrap around. Sums of 16-bit floats are rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.unsorted_segment_sum(np.array([1, 2, 3, 4]), [2, 0, -1, 0], 3)
    array([6, 0, 1])
    """
    segments, leave = _unsorted(_SUM, data, segment_ids, num_segments)
    return leave(dialects.reduced(segments, "add"))


def unsorted_segment_mean(
    data: AnyValues, segment_ids: AnyIndices | Integer, num_segments: IntLike, name: object = None
) -> Any:
    """Average the elements of each segment, by ids in any order (``tf.math.unsorted_segment_mean``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Real numbers.
    segment_ids : array of int16, int32 or int64, shape ``data.shape[:k]``
        The segment of each element or slice of `data`, for any k from 0 to r. Elements of a negative id belong to no
        segment.
    num_segments : int
        The number of segments, above all ids.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(num_segments,) + data.shape[k:]``
        Of data's library, device and floating dtype; means of integers of 8 and 16 bits are float32, of others float64.
        A segment without elements has 0.

    Raises
    ------
    IndexError, ValueError, TypeError, NotImplementedError
        As `unsorted_segment_sum`.

    See Also
    --------
    segment_mean : For sorted ids; means of integers are integers.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.unsorted_segment_mean(np.array([1.0, 2.0, 3.0, 5.0]), [2, 0, -1, 0], 3)
    array([3.5, 0. , 1. ])
    """
    segments, leave = _unsorted(_MEAN, data, segment_ids, num_segments)
    dtype = segments.name
    if dtype not in FLOATS:
        dtype = "float32" if rules.bits(dtype) <= 16 or segments.defaults[0] == "int32" else "float64"
    return leave(dialects.reduced(segments, "mean", 0, dtype))


def unsorted_segment_min(
    data: DataT | Listed[DataT] | Scalar, segment_ids: AnyIndices | Integer, num_segments: IntLike, name: object = None
) -> DataT:
    """Take the minimum of each segment, by ids in any order (``tf.math.unsorted_segment_min``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Real numbers.
    segment_ids : array of int32 or int64, shape ``data.shape[:k]``
        The segment of each element or slice of `data`, for any k from 0 to r. Elements of a negative id belong to no
        segment.
    num_segments : int
        The number of segments, above all ids.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(num_segments,) + data.shape[k:]``
        Of data's library, dtype and device. A segment without elements has the dtype's greatest finite number; one with
        a NaN has NaN.

    Raises
    ------
    IndexError, ValueError, TypeError, NotImplementedError
        As `unsorted_segment_sum`.

    See Also
    --------
    segment_min : For sorted ids; an empty segment has 0.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.unsorted_segment_min(np.array([1, 2, 3, 4], np.int8), [2, 0, -1, 0], 3)
    array([  2, 127,   1], dtype=int8)
    """
    segments, leave = _unsorted(_MIN, data, segment_ids, num_segments)
    return leave(dialects.reduced(segments, "min", dialects.extreme(segments.name, "min")))


def unsorted_segment_max(
    data: DataT | Listed[DataT] | Scalar, segment_ids: AnyIndices | Integer, num_segments: IntLike, name: object = None
) -> DataT:
    """Take the maximum of each segment, by ids in any order (``tf.math.unsorted_segment_max``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Real numbers.
    segment_ids : array of int32 or int64, shape ``data.shape[:k]``
        The segment of each element or slice of `data`, for any k from 0 to r. Elements of a negative id belong to no
        segment.
    num_segments : int
        The number of segments, above all ids.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(num_segments,) + data.shape[k:]``
        Of data's library, dtype and device. A segment without elements has the dtype's lowest finite number; one with a
        NaN has NaN.

    Raises
    ------
    IndexError, ValueError, TypeError, NotImplementedError
        As `unsorted_segment_sum`.

    See Also
    --------
    segment_max : For sorted ids; an empty segment has 0.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.unsorted_segment_max(np.array([1, 2, 3, 4], np.int8), [2, 0, -1, 0], 3)
    array([   4, -128,    1], dtype=int8)
    """
    segments, leave = _unsorted(_MAX, data, segment_ids, num_segments)
    return leave(dialects.reduced(segments, "max", dialects.extreme(segments.name, "max")))


def unsorted_segment_prod(
    data: DataT | Listed[DataT] | Scalar, segment_ids: AnyIndices | Integer, num_segments: IntLike, name: object = None
) -> DataT:
    """Multiply the elements of each segment, by ids in any order (``tf.math.unsorted_segment_prod``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Numbers.
    segment_ids : array of int32 or int64, shape ``data.shape[:k]``
        The segment of each element or slice of `data`, for any k from 0 to r. Elements of a negative id belong to no
        segment.
    num_segments : int
        The number of segments, above all ids.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(num_segments,) + data.shape[k:]``
        Of data's library, dtype and device. A segment without elements has 1.

    Raises
    ------
    IndexError, ValueError, TypeError, NotImplementedError
        As `unsorted_segment_sum`.

    See Also
    --------
    segment_prod : For sorted ids.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.unsorted_segment_prod(np.array([1, 2, 3, 4]), [2, 0, -1, 0], 3)
    array([8, 1, 1])
    """
    segments, leave = _unsorted(_PROD, data, segment_ids, num_segments)
    return leave(dialects.reduced(segments, "mul"))


def unsorted_segment_sqrt_n(
    data: DataT | Listed[DataT] | Scalar, segment_ids: AnyIndices | Integer, num_segments: IntLike, name: object = None
) -> DataT:
    """Divide sums of segments by the roots of their sizes, by ids in any order (``tf.math.unsorted_segment_sqrt_n``).

    Parameters
    ----------
    data : array, shape (d_0, …, d_{r−1})
        Floating-point numbers.
    segment_ids : array of int16, int32 or int64, shape ``data.shape[:k]``
        The segment of each element or slice of `data`, for any k from 0 to r. Elements of a negative id belong to no
        segment.
    num_segments : int
        The number of segments, above all ids.
    name : str, optional
        Ignored.

    Returns
    -------
    array, shape ``(num_segments,) + data.shape[k:]``
        Of data's library, dtype and device. A segment without elements has 0.

    Raises
    ------
    IndexError, ValueError, TypeError, NotImplementedError
        As `unsorted_segment_sum`.

    See Also
    --------
    unsorted_segment_mean : Divided by the number of elements.

    Notes
    -----
    The size of a segment is its number of elements. Its square root is what the sum is divided by.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter.tensorflow as gtf
    >>> gtf.unsorted_segment_sqrt_n(np.array([1.0, 2.0, 3.0, 4.0]), [0, 0, 0, 0], 2)
    array([5., 0.])
    """
    segments, leave = _unsorted(_SQRT_N, data, segment_ids, num_segments)
    work = "float32" if rules.bits(segments.name) == 16 else segments.name
    sums, counts, xp = dialects.reduced(segments, "add", dtype=work), segments.counts, segments.xp
    roots = xp.sqrt(segments.cast(xp.where(counts > 0, counts, 1), work))
    return leave(segments.cast(sums / roots, segments.name))


def _unsorted(op: Operator, data: Any, segment_ids: Any, num_segments: Any) -> tuple[Segments, Any]:
    """The segments of an array, and the function that converts the result back to a tensor."""
    (data, segment_ids), leave = enter(op, data=data, indices=segment_ids)
    backend, (data, segment_ids) = core.arrays(op, data=data, indices=segment_ids)
    core.check_source(op, backend, data=data, indices=segment_ids)
    return dialects.read(op, data, segment_ids, rules.number(op, num_segments)), leave
