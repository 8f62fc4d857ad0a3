"""The dtypes, each with the expression that makes it, and random elements of it."""

import ml_dtypes
import numpy as np
from gatherscatter.reductions import DTYPES, REDUCTIONS, takes

FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 1.5, 0.1, -0.3, 3.0, 7.7, 1e-3, -2e-3, 123.456, -4567.8, 6e4, 65504.0, 1e-7, 6e-8),
    *(3e38, -3e38, 1e-38, 1e-45, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")),
)
WORDS = ("", "a", "longer than the sixteen bytes of an element", "ü✓", "0", "nan", "fifteen bytes..", "x" * 300)
ITEMS = (*WORDS[:4], 0, -1, 10**20, 1.5, None, (1, 2), [], [3], [4, 5])


class Type:
    """A dtype: `source` makes it, `elements` are bytes of some, `small` of numbers whose sums are not special."""

    __slots__ = ("dtype", "elements", "meaning", "name", "nan", "random", "reductions", "small", "source")

    def __init__(self, source, elements=(), small=(), random=True):
        self.source = source
        self.dtype = np.dtype(eval(source, {"np": np, "ml_dtypes": ml_dtypes}))
        self.name = self.dtype.name if self.dtype.kind in "biufc" or "bfloat16" in source else ""
        self.meaning = _bytes_with_meaning(self.dtype)
        self.elements = self.split(elements)
        self.small = self.split(small)
        self.random = random
        reduced = self.name in DTYPES or self.dtype.kind in "mM"
        self.reductions = [name for name in REDUCTIONS if reduced and takes(name, self.dtype.name)] or ["none"]
        # The dtype of parts that may be NaN.
        self.nan = np.dtype(f"f{self.dtype.itemsize // 2}") if self.dtype.kind == "c" else self.dtype
        self.nan = self.nan.newbyteorder(self.dtype.byteorder) if self.dtype.kind == "c" else self.nan

    def split(self, elements):
        if self.dtype.hasobject:
            return list(elements)
        with np.errstate(all="ignore"):
            array = np.array(elements).astype(self.dtype) if len(elements) else np.empty(0, self.dtype)
        raw, size = array.tobytes(), self.dtype.itemsize
        if self.meaning is not None and size:  # else a long double's other bytes are what was in memory
            raw = (np.frombuffer(raw, "u1").reshape(-1, size) * self.meaning).astype("u1").tobytes()
        return [raw[i * size : (i + 1) * size] for i in range(len(array))]

    def content(self, random, n):
        """n elements, one after the other."""
        size = self.dtype.itemsize
        style = random.random()
        if self.small and style < 0.4:
            return b"".join(random.choices(self.small, k=n))
        if self.elements and (style < 0.85 or not self.random):
            return b"".join(random.choices(self.elements, k=n))
        return random.randbytes(n * size) if self.random else bytes(n * size)

    def items(self, random, n):
        """n elements of a dtype that owns references, as Python's objects."""
        if self.dtype.kind == "T":
            return random.choices(self.elements, k=n)
        if self.dtype.names:
            return [(i - 3, random.choice(ITEMS)) for i in range(n)]
        # Most are objects of their own, whose references can be counted.
        return [random.choice(ITEMS) if random.random() < 0.3 else [f"item {i}"] for i in range(n)]


def _bytes_with_meaning(dtype):
    """Which bytes of an element count, or None for all: not those of a long double, or between fields."""
    if dtype.kind in "fc" and dtype.char in "gG" and np.finfo(np.longdouble).nmant == 63:
        part = np.zeros(np.dtype("g").itemsize, bool)
        part[:10] = True
        if dtype.byteorder == ">":
            part = part[::-1]
        return np.tile(part, dtype.itemsize // len(part))
    if dtype.names and not dtype.hasobject:
        kept = np.zeros(dtype.itemsize, bool)
        for name in dtype.names:
            field, offset = dtype.fields[name][:2]
            kept[offset : offset + field.itemsize] = True
        if not kept.all():
            return kept
    return None


def _real(source):
    dtype = np.dtype(eval(source))
    if dtype.kind == "b":
        made = Type(source, (False, True), random=False)
        made.elements += [b"\x02", b"\xff"]  # true as well
        return made
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.max, info.max - 1, info.min + 1, 0, 1, 2, 3, 7, 100], dtype)
        return Type(source, ends, range(9))
    small = np.array([*range(9), 0.1, 1.7, -3.3, 1e-3, 1e3, -1e4])
    if dtype.kind == "c":
        every = np.array([complex(a, b) for a in FLOATS[::2] for b in FLOATS[::3]])
        return Type(source, every, small + 1j * small[::-1])
    return Type(source, np.array(FLOATS), small, random=dtype.char != "g")


def _plain(source, *elements):
    return Type(source, elements)


_NATIVE = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
_SWAPPED = (">i2", ">i4", ">i8", ">u2", ">u4", ">u8", ">f2", ">f4", ">f8", ">c8", ">c16")
NUMBERS = [_real(repr(name)) for name in _NATIVE]
NUMBERS += [Type("ml_dtypes.bfloat16", np.array(FLOATS), np.array([*range(9), 0.1, 1.7, -3.3, 1e3]))]
SWAPPED = [_real(repr(name)) for name in _SWAPPED]
DATES = [
    Type(repr(name), (-(1 << 63), *range(-3, 9), 1 << 40, -(1 << 62)))
    for name in ("M8[ns]", ">M8[D]", "m8[s]", ">m8[h]")
]
OTHERS = [
    *(_real("'g'"), _real("'>g'"), Type("'G'", np.array(FLOATS, "G"), random=False)),
    *DATES,
    *(_plain("'U3'", "", "a", "üxy", "✓"), _plain("'>U2'", "", "xy"), _plain("'U1'", "", "z")),
    *(_plain("'S3'", b"", b"abc"), _plain("'S1'", b"", b"x"), _plain("'S17'", b"", b"seventeen bytes!!")),
    *(_plain(f"'V{n}'") for n in (1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48, 64, 65, 200)),
    _plain("[('r', 'u1'), ('g', 'u1'), ('b', 'u1')]"),
    _plain("[('x', '<f4'), ('y', '>f4'), ('z', '<f4')]"),
    _plain("[('id', '<i8'), ('name', 'S5')]"),
    _plain("[('a', 'i2', (3,)), ('b', [('c', 'u1')])]"),
    _plain("{'names': ['a', 'b'], 'formats': ['u1', '<i4'], 'offsets': [0, 4], 'itemsize': 12}"),
    _plain("[]"),
    *(_plain("ml_dtypes.float8_e4m3fn"), _plain("ml_dtypes.float8_e5m2")),
    *(Type("ml_dtypes.int4", range(-8, 8), random=False), Type("ml_dtypes.uint4", range(16), random=False)),
]
OWNING = [
    Type("object", ITEMS),
    Type("np.dtypes.StringDType()", WORDS),
    Type("np.dtypes.StringDType(na_object=None)", (*WORDS, None)),
    Type("[('n', 'i4'), ('o', object)]"),
]
INDEX = [_real(repr(f"{order}{kind}{size}")) for kind in "iu" for size in (1, 2, 4, 8) for order in "<>"]
BAD_INDEX = [_real(repr(name)) for name in ("?", "f8", "f4", "c16")] + [_plain("'S3'", b"1"), _plain("'m8[s]'")]


def draw_type(random):
    r = random.random()
    if r < 0.62:
        return random.choice(NUMBERS)
    if r < 0.76:
        return random.choice(SWAPPED)
    return random.choice(OTHERS if r < 0.94 else OWNING)
