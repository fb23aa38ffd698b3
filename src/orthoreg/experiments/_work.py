"""The jobs: one for each setting and seed, which fits and scores every method it is asked for."""

from dataclasses import dataclass
from typing import final

from ..sweeps import Job, Record
from ._evaluation import evaluated
from ._methods import fitted
from ._settings import Scale, Setting, problem


@final
@dataclass(frozen=True, kw_only=True)
class Run:
    """What a job depends on."""

    setting: Setting
    methods: tuple[str, ...]
    scale: Scale
    seed: int


def score(run: Run) -> list[Record]:
    """All metrics of all methods: rows of setting, method, seed, metric and value."""
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


def jobs(wanted: dict[str, tuple[str, ...]], scale: Scale, seeds: int) -> list[Job]:
    """One job for each setting and seed, with all methods that any experiment wants there."""
    return [
        Job(
            function=score,
            spec=Run(setting=Setting.named(name), methods=methods, scale=scale, seed=seed),
            cost=_cost(name, methods),
        )
        for name, methods in wanted.items()
        for seed in range(seeds)
    ]


def _cost(setting: str, methods: tuple[str, ...]) -> float:
    networks = sum(not name.startswith(("pure", "stlsq", "projection")) for name in methods)
    return networks + {"duffing": 10.0, "lotka-volterra": 6.0, "sir": 4.0}.get(setting, 1.0)
