"""The numbers that decide which formulas are found and how models are ranked, each with a unit and
a reason. None of them is varied by a benchmark."""

# -- models ranked by their trajectories -----------------------------------------------------
MAX_SEGMENT_STEPS = 1000  # steps. Longer segments cost time and change few rankings
RANKING_ROWS = 3000  # rows. Models are compared on as many rows as choose terms in a fit
MIN_NOISE_VARIANCES = 0.5  # noise variances of the plan. Residuals cannot be smaller
MAX_UNEXPLAINED = 0.05  # variance of a state, besides noise, missed by a trajectory that follows
MAX_MISFIT_GROWTH = 1.5  # smallest misfits of short segments that long ones may reach: noise
HOPELESS_GAP = 25.0
"""Nats behind the best on segments of the same length, beyond which a model is given up. One term
more or less changes the score by 10 to 20 nats."""
UNSTABLE_GAP = 1e4  # nats behind the best, for a model that follows no segment
NEAR_ZERO = 3.0
"""Standard deviations of the noise. A variable that goes no further beyond zero may have one sign:
a concentration that decays to zero is also measured below it."""
BOUND_SLACK = 2.0
"""Standard errors by which an estimate from rows may exceed a bound. Trajectories decide later,
within the bound."""

# -- rows that the search fits --------------------------------------------------------------
MAX_ROWS = 1200  # rows. The search is fitted to a subset of at most this many
MAX_SAMPLES = 40_000  # samples. More are not needed to choose formulas, and would cost memory
MIN_WINDOW_SAMPLES = 25  # samples of a run. With fewer, no window of the weak form fits
MAX_INTEGRAL_MISFIT = 1.5
"""Noise variances. A model that misses more has states unfit for integrals."""
CLEAN_HALF_WIDTHS = (5.0, 10.0)
"""Samples in half a window of noise-free data: narrow, for resolution."""
MIN_SIGN_CHANGE = 0.01  # share of a window in which an unmeasured velocity has its other sign
SIGN_CHANGE_NOISE = 0.03  # size of a target. Added noise of windows with such a sign change
WINDOW_NOISE_FACTOR = 1.2
"""Dimensionless. Noise variance remaining in a window mean after smoothing."""
ROUNDING_FLOOR = 1e-4  # size of a target. Integrators and files round smaller differences away

# -- score of a candidate -------------------------------------------------------------------
TEMPERED_ROWS = 60.0  # rows that count as independent where the misfit of windows is at noise level
CLEAR_MISFIT = 2.0  # noise variances. Every row counts where the misfit is larger
MIN_MISFIT = 0.4  # share of CLEAR_MISFIT. A better fit than noise allows carries no information
SYMBOL_PRICE = 1.5  # nats per symbol of a formula
KNOWN_SYMBOL_PRICE = 0.3  # nats per symbol of a term of the user's library or of another equation
DUPLICATE_COSINE = 1 - 1e-9  # cosine. Columns that are closer are the same up to a factor
MAX_PEAK = 1e8  # usual sizes of a column. A larger peak dominates every sum of squares
MIN_USUAL_SIZE = 1e-3  # mean sizes of a column. Usual size of a column whose median is smaller
MAX_VALUE = 1e100  # units of a column. Squares of larger values overflow
FREE_NUMBERS = tuple(range(1, 11))  # values of an inner parameter that are not priced as estimates
MAX_POWER_SYMBOLS = 3  # factors, besides the first, that an integer power is priced as
SIMPLE_NUMBERS = (*(float(k) for k in range(1, 11)), 0.5, 1.5, 2.5)
"""Numbers that readers expect in a formula."""
SIMPLE_DISTANCE = 0.02  # relative distance to a simple number that is tried whatever the interval
CANCELLATION_PRICE = 2.0  # nats per factor e by which a term exceeds the target: digits that cancel
SIMPLE_ERRORS = 2.0  # standard errors to each side in which a simple number is tried
MAX_TERMS_PAIRED = 8  # terms. In larger candidates, pairs are not removed: too many fits

# -- catalogue of functions -----------------------------------------------------------------
MAX_PHASE = 26.0  # radians over the range of a variable. Faster sines fit noise
DOMAIN_MARGIN = 0.02  # share of the range by which the domain of a function must exceed the data
MAX_EXPONENT_CHANGE = 12.0
"""Dimensionless. Change of an exponent over the range; steeper ones are steps."""
MIN_RECIPROCAL_SHARE = 0.05  # share of the largest value: 1/z changes by at most a factor of 20
MAX_EXPONENT = 300.0  # dimensionless. exp(-300) is less than 1e-130, a rounding error
PHASE_STEP = 2.4  # radians over the range, between neighbouring frequencies on a grid
MAX_CYCLES = 60  # periods of a function of time over all times
MIN_POSITIVE = 1e-3  # share of the largest value that a positive variable may fall to
MONOMIAL_DEGREE = 3  # degree of the monomials
MAX_COLUMNS = 1100  # columns. With more, products with a variable get coarse grids
COARSE_VALUES = 4  # values of the parameters on a coarse grid
ATOM_VALUES = {1: 9, 2: 5, 3: 3}
"""Values of each parameter of an atom, by the number of its parameters."""
MIN_ATOM_VALUES = 2  # values of each parameter of an atom with more parameters
SYMMETRY_POINTS = 40  # random points at which a symmetry is tested
SYMMETRY_TOLERANCE = 1e-9  # size of a function. Larger differences break a symmetry

# -- least squares with inner parameters ----------------------------------------------------
NEWTON_ROUNDS = 8  # Gauss-Newton steps; a good start needs fewer
NEWTON_SHARES = (1.0, 0.5, 0.2, 0.05)  # shares of a Gauss-Newton step that are tried in turn
NEWTON_TOLERANCE = 1e-5  # relative decrease of the squared misfit below which parameters stay
SINGULAR_CUTOFF = 1e-11  # share of the largest singular value. Smaller ones are rounding
MIN_EIGENVALUE = 1e-8  # share of the largest eigenvalue of a Gram matrix that can be inverted
PARAMETER_MARGIN = 0.3  # share of a value: a fit looks for the parameter within this distance

# -- beam search ----------------------------------------------------------------------------
TEMPERATURES = (1.0, 4.0, 16.0)
"""Divisors of the misfit. At 1 alone, a simple truth loses to better fits."""
BEAM_WIDTH = 10  # supports kept at each temperature
EXCHANGED_SUPPORTS = 4  # supports at each temperature whose columns are replaced
EXCHANGE_ROUNDS = 4  # rounds of replacing columns
MAX_VARIANTS = 2  # supports of one structure with different parameter values
POOL_SIZE = 60  # supports of a level among which the best structures are chosen
RIDGE = 1e-13  # added to the diagonal of Gram matrices of unit columns, so that they can be solved
MIN_NEW_NORM = 1e-9  # squared norm of a unit column outside a support; with less it depends on it
BEAM_DEPTH = 7  # columns that a beam adds to its start
POLISHED_SUPPORTS = 4  # supports polished at each temperature in a family
SHARPENED_SUPPORTS = 3  # supports at each temperature whose parameters are estimated within a beam
SHARPENING_ROUNDS = 3  # rounds of estimating parameters and running a beam again
MAX_SEEDED_SIZE = 2  # known terms of a support that functions are seeded beside
SEEDED_SUPPORTS = 4  # known supports of each size that functions are seeded beside
SEEDS = 8  # functions whose parameters are estimated beside a known support
START_SUPPORTS = 2  # known supports of each size that pairs and products are added to
MAX_START_SIZE = 4  # known terms of such a support
PAIRS = 4  # pairs of columns added to a support at each temperature
PRODUCT_SYMBOLS = 8  # symbols of a usual product, whose only constant may be its coefficient
MIN_PRODUCT_GAIN = 10.0  # nats that a product must be able to gain, or none is sought
MIN_UNEXPLAINED = 1e-5  # share of the squared target. Sums over windows miss smaller misfits
MAX_TERMS_BESIDE = 30  # known terms that products are sought beside at once
MAX_CANDIDATES = 16  # candidates of an equation that are kept
MAX_READABLE_GAIN = 10.0  # nats that a simple number in place of a parameter can save
NOISE_REDUCTION = 0.7  # share of the assumed noise. Scores are computed again below it

# -- fractions, products, steps and exchanged roles -----------------------------------------
DENOMINATORS = 3  # denominators that are offered
MAX_DENOMINATOR_FACTORS = 2  # terms in a denominator, besides its constant
MAX_FACTORS = 14  # terms among which denominators are sought
FRACTION_DEGREE = 2  # degree of denominators, and of the numerators that are offered over them
IMPLICIT_DEGREE = 4  # degree of P for one variable in P(x) + Q(x) x' = 0
POLE_MARGIN = 0.25  # share of the range beyond the data in which a denominator must not vanish
MIN_DENOMINATOR = 0.02  # share of its largest value. A smaller denominator counts as vanishing
POLE_POINTS = 500  # random points at which a denominator is tested
DENOMINATOR_RANGE = 30.0  # factor by which a constant of a denominator may change
MAX_PRODUCT_COLUMNS = 12_000  # columns of products of all pairs of variables
PRODUCT_VALUES = (6, 4, 2)
"""Values of a factor's parameters; the first number that keeps columns few."""
PRODUCTS_TRIED = 10  # structures beside each support whose parameters begin to be estimated
PRODUCT_ROUNDS = 3  # Gauss-Newton steps of this first estimate; twice as many follow
PRODUCTS_KEPT = 3  # products beside each support that are offered
MIN_SINGULAR_VALUE = 1e-7  # share of the largest singular value of a basis
MIN_STEP_SLOPE = 8.0  # per standard deviation of a variable. Steeper sigmoids may be steps
THRESHOLD_DIFFERENCE = 0.02  # share of the range by which a threshold moves for its derivative
THRESHOLD_RANGE = 0.2  # share of the range to each side of a sigmoid's middle
ROLE_CANDIDATES = 3  # best candidates of each equation whose structure is tried in others
MAX_PERMUTED_UNITS = 3  # units. Of more, only exchanges of two and shifts along a ring are tried
ROLE_MARGIN = 0.02  # share of the range beyond which a function must be finite

# -- coupled accelerations ------------------------------------------------------------------
COUPLED_DEPTH = 8  # columns that a beam adds; forces are many
COUPLED_FITTED = 6  # supports fitted at each temperature
COUPLED_EXCHANGED = 2  # factors of an equation's acceleration whose beams are exchanged
COUPLED_PRUNED = 8  # candidates from which idle terms are removed
COUPLED_KEPT = 4  # candidates of an equation
COUPLED_SYSTEMS = 4  # systems that are matched to trajectories
COUPLED_MAX_GAP = 60.0  # nats behind the best system
COUPLED_TRIED = 60  # combinations, from which singular ones are removed
MIN_ANGLE_RANGE = 0.5  # radians. A sine is a line on a smaller range
MIN_DETERMINANT = 0.02  # share of its largest value. A smaller determinant counts as zero
MIN_MASS = 0.1  # share of its largest value. A smaller mass counts as zero

# -- proposals and evidence -----------------------------------------------------------------
MIN_GAIN = 10.0  # nats by which new terms must beat the library's best candidate
COMPARISON_REACH = 1.5  # ranges of the data within which functions are compared
COMPARISON_POINTS = 2000  # random points at which functions are compared
MAX_GAP = 60.0  # nats behind the best model or candidate; others are not proposed
SAME_FUNCTION = 1e-3  # size of a right-hand side. Smaller differences are those of a descent's end
INNER_SHARE = 0.8  # share of the rows inside the outer shell
RESAMPLES = 200  # resamples of runs; enough for a probability to within 4%
NORMAL_QUANTILE = 1.96  # standard errors on each side of a 95% interval
MAX_ALTERNATIVE_GAP = 7.0  # nats. The data distinguish formulas that are further apart
MAX_BESIDE_COUPLED = 3  # combinations matched besides coupled equations that are clearly better
SHARING_MODELS = 3  # models whose terms are tried in the other equations
