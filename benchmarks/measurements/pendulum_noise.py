"""The paper's pendulum with noise on its states."""

import numpy as np

import orthoreg as og
from orthoreg.diagnostics import relative_error
from orthoreg.systems import Split, generate, true_derivatives
from paper._settings import Scale, Setting, problem

from ._line import Line

SEEDS = 5
TITLE = "The paper's pendulum with noise."
ABOUT = (
    'The pendulum has medium difficulty, and the data are 32 runs of 100 rows. "Targets" are '
    "the errors of the derivatives to which the model is fitted, or of their means over "
    'windows. "T2 derivatives" are the errors of the model for other initial states. The '
    "default is compared with smoothed differences, which the paper uses."
)
_SCALE = Scale(train_runs=32, test_runs=50, rows=512)
_SMOOTHED = og.VectorField(og.SmoothedFiniteDifference())


def measure(seeds: int) -> list[Line]:
    lines = []
    for noise in (0.01, 0.1, 0.5):
        found = np.array([_errors(noise, seed) for seed in range(seeds)])
        ratios = found[:, 1] / found[:, 0]
        least = 3.0 if noise == 0.1 else None
        for k, what in enumerate(("targets", "T2 derivatives")):
            label = f"noise {noise:g}: {what}, "
            lines.append(Line(label + "default", found[:, 0, k].tolist()))
            lines.append(Line(label + "smoothed differences", found[:, 1, k].tolist()))
            lines.append(Line(label + "reduction factor", ratios[:, k].tolist(), "", None, least))
    return lines


def _errors(noise: float, seed: int) -> list[list[float]]:
    """Return errors of the targets and on T2, for the default and for smoothed differences."""
    data = problem(Setting(noise=noise), _SCALE, seed)
    clean = generate(data.system, Split.train, runs=_SCALE.train_runs, seed=seed)
    truth = true_derivatives(data.system, Split.train, clean, seed=seed)
    errors = []
    for model in (og.OrthoReg(seed=seed), og.OrthoReg(loss=_SMOOTHED, seed=seed)):
        model.fit(data.runs)
        rows = model.recipe().loss.observe(data.runs)
        expected = truth if rows.windows is None else rows.windows @ truth
        test = data.tests[Split.t2]
        errors.append(
            [
                relative_error(rows.targets, expected),
                relative_error(model.predict(test.data.states), test.truth),
            ]
        )
    return errors
