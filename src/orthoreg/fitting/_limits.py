"""Decisive constants of this package, each with a unit and a reason.

`benchmarks/sweeps.py` varies `PREFERRED` and `EXPLAINED_NOISE`. The others were not swept.
"""

import numpy as np

# -- sines of columns that may be angles ---------------------------------------------------
PREFERRED = 0.25
"""Ratio of held-out mean squares, that is, half the error. Below it, sines of a column that is not
known to be an angle are clearly better than a model without them."""

EXPLAINED_NOISE = 0.5
"""Mean squares of noise that equations may leave beside it: smoothed states inside terms keep some.
Pendulums at 1, 2 and 5% noise leave up to 0.27; with sines in the place of quadratic drag or
saturation, at least 0.66."""

EXPLAINED_SHARE = 1e-4
"""Mean square relative to that of the target, an error of 1%: what differences of clean samples
leave at most. With sines in the place of quadratic drag, 2e-3."""

TURN_TOLERANCE = 0.02
"""Share of a turn by which the ends of a wrapped angle may differ from -pi and pi or 0 and 2 pi."""

# -- parameters inside terms ---------------------------------------------------------------
MAX_ROWS_PARAMETERS = 4000
"""Rows from which parameters, and first values of the constants of equations with a mass matrix,
are estimated."""
GRID_MULTIPLES = (0.03, 0.1, 0.3, 0.6, 1.0, 1.7, 3.0, 10.0, 30.0)
"""Multiples of one, and of the size of each variable beside a parameter or its inverse: values that
are tried first."""
MAX_QUARTER_TURNS = 240
"""Quarters of a turn over the range of a variable. Frequencies inside sines are tried below this
value, a quarter of a turn apart: least squares finds another minimum from further away."""
GRID_SWEEPS = 2
"""Passes over the grids of all parameters, each searched with the others held."""
MAX_STARTS = 3
"""Starts, the best of the grid, from which Gauss-Newton steps are taken."""
SINGULAR_CUTOFF = 1e-11
"""Share of the largest singular value. Smaller ones count as zero."""
NOT_FINITE_RESIDUAL = 1e6
"""Root mean squares of the target. Residual in each row where a term is not finite."""
IMPLICIT_ROUNDS = 3
"""Fits of equations with a mass matrix. Each is weighted with the errors that the one before
left."""

# -- contradictions between data and knowledge ---------------------------------------------
CONTRADICTED_EQUATION = 0.25
"""Share of the square of the target. A given equation that leaves more may contradict the data."""
CONTRADICTED_SYMMETRY = 0.01
"""The same for a fit with a symmetry."""
CONTRADICTION_LIBRARY_RATIO = 0.25
"""Share of what a given equation or a symmetry leaves. They contradict the data if the library
without them leaves less."""

# -- residual ------------------------------------------------------------------------------
RESIDUAL_HELD_OUT_SHARE = 0.25
"""Share of the data whose forecasts decide whether a residual stays."""
MAX_ROWS_RESIDUAL_TEST = 20_000
"""Rows on which that is decided."""
MIN_ROWS_RESIDUAL_TEST = 40
"""Rows of the held-out part and of the remainder. With fewer, forecasts are not compared."""
RESIDUAL_ERROR_RATIO = 1.02
"""Forecast errors without a residual. With a residual that stays, the error is no larger."""
RESIDUAL_ERROR_RATIO_NOISY = 0.98
"""The same where rows are noisy: a residual may have learned the noise."""
LOST_FORECAST_ERROR = 0.7
"""Standard deviations of the states. Forecasts with larger errors, with and without a residual,
decide nothing."""
MAX_MISFIT_MATCHED = 4.0
"""Noise variances. With a larger misfit of the trajectories, matching would distort the constants
of equations that lack a term."""
MAX_ROWS_SYMMETRIC_SCALE = 2**17
"""Rows on which the scale of a symmetric residual is measured."""
SCALE_BITS = 33
"""Bits of the mean and the standard deviation that scale a residual: ten digits do not show the
order in which rows were added."""
GATE_PARTS = 5
"""Parts of the data, each of which the gate treats as unseen."""

# -- uncertainty from rows -----------------------------------------------------------------
MIN_GROUPS = 3
"""Runs, or stretches of them, from whose differences standard errors are estimated."""
CURVATURE_ROUNDING = 1e-13
"""Share of the largest curvature. Less is rounding."""

MAX_ROWS_KEPT = 20_000
"""Rows. A fit keeps the noisy runs that its intervals will be read from up to this size."""

# -- adaptation to new data ----------------------------------------------------------------
ADAPT_STRETCHES = 5
"""Stretches of the rows, from whose differences the noise is estimated."""
UNEXCITED_EIGENVALUE = 1e-12
"""Share of the largest eigenvalue. Less is rounding: the data do not determine this direction."""
CHANGE_SCALES = np.append(0.0, np.logspace(-4, 0, 161))
"""Share of the largest change that least squares gives. Prior standard deviations of the changes of
coefficients, of which the most likely is used."""
