"""Decisive constants of this package, each with a unit and a reason."""

PREFERRED = 0.25
"""Ratio of held-out mean squares, that is, half the error. Below it, sines of a column that is not
known to be an angle are clearly better than a model without them."""

EXPLAINED_NOISE = 0.5
"""Mean squares of noise that equations may leave beside it: smoothed states inside terms keep some.
Pendulums at 1, 2 and 5 % noise leave up to 0.27; with sines in the place of quadratic drag or
saturation, at least 0.66."""

EXPLAINED_SHARE = 1e-4
"""Mean square relative to that of the target, an error of 1 %: what differences of clean samples
leave at most. With sines in the place of quadratic drag, 2e-3."""

TURN_TOLERANCE = 0.02
"""Share of a turn by which the ends of a wrapped angle may differ from -pi and pi or 0 and 2 pi."""
