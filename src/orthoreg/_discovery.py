"""`discover`: whole models for data, ranked, beside the best of a base library."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ._errors import InputError
from ._estimator import OrthoReg
from ._explaining import until
from ._field import HybridField
from ._progress import progress
from ._validation import as_dataset, training_rows
from .augmentations import Zero
from .data import Dataset
from .diagnostics import certify
from .explanation import (
    Atom,
    Combination,
    Gap,
    best_combinations,
    combine,
    explain_rows,
    measurements,
    rank,
)
from .fitting import Fit, describe
from .libraries import AbstractLibrary, Fourier, Polynomial, as_library, bind
from .losses import Measured
from .selection import Chosen

_TRIED = 24  # combinations whose trajectories are matched
_SHARPENED = 3  # models whose constants are matched as well as they can be
_FARTHEST = 60.0  # nats behind the best candidate of an equation


@final
@dataclass(frozen=True, eq=False, repr=False)
class DiscoveredModel:
    """One of the models: `score` in nats, less is better; `gap` to the best; `is_base` says that
    it has terms of the base library alone. `weight` is its share in averages over the list."""

    model: OrthoReg
    score: float
    gap: float
    weight: float
    is_base: bool

    def equations(self) -> list[str]:
        return self.model.equations()

    def __repr__(self) -> str:
        base = ", base library" if self.is_base else ""
        return "\n    ".join([f"gap {self.gap:.1f} nats{base}", *self.equations()])


@final
@dataclass(frozen=True, eq=False)
class Averaged:
    """The weighted mean of forecasts, `x` (T, n), and their spread around it."""

    times: Float[np.ndarray, " T"]
    x: Float[np.ndarray, "T n"]
    spread: Float[np.ndarray, "T n"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Discovery:
    """Models of one data set, `models`, best first. The best one of base-library terms alone is
    always among them."""

    models: tuple[DiscoveredModel, ...]

    @property
    def best(self) -> OrthoReg:
        return self.models[0].model

    @property
    def base(self) -> DiscoveredModel:
        """The best of the base library."""
        return next(one for one in self.models if one.is_base)

    def simulate(self, x0: Any, t: Any, u: Any = None) -> Averaged:
        """The forecasts of all models from `x0` (n,), averaged with their weights, and their
        standard deviation; one that diverges counts up to there."""
        runs = [one.model.simulate(x0, t, u).x for one in self.models if one.weight > 1e-3]
        weight = np.array([one.weight for one in self.models if one.weight > 1e-3])
        states = np.stack(runs)
        sound = np.isfinite(states)
        share = weight[:, None, None] * sound
        total = np.maximum(share.sum(axis=0), 1e-300)
        mean = (share * np.where(sound, states, 0.0)).sum(axis=0) / total
        apart = np.where(sound, states - mean, 0.0) ** 2
        mean = np.where(sound.any(axis=0), mean, np.nan)
        return Averaged(np.asarray(t, dtype=float), mean, np.sqrt((share * apart).sum(0) / total))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "models": [
                {
                    "equations": one.equations(),
                    "score": one.score,
                    "gap": one.gap,
                    "weight": one.weight,
                    "is_base": one.is_base,
                }
                for one in self.models
            ]
        }

    def __repr__(self) -> str:
        return "\n".join(f"[{i}] {one!r}" for i, one in enumerate(self.models))


def discover(
    X: Any,
    library: AbstractLibrary | str | None = None,
    *,
    t: Any = None,
    u: Any = None,
    atoms: Sequence[Atom] = (),
    minutes: float | None = None,
    tried: int = _TRIED,
) -> Discovery:
    """Ranked models of a `Dataset`, or of states `X` with times `t` and inputs `u`.

    Terms of the `library`, `Polynomial(2) + Fourier(1)` if None, of a catalogue of formulas and
    `atoms` of your own are sought for each equation; the best combinations, `tried` of them, are
    matched to whole trajectories, which rank them. After `minutes` the best so far is returned.

    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 10, 300)
    >>> x = 2 / (1 + np.exp(2 - t))  # x' = x - x^2/2
    >>> og.discover(x[:, None], t=t).best.equations()
    ["x0' = 1.000 x0 - 0.5000 x0**2"]
    """
    goes_on = until(minutes)
    data = as_dataset(X, None, t, u) if t is not None or isinstance(X, Dataset | list) else None
    if data is None:
        raise InputError("discover() needs runs in time: a Dataset, or states X with times t=....")
    base = Polynomial(2) + Fourier(1) if library is None else as_library(library)
    rows = measurements(Measured(), data)
    features = bind(base, rows.names, rows.outputs, data.given_rates)
    gaps = explain_rows(rows, features, atoms, is_expected=library is not None, goes_on=goes_on)
    return _ranked(data, gaps, goes_on, tried)


@final
class _Models:
    """Models of fields that were matched to the data."""

    def __init__(self, data: Dataset):
        probe = OrthoReg(augmentation=Zero())
        self._rows, self.names = training_rows(probe, Measured(), data, None, None, None)

    def model(self, one: Combination, field: HybridField) -> OrthoReg:
        result = describe(field, self._rows)
        certificate = certify(result, self._rows.outputs, field.features.names, normalized=True)
        fit = Fit(field, certificate, None, None, self._rows.extent.range)
        terms = {name: one.library_terms(name) for name, _ in one.library.by_state}
        model = OrthoReg(one.library, Zero(), selection=Chosen(terms))
        return model._learn(fit, self.names)


def _ranked(data: Dataset, gaps: Sequence[Gap], goes_on: Any, tried: int) -> Discovery:
    """The best combinations, matched, scored by their trajectories."""
    given = dict(data.given_rates)
    near = [
        [one for one in gap.candidates if one.score - gap.candidates[0].score < _FARTHEST]
        for gap in gaps
    ]
    chosen = best_combinations(near, tried)
    base = tuple(gap.base for gap in gaps)
    first = [chosen[0], base] if chosen[0] != base else [base]
    chosen = [*first, *(one for one in chosen if one not in first)]
    whole = [combine(one, data.variable_names, data.state_names, given) for one in chosen]
    models = _Models(data)
    kinds = models.names["input_interpolation_"]
    with progress("Matching trajectories", float(len(whole))) as show:
        ranking, found = rank(
            data, kinds, whole[len(first) :], goes_on, lambda done, one: show(done, ""),
            whole[: len(first)],
        )  # fmt: skip
    scores = np.array([one.score for one in found])
    weights = np.exp(scores[0] - scores)
    fields = [ranking.sharpened(one) if i < _SHARPENED else one.field
              for i, one in enumerate(found)]  # fmt: skip
    return Discovery(
        tuple(
            DiscoveredModel(
                models.model(one.combination, field),
                one.score,
                one.score - found[0].score,
                float(weight),
                one.is_base,
            )
            for one, field, weight in zip(found, fields, weights / weights.sum(), strict=True)
        )
    )
