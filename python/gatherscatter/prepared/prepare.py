"""`prepare`. ``prepare.pyi`` has its overloads for type checkers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gatherscatter import dispatch, errors, gathers, scatters, values
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.backends.base import Backend
from gatherscatter.errors import segments as messages
from gatherscatter.errors.foreign import MISSING, raises_unexpected, unexpected
from gatherscatter.operators import AXIS, ELEMENTS, ND, SCATTER, Operator
from gatherscatter.plan import Shape
from gatherscatter.prepared.indices import Prepared, prepared_indices
from gatherscatter.prepared.resolve import OPERATORS, sizes_of
from gatherscatter.prepared.segments import PreparedSegments
from gatherscatter.segments import rules
from gatherscatter.segments.ids import checked, expanded, read, settled

__all__ = ["prepare"]

# For messages about `operator` and `shape`.
_PREPARE = Operator("prepare", AXIS, scatters=False)


@raises_unexpected(_PREPARE)
def prepare(
    operator: str,
    shape: Any,
    indices: Any = None,
    num_segments: IntLike | None = None,
    *,
    segment_ids: Any = None,
    indptr: Any = None,
    axis: IntLike | None = None,
    batch_dims: IntLike | None = None,
    mode: str = "raise",
    wrap_negative_indices: bool | np.bool = True,
) -> Prepared | PreparedSegments:
    """Check, resolve and order indices once, for gathers and scatters that use them many times.

    Examples are the edges of a graph, whose messages are gathered and summed in each layer and epoch, and the pixels
    of a camera's distortion map, which are the same in each frame.

    Parameters
    ----------
    operator : {"gather", "scatter", "gather_nd", "scatter_nd", "gather_elements", "scatter_elements", "segment"}
        The function whose indices these are. A gather and its scatter have the same indices; the result has methods for
        both. ``"segment"`` is for ids of segments.
    shape : tuple of ints
        The shape of `data`. The axes after those that the indices index may differ from call to call, in size and in
        number; for ``*_elements`` there are none.
    indices : array of integers
        As for the function. They are copied. For ``"segment"`` these are the ids.
    num_segments, segment_ids, indptr : optional
        Only for ``"segment"``, as for `segment_reduce`.
    axis, batch_dims : int, optional
        As for the function; 0 by default.
    mode : str, default "raise"
        As for the function. ``"fill"`` of a gather and ``"drop"`` of a scatter mean the same here.
    wrap_negative_indices : bool, default True
        As for the function; not for ``"segment"``.

    Returns
    -------
    Prepared or PreparedSegments
        An object with the methods `~Prepared.gather` and `~Prepared.scatter`; for ``"segment"`` with
        `~PreparedSegments.reduce`, `~PreparedSegments.softmax` and others. It is immutable and can be pickled.

    Raises
    ------
    IndexError, TypeError, ValueError
        The errors that the function raises for these options and indices.

    See Also
    --------
    gather, gather_nd, gather_elements : Gathers that use their indices once.
    scatter, scatter_nd, scatter_elements : Scatters that use their indices once.
    segment_reduce, segment_softmax : Functions of segments that use their ids once.

    Notes
    -----
    The indices become the numbers of the slices that they select, in 4 bytes each (8 if an axis, or all indexed axes of
    ``*_nd`` together, have 2**31 elements or more). So ``gather_nd`` with pairs of int64 reads a quarter of the bytes.

    The first scatter along axis 0 with slices of 64 bytes or more also groups the updates by slice, which takes 4 bytes
    for each index and for each slice. Later scatters start from there. The first gather of elements or points of up to
    8 bytes from large data sorts the indices by parts of the data that fit a cache, which takes 4 bytes for each. NumPy
    arrays and CPU tensors of PyTorch use these orders, and so do their gradients; the other libraries use the numbers
    only.

    Examples
    --------
    >>> import numpy as np
    >>> import gatherscatter as gs
    >>> edges = gs.prepare("scatter", shape=(3, 2), indices=[0, 2, 0])
    >>> edges.scatter(np.zeros((3, 2)), np.ones((3, 2)), reduction="add")
    array([[2., 2.],
           [0., 0.],
           [1., 1.]])
    >>> edges.gather(np.array([[1, 2], [3, 4], [5, 6]]))
    array([[1, 2],
           [5, 6],
           [1, 2]])
    >>> edges.counts
    array([2, 0, 1])
    >>> groups = gs.prepare("segment", (4,), [1, 0, 1, -1])
    >>> groups.reduce(np.array([1.0, 2.0, 5.0, 9.0]), reduction="mean")
    array([2., 3.])
    """
    name = plans.choice(_PREPARE, "operator", operator, (*OPERATORS, "segment"))
    given = {"axis": axis, "batch_dims": batch_dims}
    sizes = sizes_of(_PREPARE, shape)
    if name == "segment":
        if wrap_negative_indices is not True:
            raise messages.no_wrapping(_PREPARE, wrap_negative_indices)
        if segment_ids is not None and indices is not None:
            raise messages.ids_twice(_PREPARE)
        ids = indices if segment_ids is None else segment_ids
        options = {option: 0 if value is None else value for option, value in given.items()}
        return _of_segments(sizes, ids, num_segments, indptr, mode=mode, **options)
    for option, value in {"num_segments": num_segments, "segment_ids": segment_ids, "indptr": indptr}.items():
        if value is not None:
            raise messages.only_for_segments(_PREPARE, option, value, name)
    op = OPERATORS[name].own(name)
    lacks = {ND: "axis", ELEMENTS: "batch_dims"}.get(op.kind, "")
    if given.get(lacks) is not None:
        function = getattr(scatters if op.scatters else gathers, name)
        raise unexpected(op, function, (shape, indices), MISSING, {lacks: given[lacks]})
    first, batch = (0 if value is None else plans.integer(op, option, value) for option, value in given.items())
    op = plans.without_negatives(op, wrap_negative_indices)
    mode = plans.string(op, "mode", mode)
    backend, (indices,) = dispatch.route(op, {"indices": indices})
    array = _known(op, backend, indices)
    if array.dtype.kind not in "iu":
        raise errors.index_dtype(op, array.dtype, array.dtype)
    return prepared_indices(plans.gather(op, sizes, array.shape, first, batch, mode), array)


def _known(op: Operator, backend: Backend, array: Any) -> values.Array:
    """The elements as a NumPy array, which may have another dtype than of integers."""
    if isinstance(array, np.ndarray):
        return np.asarray(array)
    found = None if backend.is_unknown(array) else backend.as_numpy(array)
    if found is None:
        raise errors.unknown_indices(op, backend.unknown_name)
    return found


def _of_segments(
    shape: Shape, segment_ids: Any, num_segments: Any, indptr: Any, *, axis: Any, batch_dims: Any, mode: Any
) -> PreparedSegments:
    """Check ids or pointers, and make the object."""
    op, is_indptr = rules.REDUCE, indptr is not None
    given = indptr if is_indptr else segment_ids
    like = np.zeros(0, np.int64)
    if given is not None and not isinstance(given, values.TYPES):
        op = op.replace(indices="indptr") if is_indptr else op
        backend, (array,) = dispatch.route(op, {"indices": given})
        given = _known(op, backend, array)
        if errors.kind_of(array.dtype) == "int":
            with backend.constants():
                like = backend.zeros((0,), array)
    data = np.broadcast_to(np.uint8(0), shape)
    pair = (segment_ids, given) if is_indptr else (given, None)
    _, ids = read(rules.REDUCE, data, pair[0], num_segments, pair[1], axis, batch_dims, mode)
    ids = checked(ids)
    array, n = expanded(ids), ids.layout.n
    if ids.mode == "drop":
        array = settled(array, n)
        ids = ids._replace(has_rest=bool((array == n).any()))
    b = ids.layout.batch_dims
    plan = plans.gather(SCATTER, (*shape[:b], n + ids.has_rest), array.shape, b, b, "raise")
    return PreparedSegments._of(prepared_indices(plan, array), ids.layout, like)
