"""A selection of combinations of arguments, where all of them would take minutes."""

import itertools
import random


def pairwise(*axes):
    """Some combinations of one value of each axis, in which every pair of values of two axes meets."""
    rng = random.Random(0)
    missing = {
        ((i, a), (j, b))
        for (i, first), (j, second) in itertools.combinations(enumerate(axes), 2)
        for a, b in itertools.product(range(len(first)), range(len(second)))
    }
    found = []
    while missing:
        start = dict(min(missing))
        tries = [tuple(start.get(i, rng.randrange(len(axis))) for i, axis in enumerate(axes)) for _ in range(30)]
        covered = [missing.intersection(itertools.combinations(enumerate(one), 2)) for one in tries]
        best = max(range(len(tries)), key=lambda i: len(covered[i]))
        missing -= covered[best]
        found.append(tuple(axis[i] for axis, i in zip(axes, tries[best], strict=True)))
    return found
