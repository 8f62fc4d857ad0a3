"""Types of `Prepared`: the type of data determines the type of every result."""

from typing import Any, Self, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gatherscatter._typing import ArrayT, Nested, Reduction, ScalarT, Values
from gatherscatter.backends import kernels
from gatherscatter.backends.base import Backend
from gatherscatter.operators import Operator
from gatherscatter.plan import Plan

__all__ = ["Prepared"]

class Prepared:
    def __init__(self) -> None: ...  # always an error
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _: Any) -> Self: ...
    @property
    def operator(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def counts(self) -> NDArray[np.int64]: ...
    @overload
    def gather(
        self, data: NDArray[ScalarT], *, fill_value: object = 0, out: NDArray[Any] | None = None
    ) -> NDArray[ScalarT]: ...
    @overload
    def gather(self, data: Nested[Any], *, fill_value: object = 0, out: NDArray[Any] | None = None) -> NDArray[Any]: ...
    @overload
    def gather(self, data: ArrayT, *, fill_value: object = 0, out: ArrayT | None = None) -> ArrayT: ...
    @overload
    def scatter(
        self,
        data: NDArray[ScalarT],
        updates: NDArray[Any] | Values,
        *,
        reduction: Reduction = "none",
        include_self: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: NDArray[Any] | None = None,
    ) -> NDArray[ScalarT]: ...
    @overload
    def scatter(
        self,
        data: Nested[Any],
        updates: NDArray[Any] | Values,
        *,
        reduction: Reduction = "none",
        include_self: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]: ...
    @overload
    def scatter(
        self,
        data: ArrayT,
        updates: ArrayT | Values,
        *,
        reduction: Reduction = "none",
        include_self: bool | np.bool = True,
        accumulate_dtype: DTypeLike | None = None,
        out: ArrayT | None = None,
    ) -> ArrayT: ...

def prepared_indices(plan: Plan, indices: NDArray[Any]) -> Prepared: ...
def numbers_of(prepared: Prepared) -> NDArray[Any]: ...
def indices_on(prepared: Prepared, backend: Backend, op: Operator, like: Any) -> Any: ...
def orders_on(
    prepared: Prepared, backend: Backend, op: Operator, data: Any, depth: int, *, scatters: bool
) -> kernels.Orders | None: ...
