"""What is loaded when: heavy packages wait until they are needed. Each case is a process."""

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
    """The top-level packages that a fresh interpreter has loaded when it has run `code`."""
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
    """JAX learns of our classes before it first traces one, whoever comes first."""
    simulate = """
model = og.load("m.orthoreg")
assert model.simulate([1.0, 0.0], t).status == "completed"
og.UniversalODE(4, 1, solver=og.Adam(epochs=2)).fit(data)
"""
    assert "jax" in loaded_after(FIT + simulate, tmp_path)


def test_the_fit_command_loads_what_it_uses(tmp_path):
    """scikit-learn's base classes would bring scipy.stats and pandas, a quarter of the command."""
    rows = "\n".join(f"{0.1 * k},{0.9**k}" for k in range(40))
    (tmp_path / "table.csv").write_text(f"t,x\n{rows}\n")
    code = (
        "import sys\nfrom orthoreg.cli import run\n"
        "assert run(['fit', 'table.csv', '--time', 't', '--states', 'x']) == 0\n"
        "assert 'sklearn' in sys.modules and 'scipy.stats' not in sys.modules"
    )
    assert not loaded_after(code, tmp_path) & (COMPILERS | {"sympy", "pandas"})


def test_what_was_put_off_is_there_when_it_is_used(tmp_path):
    """Of the rest of scikit-learn, of SciPy and pandas a user notices nothing."""
    code = """
import numpy as np
from orthoreg._scikit import imported_later
import sklearn.utils.fixes as fixes
assert fixes.pd.Series([1, 2]).sum() == 3
import pandas, scipy, sys
assert fixes.pd.DataFrame is pandas.DataFrame
assert scipy.stats.norm.cdf(0.0) == 0.5 and sys.modules["scipy.stats"] is scipy.stats
from sklearn.neighbors import KNeighborsClassifier
assert KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1]).predict([[0.9]])[0] == 1
with imported_later("wave", "no_such_module", "scipy.stats"):
    import wave as put_off
    assert "wave" in sys.modules and "no_such_module" not in sys.modules
    assert sys.modules["scipy.stats"] is scipy.stats
assert "wave" not in sys.modules
with imported_later("wave"):
    from wave import Wave_read
import wave
assert put_off.Wave_read is Wave_read is wave.Wave_read and put_off is not wave
"""
    loaded_after(code, tmp_path)
