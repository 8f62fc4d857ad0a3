"""Calls that break a rule of the arguments, and the errors that they must raise."""

import numpy as np
from constants import REDUCTIONS
from gatherscatter.backends.base import fits

from fuzz.elements import BAD_INDEX, INDEX, OWNING, draw_type
from fuzz.memory import Block, Literal, View, place


def _replace(call, random, name, type, shape):
    """Another array for an argument."""
    view, size = place(random, type, shape)
    view.block = len(call.blocks)
    call.blocks.append(Block(random.randbytes(size)))
    call.arguments[name] = view


def _another_shape(random, shape):
    shape = list(shape)
    if not shape or (random.random() < 0.3 and len(shape) < 64):
        shape.insert(random.randrange(len(shape) + 1), random.choice((0, 1, 2)))
    elif random.random() < 0.3:
        del shape[random.randrange(len(shape))]
    else:
        axis = random.randrange(len(shape))
        n = shape[axis]
        shape[axis] = random.choice([other for other in (0, 1, 2, n + 1, abs(n - 1)) if other != n])
    return tuple(shape)


def _another_type(call, random):
    while True:
        type = draw_type(random)
        if type not in OWNING and type.dtype != call.type.dtype and type.dtype.itemsize:
            return type


def _index_dtype(call, random):
    _replace(call, random, "indices", random.choice(BAD_INDEX), call.indices)
    return TypeError


def _updates_shape(call, random):
    if not call.scatters or call.type in OWNING:
        return None
    shape = _another_shape(random, call.elements)
    if fits(shape, call.elements):  # by broadcasting
        return None
    _replace(call, random, "updates", call.type, shape)
    return ValueError


def _updates_dtype(call, random):
    if not call.scatters or not call.elements:  # an array of rank 0 is a scalar
        return None
    other = _another_type(call, random)
    # float16 and bfloat16 hold the same integers, those of 8 bits; NumPy knows that of the former.
    to = np.float16 if call.type.dtype.name == "bfloat16" and "int" in other.dtype.name else call.type.dtype
    if np.can_cast(other.dtype, to, "safe"):  # is cast
        return None
    _replace(call, random, "updates", other, call.elements)
    return TypeError


def _out_shape(call, random):
    if call.type in OWNING:
        return None
    _replace(call, random, "out", call.type, _another_shape(random, call.data if call.scatters else call.elements))
    return ValueError


def _out_dtype(call, random):
    _replace(call, random, "out", _another_type(call, random), call.data if call.scatters else call.elements)
    return TypeError


def _out_read_only(call, random):
    if not isinstance(call.arguments.get("out"), View):
        return None
    call.arguments["out"].writeable = False
    return ValueError


def _out_list(call, random):
    call.arguments["out"] = Literal([0])
    return TypeError


def _axis(call, random):
    if call.function.endswith("_nd"):
        return None
    r = len(call.data)
    call.options["axis"] = random.choice((r, -r - 1, 1 << 31, 1 << 63, -(1 << 63) - 1, 1 << 64))
    return ValueError


def _batch_dims(call, random):
    if call.function.endswith("_elements"):
        return None
    nd = call.function.endswith("_nd")
    highest = min(len(call.indices) - 1, len(call.data)) if nd else min(len(call.indices), call.axis)
    call.options["batch_dims"] = random.choice((highest + 1, -1, 1 << 31, 1 << 63, -(1 << 64)))
    return ValueError


def _not_an_integer(call, random):
    name = "batch_dims" if call.function.endswith("_nd") else "axis"
    call.options[name] = random.choice((0.0, "0", None, (0,), [1]))
    return TypeError


def _mode(call, random):
    call.options["mode"] = random.choice(("", "Raise", "fill" if call.scatters else "drop", "wrap\0", "ü"))
    return ValueError


def _mode_type(call, random):
    call.options["mode"] = random.choice((None, 0, b"raise", ["clip"]))
    return TypeError


def _reduction(call, random):
    if not call.scatters:
        return None
    call.options.pop("accumulate_dtype", None)  # which may be a fault with another reduction
    others = [name for name in REDUCTIONS if name not in call.type.reductions]
    if others and random.random() < 0.8:
        call.options["reduction"] = random.choice(others)
        return TypeError
    call.options["reduction"] = random.choice(("sum", "", "add ", 1, None))
    return ValueError if isinstance(call.options["reduction"], str) else TypeError


def _include_self(call, random):
    if not call.scatters:
        return None
    call.options["include_self"] = random.choice((0, 1, None, "True", np.int8(1)))
    return TypeError


def _scalar(call, random):
    """A scalar that data's dtype does not hold."""
    kind = call.type.dtype.kind
    bad = {
        "b": (1, 2, 0.5),
        "i": (1.0, 1 << 63, -(1 << 63) - 1, 1j, "1"),
        "u": (-1, 1 << 64, 0.5, np.float32(1)),
        "f": (1j, "1", np.longdouble(1) if call.type.dtype.char != "g" else 1j),
        "c": ("1", b"1"),
        "U": (1, "much too long for any"),
        "S": (1, 2.5),
    }.get(kind)
    if bad is None:
        return None
    value = random.choice(bad)
    if call.scatters:
        call.arguments["updates"] = Literal(value)
    else:
        call.options["mode"] = call.mode = "fill"
        call.options["fill_value"] = value
    return TypeError


def _rank(call, random):
    if not call.function.endswith("_elements"):
        return None
    r = len(call.indices)
    shape = call.indices[1:] if random.random() < 0.5 or r == 64 else (*call.indices, 1)
    _replace(call, random, "indices", random.choice(INDEX), shape)
    return ValueError


def _longer(call, random):
    axes = [d for d in range(len(call.data)) if d != call.axis]
    if not call.function.endswith("_elements") or not axes:
        return None
    shape = list(call.indices)
    axis = random.choice(axes)
    shape[axis] = call.data[axis] + random.choice((1, 2))
    _replace(call, random, "indices", random.choice(INDEX), tuple(shape))
    return ValueError


MUTATIONS = (
    *(_index_dtype, _updates_shape, _updates_dtype, _out_shape, _out_dtype, _out_read_only, _out_list, _axis),
    *(_batch_dims, _not_an_integer, _mode, _mode_type, _reduction, _include_self, _scalar, _rank, _longer),
)


def mutate(call, random):
    error = random.choice(MUTATIONS)(call, random)
    if error is not None:
        call.errors = (error,)
