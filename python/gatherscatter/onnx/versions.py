"""The versions of ONNX's operators: which one an opset has, and what each specifies.

Source: https://onnx.ai/onnx/operators/
"""

from functools import cache
from typing import Any

from gatherscatter import core, errors
from gatherscatter import plan as plans
from gatherscatter._typing import IntLike
from gatherscatter.operators import (
    AXIS,
    GATHER,
    GATHER_ELEMENTS,
    GATHER_ND,
    SCATTER_ELEMENTS,
    SCATTER_ND,
    Operator,
)

# The versions of each operator: the opsets that introduced them.
VERSIONS: dict[str, tuple[int, ...]] = {
    "Gather": (1, 11, 13),
    "GatherElements": (11, 13),
    "GatherND": (11, 12, 13),
    "Scatter": (9,),
    "ScatterElements": (11, 13, 16, 18),
    "ScatterND": (11, 13, 16, 18),
    "TensorScatter": (24,),
}

# The tensor types in the documents. Version 13 of each operator added bfloat16.
TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "str"),
)
BFLOAT16_SINCE = 13
CACHE_TYPES = (
    *TYPES,
    *("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float4_e2m1fn", "int4", "uint4"),
)
INT64 = ("int64",)
INT32_OR_INT64 = ("int32", "int64")

# The opset that introduced each reduction.
REDUCTIONS: dict[str, int] = {"none": 0, "add": 16, "mul": 16, "max": 18, "min": 18}

# The core's records of the operators, with the names of the functions in this package.
CORE = {
    "Gather": GATHER,
    "GatherElements": GATHER_ELEMENTS,
    "GatherND": GATHER_ND,
    "Scatter": SCATTER_ELEMENTS.replace(name="scatter"),
    "ScatterElements": SCATTER_ELEMENTS,
    "ScatterND": SCATTER_ND,
    "TensorScatter": Operator(
        *("tensor_scatter", AXIS, True, "past_cache", "write_indices", "update"),
        wrap_negative_indices=False,
        negatives="ONNX's write_indices are not negative",
    ),
}


@cache
def operator_of(name: str, version: int) -> Operator:
    """The core's record of a version of an operator."""
    index_dtypes = INT64 if name in ("GatherND", "ScatterND", "TensorScatter") else INT32_OR_INT64
    data_dtypes = CACHE_TYPES if name == "TensorScatter" else (*TYPES, "bfloat16")
    source = f"{name}-{version}"
    return CORE[name].replace(source=source, broadcasts=False, index_dtypes=index_dtypes, data_dtypes=data_dtypes)


def version_of(name: str, opset: IntLike | None) -> int:
    """The latest version of an operator that is not later than an opset."""
    op, versions = CORE[name], VERSIONS[name]
    if opset is None:
        return versions[-1]
    opset = plans.integer(op, "opset", opset)
    if opset < versions[0]:
        raise errors.since_version(op, f"opset {opset} has no {name}", f"opset {versions[0]}")
    if name == "Scatter" and opset >= 11:
        raise errors.shape_rule(op, f"opset {opset} has no Scatter any more; call scatter_elements")
    return max(version for version in versions if version <= opset)


def accepted(name: str, opset: IntLike | None, **arguments: Any) -> tuple[Operator, list[Any]]:
    """The operator of an opset, and its arguments as arrays, checked against the version's types and ranks."""
    version = version_of(name, opset)
    op = operator_of(name, version)
    backend, arrays = core.arrays(op, **arguments)
    if version < BFLOAT16_SINCE and backend.dtype_name(arrays[0]) == "bfloat16":
        later = VERSIONS[name][-1] >= BFLOAT16_SINCE
        has = f"opset {BFLOAT16_SINCE}" if later else "ScatterElements of opset 13"
        raise errors.since_version(op, f"{op.source} has no bfloat16", has)
    core.check_source(op, backend, data=arrays[0], indices=arrays[1])
    if len(arrays[0].shape) == 0:
        raise errors.shape_rule(op, f"data has shape (); {op.source} takes rank 1 and more: pass data[None]")
    return op, arrays


def check_reduction(op: Operator, name: str, opset: IntLike | None, reduction: str) -> None:
    reduction = plans.choice(op, "reduction", reduction, tuple(REDUCTIONS))
    version = version_of(name, opset)
    if version < REDUCTIONS[reduction]:
        what = f"opset {opset} ({name}-{version}) has no reduction={reduction!r}"
        raise errors.since_version(op, what, f"opset {REDUCTIONS[reduction]}")
