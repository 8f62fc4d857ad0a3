"""Calls of gatherscatter.openvino on each library."""

import numpy as np


def call(library, function, *arguments, **options):
    """The result on a library, as a NumPy array; arrays among the arguments are converted."""
    given = [library.asarray(value) if isinstance(value, np.ndarray) else value for value in arguments]
    with library.way():
        result = function(*given, **options)
    assert type(result) is type(given[0])
    return library.asnumpy(result)


def array(values, dtype=np.int64, shape=None):
    made = np.array(values, dtype)
    return made if shape is None else made.reshape(shape)


COUNT = array(range(1, 25), shape=(2, 3, 4))
SQUARE = array([[1, 2], [3, 4]])
BATCHES = array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
DEEP = array(range(1, 21), shape=(2, 2, 5))
FOUR = array(range(1, 41), shape=(2, 1, 5, 4))
