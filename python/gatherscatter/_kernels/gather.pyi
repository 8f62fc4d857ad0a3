import numpy as np

def gather_nd(
    data: np.ndarray,
    indices: np.ndarray,
    out: np.ndarray | None,
    batch_dims: int,
    mode: int,
    fill: np.ndarray | None,
    n_threads: int,
) -> int: ...
def resolve_nd(
    data_shape: tuple[int, ...],
    indices: np.ndarray,
    batch_dims: int,
    mode: int,
    start: int,
    rows: np.ndarray,
) -> int: ...
