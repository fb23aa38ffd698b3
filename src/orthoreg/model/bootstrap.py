"""`bootstrap`: intervals and probabilities of terms, and pairs of terms that the data do not
distinguish.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.html import html_sentences, html_table
from .._common.notation import left_side
from .._common.scikit import check_is_fitted
from ..export import (
    equation_names,
    learned_equations,
    significant,
    typeset_formula,
    typeset_sentence,
)
from ..findings._words import whole_percent
from ..search.rows import ConfoundedPair, TermEvidence
from .model import AbstractModel

_COLUMNS = ("equation", "term", "95% interval", "probability")
NOTABLE = 0.05
"""Minimum probability of an unselected term that is shown."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """The probability of each term of each equation, and the 95% interval of its coefficient.

    Intervals are zero for terms that are not selected. They are NaN if they cannot be determined: a
    single short run reveals neither noise nor differences between runs. `support` marks the terms
    selected on all data, and `confounded` lists the pairs that these data do not distinguish.
    `output_names` are the names of the equations, `feature_names` the names of the terms. Equations
    in `velocity_of` and `given` are not learned. `discrete` is true if the equations are a map.
    """

    support: np.ndarray
    probability: Float[np.ndarray, "c K"]
    interval: Float[np.ndarray, "c K 2"]
    confounded: tuple[ConfoundedPair, ...]
    output_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    velocity_of: Mapping[str, str] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    discrete: bool = False

    def __repr__(self) -> str:
        """Return a table of used and notable terms, followed by the confounded pairs."""
        rows = [_COLUMNS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{equation:<{widths[0]}}  {term:<{widths[1]}}  {interval:>{widths[2]}}  "
            f"{probability:>{widths[3]}}".rstrip()
            for equation, term, interval, probability in rows
        ]
        return "\n".join([*lines, *self._pairs()])

    def _repr_html_(self) -> str:
        """Return the table as HTML."""
        names = [name for name in self.feature_names if name.isidentifier()]
        rows = [(row[0], typeset_formula(row[1], names), *row[2:]) for row in self._rows()]
        pairs = [typeset_sentence(pair, names) for pair in self._pairs()]
        return html_table(_COLUMNS, rows, words=2) + html_sentences(pairs)

    def _learned(self) -> list[int]:
        learned = learned_equations(self.output_names, self.velocity_of)
        return [c for c in learned if self.output_names[c] not in self.given]

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Return rows of (equation, term, interval, probability) as text."""
        rows = []
        labels = equation_names(self.output_names, self.velocity_of, discrete=self.discrete)
        for c in self._learned():
            output = labels[c]
            shown = np.flatnonzero(self.support[c] | (self.probability[c] >= NOTABLE))
            for place, k in enumerate(shown):
                rows.append((
                    "" if place else left_side(output),
                    self.feature_names[k],
                    _interval(*self.interval[c, k].tolist()) if self.support[c, k] else "left out",
                    whole_percent(float(self.probability[c, k])),
                ))  # fmt: skip
            if not len(shown):
                rows.append((left_side(output), "no terms", "", ""))
        return rows

    def _pairs(self) -> list[str]:
        """Return a sentence for each confounded pair."""
        labels = equation_names(self.output_names, self.velocity_of, discrete=self.discrete)
        return [
            f"{left_side(labels[pair.equation])}: {pair.advice}"
            for pair in self.confounded
            if pair.equation in self._learned()
        ]


def _interval(low: float, high: float) -> str:
    if np.isnan(low):
        return "not known: too few rows"
    numbers = (f"{'-' * (end < 0)}{significant(abs(end), 4)}" for end in (low, high))
    return " to ".join(numbers)


def bootstrap(model: AbstractModel, *, resamples: int = 300, seed: int = 0) -> Bootstrap:
    """Return the probability of each term and the 95% interval of its coefficient.

    The runs of the fit, or stretches of rows if there are few runs, are resampled, and the terms
    are selected again on each resample. The intervals are those of the fit, which the summary and
    `parameter_intervals_` also show; all constants are estimated jointly. The cost does not depend
    on the number of rows, because `fit` keeps moments of at most 50 groups of runs.

    Noise affects all resamples equally and biases derivatives. For noisy runs, intervals and
    probabilities therefore come from matched trajectories. By default, these are the trajectories
    of the refinement. With another loss or solver, the equations without a residual are matched to
    up to 20,000 rows. An interval may then exclude a biased coefficient.

    Parameters
    ----------
    model
        fitted model with a selection, or fitted to noisy runs. A model loaded from a file has
        neither the moments nor the runs.
    resamples
        number of resamples.
    seed
        seed of the random numbers.

    Returns
    -------
    found
        a `Bootstrap`. `.interval` (n, K, 2) has joint 95% intervals within the bounds. They come
        from a delete-a-group jackknife of least squares with the selected terms or, for noisy runs,
        from matched trajectories, which account for measurement noise. Intervals are NaN if there
        are too few rows. `.probability` (n, K) is the fraction of resamples that select a term, or
        the probability from trajectories for noisy runs. `.confounded` lists pairs of terms that
        the data do not distinguish.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 100)
    >>> runs = [np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in np.linspace(0.5, 2, 9)]
    >>> model = og.OrthoReg(og.Polynomial(2), og.Zero()).fit(runs, t=t)
    >>> found = og.bootstrap(model, resamples=100)
    >>> found.probability[0].tolist()
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    >>> print(found)
    equation  term      95% interval  probability
    x0'       x1      1.000 to 1.000         100%
    x1'       x0    -1.000 to -1.000         100%
    """
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 20:
        raise InputError(f"resamples must be a whole number of at least 20; got {resamples!r}.")
    check_is_fitted(model)
    evidence = _evidence(model, resamples, seed)
    return Bootstrap(
        np.array(model.support_),
        evidence.probability,
        evidence.interval,
        evidence.pairs,
        tuple(model.output_names_),
        tuple(model.feature_names_),
        dict(model.velocity_of_),
        model.given_,
        model.schema_.discrete,
    )


def _evidence(model: AbstractModel, resamples: int, seed: int) -> TermEvidence:
    """Return the evidence from resamples or trajectories. Raise an error if there is none."""
    selected = model.selection_
    if selected is None:
        is_matched = model.fit_.runs is not None or model.refinement_ is not None
        evidence = model.fit_.evidence if is_matched else None
        if evidence is None:
            raise InputError(
                "bootstrap selects terms again on each resample. It needs a model whose fit used "
                "a selection, as OrthoReg() does, or noisy runs whose trajectories the model "
                "follows."
            )
        return evidence
    if selected.evidence is None:
        raise InputError(
            "bootstrap needs the moments of the selection of terms, which adapted models and "
            "models from files lack. Use the model that fit returned."
        )
    evidence = model.fit_.resampled_evidence(resamples, seed)
    assert evidence is not None
    return evidence
