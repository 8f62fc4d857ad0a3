"""One call of each function on PyTorch, for gradient checks by finite differences."""

import gatherscatter as gs
import numpy as np
import pytest
import torch
from libraries import on_devices

each_device = pytest.mark.parametrize("device", on_devices("torch"))

# One geometry for each function: shape of data, indices (duplicates, negatives, one far outside), options.
OUTSIDE = 9
GEOMETRIES = {
    "gather": ((2, 4, 3), [[1, -1, 1], [0, 0, 2]], {"axis": 1, "batch_dims": 1}),
    "gather_nd": ((4, 3, 2), [[0, 1], [-1, 2], [0, 1], [3, 0]], {}),
    "gather_elements": ((4, 3), [[1, -1, 1], [1, 0, 2], [0, 0, 1]], {"axis": 0}),
}


def geometry(function, mode="raise", device="cpu"):
    shape, places, options = GEOMETRIES[function.replace("scatter", "gather")]
    indices = torch.tensor(places)
    if mode not in ("raise", "promise_in_bounds"):
        indices.view(-1)[-1] = OUTSIDE
    return shape, indices.to(device), dict(options)


def distinct(*shape, seed=0, device="cpu", dtype=torch.float64):
    """Numbers far enough apart for a finite difference, none near zero."""
    n = int(np.prod(shape))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return ((order.to(torch.float64) - n / 2 + 0.3) / n + 0.01 * seed).reshape(shape).to(dtype).to(device)


def updates_for(function, data, indices, options, mode):
    like = getattr(gs, function.replace("scatter", "gather"))
    shape = like(data, indices, mode="clip" if mode == "drop" else mode, **options).shape
    return distinct(*shape, seed=7, device=data.device, dtype=data.dtype)
