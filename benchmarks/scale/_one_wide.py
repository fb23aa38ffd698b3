"""Fit many states in a separate process: `python -m benchmarks.scale._one_wide NAME`."""

import json
import sys
import time

import numpy as np

import orthoreg as og
from benchmarks import flows

from ._memory import peak_memory
from ._wide import WIDE


def main(name: str) -> None:
    case = WIDE[name]
    states, times = flows.runs(case.runs, 100, case.slope, case.states)
    data = og.Dataset.from_arrays(states, times)
    del states
    start = time.process_time()
    model = og.OrthoReg(case.library).fit(data)
    cpu = time.process_time() - start
    expected = np.zeros_like(model.support_)
    columns = [model.feature_names_.index(name) for name in data.state_names]
    expected[:, columns] = case.support(case.states)
    print(json.dumps({
        "states": case.states, "terms": len(model.feature_names_), "rows": data.n_samples,
        "cpu": cpu, "memory": peak_memory(),
        "wrong_terms": int((model.support_ != expected).sum()),
    }))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
