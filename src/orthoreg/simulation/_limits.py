"""Decisive constants of this package, each with a unit and a reason.

Tolerances are arguments of `integrate`.
"""

import numpy as np

from ..data import EQUAL_MAP_STEPS as EQUAL_MAP_STEPS

# -- stages of an integration ------------------------------------------------------------------
COMPILATION = 1.4e8
"""Number of function values (sines, tanh) that NumPy computes in the time, about four seconds, in
which JAX is loaded and compiles."""

CALL_COST = 5000
"""Number of function values that take as long as the overhead of one evaluation in NumPy."""

COMPILED_SAVING = 2 / 3
"""Share of the time of a function value that compiled code saves."""

ROW_COST = 5
"""Additional cost of each rollout in compiled code, in function values."""

SWITCHING_COST = 5
"""Cost of a NumPy step with possible sign changes, in ordinary steps."""

MAX_BLOCK_STEPS = 256
"""Maximum number of NumPy steps between two decisions on how to continue."""

MAX_STEPS = 1_000_000
"""Maximum number of explicit steps of a rollout. After these, it has stalled."""

MAX_STEPS_PER_TIME = 100
"""Number of additional steps of a rollout for each requested time."""

MAX_IMPLICIT_STEPS = 100_000
"""Maximum number of implicit steps of a rollout. They take about two minutes."""

MAX_STIFF_STEPS = 10_000
"""Maximum number of remaining steps of a stiff rollout in NumPy. With more, the implicit method is
faster: its steps take ten times as long, but a thousand steps are enough."""

MAX_STIFF_STEPS_COMPILED = 200_000
"""Maximum number of remaining steps of a stiff rollout in compiled code."""

MIN_STEPS_RECOMPILED = 20_000
"""Minimum number of remaining steps for which another compilation pays, when only a few of many
rollouts remain."""

STIFF_RATE = 2.0
"""Product of rate and step size above which stability limits a step. The method is stable up to
about 3, but accurate only far below."""

GROWN_SHARE = 1e-4
"""Share of a state's bound above which a rollout has diverged if its steps become too small."""

MIN_STEP = 1e-14
"""Minimum step size, as a share of the total time."""

STEP_SAFETY, MIN_STEP_RATIO, MAX_STEP_RATIO = 0.9, 0.2, 10.0
"""Ratio of the next step size to the largest one whose error would be accepted, and bounds on its
ratio to the last one. Usual values of step-size control. [Hairer, Norsett and Wanner, section
II.4]"""

FIRST_STEP = 0.01
"""Size of the first step, as a share of the total time, or of the unit of time if that is
shorter."""

# -- sign changes ------------------------------------------------------------------------------
CHECKED_FRACTIONS = np.array([0.25, 0.5, 0.75])
"""Fractions of a step at which signs are checked, in addition to its end."""

LEAVING_MARGIN = -1e-10
"""Distance of Filippov's weight beyond 0 or 1 at which sliding ends."""

ROOT_TOLERANCE = 1e-13
"""Accuracy of the time of a sign change, as a share of a step."""

MAX_EVALUATIONS = 100
"""Maximum number of evaluations in the search for that time."""

SWEEPS = 60
"""Number of Gauss-Seidel sweeps if several surfaces meet."""

INSIDE = 1e-12
"""Distance of Filippov's weight from 0 and 1 below which a rollout does not slide."""

# -- inputs ------------------------------------------------------------------------------------
FUNCTION_DEGREE = 7
"""Degree of the polynomials that approximate a function of time."""

FUNCTION_TOLERANCE = 1e-10
"""Maximum error of these polynomials, as a share of the range of the function."""

MIN_CELL = 1e-12
"""Minimum width of a polynomial's interval, as a share of the total time. A faster change of the
function is a jump."""

MAX_CELLS = 20_000
"""Maximum number of polynomials for a function, plus ten for each requested time. A function that
needs more polynomials is noisy."""

MIN_ISOLATED = 0.9
"""Minimum share of changes between repeated values among all changes of a stepped input."""

MIN_ROWS = 4
"""Minimum number of rows for the detection of steps. With fewer rows, two values are no evidence of
steps."""

MIN_JUMP = 0.05
"""Minimum size of visible steps, as a share of the input's range. Smaller steps come from a
quantized signal."""

# -- maps --------------------------------------------------------------------------------------
MAX_STEP_TOLERANCE = 0.1
"""Maximum rounding of a time, in steps of a map; it grows by `EQUAL_MAP_STEPS` per step."""

# -- delays ------------------------------------------------------------------------------------
TIME_ROUNDING = 1e-6
"""Difference of times, in time steps, below which times are equal. Times in files are rounded."""

MIN_ROWS_AFTER_DELAY = 5
"""Minimum number of rows with a history in a run. Runs with fewer such rows are omitted."""

STEPS_PER_DELAY = 32
"""Number of rows per delay that store a delayed state during a simulation. The error of the cubic
spline through them is about a millionth for motion no faster than the delay."""

MAX_DELAY_STEPS = 20_000
"""Maximum number of stretches of one delay in a simulation. More stretches would take minutes."""
