"""The structure of the package: no import cycles, no use of private names, and the length of files."""

import ast
import graphlib
from pathlib import Path

import gatherscatter

PACKAGE = Path(gatherscatter.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py"))
MAX_LINES = 500
LIBRARIES = {"torch", "jax", "cupy", "dask", "onnx", "tensorflow", "pandas"}


def module_of(path):
    parts = ("gatherscatter", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def imports_of(tree):
    """Modules of the package that are imported, inside of functions too, and the names that they are imported by."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gatherscatter"):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_module = whole in MODULES or "._kernels." in f"{whole}."
                yield (whole if is_module else node.module), alias.asname or alias.name, is_module
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("gatherscatter"):
                    yield alias.name, alias.asname or alias.name, True


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_imports_go_in_one_direction():
    graph = {
        name: {found for found, _, _ in imports_of(tree) if found in MODULES and found != name}
        for name, tree in MODULES.items()
    }
    assert graph["gatherscatter.core"]
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_private_name_of_another_file_is_used():
    for name, tree in MODULES.items():
        modules = {}
        for module, local, is_module in imports_of(tree):
            if is_module:
                modules[local] = module
            elif "._kernels" not in module:
                assert not is_private(local), f"{name}: {module}.{local}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                assert not is_private(node.attr), f"{name}: {modules[node.value.id]}.{node.attr}"


def test_files_are_short():
    sources = Path(__file__).parents[2] / "src"
    files = [*FILES, *(path for path in sources.rglob("*") if path.suffix in (".pxd", ".pyx", ".h", ".cpp"))]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_overloads_are_in_stubs():
    overloads = {
        (name, node.name)
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "overload" for d in node.decorator_list)
    }
    assert {name for _, name in overloads} <= {"show_config"}, overloads


def test_the_tests_of_the_kernels_need_no_array_library():
    """Wheels are tested by these folders, where the extra test-kernels alone is installed."""
    folders = (Path(__file__).parents[1] / name for name in ("kernels", "core"))
    found = set()
    for path in (path for folder in folders for path in folder.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            found |= {(path.name, name) for name in names if name.partition(".")[0] in LIBRARIES}
    assert not found
