"""The command: ``python tests/faults/planted``. It plants each fault in a copy of the project, and runs its tests.

It takes minutes for each fault in src/, which is compiled, and an environment with what CONTRIBUTING.md installs for
the build and the tests.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from planted import ROOT, load

# An editable install would be imported before PYTHONPATH; its hook begins in each process before this runs.
SITE = """import sys
sys.meta_path = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable_")]
"""
# What is compiled for a fault in a folder of src/, except for CPUs without AVX2.
MODULES = {"gather": ["gather"], "prepared": ["gather"], "scatter": ["scatter"], "segments": ["segments"]}
MODULES["pytorch"] = ["torch_tensors"]
MODULES["common"] = ["common", "torch_tensors", "gather", "scatter", "segments"]
FLAGS = [f"-Ccmake.define.CMAKE_{language}_FLAGS_RELEASE=-O1" for language in ("C", "CXX")]  # sooner compiled


def sources():
    """What the package is built from: the bytes of each file, by its path."""
    paths = [path for folder in ("python", "src") for path in (ROOT / folder).rglob("*")]
    paths += [*map(ROOT.joinpath, ("CMakeLists.txt", "pyproject.toml", "README.md")), *ROOT.glob("LICENSE*")]
    skipped = (".so", ".pyd", ".pyc")
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in sorted(paths)
        if path.is_file() and path.suffix not in skipped
    }


def write(folder, files):
    """Write what differs, so that only that is compiled anew."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)


def built(work, fault=None):
    """The folder of an installed copy. One that is there from a run before is used again."""
    files = sources()
    folder = work / "copies" / (fault.name if fault else "unplanted")
    if fault:
        files[fault.file] = fault.planted(files[fault.file].decode()).encode()
    key = hashlib.sha256(repr(files).encode()).hexdigest()
    stamp = folder / "sources.sha256"
    if stamp.exists() and stamp.read_text() == key:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    if fault:
        shutil.copytree(built(work), folder, ignore=shutil.ignore_patterns("__pycache__"))
    if fault is None:
        write(work / "project", files)
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", *FLAGS]
        command += [f"-Cbuild-dir={work / 'build'}", "--target", str(folder), str(work / "project")]
        subprocess.run(command, check=True)
    elif fault.file.startswith("src/"):
        write(work / "project", files)
        modules = MODULES[Path(fault.file).parts[1]]
        command = ["cmake", "--build", work / "build", "--target", *modules]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for name in (module + sysconfig.get_config_var("EXT_SUFFIX") for module in modules):
            shutil.copy(work / "build" / name, folder / "gatherscatter" / "_kernels" / name)
    else:
        write(folder, {fault.file.removeprefix("python/"): files[fault.file]})
    stamp.write_text(key)
    return folder


def run(work, folder, checkout, tests):
    """Run tests of a checkout on a copy. pytest's exit code, and which test failed or how else it ended."""
    write(work / "site", {"sitecustomize.py": SITE.encode()})
    paths = [str(folder), str(work / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}

    def python(*arguments):
        return subprocess.run(
            [sys.executable, *arguments], env=environment, cwd=checkout, text=True, capture_output=True
        )

    imported = python("-c", "import gatherscatter; print(gatherscatter.__file__)").stdout.strip()
    if imported and not Path(imported).is_relative_to(folder):
        raise SystemExit(f"{imported} is imported, and not the copy in {folder}")
    ended = python("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ended.stdout, re.M)
    if ended.returncode == 1 and found:
        return 1, found[1]
    return ended.returncode, "\n".join((ended.stdout + ended.stderr).splitlines()[-8:])


def main():
    faults = {fault.name: fault for fault in load()}
    parser = argparse.ArgumentParser("python tests/faults/planted", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"faults; all by default: {', '.join(faults)}")
    parser.add_argument("--tests", type=Path, default=ROOT, help="a checkout whose tests to run, instead of this one's")
    parser.add_argument("--work", type=Path, help="a folder in which copies are kept for the next run")
    options = parser.parse_args()
    chosen = [fault for fault in faults.values() if not options.names or fault.name in options.names]
    unknown = set(options.names) - set(faults)
    if unknown:
        parser.error(f"no such faults: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        work, checkout, unseen = (options.work or Path(temporary)).resolve(), options.tests.resolve(), []
        code, text = run(work, built(work), checkout, sorted({test for fault in chosen for test in fault.tests}))
        if code:
            raise SystemExit(f"without a fault, the tests fail:\n{text}")
        for fault in chosen:
            code, text = run(work, built(work, fault), checkout, fault.tests)
            print(f"seen      {fault.name}: {text}" if code == 1 else f"NOT SEEN  {fault.name}\n{text}", flush=True)
            unseen += [fault.name] if code != 1 else []
    sys.exit(f"NOT SEEN: {', '.join(unseen)}" if unseen else 0)
