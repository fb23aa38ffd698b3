"""Jobs in processes with one thread each, so that results do not depend on cores or other jobs.

joblib, the usual choice, is not used. With joblib 1.6 (loky), a worker that dies fails every
unfinished job without naming the job at fault; workers outlive a killed parent and continue with
its jobs; and running jobs cannot be shown.
"""

import io
import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, redirect_stderr
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, final

from ._display import Show
from ._job import Failure, Job
from ._results import write_result

# read when a library is loaded; the last two by XLA, whose sums depend on its threads
ONE_THREAD: dict[str, str] = dict.fromkeys(
    (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NPROC", "PJRT_NPROC",
    ),
    "1",
)  # fmt: skip
_STARTING = threading.Lock()


def execute(job: Job, folder: Path, quiet: bool) -> Failure | None:
    """Run a job and write its file. With `quiet`, error output is shown only if the job fails."""
    printed = io.StringIO()
    try:
        with redirect_stderr(printed) if quiet else nullcontext():
            write_result(job, job.function(job.spec), folder)
    except (Exception, SystemExit) as error:
        cause = f"{type(error).__name__}: {error}"
        return Failure(job=job, cause=cause, details=printed.getvalue() + traceback.format_exc())
    return None


def execute_in_processes(
    jobs: Sequence[Job], folder: Path, *, workers: int, show: Show, quiet: bool
) -> list[Failure]:
    """Run all jobs, the most expensive first, and return the failures.

    Each worker is a separate pool, so that a process that dies fails only its own job.
    """
    waiting = deque(sorted(jobs, key=lambda job: -job.cost))
    spawn = _Spawn()
    executors: list[ProcessPoolExecutor] = []
    idle: list[ProcessPoolExecutor] = []
    running: dict[Future[Failure | None], tuple[Job, ProcessPoolExecutor]] = {}
    failures: list[Failure] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                if idle:
                    executor = idle.pop()
                else:
                    executor = ProcessPoolExecutor(
                        1, mp_context=spawn, initializer=_die_with_parent
                    )
                    executors.append(executor)
                try:
                    future = executor.submit(execute, waiting[0], folder, quiet)
                except BrokenProcessPool:  # the process died while idle
                    continue
                running[future] = waiting.popleft(), executor
            names = {job.digest: job.name for job, _ in running.values()}
            show(len(jobs) - len(waiting) - len(running), names)
            # waiting without a time limit would delay an interrupt
            for future in wait(running, timeout=1.0, return_when=FIRST_COMPLETED).done:
                job, executor = running.pop(future)
                failure, alive = _outcome(future, job)
                failures += [failure] if failure else []
                idle += [executor] if alive else []
    except BaseException:
        spawn.terminate()
        raise
    finally:
        for executor in executors:
            executor.shutdown(cancel_futures=True)
    order = [job.digest for job in jobs]
    return sorted(failures, key=lambda failure: order.index(failure.job.digest))


def _outcome(future: Future[Failure | None], job: Job) -> tuple[Failure | None, bool]:
    """Return how a job failed (None if it did not), and whether its process can run another job."""
    try:
        return future.result(), True
    except BrokenProcessPool:
        cause = (
            "its process ended without an answer: it was killed, ran out of memory, or could not "
            "start (a script that starts workers needs `if __name__ == '__main__':`)."
        )
        return Failure(job=job, cause=cause), False
    except Exception as error:  # the job could not be sent
        return Failure(job=job, cause=f"{type(error).__name__}: {error}"), True


@final
class _Process(SpawnProcess):
    """A process with one thread for each library, which ignores Ctrl-C."""

    def start(self) -> None:
        with _STARTING, _one_thread(), _interrupts_held():
            super().start()


@final
class _Spawn(SpawnContext):
    """Starts processes that do not share memory with this process, and can terminate them."""

    def __init__(self) -> None:
        self.processes: list[_Process] = []

    def Process(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, **kwargs: Any
    ) -> _Process:
        process = _Process(**kwargs)
        self.processes.append(process)
        return process

    def terminate(self) -> None:
        for process in self.processes:
            if process.pid is not None:
                process.terminate()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Set the environment that a child inherits while it is started."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C in child processes while they start: this process handles it and ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_with_parent() -> None:
    """End this process if its parent is killed, because nothing else would notify it."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
