"""What a library's arrays have to hold to before they are moved; NumPy's backend has its own, which know strides."""

from __future__ import annotations

from typing import Any

from gatherscatter import errors
from gatherscatter.shapes import REDUCED_BY, Plan


def reduction(plan: Plan, data: Any) -> None:
    """Check that data's dtype has the plan's reduction."""
    if plan.reduction == "none":
        return
    supported = REDUCED_BY[plan.reduction]
    if str(data.dtype).rpartition(".")[2] not in supported:  # torch.float32, array_api_strict.float32, float32
        raise errors.reduction_dtype(plan.operator, plan.reduction, data.dtype, supported)


def updates(plan: Plan, updates: Any, data: Any) -> None:
    if updates.dtype != data.dtype:
        raise errors.updates_dtype(plan.operator, updates.dtype, data.dtype)
    if updates.shape != plan.shape:
        raise errors.updates_shape(plan.operator, updates.shape, plan.shape)


def out(plan: Plan, out: Any, data: Any, shape: tuple[int, ...], kind: Any, name: str) -> None:
    """Check that out can take a result of that shape; `name` is what users call its class."""
    if not isinstance(out, kind):
        raise errors.out_type(plan.operator, out, name)
    if out.shape != shape:
        raise errors.out_shape(plan.operator, out.shape, shape)
    if out.dtype != data.dtype:
        raise errors.out_dtype(plan.operator, out.dtype, data.dtype)


def same_device(plan: Plan, data: Any, **others: Any) -> None:
    for argument, array in others.items():
        if array is not None and array.device != data.device:
            raise errors.devices_differ(plan.operator, argument, array.device, data.device)
