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
"""Terms. With more terms, each equation uses a shortlist, to avoid copying a matrix of all
terms."""
SHORTLIST_TERMS = 64
"""Maximum terms in the searched sets. Of more terms, the first of forward growth are used."""

# -- comparing sets of terms ---------------------------------------------------------------
TIE = 0.1
"""Relative. Smaller differences between errors are ties."""
NEGLIGIBLE_ERROR = 1e-8
"""Mean squares of the target. Smaller squared errors do not justify a term."""
MAX_CANCELLATION = 10.0
"""Dimensionless. Maximum ratio of the summed sizes of the terms to the size of their sum. A sum
with a larger ratio depends on the last digits of the coefficients."""
# -- search --------------------------------------------------------------------------------
MAX_EXHAUSTIVE = 3000
"""Cumulative number of sets of terms of all sizes. Up to this number, all sets are scored."""
BEAM_WIDTH = 10
"""Sets of each size that are extended by one more term."""
CONTENDERS = 6
"""Sets of each size from which resamples select."""
MAX_GROWN_SUPPORTS = 40
"""Extended sets of each size that are scored in full; more than the beam, because some cancel."""
BEAM_PATIENCE = 3
"""Number of sizes without an improvement of the score after which the beam stops."""
SEARCH_LASSO_STEPS = 40
"""Number of L1 weights on the path that proposes sets."""
INVERSE_REFRESH = 30
"""Removals after which the inverse is recomputed, to limit rounding errors."""

# -- L1 norm beside a residual -------------------------------------------------------------
NEGLIGIBLE_TERM = 1e-9
"""Size of a term relative to the target. Smaller terms are rounding errors."""
RESIDUAL_GAIN = 1.25
"""Ratio of held-out squared errors without and with a residual. A smaller ratio does not show that
the library lacks a term."""
COMPLETE_LIBRARY_ERROR = 1e-4
"""Fraction of the squared target that a complete library may miss, if there is no residual for
comparison."""
MAX_TERMS_COMPLETE = 150
"""Independent terms. Larger libraries are not tested for completeness."""
MAX_TERMS_GROWN = 20
"""Terms of the largest set that forward growth proposes in this test."""

# -- stability selection -------------------------------------------------------------------
STABILITY_LASSO_STEPS = 30
"""Number of L1 weights on the path of each half of the data."""

# -- confounded terms ----------------------------------------------------------------------
CONFOUNDED_CORRELATION = 0.99
"""Correlation of two terms after regression on the other terms. Less similar terms are not
swapped."""
CONFOUNDED_PROBABILITY = 0.05
"""Probability on trajectories. Less probable terms are not reported as alternatives."""
PROPORTIONAL = 1e-12
"""Rounding error of the cosine between proportional terms, such as u and u**2 if u is 0 or 1."""
EXTRAPOLATION_STEPS = np.linspace(-3.0, 3.0, 61)
"""Multiples of the largest distance of a variable from its mean. Points at which two equations are
compared."""
BEYOND_MARGIN = 1e-6
"""Ranges of a variable. A point this close to the end of its data is not beyond the data."""
SAME_AT_ENDS = 0.01
"""Fraction of the difference at the mean of a variable. If two equations differ by less at both
ends of its data, intermediate values distinguish them."""
TELLING_DIFFERENCE = 0.1
"""Multiples of the target's size. A difference larger than this and than the error of the fit
distinguishes two equations."""

# -- evidence -----------------------------------------------------------------------------
MIN_RUNS_INTERVALS = 8
"""Runs. With at least this many runs, the differences between runs determine an interval."""
MIN_ROWS_INTERVALS, MIN_ROWS_INTERVALS_IN_TIME = 20, 40
"""Rows sufficient for intervals from fewer runs, without and with times. Errors of rows adjacent in
time are correlated."""
RESAMPLED_NUMBERS = 2**22
"""Maximum numbers of the resamples that are selected from together, a limit of memory."""
