"""What an advice says of itself: what decided, what was not measured, how to repeat it."""

from __future__ import annotations

import copy
import json
import re
import shlex
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import ftlkit as fk
from conftest import write_msr
from ftlkit.advice import phrasing, trial_table
from ftlkit.advice.answer import answer
from ftlkit.advice.document import document
from ftlkit.advice.measure import Measured, Runner
from ftlkit.advice.page import page
from ftlkit.advice.query import Query
from ftlkit.advice.run import search_stacks
from ftlkit.advice.search_result import Rung, SearchResult, is_of
from ftlkit.advice.space import Head, Space
from ftlkit.cli.advise import show
from ftlkit.results.store import Store
from ftlkit.sweeps import values
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from ftlkit.advice.answer import Answer
    from ftlkit.sweeps.plan import Plan

FIN1: dict[str, Any] = {"requests": 6_000, "settings": ["workload.span=256MiB"]}


def sought(folder: Path, **asked: Any) -> Answer:  # noqa: ANN401 - fields of a question
    """The answer to a question on fin1."""
    question = Query("fin1", **({"options": FIN1} | asked))
    found = answer(question, search_stacks(question, Store(folder / "store", create=True, lazily=True), Local()))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """The answer to a question about three layers."""
    return sought(tmp_path_factory.mktemp("once"), ftl="page,dftl,rftl", trials=20, seeds=1)


@pytest.fixture
def whole(once: Answer) -> Answer:
    """A copy of it, which may be changed."""
    return copy.deepcopy(once)


def again(found: Answer) -> Answer:
    """The answer to what a search came to, after that was changed."""
    told = answer(found.query, found.result)
    assert told is not None
    return told


def test_the_least_ram_is_chosen_by_the_figures_that_are_told(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"ftl": "page,dftl,treeftl", "goal": "ram", "ram_bytes": 1 << 20}
    found = sought(tmp_path, **asked, trials=20, seeds=2, options={"requests": 3_000})
    there = [each.measured for each in found.stacks if (each.measured.mean("ram_bytes") or 0) <= 1 << 20]
    best = min(each.mean("response_mean_ns") or 0 for each in there)
    enough = [each for each in there if (each.mean("response_mean_ns") or 0) <= 1.1 * best]
    assert found.advised.measured.mean("ram_bytes") == min(each.mean("ram_bytes") for each in enough)  # type: ignore[type-var] # each has one
    # Here the part that was searched tells something else.
    assert any("By the search alone it would have been dftl" in each for each in found.doubts)


def test_without_a_response_there_is_nothing_to_choose_by(call: Callable[..., Result], tmp_path: Path) -> None:
    trims = tmp_path / "trims.csv"
    trims.write_text("".join(f"{row},trim,{row * 4096},4096\n" for row in range(3_000)))
    for goal in ("mean", "p99", "ram"):
        result = call("advise", trims, "--columns", "time:s, op, offset:B, size:B", "--trials", 2, "--goal", goal)
        assert result.exit_code == 2, result.output
        assert f"--goal {goal}: the workload neither reads nor writes" in " ".join(result.stderr.split())


WORN: dict[str, Any] = {
    "requests": 40_000,
    "precondition": "steady",
    "settings": ["workload.span=32MiB", "device.endurance=10"],
}


def test_a_device_that_lasts_has_lived_longer_than_one_that_died(tmp_path: Path) -> None:
    lasting = "page:victim=windowed-greedy"
    found = sought(tmp_path, goal="life", options=WORN, ftl=f"page,{lasting}", trials=2, seeds=1)
    page, other = (found.result.last.tried[stack].rows[0] for stack in ("page", lasting))
    assert page["life_bytes"] < other["host_written_bytes"]
    assert other["life_bytes"] is None
    assert found.advised.stack == lasting
    # What wore out before the held-out part has no figures there.
    assert found.is_held_out
    assert found.advised.measured is found.result.finalists[lasting]
    assert found.sentences[0].startswith(f"Take {lasting}: life at least ")
    assert "life_bytes" in found.advised.fronts


def test_figures_of_a_device_that_died_early_are_told_as_the_search_s(
    tmp_path: Path, call: Callable[..., Result]
) -> None:
    found = sought(tmp_path, goal="life", options=WORN, ftl="page", trials=1, seeds=2)
    assert "page" in found.result.finalists
    assert not found.is_held_out
    assert "the device had worn out before it under the only stack" in found.doubts[0]
    reasons = [fate.reason for fate in trial_table.fates(found.query, found.result)]
    assert reasons == ["nothing was measured on the held-out part"]
    again = measured_again(found, call, tmp_path / "again")
    assert again["page"]["life_bytes"] == found.advised.measured.mean("life_bytes")


def writes(folder: Path, requests: int) -> Path:
    """A trace of writes of 64 KiB all over 36 MiB."""
    trace = folder / "writes.csv"
    trace.write_text("".join(f"{row},write,{row * 37 % 576 * 65536},65536\n" for row in range(requests)))
    return trace


def test_a_trace_that_is_too_short_for_a_life_says_how_often_it_has_to_be_served(
    call: Callable[..., Result], tmp_path: Path
) -> None:
    asked = ["advise", writes(tmp_path, 400), "--columns", "time:s, op, offset:B, size:B", "--capacity", "40MiB"]
    asked += ["--goal", "life", "--ftl", "page,dftl", "--trials", 4, "--seeds", 1]
    short = call(*asked)
    assert short.exit_code == 2, short.output
    said = " ".join(short.stderr.split())
    assert "--goal life: no life is forecast from the part that is searched" in said
    found = re.search(r"Serve the trace several times \(--repeat (\d+)\)", said)
    assert found, said
    assert 10 < int(found[1]) < 100
    told = call(*asked, "--repeat", found[1])
    assert told.exit_code == 0, told.output
    text = " ".join(told.stdout.split())
    assert "is a forecast from the erases of the run" in text
    assert "at least" not in text.partition("stack RAM")[0]
    again = f"The trace is served {found[1]} times, so the requests that were held out are those that were searched"
    assert again in text
    assert f"--repeat {found[1]}" in text


def test_a_life_that_nothing_tells_of_is_not_advised_where_the_reference_cannot_run(
    call: Callable[..., Result], tmp_path: Path
) -> None:
    """Of devices that all last, the least that they live says nothing."""
    asked = ["advise", writes(tmp_path, 200), "--columns", "time:s, op, offset:B, size:B", "--addresses", "wrap"]
    asked += ["--capacity", "6MiB", "--goal", "life", "--ftl", "page,block,fast", "--trials", 6, "--seeds", 1]
    result = call(*asked)
    assert result.exit_code == 2, result.output
    assert "--goal life: no life is forecast" in " ".join(result.stderr.split())


def measured_again(found: Answer, call: Callable[..., Result], store: Path) -> dict[str, Any]:
    """The rows by their stacks that the command of an answer gives; one seed each."""
    result = call(*shlex.split(found.command)[1:], "--store", store)
    assert result.exit_code == 0, result.output
    rows = list(Store(store).rows())
    assert len(rows) == len({row["label"] for row in rows})
    return {row["label"]: row for row in rows}


def test_what_is_not_held_out_is_measured_again_where_it_was_measured(
    tmp_path: Path, call: Callable[..., Result]
) -> None:
    """On the same device, though the part that was searched spans less than the whole."""
    trace = tmp_path / "t.csv"
    trace.write_text("".join(f"{row},write,{(row * 7 % 300 + (row > 200) * 9000) * 4096},8192\n" for row in range(300)))
    options: Any = {"columns": "time:s, op, offset:B, size:B"}
    asked = Query(str(trace), options=options, ftl="page,dftl", trials=4, seeds=2)
    sure = Store(tmp_path / "store", create=True, lazily=True)
    found = search_stacks(asked, sure, Local())
    whole = answer(asked, found)
    assert whole is not None
    assert "with 2 seeds, whose runs were the same." in whole.doubts[0]
    found.finalists = {}
    part = again(whole)
    assert not part.is_held_out
    rows = measured_again(part, call, tmp_path / "again")
    assert rows.keys() == {part.advised.stack, "page"}
    for told in part.stacks:
        if told.stack in rows:
            assert rows[told.stack]["key"] == told.measured.rows[0]["key"]


def test_it_is_told_how_many_were_not_measured_on_the_held_out_part(whole: Answer) -> None:
    found = whole
    first, *missed = found.result.asked_for
    assert len(missed) >= 2
    found.result.finalists = {first: found.result.finalists[first]}
    told = again(found)
    assert told.is_held_out
    said = next(each for each in told.cautions if "on the held-out part" in each)
    assert said.startswith(f"There was no time for {len(missed)} of {len(missed) + 1} stacks on the held-out part: ")
    assert "What is known of them is of the first 4,000 requests" in said
    best = min(
        (each for each in found.result.of(found.result.last) if each.stack in missed),
        key=lambda each: each.mean("response_mean_ns") or 0,
    )
    assert phrasing.text("response_mean_ns", best) in said
    found.result.interrupted = True
    assert any("It was stopped before" in each for each in again(found).cautions)


def test_a_prefix_that_was_cut_short_does_not_choose(whole: Answer) -> None:
    """One of many stacks ran there when the time ended: it is the first, not the best."""
    found = whole.result
    worst = max(found.of(found.last), key=lambda each: each.mean("response_mean_ns") or 0).stack
    cut = Rung(found.searched, begun=dict.fromkeys(found.last.tried), tried={worst: found.last.tried[worst]})
    complete = found.last
    found.rungs.append(cut)
    found.finalists, found.asked_for = {}, []
    told = again(whole)
    assert found.last is complete
    assert told.advised.stack != worst


def test_a_prefix_on_which_most_were_run_chooses(whole: Answer) -> None:
    found = whole.result
    first, *others = found.last.tried
    found.rungs.append(Rung(found.searched, begun=dict.fromkeys([first, *others])))
    found.last.tried.pop(first)
    found.rungs[-1].tried = {stack: found.rungs[0].tried[stack] for stack in others}
    assert found.last is found.rungs[-1]
    told = again(whole)
    assert "1 stack that did well on a prefix was not run on the next one, for want of time." in told.cautions


def test_where_the_whole_part_was_not_reached_the_held_out_figures_choose(whole: Answer) -> None:
    """What is best on a short prefix can be far from the best on the whole."""
    found = whole.result
    worst = max(found.finalists, key=lambda each: mean(found.finalists[each]))
    rows = [row | {"response_mean_ns": 1.0} for row in found.last.tried[worst].rows]
    tried = found.last.tried | {worst: replace(found.last.tried[worst], rows=rows)}
    found.rungs[:] = [Rung(found.searched // 9, tried=tried)]
    told = again(whole)
    assert told.advised.stack == min(found.finalists, key=lambda each: mean(found.finalists[each]))
    assert any(f"By the search alone it would have been {worst}." in each for each in told.doubts)
    assert any("stacks were sifted by its first" in each for each in told.cautions)


def with_a_rival(whole: Answer, lead: float, **columns: Any) -> tuple[str, str]:  # noqa: ANN401 - columns of a run
    """Let another stack than the advised be so many times as fast on the held-out part."""
    found, best = whole.result, whole.advised.stack
    other = next(each for each in found.finalists if each not in (best, "page"))
    mine = found.finalists[best].rows[0]["response_mean_ns"]
    for stack, each in found.finalists.items():
        changed = {"response_mean_ns": mine / lead} | columns if stack == other else {}
        found.finalists[stack] = replace(each, rows=2 * [row | changed for row in each.rows])
    return best, other


def test_what_the_held_out_part_refutes_is_not_advised(whole: Answer) -> None:
    best, other = with_a_rival(whole, 1.24)
    told = again(whole)
    assert told.advised.stack == other
    assert told.sentences[0].startswith(f"Take {other}: ")
    assert told.sentences[2].startswith(f"The search had chosen {best}, which the held-out part refutes: ")
    assert any("had a share in the choice" in each for each in told.doubts)


def test_ram_that_buys_nothing_on_the_held_out_part_is_not_advised(whole: Answer) -> None:
    ram = whole.advised.measured.mean("ram_bytes") or 0
    kept = dict(whole.result.finalists)
    best, other = with_a_rival(whole, 1.002, ram_bytes=ram / 2)
    told = again(whole)
    assert told.advised.stack == other
    assert f"The search had chosen {best}, which the held-out part refutes" in told.sentences[2]
    # So little is nothing where it takes more RAM.
    whole.result.finalists = kept
    with_a_rival(whole, 1.002, ram_bytes=2 * ram)
    assert again(whole).advised.stack == best


def test_a_rival_that_does_not_keep_up_refutes_nothing(whole: Answer) -> None:
    best, _ = with_a_rival(whole, 1.24, is_overloaded=True)
    assert again(whole).advised.stack == best


def test_what_falls_behind_is_not_advised(whole: Answer) -> None:
    found = whole.result
    kept_up = next(stack for stack in found.finalists if stack not in (whole.advised.stack, "page"))
    for measured in (found.finalists, found.last.tried):
        for stack, each in measured.items():
            measured[stack] = replace(each, rows=[row | {"is_overloaded": stack != kept_up} for row in each.rows])
    told = again(whole)
    assert told.advised.stack == kept_up
    for stack, each in found.finalists.items():
        found.finalists[stack] = replace(each, rows=[row | {"is_overloaded": True} for row in each.rows])
    told = again(whole)
    assert "keeps up with the arrivals; the best of them is" in told.sentences[0]
    assert "Take" not in told.sentences[0]


def test_a_search_cut_short_says_best_so_far_first(whole: Answer) -> None:
    asked, found = replace(whole.query, budget_s=60.0), whole.result
    found.is_surveyed = False
    assert first(asked, found).startswith("Not enough time; best so far: ")
    assert "(not every mapping was tried with all of the RAM)" in first(asked, found)
    found.is_surveyed = True
    assert first(asked, found).startswith("Take ")
    found.finalists = {}
    assert "(nothing was measured on the part that was held out)" in first(asked, found)


def first(asked: Query, found: SearchResult) -> str:
    """The first sentence of the answer."""
    told = answer(asked, found)
    assert told is not None
    return told.sentences[0]


def test_ram_that_buys_nothing_is_off_the_front(whole: Answer) -> None:
    found = whole.result
    small, large = sorted(found.finalists, key=lambda stack: found.finalists[stack].mean("ram_bytes") or 0)[-2:]
    base = found.finalists[small].rows[0]["response_p99_ns"]
    for stack, p99 in ((small, base), (large, base * 0.999)):
        each = found.finalists[stack]
        found.finalists[stack] = replace(each, rows=[row | {"response_p99_ns": p99} for row in each.rows])
    fronts = {each.stack: each.fronts for each in again(whole).stacks}
    assert "response_p99_ns" not in fronts[large]


def test_what_was_better_on_the_held_out_part_stands_beside_the_advice(whole: Answer) -> None:
    best, other = with_a_rival(whole, 1.03)
    told = again(whole)
    assert told.advised.stack == best
    assert told.sentences[2].startswith(
        f"It was chosen on the part that was searched; on the held-out part {other} was better: mean response "
    )
    assert f"faster than {best}" in told.sentences[2]
    assert not any(each.startswith(f"With less RAM, {other} ") for each in told.sentences)


def test_gains_that_are_far_apart_are_remarked(whole: Answer) -> None:
    found = whole.result
    found.candidates = frozenset({"dftl"})
    assert not any("far apart" in each for each in again(whole).doubts)
    found.finalists["page"] = replace(
        found.finalists["page"],
        rows=[row | {"response_mean_ns": 2 * row["response_mean_ns"]} for row in found.finalists["page"].rows],
    )
    told = again(whole)
    assert any("These are far apart" in each for each in told.doubts)


def test_that_few_mappings_were_tried_is_said_first(whole: Answer) -> None:
    found = whole.result
    assert found.mappings == ["dftl", "page", "rftl"]
    assert " mappings " not in whole.sentences[0]
    found.candidates = frozenset({"page", "dftl", "rftl", "aps", "jtl", "cdftl"})
    told = answer(replace(whole.query, budget_s=20.0), found)
    assert told is not None
    assert told.sentences[0].startswith("Not enough time; best so far: ")
    assert "(3 of 6 mappings were tried; at this pace all take about --budget 40s)" in told.sentences[0]
    fates = {each.name: each.reason for each in trial_table.fates(told.query, found)}
    assert fates["aps"] == "not tried: there was no time"
    assert again(whole).sentences[0].startswith("Take "), "the number of trials was asked for"


def test_few_requests_are_told_whatever_the_goal(whole: Answer) -> None:
    said = "The figures are of 600 requests, fewer than 1,000"
    assert not any("fewer than 1,000" in each for each in whole.cautions)
    whole.result.requests = 1_800
    for goal in ("mean", "ram", "wa"):
        told = answer(replace(whole.query, goal=goal), whole.result)
        assert told is not None
        assert any(each.startswith(said) for each in told.cautions), goal


def erasing(measured: Measured, erases: int, stop: str = "none") -> Measured:
    """Runs that erased so many blocks, and say nothing else of a new device."""
    rows = []
    for row in measured.rows:
        document = json.loads(row["document"])
        run = document["runs"][0]
        run["erases"]["total"], run["host_pages_written"] = erases, 1 << 40
        run["series"]["write_amplification"] = []
        if stop != "none":
            document["precondition_chosen"] = {"mode": stop}
            run["precondition"] = {"mode": stop, "settled": True}
        rows.append(row | {"erases": erases, "document": json.dumps(document)})
    return replace(measured, rows=rows)


def test_a_device_is_new_if_the_reference_or_the_advised_stack_hardly_erased(whole: Answer) -> None:
    whole.result.candidates = frozenset({"dftl", "rftl"})
    found, best = whole.result.finalists, again(whole).advised.stack
    device = json.loads(found[best].rows[0]["document"])["device"]
    geometry = device["geometry"]
    blocks = device["physical_bytes"] // (geometry["page_size_bytes"] * geometry["pages_per_block"])
    few, many = blocks // 200, blocks // 2
    assert few > 1
    for mine, its, said in (
        (many, many, ""),
        (few, many, f"only {few:,} of {blocks:,} blocks were erased under {best}."),
        (few, 0, f"only {few:,} of {blocks:,} blocks were erased under {best}."),
        (many, 0, "no block was erased under page."),
        (many, few, f"only {few:,} of {blocks:,} blocks were erased under page."),
    ):
        found |= {best: erasing(found[best], mine), "page": erasing(found["page"], its)}
        told = [each for each in again(whole).sentences if each.startswith("On a device in use")]
        assert len(told) == bool(said), (mine, its, told)
        assert all(said in each for each in told), told
    steady = {stack: erasing(each, 0, "steady") for stack, each in found.items()}
    whole.result.finalists |= steady
    assert not any(each.startswith("On a device in use") for each in again(whole).sentences)


def test_what_was_worse_where_the_choice_was_made_refutes_nothing_by_few_requests(whole: Answer) -> None:
    """Else one lucky stack of many on a short held-out part would be advised."""
    best, other = with_a_rival(whole, 1.24)
    tried = whole.result.last.tried
    mine = mean(tried[best])
    for worse, advised in ((1.04, other), (1.06, best)):
        tried[other] = replace(
            tried[other], rows=[row | {"response_mean_ns": worse * mine} for row in tried[other].rows]
        )
        assert again(whole).advised.stack == other, "many requests were held out"
        whole.result.requests, many = 1_800, whole.result.requests
        told = again(whole)
        assert told.advised.stack == advised
        whole.result.requests = many
    assert f"on the held-out part {other} was better: mean response " in " ".join(told.sentences)
    assert other in [each.stack for each in told.table]


def test_of_lives_that_are_as_long_the_fastest_is_advised(whole: Answer) -> None:
    asked, found = replace(whole.query, goal="life"), whole.result
    small, quick, large = sorted(found.finalists, key=lambda stack: found.finalists[stack].mean("ram_bytes") or 0)[-3:]
    figures = {small: (1e12, 5e6), quick: (1.001e12, 2e6), large: (0.999e12, 1.999e6)}
    for measured in (found.finalists, found.last.tried):
        for stack, each in list(measured.items()):
            life, response = figures.get(stack, (1e11, 1e6))
            changed = {"life_bytes": life, "response_mean_ns": response, "is_life_measured": True}
            measured[stack] = replace(each, rows=[row | changed for row in each.rows])
    told = answer(asked, found)
    assert told is not None
    # The last one responds as well, and takes more RAM.
    assert told.advised.stack == quick
    found.last.tried[small] = replace(
        found.last.tried[small], rows=[row | {"life_bytes": 1.02e12} for row in found.last.tried[small].rows]
    )
    told = answer(asked, found)
    assert told is not None
    assert told.advised.stack == quick
    text = " ".join(told.sentences)
    assert f"The search had chosen {small}, which lives about as long on the held-out part: " in text
    assert f"slower than {quick}" in text


def test_what_became_of_the_stacks_adds_up(whole: Answer) -> None:
    whole.result.candidates = frozenset({"dftl", "rftl"})
    whole.result.rungs[0].tried["dftl:cmt=1B"] = Measured("dftl:cmt=1B", [], "too small.")
    whole.result.rungs[0].begun["dftl:cmt=2B"] = None
    first = whole.result.rungs[0]
    for row in trial_table.rungs(whole.result):
        _, tried, *became = (int(cell.replace(",", "")) for cell in row)
        assert sum(became) == tried + len(first.unfinished)
    assert any(
        f"{len(first.tried) - 1} stacks were measured, with the reference page, and 1 failed; " in each
        for each in again(whole).doubts
    )


def test_the_document_tells_the_seeds_that_the_text_tells(whole: Answer) -> None:
    with_a_rival(whole, 1.1)
    asked = replace(whole.query, seeds=3)
    whole.result.seeds = 3
    told = answer(asked, whole.result)
    assert told is not None
    assert "with 2 seeds, whose runs were the same, so no more were run." in told.doubts[0]
    assert document(told)["measured_on"]["seeds"] == 2


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
    """Three are proposed: with half of the most RAM, with a quarter, and with the least."""
    first = sought(tmp_path, ftl="dftl", trials=3, seeds=1).result.rungs[0].tried
    sizes = {values.size(stack.partition("cmt=")[2]) or 0 for stack in first if "cmt=" in stack}
    most = max(sizes)
    assert sizes == {most, most // 2, most // 4, most // 8, most // 16, 1 << 10}


def test_nothing_is_told_of_a_search_that_had_no_time_to_begin() -> None:
    assert answer(Query("fin1"), SearchResult(100, frozenset(), {}, 1 << 20, interrupted=True)) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--ftl", "page,nosuch"], "--ftl nosuch: unknown FTL nosuch"),
        (["--ftl", "page,dftl:nokey=1"], "--ftl dftl:nokey=1: dftl.nokey: dftl has no parameter nokey"),
        (["--ftl", "page,dftl:cmt=foo"], "dftl.cmt = foo: not a number of bytes"),
        (["--ftl", "page,treeftl+lru"], "lru cannot work over treeftl"),
        (["--set", "nosuch.key=3"], "nosuch is no section of a study. Give a key of device"),
        (["--budget", ""], "--budget : must be a time"),
    ],
)
def test_what_does_not_exist_is_refused_at_once(given: list[str], said: str, call: Callable[..., Result]) -> None:
    result = call("advise", "fin1", "--requests", 3_000, "--trials", 2, *given)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.stderr.split())


def test_the_page_says_what_was_asked(tmp_path: Path) -> None:
    found = sought(tmp_path, ftl="page,dftl", trials=2, seeds=1, goal="ram", ram_bytes=1 << 23, budget_s=90.0)
    html = page(found)
    asked = "ftlkit advise fin1 --ftl page,dftl --goal ram --ram 8388608B --budget 90s --trials 2 --requests 6000"
    assert asked in html
    assert "Sought is the least RAM with a mean response time at most 10 %" in html
    assert any("stacks were measured, with the reference page; " in each for each in found.doubts)


def test_why_stacks_failed_is_printed(tmp_path: Path) -> None:
    found = sought(tmp_path, ftl="page,dftl", trials=2, seeds=1)
    found.result.rungs[0].tried["dftl:cmt=1KiB"] = Measured("dftl:cmt=1KiB", [], "the spares are used up.")
    for number in range(2, 7):
        stack = f"dftl:cmt={number}KiB"
        found.result.rungs[0].tried[stack] = Measured(stack, [], f"the spares are {number}.")
    out = StringIO()
    show(found, Console(file=out, width=200))
    assert "failed, 1 stack such as dftl:cmt=1KiB: the spares are used up." in out.getvalue()
    assert out.getvalue().count("failed, ") == 4
    assert "failed, 3 more stacks for 3 other reasons, which --json has" in out.getvalue()
    assert "Preconditioning: fill" in out.getvalue()
    narrow = StringIO()
    show(found, Console(file=narrow, width=60))
    sentences = narrow.getvalue().partition("stack ")[0].splitlines()
    assert max(map(len, sentences)) <= 60


def test_seeds_that_make_no_difference_are_not_run(tmp_path: Path) -> None:
    """Nothing is drawn of a recorded trace, but for blocks that are chosen by chance."""
    trace, drawing = write_msr(tmp_path / "t.csv", 12_000), "page:victim=random"
    asked, store = Query(str(trace), seeds=4), Store(tmp_path / "store", create=True)
    device = fk.check_study(asked.document())["device"]
    measured = Runner(asked, device, store, Local(), Traces(tmp_path)).held_out(["page", "dftl", drawing], 8_000, 4)
    assert [row["seed"] for row in measured[drawing].rows] == [1, 2, 3, 4]
    assert {stack: len(each.rows) for stack, each in measured.items()} == {"page": 2, "dftl": 2, drawing: 4}
    assert len(store.keys()) == 8
    # One that was measured with two seeds is set beside one with four, seed by seed.
    page, other = measured["page"], measured[drawing]
    pairs = page.beside(other, "erases")
    assert pairs == [(page.rows[0]["erases"], row["erases"]) for row in other.rows]
    assert phrasing.against("write_amplification", other, page, "page")


def test_what_was_measured_before_ctrl_c_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first stack shows whether seeds matter; Ctrl-C comes in the middle of the others."""
    asked, store = Query(str(write_msr(tmp_path / "t.csv", 300)), seeds=3), Store(tmp_path / "store", create=True)
    runner = Runner(asked, fk.check_study(asked.document())["device"], store, Local(), Traces(tmp_path))
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
    assert {stack: len(each.rows) for stack, each in finished.items()} == {"dftl": 0, "page": 2}


def test_where_the_preparation_is_drawn_all_seeds_are_run(tmp_path: Path) -> None:
    trace = write_msr(tmp_path / "t.csv", 600)
    asked = Query(str(trace), options={"precondition": "steady"}, ftl="page,dftl", trials=2, seeds=3)
    found = answer(asked, search_stacks(asked, Store(tmp_path / "store", create=True), Local()))
    assert found is not None
    assert {len(each.measured.rows) for each in found.stacks} == {3}
    assert "with 3 seeds with their 95 % intervals." in found.doubts[0]


def test_a_stack_is_of_what_was_asked_for_in_whatever_order_its_settings_stand() -> None:
    assert is_of("dftl:cmt=8KiB:victim=fifo+fab:ram=1MiB", "dftl:victim=fifo")
    assert is_of("page+fab:ram=1MiB", "page+fab")
    assert is_of("page", "page")
    assert not is_of("dftl:cmt=8KiB", "dftl:victim=fifo")
    assert not is_of("faster", "fast")
    assert not is_of("page", "page+fab")
