"""JAX arrays: the kernels on the CPU, XLA elsewhere and in compiled programs, and JAX's transformations.

Arrays of one CPU device go to the compiled kernels, as NumPy arrays that share their memory (``eager.py``). Other
arrays use ``.at[]`` of `jax.numpy` (``programs.py``). Traced arrays go through primitives (``primitives.py``), to which
JAX's transformations apply; a gradient outside of a compiled program reaches the kernels too.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gatherscatter import errors, threads, values
from gatherscatter._kernels.gather import try_gather
from gatherscatter._kernels.scatter import try_scatter
from gatherscatter.backends.base import GatherOptions, ScatterOptions
from gatherscatter.backends.jax import calls, eager, primitives, programs
from gatherscatter.backends.jax.programs import JAXTable
from gatherscatter.backends.library import each
from gatherscatter.backends.numpy import BACKEND as NUMPY
from gatherscatter.operators import ARRAYS, Operator
from gatherscatter.plan import Plan

# Larger arrays may have large results, which `eager.gather` shares with JAX instead of copying them.
_SMALL = 4096


class JAXBackend(JAXTable):
    """Arrays of JAX, traced ones included."""

    where_name = "jax.numpy.where"

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

    def readable(self, op: Operator, **arguments: Any) -> list[values.Array] | None:
        shared = eager.share(*(one for _, one in each(arguments) if isinstance(one, (Array, np.ndarray))))
        return None if shared is None else shared.arrays

    def returned(self, result: values.Array, data: Any, dtype: str) -> Array:
        shared: Any = eager.share(data)
        return shared.result(result)

    # Small calls

    def try_gather(self, op: Operator, data: Any, indices: Any, options: GatherOptions, out: Any) -> Array | None:
        shared = None if out is not None or op.kind == ARRAYS else eager.share(data, indices)
        if shared is None or data.size > _SMALL or indices.size > _SMALL:
            return None
        source, index = shared.arrays
        result = try_gather(op.kind, op.wrap_negative_indices, source, index, *options, None, threads.limit, op)
        return None if result is None else shared.result(result)

    def try_scatter(
        self, op: Operator, data: Any, indices: Any, updates: Any, options: ScatterOptions, out: Any
    ) -> Array | None:
        is_array = isinstance(updates, Array)
        shared = None
        if out is None and op.kind != ARRAYS:
            shared = eager.share(data, indices, *((updates,) if is_array else ()))
        if shared is None or data.size > _SMALL:
            return None
        source, index, update = shared.arrays if is_array else (*shared.arrays, updates)
        result = try_scatter(
            op.kind, op.wrap_negative_indices, source, index, update, *options, None, threads.limit, op
        )
        return None if result is None else shared.result(result)

    # The operators

    def gather(self, data: Any, indices: Any, plan: Plan, fill_value: Any, out: Any) -> Any:
        if out is not None:
            self.check_out(plan, out, data, plan.shape)
        if plan.kind != ARRAYS:
            self._check_index_dtype(plan, data, indices)
        fill = None
        if plan.mode == "fill":
            fill = values.element(plan.operator, "fill_value", fill_value, self.numpy_dtype(data))
        result = eager.gather(data, indices, plan, fill)
        if result is not None:
            return result
        calls.check_size(plan)
        if not _is_traced(data, indices):
            return programs.checked_gather(data, indices, fill, plan)
        self._check_bounds(data, indices, plan)
        return primitives.gather(data, indices, plan, fill)

    def scatter(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        if out is not None:
            self.check_out(plan, out, data, plan.data)
        self.check_reduction(plan, data)
        if plan.kind != ARRAYS:
            self._check_index_dtype(plan, data, indices)
        if self.owns(updates):
            given = self.fit_updates(plan, updates, data)
        else:
            given = values.updates(plan.operator, updates, plan.shape, self.numpy_dtype(data))
        result = eager.scatter(data, indices, given, plan)
        if result is not None:
            return result
        if plan.accumulate_dtype:
            return super().scatter_wide(data, indices, updates, plan, None)
        given = jnp.broadcast_to(jnp.asarray(given), plan.shape)
        calls.check_size(plan)
        if not _is_traced(data, indices, updates):
            return programs.checked_scatter(data, indices, given, plan)
        self._check_bounds(data, indices, plan)
        return primitives.scatter(data, indices, given, plan)

    def scatter_wide(self, data: Any, indices: Any, updates: Any, plan: Plan, out: Any) -> Any:
        """By the kernels where they can, which need no wide copy: see `scatter`."""
        return self.scatter(data, indices, updates, plan, out)

    def broadcast(self, array: Any, shape: tuple[int, ...]) -> Any:
        """Later: the kernels' NumPy array needs no copy, as JAX's would."""
        return array

    def check_out(self, plan: Plan, out: Any, data: Any, shape: tuple[int, ...]) -> None:
        raise errors.cannot(self.name, plan.operator, "out=", "a jax.Array is immutable; use the returned array")

    def _check_index_dtype(self, plan: Plan, data: Any, indices: Any) -> None:
        if not jnp.issubdtype(indices.dtype, jnp.integer) or jnp.iinfo(indices.dtype).bits < 8:
            raise errors.index_dtype(plan.operator, indices.dtype, data.dtype)

    def _check_bounds(self, data: Any, indices: Any, plan: Plan) -> None:
        """Raise an IndexError as far as that is possible in a trace."""
        if not _is_traced(indices):
            may_raise = plan.mode == "raise" or 0 in plan.sizes
            if may_raise and not eager.check_indices(indices, plan):
                self.settled(indices, plan)
        elif plan.mode in ("clip", "wrap") and indices.size and 0 in plan.sizes:
            raise errors.empty_axis(plan.operator, plan.data, plan.axis + plan.sizes.index(0))
        elif plan.mode == "raise" and indices.size:
            traceable = [mode for mode in plan.operator.accepted("mode") if mode != "raise"]
            raise errors.untraceable_mode(self.name, plan.operator, plan.mode, traceable)

    def check_devices(self, plan: Plan, data: Any, **others: Any) -> None:
        """Not checked: JAX raises an error if devices differ, and traced arrays have none."""

    # For `at`

    def without_gradient(self, array: Any) -> Any:
        return jax.lax.stop_gradient(array)

    def without_derivative(self, array: Any, error: Exception) -> Any:
        """By a function whose derivative is the error: traces do not tell what they are for."""
        same = jax.custom_jvp(lambda x: x)

        @same.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            raise error

        return same(array) if _is_traced(array) else array

    def is_writable(self, array: Any) -> bool:
        return False

    def is_unknown(self, array: Any) -> bool:
        return _is_traced(array)

    def constants(self) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = jax.ensure_compile_time_eval()
        return context

    def nonzero(self, mask: Any, flat: bool) -> tuple[Any, ...]:
        return NUMPY.nonzero(np.asarray(mask), flat)

    def replaced(self, plan: Plan, array: Any, key: tuple[Any, ...], part: Any) -> Array:
        result: Array = array.at[key].set(part)
        return result


def _is_traced(*arrays: Any) -> bool:
    return any(isinstance(array, jax.core.Tracer) for array in arrays)  # pyright: ignore[reportAttributeAccessIssue]


BACKEND = JAXBackend()
