"""Runs without a clock: counts as with one, no times, and sentences of what there is."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.main import get_command

import ftlkit as fk
from conftest import Call
from ftlkit.advice import commands
from ftlkit.advice.query import Query
from ftlkit.cli import app
from ftlkit.cli.option_names import as_typed, flags_of
from ftlkit.report import facts
from ftlkit.reproduce.points import NUMBERS, Point, column
from ftlkit.results.columns import COLUMNS

TIMED = ("_ns", "iops", "_per_s", "_busy", "utilisation_max", "is_overloaded", "levelling_time_share")
"""How the names of columns that need a clock end."""


@pytest.fixture(scope="module")
def both() -> tuple[fk.Results, fk.Results]:
    """The same runs with a clock and without."""
    timed, clockless = (
        fk.compare(
            "fin1",
            "page,fast,dftl",
            device="slc-small",
            capacity="1GiB",
            requests=5_000,
            addresses="dense",
            precondition="fill",
            loop="closed",
            clock=clock,
            verify=True,
        )
        for clock in (True, False)
    )
    return timed, clockless


def test_columns_of_counts_are_those_with_a_clock_and_others_null(both: tuple[fk.Results, fk.Results]) -> None:
    timed, clockless = (results.runs for results in both)
    for name in COLUMNS:
        if name.endswith(TIMED):
            assert clockless[name].null_count() == 3, name
        elif not name.endswith("wall_s"):
            assert clockless[name].to_list() == timed[name].to_list(), name


def test_sentences_tables_and_charts_speak_of_counts_alone(both: tuple[fk.Results, fk.Results], tmp_path: Path) -> None:
    _, clockless = both
    assert (
        facts.intro(clockless.document)[-1]
        == "Preconditioning: fill, all of the capacity in use (no --in-use given), without a clock."
    )
    text = str(clockless.verdict)
    assert text.startswith("page and dftl have the least write amplification: 1.00, against up to ")
    assert "GC" in text
    assert not any(word in text for word in ("respon", "IOPS", "percentile", "flash time", "µs", "ms"))
    clockless.report(tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    drawn = set(re.findall(r'<figure[^>]* id="([^"]+)"', html))
    assert {"operations", "amplification-over-time"} <= drawn
    assert not drawn & {"response-cdf", "tail", "response-parts", "flash-time", "ram", "mean-over-time"}
    assert "Response times" not in html


def test_saved_results_have_no_times(both: tuple[fk.Results, fk.Results], tmp_path: Path) -> None:
    _, clockless = both
    clockless.save(tmp_path / "runs.json")
    read = fk.Results(json.loads((tmp_path / "runs.json").read_text(encoding="utf-8")))
    assert read.runs.equals(clockless.runs)
    clockless.save(tmp_path / "series.csv", frame="series")
    series = pl.read_csv(tmp_path / "series.csv")
    assert series["time_ns"].null_count() == series.height > 0
    assert series["host_written_bytes"].to_list() == both[0].series["host_written_bytes"].to_list()


def test_reproductions_refuse_times_and_take_counts(both: tuple[fk.Results, fk.Results]) -> None:
    timed, clockless = (Point("", "fin1", "page", {}, results.document["runs"][0]) for results in both)
    ours = {"flash_time_s", "merge_cost_ms", "lookup_us", "mapping_read_us", "mapping_write_us"}
    ours |= {"mean_response_us", "mean_read_response_us", "mean_write_response_us"}
    assert ours < set(NUMBERS)
    for name in NUMBERS:
        if name in ours or name.endswith(TIMED):
            with pytest.raises(fk.UserError, match="page: it has no clock, and so no times"):
                clockless.value(name)
        elif not name.endswith("wall_s"):
            assert clockless.value(name) == timed.value(name), name
    assert list(column(clockless, "write_amplification")) == list(column(timed, "write_amplification"))
    for name in ("mean_response_ns", "time_ns"):
        assert list(column(timed, name))
        with pytest.raises(fk.UserError, match="it has no clock"):
            column(clockless, name)


def test_what_mounting_reads_is_told_without_its_time(both: tuple[fk.Results, fk.Results]) -> None:
    said = str(both[1].verdict)
    assert "Mounting after a power cut takes page " in said
    assert re.search(r" page reads(, \d+ erases)?, fast ", said)


def changed(results: fk.Results, *amplifications: float | None) -> str:
    """The verdict's headline where the runs had these write amplifications."""
    document = copy.deepcopy(results.document)
    for run, amplification in zip(document["runs"], amplifications, strict=True):
        run["write_amplification"] = amplification
    return fk.Results(document).verdict.headline


def test_headlines_rank_what_is_known(both: tuple[fk.Results, fk.Results]) -> None:
    _, clockless = both
    assert changed(clockless, None, None, None).startswith("The host wrote nothing")
    assert changed(clockless, None, 2.0, 3.0) == "fast has the least write amplification: 2.00, against up to 3.00."
    assert changed(clockless, 0.0, 0.0, 3.0).startswith("page and fast have the least write amplification: 0")
    assert changed(clockless, 2.0, 2.02, 2.05) == "page, fast and dftl are level in write amplification (2.00 to 2.05)."
    document = copy.deepcopy(clockless.document)
    document["runs"][0]["end_of_life"] = {"request": 7, "host_written_bytes": 1, "message": "worn"}
    assert "The device wore out under page" in fk.Results(document).verdict.headline


@pytest.mark.full
def test_of_mixed_runs_it_is_said_which_have_no_clock() -> None:
    mixed = fk.compare("randwrite", "page,bdb", device="slc-small", span="64MiB", requests=5_000, clock="auto")
    assert facts.intro(mixed.document)[-1].endswith(", without a clock: page.")
    assert mixed.runs["iops"].is_null().to_list() == [True, False]
    assert "write amplification" in mixed.verdict.headline


def test_one_clockless_run_says_its_write_amplification() -> None:
    runs = fk.run(workload="randwrite", ftl="page", device="slc-small", span="64MiB", requests=20_000, clock=False)
    assert str(runs.verdict).startswith("page has a write amplification of ")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--ftl", "bdb"], "bdb needs a clock: it decides by time"),
        (["--ftl", "page", "--classes"], "run.classes needs a clock: it measures times"),
        (["--ftl", "page", "--timeline", "timeline.html"], "run.timeline needs a clock: it is a window of time"),
        (
            ["--ftl", "page", "--requests-out", "requests.parquet"],
            "the log of requests needs a clock: its rows have times",
        ),
    ],
)
def test_what_needs_a_clock_is_refused_with_the_way_back(options: list[str], reason: str, call: Call) -> None:
    outcome = call("compare", "fin1", "--requests", "2000", "--no-clock", *options, exits=2)
    said = " ".join(outcome.output.split())
    assert f"--no-clock: {reason}. Run with a clock (--clock, in a study run.clock = true)" in said


SPARE = ("curve", "spare", "randwrite", "--device", "slc-small", "--span", "64MiB", "--requests", 20_000)


def test_a_curve_over_spare_goes_without_a_clock_unless_one_is_asked_for(call: Call) -> None:
    chosen, forced = (call(*SPARE, "--spares", "0.2", *more).output.splitlines() for more in ((), ("--clock",)))
    assert chosen[0] == f"{forced[0]}, without a clock"
    assert chosen[1:3] == forced[1:3]


def test_options_that_have_no_effect_without_a_clock_are_told(call: Call) -> None:
    typed = ("compare", *SPARE[2:], "--ftl", "page", "--queue-depth", 4, "--set", "run.waiting=true")
    told = "Without a clock these have no effect: host.queue_depth, run.waiting."
    outcome = call(*typed, "--no-clock")
    assert told in " ".join(outcome.output.split())
    assert "no effect" not in call(*typed).output


def test_a_sweep_without_a_clock_ranks_by_write_amplification(tmp_path: Path) -> None:
    swept = fk.sweep(
        "randwrite", "page,fast,bdb", device="slc-small", span="64MiB", requests=20_000, store=tmp_path, clock=False
    )
    assert "page has the lowest write amplification" in swept._repr_html_()
    assert [row["error"].partition(": it decides")[0] for row in swept.failed] == [
        "run.clock = false: bdb needs a clock"
    ]


@pytest.mark.full
def test_advice_on_write_amplification_goes_without_a_clock(call: Call) -> None:
    asked = (
        "advise",
        "fin1",
        "--ftl",
        "page,block",
        "--trials",
        1,
        "--requests",
        600,
        "--seeds",
        1,
        "--set",
        "workload.span=64MiB",
    )
    said = " ".join(call(*asked, "--goal", "wa").output.split())
    assert ", without a clock." in said
    assert "response" not in said
    assert "--set run.clock=auto --skip" in said, "the command repeats these runs"
    timed = " ".join(call(*asked, "--goal", "wa", "--clock").output.split())
    assert "mean response" in timed
    assert "without a clock" not in timed


@pytest.mark.full
def test_a_sweep_of_mixed_runs_ranks_them_all_by_write_amplification(tmp_path: Path) -> None:
    swept = fk.sweep(
        "randwrite", "page,bdb", device="slc-small", span="64MiB", requests=5_000, store=tmp_path, clock="auto"
    )
    assert "lowest write amplification" in swept._repr_html_()


def test_curves_of_times_refuse_to_go_without_a_clock(call: Call) -> None:
    outcome = call("curve", "depth", "randwrite", "--ftl", "page", "--set", "run.clock=auto", exits=2)
    assert "a curve over load or depth is of times" in " ".join(outcome.output.split())


@pytest.mark.parametrize("curve", ["load", "depth"])
def test_curves_of_times_refuse_no_clock_before_reading(curve: str, call: Call, tmp_path: Path) -> None:
    trace = tmp_path / "missing.csv"
    trace.touch()
    outcome = call("curve", curve, trace, "--ftl", "page", "--set", "run.clock=false", exits=2)
    words = "--set run.clock=false: a curve over load or depth is of times. Leave it out."
    assert words in " ".join(outcome.output.split())
    outcome = call("curve", curve, trace, "--ftl", "page", "--set", "run.clock=true", exits=2)
    assert "of times" not in outcome.output, "the file that is empty is at fault"


@pytest.mark.parametrize(
    ("options", "setting", "words"),
    [
        ({"clock": False}, "run.clock=true", "--set run.clock=true: --no-clock sets run.clock already."),
        ({"clock": True}, "run.clock=false", "--set run.clock=false: --clock sets run.clock already."),
        ({"verify": False}, "run.verify=true", "--set run.verify=true: verify=False sets run.verify already."),
    ],
    ids=["clock-off", "clock-on", "without-off-switch"],
)
def test_a_switch_and_a_setting_are_not_both_taken(options: Any, setting: str, words: str) -> None:  # noqa: ANN401
    with pytest.raises(fk.UserError, match=re.escape(f"{words} Give one of the two.")):
        fk.run(workload="randwrite", ftl="page", settings=[setting], **options)


def test_no_switch_is_printed_that_a_command_lacks() -> None:
    of_compare = get_command(app).commands["compare"].loaded()  # type: ignore[attr-defined] # a group
    flags = flags_of(of_compare.params)
    off = {"clock": False, "verify": False, "skip_bad": False}
    assert as_typed("run.clock: no", off, flags) == "--no-clock: no"
    assert as_typed("run.verify: no", off, flags) == "run.verify: no"
    assert as_typed("workload.skip_bad: no", off, flags) == "workload.skip_bad: no"
    assert as_typed("run.verify: no", {"verify": True}, flags) == "--verify: no"
    asked = commands.question(Query("fin1", goal="wa", options=fk.study.Options(**off)))  # type: ignore[typeddict-item] # switches
    assert asked == "ftlkit advise fin1 --goal wa --no-clock"


def test_advice_on_responses_needs_a_clock(call: Call) -> None:
    outcome = call("advise", "fin1", "--no-clock", exits=2)
    words = "--no-clock: --goal mean compares response times. Leave it out, or take --goal wa or --goal life."
    assert words in " ".join(outcome.output.split())
