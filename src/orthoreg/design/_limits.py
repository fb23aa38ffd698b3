"""Constants for the design of experiments."""

CANDIDATES = 240  # first runs to choose from. Refining the chosen ones costs less than more runs
ROUNDS = 8  # of variants of the chosen runs. Twice as many narrow intervals by less than 5%
VARIANTS = 20  # of each chosen run per round
MAX_MOVE = 0.25  # standard deviation of a variant's start in the first round, relative to the range
MAX_ROWS = 2000  # of a planned run
CYCLES = 10.0  # of an input's fastest oscillation over a run, if no bandwidth is given
TONES = 6  # maximum of a multisine: enough for several constants; crest factor near 2
EXCHANGES = 4  # passes over the chosen runs. The second pass rarely changes a run
MIN_GAIN = 1e-9  # of the value: smaller differences are rounding
MIN_VARIANCE = 1e-12  # relative to a constant's square. Exactly known constants have less
COVERED_ROWS = 64  # of a run. Their distances measure its coverage
