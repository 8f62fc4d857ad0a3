"""`python -m gatherscatter` where every library is installed."""

from gatherscatter import __main__ as command


def test_it_passes_on_every_library(capsys):
    assert command.main([]) == 0
    printed = capsys.readouterr().out
    for name in ("NumPy", "PyTorch", "JAX", "Dask", "array-api-strict", "out of bounds", "dialects"):
        assert any(line.startswith(name) and line.endswith("passed") for line in printed.splitlines()), name
    assert printed.splitlines()[-1].startswith("all ")
    assert " checks passed in " in printed.splitlines()[-1]
