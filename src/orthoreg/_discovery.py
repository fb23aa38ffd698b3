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
    misfit_nats,
)
from .fitting import Fit, describe
from .libraries import AbstractLibrary, Fourier, Polynomial, as_library, bind, parameter_bounds
from .losses import Measured, is_noisy
from .refinement import match, segment_misfit
from .selection import Chosen
from .smoothing import noise_level

_TRIED = 10  # combinations whose trajectories are matched
_CLEAN = 2e-4  # of a state's standard deviation: less noise than this is none
_FOLLOWED = 0.05  # of the variance: trajectories that stay within follow the data
_FARTHEST = 60.0  # nats behind the best candidate of an equation
_SHORTER = 4
_FEWEST_STEPS = 8


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
    gaps = explain_rows(rows, features, atoms, goes_on=goes_on)
    return _ranked(_Matching(data), gaps, goes_on, tried)


@final
class _Matching:
    """The data that combinations are matched to."""

    def __init__(self, data: Dataset):
        self.data = data
        self.noisy = is_noisy(data)
        probe = OrthoReg(augmentation=Zero())
        self.rows, self.names = training_rows(probe, Measured(), data, None, None, None)
        level, is_noise = noise_level(data.times, data.states, data.offsets)
        spread = data.states.std(axis=0)
        self.variance = spread**2
        self.measured = data.is_measured
        floor = np.maximum(_CLEAN * spread, 1e-300)
        self.noise = np.where(is_noise, np.maximum(level, floor), floor)

    def match(self, one: Combination) -> HybridField:
        """The combination refined on trajectories."""
        kinds, bounds = self.names["input_interpolation_"], parameter_bounds(one.library)
        return match(one.field, self.data, interpolation=kinds, bounds=bounds, prune=self.noisy)

    def misfit(self, field: HybridField, steps: int) -> Float[np.ndarray, " n"]:
        kinds = self.names["input_interpolation_"]
        return segment_misfit(field, self.data, kinds, steps, self.noise)

    def model(self, one: Combination, field: HybridField) -> OrthoReg:
        result = describe(field, self.rows)
        certificate = certify(result, self.rows.outputs, field.features.names, normalized=True)
        fit = Fit(field, certificate, None, None, self.rows.extent.range)
        terms = {name: one.library_terms(name) for name, _ in one.library.by_state}
        model = OrthoReg(one.library, Zero(), selection=Chosen(terms))
        return model._learn(fit, self.names)


def _ranked(matching: _Matching, gaps: Sequence[Gap], goes_on: Any, tried: int) -> Discovery:
    """The best combinations, matched, scored by their trajectories."""
    data = matching.data
    given = dict(data.given_rates)
    near = [
        [one for one in gap.candidates if one.score - gap.candidates[0].score < _FARTHEST]
        for gap in gaps
    ]
    chosen = best_combinations(near, tried)
    bases = tuple(gap.base for gap in gaps)
    if bases not in chosen:
        chosen.append(bases)
    found: list[tuple[Combination, HybridField]] = []
    with progress("Matching trajectories", float(len(chosen))) as show:
        for done, candidates in enumerate(chosen):
            show(float(done), "")
            if found and not goes_on() and candidates is not chosen[-1]:
                continue
            one = combine(candidates, data.variable_names, data.state_names, given)
            found.append((one, matching.match(one)))
    return Discovery(_scored(matching, found))


def _scored(
    matching: _Matching, found: Sequence[tuple[Combination, HybridField]]
) -> tuple[DiscoveredModel, ...]:
    misfits = _comparable_misfits(matching, [field for _, field in found])
    noise = np.maximum(matching.noise**2, misfits.min(axis=0))
    noise = np.where(matching.measured, noise, 1.0)
    count = float(matching.data.n_samples)
    best: dict[Any, tuple[float, Combination, HybridField]] = {}
    for (one, field), misfit in zip(found, misfits, strict=True):
        ratio = misfit[matching.measured] / noise[matching.measured]
        nats = sum(float(misfit_nats(max(r, 1e-12), 1.0, count)) for r in ratio)
        used = np.asarray(field.coefficients) != 0
        score = nats + float(one.prices[used].sum())
        key = tuple((c, field.features.names[k]) for c, k in np.argwhere(used))
        if key not in best or score < best[key][0]:
            best[key] = (score, one, field)
    ordered = sorted(best.values(), key=lambda entry: entry[0])
    scores = np.array([score for score, _, _ in ordered])
    weights = np.exp(scores[0] - scores)
    return tuple(
        DiscoveredModel(
            matching.model(one, field),
            score,
            score - ordered[0][0],
            float(weight),
            not one.is_new[np.asarray(field.coefficients) != 0].any(),
        )
        for (score, one, field), weight in zip(ordered, weights / weights.sum(), strict=True)
    )


def _comparable_misfits(
    matching: _Matching, fields: Sequence[HybridField]
) -> Float[np.ndarray, "M n"]:
    """Of all fields on segments of the same length: the longest that some field follows."""
    steps = int(matching.data.run_lengths.max()) - 1
    while True:
        misfits = np.array([matching.misfit(field, steps) for field in fields])
        share = (misfits / np.maximum(matching.variance, 1e-300))[:, matching.measured]
        if share.max(axis=1).min() < _FOLLOWED or steps // _SHORTER < _FEWEST_STEPS:
            return misfits
        steps //= _SHORTER
