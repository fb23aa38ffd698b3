"""Decisive constants of this package, each with a unit and a reason.

`benchmarks/sweeps.py` varies `PREFERRED` and `EXPLAINED_NOISE`. The other constants were not swept.
"""

import numpy as np

from ..data._limits import PLAN_ROWS as PLAN_ROWS
from ..data._limits import SUBSAMPLE_ROWS as SUBSAMPLE_ROWS
from ..field._limits import GATE_PARTS as GATE_PARTS
from ..matching._limits import HELD_OUT_SHARE as HELD_OUT_SHARE
from ..matching._limits import LOST_FORECAST as LOST_FORECAST
from ..matching._limits import SEARCH_ROWS as SEARCH_ROWS
from ..matching._limits import UNDETERMINED as UNDETERMINED
from ..solving._limits import MIN_EIGENVALUE as MIN_EIGENVALUE

# -- sizes of numbers ----------------------------------------------------------------------
MIN_SIZE = 1e-120
"""Smallest allowed maximum of a nonzero term or target. Squares of residuals of relative size 1e-16
then keep all their digits; the smallest such number is 2e-308."""

SMALL_EXPONENT = -50
"""Binary exponent of the size below which products of variables may be rounded to zero. Six
variables of this size, about 1e-15 each, still have a nonzero product."""

SIZE_ROWS = 1000
"""Number of rows on which the sizes of terms are checked."""

# -- sines of columns that may be angles ---------------------------------------------------
PREFERRED = 0.25
"""Maximum ratio of held-out mean squares with and without sines of a column that is not known to be
an angle, for a model with sines that is clearly better. A ratio of 0.25 is half the error."""

EXPLAINED_NOISE = 0.5
"""Amount by which the residual may exceed the noise, in noise variances, because smoothed states
inside terms are still noisy. The excess is at most 0.27 for pendulums at 1, 2 and 5% noise, and at
least 0.66 for sines that replace quadratic drag or saturation."""

EXPLAINED_SHARE = 1e-4
"""Additional residual, as a fraction of the mean square of the target. 1e-4 is an error of 1%, the
maximum error of finite differences of clean samples. With sines instead of quadratic drag, the
residual is 2e-3."""

TURN_TOLERANCE = 0.02
"""Fraction of a turn by which the range of a wrapped angle may differ from -pi to pi or 0 to 2
pi."""

# -- parameters inside terms ---------------------------------------------------------------
MAX_ROWS_PARAMETERS = 4000
"""Maximum number of rows for estimates of parameters and of initial constants of equations with a
mass matrix."""
GRID_MULTIPLES = (0.03, 0.1, 0.3, 0.6, 1.0, 1.7, 3.0, 10.0, 30.0)
"""Initial values, as multiples of 1 and of the size (or inverse size) of each variable that appears
with a parameter."""
MAX_QUARTER_TURNS = 240
"""Maximum frequency inside sines, in quarter turns over the range of a variable. Frequencies are
spaced by a quarter turn, because least squares converges to other minima from larger distances."""
GRID_SWEEPS = 2
"""Number of passes over the grids of all parameters. The other parameters are fixed in each
search."""
MAX_STARTS = 3
"""Number of best grid points from which Gauss-Newton steps start."""
BOUNDED_GRID_POINTS = 11
"""Number of grid points between two finite bounds, including the bounds."""
MAX_EVALUATIONS_IMPLICIT, MAX_EVALUATIONS_PARAMETERS = 50, 60
"""Maximum number of evaluations of least squares for initial constants, and for parameters."""
PARAMETER_TOLERANCE = 1e-14
"""Relative tolerance of least squares for parameters."""
SINGULAR_CUTOFF = 1e-11
"""Singular value, relative to the largest, below which singular values count as zero."""
NOT_FINITE_RESIDUAL = 1e6
"""Residual of each row where a term is not finite, in root mean squares of the target."""
IMPLICIT_ROUNDS = 3
"""Number of fits of equations with a mass matrix. Each fit is weighted by the errors of the
previous one."""

# -- contradictions between data and knowledge ---------------------------------------------
CONTRADICTED_EQUATION = 0.25
"""Residual of a given equation above which it may contradict the data, as a fraction of the mean
square of the target."""
CONTRADICTED_SYMMETRY = 0.01
"""The same for a symmetry."""
CONTRADICTION_LIBRARY_RATIO = 0.25
"""Maximum ratio of the residual of the library alone to the residual with a given equation or
symmetry, if the data contradict it."""
CONTRADICTION_NOISE = 4.0
"""Residual up to which a symmetry does not contradict the data, in noise variances."""

# -- residual ------------------------------------------------------------------------------
MIN_ROWS_RESIDUAL_TEST = 40
"""Minimum number of rows of the held-out part, and of the remainder, for a comparison of
forecasts."""
RESIDUAL_ERROR_RATIO = 1.02
"""Maximum ratio of forecast errors with and without a residual for the residual to be kept."""
RESIDUAL_ERROR_RATIO_NOISY = 0.98
"""The same for noisy rows, where a residual may have fitted the noise."""
MAX_MISFIT_MATCHED = 4.0
"""Maximum misfit of trajectories that are matched, in noise variances. A larger misfit indicates a
missing term, and matching would distort the constants."""
SCALE_BITS = 33
"""Number of bits of the mean and standard deviation that scale a residual. About ten digits do not
depend on the order of summation."""
# -- uncertainty from rows -----------------------------------------------------------------
MIN_GROUPS = 3
"""Minimum number of groups, which are runs or stretches of runs, for standard errors."""
DERIVATIVE_ERROR_SHARE = 0.5
"""Fraction of the largest effect of the derivative error that is added as a standard error."""

MAX_ROWS_KEPT = 20_000
"""Maximum number of rows of noisy runs that a fit stores for its intervals."""

# -- adaptation to new data ----------------------------------------------------------------
ADAPT_STRETCHES = 5
"""Number of stretches of rows from which the noise is estimated."""
CHANGE_SCALES = np.append(0.0, np.logspace(-4, 0, 161))
"""Candidates for the prior standard deviation of the coefficient changes, as fractions of the
largest least-squares change. The candidate with the largest evidence is used."""

# -- delays --------------------------------------------------------------------------------
MAX_DELAY_SHARE = 0.25
"""Maximum delay without bounds, as a fraction of the longest run. At least three quarters of the
rows then have a history."""
MAX_BOUNDED_DELAY_SHARE = 0.6
"""Maximum delay with bounds, as a fraction of the longest run."""
DELAY_GRID = (20, 200)
"""Minimum and maximum number of intervals in the grid of delays. Within these limits, its spacing
is one row."""
DELAY_GRID_SWEEPS = 3
"""Number of passes over the grids of several delays."""
DELAY_ROWS = 3000
"""Maximum number of rows for the grid of delays, as in the comparison of terms by trajectories."""
DELAY_WIDTH = 2.0
"""Error of a delay from rows, in grid spacings. Trajectories are searched within this distance."""
DELAY_REACH = 3.0
"""Minimum width of the likelihood around a matched delay, in time steps."""
DELAY_MOVE = 0.2
"""Change of a delay, in standard errors, above which terms are selected again."""
DELAY_ROUNDS = 3
"""Maximum number of repeated fits with a new delay."""
MIN_STATE_DELAY = 0.5
"""Shortest delay of a state to search for without bounds, in times in which the state moves by its
standard deviation (a radian of a sine). An oscillation caused by a delay has a period of about four
delays, so its delay is longer than a radian."""
DELAY_MINIMA = 3
"""Maximum number of minima of the error of rows that are compared by trajectories."""
STATE_DELAY_CANDIDATES = 24
"""Number of evenly spaced delays of a state that are compared by trajectories."""
DELAY_STAGES = 2
"""Number of stages of segments on which candidates are compared. Trajectories of all candidates can
follow short segments, so the scores are comparable."""
HIDDEN_DELAY_STARTS = 4
"""Starting points of hidden states and constants for each delay of the grid. Wrong delays need not
have the smallest misfit that they allow."""
HIDDEN_DELAY_TOLERANCE = 0.02
"""Grid spacings. Accuracy of the delay before its likelihood is maximized."""
NO_DELAY = 2.0
"""Size of a delay, in standard errors, below which it may be zero."""
DISTINCT_DELAY = 5.0
"""Size of a delay, in standard errors, for which the terms with and without delay differ
clearly."""

MIN_HIDDEN_MISFIT = 0.01
"""Smallest misfit of hidden states that is resolved, in noise variances: starting points are
compared down to a tenth of the noise, which is at least 1e-3 standard deviations of a state."""
SIMPLER_STARTS = 6
"""Starting points of hidden states for the simplest terms of a library. If none of them leads to
the smallest misfit, the search starts with all terms."""
POOLING_ROUNDS = 3
"""Number of rounds in which constants per run and their distribution are estimated in turn."""
SHARED_RUNS = 10
"""Number of runs from which common values of constants are estimated, if every state was
measured."""
FIRST_POOLED_STD = 1.0
"""Standard deviation of a constant per run before its distribution is known: of its logarithm, or
relative to its size."""
INFORMED = 0.9
"""Variance of a run's estimate, in prior variances, above which the run contains no information on
a constant."""
POOLED_STDS = 200
"""Number of standard deviations over runs that are compared."""
MIN_POOLED_STD = 1e-3
"""Smallest standard deviation over runs, as a fraction of the range of the estimates."""
MIN_VARIANCE = 1e-12
"""Variance of an estimate, relative to the mean square of the values, below which it is
rounding."""
LEAST_POOLED = 0.5
"""Smallest initial standard deviation over runs, in standard errors of the estimates of single
runs."""

# Updates
UPDATE_STRETCHES = 10
"""Number of stretches of new rows from which their noise is estimated. Ten stretches give a test
with 9 degrees of freedom. With 200 new rows, a stretch has 20 rows, which is longer than the
correlation of estimated derivatives."""
DRIFT_LEVEL = 0.01
"""Maximum probability of a false alarm of drift over all updates of a model."""
DRIFT_NAMED = 3.0
"""Minimum change of a constant, in standard errors, for the constant to be named when drift is
detected."""
# -- states that were not measured -----------------------------------------------------------
MAX_ROWS_ORDERS = 4000
"""Maximum number of rows to which equations of different orders are fitted."""
GROUPS_TRIED = 2
"""Maximum number of sets of states that are tried as positions. A fit takes about a second."""
MAX_COEFFICIENTS_ORDERS = 120
"""Maximum number of candidate terms of all equations in such a fit. If an input is unmeasured, fits
with more candidates take over 5 s of CPU time."""
ORDER_HELD_OUT_SHARE = 1 / 3
"""Fraction of the rows that are forecast."""
ORDER_FORECAST_SHARE = 0.5
"""Maximum length of these forecasts as a share of the longest run."""
ORDER_FORECAST_PERIODS = 0.5
"""Length of these forecasts, in oscillations of the slowest state. On eleven systems, errors were
at most 0.25 for orders that help, and above 0.45 for other orders, including those of systems with
unmeasured inputs. Over a quarter of an oscillation, or a whole one, the two groups differed
less."""
MIN_ORDER_STEPS = 3
"""Minimum number of steps of these forecasts. One of them is used to estimate the initial state."""
GOOD_ORDER_ERROR = 0.3
"""Maximum forecast error with an order that helps, in standard deviations of a state."""
MAX_ORDER_RATIO = 0.5
"""Maximum ratio of the forecast error with an order that helps to the error without it."""


# -- relations of constants per run to covariates -------------------------------------------
_POSITIVE = (0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0, 1.5, 2.0, 3.0)
EXPONENTS = (*(-p for p in _POSITIVE), *_POSITIVE)
"""Exponents of one covariate: those of lengths, areas, volumes, periods and body masses."""
PAIR_EXPONENTS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)  # exponents of two covariates
MIN_RELATION_FREEDOM = 3
"""Minimum number of runs minus the number of constants of a relation. With fewer runs, predictions
of left-out runs do not test the relation."""
RELATION_GAIN = 5.0
"""Minimum increase of the log-likelihood by a relation, in nats, in addition to the prices of its
constants and of the number of forms. The probability of a false relation is at most exp(-5), 1 in
150. None occurred in 150 simulated data sets without a relation."""
SECOND_CONSTANT = 3.3
"""Price of a second constant, such as a free exponent, in nats. It is half the 99% quantile of
chi-squared with one degree of freedom. The constant is therefore chosen only if the data reject all
simple exponents at the 1% level."""
COMPLEX_RELATION = 1.0  # nats; price of a non-integer exponent
RELATION_LEVEL = 0.01
"""Probability of deviations as large as the observed ones, given the intervals of the runs, below
which deviations are treated as scatter."""
MIN_SCATTER = 0.01  # smallest scatter to try, in standard deviations of the constant
SCATTERS = 12  # number of values of the scatter to try
SCATTER_ROUNDS = 3  # number of rounds in which constants and scatter are estimated in turn
MAX_LOG_RANGE = 5.0
"""Maximum change of the logarithm of a constant per standard deviation of a covariate, for
exponentials and free powers."""
RATES = 101  # number of rates or free exponents on the first grid
RATE_ACCURACY = 1e-9  # accuracy of a rate or exponent, far below its standard error
