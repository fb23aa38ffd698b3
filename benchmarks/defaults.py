"""Accuracy of alternative defaults of `OrthoReg()` on development systems."""

import functools
import itertools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, final
from unittest import mock

import numpy as np

import orthoreg as og
from orthoreg.data import Rows, folds
from orthoreg.diagnostics import relative_error, support_scores
from orthoreg.field import AbstractAugmentation
from orthoreg.field.hybrid import HybridField
from orthoreg.fitting import Recipe, choose_terms, finish, prepare
from orthoreg.search.rows import (
    AbstractSelection,
    SelectionResult,
    _limits,
    _selection,
    unresolved_trig_terms,
)
from orthoreg.solving import Moments, Task, fold_moments, gather

from .development import DEFAULT_LIBRARY, SYSTEMS, Development, Runs, generate

_SEEDS = (0, 1)
_NOISE = 0.01
_LEAST = 1e-6  # smaller errors count as this value
_FOLDS = 5
_DEFAULTS = "the defaults"
_COLUMNS = (
    "", "far error", "far / default", "worst far", "near error", "near / default",
    "F1", "F1, 1% noise",
)  # fmt: skip
_LACKING = tuple(name for name, system in SYSTEMS.items() if system.terms is None)
_NETWORK_ON = ("dry friction", "spring with a bump", "growth that saturates")


@final
@dataclass(frozen=True)
class Choice:
    """A choice of settings. If `model` is given, it is fitted unchanged."""

    selection: AbstractSelection = og.Extrapolation()
    floor: float | None = None
    compare_with_best: bool = False
    most_cancellation: float | None = None
    least_period: float | None = None
    augmentation: AbstractAugmentation = og.RandomFeatures()
    outward: bool = True
    gate: og.Gate | None = og.Gate()
    model: Callable[..., og.OrthoReg] | None = None
    only: Sequence[str] = tuple(SYSTEMS)
    seeds: Sequence[int] = _SEEDS


def _extrapolation(**settings: Any) -> Choice:
    return Choice(og.Extrapolation(**settings))


def _residual(**settings: Any) -> Choice:
    settings = {"only": _LACKING} | settings
    return Choice(**settings)


def _features(**settings: Any) -> Choice:
    return _residual(augmentation=og.RandomFeatures(**settings))


def _stable_terms(library: Any, seed: int) -> og.OrthoReg:
    """Return an estimator with the deprecated selection, which warns when it is created."""
    return og.OrthoReg(library, selection=og.StabilitySelection(), seed=seed)


TERMS = {
    _DEFAULTS: Choice(),
    "`inner=0.65`": _extrapolation(inner=0.65),
    "`inner=0.75`": _extrapolation(inner=0.75),
    "`caution=0`": _extrapolation(caution=0.0),
    "`caution=1`": _extrapolation(caution=1.0),
    "`reach=1.5`": _extrapolation(reach=1.5),
    "`reach=3`": _extrapolation(reach=3.0),
    "`inner=0.75, caution=0`": _extrapolation(inner=0.75, caution=0.0),
    "`inner=0.75, caution=1`": _extrapolation(inner=0.75, caution=1.0),
    "`caution=1, reach=3`": _extrapolation(caution=1.0, reach=3.0),
    "errors below 1e-7 count as equal": Choice(floor=1e-7),
    "errors below 1e-6 count as equal": Choice(floor=1e-6),
    "compared with the best alone": Choice(compare_with_best=True),
    "terms may cancel": Choice(most_cancellation=np.inf),
    "terms 5 times their sum are refused": Choice(most_cancellation=5.0),
    "terms 20 times their sum are refused": Choice(most_cancellation=20.0),
    "sines of any column": Choice(least_period=0.0),
    "sines from a third of a period on": Choice(least_period=1 / 3),
    "sines from half a period on": Choice(least_period=0.5),
}
RESIDUAL = {
    "no residual": _residual(augmentation=og.Zero()),
    "`RandomFeatures(100)`": _residual(augmentation=og.RandomFeatures(100)),
    "`RandomFeatures(200)`": _residual(augmentation=og.RandomFeatures(200)),
    "`RandomFeatures(800)`": _residual(augmentation=og.RandomFeatures(800)),
    "`weight_scale=1, univariate_fraction=0`": _features(weight_scale=1.0, univariate_fraction=0.0),
    "`weight_scale=1`": _features(weight_scale=1.0),
    "`weight_scale=(0.5, 8)`": _features(weight_scale=(0.5, 8.0)),
    "`weight_scale=(0.5, 16)`": _features(weight_scale=(0.5, 16.0)),
    "`weight_scale=(0.5, 64)`": _features(weight_scale=(0.5, 64.0)),
    "`univariate_fraction=0`": _features(univariate_fraction=0.0),
    "`univariate_fraction=1`": _features(univariate_fraction=1.0),
    "`MLP(64, 2)` by Adam, 3 systems": _residual(
        model=functools.partial(
            og.OrthoReg,
            augmentation=og.MLP(64, 2),
            solver=og.Adam(epochs=300, normalize=True, polish=True),
        ),
        only=_NETWORK_ON,
        seeds=_SEEDS[:1],
    ),
    "rho by folds of mixed runs": _residual(outward=False),
    "`Gate(hold=False)`": _residual(gate=og.Gate(hold=False)),
    "`Gate(fade=0.25)`": _residual(gate=og.Gate(0.25)),
    "`Gate(fade=1)`": _residual(gate=og.Gate(1.0)),
    "`Gate(landmarks=25)`": _residual(gate=og.Gate(landmarks=25)),
    "`Gate(landmarks=50)`": _residual(gate=og.Gate(landmarks=50)),
    "`Gate(landmarks=200)`": _residual(gate=og.Gate(landmarks=200)),
    "`Gate(landmarks=500)`": _residual(gate=og.Gate(landmarks=500)),
    "`Gate(fade=1, landmarks=200)`": _residual(gate=og.Gate(1.0, 200)),
    "`gate=None`": _residual(gate=None),
}
SELECTIONS = {
    "`CrossValidation()`": Choice(og.CrossValidation()),
    '`InformationCriterion("bic")`': Choice(og.InformationCriterion("bic")),
    "`StabilitySelection()`": Choice(model=_stable_terms),
    "L1: `sparsity=0.05`": Choice(model=functools.partial(og.OrthoReg, sparsity=0.05)),
}
CHOICES = TERMS | RESIDUAL | SELECTIONS


@final
@dataclass(frozen=True, eq=False)
class Case:
    """The runs of a system, with cached results."""

    system: Development
    runs: Runs
    seed: int
    known: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]

    def rows(self) -> Rows:
        """Return the training rows. Derivatives are estimated once."""
        data = og.Dataset.from_arrays(list(self.runs.train), self.runs.times)
        return self.once("rows", lambda: og.VectorField().observe(data))

    def recipe(self, choice: Choice) -> Recipe:
        """Return the recipe of the choice. The default library counts as chosen by default."""
        model = og.OrthoReg(
            self.system.library, choice.augmentation, selection=choice.selection,
            gate=choice.gate, seed=self.seed,
        )  # fmt: skip
        is_default = self.system.library == DEFAULT_LIBRARY
        return replace(model.recipe(), library_is_default=is_default)

    def field(self, choice: Choice) -> HybridField:
        """Return the fitted field by the steps of `OrthoReg.fit`, with cached results."""
        if choice.model is not None:
            model = choice.model(self.system.library, seed=self.seed)
            return model.fit(list(self.runs.train), t=self.runs.times).field_
        recipe = self.recipe(choice)
        # terms are chosen without a residual, so they are the same for all residuals
        alone = replace(choice, augmentation=og.Zero(), outward=True, gate=None, only=(), seeds=())
        chosen, selection = self.once(
            alone, lambda: _chosen(alone, self.recipe(alone), self.rows())
        )
        own = self.once(choice.augmentation, lambda: prepare(recipe, self.rows()))
        parts = self.once(
            ("moments", choice.augmentation, choice.outward),
            lambda: fold_moments(own, self.rows()) if choice.outward else _mixed(own, self.rows()),
        )
        task = replace(chosen, basis=own.basis, ridge=own.ridge, folds=parts)
        solution = self.once(
            (choice.augmentation, choice.outward, task.support.tobytes()),
            lambda: recipe.solver.solve_all([task])[0],
        )
        return finish(recipe, task, solution, selection).field

    def scores(self, found: HybridField) -> dict[str, float]:
        """Return relative derivative errors near and far, and F1 if the library is complete."""
        width = self.runs.near.shape[-1]
        scores = {}
        for name, states in (("near", self.runs.near), ("far", self.runs.far)):
            rows = states.reshape(-1, width)
            scores[name] = relative_error(found.values(rows), self.system.slopes(rows))
        if self.system.terms is not None:
            names = found.features.names
            truth = np.array([[name in terms for name in names] for terms in self.system.terms])
            if truth.sum() != sum(map(len, self.system.terms)):
                raise ValueError(f"terms {self.system.terms} are not all among {names}")
            scores["f1"] = support_scores(np.asarray(found.coefficients), truth, 0.0).f1
        return scores


def _mixed(task: Task, rows: Rows) -> tuple[Moments, ...]:
    """Return moments of folds that contain both near and far runs."""
    parts = gather(task.features, task.basis, rows, folds=_FOLDS, fold_of_row=folds(rows, _FOLDS))
    return tuple(parts)


def _chosen(choice: Choice, recipe: Recipe, rows: Rows) -> tuple[Task, SelectionResult | None]:
    """Return the task with the terms of this choice."""
    task = prepare(recipe, rows)
    if choice.least_period is not None and recipe.library_is_default:
        with mock.patch.object(_limits, "MIN_PERIOD_SHARE", choice.least_period):
            left_out = unresolved_trig_terms(task.features, rows.extent.range)
        task = replace(task, support=task.support & ~left_out)
        recipe = replace(recipe, library_is_default=False)
    with ExitStack() as stack:
        if choice.floor is not None:
            stack.enter_context(mock.patch.object(_limits, "NEGLIGIBLE_ERROR", choice.floor))
        if choice.compare_with_best:
            stack.enter_context(
                mock.patch.object(_selection, "one_standard_error_choice", _as_good_as_the_best)
            )
        if choice.most_cancellation is not None:
            limit = choice.most_cancellation
            stack.enter_context(mock.patch.object(_limits, "MAX_CANCELLATION", limit))
        return choose_terms(recipe, task)


def _as_good_as_the_best(logs: np.ndarray) -> tuple[np.intp, np.ndarray]:
    """Return the first support that is within a standard error of the best one, and
    these errors."""
    best = logs[int(np.argmin(logs.mean(axis=-1)))]
    excess = logs - best
    standard_error = excess.std(axis=-1, ddof=1) / np.sqrt(logs.shape[-1])
    good = excess.mean(axis=-1) <= np.maximum(standard_error, np.log(1.1))
    return np.argmax(good), standard_error


def measure() -> dict[str, Any]:
    """Measure all choices on their systems."""
    rows = []
    for (name, system), seed in itertools.product(SYSTEMS.items(), _SEEDS):
        rows += rows_of(name, system, seed, 0.0)
        if system.terms is not None:
            rows += rows_of(name, system, seed, _NOISE)
    return {"rows": rows}


def rows_of(name: str, system: Development, seed: int, noise: float) -> list[dict[str, Any]]:
    """Return the scores of all choices on one case."""
    case = Case(system, generate(system, seed, noise), seed)
    rows = []
    for label, choice in CHOICES.items():
        if name in choice.only and seed in choice.seeds:
            scores = case.scores(case.field(choice))
            rows.append({"choice": label, "system": name, "seed": seed, "noise": noise})
            rows[-1] |= {key: float(f"{value:.4g}") for key, value in scores.items()}
    return rows


def defaults_tables(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables as Markdown."""
    return "\n".join(
        f"{title}\n\n{_table(rows, [_DEFAULTS, *choices])}"
        for title, choices in (
            ("Other selections of terms:", SELECTIONS),
            ("Other settings of `Extrapolation`:", list(TERMS)[1:]),
            (
                "Other residuals and gates, on the systems whose library lacks a term:",
                RESIDUAL,
            ),
        )
    )


def _table(rows: Sequence[dict[str, Any]], labels: Sequence[str]) -> str:
    recorded = {row["choice"] for row in rows}
    labels = [
        label for label in labels if label in recorded
    ]  # alternatives without a measurement are omitted
    systems = {row["system"] for row in rows if row["choice"] == labels[1]}
    rows = [row for row in rows if row["system"] in systems]
    columns = [name for name in _COLUMNS if "F1" not in name or any("f1" in row for row in rows)]
    lines = [_line(rows, label) for label in labels]
    table = [columns, ["---"] * len(columns), *([line[name] for name in columns] for line in lines)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in table)


def _line(rows: Sequence[dict[str, Any]], label: str) -> dict[str, str]:
    mine = {_key(row): row for row in rows if row["choice"] == label}
    base = {_key(row): row for row in rows if row["choice"] == _DEFAULTS}
    clean = [key for key in mine if not key[2]]
    logs = {
        name: np.log([max(mine[key][name], _LEAST) for key in clean]) for name in ("far", "near")
    }
    line = {
        "": label,
        "far error": f"{np.exp(logs['far'].mean()):.2g}",
        "worst far": f"{np.exp(logs['far'].max()):.2g}",
        "near error": f"{np.exp(logs['near'].mean()):.2g}",
    }
    for name, values in logs.items():
        ratio = values - np.log([max(base[key][name], _LEAST) for key in clean])
        line[f"{name} / default"] = "" if label == _DEFAULTS else _interval(clean, ratio)
    for name, noise in (("F1", 0.0), ("F1, 1% noise", _NOISE)):
        f1 = [row["f1"] for key, row in mine.items() if "f1" in row and key[2] == noise]
        line[name] = f"{np.mean(f1):.2f}" if f1 else ""
    return line


def _interval(keys: Sequence[tuple[str, int, float]], logs: np.ndarray) -> str:
    """Return the geometric mean, and the interval of one standard error over systems."""
    names = np.array([key[0] for key in keys])
    means = np.array([logs[names == name].mean() for name in np.unique(names)])
    middle, spread = means.mean(), means.std(ddof=1) / np.sqrt(len(means))
    low, high = np.exp(middle - spread), np.exp(middle + spread)
    return f"{np.exp(middle):.2f} ({low:.2f} to {high:.2f})"


def _key(row: dict[str, Any]) -> tuple[str, int, float]:
    return row["system"], row["seed"], row["noise"]
