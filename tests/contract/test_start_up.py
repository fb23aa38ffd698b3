"""Heavy packages are imported only when they are needed. Each case runs in a separate process."""

import subprocess
import sys

import pytest

COMPILERS = {"jax", "jaxlib", "diffrax", "equinox", "optax", "lineax"}
HEAVY = COMPILERS | {"matplotlib", "sympy", "sklearn", "scipy", "pandas", "polars", "pyarrow"}
FIT = """
import numpy as np
import orthoreg as og
t = np.linspace(0, 6, 200)
x = np.column_stack([np.cos(t), -np.sin(t)])
data = og.Dataset.from_arrays(x, t, names=["q", "v"])
model = og.OrthoReg(augmentation=og.RandomFeatures(20)).fit(data)
model.predict(data), model.equations(), model.score(data)
model.save("m.orthoreg")
assert og.load("m.orthoreg").equations() == model.equations()
"""


def loaded_after(code: str, folder) -> set[str]:
    """Return the top-level packages that a new interpreter has imported after running `code`."""
    report = (
        "\nimport sys; sys.stderr.write(' '.join({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + report], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_import_loads_nothing_heavy(tmp_path):
    assert not loaded_after("import orthoreg", tmp_path) & (HEAVY | {"numpy", "rich", "typer"})


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"]])
def test_help_and_version_load_nothing_heavy(arguments, tmp_path):
    code = f"from orthoreg.cli import run\nassert run({arguments}) == 0"
    assert not loaded_after(code, tmp_path) & HEAVY


def test_a_default_fit_compiles_and_draws_nothing(tmp_path):
    assert not loaded_after(FIT, tmp_path) & (COMPILERS | {"matplotlib", "sympy"})


def test_every_part_can_be_named_without_jax(tmp_path):
    code = (
        "import orthoreg as og\nfor name in og.__all__: getattr(og, name)\nimport orthoreg.systems"
    )
    assert not loaded_after(code, tmp_path) & (COMPILERS | {"matplotlib", "sympy"})


@pytest.mark.slow  # two compilations
def test_a_model_from_a_file_simulates_and_trains_in_a_process_of_its_own(tmp_path):
    """The classes are registered with JAX before the first trace, in any order of imports."""
    simulate = """
model = og.load("m.orthoreg")
assert model.simulate([1.0, 0.0], t).status == "completed"
og.UniversalODE(4, 1, solver=og.Adam(epochs=2)).fit(data)
"""
    assert "jax" in loaded_after(FIT + simulate, tmp_path)


def test_the_fit_command_loads_neither_scikit_learn_nor_pandas(tmp_path):
    rows = "\n".join(f"{0.1 * k},{0.9**k}" for k in range(40))
    (tmp_path / "table.csv").write_text(f"t,x\n{rows}\n")
    code = (
        "from orthoreg.cli import run\n"
        "assert run(['fit', 'table.csv', '--time', 't', '--states', 'x']) == 0"
    )
    assert not loaded_after(code, tmp_path) & (COMPILERS | {"sympy", "pandas", "sklearn"})
