"""Constants that decide which formulas are found and how models are ranked, each with a unit and a
reason. No benchmark varies them."""

from ...matching._limits import SEARCH_ROWS as SEARCH_ROWS
from ...matching._limits import SYMBOL as SYMBOL
from ...physics._limits import SYMMETRY_TOLERANCE as SYMMETRY_TOLERANCE
from ...solving._limits import DIAGONAL_ROUNDING as DIAGONAL_ROUNDING
from ...solving._limits import MAX_TERM_VALUE as MAX_TERM_VALUE

# -- models ranked by their trajectories -----------------------------------------------------
MAX_SEGMENT_STEPS = 1000  # steps. Longer segments cost time and rarely change rankings
MIN_NOISE_VARIANCES = 0.5  # noise variances of the plan. Residuals cannot be smaller
MAX_UNEXPLAINED = 0.05  # variance of a state, besides noise, that a trajectory may miss
MAX_MISFIT_GROWTH = 1.5  # maximum ratio of misfits on long and short segments
HOPELESS_GAP = 25.0
"""Nats behind the best model on segments of the same length, beyond which a model is abandoned.
One additional term changes the score by 10 to 20 nats."""
UNSTABLE_GAP = 1e4  # nats behind the best model, for a model that follows no segment
NEAR_ZERO = 3.0
"""Standard deviations of the noise. A variable whose values extend no further beyond zero may have
one sign: noise makes a concentration that decays to zero negative."""
BOUND_SLACK = 2.0
"""Standard errors by which an estimate from rows may violate a bound. Trajectories decide later,
within the bound."""

# -- rows used in the search ----------------------------------------------------------------
MAX_ROWS = 1200  # rows. Maximum subset to which the search is fitted
MAX_SAMPLES = 40_000  # samples. More samples do not improve the choice of formulas, and cost memory
MIN_WINDOW_SAMPLES = 25  # samples of a run. No window of the weak form fits in a shorter run
MAX_INTEGRAL_MISFIT = 1.5
"""Noise variances. The states of a model with a larger misfit are too inaccurate for integrals."""
CLEAN_HALF_WIDTHS = (5.0, 10.0)
"""Samples in half a window of noise-free data. Windows are narrow for resolution."""
MIN_SIGN_CHANGE = 0.01  # fraction of a window in which an unmeasured velocity has the other sign
SIGN_CHANGE_NOISE = 0.03  # size of a target. Noise added in windows with such a sign change
WINDOW_NOISE_FACTOR = 1.2
"""Dimensionless. Noise variance remaining in a window mean after smoothing."""
ROUNDING_FLOOR = 1e-4  # size of a target. Smaller differences are rounding errors

# -- score of a candidate -------------------------------------------------------------------
TEMPERED_ROWS = 60.0  # independent rows assumed where the misfit of windows is at noise level
CLEAR_MISFIT = 2.0  # noise variances. Every row counts where the misfit is larger
MIN_MISFIT = 0.4  # fraction of CLEAR_MISFIT. A better fit than noise allows is not informative
KNOWN_SYMBOL_PRICE = 0.3  # nats per symbol of a term of the user's library or of another equation
DUPLICATE_COSINE = 1 - 1e-9  # cosine. Columns that are closer are equal up to a factor
MAX_PEAK = 1e8  # usual sizes of a column. A larger peak dominates every sum of squares
MIN_USUAL_SIZE = 1e-3  # mean sizes of a column. Minimum usual size, if the median is smaller
FREE_NUMBERS = tuple(range(1, 11))  # values of an inner parameter that are not priced as estimates
MAX_POWER_SYMBOLS = 3  # maximum price of an integer power, in factors besides the first
SIMPLE_NUMBERS = (*(float(k) for k in range(1, 11)), 0.5, 1.5, 2.5)
"""Numbers that readers expect in a formula."""
SIMPLE_DISTANCE = 0.02  # relative distance within which a simple number is always tried
CANCELLATION_PRICE = 2.0  # nats per factor e by which a term exceeds the target
SIMPLE_ERRORS = 2.0  # standard errors on each side within which a simple number is tried
MAX_TERMS_PAIRED = 8  # terms. Pairs are not removed from larger candidates: too many fits

# -- catalogue of functions -----------------------------------------------------------------
MAX_PHASE = 26.0  # radians over the range of a variable. Faster sines fit noise
DOMAIN_MARGIN = 0.02  # fraction of the range by which the domain of a function must exceed the data
MAX_EXPONENT_CHANGE = 12.0
"""Dimensionless. Maximum change of an exponent over the range; steeper functions are steps."""
MIN_RECIPROCAL_SHARE = 0.05  # fraction of the largest value: 1/z changes by at most a factor of 20
MAX_EXPONENT = 300.0  # dimensionless. exp(-300) is less than 1e-130, a rounding error
PHASE_STEP = 2.4  # radians over the range, between neighbouring frequencies on a grid
MAX_CYCLES = 60  # periods of a function of time over the total time
MIN_POSITIVE = 1e-3  # fraction of the largest value that a positive variable may reach
MONOMIAL_DEGREE = 3  # maximum degree of the monomials
MAX_COLUMNS = 1100  # columns. With more columns, products with a variable get coarse grids
COARSE_VALUES = 4  # values of the parameters on a coarse grid
ATOM_VALUES = {1: 9, 2: 5, 3: 3}
"""Values of each parameter of an atom, by the number of its parameters."""
MIN_ATOM_VALUES = 2  # values of each parameter of an atom with more parameters
SYMMETRY_POINTS = 40  # random points at which a symmetry is tested
# -- least squares with inner parameters ----------------------------------------------------
NEWTON_ROUNDS = 8  # maximum Gauss-Newton steps; a good start needs fewer
NEWTON_SHARES = (1.0, 0.5, 0.2, 0.05)  # fractions of a Gauss-Newton step, tried in turn
NEWTON_TOLERANCE = 1e-5  # relative decrease of the squared misfit below which the iteration stops
SINGULAR_CUTOFF = 1e-11  # fraction of the largest singular value. Smaller values are rounding
MIN_EIGENVALUE = 1e-8  # fraction of the largest eigenvalue, for an invertible Gram matrix
PARAMETER_MARGIN = 0.3  # fraction of a value within which a fit searches for the parameter

# -- beam search ----------------------------------------------------------------------------
TEMPERATURES = (1.0, 4.0, 16.0)
"""Divisors of the misfit. With 1 alone, a simple true formula loses to better fits."""
MAX_CACHED_COLUMNS = 2000  # columns of an equation, a limit of memory
PAIR_BLOCK = 32  # columns whose pairs are compared at a time, about the size of a cache
BEAM_WIDTH = 10  # supports kept at each temperature
EXCHANGED_SUPPORTS = 4  # supports at each temperature whose columns are exchanged
EXCHANGE_ROUNDS = 4  # rounds of exchanging columns
MAX_VARIANTS = 2  # supports of one structure with different parameter values
POOL_SIZE = 60  # supports of a level among which the best structures are chosen
MIN_NEW_NORM = 1e-9  # squared norm outside a support, below which a unit column depends on it
BEAM_DEPTH = 7  # columns that a beam adds to its start
POLISHED_SUPPORTS = 4  # supports polished at each temperature in a family
SHARPENED_SUPPORTS = 3  # supports at each temperature whose parameters are estimated within a beam
SHARPENING_ROUNDS = 3  # rounds of estimating parameters and repeating the beam
MAX_SEEDED_SIZE = 2  # known terms of a support to which functions are added
SEEDED_SUPPORTS = 4  # known supports of each size to which functions are added
SEEDS = 8  # functions whose parameters are estimated, per known support
START_SUPPORTS = 2  # known supports of each size to which pairs and products are added
MAX_START_SIZE = 4  # known terms of such a support
PAIRS = 4  # pairs of columns added to a support at each temperature
PRODUCT_SYMBOLS = 8  # symbols of a typical product, whose only constant may be its coefficient
MIN_UNEXPLAINED = 1e-5  # fraction of the squared target. Window sums cannot resolve less
MAX_TERMS_BESIDE = 30  # maximum known terms to which products are added at once
MAX_CANDIDATES = 16  # candidates of an equation that are kept
MAX_READABLE_GAIN = 10.0  # maximum nats saved by a simple number in place of a parameter
NOISE_REDUCTION = 0.7  # fraction of the assumed noise. If the noise is lower, scores are recomputed

# -- fractions, products, steps and exchanged roles -----------------------------------------
DENOMINATORS = 3  # number of denominators offered
MAX_DENOMINATOR_FACTORS = 2  # terms in a denominator, besides its constant
MAX_FACTORS = 14  # terms from which denominators are formed
FRACTION_DEGREE = 2  # degree of denominators, and of the numerators offered over them
IMPLICIT_DEGREE = 4  # degree of P for one variable in P(x) + Q(x) x' = 0
POLE_MARGIN = 0.25  # fraction of the range beyond the data in which a denominator must not vanish
MIN_DENOMINATOR = 0.02
"""Fraction of its largest value. A smaller denominator, or determinant of a mass matrix, counts as
vanishing."""
POLE_POINTS = 500  # random points at which a denominator is tested
DENOMINATOR_RANGE = 30.0  # factor by which a constant of a denominator may change
MAX_PRODUCT_COLUMNS = 12_000  # columns of products of all pairs of variables
PRODUCT_VALUES = (6, 4, 2)
"""Values of a factor's parameters; the first number that keeps columns few enough is used."""
PRODUCTS_TRIED = 10  # structures per support whose parameters are first estimated
PRODUCT_ROUNDS = 3  # Gauss-Newton steps of this first estimate; twice as many follow
PRODUCTS_KEPT = 3  # products offered per support
MIN_SINGULAR_VALUE = 1e-7  # fraction of the largest singular value of a basis
MIN_STEP_SLOPE = 8.0  # per standard deviation of a variable. Steeper sigmoids may be steps
THRESHOLD_DIFFERENCE = 0.02  # fraction of the range by which a threshold moves for its derivative
THRESHOLD_RANGE = 0.2  # fraction of the range on each side of a sigmoid's middle
ROLE_CANDIDATES = 3  # best candidates of each equation whose structure is tried in other equations
MAX_PERMUTED_UNITS = 3  # units. With more, only exchanges of two and shifts along a ring are tried

# -- coupled accelerations ------------------------------------------------------------------
COUPLED_DEPTH = 8  # columns that a beam adds; large, because forces have many terms
COUPLED_FITTED = 6  # supports fitted at each temperature
COUPLED_EXCHANGED = 2  # factors of an equation's acceleration whose beams are exchanged
COUPLED_PRUNED = 8  # candidates from which idle terms are removed
COUPLED_KEPT = 4  # candidates kept per equation
COUPLED_SYSTEMS = 4  # systems matched to trajectories
COUPLED_TRIED = 60  # combinations tried, from which singular ones are removed
MIN_ANGLE_RANGE = 0.5  # radians. On a smaller range, a sine is a line
MIN_MASS = 0.1  # fraction of its largest value. A smaller mass counts as zero

# -- proposals and evidence -----------------------------------------------------------------
MIN_GAIN = 10.0
"""Nats by which new terms must beat the library's best candidate. Products are searched only if
they can gain as much."""
COMPARISON_REACH = 1.5  # ranges of the data within which functions are compared
COMPARISON_POINTS = 2000  # random points at which functions are compared
MAX_GAP = 60.0  # nats behind the best model, system or candidate. Worse ones are not proposed
SAME_FUNCTION = 1e-3  # size of a right-hand side. Incomplete convergence causes less
INNER_SHARE = 0.8  # fraction of the rows inside the outer shell
RESAMPLES = 200  # resamples of runs, enough for a probability accurate to 4%
NORMAL_QUANTILE = 1.96  # standard errors on each side of a 95% interval
MAX_ALTERNATIVE_GAP = 7.0  # nats. The data distinguish formulas with a larger gap
MAX_BESIDE_COUPLED = 3  # combinations matched in addition to clearly better coupled equations
SHARING_MODELS = 3  # models whose terms are tried in the other equations
