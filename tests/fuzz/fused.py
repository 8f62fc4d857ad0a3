"""Scatters along an axis by `gs.gather_scatter`, whose updates are gathered from a source made of them."""

import math
from unittest import mock

import gatherscatter as gs
import numpy as np
from gatherscatter.backends import kernels

from fuzz import prepared

DTYPES = ("i8", "i4", "u4", ">i8", "u8")
# One pass for rows and calls of any size.
LIMITS = {"ONE_PASS_BYTES": 0, "ONE_PASS_ROW": (1, 4095)}
PREAMBLE = "from gatherscatter.backends import kernels\nkernels.ONE_PASS_BYTES, kernels.ONE_PASS_ROW = 0, (1, 4095)\n"


def suits(call):
    """Whether a call is one that gathers its updates: they are an array of the full shape."""
    return (
        call.function == "scatter"
        and not call.errors
        and not call.batch_dims
        and "accumulate_dtype" not in call.options
        and all(hasattr(call.arguments[name], "strides") for name in ("indices", "updates"))
        and tuple(call.arguments["updates"].shape) == tuple(call.elements)
    )


def name(call):
    """The function that errors of an index name."""
    return "gather_scatter" if call.is_fused and not call.is_prepared else call.function


def _rows(call, updates):
    """The updates with one axis of rows, in another order; and which of them each update is."""
    n, axis = math.prod(call.indices), call.axis
    shape = (*call.data[:axis], n, *call.data[axis + 1 :])
    dtype = DTYPES[call.number % len(DTYPES)]
    turned = f" - {n}" if "u" not in dtype and call.options.get("wrap_negative_indices", True) else ""
    order = f"np.random.default_rng({call.number}).permutation({n})"
    source = f"np.take({updates}.reshape({shape}), {order}, {axis})"
    return source, f"(np.argsort({order}){turned}).reshape({tuple(call.indices)}).astype({dtype!r})"


def _weights(call):
    """Weights of 1 and -1 as an option, and the updates before these change their signs."""
    kind = call.arguments["updates"].type.dtype.kind
    if kind not in "iu" and (kind != "f" or call.reduction == "none"):  # which would change the bits of NaN
        return "", "np.asarray(updates)"
    rest = call.data[call.axis + 1 :]
    n_leading = call.number // 2 % 3
    signs = f"np.random.default_rng({call.number}).choice([-1, 1], {(*call.indices, *rest[:n_leading])})"
    ones = (1,) * len(rest[n_leading:])
    wide = f"{signs}.reshape({(*call.indices, *rest[:n_leading], *ones)})"
    return (
        f", weights={signs}.astype(updates.dtype)",
        f"np.where({wide} < 0, -np.asarray(updates), updates).astype(updates.dtype)",
    )


def code(call, given):
    """Code of the call."""
    options = {key: value for key, value in call.options.items() if key != "batch_dims"}
    weights, updates = _weights(call) if call.number % 2 else ("", "np.asarray(updates)")
    source, rows = _rows(call, updates)
    indices = "indices"
    if call.is_prepared:
        of_indices, options = prepared.split(options)
        words = "".join(f", {key}={value!r}" for key, value in of_indices.items())
        indices = f"gs.prepare('scatter', np.shape(data), indices{words})"
        rows = f"gs.prepare('gather', {_source_shape(call)}, {rows}, axis={call.axis})"
    words = "".join(f", {key}={value!r}" for key, value in options.items()) + (", out=out" if "out" in given else "")
    words += weights
    return f"gs.gather_scatter(data, {indices}, {source}, {rows}{words})"


def _source_shape(call):
    return (*call.data[: call.axis], math.prod(call.indices), *call.data[call.axis + 1 :])


def run(call, given):
    with mock.patch.multiple(kernels, **LIMITS):
        return eval(code(call, given), {"np": np, "gs": gs, "inf": math.inf, "nan": math.nan, **given})
