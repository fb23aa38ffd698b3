"""A user's first ten minutes, in whatever environment runs this."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas

import orthoreg as og


def main() -> None:
    print("orthoreg", og.__version__, "on Python", sys.version.split()[0], "NumPy", np.__version__)
    t = np.linspace(0, 10, 201)
    runs = [
        pandas.DataFrame({"run": k, "t": t, "x": a * np.cos(t), "v": -a * np.sin(t)})
        for k, a in enumerate((1.0, 1.5, 2.0))
    ]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "runs.csv")
        pandas.concat(runs).to_csv(table, index=False)
        command = [str(Path(sys.executable).with_name("orthoreg"))]
        columns = ["--time", "t", "--states", "x,v", "--group", "run"]
        subprocess.run([*command, "fit", table, *columns, "--out", folder], check=True)
        model = og.load(Path(folder, "runs.orthoreg"))
        assert model.equations() == ["x' = 1.000 v", "v' = -1.000 x"], model.equations()
        end = model.simulate([1.0, 0.0], t).x[-1]
        assert np.allclose(end, [np.cos(10), -np.sin(10)], atol=1e-4), end
        states = np.vstack([run[["x", "v"]] for run in runs])
        network = og.OrthoReg("poly(1)", og.MLP(8, 2), solver=og.Adam(epochs=2, normalize=True))
        network.fit(states, np.column_stack([states[:, 1], -np.sin(3 * states[:, 0])]))
        assert np.isfinite(network.to_jax()(0.0, states[0])).all()
        for form in ("c", "julia", "matlab", "modelica", "latex", "sympy"):
            export = [*command, "export", Path(folder, "runs.orthoreg"), "--format", form]
            subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
    print("all well")


if __name__ == "__main__":
    main()
