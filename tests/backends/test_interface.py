"""What all backends have in common: the methods of the base class, with their signatures."""

import ast
import inspect
from pathlib import Path

import pytest
from gatherscatter.backends import array_api, dask, jax, numpy, torch
from gatherscatter.backends.base import Backend
from gatherscatter.backends.table import TableBackend

BACKENDS = [module.BACKEND for module in (array_api, dask, jax, numpy, torch)]
CUPY = Path(array_api.__file__).with_name("cupy.py")  # which can't be imported without CUDA: it is read


def methods(kind):
    return {name: value for name, value in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def signature(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_methods_are_those_of_the_base_class(backend):
    base = TableBackend if isinstance(backend, TableBackend) else Backend
    found, declared = methods(type(backend)), methods(base)
    assert set(found) == set(declared)
    for name, function in found.items():
        assert signature(function) == signature(declared[name]), name


def test_cupy_has_the_methods_of_the_base_class():
    (kind,) = (node for node in ast.parse(CUPY.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))
    declared = methods(TableBackend)
    found = {node.name: [a.arg for a in node.args.args] for node in kind.body if isinstance(node, ast.FunctionDef)}
    for name, arguments in found.items():
        assert arguments == [p[0] for p in signature(declared[name])], name


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_what_has_no_default_is_defined(backend):
    for name in ("owns", "namespace", "asarray", "from_numpy", "gather", "scatter"):
        assert getattr(type(backend), name) is not getattr(Backend, name), name


@pytest.mark.parametrize("base", [Backend, TableBackend])
def test_every_method_is_documented(base):
    for name, function in methods(base).items():
        assert inspect.getdoc(function), name
