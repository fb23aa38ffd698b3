"""The numbers that decide what is said about a model, each with a unit and a reason.

Errors are relative to the root mean square of what is predicted; shares are of a square.
`benchmarks/sweeps.py` does not vary these numbers.
"""

import numpy as np

# -- verdict -------------------------------------------------------------------------------
GOOD_ERROR = 0.05
"""Relative error of a derivative beyond noise. Up to this value an equation explains it."""
FAIR_ERROR = 0.2
"""Relative error of a derivative beyond noise, or of the motion along segments of trajectories. Up
to this value, an equation explains it roughly; beyond it, it does not. A larger total error within
noise is called noise-limited."""
GOOD_FORECAST_ERROR = 0.1
"""Relative error of the states over whole runs. Up to this value forecasts are good."""
POOR_FORECAST_ERROR = 0.3
"""Relative error of the states over whole runs. Beyond this value forecasts fail."""
FAILED_FORECAST_SHARE = 0.25
"""Share of the forecasts that end early. From this value on, forecasts fail."""
NOISE_MARGIN = 1.4
"""Standard deviations of the noise of a derivative. Errors up to this multiple may be noise."""
MAX_DETECTABLE_MISFIT = 0.2
"""Share of a state's motion. Data that could not show a smaller misfit decide nothing."""
ROUNDING_MISFIT = 5e-4
"""Share of a state's motion. A smaller misfit is not called noise: integrators and files round it
away."""
CONSTANT_RATE = 1e-9
"""Relative change of a state over the whole time. A rate that changes it by less is rounding."""
MIN_ROWS = 10
"""Rows. With fewer, nothing is judged."""
MAX_FORECASTS = 256
"""Runs that are forecast, evenly chosen: forecasts of all runs would take long."""

# -- terms and residual --------------------------------------------------------------------
MIN_TERM_PROBABILITY = 0.5
"""Probability. The verdict names a term in use that is less probable."""
SHOWN_TERM_STABILITY = 0.05
"""Share of resamples, or weight of the sets of terms, that choose a term. From this value on, a
term that is not in use is shown."""
ROUNDING_ERROR = 1e-8
"""Relative error. Errors are square roots of differences of squares: smaller ones are rounding."""
NEGLIGIBLE_OVERLAP = 1e-6
"""Overlap of a residual with the terms in use. With less, the residual is orthogonal to them."""
NOTABLE_RESIDUAL = 0.01
"""Size of a residual relative to the derivative. Notes are only about larger ones."""
LIBRARY_SHARE = 0.5
"""Share of a residual that library terms could represent, above which a note says so."""
MIN_RIDGE, MAX_RIDGE = 1e-9, 1e3
"""Mean squares of a column. Bounds of the ridge of the fit when it is used on held-out rows."""

# -- rows that are looked at ---------------------------------------------------------------
MAX_ROWS_MOTION = 4000
"""Rows that are differentiated."""
MIN_STRETCHES = 10
"""Stretches, of one run or of several, that are looked at if not all rows are."""
MIN_ROWS_DERIVATIVES = 5
"""Rows of a run that has a second derivative."""
MAX_ROWS_OBSERVED = 2000
"""Rows, evenly chosen, that verdict and advice are decided on: few enough to be quick."""
FOLDS = 10
"""Folds of held-out rows."""
MAX_DERIVATIVE_NOISE = 0.5
"""Standard deviations of a column of given derivatives. A larger estimate is not noise: the rows
are in no order."""
CROSSING_DISTANCE = 0.25
"""Standard deviations of a state beyond its mean that a crossing must reach, so that noise makes
none."""
COLLINEAR_EXTENT = 1e-3
"""Share of the largest singular value. Directions of the variables with less have no slope."""

# -- least squares on held-out rows --------------------------------------------------------
RANK_TOLERANCE = 1e-10
"""Share of the largest singular value. Below it, terms depend on others on these rows. With a
ridge, the least one, in mean squares of a column."""
UNSEEN_DIRECTION = 1e-13
"""Share of the square of a direction that is in the fitted rows. With less, they do not show it."""

# -- whether the columns determine a derivative --------------------------------------------
MIN_COVERED_ROWS = 50
"""Rows with neighbours at other times that any statement needs."""
MIN_COVERED_SHARE = 0.2
"""Share of all rows that must have such neighbours."""
MAX_NEIGHBOUR_DISTANCE = 0.3
"""Standard deviations of the columns. The median neighbour of a row must be nearer."""
MAX_NEIGHBOUR_OFFSET = 0.05
"""Standard deviations of the columns. Neighbours on one side only, from which the row would have to
be extrapolated, predict its position with a larger error."""
NEIGHBOUR_PARTS = 10
"""Parts of the rows, each predicted from the others."""
MIN_NEIGHBOURS = 16
"""Neighbours of a row, at least; in many columns four for each coefficient of a plane."""
NEIGHBOUR_BLUR = 2.0
"""Standard deviations of noise. Neighbours that are no further apart have no slope."""
NEIGHBOUR_RIDGE = 1e-3
"""Mean squares of the distances of neighbours: ridge on the slopes of the plane through them."""
UNDETERMINED_SHARE = 0.08
"""Share of a derivative that no function of the columns explains, above which a variable is
missing."""
MISSING_VARIABLE_NOISE_FACTOR = 4.0
"""Noise levels, the largest of the states. A smaller undetermined share may come from noise in the
columns."""
FORCING_NOISE_FACTOR = 0.2
"""Noise levels, the largest of the states. With a smaller undetermined share the columns may
determine the derivative, and no forcing is reported."""
FREE_RATE_SHARE = 0.5
"""Undetermined share of a rate, above which it counts as a state of its own."""
DETERMINED_SHARE = 0.2
"""Share of a second derivative that columns and rates may leave if they determine it."""
DETERMINED_SHARE_LIBRARY = 0.05
"""The same where rows have no neighbours, so that the library alone decides."""

# -- remedies ------------------------------------------------------------------------------
IMPROVABLE_ERROR = 0.01
"""Relative error beyond noise, above which remedies are tried."""
MAX_REMAINING_ERROR = 0.5
"""Share of the error that a remedy may leave, beyond noise where that is known."""
MAX_REMAINING_ERROR_WITH_NOISE = 0.75
"""Share of the error, noise included, that a larger library may leave."""
MAX_REMAINING_VARIANCE = 0.3
"""Share of the undetermined variance that a forcing may leave: a function of the columns is the
competing explanation."""
STRETCHES_PER_RUN = 5
"""Stretches of each run, each predicted from the others, when laws of runs are compared."""
MIN_SHARE_IN_LONG_RUNS = 0.5
"""Share of the rows that must be in runs long enough to be fitted alone."""
MAX_TERMS_TRIED = 150
"""Terms of a larger library that is tried."""
MAX_TERMS_SELECTED = 40
"""Terms of a library from which cross-validation selects as in a fit. A larger one is compared with
all its terms."""

# -- second order --------------------------------------------------------------------------
MAX_SEGMENTS = 200
"""Segments that equations of first and second order forecast."""
MAX_ROWS_ORDER_FIT = 2000
"""Rows that these equations are fitted to."""
SEGMENT_ROWS = (3, 20)
"""Rows. Bounds of the length of a segment, which is a quarter of a period."""
DIVERGED_DISTANCE = 10.0
"""Standard deviations from the mean. A forecast that goes further counts as lost."""

# -- forcing -------------------------------------------------------------------------------
MIN_FORCING_PERIODS = 2.5
"""Periods of a forcing in the longest run, at least, for it to be reported."""
FORCING_SAMPLES_PER_PERIOD = 5
"""Samples per period of the fastest forcing that is searched for."""
MAX_WAVES = 3
"""Frequencies of a forcing."""
MAX_WAVE_ERROR_RATIO = 0.9
"""Share of the held-out error. One more frequency must leave no more."""
FORCING_REMAINING_ERROR = 0.1
"""Share of the error beyond noise. With less left the forcing is complete. Where neighbours decide
nothing it must not leave more."""
MAX_FREQUENCIES = 500
"""Frequencies of the first grid."""
FREQUENCY_OFFSETS = np.linspace(-1.0, 1.0, 9)
"""Steps between frequencies, of the finer grids around the best frequency."""
FREQUENCY_REFINEMENTS = 3
"""Finer grids, each with a quarter of the step before."""
WAVE_COLLINEARITY = 1e-6
"""Determinant of the moments of cosine and sine, in squared numbers of rows. Below it the design
contains such a wave already."""
MIN_FORCED_RUNS = 3
"""Runs. What so many have in common at the same time is a forcing; the motion of one run is a
function of time anyway."""
FORCING_BINS = 40
"""Intervals of time in which a forcing of any form is averaged over runs."""

# -- data ----------------------------------------------------------------------------------
MIN_ROWS_PER_TERM = 5
"""Rows for each candidate term."""
MIN_SAMPLES_PER_PERIOD = 8
"""Rows per period of a state. With fewer, derivatives are not resolved."""
MIN_ROWS_PER_RUN = 6
"""Rows of the median run. Shorter runs show little of how states change."""
LARGE_NOISE = 0.03
"""Standard deviations of a state. More noise is reported."""
LARGE_SLOPE_NOISE = 0.1
"""Relative error of a derivative. Noise that leaves more in it is reported as well."""
MIN_NOISE = 0.005
"""Standard deviations of a state. Less noise is not reported, whatever its effect on the slope."""
UNRELATED_NOISE = 0.71
"""Standard deviations of a state, half its variance. With more, differences show no motion."""

# -- lag between a position and its velocity -----------------------------------------------
MIN_LAG_WINDOWS = 20
"""Windows. With fewer, no lag is estimated."""
CLEARLY_BETTER = 0.5
"""Share of the squared error that a lag leaves. An equation that leaves less is no lag."""
LAG_EXPLAINED_SHARE = 0.99
"""Share of a velocity's variance that the position explains, at least."""
LAG_FACTOR_TOLERANCE = 0.03
"""Difference from one of the factor between the velocity and the derivative of the position."""
LAG_STANDARD_ERRORS = 4.0
"""Standard errors of a lag. A smaller lag is not reported."""
MIN_LAG = 0.02
"""Steps between rows. A smaller lag is not reported."""
LAG_GROUPS = 10
"""Stretches of the windows, from whose differences the standard error is estimated."""

# -- chaos ---------------------------------------------------------------------------------
MIN_CHAOS_GROWTH = 4.0
"""Logarithm of the growth of a perturbation over the longest run, at least."""
MIN_SUSTAINED_GROWTH = 0.3
"""Share of the mean rate of growth that each half of the runs must exceed."""
LOST_FORECAST_ERROR = 0.3
"""Relative error of the states. A forecast with a larger one is lost."""
MAX_RUNS_CHAOS = 3
"""Runs, the longest, along which perturbations are followed."""
MAX_ROWS_CHAOS = 800
"""Rows of each of these runs."""
MIN_STATES_CHAOS = 3
"""States that vary. By Poincare and Bendixson, a plane without inputs has no chaos."""
JACOBIAN_STEP = 1e-5
"""Standard deviations of a state: step of the differences that estimate slopes of the field."""
MIN_INITIAL_ERROR = 1e-6
"""Relative error of initial state and field that is assumed at least, however good they look."""
