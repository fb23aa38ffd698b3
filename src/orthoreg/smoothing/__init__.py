"""Pure functions of sampled data: sliding polynomials, noise, outliers and windows of the weak
form.
"""

from ._clipping import bridged as bridged
from ._clipping import find_range_limits as find_range_limits
from ._limits import MIN_POLYNOMIAL_ROWS as MIN_POLYNOMIAL_ROWS
from ._limits import MIN_VELOCITY_ROWS as MIN_VELOCITY_ROWS
from ._maps import MapNoise as MapNoise
from ._maps import estimate_map_noise as estimate_map_noise
from ._noise import Outliers as Outliers
from ._noise import estimate_noise as estimate_noise
from ._noise import estimate_noise_growth as estimate_noise_growth
from ._noise import find_outliers as find_outliers
from ._noise import relative_variance as relative_variance
from ._polynomial import Offsets as Offsets
from ._polynomial import Smoother as Smoother
from ._polynomial import Times as Times
from ._polynomial import Values as Values
from ._polynomial import best_polynomial as best_polynomial
from ._polynomial import best_smoother as best_smoother
from ._polynomial import equal_step_weights as equal_step_weights
from ._polynomial import have_equal_steps as have_equal_steps
from ._polynomial import left_out_errors as left_out_errors
from ._polynomial import local_weights as local_weights
from ._polynomial import mean_steps as mean_steps
from ._polynomial import parabola_slopes as parabola_slopes
from ._polynomial import polynomial_weights as polynomial_weights
from ._polynomial import sliding_fit as sliding_fit
from ._polynomial import velocities as velocities
from ._polynomial import weighted_sum as weighted_sum
from ._polynomial import windows as windows
from ._windows import Windows as Windows
from ._windows import bump_windows as bump_windows
