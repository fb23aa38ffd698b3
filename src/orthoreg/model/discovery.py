"""`Discovery`: ranked models of one data set, what tells them apart, and their average."""

import os
from copy import copy
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from jaxtyping import Float

from .._common.html import html_lines, html_sentences
from ..export import equation_names
from ..field import AbstractAugmentation
from ..fitting import Recipe
from ..physics import Physics
from ..search.rows import AbstractSelection
from ..terms import AbstractLibrary
from .estimator import OrthoReg
from .model import AbstractModel

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
