"""Write screenshots of reports for README and docs, with Chromium: of the demo, of the pelts on a
phone, and of the double pendulum if its table exists (`ORTHOREG_DATA`). Also draw the swing of the
example cart_pendulum.

python docs/update_pictures.py [FOLDER]     # output folder of `orthoreg demo`, such as demo/
"""

import io
import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import orthoreg as og

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1120, 900
PHONE = (390, 844)
GAP = 20


def main(demo: Path) -> None:
    draw_swing()
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
