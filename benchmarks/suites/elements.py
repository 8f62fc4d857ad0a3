"""gather_elements and scatter_elements: one index for each element of a square array."""

import gatherscatter as gs

from .common import LARGE, LAYOUTS, SMALL, THREADS, numbers, places, timed, use_threads


@timed
class Elements:
    params = (["gather", "scatter none", "scatter add"], ["float32"], [SMALL, LARGE], [0, 1], THREADS, LAYOUTS)
    param_names = ("operator", "dtype", "elements", "axis", "threads", "layout")

    def setup(self, operator, dtype, n, axis, threads, layout):
        use_threads(threads, n)
        shape = (round(n**0.5),) * 2
        self.arrays = [numbers(shape, dtype, layout), places(shape[0], shape, layout)]
        self.function, self.options = gs.gather_elements, {"axis": axis}
        if operator != "gather":
            self.arrays.append(numbers(shape, dtype, layout))
            self.function, self.options["reduction"] = gs.scatter_elements, operator.partition(" ")[2]

    def time_elements(self, *_):
        self.function(*self.arrays, **self.options)
