"""Constants that decide what is said of the estimates, with unit and reason."""

CORRELATED = 0.95
"""Correlation of two estimates from which on it is shown. The joint interval of a constant is then
3 times as wide as with the other constant known, 1 / sqrt(1 - 0.95^2)."""

TIED = 1e-9
"""One minus the size of a correlation: below it, a relation ties the two coefficients."""

AT_A_BOUND = 1e-3
"""Standard errors: an estimate that is nearer to a bound is held by it."""

LARGEST_PREWHITENED = 0.97
"""Correlation of neighbouring residuals, at most, that is removed before the sum of the others.
Andrews and Monahan (1992) limit it to this value, since beyond it a small error of the correlation
changes the variance without bound."""

CURVED_REACH = 0.1
"""Half of a 95 % interval as a share of the constant's size, from which on the likelihood is
profiled. Below it, the profile of a constant in a fraction or an exponential differs from its
quadratic approximation by less than a tenth of the half-width: terms of the next order are of this
relative size."""

CURVED_COST = 0.1
"""Relative difference between the rise of the likelihood at an end of the quadratic interval and
the rise that a parabola has there, from which on the end is sought on the profile. It corresponds
to 5 % of the half-width."""

PROFILE_ENDS = 8.0
"""Half-widths of the quadratic interval at which the search for the end of a profile stops."""
