"""`run`: the records of jobs, read from their files or computed."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from orthoreg import InputError, OrthoregError
from orthoreg._common.parallel import has_cluster

from ._cluster import execute_on_cluster
from ._display import display
from ._encoding import Record
from ._job import Failure, Job
from ._pool import execute, execute_in_processes
from ._results import read_result


class SweepError(OrthoregError, RuntimeError):
    """Jobs that failed, in `failures`. All other jobs finished, and their results are kept."""

    def __init__(self, message: str, failures: tuple[Failure, ...] = ()) -> None:
        super().__init__(message)
        self.failures = failures


def run(
    jobs: Iterable[Job], folder: str | os.PathLike[str], *, workers: int = 1
) -> list[list[Record]]:
    """Return the rows of each job, in the given order.

    A job with a complete file in the folder is read. The others run in `workers` processes of one
    thread each, and write a file when they end. An interrupted sweep can therefore be resumed, and
    results do not depend on the number of workers or the order of completion. Within
    `og.cluster(...)`, jobs run on the cluster. With `workers=0`, jobs run in this process, for
    debugging, with all threads of its libraries, which may change the last digits.

    If jobs fail, the others still finish; `SweepError` then names the failed jobs.
    """
    jobs = _checked(jobs)
    if workers < 0:
        raise InputError(f"run(workers=...) must be at least 0; got {workers}.")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(
            f"run(folder='{folder}') is a file or inside a file; give a folder."
        ) from None
    distinct = {job.digest: job for job in jobs}
    pending = [job for job in distinct.values() if read_result(job, folder) is None]
    failures = _execute(pending, folder, workers, len(distinct)) if pending else []
    if failures:
        raise _error(failures, len(distinct), folder)
    return load_records(folder, jobs)


def load_records(folder: str | os.PathLike[str], jobs: Iterable[Job]) -> list[list[Record]]:
    """Return the rows of each job, in the given order. All jobs must have run."""
    found = [(job, read_result(job, Path(folder))) for job in _checked(jobs)]
    missing = [job for job, rows in found if rows is None]
    if missing:
        raise InputError(
            f"'{folder}' lacks the results of {len(missing)} of {len(found)} jobs, among them "
            f"{missing[0].name}. Run them first."
        )
    return [rows for _, rows in found if rows is not None]


def _execute(jobs: Sequence[Job], folder: Path, workers: int, total: int) -> list[Failure]:
    folder = folder.absolute()  # other processes may have another working directory
    if workers == 0:
        outcomes = [execute(job, folder, quiet=False) for job in jobs]
        return [failure for failure in outcomes if failure]
    before = total - len(jobs)
    if has_cluster():
        with display(total) as show:
            return execute_on_cluster(
                jobs, folder, show=lambda done, running: show(before + done, running)
            )
    with display(total) as show:
        return execute_in_processes(
            jobs,
            folder,
            workers=workers,
            show=lambda done, running: show(before + done, running),
            quiet=sys.stderr.isatty(),
        )


def _error(failures: Sequence[Failure], total: int, folder: Path) -> SweepError:
    """Return an error with one sentence for each of the first failures, and tracebacks as notes."""
    max_shown = 3
    lines = [
        f"{failure.job.name} ({failure.job.digest[:12]}): {failure.cause}"
        for failure in failures[:max_shown]
    ]
    if len(failures) > max_shown:
        lines.append(f"and {len(failures) - max_shown} more.")
    kept = f"the results of the others are kept in '{folder}'."
    error = SweepError(
        f"{len(failures)} of {total} jobs failed; {kept}\n  " + "\n  ".join(lines),
        tuple(failures),
    )
    for failure in failures[:max_shown]:
        if failure.details:
            error.add_note(f"{failure.job.name}:\n{failure.details.rstrip()}")
    return error


def _checked(jobs: Iterable[Job]) -> list[Job]:
    jobs = list(jobs)
    for job in jobs:
        if not isinstance(job, Job):
            raise InputError(f"Each of the jobs must be a Job; got {type(job).__name__}.")
    return jobs
