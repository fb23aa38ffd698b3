"""All experiments, by their names on the command line."""

from collections.abc import Iterable

from . import (
    ablation_difficulty,
    ablation_lambda,
    ablation_noise,
    ablation_samples,
    ablation_sampling,
    complete_library,
    discovery,
    extrapolation,
    table_baselines,
    table_duffing,
    table_lotka_volterra,
    table_pendulum,
    table_sir,
    table_stlsq,
    timing,
)
from ._labels import COMPARED
from ._tables import AbstractExperiment

_MODULES: tuple[AbstractExperiment, ...] = (
    table_pendulum,
    table_baselines,
    table_duffing,
    table_lotka_volterra,
    table_sir,
    table_stlsq,
    ablation_difficulty,
    ablation_sampling,
    ablation_lambda,
    ablation_samples,
    ablation_noise,
    timing,
    extrapolation,
    complete_library,
    discovery,
)

EXPERIMENTS: dict[str, AbstractExperiment] = {module.NAME: module for module in _MODULES}
"""The tables and ablations, in the order of the page."""

BEYOND = (extrapolation.NAME, complete_library.NAME)
"""Additional experiments, which the paper does not contain. They run only if named."""

PAPERS: tuple[str, ...] = (
    *(name for name in EXPERIMENTS if name not in (*BEYOND, discovery.NAME)),
    "figures",
)
NAMES: tuple[str, ...] = (*PAPERS, extrapolation.NAME, discovery.NAME)
"""Names on the command line. The table of complete libraries belongs to the extrapolation."""

DRAWN = ("ablation_difficulty", "ablation_sampling", "ablation_lambda", "ablation_samples",
         "ablation_noise")  # fmt: skip
"""The experiments whose records are shown in figures."""

_NETWORKS = tuple(name for name in table_baselines.METHODS if name not in COMPARED)
_GROUPS = (
    COMPARED,
    tuple(name for name in ablation_lambda.METHODS if name not in COMPARED),
    _NETWORKS,
    ("recommended",),
)


def tables_of(names: Iterable[str]) -> list[str]:
    """Return the tables of these command-line names."""
    asked = {*names, *(BEYOND if extrapolation.NAME in names else ())}
    return [name for name in EXPERIMENTS if name in asked]


def wanted(names: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the settings of these experiments, each with the methods to fit.

    Methods are computed in fixed groups, so that experiments can share results. The PINN uses the
    known equation of the pendulum, so the PINN and the universal ODE are fitted only to the
    pendulum.
    """
    chosen = {*tables_of(names), *(DRAWN if "figures" in names else ())} - {
        timing.NAME,
        discovery.NAME,
    }
    found = {
        (setting, group): None
        for name, experiment in EXPERIMENTS.items()
        if name in chosen
        for setting in experiment.SETTINGS
        for group in _GROUPS
        if set(group) & set(experiment.METHODS)
        and (group != _NETWORKS or setting.startswith("pendulum"))
    }
    return list(found)
