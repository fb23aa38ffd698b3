"""Decisive constants of matching, of the choice of terms and of the judgement of models.

`docs/ablations.md` shows the effect of each mechanism, and of halving and doubling the 17 numbers
that decide about terms and verdicts. The others were not swept.
"""

from typing import NamedTuple, final


@final
class Effort(NamedTuple):
    """Effort of a match on segments of growing length.

    Segments grow from `first_length` steps by a factor of `growth` up to `max_length`. After a
    first, rough match of each length there are up to `rounds` more. A descent ends when it gains
    less than `tolerance`, in half squared standard errors, or after `max_evaluations`. There are at
    most `max_substeps` between rows. The misfit may grow by `max_misfit_growth` from one length to
    the next.
    """

    first_length: int = 4
    growth: float = 2.5
    rounds: int = 2
    tolerance: float = 1e-4
    max_evaluations: int = 20
    max_substeps: int = 32
    max_length: int = 1000
    max_misfit_growth: float = 1.5


FULL = Effort()
"""Effort of a refinement."""
QUICK = Effort(rounds=1, tolerance=0.05, max_evaluations=8, max_substeps=8)
"""Effort of a ranking of formulas."""


# -- integration ---------------------------------------------------------------------------
MAX_SUBSTEPS = 32
"""Maximum substeps between rows."""
CHECKED_SEGMENTS = 40
"""Segments on which the number of substeps is chosen."""
TRAJECTORY_ACCURACY = 1e-3
"""Standard deviations of the noise: accuracy of trajectories in Newton's method."""
MAX_SWEEPS = 6
"""Newton steps before segments are integrated row by row."""
SWEEP_CLOSED = 0.3
"""Share of the root of the accuracy. Smaller gaps are closed by the last Newton step, with a margin
for the curvature of the flow."""
MAX_SWEPT_CONSTANTS = 50
"""Constants. With more, Newton steps are slower than integration row by row."""
DERIVATIVE_RATE = 0.7
"""|df/dx| h of one step for derivatives. The classical Runge-Kutta method then errs by 0.1%."""
DIFFERENCE = 1e-6
"""Standard deviations of a state: step of the differences of the residual."""
BOX_WIDTH = 21
"""Ranges of the data. Trajectories that leave a box of this width around the data diverge."""
SHARED_WEIGHT = 0.5
"""Weight of a row that ends one segment and begins the next."""
STEP_BLOCK, STORED_ARRAYS = 400_000, 5
"""Numbers integrated together, about the size of a cache, and arrays of derivatives per step."""
EVALUATION_BLOCK = 2_000_000
"""Sensitivities of an evaluation held in memory together."""

# -- matching ------------------------------------------------------------------------------
HUBER = 4.0
"""Standard deviations. Larger residuals count linearly, not squared."""
DIVERGED_RESIDUAL = 1e3
"""Standard deviations. Residual of each row of a diverged trajectory."""
OFFSET_ROUNDING = 1e-12
"""Relative to a coefficient. Smaller offsets of a relation are rounding."""
FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-4, 1e-7, 1e9
"""Dimensionless, relative to the diagonal of the normal equations (Levenberg-Marquardt)."""
RIDGE = 1e-13
"""Dimensionless, added to the same diagonal against rounding."""
CLOSED = 0.03
"""Standard deviations of the noise, root mean square. The last step closes smaller gaps between
rows up to an error of about the square of this value."""
NEARLY_CLOSED = 0.3
"""The same for a match that did not converge. Segments with larger gaps are integrated."""
PRIOR_WIDTH = 2.0
"""Dimensionless. Standard deviation of the prior of a constant, relative to its initial value. The
prior contributes 0.25% to a constant that the data determine to 10%."""
MATCH_GROWTH = 1000.0
"""Dimensionless. On segments along which errors of the initial state grow more, the likelihood has
many local maxima, and its curvature at one of them is no measure of the distance to the truth.
Intervals of ten chaotic flows have the nominal coverage for limits of 30 to 1e4, and less without a
limit. At 30 some are a third wider."""
STARTS_TOLERANCE = 1e-3
"""Half squared standard errors per segment. A match of initial states ends when a step gains
less."""
GAP_WEIGHT = 0.1
"""Dimensionless. Weight of squared gaps relative to squared misfits in the decision whether to
accept a step. It is small because the next step closes small gaps."""
CLOSING = 0.5
"""Dimensionless. A step that reduces gaps to this share is accepted even if the misfit
increases."""
SHORTENED = 0.1
"""Dimensionless damping above which steps that open gaps are also shortened. The constants hardly
move then, and the states leave the range of the linearization."""
MAX_MOVE = 0.3
"""Standard deviations of a state. A step that moves 10% of the segments further is shortened."""
ROUNDING = 1e-9
"""Relative increase of the sum of squares that counts as rounding."""
BLOCK = 4_000_000
"""Derivatives held in memory together."""
MIN_SIGMA = 1e-8
"""Standard deviations of a state: smallest residual standard deviation, that of exact data."""
MIN_SIGMA_WEIGHTS = 1e-5
"""The same with the weights of a residual, which converge slowly."""

# -- choice of terms -----------------------------------------------------------------------
SEARCH_ROWS = 3000
"""Maximum rows for comparing sets of terms: enough to distinguish terms at 5% noise."""
SYMBOL = 1.5
"""Nats per symbol of a term. Price of complexity, the same as in the search for formulas."""
CLOSE = 1.0
"""Nats. Sets whose linearized score is at most this much worse than the current one are
proposed."""
MAX_PROPOSALS = 4
"""Maximum sets matched per linearization."""
MAX_TRIALS = 12
"""Maximum sets matched per segment length."""
RIVAL = 10.0
"""Nats. Sets that are worse by less than this on short segments are tried on longer ones as well.
With few rows, terms that explain short segments equally well differ by less."""
MAX_RIVALS = 3
"""Maximum sets that are tried again on longer segments."""
WINDOW = 10.0
"""Nats. Sets that are worse by less than this count in the probabilities of terms."""
MAX_WINDOW_SETS = 200
"""Maximum sets whose neighbours are scored for these probabilities."""
EVIDENCE_TEMPERATURE = 1.5
"""Dimensionless. Differences of scores are divided by it before they become probabilities, because
the noise is estimated and sets that were not matched are linearized. Chosen on the development half
of the hard cases of `python -m benchmarks truth`: without it, terms given 95% were true in 75%."""
HELD_INPUT_GAIN = 10.0
"""Nats. An input is taken as held between rows if the same equations then score better by more
than this, which corresponds to odds of 20,000 to one. Beyond twice the noise, this is a misfit 1.4
times smaller in variance."""
SEARCH_EFFORT = Effort(
    8,
    2.5,
    rounds=1,
    tolerance=0.05,
    max_evaluations=15,
    max_substeps=4,
    max_length=200,
    max_misfit_growth=4.0,
)
"""Segments of 8, 20, 50, 125 and 200 steps; constants to a small share of their standard error."""
TEMPERED = 60.0
"""Values of a state that count in the score beyond twice the noise variance: the residuals of a
missing term are correlated between rows."""
ROUNDING_FLOOR = 1e-4
"""Standard deviations of a state. Smaller misfits are rounding of integrators and files."""
NOISE_ACCURACY = 1.12
"""Dimensionless. Factor by which the variance of the noise estimated by smoothing may be wrong."""
EXCESS_LEVEL = 0.999
"""Probability. A misfit above this quantile of the chi-squared distribution exceeds white noise."""
MAX_EXCESS = 40.0
"""Noise variances. Smoothing does not remove more of noise that is correlated over forty rows."""
CANCELS = 6.0
"""Dimensionless. Maximum ratio of the size of terms to that of their sum."""
FOLLOWED = 4.0
"""Noise variances. If the misfit is larger, sets are not compared on longer segments."""
STRETCHES = (100, 12)
"""Rows per initial value in the two integral forms that propose the first terms."""
MAX_CANDIDATES, MIN_CANDIDATES = 240, 12
"""Maximum candidate coefficients of all equations, and minimum of one equation. The cost of a
linearization grows with their number."""
USABLE_EIGENVALUE, SET_EIGENVALUE = 1e-10, 1e-12
"""Share of the largest eigenvalue of all candidates, and of one set. Directions below it are
rounding."""
PIVOT = 1e-6
"""Share of the square of a term that must be independent of the other terms of a set."""
DEPENDENT_OFFSET = 1e-20
"""Share of a squared norm. Smaller remainders of an offset are rounding."""
MAX_MOVES = 60
"""Moves of one local search. Each lowers the score, so that the search ends in any case."""

# -- judging -------------------------------------------------------------------------------
JUDGED = Effort(8, 2.5, rounds=0, tolerance=0.05, max_evaluations=12, max_length=300)
"""Effort of the match that judges a model."""
JUDGED_ROUNDS = 5
"""Maximum matches of one segment length, each with other weights of the states. A match that did
not converge has a larger misfit than the equations."""
JUDGED_ROWS = 6
"""Minimum rows of the longest run for a judgement."""
JUDGED_ROWS_RESIDUAL = 600
"""Maximum rows for judging a model with a network, whose derivatives are slow."""
JUDGED_SHARE = 0.9
"""Minimum share of segments that do not diverge."""
JUDGED_ACCURACY = 0.2
"""Share of the misfit floor: error of the integration."""
MISFIT_FLOOR, MISFIT_FLOOR_SWITCHED = 5e-4, 5e-3
"""Standard deviations of a state. Smaller systematic misfits are errors of integrators, files and
derivatives of clean data. Steps of the integration do not end at jumps, hence the second value."""
MISFIT_FLOOR_RESIDUAL = 1e-2
"""The same for a model with a network, which is an approximation."""
CLEARLY_LESS = 3.0
"""Dimensionless. A residual is needed if the misfit of the equations alone is larger by this
factor."""
MISFIT_QUANTILE = 3.72
"""Standard normal quantile at 1 - 1e-4, since there are a few tests per model."""
CONSTANT_MARGIN = 5e-3
"""Relative error of constants estimated from derivatives of clean data."""
HORIZON_GROWTH = 30.0
"""Dimensionless. If errors of the start grow more along segments, these exceed the forecast
horizon."""

# -- intervals -----------------------------------------------------------------------------
CORRELATED = 0.95
"""Minimum correlation of two estimates that is shown. The joint interval of a constant is then 3
times as wide as with the other constant known, 1 / sqrt(1 - 0.95^2)."""
TIED = 1e-9
"""One minus the absolute correlation. Below it, a relation ties the two coefficients."""
AT_A_BOUND = 1e-3
"""Standard errors. A bound is active if the estimate is nearer to it."""
UNDETERMINED = 1e-13
"""Share of the largest curvature. Directions below it are rounding: the data do not determine
them."""
MAX_PREWHITENED = 0.97
"""Maximum correlation of neighbouring residuals that is removed before the sum of the others.
Andrews and Monahan (1992) chose this limit because beyond it a small error of the correlation
changes the variance without bound."""
CURVED_REACH = 0.1
"""Half-width of a 95% interval relative to the constant, above which the likelihood is profiled.
Below it, the profile of a constant in a fraction or an exponential differs from its quadratic
approximation by less than a tenth of the half-width, the relative size of the next order."""
CURVED_COST = 0.1
"""Relative difference between the increase of the misfit at an end of the quadratic interval and
that of a parabola, above which the end is searched on the profile. It corresponds to 5% of the
half-width."""
PROFILE_ENDS = 8.0
"""Half-widths of the quadratic interval at which the search for the end of a profile stops."""
PROFILE_STEP = 2.5
"""Factor by which one step of that search extends it at most."""

# -- segments and stages ---------------------------------------------------------------
STAGE_ROWS = 20_000
"""Maximum rows of all stages but the last: enough for constants near those of all rows."""
STAGE_ROWS_LAST = 100_000
"""Maximum rows of the last stage. The relative error of a variance is then 0.5%."""
STAGE_ROWS_WEIGHTS = 4_000
"""The same with the weights of a residual, whose derivatives are slow."""
TOLERANCE_WEIGHTS = 0.1
"""Half squared standard errors, as `Effort.tolerance`, with the many weights of a residual."""
LENGTH_WEIGHTS = 100
"""Maximum steps of a segment with the weights of a residual."""
ROUGH_TOLERANCE = 1e-2
"""Half squared standard errors. Tolerance of the first round of a stage, before the noise is
known."""
FIRST_SIGMA = 0.1
"""Standard deviations of a state. Misfit assumed for the first segments."""
MIN_VALID_SHARE = 0.5
"""Minimum share of segments that do not diverge."""
HOPELESS_MISFIT = 0.5
"""Standard deviations of a state. With a larger misfit the trajectories do not follow the data."""
HARMLESS_MISFIT = 0.01
"""Standard deviations of a state. Smaller misfits may grow with the length of segments."""
EXPECTED_MISFIT = 1.2
"""Expected noise, in standard deviations. Smaller misfits may grow as well."""
FINER = 0.5
"""Share of the misfit for which substeps were chosen, below which they are chosen anew."""
NOISE_TOLERANCE = 0.02
"""Relative change of the misfit above which a stage has another round."""
PRECISION_TOLERANCE = 0.2
"""The same for the precision of the weights."""
ROUNDS_WEIGHTS = 5
"""Rounds of a stage with weights, whose precision converges slowly."""
MIN_WEIGHT_CHANGE = 0.04
"""Share of the mean square of the weights: smallest variance of their prior."""
STEP_ERROR = 0.3
"""Standard errors of a mean over all rows: error of the integration."""
MIN_STEP_ERROR = 1e-9
"""Standard deviations of a state: smallest error of the integration."""

# -- ranking of formulas ----------------------------------------------------------------
RANKING_LENGTHS = (4, 25, 150)
"""Steps of segments before whole runs."""
RANKING_EVALUATIONS = 4
"""Maximum evaluations of a match of segments longer than these, which starts near its minimum."""
RANKING_SHARE = 0.5
"""Minimum share of segments that do not diverge."""
RANKING_JUMP = 2.0
"""Factor by which the misfit may grow from one length to the next."""
RANKING_HARMLESS = 0.02
"""Standard deviations of a state. Smaller misfits may grow."""

# -- correlated noise ------------------------------------------------------------------
NOISE_MIN_STEPS = 25
"""Steps of segments that show correlated noise completely."""
NOISE_GROWTH = 1.3
"""Factor by which noise may grow from such segments to the longest: errors of a model add up along
a segment, noise does not."""
NOISE_GROWTH_SLOW = 0.5
"""Further growth of noise whose correlation time is the length of a segment."""
MIN_NOISE_CORRELATION = 0.2
"""Minimum correlation of neighbouring residuals."""
MAX_NOISE_SHARE = 0.05
"""Share of the variance of a state. Larger residuals are not noise."""
MAX_RESIDUAL = 4.0
"""Standard deviations. Larger residuals count as this value."""
LAG_SHARE = 4
"""Correlations are summed over lags up to the length of a segment divided by this."""

# -- covariance ------------------------------------------------------------------------
COVARIANCE_GROUPS = 40
"""Groups of rows, runs or stretches of runs, whose scores are compared."""
MIN_RUN_GROUPS = 20
"""Runs. From this number on, each run is a group."""
MIN_SANDWICH_GROUPS = 3
"""Minimum groups for a sandwich covariance."""
CORRELATED_RESIDUALS = 0.1
"""Correlation of neighbouring residuals beyond chance, above which the covariance is that of
groups."""
SANDWICH_MISFIT = 1.1
"""Ratio of the residuals of long segments to those of short ones, above which the covariance is
that of groups."""

# -- held-out forecasts ----------------------------------------------------------------
HELD_OUT_SHARE = 0.25
"""Share of the data that is held out."""
HELD_OUT_ROWS = 20
"""Rows. With fewer, forecasts are compared on the training data."""
HELD_OUT_FORECASTS = 24
"""Maximum forecasts that are compared."""
LATEST_START = 0.6
"""Share of a run after which no forecast begins."""
HELD_OUT_STEPS = 1000
"""Maximum steps of a forecast."""
HELD_OUT_EVALUATIONS = 8
"""Maximum evaluations of the match without held-out data, which starts near its minimum."""
HELD_OUT_WINDOW = 10
"""Minimum steps of the window from which the initial state of a forecast is estimated."""
HELD_OUT_STRETCH_BEGIN = 0.4
"""Share of each run before the held-out stretch, if weights are free."""
MAX_ERROR_RATIO, MAX_ERROR_RATIO_CHANCE = 1.05, 1.2
"""Ratio of held-out forecast errors with refined and given constants that is accepted; the second
if the difference may be chance."""
SIGNIFICANT_DIFFERENCE = 2.0
"""Standard errors of the difference. Smaller differences may be chance."""
LOST_FORECAST = 0.7
"""Standard deviations of a state. Forecasts with larger errors are useless."""
EXACT_FORECAST = 1e-6
"""Standard deviations of a state. Smaller forecast errors count as zero."""
MAX_REFUSED_STAGES = 3
"""Stages, from the last, that are compared on held-out data."""
MIN_REFINED_STEPS = 3
"""Steps. Constants are not refined if no run is longer."""

# -- profiles --------------------------------------------------------------------------
PROFILE_EVALUATIONS = 6
"""Maximum evaluations of a match with one fixed constant, which starts near its minimum."""
PROFILE_TOLERANCE = 1e-3
"""Half squared standard errors. Tolerance of the match."""
PROFILE_SOLVES = 4
"""Maximum matches in the search for one end."""

# -- integral form ---------------------------------------------------------------------
STRETCH_STEPS = 100
"""Maximum steps per initial value, since errors of smoothing add up."""
MIN_STRETCH_STEPS = 12
"""Minimum steps per initial value, since noise averages out."""
ROUGH_FUNCTION = 1.2
"""Standard deviations of a function. Functions that change more between rows cannot be
integrated."""
STRETCHES_OF_A_RUN = 3
"""Minimum stretches per run, as far as its length allows."""

# -- initial states of forecasts -------------------------------------------------------
START_SHARE = 0.1
"""Share of a run from which its initial state is estimated."""
MIN_START_STEPS, MAX_START_STEPS = 10, 50
"""Minimum and maximum steps from which it is estimated."""
START_MIN_NOISE = 1e-4
"""Standard deviations of a state: smallest noise."""
START_ACCURACY = 1e-3
"""Standard deviations of a state: error of the integration."""
START_EVALUATIONS = 10
"""Maximum evaluations of the match of initial states."""

# -- forecast errors -------------------------------------------------------------------
FORECASTS = 10
"""Forecasts from rows spread over the runs."""
FORECAST_MAX_STEPS = 200
"""Maximum steps of a forecast."""
FORECAST_MAX_SUBSTEPS = 8
"""Maximum substeps between rows."""
FORECAST_ACCURACY = 0.02
"""Relative change of the forecast error when the steps are halved."""
LATEST_FORECAST = 0.5
"""Share of a run after which no forecast begins."""
VARIANT_MAX_STEPS = 300
"""Maximum steps of forecasts of many sets of coefficients."""
VARIANT_MAX_SUBSTEPS = 32
"""Maximum substeps between rows for such forecasts."""
VARIANT_ACCURACY = 0.002
"""Standard deviations of a state by which halved steps may change such forecasts."""

# -- gates -----------------------------------------------------------------------------
OUTER_RUNS = 1 / 3
"""Share of the runs, the outermost ones, on which a gate is tried."""
GATE_RUNS = 9
"""Runs. With fewer, a gate is not tried."""
GATE_BETTER = 0.25
"""Maximum ratio of squared forecast errors without and with a gate for which the gate is opened."""
GATE_MATTERS = 0.1
"""Logarithm of that ratio. Smaller changes of a forecast by the gate do not count."""
SLOW_FADE = 2.0
"""Dimensionless width of the gate of a residual that is correct beyond its data."""
REFINED_GATE_PARTS = 5
"""Parts of the data, each of which the gate treats as unseen."""
GATE_EVALUATIONS = 8
"""Maximum evaluations of the match without the outermost runs, which starts near its minimum."""
PROJECTION_ROWS = 20_000
"""Maximum rows on which a residual is made orthogonal to the terms."""
