"""Every experiment by the name that the command line uses."""

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
)
from ._tables import AbstractExperiment

# timing and figures have jobs or records of their own and no such table
OTHERS: tuple[str, ...] = ("timing", "figures")

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
)

EXPERIMENTS: dict[str, AbstractExperiment] = {module.NAME: module for module in _MODULES}
"""The tables and ablations, in the order of the page."""

NAMES: tuple[str, ...] = (*EXPERIMENTS, *OTHERS)


def wanted(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The methods that these experiments need, by setting, each once and in a fixed order."""
    methods: dict[str, dict[str, None]] = {}
    for name in EXPERIMENTS:
        if name in names:
            for setting in EXPERIMENTS[name].SETTINGS:
                methods.setdefault(setting, {}).update(dict.fromkeys(EXPERIMENTS[name].METHODS))
    return {setting: tuple(found) for setting, found in methods.items()}
