"""Calls whose indices are prepared: by `gs.prepare`, with the options that belong to the indices."""

import gatherscatter as gs
import numpy as np

OF_INDICES = ("axis", "batch_dims", "mode", "wrap_negative_indices")


def split(options):
    return [{name: value for name, value in options.items() if (name in OF_INDICES) == of} for of in (True, False)]


def run(call, given, options):
    of_indices, others = split(options)
    prepared = gs.prepare(call.function, np.shape(given["data"]), given["indices"], **of_indices)
    if not call.scatters:
        return prepared.gather(given["data"], **others)
    if call.number % 2:  # with the order of the updates, if the first scatter makes it
        prepared.scatter(given["data"], given["updates"], reduction=options.get("reduction", "none"))
    return prepared.scatter(given["data"], given["updates"], **others)


def source(call, given):
    of_indices, others = split(call.options)
    words = "".join(f", {name}={value!r}" for name, value in of_indices.items())
    called = [name for name in given if name in ("data", "updates", "out=out")]
    called += [f"{name}={value!r}" for name, value in others.items()]
    method = "scatter" if call.scatters else "gather"
    prepared = f"gs.prepare({call.function!r}, np.shape(data), indices{words})"
    return f"{prepared}.{method}({', '.join(called)})"
