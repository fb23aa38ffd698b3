"""Thresholds for statements about a model, each with a unit and a reason.

Errors are relative to the root mean square of the predicted quantity; shares refer to squares.
`benchmarks/sweeps.py` does not vary these numbers.
"""

import numpy as np

# -- verdict -------------------------------------------------------------------------------
GOOD_ERROR = 0.05
"""Maximum relative error of a derivative, beyond noise, for the verdict that the equation explains
it."""
FAIR_ERROR = 0.2
"""Maximum relative error of a derivative, beyond noise, or of the motion along trajectory segments,
for the verdict that the equation explains the data roughly. A larger total error within the noise
is called noise-limited."""
GOOD_FORECAST_ERROR = 0.1
"""Maximum relative error of the states over whole runs for good forecasts."""
POOR_FORECAST_ERROR = 0.3
"""Relative error of the states over whole runs above which forecasts fail."""
FAILED_FORECAST_SHARE = 0.25
"""Minimum share of early-ending forecasts for the verdict that forecasts fail."""
NOISE_MARGIN = 1.4
"""Multiple of the standard deviation of a derivative's noise up to which an error may be noise."""
MAX_DETECTABLE_MISFIT = 0.2
"""Maximum detection limit of a misfit, as a share of a state's motion. Above it, an equation is
limited by noise."""
ROUNDING_MISFIT = 5e-4
"""Share of a state's motion below which a misfit is not called noise, because integrators and
stored digits round at this level."""
CONSTANT_RATE = 1e-9
"""Relative change of a state over the whole time below which its rate is rounding."""
MIN_ROWS = 10
"""Minimum number of rows for a verdict."""
MAX_FORECASTS = 256
"""Maximum number of runs to forecast, evenly chosen, because forecasting all runs would take
long."""

# -- terms and residual --------------------------------------------------------------------
MIN_TERM_PROBABILITY = 0.5
"""Probability below which the verdict names a term in use."""
SHOWN_TERM_STABILITY = 0.05
"""Minimum share of resamples, or weight of the sets of terms, that contain an unused term for the
term to be shown."""
ROUNDING_ERROR = 1e-8
"""Relative error below which errors are rounding, as square roots of differences of squares."""
NEGLIGIBLE_OVERLAP = 1e-6
"""Overlap with the terms in use below which a residual counts as orthogonal to them."""
NOTABLE_RESIDUAL = 0.01
"""Minimum size of a residual, relative to the derivative, that notes mention."""
LIBRARY_SHARE = 0.5
"""Minimum share of a residual that library terms could represent for a note on this share."""
MIN_RIDGE, MAX_RIDGE = 1e-9, 1e3
"""Bounds, in mean squares of a column, of the fit's ridge when it is reused on held-out rows."""

# -- rows that are looked at ---------------------------------------------------------------
MAX_ROWS_MOTION = 4000
"""Maximum number of rows to differentiate."""
MIN_STRETCHES = 10
"""Minimum number of stretches, of one or more runs, to examine if not all rows are used."""
MIN_ROWS_DERIVATIVES = 5
"""Minimum number of rows in a run for a second derivative."""
MAX_ROWS_OBSERVED = 2000
"""Maximum number of rows, evenly chosen, for verdict and advice. This many take little time."""
FOLDS = 10
"""Number of folds for held-out rows."""
MAX_DERIVATIVE_NOISE = 0.5
"""Maximum noise of given derivatives, in standard deviations of their column. A larger estimate
shows that the rows are in no order."""
COLLINEAR_EXTENT = 1e-3
"""Share of the largest singular value below which directions of the variables get no slope."""

# -- least squares on held-out rows --------------------------------------------------------
RANK_TOLERANCE = 1e-10
"""Share of the largest singular value below which terms are linearly dependent on these rows. With
a ridge: the smallest ridge, in mean squares of a column."""
UNSEEN_DIRECTION = 1e-13
"""Share of the square of a direction in the fitted rows below which these rows do not determine
it."""

# -- whether the columns determine a derivative --------------------------------------------
MIN_COVERED_ROWS = 50
"""Minimum number of rows with neighbours at other times for any statement."""
MIN_COVERED_SHARE = 0.2
"""Minimum share of all rows that must have such neighbours."""
MAX_NEIGHBOUR_DISTANCE = 0.3
"""Maximum distance of a row's median neighbour, in standard deviations of the columns."""
MAX_NEIGHBOUR_OFFSET = 0.05
"""Maximum error, in standard deviations of the columns, with which neighbours predict the row's
position. Neighbours on one side only, which would require extrapolation, have a larger error."""
NEIGHBOUR_PARTS = 10
"""Number of parts of the rows, each predicted from the others."""
MIN_NEIGHBOURS = 16
"""Minimum number of neighbours of a row; in many columns, four for each coefficient of a plane."""
NEIGHBOUR_BLUR = 2.0
"""Distance of neighbours, in standard deviations of noise, below which they determine no slope."""
NEIGHBOUR_RIDGE = 1e-3
"""Ridge on the slopes of the plane through neighbours, in mean squares of their distances."""
NEAREST_SHARE = 0.25
"""Share of the rows with neighbours that are treated as having close neighbours."""
UNDETERMINED_SHARE = 0.08
"""Minimum share of a derivative that no function of the columns explains for reporting a missing
variable."""
MISSING_VARIABLE_NOISE_FACTOR = 4.0
"""Minimum ratio of the undetermined share to the largest relative noise of the states for reporting
a missing variable."""
FORCING_NOISE_FACTOR = 0.2
"""Minimum ratio of the undetermined share to the largest relative noise of the states for reporting
a forcing."""
FREE_RATE_SHARE = 0.5
"""Undetermined share above which a rate counts as a separate state."""
DETERMINED_SHARE = 0.2
"""Maximum share of the next row that remains unexplained if a row of a map determines it."""

# -- remedies ------------------------------------------------------------------------------
IMPROVABLE_ERROR = 0.01
"""Relative error beyond noise above which remedies are tried."""
MAX_REMAINING_ERROR = 0.5
"""Maximum ratio of the error with a remedy to the error without it, both beyond noise where that is
known."""
MAX_REMAINING_ERROR_WITH_NOISE = 0.75
"""Maximum ratio of the error with a larger library to the error without it, both including
noise."""
MAX_REMAINING_VARIANCE = 0.3
"""Maximum share of the undetermined variance that remains with a forcing. The competing explanation
is a function of the columns."""
MAX_RUNS_COMPARED = 50
"""Maximum number of runs in which a coefficient is compared."""
MAX_REMAINING_VARIATION = 0.2
"""Maximum ratio of the error with a coefficient per run to the error without, both beyond noise."""
STRETCHES_PER_RUN = 5
"""Stretches of each run, each predicted from the others, for comparing the laws of different
runs."""
MIN_SHARE_IN_LONG_RUNS = 0.5
"""Minimum share of rows in runs that are long enough for a separate fit."""
MAX_TERMS_TRIED = 150
"""Maximum number of terms of a larger library that is tried."""
MAX_TERMS_SELECTED = 40
"""Maximum number of terms from which cross-validation selects, as in a fit. Larger libraries are
compared with all their terms."""

# -- forcing -------------------------------------------------------------------------------
MIN_FORCING_PERIODS = 2.5
"""Minimum number of periods in the longest run for reporting a forcing."""
FORCING_SAMPLES_PER_PERIOD = 5
"""Samples per period of the fastest forcing in the search."""
MAX_WAVES = 3
"""Maximum number of frequencies of a forcing."""
MAX_WAVE_ERROR_RATIO = 0.9
"""Maximum ratio of the held-out errors with and without one more frequency."""
FORCING_REMAINING_ERROR = 0.1
"""Share of the error beyond noise below which a forcing is complete. If neighbours do not decide, a
forcing is reported only if the remaining share is smaller."""
MAX_FREQUENCIES = 500
"""Maximum number of frequencies in the first grid."""
FREQUENCY_OFFSETS = np.linspace(-1.0, 1.0, 9)
"""Offsets of the finer grids from the best frequency, in grid steps."""
FREQUENCY_REFINEMENTS = 3
"""Number of finer grids, each with a quarter of the previous step."""
WAVE_COLLINEARITY = 1e-6
"""Determinant of the moments of cosine and sine, in squared numbers of rows, below which the design
already contains the wave."""
MIN_FORCED_RUNS = 3
"""Minimum number of runs with the same remainder at the same time for reporting a forcing. The
motion of a single run is always a function of time."""
FORCING_BINS = 40
"""Number of time intervals in which a forcing of any form is averaged over runs."""

# -- data ----------------------------------------------------------------------------------
MIN_ROWS_PER_TERM = 5
"""Minimum number of rows per candidate term."""
MIN_SAMPLES_PER_PERIOD = 8
"""Minimum number of rows per period of a state to resolve derivatives."""
MIN_ROWS_PER_RUN = 6
"""Minimum number of rows of the median run. Shorter runs contain little information on how states
change."""
LARGE_NOISE = 0.03
"""Minimum noise, in standard deviations of a state, that is reported."""
LARGE_SLOPE_NOISE = 0.1
"""Minimum relative error of a derivative due to noise that is reported."""
MIN_NOISE = 0.005
"""Noise, in standard deviations of a state, below which its effect on the derivative is not
reported."""
UNRELATED_NOISE = 0.71
"""Noise, in standard deviations of a state, above which differences show no motion. Its square is
half the variance."""

# -- lag between a position and its velocity -----------------------------------------------
MIN_LAG_WINDOWS = 20
"""Minimum number of windows to estimate a lag."""
CLEARLY_BETTER = 0.5
"""Ratio of the squared errors of an equation and of a lag below which there is no lag."""
LAG_EXPLAINED_SHARE = 0.99
"""Minimum share of a velocity's variance that the position explains."""
LAG_FACTOR_TOLERANCE = 0.03
"""Maximum difference from one of the ratio of the velocity to the position's derivative."""
LAG_STANDARD_ERRORS = 4.0
"""Minimum lag to report, in standard errors."""
MIN_LAG = 0.02
"""Minimum lag to report, in time steps."""
LAG_GROUPS = 10
"""Number of groups of windows whose differences determine the standard error."""

# -- chaos ---------------------------------------------------------------------------------
MIN_CHAOS_GROWTH = 4.0
"""Minimum logarithm of the growth of a perturbation over the longest run."""
MIN_SUSTAINED_GROWTH = 0.3
"""Share of the mean growth rate that each half of the runs must exceed."""
LOST_FORECAST_ERROR = 0.3
"""Relative error of the states above which a forecast is lost."""
MAX_RUNS_CHAOS = 3
"""Maximum number of runs, the longest, along which perturbations are followed."""
MAX_ROWS_CHAOS = 800
"""Maximum number of rows of each of these runs."""
MIN_STATES_CHAOS = 3
"""Minimum number of varying states. By the Poincare-Bendixson theorem, autonomous planar systems
have no chaos."""
JACOBIAN_STEP = 1e-5
"""Step of the finite differences for slopes of the field, in standard deviations of a state."""
MIN_INITIAL_ERROR = 1e-6
"""Minimum relative error of initial state and field, assumed even if both appear more accurate."""

# -- dead time of an input -----------------------------------------------------------------
DEAD_TIMES = 25
"""Number of delays that are compared, including zero."""
DEAD_TIME_RUNS = 40
"""Maximum number of runs, evenly chosen, on which delays are compared."""
DEAD_TIME_RADIANS = 6.0
"""Times in which the input moves by its standard deviation: about a period of a sine, beyond which
delays are ambiguous. Longest delay that is tried."""
DEAD_TIME_SHARE = 0.25
"""Share of the longest run. Longest delay that is tried, as in a fit."""
