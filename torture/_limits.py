"""Limits of a trial, and of the process that runs it."""

CPU_SECONDS = 5.0  # seconds of CPU for a trial. A longer trial counts as a hang
MEMORY = 1 << 30  # bytes resident during a trial. A trial that uses more is a failure
ADDRESS_SPACE = 4 << 30  # bytes that a process may reserve beyond its size before the first trial
WALL_FACTOR = 20  # wall seconds allowed per CPU second, because the machine is shared
START_SECONDS = 300.0  # wall seconds for imports and the preparation of an attack
SIGNIFICANCE = 0.001  # p-value of the binomial test below which a statistical promise is broken
SHOWN_FAILURES = 5  # failures of an attack that the record describes. All failures are counted
