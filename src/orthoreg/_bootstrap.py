"""`bootstrap`: how sure the data are of each term, and which terms they cannot tell apart."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ._errors import InputError
from ._model import AbstractModel, prepared
from .moments import gather_cells
from .selection import Lookalike, inclusion, lookalikes


@final
@dataclass(frozen=True, eq=False)
class Bootstrap:
    """For each equation and term: how often resamples of the runs choose it (`probability`), and
    the 95 % interval of its coefficient (`interval`), zero for terms that are not chosen.

    `support` are the terms chosen on all data, `lookalikes` the pairs that these cannot tell
    apart.
    """

    support: np.ndarray
    probability: Float[np.ndarray, "c K"]
    interval: Float[np.ndarray, "c K 2"]
    lookalikes: tuple[Lookalike, ...]


def bootstrap(
    model: AbstractModel,
    X: Any,
    y: Any = None,
    *,
    t: Any = None,
    u: Any = None,
    resamples: int = 300,
    seed: int = 0,
) -> Bootstrap:
    """Resamples whole runs, or stretches of rows where there are few, and chooses terms again.

    Works on moments of at most 50 groups of runs, so that a resample costs the same for any
    number of rows. Needs a model with a selection; takes data as `fit` does.

    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 100)
    >>> runs = [np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in np.linspace(0.5, 2, 9)]
    >>> model = og.OrthoReg(og.Polynomial(2), og.Zero(), selection=og.Extrapolation())
    >>> og.bootstrap(model, runs, t=t, resamples=100).probability[0].tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 20:
        raise InputError(f"resamples must be a whole number of at least 20; got {resamples!r}.")
    selection = model._plan().selection
    if selection is None:
        raise InputError(
            "bootstrap chooses terms again on each resample and needs a model that chooses them, "
            "such as OrthoReg(selection=Extrapolation())."
        )
    task = prepared(model, X, y, t=t, u=u)
    samples, features = task.samples, task.features
    cells = gather_cells(features, samples, selection.divide(samples))
    selected = selection.choose(cells, features.mask)
    sure = inclusion(selection, cells, selected, resamples=resamples, seed=seed)
    pairs = lookalikes(selection, cells, selected, features.mask, features, samples)
    return Bootstrap(selected.support, sure.probability, sure.interval, tuple(pairs))
