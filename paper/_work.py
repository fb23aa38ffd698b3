"""The jobs. Each job fits and scores the methods of a group in a setting, for one seed."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from ._evaluation import evaluated
from ._methods import fitted
from ._portraits import portrait_record
from ._settings import Scale, Setting, problem
from .sweeps import Job, Record

PORTRAYED = ("pure@0.001", "l2", "orthoreg", "validated")
"""The methods of the phase portraits."""

_VERSION = 2  # of the results of jobs; a new number discards old results


@final
@dataclass(frozen=True, kw_only=True)
class Run:
    """The specification of a job."""

    setting: Setting
    methods: tuple[str, ...]
    scale: Scale
    seed: int


def score(run: Run) -> list[Record]:
    """Return all metrics of all methods: rows of setting, method, seed, metric and value."""
    data = problem(run.setting, run.scale, run.seed)
    rows: list[Record] = []
    for name, model in fitted(run.methods, data, run.scale, run.seed).items():
        for metric, value in evaluated(model, data).items():
            rows.append(
                {
                    "setting": run.setting.name,
                    "method": name,
                    "seed": run.seed,
                    "metric": metric,
                    "value": value,
                }
            )
    return rows


def jobs(wanted: Iterable[tuple[str, tuple[str, ...]]], scale: Scale, seeds: int) -> list[Job]:
    """Return a job for each setting, group of methods, and seed."""
    return [
        Job(
            function=score,
            spec=Run(setting=Setting.named(name), methods=methods, scale=scale, seed=seed),
            version=_VERSION,
            cost=_cost(name, methods),
        )
        for name, methods in wanted
        for seed in range(seeds)
    ]


def _cost(setting: str, methods: tuple[str, ...]) -> float:
    networks = sum(not name.startswith(("pure", "stlsq", "projection")) for name in methods)
    return networks + {"duffing": 10.0, "lotka-volterra": 6.0, "sir": 4.0}.get(setting, 1.0)


def portrait_jobs(scale: Scale) -> list[Job]:
    """Return the jobs for the phase portraits of the first seed."""
    return [
        Job(
            function=portray,
            spec=Run(setting=Setting.named(name), methods=PORTRAYED, scale=scale, seed=0),
            version=_VERSION,
            cost=_cost(name, PORTRAYED),
        )
        for name in ("pendulum/medium", "duffing")
    ]


def portray(run: Run) -> list[Record]:
    """Return a row for each method, with the portrait as JSON text."""
    data = problem(run.setting, run.scale, run.seed)
    name = run.setting.system
    return [
        {
            "portrait": json.dumps(
                portrait_record(
                    model, data.system, name=name, method=method, basins=name == "duffing"
                )
            )
        }
        for method, model in fitted(run.methods, data, run.scale, run.seed).items()
    ]
