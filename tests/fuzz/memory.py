"""Blocks of memory and the arrays in them: built for the library and again for the reference, or written as code.

An array is ``np.ndarray(shape, dtype, memory, offset, strides)``, which takes any strides, offsets and overlaps. In
half of the calls a block has no byte that its arrays do not need, so that AddressSanitizer sees an access beyond.
"""

import math
import tempfile

import numpy as np

PREAMBLE = """\
import os
os.environ["GATHERSCATTER_STREAM"] = "1"
import numpy as np
import gatherscatter as gs
from gatherscatter.backends import kernels
from numpy import inf, nan
"""


class Subclass(np.ndarray):
    """One that adds nothing."""


CLASSES = {"np.ndarray": np.ndarray, "np.memmap": np.memmap, "Subclass": Subclass, "np.matrix": np.matrix}


class Block:
    """Bytes. mapped: a file's, by np.memmap."""

    __slots__ = ("content", "mapped")

    def __init__(self, content, mapped=False):
        self.content, self.mapped = content, mapped and len(content) > 0

    def make(self):
        if not self.mapped:
            return np.frombuffer(self.content, "u1").copy()
        with tempfile.TemporaryFile() as file:
            memory = np.memmap(file, "u1", "w+", shape=len(self.content))
        memory[:] = np.frombuffer(self.content, "u1")
        return memory

    def source(self, name):
        content = f'bytes.fromhex("{self.content.hex()}")'
        if not self.mapped:
            return f'{name} = np.frombuffer({content}, "u1").copy()\n'
        return (
            "import tempfile\n"
            f'{name} = np.memmap(tempfile.TemporaryFile(), "u1", "w+", shape={len(self.content)})\n'
            f'{name}[:] = np.frombuffer({content}, "u1")\n'
        )


class References:
    """Items of a dtype that owns references: objects, strings of any length."""

    __slots__ = ("items", "type")

    def __init__(self, type, items):
        self.type, self.items = type, items

    def make(self):
        memory = np.empty(len(self.items), self.type.dtype)
        for i, item in enumerate(self.items):  # [:] would unpack items that are sequences
            memory[i] = item
        return memory

    def source(self, name):
        return (
            f"{name} = np.empty({len(self.items)}, {self.type.source})\n"
            f"for i, item in enumerate({self.items!r}): {name}[i] = item\n"
        )


class View:
    """An array in a block."""

    __slots__ = ("block", "cls", "offset", "shape", "strides", "type", "writeable")

    def __init__(self, block, type, shape, offset, strides):
        self.block, self.type, self.shape, self.offset, self.strides = block, type, shape, offset, strides
        self.writeable, self.cls = True, "np.ndarray"

    def make(self, memory, cls=np.ndarray):
        array = np.ndarray.__new__(cls, self.shape, self.type.dtype, memory, self.offset, self.strides)
        if not self.writeable:
            array.flags.writeable = False
        return array

    def source(self, name, memory):
        where = f"{self.shape}, {self.type.source}, {memory}, {self.offset}, {self.strides}"
        lines = [f"{name} = np.ndarray({where})"]
        if self.cls != "np.ndarray":
            lines = [f"{name} = np.ndarray.__new__({self.cls}, {where})"]
        if self.cls == "Subclass":
            lines.insert(0, "class Subclass(np.ndarray): pass")
        if not self.writeable:
            lines.append(f"{name}.flags.writeable = False")
        return "".join(f"{line}\n" for line in lines)


class Slices:
    """An array of references: `shape` by slices and a transposition of a block of shape `wide`."""

    __slots__ = ("axes", "block", "cls", "shape", "slices", "type", "wide", "writeable")

    def __init__(self, block, type, shape, wide, slices, axes):
        self.block, self.type, self.shape, self.wide, self.slices, self.axes = block, type, shape, wide, slices, axes
        self.writeable, self.cls = True, "np.ndarray"

    def make(self, memory, cls=np.ndarray):
        array = memory.reshape(self.wide)[(*self.slices, ...)].transpose(self.axes)
        if not self.writeable:
            array.flags.writeable = False
        return array

    def source(self, name, memory):
        lines = f"{name} = {memory}.reshape({self.wide})[{(*self.slices, ...)!r}].transpose({self.axes})\n"
        return lines + ("" if self.writeable else f"{name}.flags.writeable = False\n")


class Literal:
    """A list or a scalar instead of an array."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def source(self, name, memory=None):
        return f"{name} = {self.value!r}\n"


def extents(shape, itemsize, strides):
    """The first byte and the byte behind the last, relative to the first element's."""
    if 0 in shape:
        return 0, 0
    low = high = 0
    for n, stride in zip(shape, strides, strict=True):
        if stride < 0:
            low += (n - 1) * stride
        else:
            high += (n - 1) * stride
    return low, high + itemsize


def overlaps_itself(view):
    """Whether elements of an array may share bytes."""
    span = view.type.dtype.itemsize
    for stride, n in sorted((abs(stride), n) for stride, n in zip(view.strides, view.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span += stride * (n - 1)
    return False


def c_strides(shape, itemsize):
    strides = []
    for n in reversed(shape):
        strides.append(itemsize)
        itemsize *= n or 1
    return tuple(reversed(strides))


def strides_of(random, shape, itemsize, repeats):
    """Strides of any kind. repeats: elements may overlap."""
    n = len(shape)
    if n == 0 or random.random() < 0.45:
        return c_strides(shape, itemsize)
    if random.random() < 0.15:
        return c_strides(shape[::-1], itemsize)[::-1]
    order = list(range(n))
    if random.random() < 0.5:
        random.shuffle(order)
    else:
        order.reverse()
    strides, span = [0] * n, itemsize
    for axis in order:
        size, r = shape[axis], random.random()
        if size <= 1:
            strides[axis] = random.choice((span, span, 0, -span, 7, -(1 << 40)))
        elif repeats and r < 0.12:
            strides[axis] = random.choice((0, 0, 0, itemsize, 1))
        else:
            stride = span + (random.choice((itemsize, 2 * itemsize, 1, 3, 8, 64)) if r > 0.6 else 0)
            strides[axis] = stride if random.random() < 0.65 else -stride
            span = stride * size
    return tuple(strides)


def pads(random, itemsize):
    """Bytes in front of an array and behind it."""
    if random.random() < 0.5:
        return 0, 0
    return random.choice((0, 1, 3, 4, itemsize, 64)), random.choice((0, 1, 5, itemsize, 64))


def place(random, type, shape, repeats=False):
    """A view in a block of its own, which is yet to be filled, and the length of that block."""
    itemsize = type.dtype.itemsize
    strides = strides_of(random, shape, itemsize, repeats)
    low, high = extents(shape, itemsize, strides)
    front, back = pads(random, itemsize)
    return View(None, type, shape, front - low, strides), front + high - low + back


def place_references(random, type, shape):
    """The same for references."""
    if random.random() < 0.5:
        return Slices(None, type, shape, shape, (), tuple(range(len(shape)))), math.prod(shape)
    order = list(range(len(shape)))  # axis j of the block is axis order[j] of the view
    random.shuffle(order)
    wide, slices = [], []
    for n in (shape[axis] for axis in order):
        small = 0 < math.prod(wide) * math.prod(shape) < 1000
        step, start = (random.choice((1, 1, 2, 3)), random.choice((0, 0, 1))) if small else (1, 0)
        stop = start + step * (n - 1) + 1 if n else start
        wide.append(stop + (random.choice((0, 0, 1)) if small else 0))
        forward = random.random() < 0.7
        if n and not forward:
            slices.append(slice(stop - 1, start - 1 if start else None, -step))
        else:
            slices.append(slice(start, stop, step))
    axes = tuple(order.index(axis) for axis in range(len(shape)))
    return Slices(None, type, shape, tuple(wide), tuple(slices), axes), math.prod(wide)
