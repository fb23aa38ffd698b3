"""Decisive constants of this package, each with a unit and a reason."""

CLEAN = 1e-3
"""Noise, in standard deviations of a state, below which it does not harm estimated derivatives."""

CLEAR = 0.1
"""Noise of plain second differences of a position, in standard deviations of the acceleration,
below which it does not harm the acceleration."""

PLAN_ROWS = 20_000
"""Maximum number of rows, in whole runs, for decisions on windows and on the growth of noise. The
relative error of a variance is then 1%, sqrt(2 / N)."""

BRIDGE_ROWS = 5
"""Number of smoothed rows on each side of values at the limit of a sensor. Lines through these rows
are continued beyond the limit."""

ORDER_DIGITS = 9
"""Significant digits of the distances by which runs are ordered. A change of units only affects
later digits, so that mirrored runs, whose distances are equal, are ordered by their values."""

MAP_NOISE_ROWS = 3_000
"""Rows from which the noise of a map is estimated. The relative error of a variance is then 3%."""

MAX_ORDER = 4
"""Maximum order of the equations of positions. Noise grows with each derivative."""

RADIAN_ROWS = 16.0
"""Number of rows in which a state moves by its standard deviation: 100 per period of a sine. With
more rows, trajectory segments are proportionally longer, so that they contain as much motion."""

GAP = 10.0
"""Multiple of the neighbouring time steps above which a step is a gap. Random sampling times have
no step ten times as long as each of the ten steps next to it."""

EQUAL_MAP_STEPS = 1e-3
"""Relative difference of time steps of a map: times in files are rounded."""

BURST = 20
"""Minimum mean number of rows of the parts of a run. Shorter parts are bursts of samples, not
separate recordings."""

NARROWEST = 3.5
"""Minimum number of samples in half a window. Fewer do not resolve the derivative of a test
function."""

WIDEST = 0.2
"""Maximum half-width as a share of the median run. A run then has several windows with little
overlap."""

WINDOW_NOISE = 1e-6
"""Share of noise in the integrals over windows below which wider windows are not needed."""

FAST_SHARE = 0.35
"""Half-width of the narrower windows relative to the best half-width, for motion that is fast
within the best windows."""

WIDTH_RATIO = 1.35
"""Ratio of successive half-widths in the search."""

# -- samples of rows ---------------------------------------------------------------------------
SUBSAMPLE_ROWS = 2**17
"""Maximum number of rows, in whole runs, for decisions that do not need all data: noise,
differentiation, and whether a residual improves forecasts."""

SUBSAMPLE_BLOCKS = 16
"""Number of blocks of consecutive runs in that subsample."""

EXTENT_SAMPLE = 2**17
"""Maximum number of rows that an extent keeps. With more rows, the standard error of a quantile is
0.14% of the rows."""

MIN_RELATIVE_VARIANCE = 1e-8
"""Share of the largest variance below which a direction has no extent."""

ROUNDING = 1e-12
"""Share of a variable's magnitude below which its range is rounding, for example of means over
windows."""

# -- splits ------------------------------------------------------------------------------------
MAX_GROUPS = 50
"""Maximum number of groups of rows for resampling."""

MAX_AXES = 6
"""Maximum number of variables with half-spaces. More variables would leave too few rows in each
half-space."""

MIN_RANKED_RUNS = 8
"""Minimum number of runs for ranking runs by their distance from the mean."""

# -- times and missing values ------------------------------------------------------------------
NEIGHBOUR_STEPS = 5
"""Number of steps on each side of a step that determine its typical length."""

RESTART_SHARE = 0.1
"""Share of the elapsed time below which the time must fall back to start a new run."""

MIN_CUBIC_VALUES = 4
"""Minimum number of values for a cubic spline; fewer values are interpolated linearly."""

MIN_BRIDGED_SHARE = 0.8
"""Minimum share of rows with a value for interpolating missing values."""

BRIDGED_STEPS = 3.5
"""Maximum length of an interpolated gap, in median steps of the column."""

CROSSING_DISTANCE = 0.25
"""Distance from the mean, in standard deviations of a state, that a crossing must reach, so that
noise does not cause crossings."""

LEAST_RELATION_STD = 1e-3
"""Standard deviations over all runs. A relation to covariates is not trusted more than this, so
that a run may still contradict it."""
