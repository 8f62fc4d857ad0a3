"""The stage of segments: draws calls of `segment_reduce`, the softmaxes and `prepare("segment", …)`, and checks them.

The reference is tests/segments/loop.py. Floating sums are compared within a bound of their rounding errors, and by
their bits with the same call in other ways: on one thread, alone or in a tuple, by pointers or ids, prepared or not.
"""

import itertools
import math
import random as randoms
import warnings
from unittest import mock

import gatherscatter as gs
import ml_dtypes
import numpy as np
from constants import SEGMENT_REDUCTIONS
from gatherscatter.backends import kernels
from gatherscatter.segments import rules

from fuzz import check, large
from fuzz.calls import MOST_BYTES, RUN, SIDES, TEAM_WEIGHTS, TEAMS, scalar
from fuzz.elements import DATES, INDEX, NUMBERS, SWAPPED, Type
from fuzz.memory import CLASSES, PREAMBLE, Block, Literal, View, place
from segments import loop

DATE_REDUCTIONS = ("max", "min", "first", "last", "count", "argmax", "argmin", "median", "mean", "nunique")
WITH_DTYPE = ("add", "mul", "mean", "var", "std", "logsumexp", "median")
OF_INDEX = ("count", "nunique", "argmax", "argmin")
EXACT = {*DATE_REDUCTIONS, "any", "all"} - {"median", "mean"}
NAMELESS = {"max", "min", "mean", "var", "std", "first", "last", "median"}  # of an empty segment
SOFTMAXES = ("segment_softmax", "segment_log_softmax")
TYPES = {type.dtype.name: type for type in NUMBERS}
TYPES |= {(native := type.dtype.newbyteorder("=").str): Type(repr(native)) for type in DATES}
NAMES = {"np": np, "gs": gs, "ml_dtypes": ml_dtypes, "inf": math.inf, "nan": math.nan}
BLOCK_LENGTH = rules.block_length
LARGE = 1 / 50
MOST_SEGMENTS = 60  # of a result, which the reference makes one by one
MOST_ELEMENTS = 600
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
OPTIONS = ("num_segments", "axis", "batch_dims", "mode", "skipna", "min_count", "fill_value", "correction", "dtype")
WAYS = ("threads", "tuple", "pointers", "prepared")


class Call:
    """A call of segments. `names`: the reductions. `length`: of blocks of floating sums, if it is not the rule's."""

    def __init__(self, seed, number):
        self.seed, self.number = seed, number
        self.blocks, self.arguments, self.options = [], {}, {}
        self.team, self.limit, self.length = 0, None, None
        self.errors = ()  # the type of an error, and words of its message
        self.is_large = self.is_tuple = False
        self.names, self.pointers, self.is_prepared, self.ways = (), None, False, ()

    def make(self, plain=False):
        if self.is_large:
            return large.make(self.arguments)
        memory = [block.make() for block in self.blocks]
        made = {}
        for name, one in self.arguments.items():
            kind = np.ndarray if plain or isinstance(one, Literal) else CLASSES[one.cls]
            made[name] = one.value if isinstance(one, Literal) else one.make(memory[one.block], kind)
        return memory, made

    def code(self, *, names=None, options=None, prepared=None, ids=None, out=True):
        """The call as an expression, by its drawn way or another one."""
        options = dict(self.options if options is None else options)
        prepared = self.is_prepared if prepared is None else prepared
        names = self.names if names is None else names
        if self.function == "segment_reduce" and (names != ("add",) or self.is_tuple or self.number % 2):
            options["reduction"] = names if self.is_tuple or len(names) > 1 else names[0]
        ids = ids or ("indptr=indptr" if self.pointers is not None else "segment_ids")
        of_ids = {name: options.pop(name) for name in ("num_segments", "axis", "batch_dims", "mode") if name in options}
        outs = [name for name in self.arguments if name.startswith("out")] if out else []
        words = [f"{name}={_written(value)}" for name, value in options.items()]
        if outs:
            words.append(f"out=({''.join(f'{one}, ' for one in outs)})" if self.is_tuple else f"out={outs[0]}")
        ids = [ids, *(f"{name}={value!r}" for name, value in of_ids.items())]
        if not prepared:
            return f"gs.{self.function}({', '.join(['data', *ids, *words])})"
        method = {"segment_reduce": "reduce"}.get(self.function, self.function[8:])
        made = f"gs.prepare('segment', np.shape(data), {', '.join(ids)})"
        return f"{made}.{method}({', '.join(['data', *words])})"

    def source(self):
        """Code that makes the call, by itself."""
        lines = [block.source(f"memory{i}") for i, block in enumerate(self.blocks)]
        for name, one in self.arguments.items():
            lines.append(one.source(name, f"memory{getattr(one, 'block', None)}"))
        limit = f"gs.set_num_threads({self.limit})\n" if self.limit else ""
        length = f', mock.patch.object(rules, "block_length", lambda layout: {self.length})' if self.length else ""
        call = f"with kernels.forced({self.team}){length}:\n    result = {self.code()}\n"
        imports = "import ml_dtypes\nfrom unittest import mock\nfrom gatherscatter.segments import rules\n"
        return f"{PREAMBLE}{imports}{''.join(lines)}{limit}{call}"


def _written(value):
    """The code of an option."""
    if isinstance(value, tuple):
        return f"({''.join(f'{_written(one)}, ' for one in value)})"
    return f"complex({value.real!r}, {value.imag!r})" if type(value) is complex else repr(value)


# Draws


def draw(seed, number, max_team=TEAMS[-1]):
    call = Call(seed, number)
    random = randoms.Random(f"segments {seed} {number}")
    call.is_large = random.random() < LARGE
    call.function = "segment_reduce" if random.random() < 0.8 else random.choice(SOFTMAXES)
    _draw_type(call, random)
    (_draw_large if call.is_large else _draw_shapes)(call, random)
    _draw_ids(call, random)
    _draw_options(call, random)
    (_place_large if call.is_large else _place)(call, random)
    call.is_prepared = random.random() < 0.2
    call.ways = tuple(way for way in WAYS if random.random() < 0.5)
    if not call.is_large and random.random() < 0.06:
        _mutate(call, random)
    if random.random() < 0.5:
        team = randoms.Random(f"{seed} {number // RUN}").choices(TEAMS, TEAM_WEIGHTS)[0]
        call.team = min(random.choice((1, team, team)), max_team)
    call.limit = random.choice((None, None, None, 1, 2))
    call.length = random.choice((None, None, 1, 2, 5, 30))
    return call


def _draw_type(call, random):
    if call.is_large:
        call.type = large.TYPES[random.choice((*large.REDUCED, "c8", "c16"))]
    else:
        call.type = random.choice(random.choice((NUMBERS, NUMBERS, NUMBERS, SWAPPED, DATES)))
    if call.function in SOFTMAXES:
        while call.type.dtype.kind in "cmM":
            call.type = large.TYPES["f4"] if call.is_large else random.choice((*NUMBERS, *SWAPPED))
        return
    every = DATE_REDUCTIONS
    if call.type.dtype.kind not in "mM":
        every = [name for name, dtypes in SEGMENT_REDUCTIONS.items() if call.type.dtype.name in dtypes]
    call.is_tuple = random.random() < 0.5
    n = random.choice((1, 2, 2, 3, 4)) if call.is_tuple else 1
    call.names = tuple(random.choice(every) for _ in range(n))
    if call.is_tuple and random.random() < 0.03:
        call.names = tuple(every)


def _draw_shapes(call, random):
    def sizes(*weights):
        (n,) = random.choices(range(len(weights)), weights)
        return [random.choice(SIDES) for _ in range(n)]

    call.by_pointers = random.random() < 0.25
    batch, front, inner = sizes(6, 2, 1), sizes(5, 2, 1), sizes(5, 4, 2)
    numbered = sizes(0, 1) if call.by_pointers or random.random() < 0.8 else sizes(0, 0, 3, 1)
    if random.random() < 0.4:
        numbered[0] = random.randrange(20, 200)
    if random.random() < 0.05:
        inner = [random.choice((40, 64, 70, 300))]
        numbered = numbered[:1]
    parts = batch, front, numbered, inner
    while math.prod(math.prod(part) for part in parts) > MOST_ELEMENTS:
        part = max(parts, key=lambda part: max(part, default=0))
        part[part.index(max(part))] //= 2
    call.n = random.choice((0, 1, 2, 3, 5, 8, 13, 40, 200, 300))
    most = 4 * MOST_SEGMENTS if call.n > 100 else MOST_SEGMENTS
    while call.n > 1 and call.n * math.prod(batch + front + inner) > most:
        call.n //= 2
    _set_shapes(call, batch, front, numbered, inner)


def _draw_large(call, random):
    """For the routes of several threads: few segments, many, or sorted ids; one column, few, or more than a block's."""
    call.by_pointers = random.random() < 0.2
    size = random.choice((2000, 9000, 20_000, 40_000))
    inner = random.choice(([], [], [], [1], [3], [7], [300]))
    front = random.choice(([], [], [], [2]))
    call.n = random.choice((1, 3, 20, 100, 400))
    per_segment = math.prod(front + inner)
    call.n = max(min(call.n, 600 // per_segment), 1)
    _set_shapes(call, [], front, [size // per_segment], inner)


def _set_shapes(call, batch, front, numbered, inner):
    call.data = (*batch, *front, *numbered, *inner)
    call.batch_dims, call.axis = len(batch), len(batch) + len(front)
    call.numbered, call.ids_shape = tuple(numbered), (*batch, *numbered)


def _draw_ids(call, random):
    """`resolved` are the ids with -1 for no segment, `first_bad` the position of one that is an error."""
    call.mode = random.choice(("raise", "raise", "drop", "promise_in_bounds"))
    call.first_bad = None
    size, batches = math.prod(call.numbered), math.prod(call.ids_shape[: call.batch_dims])
    call.index = random.choice([type for type in INDEX if not call.by_pointers or np.iinfo(type.dtype).max >= size])
    if call.by_pointers:
        rows = [sorted(random.choices(range(size + 1), k=call.n + 1)) for _ in range(batches)]
        if random.random() < 0.3:
            rows = [[0, *row[1:-1], size][: call.n + 1] for row in rows]
            rows = [sorted(row) for row in rows]
        call.pointers = np.array(rows, np.int64).reshape(*call.ids_shape[: call.batch_dims], call.n + 1)
        places = np.arange(size)
        found = [np.searchsorted(row, places, side="right") - 1 for row in call.pointers.reshape(batches, call.n + 1)]
        call.resolved = np.array(found, np.int64).reshape(call.ids_shape)
        call.resolved[call.resolved >= call.n] = -1
        call.is_sorted = True
        return
    info = np.iinfo(call.index.dtype)
    if info.bits == 8 and not call.is_large and math.prod(_result_shape(call)) == call.n and random.random() < 0.5:
        call.n = random.choice((127, 128, 129, 200, 256, 257))  # numbers around and beyond the dtype's
    low, high = (-2 if info.min < 0 and random.random() < 0.6 else 0), call.n - 1
    if call.mode == "drop" and random.random() < 0.6:
        high += 3
    high = min(high, int(info.max))
    if high < low:
        low = -1
    kind = random.choice(("random", "random", "sorted", "skewed", "runs", "one"))
    values = [random.randint(low, max(high, low)) for _ in range(batches * size)]
    if kind == "skewed":
        values = [value if value < low + 3 or random.random() < 0.1 else low + 1 for value in values]
    elif kind == "runs":
        values = [value for value in values for _ in range(random.choice((1, 5, 40)))][: len(values)]
    elif kind == "one":
        values = values[:1] * len(values)
    extremes = [end for end in (int(info.min), int(info.max)) if end < 0 or call.mode == "drop"]
    if call.mode == "drop" and values and extremes and random.random() < 0.2:
        values[random.randrange(len(values))] = random.choice(extremes)
    if low < 0 and info.min >= 0:  # there is no id for any element
        values = [0] * len(values)
    if call.mode == "raise" and values and random.random() < 0.05:
        values[random.randrange(len(values))] = random.choice((call.n, call.n + 1, int(info.max)))
        values = [min(value, int(info.max)) for value in values]
    call.options = {}
    if call.mode == "raise" and max(values, default=0) < 300 and random.random() < 0.3:
        call.n = max([*values, -1]) + 1
    else:
        call.options["num_segments"] = call.n
    raw = np.array(values, object).reshape(batches, size)
    if kind == "sorted":
        raw.sort(axis=1)
    call.is_sorted = bool((raw[:, 1:] >= raw[:, :-1]).all())
    call.raw = raw.astype(call.index.dtype).reshape(call.ids_shape)
    inside = (raw >= 0) & (raw < call.n)
    call.resolved = np.where(inside, raw, -1).astype(np.int64).reshape(call.ids_shape)
    bad = (raw >= call.n).astype(bool).reshape(call.ids_shape)
    if bad.any():
        if call.mode == "promise_in_bounds":
            call.mode = "raise"  # which a call with such ids must not promise
        if call.mode == "raise":
            call.first_bad = np.unravel_index(int(np.argmax(bad)), bad.shape)


def _draw_options(call, random):
    options, kind = call.options, call.type.dtype.kind
    if call.pointers is not None and random.random() < 0.3:
        options["num_segments"] = call.n
    if call.axis or random.random() < 0.3:
        options["axis"] = call.axis - random.choice((0, len(call.data)))
    if call.batch_dims or random.random() < 0.3:
        options["batch_dims"] = call.batch_dims
    if call.mode != "raise" or random.random() < 0.2:
        options["mode"] = call.mode
    names = call.names or ("logsumexp",)
    if kind not in "mM" and {*WITH_DTYPE} & {*names} and random.random() < 0.2:
        found = [name for name in SEGMENT_REDUCTIONS["add"] if all(_takes_dtype(one, kind, name) for one in names)]
        if found:
            options["dtype"] = random.choice(found)
    native = call.type.dtype.newbyteorder("=")
    call.kinds = tuple(loop.result_dtype(name, native, options.get("dtype")) for name in names)
    if not call.names:
        return
    if random.random() < 0.35:
        options["skipna"] = random.random() < 0.9
    if random.random() < 0.4:
        options["min_count"] = random.choice((0, 1, 2, 3, 10))
    if {"var", "std"} & {*names} and random.random() < 0.6:
        options["correction"] = random.choice((0, 1, 1, 2, 0.5, -1, 1e300))
    call.fills = (None,) * len(names)
    needed = any(one.kind in "biu" and name not in OF_INDEX for one, name in zip(call.kinds, names, strict=True))
    if random.random() < (0.8 if needed else 0.4):
        fills = tuple(_fill(random, name, one) for name, one in zip(names, call.kinds, strict=True))
        if not call.is_tuple or random.random() < 0.1:
            fills = (fills[0] if not call.is_tuple else 0,) * len(names)
            options["fill_value"] = fills[0]
        else:
            options["fill_value"] = fills
        call.fills = fills


def _fill(random, name, dtype):
    r = random.random()
    if r < 0.15:
        return None
    if dtype.kind in "mM" and r < 0.7:
        return np.array(random.randrange(-5, 99), "i8").view(dtype)[()]
    return scalar(random, TYPES[dtype.name]) if dtype.kind not in "mM" else 0


def _takes_dtype(name, kind, asked):
    """Whether a reduction of a kind of numbers has results of this dtype."""
    order = {"add": "bifc", "mul": "bifc", "logsumexp": "f", "median": "f"}.get(name, "fc")
    if name not in WITH_DTYPE:
        return True
    word = "f" if asked == "bfloat16" else np.dtype(asked).kind
    mine, theirs = (order.find(one.replace("u", "i")) for one in (word, "f" if kind == "V" else kind))
    return mine >= 0 and mine >= theirs


# Arrays


def _place(call, random):
    views, sizes, contents = call.arguments, {}, {}

    def new(name, type, shape, repeats):
        view, size = place(random, type, shape, repeats)
        assert size <= MOST_BYTES
        view.block = len(sizes)
        sizes[view.block] = size
        views[name] = view
        return view

    new("data", call.type, call.data, True)
    name = "segment_ids" if call.pointers is None else "indptr"
    values = (call.raw if call.pointers is None else call.pointers).astype(call.index.dtype)
    new(name, call.index, values.shape, False)
    if random.random() < 0.4:
        _draw_out(call, random, new, sizes)
    n = math.prod(call.data)
    content = call.type.content(random, n)
    if call.type.dtype.itemsize and random.random() < 0.1:  # equal ones
        content = content[: call.type.dtype.itemsize] * n
    for block, size in sizes.items():
        contents[block] = np.frombuffer(bytearray(random.randbytes(size)), "u1")
    elements = np.frombuffer(content, call.type.dtype).reshape(call.data)
    for view, array in ((views["data"], elements), (views[name], values)):
        if array.size:
            view.make(contents[view.block])[...] = array
    call.blocks = [Block(contents[block].tobytes(), mapped=random.random() < 0.002) for block in sizes]
    for view in (views["data"], views[name]):
        r = random.random()
        if r < 0.06:
            view.writeable = False
        elif r > 0.985:
            view.cls = random.choice(("np.memmap", "Subclass"))
    if random.random() < 0.04 and np.asarray(values.tolist()).dtype.kind == "i" and values.size:
        views[name] = Literal(values.tolist())


def _result_shape(call):
    if call.function in SOFTMAXES:
        return call.data
    return *call.data[: call.axis], call.n, *call.data[call.axis + len(call.numbered) :]


def _draw_out(call, random, new, sizes):
    for i, dtype in enumerate(call.kinds):
        name = dtype.str if dtype.kind in "mM" else dtype.name
        out = new(f"out{i}", TYPES[name], _result_shape(call), False)
        others = [] if i else [call.arguments[other] for other in call.arguments if other != "out0"]
        if i and dtype == call.kinds[0] and random.random() < 0.02 and math.prod(out.shape):
            others = [call.arguments["out0"]]
        if others and (i or random.random() < 0.3):  # in the memory of another array
            other = random.choice(others)
            size, shift = sizes.pop(out.block), 0 if i else random.choice((0, 0, dtype.itemsize, 1, 8))
            out.block, out.offset = other.block, out.offset + shift
            sizes[other.block] = max(sizes[other.block], size + shift)


def _place_large(call, random):
    arguments = call.arguments
    arguments["data"] = large.Expression(large.values(random, call.type, call.data))
    values = call.raw if call.pointers is None else call.pointers
    index = call.index.source
    text = f"np.array({values.reshape(-1).tolist()}, {index})"
    layout = random.choice(("", "", "F", "flip"))
    if layout == "flip":
        text = f"np.array({np.flip(values).reshape(-1).tolist()}, {index})"
    name = "segment_ids" if call.pointers is None else "indptr"
    arguments[name] = large.Expression(large.lay_out(text, call.index, values.shape, layout, values.ndim))
    if random.random() < 0.3:
        for i, dtype in enumerate(call.kinds):
            arguments[f"out{i}"] = large.Expression(f"np.zeros({_result_shape(call)}, {dtype.name!r})")


# Calls that break a rule


def _options(kind, words, **options):
    return lambda call, random: call.options.update(options) or (kind, words)


def _of_variances(kind, words, **options):
    mutation = _options(kind, words, **options)
    return lambda call, random: mutation(call, random) if {"var", "std"} & {*call.names} else None


def _of_reductions(mutation):
    """A mutation of segment_reduce alone."""
    return lambda call, random: mutation(call, random) if call.names else None


def _unknown(call, random):
    name = random.choice(("sum", "", "mode", "add "))
    call.names = (*call.names[:-1], name)
    call.options.pop("fill_value", None)
    call.options.pop("dtype", None)
    call.options.pop("correction", None)
    return ValueError, f"reduction={name!r}"


def _no_dtype(call, random):
    if call.is_tuple or call.names[0] in WITH_DTYPE:
        return None
    call.options["dtype"] = "float64"
    return ValueError, "dtype='float64' is for"


def _narrow(call, random):
    kind, names = call.type.dtype.kind, call.names or ("logsumexp",)
    dtypes = SEGMENT_REDUCTIONS["add"]
    found = [dtype for dtype in dtypes if not all(_takes_dtype(name, kind, dtype) for name in names)]
    if not found or kind in "mM":
        return None
    call.options["dtype"] = random.choice(found)
    return TypeError, f"dtype={call.options['dtype']!r} cannot hold"


def _bad_fill(call, random):
    if call.kinds[0].kind == "M" or call.names[0] in OF_INDEX or call.kinds[0].kind == "m":
        return None
    call.options["fill_value"] = ("a",) + (None,) * (len(call.names) - 1) if call.is_tuple else "a"
    call.fills = (0,) + (None,) * (len(call.names) - 1)
    return TypeError, "fill_value='a'"


def _bad_fills(call, random):
    if not call.is_tuple:
        return None
    call.options["fill_value"] = (0,) * (len(call.names) + 1)
    return ValueError, "fill_value=("


def _no_correction(call, random):
    if {"var", "std"} & {*call.names}:
        return None
    call.options["correction"] = 1
    return ValueError, "correction=1"


def _no_reduction_of(call, random):
    kind = call.type.dtype.kind
    if kind not in "cmM":
        return None
    name = random.choice(("max", "min", "argmax", "logsumexp") if kind == "c" else ("mul", "any", "var"))
    call.names = (name, *call.names[1:])
    call.options.pop("dtype", None)
    call.options.pop("correction", None)
    return TypeError, f"reduction={name!r} does not support dtype"


def _ids_shape(call, random):
    if call.pointers is not None or 0 in call.ids_shape:
        return None
    call.arguments["segment_ids"] = Literal(np.zeros((*call.ids_shape[:-1], call.ids_shape[-1] + 1), "i8").tolist())
    return ValueError, "segment_ids has shape"


def _pointers(call, random):
    size = call.data[call.axis]
    if call.pointers is None or not call.pointers.size:
        return None
    found = call.pointers.copy()
    where = tuple(random.randrange(n) for n in found.shape)
    before = int(found[(*where[:-1], where[-1] - 1)]) if where[-1] else 0
    bad, error = random.choice((-1, size + 1, size + 1000, -(1 << 63))), (IndexError, f"is not within [0, {size}]")
    if before and random.random() < 0.5:
        bad, error = before - 1, (ValueError, f"is below the {before} before it")
    found[where] = bad
    call.arguments["indptr"] = Literal(found.tolist())
    return error[0], f"indptr[{', '.join(map(str, where))}] = {bad} {error[1]}"


def _bad_out(call, random):
    outs = [name for name in call.arguments if name.startswith("out")]
    if not outs:
        return None
    view, r = call.arguments[name := random.choice(outs)], random.random()
    if r < 0.3:
        view.writeable = False
        return ValueError, "out is read-only"
    other = View(view.block, view.type, view.shape, view.offset, view.strides)
    if r < 0.6:
        other.type = Type(repr(f"V{view.type.dtype.itemsize}"))
        words = "out has dtype"
    else:
        other.shape, other.strides, words = (*view.shape, 1), (*view.strides, 0), "out has shape"
    call.arguments[name] = other
    return TypeError if r < 0.6 else ValueError, words


_MUTATIONS = (
    _options(ValueError, "axis=", axis=70), _options(ValueError, "batch_dims=", batch_dims=-1),
    _options(ValueError, "mode='wrap'", mode="wrap"), _options(TypeError, "mode=", mode=None),
    _options(ValueError, "num_segments=-1 ", num_segments=-1), _options(TypeError, "num_segments=", num_segments=1.5),
    _options(ValueError, "num_segments=", num_segments=1 << 64), _ids_shape, _pointers, _narrow, _bad_out,
    *map(_of_reductions, (
        _unknown, _no_dtype, _bad_fill, _bad_fills, _no_correction, _no_reduction_of,
        _options(TypeError, "skipna=", skipna=1), _options(TypeError, "min_count=", min_count=1.5),
        _options(TypeError, "correction=", correction="1"),
        _of_variances(ValueError, "correction is an integer that no float64 holds", correction=10**400),
    )),
)  # fmt: skip


def _mutate(call, random):
    call.errors = call.errors or random.choice(_MUTATIONS)(call, random) or ()


# The check


def run(call):
    """Raise a Difference unless the call has the result of the reference in every way."""
    memory, given = call.make()
    world, theirs = call.make(plain=True)
    refusals = [call.errors] if call.errors else []
    if not refusals or refusals[0][0] in (IndexError, ValueError, TypeError):
        refusals += _refusals(call, theirs)
    outs = [given[name] for name in given if name.startswith("out")]
    result, error = evaluate(call, call.code(), given)
    if refusals:
        _check_error(error, refusals)
    elif error is not None:
        raise check.Difference(f"expected a result, not {type(error).__name__}: {error}") from error
    else:
        results = result if call.is_tuple else (result,)
        if call.is_tuple and (type(result) is not tuple or len(result) != len(call.names)):
            raise check.Difference(f"the result is a {type(result).__name__} and no tuple of {len(call.names)}")
        if outs and not all(ours is one for ours, one in zip(outs, results, strict=True)):
            raise check.Difference("the result is not out itself")
        results = [np.array(one) for one in results]
        _check_results(call, results, theirs)
        for name, one in zip([name for name in theirs if name.startswith("out")], results, strict=False):
            theirs[name][...] = one
    check._check_memory(call, memory, world)
    if not refusals:
        _check_ways(call, results)


def evaluate(call, code, given, team=None):
    """The result and the error of an expression."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gs.set_num_threads(call.limit if team is None else None)
            length = (lambda layout: call.length) if call.length else BLOCK_LENGTH
            with (
                mock.patch.object(rules, "block_length", length),
                kernels.forced(call.team if team is None else team),
            ):
                return eval(code, NAMES | given), None
    except Exception as error:
        return None, error


def _numbers(call, given):
    """Data for the reference: native, and bools of 0 and 1."""
    data = np.array(given["data"], call.type.dtype.newbyteorder("="), order="C")
    return data.view("u1") != 0 if data.dtype.kind == "b" else data


def _ids(call):
    return call.resolved, call.n, call.axis, call.batch_dims


def _refusals(call, given):
    """The errors that the values of a call have: each a type, and words."""
    if call.first_bad is not None:
        place = ", ".join(str(int(i)) for i in call.first_bad)
        bad = f"segment_ids[{place}] = {int(call.raw[call.first_bad])} is not below num_segments={call.n}"
        return [(IndexError, bad)]
    found = []
    if not call.names or call.errors:  # the counts of a broken call are not needed
        return found
    outs = [given[name] for name in given if name.startswith("out")]
    if any(itertools.starmap(np.shares_memory, itertools.combinations(outs, 2))):
        found.append((ValueError, "two arrays of out share memory"))
    few = call.options.get("min_count", 0)
    least = max(few, 1)
    data, ids = _numbers(call, given), _ids(call)
    for name, kind, fill in zip(call.names, call.kinds, call.fills, strict=True):
        needs_fill = name not in OF_INDEX and kind.kind in "biu" and (name in NAMELESS or few > 0)
        if not needs_fill or fill is not None:
            continue
        counts = loop.segment_reduce(data, ids[0], ids[1], "count", *ids[2:], call.options.get("skipna", False))
        if (counts < least).any():
            position = ", ".join(str(int(i)) for i in np.unravel_index(int(np.argmax(counts < least)), counts.shape))
            found.append((ValueError, f"segment {position} has too few elements for reduction={name!r}"))
            break
    return found


def _check_error(error, refusals):
    wanted = " or ".join(f"{kind.__name__}: …{words}…" for kind, words in refusals)
    if error is None:
        raise check.Difference(f"expected {wanted}, but there was none")
    if not any(type(error) is kind and words in str(error) for kind, words in refusals):
        raise check.Difference(f"expected {wanted}\nnot {type(error).__name__}: {error}") from error
    if not str(error).startswith(("segment_", "prepare: ")):
        raise check.Difference(f"the message does not begin with the function: {error}")


def _check_results(call, results, given):
    data, (ids, *where) = _numbers(call, given), _ids(call)
    shape = _result_shape(call)
    for i, (found, kind) in enumerate(zip(results, call.kinds, strict=True)):
        if found.dtype != kind or not found.dtype.isnative or found.shape != shape:
            raise check.Difference(f"expected {kind} of shape {shape}, not {found.dtype} of shape {found.shape}")
        if not call.names:
            expected = loop.segment_softmax(data, ids, *where, is_log="log" in call.function)
            bounds = _softmax_bounds(call, data, expected, kind)
            _check_close(call.function, found, expected, bounds)
            continue
        name, options = call.names[i], call.options
        skipna, correction, asked = options.get("skipna", False), options.get("correction", 0), options.get("dtype")
        fill = (call.fills[i],) if isinstance(options.get("fill_value"), tuple) else call.fills[i]
        settings = skipna, options.get("min_count", 0), fill, correction, asked and TYPES[asked].dtype
        with np.errstate(all="ignore"):
            expected = loop.segment_reduce(data, ids, where[0], name, *where[1:], *settings)
        if name in EXACT or kind.kind in "biumM":
            if bits(found) != bits(expected):
                raise check.Difference(f"{name}: {check._shown(found, expected)}")
            continue
        bounds = np.zeros(shape)
        for position, line, places in loop.segments(data, ids, *where, skipna):
            bounds[position] = _bound(name, line[places], kind, correction)
        with np.errstate(invalid="ignore"):
            is_below = (found < 0) & (expected >= 0)  # a fill value may be below 0
        if name in ("var", "std") and is_below.any():
            raise check.Difference(f"{name} is below 0: {found!r}")
        _check_close(name, found, expected, bounds)


def bits(array):
    """The bytes of an array, of the same NaN for every one, and bools of 0 and 1."""
    if array.dtype.kind == "b":
        return (array.view("u1") != 0).tobytes()
    if array.dtype.kind in "fcV":
        parts = array.copy().reshape(-1).view(_part(array.dtype))
        with np.errstate(invalid="ignore"):  # of signaling ones
            parts[parts != parts] = np.nan
        return parts.tobytes()
    return array.tobytes()


def _part(dtype):
    return np.zeros(0, dtype).real.dtype if dtype.kind == "c" else dtype


def _check_close(name, found, expected, bounds):
    """bounds: of the error before the result is rounded; infinite where nothing is known."""
    dtype = _part(found.dtype)
    n_parts = found.dtype.itemsize // dtype.itemsize
    ours, wanted = (np.ascontiguousarray(one).reshape(-1) for one in (found, expected))
    ours, wanted = (one.view(_part(one.dtype)).astype("f8") for one in (ours, wanted))
    bounds = np.repeat(bounds.reshape(-1), n_parts)
    with np.errstate(all="ignore"):
        bounds = bounds + EPS[dtype.name] * np.abs(wanted) + TINY[dtype.name]
        rounded = wanted.astype(dtype).astype("f8")
        right = (ours == rounded) | (np.isnan(ours) & np.isnan(wanted)) | (np.abs(ours - wanted) <= bounds)
        right |= bounds == math.inf
        right |= np.isnan(bounds)
    if not right.all():
        i = int(np.argmin(right))
        raise check.Difference(
            f"{name}: {int((~right).sum())} of {right.size} numbers differ, the first at {i}: expected {wanted[i]!r} "
            f"with an error of at most {bounds[i]!r}, not {ours[i]!r}"
        )


def _is_single(data, result):
    """Whether sums may be made in float32: those of 16-bit floats, or of integers for these."""
    if data.kind in "biu":
        return result.name in ("float16", "bfloat16")
    return data.name in ("float16", "bfloat16") and result.name not in ("float64", "complex128")


def _bound(name, elements, kind, correction):
    """How far the reference and a result may lie apart before the result is rounded, by the number of elements."""
    n, is_single = len(elements), _is_single(elements.dtype, kind)
    eps, greatest = (2.0**-24, 2.0**127) if is_single else (2.0**-53, 2.0**1023)
    if n == 0 or name == "median":
        return 0
    with np.errstate(all="ignore"):
        wide = elements.astype("c16" if elements.dtype.kind == "c" else "f8")
        sizes = np.abs(wide)
        finite = np.isfinite(sizes)
        total = sizes[finite].sum()
        if name in ("add", "mean"):
            parts = np.abs(wide.view("f8"))  # of which one may be infinite
            total = parts[np.isfinite(parts)].sum()
            return math.inf if total > greatest else 4 * n * eps * total / (1 if name == "add" else n)
        if name == "mul":
            if wide.dtype.kind == "c" and not finite.all():  # inf * 0 is NaN, in some orders
                return math.inf
            exponents = np.abs(np.log2(sizes[finite & (sizes > 0)])).sum()
            return math.inf if exponents > (100 if is_single else 900) else 8 * n * eps * np.prod(sizes[finite])
        if name == "logsumexp":
            single = elements.dtype.name in ("float16", "bfloat16", "float32") and kind.name != "float64"
            return 8 * (n + 4) * (2.0**-24 if single else 2.0**-53) + 2.0**-50 * sizes[finite].max(initial=0)
        if not finite.all():
            return math.inf if wide.dtype.kind == "c" else 0
        degrees = n - correction
        apart = np.abs(wide - wide.mean())
        squares = (apart**2).sum()
        if degrees <= 0:
            return 0
        if squares > greatest or total > greatest:
            return math.inf
        # The mean is known to n * eps * total / n, and each difference is rounded.
        bound = 8 * n * eps * squares + n * (4 * eps * total) ** 2 + 4 * eps * sizes.max() * apart.sum()
        bound = (bound + n * (2.0**-149 if is_single else 2.0**-1074)) / degrees  # squares may be subnormal
        variance = squares / degrees
        return bound if name == "var" else bound / max(math.sqrt(variance), math.sqrt(bound), 5e-324)


def _softmax_bounds(call, data, expected, kind):
    single = kind.name != "float64"
    n = 0
    for _, _, places in loop.segments(data, *_ids(call), False):
        n = max(n, len(places))
    eps = 2.0**-24 if single else 2.0**-53
    with np.errstate(all="ignore"):
        if "log" in call.function:
            return 8 * (n + 4) * eps + 4 * eps * np.abs(expected)
        logs = np.abs(np.log(np.maximum(expected, 5e-324)))
        least = 2.0**-147 if single else 2.0**-1072  # below it, powers are subnormal
        return expected * (8 * (n + 4) + 8 * logs) * eps + least


# The same call in other ways


def _check_ways(call, results):
    _, given = call.make(plain=True)
    for way in call.ways:
        for code, others in _ways(call, way, given):
            found, error = evaluate(call, code, given | others, 1 if way == "threads" else None)
            if error is not None:
                raise check.Difference(f"{code} raises {type(error).__name__}: {error}") from error
            found = found if isinstance(found, tuple) else (found,)
            number = others.get("number")
            wanted = results if number is None else results[number : number + 1]
            for one, other in zip(found, wanted, strict=number is None):
                if bits(one) != bits(other):
                    raise check.Difference(f"{code} has other bits ({way}): {check._shown(one, other)}")
    if "prepared" in call.ways and call.number % 4 == 0:
        _check_prepared(call, given)


def _ways(call, way, given):
    """Expressions for a call, and the arrays that they need besides."""
    if way == "threads":
        yield call.code(out=False), {}
    elif way == "prepared":
        yield call.code(out=False, prepared=not call.is_prepared), {}
    elif way == "tuple" and call.names:
        yield from _alone_or_not(call)
    elif way == "pointers" and call.is_sorted and len(call.numbered) == 1:
        options = call.options | {"num_segments": call.n}
        if call.pointers is not None:
            options["mode"] = "drop"
            yield call.code(out=False, ids="ids", options=options), {"ids": call.resolved}
            return
        rows = call.raw.reshape(math.prod(call.ids_shape[:-1]), call.numbered[0])
        found = [np.searchsorted(np.array(row, object), range(call.n + 1)) for row in rows.tolist()]
        pointers = np.array(found, "i8").reshape(*call.ids_shape[:-1], call.n + 1)
        yield call.code(out=False, ids="indptr=pointers", options=options), {"pointers": pointers}


def _alone_or_not(call):
    names, options = call.names, call.options
    if not call.is_tuple:
        extra = "add" if call.type.dtype.kind == "c" else "argmin"
        fill = None if names[0] in OF_INDEX else call.fills[0]  # in a tuple it is for these, too
        more = options | ({"fill_value": (fill, None)} if "fill_value" in options else {})
        if "dtype" not in options or extra == "argmin":
            yield call.code(out=False, names=(names[0], extra), options=more), {"number": 0}
        return
    for i, name in enumerate(names):
        own = {key: value for key, value in options.items() if key != "fill_value"}
        if call.fills[i] is not None:
            if name in OF_INDEX:
                continue
            own["fill_value"] = call.fills[i]
        if name not in WITH_DTYPE:
            own.pop("dtype", None)
        if name not in ("var", "std"):
            own.pop("correction", None)
        call.is_tuple = False
        try:
            code = call.code(out=False, names=(name,), options=own)
        finally:
            call.is_tuple = True
        yield code, {"number": i}


def _check_prepared(call, given):
    """What an object of `prepare` has besides the functions."""
    words = ", ".join(f"{name}={call.options[name]!r}" for name in ("axis", "batch_dims", "mode", "num_segments")
                      if name in call.options)  # fmt: skip
    ids = "indptr=indptr" if call.pointers is not None else "segment_ids"
    prepared, error = evaluate(call, f"gs.prepare('segment', np.shape(data), {ids}, {words})", given)
    if error is not None:
        raise check.Difference(f"prepare raises {type(error).__name__}: {error}") from error
    outer, inner = call.data[: call.axis], call.data[call.axis + len(call.numbered) :]
    batch = call.ids_shape[: call.batch_dims]
    rows = call.resolved.reshape(math.prod(batch), math.prod(call.numbered))
    numbers = np.where(rows < 0, len(rows) * call.n, rows + call.n * np.arange(len(rows))[:, None]).reshape(-1)
    counts = np.bincount(numbers, minlength=len(rows) * call.n + 1)[: len(rows) * call.n]
    lead = call.resolved.reshape(*batch, *[1] * (call.axis - call.batch_dims), *call.numbered)
    lead = np.broadcast_to(lead, (*outer, *call.numbered))
    values = np.arange(math.prod((*outer, call.n, *inner)), dtype=("f4", "i8", ">i2")[call.number // 4 % 3])
    values = values.reshape(*outer, call.n, *inner)
    gathered = np.full((*outer, *call.numbered, *inner), np.nan if values.dtype.kind == "f" else 7, values.dtype)
    for position in np.ndindex(lead.shape):
        if lead[position] >= 0:
            gathered[position] = values[(*position[: call.axis], lead[position])]
    fill = "" if values.dtype.kind == "f" else ", fill_value=7"
    expected = {
        "counts": counts.reshape(*batch, call.n), "indptr": np.append(0, np.cumsum(counts)),
        "order": np.argsort(numbers, kind="stable")[: counts.sum()], f"gather(values{fill})": gathered,
    }  # fmt: skip
    for code, wanted in expected.items():
        found, error = evaluate(call, f"prepared.{code}", {"prepared": prepared, "values": values})
        if error is not None:
            raise check.Difference(f"prepared.{code} raises {type(error).__name__}: {error}") from error
        if found.shape != wanted.shape or not np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f"):
            raise check.Difference(f"prepared.{code}: expected {wanted!r}, not {found!r}")
