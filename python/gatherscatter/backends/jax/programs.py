"""The operators, compiled by XLA: on devices other than the CPU, and in traces.

A call is one program, keyed by shapes, dtypes and options. With ``mode="raise"`` it also tells whether an index is out
of bounds.
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


def lenient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the user's settings that forbid promotions are for the user's code, not for that of the function."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            return function(*arguments, **options)

    return call


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

    def wrapped(self, index: Any, size: int) -> Any:
        """Without a division: XLA makes one operation of the three."""
        return jnp.where(index < 0, index + size, index)

    @lenient
    def settled(self, indices: Any, plan: Plan) -> Plan:
        with jax.ensure_compile_time_eval():  # check concrete indices also during a trace of other arguments
            return super().settled(indices, plan)

    @lenient
    def index_error(self, indices: Any, plan: Plan) -> Exception:
        return super().index_error(indices, plan)

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


@partial(jax.jit, static_argnames="plan")
@lenient
def gather(data: Array, indices: Array, fill: Any, plan: Plan) -> tuple[Array, Array | None]:
    """A gather, and whether an index is out of bounds if the mode raises. fill: of data's dtype and rank 0, or None."""
    rows, outside = TABLE.resolve_rows(indices, plan)
    result = TABLE.read_rows(data, rows, outside, fill, plan)
    return result, None if outside is None or plan.mode == "fill" else jnp.any(outside)


@partial(jax.jit, static_argnames="plan")
@lenient
def scatter(data: Array, indices: Array, updates: Array, plan: Plan) -> tuple[Array, Array | None]:
    """A scatter, and whether an index is out of bounds if the mode raises."""
    rows, outside = TABLE.resolve_rows(indices, plan)
    result = TABLE.write_rows(data, rows, updates, plan)
    return result, None if outside is None else jnp.any(outside)


def checked_gather(data: Array, indices: Array, fill: Any, plan: Plan) -> Array:
    """A gather of known arrays."""
    result, outside = gather(data, indices, fill, plan._replace(operator=_ANY))
    return _checked(result, outside, indices, plan)


def checked_scatter(data: Array, indices: Array, updates: Array, plan: Plan) -> Array:
    """A scatter of known arrays."""
    include_self = plan.include_self or plan.reduction == "none"
    result, outside = scatter(data, indices, updates, plan._replace(operator=_ANY, include_self=include_self))
    return _checked(result, outside, indices, plan)


def _checked(result: Array, outside: Array | None, indices: Array, plan: Plan) -> Array:
    if outside is not None and bool(outside):
        raise TABLE.index_error(indices, plan)
    return result
