"""Every experiment by the name that the command line uses."""

from collections.abc import Iterable

from . import (
    ablation_difficulty,
    ablation_lambda,
    ablation_noise,
    ablation_samples,
    ablation_sampling,
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
)

EXPERIMENTS: dict[str, AbstractExperiment] = {module.NAME: module for module in _MODULES}
"""The tables and ablations, in the order of the page."""

NAMES: tuple[str, ...] = (*EXPERIMENTS, "figures")

DRAWN = ("ablation_difficulty", "ablation_sampling", "ablation_lambda", "ablation_samples",
         "ablation_noise")  # fmt: skip
"""The experiments whose records the figures show."""

_GROUPS = (
    COMPARED,
    tuple(name for name in ablation_lambda.METHODS if name not in COMPARED),
    tuple(name for name in table_baselines.METHODS if name not in COMPARED),
)


def wanted(names: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Settings with the methods to fit there, for these experiments.

    Methods come in fixed groups, so that what one experiment has computed serves the others.
    """
    chosen = {*names, *(DRAWN if "figures" in names else ())} - {timing.NAME}
    found = {
        (setting, group): None
        for name, experiment in EXPERIMENTS.items()
        if name in chosen
        for setting in experiment.SETTINGS
        for group in _GROUPS
        if set(group) & set(experiment.METHODS)
    }
    return list(found)
