"""The numbers that decide which terms are selected, each with a unit and a reason.

`benchmarks/defaults.py` compares other values of `NEGLIGIBLE_ERROR`, `MAX_CANCELLATION` and
`MIN_PERIOD_SHARE`. The others are not varied by a benchmark.
"""

import numpy as np

# -- candidates ----------------------------------------------------------------------------
MIN_PERIOD_SHARE = 0.25
"""Share of a period that a column must cover for its sine and cosine to be candidates. On less,
sin(x) is x and a little of x**3."""
MAX_TERMS_JOINT = 300
"""Terms. With more, each equation uses a shortlist, so that no matrix of all terms is copied."""
SHORTLIST_TERMS = 64
"""Terms in the sets. Of more, these are the first terms of forward growth."""

# -- comparing sets of terms ---------------------------------------------------------------
TIE = 0.1
"""Relative. Smaller differences of errors are ties."""
NEGLIGIBLE_ERROR = 1e-8
"""Mean squares of the target. A smaller squared error is not a reason for a term."""
MAX_CANCELLATION = 10.0
"""Dimensionless. Largest ratio of terms to their sum: terms that cancel more depend on their last
digits."""
DIAGONAL_ROUNDING = 1e-13
"""Added to the diagonal of matrices whose diagonal is about one, so that they can be solved."""

# -- search --------------------------------------------------------------------------------
MAX_EXHAUSTIVE = 3000
"""Sets of terms, of all sizes so far. Up to this number, all of them are scored."""
BEAM_WIDTH = 10
"""Sets of each size that are extended by one more term."""
CONTENDERS = 6
"""Sets of each size among which resamples select."""
MAX_GROWN_SUPPORTS = 40
"""Extended sets of each size that are scored in full, because some of them cancel."""
BEAM_PATIENCE = 3
"""Sizes without an improvement of the score, after which the beam stops."""
SEARCH_LASSO_STEPS = 40
"""Weights of the L1 norm on the path that proposes sets."""
INVERSE_REFRESH = 30
"""Removals after which the inverse is recomputed, to limit rounding errors."""

# -- L1 norm beside a residual -------------------------------------------------------------
NEGLIGIBLE_TERM = 1e-9
"""Size of a term relative to the target. Below it a coefficient is rounding."""
RESIDUAL_GAIN = 1.25
"""Ratio of held-out squared errors without and with a residual. A smaller ratio does not show that
the library lacks a term."""
COMPLETE_LIBRARY_ERROR = 1e-4
"""Share of the squared target that a complete library may miss, if there is no residual to compare
with."""
MAX_TERMS_COMPLETE = 150
"""Independent terms. Larger libraries are not tested for completeness."""
MAX_TERMS_GROWN = 20
"""Terms of the largest set that forward growth proposes in this test."""

# -- stability selection -------------------------------------------------------------------
STABILITY_LASSO_STEPS = 30
"""Weights of the L1 norm on the path of each half of the data."""

# -- confounded terms ----------------------------------------------------------------------
CONFOUNDED_CORRELATION = 0.99
"""Correlation of two terms after regression on the other terms. Less similar terms are not
swapped."""
CONFOUNDED_PROBABILITY = 0.05
"""Probability on trajectories. A less probable term is not reported as an alternative."""
EXTRAPOLATION_STEPS = np.linspace(-3.0, 3.0, 61)
"""Largest distances of a variable from its mean. Two equations are compared at these points."""
BEYOND_MARGIN = 1e-6
"""Extents of a variable. A point this close to the end of its data is not beyond them."""
SAME_AT_ENDS = 0.01
"""Share of the difference at the mean of a variable. Two equations that differ by less at both ends
of its data are distinguished by values between."""
TELLING_DIFFERENCE = 0.1
"""Size of the target. A difference beyond this and beyond the error of the fit distinguishes two
equations."""

# -- intervals -----------------------------------------------------------------------------
MIN_RUNS_INTERVALS = 8
"""Runs. With as many, their differences determine an interval."""
MIN_ROWS_INTERVALS, MIN_ROWS_INTERVALS_IN_TIME = 20, 40
"""Rows sufficient for intervals from fewer runs, without and with times: errors of neighbours in
time are correlated."""
