"""asv's suites: gather, scatter, elements, small calls on every array library, memory (CONTRIBUTING.md, "Measure").

Parameters that make no difference are left out (skip), so that a whole run stays short.
"""
