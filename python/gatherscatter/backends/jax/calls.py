"""Plans of the primitives. Their operator is one of a few, so that calls by different names share a program."""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp

from gatherscatter import errors, operators
from gatherscatter import plan as plans
from gatherscatter.backends.jax import programs
from gatherscatter.operators import AXIS, ELEMENTS, ND, Operator
from gatherscatter.plan import Plan, Shape


@cache
def operator(kind: int, scatters: bool, wrap_negative_indices: bool) -> Operator:
    """The operator of plans of a kind."""
    gathers = {ND: operators.GATHER_ND, AXIS: operators.GATHER, ELEMENTS: operators.GATHER_ELEMENTS}
    updating = {ND: operators.SCATTER_ND, AXIS: operators.SCATTER, ELEMENTS: operators.SCATTER_ELEMENTS}
    op = (updating if scatters else gathers)[kind]
    return op if wrap_negative_indices else op.replace(wrap_negative_indices=False)


def renamed(plan: Plan, *, scatters: bool) -> Plan:
    """The plan of a gather or of a scatter with the same indices."""
    mode = plan.mode
    if mode in ("fill", "drop"):
        mode = "drop" if scatters else "fill"
    elif mode == "raise":
        mode = "promise_in_bounds"
    op = operator(plan.kind, scatters, plan.wrap_negative_indices)
    if scatters:
        return plan._replace(operator=op, mode=mode)
    return plan._replace(operator=op, mode=mode, reduction="none", include_self=True)


def replanned(plan: Plan, data: Shape, indices: Shape, axis: int, batch_dims: int) -> Plan:
    """The plan for other shapes, axis and batch_dims."""
    op, mode = plan.operator, plan.mode
    if op.scatters:
        new = plans.scatter(op, data, indices, axis, batch_dims, mode, plan.reduction, plan.include_self)
    else:
        new = plans.gather(op, data, indices, axis, batch_dims, mode)
    check_size(new)
    return new


def check_size(plan: Plan) -> None:
    """Refuse a plan whose row ids are too large for a program."""
    if max(plan.n_rows, plan.n_tuples) > jnp.iinfo(programs.TABLE.row_dtype(None)).max:
        reason = 'its row ids need 64 bits; call jax.config.update("jax_enable_x64", True)'
        raise errors.cannot("JAX", plan.operator, f"{plan.operator.data} of shape {plan.data}", reason)
