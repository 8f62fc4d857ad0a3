"""Resolve and move, compiled by XLA: on devices other than the CPU, and in traces.

Resolve and move are two programs, each keyed by only the options that it depends on, so that more calls share them.
Between the two, ``mode="raise"`` checks bounds. `gather` and `scatter` do both steps, for programs of the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gatherscatter.backends.table import TableBackend
from gatherscatter.operators import AXIS, Operator
from gatherscatter.plan import Plan

# Replaces a plan's operator, on which compiled programs do not depend.
_ANY = Operator("", AXIS, scatters=False)


class JAXTable(TableBackend):
    """The primitives of tables; the backend is derived from it."""

    name = "JAX"
    array_name = "jax.Array"
    native = frozenset(("add", "mul", "max", "min"))
    makes_complex = True

    def owns(self, value: Any) -> bool:
        return isinstance(value, Array)

    def namespace(self, array: Any) -> Any:
        return jnp

    def row_dtype(self, like: Any) -> Any:
        return jnp.int64 if jax.config.read("jax_enable_x64") else jnp.int32

    def resolve(self, indices: Any, plan: Plan) -> tuple[Any, Any | None]:
        with jax.ensure_compile_time_eval():  # check concrete indices also during a trace of other arguments
            rows, outside = _resolve(indices, plan._replace(operator=_ANY, reduction="none", include_self=True))
            return self.check_bounds(rows, outside, indices, plan), outside

    def read_rows(self, data: Any, rows: Any, outside: Any | None, fill: Any | None, plan: Plan) -> Any:
        return _read(data, rows, outside, fill, _without_options(plan))

    def write(self, data: Any, rows: Any, updates: Any, plan: Plan) -> Any:
        return _write(data, rows, updates, _without_options(plan))

    # Primitives

    def take(self, table: Any, rows: Any) -> Any:
        return table.at[rows].get(mode="promise_in_bounds")

    def put(self, table: Any, rows: Any, updates: Any) -> Any:
        return table.at[rows].set(updates, mode="drop")

    def reduce(self, table: Any, rows: Any, updates: Any, reduction: str) -> Any:
        at = table.at[rows]
        return {"add": at.add, "mul": at.multiply, "max": at.max, "min": at.min}[reduction](updates, mode="drop")

    def combine_by_step(self, table: Any, rows: Any, updates: Any, step: Callable[[Any, Any], Any]) -> Any:
        """Apply updates one by one in a ``fori_loop``, which can be traced."""

        def body(i: Any, result: Any) -> Any:
            element = result.at[rows[i]].get(mode="clip")
            return result.at[rows[i]].set(step(element, updates[i]), mode="drop")

        return jax.lax.fori_loop(0, rows.shape[0], body, table)

    def divide(self, sums: Any, counts: Any) -> Any:
        """With an optimization barrier: XLA would multiply by the reciprocal if a row has one divisor."""
        return jax.lax.div(sums, jax.lax.optimization_barrier(jnp.broadcast_to(counts, sums.shape)))

    def make_complex(self, real: Any, imag: Any) -> Any:
        return jax.lax.complex(real, imag)


TABLE = JAXTable()


def lenient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the user's settings that forbid promotions are for the user's code, not for that of the function."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            return function(*arguments, **options)

    return call


def _without_options(plan: Plan) -> Plan:
    """The plan with default options of step 2, on which step 3 does not depend: more calls share a program."""
    include_self = plan.include_self or plan.reduction == "none"
    return plan._replace(operator=_ANY, mode="", wrap_negative_indices=True, include_self=include_self)


@partial(jax.jit, static_argnames="plan")
@lenient
def _resolve(indices: Array, plan: Plan) -> tuple[Array, Array | None]:
    return TABLE.resolve_rows(indices, plan)


@partial(jax.jit, static_argnames="plan")
@lenient
def _read(data: Array, rows: Array, outside: Array | None, fill: Array | None, plan: Plan) -> Array:
    return TableBackend.read_rows(TABLE, data, rows, outside, fill, plan)


@partial(jax.jit, static_argnames="plan")
@lenient
def _write(data: Array, rows: Array, updates: Array, plan: Plan) -> Array:
    return TableBackend.write(TABLE, data, rows, updates, plan)


@partial(jax.jit, static_argnames="plan")
@lenient
def gather(data: Array, indices: Array, fill: Any, plan: Plan) -> Array:
    """A gather whose indices are in bounds if the mode is "raise". fill: of data's dtype and rank 0, or None."""
    rows, outside = TABLE.resolve_rows(indices, plan)
    return TableBackend.read_rows(TABLE, data, rows, outside, fill, plan)


@partial(jax.jit, static_argnames="plan")
@lenient
def scatter(data: Array, indices: Array, updates: Array, plan: Plan) -> Array:
    """A scatter whose indices are in bounds if the mode is "raise"."""
    rows, _ = TABLE.resolve_rows(indices, plan)
    return TableBackend.write(TABLE, data, rows, updates, plan)
