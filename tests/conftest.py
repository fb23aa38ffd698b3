"""Shapes in annotations are checked in every test."""

from shapes import begin_test, watch

# the estimator and its recipe are not checked, because they report wrong arguments themselves:
# scikit-learn requires a constructor that accepts any value
CHECKED = [
    f"orthoreg.{name}"
    for name in (
        "data", "diagnostics", "export", "field", "findings", "fitting._adapt",
        "fitting._parameters", "fitting._route", "losses", "matching", "search", "simulation",
        "smoothing", "solving", "systems", "terms",
    )
] + [
    f"paper.{name}" for name in ("_peers", "_portraits", "_settings", "_statements", "sweeps")
]  # fmt: skip

# remains active, because orthoreg imports its modules on first use
watch(CHECKED, "beartype.beartype")

import os
import shutil

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
    """Twenty runs of the modified pendulum, which are enough for a fit."""
    from orthoreg.systems import Pendulum, Split, generate

    return generate(Pendulum(), Split.train, runs=20)


@pytest.fixture(scope="session")
def pendulum_model(pendulum_runs) -> orthoreg.OrthoReg:
    """A small fitted model, which tests must not change."""
    return orthoreg.OrthoReg(augmentation=orthoreg.RandomFeatures(60)).fit(pendulum_runs)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


CHROMIUM = os.environ.get("ORTHOREG_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests, because Playwright needs a process for each."""
    if CHROMIUM is None:
        pytest.skip("There is no Chromium: install Debian's package chromium to test pages.")
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()
