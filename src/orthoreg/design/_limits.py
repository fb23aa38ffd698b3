"""Constants of the choice of experiments."""

CANDIDATES = 240  # runs to choose from. Twice as many gain a few percent of the information
MAX_ROWS = 2000  # of a planned run
CYCLES = 10.0  # of an input's fastest oscillation over a run, if no bandwidth is given
TONES = 6  # maximum of a multisine: enough for several constants; crest factor near 2
EXCHANGES = 4  # passes over the chosen runs. The second pass rarely changes a run
MIN_GAIN = 1e-9  # of the value: smaller differences are rounding
MIN_VARIANCE = 1e-12  # relative to a constant's square. Exactly known constants have less
COVERED_ROWS = 64  # of a run. Their distances measure its coverage
MAX_PREDICTION_STD = 0.3  # of a run's range. If larger, linearized sensitivities are not valid
