"""`discover` and its result: ranked models of one data set, their differences and their average."""

import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.html import html_lines, html_sentences
from .._common.threads import one_thread
from ..data import ChunkedDataset, Dataset
from ..diagnostics import certify
from ..export import equation_names
from ..field import AbstractAugmentation, Zero
from ..field.hybrid import HybridField
from ..fitting import Fit, Recipe, describe
from ..losses import Auto
from ..matching import Match
from ..physics import Bound, Physics, bind_physics
from ..search.formulas import Atom, Combination, ModelSearch, SearchInput
from ..search.rows import AbstractSelection, Chosen
from ..terms import AbstractLibrary, Fourier, Polynomial, as_library
from .estimator import OrthoReg
from .explanation import TRIED, until
from .model import AbstractModel
from .validation import as_dataset, training_rows, with_time_input

_SAME = 1e-6  # relative difference, at the place where it is largest, of two forms of one formula
_LEAST_WEIGHT = 1e-3  # of a model that counts in averages
_MOST_SHOWN, _FAR_BEHIND = 10, 15.0  # models that are printed, and nats that these may be behind


@final
@dataclass(frozen=True)
class Difference:
    """Where two models differ most, within one and a half times the range of the data: the
    equation, the states and inputs, and what either model has for the derivative there, which is
    written `derivative`. A measurement near this place would tell them apart."""

    equation: str
    where: dict[str, float]
    best: float
    other: float
    derivative: str

    def __str__(self) -> str:
        place = ", ".join(f"{name} = {value:.3g}" for name, value in self.where.items())
        if abs(self.other - self.best) <= _SAME * max(abs(self.other), abs(self.best)):
            return "another form of the best: it has the same values there"
        pairs = [(f"{self.other:.{n}g}", f"{self.best:.{n}g}") for n in range(3, 17)]
        other, best = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
        return f"differs most from the best at {place}: {self.derivative} = {other}, not {best}"


@final
class DiscoveredModel(AbstractModel):
    """A model of a `Discovery`: simulates, is saved, summarised and refined like any other.

    Attributes
    ----------
    score
        in nats, smaller is better. It takes the place of scikit-learn's R^2, which
        `copy.copy(model).score(X, t=t)` computes.
    gap
        to the score of the best model.
    weight
        in averages over the list.
    is_base
        whether all terms are from the base library.
    difference
        where it differs most from the best model; None for the best model.

    A copy, a clone and what `refine` and `adapt` return are plain `OrthoReg` models: the score is
    that of the constants which were ranked.
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
        """The model itself, where earlier versions kept it."""
        return self

    def ranked(
        self,
        score: float,
        gap: float,
        weight: float,
        is_base: bool,
        difference: Difference | None,
    ) -> Self:
        """Set the place in the list; return the model itself."""
        vars(self).update(
            score=score, gap=gap, weight=weight, is_base=is_base, difference=difference
        )
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        copy(self).save(path)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
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
            dictionaries with the keys equation, term, value, low and high. The equation of an inner
            parameter is None. Ends are None where trajectories do not determine the constant.
        """
        found = self.refinement_
        ends = None if found is None else found.interval()
        if found is None or found.values is None or ends is None:
            return []
        labels = equation_names(self.output_names_, self.velocity_of_)
        names = [(f"{labels[c]}'", self.feature_names_[k]) for c, k in found.places]
        names += [(None, name) for name in found.parameters]
        return [
            {
                "equation": equation,
                "term": term,
                "value": float(value),
                "low": float(low) if np.isfinite(low) else None,
                "high": float(high) if np.isfinite(high) else None,
            }
            for (equation, term), value, (low, high) in zip(names, found.values, ends, strict=True)
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
        """The gap, the equations, and where they differ most from those of the best model."""
        base = ", base library" if self.is_base else ""
        lines = [f"gap {self.gap:.1f} nats, weight {self.weight:.2g}{base}", *self.equations()]
        if self.difference is not None:
            lines.append(str(self.difference))
        return "\n    ".join(lines)


_RANK = tuple(DiscoveredModel.__annotations__)


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
    always among them. `timed_out` says that the search was ended before all was tried."""

    models: tuple[DiscoveredModel, ...]
    timed_out: bool = False

    @property
    def best(self) -> DiscoveredModel:
        return self.models[0]

    @property
    def base(self) -> DiscoveredModel:
        """The best of the base library."""
        return next(one for one in self.models if one.is_base)

    @property
    def nothing_to_add(self) -> bool:
        """Whether the base library's best model is the best of all."""
        return self.models[0].is_base

    def simulate(self, x0: Any, t: Any, u: Any = None) -> Averaged:
        """The forecasts of all models from `x0` (n,), averaged with their weights, and their
        standard deviation; one that diverges counts up to there."""
        counting = [one for one in self.models if one.weight > _LEAST_WEIGHT]
        states = np.stack([one.simulate(x0, t, u).x for one in counting])
        weight = np.array([one.weight for one in counting])
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
            "models": [one.to_dict() for one in self.models],
            "nothing_to_add": self.nothing_to_add,
            "timed_out": self.timed_out,
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: the equations of each model, best first."""
        shown = (f"<div><b>[{i}]</b> {self.models[i]._html_repr()}</div>" for i in self._shown())
        rest = self._rest()
        return "".join(shown) + (f"<div>{rest}</div>" if rest else "")

    def _shown(self) -> list[int]:
        """The places of the models that are printed: those near the best, and the best of the base
        library."""
        near = [i for i, one in enumerate(self.models[:_MOST_SHOWN]) if one.gap <= _FAR_BEHIND]
        return sorted({*near, self.models.index(self.base)})

    def _rest(self) -> str:
        """A sentence on the models that are not printed; empty if there are none."""
        shown = self._shown()
        rest = [one.gap for i, one in enumerate(self.models) if i not in shown]
        if not rest:
            return ""
        if len(rest) == 1:
            return f"1 more model is in .models, {rest[0]:.1f} nats behind the best."
        return f"{len(rest)} more models are in .models, at least {min(rest):.1f} nats behind."

    def __repr__(self) -> str:
        lines = [f"[{i}] {self.models[i]}" for i in self._shown()]
        lines += [rest] if (rest := self._rest()) else []
        if self.nothing_to_add:
            lines.insert(0, "Nothing to add: the best model has terms of the base library alone.")
        if self.timed_out:
            lines.append("The time was up before everything was tried.")
        return "\n".join(lines)


_SHARPENED = 3  # models whose constants are matched as well as they can be
_BEHIND = 20.0  # nats, from which on they are not


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
    tried: int = TRIED,
) -> Discovery:
    """Ranked models of runs in time.

    Terms are sought for each equation; the best combinations are matched to whole trajectories,
    which rank them. Noisy data are searched twice, the second time with the states of the best
    model.

    Parameters
    ----------
    X
        a `Dataset`, or states with times `t` and inputs `u`.
    library
        terms that are sought beside a catalogue of formulas; `Polynomial(2) + Fourier(1)` if None.
    t, u
        as for `OrthoReg.fit`.
    atoms
        formulas of your own.
    physics
        what is known, which every model obeys.
    functions_of_time
        offers oscillations and trends of the time itself.
    minutes
        after which the best so far is returned.
    tried
        how many combinations are matched to trajectories.

    Returns
    -------
    found
        a `Discovery`: `.models`, ranked, with the gaps of their scores, and `.best`. The best model
        of the library alone is among them.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 10, 300)
    >>> x = 2 / (1 + np.exp(2 - t))  # x' = x - x^2/2
    >>> og.discover(x[:, None], t=t).best.equations()
    ["x0' = 1.000 x0 - 0.5000 x0**2"]
    """
    should_continue = until(minutes)
    data = (
        as_dataset(X, None, t, u)
        if t is not None or isinstance(X, Dataset | ChunkedDataset | list)
        else None
    )
    if data is None:
        raise InputError("discover() needs runs in time: a Dataset, or states X with times t=....")
    if not (isinstance(tried, int) and tried > 0):
        raise InputError(f"tried must be a whole number of at least 1; got {tried!r}.")
    base = Polynomial(2) + Fourier(1) if library is None else as_library(library)
    data = data.with_time_input() if functions_of_time else with_time_input(data, physics, base)
    models = _Models(data, base, physics, atoms, library is not None, should_continue)
    return models.discovered(tried)


@final
class _Models:
    """The search over one data set, and its result as models."""

    def __init__(
        self,
        data: Dataset,
        base: AbstractLibrary,
        physics: Physics | None,
        atoms: Sequence[Atom],
        is_expected: bool,
        should_continue: Callable[[], bool],
    ):
        self._data, self._physics, self._goes_on = data, physics, should_continue
        probe = OrthoReg(augmentation=Zero())
        self._rows, self._columns = training_rows(probe, Auto(), data, None, None, None)
        bound = self._bind(base)
        if bound.features.parameters:
            raise InputError(
                "discover() estimates no constants inside known equations or library terms, such "
                f"as '{bound.features.parameters[0]}'. Fit a model that has them, then ask "
                "model.explain(data)."
            )
        given = SearchInput(
            data,
            bound.features,
            bound.knowledge,
            self._bind,
            self._columns.interpolation,
            Auto(),
            self._rows.point_extent.sample,
            physics,
            atoms,
            is_expected=is_expected,
        )
        self._search = ModelSearch(given, should_continue)

    def discovered(self, tried: int) -> Discovery:
        """The models, best first, with where each differs from the best."""
        found = self._search.run(tried)
        scores = np.array([one.score for one in found])
        weights = np.exp(scores[0] - scores)
        near = {id(one) for one in found[:_SHARPENED] if one.score - found[0].score < _BEHIND}
        matches = [
            self._search.ranking.sharpened(one)
            if id(one) in near and self._goes_on()
            else one.matched
            for one in found
        ]
        points, best = self._search.around, matches[0].field
        models = [
            self._model(one.combination, matched, is_near=id(one) in near).ranked(
                one.score,
                one.score - found[0].score,
                float(weight),
                one.is_base,
                self._difference(points, best, matched.field) if i else None,
            )
            for i, (one, matched, weight) in enumerate(
                zip(found, matches, weights / weights.sum(), strict=True)
            )
        ]
        return Discovery(tuple(models), timed_out=not self._goes_on())

    def _bind(self, library: AbstractLibrary, physics: Physics | None = None) -> Bound:
        data = self._data
        return bind_physics(
            physics or self._physics, library, data.variable_names, data.state_names,
            dict(data.given_rates), data.schema.time_index,
        )  # fmt: skip

    def _model(self, one: Combination, matched: Match, *, is_near: bool) -> DiscoveredModel:
        """Intervals of models that are not near the best one come from the curvature alone."""
        field = matched.field
        result = describe(field, self._rows)
        certificate = certify(result, self._rows.outputs, field.features.names, normalized=True)
        fit = Fit(
            field, certificate, None, None, self._rows.extent.range,
            refinement=matched.refinement(is_curved=is_near),
        )  # fmt: skip
        model = DiscoveredModel(
            one.library, Zero(), selection=Chosen(one.library_terms), physics=one.physics
        )
        return model._learn(fit, self._columns)

    def _difference(
        self, points: Float[np.ndarray, "P V"], best: HybridField, other: HybridField
    ) -> Difference:
        """Where two fields part most, each equation in units of its own size."""
        with np.errstate(all="ignore"):
            values = [np.nan_to_num(one.values(points)) for one in (best, other)]
        size = np.maximum(np.sqrt(np.mean(self._rows.targets**2, axis=0)), 1e-300)
        apart = np.abs(values[0] - values[1]) / size
        place, c = (int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))
        return Difference(
            self._rows.outputs[c],
            dict(zip(self._data.variable_names, points[place].tolist(), strict=True)),
            float(values[0][place, c]),
            float(values[1][place, c]),
            f"{equation_names(self._rows.outputs, self._data.velocity_of)[c]}'",
        )
