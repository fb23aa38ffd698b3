"""The numbers of the paper, by table, setting, metric and column."""

from dataclasses import dataclass
from typing import Any, TypeAlias, final

Printed: TypeAlias = tuple[str, str] | None
"""Mean and deviation as printed, before multiplication by the row's power of ten."""


@final
@dataclass(frozen=True)
class PaperValue:
    """Mean and standard deviation in plain units. Numbers from the text have no deviation."""

    mean: float
    std: float | None = None


DAGGER = None
"""Marks cells in which the paper has a dagger for diverged rollouts."""

_THREE = ("pure", "l2", "orthoreg")
_NETWORKS = ("pinn", "universal-ode", "orthoreg")
_STLSQ = ("stlsq", "pure", "orthoreg")
_F1, _TERMS = "f1@0.001", "terms@0.001"


def _row(
    columns: tuple[str, ...], *printed: Printed, power: int = 0
) -> dict[str, PaperValue | None]:
    """Return a row of a table, with its power of ten multiplied out digit by digit."""
    values = [
        DAGGER if one is None else PaperValue(*(float(f"{part}e{power}") for part in one))
        for one in printed
    ]
    return dict(zip(columns, values, strict=True))


_PENDULUM_F1 = _row(_THREE, ("0.43", "0.09"), ("0.61", "0.03"), ("0.93", "0.15"))
_PENDULUM_ID = _row(_THREE, ("1.27", "0.07"), ("1.41", "0.05"), ("1.89", "0.01"), power=-2)
_PENDULUM_T2 = _row(_THREE, ("1.02", "0.07"), ("1.07", "0.02"), ("1.01", "0.01"))
_PENDULUM_T3 = _row(_THREE, ("34.00", "22.22"), ("7.90", "4.02"), ("0.02", "0.00"), power=2)

PAPER: dict[str, dict[str, dict[str, dict[str, PaperValue | None]]]] = {
    "tab:sweet_spot_results": {
        "pendulum/medium": {
            "derivative.id": _PENDULUM_ID,
            "rollout.id": _row(
                _THREE, ("0.74", "0.43"), ("0.31", "0.02"), ("3.65", "0.36"), power=-2
            ),
            "derivative.ext": _row(
                _THREE, ("19.45", "12.89"), ("5.00", "2.42"), ("0.13", "0.07"), power=2
            ),
            "rollout.t2": _PENDULUM_T2,
            "derivative.t3": _PENDULUM_T3,
            _F1: _PENDULUM_F1,
            _TERMS: _row(_THREE, ("11.4", "2.9"), ("6.8", "0.4"), ("3.6", "1.3")),
        },
    },
    "tab:baseline": {
        "pendulum/medium": {
            "derivative.id": _row(
                _NETWORKS, ("1.58", "0.00"), ("1.61", "0.06"), ("1.89", "0.01"), power=-2
            ),
            "rollout.t2": _row(_NETWORKS, ("1.02", "0.01"), ("1.07", "0.07"), ("1.01", "0.01")),
            "derivative.t3": _row(
                _NETWORKS, ("0.94", "0.00"), ("1.02", "0.18"), ("0.02", "0.00"), power=2
            ),
            _F1: _row(("orthoreg",), ("0.93", "0.15")),
        },
    },
    "tab:duffing_results_streamlined": {
        "duffing": {
            "rollout.id": _row(
                _THREE, ("4.75", "0.13"), ("5.36", "0.14"), ("5.59", "0.09"), power=-1
            ),
            "rollout.t2": _row(_THREE, ("11.03", "6.09"), ("7.46", "6.20"), ("4.93", "0.35")),
            "rollout.t3": _row(
                _THREE, ("3.70", "0.21"), ("3.44", "0.12"), ("3.46", "0.05"), power=-1
            ),
            _F1: _row(_THREE, ("0.40", "0.05"), ("0.59", "0.04"), ("0.63", "0.05")),
            _TERMS: _row(_THREE, ("11.0", "1.4"), ("3.8", "0.4"), ("3.4", "0.5")),
        },
    },
    # according to its footnote, T3 is a rollout error at low and high difficulty, and a
    # derivative error at medium difficulty
    "tab:difficulty_ablation_streamlined": {
        "pendulum/low": {
            "derivative.id": _row(
                _THREE, ("7.77", "1.64"), ("10.99", "0.83"), ("26.82", "5.00"), power=-4
            ),
            "derivative.t2": _row(
                _THREE, ("1.53", "0.26"), ("2.01", "0.00"), ("2.79", "0.09"), power=-3
            ),
            "rollout.t3": _row(_THREE, ("161.60", "166.18"), ("5.86", "0.01"), ("0.58", "0.06")),
            _F1: _row(_THREE, ("0.50", "0.09"), ("0.72", "0.05"), ("0.86", "0.00")),
        },
        "pendulum/medium": {
            "derivative.id": _PENDULUM_ID,
            "derivative.t2": _row(
                _THREE, ("1.15", "0.05"), ("1.27", "0.04"), ("1.54", "0.02"), power=-2
            ),
            "derivative.t3": _row(
                _THREE, ("940.60", "614.71"), ("218.49", "111.32"), ("2.45", "0.43")
            ),
            _F1: _PENDULUM_F1,
        },
        "pendulum/high": {
            "derivative.id": _row(
                _THREE, ("3.91", "0.13"), ("3.90", "0.11"), ("3.86", "0.09"), power=-2
            ),
            "derivative.t2": _row(
                _THREE, ("4.49", "0.17"), ("4.46", "0.10"), ("4.43", "0.09"), power=-2
            ),
            "rollout.t3": _row(
                _THREE, ("4.49", "2.61"), ("4.06", "0.75"), ("2.64", "0.48"), power=-1
            ),
            _F1: _row(_THREE, ("0.46", "0.05"), ("0.43", "0.04"), ("0.52", "0.07")),
        },
    },
    "tab:sampling_ablation_streamlined": {
        "pendulum/medium": {
            "derivative.id": _PENDULUM_ID,
            "rollout.t2": _PENDULUM_T2,
            "derivative.t3": _PENDULUM_T3,
            _F1: _PENDULUM_F1,
        },
        "pendulum/medium/irregular/equal-steps": {
            "derivative.id": _row(_THREE, ("3.52", "0.00"), ("3.52", "0.00"), ("3.52", "0.00")),
            "rollout.t2": _row(_THREE, ("3.85", "0.00"), ("3.85", "0.00"), ("3.85", "0.00")),
            "derivative.t3": _row(
                _THREE, ("4.04", "0.09"), ("3.90", "0.10"), ("3.74", "0.05"), power=1
            ),
            _F1: _row(_THREE, ("0.30", "0.01"), ("0.30", "0.01"), ("0.31", "0.01")),
        },
    },
    "tab:lv_results_streamlined": {
        "lotka-volterra": {
            "derivative.id": _row(
                _THREE, ("1.64", "0.00"), ("1.64", "0.00"), ("1.64", "0.00"), power=-2
            ),
            "derivative.t2": _row(
                _THREE, ("1.21", "0.00"), ("1.22", "0.00"), ("1.22", "0.00"), power=-2
            ),
            "derivative.t3": _row(
                _THREE, ("1.74", "0.00"), ("1.73", "0.00"), ("1.71", "0.00"), power=-1
            ),
            _F1: _row(_THREE, ("0.22", "0.01"), ("0.22", "0.00"), ("0.24", "0.01")),
            _TERMS: _row(_THREE, ("16.6", "0.9"), ("16.0", "0.0"), ("14.8", "0.4")),
        },
    },
    "tab:sir_results_streamlined": {
        "sir": {
            "derivative.id": _row(
                _THREE, ("2.12", "0.73"), ("31.42", "4.93"), ("90.64", "7.56"), power=-5
            ),
            "derivative.t2": _row(
                _THREE, ("2.40", "0.11"), ("7.75", "0.53"), ("16.54", "0.80"), power=-4
            ),
            "derivative.t3": _row(
                _THREE, ("72.68", "19.04"), ("15.33", "3.33"), ("8.76", "0.52"), power=-4
            ),
            _F1: _row(_THREE, ("0.14", "0.03"), ("0.15", "0.03"), ("0.20", "0.06")),
            _TERMS: _row(_THREE, ("40.2", "3.1"), ("20.4", "3.6"), ("6.8", "3.3")),
        },
    },
    "tab:stlsq_comparison": {
        "pendulum/medium": {
            "derivative.id": _row(
                _STLSQ, ("1.17", "0.00"), ("1.27", "0.07"), ("1.89", "0.01"), power=-2
            ),
            "rollout.t2": _row(_STLSQ, DAGGER, ("1.02", "0.07"), ("1.01", "0.01")),
            _F1: _row(_STLSQ, ("0.70", "0.00"), ("0.43", "0.09"), ("0.93", "0.15")),
            _TERMS: _row(_STLSQ, ("9.0", "0.0"), ("11.4", "2.9"), ("3.6", "1.3")),
        },
        "duffing": {
            "rollout.id": _row(_STLSQ, DAGGER, ("4.75", "0.13"), ("5.59", "0.09"), power=-1),
            "rollout.t2": _row(_STLSQ, DAGGER, ("11.03", "6.09"), ("4.93", "0.35")),
            _F1: _row(_STLSQ, ("0.62", "0.00"), ("0.40", "0.05"), ("0.63", "0.05")),
            _TERMS: _row(_STLSQ, ("7.0", "0.0"), ("11.0", "1.6"), ("3.4", "0.5")),
        },
        "lotka-volterra": {
            "derivative.t2": _row(
                _STLSQ, ("41.8", "0.0"), ("1.21", "0.00"), ("1.22", "0.00"), power=-2
            ),
            _F1: _row(_STLSQ, ("0.30", "0.00"), ("0.22", "0.01"), ("0.24", "0.01")),
        },
        "sir": {
            "derivative.t2": _row(
                _STLSQ, ("233", "0.00"), ("2.40", "0.11"), ("16.54", "0.80"), power=-4
            ),
            _F1: _row(_STLSQ, ("0.18", "0.00"), ("0.14", "0.03"), ("0.20", "0.06")),
        },
    },
    # text only: T2 "from ~0.05 (zero noise) to ~0.6 (high noise)", F1 "from ~0.9 to ~0.2-0.4"
    "app:noise_robustness": {
        "pendulum/medium": {
            "derivative.t2": dict.fromkeys(_THREE, PaperValue(0.05)),
            _F1: {"orthoreg": PaperValue(0.9)},
        },
        "pendulum/medium/noise=0.5/smoothed": {
            "derivative.t2": dict.fromkeys(_THREE, PaperValue(0.6)),
        },
    },
}

SIR_ORTH = {"l2": PaperValue(0.35, 0.16), "orthoreg": PaperValue(0.55, 0.23)}
"""The row "Orth." of tab:sir_results_streamlined, a quantity that the paper does not define."""

OVERHEAD = (0.05, 0.15)
"""Minimum and maximum overhead of the penalty per epoch, relative to L2 (app:complexity)."""


def paper_value(label: str, setting: str, metric: str, method: str) -> PaperValue | None:
    """Return the printed value for a method, or None if the table has no value or a dagger.

    'pure@...' is the paper's Pure at any sparsity, because the paper does not state its sparsity.
    'orthoreg@lam=0.005' is its OrthoReg.
    """
    return _cells(label, setting, metric).get(_column(method))


def is_dagger(label: str, setting: str, metric: str, method: str) -> bool:
    """Return whether a cell of the table has a dagger: rollouts diverged or were clamped."""
    return _cells(label, setting, metric).get(_column(method), "nothing") is DAGGER


def _cells(label: str, setting: str, metric: str) -> dict[str, Any]:
    return PAPER.get(label, {}).get(setting, {}).get(metric, {})


def _column(method: str) -> str:
    if method.startswith("pure@"):
        return "pure"
    return "orthoreg" if method == "orthoreg@lam=0.005" else method
