"""Arguments of tests: a selection of combinations, where all would take minutes; and values that share a test."""

import functools
import inspect
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
    """Parametrize a test with such combinations of the values of its arguments, one test for each of the longest axis.

    indirect: the names of fixtures.
    """
    axes = {name: tuple(axis) for name, axis in axes.items()}
    found = pairwise(*axes.values())
    if indirect:
        return pytest.mark.parametrize(tuple(axes), found, indirect=list(indirect))
    longest = max(axes, key=lambda name: len(axes[name]))
    at = list(axes).index(longest)
    names = [name for name in axes if name != longest]
    groups = [[one[:at] + one[at + 1 :] for one in found if one[at] is value] for value in axes[longest]]

    def decorate(test):
        each = [in_turn(names, group)(test) for group in groups]

        def run(**arguments):
            value = arguments[longest]
            which = next(i for i, one in enumerate(axes[longest]) if one is value)
            each[which](**arguments)

        return pytest.mark.parametrize(longest, axes[longest])(_like(test, run, names))

    return decorate


def in_turn(names, values):
    """As pytest.mark.parametrize, but in one test: pytest takes longer for a test than many of them take."""
    names = [names] if isinstance(names, str) else list(names)
    values = [one if len(names) > 1 else (one,) for one in values]

    def decorate(test):
        def run(**arguments):
            for some in values:
                given = dict(zip(names, some, strict=True))
                try:
                    test(**arguments, **given)
                except BaseException as error:
                    error.add_note(f"with {given}")
                    raise

        return _like(test, run, names)

    return decorate


def _like(test, run, without):
    """run as pytest sees the test, without some of its arguments."""
    signature = inspect.signature(test)

    @functools.wraps(test)
    def wrapper(*arguments, **words):  # self
        return run(**dict(zip(signature.parameters, arguments, strict=False)), **words)

    kept = [one for name, one in signature.parameters.items() if name not in without]
    wrapper.__signature__ = signature.replace(parameters=kept)
    return wrapper
