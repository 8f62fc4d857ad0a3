"""Count the instructions of small calls with valgrind: a number that does not depend on the load of the machine.

    python benchmarks/instructions.py [--calls N] [--write FOLDER]

Needs valgrind (Linux). This script runs itself under callgrind once; there, each statement below runs in a loop of its
own, 0 times and N times, on one thread. callgrind is told to close its account whenever the C function getppid is
called, which the loops call between them, so each loop has an account. A statement's figure is the difference of
the two over N: start-up, first calls and the accounts' own cost are in neither. The loop itself is the first row.
"""

import argparse
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# What is counted, and NumPy's spelling of the same beside it.
STATEMENTS = [
    ("the empty loop", "pass", None),
    ("gather: 10 rows of (8, 8)", "gs.gather(square, rows)", "np.take(square, rows, axis=0)"),
    ("gather_nd: 10 pairs of (8, 8)", "gs.gather_nd(square, pairs)", "square[pairs[:, 0], pairs[:, 1]]"),
    ("gather_elements: (8, 8), axis=1", "gs.gather_elements(square, columns, axis=1)",
     "np.take_along_axis(square, columns, axis=1)"),
    ("scatter none: 10 rows into (8, 8)", "gs.scatter(square, rows, ten_rows)",
     "new = square.copy(); new[rows] = ten_rows"),
    ("scatter add: 10 rows into (8, 8)", 'gs.scatter(square, rows, ten_rows, reduction="add")',
     "new = square.copy(); np.add.at(new, rows, ten_rows)"),
    ("scatter_nd none: 10 pairs into (8, 8)", "gs.scatter_nd(square, pairs, ten)",
     "new = square.copy(); new[pairs[:, 0], pairs[:, 1]] = ten"),
    ("scatter_nd add: 10 pairs into (8, 8)", 'gs.scatter_nd(square, pairs, ten, reduction="add")',
     "new = square.copy(); np.add.at(new, (pairs[:, 0], pairs[:, 1]), ten)"),
    ("scatter_elements none: (8, 8), axis=1", "gs.scatter_elements(square, columns, values, axis=1)",
     "new = square.copy(); np.put_along_axis(new, columns, values, axis=1)"),
    ("scatter_elements add: (8, 8), axis=1", 'gs.scatter_elements(square, columns, values, axis=1, reduction="add")',
     "new = square.copy(); np.add.at(new, (numbers, columns), values)"),
]  # fmt: skip
CODES = [code for _, *codes in STATEMENTS for code in codes if code]


def run(calls):
    """What runs under callgrind: four accounts a statement, of which the second and the fourth are the loops'."""
    import gatherscatter as gs
    import numpy as np

    gs.set_num_threads(1)
    rng = np.random.default_rng(0)
    names = {
        "gs": gs,
        "np": np,
        "square": rng.random((8, 8), np.float32),
        "rows": rng.integers(0, 8, 10),
        "pairs": rng.integers(0, 8, (10, 2)),
        "columns": rng.integers(0, 8, (8, 8)),
        "numbers": np.arange(8)[:, None],
        "ten": rng.random(10, np.float32),
        "ten_rows": rng.random((10, 8), np.float32),
        "values": rng.random((8, 8), np.float32),
    }
    gc.disable()  # a collection belongs to nobody's call
    account = os.getppid
    for code in CODES:
        exec(f"def loop(n):\n for _ in range(n):\n  {code}", names)
        loop = names["loop"]
        loop(calls)  # first calls fill caches, and the interpreter adapts its code to what it sees
        for n in (0, calls):
            account()
            loop(n)
            account()


def counted(calls):
    """Instructions per run of each of CODES."""
    with tempfile.TemporaryDirectory() as folder:
        accounts = Path(folder, "callgrind")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={accounts}", "--dump-before=getppid"]
        command += [sys.executable, __file__, "--run", "--calls", str(calls)]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"valgrind ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        # An account's file has the number of the call that closed it; what follows the last call is no loop's.
        totals = [
            int(re.search(r"^totals: (\d+)", Path(f"{accounts}.{i}").read_text(), re.MULTILINE)[1])
            for i in range(1, 4 * len(CODES) + 1)
        ]
    empty, full = totals[1::4], totals[3::4]
    return {code: (b - a) / calls for code, a, b in zip(CODES, empty, full, strict=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000, metavar="N", help="of each statement; default 1000")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="where to put instructions.json and .md")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.calls)
        return
    if not shutil.which("valgrind"):
        raise SystemExit("instructions.py counts with valgrind, which is not installed (apt install valgrind)")

    from measure import about, paragraph, show, table

    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    found = counted(options.calls)
    rows = []
    for name, ours, theirs in STATEMENTS:
        numpys = [f"{found[theirs] / found[ours]:.2f}", f"{found[theirs]:,.0f}"] if theirs else ["–"] * 2
        rows.append([name, numpys[0], f"{found[ours]:,.0f}", numpys[1]])
    text = table(["call", "ratio", "gatherscatter", "NumPy"], rows)
    versions = about(["gatherscatter", "numpy"], valgrind, f"{options.calls} calls, 1 thread")
    record = {"about": versions, "calls": options.calls, "instructions": found}
    show(f"{paragraph(versions)}\n\n{text}\n", options.write, "instructions", record)


if __name__ == "__main__":
    main()
