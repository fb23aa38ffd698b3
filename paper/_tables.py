"""Tables: conversion of records to cells, each with the paper's value beside ours."""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, final

from orthoreg import InputError

from ._labels import method_label, metric_label
from ._paper import PaperValue, is_dagger, paper_value

Values: TypeAlias = dict[tuple[str, str, str], dict[int, float | None]]
"""Values by setting, method and metric, for each seed."""


class AbstractExperiment(Protocol):
    """Attributes of the module of an experiment."""

    @property
    def NAME(self) -> str: ...
    @property
    def TITLE(self) -> str: ...
    @property
    def CAPTION(self) -> str: ...
    @property
    def PAPER(self) -> str:
        """The label of the paper's table or section."""
        ...

    @property
    def LABELS(self) -> Mapping[str, str]:
        """Each setting in words."""
        ...

    @property
    def SETTINGS(self) -> tuple[str, ...]: ...
    @property
    def METHODS(self) -> tuple[str, ...]: ...
    @property
    def METRICS(self) -> tuple[str, ...]: ...
    @property
    def BLOCKS(self) -> Literal["setting", "metric"]:
        """The common property of the rows of a block."""
        ...


@final
@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method in one row: our values over seeds, and the paper's value.

    `seeds` is the number of seeds with a value, and `undefined` the number without. `diverged` and
    `rollouts` are counted over all seeds, for rollout errors only.
    """

    method: str
    mean: float | None
    std: float | None
    seeds: int
    undefined: int
    diverged: int | None
    rollouts: int | None
    paper: PaperValue | None
    paper_diverged: bool

    @property
    def ours_text(self) -> str:
        """Our value as text, '0.013 ± 0.001 †2/1000', or a dash without a value."""
        parts = [] if self.mean is None else [number(self.mean)]
        if self.std is not None:
            parts.append(f"± {number(self.std, 2)}")
        if self.diverged:
            parts.append(f"†{self.diverged}/{self.rollouts}")
        if self.seeds and self.undefined:
            parts.append(f"({self.seeds} of {self.seeds + self.undefined} seeds)")
        return " ".join(parts) or "–"

    @property
    def paper_text(self) -> str:
        """The paper's value in the same format, or an empty string."""
        if self.paper is None:
            return "†" if self.paper_diverged else ""
        if self.paper.std is None:
            return f"about {number(self.paper.mean, 4, tidy=True)}"
        mean, std = number(self.paper.mean, 4, tidy=True), number(self.paper.std, 4, tidy=True)
        return f"{mean} ± {std}"


@final
@dataclass(frozen=True, kw_only=True)
class Row:
    """A metric in a setting."""

    setting: str
    metric: str
    label: str
    cells: tuple[Cell, ...]

    @property
    def has_paper(self) -> bool:
        return any(cell.paper_text for cell in self.cells)


@final
@dataclass(frozen=True, kw_only=True)
class Block:
    """Rows under one heading."""

    title: str
    rows: tuple[Row, ...]


@final
@dataclass(frozen=True, kw_only=True)
class Table:
    """The results of an experiment. The cells of each row are in the order of `methods`."""

    name: str
    title: str
    caption: str
    methods: tuple[str, ...]
    blocks: tuple[Block, ...]
    seeds: int

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for block in self.blocks for row in block.rows)

    @property
    def headings(self) -> list[str]:
        return ["", *(method_label(method) for method in self.methods)]


def build_table(experiment: AbstractExperiment, records: Iterable[Mapping[str, Any]]) -> Table:
    """Return the table of an experiment. Cells without records are empty."""
    methods, labels = experiment.METHODS, experiment.LABELS
    settings, metrics = experiment.SETTINGS, experiment.METRICS
    values = _by_seed(experiment, records)

    def row(setting: str, metric: str, label: str) -> Row:
        cells = (_cell(values, experiment.PAPER, setting, method, metric) for method in methods)
        return Row(setting=setting, metric=metric, label=label, cells=tuple(cells))

    if experiment.BLOCKS == "setting":
        blocks = [
            Block(title=labels[s], rows=tuple(row(s, m, metric_label(m)) for m in metrics))
            for s in settings
        ]
    else:
        blocks = [
            Block(title=metric_label(m), rows=tuple(row(s, m, labels[s]) for s in settings))
            for m in metrics
        ]
    return Table(
        name=experiment.NAME,
        title=experiment.TITLE,
        caption=experiment.CAPTION,
        methods=methods,
        blocks=tuple(blocks),
        seeds=len({seed for seeds in values.values() for seed in seeds}),
    )


def _by_seed(experiment: AbstractExperiment, records: Iterable[Mapping[str, Any]]) -> Values:
    values: Values = {}
    for record in records:
        setting, method, metric = record["setting"], record["method"], record["metric"]
        if setting not in experiment.SETTINGS or method not in experiment.METHODS:
            continue
        seeds = values.setdefault((setting, method, metric), {})
        seed, value = record["seed"], record["value"]
        value = None if value is None or math.isnan(value) else float(value)
        if seeds.setdefault(seed, value) != value:
            raise InputError(
                f"Two records of {metric} for {method} on {setting}, seed {seed}, disagree: "
                f"{seeds[seed]} and {value}. Give the records of one run."
            )
    return values


def _cell(values: Values, label: str, setting: str, method: str, metric: str) -> Cell:
    over_seeds = values.get((setting, method, metric), {})
    given = [value for value in over_seeds.values() if value is not None]
    spread = len(given) > 1 and all(map(math.isfinite, given))
    kind, _, split = metric.partition(".")

    def total(name: str) -> int | None:
        counts = values.get((setting, method, f"{name}.{split}"), {}) if kind == "rollout" else {}
        return int(sum(count or 0 for count in counts.values())) if counts else None

    return Cell(
        method=method,
        mean=sum(given) / len(given) if given else None,
        std=statistics.stdev(given) if spread else None,
        seeds=len(given),
        undefined=len(over_seeds) - len(given),
        diverged=total("diverged"),
        rollouts=total("rollouts"),
        paper=paper_value(label, setting, metric, method),
        paper_diverged=is_dagger(label, setting, metric, method),
    )


def number(value: float, digits: int = 3, tidy: bool = False) -> str:
    """Return a number with this many significant digits. `tidy` removes trailing zeros.

    >>> number(0.0127), number(3400.0), number(1.27e-5), number(0.93, 4, tidy=True)
    ('0.0127', '3400', '1.27e-5', '0.93')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    if -5 < power < 5:
        text, tail = f"{value:.{max(0, digits - 1 - power)}f}", ""
    else:
        text, tail = mantissa, f"e{power}"
    return (text.rstrip("0").rstrip(".") if tidy and "." in text else text) + tail
