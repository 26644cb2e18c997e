"""What an answer says beyond its figures: the life, RAM that was searched, a device in use."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sample
from advice import with_columns
from ftlkit._util.units import typed
from ftlkit.advice import choice, conditions, confidence, life, phrasing
from ftlkit.advice.answer import _meaning, _of_the_run
from ftlkit.advice.commands import question
from ftlkit.advice.measure import Measured, Point
from ftlkit.advice.query import Query
from ftlkit.advice.search_result import Rung, SearchResult
from ftlkit.advice.space import holders
from ftlkit.report.life import cycles, even, heading, lives
from ftlkit.results.columns import COLUMNS
from ftlkit.results.outcome import Outcome, device_of
from ftlkit.study import Options

GIB = 1 << 30
DOCUMENT = sample.document(runs=sample.document()["runs"][:1])


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace that is named and not read."""
    path = tmp_path / "t.csv"
    path.touch()
    return str(path)


def wide(**fields: Any) -> SearchResult:  # noqa: ANN401 - fields of a result
    """A search on 16 GiB of which an eighth is touched."""
    result = SearchResult(200_000, frozenset({"page", "dftl"}), {}, 16 * GIB, touched_bytes=2 * GIB, cores=2)
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def run(stack: str, **columns: Any) -> Measured:  # noqa: ANN401 - columns of a run
    """A run of a stack."""
    document = json.loads(json.dumps(DOCUMENT))
    document["runs"][0]["endurance"] = columns.pop("endurance", {"limit": 100_000, "refusal": "too few"})
    row = dict.fromkeys(COLUMNS, 1) | {"label": stack, "life_bytes": None, "is_overloaded": False}
    return Measured(stack, [row | columns | {"document": json.dumps(document)}])


def test_a_life_is_told_only_where_it_is_known_or_was_asked_for(trace: str) -> None:
    quiet = run("treeftl:ram=8KiB", erases_mean=0.25, pages_programmed=0, life_bytes=None)
    assert life.sentences(Query(trace), quiet, run("page", life_bytes=None)) == []
    drive_bytes = device_of(DOCUMENT)["logical_bytes"]
    for part, words, cell in (
        (0.9, "No life is forecast", "not forecast"),
        (1.1, "Its life is at least", "at least 2."),
    ):
        survived = with_columns(quiet, host_written_bytes=part * drive_bytes, end_of_life_request=None)
        (line,) = life.sentences(Query(trace, goal="life"), survived, None)
        assert line.startswith(words)
        assert phrasing.text("life_bytes", survived).startswith(cell)


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        (Options(), ", or take the smallest device that holds it (--addresses dense --capacity auto)."),
        (Options(addresses="dense"), ", or take the smallest device that holds it (--capacity auto)."),
        (Options(addresses="dense", capacity="auto"), "(--repeat 7)."),
        (Options(addresses="wrap", capacity="4GiB"), ", or take a smaller device (--capacity)."),
    ],
)
def test_a_refused_life_offers_no_option_that_is_set(trace: str, options: Options, offered: str) -> None:
    text = life.lacking(Query(trace, options=options), wide(), run("page"), 0.916, 20.0)
    assert f"{offered} Or give another goal." in text
    assert all(f"--{name}" not in text for name in options if name != "capacity" or options["capacity"] == "auto")


def test_a_life_is_told_in_days_and_in_drive_writes_a_day(trace: str) -> None:
    def lasting(stack: str, **fields: Any) -> Measured:  # noqa: ANN401 - fields of a life
        spares_gone = {"written_bytes": 2e13, "low_bytes": 1e13, "high_bytes": 3e13, "is_measured": False} | fields
        return run(stack, life_bytes=2e13, is_life_measured=False, endurance={"limit": 9, "spares_gone": spares_gone})

    best = lasting("dftl", drive_writes_per_day=6.1, years=0.3)
    page = lasting("page", drive_writes_per_day=10.0, years=2.0)
    said = life.sentences(Query(trace, goal="life"), best, page)
    assert said[0] == "The advised stack's life is a forecast from the erases of the run, not measured."
    assert said[1].replace("\N{NO-BREAK SPACE}", " ") == (
        "That is 110 days (54.8 days to 164 days) at the workload's own rate, or 6.10 DWPD (drive writes per day over "
        "5 years) (page: 2.00 years (1.00 years to 3.00 years), or 10.0 DWPD), with 9 erases per block, as given."
    )
    died = lasting("dftl", drive_writes_per_day=6.1, years=0.3, is_measured=True)
    assert "That is 110 days at" in typed(life.sentences(Query(trace, goal="life"), died, None)[1]), "it was measured"
    best.rows[0]["is_overloaded"] = True
    assert "That is 6.10 DWPD" in life.sentences(Query(trace), best, None)[1]
    best.rows[0]["is_overloaded"] = None
    unknown = "Without a clock it was not measured whether the device can write at that rate, or at the DWPD."
    assert life.sentences(Query(trace), best, None)[-1] == unknown


def test_a_life_without_a_forecast_is_told_in_years_by_write_amplification(trace: str) -> None:
    def written(stack: str) -> Measured:
        measured = run(stack)
        document = json.loads(measured.rows[0]["document"])
        document["write_rate"] = {"bytes_per_day": 1e9, "source": "given"}
        document["runs"][0]["label"] = stack
        return with_columns(measured, document=json.dumps(document))

    lasts = r"[\d.,]+ TB under {} \([\d.,]+ years, [\d.,]+ DWPD\)"
    for goal, bounds in (("life", 1), ("wa", 0)):
        *bound, even, off = life.sentences(Query(trace, goal=goal), written("dftl"), written("page"))
        assert len(bound) == bounds
        assert off.startswith("These years are no forecast, which takes 4 erases per block")
        told = f"With even wear, host writes last until {lasts.format('dftl')} and {lasts.format('page')}, at 1.00 GB"
        assert re.match(told, even.replace("\N{NO-BREAK SPACE}", " ")), even
    assert life.sentences(Query(trace), written("dftl"), written("page")) == []
    new = json.loads(written("page").rows[0]["document"])
    new["runs"][0]["precondition"] = {"mode": "fill"}
    new["runs"][0]["erases"]["mean"] = 0.191
    unsettled = with_columns(written("page"), erases_mean=0.191, document=json.dumps(new))
    (none,) = life.sentences(Query(trace, goal="wa"), unsettled, None)
    assert none.startswith("No years are told: each block was filled 0.191 times under page while measured")


UNKNOWN = ", and their error is not known:"


@pytest.mark.parametrize(
    ("amplification", "written", "said"),
    [
        pytest.param(
            [2.0, 2.0, *[2.0] * 6, 2.14, 2.14],
            1.5,
            f"{UNKNOWN} under page write amplification went from 2.00 to 2.14. Give about 24 requests (--requests).",
            id="rises",
        ),
        pytest.param(
            [4.0, 4.0, *[2.0] * 6, 2.0, 2.0],
            1.5,
            "No years are told: under page write amplification went from 4.00 to 2.00. "
            "Give about 24 requests (--requests).",
            id="falls far",
        ),
        pytest.param(
            [2.0] * 10,
            0.5,
            f"{UNKNOWN} the host wrote 50.0 % of its data under page. Give about 18 requests (--requests).",
            id="less than a pass",
        ),
        pytest.param(
            [2.0] * 10,
            1.5,
            ": write amplification had settled, so they may be 9.09 % fewer to 10.0 % more under page.",
            id="settled",
        ),
    ],
)
def test_years_without_a_forecast_come_with_how_far_they_are_off(
    amplification: list[float], written: float, said: str, trace: str
) -> None:
    document = json.loads(json.dumps(DOCUMENT))
    (measured,) = document["runs"]
    series = {"write_amplification": amplification, "host_written_bytes": list(range(1, 11))}
    device = document["device"]
    pages = round(written * device["logical_bytes"] / device["geometry"]["page_size_bytes"])
    measured |= {"series": series, "write_amplification": 2.0, "endurance": {"limit": 100_000}, "label": "page"}
    measured |= {"host_pages_written": pages, "erases": measured["erases"] | {"mean": 2.0}}
    measured |= {"precondition": {"mode": "steady"}}
    document["workload"]["requests"] = 6
    document["write_rate"] = {"bytes_per_day": 1e9, "source": "given"}
    document["study"] = {"workload": {"generator": {}}}
    best = with_columns(run("page"), document=json.dumps(document))
    told = typed(life.sentences(Query(trace, goal="wa"), best, None)[-1])
    assert told == (said if said[0] == "N" else f"These years are no forecast, which takes 4 erases per block{said}")


@pytest.mark.parametrize("falls", [True, False])
@pytest.mark.parametrize(
    ("goal", "forecast", "is_told"), [("life", 1e9, True), ("wa", None, False), ("mean", None, True)]
)
def test_a_drift_of_the_advised_stack_is_a_caution_once(
    goal: str, trace: str, forecast: float | None, *, falls: bool, is_told: bool
) -> None:
    measured = run("page", life_bytes=forecast, end_of_life_request=None)
    document = json.loads(measured.rows[0]["document"])
    amplification = [3.0, 3.0, *[2.0] * 6, 1.5, 1.5]
    series = {"write_amplification": amplification[:: 1 if falls else -1], "host_written_bytes": list(range(1, 11))}
    document["runs"][0] |= {
        "label": "page",
        "host_pages_written": 1 << 40,
        "series": series,
        "precondition": {"mode": "steady", "settled": True},
    }
    best = with_columns(measured, document=json.dumps(document))
    result = wide(rungs=[Rung(133_333, tried={"page": best})])
    said = confidence.cautions(Query(trace, goal=goal), result, best, is_held_out=False)
    ends = "page from 3.00 to 1.50" if falls else "page from 1.50 to 3.00"
    assert sum(ends in typed(text) for text in said) == is_told


def test_a_mount_is_told_where_it_was_tried() -> None:
    measured = run("page")
    assert _of_the_run(measured) == []
    document = json.loads(measured.rows[0]["document"])
    document["runs"][0] |= {"label": "page", "mount": {"reads": 9_216, "erases": 0, "time_ns": None}}
    told = _of_the_run(with_columns(measured, document=json.dumps(document)))
    assert told == ["Mounting after a power cut takes page 9,216 page reads."]


def test_years_come_with_the_cycles_they_rest_on_and_who_says_so(trace: str) -> None:
    spares_gone = {"written_bytes": 2e13, "low_bytes": 1e13, "high_bytes": 3e13, "is_measured": False}
    told = spares_gone | {"drive_writes_per_day": 6.1, "years": 0.3}
    for limit, source in (
        (100_000, "100,000 erases per block, by the preset slc-small"),
        (9, "9 erases per block, as given"),
    ):
        best = run(
            "page",
            life_bytes=2e13,
            is_life_measured=False,
            endurance={"limit": limit, "spares_gone": told, "refusal": None},
        )
        document = json.loads(best.rows[0]["document"])
        document["device"]["preset"] = "slc-small"
        best = with_columns(best, document=json.dumps(document))
        assert life.sentences(Query(trace, goal="life"), best, None)[1].endswith(f", with {source}.")
        assert life.endurance(document) == [f"Endurance: {source}."]
        assert heading(document) == f"life (own rate, {source})"
        assert source in even(Outcome(document | {"write_rate": {"bytes_per_day": 1e9, "source": "given"}}))[0]
        assert f", with {source}; " in lives(Outcome(document))[1]
    assert cycles({"runs": [{}]}) == ""  # type: ignore[typeddict-item] # all that it reads


def test_all_the_ram_that_was_searched_is_told_and_what_a_power_cut_takes(trace: str) -> None:
    columns = {"write_amplification": 0.38, "mapping_hit_ratio": 0.9}
    stacks = [run(f"treeftl:ram={size}MiB", ram_bytes=size << 20, **columns) for size in (13, 26)]
    result = wide(rungs=[Rung(133_333, tried={stack.stack: stack for stack in stacks})])
    told = [text.replace("\N{NO-BREAK SPACE}", " ") for text in conditions.in_ram(Query(trace), result, stacks[1])]
    assert told == [
        "RAM was searched up to 26 MiB, about what a whole map takes (--ram sets another limit); more may be faster.",
        "It works as a write cache: flash programs 0.38 per byte written by the host.",
        "A power cut loses unflushed data in RAM of treeftl; the workload never flushes.",
    ]
    assert conditions.in_ram(Query(trace), result, stacks[0]) == told[1:], "more was tried"
    full = with_columns(stacks[1], mapping_hit_ratio=0.9996)
    assert conditions.in_ram(Query(trace), result, full) == told[1:], "a larger cache buys nothing"
    assert conditions.in_ram(Query(trace, ram_bytes=26 << 20), result, stacks[1]) == told[1:], "it was asked for"
    page = run("page", ram_bytes=1 << 20, write_amplification=1.0)
    result.rungs[0].tried["page"] = page
    assert conditions.in_ram(Query(trace), result, page) == [], "it has no size"
    result.flushes = 7
    (unpriced,) = conditions.in_ram(Query(trace), result, page)
    left_out = "so stacks with a write buffer were not searched (--ftl names them)."
    assert unpriced == f"Response times leave out the workload's 7 flushes, {left_out}"
    named = Query(trace, ftl="treeftl")
    assert "7 flushes, in which treeftl writes its RAM." in conditions.in_ram(named, result, stacks[0])[0]
    assert conditions.in_ram(replace(named, goal="wa"), result, stacks[0])[-1].endswith(
        "the workload flushes 7 times. To check it: `ftlkit torture --minutes 1 --ftl treeftl:ram=13MiB`."
    )


@pytest.mark.parametrize("goal", ["life", "wa", "mean"])
@pytest.mark.parametrize("has_clock", [True, False])
@pytest.mark.parametrize("stack", ["page", "fadac:victim=cat"])
def test_responses_that_were_not_measured_are_said_not_to_be(
    goal: str, stack: str, trace: str, *, has_clock: bool
) -> None:
    measured = run(stack, simulated_ns=1 if has_clock else None)
    told = conditions.without_responses(Query(trace, goal=goal), measured)
    assert len(told) == (goal != "mean" and not has_clock)
    if told:
        assert told[0].startswith("Response times were not measured: this goal needs no clock")
        assert f"--goal {goal},mean" in told[0]
        assert (f"{stack} may answer slower than page" in told[0]) == (stack != "page")


@pytest.mark.parametrize(
    ("stack", "durable", "is_told"),
    [
        pytest.param("fadac:victim=cat", True, True, id="asked for"),
        pytest.param("page", True, True, id="the reference"),
        pytest.param("page", False, False, id="not asked for"),
        pytest.param("page+fifo", True, False, id="a buffer"),
        pytest.param("treeftl:ram=8KiB", True, False, id="data in the RAM of the map"),
    ],
)
def test_what_a_durable_stack_keeps_is_told(stack: str, trace: str, *, durable: bool, is_told: bool) -> None:
    told = conditions.durably(Query(trace, durable=durable), wide(), run(stack))
    assert bool(told) is is_told
    assert bool(conditions.durably(Query(trace), wide(flushes=7), run(stack))) is (not holders(stack))
    if told:
        assert told[0].startswith("A power cut loses no acknowledged write: ")
        assert f"`ftlkit torture --minutes 1 --ftl {stack}`" in told[0]


def test_a_program_buffer_is_said_to_be_safe_by_a_capacitor_alone(trace: str) -> None:
    measured = run("page")
    document = json.loads(measured.rows[0]["document"])
    structures = document["runs"][0]["footprint"]["structures"]
    structures.append({"name": "program buffer", "ram_bytes": 9 << 20, "flash_bytes": 0})
    measured.rows[0]["document"] = json.dumps(document)
    (told,) = conditions.durably(Query(trace, durable=True), wide(), measured)
    assert "found again in flash, and a program buffer of 9 MiB, saved by power_loss_protection. To" in typed(told)
    document["study"]["device"] = {"power_loss_protection": False}
    measured.rows[0]["document"] = json.dumps(document)
    (told,) = conditions.durably(Query(trace, durable=True), wide(), measured)
    assert told.startswith("A power cut loses no flushed write: ")


def test_the_size_of_a_wide_device_is_told_where_it_was_left_open(trace: str) -> None:
    (told,) = conditions.of_the_size(Query(trace), wide(), run("page"))
    assert told.replace("\N{NO-BREAK SPACE}", " ").startswith(
        "The device has 16 GiB for the host, and the trace touches 2 GiB of it. On a device for that alone "
        "(--addresses dense) the RAM of maps and the life are about 12.5 % as large."
    )
    for options in (Options(addresses="wrap"), Options(capacity="16GiB")):
        assert conditions.of_the_size(Query(trace, options=options), wide(), run("page")) == []


def test_of_stacks_that_are_equal_to_the_digit_the_one_with_the_fewest_settings_is_taken() -> None:
    """As runs with and without victims=latte were, which took 0.2 % less RAM."""
    query, plain = Query("fin1"), "treeftl:load_before_write=false:ram=26MiB"
    rams = {f"{plain}:victims=latte": 27_325_270, f"{plain}:victims=page": 27_357_116, plain: 27_385_652}
    costs = {"response_mean_ns": 42_036.0, "write_amplification": 0.2159}
    points = [Point(stack, ram, costs) for stack, ram in rams.items()]
    assert choice.ranked(points, query)[0].stack == plain
    halved = choice.halve(points, query.metrics)
    assert [point.stack for point in halved.kept] == [plain]
    assert halved.beaten == dict.fromkeys(rams.keys() - {plain}, 1.0)
    runs = {stack: run(stack, ram_bytes=ram, **costs) for stack, ram in rams.items()}
    best = runs[f"{plain}:victims=latte"]
    assert choice.thrifty(query.metric, best, list(runs.values()), runs).stack == plain
    # What buys something stays: here a twentieth of the response, or of the RAM.
    quick = Point(f"{plain}:victims=latte", 27_325_270, costs | {"response_mean_ns": 40_000.0})
    small = Point(f"{plain}:victims=latte", 26_000_000, costs)
    for better in (quick, small):
        assert choice.ranked([*points[1:], better], query)[0] == better
        assert better in choice.halve([*points[1:], better], query.metrics).kept


def test_an_option_that_was_given_several_times_is_typed_so() -> None:
    asked = Query("fin1", options=Options(where=["type=D", "rw=W"]), budget_s=90.0)
    assert question(asked) == "ftlkit advise fin1 --budget 90s --where type=D --where rw=W"


def test_of_a_choice_the_chosen_value_alone_is_explained() -> None:
    each = {"meaning": "Which page leaves.  old: the oldest. new-est: the newest,\n of all.", "of": ["old", "new-est"]}
    assert _meaning(each, "new-est") == "Which page leaves. new-est: the newest, of all."
    assert (
        _meaning(each | {"of": ["old", "new-est", "any"]}, "any")
        == "Which page leaves. old: the oldest. new-est: the newest, of all."
    )
    assert _meaning({"meaning": "Erased blocks that stay."}, "3") == "Erased blocks that stay."
