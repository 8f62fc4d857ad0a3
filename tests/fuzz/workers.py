"""Worker processes that run calls by number; handles workers that die, hang or find a difference."""

import contextlib
import multiprocessing
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import wait

from fuzz import calls, check, segments

SPAWN = multiprocessing.get_context("spawn")  # forked processes have no OpenMP threads
CHUNK = 2 * calls.RUN
PATIENCE = 300  # seconds for a call
STAGES = {"indices": (calls.draw, check.run), "segments": (segments.draw, segments.run)}


@dataclass
class Failure:
    number: int
    what: str
    stage: str = "indices"

    def report(self, seed, max_team):
        """The failing call as code, and what came of it."""
        try:
            source = STAGES[self.stage][0](seed, self.number, max_team).source()
        except Exception as error:  # the fuzzer's own
            source = f"# the call cannot be drawn: {error!r}\n"
        what = "".join(f"# {line}\n" for line in self.what.splitlines())
        return f"\n# ---- call {self.number} of seed {seed}\n{source}{what}"


def attempt(seed, number, max_team, stage="indices"):
    """Run a call; a Failure, or None."""
    draw, run = STAGES[stage]
    unraisable, hook = [], sys.unraisablehook
    sys.unraisablehook = lambda found: unraisable.append(repr(found.exc_value))
    try:
        run(draw(seed, number, max_team))
        if unraisable:  # Cython prints what a function that cannot raise raised
            return Failure(number, f"an exception was ignored: {unraisable[0]}", stage)
    except check.Difference as difference:
        return Failure(number, str(difference), stage)
    except Exception as error:  # of the fuzzer or the reference
        return Failure(number, f"the fuzzer failed: {type(error).__name__}: {error}", stage)
    finally:
        sys.unraisablehook = hook
    return None


def work(pipe, current, *drawn):
    """In a worker: take (first, behind the last), say which call it is at, send the failures."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
    while True:
        first, last = pipe.recv()
        failures = []
        for number in range(first, last):
            current.value = number
            failure = attempt(drawn[0], number, *drawn[1:])
            if failure:
                failures.append(failure)
        pipe.send(failures)


class Worker:
    work = staticmethod(work)

    def __init__(self, *drawn):
        self.arguments = drawn
        self.chunk = None
        self.start()

    def start(self):
        self.pipe, theirs = SPAWN.Pipe()
        self.current = SPAWN.Value("q", -1, lock=False)
        self.process = SPAWN.Process(target=self.work, args=(theirs, self.current, *self.arguments), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, first, last):
        self.chunk = first, last
        self.current.value = first
        self.last_seen = first, time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # found dead by `finished`
            self.pipe.send(self.chunk)

    def hangs(self):
        if self.current.value != self.last_seen[0]:
            self.last_seen = self.current.value, time.monotonic()
        return time.monotonic() - self.last_seen[1] > PATIENCE

    def died(self, what):
        """The failure of the call that it was at, and a new process, which goes on behind that call."""
        self.process.kill()
        self.process.join()
        number, (_, last) = self.current.value, self.chunk
        self.start()
        self.chunk = None
        return [Failure(number, what, self.arguments[2])], (number + 1, last)

    def stop(self):
        self.process.kill()
        self.process.join()


def run(seed, max_team, n_workers, chunks, stage="indices"):
    """Yield (chunk, failures, rest of the chunk or None) as they are done. chunks: an iterator of (first, last)."""
    workers = [Worker(seed, max_team, stage) for _ in range(n_workers)]
    try:
        rests = []
        while True:
            for worker in workers:
                if worker.chunk is None:
                    chunk = rests.pop() if rests else next(chunks, None)
                    if chunk:
                        worker.give(*chunk)
            busy = [worker for worker in workers if worker.chunk]
            if not busy:
                return
            wait([worker.pipe for worker in busy], timeout=1)
            for worker in busy:
                chunk, rest, failures = worker.chunk, None, None
                if worker.pipe.poll():
                    try:
                        failures = worker.pipe.recv()
                        worker.chunk = None
                    except (EOFError, ConnectionError):
                        worker.process.join()
                        failures, rest = worker.died(f"the process ended with code {worker.process.exitcode}")
                elif worker.hangs():
                    failures, rest = worker.died(f"no result after {PATIENCE} seconds")
                if failures is not None:
                    if rest and rest[0] < rest[1]:
                        rests.append(rest)
                        chunk = chunk[0], rest[0]
                    yield chunk, failures
    finally:
        for worker in workers:
            worker.stop()
