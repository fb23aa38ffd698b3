"""Child processes that are forked with all modules loaded, so that a trial takes little time. A
command in a child handles signals and streams as in a new process."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from torture._attack import Broken
from torture._limits import WALL_FACTOR

POLL = 0.002  # wall seconds between checks of a child
_FAULT = 70  # exit code of a child whose action raises an exception


@final
@dataclass(frozen=True)
class Ended:
    """Exit code of a process, minus the number of a signal that killed it, and its output."""

    code: int
    out: str
    err: str


@final
class Child:
    """A forked process that runs `action` and exits with its result.

    Parameters
    ----------
    action
        function that returns an exit code.
    folder
        folder for files with the standard output and the standard error of the child.
    seconds
        seconds of CPU after which the child counts as a hang.
    setup
        function that is called before the action, such as one that sets a limit.
    """

    def __init__(
        self,
        action: Callable[[], int],
        folder: Path,
        seconds: float,
        setup: Callable[[], object] | None = None,
    ):
        self._files, self._seconds = [folder / "stdout", folder / "stderr"], seconds
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _run(action, self._files, seconds, setup)

    def cpu(self) -> float:
        """Return the CPU seconds that the child has used."""
        try:
            return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) * 1e-9
        except (OSError, IndexError):
            return self._seconds

    def has_ended(self) -> bool:
        """Return whether the child has ended; its exit code is still available."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def run_until(self, is_reached: Callable[[], bool]) -> None:
        """Wait until the child has ended or `is_reached()`."""
        while not self.has_ended() and not is_reached():
            time.sleep(POLL)

    def kill(self, number: int) -> None:
        """Send a signal, unless the child has ended."""
        os.kill(self.pid, number)

    def end(self) -> Ended:
        """Wait for the end of the child. Raise `Broken` if it hangs or is blocked."""
        limit = time.monotonic() + WALL_FACTOR * self._seconds
        self.run_until(lambda: time.monotonic() > limit)
        if not self.has_ended():
            self.kill(signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        out, err = (file.read_bytes().decode(errors="replace") for file in self._files)
        if code == -signal.SIGXCPU or time.monotonic() > limit:
            raise Broken(f"a process did not end: {err[-200:]}")
        if code == _FAULT:
            raise Broken(err[-500:])
        return Ended(code, out, err)


def default_signals() -> None:
    """Handle signals as a new process in a terminal does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)


def limit_cpu(seconds: float) -> None:
    """End this process with SIGXCPU after these seconds of CPU."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))


def _run(
    action: Callable[[], int], files: list[Path], seconds: float, setup: Callable[[], object] | None
) -> None:
    code = _FAULT
    try:
        for number, file in enumerate(files, start=1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        limit_cpu(seconds)
        default_signals()
        if setup is not None:
            setup()
        code = action()
        if sys.stdout is not None:  # closed by the attack
            sys.stdout.flush()
    except BaseException as error:
        import traceback

        traceback.print_exception(error, file=sys.__stderr__)
    finally:
        os._exit(code)
