"""A fuzzer of the six functions on NumPy arrays: ``python tests/fuzz --help``."""
