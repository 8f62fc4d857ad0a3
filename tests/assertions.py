"""Equality of arrays to the bit, and of error messages to the word."""

import re

import numpy as np
import pytest
from pairwise import in_turn


def assert_same_bits(result, expected):
    """Equal dtype, shape and bytes: NaN equals NaN, and -0.0 does not equal 0.0."""
    assert isinstance(result, np.ndarray)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if expected.dtype.hasobject:
        assert result.tolist() == expected.tolist()
    elif result.nbytes > 1 << 16 and result.flags.c_contiguous and expected.flags.c_contiguous:  # without copies
        assert np.array_equal(result.reshape(-1).view(np.uint8), expected.reshape(-1).view(np.uint8))
    else:
        assert result.tobytes() == expected.tobytes()


def assert_same_numbers(result, expected):
    """As assert_same_bits, but any NaN equals any other: which one arithmetic makes is the machine's choice."""
    assert isinstance(result, np.ndarray)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    parts = []
    for array in (result, expected):
        flat = np.array(array).reshape(-1)
        flat = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
        if flat.dtype.kind not in "biu":
            flat[flat != flat] = np.nan
        parts.append(flat)
    assert parts[0].tobytes() == parts[1].tobytes(), f"{result!r} is not {expected!r}"


def assert_refused(call, kind, message):
    """The call raises this error with this message, also if repeated: no rejected plan may be cached as a valid one.

    A message is one line with a fix, and hides the errors in which it has its cause.
    """
    for _ in range(2):
        with pytest.raises(kind) as caught:
            call()
        assert type(caught.value) is kind
        assert str(caught.value) == message
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "\n" not in message
    assert len(message) <= 300
    assert re.match(r"\w+(\.\w+)?: ", message)
    # An index out of bounds is told the axis and its size.
    fix = (
        r"axis \d+ has size \d"
        if kind is IndexError
        else r"\b(pass|call|convert|move|use|scatter|did you mean|is not one of|here)\b"
    )
    assert re.search(fix, message)


def each_refused(cases):
    """Calls a test with call, kind and message of each in a dict of such triples."""
    return in_turn(("call", "kind", "message"), cases.values())
