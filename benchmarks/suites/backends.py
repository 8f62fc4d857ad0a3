"""Small calls on the arrays of each library, and the library's own call: the difference is our overhead."""

import gatherscatter as gs

from .common import numbers, places, timed


def numpys(square, rows, columns, ten_rows):
    import numpy as np

    def add():
        result = square.copy()
        np.add.at(result, rows, ten_rows)
        return result

    return {
        "gather": lambda: np.take(square, rows, axis=0),
        "gather_elements": lambda: np.take_along_axis(square, columns, axis=1),
        "scatter add": add,
    }


def torches(square, rows, columns, ten_rows):
    return {
        "gather": lambda: square.index_select(0, rows),
        "gather_elements": lambda: square.gather(1, columns),
        "scatter add": lambda: square.index_add(0, rows, ten_rows),
    }


def jaxes(square, rows, columns, ten_rows):
    import jax.numpy as jnp

    return {
        "gather": lambda: jnp.take(square, rows, axis=0).block_until_ready(),
        "gather_elements": lambda: jnp.take_along_axis(square, columns, axis=1).block_until_ready(),
        "scatter add": lambda: square.at[rows].add(ten_rows).block_until_ready(),
    }


@timed
class SmallCall:
    params = (["NumPy", "PyTorch", "JAX"], ["gather", "gather_elements", "scatter add"], ["ours", "theirs"])
    param_names = ("library", "operator", "call")

    def setup(self, library, operator, call):
        gs.set_num_threads(1)
        arrays = numbers((8, 8), "float32"), places(8, (10,)), places(8, (8, 8)), numbers((10, 8), "float32")
        finish, theirs = (lambda result: result), numpys
        try:
            if library == "PyTorch":
                import torch

                torch.set_num_threads(1)
                arrays, theirs = [torch.from_numpy(array) for array in arrays], torches
            elif library == "JAX":
                import jax.numpy as jnp

                arrays, theirs = [jnp.asarray(array) for array in arrays], jaxes
                finish = lambda result: result.block_until_ready()  # noqa: E731
        except ImportError as error:
            raise NotImplementedError(f"{library} is not installed") from error
        square, rows, columns, ten_rows = arrays
        ours = {
            "gather": lambda: finish(gs.gather(square, rows)),
            "gather_elements": lambda: finish(gs.gather_elements(square, columns, axis=1)),
            "scatter add": lambda: finish(gs.scatter(square, rows, ten_rows, reduction="add")),
        }
        self.call = (ours if call == "ours" else theirs(*arrays))[operator]
        for _ in range(100):
            self.call()  # libraries compile at the first, and their first ones are slow

    def time_call(self, *_):
        self.call()
