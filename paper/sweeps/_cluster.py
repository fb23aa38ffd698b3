"""Jobs on a Dask cluster. Their rows are returned, and their files are written locally."""

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orthoreg._common.parallel import as_completed

from ._display import Show
from ._job import Failure, Job
from ._results import write_result


def execute_on_cluster(jobs: Sequence[Job], folder: Path, *, show: Show) -> list[Failure]:
    """Run all jobs, the most expensive first, and return the failures."""
    order = sorted(jobs, key=lambda job: -job.cost)
    left = {job.digest: job.name for job in order}
    failures: list[Failure] = []
    show(0, left)
    for done, (number, found) in enumerate(as_completed(_rows_of, order)):
        job = order[number]
        if isinstance(found, Exception):  # an error of the worker, not of the job
            found = Failure(job=job, cause=f"its workers ended without an answer: {found}")
        if isinstance(found, Failure):
            failures.append(found)
        else:
            write_result(job, found, folder)
        del left[job.digest]
        show(done + 1, left)
    place = [job.digest for job in jobs]
    return sorted(failures, key=lambda failure: place.index(failure.job.digest))


def _rows_of(job: Job) -> Any:
    try:
        return job.function(job.spec)
    except (Exception, SystemExit) as error:
        cause = f"{type(error).__name__}: {error}"
        return Failure(job=job, cause=cause, details=traceback.format_exc())
