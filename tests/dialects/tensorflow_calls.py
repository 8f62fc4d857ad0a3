"""Shared code of the tests of gatherscatter.tensorflow."""

import numpy as np
import pytest

# What those do that combine.
COMBINES = {"add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum}

# The reductions of sorted segments, which those of unsorted ones have too.
SORTED = ("sum", "mean", "min", "max", "prod")


def refusal(error, function, *arguments, **options):
    """The whole message of an error."""
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    return str(caught.value)
