"""The numbers that decide how constants are matched to trajectories and how terms are chosen.

`docs/ablations.md` has what the mechanisms are worth, and what happens when 17 of these numbers,
which decide what is chosen and said, are halved and doubled. The others were not swept.
"""

from typing import NamedTuple, final


@final
class Effort(NamedTuple):
    """Steps of the first segments and by how much they grow; `rounds` after the first, rough one;
    the gain, in units of half a squared standard error, that ends a descent; the most evaluations
    of one, steps of the integration from row to row, and steps of a segment; by how much the
    misfit may grow with the length of segments."""

    first: int = 4
    growth: float = 2.5
    rounds: int = 2
    tolerance: float = 1e-4
    evaluations: int = 20
    substeps: int = 32
    longest: int = 1000
    jump: float = 1.5


# -- matching ------------------------------------------------------------------------------
FIRST_DAMPING, LEAST_DAMPING, LARGEST_DAMPING = 1e-4, 1e-7, 1e9
"""Dimensionless, of the diagonal of the normal equations (Levenberg-Marquardt)."""
CLOSED = 0.03
"""Standard deviations of the noise, root mean square. Gaps between rows below this are closed by
the last step: the error that remains is about the square of it."""
NEARLY_CLOSED = 0.3
"""The same for a match that ended before it converged; with larger gaps it is integrated."""
PRIOR_WIDTH = 2.0
"""Standard deviation of the prior of a constant, in the value that it comes with. Constants that
the data determine to 10% keep 0.25% of what they came with."""
MATCH_GROWTH = 1000.0
"""Dimensionless. Along segments on which errors of the initial state grow more, the likelihood has
many local maxima, and its curvature at one of them says little about the distance to the truth.
Intervals of ten chaotic flows cover as they should for 30 to 1e4, and too little without a limit;
at 30 some are a third wider."""
STARTS_TOLERANCE = 1e-3
"""Half a squared standard error for each segment. Initial states of forecasts are good enough once
a step gains less."""
GAP_WEIGHT = 0.1
"""Dimensionless. Weight of squared gaps beside squared misfits when a step is accepted: the next
step closes small gaps."""
CLOSING = 0.5
"""A step that closes gaps to this share is accepted, though trajectories without gaps fit worse."""
SHORTENED = 0.1
"""Damping, dimensionless, from which on steps that open gaps are shortened as well: the constants
hardly move then, and the states themselves move beyond where the linearization holds."""
LONGEST_MOVE = 0.3
"""Standard deviations of a state. A step that moves most segments further is shortened."""
ROUNDING = 1e-9
"""Relative increase of the sum of squares that is rounding."""
BLOCK = 4_000_000
"""Derivatives held at a time."""

# -- which terms ---------------------------------------------------------------------------

SEARCH_ROWS = 3000
"""Rows. Sets of terms are compared on at most so many: enough to separate terms at 5% noise."""
SYMBOL = 1.5
"""Nats per symbol of a term, the price of a less simple formula, as in the search for formulas."""
CLOSE = 1.0
"""Nats. Sets whose linearized score is this close to the current one are matched as well."""
MAX_PROPOSALS = 4
"""Sets matched per linearization."""
MAX_TRIALS = 12
"""Sets matched per segment length."""
RIVAL = 10.0
"""Nats. Sets this close to the best one on short segments are tried again on longer ones: with few
rows, terms that explain short segments equally well differ by less than this."""
MAX_RIVALS = 3
"""Sets that are tried again."""
HELD = 10.0
"""Nats. Inputs are read as held between rows if the same equations then score better by more: odds
of 20,000 to one for a reading that measured inputs do not show. Beyond twice the noise, where
something is missing, it is a misfit 1.4 times smaller in variance."""
SEARCH_EFFORT = Effort(
    8, 2.5, rounds=1, tolerance=0.05, evaluations=15, substeps=4, longest=200, jump=4.0
)
"""Segments of 8, 20, 50, 125 and 200 steps; constants to a small part of their standard error."""
TEMPERED = 60.0
"""Values of a state that count where the misfit is more than twice the noise: what a missing term
leaves is alike in neighbouring rows."""
TRIFLE = 1e-4
"""Standard deviations of a state: what integrators and files round away, which no term is needed
for."""
NOISE_ACCURACY = 1.12
"""Noise variances. What smoothing leaves estimates the variance of the noise to this factor."""
EXCESS_LEVEL = 0.999
"""Probability. A misfit above this quantile of the chi-squared distribution is not white noise."""
MAX_EXCESS = 40.0
"""Noise variances. Smoothing cannot hide more of noise that is correlated over forty rows."""
CANCELS = 6.0
"""Dimensionless. Times that terms may be larger than their sum."""
FOLLOWED = 4.0
"""Noise variances. Longer segments cannot compare sets that leave more on shorter ones."""
STRETCHES = (100, 12)
"""Rows with one initial value in the integral form that proposes the first terms."""
MAX_CANDIDATES, MIN_CANDIDATES = 240, 12
"""Candidate coefficients of all equations, and of one: the cost of a linearization grows with
their number."""

# -- judging -------------------------------------------------------------------------------
JUDGED = Effort(8, 2.5, rounds=0, tolerance=0.05, evaluations=12, longest=300)
"""Segments on which a model is judged."""
JUDGED_ROUNDS = 5
"""Matches of one segment length, of at most so many evaluations each: a match that ended before it
converged leaves more than the equations do. Two are enough where smoothed states are near."""
JUDGED_ROWS = 6
"""Rows of the longest run that a judgement needs at least."""
JUDGED_ROWS_RESIDUAL = 600
"""Rows on which a model with a network is judged: its derivatives are slow."""
JUDGED_SHARE = 0.9
"""Share of the segments that must not run away."""
JUDGED_ACCURACY = 0.2
"""Of the floor: error of the integration."""
MISFIT_FLOOR, MISFIT_FLOOR_SWITCHED = 5e-4, 5e-3
"""Standard deviations of a state. A systematic misfit below is what integrators, files and
derivatives of clean data leave; steps of the integration do not end at the jumps of signs."""
MISFIT_FLOOR_RESIDUAL = 1e-2
"""The same for a model with a network, which approximates what the equations lack."""
CLEARLY_LESS = 3.0
"""Dimensionless. A residual is needed if the equations alone leave so many times more."""
MISFIT_QUANTILE = 3.72
"""Standard normal quantile at 1 - 1e-4, for a few tests of each model."""
CONSTANT_MARGIN = 5e-3
"""Relative. Constants estimated from derivatives of clean data are off by less."""
HORIZON_GROWTH = 30.0
"""Dimensionless. Segments along which errors of the start grow more are beyond the horizon."""

# -- intervals -----------------------------------------------------------------------------
CORRELATED = 0.95
"""Correlation of two estimates from which on it is shown. The joint interval of a constant is then
3 times as wide as with the other constant known, 1 / sqrt(1 - 0.95^2)."""

TIED = 1e-9
"""One minus the size of a correlation: below it, a relation ties the two coefficients."""

AT_A_BOUND = 1e-3
"""Standard errors: an estimate that is nearer to a bound is held by it."""

LARGEST_PREWHITENED = 0.97
"""Correlation of neighbouring residuals, at most, that is removed before the sum of the others.
Andrews and Monahan (1992) limit it to this value, since beyond it a small error of the correlation
changes the variance without bound."""

CURVED_REACH = 0.1
"""Half of a 95% interval as a share of the constant's size, from which on the likelihood is
profiled. Below it, the profile of a constant in a fraction or an exponential differs from its
quadratic approximation by less than a tenth of the half-width: terms of the next order are of this
relative size."""

CURVED_COST = 0.1
"""Relative difference between the rise of the likelihood at an end of the quadratic interval and
the rise that a parabola has there, from which on the end is sought on the profile. It corresponds
to 5% of the half-width."""

PROFILE_ENDS = 8.0
"""Half-widths of the quadratic interval at which the search for the end of a profile stops."""

# -- segments and stages ---------------------------------------------------------------
STAGE_ROWS = 20_000
"""Rows of all segments of a stage but the last: enough for constants near those of all rows."""
STAGE_ROWS_LAST = 100_000
"""Rows of all segments of the last stage. The relative error of a variance is then 0.5%."""
STAGE_ROWS_WEIGHTS = 4_000
"""The same with the weights of a residual, whose derivatives are slow."""
TOLERANCE_WEIGHTS = 0.1
"""Half a squared standard error, as `Effort.tolerance`, with weights, of which there are many."""
LENGTH_WEIGHTS = 100
"""Steps of a segment with the weights of a residual."""
ROUGH_TOLERANCE = 1e-2
"""Half a squared standard error that ends the first round of a stage, whose noise is not known
yet."""
FIRST_SIGMA = 0.1
"""Standard deviations of a state: the misfit that the first segments start with."""
FOLLOWED_SHARE = 0.5
"""Share of the segments that must not run away."""
HOPELESS_MISFIT = 0.5
"""Standard deviations of a state: a misfit with which nothing is followed."""
HARMLESS_MISFIT = 0.01
"""Standard deviations of a state: a misfit below may grow with the length of segments."""
EXPECTED_MISFIT = 1.2
"""Times the noise that is expected: a misfit below may grow as well."""
FINER = 0.5
"""Share of the misfit for which substeps were chosen, below which they are chosen again."""
SETTLED = 0.02
"""Relative change of the misfit, from which on a stage has another round."""
SETTLED_PRIOR = 0.2
"""The same of the precision of the weights."""
ROUNDS_WEIGHTS = 5
"""Rounds of a stage with weights: their precision converges slowly."""
LEAST_CHANGE = 0.04
"""Of the mean square of the weights, that their prior allows them to change."""
STEP_ERROR = 0.3
"""Standard errors of a mean over all rows: error of the integration."""
LEAST_STEP_ERROR = 1e-9
"""Standard deviations of a state: error of the integration, at least."""

# -- comparing models ------------------------------------------------------------------
RANKING_LENGTHS = (4, 25, 150)
"""Steps of segments before whole runs."""
RANKING_LONGEST = 1000
"""Steps of a segment, at most."""
RANKING_EVALUATIONS = 4
"""Evaluations of a match of segments longer than the last of these lengths: it starts close."""
RANKING_SHARE = 0.5
"""Share of the segments that must not run away."""
RANKING_JUMP = 2.0
"""Factor by which the misfit may grow with the length of segments."""
RANKING_HARMLESS = 0.02
"""Standard deviations of a state: a misfit below may grow."""

# -- correlated noise ------------------------------------------------------------------
COLOUR_LONG = 25
"""Steps of segments that show correlated noise in full."""
COLOUR_PLATEAU = 1.3
"""Factor by which the misfit may still grow from such segments to the longest: errors of a model
add up along a segment, noise does not."""
COLOUR_SLOW = 0.5
"""Further growth that is allowed where noise lasts as long as a segment."""
COLOUR_ALIKE = 0.2
"""Correlation of neighbouring residuals, at least."""
COLOUR_SMALL = 0.05
"""Share of a state's variance: more than this is not noise."""
COLOUR_FAR = 4.0
"""Standard deviations. Residuals beyond count as that."""
COLOUR_SHARE = 4
"""Parts of a segment over which correlations are summed: one of so many."""

# -- covariance ------------------------------------------------------------------------
COVARIANCE_GROUPS = 40
"""Runs, or stretches of them, whose scores are compared."""
ENOUGH_RUNS = 20
"""Runs. With more, each is a group."""
CORRELATED_RESIDUALS = 0.1
"""Correlation of neighbouring residuals, beyond what chance allows, from which on the covariance is
that of groups."""
SANDWICH_MISFIT = 1.1
"""Residuals of long segments in those of short ones, from which on the covariance is that of
groups."""

# -- held-out forecasts ----------------------------------------------------------------
HELD_OUT_SHARE = 0.25
"""Share of the data on which refined constants must forecast no worse."""
HELD_OUT_ROWS = 20
"""Rows. With fewer, forecasts are compared on the data themselves."""
HELD_OUT_FORECASTS = 24
"""Forecasts that are compared."""
LATEST_START = 0.6
"""Share of a run after which no forecast begins."""
HELD_OUT_STEPS = 1000
"""Steps of a forecast, at most."""
HELD_OUT_EVALUATIONS = 8
"""Evaluations of the match without held-out data: it starts close."""
HELD_OUT_WINDOW = 10
"""Steps of the window from which the initial state of a forecast is estimated."""

# -- profiles --------------------------------------------------------------------------
PROFILE_EVALUATIONS = 6
"""Evaluations of a match with one constant held: it begins near its minimum."""
PROFILE_TOLERANCE = 1e-3
"""Half a squared standard error that ends such a match."""
PROFILE_SOLVES = 4
"""Matches in the search for one end."""

# -- integral form ---------------------------------------------------------------------
STRETCH_STEPS = 100
"""Steps of a stretch with an initial value of its own, at most: errors of smoothing add up."""
STRETCH_LEAST_STEPS = 12
"""Steps of a stretch, at least: noise averages out."""
ROUGH_FUNCTION = 1.2
"""Standard deviations of a function, that it may change from row to row."""
STRETCHES_OF_A_RUN = 3
"""Stretches that a run is cut into at least, as far as its length allows."""

# -- initial states of forecasts -------------------------------------------------------
START_SHARE = 0.1
"""Share of a run that tells where it begins."""
START_LEAST_STEPS = 10
"""Steps of a run that tell where it begins, at least."""
START_STEPS = 50
"""Steps of a run that tell where it begins, at most."""
START_LEAST_NOISE = 1e-4
"""Standard deviations of a state."""
START_ACCURACY = 1e-3
"""Of the noise: error of the integration."""
START_EVALUATIONS = 10
"""Evaluations of the match of initial states."""

# -- gates -----------------------------------------------------------------------------
OUTER_RUNS = 1 / 3
"""Share of the runs, those that go furthest, on which a gate is tried."""
GATE_RUNS = 9
"""Runs. With fewer, a gate is not tried."""
GATE_BETTER = 0.25
"""Share of the squared error with a gate that remains without one, at most, for it to be opened."""
GATE_MATTERS = 0.1
"""Relative change of a forecast by the gate, from which on it tells something."""
SLOW_FADE = 2.0
"""Dimensionless width of the gate of a residual that was right beyond its data."""
