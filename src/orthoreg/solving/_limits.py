"""Constants of sums over rows and of quadratic problems, each with a unit and a reason.

Most of them are levels of rounding in double precision, in units in which columns have equal size.
"""

import numpy as np

# -- rank ----------------------------------------------------------------------------------
MIN_PIVOT = 1e-7
"""Pivot of a Cholesky factor, relative to the root of the largest diagonal entry, below which the
matrix is treated as rank deficient."""
MIN_PIVOT_OF_COLUMN = 1e-6
"""The same for block pivoting, relative to the size of a column. Other methods are available if
block pivoting fails."""
SINGULAR_CUTOFF = 1e-13
"""Singular value, relative to the largest, below which it is treated as zero in the minimum-norm
solution."""
EQUALITY_RANK = 1e-12
"""Singular value of the equalities, relative to the largest, below which equalities depend on each
other."""
INDEPENDENT_SQUARE = 1e-12
"""Share of a term's squared norm outside the span of earlier terms below which the term is a
combination of them."""
DIAGONAL_ROUNDING = 1e-13
"""Addition to the diagonal of matrices whose diagonal is about one, so that they are invertible."""

MIN_DEPENDENCE_WEIGHT = 1e-6
"""Weight in a combination of terms, in norms of a term, below which it is not listed."""
MIN_EIGENVALUE = 1e-12
"""Eigenvalue, relative to the largest, below which the data do not determine a direction."""
MIN_EIGENVALUE_SINGLE = 1e-9
"""The same for single precision, in which projections on directions below it fail."""
MIN_BASIS_EIGENVALUE = 1e-15
"""Eigenvalue of D, relative to the largest, below which directions are omitted in held-out
folds."""

# -- constrained problems ------------------------------------------------------------------
SLOPE_ROUNDING = 1e-11
"""Slope, relative to the size of its summands, below which it is treated as zero."""
COEFFICIENT_ROUNDING = 1e-13
"""Distance from a bound, relative to the largest coefficient, below which a coefficient is at the
bound, if all columns have equal size."""
EQUALITY_TOLERANCE = 1e-9
"""Residual of an equality, relative to its size, below which it is satisfied."""
MAX_PIVOT_ROUNDS = 25
"""Maximum number of rounds of block pivoting. A few suffice if it converges at all."""
PIVOT_PATIENCE = 4
"""Number of rounds without fewer coefficients to correct after which block pivoting stops."""
DAQP_TOLERANCE = 1e-7
"""Tolerance of the constraints in DAQP, if all columns have equal size."""
MAX_DAQP_ITERATIONS = 10_000
"""Maximum number of iterations of DAQP."""
MIN_CURVATURE = 1e-8
"""Minimum eigenvalue of a matrix for DAQP, if all columns have equal size. Smaller ones are
rounding errors."""
PROXIMITY = 1e-7
"""Share of the curvature of each coefficient that a proximal step adds. It is well above rounding,
and well below the curvature of determined coefficients."""
MAX_PROXIMAL_STEPS = 30
"""Maximum number of proximal steps. Two or three converge to rounding error."""
PROXIMAL_TOLERANCE = 1e-14
"""Slope, relative to the largest, below which proximal steps stop."""

# -- ridge of the residual -----------------------------------------------------------------
RIDGES = (*(10.0 ** np.arange(-12, 2)), np.inf)
"""Candidates for rho. Infinite rho means no residual."""
RIDGE_FOLDS = 5
"""Number of parts of the rows that are held out in turn."""
TIE = 0.05
"""Relative difference of squared errors below which they are treated as equal."""
NEGLIGIBLE_ERROR = 1e-10
"""Squared error, relative to the squared target, below which nothing remains to be explained."""

# -- sums over rows ------------------------------------------------------------------------
MIN_BLOCK_ROWS, BLOCK_NUMBERS = 512, 2**16
"""Minimum number of rows, and number of values, of a block that fits into the cache."""
MAX_BLOCK_ROWS, MAX_BLOCK_NUMBERS = 16384, 2**23
"""Maximum numbers of rows and values of a block that is sorted by cell."""
CENTERED_ROWS = 5000
"""Number of rows that determine sizes and correlations of terms."""
CONSTANT_TERM_STD = 1e-12
"""Standard deviation of a term, relative to its root mean square, below which it is treated as
rounding."""
MAX_CELL_NUMBERS = 2**24
"""Maximum number of values in all cells. Groups are merged until the cells fit."""
MANY_COLUMNS, MAX_CUT_NUMBERS, MIN_CUT_CELLS = 512, 2**26, 4
"""Number of values in the cells above which cuts of columns are omitted, and number of cells that
remain for any number of columns."""
MAX_TERM_VALUE = 1e100
"""Value of a term beyond the data, in units of the term, above which it counts as undefined."""
MAX_COUNTED_CODE = 2**20
"""Maximum code of cells for counting. Larger codes are sorted."""

# -- gradient training ---------------------------------------------------------------------
MAX_SINGLE_PRECISION = 1e18
"""Maximum size of a number in single precision. The square of a larger one overflows."""
STRETCH_SECONDS = 0.5
"""Seconds of training between two progress reports."""
