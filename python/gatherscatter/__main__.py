"""`python -m gatherscatter`: the configuration and a self-check, to paste into a bug report."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from gatherscatter.config import show_config


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m gatherscatter", description=__doc__)
    parser.add_argument("--no-check", action="store_true", help="print the configuration alone")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    text = not options.json
    if text:
        show_config()
    found: dict[str, Any] = {"configuration": show_config("dicts")}
    failed = False
    if not options.no_check:
        from gatherscatter import self_check  # imported only if needed

        if text:
            print(f"\nself-check, seed {self_check.SEED}")
        outcome = self_check.run(print if text else _silent, _bar if text else _plain)
        failed = bool(outcome.failures)
        if text:
            if failed:
                first = outcome.failures[0]
                print(f"\nfirst failure, {first.function} on {first.library}: {first.what}\n{first.how}")
            print(f"\n{outcome.verdict}")
        failures = [failure._asdict() for failure in outcome.failures]
        found |= {"seed": self_check.SEED, "checks": outcome.n_checks, "failures": failures, "verdict": outcome.verdict}
    if options.json:
        print(json.dumps(found, indent=2))
    return int(failed)


def _silent(line: str) -> None:
    pass


def _plain(checks: Sequence[Any], name: str) -> Sequence[Any]:
    return checks


def _bar(checks: Sequence[Any], name: str) -> Any:
    """A progress bar, if the output is a terminal and tqdm is installed."""
    if not sys.stdout.isatty():
        return checks
    try:
        from tqdm import tqdm
    except ImportError:
        return checks
    return tqdm(checks, desc=name, leave=False)


def _main() -> int:
    """Call `main`. Exit without a traceback if the reader of the output, such as `head`, closes the pipe."""
    try:
        status = main()
        sys.stdout.flush()  # here, so that the error is caught
    except BrokenPipeError:
        # Discard the rest of the buffer, which Python flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(_main())
