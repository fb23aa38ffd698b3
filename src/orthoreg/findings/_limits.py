"""Thresholds for statements about a model, each with a unit and a reason.

Errors are relative to the root mean square of the predicted quantity. A share is a ratio of
squares. `benchmarks/sweeps.py` does not vary these numbers.
"""

import numpy as np

# -- verdict -------------------------------------------------------------------------------
GOOD_ERROR = 0.05
"""Maximum relative error of a derivative, beyond noise, of an equation that explains it."""
FAIR_ERROR = 0.2
"""Maximum relative error of a derivative (beyond noise), or of the motion along trajectory
segments, of an equation that explains it roughly. If the total error is larger but within the
noise, the equation is called noise-limited."""
GOOD_FORECAST_ERROR = 0.1
"""Maximum relative error of the states over whole runs for forecasts that are called good."""
MAX_GROWTH_OF_NOISE, MIN_INDEPENDENT_NOISE = 3.0, 0.2
"""Maximum error of forecasts of whole runs, and minimum misfit from independent noise, both divided
by the misfit along short trajectories, if correlated noise may cause the misfit. Noise of which
neighbouring values have a correlation of 0.5 to 0.9 gives 1.1 to 2.4, and 0.4 to 0.75."""
POOR_FORECAST_ERROR = 0.3
"""Relative error of the states over whole runs above which forecasts are said to fail."""
FAILED_FORECAST_SHARE = 0.25
"""Minimum share of forecasts that end early for the verdict that forecasts fail."""
NOISE_MARGIN = 1.4
"""Multiple of the noise standard deviation of a derivative up to which noise may be the cause of an
error."""
MAX_DETECTABLE_MISFIT = 0.2
"""Maximum size of the smallest detectable misfit, as a share of a state's motion. If only larger
misfits are detectable, an equation is limited by noise."""
ROUNDING_MISFIT = 5e-4
"""Share of a state's motion below which a misfit is rounding instead of noise: integrators and
stored digits round at this level."""
CONSTANT_RATE = 1e-9
"""Relative change of a state over the whole time below which its rate is rounding."""
MIN_ROWS = 10
"""Minimum number of rows for a verdict."""
MAX_FORECASTS = 256
"""Maximum number of runs to forecast, evenly spaced. Forecasts of all runs would take too long."""

# -- terms and residual --------------------------------------------------------------------
MIN_TERM_PROBABILITY = 0.5
"""Probability below which the verdict calls a term in use uncertain."""
SHOWN_TERM_STABILITY = 0.05
"""Minimum stability of an unused term that is shown: the share of resamples, or the weight of the
sets of terms, that contain it."""
ROUNDING_ERROR = 1e-8
"""Relative error below which errors are rounding, because they are square roots of differences of
squares."""
NEGLIGIBLE_OVERLAP = 1e-6
"""Overlap with the terms in use below which a residual counts as orthogonal to them."""
NOTABLE_RESIDUAL = 0.01
"""Minimum size of a residual, relative to the derivative, for a note on it."""
LIBRARY_SHARE = 0.5
"""Minimum share of a residual that library terms could represent for a note on it."""
MIN_RIDGE, MAX_RIDGE = 1e-9, 1e3
"""Bounds, in mean squares of a column, on the ridge of the fit when it is reused for held-out
rows."""

# -- rows to examine ------------------------------------------------------------------------
MAX_ROWS_MOTION = 4000
"""Maximum number of rows to differentiate."""
MIN_STRETCHES = 10
"""Minimum number of stretches to examine, from one or more runs, if not all rows are used."""
MIN_ROWS_DERIVATIVES = 5
"""Minimum number of rows in a run for a second derivative."""
MAX_ROWS_OBSERVED = 2000
"""Maximum number of rows, evenly spaced, for verdict and advice. More rows take longer."""
FOLDS = 10
"""Number of folds for held-out rows."""
MAX_DERIVATIVE_NOISE = 0.5
"""Maximum noise of given derivatives, in standard deviations of their column. A larger estimate
means that the rows are not in the order of time."""
COLLINEAR_EXTENT = 1e-3
"""Singular value, relative to the largest, below which a direction of the variables has no
slope."""

# -- least squares on held-out rows --------------------------------------------------------
RANK_TOLERANCE = 1e-10
"""Singular value, relative to the largest, below which terms are linearly dependent on these rows.
For ridge regression: the smallest ridge, in mean squares of a column."""
UNSEEN_DIRECTION = 1e-13
"""Share of a direction's square in the fitted rows below which these rows do not determine it."""

# -- whether the columns determine a derivative --------------------------------------------
MIN_COVERED_ROWS = 50
"""Minimum number of rows with neighbours at other times for any statement on determination."""
MIN_COVERED_SHARE = 0.2
"""Minimum share of all rows that must have such neighbours."""
MAX_NEIGHBOUR_DISTANCE = 0.3
"""Maximum median distance of a row's neighbours, in standard deviations of the columns."""
MAX_NEIGHBOUR_OFFSET = 0.05
"""Maximum error, in standard deviations of the columns, with which neighbours may predict a row's
position. The error is larger if all neighbours are on one side, where prediction is
extrapolation."""
NEIGHBOUR_PARTS = 10
"""Number of parts of the rows. Each part is predicted from the others."""
MIN_NEIGHBOURS = 16
"""Minimum number of neighbours of a row. With many columns, four for each coefficient of a
plane."""
NEIGHBOUR_BLUR = 2.0
"""Distance of neighbours, in noise standard deviations, below which they determine no slope."""
NEIGHBOUR_RIDGE = 1e-3
"""Ridge on the slopes of the plane through neighbours, in mean squares of their distances."""
NEAREST_SHARE = 0.25
"""Share of the rows with neighbours that are treated as having close neighbours."""
UNDETERMINED_SHARE = 0.08
"""Minimum share of a derivative that no function of the columns explains for advice on a missing
variable."""
MISSING_VARIABLE_NOISE_FACTOR = 4.0
"""Minimum ratio of this share to the largest relative noise of the states for advice on a missing
variable."""
FORCING_NOISE_FACTOR = 0.2
"""Minimum ratio of this share to the largest relative noise of the states for advice on a
forcing."""
FREE_RATE_SHARE = 0.5
"""Unexplained share above which a rate is treated as a further state."""
DETERMINED_SHARE = 0.2
"""Maximum unexplained share of the next row for a map that determines it."""

# -- remedies ------------------------------------------------------------------------------
IMPROVABLE_ERROR = 0.01
"""Relative error beyond noise above which remedies are tried."""
MAX_REMAINING_ERROR = 0.5
"""Maximum ratio of the errors with and without a remedy, both beyond noise if the noise is
known."""
MAX_REMAINING_ERROR_WITH_NOISE = 0.75
"""Maximum ratio of the errors with a larger library and with the present one, both including
noise."""
MAX_REMAINING_VARIANCE = 0.3
"""Maximum share of the unexplained variance that may remain with a forcing. The alternative
explanation is a function of the columns."""
MAX_RUNS_COMPARED = 50
"""Maximum number of runs in which a coefficient is compared."""
MAX_REMAINING_VARIATION = 0.2
"""Maximum ratio of the errors with a coefficient per run and with a common one, both beyond
noise."""
STRETCHES_PER_RUN = 5
"""Number of stretches of each run, each predicted from the others, when runs are compared."""
MIN_SHARE_IN_LONG_RUNS = 0.5
"""Minimum share of rows in runs that are long enough for a separate fit."""
MAX_TERMS_TRIED = 150
"""Maximum number of terms of a larger library that is tried."""
MAX_TERMS_SELECTED = 40
"""Maximum number of terms for cross-validation to select from, as in a fit. Larger libraries are
compared with all their terms."""

# -- forcing -------------------------------------------------------------------------------
MIN_FORCING_PERIODS = 2.5
"""Minimum number of periods in the longest run for a forcing to be reported."""
FORCING_SAMPLES_PER_PERIOD = 5
"""Samples per period of the fastest forcing in the search."""
MAX_WAVES = 3
"""Maximum number of frequencies of a forcing."""
MAX_WAVE_ERROR_RATIO = 0.9
"""Maximum ratio of the held-out errors with and without one more frequency."""
FORCING_REMAINING_ERROR = 0.1
"""Share of the error beyond noise below which a forcing counts as complete. If neighbours give no
answer, only a complete forcing is reported."""
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
"""Minimum number of runs with the same error at the same time for a forcing to be reported. The
motion of a single run is always a function of time."""
FORCING_BINS = 40
"""Number of time intervals in which a forcing of arbitrary form is averaged over runs."""

# -- data ----------------------------------------------------------------------------------
MIN_ROWS_PER_TERM = 5
"""Minimum number of rows per candidate term."""
MIN_SAMPLES_PER_PERIOD = 8
"""Minimum number of rows per period of a state that resolves its derivative."""
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
"""Noise, in standard deviations of a state, above which differences of rows show no motion. Its
square is half the variance."""

# -- lag between a position and its velocity -----------------------------------------------
MIN_LAG_WINDOWS = 20
"""Minimum number of windows for the estimate of a lag."""
CLEARLY_BETTER = 0.5
"""Ratio of the squared errors of an equation and of a lag below which the equation is preferred and
no lag is reported."""
LAG_EXPLAINED_SHARE = 0.99
"""Minimum share of a velocity's variance that the position explains."""
LAG_FACTOR_TOLERANCE = 0.03
"""Maximum difference from 1 of the ratio between a velocity and the position's derivative."""
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
"""Share of the mean growth rate that the rate in each half of the runs must exceed."""
MAX_RUNS_CHAOS = 3
"""Maximum number of runs (the longest ones) along which perturbations are followed."""
MAX_ROWS_CHAOS = 800
"""Maximum number of rows of each of these runs."""
MIN_STATES_CHAOS = 3
"""Minimum number of varying states. By the Poincare-Bendixson theorem, autonomous planar systems
have no chaos."""
JACOBIAN_STEP = 1e-5
"""Step of finite differences for derivatives of the field, in standard deviations of a state."""
MIN_INITIAL_ERROR = 1e-6
"""Minimum relative error of initial state and field. It is assumed even if both appear more
accurate."""

# -- dead time of an input -----------------------------------------------------------------
DEAD_TIMES = 25
"""Number of delays that are compared, including zero."""
DEAD_TIME_RUNS = 40
"""Maximum number of runs, evenly spaced, on which delays are compared."""
DEAD_TIME_RADIANS = 6.0
"""Longest delay to try, as a multiple of the time in which the input moves by its standard
deviation. This is about a period of a sine; longer delays are ambiguous."""
DEAD_TIME_SHARE = 0.25
"""Longest delay to try, as a share of the longest run, as in a fit."""
