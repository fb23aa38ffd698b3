"""The rate of the pass that gathers moments, relative to a matrix product, in one process with one
thread: `python -m benchmarks.scale._rates`."""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import orthoreg as og
from benchmarks import flows
from orthoreg.data import extrapolation_rule
from orthoreg.solving import gather, gather_partitioned
from orthoreg.terms import bind

_SIZE, _TRIES = 1024, 3


def main() -> None:
    matrix = np.random.default_rng(0).standard_normal((_SIZE, _SIZE))
    pendulum, chain = _rows(flows.pendulum, 2, 2500), _rows(flows.chain, 200, 500)
    small = bind(og.Polynomial(2) + og.Fourier(1), pendulum.names, pendulum.outputs)
    large = bind(og.Polynomial(1), chain.names, chain.outputs)
    basis = og.RandomFeatures(400).init(
        pendulum.extent.mean, pendulum.extent.std, rng=np.random.default_rng(0)
    )
    results = []
    for words, rows, features, network in (
        ("selection, pendulum", pendulum, small, None),
        ("selection, 200 states", chain, large, None),
        ("residual of 400 units, pendulum", pendulum, small, basis),
    ):
        terms, others = len(features.names), rows.targets.shape[1]
        if network is None:
            rule = extrapolation_rule(rows, 0.5, 2.0)
            seconds = _min_seconds(lambda: gather_partitioned(features, rows, rule))  # noqa: B023
            columns = terms + others
            flops = len(rows) * (columns**2 + terms**2)  # on the data and beyond the data
        else:
            seconds = _min_seconds(lambda: gather(features, network, rows))  # noqa: B023
            columns = terms + network.size + others
            flops = len(rows) * columns**2
        rate = 2 * _SIZE**3 / _min_seconds(lambda: matrix @ matrix)
        results.append({"words": words, "columns": columns, "seconds": seconds, "rows": len(rows),
                        "gemm": rate, "share": flops / seconds / rate})  # fmt: skip
    print(json.dumps({"moments": results}))


def _rows(slope: Callable[[np.ndarray], np.ndarray], dimension: int, runs: int) -> Any:
    states, times = flows.runs(runs, 100, slope, dimension)
    return og.VectorField(og.FiniteDifference()).observe(og.Dataset.from_arrays(states, times))


def _min_seconds(call: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(_TRIES):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
