"""Values and derivatives on PyTorch tensors against PyTorch's own, on samples like those of its OpInfo database.

The database itself (torch.testing._internal) needs packages that PyTorch does not install, so the samples are made
here: the same shapes, and more. Each is run with contiguous and discontiguous tensors.
"""

import contextlib
import zlib
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod

import gatherscatter as gs
import pytest
import torch
from libraries import by_dispatcher, by_primitives
from torch.nn.functional import embedding

pytestmark = [
    pytest.mark.peers,
    # What PyTorch says of its own doings.
    pytest.mark.filterwarnings("ignore:.*is in beta:UserWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),  # vmap of its own functions
]

FLOATS = (torch.float64, torch.float32)
COMPLEX = (torch.complex128,)
INTEGERS = (torch.int64, torch.uint8)
ALL = (*FLOATS, *COMPLEX, *INTEGERS, torch.bool)
NAMES = {"sum": "add", "prod": "mul", "mean": "mean", "amax": "max", "amin": "min"}
S, M = 5, 10  # the sizes of OpInfo
LARGE = (200, 170)  # more than goes to the fast paths of small calls


# Samples


@dataclass(frozen=True)
class Sample:
    """The arguments of one call."""

    data: torch.Tensor
    index: torch.Tensor
    updates: torch.Tensor | None = None
    dim: int | None = None
    options: dict = field(default_factory=dict)
    order: int = 2  # how often PyTorch differentiates it

    def __str__(self):
        tensors = [x for x in (self.data, self.index, self.updates) if x is not None]
        shapes = [f"{tuple(x.shape)} strides {x.stride()}" for x in tensors]
        return f"{', '.join(shapes)}, dim {self.dim}, {self.options}"

    @property
    def leaves(self):
        """What has a gradient."""
        return [self.data] if self.updates is None else [self.data, self.updates]

    def call(self, function):
        """A call of the function with other leaves."""
        return lambda data, updates=None: function(data, self.index, updates, self.dim, **self.options)


class Maker:
    """Tensors drawn one after the other, the same ones in each run."""

    def __init__(self, name, dtype):
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        self.dtype = dtype

    def numbers(self, shape, dtype=None):
        """Numbers of similar size, so that quotients of products have small rounding errors."""
        dtype = dtype or self.dtype
        if dtype.is_complex:
            return torch.complex(self.numbers(shape, torch.float64), self.numbers(shape, torch.float64)).to(dtype)
        if dtype.is_floating_point:
            size = torch.rand(shape, generator=self.generator, dtype=torch.float64) * 1.5 + 0.5
            return torch.where(self.integers(shape, 2) == 0, size, -size).to(dtype)
        if dtype is torch.bool:
            return self.integers(shape, 2).bool()
        return (self.integers(shape, 19) - (0 if dtype is torch.uint8 else 9)).to(dtype)

    def integers(self, shape, high):
        return torch.randint(0, max(high, 1), shape, generator=self.generator)

    def distinct(self, shape, dim, high):
        """Indices of which no two along the dimension are equal."""
        lines = (*shape[:dim], *shape[dim + 1 :], high)
        order = torch.rand(lines, generator=self.generator).argsort(-1)[..., : shape[dim]]
        return order.movedim(-1, dim).contiguous()


def apart(tensor):
    """The tensor with steps between its elements, as OpInfo's noncontiguous_like."""
    if tensor is None or tensor.ndim == 0:
        return tensor
    return tensor.repeat_interleave(2, -1)[..., ::2]


ELEMENTS = (
    ((M, S), 0, (S, S)),
    ((M, S), 1, (S, S)),
    ((M, S), -1, (S, S)),
    ((M, S), 0, (M, S // 2)),
    ((M, S), 1, (M, S // 2)),
    ((M, S), -1, (M, S // 2)),
    ((S, M, S), 1, (S, M // 2, S)),
    ((S, M, S), -2, (2, M, 3)),
    ((S, M, S), 0, (1, M, S)),
    ((S,), 0, (0,)),
    ((0, S), 0, (0, S)),
    ((M, 0), 0, (3, 0)),
    ((S, M, S), 0, (0, M, S)),
    ((), 0, ()),
    (LARGE, 0, (150, 170)),
)
MANY = (((M, S), 0, (4, S)), ((S, M, S), 1, (S, 2 * M, S)), ((S, M, S), -1, (2, 3, 20)))  # with more duplicates
ROWS = (
    ((), 0, 1),
    ((1,), 0, 1),
    ((S, S), -1, S),
    ((S, M), 0, 3),
    ((S, M), -2, S),
    ((S, M, S), 1, M),
    ((S, M, S), -2, 3),
    ((S, M, S), 2, S),
    ((M, S), 0, 0),
    ((0, S), 0, 0),
    ((M, 0), 0, 4),
    (LARGE, 0, 150),
    (LARGE, 1, 150),
)
MANY_ROWS = (((S, S), 1, M), ((S, M, S), 1, 2 * M), ((S, M, S), 0, M), ((3,), 0, 20))
TUPLES = (  # shapes of data, of the indices' tuples, and of values that are broadcast
    ((S, S), (1, 1), (1, S)),
    ((S, S), (4, 1), (4, S)),
    ((S, S), (4, 2), (4,)),
    ((S, M, S), (4, 3), ()),
    ((S, M, S), (4, 2), (S,)),
    ((S, M, S), (3, 2, 2), (3, 2, S)),
    ((S, M, S), (4, 2), (4, S)),
    ((S, M), (0, 2), (0,)),
    (LARGE, (300, 2), (300,)),
    (LARGE, (150, 1), (150, 170)),
)


def elements_of(make, distinct=False, updates=False, larger=False, **options):
    """Samples with an index for each element. larger: also updates of which a part is used."""
    for shape, dim, places in ELEMENTS if distinct else ELEMENTS + MANY:
        size = shape[dim] if shape else 1
        index = make.distinct(places, dim % len(shape), size) if distinct and shape else make.integers(places, size)
        yield Sample(make.numbers(shape), index, make.numbers(places) if updates else None, dim, options)
        if larger and 0 not in places:
            yield Sample(make.numbers(shape), index, make.numbers([n + 2 for n in places]), dim, options, order=0)


def rows_of(make, distinct=False, updates=False, **options):
    """Samples with an index for each row."""
    for shape, dim, n in ROWS if distinct else ROWS + MANY_ROWS:
        size = shape[dim] if shape else 1
        index = make.distinct((n,), 0, size) if distinct else make.integers((n,), size)
        places = [n if i == dim % len(shape) else size for i, size in enumerate(shape)]
        yield Sample(make.numbers(shape), index, make.numbers(places) if updates else None, dim, options)


def tuples_of(make, distinct=False, updates=False, **options):
    """Samples with several indices for each row, some of them negative."""
    for shape, tuples, values in TUPLES:
        named = shape[: tuples[-1]]
        if distinct:
            flat = make.distinct((prod(tuples[:-1]),), 0, prod(named))
        else:
            flat = make.integers((prod(tuples[:-1]),), prod(named))
        index = torch.stack(torch.unravel_index(flat, named), -1).reshape(tuples)
        index = index - make.integers(tuples, 2) * torch.tensor(named)
        yield Sample(make.numbers(shape), index, make.numbers(values) if updates else None, None, options)
        if updates and distinct:  # a mask, with which no place is named twice
            mask = torch.zeros(named, dtype=torch.bool).index_put(
                tuple(index.reshape(-1, len(named)).T), torch.tensor(True)
            )
            one_each = make.numbers(shape[len(named) :])
            yield Sample(make.numbers(shape), mask.nonzero(), one_each, None, {**options, "mask": mask})


def with_both(samples, make, **options):
    """Samples with include_self and without it."""
    for include_self in (True, False):
        yield from samples(make, updates=True, **options, include_self=include_self)


def with_ties(make, elements, **options):
    """Samples in which several numbers equal the greatest and the least, data's among them."""
    if not make.dtype.is_floating_point:
        return
    samples = elements_of if elements else rows_of
    for include_self in (True, False):
        for sample in samples(make, updates=True, **options, include_self=include_self):
            data, updates = sample.data.round(), sample.updates.round()
            # Without include_self PyTorch takes data's element for a tie too: see the difference below.
            yield replace(sample, data=data if include_self else data + 0.25, updates=updates)


def with_zeros(make, elements, reduce):
    """Products in which factors are 0: one or none, and several, of data or of updates."""
    if not make.dtype.is_floating_point:
        return
    several = torch.tensor([[0, 13], [0, 17], [0, 19]]), torch.tensor([[0, 1, 2, 3], [0, 4, 0, 1], [2, 3, 5, 6]])
    index = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]])
    if not elements:
        several = torch.tensor([[0, 13], [0, 0], [15, 19]]), torch.tensor([[2, 0], [0, 0], [2, 3], [2, 2]])
        index = torch.tensor([0, 1, 2, 0])
    data, updates = (x.to(make.dtype) for x in several)
    dim = 1 if elements else 0
    for include_self in (True, False):
        options = {"reduce": reduce, "include_self": include_self}
        yield Sample(data, index, updates, dim, options)
        yield Sample(data, index, torch.zeros_like(updates), dim, options, order=1)
        yield Sample(data + 1, index, updates, dim, options)


# Operators


@dataclass(frozen=True)
class Op:
    theirs: object
    ours: object
    samples: object
    floor: int  # how many samples there are at least
    dtypes: tuple = ALL
    differentiated: tuple = (*FLOATS, *COMPLEX)
    forward: bool = True  # whether PyTorch has its forward mode


def ranked(function):
    """Our function, which takes no data of rank 0, where PyTorch's does."""

    def call(data, index, updates, dim, **options):
        if data.ndim > 0:
            return function(data, index, updates, dim, **options)
        one = None if updates is None else updates.reshape(1)
        return function(data.reshape(1), index.reshape(-1), one, dim, **options).reshape(())

    return call


def part(updates, index):
    """Of PyTorch's updates, those that are used."""
    for axis, size in enumerate(index.shape):
        updates = updates.narrow(axis, 0, size)
    return updates


def alongside(data, index, dim):
    """What torch.take_along_dim broadcasts: every axis but one."""
    if dim is None:
        return data.reshape(-1), index.reshape(-1), 0
    shape = list(
        torch.broadcast_shapes(*((*x.shape[: dim % x.ndim], 1, *x.shape[dim % x.ndim + 1 :]) for x in (data, index)))
    )
    wide = []
    for x in (data, index):
        shape[dim] = x.shape[dim]
        wide.append(x.expand(shape))
    return *wide, dim


def take_along_dim(data, index, updates, dim):
    data, index, axis = alongside(data, index, dim)
    return gs.gather_elements(data, index, axis=axis)


def take_along_samples(make):
    yield from (sample for sample in elements_of(make) if sample.data.ndim > 0 and full(sample))
    for shape, dim, places in (
        ((S, S), 0, (S, S)),
        ((S, S), 0, (1, S)),
        ((1, S), 1, (M, 3)),
        ((1, S, 1), -2, (M, 7, 3)),
        ((S, M), None, (7,)),
        ((S, M), None, (2, 3)),
    ):
        yield Sample(make.numbers(shape), make.integers(places, prod(shape) if dim is None else shape[dim]), dim=dim)


def full(sample):
    """Whether the index has data's shape but along the dimension, as torch.take_along_dim wants it."""
    dim = sample.dim % sample.data.ndim
    return all(a == b for i, (a, b) in enumerate(zip(sample.data.shape, sample.index.shape, strict=True)) if i != dim)


def take_samples(make):
    for shape, places in (
        ((3, 3), (3,)),
        ((), ()),
        ((), (1,)),
        ((1,), ()),
        ((S, M, S), (2, 7)),
        (LARGE, (9, 9)),
        ((3, 2), (0,)),
    ):
        index = make.integers(places, prod(shape))
        yield Sample(make.numbers(shape), index)
        yield Sample(make.numbers(shape), -index - 1)


def embedding_samples(make):
    for shape, places in (
        ((M, S), ()),
        ((M, S), (S,)),
        ((M, S), (S, S)),
        ((M, S), (0,)),
        ((M, 0), (3,)),
        (LARGE, (500,)),
    ):
        # PyTorch has no second derivative where rows have no elements.
        yield Sample(make.numbers(shape), make.integers(places, shape[0]), order=2 if all(shape + places) else 1)


def outside_samples(make, **options):
    """Samples of rows with some indices out of bounds."""
    for sample in rows_of(make, **options):
        if sample.data.numel() > 0 and sample.data.ndim > 0:
            size = sample.data.shape[sample.dim]
            outside = make.integers(sample.index.shape, 3) == 0
            yield replace(sample, index=torch.where(outside, sample.index + size, sample.index))


def size_along(data, dim):
    return data.shape[dim]


def filled(data, index, updates, dim):
    """PyTorch's nearest to mode "fill": a mask over what was read."""
    size = size_along(data, dim)
    taken = data.index_select(dim, torch.where(index < size, index, 0))
    inside = (index < size).reshape(-1, *(1,) * (data.ndim - 1 - dim % data.ndim))
    return torch.where(inside, taken, 3)


def dropped(data, index, updates, dim):
    """PyTorch's nearest to mode "drop": zeros for the updates out of bounds."""
    size = size_along(data, dim)
    inside = (index < size).reshape(-1, *(1,) * (data.ndim - 1 - dim % data.ndim))
    return data.index_add(dim, torch.where(index < size, index, 0), torch.where(inside, updates, 0))


def put(data, index, updates, dim, accumulate, mask=None):
    places = index.unbind(-1) if mask is None else (mask,)
    return data.index_put(places, updates, accumulate=accumulate)


def our_put(data, index, updates, dim, accumulate, mask=None):
    shape = (*index.shape[:-1], *data.shape[index.shape[-1] :])
    return gs.scatter_nd(data, index, updates.expand(shape), reduction="add" if accumulate else "none")


def our_index_add(data, index, updates, dim, alpha):
    return gs.scatter(data, index, updates if alpha == 1 else updates * alpha, axis=dim, reduction="add")


def index_add_samples(make):
    for alpha in (True, False) if make.dtype is torch.bool else (1, 2):
        yield from rows_of(make, updates=True, alpha=alpha)


def filling_samples(make, samples):
    """Samples with one value for all places: a number, or a tensor of rank 0 that may have a gradient."""
    for sample in samples(make):
        yield replace(sample, options={"value": make.numbers(()).item()})
        if samples is rows_of:
            yield replace(sample, updates=make.numbers(()))


def value_of(updates, value):
    return value if updates is None else updates


def our_fill(data, index, updates, dim, value=None):
    if updates is None:
        return gs.scatter(data, index, value, axis=dim)
    shape = [index.shape[0] if i == dim % data.ndim else size for i, size in enumerate(data.shape)]
    return gs.scatter(data, index, updates.reshape(()).expand(shape), axis=dim)


def their_scatter(data, index, updates, dim, reduce, include_self):
    return torch.scatter_reduce(data, dim, index, updates, reduce, include_self=include_self)


def our_scatter(data, index, updates, dim, reduce, include_self):
    return gs.scatter_elements(
        data, index, part(updates, index), axis=dim, reduction=NAMES[reduce], include_self=include_self
    )


def their_index(data, index, updates, dim, reduce, include_self):
    return torch.index_reduce(data, dim, index, updates, reduce, include_self=include_self)


def our_index(data, index, updates, dim, reduce, include_self):
    return gs.scatter(data, index, updates, axis=dim, reduction=NAMES[reduce], include_self=include_self)


def samples_of(make, elements, reduce, ties, zeros):
    if elements:
        yield from with_both(elements_of, make, larger=True, reduce=reduce)
    else:
        yield from with_both(rows_of, make, reduce=reduce)
    if ties:
        yield from with_ties(make, elements, reduce=reduce)
    if zeros:
        yield from with_zeros(make, elements, reduce)


OPS = {
    "gather": Op(
        lambda data, index, updates, dim: torch.gather(data, dim, index),
        ranked(lambda data, index, updates, dim: gs.gather_elements(data, index, axis=dim)),
        elements_of,
        18,
    ),
    "take_along_dim": Op(
        lambda data, index, updates, dim: torch.take_along_dim(data, index, dim), take_along_dim, take_along_samples, 18
    ),
    "index_select": Op(  # the method: PyTorch Geometric replaces torch.index_select when it is imported
        lambda data, index, updates, dim: data.index_select(dim, index),
        ranked(lambda data, index, updates, dim: gs.gather(data, index, axis=dim)),
        rows_of,
        17,
    ),
    "embedding": Op(
        lambda data, index, updates, dim: embedding(index, data),
        lambda data, index, updates, dim: gs.gather(data, index),
        embedding_samples,
        4,
        differentiated=FLOATS,  # not of complex numbers
    ),
    "take": Op(
        lambda data, index, updates, dim: torch.take(data, index),
        lambda data, index, updates, dim: gs.gather(data.reshape(-1), index),
        take_samples,
        14,
    ),
    "index": Op(
        lambda data, index, updates, dim: data[tuple(index.unbind(-1))],
        lambda data, index, updates, dim: gs.gather_nd(data, index),
        tuples_of,
        10,
    ),
    "index_filled": Op(
        filled,
        lambda data, index, updates, dim: gs.gather(data, index, axis=dim, mode="fill", fill_value=3),
        outside_samples,
        13,
        (*FLOATS, *INTEGERS),
        FLOATS,
    ),
    "index_clipped": Op(
        lambda data, index, updates, dim: data.index_select(dim, index.clamp(max=size_along(data, dim) - 1)),
        lambda data, index, updates, dim: gs.gather(data, index, axis=dim, mode="clip"),
        outside_samples,
        13,
    ),
    "index_wrapped": Op(
        lambda data, index, updates, dim: data.index_select(dim, index % size_along(data, dim)),
        lambda data, index, updates, dim: gs.gather(data, index, axis=dim, mode="wrap"),
        outside_samples,
        13,
    ),
    "index_add_dropped": Op(
        dropped,
        lambda data, index, updates, dim: gs.scatter(data, index, updates, axis=dim, reduction="add", mode="drop"),
        partial(outside_samples, updates=True),
        13,
        (*FLOATS, *COMPLEX, *INTEGERS),
    ),
    "scatter": Op(
        lambda data, index, updates, dim: torch.scatter(data, dim, index, updates),
        ranked(lambda data, index, updates, dim: gs.scatter_elements(data, index, part(updates, index), axis=dim)),
        partial(elements_of, distinct=True, updates=True, larger=True),
        15,
    ),
    "scatter_value": Op(
        lambda data, index, updates, dim, value: torch.scatter(data, dim, index, value),
        ranked(lambda data, index, updates, dim, value: gs.scatter_elements(data, index, value, axis=dim)),
        partial(filling_samples, samples=elements_of),
        18,
    ),
    "scatter_add": Op(
        lambda data, index, updates, dim: torch.scatter_add(data, dim, index, updates),
        ranked(
            lambda data, index, updates, dim: gs.scatter_elements(
                data, index, part(updates, index), axis=dim, reduction="add"
            )
        ),
        partial(elements_of, updates=True, larger=True),
        18,
    ),
    "index_add": Op(
        lambda data, index, updates, dim, alpha: torch.index_add(data, dim, index, updates, alpha=alpha),
        ranked(our_index_add),
        index_add_samples,
        34,
    ),
    "index_copy": Op(
        lambda data, index, updates, dim: torch.index_copy(data, dim, index, updates),
        ranked(lambda data, index, updates, dim: gs.scatter(data, index, updates, axis=dim)),
        partial(rows_of, distinct=True, updates=True),
        13,
    ),
    "index_fill": Op(
        lambda data, index, updates, dim, value=None: torch.index_fill(data, dim, index, value_of(updates, value)),
        ranked(our_fill),
        partial(filling_samples, samples=partial(rows_of, distinct=True)),
        13,
    ),
}
for accumulate in (False, True):
    OPS[f"index_put_{'accumulated' if accumulate else 'assigned'}"] = Op(
        put,
        our_put,
        partial(tuples_of, distinct=not accumulate, updates=True, accumulate=accumulate),
        10 if accumulate else 20,
    )
for reduce in NAMES:
    has_complex = reduce in ("sum", "prod", "mean")
    ties, zeros = reduce in ("amax", "amin"), reduce == "prod"
    OPS[f"scatter_reduce_{reduce}"] = Op(
        their_scatter,
        ranked(our_scatter),
        partial(samples_of, elements=True, reduce=reduce, ties=ties, zeros=zeros),
        36,
        (*FLOATS, *(COMPLEX if has_complex else ()), *INTEGERS, *(() if reduce == "mean" else (torch.bool,))),
        FLOATS,  # not of complex numbers
        reduce != "prod",
    )
    if reduce != "sum":  # that is index_add
        OPS[f"index_reduce_{reduce}"] = Op(
            their_index,
            ranked(our_index),
            partial(samples_of, elements=False, reduce=reduce, ties=ties, zeros=zeros),
            34,
            (*FLOATS, *INTEGERS),
            FLOATS,
            False,
        )


def each(attribute, leave_out=None):
    """A test for each operator and each of its dtypes."""
    return pytest.mark.parametrize(
        ("name", "dtype"),
        [
            pytest.param(name, dtype, id=f"{name}-{str(dtype).removeprefix('torch.')}")
            for name, op in OPS.items()
            for dtype in getattr(op, attribute)
            if dtype is not leave_out
        ],
    )


def samples_for(name, dtype, order):
    """Samples that PyTorch differentiates this often, and the same ones with steps between their elements."""
    found = [sample for sample in OPS[name].samples(Maker(name, dtype)) if sample.order >= order]
    assert len(found) >= OPS[name].floor
    large = [sample.data.numel() > 1000 for sample in found]
    assert any(large)
    return found + [
        replace(s, data=apart(s.data), index=apart(s.index), updates=apart(s.updates))
        for s, is_large in zip(found, large, strict=True)
        if not is_large
    ]


@contextlib.contextmanager
def named(sample, *words):
    """Failures say which sample."""
    try:
        yield
    except Exception as error:
        error.add_note(f"sample: {sample} {' '.join(map(str, words))}")
        raise


def same_bits(found, expected):
    assert found.dtype is expected.dtype
    assert found.shape == expected.shape
    assert found.equal(expected)
    if found.is_floating_point():
        assert found.signbit().equal(expected.signbit())


def close(found, expected):
    wide = expected.dtype in (torch.float64, torch.complex128)
    tolerance = 1e-10 if wide else 5e-5
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


# Values

WAYS = {"kernels": contextlib.nullcontext, "dispatcher": by_dispatcher, "primitives": by_primitives}
# With a gradient and int64, small calls may be those of PyTorch itself; with int32 none is.
CALLS = (("kernels", torch.int64), ("kernels", torch.int32), ("dispatcher", torch.int64), ("primitives", torch.int32))


@each("dtypes")
def test_values(name, dtype):
    op = OPS[name]
    # PyTorch's quotients of complex numbers round otherwise.
    compare = close if dtype.is_complex and name.endswith(("prod", "mean")) else same_bits
    for sample in samples_for(name, dtype, 0):
        expected = sample.call(op.theirs)(*sample.leaves)
        for way, index_dtype in CALLS:
            with named(sample, way, index_dtype), WAYS[way]():
                ours = replace(sample, index=sample.index.to(index_dtype)).call(op.ours)
                compare(ours(*sample.leaves), expected)


# Derivatives


def derivatives(function, leaves, cotangent, weights=None):
    """The gradients of the leaves; and of these, times the weights, the gradients of the leaves and the cotangent."""
    leaves = [x.detach().requires_grad_() for x in leaves]
    cotangent = cotangent.detach().requires_grad_(weights is not None)
    options = {"materialize_grads": True}
    first = torch.autograd.grad(function(*leaves), leaves, cotangent, create_graph=weights is not None, **options)
    if weights is None:
        return first
    return torch.autograd.grad(first, (*leaves, cotangent), weights, **options)


def like(make, tensors):
    """Numbers of the same shapes."""
    return [make.numbers(x.shape) for x in tensors]


def compare_each(found, expected):
    for a, b in zip(found, expected, strict=True):
        close(a, b)


@each("differentiated")
def test_gradients(name, dtype):
    op, make = OPS[name], Maker("cotangents", dtype)
    for sample in samples_for(name, dtype, 1):
        (cotangent,) = like(make, [sample.call(op.theirs)(*sample.leaves)])
        if not sample.data.is_contiguous():
            cotangent = apart(cotangent)
        expected = derivatives(sample.call(op.theirs), sample.leaves, cotangent)
        for way, index_dtype in CALLS:
            with named(sample, way, index_dtype), WAYS[way]():
                ours = replace(sample, index=sample.index.to(index_dtype)).call(op.ours)
                compare_each(derivatives(ours, sample.leaves, cotangent), expected)


@each("differentiated")
def test_second_derivatives(name, dtype):
    op, make = OPS[name], Maker("cotangents", dtype)
    for sample in samples_for(name, dtype, 2):
        (cotangent,) = like(make, [sample.call(op.theirs)(*sample.leaves)])
        weights = like(make, sample.leaves)
        expected = derivatives(sample.call(op.theirs), sample.leaves, cotangent, weights)
        for index_dtype in (torch.int64, torch.int32):
            with named(sample, index_dtype):
                ours = replace(sample, index=sample.index.to(index_dtype)).call(op.ours)
                compare_each(derivatives(ours, sample.leaves, cotangent, weights), expected)


def tangent_of(op, sample, leaves, tangents):
    """PyTorch's own forward mode, or its reverse mode twice where it has none."""
    if op.forward:
        return torch.func.jvp(sample.call(op.theirs), tuple(leaves), tuple(tangents))[1]
    return torch.autograd.functional.jvp(sample.call(op.theirs), tuple(leaves), tuple(tangents))[1]


@each("differentiated")
def test_forward_mode(name, dtype):
    op, make = OPS[name], Maker("tangents", dtype)
    for sample in samples_for(name, dtype, 2):
        tangents = like(make, sample.leaves)
        with named(sample):
            expected = tangent_of(op, sample, sample.leaves, tangents)
            call = sample.call(op.ours)
            values, found = torch.func.jvp(call, tuple(sample.leaves), tuple(tangents))
            close(found, expected)
            close(values, sample.call(op.theirs)(*sample.leaves))
            if sample.updates is not None:
                data, updates = sample.leaves
                close(
                    alone(partial(call, updates=updates), data, tangents[0])
                    + alone(partial(call, data), updates, tangents[1]),
                    expected,
                )


def alone(function, leaf, tangent):
    """The tangent of a function of one leaf. The other one has none, which is not the same as zeros."""
    return torch.func.jvp(function, (leaf,), (tangent,))[1]


# torch.func.vmap


def three(tensor):
    """The tensor, and two like it: the same indices in another order, other numbers."""
    if tensor is None:
        return None
    turned = tensor.flip(0) if tensor.ndim > 0 else tensor
    return torch.stack([tensor, turned, turned if tensor.dtype is torch.int64 else tensor * 2])


def moved(arguments, in_dims):
    """The arguments of vmap, of which each has three along its first axis."""
    moved_to = zip(arguments, in_dims, strict=True)
    return [x if x is None else x[0] if axis is None else x.movedim(0, axis) for x, axis in moved_to]


def item(arguments, in_dims, i):
    """The arguments of one call of those that vmap makes."""
    return [x if x is None else x[0 if axis is None else i] for x, axis in zip(arguments, in_dims, strict=True)]


def choices(arguments):
    """Which arguments are mapped, and along which axis."""
    for in_dims in product(*((None,) if x is None else (None, 0) for x in arguments)):
        if 0 in in_dims:
            yield in_dims
    yield tuple(None if x is None else -1 for x in arguments)


@each("differentiated", leave_out=torch.float32)
def test_vmap(name, dtype):
    """Mapped calls, gradients and tangents against PyTorch's, one call after the other."""
    op, make = OPS[name], Maker("cotangents", dtype)
    samples = [s for s in samples_for(name, dtype, 2) if s.data.numel() <= 1000 and "mask" not in s.options]
    assert len(samples) >= op.floor // 2
    for sample in samples:
        arguments = [three(sample.data), three(sample.index), three(sample.updates)]
        shape = sample.call(op.theirs)(*sample.leaves).shape
        cotangents = make.numbers((3, *shape))
        tangents = [None if x is None else make.numbers(x.shape) for x in arguments[::2]]
        for in_dims in choices(arguments):
            compare_mapped(op, sample, mapped_values, in_dims, arguments)
        for in_dims in ((0, 0, 0, 0), (None, None, None, 0), (0, None, 0, None)):
            compare_mapped(op, sample, mapped_gradients, in_dims, [*arguments, cotangents])
        for in_dims in ((0, 0, 0, 0, 0), (None, None, None, 0, 0), (0, None, 0, None, None)):
            compare_mapped(op, sample, mapped_tangents, in_dims, [*arguments, *tangents])


def compare_mapped(op, sample, what, in_dims, arguments):
    in_dims = tuple(None if x is None else axis for x, axis in zip(arguments, in_dims, strict=True))
    ours, theirs = what(op, sample)
    with named(sample, what.__name__, in_dims):
        expected = [theirs(*item(arguments, in_dims, i)) for i in range(3)]
        found = torch.func.vmap(ours, in_dims)(*moved(arguments, in_dims))
        compare_each(found, [torch.stack(parts) for parts in zip(*expected, strict=True)])


def present(*tensors):
    return tuple(x for x in tensors if x is not None)


def mapped_values(op, sample):
    """Our function of all arguments, and PyTorch's, which give tuples."""

    def call(function):
        return lambda data, index, updates: (replace(sample, index=index).call(function)(data, updates),)

    return call(op.ours), call(op.theirs)


def mapped_gradients(op, sample):
    def ours(data, index, updates, cotangent):
        return torch.func.vjp(replace(sample, index=index).call(op.ours), *present(data, updates))[1](cotangent)

    def theirs(data, index, updates, cotangent):
        return derivatives(replace(sample, index=index).call(op.theirs), present(data, updates), cotangent)

    return ours, theirs


def mapped_tangents(op, sample):
    def ours(data, index, updates, *tangents):
        call = replace(sample, index=index).call(op.ours)
        return (torch.func.jvp(call, present(data, updates), present(*tangents))[1],)

    def theirs(data, index, updates, *tangents):
        return (tangent_of(op, replace(sample, index=index), present(data, updates), present(*tangents)),)

    return ours, theirs


# Deliberate differences, and what PyTorch leaves open. Samples above keep clear of them.


def gradients_of(call, *tensors):
    """The gradients of a sum of the result's elements."""
    leaves = [x.clone().requires_grad_() for x in tensors]
    return [x.tolist() for x in torch.autograd.grad(call(*leaves).sum(), leaves)]


@pytest.mark.parametrize("function", ["scatter", "index_copy"])
def test_difference_replaced_updates_have_no_gradient(function):
    """PyTorch gives every update of one place a gradient; here only the one that wins has it."""
    data, index, updates = torch.zeros(2), torch.tensor([0, 0]), torch.tensor([1.0, 2.0])
    theirs = gradients_of(lambda x, u: getattr(x, function)(0, index, u), data, updates)
    assert theirs == [[0, 1], [1, 1]]
    for way in WAYS.values():
        with way():
            assert gradients_of(lambda x, u: gs.scatter(x, index, u), data, updates) == [[0, 1], [0, 1]]


def test_difference_elements_that_are_not_included_are_no_ties():
    """Without include_self PyTorch counts data's element as a tie, to which a part of the gradient is lost."""
    data, index, updates = torch.tensor([3.0]), torch.tensor([0, 0]), torch.tensor([3.0, 1.0])
    for function in ("scatter_reduce", "index_reduce"):

        def theirs(x, u, function=function):
            return getattr(x, function)(0, index, u, "amax", include_self=False)

        assert gradients_of(theirs, data, updates) == [[0], [0.5, 0]]
    found = gradients_of(lambda x, u: gs.scatter(x, index, u, reduction="max", include_self=False), data, updates)
    assert found == [[0], [1, 0]]


def test_difference_maxima_that_are_nan_share_the_gradient():
    """In PyTorch no element equals a NaN, so that its gradients are 0 / 0; here NaNs share it."""
    data, index, updates = torch.tensor([float("nan")]), torch.tensor([0, 0]), torch.tensor([float("nan"), 1.0])
    theirs = gradients_of(lambda x, u: x.scatter_reduce(0, index, u, "amax"), data, updates)
    assert str(theirs) == "[[nan], [nan, nan]]"
    assert gradients_of(lambda x, u: gs.scatter(x, index, u, reduction="max"), data, updates) == [[0.5], [0.5, 0]]


def test_difference_larger_updates():
    """PyTorch uses a part of updates that are larger than the index, without a gradient; here the shapes are equal."""
    data, index, updates = torch.zeros(2), torch.tensor([1]), torch.tensor([5.0, 7.0])
    assert data.scatter(0, index, updates).tolist() == [0, 5]
    with pytest.raises(RuntimeError):
        gradients_of(lambda x, u: x.scatter(0, index, u), data, updates)
    with pytest.raises(ValueError, match="updates"):
        gs.scatter_elements(data, index, updates)
    assert gradients_of(lambda x, u: gs.scatter_elements(x, index, u[:1]), data, updates) == [[1, 0], [1, 0]]


def test_difference_data_of_rank_0():
    """PyTorch takes data of rank 0 as if it had one axis; here there is no axis to index."""
    data, index = torch.tensor(1.0), torch.tensor([0])
    assert data.index_select(0, index).tolist() == 1
    with pytest.raises(ValueError, match="data"):
        gs.gather(data, index)


def test_difference_one_index_without_an_axis():
    """torch.index_select keeps an axis of size 1 for an index of rank 0; here it goes, as in NumPy's take."""
    data, index = torch.ones(3, 2), torch.tensor(1)
    assert data.index_select(0, index).shape == (1, 2)
    assert gs.gather(data, index).shape == (2,)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["scatter_reduce", "index_reduce"])
def test_difference_second_derivatives_of_products_of_zeros(reduce, include_self):
    """PyTorch has none where two updates of one place are 0. Here they are those of PyTorch's dense product."""
    index = torch.tensor([0, 0, 0, 1])
    data, updates = torch.tensor([2.0, 3.0], dtype=torch.float64), torch.tensor([0.0, 5, 0, 7], dtype=torch.float64)
    cotangent = torch.tensor([1.0, 10.0], dtype=torch.float64)
    weights = torch.tensor([1.5, 2.5], dtype=torch.float64), torch.tensor([1.0, 2, 3, 4], dtype=torch.float64)

    def theirs(x, u):
        return getattr(x, reduce)(0, index, u, "prod", include_self=include_self)

    def ours(x, u):
        return gs.scatter(x, index, u, reduction="mul", include_self=include_self)

    def dense(x, u):
        factors = torch.where(index == torch.arange(2)[:, None], u, 1)
        return torch.cat([x[:, None], factors], 1).prod(1) if include_self else factors.prod(1)

    with pytest.raises(RuntimeError, match="Double backward is unsupported"):
        derivatives(theirs, (data, updates), cotangent, weights)
    for way in WAYS.values():
        with way():
            compare_each(derivatives(ours, (data, updates), cotangent), derivatives(dense, (data, updates), cotangent))
            compare_each(
                derivatives(ours, (data, updates), cotangent, weights),
                derivatives(dense, (data, updates), cotangent, weights),
            )
    close(torch.func.jvp(ours, (data, updates), weights)[1], torch.func.jvp(dense, (data, updates), weights)[1])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_means_of_integers_floor(dtype):
    """No difference: both floor."""
    sign = 1 if dtype is torch.uint8 else -1
    data, index, updates = torch.tensor([sign, 5], dtype=dtype), torch.tensor([0, 0]), torch.tensor([0, 0], dtype=dtype)
    expected = data.scatter_reduce(0, index, updates, "mean")
    assert expected.tolist() == [min(sign, 0), 5]
    assert gs.scatter(data, index, updates, reduction="mean").equal(expected)


@pytest.mark.parametrize("way", WAYS)
def test_results_with_a_gradient_may_be_changed(way):
    """As PyTorch's own: in place, by what comes after."""
    data, index, updates = torch.ones(3, 2), torch.tensor([0, 0, 2], dtype=torch.int32), torch.ones(3, 2)
    with WAYS[way]():
        assert gradients_of(lambda x: gs.gather(x, index).mul_(2), data) == [[[4, 4], [0, 0], [2, 2]]]
        for reduction in ("none", "add", "mean"):
            found = gradients_of(lambda x, u, r=reduction: gs.scatter(x, index, u, reduction=r).mul_(2), data, updates)
            assert found[0][1] == [2, 2]
            assert found[1][2] == [1 if reduction == "mean" else 2] * 2
