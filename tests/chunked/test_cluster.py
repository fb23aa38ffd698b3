"""Fits on a Dask cluster have the same digits, also if workers die, and failures are reported."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import orthoreg as og
from orthoreg._common.parallel import (
    _FAN_IN,
    ClusterError,
    _combined,
    _Tree,
    map_in_order,
    map_reduce,
)
from orthoreg.data import chunked

distributed = pytest.importorskip("distributed")


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 63, 64, 65, 600])
def test_results_are_combined_here_in_the_tree_of_a_cluster(count):
    class Order(str):
        """A text whose sum shows the order of the additions."""

        def __add__(self, other: str) -> "Order":
            return Order(f"({self}{other})")

    tree, level = _Tree(), [Order(f"{i},") for i in range(count)]
    for one in level:
        tree.add(one)
    while len(level) > 1:
        level = [_combined(level[i : i + _FAN_IN]) for i in range(0, len(level), _FAN_IN)]
    assert tree.total() == level[0]


def test_without_a_cluster_work_is_done_here():
    assert map_in_order(lambda x: 2 * x, [3, 1, 2], "") == [6, 2, 4]
    assert map_reduce(lambda x: 2 * x, [3, 1, 2], "") == 12
    with og.cluster(None) as nobody:
        assert nobody is None
    for wrong in (0, True, -1, 2.5):
        with pytest.raises(og.InputError, match="A cluster is a number of local workers"):
            with og.cluster(wrong):
                pass


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named():
    with pytest.raises(og.InputError, match="No Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        with og.cluster("tcp://127.0.0.1:9"):
            pass


def _unreadable(number: int) -> np.ndarray:
    if number == 5:
        raise og.DataError("f5.parquet could not be read: it is not there.")
    return np.full(3, float(number))


def _deadly(number: int) -> np.ndarray:
    if number == 5:
        os._exit(1)  # like a worker that the system kills because of its memory
    return np.full(3, float(number))


def _slow(number: int) -> np.ndarray:
    time.sleep(0.1)
    return np.full(3, 0.1 * number)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_faults_of_workers():
    data = og.Dataset.from_arrays(
        [[[np.exp(-0.1 * i * k)] for i in range(40)] for k in range(1, 41)], 0.1
    )
    parts = chunked(data, 100)
    model = og.OrthoReg(og.Polynomial(2), og.Zero(), loss=og.VectorField())
    alone = model.fit(parts).coefficients_
    here = map_reduce(_slow, range(100), "")
    with og.cluster(2) as client:
        assert_array_equal(model.fit(parts).coefficients_, alone)
        with pytest.raises(og.DataError, match="f5.parquet could not be read"):
            map_reduce(_unreadable, range(20), "")
        with pytest.raises(ClusterError, match="4 workers died while processing the same chunk"):
            map_reduce(_deadly, range(20), "")
        client.wait_for_workers(1, timeout=60)
        (pid, *_) = client.run(os.getpid).values()
        threading.Timer(1.0, os.kill, (pid, signal.SIGKILL)).start()
        assert_array_equal(map_reduce(_slow, range(100), ""), here)
        address = client.scheduler.address
        with og.cluster(address):
            assert map_in_order(_slow, [2, 1], "")[0][0] == 0.2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_tuning_resamples_and_searches_on_a_cluster():
    t = np.linspace(0, 6, 120)
    x = np.stack([np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in (0.5, 1.0, 1.5, 2.0)])
    data, parts = og.Dataset.from_arrays(x, t), og.ChunkedDataset.from_arrays(x, t, rows=150)
    exact = og.OrthoReg(og.Polynomial(2), og.Zero(), solver=og.Exact())

    def all_of_it() -> list[np.ndarray]:
        model = og.OrthoReg(og.Polynomial(2)).fit(parts)
        found = og.discover(data)
        return [
            og.tune(exact, parts, folds=2).path.errors,
            og.bootstrap(model).interval,
            np.array([one.score for one in found.models]),
            found.best.coefficients_,
        ]

    here = all_of_it()
    with og.cluster(2) as client:
        before = client.run(os.getpid)
        for there, alone in zip(all_of_it(), here, strict=True):
            assert_array_equal(there, alone)
        assert len(before) == 2
