"""Measurements of time and accuracy. `python -m benchmarks` runs all."""

import os

# one thread, so that CPU seconds are comparable; set before NumPy and JAX are loaded
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
