"""The jobs of jobs.py on arrays of other libraries: PyTorch, JAX, Dask, and ONNX models."""

import gatherscatter as gs
import numpy as np
from jobs_common import OURS, Needs, job, library, numbers, on

# PyTorch


@job("cache-torch", "Key-value cache on PyTorch", "one position of float32 (8, 16, 2048, 64), in place")
def cache_torch(rng, less):
    length = 2048 // less
    kept, new = numbers(rng, (8, 16, length, 64)), numbers(rng, (8, 16, 1, 64))
    at = length // 2
    position = np.array([at])

    def with_slice(torch, cache, new):
        cache[:, :, at : at + 1] = new
        return cache

    def narrowed(torch, cache, new):
        cache.narrow(2, at, 1).copy_(new)
        return cache

    return {
        OURS: on("torch", lambda torch, c, i, n: gs.scatter(c, i, n, axis=2, out=c), kept, position, new),
        "PyTorch, index_copy_": on("torch", lambda torch, c, i, n: c.index_copy_(2, i, n), kept.copy(), position, new),
        "PyTorch, a slice": on("torch", with_slice, kept.copy(), new),
        "PyTorch, narrow": on("torch", narrowed, kept.copy(), new),
    }


# Graph messages: the features of each edge's source, added up at its target. Each of these makes such a function of the
# features from the edges.


def by_ours(torch, source, target, nodes):
    return lambda x: gs.gather_scatter(torch.zeros_like(x), target, x, source, reduction="add")


def by_prepared(torch, source, target, nodes):
    take, put = gs.prepare("gather", (nodes,), source), gs.prepare("scatter", (nodes,), target)
    zeros = torch.zeros((nodes, 32))
    return lambda x: gs.gather_scatter(zeros, put, x, take, reduction="add", include_self=False)


def by_index_add(torch, source, target, nodes):
    return lambda x: torch.zeros_like(x).index_add_(0, target, x.index_select(0, source))


def by_scatter_add(torch, source, target, nodes):
    at = target[:, None].expand(-1, 32)
    return lambda x: torch.zeros_like(x).scatter_add_(0, at, x.index_select(0, source))


def by_matrix(torch, source, target, nodes):
    matrix = torch.sparse_coo_tensor(torch.stack([target, source]), torch.ones(len(source)), (nodes, nodes))
    matrix = matrix.coalesce().to_sparse_csr()
    return lambda x: torch.sparse.mm(matrix, x)


def by_bags(torch, source, target, nodes):
    """The sums of rows in the order of their targets. SciPy sorts by counting, sooner than PyTorch by comparing."""
    one_each = source.numpy(), target.numpy(), np.arange(len(source) + 1)
    matrix = library("scipy.sparse").csc_array(one_each, shape=(nodes, len(source))).tocsr()
    rows, starts = map(torch.from_numpy, (matrix.data, matrix.indptr[:-1].astype(np.int64)))
    return lambda x: torch.nn.functional.embedding_bag(rows, x, starts, mode="sum")


@job(
    "weighted-graph",
    "Weighted messages of a fixed graph",
    "1 M edges, 100 k nodes of 32 float64, prepared",
    tolerance=1e-12,
    moved=75,
)
def weighted_messages(rng, less):
    """The product of a sparse and a dense matrix; the weights change from call to call."""
    nodes = 100_000 // less**2
    source, target = rng.integers(0, nodes, (2, 10 * nodes))
    x, weights = rng.random((nodes, 32)), rng.random(10 * nodes)
    take, put = gs.prepare("gather", (nodes,), source), gs.prepare("scatter", (nodes,), target)
    zeros, options = np.broadcast_to(0.0, (nodes, 32)), {"weights": weights, "reduction": "add"}

    def products(sparse):
        """Of a matrix that has its weights in order already."""
        matrix = sparse.csr_array((weights, (target, source)), shape=(nodes, nodes))
        return lambda: matrix @ x

    def add_at():
        result = np.zeros((nodes, 32))
        np.add.at(result, target, weights[:, None] * x[source])
        return result

    return {
        OURS: lambda: gs.gather_scatter(zeros, put, x, take, **options),
        "SciPy, CSR product": Needs("scipy.sparse", products),
        "NumPy, add.at": add_at,
    }


def both_ways(by):
    """With its own gradient, which is the same on the reversed edges; autograd's would be slower."""

    def make(torch, source, target, nodes):
        there, back = by(torch, source, target, nodes), by(torch, target, source, nodes)

        class Pass(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return there(x)

            @staticmethod
            def backward(context, slope):
                return back(slope)

        return Pass.apply

    return make


def messages(rng, less, fixed, gradient):
    """Where the graph is fixed, its edges are sorted, and what is made of them, beforehand; else in each call."""
    nodes = 100_000 // less**2
    source, target = rng.integers(0, nodes, (2, 10 * nodes))
    if fixed:
        order = np.argsort(target, kind="stable")
        source, target = source[order], target[order]
    x, slope = numbers(rng, (nodes, 32)), numbers(rng, (nodes, 32))

    def timed(by):
        def prepare(torch):
            i, j, leaf, given = map(torch.from_numpy, (source, target, x, slope))
            leaf.requires_grad_(gradient)
            ready = by(torch, i, j, nodes)

            def run():
                result = (ready if fixed else by(torch, i, j, nodes))(leaf)
                return (result, *torch.autograd.grad(result, leaf, given)) if gradient else result

            return run

        return Needs("torch", prepare)

    def segments(jax, source, target, x, slope):
        def pass_on(x):
            return jax.ops.segment_sum(x[source], target, nodes)

        if not gradient:
            return pass_on(x)
        result, back = jax.vjp(pass_on, x)
        return result, *back(slope)

    bags = "PyTorch, embedding_bag" if fixed else "PyTorch, embedding_bag after a sort by SciPy"
    calls = {
        OURS: timed(by_prepared if fixed else by_ours),
        "PyTorch, index_add_": timed(by_index_add),
        "PyTorch, scatter_add_": timed(by_scatter_add),
        bags: timed(both_ways(by_bags) if gradient else by_bags),
        "JAX, segment_sum": on("jax", segments, source, target, x, slope),
    }
    if fixed:  # to make the matrix takes longer than all the others do
        calls["PyTorch, sparse product"] = timed(both_ways(by_matrix) if gradient else by_matrix)
    return calls


GRAPH = "1 M edges, 100 k nodes of 32 float32 on PyTorch"


@job("messages", "Graph messages", f"gather and scatter add, {GRAPH}", moved=42)
def new_graph(rng, less):
    return messages(rng, less, fixed=False, gradient=False)


@job("messages-gradient", "Graph messages with gradient", f"forward and backward, {GRAPH}", moved=83)
def new_graph_with_gradient(rng, less):
    return messages(rng, less, fixed=False, gradient=True)


@job("fixed-graph", "Messages over a fixed graph", f"its edges sorted beforehand, {GRAPH}", moved=42)
def fixed_graph(rng, less):
    return messages(rng, less, fixed=True, gradient=False)


@job("fixed-graph-gradient", "Messages over a fixed graph with gradient", f"forward and backward, {GRAPH}", moved=83)
def fixed_graph_with_gradient(rng, less):
    return messages(rng, less, fixed=True, gradient=True)


@job("small-gradient", "Small gather with gradient", "10 rows of (1000, 16) float32 on PyTorch, forward and backward")
def small_gradient(rng, less):
    data, i, slope = numbers(rng, (1000, 16)), rng.integers(0, 1000, 10), numbers(rng, (10, 16))

    def timed(forward):
        def prepare(torch):
            leaf, at, gradient = map(torch.from_numpy, (data, i, slope))
            leaf.requires_grad_()

            def run():
                result = forward(torch, leaf, at)
                return result, *torch.autograd.grad(result, leaf, gradient)

            return run

        return Needs("torch", prepare)

    return {
        OURS: timed(lambda torch, x, i: gs.gather(x, i)),
        "PyTorch, index_select": timed(lambda torch, x, i: x.index_select(0, i)),
        "PyTorch, [i]": timed(lambda torch, x, i: x[i]),
        "PyTorch, embedding": timed(lambda torch, x, i: torch.nn.functional.embedding(i, x)),
    }


# JAX


@job("jax", "Scatter add on JAX", "eager, 4 M float32 into 16 M", moved=160)
def on_jax(rng, less):
    n = 16_000_000 // less**2
    # int32: JAX's own without jax_enable_x64.
    arrays = numbers(rng, n), rng.integers(0, n, n // 4, np.int32), numbers(rng, n // 4)

    def add(jax, data, i, u):
        return data.at[i].add(u)

    def add_in_bounds(jax, data, i, u):
        return data.at[i].add(u, mode="promise_in_bounds")

    return {
        OURS: on("jax", lambda jax, data, i, u: gs.scatter(data, i, u, reduction="add"), *arrays, jit=False),
        "JAX, .at[].add": on("jax", add, *arrays, jit=False),
        "JAX, .at[].add, compiled": on("jax", add, *arrays),
        "JAX, .at[].add, compiled, in bounds": on("jax", add_in_bounds, *arrays),
    }


# Dask


@job("dask", "Look-up in a Dask array", "200 k rows of (20 M, 8) float32 in 20 chunks", moved=21)
def on_dask(rng, less):
    n = 20_000_000 // less**2
    table, i = rng.random((n, 8), np.float32), rng.integers(0, n, n // 100)

    def chunked(look_up):
        def prepare(da):
            x = da.from_array(table, chunks=(n // 20, 8), name=False)  # a name would take a hash of it all
            return lambda: look_up(x)

        return Needs("dask.array", prepare)

    def sorted_first(x):
        order = np.argsort(i)
        result = np.empty((len(i), 8), np.float32)
        result[order] = x[i[order]].compute()
        return result

    return {
        OURS: chunked(lambda x: gs.gather(x, i).compute()),
        "Dask, x[i]": chunked(lambda x: x[i].compute()),
        "Dask, x[sorted i]": chunked(sorted_first),
        "Dask, vindex": chunked(lambda x: x.vindex[i].compute()),
    }


# ONNX


def session(onnxruntime, model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = gs.get_num_threads()
    # Its threads would go on spinning while the others take their turns.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def model_of(nodes, arrays, outputs):
    """A model of nodes, as (operator, inputs, output, attributes), whose inputs have the shapes of the arrays."""
    from onnx import helper

    nodes = [helper.make_node(name, given, [result], **options) for name, given, result, options in nodes]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in arrays.items()
    ]
    results = [helper.make_tensor_value_info(name, given[0].type.tensor_type.elem_type, None) for name in outputs]
    graph = helper.make_graph(nodes, "job", given, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@job("onnx-model", "ONNX model in onnx's evaluator", "GatherND of 20 k rows, ScatterND add of 20 k into (256, 256)")
def onnx_model(rng, less):
    anchors, top, side = 20_000 // less**2, 5000 // less**2, 256
    arrays = {
        "features": numbers(rng, (4, anchors, 16)),
        "anchors": rng.integers(0, anchors, (4, top, 1)),
        "empty": np.zeros((side, side), np.float32),
        "pixels": rng.integers(0, side, (4, top, 2)),
        "scores": numbers(rng, (4, top)),
    }
    nodes = [
        ("GatherND", ["features", "anchors"], "top", {"batch_dims": 1}),
        ("ScatterND", ["empty", "pixels", "scores"], "heat", {"reduction": "add"}),
    ]

    def evaluator(onnx, **options):
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(model_of(nodes, arrays, ["top", "heat"]), **options)
        return lambda: evaluator.run(None, arrays)

    def compiled(onnxruntime):
        run = session(onnxruntime, model_of(nodes, arrays, ["top", "heat"])).run
        return lambda: run(None, arrays)

    return {
        OURS: Needs("onnx", lambda onnx: evaluator(onnx, new_ops=gs.onnx.reference_ops())),
        "onnx, its own operators": Needs("onnx", evaluator),
        "onnxruntime": Needs("onnxruntime", compiled),
    }


@job("onnx", "ONNX's GatherND", "64 × 512 rows of float32 (64, 4096, 128), batch_dims=1", moved=34)
def onnx_gather_nd(rng, less):
    rows = 4096 // less**2
    arrays = {"data": numbers(rng, (64, rows, 128)), "indices": rng.integers(0, rows, (64, rows // 8, 1))}
    nodes = [("GatherND", ["data", "indices"], "result", {"batch_dims": 1})]

    def compiled(onnxruntime):
        run = session(onnxruntime, model_of(nodes, arrays, ["result"])).run
        return lambda: run(None, arrays)[0]

    return {
        OURS: lambda: gs.onnx.gather_nd(*arrays.values(), batch_dims=1),
        "onnxruntime": Needs("onnxruntime", compiled),
    }
