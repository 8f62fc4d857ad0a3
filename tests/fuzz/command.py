"""The command: ``python tests/fuzz --calls 1000000 --seed 0 --jobs 2 --state fuzz.json``."""

import argparse
import json
from pathlib import Path

from tqdm import tqdm

from fuzz import calls, workers


def arguments(given=None):
    parser = argparse.ArgumentParser(
        "python tests/fuzz",
        description="Draws calls on NumPy arrays, and compares each with the reference.",
    )
    add = parser.add_argument
    add("--calls", type=int, default=10_000, help="how many to run: numbers 0 to CALLS - 1 of the seed")
    add("--seed", type=int, default=0)
    add("--stage", choices=workers.STAGES, default="indices", help="the functions with indices, or those of segments")
    add("--jobs", type=int, default=1, help="worker processes")
    add("--state", type=Path, help="a file in which the run notes what is done, and from which it is resumed")
    add("--only", type=int, metavar="NUMBER", help="print one call as code, and run it in this process")
    add("--max-threads", type=int, default=calls.TEAMS[-1], help="the largest team of threads")
    add("--max-failures", type=int, default=20, help="how many end the run")
    return parser.parse_args(given)


class State:
    """Which calls are left: the chunks that were begun but not done, and all from `next` on."""

    def __init__(self, options):
        self.path, self.calls = options.state, options.calls
        self.run = {"seed": options.seed, "max_threads": options.max_threads, "stage": options.stage}
        self.next, self.begun, self.failures = 0, [], {}
        if self.path and self.path.exists():
            noted = json.loads(self.path.read_text(encoding="utf-8"))
            if noted["run"] != self.run:
                raise SystemExit(f"{self.path} is of a run with {noted['run']}; pass these, or another --state")
            self.next, self.failures = noted["next"], {int(number): what for number, what in noted["failures"].items()}
            self.begun = [tuple(chunk) for chunk in noted["begun"]]
        self.left = list(self.begun)

    @property
    def done(self):
        return self.next - sum(last - first for first, last in self.begun)

    def chunks(self):
        yield from self.left
        while self.next < self.calls:
            chunk = self.next, min(self.next + workers.CHUNK, self.calls)
            self.next = chunk[1]
            self.begun.append(chunk)
            yield chunk

    def note(self, chunk, failures):
        first, last = chunk
        begun = next(one for one in self.begun if one[0] <= first < one[1])
        self.begun.remove(begun)
        if last < begun[1]:
            self.begun.append((last, begun[1]))
        self.failures |= {failure.number: failure.what for failure in failures}
        self.write()

    def write(self):
        if self.path:
            noted = {"run": self.run, "next": self.next, "begun": self.begun, "failures": self.failures}
            beside = self.path.with_name(f"{self.path.name}.new")
            beside.write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
            beside.replace(self.path)


def main(given=None):
    options = arguments(given)
    if options.only is not None:
        draw, _ = workers.STAGES[options.stage]
        print(draw(options.seed, options.only, options.max_threads).source(), flush=True)
        failure = workers.attempt(options.seed, options.only, options.max_threads, options.stage)
        print(failure.what if failure else "as in the reference")
        return bool(failure)
    state = State(options)
    for number, what in state.failures.items():
        print(f"known from before: call {number}: {what.splitlines()[0]}")
    progress = tqdm(total=options.calls, initial=state.done, unit="call", smoothing=0.01, mininterval=1)
    try:
        found = workers.run(options.seed, options.max_threads, options.jobs, state.chunks(), options.stage)
        for chunk, failures in found:
            state.note(chunk, failures)
            progress.update(chunk[1] - chunk[0])
            for failure in failures:
                progress.write(failure.report(options.seed, options.max_threads))
            if len(state.failures) >= options.max_failures:
                progress.write(f"{len(state.failures)} failures: the run ends")
                break
    except KeyboardInterrupt:
        progress.write("interrupted" + ("; the same command goes on" if state.path else ""))
        return 130
    finally:
        progress.close()
        state.write()
    print(f"{state.done} calls of seed {options.seed}, {len(state.failures)} failures")
    return bool(state.failures)
