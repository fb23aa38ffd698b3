"""Write screenshots of reports for README and docs, with Chromium: of the demo, of the pelts on a
phone, and of the double pendulum if its table exists (`ORTHOREG_DATA`). Also draw the figures of
the recipes on experiments, new data and units, and of the example cart_pendulum.

python docs/update_pictures.py [FOLDER]     # output folder of `orthoreg demo`, such as demo/
"""

import contextlib
import io
import os
import re
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import orthoreg as og

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1120, 900
PHONE = (390, 844)
GAP = 20
BLUE, ORANGE, RED, GREY = "#0072b2", "#e69f00", "#d55e00", "0.65"


def main(demo: Path) -> None:
    draw_swing()
    draw_recipes()
    chromium = os.environ.get("ORTHOREG_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pelts = runpy.run_path(str(ROOT / "examples" / "pelts.py"))
        model, data = pelts["model"], pelts["data"]
        phone = og.report(model, Path(folder) / "pelts.html", data=data, title="Hare and lynx")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = opened(browser, demo / "report.html", (WIDTH, HEIGHT), "light")
        page.screenshot(path=PICTURES / "report-equations.png")
        page = opened(browser, demo / "report.html", (WIDTH, HEIGHT), "dark")
        page.locator("#residual").screenshot(path=PICTURES / "report-residual.png")
        page = opened(browser, phone, PHONE, "light")
        if os.environ.get("ORTHOREG_DATA"):
            swings = runpy.run_path(str(ROOT / "examples" / "double_pendulum.py"))
            best, data = swings["discovery"].best, swings["train"]
            path = Path(folder) / "swings.html"
            og.report(best, path, data=data, title="A double pendulum from its angles alone")
            opened(browser, path, (WIDTH, HEIGHT), "light").screenshot(
                path=PICTURES / "report-double-pendulum.png"
            )
        screens = [screen(page, section) for section in ("summary", "forecasts", "flow")]
        browser.close()
    strip = Image.new("RGB", (len(screens) * (PHONE[0] + GAP) - GAP, PHONE[1]), "white")
    for index, image in enumerate(screens):
        strip.paste(image, (index * (PHONE[0] + GAP), 0))
    strip.save(PICTURES / "report-phone.webp", quality=85)


def draw_swing() -> None:
    """Draw the path of the example that swings up a pendulum."""
    from matplotlib import pyplot as plt

    example = runpy.run_path(str(ROOT / "examples" / "cart_pendulum.py"))
    path, step, planned = example["path"], example["STEP"], example["planned"]
    figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    axes.plot(step * np.arange(len(path)), path[:, 1], label="angle, true cart")
    axes.plot(
        step * np.arange(len(planned)), planned[:, 1], "k--", linewidth=1, label="angle, plan"
    )
    axes.plot(step * np.arange(len(path)), path[:, 0], label="position, true cart")
    axes.axhline(np.pi, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel("time in s")
    axes.set_ylabel("rad, m")
    axes.legend(frameon=False)
    figure.savefig(PICTURES / "cart-pendulum.png", dpi=130)
    plt.close(figure)


def draw_recipes() -> None:
    """Draw the figures of recipes from the names that their code blocks define."""
    for page, name, draw in (
        ("design", "design-motor", _draw_design),
        ("updates", "updates-drift", _draw_updates),
        ("units", "units-pendulum", _draw_units),
    ):
        figure = draw(_names_of(ROOT / "docs" / "recipes" / f"{page}.md"))
        figure.savefig(PICTURES / f"{name}.png", dpi=130)


def _names_of(page: Path) -> dict[str, Any]:
    """Return the names that the Python blocks of a page define."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for code in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, page.name, "exec"), names)
    return names


def _figure(columns: int, height: float = 2.9) -> tuple[Any, Any]:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(7.2, height), layout="constrained")
    for axis in np.atleast_1d(axes):
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _draw_design(names: dict[str, Any]) -> Any:
    """Left: the speed of first and proposed runs. Right: intervals before and after."""
    figure, (left, right) = _figure(2)
    for i, run in enumerate(names["first"]):
        left.plot(run.times, run.states, color=GREY, label="first runs" if i == 0 else None)
    for i, run in enumerate(names["new"]):
        left.plot(run.times, run.states, color=BLUE, label="proposed runs" if i == 0 else None)
    left.set(xlabel="time", ylabel="speed")
    left.legend(frameon=False, loc="upper left")
    before, after = names["model"].parameter_intervals_, names["after"].parameter_intervals_
    true = {"b": 0.5, "d": 0.4, "k": 3.0}
    for y, name in enumerate(reversed(sorted(true))):
        for intervals, color, width in ((before, GREY, 6), (after, BLUE, 6)):
            ends = np.array(intervals[name]) / true[name]
            right.plot(ends, [y, y], color=color, linewidth=width, solid_capstyle="butt")
    right.axvline(1.0, color="0.3", linewidth=0.8, zorder=0)
    right.set_yticks(range(3), sorted(true, reverse=True))
    right.set(xlabel="95% interval relative to the true value", ylim=(-0.6, 2.6))
    return figure


def _draw_updates(names: dict[str, Any]) -> Any:
    """Intervals of a constant after each day, without and with forgetting."""
    record, first = names["record"], names["first_model"]
    figure, axis = _figure(1)
    days = range(1, 11)
    for forgetting, color, shift in ((1.0, GREY, -0.1), (0.99, BLUE, 0.1)):
        model, label = first, "all days count" if forgetting == 1 else "forgetting=0.99"
        for day in days:
            model = model.update(record(day, 1.0 if day <= 4 else 1.05), forgetting=forgetting)
            low, high = model.parameter_intervals_["k"]
            axis.plot([day + shift] * 2, [low, high], color=color, linewidth=5,
                      solid_capstyle="butt", label=label if day == 1 else None)  # fmt: skip
            if model.drift_.detected and forgetting == 1:
                axis.annotate("drift", (day + shift, high), (0, 7), textcoords="offset points",
                              ha="center", color=RED, fontsize=8)  # fmt: skip
    axis.step([0.5, 4.5, 10.5], [1.0, 1.05, 1.05], where="post", color="0.3", linewidth=0.8,
              linestyle="--", label="true value", zorder=0)  # fmt: skip
    axis.set(xlabel="day", ylabel="k, 95% interval", xticks=list(days))
    axis.legend(frameon=False, loc="upper left")
    return figure


def _draw_units(names: dict[str, Any]) -> Any:
    """The columns of the table, and the forecast in the units of the model."""
    table, data, model = names["table"], names["data"], names["model"]
    figure, (left, right) = _figure(2)
    for column, color in (("theta [deg]", BLUE), ("omega [rpm]", ORANGE)):
        left.plot(table["t [s]"], table[column], color=color, label=column)
    left.set(xlabel="t [s]", title="the table")
    left.legend(frameon=False, fontsize=8, loc="upper right")
    path = model.simulate(data.states[0], data.times).x
    for k, (label, color) in enumerate((("theta [rad]", BLUE), ("omega [rad/s]", ORANGE))):
        right.plot(data.times[::8], data.states[::8, k], ".", color=color, markersize=4)
        right.plot(data.times, path[:, k], color=color, label=label)
    right.set(xlabel="t [s]", title=model.equations(3)[1])
    right.title.set_fontsize(7.5)
    left.title.set_fontsize(7.5)
    right.legend(frameon=False, fontsize=8, loc="upper right")
    return figure


def opened(
    browser: Browser, path: Path, size: tuple[int, int], colours: Literal["light", "dark"]
) -> Page:
    """Open a report and wait until all charts are drawn."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=colours)
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("html[data-drawn]")
    page.wait_for_timeout(500)
    return page


def screen(page: Page, section: str) -> Image.Image:
    """Return a screenshot of a section."""
    page.evaluate(f"document.getElementById('{section}').scrollIntoView({{behavior: 'instant'}})")
    page.wait_for_timeout(300)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
