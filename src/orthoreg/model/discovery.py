"""`discover`: search for models of one data set.

The result has ranked models, their differences and their average.
"""

import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.html import html_lines, html_sentences
from .._common.notation import left_side
from .._common.parallel import one_thread
from ..data import ChunkedDataset, Dataset
from ..diagnostics import certify
from ..export import equation_names
from ..field import AbstractAugmentation, Zero
from ..field.hybrid import HybridField
from ..findings.diagnoses import forecast_horizon
from ..fitting import Fit, Recipe, describe
from ..losses import Auto
from ..matching import Match
from ..physics import Physics, requested_delays, unit_algebra
from ..search.formulas import Atom, Combination, ModelSearch, SearchInput
from ..search.rows import AbstractSelection, Chosen
from ..terms import AbstractLibrary, Fourier, Polynomial, as_library, like_terms
from . import _limits as limits
from .estimator import OrthoReg
from .explaining import bind_library, time_budget
from .model import AbstractModel
from .validation import as_dataset, training_rows, with_time_input

# maximum number of printed models, and their maximum gap in nats
_MAX_PRINTED, _MAX_PRINTED_GAP = 10, 15.0


@final
@dataclass(frozen=True)
class Difference:
    """The point at which two models differ most, within one and a half times the range of the data.

    `derivative` is the derivative, in this equation, of either model. A measurement near this point
    would distinguish the models.
    """

    equation: str
    where: dict[str, float]
    best: float
    other: float
    derivative: str

    def __str__(self) -> str:
        place = ", ".join(f"{name} = {value:.3g}" for name, value in self.where.items())
        if abs(self.other - self.best) <= limits.SAME_VALUE * max(abs(self.other), abs(self.best)):
            return "another form of the best model: it has the same values"
        pairs = [(f"{self.other:.{n}g}", f"{self.best:.{n}g}") for n in range(3, 17)]
        other, best = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
        return f"differs most from the best at {place}: {self.derivative} = {other}, not {best}"


@final
class DiscoveredModel(AbstractModel):
    """A model of a `Discovery`. It can be simulated, saved and refined like any other model.

    Attributes
    ----------
    score
        score in nats; lower is better. This attribute replaces scikit-learn's method `score` (R^2),
        which is available as `copy.copy(model).score(X, t=t)`.
    gap
        difference from the score of the best model.
    weight
        weight in averages over the list.
    is_base
        whether all terms are from the base library.
    difference
        point at which the model differs most from the best model; None for the best model.

    A copy, a clone and the result of `refine` or `adapt` are plain `OrthoReg` models, because the
    score belongs to the ranked constants.
    """

    score: float  # type: ignore[assignment]
    gap: float
    weight: float
    is_base: bool
    difference: Difference | None

    def __init__(
        self,
        library: AbstractLibrary | str | None = None,
        augmentation: AbstractAugmentation | None = None,
        *,
        selection: AbstractSelection | None = None,
        physics: Physics | None = None,
    ):
        self.library = library
        self.augmentation = augmentation
        self.selection = selection
        self.physics = physics

    def recipe(self) -> Recipe:
        return self._plain().recipe()

    @property
    def model(self) -> Self:
        """The model itself, as in earlier versions."""
        return self

    def ranked(
        self,
        score: float,
        gap: float,
        weight: float,
        is_base: bool,
        difference: Difference | None,
    ) -> Self:
        """Set the rank of the model in its list. Return the model."""
        vars(self).update(
            score=score, gap=gap, weight=weight, is_base=is_base, difference=difference
        )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        copy(self).save(path)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data."""
        return {
            "equations": self.equations(),
            "score": self.score,
            "gap": self.gap,
            "weight": self.weight,
            "is_base": self.is_base,
            "difference": None if self.difference is None else dict(vars(self.difference)),
            "constants": self.constants(),
        }

    def constants(self) -> list[dict[str, Any]]:
        """Return coefficients and inner parameters with their 95% intervals.

        Returns
        -------
        constants
            dictionaries with the keys equation, term, value, low and high. `equation` is None for
            an inner parameter. `low` and `high` are None if trajectories do not determine the
            constant. The key `unit` is added if the unit is known, "1" for a pure number.
        """
        refinement = self.refinement_
        intervals = None if refinement is None else refinement.interval()
        if refinement is None or refinement.values is None or intervals is None:
            return []
        labels = self.equation_labels()
        names = [(left_side(labels[c]), self.feature_names_[k]) for c, k in refinement.places]
        names += [(None, name) for name in refinement.parameters]
        known, texts = self.coefficient_units_, [""] * len(names)
        if known is not None:
            texts = [known.text(c, k) for c, k in refinement.places]
            texts += [known.of_constant(name) for name in refinement.parameters]
        return [
            {
                "equation": equation,
                "term": term,
                "value": float(value),
                "low": float(low) if np.isfinite(low) else None,
                "high": float(high) if np.isfinite(high) else None,
                **({"unit": unit} if unit else {}),
            }
            for (equation, term), value, (low, high), unit in zip(
                names, refinement.values, intervals, texts, strict=True
            )
        ]

    def _plain(self) -> OrthoReg:
        return OrthoReg(
            self.library, self.augmentation, selection=self.selection, physics=self.physics
        )

    def __copy__(self) -> OrthoReg:
        plain = self._plain()
        vars(plain).update({k: v for k, v in vars(self).items() if k not in _RANK})
        return plain

    def __sklearn_clone__(self) -> OrthoReg:
        return self._plain()

    def _html_repr(self) -> str:
        base = ", base library" if self.is_base else ""
        part = "" if self.difference is None else html_sentences([str(self.difference)])
        return f"gap {self.gap:.1f} nats{base}{html_lines(self.to_mathml())}{part}"

    def __repr__(self) -> str:
        return repr(self._plain())

    def __str__(self) -> str:
        """Return the gap, the equations, and the largest difference from the best model."""
        base = ", base library" if self.is_base else ""
        lines = [f"gap {self.gap:.1f} nats, weight {self.weight:.2g}{base}", *self.equations()]
        if self.difference is not None:
            lines.append(str(self.difference))
        return "\n    ".join(lines)


_RANK = tuple(DiscoveredModel.__annotations__)


@final
@dataclass(frozen=True, eq=False)
class Averaged:
    """The weighted mean of forecasts, `x` (T, n), and their standard deviation, `spread`."""

    times: Float[np.ndarray, " T"]
    x: Float[np.ndarray, "T n"]
    spread: Float[np.ndarray, "T n"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Discovery:
    """Models of one data set, `models`, best first.

    The best model with only library terms is always included. `timed_out` is true if the time limit
    ended the search.
    """

    models: tuple[DiscoveredModel, ...]
    timed_out: bool = False

    @property
    def best(self) -> DiscoveredModel:
        return self.models[0]

    @property
    def base(self) -> DiscoveredModel:
        """The best model with only library terms."""
        return next(model for model in self.models if model.is_base)

    @property
    def nothing_to_add(self) -> bool:
        """Whether the best model has only library terms."""
        return self.models[0].is_base

    def simulate(self, x0: Any, t: Any, u: Any = None) -> Averaged:
        """Return the mean of all models' forecasts from `x0` (n,), and their standard deviation.

        The mean uses the weights of the models. A forecast counts until it diverges.
        """
        models = [model for model in self.models if model.weight > limits.MIN_WEIGHT]
        states = np.stack([model.simulate(x0, t, u).x for model in models])
        weight = np.array([model.weight for model in models])
        is_finite = np.isfinite(states)
        share = weight[:, None, None] * is_finite
        total = np.maximum(share.sum(axis=0), 1e-300)
        mean = (share * np.where(is_finite, states, 0.0)).sum(axis=0) / total
        squares = np.where(is_finite, states - mean, 0.0) ** 2
        mean = np.where(is_finite.any(axis=0), mean, np.nan)
        return Averaged(np.asarray(t, dtype=float), mean, np.sqrt((share * squares).sum(0) / total))

    def next_experiment(self, starts: Any = None, inputs: Any = None, **options: Any) -> Any:
        """Return the runs that best separate the best model from its rivals.

        Rivals are up to `MAX_RIVALS` next best models within the printed score gap. See
        `OrthoReg.next_experiment`.
        """
        near = [model for model in self.models[1:] if model.gap <= _MAX_PRINTED_GAP]
        if not near:
            raise InputError(
                "next_experiment() of a discovery separates rival models, but no other model has "
                "a score close to the best. Call next_experiment() of .best."
            )
        options = {"goal": "rivals", "rivals": near[: limits.MAX_RIVALS]} | options
        return self.best.next_experiment(starts, inputs, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the models as plain data."""
        return {
            "models": [model.to_dict() for model in self.models],
            "nothing_to_add": self.nothing_to_add,
            "timed_out": self.timed_out,
        }

    def _repr_html_(self) -> str:
        """Return the equations of each model as HTML, best first."""
        shown = (f"<div><b>[{i}]</b> {self.models[i]._html_repr()}</div>" for i in self._shown())
        rest = self._rest()
        return "".join(shown) + (f"<div>{rest}</div>" if rest else "")

    def _shown(self) -> list[int]:
        """Return the indices of the printed models: those close to the best, and the best library
        model.
        """
        near = [
            i for i, model in enumerate(self.models[:_MAX_PRINTED]) if model.gap <= _MAX_PRINTED_GAP
        ]
        return sorted({*near, self.models.index(self.base)})

    def _rest(self) -> str:
        """Return a sentence on the models that are not printed, or '' if there are none."""
        shown = self._shown()
        gaps = [model.gap for i, model in enumerate(self.models) if i not in shown]
        if not gaps:
            return ""
        if len(gaps) == 1:
            return f"1 more model is in .models, {gaps[0]:.1f} nats behind the best."
        return f"{len(gaps)} more models are in .models, at least {min(gaps):.1f} nats behind."

    def __repr__(self) -> str:
        lines = [f"[{i}] {self.models[i]}" for i in self._shown()]
        lines += [rest] if (rest := self._rest()) else []
        if self.nothing_to_add:
            lines.insert(0, "Nothing to add: the best model has terms of the base library only.")
        if self.timed_out:
            lines.append("The time limit ended the search early.")
        return "\n".join(lines)


@one_thread()
def discover(
    X: Any,
    library: AbstractLibrary | str | None = None,
    *,
    t: Any = None,
    u: Any = None,
    atoms: Sequence[Atom] = (),
    physics: Physics | None = None,
    functions_of_time: bool = False,
    minutes: float | None = None,
    tried: int = limits.MATCHED_COMBINATIONS,
) -> Discovery:
    """Search for models of runs in time, and rank them.

    The search finds candidates for each equation. The best combinations are matched to whole
    trajectories and ranked. If the data are noisy, the search is repeated with the states of the
    best model.

    Parameters
    ----------
    X
        a `Dataset`, or states with times `t` and inputs `u`.
    library
        candidate terms, which supplement a catalogue of formulas; `Polynomial(2) + Fourier(1)` if
        None.
    t, u
        times and inputs, as for `OrthoReg.fit`.
    atoms
        additional formulas.
    physics
        known physics, which every model satisfies.
    functions_of_time
        whether oscillations and trends in time are candidates.
    minutes
        time limit in minutes. The search then returns the best models so far.
    tried
        number of combinations that are matched to trajectories.

    Returns
    -------
    found
        a `Discovery`: `.models`, ranked by score, and `.best`. The best model with only library
        terms is always included.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 10, 300)
    >>> x = 2 / (1 + np.exp(2 - t))  # x' = x - x^2/2
    >>> og.discover(x[:, None], t=t).best.equations()
    ["x0' = 1.000 x0 - 0.5000 x0**2"]
    """
    should_continue = time_budget(minutes)
    data = (
        as_dataset(X, None, t, u)
        if t is not None or isinstance(X, Dataset | ChunkedDataset | list)
        else None
    )
    if data is None:
        raise InputError("discover() needs runs in time: a Dataset, or states X with times t=....")
    data = data.sorted_runs
    if data.hidden or (physics is not None and physics.per_run):
        raise InputError(
            "discover() needs measured states and constants that all runs share. Fit a model with "
            "physics=Physics(equations=...) instead, and then call model.explain(data)."
        )
    if not (isinstance(tried, int) and tried > 0):
        raise InputError(f"tried must be a whole number of at least 1; got {tried!r}.")
    base = Polynomial(2) + Fourier(1) if library is None else as_library(library)
    for delay in requested_delays(base, physics, data):
        raise InputError(
            f"discover() estimates no delays, such as that of '{delay.name}'. Fit a model that has "
            f"them, then call model.explain(data)."
        )
    data = data.with_time_input() if functions_of_time else with_time_input(data, physics, base)
    return _DiscoverySearch(
        data, base, physics, atoms, is_expected=library is not None, should_continue=should_continue
    ).run(tried)


@final
class _DiscoverySearch:
    """The search over one data set. Its result is returned as models."""

    def __init__(
        self,
        data: Dataset,
        base: AbstractLibrary,
        physics: Physics | None,
        atoms: Sequence[Atom],
        *,
        is_expected: bool,
        should_continue: Callable[[], bool],
    ):
        self._data, self._should_continue = data, should_continue
        unfitted = OrthoReg(augmentation=Zero())
        self._rows, self._columns = training_rows(unfitted, Auto(), data, None, None, None)
        bind = partial(bind_library, data, physics)
        bound = bind(base)
        algebra = unit_algebra(physics, base if is_expected else None, data.schema)
        features = bound.features
        if algebra is not None:
            features = features.among(like_terms(features.terms, algebra))
        if bound.features.parameters:
            raise InputError(
                "discover() does not estimate constants inside known equations or library terms, "
                f"such as '{bound.features.parameters[0]}'. Fit a model that has them, then call "
                "model.explain(data)."
            )
        search_input = SearchInput(
            data,
            features,
            bound.knowledge,
            bind,
            self._columns.interpolation,
            Auto(),
            self._rows.point_extent.sample,
            physics,
            atoms,
            is_expected=is_expected,
        )
        self._search = ModelSearch(search_input, should_continue)

    def run(self, tried: int) -> Discovery:
        """Return the models, best first, each with its difference from the best."""
        ranked = self._search.run(tried)
        gaps = np.array([model.score for model in ranked]) - ranked[0].score
        weights = np.exp(-gaps) / np.exp(-gaps).sum()
        is_near = (gaps < limits.SHARPENED_GAP) & (np.arange(len(ranked)) < limits.SHARPENED_MODELS)
        matches = [
            self._search.ranking.sharpened(model)
            if near and self._should_continue()
            else model.matched
            for model, near in zip(ranked, is_near.tolist(), strict=True)
        ]
        points, best = self._search.around, matches[0].field
        models = [
            self._model(model.combination, matches[i], is_near=bool(is_near[i])).ranked(
                model.score,
                float(gaps[i]),
                float(weights[i]),
                model.is_base,
                self._difference(points, best, matches[i].field) if i else None,
            )
            for i, model in enumerate(ranked)
        ]
        return Discovery(tuple(models), timed_out=not self._should_continue())

    def _model(self, combination: Combination, matched: Match, *, is_near: bool) -> DiscoveredModel:
        """Return a matched combination as a model.

        Intervals of models far from the best one use only the curvature of the misfit.
        """
        field = matched.field
        result = describe(field, self._rows)
        certificate = certify(result, self._rows.outputs, field.features.names, normalized=True)
        fit = Fit(
            field, certificate, None, None, self._rows.extent.range,
            refinement=matched.refinement(is_curved=is_near),
            horizon=forecast_horizon(field.values, self._data),
        )  # fmt: skip
        model = DiscoveredModel(
            combination.library,
            Zero(),
            selection=Chosen(combination.library_terms),
            physics=combination.physics,
        )
        return model._learn(fit, self._columns)

    def _difference(
        self, points: Float[np.ndarray, "P V"], best: HybridField, other: HybridField
    ) -> Difference:
        """Return the point where two fields differ most, relative to the size of each equation."""
        with np.errstate(all="ignore"):
            values = [np.nan_to_num(hybrid.values(points)) for hybrid in (best, other)]
        size = np.maximum(np.sqrt(np.mean(self._rows.targets**2, axis=0)), 1e-300)
        distance = np.abs(values[0] - values[1]) / size
        row, c = (int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape))
        return Difference(
            self._rows.outputs[c],
            dict(zip(self._data.variable_names, points[row].tolist(), strict=True)),
            float(values[0][row, c]),
            float(values[1][row, c]),
            left_side(
                equation_names(
                    self._rows.outputs, self._data.velocity_of, discrete=self._data.discrete
                )[c]
            ),
        )
