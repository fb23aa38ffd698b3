"""The numbers that decide which terms are chosen, each with a unit and a reason.

`benchmarks/defaults.py` compares other values of `NEGLIGIBLE_ERROR`, `MAX_CANCELLATION` and
`MIN_PERIOD_SHARE`. The others are not varied by a benchmark.
"""

import numpy as np

# -- candidates ----------------------------------------------------------------------------
MIN_PERIOD_SHARE = 0.25
"""Share of a period that a column must cover for its sine and cosine to be candidates. On less,
sin(x) is x and a little of x**3."""
MAX_TERMS_JOINT = 300
"""Terms. With more, each equation chooses among a shortlist of its own, so that no matrix of all
terms is made again."""
SHORTLIST_TERMS = 64
"""Terms of which sets are made. Of more, these are the first that forward growth takes up."""

# -- comparing sets of terms ---------------------------------------------------------------
TIE = 0.1
"""Relative. Errors that differ by less are equally good."""
NEGLIGIBLE_ERROR = 1e-8
"""Mean squares of the target. A smaller squared error is not a reason for a term."""
MAX_CANCELLATION = 10.0
"""Dimensionless. Times that terms may be larger than their sum: terms that cancel more depend on
their last digits."""
DIAGONAL_ROUNDING = 1e-13
"""Added to the diagonal of matrices whose diagonal is about one, so that they can be solved."""

# -- search --------------------------------------------------------------------------------
MAX_EXHAUSTIVE = 3000
"""Sets of terms, of all sizes so far. While there are no more, all of them are scored."""
BEAM_WIDTH = 10
"""Sets of a size that grow by one more term."""
CONTENDERS = 6
"""Sets of a size among which resamples choose again."""
MAX_GROWN_SUPPORTS = 40
"""Grown sets of a size that are scored in full, because some of them cancel."""
BEAM_PATIENCE = 3
"""Sizes without a better score, after which the beam stops."""
SEARCH_LASSO_STEPS = 40
"""Weights of the L1 norm on the path that proposes sets."""
INVERSE_REFRESH = 30
"""Removals after which the inverse is computed anew."""

# -- L1 norm beside a residual -------------------------------------------------------------
NEGLIGIBLE_TERM = 1e-9
"""Size of a term relative to the target. Below it a coefficient is rounding."""
RESIDUAL_GAIN = 1.25
"""Ratio of held-out squared errors, without and with a residual. A smaller one is no sign that the
library lacks a term."""
COMPLETE_LIBRARY_ERROR = 1e-4
"""Share of the square of the target that a complete library may miss, if there is no residual to
compare with."""
MAX_TERMS_COMPLETE = 150
"""Independent terms. Larger libraries are not tested for completeness."""
MAX_TERMS_GROWN = 20
"""Terms of the largest set that forward growth proposes in this test."""

# -- stability selection -------------------------------------------------------------------
STABILITY_LASSO_STEPS = 30
"""Weights of the L1 norm on the path of each half of the data."""

# -- confounded terms ----------------------------------------------------------------------
CONFOUNDED_CORRELATION = 0.99
"""Correlation of two terms, after the other terms of the equation are removed from both. With less,
no swap is tried."""
CONFOUNDED_PROBABILITY = 0.05
"""Probability on trajectories. A term that is less probable is not named beside a similar one in
use: it does worse."""
EXTRAPOLATION_STEPS = np.linspace(-3.0, 3.0, 61)
"""Largest distances of a variable from its mean, at which two equations are compared."""
BEYOND_MARGIN = 1e-6
"""Extent of a variable. A place this close to the end of its data is not beyond them."""
SAME_AT_ENDS = 0.01
"""Share of the difference at the mean of a variable. Two equations that differ by less at both ends
of its data are told apart by values between."""
TELLING_DIFFERENCE = 0.1
"""Size of the target. A difference beyond this and beyond the error of the fit distinguishes two
equations."""

# -- intervals -----------------------------------------------------------------------------
MIN_RUNS_INTERVALS = 8
"""Runs whose differences determine an interval."""
MIN_ROWS_INTERVALS, MIN_ROWS_INTERVALS_IN_TIME = 20, 40
"""Rows that are enough for intervals from fewer runs, without and with times: the errors of
neighbours in time are alike."""
