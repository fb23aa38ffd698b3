"""Constants for the design of experiments."""

CANDIDATES = 240  # initial runs to choose from; refining the chosen runs costs less than more runs
ROUNDS = 8  # rounds of variants of the chosen runs; twice as many narrow intervals by less than 5%
VARIANTS = 20  # variants of each chosen run per round
# standard deviation of a variant's start in the first round, as a share of the range
MAX_MOVE = 0.25
MAX_ROWS = 2000  # of a planned run
CYCLES = 10.0  # periods of an input's fastest oscillation per run, if no bandwidth is given
TONES = 6  # maximum tones of a multisine: enough for several constants; crest factor near 2
EXCHANGES = 4  # maximum passes over the chosen runs; the second rarely changes a run
MIN_GAIN = 1e-9  # share of the value below which differences are rounding
MIN_VARIANCE = 1e-12  # variance below which a constant counts as exact, as a share of its square
COVERED_ROWS = 64  # rows of a run whose distances measure its coverage
