"""Constants that decide which terms are selected, each with a unit and a reason.

`benchmarks/defaults.py` compares other values of `NEGLIGIBLE_ERROR`, `MAX_CANCELLATION` and
`MIN_PERIOD_SHARE`. No benchmark varies the other constants.
"""

import numpy as np

from ...solving._limits import DIAGONAL_ROUNDING as DIAGONAL_ROUNDING
from ...solving._limits import INDEPENDENT_SQUARE as INDEPENDENT_SQUARE

# -- candidates ----------------------------------------------------------------------------
MIN_PERIOD_SHARE = 0.25
"""Fraction of a period that a column must cover for its sine and cosine to be candidates. On a
smaller range, sin(x) is x plus a small multiple of x**3."""
MAX_TERMS_JOINT = 300
"""Number of terms above which each equation uses a shortlist. This avoids copying a matrix of all
terms."""
SHORTLIST_TERMS = 64
"""Maximum number of terms in the searched sets. If there are more terms, the first terms of forward
growth are used."""

# -- comparing sets of terms ---------------------------------------------------------------
TIE = 0.1
"""Relative difference between errors below which they are equal."""
NEGLIGIBLE_ERROR = 1e-8
"""Squared error, in mean squares of the target, below which a reduction does not justify a term."""
MAX_CANCELLATION = 10.0
"""Maximum ratio of the summed sizes of the terms to the size of their sum. A sum with a larger
ratio depends on the last digits of the coefficients."""
# -- search --------------------------------------------------------------------------------
MAX_EXHAUSTIVE = 3000
"""Maximum cumulative number of sets of terms of all sizes for which all sets are scored."""
BEAM_WIDTH = 10
"""Number of sets of each size that are extended by one more term."""
CONTENDERS = 6
"""Number of sets of each size from which resamples select."""
MAX_GROWN_SUPPORTS = 40
"""Number of extended sets of each size that are scored in full. It exceeds the beam, because some
sets cancel."""
BEAM_PATIENCE = 3
"""Number of sizes without an improvement of the score after which the beam stops."""
SEARCH_LASSO_STEPS = 40
"""Number of L1 weights on the path that proposes sets."""
INVERSE_REFRESH = 30
"""Number of removals after which the inverse is recomputed, to limit rounding errors."""

# -- L1 norm beside a residual -------------------------------------------------------------
NEGLIGIBLE_TERM = 1e-9
"""Size of a term, relative to the target, below which it is a rounding error."""
RESIDUAL_GAIN = 1.25
"""Ratio of held-out squared errors without and with a residual up to which the library may be
complete."""
COMPLETE_LIBRARY_ERROR = 1e-4
"""Fraction of the squared target that a complete library may miss, if there is no residual to
compare with."""
MAX_TERMS_COMPLETE = 150
"""Maximum number of independent terms of a library that is tested for completeness."""
MAX_TERMS_GROWN = 20
"""Number of terms of the largest set that forward growth proposes in this test."""

# -- stability selection -------------------------------------------------------------------
STABILITY_LASSO_STEPS = 30
"""Number of L1 weights on the path of each half of the data."""

# -- confounded terms ----------------------------------------------------------------------
CONFOUNDED_CORRELATION = 0.99
"""Minimum correlation of two terms after regression on the other terms for the terms to be
swapped."""
CONFOUNDED_PROBABILITY = 0.05
"""Minimum probability on trajectories of a term that is reported as an alternative."""
PROPORTIONAL = 1e-12
"""Rounding error of the cosine between proportional terms, such as u and u**2 if u is 0 or 1."""
EXTRAPOLATION_STEPS = np.linspace(-3.0, 3.0, 61)
"""Distances at which two equations are compared, in multiples of a variable's largest distance from
its mean."""
BEYOND_MARGIN = 1e-6
"""Minimum distance from the end of a variable's data, in ranges of the variable, for a point beyond
the data."""
SAME_AT_ENDS = 0.01
"""Difference of two equations at both ends of a variable's data, as a fraction of their difference
at its mean, below which intermediate values distinguish the equations."""
TELLING_DIFFERENCE = 0.1
"""Difference, in sizes of the target, that distinguishes two equations if it also exceeds the error
of the fit."""

# -- evidence -----------------------------------------------------------------------------
MIN_RUNS_INTERVALS = 8
"""Minimum number of runs for intervals from the differences between runs."""
MIN_ROWS_INTERVALS, MIN_ROWS_INTERVALS_IN_TIME = 20, 40
"""Number of rows that is sufficient for intervals from fewer runs, without and with times. Errors
of rows adjacent in time are correlated."""
RESAMPLED_NUMBERS = 2**22
"""Maximum number of values in the resamples that are processed together, to limit memory."""
