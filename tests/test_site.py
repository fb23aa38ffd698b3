"""The documentation: its code runs and prints the shown output, and its links are valid."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import orthoreg

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RUN = [
    p for p in sorted(DOCS.rglob("*.md")) if re.search(r"^```(python|bash)$", p.read_text(), re.M)
]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page):
    runner = str(DOCS / "run_blocks.py")
    done = subprocess.run([sys.executable, runner, str(page)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_pages_that_differ_in_more_than_last_digits_are_told_apart():
    found = importlib.util.spec_from_file_location("run_blocks", DOCS / "run_blocks.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    alike, run_page = module.alike, module.run_page
    page = "```python\nprint(2.0)\n```\n\n```text\n{}\n```\n"
    assert run_page(page.format("1"), "page") == page.format("2.0")
    assert alike(page.format("2.01"), page.format("2.0"))
    assert not alike(page.format("2.3"), page.format("2.0"))
    assert not alike(page.format("2.0 x"), page.format("2.0"))
    with pytest.raises(ZeroDivisionError):
        run_page("```python\n1 / 0\n```", "page")
    assert run_page("```bash\npip install nothing\n```", "page").startswith("```bash")


class Links(HTMLParser):
    """The links of a page, and the anchors to which other pages can link."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.places, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.places |= {named[key] for key in ("id", "name") if named.get(key)}
        if tag == "a" and named.get("href"):
            self.targets.append(named["href"])
        elif named.get("src") or (tag == "link" and named.get("href")):
            self.loaded.append(named.get("src") or named["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material")
    folder = tmp_path_factory.mktemp("site")
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.relative_to(folder): path for path in folder.rglob("*")}


@pytest.mark.slow
def test_links_lead_to_pages_and_places_that_exist(site):
    pages = {name: Links(path.read_text()) for name, path in site.items() if name.suffix == ".html"}
    assert len(pages) > 20
    broken = []
    for name, page in pages.items():
        if name.name == "404.html":  # this page is written for the root of a server
            continue
        for target in [*page.targets, *page.loaded]:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            path = Path(os.path.normpath(name.parent / unquote(parts.path))) if parts.path else name
            found = path if path in site else path / "index.html"
            if found not in site:
                broken.append(f"{name}: {target}")
            elif parts.fragment and found in pages and site[found].is_file():
                if unquote(parts.fragment) not in pages[found].places | {"__search"}:
                    broken.append(f"{name}: {target}")
    assert broken == []


@pytest.mark.slow
def test_nothing_of_the_site_is_loaded_from_elsewhere(site):
    for name, path in site.items():
        if name.suffix == ".html":
            loaded = Links(path.read_text()).loaded
            assert [one for one in loaded if urlsplit(one).scheme in ("http", "https")] == []
        if name.suffix == ".css":
            assert not re.search(r"url\(['\"]?https?:|@import ['\"]?https?:", path.read_text())


@pytest.mark.slow
def test_mathematics_is_set_and_every_public_name_is_in_the_reference(site):
    theory = site[Path("theory.html")].read_text()
    assert theory.count("<math") > 20 and "$$" not in theory
    shown = "".join(path.read_text() for name, path in site.items() if name.parts[0] == "api"
                    and name.suffix == ".html")  # fmt: skip
    warnings = {name for name in orthoreg.__all__ if name.endswith(("Error", "Warning"))}
    names = set(orthoreg.__all__) - warnings - {"__version__"}
    assert sorted(name for name in names if f'id="orthoreg.{name}"' not in shown) == []


@pytest.mark.slow
@pytest.mark.browser
def test_search_works_when_the_pages_are_opened_from_a_folder(site, browser):
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    noticed = []
    page.on("pageerror", lambda error: noticed.append(str(error)))
    page.on("request", lambda sent: noticed.append(sent.url) if "http" in sent.url else None)
    page.goto(site[Path("index.html")].as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("weak form", delay=50)
    page.wait_for_selector(".md-search-result__item", timeout=60_000)
    assert "weak form" in page.inner_text(".md-search-result__list").lower()
    page.close()
    assert noticed == []
