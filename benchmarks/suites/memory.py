"""Memory of large calls: the peak of the process, and the memory of a call in addition to its arguments and result."""

from pathlib import Path

import gatherscatter as gs

from .common import THREADS, numbers, places, use_threads

SIDE = 3000  # of squares: 9 M elements, 36 MB
OPERATORS = ["gather", "gather_nd", "gather_elements", "scatter", "scatter_nd", "scatter_elements"]


def resident(name):
    """VmRSS, the memory that the process has now, or VmHWM, the most since it was reset; bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) << 10


class Memory:
    params = (OPERATORS, THREADS)
    param_names = ("operator", "threads")

    def setup(self, operator, threads):
        use_threads(threads, SIDE)
        n, square = SIDE * SIDE, numbers((SIDE, SIDE), "float32")
        self.function, self.options = getattr(gs, operator), {}
        data, shape = square, (n,)
        if operator.endswith("_nd"):
            indices = places(SIDE, (n, 2))
        elif operator.endswith("_elements"):
            indices, shape = places(SIDE, (SIDE, SIDE)), square.shape
            self.options["axis"] = 1
        else:
            data, indices = square.reshape(-1), places(n, (n,))
        self.arrays = [data, indices]
        if operator.startswith("scatter"):
            self.arrays.append(numbers(shape, "float32"))
            self.options["reduction"] = "add"

    def peakmem_call(self, *_):
        self.function(*self.arrays, **self.options)

    def track_beside(self, *_):
        """The most that one call had beside its arguments and its result."""
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM starts again from now
        except OSError as error:
            raise NotImplementedError("only Linux reports the peak since a reset") from error
        before = resident("VmRSS")
        result = self.function(*self.arrays, **self.options)
        return (resident("VmHWM") - before - result.nbytes) / 2**20

    track_beside.unit = "MiB"


class TwoResults:
    """Gathers with results of this many KiB, two of which exist at a time."""

    params = ([128, 512, 2048, 8192],)
    param_names = ("kibibytes",)

    def setup(self, kibibytes):
        use_threads("1", SIDE)
        self.arrays = numbers((1 << 16,), "float32"), places(1 << 16, (kibibytes << 8,))
        self.results = [None, None]

    def time_gather(self, _):
        self.results = [gs.gather(*self.arrays), self.results[0]]
