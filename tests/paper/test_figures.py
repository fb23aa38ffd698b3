"""Figures of synthetic records are written, and the same records give the same bytes."""

import json

import numpy as np
import pytest
from matplotlib.text import Text

from orthoreg.systems import Duffing, Pendulum
from paper import figures
from paper._evidence import LABELS
from paper._portraits import _ends, portrait_record

pytestmark = pytest.mark.slow  # many small solves, and figures

METRICS = ("f1@0.001", "derivative.t2", "derivative.t3", "rollout.t2", "rollout.t3", "cosine",
           "overlap", "symbolic_share")  # fmt: skip


def settings() -> dict[str, tuple[str, ...]]:
    """The settings in which each method has records."""
    shown: tuple[str, ...] = figures.SHOWN
    names = ["pendulum/low", "pendulum/medium", "pendulum/high"]
    names += [f"pendulum/medium/irregular/{kind}" for kind in ("stamps", "equal-steps")]
    names += [f"pendulum/medium/samples={count}" for count in figures.SAMPLES]
    names += [
        f"pendulum/medium/noise={level}/{targets}"
        for level in figures.NOISES
        for targets in ("smoothed", "analytic")
    ]
    found: dict[str, tuple[str, ...]] = {name: shown for name in names}
    found["pendulum/medium"] += tuple(f"orthoreg@lam={lam}" for lam in figures.LAMBDAS)
    return found


def some_records() -> list[dict]:
    rng = np.random.default_rng(0)
    rows = []
    for setting, methods in settings().items():
        for method in methods:
            for seed in range(2):
                values = dict(zip(METRICS, rng.uniform(0.1, 0.9, len(METRICS)), strict=True))
                lost = 3.0 if method == "pure@0.001" else 0.0
                values |= {"diverged.t2": lost, "diverged.t3": lost}
                if method == "stlsq":  # no completed rollout and no residual
                    values |= {"rollout.t2": None, "rollout.t3": None, "cosine": None}
                rows += [
                    {"setting": setting, "method": method, "seed": seed, "metric": metric,
                     "value": value} for metric, value in values.items()
                ]  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def records():
    return some_records()


def a_portrait(system: str, method: str) -> dict:
    angle = np.linspace(0, 6, 30)
    run = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    grid = np.linspace(-1.5, 1.5, 9)
    size = np.abs(grid)[:, None] + np.abs(grid)
    return {
        "system": system, "method": method, "states": ["a", "b"], "true": [run.tolist()] * 2,
        "rollouts": [(0.9 * run).tolist(), run[:7].tolist()], "diverged": [False, True],
        "x": grid.tolist(), "y": grid.tolist(), "symbolic": size.tolist(),
        "neural": (0.1 * size).tolist(),
        "ends": [[-1] * 4 + [1] * 5] * 9 if system == "duffing" else [],
    }  # fmt: skip


PORTRAITS = [
    a_portrait(system, method)
    for system in ("pendulum", "duffing")
    for method in ("pure@0.001", "l2", "orthoreg")
]


def test_every_figure_is_a_png_and_an_svg_and_the_svg_is_the_same_twice(records, tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    first, second = (figures.draw(records, PORTRAITS, folder) for folder in folders)
    names = ["ablations", "noise", "sample_size", "portraits"]
    assert [path.name for path in first] == [f"{n}.{e}" for n in names for e in ("png", "svg")]
    for one, other in zip(first, second, strict=True):
        content = one.read_bytes()
        assert content.startswith(b"\x89PNG" if one.suffix == ".png" else b"<?xml")
        assert content == other.read_bytes()
        assert b"dc:date" not in content


def test_the_global_settings_of_matplotlib_are_left_alone(records):
    import matplotlib

    before = dict(matplotlib.rcParams)
    figures.noise(records)
    assert dict(matplotlib.rcParams) == before


def test_all_text_is_at_least_eight_points(records):
    for figure in (
        figures.ablations(records), figures.noise(records), figures.sample_size(records),
        figures.portraits(PORTRAITS),
    ):  # fmt: skip
        figure.canvas.draw()
        sizes = [float(text.get_fontsize()) for text in figure.findobj(Text)]
        assert len(sizes) > 20 and min(sizes) >= 8


def test_axes_are_labelled_and_the_legend_covers_none(records):
    for figure in (
        figures.noise(records),
        figures.sample_size(records),
        figures.ablations(records),
    ):
        figure.canvas.draw()
        legend = figure.legends[0].get_window_extent()
        assert not any(axes.get_window_extent().overlaps(legend) for axes in figure.axes)
        assert all(
            axes.get_ylabel() for axes in figure.axes if axes.get_subplotspec().is_first_col()
        )
        assert all(
            axes.get_xlabel() for axes in figure.axes if axes.get_subplotspec().is_last_row()
        )


def test_methods_have_a_look_of_their_own_and_a_name():
    in_tables_only = {"base", "discovery", "truth", "pysindy", "operon"}
    assert set(figures.STYLES) == set(LABELS) - in_tables_only
    styles = figures.STYLES.values()
    assert len({style.colour for style in styles}) == len({s.marker for s in styles}) == len(styles)


def test_error_bars_are_deviations_over_seeds_and_open_points_have_diverged(records):
    axes = figures.sample_size(records).axes[3]
    rows = [row["value"] for row in records
            if (row["setting"], row["method"], row["metric"])
            == ("pendulum/medium/samples=100", "pure@0.001", "rollout.t2")]  # fmt: skip
    bars = axes.containers[0]
    point, _, (line,) = bars.lines
    low, high = line.get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * np.std(rows, ddof=1))
    assert point.get_ydata()[0] == pytest.approx(np.mean(rows))
    assert point.get_markerfacecolor() == "white"
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert len(crosses) == len(figures.SAMPLES)  # STLSQ, at the top
    cosine = figures.sample_size(records).axes[2]
    assert not [line for line in cosine.lines if line.get_marker() == "x"]


def test_without_records_a_panel_says_so(tmp_path):
    for figure in (figures.ablations([]), figures.noise([]), figures.sample_size([])):
        texts = [text.get_text() for axes in figure.axes for text in axes.texts]
        assert "no records" in texts
    assert len(figures.draw([], [], tmp_path)) == 6


def test_a_portrait_record_is_small_plain_and_true(pendulum_model):
    found = portrait_record(
        pendulum_model, Pendulum(), name="pendulum", method="orthoreg", grid=7, points=50
    )
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == found and len(text) < 40_000
    assert len(found["true"]) == len(found["rollouts"]) == len(found["diverged"]) == 4
    assert all(len(run) <= 50 for run in found["true"] + found["rollouts"])
    for true, run in zip(found["true"], found["rollouts"], strict=True):
        assert run[0] == true[0]
    symbolic, neural = pendulum_model.decompose(np.array([[found["x"][2], found["y"][5]]]))
    assert found["symbolic"][5][2] == pytest.approx(np.linalg.norm(symbolic), rel=1e-3)
    assert found["neural"][5][2] == pytest.approx(np.linalg.norm(neural), rel=1e-3, abs=1e-3)
    assert found["ends"] == []
    figures.portraits([found])


def test_basins_are_where_the_true_runs_end():
    starts = np.array([[-3.0, 0.1], [-1.0, -0.2], [1.0, 0.2], [3.0, -0.1]])
    assert _ends(Duffing(), starts, 2) == [[-1, -1], [1, 1]]
