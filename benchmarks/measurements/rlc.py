"""A circuit whose inductance saturates, in volts, amperes and seconds."""

from pathlib import Path

import numpy as np

import orthoreg as og

from ._line import Line, coefficients, data_file, relative_rms

SEEDS = 1
TITLE = "RLC circuit with saturation."
ABOUT = (
    "The data are noisy columns of two runs, with times in seconds. The library is `poly(1)`. "
    "The residual represents the inductance, which depends on the current. The forecast is for "
    "a run with a faster and smaller input, and its RMS error is relative to the size of the "
    "run. The seeds change the residual."
)
_CAPACITANCE = 270e-9


def measure(seeds: int) -> list[Line] | None:
    file = data_file("rlc_saturating.csv")
    if file is None:
        return None
    train, test = runs_of_circuit(file, (0, 1), "_noisy"), runs_of_circuit(file, (2,), "")
    lines = _scores("without residual", [og.OrthoReg("poly(1)", og.Zero())], train, test)
    if not seeds:
        return [*lines, Line("with residual", text="not run")]
    models = [og.OrthoReg("poly(1)", seed=seed) for seed in range(seeds)]
    return lines + _scores("with residual", models, train, test)


def _scores(
    label: str, models: list[og.OrthoReg], train: og.Dataset, test: og.Dataset
) -> list[Line]:
    errors, off = [], []
    for model in models:
        gain = coefficients(model.fit(train), 0).get("i_l", np.inf)
        errors.append(100 * abs(1 / gain / _CAPACITANCE - 1))
        (forecast,) = model.forecast(test)
        pairs = zip(forecast.x.T, test.states.T, strict=True)
        off.append([100 * relative_rms(found, truth) for found, truth in pairs])
    return [
        Line(f"{label}: error of C", errors, "%", 1),
        Line(f"{label}: forecast of v_c", [one[0] for one in off], "%"),
        Line(f"{label}: forecast of i_l", [one[1] for one in off], "%"),
    ]


def runs_of_circuit(file: Path, numbers: tuple[int, ...], kind: str) -> og.Dataset:
    """Return these runs, from the clean or the noisy columns."""
    table = np.genfromtxt(file, delimiter=",", names=True)
    rows = [table[table["run"] == number] for number in numbers]
    states = [np.column_stack([run[f"v_c{kind}"], run[f"i_l{kind}"]]) for run in rows]
    return og.Dataset.from_arrays(
        states, [run["t"] for run in rows], [run["v_in"][:, None] for run in rows],
        ["v_c", "i_l"], input_names=["v_in"],
    )  # fmt: skip
