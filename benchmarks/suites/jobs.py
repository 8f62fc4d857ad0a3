"""Common tasks: the calls of gatherscatter in each job of benchmarks/jobs.py."""

import sys
from pathlib import Path

import gatherscatter as gs
import numpy as np

from .common import timed

# asv imports this folder alone; the jobs lie beside it, for benchmarks/jobs.py.
sys.path.insert(0, str(Path(__file__).parents[1]))

import jobs_images  # noqa: F401  (they fill JOBS)
import jobs_numpy  # noqa: F401
import jobs_others  # noqa: F401
from jobs_common import JOBS


@timed
class Job:
    params = (list(JOBS),)
    param_names = ("job",)

    def setup(self, job):
        gs.set_num_threads(None)
        self.call = JOBS[job].ours(np.random.default_rng(0))
        if self.call is None:
            raise NotImplementedError("its library is not installed")
        self.call()  # libraries compile at the first

    def time_job(self, job):
        self.call()
