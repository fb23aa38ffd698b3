"""Every number that decides what is said about a model, side by side.

Errors are relative to the root mean square of what is predicted; shares are of a square.
"""

# -- the verdict ---------------------------------------------------------------------------
GOOD_ERROR = 0.05  # of a derivative: up to here an equation explains it
FAIR_ERROR = 0.2  # up to here roughly; beyond, it does not
GOOD_FORECAST = 0.1  # of the states over whole runs: up to here forecasts hold
POOR_FORECAST = 0.3  # beyond, they fail
FAILED_FORECASTS = 0.25  # share of forecasts that end early, from which on they fail
NOISE_MARGIN = 1.4  # errors up to so many times the noise of a derivative may be that noise
HIDDEN_MISFIT = 0.2  # of a state's motion: data that could not show a smaller misfit decide nothing
SMALLEST_NOISE = 5e-4  # of a state's motion: less is what integrators and files round away
STILL = 1e-9  # a rate that over the whole time changes less of a state's size is rounding
FEWEST_ROWS = 10  # with fewer, nothing is judged

# -- terms and residual --------------------------------------------------------------------
LIKELY = 0.5  # a less probable term in use is named in the verdict
NOTABLE = 0.05  # probability of a term that was left out, from which on it is shown
LEAST_ERROR = 1e-8  # errors are roots of differences of squares: rounding below this
NEGLIGIBLE_OVERLAP = 1e-6  # overlap of a residual that is orthogonal
NOTABLE_RESIDUAL = 0.01  # of a derivative's size
LIBRARY_SHARE = 0.5  # of a residual: above, terms that were left out could represent it

# -- whether the columns determine a derivative --------------------------------------------
COVERED_ROWS = 50  # rows with neighbours at other times that any statement needs,
COVERED_SHARE = 0.2  # and their share of all rows
NEAR = 0.3  # standard deviations: neighbours further away are none,
BESIDE = 0.05  # and those from beside which the row would have to be extrapolated
UNDETERMINED = 0.08  # share of a derivative that no function of the columns explains
NOISE_BLUR = 4.0  # times the noise level: a share below may come from noise in the columns
SHARE_BLUR = 0.2  # times the noise level: a share below may be none at all
FREE = 0.5  # share from which on a rate counts as a state of its own
DETERMINED = 0.2  # share that a function of more columns may leave for these to determine it
DETERMINED_BLINDLY = 0.05  # the same where the library alone tells
IMPROVABLE = 0.01  # error beyond noise that another library is tried for
CLEARLY = 0.5  # a remedy leaves at most so much of the error
VISIBLY = 0.75  # and, noise included, at most so much
MUCH = 0.3  # and of the unexplained share, where two explanations compete

# -- data ----------------------------------------------------------------------------------
ROWS_PER_TERM = 5  # rows for each candidate term
SAMPLES_PER_PERIOD = 8
ROWS_PER_RUN = 6
NOISE_LEVEL = 0.03  # of a state's standard deviation: more is much,
SLOPE_NOISE = 0.1  # and so is noise that leaves so much in the derivative,
LEAST_NOISE = 0.005  # unless it is less than this
UNRELATED = 0.71  # of a state's standard deviation, half its variance: differences show no motion
FEWEST_PERIODS = 2.5  # of a forcing that is claimed to be seen

# -- forecasts that cannot last ------------------------------------------------------------
GROWTH = 4.0  # logarithm of a perturbation's growth over a run
SUSTAINED = 0.3  # of the mean rate of growth, in each half of a run
LOST = 0.3  # of the states' size: a forecast that is off by more is lost
