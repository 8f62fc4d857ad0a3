"""Runs a call and the reference, and reports the differences."""

import sys
import warnings
from collections import Counter

import gatherscatter as gs
import numpy as np
from gatherscatter import reference
from gatherscatter.backends import kernels

from fuzz import fused, indexing, prepared, vectorized


class Difference(Exception):
    """A difference between the library and the reference."""


def run(call):
    """Raise a Difference unless the call has the result of the reference."""
    memory, given = call.make()
    world, theirs = call.make(plain=True)  # the same once more, for the reference
    expected, refusal = _expected(call, theirs)
    items = _own_items(memory)
    held = _held(items, memory)
    arguments = [value for name, value in given.items() if name != "out"]
    options = dict(call.options)
    if "out" in given:
        options["out"] = given["out"]
    result = error = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gs.set_num_threads(call.limit)
            with kernels.forced(call.team, **{"scatter" if call.scatters else "gather": call.route}):
                if call.is_at:
                    result = indexing.run(gs.at, call, given, options)
                elif call.is_fused:
                    result = fused.run(call, given)
                elif call.is_prepared:
                    result = prepared.run(call, given, options)
                else:
                    result = getattr(gs, call.function)(*arguments, **options)
    except Exception as raised:
        error = raised
    if expected is None:
        _check_error(call, error, refusal, theirs)
    else:
        if error is not None:
            raise Difference(f"expected a result, not {type(error).__name__}: {error}") from error
        _check_result(call, result, expected, given, theirs)
    _check_memory(call, memory, world)
    del error
    arrays = memory if result is None or "out" in given else [*memory, result]
    if items and _held(items, arrays) != held:
        raise Difference("the reference counts of the items differ from the places that hold them")


# The reference


def _expected(call, given):
    """The result, or None and the error: its type, and its message if that is of an index."""
    if call.errors:
        return None, call.errors
    if "out" in given and _shares_elements(given["out"]):
        return None, (ValueError,)
    try:
        expected = by_loop(vectorized if call.is_large else reference, call, given)
    except IndexError:
        if call.is_at:
            return None, (IndexError,)
        return None, _index_error(call, given["data"], np.asarray(given["indices"]))
    if "out" in given:
        given["out"][...] = expected
    return expected, None


def by_loop(loop, call, given):
    """The result by one of the two modules that have such functions."""
    if call.is_at:
        with np.errstate(all="ignore"):
            return indexing.by_loop(call, given, _as_updates(given.get("updates", 0), given["data"].dtype))
    arrays = [given["data"], np.asarray(given["indices"])]
    options = dict(call.options)
    if call.scatters:
        updates = _as_updates(given["updates"], given["data"].dtype)
        arrays.append(np.broadcast_to(updates, call.elements) if updates.ndim and not call.is_large else updates)
        if "include_self" in options:
            options["include_self"] = bool(options["include_self"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(loop, call.function)(*arrays, **options)


def _shares_elements(array):
    """Whether two elements of an array share bytes."""
    if not isinstance(array, np.ndarray) or array.size < 2 or array.itemsize == 0:
        return False
    steps = (np.arange(n) * stride for n, stride in zip(array.shape, array.strides, strict=True))
    offsets = np.sort(sum(np.ix_(*steps)), axis=None)
    return bool((np.diff(offsets) < array.itemsize).any())


def _as_updates(updates, dtype):
    if isinstance(updates, np.ndarray):
        return updates
    if type(updates) is int and updates == 0:
        return np.zeros((), dtype)
    array = np.empty((), dtype) if dtype.kind == "O" else np.array(updates, dtype)
    if dtype.kind == "O":
        array[()] = updates
    return array


def _index_error(call, data, indices):
    """The error for the first bad index in row-major order."""
    tuples = indices.reshape(-1, len(call.indexed)) if call.function.endswith("_nd") else indices.reshape(-1, 1)
    places = call.mode not in ("raise", "promise_in_bounds")  # an empty axis has no place for any index
    sizes = np.array(call.indexed, object)
    values = tuples.astype(object)
    bad = (sizes == 0) if places else (values < -sizes) | (values >= sizes)
    bad = np.broadcast_to(bad, values.shape).astype(bool)
    number = int(np.argmax(bad.any(axis=1)))
    component = int(np.argmax(bad[number]))
    nd = call.function.endswith("_nd")
    position = np.unravel_index(number, indices.shape[:-1] if nd else indices.shape) if indices.ndim > nd else ()
    place = f"[{', '.join(str(int(i)) for i in position)}]" if position else ""
    found = tuple(int(i) for i in values[number])
    axis = call.axis + component
    message = (
        f"{fused.name(call)}: indices{place} = {found if nd else found[0]} is out of bounds for data of shape "
        f"{data.shape}: axis {axis} has size {data.shape[axis]}"
    )
    return (IndexError, message)


# What is compared


def _check_error(call, error, refusal, given):
    kind, *message = refusal
    shares = "out" in given and _shares_elements(given["out"])
    if (call.errors or shares) and type(error) is IndexError:  # two rules are broken, and either error is right
        kind, message = IndexError, []
        if not call.is_at:
            kind, *message = _index_error(call, given["data"], np.asarray(given["indices"]))
    elif shares and type(error) is ValueError:
        kind, message = ValueError, []
    if error is None:
        raise Difference(f"expected {kind.__name__}, but there was none")
    if type(error) is not kind or (message and str(error) != message[0]):
        wanted = ": ".join([kind.__name__, *message])
        raise Difference(f"expected {wanted}\nnot {type(error).__name__}: {error}") from error
    name = "gather_scatter" if call.is_fused and shares and type(error) is ValueError else fused.name(call)
    if not str(error).startswith(f"{name}: "):
        raise Difference(f"the message does not begin with the function: {error}")


def _check_result(call, result, expected, given, theirs):
    if "out" in given and result is not given["out"]:
        raise Difference("the result is not out itself")
    if not isinstance(result, np.ndarray) or ("out" not in given and type(result) is not np.ndarray):
        raise Difference(f"the result is a {type(result)}")
    if result.dtype != expected.dtype or result.shape != expected.shape:
        raise Difference(
            f"expected {expected.dtype} of shape {expected.shape}, not {result.dtype} of shape {result.shape}"
        )
    if "out" not in given and not (result.flags.c_contiguous and result.flags.writeable and result.flags.aligned):
        raise Difference(f"the new result is not contiguous, aligned and writeable:\n{result.flags}")
    if "out" in given:
        plain = np.asarray(result)
        expected = theirs["out"]
        if call.type.dtype.hasobject:
            return  # with all of its memory
        if not _same(call, plain, expected):
            raise Difference(_shown(plain, expected))
        if call.type.meaning is not None:  # all bytes of an element, not its fields alone
            plain, expected = plain.view(f"V{plain.itemsize}"), expected.view(f"V{plain.itemsize}")
        plain[...] = expected  # NaN for NaN: all memory is compared after this
    elif not _same(call, result, expected):
        raise Difference(_shown(result, expected))


def _same(call, result, expected):
    dtype = call.type.dtype
    if dtype.hasobject:
        return _equal_items(result, expected)
    if result.tobytes() == expected.tobytes():
        return True
    if dtype.itemsize == 0:
        return True
    a, b = (np.array(array, order="C").reshape(-1) for array in (result, expected))
    if dtype.kind == "b":
        return np.array_equal(a.view("u1") != 0, b.view("u1") != 0)
    raw = [array.view("u1").reshape(-1, dtype.itemsize) for array in (a, b)]
    if call.type.meaning is not None:
        return np.array_equal(raw[0][:, call.type.meaning], raw[1][:, call.type.meaning])
    if not call.scatters or call.reduction == "none" or not (dtype.kind in "fc" or call.type.name == "bfloat16"):
        return False
    a, b = (array.view(call.type.nan) for array in (a, b))
    both = (a != a) & (b != b)  # NaN for NaN, whatever its sign and payload
    width = call.type.nan.itemsize
    return a[~both].tobytes() == b[~both].tobytes() and width > 0


def _equal_items(a, b):
    """Equal references: of the same types too, and None for missing strings."""
    a, b = a.tolist(), b.tolist()
    return a == b and repr(a) == repr(b)


def _shown(result, expected):
    """The difference of two arrays, as text."""
    if result.size > 500:
        differ = np.array([x.tobytes() != y.tobytes() for x, y in zip(result.flat, expected.flat, strict=True)])
        first = int(np.argmax(differ))
        return (
            f"{int(differ.sum())} of {result.size} elements differ, the first at {first}: "
            f"expected {expected.flat[first]!r}, not {result.flat[first]!r}"
        )
    shown = []
    for array in (expected, result):
        raw = "" if array.dtype.hasobject else f"\nbytes {array.tobytes().hex()}"
        try:
            shown.append(f"{array!r}{raw}")
        except (ValueError, OverflowError):  # characters or dates beyond Python's
            shown.append(raw)
    return f"expected {shown[0]}\nnot {shown[1]}"


def _check_memory(call, memory, world):
    """Every byte of the blocks: inputs, the bytes around and between elements, and out."""
    for number, (ours, theirs) in enumerate(zip(memory, world, strict=True)):
        if ours.dtype.hasobject:
            if not _equal_items(ours, theirs):
                raise Difference(f"memory{number}: {_shown(ours, theirs)}")
        elif ours.tobytes() != theirs.tobytes():
            places = np.flatnonzero(np.frombuffer(ours.tobytes(), "u1") != np.frombuffer(theirs.tobytes(), "u1"))
            places = places[:20].tolist()
            raise Difference(f"memory{number} differs in its bytes {places}: of an input, of out, or around it")


# Reference counts


def _own_items(memory):
    """The objects that were made for this call: lists of a str. Others calls refer to as well, until they are freed."""
    items = [item for block in memory if block.dtype.kind == "O" for item in block.tolist()]
    items = [item for item in items if type(item) is list and item and type(item[0]) is str]
    return list({id(item): item for item in items}.values())


def _held(items, arrays):
    """The number of references to each item, without those from these arrays."""
    places = Counter(id(item) for array in arrays if array.dtype.kind == "O" for item in array.reshape(-1).tolist())
    return [sys.getrefcount(item) - places[id(item)] for item in items]
