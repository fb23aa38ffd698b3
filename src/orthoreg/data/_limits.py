"""Decisive constants of this package, each with a unit and a reason."""

CLEAN = 1e-3
"""Noise, in standard deviations of a state, below which estimated derivatives are accurate
enough."""

CLEAR = 0.1
"""Noise of plain second differences of a position, in standard deviations of the acceleration,
below which an estimated acceleration is accurate enough."""

PLAN_ROWS = 20_000
"""Maximum number of rows, in whole runs, for decisions on noise, windows and the residual. The
relative error of a variance is then 1%, sqrt(2 / N)."""

BRIDGE_ROWS = 5
"""Number of smoothed rows on each side of values at the limit of a sensor. The values beyond the
limit follow from lines through these rows."""

ORDER_DIGITS = 9
"""Significant digits of the distances by which runs are ordered. A change of units affects only
later digits. Mirrored runs have equal distances to these digits and are ordered by their values."""

MAP_NOISE_ROWS = 3_000
"""Number of rows from which the noise of a map is estimated. The relative error of a variance is
then 3%."""

MAX_ORDER = 4
"""Maximum order of the equations of positions. Noise grows with each derivative."""

RADIAN_ROWS = 16.0
"""Number of rows in which a state should move by its standard deviation: 100 rows per period of a
sine. If there are more rows, trajectory segments are proportionally longer, so that they contain as
much motion."""

GAP = 10.0
"""Multiple of each neighbouring time step above which a step is a gap. Random sampling times have
no step ten times as long as each of the ten steps next to it."""

EQUAL_MAP_STEPS = 1e-3
"""Maximum relative difference of the time steps of a map. Times in files are rounded."""

BURST = 20
"""Minimum mean number of rows of the parts into which a run is cut. Shorter parts are bursts of
samples, not separate recordings."""

NARROWEST = 3.5
"""Minimum number of samples in half a window. Fewer do not resolve the derivative of a test
function."""

WIDEST = 0.2
"""Maximum half-width, as a share of the median run. A run then has several windows with little
overlap."""

WINDOW_NOISE = 1e-6
"""Share of noise in the integrals over windows below which wider windows are not needed."""

FAST_SHARE = 0.35
"""Half-width of the narrow windows relative to the best half-width. Narrow windows resolve motion
that is fast within the best windows."""

WIDTH_RATIO = 1.35
"""Ratio of successive half-widths in the search."""

# -- samples of rows ---------------------------------------------------------------------------
SUBSAMPLE_ROWS = 2**17
"""Maximum number of rows, in whole runs, for decisions that do not need all data: noise,
differentiation, and whether a residual improves forecasts."""

SUBSAMPLE_BLOCKS = 16
"""Number of blocks of consecutive runs from which that subsample is taken."""

EXTENT_SAMPLE = 2**17
"""Maximum number of rows that an extent keeps. The standard error of a quantile is then 0.14% of
the rows."""

MIN_RELATIVE_VARIANCE = 1e-8
"""Share of the largest variance below which a direction has no extent."""

ROUNDING = 1e-12
"""Share of a variable's magnitude below which its range is rounding, for example in means over
windows."""

SAMPLE_SIZES = (5_000, PLAN_ROWS, 2**15)
"""Sizes of subsamples that fits use. The first pass over chunks collects them; any other size needs
a further pass."""

CHUNK = 2**18
"""Default number of rows in a chunk. Chunks are whole runs, which decide groups and subsamples."""

# -- sizes of numbers --------------------------------------------------------------------------

MAX_VALUE = 1e150
"""Largest magnitude of a value. The square of a much larger value is not finite."""

MIN_VALUE = 1e-100
"""Smallest allowed maximum of a nonzero column. Squares of residuals of relative size 1e-16, and
terms of third order, then still have all their digits; the smallest such number is 2e-308."""

# -- splits ------------------------------------------------------------------------------------
MAX_GROUPS = 50
"""Maximum number of groups of rows for resampling."""

MAX_AXES = 6
"""Maximum number of variables with half-spaces. More variables would leave too few rows in each
half-space."""

MIN_RANKED_RUNS = 8
"""Minimum number of runs to rank runs by their distance from the mean."""

# -- times and missing values ------------------------------------------------------------------
NEIGHBOUR_STEPS = 5
"""Number of steps on each side of a step that determine the typical length."""

RESTART_SHARE = 0.1
"""Share of the elapsed time to which the time must fall back for a new run to start."""

MIN_CUBIC_VALUES = 4
"""Minimum number of values for a cubic spline; fewer values are interpolated linearly."""

MIN_BRIDGED_SHARE = 0.8
"""Minimum share of rows with a value for missing values to be interpolated."""

BRIDGED_STEPS = 3.5
"""Maximum length of a gap that is interpolated, in median steps of the column."""

CROSSING_DISTANCE = 0.25
"""Distance from the mean, in standard deviations of a state, that a crossing must reach, so that
noise does not count as a crossing."""

LEAST_RELATION_STD = 1e-3
"""Minimum standard deviation of a constant around its relation to covariates, in standard
deviations over all runs, so that a run may still contradict the relation."""
