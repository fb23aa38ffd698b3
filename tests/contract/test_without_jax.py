"""Without JAX, everything works except the training of networks."""

import subprocess
import sys

import pytest

BLOCKED = """
import sys
sys.modules.update(dict.fromkeys(["jax", "jaxlib", "optax", "diffrax", "equinox", "lineax"]))
import numpy as np
import orthoreg as og
t = np.linspace(0, 6, 200)
states = np.column_stack([np.cos(t), -np.sin(t)])
data = og.Dataset.from_arrays(states, t, names=["q", "v"])
model = og.OrthoReg("poly(1)", og.RandomFeatures(20)).fit(data)
"""


def run_without_jax(code, folder):
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code], cwd=folder, capture_output=True, text=True
    )


def test_stiff_and_long_simulations_complete(tmp_path):
    code = """
def stiff(t, x, u):
    return np.stack([-1e6 * (x[:, 0] - np.cos(x[:, 1])), np.ones(len(x))], axis=1)
from orthoreg.simulation import NumpyField, integrate
grid = np.linspace(0, 20, 50)
found = integrate(None, np.array([[0.0, 0.0]]), grid[None], in_numpy=NumpyField(stiff))
assert found.completed.all(), found.message
assert np.allclose(found.x[0, 1:, 0], np.cos(grid[1:]), atol=1e-5)
long = model.simulate([1.0, 0.0], np.linspace(0, 2000, 50))
assert long.completed
"""
    done = run_without_jax(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_every_step_of_a_default_workflow(tmp_path):
    code = """
from orthoreg.cli import run
noisy = og.Dataset.from_arrays(
    states + 0.01 * np.random.default_rng(0).standard_normal(states.shape), t, names=["q", "v"])
model = og.OrthoReg("poly(1)").fit(noisy)
model.refine(noisy), model.adapt(noisy), model.explain(noisy), og.bootstrap(model)
og.discover(noisy, minutes=0.1)
og.report(model, "report.html", data=noisy)
model.to_sympy(), model.to_c(), model.to_python(), model.to_latex()
og.tune(og.OrthoReg(og.Polynomial(1), solver=og.Exact()), data)
og.STLSQ(library=og.Polynomial(1)).fit(data)
model.save("m.orthoreg")
assert og.load("m.orthoreg").equations() == model.equations()
assert run(["generate", "pendulum", "--split", "id", "--out", "table.csv"]) == 0
columns = ["--time", "t", "--states", "theta,omega", "--group", "run"]
assert run(["fit", "table.csv", *columns, "--out", "out"]) == 0
start = ["--start", "1,0", "--until", "5", "--step", "0.1", "--out", "f.csv"]
assert run(["simulate", "out/table.orthoreg", *start]) == 0
"""
    done = run_without_jax(code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "purpose"),
    [
        ("og.UniversalODE(4, 1).fit(data)", "Training by Adam"),
        ("og.OrthoReg('poly(1)', og.MLP(4, 1), solver=og.Adam()).fit(data)", "Training by Adam"),
        ("model.to_jax()", "to_jax()"),
    ],
)
def test_what_needs_jax_names_the_extra(code, purpose, tmp_path):
    done = run_without_jax(code, tmp_path)
    assert done.stderr.splitlines()[-1] == (
        f"orthoreg._common.errors.MissingExtraError: {purpose} needs jax, which is not installed. "
        "Install it with: pip install 'orthoreg[train]'."
    )
