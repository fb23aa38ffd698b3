"""Ten systems with hidden states. In half of them, the data do not determine all constants."""

from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

import orthoreg as og

from ._systems import forced, observed, steps, trajectory

NOISE = 0.01
Rng = np.random.Generator


@final
class Question(NamedTuple):
    """Data and physics, and the answer: undetermined constants and hidden states, or "nothing"."""

    about: str
    data: Callable[[Rng], tuple[og.Dataset, dict[str, Any]]]
    answer: str


def _minimal_model(equations: dict[str, str]) -> Callable[[Rng], Any]:
    """Glucose g is measured, but the action x of insulin u is not. [Bergman et al. 1979]"""

    def data(rng: Rng) -> Any:
        t, u = 2.0 * np.arange(300), steps(300, 15, 0.0, 60.0, rng)
        x = forced(
            lambda x, u: np.array([0.03 * (90 - x[0]) - x[1] * x[0], -0.02 * x[1] + 1.3e-5 * u]),
            [200.0, 0.0], t, u,
        )  # fmt: skip
        physics = {"equations": equations, "values": {"basal": 90}, "start": {"x": 0}}
        return observed([x], t, ["g", "x"], ["x"], NOISE, rng, [u]), physics

    return data


def _spring(equations: dict[str, str], is_forced: bool) -> Callable[[Rng], Any]:
    """The position of a mass is measured, but its velocity is not."""

    def data(rng: Rng) -> Any:
        t = 0.1 * np.arange(400)
        u = steps(400, 20, -1.0, 1.0, rng) if is_forced else np.zeros(400)
        x = forced(lambda x, u: np.array([x[1], (u - 3 * x[0] - 0.4 * x[1]) / 1.5]),
                   [1.0, 0.0], t, u)  # fmt: skip
        inputs = [u] if is_forced else None
        data = observed([x], t, ["q", "v"], ["v"], NOISE, rng, inputs)
        return data, {"equations": equations}

    return data


def _compartments(equations: dict[str, str], loss: float) -> Callable[[Rng], Any]:
    """A drug is measured in blood, but not in tissue, after an injection."""

    def data(rng: Rng) -> Any:
        t = 0.1 * np.arange(200)
        x = trajectory(
            lambda t, x: [-(0.3 + 0.8) * x[0] + 0.5 * x[1], 0.8 * x[0] - (0.5 + loss) * x[1]],
            [10.0, 0.0], t,
        )  # fmt: skip
        physics = {"equations": equations, "start": {"p": 0}}
        return observed([x], t, ["c", "p"], ["p"], NOISE, rng), physics

    return data


def _room(equations: dict[str, str], loss: float = 0.0) -> Callable[[Rng], Any]:
    """The air temperature of a heated room is measured, but that of its walls is not. It is 0
    outside."""

    def data(rng: Rng) -> Any:
        t, u = 0.1 * np.arange(500), steps(500, 25, 0.0, 2.0, rng)
        x = forced(
            lambda x, u: np.array(
                [2 * (x[1] - x[0]) - loss * x[0] + 5 * u, 0.5 * (x[0] - x[1]) - 0.3 * x[1]]
            ),
            [5.0, 3.0], t, u,
        )  # fmt: skip
        data = observed([x], t, ["air", "wall"], ["wall"], NOISE, rng, [u])
        return data, {"equations": equations}

    return data


def _competition(rng: Rng) -> Any:
    """Two species compete, and one of them is counted."""
    t = 0.2 * np.arange(100)
    runs = [
        trajectory(
            lambda t, x: [
                1.0 * x[0] * (1 - x[0] - 0.6 * x[1]), 0.5 * x[1] * (1 - x[1] - 0.4 * x[0]),
            ],
            start, t,
        )
        for start in ([0.05, 0.05], [0.05, 0.9], [1.2, 0.02])
    ]  # fmt: skip
    equations = {"n": "r*n*(1 - n - 0.6*w)", "w": "s*w*(1 - w - k*n)"}
    return observed(runs, t, ["n", "w"], ["w"], NOISE, rng), {"equations": equations}


def _expression(rng: Rng) -> Any:
    """A protein is measured, but its messenger RNA is not."""
    t = 0.1 * np.arange(200)
    x = trajectory(lambda t, x: [2 - 1.5 * x[0], 3 * x[0] - 0.3 * x[1]], [0.0, 0.0], t)
    physics = {"equations": {"m": "k - d*m", "p": "s*m - e*p"}, "start": {"m": 0}}
    return observed([x], t, ["m", "p"], ["m"], NOISE, rng), physics


SYSTEMS = {
    "minimal model": Question(
        "glucose g' = p*(basal - g) - x*g, action of insulin x' = -q*x + s*u",
        _minimal_model({"g": "p*(basal - g) - x*g", "x": "-q*x + s*u"}),
        "nothing",
    ),
    "minimal model, free gain": Question(
        "as before, with g' = p*(basal - g) - k*x*g",
        _minimal_model({"g": "p*(basal - g) - k*x*g", "x": "-q*x + s*u"}),
        "k, s; x",
    ),
    "forced spring": Question(
        "q' = v, v' = (u - k*q - c*v)/m with measured force u",
        _spring({"q": "v", "v": "u/m - k/m*q - c/m*v"}, is_forced=True),
        "nothing",
    ),
    "free spring": Question(
        "the same without force",
        _spring({"q": "v", "v": "-k/m*q - c/m*v"}, is_forced=False),
        "c, k, m",
    ),
    "tissue": Question(
        "blood c' = -e*c - a*c + b*p, tissue p' = a*c - b*p, p(0) = 0",
        _compartments({"c": "-e*c - a*c + b*p", "p": "a*c - b*p"}, 0.0),
        "nothing",
    ),
    "tissue with loss": Question(
        "as before, with p' = a*c - b*p - f*p",
        _compartments({"c": "-e*c - a*c + b*p", "p": "a*c - b*p - f*p"}, 0.2),
        "a, b, e, f; p",
    ),
    "room": Question(
        "air' = a*(wall - air) + b*u, wall' = c*(air - wall) - d*wall",
        _room({"air": "a*(wall - air) + b*u", "wall": "c*(air - wall) - d*wall"}),
        "nothing",
    ),
    "room, four exchanges": Question(
        "air' = a*(wall - air) - f*air + b*u, wall' = c*(air - wall) - d*wall",
        _room({"air": "a*(wall - air) - f*air + b*u", "wall": "c*(air - wall) - d*wall"}, 0.4),
        "a, c, d, f; wall",
    ),
    "competition": Question(
        "n' = r*n*(1 - n - 0.6*w), w' = s*w*(1 - w - k*n), three runs",
        _competition,
        "nothing",
    ),
    "expression": Question(
        "messenger m' = k - d*m, m(0) = 0, protein p' = s*m - e*p", _expression, "k, s; m"
    ),
}
