"""All kinds of pages in a real browser: drawn, quiet, without a network, for mouse and keyboard."""

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from typer.testing import CliRunner

import ftlkit as fk
import sample
from browser import Browser
from conftest import LONG
from ftlkit import reproduce
from ftlkit.cli import app
from ftlkit.results.outcome import device_of
from ftlkit.results.store import Store
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.page import page
from reproduction import STUDY

PAGES = ("report", "timeline", "reproduction", "sweep", "curve", "spare", "advice", "fleet")
NASTY = "</title></script><script>window.broken = true</script><b>\"'&"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All kinds of pages, of small real runs; and a report whose every name tries to break out."""
    folder = tmp_path_factory.mktemp("pages")
    made = {name: folder / f"{name}.html" for name in (*PAGES, "nasty")}
    results = fk.compare(
        "fin1", requests=3_000, addresses="dense", precondition="fill", classes=True, timeline="0ms..5ms", title="Four"
    )
    results.report(made["report"])
    results.draw_timeline(made["timeline"])
    (folder / "tiny.toml").write_text(STUDY, encoding="utf-8")
    reproduce.reproduce(reproduce.load(folder / "tiny.toml")).page(made["reproduction"])
    made["sweep"].write_text(sweep_page(folder), encoding="utf-8")
    curve = ["curve", "cache", "fin1", "--requests", "2000", "--addresses", "dense", "--report", str(made["curve"])]
    assert CliRunner().invoke(app, curve).exit_code == 0
    spare = "curve spare fin1 --ftl page,dftl --requests 500 --spares 0.1,0.2 --seeds 2"
    advice = "advise fin1 --ftl page,dftl,rftl --requests 600 --trials 6 --ram 64KiB"
    fleet = "fleet --fleet 12 --requests 300 --ftl page,dftl --precondition steady"
    for name, asked in (("spare", spare), ("advice", advice), ("fleet", fleet)):
        kept = ["--addresses", "dense", "--store", str(folder / f"{name}s"), "--report", str(made[name])]
        assert CliRunner().invoke(app, [*asked.split(), *kept]).exit_code == 0
    document = sample.document()
    document["study"]["name"] = document["workload"]["name"] = device_of(document)["preset"] = NASTY
    document["workload"]["facts"] = [NASTY]
    for place, run in enumerate(document["runs"]):
        run["label"] = run["ftl"] = f"{place} {NASTY}"
        run["parameters"] = {NASTY: NASTY}
    fk.Results(document).report(made["nasty"])
    return made


def sweep_page(folder: Path) -> str:
    """A page with a point that failed, bands, and a layer that does not take the varied key."""
    made = plans.from_options(["fin1"], "page,dftl", None, {"requests": 3_000, "addresses": "dense"})
    axes = [values.parse("dftl.cmt=16KiB,64KiB"), values.parse("device.spare=0.1,1.5")]
    wide = plans.with_more(made, axes, 2)
    return page(wide, runs.run(wide, Store(folder / "store", create=True), Local()))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_fits_is_accessible_and_draws_its_charts_inside_their_places(
    name: str, scheme: str, width: int, chromium: Browser, pages: dict[str, Path]
) -> None:
    chromium.open(pages[name], width=width, scheme=scheme)
    assert chromium.console == []
    assert chromium.asked == []
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    # The report is by far the largest page, and in the dark it has the colours of the others.
    if LONG or (name, scheme) != ("report", "dark"):
        assert chromium.violations() == []
    drawn = chromium.run(
        "return [...document.querySelectorAll('.plot')].map((plot) => {"
        "  const [svg, inside] = [plot.querySelector('svg'), plot.getBoundingClientRect()];"
        "  const own = svg.getBoundingClientRect();"
        "  return [plot.matches('.live'), own.width, own.right - inside.right,"
        "    svg.querySelectorAll('.role-mark path').length];"
        "})"
    )
    if name not in ("reproduction", "advice"):
        assert len(drawn) >= {"sweep": 3, "curve": 1, "spare": 1, "fleet": 2}.get(name, 4)
        for alive, wide, beyond, marks in drawn:
            assert alive
            assert wide > 200
            assert beyond < 2
            assert marks > 0
    if width == 400:
        tables_move_to_their_ends_and_show_that_they_go_on(chromium)
        region = "document.querySelector('#numbers .scroll')"
        is_wider = f"return {region}.scrollWidth - {region}.clientWidth"
        assert name not in ("curve", "spare") or chromium.run(is_wider) == 0, "the numbers of a curve fit a phone"


def tables_move_to_their_ends_and_show_that_they_go_on(chromium: Browser) -> None:
    """Those that are wider than a phone."""
    widths = chromium.run(
        "for (const each of document.querySelectorAll('details')) each.open = true;"
        "return [...document.querySelectorAll('table')].filter((each) => each.offsetWidth).map((table) => {"
        "  const region = table.closest('.scroll') ?? document.documentElement;"
        "  const goesOn = region.scrollWidth > region.clientWidth;"
        "  region.scrollLeft = 1e6;"
        "  const beyond = table.getBoundingClientRect().right - region.getBoundingClientRect().right;"
        "  return [goesOn, beyond, getComputedStyle(region).backgroundImage];"
        "})"
    )
    for goes_on, beyond, background in widths:
        assert beyond < 2
        assert not goes_on or "gradient" in background


def test_without_scripts_the_still_pictures_are_there(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.driver.get(pages["report"].as_uri())
        plots = chromium.driver.find_elements(By.CSS_SELECTOR, ".plot svg")
        assert len(plots) >= 7
        assert all(plot.size["width"] > 200 for plot in plots)
        assert "answers fastest" in chromium.driver.find_element(By.ID, "verdict").text
    finally:
        chromium.command("Emulation.setScriptExecutionDisabled", value=False)


def shown(chromium: Browser) -> list[str]:
    """The runs of the sortable table from top to bottom."""
    return chromium.texts("table.sortable tbody th")


def test_the_table_is_sorted_by_mouse_and_by_keyboard(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["report"])
    keys = "return [...document.querySelectorAll('table.sortable tbody tr')].map((row) => +row.cells[1].dataset.sort)"
    heading = chromium.driver.find_element(By.CSS_SELECTOR, "table.sortable thead th:nth-child(2) button")
    assert heading.text == "mean response"
    heading.click()
    times = chromium.run(keys)
    assert times == sorted(times)
    assert heading.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
    heading.click()
    assert chromium.run(keys) == sorted(times, reverse=True)
    # By keyboard: Tab goes on to the next heading, Enter sorts by it and Space turns it round.
    heading.send_keys(Keys.TAB)
    focused = chromium.driver.switch_to.active_element
    assert focused.text == "p99 response"
    outline = chromium.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", "who uses the keyboard must see where they are"
    focused.send_keys(Keys.ENTER)
    assert focused.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
    first = shown(chromium)
    focused.send_keys(Keys.SPACE)
    assert focused.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    assert shown(chromium) == first[::-1]


def test_volumes_are_filtered_by_words_and_sorted_by_all_columns(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["fleet"])
    search = chromium.driver.find_element(By.CSS_SELECTOR, "input[type=search]")
    rows = chromium.texts("table.sortable tbody tr")
    some = [row for row in rows if "dftl" in row and "MiB" in row]
    assert 0 < len(some) < len(rows) == 12
    search.send_keys("DFTL mib")
    assert [row for row in chromium.texts("table.sortable tbody tr") if row] == some
    assert chromium.texts("[role=status]")[0] == f"{len(some)} of 12"
    search.clear()
    search.send_keys(" ")
    assert chromium.texts("table.sortable tbody tr") == rows
    for heading in chromium.driver.find_elements(By.CSS_SELECTOR, "table.sortable thead th button"):
        heading.click()
        place = len(heading.find_elements(By.XPATH, "../preceding-sibling::th"))
        keys = chromium.run(
            "return [...document.querySelectorAll('table.sortable tbody tr')]"
            ".map((row) => row.cells[arguments[0]].dataset.sort).filter((key) => key !== '').map(Number)",
            place,
        )
        assert keys == sorted(keys)
    assert shown(chromium) != [row.split()[0] for row in rows]


def test_runs_without_a_value_stay_last(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["report"])
    headings = chromium.driver.find_elements(By.CSS_SELECTOR, "table.sortable thead th button")
    ratio = next(heading for heading in headings if heading.text == "hit ratio")
    for _ in range(2):
        ratio.click()
        assert shown(chromium)[0] == "dftl"


def test_a_chart_answers_a_choice(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["report"])
    marks = "return document.querySelector('#response-cdf .role-mark path').getAttribute('d')"
    before = chromium.run(marks)
    chromium.driver.find_element(By.CSS_SELECTOR, "#response-cdf input[value=write]").click()
    chromium.wait(f"return (() => {{ {marks} }})() !== {before!r}")


def test_a_timeline_moves_and_zooms_by_buttons(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["timeline"])
    assert chromium.run("return document.querySelectorAll('#timeline-0 .role-mark [aria-label]').length") == 0
    assert chromium.texts("#timeline-0 [role=status]") == ["0 ms to 5 ms"]
    marks = "[...document.querySelectorAll('#timeline-0 .role-mark path')].map((one) => one.outerHTML).join()"
    chromium.run(f"window.before = {marks}")
    for name, shown in (
        ("Zoom in", "1.25 ms to 3.75 ms"),
        ("Earlier", "0 ms to 2.5 ms"),
        ("Later", "1.25 ms to 3.75 ms"),
        ("Zoom out", "0 ms to 5 ms"),
        ("Zoom in", "1.25 ms to 3.75 ms"),
        ("Whole window", "0 ms to 5 ms"),
        ("Zoom in", "1.25 ms to 3.75 ms"),
    ):
        button = f"//figure[@id='timeline-0']//button[.='{name}']"
        chromium.driver.find_element(By.XPATH, button).send_keys(Keys.ENTER)
        chromium.wait(f"return document.querySelector('#timeline-0 [role=status]').textContent === '{shown}'")
    chromium.wait(f"return window.before !== {marks}")


def test_the_waits_of_a_timeline_are_read_on_a_phone(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["timeline"], width=400)
    heights = chromium.run("return [...document.querySelectorAll('.waits tbody tr')].map((row) => row.offsetHeight)")
    assert 0 < max(heights) <= 120


def test_options_are_never_broken_between_lines(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["report"], width=400)
    for width in range(340, 430, 10):
        chromium.resize(width)
        broken = chromium.run(
            "const walker = document.createTreeWalker(document.querySelector('#verdict'), NodeFilter.SHOW_TEXT);"
            "const broken = []; let seen = 0;"
            "while (walker.nextNode()) for (const found of walker.currentNode.data.matchAll(/--[a-z-]+/g)) {"
            "  const range = document.createRange(); range.setStart(walker.currentNode, found.index);"
            "  range.setEnd(walker.currentNode, found.index + found[0].length); seen += 1;"
            "  if (range.getClientRects().length > 1) broken.push(found[0]);"
            "}"
            "return seen ? broken : ['no option was seen']"
        )
        assert broken == [], width


def test_names_stay_text(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["nasty"])
    assert chromium.run("return window.broken === undefined")
    assert chromium.driver.title == NASTY
    assert chromium.driver.find_element(By.TAG_NAME, "h1").text == NASTY
    assert shown(chromium) == [f"{place} {NASTY}" for place in range(4)]
    assert (chromium.console, chromium.asked) == ([], [])


@pytest.mark.parametrize("name", PAGES)
def test_paper_shows_everything(name: str, chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages[name], scheme="dark")
    printed = chromium.paper()
    assert printed.startswith(b"%PDF")
    closed = chromium.run("return [...document.querySelectorAll('details')].filter((each) => !each.open).length")
    assert closed == 0, "paper cannot be opened"
    chromium.prefer("dark", media="print")
    ink, paper = chromium.run(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    assert sum(levels(paper)) > 600, "light paper, whatever the screen shows"
    assert sum(levels(ink)) < 300, "dark ink on it"


def levels(colour: str) -> list[int]:
    """Red, green and blue of a computed colour; transparent is paper."""
    numbers = colour.partition("(")[2].rstrip(")").split(",")
    return [255] * 3 if len(numbers) == 4 and float(numbers[3]) == 0 else [int(number) for number in numbers[:3]]
