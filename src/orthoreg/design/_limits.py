"""Constants of the choice of experiments."""

CANDIDATES = 240  # runs to choose from. Twice as many gain a few percent of the information
MAX_ROWS = 2000  # of a planned run
CYCLES = 10.0  # of the fastest oscillation of an input over a run, without a bandwidth
TONES = 6  # of a multisine at most: enough for several constants, with a crest factor near 2
EXCHANGES = 4  # passes over the chosen runs. The second rarely changes one
MIN_GAIN = 1e-9  # of the value: smaller differences are rounding
MIN_VARIANCE = 1e-12  # relative to a constant's square: constants that are known exactly
COVERED_ROWS = 64  # of a run, whose distances measure what it covers
MAX_PREDICTION_STD = 0.3  # of a run's range. Beyond, sensitivities are those of another motion
