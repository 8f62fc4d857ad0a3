"""Draws a call that is large enough for the routes, thread teams, tiles and stores that small calls never use.

Its arrays are drawn by NumPy from the number in their expression, and compared with `vectorized`.
"""

import math

import numpy as np

from fuzz.elements import Type

HUGE = 0.08  # the share of large calls whose result has 16 MiB or more
MOST = 3 << 20  # elements of an array
# NumPy's ufunc.at is the loop of the reference for these: without NaN, and where a mean rounds once.
REDUCED = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
TYPES = {name: Type(repr(name), random=False) for name in (*REDUCED, "c8", "c16", "V3", "V12", "S5", "M8[s]", "V24")}


class Expression:
    """An array by the expression that makes it."""

    def __init__(self, expression):
        self.expression = expression

    def source(self, name, memory=None):
        return f"{name} = {self.expression}\n"


def make(arguments):
    """The memory of the arrays, and the arrays by name; one may be another's name."""
    made = {}
    for name, one in arguments.items():
        made[name] = eval(one.expression, {"np": np}, made)
    return [_owner(array) for array in made.values()], made


def _owner(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def values(random, type, shape):
    """An expression for an array of these elements, in some layout."""
    seed, kind, n = random.randrange(1 << 30), type.dtype.kind, math.prod(shape)
    layout = random.choice(("", "", "", "F", "flip", "step", "unaligned", "swap axes"))
    wide = (*shape[:-1], 2 * shape[-1]) if layout == "step" and shape else shape
    n = math.prod(wide)
    made = f"np.random.default_rng({seed})"
    if kind == "f":
        made += f".standard_normal({n}).astype({type.source})"
    elif kind == "b":
        made += f'.integers(0, 2, {n}, "u1").view("?")'
    else:
        made += f'.integers(0, 256, {n * type.dtype.itemsize}, "u1").view({type.source})'
    return lay_out(made, type, wide, layout, len(shape))


def lay_out(made, type, wide, layout, rank):
    if layout == "unaligned":
        made = f'np.append(np.zeros(1, "u1"), {made}.view("u1"))[1:].view({type.source})'
    made = f"{made}.reshape({wide})"
    if layout == "F":
        return f"np.asfortranarray({made})"
    if layout == "flip":
        return f"np.flip({made})"
    if layout == "step" and wide:
        return f"{made}[..., ::2]"
    if layout == "swap axes" and rank > 1:
        return f"np.swapaxes(np.swapaxes({made}, 0, -1).copy(), 0, -1)"
    return made


def places(random, dtype, shape, sizes, mode):
    """An expression for indices: anywhere, in few places, near one another or in order."""
    seed = random.randrange(1 << 30)
    spread = random.choice(("", "", "", "few", "sorted", "near"))
    size = min(sizes)
    beyond = mode not in ("raise", "promise_in_bounds")
    low, high = (-2 * size, 2 * size) if beyond else (-size if dtype[0] == "i" and random.random() < 0.5 else 0, size)
    if dtype[0] == "u":
        low = 0
    largest = (1 << (8 * int(dtype[1:]) - (dtype[0] == "i"))) - 1
    high, low = min(high, largest), max(low, -largest)
    if spread == "few":
        high = min(high, max(low + 1, random.choice((1, 7, 100))))
    made = f"np.random.default_rng({seed}).integers({low}, {high}, {math.prod(shape)}, {dtype!r})"
    if spread == "sorted":
        made = f"np.sort({made})"
    elif spread == "near":
        made = f"({made} // 64 * 64 if {low} >= 0 else {made})"
    type = Type(repr(dtype))
    if beyond or random.random() > 0.1 or not math.prod(shape):
        return lay_out(made, type, shape, random.choice(("", "", "F", "flip", "swap axes")), len(shape))
    bad = min(max(sizes), largest)
    at = random.randrange(math.prod(shape))
    made = f"np.concatenate([{made}[:{at}], np.array([{bad}], {dtype!r}), {made}[{at + 1}:]])"
    return lay_out(made, type, shape, random.choice(("", "F")), len(shape))


def draw(call, random):
    """Fill a call's fields."""
    huge = random.random() < HUGE
    n_updates = random.choice((20_000, 60_000, 150_000)) * (4 if huge else 1)
    name = random.choice(REDUCED if call.scatters and random.random() < 0.8 else list(TYPES))
    call.type = type = TYPES[name]
    row = random.choice(((), (), (), (1,), (2,), (3,), (4,), (16,), (5, 3), (100,), (300,), (1030,)))
    if huge:
        row = random.choice((row, (256,), (1000,), (5000,)))
    row_items = math.prod(row)
    n = max(n_updates // row_items, 1)
    if huge:
        n = max(min((1 << 24) // type.dtype.itemsize, MOST) // row_items + random.randrange(3), 1)
    most = min((1 << 24) // type.dtype.itemsize, MOST if huge else MOST // 8)  # elements of data
    size = max(min(random.choice((1, 20, 3000, 50_000, most)), most // row_items), 1)
    call.mode = random.choice(("raise", "raise", "raise", "clip", "wrap", "drop" if call.scatters else "fill"))
    kind = call.function.partition("_")[2]
    index = random.choice(("i8", "i8", "i4", "i4", "i2", "u1", "u4", "u8"))
    batch = () if random.random() < 0.6 else (random.choice((2, 3, 30)),)
    n = max(n // math.prod(batch), 1)
    size = max(size // math.prod(batch), 1)
    tuples = (n,) if random.random() < 0.7 or n < 12 else (n // 3, 3)
    call.batch_dims = len(batch)
    if kind == "nd":
        call.indexed = (size,) if random.random() < 0.6 or size < 9 else (size // 3, 3)
        call.data, call.indices = (*batch, *call.indexed, *row), (*batch, *tuples, len(call.indexed))
        call.elements, call.axis = (*batch, *tuples, *row), len(batch)
    elif kind == "elements":
        call.indexed, call.axis = (size,), random.choice((0, 0, 1))
        across = max(min(random.choice((3, 50, 700)), n), 1)
        size = max(min(size, most // across), 1)
        long = max(n // across, 1)
        call.indexed = (size,)
        call.data, call.indices = (size, across), (long, across)
        if call.axis:
            call.data, call.indices = call.data[::-1], call.indices[::-1]
        call.elements = call.indices
    else:
        front = () if random.random() < 0.7 else (random.choice((1, 3, 8)),)
        tuples = (max(n // math.prod(front), 1),)
        size = max(size // math.prod(front), 1)
        call.indexed, call.axis = (size,), len(batch) + len(front)
        call.data, call.indices = (*batch, *front, size, *row), (*batch, *tuples)
        call.elements = (*batch, *front, *tuples, *row)
    options = call.options = {"mode": call.mode}
    if kind != "nd":
        options["axis"] = call.axis - random.choice((0, len(call.data)))
    if kind != "elements":
        options["batch_dims"] = call.batch_dims
    if call.scatters:
        call.reduction = options["reduction"] = random.choice(type.reductions) if name in REDUCED else "none"
        options["include_self"] = random.random() < 0.6
    arguments = call.arguments = {"data": Expression(values(random, type, call.data))}
    arguments["indices"] = Expression(places(random, index, call.indices, call.indexed, call.mode))
    if call.scatters:
        arguments["updates"] = Expression(values(random, type, call.elements))
    shape = call.data if call.scatters else call.elements
    r = random.random()
    if r < 0.15 and call.scatters:
        arguments["out"] = Expression("data")
    elif r < 0.35:
        arguments["out"] = Expression(values(random, type, shape))
