"""Count the operators of calls on PyTorch's primitives, as on a GPU, and the bytes that they move. No GPU is needed.

    python benchmarks/gpu_operators.py

prints a Markdown table: for each call the number of aten operators, and the megabytes that they read and write, of
PyTorch's nearest function, of ours with mode="promise_in_bounds", and of ours with indices that are checked. Views are
counted, and move nothing. On a GPU most operators are a kernel, which takes a few microseconds to start.
"""

from unittest import mock

import gatherscatter as gs
import torch
from gatherscatter.backends.torch import BACKEND, memory
from torch.utils._python_dispatch import TorchDispatchMode

GATHERS = ("index_select", "gather", "index", "take")
SCATTERS = ("index_add", "index_copy", "index_fill", "scatter", "scatter_add", "scatter_reduce")


class Counter(TorchDispatchMode):
    """Counts the operators that run while it is entered, those inside of gatherscatter's own included."""

    def __init__(self):
        super().__init__()
        self.names, self.bytes = [], 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if operator.namespace == "gatherscatter":
            with self:
                return operator._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, *args, **(kwargs or {}))
        result = operator(*args, **(kwargs or {}))
        self.names.append(operator._schema.name.removeprefix("aten::"))
        self.bytes += moved(self.names[-1], list(tensors(args)), list(tensors([result])))
        return result


def tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors(value)


def moved(name, given, results):
    """The bytes that an operator reads and writes: none for a view."""
    storages = [one.untyped_storage().data_ptr() for one in given]
    if not results or (not name.endswith("_") and results[0].untyped_storage().data_ptr() in storages):
        return 0
    if name in GATHERS:
        return 2 * size(results[0]) + sum(map(size, given[1:]))
    if name.removesuffix("_") in SCATTERS:
        index, *updates = given[1:]
        n = size(updates[0]) if updates else index.numel() * given[0].element_size()
        return 3 * n + size(index) + (0 if name.endswith("_") else 2 * size(given[0]))
    return sum(map(size, given + results))


def size(tensor):
    """The bytes of the elements, without those that a stride of 0 repeats."""
    n = 1
    for length, stride in zip(tensor.shape, tensor.stride(), strict=True):
        n *= length if stride else 1
    return n * tensor.element_size()


def by_primitives(call, **options):
    """The counter of a call on PyTorch's primitives."""
    with (
        mock.patch.object(memory, "as_numpy", return_value=None),
        mock.patch.object(type(BACKEND), "try_gather", return_value=None),
        mock.patch.object(type(BACKEND), "try_scatter", return_value=None),
        Counter() as counter,
    ):
        call(**options)
    return counter


def workloads():
    """(name, PyTorch's nearest function, ours) for each: those of gpu.py on smaller arrays."""
    torch.manual_seed(0)
    a, flat, rows = torch.rand(512, 512), torch.rand(160_000), torch.rand(10_000, 64)
    pairs, columns = torch.randint(0, 512, (40_000, 2)), torch.randint(0, 512, (512, 512))
    places, values = torch.randint(0, 160_000, (40_000,)), torch.rand(40_000)
    which, updates = torch.randint(0, 10_000, (5000,)), torch.rand(5000, 64)
    many, targets = torch.rand(10_000, 64), torch.randint(0, 2000, (10_000,))
    table, spread = torch.rand(2000, 64), targets[:, None].expand(-1, 64)

    def reduced(name, include_self=True):
        return lambda: table.scatter_reduce(0, spread, many, name, include_self=include_self)

    def ours(reduction, **options):
        return lambda **more: gs.scatter(table, targets, many, reduction=reduction, **options, **more)

    def of_groups(reduction):
        return lambda **more: gs.segment_reduce(many, targets, 2000, reduction=reduction, fill_value=0, **more)

    return [
        ("gather_nd of elements", lambda: a[pairs[:, 0], pairs[:, 1]], lambda **m: gs.gather_nd(a, pairs, **m)),
        ("gather of rows", lambda: rows.index_select(0, which), lambda **m: gs.gather(rows, which, **m)),
        ("gather_elements", lambda: a.gather(0, columns), lambda **m: gs.gather_elements(a, columns, **m)),
        ("set of elements", lambda: flat.index_copy(0, places, values),
         lambda **m: gs.scatter(flat, places, values, **m)),
        ("set of rows", lambda: rows.index_copy(0, which, updates), lambda **m: gs.scatter(rows, which, updates, **m)),
        ("add of elements", lambda: flat.index_add(0, places, values),
         lambda **m: gs.scatter(flat, places, values, reduction="add", **m)),
        ("add of rows", lambda: rows.index_add(0, which, updates),
         lambda **m: gs.scatter(rows, which, updates, reduction="add", **m)),
        ("max of rows", reduced("amax"), ours("max")),
        ("mean of rows", reduced("mean"), ours("mean")),
        ("mean of rows, include_self=False", reduced("mean", False), ours("mean", include_self=False)),
        *((f"segment_reduce, {name}", None, of_groups(name))
          for name in ("add", "max", "mean", "var", "std", "logsumexp", "first", "argmax")),
        ("segment_softmax", None, lambda **m: gs.segment_softmax(many, targets, 2000, **m)),
    ]  # fmt: skip


def main():
    print("| call | PyTorch | unchecked | checked |\n|---|--:|--:|--:|")
    for name, theirs, call in workloads():
        counters = [by_primitives(call, mode="promise_in_bounds"), by_primitives(call)]
        if theirs is not None:
            counters.insert(0, by_primitives(theirs))
        cells = [f"{len(one.names)} / {one.bytes / 1e6:.1f}" for one in counters]
        print(f"| {name} | {' | '.join(['–'] * (3 - len(cells)) + cells)} |")


if __name__ == "__main__":
    main()
