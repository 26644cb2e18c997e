"""Advice on drives of today: what the map takes per TB, other mapping units, and which is best."""

import json
import math
import random
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import ftlkit as fk
from advice import answer_of, sought, with_columns
from conftest import LONG
from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util.units import typed
from ftlkit.advice.answer import Answer
from ftlkit.advice.document import document
from ftlkit.advice.footprints import TB, least_ram, ram_per_tb, with_unit
from ftlkit.advice.mapping_units import UNITS, has_units, is_settled, of_less_ram
from ftlkit.advice.measure import Measured
from ftlkit.advice.page import page
from ftlkit.advice.preparing import Preparing
from ftlkit.advice.query import Query
from ftlkit.advice.run import search_stacks
from ftlkit.advice.search_result import SearchResult, UnitTrial
from ftlkit.advice.unit_answer import _other, _own, _slices, rows, sentences, trade
from ftlkit.cli.advise import show
from ftlkit.results.columns import COLUMNS
from ftlkit.results.outcome import device_of
from ftlkit.results.store import Store
from ftlkit.study import Options
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.local import Local
from sample import document as sampled

MIB = 1 << 20
# Small blocks, which keep their word lines: a part of the drive with its link, cells and units.
PAGES = {"7450-like": 12, "qlc-16k-like": 8}


def options(device: str) -> Options:
    """Small requests that overwrite a slice of a drive: one die, with FTLKIT_LONG all of them."""
    if LONG:
        settings = [f"device.pages_per_block={4 * PAGES[device]}", "workload.span=512MiB"]
        return Options(settings=settings, requests=15_000, capacity="3GiB", precondition="steady")
    settings = [
        *("device.channels=1", "device.dies_per_channel=1"),
        f"device.pages_per_block={PAGES[device]}",
        "workload.span=32MiB",
    ]
    return Options(settings=settings, requests=2_400, capacity="64MiB", precondition="fill")


def asked(folder: Path, device: str, **fields: Any) -> Answer:  # noqa: ANN401 - fields of a question
    """The answer to a question on fin1 and a drive."""
    fields = {"options": options(device), "trials": 2, "seeds": 1, "ftl": "page,dftl,page+lru", **fields}
    return sought(folder, device=device, **fields)


@pytest.fixture(scope="module")
def qlc(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """One answer about a drive that maps 16 KiB."""
    return asked(tmp_path_factory.mktemp("units"), "qlc-16k-like", ram_bytes=(20 if LONG else 2) * MIB)


def grid(folder: Path, device: str, ram_bytes: int, advice: Answer) -> list[dict[str, Any]]:
    """Every unit with a handful of stacks on the requests that are held out, within the RAM."""
    stacks = ["page", "page+lru:ram=256KiB", "dftl:cmt=32KiB", "dftl:cmt=256KiB"]
    stacks += ["page+lru:ram=1MiB", "dftl:cmt=1MiB", "dftl:cmt=4MiB"] if LONG else []
    given: Any = {**options(device), "skip": advice.result.searched, "capacity": f"{advice.result.capacity}B"}
    plan = plans.from_options(["fin1"], stacks, device, given)
    units = values.parse(f"device.mapping_unit={','.join(f'{unit // 1024}KiB' for unit in UNITS)}")
    swept = runs.run(plans.with_more(plan, [units], 1), Store(folder / "grid", create=True), Local())
    assert not swept.failed
    assert len({row["response_mean_ns"] for row in swept.rows}) > len(UNITS)
    return [row for row in swept.rows if row["ram_bytes"] <= ram_bytes]


def within_the_grid(folder: Path, device: str, advice: Answer) -> None:
    """That the best unit with its best stack is at most 5 % behind the best of the grid."""
    ram_bytes = advice.query.ram_bytes or 1 << 40
    (best,) = [unit for unit in document(advice)["mapping_units"] if unit["is_best"]]
    least = min(row["response_mean_ns"] for row in grid(folder, device, ram_bytes, advice))
    assert best["response_mean_ns"] <= 1.05 * least, (best, least)
    assert best["ram_bytes"] <= ram_bytes


def test_the_best_unit_is_within_five_percent_of_a_grid(qlc: Answer, tmp_path: Path) -> None:
    within_the_grid(tmp_path, "qlc-16k-like", qlc)


@pytest.mark.skipif(not LONG, reason="a search and a grid each; set FTLKIT_LONG=1")
@pytest.mark.parametrize("device", list(PAGES))
def test_on_all_dies_the_best_unit_is_within_five_percent_of_a_grid(device: str, tmp_path: Path) -> None:
    within_the_grid(tmp_path, device, asked(tmp_path, device, ram_bytes=20 * MIB, trials=8))


def test_each_unit_is_told_with_the_figures_of_its_runs(qlc: Answer) -> None:
    told = [typed(sentence) for sentence in qlc.sentences]
    mine = qlc.advised.measured
    (own,) = [sentence for sentence in told if sentence.startswith("With units of 16 KiB the RAM of ")]
    per_tb = r"grows by 2[0-9.]+ MiB per TB of the drive \(page: 2[0-9.]+ MiB\); here it has 67.1 MB"
    assert re.search(per_tb, own) or LONG, own
    whole_map = with_columns(mine, mapping_hit_ratio=1.0)
    assert sentences(qlc.query, qlc.result, whole_map)[0].endswith(
        "must grow with the data to do so on a larger drive."
    )
    assert own.endswith("buffers of what waits to be programmed.")
    for size, unit in (("32 KiB", 32_768), ("8 KiB", 8_192)):
        (other,) = [sentence for sentence in told if sentence.startswith(f"Units of {size} would take ")]
        (trial,) = [trial for trial in qlc.result.units if trial.unit_bytes == unit]
        run = trial.told[mine.stack]
        change = (run.mean("response_mean_ns") or 0) / (mine.rows[0]["response_mean_ns"] or 1)
        assert ("slower" if change > 1 else "faster") in other, other
        assert json.loads(run.rows[0]["document"])["device"]["geometry"]["page_size_bytes"] == unit
    assert any("best for this goal" in sentence or "better for this goal" in sentence for sentence in told)


def test_terminal_and_document_have_the_units(qlc: Answer) -> None:
    printed = StringIO()
    show(qlc, Console(file=printed, width=120))
    assert "Mapping units, with one seed; the device has 16 KiB" in printed.getvalue()
    units = document(qlc)["mapping_units"]
    assert {unit["unit_bytes"] for unit in units} == {*UNITS}
    assert [unit["unit_bytes"] for unit in units] == sorted(unit["unit_bytes"] for unit in units)
    assert sum(unit["is_best"] for unit in units) == 1


@pytest.mark.skipif(not LONG, reason="charts take longer than the search; set FTLKIT_LONG=1")
def test_the_page_has_the_units(qlc: Answer) -> None:
    html = page(qlc)
    assert '<section id="units"' in html
    assert re.search(r"16\sKiB \(the device(&#39;|')s\)", html)


def test_slices_that_grow_with_the_unit_are_told() -> None:
    def trial(unit_bytes: int, slice_bytes: int | None) -> UnitTrial:
        text = json.dumps({"device": {"slice_bytes": slice_bytes}})
        return UnitTrial(unit_bytes, told={"page": Measured("page", [{"document": text}])})

    def told(*slices: int | None) -> list[str]:
        trials = [trial(4096 << place, size) for place, size in enumerate(slices)]
        return [typed(text) for text in _slices(SearchResult(9_000, frozenset(), {}, 1 << 40, units=trials))]

    assert told(1 << 30, 2 << 30, 4 << 30) == [
        "Each unit was measured on a slice of about as many writes: 1 GiB with 4 KiB to 4 GiB with 16 KiB."
    ]
    assert told(1 << 30, 1 << 30) == told(None, None) == told() == []


@pytest.mark.parametrize("stack", ["page", "fadac"])
def test_ram_per_tb_stands_beside_that_of_the_reference(stack: str) -> None:
    per_tb = {"page": 1e9, "fadac": 2e9}
    advised = Measured(stack, [dict.fromkeys(COLUMNS, 1) | {"label": stack, "document": "{}"}])
    trials = [UnitTrial(size, is_own=size == 4096, per_tb=per_tb, told={stack: advised}) for size in (4096, 16384)]
    result = SearchResult(1_000, frozenset({stack}), {}, 10**12)
    own, other = (
        typed(text)
        for text in (_own(result, trials[0], advised)[0], _other(Query("fin1"), trials[0], trials[1], advised))
    )
    beside = " (page: 954 MiB)" if stack != "page" else ""
    assert f"MiB per TB of the drive{beside}; here it has" in own.replace("GiB", "MiB")
    assert f"MiB per TB{beside} (1 B in all)" in other.replace("GiB", "MiB")


def test_a_unit_that_was_not_measured_is_said_not_to_be(qlc: Answer) -> None:
    trials = [trial if trial.is_own else replace(trial, told={}) for trial in qlc.result.units]
    told = sentences(qlc.query, replace(qlc.result, units=trials), qlc.advised.measured)
    assert sum("there was no time to measure what they cost" in typed(sentence) for sentence in told) == 2
    assert "There was no time to run" in told[-1]
    assert not any("for this goal" in sentence for sentence in told)


def test_a_unit_whose_run_collected_nothing_is_said_to_tell_nothing_of_it(qlc: Answer) -> None:
    trials = [replace(trial, told=dict(trial.told)) for trial in qlc.result.units]
    for trial in trials:
        for stack, run in trial.told.items():
            trial.told[stack] = replace(run, rows=[{**run.rows[0], "erases": 9 if trial.is_own else 0}])
    told = sentences(qlc.query, replace(qlc.result, units=trials), qlc.advised.measured)
    assert sum("No block was erased in that run" in sentence for sentence in told) >= 2
    assert not any("for this goal" in sentence for sentence in told), "what collected nothing is not better"
    assert (
        typed(told[-1])
        == "With units of 4 KiB, 8 KiB, 32 KiB and 64 KiB no block was erased, so none of them is called best."
    )


def test_the_advice_names_a_unit_that_is_better_with_it(qlc: Answer) -> None:
    mine = qlc.advised.measured
    part = mine.stack.partition(":")[0]
    for factor, words in ((0.9, "are better"), (0.97, "are a little better"), (1.0, "do as well with less RAM")):
        changed = {"response_mean_ns": factor * (mine.mean("response_mean_ns") or 0), "ram_bytes": 1 << 20, "erases": 9}
        trials = [
            trial if trial.is_own else replace(trial, told={mine.stack: with_columns(mine, **changed)})
            for trial in qlc.result.units
        ]
        first, *others = map(typed, answer_of(qlc.query, replace(qlc.result, units=trials)).sentences)
        said = rf"; units of (\d+) KiB {words} \(--set device.mapping_unit=\1KiB\): {part}\S*, mean "
        assert re.search(said, first), first
        assert any(f"KiB {words} for this goal" in sentence for sentence in others)


def filled(device: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - options of a study
    """A slice of a drive with every key filled in."""
    given: Any = {**options(device), **more}
    return dict(fk.check_study(study.build("fin1", "page", device, given))["device"])


def test_the_map_takes_four_bytes_a_unit_of_the_drive() -> None:
    for device, unit in (("7450-like", 4096), ("qlc-16k-like", 16_384)):
        table = filled(device)
        for other in (unit, *(other for other in UNITS if other <= table["page_size"])):
            grows = ram_per_tb("page", table | {"mapping_unit": other}, None)
            assert grows == pytest.approx(4 * TB / other, rel=0.001)
    # A demand-paged map grows by its directory alone.
    assert 0 < (ram_per_tb("dftl:cmt=32KiB", filled("7450-like"), None) or 0) < TB / 4096 / 100


def test_a_unit_as_large_as_the_page_is_not_lost_when_keys_are_filled_in() -> None:
    given: Any = {**options("7450-like"), "settings": [*options("7450-like")["settings"], "device.mapping_unit=16KiB"]}
    once = fk.check_study(study.build("fin1", "page", "7450-like", given))
    assert fk.check_study(once)["device"]["mapping_unit"] == once["device"]["mapping_unit"] == 16_384


@pytest.mark.parametrize("device", list(PAGES))
def test_a_budget_says_at_once_what_it_cannot_buy_on_a_drive(device: str) -> None:
    query = Query("randwrite", device=device, budget_s=2.0)
    sliced = dict(fk.check_study(query.document())["device"])
    assert sliced["slice"] < sliced["capacity"] / 50
    (told,) = re.findall(
        r"In 2.00 s not every mapping may be tried, .*: about --budget (\d+)min tries all",
        Preparing(sliced, {}, query, 1).missing() or "",
    )
    assert 1 <= int(told) < 24 * 60, "minutes, and more on a busy machine"
    assert Preparing(sliced, {}, replace(query, budget_s=86_400.0), 1).missing() is None
    assert Preparing(sliced, {}, replace(query, budget_s=None), 1).missing() is None


def test_only_devices_that_name_a_unit_are_tried_with_others() -> None:
    assert has_units(filled("7450-like"))
    assert not has_units(dict(fk.check_study(study.build("fin1", "page", None, {"requests": 10}))["device"]))


def test_too_little_ram_says_which_unit_would_do_or_that_none_does(tmp_path: Path) -> None:
    table = filled("7450-like")
    least = least_ram({"page": "page"}, table | {"mapping_unit": 16_384}, None)["page"]
    query = Query("fin1", device="7450-like", options=options("7450-like"), ram_bytes=int(least), ftl="page", trials=1)
    with pytest.raises(UserError, match=r"--ram .*page needs least.*at least that\. .* With a larger mapping unit"):
        search_stacks(query, Store(tmp_path, create=True, lazily=True), Local())
    with pytest.raises(UserError, match="a program buffer of 384 KiB, and a program unit of 192 KiB for each block"):
        search_stacks(query, Store(tmp_path, create=True, lazily=True), Local())
    larger = of_less_ram(query, table, ["page"], None)
    assert "page takes" in larger
    assert "with --set device.mapping_unit=16KiB" in larger
    none = of_less_ram(replace(query, ram_bytes=1), table, ["page"], None)
    assert "Nor does a mapping unit up to 16 KiB suffice: page takes" in none


def settling(seed: int, folder: Path) -> tuple[Query, SearchResult, Any]:
    """Units under a drawn uniform workload, and write amplification by the closed form."""
    drawn = random.Random(seed)  # noqa: S311 - a draw that repeats
    sizes = drawn.sample([4, 8, 16, 32, 64], 2)
    first = drawn.choice([20, 50, 80])
    part, spare = drawn.choice([0.6, 0.75, 0.9]), drawn.choice([0.1, 0.2])
    requests = drawn.choice([300, 1_000, 4_000, 80_000])
    settings = [
        *("device.channels=1", "device.dies_per_channel=1", "device.planes_per_die=1", "device.pages_per_block=128"),
        f"device.spare={spare}",
    ]
    given = Options(capacity="256MiB", requests=requests, bs=f"{sizes[0]}k/{first}:{sizes[1]}k/{100 - first}")
    given["in_use"], given["precondition"] = f"{part:.0%}", drawn.choice(["fill", "steady"])
    query = Query("randwrite", device="nvme-qlc-1t", goal="wa", ftl="page", units=(4096, 16_384), options=given)
    given["settings"] = settings
    without_clock: Options = {**given, "skip": requests // 2, "settings": [*settings, "run.clock=auto"]}
    plan = plans.from_options(["randwrite"], ["page"], "nvme-qlc-1t", without_clock)
    axis = values.parse("device.mapping_unit=4KiB,16KiB")
    swept = runs.run(plans.with_more(plan, [axis], 1), Store(folder, create=True), Local())
    assert not swept.failed, swept.failed[0]["error"]
    trials = [
        UnitTrial(unit, is_own=unit == query.units[0], told={"page": Measured("page", [row])})
        for unit, row in zip(query.units, swept.rows, strict=True)
    ]
    live, valid = part * (1 - spare), 0.5
    for _ in range(200):
        # (1 - v) / -ln v is the share of live data.
        valid = math.exp(-(1 - valid) / live)
    shares = dict(zip(sizes, (first, 100 - first), strict=True))
    rounded = {
        unit: sum(share * max(size, unit // 1024) for size, share in shares.items())
        / sum(share * size for size, share in shares.items())
        for unit in query.units
    }
    expected = {unit: factor / (1 - valid) for unit, factor in rounded.items()}
    return query, SearchResult(requests, frozenset({"page"}), {}, 256 * MIB, units=trials), expected


@pytest.mark.parametrize("seed", range(40 if LONG else 12))
def test_told_orders_of_units_agree_with_the_closed_form(seed: int, tmp_path: Path) -> None:
    query, result, expected = settling(seed, tmp_path / "store")
    own, other = result.units
    told = " ".join(map(typed, sentences(query, result, own.told["page"])))
    best = next((row.trial.unit_bytes for row in rows(query, result) if row.is_best), None)
    if "had not settled" in told:
        assert best is None or not is_settled(query, other.told["page"])
        assert not re.search(r"better|\d %|do alike", told)
        least = min(expected, key=lambda unit: expected[unit])
        if named := re.search(r"so (.*) may be best: (.*)", told):
            assert best == least or f"{least // 1024} KiB" in named[1]
            wanted = r"at least [\d,]+ requests are needed, `ftlkit sweep randwrite .*=4KiB,16KiB`"
            assert re.match(wanted, named[2])
        else:
            assert best in (None, least)
    elif "do alike" not in told:
        assert best == min(expected, key=lambda unit: expected[unit])
        for trial in result.units:
            assert trial.told["page"].mean("write_amplification") == pytest.approx(expected[trial.unit_bytes], rel=0.1)


@pytest.mark.parametrize(
    ("ended", "passes", "named"),
    [
        pytest.param(2.4, 3.0, "so 16 KiB may be best: ", id="falling towards the best"),
        pytest.param(3.6, 3.0, "but none of these comes near the best.", id="rising away from it"),
        pytest.param(2.9, 3.0, "but none of these comes near the best.", id="falling too little"),
        pytest.param(3.1, 0.5, "but none of these comes near the best.", id="half a pass, level"),
        pytest.param(3.1, 0.2, "so 16 KiB may be best: ", id="a fifth of a pass, level"),
    ],
)
def test_only_a_unit_that_may_reach_the_best_is_said_to_be_it(ended: float, passes: float, named: str) -> None:
    trials = []
    falling = [*[3.1] * 6, *[ended] * 4]
    # The best of all takes more RAM than there is.
    for unit, parts, ram in ((4096, [2.0] * 10, 4), (16_384, falling, 4), (65_536, [1.0] * 10, 6)):
        made = sampled(runs=sampled()["runs"][:1])
        (measured,) = made["runs"]
        measured["series"] |= {"write_amplification": [*parts], "host_written_bytes": [*range(1, 11)]}
        device = device_of(made)
        pages = device["logical_bytes"] // device["geometry"]["page_size_bytes"]
        written = round(pages * (passes if unit == 16_384 else 2))
        measured |= {"write_amplification": sum(parts) / 10, "host_pages_written": written}
        made["study"] = {"workload": {"generator": {}}}
        row = dict.fromkeys(COLUMNS, 1) | {"write_amplification": sum(parts) / 10, "ram_bytes": ram}
        told = {"page": Measured("page", [row | {"document": json.dumps(made)}])}
        trials.append(UnitTrial(unit, is_own=unit == 4096, told=told))
    result = SearchResult(9, frozenset(), {}, 1 << 30, units=trials)
    text = " ".join(map(typed, sentences(Query("randwrite", goal="wa", ram_bytes=5), result, trials[0].told["page"])))
    assert f"Write amplification had not settled with units of 16 KiB, {named}" in text


@pytest.mark.parametrize(
    ("cached", "buffered", "name"),
    [
        pytest.param(900, 200, "dftl", id="part"),
        pytest.param(1_000, 0, "dftl (whole map in RAM)", id="whole"),
    ],
)
def test_a_cache_of_the_whole_map_is_named_as_such(cached: int, buffered: int, name: str) -> None:
    made = sampled(runs=sampled()["runs"][:1])
    parts = [("cache", cached, 0), ("translation pages", 0, 1_000), ("program buffer", buffered, 0)]
    made["runs"][0]["footprint"]["structures"] = [
        {"name": part, "ram_bytes": ram, "flash_bytes": flash} for part, ram, flash in parts
    ]
    row = dict.fromkeys(COLUMNS, 1) | {"document": json.dumps(made)}
    trials = [UnitTrial(4096, is_own=True, told={"dftl": Measured("dftl", [row])})]
    assert [each.name for each in rows(Query("zipf"), SearchResult(9, frozenset(), {}, 1, units=trials))] == [name]


@pytest.mark.parametrize(("factor", "many"), [(1.046, 1), (1.12, 0)])
def test_a_larger_unit_that_costs_little_is_told_with_both_figures(
    factor: float, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ftlkit.advice.unit_answer.is_settled", lambda *_: True)
    trials = []
    for unit, amplification, ram in ((4096, 3.25, 4 << 30), (16_384, 3.25 * factor, 1 << 30)):
        row = dict.fromkeys(COLUMNS, 1) | {"label": "page", "write_amplification": amplification, "ram_bytes": ram}
        trials.append(UnitTrial(unit, is_own=unit == 4096, told={"page": Measured("page", [row])}))
    query = Query("randwrite", goal="wa")
    told = [typed(text) for text in trade(query, SearchResult(9, frozenset(), {}, 1 << 40, units=trials))]
    saving = (
        "Units of 16 KiB (--set device.mapping_unit=16KiB) would save 3 GiB of 4 GiB of RAM: page then has write "
        "amplification 3.40, 4.60 % higher than with 4 KiB, which has 3.25."
    )
    assert told == [saving] * many


def test_a_program_buffer_that_nobody_set_follows_the_unit() -> None:
    study_of_drive = study.build("randwrite", "page", "nvme-qlc-1t", {"settings": ["device.mapping_unit=4KiB"]})
    device = dict(fk.check_study(study_of_drive)["device"])
    assert least_ram({"page": "page"}, with_unit(device, 65_536), None)
    with pytest.raises(UserError, match="program_buffer = 256KiB"):
        least_ram({"page": "page"}, with_unit(device, 65_536, ["program_buffer"]), None)


def test_units_that_a_short_budget_left_out_are_told_with_their_sweep(qlc: Answer) -> None:
    query = replace(qlc.query, workload="randwrite", goal="wa", units=(16_384, 65_536))
    (told,) = sentences(query, replace(qlc.result, units=[]), qlc.advised.measured)
    assert re.search(r"No mapping unit was compared: at least [\d,]+ requests are needed, `ftlkit sweep ", typed(told))
    assert "--vary device.mapping_unit=16KiB,64KiB`" in told
