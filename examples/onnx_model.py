"""A detection head in ONNX: top-k scores, their boxes, non-maximum suppression, and a heat map of what was kept.

    python examples/onnx_model.py

builds the model with onnx.helper and runs it twice in onnx's reference evaluator: with the evaluator's own gathers and
scatters, and with gatherscatter's. Both must agree; it prints the time of each and of the nodes that differ.
"""

import time

import gatherscatter as gs
import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

N_BATCH, N_ANCHORS, N_TOP, N_KEPT, N_CHANNELS, SIZE = 4, 20_000, 5_000, 20, 16, 256


def constant(name, value, dtype=np.int64):
    return onnx.numpy_helper.from_array(np.array(value, dtype), name)


def detection_head():
    """Inputs scores (B, A), boxes (B, A, 4) in pixels, features (B, A, C); outputs of what is kept, and a map."""
    nodes = [
        # The anchors with the highest scores, and what belongs to them.
        helper.make_node("TopK", ["scores", "n_top"], ["top_scores", "anchors"], axis=1),
        helper.make_node("Unsqueeze", ["anchors", "last"], ["anchor_tuples"]),
        helper.make_node("GatherND", ["boxes", "anchor_tuples"], ["top_boxes"], batch_dims=1),
        helper.make_node("GatherND", ["features", "anchor_tuples"], ["top_features"], batch_dims=1),
        # Suppression among the best of them.
        helper.make_node("Slice", ["top_boxes", "zero", "n_best", "one"], ["best_boxes"]),
        helper.make_node("Slice", ["top_scores", "zero", "n_best", "one"], ["best_scores"]),
        helper.make_node("Unsqueeze", ["best_scores", "one"], ["class_scores"]),
        helper.make_node("NonMaxSuppression", ["best_boxes", "class_scores", "n_kept", "overlap"], ["selected"]),
        helper.make_node("Gather", ["selected", "batch_and_box"], ["kept"], axis=1),
        helper.make_node("GatherND", ["top_boxes", "kept"], ["kept_boxes"]),
        helper.make_node("GatherND", ["top_features", "kept"], ["kept_features"]),
        # A heat map of the scores at the corners of all the top boxes.
        helper.make_node("Slice", ["top_boxes", "zero", "two", "last"], ["corners"]),
        helper.make_node("Cast", ["corners"], ["pixels"], to=TensorProto.INT64),
        helper.make_node("ScatterND", ["empty", "pixels", "top_scores"], ["heat"], reduction="add"),
    ]
    batch = [N_BATCH, N_ANCHORS]
    inputs = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, batch),
        helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [*batch, 4]),
        helper.make_tensor_value_info("features", TensorProto.FLOAT, [*batch, N_CHANNELS]),
    ]
    outputs = [
        helper.make_tensor_value_info("kept_boxes", TensorProto.FLOAT, ["kept", 4]),
        helper.make_tensor_value_info("kept_features", TensorProto.FLOAT, ["kept", N_CHANNELS]),
        helper.make_tensor_value_info("heat", TensorProto.FLOAT, [SIZE, SIZE]),
    ]
    constants = [
        constant("n_top", [N_TOP]),
        constant("n_best", [4 * N_KEPT]),
        constant("n_kept", [N_KEPT]),
        constant("overlap", [0.5], np.float32),
        constant("last", [-1]),
        constant("zero", [0]),
        constant("one", [1]),
        constant("two", [2]),
        constant("batch_and_box", [0, 2]),
        constant("empty", np.zeros((SIZE, SIZE)), np.float32),
    ]
    graph = helper.make_graph(nodes, "detection_head", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.checker.check_model(model)
    return model


def some_inputs():
    rng = np.random.default_rng(0)
    corners = rng.random((N_BATCH, N_ANCHORS, 2)) * (SIZE - 32)
    boxes = np.concatenate([corners, corners + rng.random((N_BATCH, N_ANCHORS, 2)) * 32], axis=-1)
    return {
        "scores": rng.random((N_BATCH, N_ANCHORS), np.float32),
        "boxes": boxes.astype(np.float32),
        "features": rng.random((N_BATCH, N_ANCHORS, N_CHANNELS), np.float32),
    }


def timed(evaluator, inputs):
    """Outputs, and seconds a run and of its gathers and scatters alone: the least of three runs."""
    spent = []
    for node in evaluator.rt_nodes_:
        if node.op_type.startswith(("Gather", "Scatter")):
            run = node.run

            def clocked(*arguments, run=run, **options):
                start = time.perf_counter()
                result = run(*arguments, **options)
                spent[-1] += time.perf_counter() - start
                return result

            node.run = clocked
    whole = []
    for _ in range(3):
        spent.append(0.0)
        start = time.perf_counter()
        outputs = evaluator.run(None, inputs)
        whole.append(time.perf_counter() - start)
    return outputs, min(whole), min(spent)


def main():
    model, inputs = detection_head(), some_inputs()
    theirs, their_time, their_nodes = timed(ReferenceEvaluator(model), inputs)
    ours, our_time, our_nodes = timed(ReferenceEvaluator(model, new_ops=gs.onnx.reference_ops()), inputs)
    for name, a, b in zip(("kept_boxes", "kept_features", "heat"), theirs, ours, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
        print(f"{name:14} {a.shape}  equal")
    print(f"\n{'':24}{'whole model':>12}{'gathers and scatters':>24}")
    print(f"{'the evaluator alone':24}{their_time * 1e3:9.1f} ms{their_nodes * 1e3:21.2f} ms")
    print(f"{'with reference_ops()':24}{our_time * 1e3:9.1f} ms{our_nodes * 1e3:21.2f} ms")
    print(f"{'':24}{their_time / our_time:10.1f} x{their_nodes / our_nodes:22.0f} x")


if __name__ == "__main__":
    main()
