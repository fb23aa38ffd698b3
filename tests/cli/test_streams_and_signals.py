"""Standard streams with any encoding, closed or full, and signals."""

import io
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import orthoreg as og
import orthoreg.data
from orthoreg.cli import exit_code, run
from orthoreg.cli._process import Stopped

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals and shells")
ORTHOREG = f"{sys.executable} -m orthoreg"


@pytest.fixture(autouse=True)
def default_signals():
    """Handle signals as in a terminal, although a shell starts background jobs without SIGINT, and
    `nohup` commands without SIGHUP."""
    kept = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGHUP: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    }
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model whose names and equations are not ASCII."""
    t = np.linspace(0, 10, 101)
    path = tmp_path_factory.mktemp("streams") / "m.orthoreg"
    data = og.Dataset.from_arrays(np.exp(-0.3 * t)[:, None], t, names=["θ"])
    og.OrthoReg(library=og.Polynomial(1), augmentation=og.Zero()).fit(data).save(path)
    return path


def shell(command: str, **variables: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a command line."""
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, env=os.environ | variables, timeout=120
    )
    return done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-16"])
def test_characters_that_an_encoding_lacks_are_escaped(model, encoding, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    assert run(["show", str(model)]) == 0
    theta = "θ" if encoding == "utf-16" else "\\u03b8"
    assert f"{theta}' = -0.3000 {theta}" in written.getvalue().decode(encoding)


def test_errors_are_escaped_too(model):
    code, _, errors = shell(f"{ORTHOREG} show θ.orthoreg", PYTHONIOENCODING="ascii")
    assert code == 2 and errors.startswith("error: There is no model file '\\u03b8.orthoreg'")


def test_without_a_utf8_locale_a_model_is_shown(model):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, output, errors = shell(f"{ORTHOREG} show {model}", **plain)
    assert (code, errors) == (0, "") and "\\u03b8' = -0.3000 \\u03b8" in output


@pytest.mark.parametrize("options", ["", " --json"])
def test_closed_output_is_no_error(model, options):
    assert shell(f"{ORTHOREG} show {model}{options} >&-") == (0, "", "")


def test_closed_errors_keep_the_exit_code():
    assert shell(f"{ORTHOREG} show nothing 2>&-") == (2, "", "")


@pytest.mark.parametrize(
    "arguments", ["show MODEL", "show MODEL --json", "--version", "fit --help"]
)
def test_a_reader_that_ends_early_is_no_failure(model, arguments):
    arguments = arguments.replace("MODEL", str(model))
    code, _, errors = shell(f"{ORTHOREG} {arguments} | true; exit ${{PIPESTATUS[0]}}")
    assert (code, errors) == (128 + signal.SIGPIPE, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", ["show MODEL", "show MODEL --json", "--version", "--help"])
def test_a_full_disk_is_named(model, arguments):
    arguments = arguments.replace("MODEL", str(model))
    code, _, errors = shell(f"{ORTHOREG} {arguments} >/dev/full")
    assert code == 2 and errors == "error: No space left on device: 'standard output'.\n"


def test_streams_are_restored(model, capsys):
    before = sys.stdout, sys.stderr
    assert run(["show", str(model)]) == 0
    assert (sys.stdout, sys.stderr) == before and "θ' = -0.3000 θ" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_stops_a_command_in_one_sentence(name, capsys):
    number = getattr(signal, name)
    before = signal.getsignal(number)

    def command():
        os.kill(os.getpid(), number)
        time.sleep(10)

    assert exit_code(command, "program") == 128 + number
    assert capsys.readouterr().err == (
        f"error: Stopped by {name}. Every output file is complete: either new or unchanged.\n"
    )
    assert signal.getsignal(number) is before


def test_a_signal_during_an_import_is_not_reported_as_another_error(capsys):
    def command():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except Stopped:
            raise ImportError("NumPy's extension modules failed to load") from None

    assert exit_code(command, "program") == 130
    assert "SIGINT" in capsys.readouterr().err


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        assert exit_code(lambda: os.kill(os.getpid(), signal.SIGHUP), "program") == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_commands_run_outside_the_main_thread(model):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(run(["show", str(model)])))
    thread.start()
    thread.join()
    assert codes == [0]


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.2, 0.4])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_is_stopped_without_a_traceback(model, tmp_path, number, seconds):
    """The signal arrives during imports or later. A process without a handler ends by
    the signal."""
    table = tmp_path / "a.csv"
    noise = np.random.default_rng(0).normal(size=(4000, 2)).cumsum(axis=0)
    orthoreg.data.write_table(table, {"t": np.arange(4000.0), "a": noise[:, 0], "b": noise[:, 1]})
    program = "import orthoreg.cli, sys; print(flush=True); orthoreg.cli.main(sys.argv[1:])"
    arguments = ["fit", str(table), "--time", "t", "--states", "a,b", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (128 + number, -number)
    assert process.returncode > 0 or "Stopped" not in errors
    assert "Traceback" not in errors and not list(tmp_path.glob(".*.part"))
