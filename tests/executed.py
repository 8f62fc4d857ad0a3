"""What the kernels execute during tests, to see whether changed tests execute less: CONTRIBUTING.md has the commands.

A line for each combination: function, kind of indices, route, dtype (for gathers its bytes), reduction,
include_self, mode, and bytes of a row. Calls that raise are not among them.
"""

import functools
import math
import sys
from pathlib import Path

WIDTHS = (1, 2, 4, 8, 16)  # bytes of a row; "other" are those between and above
MOST_FEW = 64, 1 << 13  # indices, and bytes of the result, of a gather that needs no route if none is forced
# The arguments up to the last one that is noted, in the order of the kernels.
ARGUMENTS = {
    "gather": "kind data indices out axis batch_dims mode",
    "try_gather": "kind wrap data indices axis batch_dims mode",
    "scatter": "kind data indices updates out axis batch_dims mode wrap reduction type accumulate include_self"
    " checks_first n_threads source",
    "try_scatter": "kind wrap data indices updates axis batch_dims reduction mode include_self",
    "take": "kind data indices updates out axis batch_dims mode",
}


def pytest_addoption(parser):
    parser.addoption("--executed", metavar="FILE", help="write what the kernels execute to FILE")


def pytest_configure(config):
    if name := config.getoption("executed"):
        config.executed = Path(name), set()
        if not hasattr(config, "workerinput"):  # pytest-xdist: the workers begin later, and append
            config.executed[0].write_text("")
        watch(config.executed[1].add)


def pytest_unconfigure(config):
    if hasattr(config, "executed"):
        with config.executed[0].open("a") as lines:
            lines.write("".join(f"{line}\n" for line in sorted(config.executed[1])))


def watch(add):
    """Call `add` with a line for each call of the kernels."""
    import gatherscatter.backends.kernels  # noqa: F401, it registers the reductions
    from gatherscatter._kernels import common, gather, scatter

    is_forced = [False]

    def note(function, kind, data, indices, out, mode, axis=0, batch_dims=0, reduction=6, include_self=True,
             accumulate=0, source=None, **_):  # fmt: skip
        kind, is_gather = common.Kind(kind).name, "gather" in function
        of = data if is_gather else out
        first = {"ND": lambda: batch_dims + indices.shape[-1], "ELEMENTS": lambda: of.ndim}
        first |= {"AXIS": lambda: axis % of.ndim + 1, "ARRAYS": lambda: axis % of.ndim + len(indices)}
        row = math.prod(of.shape[first[kind]() :]) * of.itemsize
        line = [function if source is None else "gather_scatter", kind]
        if is_gather:
            few = function == "try_gather" and kind == "AXIS" and not is_forced[0]
            few = few and indices.size <= MOST_FEW[0] and out.nbytes <= MOST_FEW[1]
            route = "FEW" if few else common.GatherRoute(gather.last_route()[0]).name
            line += [route if out.size else "NONE", of.itemsize]
        else:
            line += [common.ScatterRoute(scatter.last_route()[0]).name if out.size else "NONE"]
            line += [of.dtype.name if of.dtype.name.upper() in common.TypeCode.__members__ else of.dtype.kind]
            line += [reduction if isinstance(reduction, str) else common.ReductionCode(reduction).name, accumulate]
            line += [include_self]
        mode = mode if isinstance(mode, str) else common.Mode(mode).name
        add(" ".join(map(str, [*line, mode, row if row in WIDTHS else "other"])))

    def replace(module, name):
        function = getattr(module, name)

        @functools.wraps(function)
        def watched(*arguments, **words):
            result = function(*arguments, **words)
            given = dict(zip(ARGUMENTS[name].split(), arguments, strict=False)) | words
            if name.startswith("try"):
                given["out"] = result
            if given["out"] is not None and (name.startswith("try") or result == common.Status.OK):
                note(name, **given)
            return result

        for other in [other for key, other in sys.modules.items() if key.startswith("gatherscatter")]:
            if getattr(other, name, None) is function:
                setattr(other, name, watched)

    def force(route, n_threads, force=gather.force):
        is_forced[0] = bool(route or n_threads)
        force(route, n_threads)

    gather.force = force
    for name in ARGUMENTS:
        replace(gather if "gather" in name else scatter, name)


if __name__ == "__main__":
    before, after = ({*Path(name).read_text().splitlines()} for name in sys.argv[1:])
    print(*sorted(before - after), f"{len(before)} before, {len(after)} after", sep="\n")
