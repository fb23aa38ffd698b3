"""Attacks on the promises of orthoreg: hostile input, faults, and data that could mislead it.

`python -m torture` runs all attacks. To add an attack, write a function in a module of
`torture/attacks/` and mark it with `@attack`; see `torture/_attack.py`.
"""

import os

# one thread, so that CPU seconds are comparable; set before NumPy is loaded
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # other pools reserve a gigabyte
