"""A selection of combinations of arguments, where all of them would take minutes."""

import itertools
import random

import pytest


def pairwise(*axes, strength=2):
    """Some combinations of one value of each axis, in which every pair of values of two axes meets.

    strength: 3 for triples of values of three axes.
    """
    rng = random.Random(0)
    numbered = [[(i, j) for j in range(len(axis))] for i, axis in enumerate(axes)]
    missing = {group for some in itertools.combinations(numbered, strength) for group in itertools.product(*some)}
    found = []
    while missing:
        start = dict(min(missing))
        tries = [tuple((i, start.get(i, rng.randrange(len(axis)))) for i, axis in enumerate(axes)) for _ in range(30)]
        covered = [missing.intersection(itertools.combinations(one, strength)) for one in tries]
        best = max(range(len(tries)), key=lambda n: len(covered[n]))
        missing -= covered[best]
        found.append(tuple(axes[i][j] for i, j in tries[best]))
    return found


def each_pair(indirect=(), **axes):
    """Parametrize a test with such combinations of the values of its arguments. indirect: the names of fixtures."""
    return pytest.mark.parametrize(tuple(axes), pairwise(*map(tuple, axes.values())), indirect=list(indirect))
