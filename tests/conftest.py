"""Shapes written in annotations are checked in every test."""

from shapes import begin_test, watch

# not the estimator and its recipe, which tell users in words what is wrong with their parts:
# scikit-learn's contract wants a constructor that takes anything
CHECKED = [
    f"orthoreg.{name}"
    for name in (
        "_field", "_gate", "_geometry", "_objective", "augmentations", "data", "diagnostics",
        "differentiation", "explanation", "export",
        "fitting._adapt", "fitting._parameters", "fitting._route",
        "libraries", "losses", "moments", "penalties", "quadratic", "refinement", "selection",
        "simulation", "smoothing", "solvers", "summary", "systems",
    )
] + [
    f"paper.{name}" for name in ("_peers", "_portraits", "_settings", "_statements", "sweeps")
]  # fmt: skip

# stays in place: orthoreg imports its parts when they are first used
watch(CHECKED, "beartype.beartype")

import hypothesis
import numpy as np
import pytest

import orthoreg

hypothesis.settings.register_profile("orthoreg", deadline=None, derandomize=True, max_examples=40)
hypothesis.settings.load_profile("orthoreg")


def pytest_runtest_setup() -> None:
    begin_test()


@pytest.fixture(scope="session")
def pendulum_runs() -> orthoreg.Dataset:
    """Twenty runs of the modified pendulum: enough to fit, quick to make."""
    from orthoreg.systems import Pendulum, Split, generate

    return generate(Pendulum(), Split.train, runs=20)


@pytest.fixture(scope="session")
def pendulum_model(pendulum_runs) -> orthoreg.OrthoReg:
    """A small fitted model; tests must not change it."""
    return orthoreg.OrthoReg(augmentation=orthoreg.RandomFeatures(60)).fit(pendulum_runs)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
