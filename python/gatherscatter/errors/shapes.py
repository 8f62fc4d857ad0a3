"""Messages about shapes, and about indices that are out of bounds."""

import sys
from collections.abc import Mapping, Sequence

from gatherscatter.errors.text import n_axes, shown
from gatherscatter.operators import Operator


def out_of_bounds(
    op: Operator,
    position: Sequence[int],
    found: int | tuple[int, ...],
    shape: Sequence[int],
    axis: int,
    index: int,
) -> IndexError:
    """`found`: the tuple, or single index, at that position of the indices. `index`: the bad index in it."""
    place = f"{op.indices}[{', '.join(map(str, position))}]" if position else op.indices
    reason = f", and {op.negatives}" if index < 0 and op.negatives and shape[axis] else ""
    return IndexError(
        f"{op.name}: {place} = {found} is out of bounds for {op.data} of shape {tuple(shape)}: "
        f"axis {axis} has size {shape[axis]}{reason}"
    )


def empty_axis(op: Operator, shape: Sequence[int], axis: int) -> IndexError:
    return IndexError(
        f"{op.name}: no index is valid for axis {axis} of {op.data} of shape {tuple(shape)}: it has size 0"
    )


def too_large(op: Operator, argument: str, shape: Sequence[int], n_bytes: int) -> Exception:
    """For more bytes than an array can have, and for more than the system provides."""
    what = f"{op.argument(argument) if argument else 'a result'} of shape {tuple(shape)}"
    if n_bytes > sys.maxsize:
        return ValueError(
            f"{op.name}: {what} would be {n_bytes} bytes, more than an array can have; pass fewer indices"
        )
    return MemoryError(f"{op.name}: no memory for {what}, {n_bytes} bytes; pass fewer indices at a time")


def many_axes(op: Operator, argument: str, n: int, most: int) -> ValueError:
    name = op.argument(argument) if argument else op.indices
    what = name if argument else "the result"
    return ValueError(f"{op.name}: {what} has {n} axes, but at most {most} are possible; pass {name} with fewer axes")


def not_sizes(op: Operator, shape: object) -> Exception:
    """For a shape that is no tuple of integers, or that has a negative one."""
    if isinstance(shape, tuple) and any(isinstance(n, float) and n != n for n in shape):  # of a Dask array
        return ValueError(f"{op.name}: shape={shown(shape)} has unknown sizes; call data.compute_chunk_sizes() first")
    kind = ValueError if isinstance(shape, (tuple, list)) and all(isinstance(n, int) for n in shape) else TypeError
    return kind(f"{op.name}: shape={shown(shape)} is not a tuple of sizes; pass data.shape")


def prepared_shape(
    op: Operator, found: Sequence[object], leading: Sequence[int], shape: Sequence[int], *, exact: bool
) -> ValueError:
    """leading: the sizes that data must have too. exact: data has no other axes."""
    rule = f"{op.data} whose shape {'is' if exact else 'begins with'} {tuple(leading)}"
    return ValueError(
        f"{op.name}: {op.data} has shape {tuple(found)}, but the {op.indices} were prepared for shape {tuple(shape)}; "
        f"pass {rule}, or call prepare for this shape"
    )


def weights_shape(op: Operator, found: Sequence[int], positions: Sequence[int], row: Sequence[int]) -> ValueError:
    more = f", or one followed by leading axes of a slice, {tuple(row)}" if row else ""
    return ValueError(
        f"{op.name}: weights has shape {tuple(found)}; pass the shape of indices, {tuple(positions)}{more}"
    )


def unlike_indices(op: Operator, to: Sequence[object], of: Sequence[object]) -> ValueError:
    return ValueError(
        f"{op.name}: indices has shape {tuple(to)} and source_indices has shape {tuple(of)}; they are pairs, so pass "
        "arrays of one shape"
    )


def prepared_pair(op: Operator, prepared: Sequence[bool], given: Mapping[str, object]) -> Exception:
    """For one array of indices that is prepared and one that is not, or for options that belong to `prepare`."""
    if not all(prepared):
        yes, no = ("indices", "source_indices") if prepared[0] else ("source_indices", "indices")
        return TypeError(f"{op.name}: {yes} is prepared, and {no} is not; call prepare for both, or for none")
    options = " and ".join(f"{name}={shown(value)}" for name, value in given.items())
    return ValueError(f"{op.name}: {options} cannot be passed with prepared indices; pass them to prepare")


def shape_rule(op: Operator, rule: str) -> ValueError:
    return ValueError(f"{op.name}: {rule}")


def no_axis(op: Operator) -> ValueError:
    return ValueError(f"{op.name}: {op.data} has shape (), so it has no axis to index; pass reshape({op.data}, (1,))")


def no_tuples(op: Operator) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} has shape (), so it has no last axis for the tuples; pass reshape({op.indices}, (1,))"
    )


def axis_range(op: Operator, axis: int, data: Sequence[int]) -> ValueError:
    r = len(data)
    return ValueError(
        f"{op.name}: axis={shown(axis)} is not in [{-r}, {r - 1}] for {op.data} of shape {tuple(data)}; "
        "pass 0 for its first axis, -1 for its last"
    )


def batch_range(
    op: Operator, batch_dims: int, highest: int, data: Sequence[int], indices: Sequence[int], axis: int | None
) -> ValueError:
    fix = f"0 to {highest}" if highest else "0"
    if batch_dims < 0:
        reason = "it is a number of leading axes"
    elif axis is not None and highest == axis:
        reason = f"batch axes come before axis={axis}"
        fix += ", or a later axis" if axis < len(data) - 1 else ""
    elif axis is None and highest == len(data):
        reason = f"{op.data} of shape {tuple(data)} has {n_axes(highest)}"
    else:
        in_front = " before its tuples" if axis is None else ""
        reason = f"{op.indices} of shape {tuple(indices)} has {n_axes(highest)}{in_front}"
    return ValueError(f"{op.name}: batch_dims={shown(batch_dims)} is not in [0, {highest}], since {reason}; pass {fix}")


def batch_sizes(op: Operator, data: Sequence[int], indices: Sequence[int], batch_dims: int) -> ValueError:
    ours, theirs = tuple(data[:batch_dims]), tuple(indices[:batch_dims])
    if all(m in (1, n) for n, m in zip(ours, theirs, strict=True)):
        fix = f"they are not broadcast: pass broadcast_to({op.indices}, {ours + tuple(indices[batch_dims:])})"
    else:
        fix = "pass arrays with equal leading sizes, or another batch_dims"
    return ValueError(
        f"{op.name}: with batch_dims={batch_dims} {op.data} and {op.indices} share their leading sizes, "
        f"but {op.data} has {ours} and {op.indices} {theirs}; {fix}"
    )


def long_tuples(op: Operator, data: Sequence[int], indices: Sequence[int], batch_dims: int) -> ValueError:
    data, indices = tuple(data), tuple(indices)
    left = len(data) - batch_dims
    beyond = f" beyond batch_dims={batch_dims}" if batch_dims else ""
    if left == 0:
        fix = "pass a smaller batch_dims" if batch_dims else f"pass reshape({op.data}, (1,))"
    elif not batch_dims and len(indices) > 1 and 1 < indices[0] <= left:  # as returned by numpy.nonzero
        fix = f"tuples are along the last axis: pass moveaxis({op.indices}, 0, -1)"
    else:
        fix = f"for tuples of 1 index pass {op.indices}[{':' if len(indices) == 1 else '...'}, None]"
    n = next(reversed(indices))
    held = "1 index" if n == 1 else f"{n} indices"
    return ValueError(
        f"{op.name}: {op.indices} of shape {indices} holds tuples of {held}, "
        f"but {op.data} of shape {data} has {n_axes(left)}{beyond}; {fix}"
    )


def many_arrays(op: Operator, data: Sequence[int], axis: int, k: int) -> ValueError:
    left = len(data) - axis
    after = f" from axis {axis} on" if axis else ""
    return ValueError(
        f"{op.name}: {op.indices} has {k} arrays, one for each axis, but {op.data} of shape {tuple(data)} "
        f"has {n_axes(left)}{after}; pass at most {left}"
    )


def other_rank(op: Operator, data: Sequence[int], indices: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} of shape {tuple(indices)} has {n_axes(len(indices))}, "
        f"but {op.data} of shape {tuple(data)} "
        f"has {len(data)}; pass the same number, or call {op.name.partition('_')[0]}, which accepts any number"
    )


def longer(op: Operator, data: Sequence[int], indices: Sequence[int], axis: int, other: int) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} of shape {tuple(indices)} is longer than {op.data} of shape {tuple(data)} "
        f"along axis {other}, "
        f"but only axis={axis} may be longer; pass shorter {op.indices}, or axis={other}"
    )


def unknown_size(op: Operator, argument: str, axis: int) -> ValueError:
    argument = op.argument(argument)
    return ValueError(
        f"{op.name}: {argument} has unknown chunk sizes along axis {axis}, which has to be known; "
        f"call {argument}.compute_chunk_sizes() first"
    )


def unknown_chunks(op: Operator, axis: int, indices: int, updates: int) -> ValueError:
    return ValueError(
        f"{op.name}: along axis {axis} {op.indices} has {indices} chunks but {op.updates} has {updates}, "
        "and chunks of unknown sizes cannot be rechunked; call compute_chunk_sizes() on both first"
    )


def chunk_shape(op: Operator, found: Sequence[int], expected: Sequence[int]) -> ValueError:
    return ValueError(
        f"{op.name}: a chunk of {op.updates} has shape {tuple(found)}, "
        f"but the chunk of {op.indices} has {tuple(expected)}; "
        f"pass {op.updates} with chunks of the same sizes"
    )


def no_tuple_length(op: Operator, n_axes: int) -> ValueError:
    return ValueError(
        f"{op.name}: {op.indices} is an empty list, so the length of its tuples is unknown; "
        f"pass an array of integers of shape (0, {n_axes})"
    )
