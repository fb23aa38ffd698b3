"""Reach of the gate of a refined residual."""

from dataclasses import replace

import numpy as np

import orthoreg as og
from orthoreg.field.gate import Gate
from orthoreg.matching._constants import Constants
from orthoreg.matching._matching import MatchSolution, Stage
from orthoreg.matching._problem import Problem
from orthoreg.matching._residual import open_gate
from orthoreg.matching._segments import cut


def decays():
    """Runs of x' = -0.5 x with growing initial values."""
    times = np.linspace(0, 4, 21)
    exact = [start * np.exp(-0.5 * times)[:, None] for start in np.linspace(0.5, 2.0, 12)]
    return og.Dataset.from_arrays(exact, times, names=["x"])


def opened(data, prior):
    """Return the gate of x' = residual before and after `open_gate`."""
    model = og.OrthoReg(og.Terms(["1"]), og.RandomFeatures(8, weight_scale=(0.3, 1.0))).fit(data)
    gate = Gate()(data.variables, data.run_of_row % 5, model.field_.neural)
    weights = np.linalg.lstsq(model.field_.basis(data.variables), -0.5 * data.states, rcond=None)[0]
    zeros = np.zeros_like(model.field_.coefficients)
    field = replace(
        model.field_, coefficients=zeros, correction=zeros, weights=weights, region=gate
    )
    constants = Constants.of(field)
    problem = Problem(field, constants, data, {}, data.states.std(axis=0), data.is_measured)
    segments = cut(data, 20, 4000)
    starts = np.moveaxis(data.states[segments.rows], 2, 1)[0]
    precision = np.full(constants.size, prior)
    stage = Stage(
        20, segments, 1, np.array([1e-4]), precision,
        MatchSolution(problem.initial_constants, starts, None, True),  # pyright: ignore[reportArgumentType]
    )  # fmt: skip
    found = open_gate(field, problem, stage, data.states, constants.bounds(field, {}))
    assert found.region is not None
    return gate, found.region


def test_a_residual_that_extrapolates_gets_a_wider_gate():
    data = decays()
    gate, region = opened(data, 1e-6)
    assert region.fade == 2.0
    far = np.array([[2.2]])
    assert region.distance(far) < gate.distance(far)
    assert region.share(far) > gate.share(far)


def test_the_gate_stays_with_few_runs():
    data = decays()
    gate, region = opened(data.only(data.run_of_row < 6), 1e-6)
    assert region.fade == gate.fade and np.array_equal(region.rate, gate.rate)
