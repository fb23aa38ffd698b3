"""Decisive constants of matching, term selection and model judgement, each with a unit and a
reason.

`docs/ablations.md` shows the effect of disabling each mechanism, and of halving and doubling the 17
constants that decide terms and verdicts. The other constants were not swept.
"""

from typing import NamedTuple, final

from ..data._limits import PLAN_ROWS as PLAN_ROWS
from ..field._limits import GATE_PARTS as GATE_PARTS
from ..solving._limits import DIAGONAL_ROUNDING as DIAGONAL_ROUNDING


@final
class Effort(NamedTuple):
    """The effort of a match on segments of growing length.

    Segments grow from `first_length` steps by a factor of `growth` up to `max_length`. At each
    length, there is one rough match and up to `rounds` further matches. A descent ends when a step
    gains less than `tolerance`, in half squared standard errors, or after `max_evaluations`. Each
    interval between rows is integrated with at most `max_substeps` substeps. The misfit may grow by
    a factor of `max_misfit_growth` from one length to the next. `min_sigma` is the minimum residual
    standard deviation, in standard deviations of a state. If `starts_near`, the constants are
    assumed to be near the minimum once they fit shorter segments: steps are hardly damped, and
    there is no rough match.
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
"""Maximum number of substeps between rows."""
CHECKED_SEGMENTS = 40
"""Number of segments used to choose the number of substeps."""
TRAJECTORY_ACCURACY = 1e-3
"""Accuracy of trajectories in Newton's method, in standard deviations of the noise."""
MAX_SWEEPS = 6
"""Maximum number of Newton steps. After these, segments are integrated row by row."""
SWEEP_CLOSED = 0.3
"""Maximum gap that the last Newton step may close, as a fraction of the square root of the
accuracy. The margin allows for the curvature of the flow."""
MAX_SWEPT_CONSTANTS = 50
"""Maximum number of constants for Newton steps. With more constants, row-by-row integration is
faster."""
DERIVATIVE_RATE = 0.7
"""Maximum |df/dx| h of one step for derivatives. The error of the classical Runge-Kutta method is
then 0.1%."""
DIFFERENCE = 1e-6
"""Step of the finite differences of the residual, in standard deviations of a state."""
BOX_WIDTH = 21
"""Width of the box around the data, in ranges of the data. A trajectory that leaves the box has
diverged."""
SHARED_WEIGHT = 0.5
"""Weight of a row that two consecutive segments share."""
STEP_BLOCK, STORED_ARRAYS = 400_000, 5
"""Number of values that are integrated together, about the size of a cache, and number of arrays of
derivatives per step."""
EVALUATION_BLOCK = 2_000_000
"""Maximum number of sensitivities held in memory at once."""

# -- matching ------------------------------------------------------------------------------
HUBER = 4.0
"""Residual, in standard deviations, above which the penalty is linear instead of quadratic."""
DIVERGED_RESIDUAL = 1e3
"""Residual assigned to each row of a diverged trajectory, in standard deviations."""
OFFSET_ROUNDING = 1e-12
"""Offset in a relation, relative to a coefficient, below which it is a rounding error."""
MAX_CENSORED_DISTANCE = 30.0
"""Distance beyond the limit of a sensor, in standard deviations, above which a state has no effect.
The log-likelihood then differs from zero by less than the smallest number."""
FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-4, 1e-7, 1e9
"""Initial, minimum and maximum Levenberg-Marquardt damping, relative to the diagonal of the normal
equations."""
NEAR_DAMPING = 1e-11
"""Initial and minimum damping near the minimum. They are small because long segments determine some
directions by 1e-9 of the diagonal."""
CLOSED = 0.03
"""Root mean square of the gaps between rows, in standard deviations of the noise, that the last
step may close. Its error is about the square of this value."""
NEARLY_CLOSED = 0.3
"""The same for a match that did not converge. Segments with larger gaps are integrated."""
PRIOR_WIDTH = 2.0
"""Prior standard deviation of a constant, relative to its initial value. If the data determine a
constant to 10%, the prior contributes 0.25%."""
MATCH_GROWTH = 1000.0
"""Maximum growth of initial errors along a segment. With more growth, the likelihood has many local
maxima, and the curvature at one of them does not measure the distance to the truth. For ten chaotic
flows, intervals have nominal coverage for limits of 30 to 1e4, and less without a limit. At 30,
some intervals are a third wider."""
GAP_WEIGHT = 0.1
"""Weight of squared gaps relative to squared misfits when a step is accepted or rejected. It is
small because the next step closes small gaps."""
CLOSING, NO_GAP = 0.5, 1e-4
"""A step that reduces gaps to the first value, as a fraction, is accepted even if the misfit
increases, because gaps hide misfit. Gaps below the second value, in standard deviations of the
noise, are too small for this rule."""
SHORTENED = 0.1
"""Damping above which steps that open gaps are also shortened. With so much damping, the constants
hardly move, but the states leave the range of the linearization."""
MAX_MOVE = 0.3
"""Move of the states, in standard deviations of a state, above which a step is shortened if more
than 10% of segments move further."""
ROUNDING = 1e-9
"""Relative increase of the sum of squares that is attributed to rounding."""
BLOCK = 4_000_000
"""Maximum number of derivatives held in memory at once."""
MIN_SIGMA = 1e-8
"""Minimum residual standard deviation, in standard deviations of a state. Exact data reach it."""
MIN_SIGMA_WEIGHTS = 1e-5
"""The same with residual weights, which converge slowly."""

# -- choice of terms -----------------------------------------------------------------------
SEARCH_ROWS = 3000
"""Maximum number of rows for comparing sets of terms. It is enough to distinguish terms at 5%
noise."""
SYMBOL = 1.5
"""Price of a symbol of a term in nats, as in the formula search."""
CLOSE = 1.0
"""Maximum difference, in nats, from the current score for a set to be proposed. Scores are
linearized."""
MAX_PROPOSALS = 4
"""Maximum number of sets matched per linearization."""
MAX_TRIALS = 12
"""Maximum number of sets matched per segment length."""
RIVAL = 10.0
"""Maximum difference from the best score on short segments, in nats, for a set to be tried on
longer segments too. With few rows, scores of terms that explain short segments equally well differ
by less."""
MAX_RIVALS = 3
"""Maximum number of sets tried again on longer segments."""
WINDOW = 10.0
"""Maximum difference from the best score, in nats, of a set that counts in the probabilities of
terms."""
MAX_WINDOW_SETS = 200
"""Maximum number of sets whose neighbours are scored for these probabilities."""
EVIDENCE_TEMPERATURE = 1.5
"""Divisor of score differences when they become probabilities, because the noise is estimated and
scores of unmatched sets are linearized. Chosen on the development half of the hard cases of `python
-m benchmarks truth`: without it, 75% of terms with probability 95% were true."""
HELD_INPUT_GAIN = 10.0
"""Minimum improvement of the score of the same equations, in nats, for an input to be treated as
held between rows. It corresponds to odds of 20,000 to one. Beyond twice the noise, the variance of
the misfit must then be smaller by a factor of 1.4."""
ROUNDING_FLOOR = 1e-4
"""Misfit, in standard deviations of a state, below which it is due to rounding by integrators and
files."""
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
"""Number of lengths from which every second one is skipped while the misfit is only noise. Short
runs have fewer lengths, and the sets matched at each length improve the probabilities of their
terms."""
TEMPERED = 60.0
"""Number of values of a state that count in the score where the misfit exceeds twice the noise
variance. Residuals of a missing term are correlated between rows."""
NOISE_ACCURACY = 1.12
"""Factor by which the noise variance estimated by smoothing may be wrong."""
MAP_NOISE_ACCURACY = 1.5
"""The same for a map, whose noise is estimated from predictions of the next row. For the logistic,
Henon and Ricker maps with 500 rows and 1% noise, the factor is 0.7 to 1.2."""
EXCESS_LEVEL = 0.999
"""Level of the quantile of the chi-squared distribution above which a misfit exceeds white
noise."""
MAX_EXCESS = 40.0
"""Factor, in noise variances, by which smoothing at most underestimates noise that is correlated
over forty rows."""
CANCELS = 6.0
"""Maximum ratio of the size of terms to the size of their sum."""
FOLLOWED = 4.0
"""Misfit, in noise variances, above which sets are not compared on longer segments."""
MAP_PROPOSALS = 6
"""Number of values of parameters in terms, in the order of their scores on rows, with which the
search for a map starts. Noise in the states biases these scores."""
MAX_CANDIDATES, MIN_CANDIDATES = 240, 12
"""Maximum number of candidate coefficients in all equations, and minimum number in one equation.
The cost of a linearization grows with the number of candidates."""
USABLE_EIGENVALUE, SET_EIGENVALUE = 1e-10, 1e-12
"""Eigenvalues, relative to the largest, below which directions are rounding errors, for all
candidates and for one set."""
PIVOT = 1e-6
"""Minimum fraction of a term's square that is independent of the other terms of a set."""
DEPENDENT_OFFSET = 1e-20
"""Fraction of its squared norm below which the remainder of an offset is a rounding error."""
MAX_MOVES = 60
"""Maximum number of moves of a local search. Every move improves the score, so the search always
ends."""

# -- judgement -----------------------------------------------------------------------------
JUDGED = Effort(8, 2.5, rounds=0, tolerance=0.05, max_evaluations=12, max_length=300)
"""Effort of the match that judges a model."""
JUDGED_ROUNDS = 5
"""Maximum number of matches per segment length, each with updated weights of the states. The misfit
of a match that did not converge is larger than the misfit of the equations."""
JUDGED_ROWS = 6
"""Minimum number of rows of the longest run for a judgement."""
JUDGED_ROWS_RESIDUAL = 600
"""Maximum number of rows for judging a model with a network, whose derivatives are slow to
compute."""
JUDGED_SHARE = 0.9
"""Minimum fraction of segments that do not diverge."""
JUDGED_ACCURACY = 0.2
"""Error of the integration, as a fraction of the misfit floor."""
MISFIT_FLOOR, MISFIT_FLOOR_SWITCHED = 5e-4, 5e-3
"""Systematic misfit, in standard deviations of a state, below which it is an error of integrators,
files or derivatives of clean data. The second value is for equations with jumps, at which
integration steps do not end."""
MISFIT_FLOOR_RESIDUAL = 1e-2
"""The same for a model with a network, which is an approximation."""
FIRST_MAP_LENGTH = 3
"""Number of steps of the first segments of a map. Errors may grow several times in each step."""

MAP_NEAR_ROWS = 6
"""Number of nearest rows among which a row of a map finds one that shares no noise with it. Only
the rows before and after it share noise, so three are enough."""

CLEARLY_LESS = 3.0
"""Minimum ratio of the misfits of the equations without and with a residual for the residual to be
needed."""
MISFIT_QUANTILE = 3.72
"""Standard normal quantile at 1 - 1e-4. Each model has only a few tests."""
CONSTANT_MARGIN = 5e-3
"""Relative error of constants that are estimated from derivatives of clean data."""
HORIZON_GROWTH = 30.0
"""Growth of initial errors along segments at the forecast horizon."""

# -- intervals -----------------------------------------------------------------------------
LEVEL = 0.95
"""Probability. Default confidence level of intervals."""

CORRELATED = 0.95
"""Minimum correlation between two estimates that is reported. At this value, the joint interval is
3 times as wide as with the other constant known, 1 / sqrt(1 - 0.95^2)."""
TIED = 1e-9
"""One minus the absolute correlation above which a relation ties two coefficients."""
AT_A_BOUND = 1e-3
"""Distance of an estimate from a bound, in standard errors, below which the bound is active."""
UNDETERMINED = 1e-13
"""Curvature, relative to the largest, below which the data do not determine a direction."""
MAX_PREWHITENED = 0.97
"""Maximum correlation of neighbouring residuals that prewhitening removes before the other
correlations are summed. Andrews and Monahan (1992) chose this limit because at higher values, a
small error of the correlation changes the variance without bound."""
CURVED_REACH = 0.1
"""Half-width of a 95% interval, relative to the constant, above which the likelihood is profiled.
Below it, the profile of a constant in a fraction or an exponential differs from its quadratic
approximation by less than a tenth of the half-width, the relative size of the next order."""
CURVED_COST = 0.1
"""Relative difference between the increases of the misfit and of a parabola at an end of the
quadratic interval above which the end is searched on the profile. The value corresponds to 5% of
the half-width."""
PROFILE_ENDS = 8.0
"""Distance, in half-widths of the quadratic interval, at which the search for the end of a profile
stops."""
PROFILE_STEP = 2.5
"""Maximum factor by which one step of this search extends the interval."""

# -- segments and stages ---------------------------------------------------------------
STAGE_ROWS = 20_000
"""Maximum number of rows of all stages except the last. It is enough to bring constants near their
final values."""
STAGE_ROWS_LAST = 100_000
"""Maximum number of rows of the last stage. The relative error of a variance is then 0.5%."""
STAGE_ROWS_WEIGHTS = 4_000
"""The same with residual weights, whose derivatives are slow to compute."""
TOLERANCE_WEIGHTS = 0.1
"""`Effort.tolerance` for residual weights, which are many, in half squared standard errors."""
LENGTH_WEIGHTS = 100
"""Maximum number of steps of a segment with residual weights."""
ROUGH_TOLERANCE = 1e-2
"""Tolerance of the first round of a stage, before the noise is known, in half squared standard
errors."""
FIRST_SIGMA = 0.1
"""Misfit assumed for the first segments, in standard deviations of a state."""
MIN_VALID_SHARE = 0.5
"""Minimum fraction of segments that do not diverge."""
HOPELESS_MISFIT = 0.5
"""Misfit, in standard deviations of a state, above which trajectories do not follow the data."""
HARMLESS_MISFIT = 0.01
"""Misfit, in standard deviations of a state, up to which it may grow with the length of
segments."""
EXPECTED_MISFIT = 1.2
"""Misfit, in multiples of the expected noise, up to which it may grow too."""
FINER = 0.5
"""Fraction of the misfit for which substeps were chosen. Below this fraction, substeps are chosen
again."""
NOISE_TOLERANCE = 0.02
"""Relative change of the misfit above which a stage runs another round."""
PRECISION_TOLERANCE = 0.2
"""The same for the precision of the weights."""
ROUNDS_WEIGHTS = 5
"""Maximum number of rounds of a stage with weights, whose precision converges slowly."""
MIN_WEIGHT_CHANGE = 0.04
"""Minimum variance of the prior of weights, as a fraction of their mean square."""
STEP_ERROR = 0.3
"""Error of the integration, in standard errors of a mean over all rows."""
MIN_STEP_ERROR = 1e-9
"""Minimum error of the integration, in standard deviations of a state."""

# -- ranking of formulas ---------------------------------------------------------------
RANKING_LENGTHS = (4, 25, 150)
"""Numbers of steps of the segments that precede whole runs."""
RANKING_EVALUATIONS = 4
"""Maximum number of evaluations of a match to longer segments, which starts near its minimum."""
RANKING_JUMP = 2.0
"""Factor by which the misfit may grow from one length to the next."""
RANKING_HARMLESS = 0.02
"""Misfit, in standard deviations of a state, up to which it may grow."""

# -- correlated noise ------------------------------------------------------------------
NOISE_MIN_STEPS = 25
"""Minimum length, in steps, of segments that show the full size of correlated noise."""
NOISE_GROWTH = 1.3
"""Maximum growth factor of noise from these segments to the longest ones. Model errors accumulate
along a segment, noise does not."""
NOISE_GROWTH_SLOW = 0.5
"""Additional growth of noise whose correlation time equals the segment length."""
MIN_NOISE_CORRELATION = 0.2
"""Minimum correlation of neighbouring residuals of correlated noise."""
MAX_NOISE_SHARE = 0.05
"""Residual variance, as a fraction of a state's variance, above which it is not treated as
noise."""
MAX_RESIDUAL = 4.0
"""Residual, in standard deviations, to which larger residuals are clipped."""
LAG_SHARE = 4
"""Segment length divided by the largest lag over which correlations are summed."""

# -- covariance ------------------------------------------------------------------------
COVARIANCE_GROUPS = 40
"""Number of groups of rows (runs or stretches of runs) whose scores are compared."""
MIN_RUN_GROUPS = 20
"""Number of runs from which each run is a group."""
MIN_SANDWICH_GROUPS = 3
"""Minimum number of groups for a sandwich covariance."""
CORRELATED_RESIDUALS = 0.1
"""Correlation of neighbouring residuals, in excess of chance, above which the sandwich covariance
is used."""
SANDWICH_MISFIT = 1.1
"""Ratio of residuals on long segments to residuals on short segments above which the sandwich
covariance is used."""

# -- held-out forecasts ----------------------------------------------------------------
HELD_OUT_SHARE = 0.25
"""Fraction of the data that is held out."""
HELD_OUT_ROWS = 20
"""Minimum number of rows for held-out data. With fewer rows, forecasts are compared on the training
data."""
HELD_OUT_FORECASTS = 24
"""Maximum number of forecasts that are compared."""
LATEST_START = 0.6
"""Fraction of a run after which no forecast starts."""
HELD_OUT_STEPS = 1000
"""Maximum number of steps of a forecast."""
NEAR_EVALUATIONS = 8
"""Maximum evaluations of a match without a part of the data, which starts near its minimum."""
HELD_OUT_STRETCH_BEGIN = 0.4
"""Fraction of each run before the held-out stretch, if weights are free."""
MAX_ERROR_RATIO, MAX_ERROR_RATIO_CHANCE = 1.05, 1.2
"""Maximum accepted ratio of held-out forecast errors with refined and given constants. The second
value applies if the difference may be due to chance."""
SIGNIFICANT_DIFFERENCE = 2.0
"""Difference, in standard errors, below which it may be due to chance."""
LOST_FORECAST = 0.7
"""Forecast error, in standard deviations of a state, above which forecasts are useless."""
EXACT_FORECAST = 1e-6
"""Forecast error, in standard deviations of a state, below which it counts as zero."""
MAX_REFUSED_STAGES = 3
"""Number of stages, counted from the last, that are compared on held-out data."""
MIN_REFINED_STEPS = 3
"""Minimum number of steps of the longest run for constants to be refined."""

# -- profiles --------------------------------------------------------------------------
PROFILE_EVALUATIONS = 6
"""Maximum number of evaluations of a match with one fixed constant, which starts near its
minimum."""
NEAR_TOLERANCE = 1e-3
"""Half squared standard errors. A match that starts near its minimum stops when a step gains less;
for initial states, per segment."""
PROFILE_SOLVES = 4
"""Maximum number of matches in the search for one end of an interval."""

# -- integral form ---------------------------------------------------------------------
STRETCH_STEPS = 100
"""Maximum number of steps per initial value. Smoothing errors accumulate over longer stretches."""
MIN_STRETCH_STEPS = 12
"""Minimum number of steps per initial value. Noise does not average out over shorter stretches."""
ROUGH_FUNCTION = 1.2
"""Change of a function between rows, in its standard deviations, above which it cannot be
integrated."""
STRETCHES_OF_A_RUN = 3
"""Minimum number of stretches per run, if its length allows."""

# -- initial states of forecasts -------------------------------------------------------
START_SHARE = 0.1
"""Fraction of a run from which its initial state is estimated."""
MIN_START_STEPS, MAX_START_STEPS = 10, 50
"""Minimum and maximum number of steps from which the initial state is estimated."""
START_MIN_NOISE = 1e-4
"""Minimum noise, in standard deviations of a state."""
START_ACCURACY = 1e-3
"""Error of the integration, in standard deviations of a state."""
START_EVALUATIONS = 10
"""Maximum number of evaluations of the match of initial states."""

# -- forecast errors -------------------------------------------------------------------
FORECASTS = 10
"""Number of forecasts, from rows spread over the runs."""
FORECAST_MAX_STEPS = 200
"""Maximum number of steps of a forecast."""
FORECAST_MAX_SUBSTEPS = 8
"""Maximum number of substeps between rows."""
FORECAST_ACCURACY = 0.02
"""Maximum relative change of the forecast error when the steps are halved."""
LATEST_FORECAST = 0.5
"""Fraction of a run after which no forecast starts."""
VARIANT_MAX_STEPS = 300
"""Maximum number of steps of forecasts with many sets of coefficients."""
VARIANT_MAX_SUBSTEPS = 32
"""Maximum number of substeps between rows for these forecasts."""
VARIANT_ACCURACY = 0.002
"""Maximum change of these forecasts when the steps are halved, in standard deviations of a
state."""

# -- gates -----------------------------------------------------------------------------
OUTER_RUNS = 1 / 3
"""Fraction of the runs, the outermost ones, on which a gate is tested."""
GATE_RUNS = 9
"""Minimum number of runs for a test of a gate."""
GATE_BETTER = 0.25
"""Maximum ratio of squared forecast errors without and with a gate for the gate to be opened."""
GATE_MATTERS = 0.1
"""Logarithm of this ratio below which the effect of the gate on a forecast is ignored."""
SLOW_FADE = 2.0
"""Width of the gate of a residual that is correct beyond its data."""
# -- delays ------------------------------------------------------------------------------------
DELAY_TOLERANCE = 0.01
"""Accuracy of a delay before its quadratic is fitted, as a share of the searched range. The
quadratic refines it."""

DELAY_EVALUATIONS = 12
"""Number of matches in the search for one delay in a range."""

DELAY_SWEEPS = 3
"""Number of searches for each of several delays, in turn."""

DELAY_STEP_ROUNDS = 8
"""Number of attempts to find the step at which the likelihood falls by `DELAY_RISE`."""

DELAY_RISE = 1.0
"""Fall of the likelihood, in nats, at the step from which its curvature is computed. The step is
1.4 standard errors: rounding does not matter, and the likelihood is still quadratic."""

MIN_DELAY_RISE, MAX_DELAY_RISE = 0.25, 6.0
"""Falls of the likelihood, in nats, for which the curvature is accurate."""

DELAY_COST_ACCURACY = 1e-3
"""Accuracy of the likelihood of a match, in nats."""

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
"""Maximum number of starting points for fields with a residual, whose derivatives take a hundred
times as long."""
HIDDEN_AGREEING = 3
"""Number of starting points that must lead to the smallest misfit before the others are left
out."""
MEASURED_AGREEING = 2
"""Number of starting points that must agree, for any misfit, if all states are measured. Constants
per run are not free at this stage."""
HIDDEN_AGREES = 1.01
"""Maximum ratio to the smallest misfit of a misfit that counts as the same."""
HIDDEN_MISFIT = 2.0
"""Misfit, in noise variances, above which at least half of the starting points are tried."""
HIDDEN_SPREAD = 0.7
"""Standard deviation of the logarithm of a constant relative to its natural size."""
LEVEL_SPREAD = 1.0
"""Standard deviation of the logarithm of the level of a hidden state relative to its first value,
in half of the starting points. A tank that starts empty may overflow later."""
KINK_RATIOS = tuple(2.0 ** (sign * k) for k in range(1, 9) for sign in (1, -1))
"""Factors between levels of a hidden state. They are tried in this order until the state is on the
other side of a kink."""
HIDDEN_TOLERANCES = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4)
"""Tolerances: standard deviations of the gaps that add up over a run, in sizes of the states."""
HIDDEN_STEPS = 15
"""Maximum number of steps at each tolerance."""
HIDDEN_GAIN = 1e-3
"""Relative reduction of the cost by a step below which the descent at a tolerance ends."""
HIDDEN_HOPELESS = 10.0
"""Ratio to the cost of the best descent above which a descent ends."""
HIDDEN_PATIENCE = 3
"""Number of tolerances before a descent may end."""
HIDDEN_PRIOR = 10.0
"""Prior standard deviation of a constant around the starting point at the first tolerance, in sizes
of the constant. Gaps leave it undetermined there."""
HIDDEN_MIN_NOISE = 1e-3
"""Noise, in standard deviations of a state, that starting points do not resolve. The match that
follows does."""
HIDDEN_ACCURACY = 1e-3
"""Error of the integration along a run, in sizes of the states."""
HIDDEN_SUBSTEPS = 16
"""Maximum number of substeps between rows."""
DOMAIN_SHARES = (0.5, 0.8, 1.0)
"""Shares by which states move to earlier ones, in turn, where the equations have no value."""
HIDDEN_RIDGE = 1e-10
"""Precision that is added to avoid singular systems, in inverse squared sizes."""
START_STD = 1e-5
"""Standard deviation of a first state that is given, in sizes of the states."""
HIDDEN_HALVINGS = 4
"""Number of halvings from the longest run to the shortest segments of runs with hidden states."""
DOUBTFUL = 1e-6
"""Information on a direction of relative changes, as a share of that on the best determined one,
below which the direction may not be determined at all. A match tests this."""
MOVED = 0.1
"""Relative change of the constants in this test."""
MOVED_STATES = 1e-4
"""Relative change of the constants in the derivative of hidden states along a direction."""
MOVED_EVALUATIONS = 30
"""Maximum number of steps of the match in this test."""
MOVED_COST = 0.5
"""Increase of the misfit, in half noise variances, that shows that a direction is determined."""
NATURAL_SHARE = 0.01
"""Constant, in natural sizes, below which it is effectively zero."""
INVOLVED = 0.02
"""Share of the largest change along a direction below which changes are rounding and noise."""
MAX_POWER = 4
"""Largest denominator of a power in a combination of constants."""
POWER_ROUNDING = 0.02
"""Distance from a fraction within which a power is treated as the fraction."""
CONSERVED_ROUNDING = 0.005
"""The same for products that are reported as determined. In Lorenz and Rossler systems with a free
scale and ten other systems, powers differed by at most 0.0015. Constants in sums have any power."""
MOVED_NOISE = 1e-5
"""Minimum noise in the test, in standard deviations of a state. With less noise, the test would not
converge."""
MIN_FREE_SHARE = 0.1
"""Minimum share of measured values that are not used up by estimates. Few rows would otherwise have
no noise."""
HIDDEN_MAX_NOISE = 0.1
"""Maximum noise to assume, in standard deviations of a state. Few rows show more noise than there
is; the residuals show the actual noise."""
REWEIGHTED = 3
"""Number of the last tolerances that are repeated with the noise of the residuals."""
NEAR_TOLERANCES = 2
"""Number of the wide tolerances that a start near another minimum leaves out. With them, constants
per run would leave this minimum."""
VARIANCE_DAMPINGS = (0.0, 1e-3, 1.0)
"""Initial precision of the states, in inverse squared sizes, that is increased until their system
is regular."""
