"""A circuit whose inductance saturates, in volts, amperes and seconds."""

from typing import Any

import numpy as np

import orthoreg as og

from ._line import Line, coefficients, data_file, relative_rms

SEEDS = 1
TITLE = "RLC circuit with saturation."
ABOUT = (
    "Noisy columns of two runs, time in seconds, `poly(1)`: the inductance is no constant and left "
    "to the residual. Forecast of a run with a faster and smaller input, its RMS error relative "
    "to the run."
)
_CAPACITANCE = 270e-9


def measure(seeds: int) -> list[Line] | None:
    file = data_file("rlc_saturating.csv")
    if file is None:
        return None
    table = np.genfromtxt(file, delimiter=",", names=True)
    train, test = _runs(table, (0, 1), "_noisy"), _runs(table, (2,), "")
    lines = []
    for label, residual in (("with residual", None), ("without", og.Zero())):
        model = og.OrthoReg("poly(1)", residual).fit(train)
        gain = coefficients(model, 0).get("i_l", np.inf)
        error = 100 * abs(1 / gain / _CAPACITANCE - 1)
        (forecast,) = model.forecast(test)
        lines.append(Line(f"{label}: error of C", [error], "%", 1))
        for k, name in enumerate(("v_c", "i_l")):
            off = 100 * relative_rms(forecast.x[:, k], test.states[:, k])
            lines.append(Line(f"{label}: forecast of {name}", [off], "%"))
    return lines


def _runs(table: Any, numbers: tuple[int, ...], kind: str) -> og.Dataset:
    rows = [table[table["run"] == number] for number in numbers]
    states = [np.column_stack([run[f"v_c{kind}"], run[f"i_l{kind}"]]) for run in rows]
    return og.Dataset.from_arrays(
        states, [run["t"] for run in rows], [run["v_in"][:, None] for run in rows],
        ["v_c", "i_l"], input_names=["v_in"],
    )  # fmt: skip
