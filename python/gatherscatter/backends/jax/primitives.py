"""The operators as JAX primitives, for traced arrays: JAX transforms them by the rules here.

Outside of a compiled program they run on the kernels where they can, so that gradients do too. In a program they are
those of `programs`. The derivatives are in ``derivatives.py``.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec
from numpy.typing import NDArray

from gatherscatter import plan as plans
from gatherscatter.backends import derivatives
from gatherscatter.backends.jax import calls, eager, programs
from gatherscatter.backends.jax.programs import lenient
from gatherscatter.operators import AXIS, ELEMENTS
from gatherscatter.plan import Plan, Shape

# Operands of _gather: data, indices. `fill` has the bytes of an element; None for zero.
# Operands of _scatter: data, indices, updates; only the last two if data is all zeros.
_gather = Primitive("gatherscatter_gather")
_scatter = Primitive("gatherscatter_scatter")

_LINEAR = ("none", "add", "mean")


def gather(data: Any, indices: Any, plan: Plan, fill: NDArray[Any] | None = None) -> Any:
    """A gather whose indices are in bounds if the mode is "raise". fill: of data's dtype and rank 0."""
    number = b"" if fill is None else fill.tobytes()
    plan = calls.renamed(plan, scatters=False)
    return _gather.bind(*_varying_alike(data, indices), plan=plan, fill=number if any(number) else None)


def scatter(data: Any | None, indices: Any, updates: Any, plan: Plan) -> Any:
    """A scatter whose indices are in bounds if the mode is "raise". data: None for zeros."""
    operands = (indices, updates) if data is None else (data, indices, updates)
    return _scatter.bind(*_varying_alike(*operands), plan=calls.renamed(plan, scatters=True))


def _varying_alike(*arrays: Any) -> list[Any]:
    """The arrays, with those marked as varying over a mesh axis of ``jax.shard_map`` over which another one varies."""
    axes = [_varying_axes(array) for array in arrays]
    every = frozenset().union(*axes)
    return [
        _mark_varying(array, tuple(every - own)) if every - own else array
        for array, own in zip(arrays, axes, strict=True)
    ]


def _varying_axes(array: Any) -> frozenset[Any]:
    kind = jax.typeof(array)
    # The attribute has another name in JAX 0.10.
    return kind.mat.varying if hasattr(kind, "mat") else getattr(kind, "vma", frozenset())


def _mark_varying(array: Any, axes: tuple[Any, ...]) -> Any:
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(array, axes, to="varying")
    return jax.lax.pvary(array, axes)  # type: ignore[attr-defined]  # before JAX 0.9


# Evaluation


def _number(fill: bytes | None, dtype: Any, plan: Plan) -> NDArray[Any] | None:
    if plan.mode != "fill":
        return None
    return np.zeros((), dtype) if fill is None else np.frombuffer(fill, dtype)[0:1].reshape(())


@_gather.def_impl
def _(data: Any, indices: Any, *, plan: Plan, fill: bytes | None) -> Any:
    number = _number(fill, data.dtype, plan)
    result = eager.gather(data, indices, plan, number)
    return programs.gather(data, indices, number, plan)[0] if result is None else result


@_scatter.def_impl
def _(*operands: Any, plan: Plan) -> Any:
    data, indices, updates = _three(operands)
    result = eager.scatter(data, indices, updates, plan)
    return _scattered(*operands, plan=plan) if result is None else result


@_gather.def_abstract_eval
def _(data: Any, indices: Any, *, plan: Plan, fill: bytes | None) -> Any:
    return _abstract(data, plan.shape)


@_scatter.def_abstract_eval
def _(*operands: Any, plan: Plan) -> Any:
    return _abstract(operands[-1], plan.data)


def _abstract(like: Any, shape: Shape) -> Any:
    sharding = NamedSharding(like.sharding.mesh, PartitionSpec(*(None,) * len(shape)))
    return like.update(shape=shape, weak_type=False, sharding=sharding)


def _gathered(data: Any, indices: Any, *, plan: Plan, fill: bytes | None) -> Any:
    return programs.gather(data, indices, _number(fill, data.dtype, plan), plan)[0]


def _scattered(*operands: Any, plan: Plan) -> Any:
    data, indices, updates = _three(operands)
    data = jnp.zeros(plan.data, updates.dtype) if data is None else data
    return programs.scatter(data, indices, updates, plan)[0]


def _three(operands: Any) -> Any:
    return operands if len(operands) == 3 else (None, *operands)


mlir.register_lowering(_gather, mlir.lower_fun(_gathered, multiple_results=False))
mlir.register_lowering(_scatter, mlir.lower_fun(_scattered, multiple_results=False))


# Derivatives


class _Indexing(derivatives.Indexing):
    """The indices of one call, into data of any shape that they fit."""

    xp = jnp

    def __init__(self, indices: Any, plan: Plan) -> None:
        self.indices = indices
        self.plan = calls.renamed(plan, scatters=True)
        self.leading = plan.leading
        self.tuples = plan.tuples
        self.integer = programs.TABLE.row_dtype(indices)

    def _plan(self, data: Any, reduction: str = "none", include_self: bool = True) -> Plan:
        plan = self.plan._replace(reduction=reduction, include_self=include_self)
        return calls.replanned(plan, data.shape, self.indices.shape, plan.axis, plan.batch_dims)

    def gather(self, data: Any) -> Any:
        return gather(data, self.indices, self._plan(data))

    def scatter(self, data: Any, updates: Any, reduction: str, include_self: bool = True) -> Any:
        return scatter(data, self.indices, updates, self._plan(data, reduction, include_self))

    def of_rows(self) -> derivatives.Indexing:
        return _Indexing(self.indices, self.plan._replace(row=(), data=self.leading))

    def of_table(self, rows: Any) -> derivatives.Indexing:
        plan = plans.scatter(calls.operator(AXIS, True, False), rows.shape, rows.shape, 0, 0, "drop", "none", True)
        return _Indexing(rows, plan)

    def integers(self, shape: Shape, value: int) -> Any:
        return jnp.full(shape, value, self.integer)

    def numbers(self, shape: Shape) -> Any:
        return jnp.arange(1, math.prod(shape) + 1, dtype=self.integer).reshape(shape)


def _zero(like: Any) -> Any:
    return ad.Zero(jax.typeof(like).to_tangent_aval())


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero


def _gather_jvp(primals: Any, tangents: Any, *, plan: Plan, fill: bytes | None) -> Any:
    data, indices = primals
    of_data, _ = tangents
    result = _gather.bind(data, indices, plan=plan, fill=fill)
    return result, _zero(result) if _is_zero(of_data) else gather(of_data, indices, plan)


@lenient
def _scatter_jvp(primals: Any, tangents: Any, *, plan: Plan) -> Any:
    data, indices, updates = _three(primals)
    of_data, _, of_updates = _three(tangents)
    result = _scatter.bind(*primals, plan=plan)
    if of_data is None or _is_zero(of_data):
        if _is_zero(of_updates):
            return result, _zero(result)
        of_data = None
    if _is_zero(of_updates):
        if plan.reduction == "add" and plan.include_self:
            return result, of_data
        of_updates = jnp.zeros_like(updates)
    if plan.reduction in _LINEAR:
        return result, scatter(of_data, indices, of_updates, plan)
    of_data = jnp.zeros_like(data) if of_data is None else of_data
    # That of "mul" has hundreds of small steps, which take longer one by one than they gain by the kernels.
    tangent = _compiled_tangent if plan.reduction == "mul" else _tangent
    return result, tangent(data, indices, updates, result, of_data, of_updates, plan=plan)


def _tangent(data: Any, indices: Any, updates: Any, result: Any, of_data: Any, of_updates: Any, *, plan: Plan) -> Any:
    at = _Indexing(indices, plan)
    operands = data, updates, result
    return derivatives.scatter_jvp(at, plan.reduction, plan.include_self, *operands, (of_data, of_updates))


_compiled_tangent = jax.jit(_tangent, static_argnames="plan")


def _gather_transpose(of_result: Any, data: Any, indices: Any, *, plan: Plan, fill: bytes | None) -> Any:
    if _is_zero(of_result):
        return [ad.Zero(data.aval), None]
    plan = calls.renamed(plan, scatters=True)._replace(reduction="add")
    return [scatter(None, indices, of_result, plan), None]


@lenient
def _scatter_transpose(of_result: Any, *operands: Any, plan: Plan) -> Any:
    data, indices, updates = _three(operands)
    wants = ad.is_undefined_primal(data), ad.is_undefined_primal(updates)
    if _is_zero(of_result):
        found = [ad.Zero(array.aval) if wanted else None for array, wanted in zip((data, updates), wants, strict=True)]
    else:
        at, unused = _Indexing(indices, plan), None  # what a linear reduction does not depend on
        of_both = derivatives.scatter_vjp(
            at, plan.reduction, plan.include_self, unused, unused, unused, of_result, wants
        )
        found = [each if wanted else None for each, wanted in zip(of_both, wants, strict=True)]
    return [found[0], None, found[1]][-len(operands) :]


ad.primitive_jvps[_gather] = _gather_jvp
ad.primitive_jvps[_scatter] = _scatter_jvp
ad.primitive_transposes[_gather] = _gather_transpose
ad.primitive_transposes[_scatter] = _scatter_transpose


# Batching: the mapped axis becomes an axis of the call


def _to(array: Any, at: int | None, axis: int, size: int) -> Any:
    """The array with its mapped axis moved to `axis`, or repeated along a new one there if it has none."""
    if array is None:
        return None
    if at is not None:
        return jnp.moveaxis(array, at, axis)
    array = jnp.expand_dims(array, axis)
    return jnp.broadcast_to(array, (*array.shape[:axis], size, *array.shape[axis + 1 :]))


def _gather_batched(arrays: Any, mapped: Any, *, plan: Plan, fill: bytes | None) -> Any:
    data, indices = arrays
    of_data, of_indices = mapped
    if of_data is None:  # more indices into the same data
        size, position = indices.shape[of_indices], plan.axis
        if plan.kind == ELEMENTS:  # along the indexed axis
            indices = jnp.moveaxis(indices, of_indices, position)
            shape = indices.shape
            longer = (*shape[:position], size * shape[position + 1], *shape[position + 2 :])
            plan = calls.replanned(plan, plan.data, longer, position, 0)
            result = _gather.bind(data, jnp.reshape(indices, longer), plan=plan, fill=fill)
            return jnp.reshape(result, shape), position
        indices = jnp.moveaxis(indices, of_indices, plan.batch_dims)
        plan = calls.replanned(plan, plan.data, indices.shape, position, plan.batch_dims)
        return _gather.bind(data, indices, plan=plan, fill=fill), position
    size = data.shape[of_data]
    plan, indices, position = _with_mapped_axis(plan, indices, of_indices, size)
    return _gather.bind(_to(data, of_data, position, size), indices, plan=plan, fill=fill), position


def _scatter_batched(operands: Any, mapped: Any, *, plan: Plan) -> Any:
    size = next(array.shape[at] for array, at in zip(operands, mapped, strict=True) if at is not None)
    data, indices, updates = _three(operands)
    of_data, of_indices, of_updates = _three(mapped)
    plan, indices, position = _with_mapped_axis(plan, indices, of_indices, size)
    data, updates = _to(data, of_data, position, size), _to(updates, of_updates, position, size)
    operands = (indices, updates) if data is None else (data, indices, updates)
    return _scatter.bind(*operands, plan=plan), position


def _with_mapped_axis(plan: Plan, indices: Any, of_indices: int | None, size: int) -> tuple[Plan, Any, int]:
    """The plan and the indices for a mapped axis of data, and where to put that axis in data and the other arrays."""
    if plan.kind == AXIS and of_indices is None:  # one of the axes between the batch axes and the indexed one
        position, batch_dims = plan.batch_dims, plan.batch_dims
    else:
        indices = _to(indices, of_indices, 0, size)
        position, batch_dims = 0, 0 if plan.kind == ELEMENTS else plan.batch_dims + 1
    shape = (*plan.data[:position], size, *plan.data[position:])
    return calls.replanned(plan, shape, indices.shape, plan.axis + 1, batch_dims), indices, position


batching.primitive_batchers[_gather] = _gather_batched
batching.primitive_batchers[_scatter] = _scatter_batched
