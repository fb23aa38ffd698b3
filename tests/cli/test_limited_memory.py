"""Limits of the address space, as by `ulimit -v`, give one sentence, and never end the process."""

import subprocess
import sys

import numpy as np
import pytest

from orthoreg._common import imports
from orthoreg.cli import exit_code
from orthoreg.data import write_table

ADVICE = "Use fewer rows, terms or random features.\n"


def test_a_library_that_does_not_fit_into_memory_is_a_lack_of_memory(capsys):
    def command():
        raise ImportError("libx.so: failed to map segment from shared object")

    assert exit_code(command, "program") == 2
    assert capsys.readouterr().err == (
        "error: There is not enough memory: libx.so: failed to map segment from shared object. "
        + ADVICE
    )


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_training_with_a_gigabyte_is_refused(tmp_path):
    """JAX would abort the process: exit code 134, with a list of addresses."""
    pytest.importorskip("optax")
    t = np.arange(200) * 0.05
    write_table(tmp_path / "a.csv", {"t": t, "x": np.cos(t), "v": -np.sin(t)})
    command = "orthoreg fit a.csv --time t --states x,v --preset paper_orthoreg --out out"
    done = subprocess.run(
        ["sh", "-c", f"ulimit -v {1 << 20} && exec {sys.executable} -m {command}"],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: There is not enough memory: JAX needs 2 GiB of addresses")
    assert done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()


def test_without_a_limit_jax_is_used(monkeypatch):
    monkeypatch.setattr(imports, "_free_addresses", lambda: 1 << 30)
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert not imports.has_memory_for_jax()
    monkeypatch.setattr(imports, "_free_addresses", lambda: 3 << 30)
    assert imports.has_memory_for_jax()
