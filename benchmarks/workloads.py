"""The workloads that peers.py times: one call each, as an operator, its arrays and its options.

W1 to W12 are the operators at sizes limited by memory, W13 and W14 are small calls, and the others are common tasks.
A description consists of a name, a colon, and the call; figures show only the name. Numbers are small integers,
so that the results of all libraries can be compared bit for bit. With reduction "none" duplicates write the same value,
because other libraries do not specify which one wins.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Call:
    operator: str  # gather, gather_nd, gather_elements, scatter_nd, scatter_elements
    data: np.ndarray
    indices: np.ndarray
    updates: np.ndarray | None = None
    options: dict[str, Any] = field(default_factory=dict)  # axis, batch_dims, reduction


@dataclass(frozen=True)
class Workload:
    description: str
    make: Callable[[np.random.Generator], Call]
    repeat: int = 1  # calls per timing, for calls too short to time alone
    moved: int = 0  # MB that have to move at least: each array once, a random element with its line of 64 bytes


WORKLOADS: dict[str, Workload] = {}


def workload(name, description, repeat=1, moved=0):
    def register(make):
        WORKLOADS[name] = Workload(description, make, repeat, moved)
        return make

    return register


def numbers(rng, shape, dtype=np.float32, below=8):
    return rng.integers(0, below, shape).astype(dtype)


@workload("W1", "gather 4 M elements: gather_nd of (4096, 4096)", moved=336)
def w1(rng):
    return Call("gather_nd", numbers(rng, (4096, 4096)), rng.integers(0, 4096, (4_000_000, 2)))


@workload("W2", "gather 500 k rows: gather_nd of (1 M, 64)", moved=256)
def w2(rng):
    return Call("gather_nd", numbers(rng, (1_000_000, 64)), rng.integers(0, 1_000_000, (500_000, 1)))


@workload("W3", "gather rows in 64 batches: gather_nd, 64 × 2048 rows of (64, 4096, 128), batch_dims=1", moved=128)
def w3(rng):
    data, indices = numbers(rng, (64, 4096, 128)), rng.integers(0, 4096, (64, 2048, 1))
    return Call("gather_nd", data, indices, options={"batch_dims": 1})


@workload("W4", "take along axis 1: gather_elements of (4096, 4096)", moved=256)
def w4(rng):
    data, indices = numbers(rng, (4096, 4096)), rng.integers(0, 4096, (4096, 4096))
    return Call("gather_elements", data, indices, options={"axis": 1})


@workload("W5", "take along axis 0: gather_elements of (4096, 4096)", moved=256)
def w5(rng):
    data, indices = numbers(rng, (4096, 4096)), rng.integers(0, 4096, (4096, 4096))
    return Call("gather_elements", data, indices, options={"axis": 0})


def into_16_m(rng, reduction):
    data, indices = numbers(rng, 16_000_000), rng.integers(0, 16_000_000, (4_000_000, 1))
    updates = indices[:, 0].astype(np.float32) if reduction == "none" else numbers(rng, 4_000_000)
    return Call("scatter_nd", data, indices, updates, {"reduction": reduction})


@workload("W6", "set 4 M elements: scatter_nd none into 16 M", moved=160)
def w6(rng):
    return into_16_m(rng, "none")


@workload("W7", "add 4 M elements: scatter_nd add into 16 M", moved=160)
def w7(rng):
    return into_16_m(rng, "add")


@workload("W8", "maximum of 4 M elements: scatter_nd max into 16 M", moved=160)
def w8(rng):
    return into_16_m(rng, "max")


@workload("W9", "set 500 k rows: scatter_nd none, distinct rows, into (1 M, 64)", moved=512)
def w9(rng):
    indices = rng.permutation(1_000_000)[:500_000, None].copy()
    data, updates = numbers(rng, (1_000_000, 64)), numbers(rng, (500_000, 64))
    return Call("scatter_nd", data, indices, updates, {"reduction": "none"})


@workload("W10", "add 500 k rows: scatter_nd add into (1 M, 64)", moved=640)
def w10(rng):
    indices = rng.integers(0, 1_000_000, (500_000, 1))
    data, updates = numbers(rng, (1_000_000, 64)), numbers(rng, (500_000, 64))
    return Call("scatter_nd", data, indices, updates, {"reduction": "add"})


def into_a_matrix(rng, reduction):
    data, indices = numbers(rng, (4096, 4096)), rng.integers(0, 4096, (4096, 4096))
    updates = indices.astype(np.float32) if reduction == "none" else numbers(rng, (4096, 4096))
    return Call("scatter_elements", data, indices, updates, {"axis": 1, "reduction": reduction})


@workload("W11", "put along axis 1: scatter_elements none into (4096, 4096)", moved=320)
def w11(rng):
    return into_a_matrix(rng, "none")


@workload("W12", "add along axis 1: scatter_elements add into (4096, 4096)", moved=320)
def w12(rng):
    return into_a_matrix(rng, "add")


@workload("W13", "small call, 10 elements: gather_nd of (8, 8)", repeat=5000)
def w13(rng):
    return Call("gather_nd", numbers(rng, (8, 8)), rng.integers(0, 8, (10, 2)))


@workload("W14", "small call, along axis 1: gather_elements of (8, 8)", repeat=5000)
def w14(rng):
    return Call("gather_elements", numbers(rng, (8, 8)), rng.integers(0, 8, (8, 8)), options={"axis": 1})


# Common tasks


@workload("embedding", "look up embeddings: gather, 256 k rows of bfloat16 (100 k, 512), power-law indices", moved=512)
def embedding(rng):
    data = numbers(rng, (100_000, 512), ml_dtypes.bfloat16)
    indices = np.minimum(rng.zipf(1.2, 256_000), 100_000) - 1
    return Call("gather", data, indices, options={"axis": 0})


@workload(
    "messages",
    "sum graph messages: scatter_nd add, 2 M edges of a power-law graph, 64 features, 200 k nodes",
    moved=630,
)
def messages(rng):
    indices = (np.minimum(rng.zipf(1.4, 2_000_000), 200_000) - 1)[:, None]
    data, updates = numbers(rng, (200_000, 64)), numbers(rng, (2_000_000, 64), below=2)
    return Call("scatter_nd", data, indices, updates, {"reduction": "add"})


@workload("histogram", "count into a histogram: scatter_nd add, 16 M ones into 1000 bins of int64", moved=256)
def histogram(rng):
    indices = rng.integers(0, 1000, (16_000_000, 1))
    return Call("scatter_nd", np.zeros(1000, np.int64), indices, np.ones(16_000_000, np.int64), {"reduction": "add"})


@workload("warp", "warp an image: gather_nd of uint8 (2160, 3840, 3), each pixel from near its place", moved=180)
def warp(rng):
    image = numbers(rng, (2160, 3840, 3), np.uint8)
    y, x = np.meshgrid(np.arange(2160), np.arange(3840), indexing="ij")
    where = np.stack([y + 20 * np.sin(x / 50), x + 20 * np.cos(y / 50)], axis=-1).astype(np.int64)
    return Call("gather_nd", image, np.clip(where, 0, [2159, 3839]))


@workload("cache", "write a key-value cache: scatter_nd none, 256 rows of 64 KiB into (4096, 16384)", moved=552)
def cache(rng):
    data, updates = numbers(rng, (4096, 16384)), numbers(rng, (256, 16384))
    indices = rng.permutation(4096)[:256, None].copy()
    return Call("scatter_nd", data, indices, updates, {"reduction": "none"})


@workload("complex128", "gather 2 M complex128 elements: gather_nd of (2048, 2048)", moved=192)
def complex128(rng):
    return Call("gather_nd", numbers(rng, (2048, 2048), np.complex128), rng.integers(0, 2048, (2_000_000, 2)))


@workload("float16", "add 4 M float16 elements: scatter_nd add into 16 M", moved=100)
def float16(rng):
    data, indices = numbers(rng, 16_000_000, np.float16), rng.integers(0, 16_000_000, (4_000_000, 1))
    return Call("scatter_nd", data, indices, numbers(rng, 4_000_000, np.float16), {"reduction": "add"})


@workload("int32", "take along axis 1, int32 indices: gather_elements of (4096, 4096)", moved=192)
def int32(rng):
    data, indices = numbers(rng, (4096, 4096)), rng.integers(0, 4096, (4096, 4096), np.int32)
    return Call("gather_elements", data, indices, options={"axis": 1})


@workload("strided", "gather 4 M elements, transposed: gather_nd of (4096, 4096)", moved=336)
def strided(rng):
    return Call("gather_nd", numbers(rng, (4096, 4096)).T, rng.integers(0, 4096, (4_000_000, 2)))


@workload(
    "batches",
    "gather elements in 1024 batches: gather_nd, 1024 × 4096 elements of (1024, 16384), batch_dims=1",
    moved=118,
)
def batches(rng):
    data, indices = numbers(rng, (1024, 16384)), rng.integers(0, 16384, (1024, 4096, 1))
    return Call("gather_nd", data, indices, options={"batch_dims": 1})
