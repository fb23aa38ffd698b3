"""Constants of sums over rows and of quadratic problems, each with a unit and a reason.

Most are levels of rounding in double precision, in units in which columns have equal size.
"""

import numpy as np

# -- rank ----------------------------------------------------------------------------------
MIN_PIVOT = 1e-7
"""Root of the largest diagonal entry. A matrix whose Cholesky factor has a smaller pivot is treated
as rank deficient."""
MIN_PIVOT_OF_COLUMN = 1e-6
"""Size of a column. The same for block pivoting, which has other methods to fall back on."""
SINGULAR_CUTOFF = 1e-13
"""Largest singular value. Smaller singular values are treated as zero in the minimum-norm
solution."""
EQUALITY_RANK = 1e-12
"""Largest singular value of the equalities. Smaller ones are rounding: equalities depend on each
other."""
INDEPENDENT_SQUARE = 1e-12
"""Squared norm of a term outside the span of earlier terms, relative to its squared norm. A term
with less is a combination of them."""
DIAGONAL_ROUNDING = 1e-13
"""Added to the diagonal of matrices whose diagonal is about one, so that they are invertible."""

MIN_DEPENDENCE_WEIGHT = 1e-6
"""Norms of a term. Smaller weights in a combination of terms are not listed."""
MIN_EIGENVALUE = 1e-12
"""Largest eigenvalue. The data do not determine directions with less."""
MIN_EIGENVALUE_SINGLE = 1e-9
"""The same for single precision, in which a projection on less fails."""
MIN_BASIS_EIGENVALUE = 1e-15
"""Largest eigenvalue of D. Directions with less are omitted in held-out folds."""

# -- constrained problems ------------------------------------------------------------------
SLOPE_ROUNDING = 1e-11
"""Size of a slope or of its summands. Smaller slopes are treated as zero."""
COEFFICIENT_ROUNDING = 1e-13
"""Largest coefficient, if all columns have equal size. A coefficient this close to a bound is at
the bound."""
EQUALITY_TOLERANCE = 1e-9
"""Size of an equality. An equality with a smaller residual is treated as satisfied."""
MAX_PIVOT_ROUNDS = 25
"""Rounds of block pivoting; a few suffice if it converges at all."""
PIVOT_PATIENCE = 4
"""Rounds without fewer coefficients to correct, after which block pivoting stops."""
DAQP_TOLERANCE = 1e-7
"""Tolerance of the constraints in DAQP, if all columns have equal size."""
MAX_DAQP_ITERATIONS = 10_000
"""Iterations of DAQP."""
MIN_CURVATURE = 1e-8
"""Smallest eigenvalue of a matrix for DAQP, if all columns have equal size. Smaller ones are
rounding."""
PROXIMITY = 1e-7
"""Share of the curvature of each coefficient that a proximal step adds: well above rounding, well
below the curvature of determined coefficients."""
MAX_PROXIMAL_STEPS = 30
"""Proximal steps; two or three converge to rounding error."""
PROXIMAL_TOLERANCE = 1e-14
"""Largest slope. Proximal steps stop at smaller ones."""

# -- ridge of the residual -----------------------------------------------------------------
RIDGES = (*(10.0 ** np.arange(-12, 2)), np.inf)
"""Candidates for rho. Infinite rho means no residual."""
RIDGE_FOLDS = 5
"""Parts of the rows that are held out in turn."""
TIE = 0.05
"""Relative. Squared errors that differ by less are treated as equal."""
NEGLIGIBLE_ERROR = 1e-10
"""Squared target. Smaller errors need no residual."""

# -- sums over rows ------------------------------------------------------------------------
MIN_BLOCK_ROWS, BLOCK_NUMBERS = 512, 2**16
"""Rows and numbers of a block, which fits into the cache."""
MAX_BLOCK_ROWS, MAX_BLOCK_NUMBERS = 16384, 2**23
"""Rows and numbers of a block that is sorted by cell."""
CENTERED_ROWS = 5000
"""Rows that determine sizes and correlations of terms."""
CONSTANT_TERM_STD = 1e-12
"""Root mean square of a term. A smaller standard deviation is treated as rounding."""
MAX_CELL_NUMBERS = 2**24
"""Numbers of all cells. Groups are merged until they fit."""
MANY_COLUMNS, MAX_CUT_NUMBERS, MIN_CUT_CELLS = 512, 2**26, 4
"""Columns from which cuts are omitted until cells have this many numbers; and cells that remain for
any number of columns."""
MAX_TERM_VALUE = 1e100
"""Unit of a term. A larger value beyond the data counts as undefined."""
MAX_COUNTED_CODE = 2**20
"""Codes of cells up to this number are counted; larger ones are sorted."""

# -- gradient training ---------------------------------------------------------------------
MAX_SINGLE_PRECISION = 1e18
"""Unit of a number. The square of a larger one exceeds single precision."""
STRETCH_SECONDS = 0.5
"""Seconds of training between two progress reports."""
