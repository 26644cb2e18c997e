"""The site is built without a dead link, and a browser shows it without a network."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from browser import Browser

ROOT = Path(__file__).parents[1]
SHOWN = [
    ("index", 1280, "light"),
    ("index", 400, "dark"),
    ("study", 400, "dark"),
    ("schemes/dftl", 1280, "light"),
    ("tutorials/first-trace", 400, "dark"),
]


def build(pages: Path, site: Path, more: str = "") -> subprocess.CompletedProcess[str]:
    """Let mkdocs make a site of some pages; what it warns of is an error."""
    config = pages.parent / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {pages}\nsite_dir: {site}\n{more}", encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages that the site is made of."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: it comes with requirements.lock")
    folder = tmp_path_factory.mktemp("site") / "pages"
    subprocess.run([sys.executable, "tools/make_site.py", str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def site(pages: Path) -> Path:
    """The site."""
    made = build(pages, pages.parent / "html")
    assert made.returncode == 0, made.stdout + made.stderr
    return pages.parent / "html"


def test_a_dead_link_is_an_error(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.md").write_text("# A page\n\n[no page](nowhere.md) and [no heading](index.md#nowhere)\n")
    made = build(pages, tmp_path / "broken", "nav: [index.md]\n")
    assert made.returncode != 0
    assert "nowhere.md" in made.stderr
    assert "#nowhere" in made.stderr
    assert made.stderr.count("WARNING") == 2, made.stderr


def test_the_commands_have_all_options_of_the_command_line(pages: Path) -> None:
    text = (pages / "commands.md").read_text(encoding="utf-8")
    for words in ("## ftlkit compare", "## ftlkit trace info", "`--queue-depth`", "`--precondition`"):
        assert words in text


@pytest.mark.parametrize(("name", "width", "scheme"), SHOWN)
def test_a_page_of_the_site_is_quiet_fits_and_is_accessible(
    name: str, width: int, scheme: str, chromium: Browser, site: Path
) -> None:
    chromium.open(site / f"{name}.html", width=width, scheme=scheme)
    assert chromium.console == []
    assert chromium.asked == []
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    assert chromium.run("return document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
    assert chromium.violations() == []


def test_the_search_finds_a_page_without_a_network(chromium: Browser, site: Path) -> None:
    chromium.open(site / "index.html")
    chromium.driver.find_element(By.TAG_NAME, "body").send_keys("s")
    chromium.wait("return document.activeElement.matches('.md-search__input')")
    chromium.driver.switch_to.active_element.send_keys("copy-back")
    chromium.wait("return document.querySelectorAll('.md-search-result__link').length > 1")
    assert any(
        "timing.html" in link
        for link in chromium.run(
            "return [...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)"
        )
    )


def test_the_site_needs_a_module_and_no_release_build() -> None:
    dry = ["make", "--dry-run", "site", f"VENV={sys.prefix}"]
    done = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "tools/make_site.py" in done.stdout, done.stderr
    assert "maturin" not in done.stdout
