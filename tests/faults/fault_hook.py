"""Subprocesses in which selected calls of the C library fail, and the faults that each of them found."""

import ctypes
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from libraries import needs

HERE = Path(__file__).parent
COMPILER = next((found for found in map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")) if found), None)
HAS_HOOK = COMPILER is not None and platform.libc_ver()[0] == "glibc"
FOREVER = 2**62
LAST_LINES = 12


def hooked(test):
    """Mark a test that compiles the hook."""
    marks = (pytest.mark.compiler, needs(HAS_HOOK, "the hook needs glibc and a C compiler"))
    for mark in marks:
        test = mark(test)
    return test


@cache
def hook_path():
    """The compiled hook; its folder goes when the tests end."""
    import atexit

    folder = Path(mkdtemp(prefix="gatherscatter-faults-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"fault_hook{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}"
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-Wall", "-o", path, HERE / "fault_hook.c", "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return path


def run_python(*arguments, preload=False, timeout=300, limits=(), quiet=False, **environment):
    """Run a script of this folder, or `-c` and code, in a new process. It imports what the tests here import."""
    paths = os.pathsep.join([str(HERE.parent), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"OMP_WAIT_POLICY": "passive"} | os.environ | {"PYTHONPATH": paths} | environment
    if preload:
        environment["LD_PRELOAD"] = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(hook_path())]))
    if arguments[0] != "-c":
        arguments = (str(HERE / arguments[0]), *arguments[1:])
    command = [sys.executable, "-X", "faulthandler", *(["-W", "ignore"] if quiet else []), *arguments]

    def set_limits():
        import resource

        for name, value in limits:
            resource.setrlimit(getattr(resource, name), (value, value))

    before = set_limits if limits else None
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, preexec_fn=before
        )
    except subprocess.TimeoutExpired as error:
        texts = [(text or b"").decode(errors="replace") for text in (error.stdout, error.stderr)]
        return subprocess.CompletedProcess(command, "hangs", *texts)


def how_it_ended(run):
    """None if a process ended normally, else a text that describes how it ended."""
    if run.returncode == 0:
        return None
    code = run.returncode
    if isinstance(code, int) and code < 0:
        code = signal.Signals(-code).name
    return "\n".join([f"ended by {code}:", *run.stderr.splitlines()[-LAST_LINES:]])


def run_cases(script, *arguments, **options):
    """Run all cases of a script, which prints one line of JSON before each, and return the faults.

    A line has the case's number, what it is, and what was wrong with the case before, if anything. A case that ends the
    process is a fault; the next process goes on behind it.
    """
    faults, start, trials = [], 0, 0
    while True:
        run = run_python(script, *arguments, str(start), **options)
        lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        faults += [line["fault"] for line in lines if line.get("fault")]
        trials += sum("trial" in line for line in lines)
        if how_it_ended(run) is None:
            return faults, trials
        where = next((line for line in reversed(lines) if "case" in line), None)
        if where is None:
            return [*faults, how_it_ended(run)], trials
        faults.append(f"{where['what']} {where.get('trial', '')}: {how_it_ended(run)}")
        start = where["case"] + 1


class Hook:
    """The preloaded hook of this process."""

    def __init__(self):
        library = ctypes.PyDLL(None)
        self.arm, self.disarm, self.count = library.fault_arm, library.fault_disarm, library.fault_count
        self.allow_threads = library.fault_allow_threads
        self.arm.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_char_p]
        self.arm.restype, self.disarm.restype, self.count.restype = None, ctypes.c_long, ctypes.c_long
        self.allow_threads.argtypes, self.allow_threads.restype = [ctypes.c_long], None
        self._culprit = library.fault_culprit
        self._culprit.restype = ctypes.c_char_p

    def culprit(self):
        return Path(self._culprit().decode()).name
