"""How each library runs a call of workloads.py: `prepare` converts the arrays and returns a function of no arguments.

It returns None where the library lacks the operator or the dtype. The timed function runs the operator and returns a
result in the library's own arrays; conversions are not timed.
"""

import contextlib
import ctypes
import functools
import importlib
import importlib.metadata
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import gatherscatter as gs
import numpy as np
from measure import seconds

ONNX_NAMES = {
    "gather": "Gather",
    "gather_nd": "GatherND",
    "gather_elements": "GatherElements",
    "scatter_nd": "ScatterND",
    "scatter_elements": "ScatterElements",
}
LIMIT = Path(__file__).with_name("limit.c")


def inputs(call):
    return [call.data, call.indices] if call.updates is None else [call.data, call.indices, call.updates]


class GatherScatter:
    name, package = "gatherscatter", "gatherscatter"

    def __init__(self, threads):
        gs.set_num_threads(threads)

    def prepare(self, call):
        return functools.partial(getattr(gs, call.operator), *inputs(call), **call.options)

    def prepare_out(self, call):
        """Into memory that is there."""
        run = self.prepare(call)
        return functools.partial(run, out=run())


class NumPy:
    name, package = "NumPy", "numpy"

    def __init__(self, threads):
        """It has one."""

    def prepare(self, call):
        data, indices, updates, options = call.data, call.indices, call.updates, call.options
        if call.operator == "gather":
            return lambda: np.take(data, indices, axis=options["axis"])
        if call.operator == "gather_elements":
            return lambda: np.take_along_axis(data, indices, axis=options["axis"])
        if call.operator == "gather_nd" and not options.get("batch_dims") and indices.shape[-1] == 1 and data.ndim > 1:
            return lambda: data.take(indices[:, 0], axis=0)
        if call.operator.endswith("_nd"):
            where = tuple(np.moveaxis(indices, -1, 0))
            if options.get("batch_dims"):
                where = (np.arange(len(data))[:, None], *where)
        else:
            axis = options["axis"]
            where = [np.arange(n).reshape(-1, *(1,) * (data.ndim - d - 1)) for d, n in enumerate(indices.shape)]
            where[axis] = indices
            where = tuple(where)
        if updates is None:
            return lambda: data[where]
        at = {"add": np.add.at, "max": np.maximum.at, "none": None}[options["reduction"]]

        def scatter():
            result = data.copy()
            if at is None:
                result[where] = updates
            else:
                at(result, where, updates)
            return result

        return scatter


class PyTorch:
    name, package = "PyTorch", "torch"

    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        self.torch = torch

    def tensor(self, array):
        if array.dtype.name == "bfloat16":
            return self.torch.from_numpy(array.view(np.int16)).view(self.torch.bfloat16)
        return self.torch.from_numpy(array)

    def prepare(self, call):
        torch, options = self.torch, call.options
        data, indices, *rest = map(self.tensor, inputs(call))
        if call.operator == "gather":
            return lambda: data.index_select(options["axis"], indices)
        if call.operator == "gather_elements":
            indices = indices.long()
            return lambda: torch.gather(data, options["axis"], indices)
        if call.operator == "gather_nd":
            if options.get("batch_dims"):
                batch, places = torch.arange(len(data))[:, None], indices[..., 0]
                return lambda: data[batch, places]
            if indices.shape[-1] == 1:
                return lambda: data.index_select(0, indices[:, 0])
            return lambda: data[tuple(indices.movedim(-1, 0))]
        (updates,), reduction = rest, options["reduction"]
        if call.operator == "scatter_elements":
            if reduction == "none":
                return lambda: data.scatter(options["axis"], indices, updates)
            return lambda: data.scatter_add(options["axis"], indices, updates)
        places = indices[:, 0]
        if reduction == "none":
            return lambda: data.index_copy(0, places, updates)
        if reduction == "add":
            return lambda: data.index_add(0, places, updates)
        return lambda: data.scatter_reduce(0, places, updates, reduce="amax")


class TensorFlow:
    name, package = "TensorFlow", "tensorflow"

    def __init__(self, threads):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.tf = tf

    def prepare(self, call):
        tf, options = self.tf, call.options
        if call.operator == "scatter_elements" or (call.operator == "gather_elements" and options["axis"] != 1):
            return None  # it has none
        data, indices, *rest = map(tf.constant, inputs(call))
        if call.operator == "gather":
            return lambda: tf.gather(data, indices, axis=options["axis"])
        if call.operator == "gather_elements":
            return lambda: tf.gather(data, indices, axis=1, batch_dims=1)
        if call.operator == "gather_nd":
            return lambda: tf.gather_nd(data, indices, batch_dims=options.get("batch_dims", 0))
        names = {"none": "update", "add": "add", "max": "max"}
        function = getattr(tf, f"tensor_scatter_nd_{names[options['reduction']]}")
        return lambda: function(data, indices, rest[0])


class JAX:
    name, package = "JAX", "jax"

    def __init__(self, threads):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        self.jax = jax

    def prepare(self, call):
        jax, options = self.jax, call.options
        jnp = jax.numpy
        operator, axis, reduction = call.operator, options.get("axis"), options.get("reduction")
        safe = {"mode": "promise_in_bounds"}

        def function(data, indices, updates=None):
            if operator == "gather":
                return jnp.take(data, indices, axis=axis, mode="clip")
            if operator == "gather_elements":
                return jnp.take_along_axis(data, indices, axis, mode="promise_in_bounds")
            if operator == "scatter_elements":
                grid = list(jnp.ogrid[tuple(slice(n) for n in indices.shape)])
                grid[axis] = indices
                at = data.at[tuple(grid)]
            else:
                where = tuple(jnp.moveaxis(indices, -1, 0))
                if options.get("batch_dims"):
                    where = (jnp.arange(data.shape[0])[:, None], *where)
                at = data.at[where]
            if updates is None:
                return at.get(**safe)
            return {"none": at.set, "add": at.add, "max": at.max}[reduction](updates, **safe)

        compiled, arrays = jax.jit(function), [jnp.asarray(array) for array in inputs(call)]
        return lambda: compiled(*arrays).block_until_ready()


def model(call):
    """The call as an ONNX model with its shapes."""
    from onnx import helper

    names = ("data", "indices", "updates")
    arrays = inputs(call)
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=False)
    ]
    options = {key: value for key, value in call.options.items() if (key, value) != ("reduction", "none")}
    node = helper.make_node(ONNX_NAMES[call.operator], list(names[: len(arrays)]), ["out"], **options)
    out = helper.make_tensor_value_info("out", values[0].type.tensor_type.elem_type, None)
    graph = helper.make_graph([node], call.operator, values, [out])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


class OnnxRuntime:
    name, package = "onnxruntime", "onnxruntime"

    def __init__(self, threads):
        import onnxruntime

        self.ort, self.options = onnxruntime, onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.log_severity_level = 4

    def prepare(self, call):
        if call.data.dtype.name == "bfloat16":
            return None  # not from NumPy
        if call.data.dtype == np.float16 and call.options.get("reduction", "none") != "none":
            return None  # its threads refuse this while they run, which crashes the process if others use the CPUs
        try:
            session = self.ort.InferenceSession(
                model(call).SerializeToString(), self.options, providers=["CPUExecutionProvider"]
            )
        except Exception:  # NotImplemented and InvalidGraph, which are not public
            return None
        arrays = [np.ascontiguousarray(array) for array in inputs(call)]
        feed = dict(zip(("data", "indices", "updates"), arrays, strict=False))

        def run():
            return session.run(None, feed)[0]

        try:
            run()
        except Exception:  # a dtype that it finds out about when it runs
            return None
        return run


class OpenVINO:
    name, package = "OpenVINO", "openvino"

    def __init__(self, threads):
        import openvino

        self.ov, self.core = openvino, openvino.Core()
        self.core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})

    def prepare(self, call):
        if call.data.dtype.name in ("bfloat16", "complex128", "float16"):
            return None
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model(call).SerializeToString())
            file.flush()
            try:
                compiled = self.core.compile_model(self.core.read_model(file.name), "CPU")
            except RuntimeError:
                return None
        request = compiled.create_infer_request()
        arrays = [np.ascontiguousarray(array) for array in inputs(call)]
        tensors = [self.ov.Tensor(array, shared_memory=True) for array in arrays]

        def run():
            request.infer(tensors, share_inputs=True)
            return request.get_output_tensor(0).data  # its own memory, which it keeps from call to call

        return run


def aligned(n):
    memory = np.ones(n + 64, np.uint8)  # zeros would all be one page
    start = -memory.ctypes.data % 64
    return memory[start : start + n]


def compiled(source):
    """The functions of a C file, for this machine."""
    compiler = next(filter(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")), None)
    if compiler is None:
        raise ImportError("no C compiler")
    library = str(Path(tempfile.mkdtemp()) / "loops.so")
    flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", library], check=True)
    return ctypes.CDLL(library)


class Limit:
    """A plain loop in C for this workload only, as a limit for general code."""

    name, package = "C", "gatherscatter"

    def __init__(self, threads):
        self.library, self.threads = compiled(LIMIT), threads

    def bandwidth(self, megabytes=256, rounds=9):
        """Bytes a second, read and written, of a copy by all threads."""
        n = megabytes << 20
        source, target = aligned(n), aligned(n)
        arguments = [source.ctypes.data, target.ctypes.data]
        arguments = [*map(ctypes.c_void_p, arguments), ctypes.c_int64(n), ctypes.c_int(self.threads)]
        return 2 * n / min(seconds(lambda: self.library.copy(*arguments)) for _ in range(rounds))

    def prepare(self, call):
        data, indices, options = call.data, call.indices, call.options
        key = (
            call.operator,
            options.get("reduction"),
            data.dtype.name,
            options.get("axis"),
            indices.shape[-1],
            data.ndim,
        )
        loop = {
            ("gather_nd", None, "float32", None, 2, 2): "gather_pairs",
            ("gather_nd", None, "float32", None, 1, 2): "gather_rows",
            ("gather_nd", None, "float32", None, 1, 3): "gather_batched_rows",
            ("gather_elements", None, "float32", 1, 4096, 2): "gather_along_rows",
            ("gather_elements", None, "float32", 0, 4096, 2): "gather_along_columns",
            ("scatter_nd", "none", "float32", None, 1, 1): "scatter_none",
            ("scatter_nd", "add", "float32", None, 1, 1): "scatter_add",
            ("scatter_nd", "max", "float32", None, 1, 1): "scatter_max",
            ("scatter_nd", "none", "float32", None, 1, 2): "scatter_rows_none",
            ("scatter_nd", "add", "float32", None, 1, 2): "scatter_rows_add",
            ("scatter_elements", "none", "float32", 1, 4096, 2): "scatter_along_rows_none",
            ("scatter_elements", "add", "float32", 1, 4096, 2): "scatter_along_rows_add",
        }.get(key)
        if loop is None or indices.dtype != np.int64 or not data.flags.c_contiguous:
            return None
        if options.get("batch_dims") and data.ndim == 2:
            return None
        shape = data.shape if call.updates is not None else getattr(gs, call.operator)(data, indices, **options).shape
        function = getattr(self.library, loop)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in inputs(call)]
        sizes = [ctypes.c_int64(n) for n in (*data.shape, *indices.shape)]
        function.restype = None

        # Memory without page faults, which would be timed with the loop; aligned as the memory of gatherscatter is.
        out = aligned(math.prod(shape) * data.itemsize).view(data.dtype)[: math.prod(shape)].reshape(shape)

        def run():
            function(*pointers, ctypes.c_void_p(out.ctypes.data), *sizes, ctypes.c_int(self.threads))
            return out

        return run


def installed(threads):
    """The systems that are here, ours and the limit among them."""
    found = {}
    for system in (GatherScatter, Limit, NumPy, PyTorch, TensorFlow, JAX, OnnxRuntime, OpenVINO):
        with contextlib.suppress(ImportError):
            found[system.name] = system(threads)
    return found


def version(system):
    if system.name == "C":
        return "cc -O3 -march=native -fopenmp"
    for name in (system.package, f"{system.package}-cpu"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return "unknown"
