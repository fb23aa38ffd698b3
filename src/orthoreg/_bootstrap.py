"""`bootstrap`: how sure the data are of each term, and which terms they cannot tell apart."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ._errors import InputError
from ._model import AbstractModel
from .selection import ConfoundedPair, confounded_pairs, inclusion


@final
@dataclass(frozen=True, eq=False)
class Bootstrap:
    """For each equation and term: how often resamples of the runs choose it (`probability`), and
    the 95 % interval of its coefficient (`interval`), zero for terms that are not chosen.

    `support` are the terms chosen on all data, `confounded` the pairs that these cannot tell
    apart.
    """

    support: np.ndarray
    probability: Float[np.ndarray, "c K"]
    interval: Float[np.ndarray, "c K 2"]
    confounded: tuple[ConfoundedPair, ...]


def bootstrap(model: AbstractModel, *, resamples: int = 300, seed: int = 0) -> Bootstrap:
    """Resamples the runs of the fit, or stretches of rows where they are few, and chooses again.

    Works on what `fit` kept, moments of at most 50 groups of runs: no pass over the data, and a
    resample costs the same for any number of rows. Intervals are those of least squares with the
    chosen terms, which is what an exactly orthogonal residual leaves. Needs a fitted model with a
    selection; a model file does not keep the moments.

    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 100)
    >>> runs = [np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in np.linspace(0.5, 2, 9)]
    >>> model = og.OrthoReg(og.Polynomial(2), og.Zero()).fit(runs, t=t)
    >>> og.bootstrap(model, resamples=100).probability[0].tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    """
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 20:
        raise InputError(f"resamples must be a whole number of at least 20; got {resamples!r}.")
    check_is_fitted(model)
    selected = model.selection_
    if selected is None:
        raise InputError(
            "bootstrap chooses terms again on each resample and needs a model whose fit chose "
            "them by a selection, as that of OrthoReg() does; a model file does not keep it."
        )
    if selected.evidence is None:
        raise InputError(
            "bootstrap needs the moments that the terms were chosen from; an adapted model has "
            "none. Take the model that fit returned."
        )
    sure = inclusion(selected, selected.evidence, resamples=resamples, seed=seed)
    pairs = confounded_pairs(selected, selected.evidence, model.field_.features)
    return Bootstrap(selected.support, sure.probability, sure.interval, tuple(pairs))
