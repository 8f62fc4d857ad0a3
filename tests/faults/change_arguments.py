"""For test_inconsistent.py, in a separate process: arguments with false attributes, or that change others in a call.

Argument: the number of the first case.
"""

import contextlib
import json
import sys
import warnings

import fault_calls
import gatherscatter as gs
import numpy as np
from constants import FUNCTIONS, GATHERS

N = 40
REFUSALS = (TypeError, ValueError, IndexError, MemoryError, NotImplementedError, OverflowError, RuntimeError)


def lying(name, value):
    """A subclass of ndarray whose attribute has the wrong value."""
    return type(f"Lying{name.title()}", (np.ndarray,), {name: property(lambda self: value)})


class Reshaping(np.ndarray):
    """Whose views have another shape than was asked for."""

    is_at_it = False

    def __array_finalize__(self, other):
        # NumPy asks it again in the setter of shape, of another view.
        if other is not None and self.ndim and not Reshaping.is_at_it:
            Reshaping.is_at_it = True
            try:
                self.shape = self.shape[::-1]
            finally:
                Reshaping.is_at_it = False


class Emptying(np.ndarray):
    def __array_finalize__(self, other):
        if other is not None and self.ndim and self.size and not isinstance(other, Emptying):
            other.shape = (other.size,)


class Refusing(np.ndarray):
    def __array_finalize__(self, other):
        if other is not None:
            raise ZeroDivisionError("not of me")


class Unequal(np.ndarray):
    def __eq__(self, other):
        raise ZeroDivisionError("not of me")

    def __len__(self):
        return 10**9

    def __array__(self, *_, **__):
        return np.zeros((2, 2))

    __hash__ = None


LIARS = {
    "longer shape": lying("shape", (10**6, 5)),
    "shape of more axes": lying("shape", (2, 2, 2, 2)),
    "scalar shape": lying("shape", ()),
    "dtype f8": lying("dtype", np.dtype("f8")),
    "dtype u1": lying("dtype", np.dtype("u1")),
    "dtype i8": lying("dtype", np.dtype("i8")),
    "dtype object": lying("dtype", np.dtype(object)),
    "ndim": lying("ndim", 7),
    "size": lying("size", 10**9),
    "itemsize": lying("itemsize", 800),
    "strides": lying("strides", (10**6, 8)),
    "flags": lying("flags", np.zeros(1).flags),
    "ctypes": lying("ctypes", np.zeros(3).ctypes),
    "reshaping views": Reshaping,
    "views that reshape the base": Emptying,
    "views refused": Refusing,
    "other methods": Unequal,
}


def prepared(function, in_place=False):
    """Arguments of a call that names rows of three items: two axes but for tuples, all between guards."""
    rng = np.random.default_rng(0)
    data = np.arange(N * 3, dtype="f4").reshape(N, 3)
    indices = rng.integers(0, N, (12, 1) if function.endswith("_nd") else (12, 3) if "elements" in function else 12)
    shape = (12, 3)
    made = {"data": data, "indices": indices}
    if function not in GATHERS:
        made["updates"] = np.arange(np.prod(shape), dtype="f4").reshape(shape)
        shape = data.shape
    made["out"] = np.full(shape, 7, "f4")
    pairs = {name: fault_calls.guarded(array) for name, array in made.items()}
    arrays = {name: array for name, (array, _) in pairs.items()}
    if in_place and function not in GATHERS:
        arrays["out"] = arrays["data"]
    return arrays, [memory for _, memory in pairs.values()]


def call(function, arrays, options):
    values = [arrays[name] for name in ("data", "indices", "updates") if name in arrays]
    return getattr(gs, function)(*values, **options)


CHANGES = {
    "data.shape": lambda arrays: setattr(arrays["data"], "shape", (arrays["data"].size,)),
    "data.shape, more axes": lambda arrays: setattr(arrays["data"], "shape", (1, 3, N)),
    "data.shape, transposed": lambda arrays: setattr(arrays["data"], "shape", (3, N)),
    "data.dtype": lambda arrays: setattr(arrays["data"], "dtype", "u1"),
    "data.strides": lambda arrays: setattr(arrays["data"], "strides", (0, 4)),
    "indices.shape": lambda arrays: setattr(arrays["indices"], "shape", (1, arrays["indices"].size)),
    "indices.shape, flat": lambda arrays: setattr(arrays["indices"], "shape", (arrays["indices"].size,)),
    "indices.dtype": lambda arrays: setattr(arrays["indices"], "dtype", "i4"),
    "indices": lambda arrays: arrays["indices"].fill(10**9),
    "updates.shape": lambda arrays: setattr(arrays["updates"], "shape", (arrays["updates"].size,)),
    "updates.dtype": lambda arrays: setattr(arrays["updates"], "dtype", "u1"),
    "out.shape": lambda arrays: setattr(arrays["out"], "shape", (arrays["out"].size,)),
    "out.dtype": lambda arrays: setattr(arrays["out"], "dtype", "u1"),
    "out.flags.writeable": lambda arrays: arrays["out"].setflags(write=False),
}


def changing(kind, change):
    """A value of an argument that changes the arrays when it is asked for its number, and the times it was."""

    class Changing(*([] if kind is object else [kind])):
        def __index__(self):
            change()
            return 0

        def __int__(self):
            change()
            return 0

        def __float__(self):
            change()
            return 1.0

        def __bool__(self):
            change()
            return True

        def __eq__(self, other):
            change()
            return kind.__eq__(self, other)

        def __hash__(self):
            change()
            return kind.__hash__(self)

        def __str__(self):
            change()
            return kind.__str__(self)

        def __array__(self, dtype=None, copy=None):
            change()
            return np.array(1, dtype)

    return Changing


def quiet(change, arrays):
    """A function that changes the arrays, unless NumPy rejects the change or it was made before."""

    def run():
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            change(arrays)

    return run


def changing_value(argument, change):
    if argument in ("mode", "reduction"):
        return [changing(str, change)({"mode": "clip", "reduction": "add"}[argument])]
    numbers = [changing(object, change)(), changing(int, change)(1), changing(float, change)(1)]
    return [*numbers, [numbers[0]], np.array(numbers[0], object)]


def outcome(function, arrays, memory, options):
    """A description of what is wrong with a call, or None."""
    before = [around.copy() for around in memory]
    out = options.get("out")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(function, arrays, options)
    except REFUSALS:
        pass
    except ZeroDivisionError as error:
        if "not of me" not in str(error):
            return f"raises {error!r}"
    if not all(fault_calls.Arrays(None, None, None, None, (m,)).are_guarded() for m in memory):
        return "writes outside of an array"
    is_same = [np.array_equal(a, b) for a, b in zip(before, memory, strict=True)]
    if type(out) is np.ndarray and not out.flags.writeable and not is_same[0 if arrays["data"] is out else -1]:
        return "writes to a read-only array"
    if arrays["data"] is not out and not is_same[0]:
        return "changes data"
    return None


def cases():
    """(what, function, arrays, memory, options), one after the other."""
    for function in FUNCTIONS:
        for title, liar in LIARS.items():
            for name in ("data", "indices", "updates", "out"):
                for has_out in (False, True):
                    arrays, memory = prepared(function)
                    if name not in arrays or (name == "out" and not has_out):
                        continue
                    arrays[name] = made_liar(arrays[name], liar)
                    what = f"{function}, {name}: {title}{', out' if has_out else ''}"
                    yield what, function, arrays, memory, {"out": arrays["out"]} if has_out else {}
        names = [
            "axis",
            "batch_dims",
            "mode",
            *(["fill_value"] if function in GATHERS else ["updates", "reduction", "include_self"]),
        ]
        for argument in names:
            for title in CHANGES:
                for kind in range(5):
                    for has_out in (False, True, None):
                        arrays, memory = prepared(function, in_place=has_out is None)
                        if title.split(".")[0] not in arrays:
                            continue
                        values = changing_value(argument, quiet(CHANGES[title], dict(arrays)))
                        if kind >= len(values):
                            continue
                        options = {} if has_out is False else {"out": arrays["out"]}
                        if argument == "updates":
                            arrays["updates"] = values[kind]
                        else:
                            options[argument] = values[kind]
                        if argument == "fill_value":
                            options["mode"] = "fill"
                        what = f"{function}, {argument} of kind {kind} changes {title}, out: {has_out}"
                        yield what, function, arrays, memory, options


def made_liar(array, liar):
    """A liar on the same memory, without a view, of which __array_finalize__ would have its say."""
    return np.ndarray.__new__(liar, array.shape, array.dtype, array)


def main(first):
    for number, (what, function, arrays, memory, options) in enumerate(cases()):
        if number < int(first):
            continue
        print(json.dumps({"case": number, "what": what, "trial": 0}), flush=True)
        found = outcome(function, arrays, memory, options)
        if found:
            print(json.dumps({"fault": f"{what}: {found}"}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
