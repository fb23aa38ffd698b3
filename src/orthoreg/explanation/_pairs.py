"""The best two columns to add to a support at once: neither may help alone."""

import numpy as np
from jaxtyping import Bool, Float

from ._beam import DEPENDENT, RIDGE, TEMPERATURES, Support, take_best
from ._equation import Equation


def best_pairs(
    equation: Equation, support: Support, allowed: Bool[np.ndarray, " K"], width: int
) -> list[Support]:
    """The support with every two columns tried: the best at each temperature."""
    places = np.flatnonzero(allowed)
    correlation, gram = _left_over(equation, support.columns, places)
    own = np.diag(gram).copy()
    sound = own > DEPENDENT
    det = np.outer(own, own) - gram**2
    with np.errstate(all="ignore"):
        square = np.outer(correlation**2, own)
        gain = (square + square.T - 2 * np.outer(correlation, correlation) * gram) / det
    good = np.outer(sound, sound) & (det > DEPENDENT * np.outer(own, own))
    good &= np.tri(len(places), k=-1, dtype=bool)
    first, second = np.nonzero(good)
    rss = np.maximum(support.rss - gain[first, second], 0.0)
    price = support.price + equation.price[places[first]] + equation.price[places[second]]
    nats = equation.nats(rss)
    kept: dict[frozenset[int], Support] = {}
    for temperature in TEMPERATURES:
        total = nats / temperature + price

        def at(place: int) -> Support:
            pair = (int(places[first[place]]), int(places[second[place]]))
            return Support((*support.columns, *pair), float(rss[place]), float(price[place]))

        take_best(equation, total, at, width, kept)
    return list(kept.values())


def _left_over(
    equation: Equation, columns: tuple[int, ...], places: np.ndarray
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k k"]]:
    """Moments and Gram matrix of these columns beside those of the support."""
    moments, gram = equation.moments[places], equation.gram[np.ix_(places, places)]
    chosen = list(columns)
    if not chosen:
        return moments, gram
    inner = equation.gram[np.ix_(chosen, chosen)] + RIDGE * np.eye(len(chosen))
    inverse = np.linalg.inv(np.linalg.cholesky(inner))
    across = inverse @ equation.gram[chosen][:, places]
    return moments - across.T @ (inverse @ equation.moments[chosen]), gram - across.T @ across
