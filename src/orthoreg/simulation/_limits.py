"""Decisive constants of this package, each with a unit and a reason.

Tolerances and the rule for step sizes are arguments of `integrate` and constants of the method.
"""

# -- stages of an integration ------------------------------------------------------------------
COMPILATION = 1.4e8
"""Function values (sines, tanh) that NumPy computes in the time of loading JAX and compiling, about
four seconds."""

CALL_COST = 5000
"""Function values in the time of a call of NumPy for one slope."""

COMPILED_SAVING = 2 / 3
"""Share of the time of a function value that compiled code saves."""

ROW_COST = 5
"""Function values in the additional time of compiled code for each rollout."""

SWITCHING_COST = 5
"""Cost of a step in NumPy in which signs may change, in ordinary steps."""

MAX_BLOCK_STEPS = 256
"""Steps in NumPy between two decisions on how to continue."""

MAX_STEPS = 1_000_000
"""Explicit steps of a rollout; it then stalls."""

MAX_STEPS_PER_TIME = 100
"""Additional steps of a rollout for each requested time."""

MAX_IMPLICIT_STEPS = 100_000
"""Implicit steps of a rollout. They take about two minutes."""

MAX_STIFF_STEPS = 10_000
"""Remaining steps of a stiff rollout in NumPy. With more, the implicit method is faster: its steps
take ten times as long, but a thousand are enough."""

MAX_STIFF_STEPS_COMPILED = 200_000
"""Remaining steps of a stiff rollout in compiled code."""

MIN_STEPS_RECOMPILED = 20_000
"""Remaining steps of a few of many rollouts that justify another compilation."""

STIFF_RATE = 2.0
"""Rate times step size. The method is stable up to about 3, and accurate only far below."""

GROWN_SHARE = 1e-4
"""Of the bound of a state. If a state is larger when steps vanish, the rollout has diverged."""

MIN_STEP = 1e-14
"""Of the total time. Smaller steps are not taken."""

FIRST_STEP = 0.01
"""Of the total time, or of the unit of time if that is shorter. Size of the first step."""

# -- sign changes ------------------------------------------------------------------------------
LEAVING_MARGIN = -1e-10
"""Share of Filippov's combination beyond 0 or 1 at which sliding ends."""

ROOT_TOLERANCE = 1e-13
"""Of a step. Accuracy of the time of a sign change."""

MAX_EVALUATIONS = 100
"""Evaluations in the search for that time."""

SWEEPS = 60
"""Gauss-Seidel sweeps, if several surfaces meet."""

INSIDE = 1e-12
"""Distance of a share from 0 and 1 below which a rollout does not slide."""

# -- inputs ------------------------------------------------------------------------------------
FUNCTION_DEGREE = 7
"""Degree of the polynomials that approximate a function of time."""

FUNCTION_TOLERANCE = 1e-10
"""Of the range of the function. Error of these polynomials."""

MIN_CELL = 1e-12
"""Of the total time. A function that changes within less has a jump."""

MAX_CELLS = 20_000
"""Polynomials for a function, plus ten for each requested time. More mean that it is noisy."""

MIN_ISOLATED = 0.9
"""Share of the changes of a stepped input that are between repeated values."""

MIN_ROWS = 4
"""Rows. In fewer, two values are no evidence of steps."""

MIN_JUMP = 0.05
"""Of the range. Smaller steps are those of a quantised signal."""
