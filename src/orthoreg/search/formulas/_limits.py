"""Constants that decide which formulas are found and how models are ranked.

Each has a unit and a reason. No benchmark varies them.
"""

from ...matching._limits import SEARCH_ROWS as SEARCH_ROWS
from ...matching._limits import SYMBOL as SYMBOL
from ...physics._limits import SYMMETRY_TOLERANCE as SYMMETRY_TOLERANCE
from ...solving._limits import DIAGONAL_ROUNDING as DIAGONAL_ROUNDING
from ...solving._limits import MAX_TERM_VALUE as MAX_TERM_VALUE

# -- models ranked by their trajectories -----------------------------------------------------
# maximum steps of a segment; longer segments take time and rarely change rankings
MAX_SEGMENT_STEPS = 1000
MIN_NOISE_VARIANCES = 0.5  # minimum noise of residuals, in noise variances of the plan
# share of a state's variance that a trajectory may miss in addition to noise
MAX_UNEXPLAINED = 0.05
MAX_MISFIT_GROWTH = 1.5  # maximum ratio of misfits on long and short segments
HOPELESS_GAP = 25.0
"""Gap to the best model on segments of the same length above which a model is abandoned, in nats.
One additional term changes the score by 10 to 20 nats."""
UNSTABLE_GAP = 1e4  # gap to the best model, in nats, of a model that follows no segment
NEAR_ZERO = 3.0
"""Distance beyond zero, in noise standard deviations, up to which values of a variable with one
sign may extend. Noise makes a concentration that decays to zero negative."""
BOUND_SLACK = 2.0
"""Amount by which an estimate from rows may violate a bound, in standard errors. Trajectories
decide later, within the bound."""

# -- rows used in the search ----------------------------------------------------------------
MAX_ROWS = 1200  # maximum rows to which the search is fitted
# maximum samples; more samples use memory without improving the choice of formulas
MAX_SAMPLES = 40_000
# minimum samples of a run; in a shorter run, no window of the weak form fits
MIN_WINDOW_SAMPLES = 25
MAX_INTEGRAL_MISFIT = 1.5
"""Maximum misfit, in noise variances, of a model whose states are accurate enough for integrals."""
CLEAN_HALF_WIDTHS = (5.0, 10.0)
"""Number of samples in half a window of noise-free data. Narrow windows have a high resolution."""
# minimum share of a window in which an unmeasured velocity has the other sign
MIN_SIGN_CHANGE = 0.01
# noise added in windows with such a sign change, as a share of the target's size
SIGN_CHANGE_NOISE = 0.03
WINDOW_NOISE_FACTOR = 1.2
"""Share of the noise variance that remains in a window mean after smoothing."""
ROUNDING_FLOOR = 1e-4  # share of a target's size; smaller differences are rounding errors

# -- score of a candidate -------------------------------------------------------------------
TEMPERED_ROWS = 60.0  # independent rows to assume if the misfit of windows is at the noise level
CLEAR_MISFIT = 2.0  # misfit, in noise variances, above which every row counts
MIN_MISFIT = 0.4  # share of CLEAR_MISFIT; a better fit than the noise allows is not informative
KNOWN_SYMBOL_PRICE = 0.3  # nats per symbol of a term of the user's library or of another equation
DUPLICATE_COSINE = 1 - 1e-9  # cosine above which columns are equal up to a factor
# maximum peak, in usual sizes of a column; a larger peak dominates all sums of squares
MAX_PEAK = 1e8
MIN_USUAL_SIZE = 1e-3  # minimum usual size if the median is smaller, as a share of the mean size
FREE_NUMBERS = tuple(range(1, 11))  # values of an inner parameter that are not priced as estimates
MAX_POWER_SYMBOLS = 3  # maximum price of an integer power, in factors after the first
SIMPLE_NUMBERS = (*(float(k) for k in range(1, 11)), 0.5, 1.5, 2.5)
"""Numbers that readers expect in a formula."""
SIMPLE_DISTANCE = 0.02  # relative distance within which a simple number is always tried
CANCELLATION_PRICE = 2.0  # nats per factor e by which a term exceeds the target
SIMPLE_ERRORS = 2.0  # standard errors on each side within which a simple number is tried
# maximum terms of candidates from which pairs are removed, to limit the number of fits
MAX_TERMS_PAIRED = 8

# -- catalogue of functions -----------------------------------------------------------------
MAX_PHASE = 26.0  # maximum radians over the range of a variable; faster sines fit noise
DOMAIN_MARGIN = 0.02  # share of the range by which the domain of a function must exceed the data
MAX_EXPONENT_CHANGE = 12.0
"""Maximum change of an exponent over the range. Steeper functions are steps."""
# minimum value for 1/z as a share of the largest; 1/z then changes at most 20-fold
MIN_RECIPROCAL_SHARE = 0.05
MAX_EXPONENT = 300.0  # maximum exponent; exp(-300) is less than 1e-130, a rounding error
PHASE_STEP = 2.4  # radians over the range between neighbouring frequencies of a grid
MAX_CYCLES = 60  # maximum periods of a function of time over the total time
MIN_POSITIVE = 1e-3  # minimum value of a positive variable, as a share of its largest value
MONOMIAL_DEGREE = 3  # maximum degree of the monomials
MAX_COLUMNS = 1100  # columns above which products with a variable get coarse grids
COARSE_VALUES = 4  # values of the parameters on a coarse grid
ATOM_VALUES = {1: 9, 2: 5, 3: 3}
"""Number of values of each parameter of an atom, by the number of its parameters."""
MIN_ATOM_VALUES = 2  # number of values of each parameter of an atom with more parameters
SYMMETRY_POINTS = 40  # number of random points at which a symmetry is tested
# -- least squares with inner parameters ----------------------------------------------------
NEWTON_ROUNDS = 8  # maximum Gauss-Newton steps; a good start needs fewer
NEWTON_SHARES = (1.0, 0.5, 0.2, 0.05)  # fractions of a Gauss-Newton step, tried in turn
NEWTON_TOLERANCE = 1e-5  # relative decrease of the squared misfit below which the iteration stops
# singular value, relative to the largest, below which singular values are rounding
SINGULAR_CUTOFF = 1e-11
MIN_EIGENVALUE = 1e-8  # minimum eigenvalue of an invertible Gram matrix, relative to the largest
PARAMETER_MARGIN = 0.3  # share of a value within which a fit searches for the parameter

# -- beam search ----------------------------------------------------------------------------
TEMPERATURES = (1.0, 4.0, 16.0)
"""Divisors of the misfit. With 1 alone, a simple true formula would lose to better fits."""
MAX_CACHED_COLUMNS = 2000  # maximum columns of an equation, to limit memory
PAIR_BLOCK = 32  # number of columns whose pairs are compared at a time, to fit into a cache
BEAM_WIDTH = 10  # number of supports kept at each temperature
EXCHANGED_SUPPORTS = 4  # number of supports at each temperature whose columns are exchanged
EXCHANGE_ROUNDS = 4  # maximum rounds of exchanging columns
MAX_VARIANTS = 2  # maximum supports of one structure with different parameter values
POOL_SIZE = 60  # number of supports of a level among which the best structures are chosen
# squared norm outside a support below which a unit column depends on the support
MIN_NEW_NORM = 1e-9
BEAM_DEPTH = 7  # number of columns that a beam adds to its start
POLISHED_SUPPORTS = 4  # number of supports polished at each temperature in a family
# number of supports at each temperature whose parameters are estimated within a beam
SHARPENED_SUPPORTS = 3
SHARPENING_ROUNDS = 3  # rounds of estimating parameters and repeating the beam
MAX_SEEDED_SIZE = 2  # maximum known terms of a support to which functions are added
SEEDED_SUPPORTS = 4  # number of known supports of each size to which functions are added
SEEDS = 8  # number of functions per known support whose parameters are estimated
START_SUPPORTS = 2  # number of known supports of each size to which pairs and products are added
MAX_START_SIZE = 4  # maximum known terms of such a support
PAIRS = 4  # number of pairs of columns added to a support at each temperature
PRODUCT_SYMBOLS = 8  # symbols of a typical product whose only constant is its coefficient
MIN_UNEXPLAINED = 1e-5  # share of the squared target; sums over windows cannot resolve less
MAX_TERMS_BESIDE = 30  # maximum known terms to which products are added at once
MAX_CANDIDATES = 16  # number of candidates of an equation that are kept
MAX_READABLE_GAIN = 10.0  # maximum gain, in nats, of a simple number over an estimated parameter
NOISE_REDUCTION = 0.7  # share of the assumed noise; if the noise is lower, scores are recomputed

# -- fractions, products, steps and exchanged roles -----------------------------------------
DENOMINATORS = 3  # number of denominators that are added
MAX_DENOMINATOR_FACTORS = 2  # maximum terms in a denominator in addition to its constant
MAX_FACTORS = 14  # number of terms from which denominators are formed
FRACTION_DEGREE = 2  # degree of denominators, and of the numerators over them
IMPLICIT_DEGREE = 4  # degree of P for one variable in P(x) + Q(x) x' = 0
POLE_MARGIN = 0.25  # share of the range beyond the data in which a denominator must not vanish
MIN_DENOMINATOR = 0.02
"""Share of its largest value below which a denominator, or the determinant of a mass matrix, counts
as vanishing."""
POLE_POINTS = 500  # number of random points at which a denominator is tested
DENOMINATOR_RANGE = 30.0  # factor by which a constant of a denominator may change
MAX_PRODUCT_COLUMNS = 12_000  # maximum columns of products of all pairs of variables
PRODUCT_VALUES = (6, 4, 2)
"""Candidate numbers of values for a factor's parameters. The first number that gives few enough
columns is used."""
PRODUCTS_TRIED = 10  # number of structures per support whose parameters are estimated first
PRODUCT_ROUNDS = 3  # Gauss-Newton steps of this first estimate; twice as many follow
PRODUCTS_KEPT = 3  # number of products added per support
# singular value of a basis, relative to the largest, that counts as nonzero
MIN_SINGULAR_VALUE = 1e-7
MIN_STEP_SLOPE = 8.0  # slope per standard deviation of a variable above which sigmoids may be steps
THRESHOLD_DIFFERENCE = 0.02  # share of the range by which a threshold moves for its derivative
THRESHOLD_RANGE = 0.2  # share of the range on each side of a sigmoid's middle
# number of candidates of each equation whose structure is tried in other equations
ROLE_CANDIDATES = 3
MAX_PERMUTED_UNITS = 3  # units; for more, only exchanges of two and shifts along a ring are tried

# -- coupled accelerations ------------------------------------------------------------------
COUPLED_DEPTH = 8  # number of columns that a beam adds; large, because forces have many terms
COUPLED_FITTED = 6  # number of supports fitted at each temperature
COUPLED_EXCHANGED = 2  # number of factors of an equation's acceleration whose beams are exchanged
COUPLED_PRUNED = 8  # number of candidates from which idle terms are removed
COUPLED_KEPT = 4  # number of candidates kept per equation
COUPLED_SYSTEMS = 4  # number of systems matched to trajectories
COUPLED_TRIED = 60  # number of combinations tried, including singular ones
MIN_ANGLE_RANGE = 0.5  # radians; on a smaller range, a sine is nearly a line
MIN_MASS = 0.1  # share of the largest mass below which a mass counts as zero

# -- proposals and evidence -----------------------------------------------------------------
MIN_GAIN = 10.0
"""Minimum advantage of new terms over the library's best candidate, in nats. Products are searched
only if they can gain as much."""
COMPARISON_REACH = 1.5  # ranges of the data within which functions are compared
COMPARISON_POINTS = 2000  # number of random points at which functions are compared
MAX_GAP = 60.0  # gap to the best model, system or candidate in nats; worse ones are not proposed
# share of a right-hand side's size; incomplete convergence causes smaller differences
SAME_FUNCTION = 1e-3
INNER_SHARE = 0.8  # share of the rows inside the outer shell
RESAMPLES = 200  # number of resamples of runs, enough for a probability accurate to 4%
NORMAL_QUANTILE = 1.96  # half-width of a 95% interval in standard errors
MAX_ALTERNATIVE_GAP = 7.0  # nats; the data distinguish formulas with a larger gap
# number of combinations matched in addition to clearly better coupled equations
MAX_BESIDE_COUPLED = 3
SHARING_MODELS = 3  # number of models whose terms are tried in the other equations
