"""The player of flash: its trace, its weight, and what a real browser draws of it."""

import json
import math
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import ftlkit as fk
from browser import Browser
from conftest import Call
from flash_replay import Replay
from ftlkit.report import packing, player
from ftlkit.results.outcome import device_of

SMALL: dict[str, Any] = {
    "channels": 2,
    "dies_per_channel": 1,
    "blocks_per_plane": 32,
    "pages_per_block": 16,
    "page_size": "512B",
    "capacity": "352KiB",
}
"""1024 pages on two dies, of which the host sees 704; 128 of them have a translation page."""

WHOLE = "0ms..1000h"
ALL = "page,block,bast,fast:log_space=10%,dftl:cmt=512B,superblock"


def workload(requests: int) -> dict[str, Any]:
    """Small writes, reads, trims, all over the device."""
    shares = {"write_share": 0.7, "trim_share": 0.05}
    return {
        "generator": {
            "requests": requests,
            "span": "352KiB",
            "unit": "512B",
            "sizes": "512B",
            **shares,
            "arrivals": {"poisson": {"mean_gap": "2ms"}},
        }
    }


def play(ftls: str, window: str = WHOLE, requests: int = 400) -> fk.Results:
    return fk.compare(workload(requests), ftls, device=SMALL, precondition="fill", flash_trace=window)


@pytest.fixture(scope="module")
def played() -> fk.Results:
    """One run of every kind of mapping, traced from the begin to the end."""
    return play(ALL)


def traces(results: fk.Results) -> dict[str, Any]:
    return {run["label"]: run.get("flash_trace") for run in results.document["runs"]}


def replayed(results: fk.Results, label: str) -> Replay:
    replay = Replay(traces(results)[label], device_of(results.document)["geometry"]["pages_per_block"])
    replay.run()
    return replay


def test_a_replay_of_the_first_half_ends_in_what_the_flash_held_before_the_second(played: fk.Results) -> None:
    middle = traces(played)[played.labels[0]]["requests"]["begin_ns"][200]
    first, second = play(ALL, f"0ns..{middle}ns"), play(ALL, f"{middle}ns..1000h")
    assert [run["event_hash"] for run in first.document["runs"]] == [
        run["event_hash"] for run in played.document["runs"]
    ]
    for label, trace in traces(second).items():
        held = Replay(trace, SMALL["pages_per_block"])
        assert replayed(first, label).blocks(64) == held.blocks(64), label
        assert trace["requests"]["number"][0] == 201


def test_the_trace_is_a_frame_of_all_operations_with_their_pages(played: fk.Results) -> None:
    frame = played.flash_trace
    counted = played.operations.group_by("label", maintain_order=True).agg(pl.col("count").sum())
    assert frame.group_by("label", maintain_order=True).len()["len"].to_list() == counted["count"].to_list()
    assert set(frame.filter(pl.col("op") == "erase")["page"]) == {None}
    assert frame["page"].max() == SMALL["pages_per_block"] - 1
    assert set(frame.filter(pl.col("role") == "translation")["label"]) == {"dftl:cmt=512B"}
    assert play("page", "1h..2h").flash_trace.is_empty()


def test_the_player_shows_the_pages_of_a_slice() -> None:
    device = SMALL | {"blocks_per_plane": 256, "capacity": "2816KiB", "slice": "1408KiB"}
    results = fk.compare(workload(50), "page", device=device, flash_trace=WHOLE)
    shown, simulated = facts(player.page(results))["runs"][0]["logicalPages"], device_of(results.document)
    assert shown == (simulated["slice_bytes"] or 0) // 512 < simulated["logical_bytes"] // 512


@pytest.mark.parametrize("values", [[0, 127, 128, 16_384, 2**53], [5, 3, 3, -70_000, 2**40]])
def test_packed_numbers_are_differences_of_seven_bits_a_byte(values: list[int]) -> None:
    numbers: list[int] = []
    number, scale = 0, 1
    for byte in packing._differences(values):  # noqa: SLF001 - the page's format
        number += (byte & 127) * scale
        scale *= 128
        if byte < 128:
            numbers.append(number)
            number, scale = 0, 1
    changes = [-(folded + 1) // 2 if folded % 2 else folded // 2 for folded in numbers]
    assert [sum(changes[: place + 1]) for place in range(len(changes))] == values


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with as many operations as a player holds."""
    path = tmp_path_factory.mktemp("player") / "full.html"
    play("page,dftl:cmt=512B", requests=60_000).draw_player(path)
    return path


def test_a_player_of_100_000_operations_is_light_and_says_where_it_ends(full: Path) -> None:
    html = full.read_text()
    sizes = [run["sizes"] for run in facts(html)["runs"]]
    assert [size["operations"] for size in sizes] == [100_000, 100_000]
    assert full.stat().st_size <= 3_000_000
    assert html.count("at most 100,000 flash operations") == 2
    assert re.search(r"--player-window \d+\.\d{3}ms\.\.1000h", html)


def facts(html: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads(html.partition('id="page">')[2].partition("</script>")[0])


def test_the_command_writes_a_player(call: Call, tmp_path: Path) -> None:
    arguments = ("compare", "fin1", "--ftl", "page,fast", "--requests", 300, "--addresses", "dense")
    done = call(*arguments, "--player", "p.html", "--player-window", "0ms..1s")
    assert "wrote p.html" in done.stderr
    assert [run["label"] for run in facts((tmp_path / "p.html").read_text())["runs"]] == ["page", "fast"]
    assert "--player FILE.html" in call(*arguments, "--player-window", "0ms..1s", exits=2).stderr


def test_what_cannot_be_played_is_refused_with_advice(call: Call, results: fk.Results) -> None:
    with pytest.raises(fk.UserError, match="--player"):
        player.page(results)
    late = play("page", "1h..2h")
    with pytest.raises(fk.UserError, match="no request begins in the window"):
        player.page(late)
    large = call("compare", "fin1", "--requests", 50, "--capacity", "4GiB", "--player", "p.html", exits=2)
    assert "run.flash_trace (--player)" in large.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, played: fk.Results) -> dict[str, Path]:
    """A player of several runs, and one of a single run."""
    folder = tmp_path_factory.mktemp("pages")
    made = {name: folder / f"{name}.html" for name in ("many", "one")}
    played.draw_player(made["many"])
    play("fast:log_space=10%").draw_player(made["one"])
    return made


MOVE = "const move = (at) => player.sides.forEach((side) => side.moveTo(player.schedule.positionOf(side, at)));"
"""Goes to a moment without drawing it."""


def opened(chromium: Browser, path: Path, *, width: int = 1280, scheme: str = "light") -> None:
    chromium.open(path, width=width, scheme=scheme)
    chromium.wait("return document.documentElement.classList.contains('ready')")


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["many", "one"])
def test_a_player_is_quiet_fits_and_is_accessible(
    name: str, scheme: str, width: int, chromium: Browser, pages: dict[str, Path]
) -> None:
    opened(chromium, pages[name], width=width, scheme=scheme)
    chromium.run("player.jump(1)")
    assert chromium.console == []
    assert chromium.asked == []
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    assert chromium.violations() == []


def test_the_script_ends_in_the_state_of_the_replay(
    chromium: Browser, pages: dict[str, Path], played: fk.Results
) -> None:
    opened(chromium, pages["many"])
    script = (
        "const [index] = arguments; player.views[0].choice.value = index; player.choose();"
        "player.goTo(player.schedule.length);"
        "return [...Array(64).keys()].map((block) => player.sides[0].flash.countsOfBlock(block))"
    )
    for index, label in enumerate(played.labels):
        shown = chromium.run(script, index)
        counts = [{state: count for state, count in block.items() if count} for block in shown]
        assert counts == replayed(played, label).blocks(64), label


def test_every_step_back_undoes_its_step(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    differing = chromium.run(
        f"{MOVE} const cells = () => player.sides.map((side) => side.flash.cells.join()).join();"
        "const seen = []; let differing = 0; const end = player.schedule.length;"
        "for (let at = 0; at <= end; at++) { move(at); if (at % 97 === 0) seen.push(cells()); }"
        "for (let at = end; at >= 0; at--) { move(at); if (at % 97 === 0 && cells() !== seen.pop()) differing += 1; }"
        "return [differing, seen.length, ...player.sides.map((side) => side.flash.overwritten.length)]"
    )
    assert differing == [0, 0, 0, 0]


def test_the_canvas_shows_each_page_in_the_colour_of_its_state(chromium: Browser, pages: dict[str, Path]) -> None:
    for scheme in ("light", "dark"):
        opened(chromium, pages["one"], scheme=scheme)
        wrong, seen = chromium.run(
            "player.goTo(player.schedule.length);"
            "const [view] = player.views; const { layout } = view.grid; const context = view.still.getContext('2d');"
            "const style = getComputedStyle(view.still); let wrong = 0; const seen = new Set();"
            "for (let page = 0; page < view.side.flash.pages; page++) {"
            "  const name = Object.keys(STATE_OF_NAME)[view.side.flash.state(page)];"
            "  const [x, y] = layout.page(page);"
            "  const dot = context.getImageData(x + 2, y + 2, 1, 1).data;"
            "  const hex = '#' + [...dot.slice(0, 3)].map((part) => part.toString(16).padStart(2, '0')).join('');"
            "  const expected = style.getPropertyValue(`--page-${name}`).trim();"
            "  if (name === 'free' ? dot[3] !== 0 : hex !== expected) wrong += 1;"
            "  seen.add(name);"
            "}"
            "return [wrong, [...seen].sort()]"
        )
        assert (wrong, seen) == (0, ["free", "log", "stale", "valid"])


def test_keys_step_jump_and_play(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["one"])
    stage = chromium.driver.find_element(By.ID, "player")

    def press(*keys: str) -> int:
        stage.send_keys(*keys)
        at: int = chromium.run("return player.position")
        return at

    assert [press(Keys.ARROW_RIGHT), press(Keys.ARROW_RIGHT), press(Keys.ARROW_LEFT)] == [1, 2, 1]
    assert press(Keys.SHIFT + Keys.ARROW_RIGHT) == chromium.run("return player.schedule.begins[1] + 1")
    jumped = press(Keys.PAGE_DOWN)
    assert "merge" in chromium.texts(".work")[0]
    assert press(Keys.PAGE_DOWN) > jumped
    assert press(Keys.PAGE_UP) == jumped
    assert press(Keys.END) == chromium.run("return player.schedule.length")
    assert press(Keys.HOME) == 0
    press(" ")
    chromium.wait("return player.position > 1")
    press(" ")
    assert chromium.run("return player.playing") is None


def heard(chromium: Browser) -> str:
    """What a screen reader was told last; nobody sees it."""
    text: str = chromium.run("return document.getElementById('spoken').textContent")
    return text


def test_each_step_is_told_in_words_to_those_who_hear_the_page(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["one"])
    chromium.run("do player.jump(1); while (!document.querySelector('.work').textContent.startsWith('A full'));")
    chromium.run("player.step(1)")
    spoken = heard(chromium)
    heading = (
        r": A full merge gathers the newest version of (each of the )?\d+ pages? of logical block \d+ in fresh block"
    )
    assert re.search(heading, spoken)
    assert "Copies logical page" in spoken
    region = chromium.driver.find_element(By.ID, "spoken")
    assert region.get_attribute("aria-live") == "polite"
    chromium.run("player.play(); player.goTo(player.position + 5)")
    assert heard(chromium) == spoken, "not while it plays"
    chromium.run("player.toggle()")
    assert heard(chromium) != spoken


def show(chromium: Browser, side: int, label: str) -> None:
    """Choose a run on a side."""
    script = (
        "const [side, label] = arguments; const { choice } = player.views[side];"
        "choice.value = [...choice.options].findIndex((option) => option.text === label); player.choose();"
    )
    chromium.run(script, side, label)


FAST, DFTL = "fast:log_space=10%", "dftl:cmt=512B"


def test_waiting_is_told_once_and_the_beginning_in_one_sentence(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    assert heard(chromium) == "Nothing has happened yet."
    show(chromium, 1, FAST)
    chromium.run("player.jump(1); while (!player.views[0].isWaiting) player.step(1);")
    assert heard(chromium).startswith("page: It waits for the other run to end this request. fast")
    chromium.run("player.step(1)")
    assert heard(chromium).startswith("fast")


def test_a_partial_merge_begins_and_names_the_log_block(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["one"])
    chromium.run("do player.jump(1); while (!document.querySelector('.work').textContent.startsWith('A partial'));")
    assert "A partial merge begins." in heard(chromium)
    assert re.search(r"copies \d+ pages? to complete log block \d+, then erases the old data block", heard(chromium))


def test_an_erase_tells_what_becomes_free_and_what_was_free(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["one"])
    script = (
        "const [stale, free] = arguments; const { words } = player.views[0]; const { recording } = player.sides[0];"
        "const erase = recording.operations.flags.findIndex((_, index) => recording.kindOf(index) === ERASE);"
        "return words.erase(erase, { block: { stale, free } }).replace(/block \\d+ on die \\d+/, 'it')"
    )
    assert chromium.run(script, 1, 15) == "Erases it: 1 stale page becomes free; 15 were free already."
    assert chromium.run(script, 15, 1) == "Erases it: 15 stale pages become free; 1 was free already."
    assert chromium.run(script, 16, 0) == "Erases it: 16 stale pages become free."


def emptied_log_blocks(trace: Any) -> list[tuple[int, int, int, int]]:  # noqa: ANN401 - JSON
    """Each log block that full merges empty: request, merges, block and nanoseconds."""
    requests, operations, notes = trace["requests"], trace["operations"], trace["notes"]
    found = []
    for note in (note for note in notes if note["name"] == "log_victims"):
        first, request = note["operations_before"], note["request"]
        later = [other for other in requests["operations_before"] if other > first]
        victims = [other["operations_before"] for other in notes if other["name"] == "log_victims"]
        end = min([*later, *(place for place in victims if place > first), len(operations["op"])])
        merges = [n for n in notes if n["name"] == "full_merges" and first <= n["operations_before"] < end]
        work = [place for place in range(first, end) if operations["cause"][place] == "merge"]
        if merges:
            last = work[-1]
            took = operations["end_ns"][last] - operations["start_ns"][first]
            found.append((request, sum(n["count"] for n in merges), operations["block"][last], took))
    return found


def test_a_merge_says_which_log_block_is_emptied_and_how_long_the_host_waits(
    chromium: Browser, pages: dict[str, Path], played: fk.Results
) -> None:
    opened(chromium, pages["one"])
    told = chromium.run(
        "const [side] = player.sides; const { words } = player.views[0]; const begun = side.jobs.filter((job) =>"
        "  job.emptying && job.emptying.block >= 0 && job.emptying.jobs[0] === job);"
        "return begun.map((job) => [words.reason(job.first), job.emptying.block])"
    )
    emptied = emptied_log_blocks(traces(played)[FAST])
    assert len(told) == len(emptied) > 5
    for (reason, block), (request, merges, expected, took) in zip(told, emptied, strict=True):
        assert block == expected
        many = f": merge 1 of {merges}" if merges > 1 else ""
        whom = "for all of them" if merges > 1 else "for it"
        assert reason.startswith(
            f"To make room in the log, log block {block} is emptied{many}. Request {request} waits "
        )
        waits = float(re.findall(r"([\d.]+) ms " + whom, reason)[0])
        assert waits == pytest.approx(took / 1e6, abs=0.51), reason


def test_no_write_is_counted_before_it_is_answered(
    chromium: Browser, pages: dict[str, Path], played: fk.Results
) -> None:
    opened(chromium, pages["many"])
    script = (
        "const { sums, recording } = player.sides[1]; const [written, programmed] = sums;"
        "return [Math.min(...written.map((pages, at) => programmed[at] - pages)), written.at(-1)]"
    )
    pages_written = played.document["workload"]["pages_written"]
    for label in ("page", FAST, DFTL):
        show(chromium, 1, label)
        assert chromium.run(script) == [0, pages_written], label


def test_a_request_says_what_its_look_up_in_the_map_gave(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    show(chromium, 1, DFTL)
    chromium.run("do player.stepRequest(1); while (!player.views[1].texts.step.textContent.includes('does not'));")
    assert re.search(r"Request \d+: the host (reads|writes) logical page \d+\. The map in RAM", heard(chromium))
    chromium.run("player.step(1)")
    assert "Mapping pages" in heard(chromium)


def test_collections_of_one_side_are_found_alone(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    show(chromium, 0, "bast")
    show(chromium, 1, FAST)
    first = "return player.schedule.momentOf(player.sides[{0}], player.sides[{0}].jobs[0].first)"
    for side, name in enumerate(("left side", "right side")):
        Select(chromium.driver.find_element(By.ID, "stop-at")).select_by_visible_text(name)
        chromium.run("player.step(-player.position); player.jump(1)")
        assert chromium.run("return player.position") == chromium.run(first.format(side)), name
    chromium.run("player.jump(-1)")
    assert heard(chromium) == "No earlier collection or merge."


def test_another_choice_stays_at_the_request(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    chromium.run("for (let time = 0; time < 40; time++) player.stepRequest(1); player.step(1)")
    show(chromium, 1, DFTL)
    assert chromium.texts("#where")[0].endswith("request 40 of 400")
    assert "Request 40: the host" in heard(chromium)


def test_keys_change_the_speed_and_space_plays_on_sliders(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    stage, seek = (chromium.driver.find_element(By.ID, name) for name in ("player", "seek"))
    stage.send_keys("+")
    assert (chromium.texts("#pace"), heard(chromium)) == (["10 steps a second"], "10 steps a second")
    stage.send_keys("--")
    assert chromium.texts("#pace") == ["2 steps a second"]
    seek.send_keys(" ")
    chromium.wait("return player.position > 0")
    seek.send_keys(" ")
    assert chromium.run("return player.playing") is None
    chromium.driver.find_element(By.ID, "forward").send_keys(" ")
    assert chromium.run("return player.playing") is None, "Space presses the button"


def test_words_and_picture_fit_a_projector(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    chromium.resize(1280, height=720)
    show(chromium, 1, FAST)
    chromium.run("do player.jump(1); while (!player.views[1].texts.reason.textContent);")
    boxes = chromium.run(
        "return [...document.querySelectorAll('.words, .picture')].map((one) => {"
        "  const { top, bottom, height } = one.getBoundingClientRect(); return [top, bottom, height]; })"
    )
    assert chromium.run("return scrollY") == 0
    assert max(bottom for _, bottom, _ in boxes) <= 720
    assert min(height for *_, height in boxes) > 150


def test_a_phone_shows_both_pictures_next_to_each_other(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"], width=400)
    left, right = chromium.run(
        "return [...document.querySelectorAll('canvas.still')].map((one) => {"
        "  const { left, top, right, bottom } = one.getBoundingClientRect(); return [left, top, right, bottom]; })"
    )
    assert (left[1], left[3]) == (right[1], right[3])
    assert left[2] < right[0] < right[2] <= 400


def test_the_picture_numbers_blocks_and_rings_the_page_that_is_read(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["one"])
    chromium.run("do player.step(1); while (!player.views[0].texts.step.textContent.startsWith('Reads'));")
    inked, ring = chromium.run(
        "const [{ grid, side, still, moving }] = player.views; const { layout } = grid;"
        "const ratio = still.width / layout.width;"
        "const dots = (canvas, box) => ["
        "  ...canvas.getContext('2d').getImageData(...box.map((part) => part * ratio)).data];"
        "const inked = [0, 31, 32, 63].map((block) => layout.block(block)).map(([x, y]) =>"
        "  dots(still, [x, y - NUMBER, 12, NUMBER]).some(Boolean));"
        "const operation = side.recording.steps[side.position - 1];"
        "const [x, y] = layout.page(side.recording.operations.page[operation]);"
        "const hex = (dot) => '#' + dot.slice(0, 3).map((part) => part.toString(16).padStart(2, '0')).join('');"
        "return [inked, [2, 4].map((out) => hex(dots(moving, [x - out, y + layout.size / 2, 1, 1])))]"
    )
    style = "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim()"
    assert inked == [True] * 4
    assert ring == [chromium.run(style, "--read"), chromium.run(style, "--paper")]


def test_each_choice_and_the_workload_have_a_name_of_their_own(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    names = [choice.accessible_name for choice in chromium.driver.find_elements(By.TAG_NAME, "select")]
    assert names == ["Stop at work of", "FTL on the left", "FTL on the right"]
    assert chromium.texts("header .sub")[0].startswith("A generated workload on 2 dies, 32 blocks a die")


def test_both_sides_are_always_at_the_same_request(chromium: Browser, pages: dict[str, Path]) -> None:
    opened(chromium, pages["many"])
    assert chromium.run(
        f"{MOVE} const begun = (side) => lastAtMost(side.recording.stepOfRequest, side.position - 1, (step) => step);"
        "for (let at = 1; at <= player.schedule.length; at++) {"
        "  move(at); const [left, right] = player.sides; if (begun(left) !== begun(right)) return false;"
        "}"
        "return true"
    )


def linear(colour: str) -> list[float]:
    """Red, green and blue as amounts of light."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def weighed(rows: tuple[tuple[float, ...], ...], light: list[float]) -> list[float]:
    return [sum(weight * part for weight, part in zip(row, light, strict=True)) for row in rows]


TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)
SIGHTS = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}
"""What is seen of linear red, green and blue (Machado, Oliveira and Fernandes 2009)."""


def seen(colour: str, sight: str) -> tuple[float, float, float]:
    """A colour as a kind of sight has it, in CIELAB, where equal steps look equal."""
    light = weighed(TO_XYZ, weighed(SIGHTS[sight], linear(colour)))
    x, y, z = (max(0.0, part / white) ** (1 / 3) for part, white in zip(light, WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG defines it."""
    low, high = sorted(weighed(TO_XYZ, linear(colour))[1] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("scheme", "paper"), [("light", "#ffffff"), ("dark", "#12161d")])
def test_the_states_stand_out_from_the_paper_and_their_marks_from_them(
    scheme: str, paper: str, chromium: Browser, pages: dict[str, Path]
) -> None:
    opened(chromium, pages["one"], scheme=scheme)
    script = (
        "const style = getComputedStyle(document.documentElement); const [kind, names] = arguments;"
        "return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${kind}-${name}`).trim()]))"
    )
    colours, marks = (chromium.run(script, kind, list(player.STATES)) for kind in ("page", "mark"))
    assert colours.pop("free") == "transparent"
    assert contrast(marks["free"], paper) >= 3
    for name, colour in colours.items():
        assert contrast(colour, paper) >= 3, name
        assert contrast(marks[name], colour) >= 3, name
    common = [colours[name] for name in ("valid", "log", "map", "record", "stale")]
    for one, other in combinations(common, 2):
        assert min(math.dist(seen(one, sight), seen(other, sight)) for sight in SIGHTS) >= 18, (one, other)
