"""The report in a browser: all charts are drawn, nothing is loaded, and controls work."""

import re
from pathlib import Path

import pytest
from hostile import hostile

import orthoreg as og

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CHARTS = [
    "chart-forecast", "chart-phase", "chart-residual", "chart-path", "chart-path-forecast",
    "chart-coefficients", "chart-correlation", "chart-errors",
]  # fmt: skip


@pytest.fixture(scope="module")
def page(browser, pendulum_model, pendulum_runs, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "out.html"
    og.report(pendulum_model, path, data=pendulum_runs)
    yield from opened(browser, path)


def opened(browser, path, **options):
    """A page with its error messages and requests."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    shown = context.new_page()
    shown.complaints, shown.requests = [], []
    shown.on("console", lambda one: shown.complaints.append(one.text))
    shown.on("pageerror", lambda one: shown.complaints.append(str(one)))
    shown.on("request", lambda one: shown.requests.append(one.url))
    shown.goto(path.as_uri(), timeout=120_000)  # the machine may be busy
    shown.wait_for_selector("html[data-drawn]", timeout=120_000)
    yield shown
    context.close()


def marks(page, chart: str) -> int:
    """Return the numbers of lines, dots and bars of a chart."""
    inside = f"#{chart} .mlayer path, #{chart} .mlayer image"
    return page.eval_on_selector_all(inside, "found => found.length")


def outline(page, chart: str) -> str:
    """Return a description of a chart as text."""
    return page.eval_on_selector(
        f"#{chart}", "one => one.querySelector('.plot-container').innerHTML"
    )


def overflow(page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_all_charts_are_drawn_from_the_one_file(page):
    assert [chart for chart in CHARTS if not marks(page, chart)] == []
    assert page.complaints == []
    assert len(page.requests) == 1 and page.requests[0].startswith("file:")
    for chart in CHARTS:
        box = page.locator(f"#{chart} .main-svg").first.bounding_box()
        assert box["width"] > 600 and box["height"] > 150


def test_no_button_sends_data_away(page):
    titles = page.eval_on_selector_all(
        ".modebar-btn", "all => all.map(one => one.getAttribute('data-title'))"
    )
    assert set(titles) == {"Download as SVG", "Download as PNG", "Zoom", "Reset axes"}


def test_a_chart_is_saved_as_a_drawing_on_the_colour_of_the_page(page):
    with page.expect_download() as waiting:
        page.locator("#chart-forecast .modebar-btn[data-title='Download as SVG']").click(force=True)
    saved = waiting.value
    assert saved.suggested_filename == "orthoreg-forecast.svg"
    text = Path(saved.path()).read_text()
    assert text.startswith("<svg") and "rgb(251, 250, 248)" in text


def test_the_latex_of_an_equation_is_copied(page, pendulum_model):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#equations .equation .copy").nth(1).click()
    # `wait_for_function` may evaluate its text in the page, which the security policy of the
    # report forbids
    page.locator("#equations .equation .copy", has_text=re.compile("^Copied$")).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == pendulum_model.to_latex()[1]


def test_switches_and_lists_change_what_they_should(page):
    whole = outline(page, "chart-phase")
    page.check("input[name=phase-part][value=network]", force=True)
    assert outline(page, "chart-phase") != whole
    page.check("input[name=phase-part][value=whole]", force=True)
    assert outline(page, "chart-phase") == whole
    before = outline(page, "chart-forecast")
    page.select_option("#forecast-run", "3")
    assert outline(page, "chart-forecast") != before
    edge = marks(page, "chart-residual")
    page.uncheck("input[name=residual-show][value=region]", force=True)
    assert marks(page, "chart-residual") < edge


def test_the_slider_moves_along_the_path_by_keyboard(page):
    formula = page.inner_text("#path-formula")
    forecast = outline(page, "chart-path-forecast")
    count = int(page.inner_text("#path-step-value"))
    page.focus("#path-step")
    page.keyboard.press("ArrowRight")
    assert int(page.inner_text("#path-step-value")) == count + 1
    assert page.inner_text("#path-formula") != formula
    assert outline(page, "chart-path-forecast") != forecast
    assert (
        page.locator("#path-formula math").count() == count + 2
    )  # the left-hand side and its terms


def test_a_phone_and_the_dark_show_everything(page):
    page.set_viewport_size({"width": 380, "height": 800})
    page.wait_for_timeout(400)
    assert overflow(page) <= 0
    assert [chart for chart in CHARTS if not marks(page, chart)] == []
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")  # light mode
    page.click("#theme")  # dark mode
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    line = "#chart-path .scatterlayer .js-line"
    assert page.eval_on_selector(line, "one => getComputedStyle(one).stroke") != "rgb(0, 114, 178)"
    assert overflow(page) <= 0 and page.complaints == []
    page.click("#theme")
    page.set_viewport_size({"width": 1280, "height": 900})


def test_names_that_are_code_do_nothing(browser, tmp_path):
    model, data = hostile()
    path = og.report(model, tmp_path / "hostile.html", data=data)
    for page in opened(browser, path, color_scheme="dark"):
        assert page.evaluate("window.hacked") is None
        assert page.complaints == [] and len(page.requests) == 1
        assert "window.hacked" in page.inner_text("#equations")  # shown as text
        assert page.locator("main img, main svg [onload], main a[href^=javascript]").count() == 0
        page.set_viewport_size({"width": 380, "height": 800})
        page.wait_for_timeout(400)
        assert overflow(page) <= 0


def test_paper_gets_light_colours_and_its_own_width(page):
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    boxes = [page.locator(f"#{chart} .main-svg").first.bounding_box() for chart in CHARTS]
    assert all(600 < box["width"] <= 680 for box in boxes)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("#chart-forecast .main-svg").first.bounding_box()["width"] > 800
    page.emulate_media(color_scheme="light")
