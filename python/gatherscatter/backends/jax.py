"""JAX arrays: `jax.numpy` and ``.at[]``, under jit, grad and vmap too.

Resolving and moving are compiled by themselves, so that calls share programs where their plans differ only in the
other's options. Between the two stands the check of ``mode="raise"``, which needs indices that are known.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gatherscatter import errors, neutral, shapes
from gatherscatter.backends import _checks, _rows
from gatherscatter.shapes import Plan

NAME = "JAX"


def owns(value: Any) -> bool:
    return isinstance(value, Array)


def as_array(operator: str, argument: str, value: Any, like: Array) -> Array:
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError, OverflowError) as reason:
        raise errors.not_convertible(operator, argument, reason) from None
    if argument == "indices" and array.size == 0 and isinstance(value, (list, tuple)):
        return array.astype(_number())
    return array


def same_library(a: Array, b: Array) -> bool:
    return True


def gather(data: Array, indices: Array, plan: Plan, fill_value: Any, out: Any) -> Array:
    _check(plan, data, indices, out)
    fill = None
    if plan.mode == "fill":
        fill = jnp.asarray(neutral.element(plan.operator, "fill_value", fill_value, data.dtype))
    rows, outside = _resolved(indices, plan)
    return _read(data, rows, outside, fill, _core(plan))


def scatter(data: Array, indices: Array, updates: Any, plan: Plan, out: Any) -> Array:
    _checks.reduction(plan, data)
    _check(plan, data, indices, out)
    if isinstance(updates, neutral.TYPES):
        updates = jnp.asarray(neutral.updates(plan.operator, updates, plan.shape, data.dtype))
    _checks.updates(plan, updates, data)
    rows, _ = _resolved(indices, plan)
    return _write(data, rows, updates, _core(plan))


def _check(plan: Plan, data: Array, indices: Array, out: Any) -> None:
    if not jnp.issubdtype(indices.dtype, jnp.integer) or jnp.iinfo(indices.dtype).bits < 8:
        raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
    if out is not None:
        raise errors.cannot(NAME, plan.operator, "out=", "a jax.Array cannot be written to; use what is returned")
    if max(math.prod(plan.leading), plan.n_tuples) > jnp.iinfo(_number()).max:
        reason = 'its row numbers need 64 bits; call jax.config.update("jax_enable_x64", True)'
        raise errors.cannot(NAME, plan.operator, f"data of shape {plan.data}", reason)


def _number() -> Any:
    return jnp.int64 if jax.config.read("jax_enable_x64") else jnp.int32


def _core(plan: Plan) -> Plan:
    """The plan without what moving does not depend on, so that more calls share a program."""
    return plan._replace(operator="", mode="", include_self=plan.include_self or plan.reduction == "none")


def _resolved(indices: Array, plan: Plan) -> tuple[Array, Array | None]:
    core = plan._replace(operator="", reduction="none", include_self=True)
    if isinstance(indices, jax.core.Tracer):  # pyright: ignore[reportAttributeAccessIssue]
        if plan.mode in ("clip", "wrap") and indices.size:
            for axis in range(plan.axis, plan.axis + plan.depth):
                if plan.data[axis] == 0:
                    raise errors.empty_axis(plan.operator, plan.data, axis)
        rows, outside = _resolve(indices, core)
        if plan.mode == "raise" and outside is not None and outside.size:
            accepted = shapes.SCATTER_MODES if plan.operator.startswith("scatter") else shapes.GATHER_MODES
            raise errors.untraceable_mode(NAME, plan.operator, plan.mode, [m for m in accepted if m != "raise"])
        return rows, outside
    with jax.ensure_compile_time_eval():  # known indices are looked at in a trace too
        rows, outside = _resolve(indices, core)
        if outside is not None and plan.mode != "fill" and bool(outside.any()):
            raise _rows.explain(jnp, indices, plan, outside)
    return rows, outside


@partial(jax.jit, static_argnames="plan")
def _resolve(indices: Array, plan: Plan) -> tuple[Array, Array | None]:
    return _rows.resolve(jnp, indices, plan, _number(), None)


@partial(jax.jit, static_argnames="plan")
def _read(data: Array, rows: Array, outside: Array | None, fill: Array | None, plan: Plan) -> Array:
    return _rows.read(_moves(), data, rows, outside, fill, plan)


@partial(jax.jit, static_argnames="plan")
def _write(data: Array, rows: Array, updates: Array, plan: Plan) -> Array:
    return _rows.write(_moves(), data, rows, updates, plan)


# The primitives on rows of a table


def _moves() -> _rows.Moves:
    return _rows.Moves(
        NAME, jnp, _number(), _take, _assign, _combine, _divide, partial(_rows.floor_divide, jnp), jax.lax.complex
    )


def _take(table: Array, rows: Array) -> Array:
    return table.at[rows].get(mode="promise_in_bounds")


def _assign(table: Array, rows: Array, updates: Array) -> Array:
    # JAX leaves open which of several updates wins.
    return _set(table, _rows.only_last(_moves(), table.shape[0], rows), updates)


def _set(table: Array, rows: Array, updates: Array) -> Array:
    return table.at[rows].set(updates, mode="drop")


def _combine(table: Array, rows: Array, updates: Array, reduction: str, include_self: bool) -> Array:
    if not include_self:
        first, rows = _rows.without_first(_moves(), table.shape[0], rows)
        table = _set(table, first, updates)
    if table.dtype == jnp.bool:
        reduction = {"add": "max", "mul": "min"}.get(reduction, reduction)
    if reduction == "add":
        return table.at[rows].add(updates, mode="drop")
    return _combine_differentiably(table, rows, updates, reduction)


def _divide(sums: Array, counts: Array) -> Array:
    # XLA multiplies by the reciprocal where it sees one divisor for a whole row.
    return jax.lax.div(sums, jax.lax.optimization_barrier(jnp.broadcast_to(counts, sums.shape)))


@partial(jax.custom_jvp, nondiff_argnums=(3,))
def _combine_differentiably(table: Array, rows: Array, updates: Array, reduction: str) -> Array:
    """Products and extremes: JAX has derivatives of products for distinct indices only, and of extremes none."""
    at = table.at[rows]
    if reduction == "mul":
        return at.multiply(updates, mode="drop")
    return at.max(updates, mode="drop") if reduction == "max" else at.min(updates, mode="drop")


@_combine_differentiably.defjvp
def _(reduction: str, primals: Any, tangents: Any) -> tuple[Array, Array]:
    table, rows, updates = primals
    of_table, _, of_updates = tangents
    result = _combine_differentiably(table, rows, updates, reduction)
    if reduction == "mul":
        to_table, to_updates = _rows.factors(_moves(), table, rows, updates)
        return result, _combine(of_table * to_table, rows, of_updates * to_updates, "add", True)
    # In equal parts from what equals the result.
    in_table, in_updates, count = _rows.winners(_moves(), table, rows, updates, result)
    of_table = jnp.where(in_table, of_table, jnp.zeros_like(of_table))
    of_updates = jnp.where(in_updates, of_updates, jnp.zeros_like(of_updates))
    return result, _combine(of_table, rows, of_updates, "add", True) / count.astype(result.dtype)
