"""Decisive constants of matching, term selection and model judgement.

`docs/ablations.md` shows the effect of disabling each mechanism, and of halving and doubling the
17 constants that decide terms and verdicts. The other constants were not swept.
"""

from typing import NamedTuple, final

from ..data._limits import PLAN_ROWS as PLAN_ROWS
from ..field._limits import GATE_PARTS as GATE_PARTS
from ..solving._limits import DIAGONAL_ROUNDING as DIAGONAL_ROUNDING


@final
class Effort(NamedTuple):
    """Effort of a match on segments of growing length.

    Segments grow from `first_length` steps by a factor of `growth` up to `max_length`. Each length
    has one rough match and up to `rounds` further matches. A descent ends when a step gains less
    than `tolerance`, in half squared standard errors, or after `max_evaluations`. Each interval
    between rows is integrated with at most `max_substeps` substeps. The misfit may grow by a factor
    of `max_misfit_growth` from one length to the next. `min_sigma` is the smallest residual
    standard deviation, in standard deviations of a state. If `starts_near`, the constants are
    assumed to be near the minimum once they fit shorter segments: steps are hardly damped, and no
    rough match precedes the others.
    """

    first_length: int = 4
    growth: float = 2.5
    rounds: int = 2
    tolerance: float = 1e-4
    max_evaluations: int = 20
    max_substeps: int = 32
    max_length: int = 1000
    max_misfit_growth: float = 1.5
    min_sigma: float = 0.0
    starts_near: bool = False


FULL = Effort()
"""Effort of a refinement."""
QUICK = Effort(rounds=1, tolerance=0.05, max_evaluations=8, max_substeps=8)
"""Effort of a ranking of formulas."""


# -- integration ---------------------------------------------------------------------------
MAX_SUBSTEPS = 32
"""Maximum substeps between rows."""
CHECKED_SEGMENTS = 40
"""Number of segments used to choose the number of substeps."""
TRAJECTORY_ACCURACY = 1e-3
"""Standard deviations of the noise. Accuracy of trajectories in Newton's method."""
MAX_SWEEPS = 6
"""Maximum Newton steps; after them, segments are integrated row by row."""
SWEEP_CLOSED = 0.3
"""Fraction of the square root of the accuracy. The last Newton step closes smaller gaps; the
margin allows for the curvature of the flow."""
MAX_SWEPT_CONSTANTS = 50
"""Constants. With more constants, Newton steps are slower than row-by-row integration."""
DERIVATIVE_RATE = 0.7
"""Dimensionless. |df/dx| h of one step for derivatives. The error of the classical Runge-Kutta
method is then 0.1%."""
DIFFERENCE = 1e-6
"""Standard deviations of a state. Step of the finite differences of the residual."""
BOX_WIDTH = 21
"""Ranges of the data. A trajectory that leaves a box of this width around the data has
diverged."""
SHARED_WEIGHT = 0.5
"""Weight of a row that two consecutive segments share."""
STEP_BLOCK, STORED_ARRAYS = 400_000, 5
"""Numbers integrated together, about the size of a cache; arrays of derivatives per step."""
EVALUATION_BLOCK = 2_000_000
"""Maximum number of sensitivities held in memory at once."""

# -- matching ------------------------------------------------------------------------------
HUBER = 4.0
"""Standard deviations. Larger residuals are penalized linearly instead of quadratically."""
DIVERGED_RESIDUAL = 1e3
"""Standard deviations. Residual assigned to each row of a diverged trajectory."""
OFFSET_ROUNDING = 1e-12
"""Relative to a coefficient. Smaller offsets in a relation are rounding errors."""
MAX_CENSORED_DISTANCE = 30.0
"""Standard deviations. A state further beyond the limit of its sensor has no effect, because the
log-likelihood differs from zero by less than the smallest number."""
FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-4, 1e-7, 1e9
"""Dimensionless. Levenberg-Marquardt damping, relative to the diagonal of the normal equations."""
NEAR_DAMPING = 1e-11
"""Dimensionless. First and minimum damping near the minimum. It is small because long segments
determine some directions by 1e-9 of the diagonal."""
CLOSED = 0.03
"""Standard deviations of the noise, root mean square. The last step closes smaller gaps between
rows, with an error of about the square of this value."""
NEARLY_CLOSED = 0.3
"""The same for a match that did not converge. Segments with larger gaps are integrated."""
PRIOR_WIDTH = 2.0
"""Dimensionless. Prior standard deviation of a constant, relative to its initial value. If the
data determine a constant to 10%, the prior contributes 0.25%."""
MATCH_GROWTH = 1000.0
"""Dimensionless. Maximum growth of initial errors along a segment. With more growth, the
likelihood has many local maxima, and the curvature at one of them does not measure the distance
to the truth. For ten chaotic flows, intervals have nominal coverage for limits of 30 to 1e4, and
less without a limit. At 30, some intervals are a third wider."""
GAP_WEIGHT = 0.1
"""Dimensionless. Weight of squared gaps relative to squared misfits when a step is accepted or
rejected. It is small because the next step closes small gaps."""
CLOSING, NO_GAP = 0.5, 1e-4
"""A step that reduces gaps to the first value, as a fraction, is accepted even if the misfit
increases, because gaps hide misfit. Gaps below the second value, in standard deviations of the
noise, are too small for that."""
SHORTENED = 0.1
"""Dimensionless. Damping above which steps that open gaps are also shortened. At such damping the
constants hardly move, but the states leave the range of the linearization."""
MAX_MOVE = 0.3
"""Standard deviations of a state. A step that moves over 10% of segments further is shortened."""
ROUNDING = 1e-9
"""Relative increase of the sum of squares that is attributed to rounding."""
BLOCK = 4_000_000
"""Maximum number of derivatives held in memory at once."""
MIN_SIGMA = 1e-8
"""Standard deviations of a state. Minimum residual standard deviation, reached by exact data."""
MIN_SIGMA_WEIGHTS = 1e-5
"""The same with residual weights, which converge slowly."""

# -- choice of terms -----------------------------------------------------------------------
SEARCH_ROWS = 3000
"""Maximum rows for comparing sets of terms. Enough to distinguish terms at 5% noise."""
SYMBOL = 1.5
"""Nats per symbol of a term. Price of complexity, as in the formula search."""
CLOSE = 1.0
"""Nats. Sets are proposed if their linearized score is at most this much worse than the current
score."""
MAX_PROPOSALS = 4
"""Maximum sets matched per linearization."""
MAX_TRIALS = 12
"""Maximum sets matched per segment length."""
RIVAL = 10.0
"""Nats. Sets whose score on short segments is worse by less than this are also tried on longer
segments. With few rows, scores of terms that explain short segments equally well differ by less."""
MAX_RIVALS = 3
"""Maximum sets tried again on longer segments."""
WINDOW = 10.0
"""Nats. Sets whose score is worse by less than this count in the probabilities of terms."""
MAX_WINDOW_SETS = 200
"""Maximum sets whose neighbours are scored for these probabilities."""
EVIDENCE_TEMPERATURE = 1.5
"""Dimensionless. Divisor of score differences when they become probabilities, because the noise is
estimated and scores of unmatched sets are linearized. Chosen on the development half of the hard
cases of `python -m benchmarks truth`: without it, 75% of terms with probability 95% were true."""
HELD_INPUT_GAIN = 10.0
"""Nats. An input is treated as held between rows if the score of the same equations then improves
by more than this, which corresponds to odds of 20,000 to one. Beyond twice the noise, the variance
of the misfit must then be smaller by a factor of 1.4."""
ROUNDING_FLOOR = 1e-4
"""Standard deviations of a state. Smaller misfits are rounding errors of integrators and files."""
SEARCH_EFFORT = Effort(
    8,
    2.5,
    rounds=1,
    tolerance=0.05,
    max_evaluations=15,
    max_substeps=4,
    max_length=200,
    max_misfit_growth=4.0,
    min_sigma=ROUNDING_FLOOR,
)
"""Segments of 8, 20, 50, 125 and 200 steps. Constants converge to a small fraction of their
standard errors."""
SKIPPED_FROM = 5
"""Number of lengths from which every second one is skipped while only noise is left. Short runs
have fewer, and the sets matched at each length improve the probabilities of their terms."""
TEMPERED = 60.0
"""Number of values of a state that count in the score where the misfit exceeds twice the noise
variance. Residuals of a missing term are correlated between rows."""
NOISE_ACCURACY = 1.12
"""Dimensionless. Factor by which the smoothing estimate of the noise variance may be wrong."""
MAP_NOISE_ACCURACY = 1.5
"""The same for a map, whose noise is estimated from predictions of the next row. For the logistic,
Henon and Ricker maps, 500 rows and 1% noise, the factor is 0.7 to 1.2."""
EXCESS_LEVEL = 0.999
"""Probability. A misfit above this quantile of the chi-squared distribution exceeds white noise."""
MAX_EXCESS = 40.0
"""Noise variances. Smoothing underestimates noise that is correlated over forty rows by at most
this factor."""
CANCELS = 6.0
"""Dimensionless. Maximum ratio of the size of terms to the size of their sum."""
FOLLOWED = 4.0
"""Noise variances. If the misfit is larger, sets are not compared on longer segments."""
MAP_PROPOSALS = 6
"""Values of parameters in terms, in the order of their scores on rows, with which the search for a
map starts. Noise in the states biases these scores."""
MAX_CANDIDATES, MIN_CANDIDATES = 240, 12
"""Maximum number of candidate coefficients in all equations, and minimum number in one equation.
The cost of a linearization grows with the number of candidates."""
USABLE_EIGENVALUE, SET_EIGENVALUE = 1e-10, 1e-12
"""Fraction of the largest eigenvalue, for all candidates and for one set. Directions with smaller
eigenvalues are rounding errors."""
PIVOT = 1e-6
"""Fraction of the square of a term that must be independent of the other terms of a set."""
DEPENDENT_OFFSET = 1e-20
"""Fraction of a squared norm. Smaller remainders of an offset are rounding errors."""
MAX_MOVES = 60
"""Maximum moves of a local search. Every move lowers the score, so the search always ends."""

# -- judgement -----------------------------------------------------------------------------
JUDGED = Effort(8, 2.5, rounds=0, tolerance=0.05, max_evaluations=12, max_length=300)
"""Effort of the match that judges a model."""
JUDGED_ROUNDS = 5
"""Maximum matches per segment length, each with updated weights of the states. The misfit of a
match that did not converge is larger than the misfit of the equations."""
JUDGED_ROWS = 6
"""Minimum rows of the longest run for a judgement."""
JUDGED_ROWS_RESIDUAL = 600
"""Maximum rows for judging a model with a network, whose derivatives are slow to compute."""
JUDGED_SHARE = 0.9
"""Minimum fraction of segments that do not diverge."""
JUDGED_ACCURACY = 0.2
"""Fraction of the misfit floor. Error of the integration."""
MISFIT_FLOOR, MISFIT_FLOOR_SWITCHED = 5e-4, 5e-3
"""Standard deviations of a state. Smaller systematic misfits are errors of integrators, files and
derivatives of clean data. The second value is for equations with jumps, at which integration steps
do not end."""
MISFIT_FLOOR_RESIDUAL = 1e-2
"""The same for a model with a network, which is an approximation."""
FIRST_MAP_LENGTH = 3
"""Steps of the first segments of a map, along which errors may grow several times at each step."""

MAP_NEAR_ROWS = 6
"""Nearest rows among which a map's row finds one that shares no noise with it. Only the rows before
and after it do, so that three are enough."""

CLEARLY_LESS = 3.0
"""Dimensionless. A residual is needed if the misfit of the equations alone is larger by this
factor."""
MISFIT_QUANTILE = 3.72
"""Standard normal quantile at 1 - 1e-4, because each model has only a few tests."""
CONSTANT_MARGIN = 5e-3
"""Relative error of constants estimated from derivatives of clean data."""
HORIZON_GROWTH = 30.0
"""Dimensionless. Segments along which initial errors grow by more than this exceed the forecast
horizon."""

# -- intervals -----------------------------------------------------------------------------
LEVEL = 0.95
"""Probability. Default confidence level of intervals."""

CORRELATED = 0.95
"""Minimum correlation between two estimates that is reported. At this value, the joint interval is
3 times as wide as with the other constant known, 1 / sqrt(1 - 0.95^2)."""
TIED = 1e-9
"""One minus the absolute correlation. Below this value, a relation ties the two coefficients."""
AT_A_BOUND = 1e-3
"""Standard errors. A bound is active if the estimate is closer than this."""
UNDETERMINED = 1e-13
"""Fraction of the largest curvature. The data do not determine directions with less curvature."""
MAX_PREWHITENED = 0.97
"""Maximum correlation of neighbouring residuals that prewhitening removes before the other
correlations are summed. Andrews and Monahan (1992) chose this limit because at higher values, a
small error of the correlation changes the variance without bound."""
CURVED_REACH = 0.1
"""Half-width of a 95% interval relative to the constant, above which the likelihood is profiled.
Below it, the profile of a constant in a fraction or an exponential differs from its quadratic
approximation by less than a tenth of the half-width, the relative size of the next order."""
CURVED_COST = 0.1
"""Relative difference between the increase of the misfit at an end of the quadratic interval and
the increase of a parabola. Above this value, the end is searched on the profile. The value
corresponds to 5% of the half-width."""
PROFILE_ENDS = 8.0
"""Half-widths of the quadratic interval at which the search for the end of a profile stops."""
PROFILE_STEP = 2.5
"""Maximum factor by which one step of this search extends the interval."""

# -- segments and stages ---------------------------------------------------------------
STAGE_ROWS = 20_000
"""Maximum rows of all stages except the last. Enough to bring constants near their final values."""
STAGE_ROWS_LAST = 100_000
"""Maximum rows of the last stage. At this number, the relative error of a variance is 0.5%."""
STAGE_ROWS_WEIGHTS = 4_000
"""The same with residual weights, whose derivatives are slow to compute."""
TOLERANCE_WEIGHTS = 0.1
"""Half squared standard errors. `Effort.tolerance` for residual weights, which are many."""
LENGTH_WEIGHTS = 100
"""Maximum steps of a segment with residual weights."""
ROUGH_TOLERANCE = 1e-2
"""Half squared standard errors. Tolerance of the first round of a stage, before the noise is
known."""
FIRST_SIGMA = 0.1
"""Standard deviations of a state. Misfit assumed for the first segments."""
MIN_VALID_SHARE = 0.5
"""Minimum fraction of segments that do not diverge."""
HOPELESS_MISFIT = 0.5
"""Standard deviations of a state. With a larger misfit, trajectories do not follow the data."""
HARMLESS_MISFIT = 0.01
"""Standard deviations of a state. Smaller misfits may grow with the length of segments."""
EXPECTED_MISFIT = 1.2
"""Multiples of the expected noise. Misfits below this may grow as well."""
FINER = 0.5
"""Fraction of the misfit for which substeps were chosen. If the misfit falls below it, substeps are
chosen again."""
NOISE_TOLERANCE = 0.02
"""Relative change of the misfit above which a stage runs another round."""
PRECISION_TOLERANCE = 0.2
"""The same for the precision of the weights."""
ROUNDS_WEIGHTS = 5
"""Rounds of a stage with weights, whose precision converges slowly."""
MIN_WEIGHT_CHANGE = 0.04
"""Fraction of the mean square of the weights. Minimum variance of their prior."""
STEP_ERROR = 0.3
"""Standard errors of a mean over all rows. Error of the integration."""
MIN_STEP_ERROR = 1e-9
"""Standard deviations of a state. Minimum error of the integration."""

# -- ranking of formulas ---------------------------------------------------------------
RANKING_LENGTHS = (4, 25, 150)
"""Steps of the segments that precede whole runs."""
RANKING_EVALUATIONS = 4
"""Maximum evaluations of a match to longer segments, which starts near its minimum."""
RANKING_JUMP = 2.0
"""Factor by which the misfit may grow from one length to the next."""
RANKING_HARMLESS = 0.02
"""Standard deviations of a state. Smaller misfits may grow."""

# -- correlated noise ------------------------------------------------------------------
NOISE_MIN_STEPS = 25
"""Steps. Minimum length of segments that show the full size of correlated noise."""
NOISE_GROWTH = 1.3
"""Maximum growth factor of noise from these segments to the longest ones. Model errors accumulate
along a segment, noise does not."""
NOISE_GROWTH_SLOW = 0.5
"""Additional growth of noise whose correlation time equals the segment length."""
MIN_NOISE_CORRELATION = 0.2
"""Minimum correlation of neighbouring residuals."""
MAX_NOISE_SHARE = 0.05
"""Fraction of the variance of a state. A larger residual variance is not treated as noise."""
MAX_RESIDUAL = 4.0
"""Standard deviations. Larger residuals are clipped to this value."""
LAG_SHARE = 4
"""Correlations are summed over lags up to the segment length divided by this value."""

# -- covariance ------------------------------------------------------------------------
COVARIANCE_GROUPS = 40
"""Number of groups of rows (runs or stretches of runs) whose scores are compared."""
MIN_RUN_GROUPS = 20
"""Runs. With this many runs or more, each run is a group."""
MIN_SANDWICH_GROUPS = 3
"""Minimum groups for a sandwich covariance."""
CORRELATED_RESIDUALS = 0.1
"""Correlation of neighbouring residuals in excess of chance, above which the sandwich covariance is
used."""
SANDWICH_MISFIT = 1.1
"""Ratio of residuals on long segments to residuals on short segments, above which the sandwich
covariance is used."""

# -- held-out forecasts ----------------------------------------------------------------
HELD_OUT_SHARE = 0.25
"""Fraction of the data that is held out."""
HELD_OUT_ROWS = 20
"""Rows. With fewer rows, forecasts are compared on the training data."""
HELD_OUT_FORECASTS = 24
"""Maximum forecasts compared."""
LATEST_START = 0.6
"""Fraction of a run after which no forecast starts."""
HELD_OUT_STEPS = 1000
"""Maximum steps of a forecast."""
NEAR_EVALUATIONS = 8
"""Maximum evaluations of a match without a part of the data, which starts near its minimum."""
HELD_OUT_STRETCH_BEGIN = 0.4
"""Fraction of each run before the held-out stretch, if weights are free."""
MAX_ERROR_RATIO, MAX_ERROR_RATIO_CHANCE = 1.05, 1.2
"""Maximum accepted ratio of held-out forecast errors with refined and given constants. The second
value applies if the difference may be due to chance."""
SIGNIFICANT_DIFFERENCE = 2.0
"""Standard errors of the difference. Smaller differences may be due to chance."""
LOST_FORECAST = 0.7
"""Standard deviations of a state. Forecasts with larger errors are useless."""
EXACT_FORECAST = 1e-6
"""Standard deviations of a state. Smaller forecast errors count as zero."""
MAX_REFUSED_STAGES = 3
"""Number of stages, counted from the last, that are compared on held-out data."""
MIN_REFINED_STEPS = 3
"""Steps. Constants are not refined if no run is longer."""

# -- profiles --------------------------------------------------------------------------
PROFILE_EVALUATIONS = 6
"""Maximum evaluations of a match with one fixed constant, which starts near its minimum."""
NEAR_TOLERANCE = 1e-3
"""Half squared standard errors. A match that starts near its minimum stops when a step gains less;
for initial states, per segment."""
PROFILE_SOLVES = 4
"""Maximum matches in the search for one end of an interval."""

# -- integral form ---------------------------------------------------------------------
STRETCH_STEPS = 100
"""Maximum steps per initial value. Smoothing errors accumulate over longer stretches."""
MIN_STRETCH_STEPS = 12
"""Minimum steps per initial value. Noise does not average out over shorter stretches."""
ROUGH_FUNCTION = 1.2
"""Standard deviations of a function. Functions that change more between rows cannot be
integrated."""
STRETCHES_OF_A_RUN = 3
"""Minimum stretches per run, if its length allows."""

# -- initial states of forecasts -------------------------------------------------------
START_SHARE = 0.1
"""Fraction of a run used to estimate its initial state."""
MIN_START_STEPS, MAX_START_STEPS = 10, 50
"""Minimum and maximum steps used to estimate the initial state."""
START_MIN_NOISE = 1e-4
"""Standard deviations of a state. Minimum noise."""
START_ACCURACY = 1e-3
"""Standard deviations of a state. Error of the integration."""
START_EVALUATIONS = 10
"""Maximum evaluations of the match of initial states."""

# -- forecast errors -------------------------------------------------------------------
FORECASTS = 10
"""Number of forecasts, from rows spread over the runs."""
FORECAST_MAX_STEPS = 200
"""Maximum steps of a forecast."""
FORECAST_MAX_SUBSTEPS = 8
"""Maximum substeps between rows."""
FORECAST_ACCURACY = 0.02
"""Maximum relative change of the forecast error when the steps are halved."""
LATEST_FORECAST = 0.5
"""Fraction of a run after which no forecast starts."""
VARIANT_MAX_STEPS = 300
"""Maximum steps of forecasts with many sets of coefficients."""
VARIANT_MAX_SUBSTEPS = 32
"""Maximum substeps between rows for these forecasts."""
VARIANT_ACCURACY = 0.002
"""Standard deviations of a state. Maximum change of these forecasts when the steps are halved."""

# -- gates -----------------------------------------------------------------------------
OUTER_RUNS = 1 / 3
"""Fraction of the runs on which a gate is tested: the outermost runs."""
GATE_RUNS = 9
"""Runs. With fewer runs, a gate is not tested."""
GATE_BETTER = 0.25
"""Maximum ratio of squared forecast errors without and with a gate at which the gate is opened."""
GATE_MATTERS = 0.1
"""Logarithm of this ratio. Smaller changes of a forecast due to the gate are ignored."""
SLOW_FADE = 2.0
"""Dimensionless. Width of the gate of a residual that is correct beyond its data."""
# -- delays ------------------------------------------------------------------------------------
DELAY_TOLERANCE = 0.01
"""Of the searched range. Accuracy of a delay before its quadratic is fitted, which refines it."""

DELAY_EVALUATIONS = 12
"""Matches in the search for one delay in a range."""

DELAY_SWEEPS = 3
"""Searches for each of several delays in turn."""

DELAY_STEP_ROUNDS = 8
"""Attempts to find the step at which the likelihood falls by `DELAY_RISE`."""

DELAY_RISE = 1.0
"""Nats. Fall of the likelihood at the step from which its curvature is computed: 1.4 standard
errors, so that rounding does not matter and the likelihood is still quadratic."""

MIN_DELAY_RISE, MAX_DELAY_RISE = 0.25, 6.0
"""Nats. Falls at which the curvature is accurate."""

DELAY_COST_ACCURACY = 1e-3
"""Nats. Accuracy of the likelihood of a match."""

# -- hidden states -----------------------------------------------------------------------------

HIDDEN_STARTS = 32
"""Maximum number of starting points. For seven systems with one or two hidden states, between 20%
(two tanks) and 100% (an epidemic) of the starting points led to the smallest misfit."""
HIDDEN_STARTS_KINKS = 64
"""The same for equations with kinks. For two tanks that overflow, 3% to 30% of the starting points
led to the smallest misfit."""
KINK_WIDTHS = (0.3, 1.0)
"""Widths over which starting points smooth kinks, in tolerances and sizes of their arguments. Large
widths show what lies beyond a kink; small widths distort the equations less."""
HIDDEN_STARTS_RESIDUAL = 4
"""The same for fields with a residual, whose derivatives take a hundred times as long."""
HIDDEN_AGREEING = 3
"""Starting points that must lead to the smallest misfit before the others are left out."""
MEASURED_AGREEING = 2
"""The same if all states are measured, whatever the misfit: constants of runs are not free yet."""
HIDDEN_AGREES = 1.01
"""Dimensionless. Misfits within this factor of the smallest one count as the same."""
HIDDEN_MISFIT = 2.0
"""Noise variances. Above this, at least half of the starting points are tried."""
HIDDEN_SPREAD = 0.7
"""Standard deviation of the logarithm of a constant relative to its natural size."""
LEVEL_SPREAD = 1.0
"""Standard deviation of the logarithm of the level of a hidden state relative to its first value,
in half of the starting points. A tank that starts empty may overflow later."""
KINK_RATIOS = tuple(2.0 ** (sign * k) for k in range(1, 9) for sign in (1, -1))
"""Factors between levels of a hidden state. They are tried in this order until the state is on the
other side of a kink."""
HIDDEN_TOLERANCES = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4)
"""Standard deviations of the gaps that add up over a run, in sizes of the states."""
HIDDEN_STEPS = 15
"""Maximum number of steps at each tolerance."""
HIDDEN_GAIN = 1e-3
"""Dimensionless. A step that reduces the cost by less ends the descent at a tolerance."""
HIDDEN_HOPELESS = 10.0
"""Dimensionless. A descent whose cost exceeds that of the best one by this factor ends."""
HIDDEN_PATIENCE = 3
"""Number of tolerances before a descent may end."""
HIDDEN_PRIOR = 10.0
"""Sizes of a constant. Standard deviation of its prior around the starting point at the first
tolerance, where gaps leave it open."""
HIDDEN_MIN_NOISE = 1e-3
"""Standard deviations of a state. Noise below this is not resolved by starting points; the match
that follows does."""
HIDDEN_ACCURACY = 1e-3
"""Sizes of the states. Integration error along a run."""
HIDDEN_SUBSTEPS = 16
"""Maximum number of substeps between rows."""
DOMAIN_SHARES = (0.5, 0.8, 1.0)
"""Shares by which states at which the equations have no value move to earlier ones, in turn."""
HIDDEN_RIDGE = 1e-10
"""Inverse squared sizes. Precision added against singular systems."""
START_STD = 1e-5
"""Sizes of the states. Standard deviation of a first state that is given."""
HIDDEN_HALVINGS = 4
"""Number of halvings from the longest run to the shortest segments of runs with hidden states."""
DOUBTFUL = 1e-6
"""Dimensionless. A direction of relative changes with less than this share of the information of
the best determined one may not be determined at all. This is tested by a match."""
MOVED = 0.1
"""Relative change of the constants in this test."""
MOVED_STATES = 1e-4
"""The same in the derivative of hidden states along a direction."""
MOVED_EVALUATIONS = 30
"""Steps of its match at most."""
MOVED_COST = 0.5
"""Half noise variances. A larger increase of the misfit shows that a direction is determined."""
NATURAL_SHARE = 0.01
"""Natural sizes of a constant. A smaller constant is in effect zero."""
INVOLVED = 0.02
"""Share of the largest change along a direction. Smaller changes are rounding and noise."""
MAX_POWER = 4
"""Largest denominator of a power in a combination of constants."""
POWER_ROUNDING = 0.02
"""Powers within this of a fraction are the fraction."""
CONSERVED_ROUNDING = 0.005
"""The same for products that are reported as determined. In Lorenz and Rossler systems with a free
scale and ten other systems, powers differed by at most 0.0015. Constants in sums have any power."""
MOVED_NOISE = 1e-5
"""Standard deviations of a state. Noise below this counts as this in the test, which would not
converge for less."""
MIN_FREE_SHARE = 0.1
"""Share of measured values that are not used up by estimates, at least: few rows would otherwise
have no noise."""
HIDDEN_MAX_NOISE = 0.1
"""Standard deviations of a state. Few rows show more noise than there is; the residuals show it."""
REWEIGHTED = 3
"""Last tolerances that are repeated with the noise of the residuals."""
NEAR_TOLERANCES = 2
"""Number of the wide tolerances that a start near another minimum leaves out: constants of single
runs would leave it."""
VARIANCE_DAMPINGS = (0.0, 1e-3, 1.0)
"""Inverse squared sizes. Precision of the states that is added until their system is regular."""
