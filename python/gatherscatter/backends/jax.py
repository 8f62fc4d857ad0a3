"""JAX arrays: `jax.numpy` and ``.at[]``, also under jit, grad and vmap.

Resolve and move are two compiled programs, each keyed by only the options that it depends on, so that more calls
share them. Between the two, ``mode="raise"`` checks bounds, which requires concrete (not traced) indices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from gatherscatter import errors, values
from gatherscatter.backends import derivatives
from gatherscatter.backends.table import TableBackend
from gatherscatter.operators import AXIS, Operator
from gatherscatter.plan import Plan
from gatherscatter.reductions import REDUCTIONS

# Replaces a plan's operator, on which compiled programs do not depend.
_ANY = Operator("", AXIS, scatters=False)


class JAXBackend(TableBackend):
    """Arrays of JAX, traced ones included."""

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

    def asarray(self, value: Any, like: Any) -> Array:
        return jnp.asarray(value)

    def from_numpy(self, array: values.Array, like: Any) -> Array:
        return jnp.asarray(array)

    def numpy_dtype(self, array: Any) -> Any:
        """JAX's dtypes are NumPy's and those of ml_dtypes."""
        return array.dtype

    def zeros(self, shape: tuple[int, ...], like: Any) -> Array:
        """No device argument, since traced arrays have no device."""
        return jnp.zeros(shape, dtype=like.dtype)

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        self._refuse_out(plan, out)
        return super().gather(data, indices, plan, fill_value, None)

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        self._refuse_out(plan, out)
        return super().scatter(data, indices, updates, plan, None)

    def _refuse_out(self, plan: Plan, out: Any) -> None:
        if out is not None:
            raise errors.cannot(
                self.name, plan.operator, "out=", "a jax.Array cannot be written to; use what is returned"
            )

    def check_indices(self, plan: Plan, data: Any, indices: Any) -> None:
        if not jnp.issubdtype(indices.dtype, jnp.integer) or jnp.iinfo(indices.dtype).bits < 8:
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)
        if max(plan.n_rows, plan.n_tuples) > jnp.iinfo(self.row_dtype(data)).max:
            reason = 'its row ids need 64 bits; call jax.config.update("jax_enable_x64", True)'
            raise errors.cannot(self.name, plan.operator, f"{plan.operator.data} of shape {plan.data}", reason)

    def check_devices(self, plan: Plan, data: Any, **others: Any) -> None:
        """Not checked: JAX raises an error if devices differ, and traced arrays have none."""

    def resolve(self, indices: Any, plan: Plan) -> tuple[Any, Any | None]:
        core = plan._replace(operator=_ANY, reduction="none", include_self=True)
        if isinstance(indices, jax.core.Tracer):  # pyright: ignore[reportAttributeAccessIssue]
            if plan.mode in ("clip", "wrap") and indices.size and 0 in plan.sizes:
                raise errors.empty_axis(plan.operator, plan.data, plan.axis + plan.sizes.index(0))
            rows, outside = _resolve(indices, core)
            if plan.mode == "raise" and outside is not None and outside.size:
                traceable = [mode for mode in plan.operator.modes if mode != "raise"]
                raise errors.untraceable_mode(self.name, plan.operator, plan.mode, traceable)
            return rows, outside
        with jax.ensure_compile_time_eval():  # check concrete indices also during a trace of other arguments
            rows, outside = _resolve(indices, core)
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
        if reduction == "add":
            return table.at[rows].add(updates, mode="drop")
        return _reduce_differentiably(table, rows, updates, reduction)

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


def _without_options(plan: Plan) -> Plan:
    """The plan with default options of step 2, on which step 3 does not depend: more calls share a program."""
    include_self = plan.include_self or plan.reduction == "none"
    return plan._replace(operator=_ANY, mode="", wrap_negative_indices=True, include_self=include_self)


@partial(jax.jit, static_argnames="plan")
def _resolve(indices: Array, plan: Plan) -> tuple[Array, Array | None]:
    return BACKEND.resolve_rows(indices, plan)


@partial(jax.jit, static_argnames="plan")
def _read(data: Array, rows: Array, outside: Array | None, fill: Array | None, plan: Plan) -> Array:
    return TableBackend.read_rows(BACKEND, data, rows, outside, fill, plan)


@partial(jax.jit, static_argnames="plan")
def _write(data: Array, rows: Array, updates: Array, plan: Plan) -> Array:
    return TableBackend.write(BACKEND, data, rows, updates, plan)


@partial(jax.custom_jvp, nondiff_argnums=(3,))
def _reduce_differentiably(table: Array, rows: Array, updates: Array, reduction: str) -> Array:
    """Reductions with custom derivatives: JAX differentiates "mul" for distinct indices only, "max" and "min" never."""
    at = table.at[rows]
    if reduction == "mul":
        return at.multiply(updates, mode="drop")
    return at.max(updates, mode="drop") if reduction == "max" else at.min(updates, mode="drop")


@_reduce_differentiably.defjvp
def _(reduction: str, primals: Any, tangents: Any) -> tuple[Array, Array]:
    table, rows, updates = primals
    of_table, _, of_updates = tangents
    result = _reduce_differentiably(table, rows, updates, reduction)
    add = REDUCTIONS["add"]
    if reduction == "mul":
        to_table, to_updates = derivatives.factors(BACKEND, table, rows, updates)
        return result, BACKEND.combine(of_table * to_table, rows, of_updates * to_updates, add, True)
    # The mean of the tangents of the elements that equal the result.
    in_table, in_updates, count = derivatives.winners(BACKEND, table, rows, updates, result)
    of_table = jnp.where(in_table, of_table, jnp.zeros_like(of_table))
    of_updates = jnp.where(in_updates, of_updates, jnp.zeros_like(of_updates))
    return result, BACKEND.combine(of_table, rows, of_updates, add, True) / count.astype(result.dtype)


BACKEND = JAXBackend()
