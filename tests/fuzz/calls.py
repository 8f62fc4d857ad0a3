"""Draws a call. Call i of a seed depends only on (seed, i), so that any call can be repeated."""

import math
import random as randoms

import numpy as np
from constants import FUNCTIONS, GATHER_MODES, SCATTER_MODES
from gatherscatter._kernels.common import GatherRoute, ScatterRoute
from gatherscatter.reductions import REDUCTIONS, wider_dtypes

from fuzz import fused, indexing, large, mutations, prepared
from fuzz.elements import INDEX, ITEMS, NUMBERS, OWNING, draw_type
from fuzz.memory import CLASSES, PREAMBLE, Block, Literal, References, View, overlaps_itself, place, place_references

GATHER_ROUTES = [one.name.lower() for one in GatherRoute]
SCATTER_ROUTES = [one.name.lower() for one in ScatterRoute]
RUN = 100  # calls in a row whose teams are of one size: a team that changes takes longer than a call
TEAMS, TEAM_WEIGHTS = (2, 3, 8, 129, 200, 600, 1100), (50, 30, 17, 0.8, 0.8, 0.8, 0.6)
MAX_AXES = 64
MOST_BYTES = 1 << 24  # of a block of a call that is not large; a guard
SIDES = (0, *(1,) * 7, *(2,) * 11, *(3,) * 10, *(4,) * 6, 5, 6, 7, 9, 11)  # sizes, as likely as they stand here
LARGE = 1 / 300  # the share of large calls
EDGES = (127, 128, -128, 255, 1 << 31, -(1 << 31) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, -(1 << 63))


class Call:
    """A call: `blocks` of memory, `arguments` by name (views, literals), `options`, and how the kernels are forced."""

    def __init__(self, seed, number):
        self.seed, self.number = seed, number
        self.blocks, self.arguments, self.options = [], {}, {}
        self.team, self.limit, self.route = 0, None, "auto"
        self.errors = ()  # what an argument that breaks a rule is refused with
        self.is_large = False
        self.is_prepared = self.is_fused = False

    def begin(self, random):
        """Which function, and whether it scatters."""
        self.function = random.choice((*FUNCTIONS, "at"))
        self.is_at = self.function == "at"
        self.scatters = random.random() < 0.5 if self.is_at else self.function.startswith("scatter")

    def make(self, plain=False):
        """The blocks' memory, and the arguments. plain: no subclasses."""
        if self.is_large:
            return large.make(self.arguments)
        memory = [block.make() for block in self.blocks]
        made = {}
        for name, one in self.arguments.items():
            same = next((other for other, view in self.arguments.items() if view is one and other in made), None)
            if same:
                made[name] = made[same]
            elif isinstance(one, Literal):
                made[name] = one.value
            else:
                made[name] = one.make(memory[one.block], np.ndarray if plain else CLASSES[one.cls])
        return memory, made

    def source_of_arguments(self):
        lines = [block.source(f"memory{i}") for i, block in enumerate(self.blocks)]
        seen = {}
        for name, one in self.arguments.items():
            if id(one) in seen:
                lines.append(f"{name} = {seen[id(one)]}\n")
            else:
                lines.append(one.source(name, f"memory{getattr(one, 'block', None)}"))
            seen[id(one)] = name
        return "".join(lines)

    def source(self):
        """Code that makes the call, by itself."""
        dtypes = [one.type.source for one in self.arguments.values() if hasattr(one, "type")]
        given = [name for name in self.arguments if name != "out"]
        given += [f"{name}={value!r}" for name, value in self.options.items()]
        given += ["out=out"] if "out" in self.arguments else []
        family = "scatter" if self.scatters else "gather"
        called = indexing.source(self) if self.is_at else f"gs.{self.function}({', '.join(given)})"
        if self.is_prepared:
            called = prepared.source(self, given)
        if self.is_fused:
            called = fused.code(self, given)
        return (
            PREAMBLE
            + (fused.PREAMBLE if self.is_fused else "")
            + ("import ml_dtypes\n" if any("ml_dtypes" in dtype for dtype in dtypes) else "")
            + self.source_of_arguments()
            + (f"gs.set_num_threads({self.limit})\n" if self.limit else "")
            + f'with kernels.forced({self.team}, {family}="{self.route}"):\n'
            + f"    result = {called}\n"
        )


def draw(seed, number, max_team=TEAMS[-1]):
    call = Call(seed, number)
    random = randoms.Random((seed << 64) | number)
    call.begin(random)
    call.is_large = random.random() < LARGE and not call.is_at
    if call.is_large:
        large.draw(call, random)
    else:
        (indexing.draw_shapes if call.is_at else _draw_shapes)(call, random)
        _draw_options(call, random)
        if call.is_at:
            indexing.draw_method(call, random)
        _draw_arrays(call, random)
        if random.random() < 0.05 and not call.is_at:
            mutations.mutate(call, random)
    _draw_threads(call, random, max_team)
    call.is_prepared = not (call.errors or call.is_at) and random.random() < 0.2
    call.is_fused = fused.suits(call) and random.random() < 0.6
    return call


def _draw_threads(call, random, max_team):
    if random.random() < 0.4:
        team = randoms.Random(-1 - ((call.seed << 64) | call.number // RUN)).choices(TEAMS, TEAM_WEIGHTS)[0]
        call.team = min(random.choice((1, team, team)), max_team)
    if random.random() < 0.4:
        call.route = random.choice(SCATTER_ROUTES if call.scatters else GATHER_ROUTES)
    call.limit = random.choice((None, None, None, 1, 2))


# Shapes


def _side(random):
    return random.choice(SIDES)


def _sides(random, weights):
    (n,) = random.choices(range(len(weights)), weights)
    return [_side(random) for _ in range(n)]


def _with_ones(random, sizes, n):
    """Sizes with n axes of size 1 among them."""
    for _ in range(n):
        sizes.insert(random.randrange(len(sizes) + 1), 1)


def _draw_shapes(call, random):
    """The shapes of data, of the indices, and of the result of a gather or the updates of a scatter."""
    kind = call.function.partition("_")[2]
    batch = _sides(random, (6, 2, 1))
    front = _sides(random, (5, 3, 1)) if not kind else []
    row = _sides(random, (5, 4, 2, 1))
    tuples = _sides(random, (1, 8, 4, 1))
    if random.random() < 0.04:  # more than a block of tuples
        tuples = [random.randrange(100, 600), *tuples[2:]]
        batch, front, row = batch[:1], front[:1], row[:1]
    k = 1 if kind != "nd" else random.choice((0, 1, 1, 1, 2, 2, 3))
    indexed = [_side(random) if random.random() < 0.9 else random.randrange(1, 300) for _ in range(k)]
    if random.random() < 0.04:
        many = random.choice((4, 20, 64))
        n_free = MAX_AXES - len(batch) - len(front) - max(len(tuples), k) - len(row) - 1
        parts = [batch, row] + ([front] if not kind else []) + ([tuples] if kind != "nd" or k == 0 else [])
        for part in parts:
            _with_ones(random, part, random.randrange(max(min(many, n_free) // len(parts) + 1, 1)))
        if kind == "nd" and random.random() < 0.3:
            more = random.randrange(max(MAX_AXES - len(batch) - len(indexed) - len(row), 0) + 1)
            _with_ones(random, indexed, min(more, MAX_AXES - len(batch) - len(tuples) - len(row)))
        if random.random() < 0.4:  # as many as there can be
            named = len(indexed) if kind == "elements" else max(len(indexed), len(tuples))
            _with_ones(random, row, MAX_AXES - len(batch + front + row) - named)
    _shrink(random, (batch, front, tuples, row), 700 if math.prod(tuples) >= 100 else 80)
    _shrink(random, (batch, front, indexed, row), 2000)
    call.batch_dims = len(batch)
    if kind == "nd":
        call.data = (*batch, *indexed, *row)
        call.indices = (*batch, *tuples, len(indexed))
        call.elements = (*batch, *tuples, *row)
        call.axis, call.indexed = call.batch_dims, tuple(indexed)
    elif kind == "elements":
        sizes = [*batch, *row]
        call.axis = random.randrange(len(sizes) + 1)
        index = list(sizes)
        index.insert(call.axis, math.prod(tuples) if math.prod(tuples) * math.prod(sizes) < 700 else 2)
        if random.random() < 0.4:  # data is larger than what the indices name
            sizes = [n + random.choice((0, 0, 1, 3)) for n in sizes] if len(sizes) < 5 else sizes
        sizes.insert(call.axis, indexed[0])
        call.data, call.indices, call.indexed = tuple(sizes), tuple(index), tuple(indexed)
        call.elements = call.indices
    else:
        call.data = (*batch, *front, *indexed, *row)
        call.indices = (*batch, *tuples)
        call.elements = (*batch, *front, *tuples, *row)
        call.axis, call.indexed = len(batch) + len(front), tuple(indexed)


def _shrink(random, parts, limit):
    """Fewer elements, by axes of size 1."""
    while math.prod(math.prod(part) for part in parts) > limit:
        part = random.choice(parts)
        if part:
            axis = part.index(max(part))
            part[axis] = part[axis] // 2 or 1


# Options


def _draw_places(call, random, r):
    options = call.options
    call.mode = "raise" if r < 0.4 else random.choice(SCATTER_MODES if call.scatters else GATHER_MODES)
    if call.mode != "raise" or r < 0.2:
        options["mode"] = call.mode
    if call.mode not in ("raise", "promise_in_bounds") and random.random() < 0.2:
        options["wrap_negative_indices"] = False
    if not call.function.endswith("_nd") and (call.axis or r < 0.5):
        axis = call.axis - random.choice((0, len(call.data)))
        options["axis"] = axis if r < 0.95 else np.int64(axis)
    if not call.function.endswith("_elements") and (call.batch_dims or r < 0.5):
        options["batch_dims"] = call.batch_dims if r < 0.95 else np.int8(call.batch_dims)


def _draw_options(call, random):
    options = call.options
    r = random.random()
    if not call.is_at:
        _draw_places(call, random, r)
    call.type = draw_type(random)
    if call.scatters:
        call.reduction = "none" if r < 0.1 else random.choice(call.type.reductions)
        if call.reduction != "none" or r < 0.05:
            options["reduction"] = call.reduction
        if random.random() < 0.5:
            options["include_self"] = random.choice((True, False, False, np.False_))
        wider = wider_dtypes(call.type.dtype.name) if REDUCTIONS[call.reduction].rounds else ()
        if wider and random.random() < 0.2:
            options["accumulate_dtype"] = random.choice(wider)
    elif call.mode == "fill" and r < 0.9:
        options["fill_value"] = scalar(random, call.type)


def scalar(random, type):
    """A value that a dtype holds unchanged, or 0."""
    kind, r = type.dtype.kind, random.random()
    if r < 0.2:
        return 0
    if type.dtype.names is not None or "int4" in type.source or "float8" in type.source:
        return 0
    if kind == "O":
        return random.choice([item for item in ITEMS if not isinstance(item, (list, tuple)) and item is not None])
    if kind == "T":
        return random.choice(("", "a", "longer than sixteen bytes of an element"))
    if kind == "b":
        return random.choice((True, False, np.True_))
    if kind in "iu":
        info = np.iinfo(type.dtype)
        value = random.choice((1, 100, info.min, info.max))
    elif kind in "fc" or type.name:
        value = random.choice((1, -3, 1.5, -0.0, 0.1, math.inf, -math.inf))
        if kind == "c" and r < 0.5:
            return random.choice((1 - 2j, complex(-0.0, math.inf)))
    elif kind in "US":
        value = ("x" if kind == "U" else b"x")[: type.dtype.itemsize]
    else:
        return 0
    if r > 0.8 and type.dtype.isnative and type.dtype.char not in "gG" and kind in "iuf":
        return type.dtype.type(value)
    return value


# Arrays


def _draw_arrays(call, random):
    views = call.arguments
    type = call.type
    owning = type in OWNING
    index_type = random.choice(INDEX)
    sizes = {}

    def new(name, type, shape, repeats):
        view, size = place_references(random, type, shape) if type in OWNING else place(random, type, shape, repeats)
        if size > MOST_BYTES:
            raise ValueError(f"{name} of shape {shape} is drawn too large")
        view.block = len(sizes)
        sizes[view.block] = size
        views[name] = view
        return view

    new("data", type, call.data, repeats=True)
    if call.is_at:
        pairs = len(sizes)
        if call.columns:
            sizes[pairs] = 0
        for name, values in call.values.items():
            if name in call.columns:
                views[name], size = indexing.column(pairs, values.shape, call.columns.index(name))
                sizes[pairs] = max(sizes[pairs], size)
            else:
                new(name, call.types[name], values.shape, repeats=call.types[name] is not indexing.BOOL)
    else:
        new("indices", index_type, call.indices, repeats=True)
    if call.scatters:
        if call.elements == call.data and random.random() < 0.02:
            views["updates"] = views["data"]
        else:
            broadcasts = not owning and (call.is_at or random.random() < 0.1)
            shape = indexing.updates_shape(call, random) if broadcasts else call.elements
            new("updates", type, shape, repeats=True)
    if random.random() < 0.4:
        _draw_out(call, random, new, sizes, owning)
    _fill(call, random, sizes)
    _draw_properties(call, random)
    if random.random() < 0.08:
        _draw_literals(call, random)


def _draw_out(call, random, new, sizes, owning):
    views = call.arguments
    shape = call.data if call.scatters else call.elements
    r = random.random()
    # In elements that share bytes, the payload of a NaN, which is unspecified, may become part of a number.
    has_payloads = call.scatters and call.reduction != "none" and call.type.dtype.kind not in "biu"
    data = views["data"]
    if call.scatters and r < 0.3 and not (has_payloads and overlaps_itself(data)):
        if r < 0.2 or owning:
            views["out"] = data
        else:
            views["out"] = View(data.block, data.type, data.shape, data.offset, data.strides)
        return
    out = new("out", call.type, shape, repeats=r > 0.97 and not has_payloads)
    if owning or r < 0.6:
        return
    # In the same memory as an input.
    other = views[random.choice([name for name in views if name != "out" and views[name].type not in OWNING])]
    size = sizes.pop(out.block)
    shift = random.choice((0, 0, call.type.dtype.itemsize, 1, 8, 24))
    out.block, out.offset = other.block, out.offset + shift
    sizes[out.block] = max(sizes[out.block], size + shift)


def _fill(call, random, sizes):
    """The contents of the blocks: of views in the order of the arguments reversed, so that data's are as drawn."""
    contents = {}
    for block, size in sizes.items():
        contents[block] = None if any(v.block == block and v.type in OWNING for v in call.arguments.values()) else size
    for name in ("out", "updates", "data", "indices", *(call.values if call.is_at else ())):
        view = call.arguments.get(name)
        if view is None or (name == "updates" and view is call.arguments["data"]):
            continue
        if view.type in OWNING:
            if contents[view.block] is None:
                contents[view.block] = References(view.type, view.type.items(random, sizes[view.block]))
            continue
        memory = contents[view.block]
        if isinstance(memory, int):
            contents[view.block] = memory = np.frombuffer(bytearray(random.randbytes(memory)), "u1")
        n = math.prod(view.shape)
        if call.is_at and name in call.values:
            values = call.values[name]
        elif name == "indices":
            values = np.array(_indices(call, random, view.type.dtype, n), view.type.dtype)
        elif view.type.dtype.itemsize == 0:
            continue
        else:
            values = np.frombuffer(view.type.content(random, n), view.type.dtype)
        if n:
            view.make(memory)[...] = values.reshape(view.shape)
    for block in sizes:
        content = contents[block]
        if not isinstance(content, References):
            content = Block(content.tobytes(), mapped=random.random() < 0.002)
        call.blocks.append(content)


def _indices(call, random, dtype, n):
    """Indices in bounds; in modes that do not raise, and in some calls that do, others too."""
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    sizes = call.indexed or (1,)
    k = len(sizes)
    draw = random.random
    wide = call.mode not in ("raise", "promise_in_bounds") and draw() < 0.85
    found = []
    for j in range(n):
        size = sizes[j % k]
        if wide and draw() < 0.3:
            index = _beyond(random, size, low, high)
        else:
            index = int(draw() * size)
            if draw() < 0.2 and index - size >= low and size:
                index -= size
            index = min(index, high)
        found.append(index)
    if n and not wide and draw() < 0.08:
        for _ in range(random.choice((1, 1, 3))):
            j = random.randrange(n)
            found[j] = _beyond(random, sizes[j % k], low, high)
    return found


def _beyond(random, size, low, high):
    near = (size, size, -size - 1, size + 1, -size - 2, 2 * size, -2 * size - 1, 3 * size + 1, -5 * size)
    index = random.choice(near) if random.random() < 0.7 else random.choice((low, high, *EDGES))
    return index if low <= index <= high else random.choice((low, high))


def _draw_properties(call, random):
    for name, view in call.arguments.items():
        r = random.random()
        if r < 0.06 and name != "out" and view is not call.arguments.get("out"):
            view.writeable = False
        elif r > 0.985 and isinstance(view, View):
            view.cls = random.choice(("np.memmap", "Subclass", "np.matrix" if len(view.shape) == 2 else "np.memmap"))


def _draw_literals(call, random):
    """Lists and scalars for arrays."""
    views = call.arguments
    if call.scatters and random.random() < 0.6:
        views["updates"] = Literal(scalar(random, call.type))
        return
    names = [name for name in ("indices", "updates") if name in views]
    if not names:
        return
    name = random.choice(names)
    view = views[name]
    if 0 in view.shape or len(view.shape) > 10 or not isinstance(view, View):
        return
    if name == "updates" and (view is views["data"] or call.type not in NUMBERS or call.type.dtype.kind not in "biufc"):
        return
    memory = call.blocks[view.block].make()
    values = view.make(memory).tolist()
    if name == "indices" and np.asarray(values).dtype.kind not in "iu":  # integers of both ends
        return
    views[name] = Literal(values)
