"""PyTorch Geometric on gatherscatter: `enable` replaces its segment operations on the CPU, `disable` restores them.

Replaced are ``torch_geometric.utils.scatter``, ``segment`` and ``softmax``, in all modules of PyTorch Geometric that
hold them, and the selection of each edge's features in ``MessagePassing``. Results, gradients and errors are those of
PyTorch Geometric, up to rounding. It computes itself what gatherscatter would not do faster or not do at all: small
tensors with a gradient, other devices, ``torch.compile``, ``torch.jit``, transforms of ``torch.func``, dtypes other
than those below, and indices out of bounds, for which its own error is raised.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Optional

import torch
from torch import Tensor

from gatherscatter import core
from gatherscatter.backends.torch import memory
from gatherscatter.segments import segment_softmax
from gatherscatter.torch_scatter.groups import SIXTEEN_BITS, gathers, scatters

try:
    from torch_geometric import EdgeIndex, Index
    from torch_geometric.nn import MessagePassing
    from torch_geometric.utils import scatter as pyg_scatter
    from torch_geometric.utils import segment as pyg_segment
    from torch_geometric.utils import softmax as pyg_softmax
except ImportError as reason:
    raise ImportError(f"{__name__}: it needs torch_geometric; pip install torch_geometric") from reason

__all__ = ["disable", "enable", "enabled"]

_FLOATS = (torch.float32, torch.float64, *SIXTEEN_BITS)
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
_REDUCTIONS = {
    **{"sum": "add", "add": "add", "mean": "mean", "mul": "mul"},
    **{"min": "min", "amin": "min", "max": "max", "amax": "max"},
}
# Elements of all edges: with fewer, forward and backward together take less time in PyTorch Geometric. Not for maxima
# and softmaxes, whose gradients and masks have other rules here (docs/pytorch-geometric.md): sizes do not change rules.
_FEWEST = {"add": 1 << 18, "mean": 1 << 19, "select": 1 << 17}
_SCATTER = scatters("scatter").rows
_SELECT = gathers("index_select", "index")
_pyg_index_select = MessagePassing._index_select


# What takes the place of PyTorch Geometric's functions. torch.jit.script compiles the branch for it alone, from the
# signatures, which it reads with the names of typing.


def scatter(
    src: Tensor,
    index: Tensor,
    dim: int = 0,
    dim_size: Optional[int] = None,  # noqa: UP045
    reduce: str = "sum",
) -> Tensor:
    """``torch_geometric.utils.scatter``: the reduction of the elements of each group."""
    if torch.jit.is_scripting():  # type: ignore[attr-defined]
        return pyg_scatter(src, index, dim, dim_size, reduce)
    else:
        return _scatter(src, index, dim, dim_size, reduce)


def segment(src: Tensor, ptr: Tensor, reduce: str = "sum") -> Tensor:
    """``torch_geometric.utils.segment``: the reduction of ranges of elements."""
    if torch.jit.is_scripting():  # type: ignore[attr-defined]
        return pyg_segment(src, ptr, reduce)
    else:
        return _segment(src, ptr, reduce)


def softmax(
    src: Tensor,
    index: Optional[Tensor] = None,  # noqa: UP045
    ptr: Optional[Tensor] = None,  # noqa: UP045
    num_nodes: Optional[int] = None,  # noqa: UP045
    dim: int = 0,
) -> Tensor:
    """``torch_geometric.utils.softmax``: over the elements of each group."""
    if torch.jit.is_scripting():  # type: ignore[attr-defined]
        return pyg_softmax(src, index, ptr, num_nodes, dim)
    else:
        return _softmax(src, index, ptr, num_nodes, dim)


def _index_select(self, src: Tensor, index) -> Tensor:  # type: ignore[no-untyped-def]
    """``MessagePassing._index_select``: the features of the node at one end of each edge."""
    if torch.jit.is_scripting():  # type: ignore[attr-defined]
        return src.index_select(self.node_dim, index)
    else:
        return _select(self, src, index)


def _scatter(src: Any, index: Any, dim: int, dim_size: int | None, reduce: str) -> Tensor:
    reduction, ids = _REDUCTIONS.get(reduce), _plain(index)
    takes = reduction is not None and _takes(src, ids, dim) and ids.dim() == 1 and ids.shape[0] == src.shape[dim]
    if takes:
        # The mean of integers has another dtype. The gradient of a product takes longer here.
        takes = src.dtype in _FLOATS or (src.dtype in _INTEGERS and reduction != "mean")
        takes = takes and not (
            memory.needs_gradient(src) and (reduction == "mul" or src.numel() < _FEWEST.get(reduction, 0))
        )
    if takes:
        sizes = list(src.shape)
        sizes[dim] = int(ids.max()) + 1 if dim_size is None else dim_size
        start = src.new_ones(sizes) if reduction == "mul" else src.new_zeros(sizes)
        wide = "float32" if src.dtype in SIXTEEN_BITS and reduction in ("add", "mul", "mean") else None
        # The zeros of an empty group are no candidates of a maximum, and do not count in a mean.
        include_self = reduction in ("add", "mul")
        try:
            result: Tensor = core.scatter(
                _SCATTER, start, ids, src, dim, 0, reduction, include_self, accumulate_dtype=wide
            )
        except IndexError:
            pass  # the error is PyTorch Geometric's
        else:
            return result
    return pyg_scatter(src, index, dim, dim_size, reduce)


def _segment(src: Any, ptr: Any, reduce: str) -> Tensor:
    """`segment`. A pointer of shape (1, …, 1, n + 1) is for a later axis."""
    pointers = _plain(ptr)
    if type(pointers) is Tensor and pointers.dim() > 0 and pointers.numel() == pointers.shape[-1]:
        dim, pointers = pointers.dim() - 1, pointers.reshape(-1)
        if reduce != "mul" and _takes(src, pointers, dim) and src.dtype in _FLOATS and _covers(pointers, src, dim):
            index = torch.repeat_interleave(pointers.diff(), output_size=src.shape[dim])
            return _scatter(src, index, dim, pointers.shape[0] - 1, reduce)
    return pyg_segment(src, ptr, reduce)


def _softmax(src: Any, index: Any, ptr: Any, num_nodes: int | None, dim: int) -> Tensor:
    if ptr is not None and ptr.dim() == 1:
        pointers = _plain(ptr)
        if _takes(src, pointers, dim) and src.dtype in _FLOATS and _covers(pointers, src, dim):
            return segment_softmax(src, indptr=pointers, axis=dim)
    elif index is not None:
        ids = _plain(index)
        if _takes(src, ids, dim) and src.dtype in _FLOATS and ids.dim() == 1 and ids.shape[0] == src.shape[dim]:
            least, greatest = (int(end) for end in ids.aminmax())
            n = greatest + 1 if num_nodes is None else num_nodes
            if 0 <= least <= greatest < n:
                return segment_softmax(src, ids, n, axis=dim, mode="promise_in_bounds")
    return pyg_softmax(src, index, ptr, num_nodes, dim)


def _select(layer: Any, src: Any, index: Any) -> Tensor:
    ids = _plain(index)
    # Without a gradient, PyTorch's index_select is as fast.
    if _takes(src, ids, layer.node_dim) and ids.dim() == 1 and memory.needs_gradient(src):
        try:
            if ids.numel() * (src.numel() // src.shape[layer.node_dim]) >= _FEWEST["select"]:
                return core.gather(_SELECT, src, ids, layer.node_dim)
        except IndexError:
            pass
    return _pyg_index_select(layer, src, index)


def _takes(src: Any, index: Any, dim: int) -> bool:
    """Whether both are tensors that the kernels read, an index of integers for an axis that src has, and elements."""
    return (
        not memory.is_watched()
        and type(src) in memory.PLAIN
        and type(index) in memory.PLAIN
        and memory.is_plain(src, index)
        and src.is_cpu
        and index.is_cpu
        and src.layout == index.layout == torch.strided
        and index.dtype == torch.int64
        and -src.dim() <= dim < src.dim()
        and 0 not in (src.numel(), index.numel())
    )


def _plain(index: Any) -> Any:
    """The index itself, of PyTorch Geometric's classes of them the tensor within."""
    return index.as_tensor() if isinstance(index, (Index, EdgeIndex)) else index


def _covers(ptr: Tensor, src: Tensor, dim: int) -> bool:
    """Whether pointers increase from 0 to the size of the axis."""
    return int(ptr[0]) == 0 and int(ptr[-1]) == src.shape[dim] and bool((ptr.diff() >= 0).all())


# Turning it on and off

_FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "torch_geometric.utils.scatter": (pyg_scatter, scatter),
    "torch_geometric.utils.segment": (pyg_segment, segment),
    "torch_geometric.utils.softmax": (pyg_softmax, softmax),
    "torch_geometric.nn.MessagePassing._index_select": (_pyg_index_select, _index_select),
}
_enabled: list[tuple[Any, Any]] = []  # what is replaced: PyTorch Geometric's function, and ours


def enable() -> None:
    """Let PyTorch Geometric compute with gatherscatter, in the whole process.

    The names ``scatter``, ``segment`` and ``softmax`` are replaced in all modules of PyTorch Geometric, and in its
    modules that are imported later. A module of your own that has imported one of them keeps the one it has, so call
    this first. While another thread runs a model, do not call this function.

    Warns
    -----
    UserWarning
        If a function has other parameters than those of PyTorch Geometric 2.8. That function is left as it was.

    See Also
    --------
    disable : The opposite.
    enabled : The same within a ``with`` block.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter.integrations.torch_geometric import disable, enable
    >>> from torch_geometric.nn import SAGEConv
    >>> enable()
    >>> SAGEConv(4, 8, aggr="max")(torch.randn(3, 4), torch.tensor([[0, 1], [2, 2]])).shape
    torch.Size([3, 8])
    >>> disable()
    """
    if _enabled:
        return
    for name, (theirs, ours) in _FUNCTIONS.items():
        if _parameters(theirs) == _parameters(ours):
            _enabled.append((theirs, ours))
        else:
            warnings.warn(
                f"enable: {name} has the parameters {inspect.signature(theirs)}, which gatherscatter does not know, so "
                "it is left as it was; the others are replaced",
                stacklevel=2,
            )
    _replace(_enabled)


def disable() -> None:
    """Let PyTorch Geometric compute with its own functions again.

    A module of your own that has imported a function since `enable` keeps the one it has.

    See Also
    --------
    enable : The opposite.

    Examples
    --------
    >>> from gatherscatter.integrations.torch_geometric import disable
    >>> disable()
    """
    _replace([(ours, theirs) for theirs, ours in _enabled])
    _enabled.clear()


@contextmanager
def enabled() -> Iterator[None]:
    """Let PyTorch Geometric compute with gatherscatter within a ``with`` block.

    Afterwards it is as before: if `enable` was called, it stays enabled.

    Yields
    ------
    None

    See Also
    --------
    enable : What is replaced.

    Examples
    --------
    >>> import torch
    >>> from gatherscatter.integrations.torch_geometric import enabled
    >>> from torch_geometric import utils
    >>> with enabled():
    ...     utils.scatter(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 2, 0]))
    tensor([5., 0., 2.])
    """
    was_enabled = bool(_enabled)
    enable()
    try:
        yield
    finally:
        if not was_enabled:
            disable()


def _parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """The names, kinds and defaults of a function's parameters."""
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


def _replace(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Put the second of each pair wherever a module of PyTorch Geometric, or its class of layers, holds the first."""
    new = {id(old): function for old, function in pairs}
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "torch_geometric" and isinstance(module, ModuleType)
    ]
    for holder in (*modules, MessagePassing):
        for name, value in list(vars(holder).items()):
            if id(value) in new:
                setattr(holder, name, new[id(value)])
