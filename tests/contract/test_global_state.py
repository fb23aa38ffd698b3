"""Nothing outside the package changes: random generators, environment, BLAS threads, handlers."""

import subprocess
import sys
import threading

import pytest
from threadpoolctl import threadpool_info

from orthoreg._common.parallel import MANY_ROWS, one_thread

STATE = """
import locale, os, random, signal, sys, threading, warnings
import numpy as np, scipy.linalg, scipy.integrate, scipy.optimize, scipy.sparse, scipy.special

def state():
    return {
        "random": random.getstate(),
        "numpy.random": str(np.random.get_state()),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": list(sys.path),
        "locale": locale.setlocale(locale.LC_ALL),
        "handlers": [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
        "floating point": np.geterr(),
        "printing": np.get_printoptions(),
        "warnings": [f for f in warnings.filters if "sympy" not in str(f)],
        "streams": (sys.stdout, sys.stderr),
        "switch interval": sys.getswitchinterval(),
        "recursion": sys.getrecursionlimit(),
        "threads": threading.active_count(),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook),
    }

before = state()
import orthoreg as og
import orthoreg.plotting
t = np.linspace(0, 10, 201)
clean = np.c_[np.cos(t), -np.sin(t)]
data = og.Dataset.from_arrays(clean, t)
noisy = og.Dataset.from_arrays(clean + np.random.default_rng(0).normal(0, 0.02, clean.shape), t)

def model():
    return og.OrthoReg().fit(data)

"""
WORK = {
    "a fit": "print(model().summary(data))",
    "a noisy fit": "og.OrthoReg().fit(noisy).summary(noisy)",
    "rows": "og.OrthoReg(augmentation=og.RandomFeatures(9)).fit(clean, -clean).score(clean, clean)",
    "a report": "og.report(model(), 'r.html', data=data)",
    "explain": "model().explain(data)",
    "a file": "model().save('m.orthoreg'); og.load('m.orthoreg')",
    "a plot": "og.plotting.rendered(og.plotting.plot_phase(model(), data))",
    "sympy": "model().to_sympy()",
    "training": "og.OrthoReg(loss=og.VectorField(), augmentation=og.MLP(4, 1), "
    "solver=og.Adam(epochs=2)).fit(data)",
    "a compiled simulation": "model().simulate(np.ones((300, 2)), np.linspace(0, 90, 9000))",
    "a command": "from orthoreg.cli import run; run(['generate', 'pendulum', '--runs', '2', "
    "'--out', 'p.csv']); run(['fit', 'p.csv', '--time', 't', '--states', 'theta,omega', '--group', "
    "'run', '--out', '.'])",
}  # fmt: skip


@pytest.mark.parametrize("work", WORK)
def test_nothing_global_changes(work, tmp_path):
    if work == "training":
        pytest.importorskip("optax")
    program = f"{STATE}{WORK[work]}\nafter = state()\nsys.exit(', '.join(name for name in before "
    program += "if before[name] != after[name]) or None)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_threads_are_restored_when_the_last_thread_ends():
    """The first thread to enter also leaves first, so that the blocks of the threads overlap."""
    before, entered, left = blas_threads(), threading.Event(), threading.Event()

    def first():
        with one_thread():
            assert entered.wait(60)
        left.set()

    thread = threading.Thread(target=first)
    thread.start()
    with one_thread():
        entered.set()
        assert left.wait(60)
        assert blas_threads() == {1}  # the first block did not restore it
    thread.join()
    assert blas_threads() == before


def test_threads_are_limited_for_few_rows_only_and_restored():
    before = blas_threads()
    with one_thread(100):
        assert blas_threads() == {1}
    with one_thread(MANY_ROWS):
        assert blas_threads() == before
    assert blas_threads() == before
