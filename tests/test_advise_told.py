"""What an advice says of itself: what decided, what was not measured, how to repeat it."""

import copy
import json
import re
import shlex
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import ftlkit as fk
from advice import FIN1, answer_of, sought, with_columns
from conftest import Call, write_msr
from ftlkit._util import units
from ftlkit.advice import confidence, phrasing, search_result
from ftlkit.advice.answer import Answer, answer
from ftlkit.advice.document import document
from ftlkit.advice.measure import Measured, Runner
from ftlkit.advice.page import ADVISED, page, panels
from ftlkit.advice.query import Query
from ftlkit.advice.run import search_stacks
from ftlkit.advice.search_result import VOLATILE, LastRun, Rung, SearchResult, UnitTrial, is_of
from ftlkit.advice.space import Head, Space
from ftlkit.cli.advise import show
from ftlkit.report.cautions import cautions
from ftlkit.report.facts import blocks_bytes
from ftlkit.results.outcome import Outcome
from ftlkit.results.store import Store
from ftlkit.sweeps import values
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.plan import Plan
from ftlkit.sweeps.traces import Traces


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """The answer to a question about three layers, with words and switches as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Space, "turned", lambda *_: [])
        return sought(tmp_path_factory.mktemp("once"), ftl="page,dftl,rftl", trials=20, seeds=1)


@pytest.fixture
def whole(once: Answer) -> Answer:
    """A copy of it, which may be changed."""
    return copy.deepcopy(once)


def said(advice: Answer, start: str) -> str:
    """The sentence that begins so, with ordinary spaces; empty if there is none."""
    return next((text for each in advice.sentences if (text := units.typed(each)).startswith(start)), "")


def again(earlier: Answer) -> Answer:
    """The answer to what a search came to, after that was changed."""
    return answer_of(earlier.query, earlier.result)


def test_the_least_ram_is_chosen_by_the_figures_that_are_told(tmp_path: Path) -> None:
    options: dict[str, Any] = {"ftl": "page,dftl,treeftl", "goal": "ram", "ram_bytes": 1 << 20}
    advice = sought(tmp_path, **options, trials=20, seeds=2, options=FIN1)
    within = [stack.measured for stack in advice.stacks if (stack.measured.mean("ram_bytes") or 0) <= 1 << 20]
    best = min(measured.mean("response_mean_ns") or 0 for measured in within)
    enough = [measured for measured in within if (measured.mean("response_mean_ns") or 0) <= 1.1 * best]
    assert advice.advised.measured.mean("ram_bytes") == min(measured.mean("ram_bytes") for measured in enough)  # type: ignore[type-var] # each has one


def test_without_a_response_there_is_nothing_to_choose_by(call: Call, tmp_path: Path) -> None:
    trims = tmp_path / "trims.csv"
    trims.write_text("".join(f"{row},trim,{row * 4096},4096\n" for row in range(3_000)))
    for goal in ("mean", "p99", "ram"):
        result = call(
            "advise", trims, "--columns", "time:s, op, offset:B, size:B", "--trials", 2, "--goal", goal, exits=2
        )
        assert f"--goal {goal}: the workload neither reads nor writes" in " ".join(result.stderr.split())


WORN: dict[str, Any] = {
    "requests": 40_000,
    "precondition": "steady",
    "settings": ["device.preset=slc-small", "workload.span=32MiB", "device.endurance=13"],
}


@pytest.fixture
def nothing_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search try no other settings than those that are drawn."""
    monkeypatch.setattr(Space, "turned", lambda *_: [])


@pytest.mark.usefixtures("nothing_turned")
def test_a_device_that_lasts_has_lived_longer_than_one_that_died(tmp_path: Path) -> None:
    lasting = "page:victim=windowed-greedy"
    advice = sought(tmp_path, goal="life", options=WORN, ftl=f"page,{lasting}", trials=2, seeds=1)
    page, other = (advice.result.last.tried[stack].rows[0] for stack in ("page", lasting))
    assert page["life_bytes"] < other["host_written_bytes"]
    assert other["life_bytes"] is None
    assert advice.advised.stack == lasting
    # What wore out before the held-out part has no figures there.
    assert advice.is_held_out
    assert advice.advised.measured is advice.result.finalists[lasting]
    assert advice.sentences[0].startswith(f"Take {lasting}: life ")
    assert "life_bytes" in advice.advised.fronts


@pytest.mark.usefixtures("nothing_turned")
def test_figures_of_a_device_that_died_early_are_told_as_the_search_s(tmp_path: Path, call: Call) -> None:
    advice = sought(tmp_path, goal="life", options=WORN, ftl="page", trials=1, seeds=2)
    assert "page" in advice.result.finalists
    assert not advice.is_held_out
    assert "the device had worn out before it under " in advice.doubts[0]
    reasons = [fate.reason for fate in search_result.fates(advice.query, advice.result)]
    assert set(reasons) == {"nothing was measured on the held-out part"}
    again = measured_again(advice, call, tmp_path / "again")
    assert again[advice.advised.stack]["life_bytes"] == advice.advised.measured.mean("life_bytes")


def writes(folder: Path, requests: int) -> Path:
    """A trace of writes of 64 KiB all over 36 MiB."""
    trace = folder / "writes.csv"
    trace.write_text("".join(f"{row},write,{row * 37 % 576 * 65536},65536\n" for row in range(requests)))
    return trace


def test_a_trace_that_is_too_short_for_a_life_says_how_often_it_has_to_be_served(call: Call, tmp_path: Path) -> None:
    arguments = ["advise", writes(tmp_path, 400), "--columns", "time:s, op, offset:B, size:B", "--capacity", "40MiB"]
    arguments += ["--goal", "life", "--ftl", "page,dftl", "--trials", 4, "--seeds", 1]
    short = call(*arguments, "--store", tmp_path / "refused")
    errors = " ".join(short.stdout.split())
    assert errors.startswith("Take "), "an answer by write amplification"
    assert "--goal life: no life is forecast from the searched part" in errors
    match = re.search(r"Serve the trace several times \(--repeat (\d+)\)", errors)
    assert match, errors
    assert 10 < int(match[1]) < 100
    completed = call(*arguments, "--repeat", match[1])
    text = " ".join(completed.stdout.split())
    assert "is a forecast from the erases of the run" in text
    assert "at least" not in text.partition("stack RAM")[0]
    again = f"The trace is served {match[1]} times, so the held-out requests are the searched ones again"
    assert again in text
    assert f"--repeat {match[1]}" in text


def test_a_life_that_nothing_tells_of_is_not_advised_where_the_reference_cannot_run(call: Call, tmp_path: Path) -> None:
    """Of devices that all last, the least that they live says nothing."""
    arguments = ["advise", writes(tmp_path, 200), "--columns", "time:s, op, offset:B, size:B", "--addresses", "wrap"]
    arguments += ["--capacity", "6MiB", "--goal", "life", "--ftl", "page,block,fast", "--trials", 6, "--seeds", 1]
    result = call(*arguments)
    assert "--goal life: no life is forecast" in " ".join(result.stdout.split())


def measured_again(advice: Answer, call: Call, store: Path) -> dict[str, Any]:
    """The rows by their stacks that the command of an answer gives; one seed each."""
    call(*shlex.split(advice.command)[1:], "--store", store)
    rows = list(Store(store).rows())
    assert len(rows) == len({row["label"] for row in rows})
    return {row["label"]: row for row in rows}


def test_what_is_not_held_out_is_measured_again_where_it_was_measured(tmp_path: Path, call: Call) -> None:
    """On the same device, though the searched part spans less than the whole."""
    trace = tmp_path / "t.csv"
    trace.write_text("".join(f"{row},write,{(row * 7 % 300 + (row > 200) * 9000) * 4096},8192\n" for row in range(300)))
    options: Any = {"columns": "time:s, op, offset:B, size:B"}
    query = Query(str(trace), options=options, ftl="page,dftl", trials=4, seeds=2)
    sure = Store(tmp_path / "store", create=True, lazily=True)
    result = search_stacks(query, sure, Local())
    whole = answer_of(query, result)
    assert "Two seeds gave identical runs." in whole.doubts[0]
    result.finalists = {}
    part = again(whole)
    assert not part.is_held_out
    rows = measured_again(part, call, tmp_path / "again")
    assert rows.keys() == {part.advised.stack, "page"}
    for stack in part.stacks:
        if stack.stack in rows:
            assert rows[stack.stack]["key"] == stack.measured.rows[0]["key"]


def test_it_is_told_how_many_were_not_measured_on_the_held_out_part(whole: Answer) -> None:
    before = whole
    first, *missed = before.result.asked_for
    assert len(missed) >= 2
    before.result.finalists = {first: before.result.finalists[first]}
    advice = again(before)
    assert advice.is_held_out
    sentence = next(caution for caution in advice.cautions if "on the held-out part" in caution)
    assert sentence.startswith(f"Out of time for {len(missed)} of {len(missed) + 1} stacks on the held-out part: ")
    assert "Their figures are of the first 4,000 requests" in sentence
    best = min(
        (measured for measured in before.result.of(before.result.last) if measured.stack in missed),
        key=lambda measured: measured.mean("response_mean_ns") or 0,
    )
    assert phrasing.text("response_mean_ns", best) in sentence
    before.result.interrupted = True
    assert any("It was stopped before" in caution for caution in again(before).cautions)


def test_a_prefix_that_was_cut_short_does_not_choose(whole: Answer) -> None:
    """One of many stacks ran there when the time ended: it is the first, not the best."""
    result = whole.result
    worst = max(result.of(result.last), key=lambda measured: measured.mean("response_mean_ns") or 0).stack
    cut = Rung(result.searched, begun=dict.fromkeys(result.last.tried), tried={worst: result.last.tried[worst]})
    complete = result.last
    result.rungs.append(cut)
    result.finalists, result.asked_for = {}, []
    advice = again(whole)
    assert result.last is complete
    assert advice.advised.stack != worst


def test_a_prefix_on_which_most_were_run_chooses(whole: Answer) -> None:
    result = whole.result
    first, *others = result.last.tried
    result.rungs.append(Rung(result.searched, begun=dict.fromkeys([first, *others])))
    result.last.tried.pop(first)
    result.rungs[-1].tried = {stack: result.rungs[0].tried[stack] for stack in others}
    assert result.last is result.rungs[-1]
    advice = again(whole)
    assert "1 stack that did well on a prefix was not run on the next one, for want of time." in advice.cautions


def test_where_the_whole_part_was_not_reached_the_held_out_figures_choose(whole: Answer) -> None:
    """What is best on a short prefix can be far from the best on the whole."""
    result = whole.result
    worst = max(result.finalists, key=lambda measured: mean(result.finalists[measured]))
    rows = [row | {"response_mean_ns": 1.0} for row in result.last.tried[worst].rows]
    tried = result.last.tried | {worst: replace(result.last.tried[worst], rows=rows)}
    result.rungs[:] = [Rung(result.searched // 9, tried=tried)]
    advice = again(whole)
    assert advice.advised.stack == min(result.finalists, key=lambda measured: mean(result.finalists[measured]))
    assert any(f"By the search alone it would have been {worst}." in doubt for doubt in advice.doubts)
    assert any("stacks were sifted by its first" in caution for caution in advice.cautions)


def with_a_rival(whole: Answer, lead: float, **columns: Any) -> tuple[str, str]:  # noqa: ANN401 - columns of a run
    """Let another stack than the advised be this many times as fast on the held-out part."""
    result, best = whole.result, whole.advised.stack
    other = next(measured for measured in result.finalists if measured not in (best, "page"))
    mine = result.finalists[best].rows[0]["response_mean_ns"]
    for stack, measured in result.finalists.items():
        changed = {"response_mean_ns": mine / lead} | columns if stack == other else {}
        result.finalists[stack] = replace(measured, rows=2 * [row | changed for row in measured.rows])
    return best, other


def test_what_the_held_out_part_refutes_is_not_advised(whole: Answer) -> None:
    best, other = with_a_rival(whole, 1.24)
    advice = again(whole)
    assert advice.advised.stack == other
    assert advice.sentences[0].startswith(f"Not certain; best so far: {other} (on the searched part ")
    assert said(advice, f"{best} won the search but lost on held-out requests: ")
    with_a_rival(whole, 1.04)
    assert again(whole).sentences[0].startswith(f"Take {other}: "), "so little is no reason for doubt"
    assert any("influenced the choice" in doubt for doubt in advice.doubts)


def searched_as(whole: Answer, stack: str, of: str, factor: float) -> None:
    """Let a stack's response on the searched part be a multiple of another's, with as much RAM."""
    tried = whole.result.last.tried
    columns = {"response_mean_ns": factor * mean(tried[of]), "ram_bytes": tried[of].mean("ram_bytes")}
    tried[stack] = with_columns(tried[stack], **columns)


@pytest.mark.parametrize("factor", [1.0, 1.007, 1.2])
@pytest.mark.parametrize("more", [1.0, 1.5])
def test_a_row_of_the_table_with_a_lower_figure_is_advised_whatever_the_search_found(
    whole: Answer, factor: float, more: float
) -> None:
    best, other = with_a_rival(whole, 1.006, ram_bytes=more * (whole.advised.measured.mean("ram_bytes") or 0))
    searched_as(whole, other, best, factor)
    told = again(whole)
    assert told.advised.stack == other
    assert said(told, f"{best} won the search ")


@pytest.mark.parametrize(("lead", "is_tie"), [(1.03, True), (1.08, False)])
@pytest.mark.parametrize("also", ["", " won the search and"])
def test_more_ram_has_to_win_by_more_than_the_noise_of_one_seed(
    whole: Answer, lead: float, also: str, *, is_tie: bool
) -> None:
    best, other = with_a_rival(whole, lead, ram_bytes=2 * (whole.advised.measured.mean("ram_bytes") or 0))
    result, whole.result.seeds = whole.result, 1
    kept = {best, other}
    result.finalists = {
        stack: replace(run, rows=run.rows[:1]) for stack, run in result.finalists.items() if stack in kept
    }
    searched_as(whole, other, best, 1 / lead if also else 1.01)
    told = again(whole)
    assert told.advised.stack == (best if is_tie else other)
    tie = said(told, f"{other}{also} ties with it on the held-out part: mean response ")
    assert bool(tie) == is_tie
    assert not is_tie or units.typed(tie).endswith(f" 2.91 % faster than {best}; less RAM decides.")


@pytest.mark.parametrize("factor", [1.0, 3.49])
def test_what_is_worse_on_the_held_out_part_with_more_ram_is_not_advised(whole: Answer, factor: float) -> None:
    best, other = with_a_rival(whole, 1.002, ram_bytes=(whole.advised.measured.mean("ram_bytes") or 0) / 2)
    searched_as(whole, other, best, factor)
    told = again(whole)
    assert told.advised.stack == other
    assert said(told, f"{best} won the search but lost on held-out requests: ")


@pytest.mark.parametrize("lead", [1.002, 0.997])
def test_ram_that_buys_nothing_on_both_parts_is_not_advised(whole: Answer, lead: float) -> None:
    ram = whole.advised.measured.mean("ram_bytes") or 0
    finalists = dict(whole.result.finalists)
    best, other = with_a_rival(whole, lead, ram_bytes=ram / 2)
    searched_as(whole, other, best, 1.001)
    told = again(whole)
    assert told.advised.stack == other
    why = " but lost on held-out requests" if lead > 1 else ", but its RAM buys nothing on either part"
    assert said(told, f"{best} won the search{why}")
    # So little is nothing where it takes more RAM.
    whole.result.finalists = finalists
    with_a_rival(whole, 1.002, ram_bytes=2 * ram)
    assert again(whole).advised.stack == best


@pytest.mark.parametrize("factor", [3.49, 1.006])
def test_ram_that_buys_something_on_one_part_is_not_left_out_and_it_is_said_where(whole: Answer, factor: float) -> None:
    best, other = with_a_rival(whole, 0.997, ram_bytes=(whole.advised.measured.mean("ram_bytes") or 0) / 2)
    searched_as(whole, other, best, factor)
    told = again(whole)
    assert told.advised.stack == best
    there = f"{units.share(factor - 1)} slower than {best}"
    assert any(f"{other} " in each and f"; on the searched part {there}" in each for each in told.sentences)


def test_where_the_search_was_cut_ram_that_bought_something_on_a_prefix_is_not_left_out(whole: Answer) -> None:
    best, other = with_a_rival(whole, 0.997, ram_bytes=(whole.advised.measured.mean("ram_bytes") or 0) / 2)
    whole.result.rungs[-1] = replace(whole.result.last, requests=2_000)
    assert whole.result.was_cut
    searched_as(whole, other, best, 1.001)
    assert again(whole).advised.stack == other
    searched_as(whole, other, best, 3.0)
    assert again(whole).advised.stack == best


def test_what_is_worse_beside_the_goal_is_told_from_the_rows_of_the_table(whole: Answer) -> None:
    best, other = with_a_rival(whole, 0.9, write_amplification=1.5)
    finalists = whole.result.finalists
    for stack, amplification in ((best, 1.56), (other, 1.5)):
        rows = [row | {"write_amplification": amplification} for row in finalists[stack].rows]
        finalists[stack] = replace(finalists[stack], rows=rows)
    for stack in finalists.keys() - {best, other}:
        rows = [row | {"write_amplification": 2.0} for row in finalists[stack].rows]
        finalists[stack] = replace(finalists[stack], rows=rows)

    def beside() -> str:
        return said(again(whole), "Not best in everything: ")

    assert beside() == "", "by less than 5 % is not told"
    finalists[other] = with_columns(finalists[other], write_amplification=1.2)
    assert beside() == (
        f"Not best in everything: {other} has a write amplification of 1.20; the advised stack's is 30.0 % higher."
    )
    assert other in [stack.stack for stack in again(whole).table], "the table has its name"
    # One that falls behind the arrivals is no better.
    finalists[other] = with_columns(finalists[other], is_overloaded=True)
    assert other not in beside()


def test_writes_that_a_power_cut_loses_are_told_first_with_a_durable_stack(whole: Answer) -> None:
    best, risky = whole.advised.stack, "aps:ram=8KiB"
    for tried in (whole.result.last.tried, whole.result.finalists):
        tried[risky] = with_columns(replace(tried[best], stack=risky), response_mean_ns=mean(tried[best]) / 2)
    advice = again(whole)
    assert advice.advised.stack == risky
    assert f"{risky}, where a power cut loses unflushed writes: mean response" in units.typed(advice.sentences[0])
    assert said(advice, "A power cut loses unflushed data in RAM of aps; the workload never flushes.")
    assert "of RAM, 100.0 % slower than" in said(advice, f"Without such RAM {best} is best: mean response ")
    assert best in {stack.stack for stack in advice.table}
    whole.result.finalists = {risky: whole.result.finalists[risky]}
    assert said(again(whole), "No stack without such RAM was measured.")
    whole.result.flushes = 7
    assert ", where a power cut loses nothing that a flush acknowledged: mean" in again(whole).sentences[0]


@pytest.mark.parametrize("share", [0.06, 0.04])
def test_the_state_of_blocks_is_told_beside_a_limit_of_ram_where_it_is_much(share: float, whole: Answer) -> None:
    state = blocks_bytes(json.loads(whole.advised.measured.rows[0]["document"]))
    limit = max(int(state / share), 1)
    for tried in (whole.result.last.tried, whole.result.finalists):
        tried |= {stack: with_columns(measured, ram_bytes=1) for stack, measured in tried.items()}
    told = units.typed(answer_of(replace(whole.query, ram_bytes=limit), whole.result).sentences[0])
    beside = f" (and {units.typed(units.size(state))} for the state of blocks)" if share > 0.05 else ""
    assert told.startswith(f"With {units.typed(units.size(limit))}{beside} take ")


def test_a_mean_response_with_flushes_that_weigh_is_the_one_that_is_told(whole: Answer) -> None:
    _, best = with_a_rival(whole, 1.04)
    for tried in (whole.result.last.tried, whole.result.finalists):
        for measured in tried.values():
            for row in measured.rows:
                results = json.loads(row["document"])
                (run,) = results["runs"]
                run["flush_ns"] = run["response_ns"]["all"] | {"mean": 1e9 if measured.stack == best else 0.0}
                row["document"] = json.dumps(results)
    assert "with flushes" not in again(whole).sentences[0]
    whole.result.flushes = 7
    (first, *_) = map(units.typed, again(whole).sentences)
    assert re.match(rf"Take {re.escape(best)}: mean response with flushes 1\.\d+ s", first)
    assert "slower than page" in first


@pytest.mark.parametrize(("goal", "left_out"), [("mean", {"aps", "bdb", "jtl", "leaftl", "treeftl"}), ("wa", set())])
def test_write_buffers_gain_nothing_from_flushes_that_are_not_timed(
    goal: str, left_out: set[str], tmp_path: Path
) -> None:
    options: dict[str, Any] = {"capacity": "64MiB", "requests": 600}
    advice = sought(tmp_path, "log", device="slc-small", options=options, goal=goal, trials=1, seeds=1)
    assert {name for name, why in advice.result.unfit.items() if why == VOLATILE} == left_out
    told = said(advice, "Response times leave out the workload's 300 flushes, so stacks with a write buffer ")
    assert bool(told) == bool(left_out)


def test_a_rival_that_does_not_keep_up_refutes_nothing(whole: Answer) -> None:
    best, _ = with_a_rival(whole, 1.24, is_overloaded=True)
    assert again(whole).advised.stack == best


def test_what_falls_behind_is_not_advised(whole: Answer) -> None:
    result = whole.result
    kept_up = next(stack for stack in result.finalists if stack not in (whole.advised.stack, "page"))
    for measured in (result.finalists, result.last.tried):
        for stack, run in measured.items():
            measured[stack] = with_columns(run, is_overloaded=stack != kept_up)
    advice = again(whole)
    assert advice.advised.stack == kept_up
    for measured in (result.finalists, result.last.tried):
        measured[kept_up] = with_columns(measured[kept_up], is_overloaded=True)
    advice = again(whole)
    assert "keeps up with the arrivals; the best of them is" in advice.sentences[0]
    assert "Take" not in advice.sentences[0]


def test_a_search_cut_short_says_best_so_far_first(whole: Answer) -> None:
    query, result = replace(whole.query, budget_s=60.0), whole.result
    result.is_surveyed = False
    assert first(query, result).startswith("Not enough time; best so far: ")
    assert "(not every mapping was tried with all of the RAM)" in first(query, result)
    only = next(iter(result.finalists.values()))
    result.units = [UnitTrial(4096, is_own=True, told={only.stack: only}), UnitTrial(8192)]
    assert confidence.cause(query, result, "") == "not enough time"
    result.units[1].told[only.stack] = only
    result.last_run = LastRun(9, 4, {})
    assert confidence.cause(query, result, "") == "not enough time beside mapping units and a longer run"
    assert confidence.cause(query, result, confidence.UNCONFIRMED) == "not certain"
    result.units, result.last_run = [], None
    result.is_surveyed = True
    assert first(query, result).startswith("Take ")
    result.finalists = {}
    assert "(nothing was measured on the held-out part)" in first(query, result)


def first(query: Query, result: SearchResult) -> str:
    """The first sentence of the answer."""
    return answer_of(query, result).sentences[0]


def test_ram_that_buys_nothing_is_off_the_front(whole: Answer) -> None:
    result = whole.result
    small, large = sorted(result.finalists, key=lambda stack: result.finalists[stack].mean("ram_bytes") or 0)[-2:]
    base = result.finalists[small].rows[0]["response_p99_ns"]
    for stack, p99 in ((small, base), (large, base * 0.999)):
        measured = result.finalists[stack]
        result.finalists[stack] = with_columns(measured, response_p99_ns=p99)
    fronts = {stack.stack: stack.fronts for stack in again(whole).stacks}
    assert "response_p99_ns" not in fronts[large]


def test_gains_that_are_far_apart_are_remarked(whole: Answer) -> None:
    result = whole.result
    result.candidates = frozenset({"dftl"})
    assert not any("These differ" in doubt for doubt in again(whole).doubts)
    result.finalists["page"] = replace(
        result.finalists["page"],
        rows=[row | {"response_mean_ns": 2 * row["response_mean_ns"]} for row in result.finalists["page"].rows],
    )
    advice = again(whole)
    told = next(units.typed(doubt) for doubt in advice.doubts if " of page's time on the searched part" in doubt)
    shares = [float(share) / 100 for share in re.findall(r"([\d.]+) %", told)]
    best = advice.advised.stack
    expected = [
        mean(runs[best]) / mean(runs["page"])
        for runs in (result.last.tried, {**result.finalists, best: advice.advised.measured})
    ]
    assert shares == pytest.approx(expected, abs=6e-4)
    assert re.search(r"These differ by (more than half|a factor of [\d.]+), so on other parts", told)


def test_that_few_mappings_were_tried_is_said_first(whole: Answer) -> None:
    result = whole.result
    assert result.mappings == ["dftl", "page", "rftl"]
    assert " mappings " not in whole.sentences[0]
    result.candidates = frozenset({"page", "dftl", "rftl", "aps", "jtl", "cdftl"})
    advice = answer_of(replace(whole.query, budget_s=20.0), result)
    assert advice.sentences[0].startswith("Not enough time; best so far: ")
    assert "(3 of 6 mappings were tried)" in advice.sentences[0]
    fates = {fate.name: fate.reason for fate in search_result.fates(advice.query, result)}
    assert fates["aps"] == "not tried, since there was no time"
    result.survey_trials = 120
    assert again(whole).sentences[0].startswith("Too few trials; best so far: ")
    assert "(3 of 6 mappings were tried; --trials 120 tries all of them)" in again(whole).sentences[0]


def test_that_stacks_that_were_named_were_not_tried_is_said_first(whole: Answer) -> None:
    whole.result.named_untried = ["page+lru", "dftl+fab"]
    assert "(of the stacks that were named 2 were not tried)" in again(whole).sentences[0]


def test_few_requests_are_told_whatever_the_goal(whole: Answer) -> None:
    beginning = "The figures are of 600 requests, fewer than 1,000"
    assert not any("fewer than 1,000" in caution for caution in whole.cautions)
    whole.result.requests = 1_800
    for goal in ("mean", "ram", "wa"):
        advice = answer_of(replace(whole.query, goal=goal), whole.result)
        assert any(caution.startswith(beginning) for caution in advice.cautions), goal


def erasing(measured: Measured, erases: int, stop: str = "none") -> Measured:
    """Runs that erased this many blocks, and say nothing else of a new device."""
    rows = []
    for row in measured.rows:
        document = json.loads(row["document"])
        run = document["runs"][0]
        run["erases"]["total"], run["host_pages_written"] = erases, 1 << 40
        run["series"]["write_amplification"] = run["series"]["host_written_bytes"] = []
        if stop != "none":
            document["precondition_chosen"] = {"mode": stop}
            run["precondition"] = {"mode": stop, "settled": True}
        rows.append(row | {"erases": erases, "document": json.dumps(document)})
    return replace(measured, rows=rows)


def test_a_device_is_new_if_the_reference_or_the_advised_stack_hardly_erased(whole: Answer, tmp_path: Path) -> None:
    whole.result.candidates = frozenset({"dftl", "rftl"})
    finalists, best = whole.result.finalists, again(whole).advised.stack
    named = phrasing.short(best, finalists)
    device = json.loads(finalists[best].rows[0]["document"])["device"]
    geometry = device["geometry"]
    blocks = device["physical_bytes"] // (geometry["page_size_bytes"] * geometry["pages_per_block"])
    few, many = blocks // 200, blocks // 2
    assert few > 1
    for mine, its, words in (
        (many, many, ""),
        (few, many, f"only {few:,} of {blocks:,} blocks were erased under {named}."),
        (few, 0, f"only {few:,} of {blocks:,} blocks were erased under {named}."),
        (many, 0, "no block was erased under page."),
        (many, few, f"only {few:,} of {blocks:,} blocks were erased under page."),
    ):
        finalists |= {best: erasing(finalists[best], mine), "page": erasing(finalists["page"], its)}
        sentences = [sentence for sentence in again(whole).sentences if sentence.startswith("On a device in use")]
        assert len(sentences) == bool(words), (mine, its, sentences)
        assert all(words in sentence for sentence in sentences), sentences
    # Of a trace that touches a part of the device it is said why, and what would show more.
    whole.result.touched_bytes = whole.result.capacity // 8
    traced = replace(whole, query=replace(whole.query, workload=str(write_msr(tmp_path / "t.csv", 9)), options={}))
    parts = f"{units.size(whole.result.touched_bytes)} of {units.size(whole.result.capacity)}"
    told = said(again(traced), "On a device in use another stack may be best: ")
    collected = f"under page. The trace touches {parts}; --addresses dense --precondition steady measures one in use"
    assert units.typed(collected) in told
    dense = replace(traced, query=replace(traced.query, options={"addresses": "dense"}))
    assert "; --capacity auto --precondition steady " in said(again(dense), "On a device in use another stack may be")
    steady = {stack: erasing(measured, 0, "steady") for stack, measured in finalists.items()}
    whole.result.finalists |= steady
    assert not any(sentence.startswith("On a device in use") for sentence in again(whole).sentences)


def test_by_few_requests_more_ram_refutes_nothing_that_was_better_where_the_choice_was_made(whole: Answer) -> None:
    """Else one lucky stack of many on a short held-out part would be advised."""
    ram, finalists = whole.advised.measured.mean("ram_bytes") or 0, dict(whole.result.finalists)
    many, few = whole.result.requests, 1_800
    for worse, more, is_refuted in ((1.06, 1.0, True), (1.06, 0.5, True), (1.04, 2.0, True), (1.06, 2.0, False)):
        whole.result.finalists = dict(finalists)
        best, other = with_a_rival(whole, 1.24, ram_bytes=more * ram)
        searched_as(whole, other, best, worse)
        whole.result.requests = many
        assert again(whole).advised.stack == other, "many requests were held out"
        whole.result.requests = few
        advice = again(whole)
        assert advice.advised.stack == (other if is_refuted else best)
    assert f"on the held-out part {other} was better: mean response " in " ".join(advice.sentences)
    assert other in [row.stack for row in advice.table]


def test_of_lives_that_are_as_long_the_fastest_is_advised(whole: Answer) -> None:
    query, result = replace(whole.query, goal="life", options=whole.query.options | {"clock": True}), whole.result
    small, quick, large = sorted(result.finalists, key=lambda stack: result.finalists[stack].mean("ram_bytes") or 0)[
        -3:
    ]
    figures = {small: (1e12, 5e6), quick: (1.001e12, 2e6), large: (0.999e12, 1.999e6)}
    for measured in (result.finalists, result.last.tried):
        for stack, run in list(measured.items()):
            life, response = figures.get(stack, (1e11, 1e6))
            changed = {"life_bytes": life, "response_mean_ns": response, "is_life_measured": True}
            measured[stack] = with_columns(run, **changed)
    advice = answer_of(query, result)
    # The last one responds as well, and takes more RAM.
    assert advice.advised.stack == quick
    result.last.tried[small] = with_columns(result.last.tried[small], life_bytes=1.02e12)
    advice = answer_of(query, result)
    assert advice.advised.stack == quick
    text = " ".join(advice.sentences)
    assert f"{small} won the search and lives about as long on the held-out part: " in text
    assert f"slower than {quick}" in text


def test_a_bound_of_a_life_is_neither_a_loss_nor_a_win(whole: Answer) -> None:
    """Where the held-out part erases too little, what the search chose is not swapped for speed."""
    query, result = replace(whole.query, goal="life"), whole.result
    best, other = [stack for stack in result.finalists if stack != "page"][:2]
    lives = {best: (2e12, None), other: (1e12, 1e12), "page": (1e12, 1.07e12)}
    for place, measured in enumerate((result.last.tried, result.finalists)):
        for stack, run in list(measured.items()):
            columns = {"life_bytes": lives.get(stack, (1e11, 1e11))[place], "host_written_bytes": 195_000_000}
            columns |= {"response_mean_ns": 5e6 if stack == best else 1e6, "is_life_measured": True}
            measured[stack] = with_columns(run, **columns)
    advice = answer_of(query, result)
    assert advice.advised.stack == best, "a faster one is not known to live as long"
    assert said(advice, f"Of the life of {best} nothing is forecast"), "it wrote less than the drive holds"
    text = units.typed(" ".join(advice.sentences))
    assert f"On the searched part both had a figure: {best} 2.00 TB and page 1.00 TB" in text
    assert "With less RAM" not in text


def test_what_became_of_the_stacks_adds_up(whole: Answer) -> None:
    whole.result.candidates = frozenset({"dftl", "rftl"})
    whole.result.rungs[0].tried["dftl:cmt=1B"] = Measured("dftl:cmt=1B", [], "too small.")
    whole.result.rungs[0].begun["dftl:cmt=2B"] = None
    first = whole.result.rungs[0]
    for row in search_result.rungs(whole.result):
        _, tried, *became = (int(cell.replace(",", "")) for cell in row)
        assert sum(became) == tried + len(first.unfinished)
    assert any(
        f"{len(first.tried) - 1} stacks were measured, with the reference page, and 1 failed; " in doubt
        for doubt in again(whole).doubts
    )


def test_mappings_with_the_same_reason_share_a_line() -> None:
    needs = "needs {} pages for data and maps, but of the device's 9216 usable pages only 7936 are left."
    unfit = {name: f'ftl "{name}": {name} {needs.format(pages)}' for name, pages in (("aps", 8264), ("waftl", 8300))}
    result = SearchResult(300, frozenset({"page", "dftl"}), unfit | {"jtl": VOLATILE}, 1 << 30)
    result.too_large = {"bdb": 54_374.0, "block": 1 << 20}
    told = search_result.by_reason(search_result.fates(Query("fin1"), result))
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in told]
    assert lines == [
        "Not tried, since the trials ended before: dftl, page.",
        "Takes too much RAM: bdb (53.1 KiB or more), block (1 MiB or more).",
        f"Does not fit the device: {needs.format(8264)[:-1]} (figures of aps): aps, waftl.",
        f"{VOLATILE[0].upper()}{VOLATILE[1:]}: jtl.",
    ]


def test_the_document_tells_the_seeds_that_the_text_tells(whole: Answer) -> None:
    with_a_rival(whole, 1.1)
    query = replace(whole.query, seeds=3)
    whole.result.seeds = 3
    advice = answer_of(query, whole.result)
    assert "Two seeds gave identical runs, so the third was skipped." in advice.doubts[0]
    assert document(advice)["measured_on"]["seeds"] == 2


def mean(measured: Measured) -> float:
    """The mean response."""
    return measured.mean("response_mean_ns") or 0.0


def test_ram_that_buys_nothing_is_halved() -> None:
    heads = [Head("dftl:cmt=64KiB", ("+lru",)), Head("treeftl", ("",))]
    searched = Space(heads, 1 << 20, {"treeftl.ram": 4 << 10})
    assert searched.smaller("treeftl:load_before_write=false:ram=112KiB") == [
        "treeftl:load_before_write=false:ram=56KiB"
    ]
    assert searched.smaller("treeftl:ram=7KiB") == []
    # What was asked for stays.
    assert searched.smaller("dftl:cmt=64KiB+lru:ram=12KiB") == ["dftl:cmt=64KiB+lru:ram=6KiB"]


def test_those_that_go_on_were_tried_with_less_ram(tmp_path: Path) -> None:
    """With half of the most RAM, with a quarter and so on, and with the least; one is paced."""
    first = sought(tmp_path, ftl="dftl", trials=4, seeds=1).result.rungs[0].tried
    plain = (re.fullmatch(r"dftl:cmt=(\w+)", stack) for stack in first)
    sizes = {values.size(match[1]) for match in plain if match}
    most = max(size or 0 for size in sizes)
    assert sizes == {most, most // 2, most // 4, most // 8, most // 16, 1 << 10}


def test_nothing_is_told_of_a_search_that_had_no_time_to_begin() -> None:
    assert answer(Query("fin1"), SearchResult(100, frozenset(), {}, 1 << 20, interrupted=True)) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--ftl", "page,nosuch"], "--ftl nosuch: unknown FTL nosuch"),
        (["--ftl", "page,dftl:nokey=1"], "--ftl dftl:nokey=1: dftl.nokey: dftl has no parameter nokey"),
        (["--ftl", "page,dftl:cmt=foo"], "dftl.cmt = foo: not a number"),
        (["--ftl", "page,treeftl+lru"], "lru cannot work over treeftl"),
        (["--set", "nosuch.key=3"], "nosuch is no section of a study. Give a key of device"),
        (["--budget", ""], "--budget is empty: give TIME"),
    ],
)
def test_what_does_not_exist_is_refused_at_once(given: list[str], message: str, call: Call) -> None:
    result = call("advise", "fin1", "--requests", 3_000, "--trials", 2, *given, exits=2)
    assert message in " ".join(result.stderr.split())


def test_the_page_says_what_was_asked(tmp_path: Path) -> None:
    advice = sought(tmp_path, ftl="page,dftl", trials=2, seeds=1, goal="ram", ram_bytes=1 << 23, budget_s=90.0)
    html = page(advice)
    command = (
        "ftlkit advise fin1 --ftl page,dftl --goal ram --ram 8MiB --budget 90s --trials 2 --seeds 1 "
        "--device slc-small --capacity auto --requests 6000"
    )
    assert command in html
    # Points are drawn in the legend as in the charts; the advised one is so in each.
    assert 'class="block"' not in html
    charts = panels(advice)
    assert all(ADVISED in chart.lines for chart in charts)
    assert html.count('fill="none" stroke=') >= len(charts)
    assert "Goal: the least RAM with a mean response time at most 10 %" in html
    assert any("stacks were measured, with the reference page; " in doubt for doubt in advice.doubts)


def test_why_stacks_failed_is_printed(tmp_path: Path) -> None:
    advice = sought(tmp_path, ftl="page,dftl", trials=2, seeds=1)
    advice.result.rungs[0].tried["dftl:cmt=1KiB"] = Measured("dftl:cmt=1KiB", [], "the spares are used up.")
    for number in range(2, 7):
        stack = f"dftl:cmt={number}KiB"
        advice.result.rungs[0].tried[stack] = Measured(stack, [], f"the spares are {number}.")
    out = StringIO()
    show(advice, Console(file=out, width=200))
    assert "failed, 1 stack such as dftl:cmt=1KiB: the spares are used up." in out.getvalue()
    assert out.getvalue().count("failed, ") == 4
    assert "failed, 3 more stacks for 3 other reasons, which --json has" in out.getvalue()
    assert "Preconditioning: fill" in out.getvalue()
    narrow = StringIO()
    show(advice, Console(file=narrow, width=60))
    sentences = narrow.getvalue().partition("stack ")[0].splitlines()
    assert max(map(len, sentences)) <= 60


def test_seeds_that_make_no_difference_are_not_run(tmp_path: Path) -> None:
    """Nothing is drawn of a recorded trace, but for blocks that are chosen by chance."""
    trace, drawing = write_msr(tmp_path / "t.csv", 12_000), "page:victim=random"
    query, store = Query(str(trace), seeds=4), Store(tmp_path / "store", create=True)
    device = fk.check_study(query.document())["device"]
    measured = Runner(query, device, store, Local(), Traces(tmp_path)).held_out(["page", "dftl", drawing], 8_000, 4)
    assert [row["seed"] for row in measured[drawing].rows] == [1, 2, 3, 4]
    assert {stack: len(run.rows) for stack, run in measured.items()} == {"page": 2, "dftl": 2, drawing: 4}
    assert len(store.keys()) == 8
    # One that was measured with two seeds is set beside one with four, seed by seed.
    page, other = measured["page"], measured[drawing]
    pairs = page.beside(other, "erases")
    assert pairs == [(page.rows[0]["erases"], row["erases"]) for row in other.rows]
    assert phrasing.against("write_amplification", other, page, "page")


def test_what_was_measured_before_ctrl_c_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first stack shows whether seeds matter; Ctrl-C comes in the middle of the others."""
    query, store = Query(str(write_msr(tmp_path / "t.csv", 300)), seeds=3), Store(tmp_path / "store", create=True)
    runner = Runner(query, fk.check_study(query.document())["device"], store, Local(), Traces(tmp_path))
    run, calls = runner._run, []  # noqa: SLF001 - where it is interrupted

    def interrupted(plan: Plan) -> dict[str, Measured]:
        calls.append(plan)
        if len(calls) == 2:
            raise fk.Interrupted({"dftl": Measured("dftl", [])})
        return run(plan)

    monkeypatch.setattr(runner, "_run", interrupted)
    with pytest.raises(fk.Interrupted) as caught:
        runner.held_out(["page", "dftl", "rftl"], 200, 3)
    finished = caught.value.finished
    assert finished is not None
    assert {stack: len(measured.rows) for stack, measured in finished.items()} == {"dftl": 0, "page": 2}


def test_where_the_preparation_is_drawn_all_seeds_are_run(tmp_path: Path) -> None:
    trace = write_msr(tmp_path / "t.csv", 600)
    query = Query(str(trace), options={"precondition": "steady"}, ftl="page,dftl", trials=2, seeds=3)
    advice = answer_of(query, search_stacks(query, Store(tmp_path / "store", create=True), Local()))
    assert {len(stack.measured.rows) for stack in advice.stacks} == {3}
    assert "Behind ± stands half of the 95 % interval of 3 seeds." in advice.doubts[0]


def test_a_stack_is_of_what_was_asked_for_in_whatever_order_its_settings_stand() -> None:
    assert is_of("dftl:cmt=8KiB:victim=fifo+fab:ram=1MiB", "dftl:victim=fifo")
    assert is_of("page+fab:ram=1MiB", "page+fab")
    assert is_of("page", "page")
    assert not is_of("dftl:cmt=8KiB", "dftl:victim=fifo")
    assert not is_of("faster", "fast")
    assert not is_of("page", "page+fab")


def test_what_the_preparation_decides_is_told_as_compare_tells_it(whole: Answer) -> None:
    finalists, stack = whole.result.finalists, whole.advised.stack
    filled = json.loads(finalists[stack].rows[0]["document"])
    filled["precondition_chosen"] |= {"live_pages": 1000, "touched_pages": 300}
    finalists[stack] = with_columns(finalists[stack], document=json.dumps(filled))
    (told,) = (sentence for sentence in cautions(Outcome(filled)) if "never touch 70.0" in sentence)
    assert told in again(whole).cautions


def test_of_lives_whose_forecasts_overlap_the_one_with_fewer_parts_is_advised(whole: Answer) -> None:
    query, result = replace(whole.query, goal="life"), whole.result
    plain, stack = next(iter(result.finalists)), f"{next(iter(result.finalists))}+bet"
    for measured in (result.finalists, result.last.tried):
        for name, run in list(measured.items()):
            measured[name] = with_columns(run, life_bytes=1e11, is_life_measured=False)
        for name, life, more in ((plain, 1e12, 0), (stack, 1.03e12, 64)):
            row = measured[plain].rows[0]
            document = json.loads(row["document"])
            spares_gone = {"low_bytes": 0.8e12, "high_bytes": 1.1e12, "is_measured": False}
            spares_gone |= {"written_bytes": life, "years": 1.0, "drive_writes_per_day": 1.0}
            document["runs"][0]["endurance"] = {"limit": 9, "spares_gone": spares_gone}
            changed = {"life_bytes": life, "ram_bytes": row["ram_bytes"] + more, "document": json.dumps(document)}
            measured[name] = replace(with_columns(measured[plain], **changed), stack=name)
    result.asked_for = [stack, *result.asked_for]
    advice = answer_of(query, result)
    assert advice.advised.stack == plain
    assert said(
        advice, f"{stack} won the search and has a forecast that overlaps with it on the held-out part: life 1.03 TB"
    )


@pytest.mark.parametrize("goal", ["wa", "life"])
def test_an_answer_by_copies_names_its_gc_and_what_else_was_tried(whole: Answer, goal: str) -> None:
    query, rung = replace(whole.query, goal=goal), whole.result.last
    assert said(whole, "GC of") == "", "response times do not ask for it"
    (page,) = (run for run in whole.result.finalists.values() if run.stack == "page")
    whole.result.finalists.clear()
    whole.result.finalists["page"] = page
    rung.tried.clear()
    rung.tried["page"] = page
    alone = said(answer_of(query, whole.result), "GC of")
    used = "GC of the advised stack: gc=auto (whole), streams=separate, victim=greedy."
    assert alone == f"{used} No other was tried with page; --ftl names some: page,page:victim=cost-benefit."
    rung.tried["page:victim=cat"] = replace(page, stack="page:victim=cat")
    rung.tried["dftl:victim=fifo"] = replace(page, stack="dftl:victim=fifo")
    assert said(answer_of(query, whole.result), "GC of") == f"{used} With page these were tried, too: victim=cat."
    for row in page.rows:
        document = json.loads(row["document"])
        document["study"]["device"] |= {"multi_plane": True, "planes_per_die": 4}
        row["document"] = json.dumps(document)
    assert "gc=auto (paced)" in said(answer_of(query, whole.result), "GC of")
