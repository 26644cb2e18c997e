"""The last run of an advice, as long as time allows, and mapping units that were asked for."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
import sample
from advice import answer_of, with_columns
from conftest import Call
from ftlkit._native import UserError
from ftlkit._util.units import typed
from ftlkit.advice.clock import Clock
from ftlkit.advice.commands import over_spare
from ftlkit.advice.going_on import GoingOn
from ftlkit.advice.measure import Measured
from ftlkit.advice.query import Query, question
from ftlkit.advice.search_result import LastRun, Rung, SearchResult, UnitTrial
from ftlkit.advice.space import Head, Space, with_policies
from ftlkit.results.columns import COLUMNS
from ftlkit.study import Options

REQUESTS = 900


def run(stack: str, life: float | None = None, **columns: Any) -> Measured:  # noqa: ANN401 - columns of a run
    """A run of 6 s, of which preparing takes nothing."""
    document = sample.document(runs=[sample.document()["runs"][0] | {"precondition": None}])
    spares = {"is_measured": False, "years": 1.0, "drive_writes_per_day": 1.0, "written_bytes": life}
    spares |= {"low_bytes": life and 0.99 * life, "high_bytes": life and 1.01 * life}
    document["workload"]["requests"] = REQUESTS
    told: Any = document["runs"][0]
    told["endurance"] = {"spares_gone": spares if life else None, "limit": 100, "refusal": "few"}
    row = dict.fromkeys(COLUMNS, 1) | {"label": stack, "ram_bytes": 4096, "write_amplification": 2.0, "erases": 100}
    row |= {
        "wall_s": 6.0,
        "requests": REQUESTS // 3,
        "measured_wall_s": 6.0,
        "erases_mean": 1.0,
        "life_bytes": life,
        "is_overloaded": None,
    }
    row |= {"end_of_life_request": None, "is_life_measured": False, "document": json.dumps(document)}
    return Measured(stack, [row | {"simulated_ns": None} | columns])


class Endless:
    """A workload that goes on, under stacks whose lives are known."""

    def __init__(self, lives: dict[str, float]) -> None:
        self.asked: list[tuple[int, int, list[str]]] = []
        self.checks, self.until_s = 2, None
        self._lives, self._requests = lives, 0

    def going_on(self, requests: int) -> "Endless":
        """The same over more requests."""
        self._requests = requests
        return self

    def asked_times(self) -> int:
        """How many times as many requests it has."""
        return self._requests // REQUESTS

    def beside(self, stacks: Mapping[int, Sequence[str]], skip: int) -> dict[int, dict[str, Measured]]:
        """Runs with lives."""
        self.asked.append((self._requests, skip, [stack for some in stacks.values() for stack in some]))
        return {unit: {stack: run(stack, self._lives.get(stack, 100.0)) for stack in stacks[unit]} for unit in stacks}


def gone_on(
    budget_s: float,
    lives: dict[str, float] | None = None,
    units: tuple[int, ...] = (),
    **fields: Any,  # noqa: ANN401 - of a question
) -> tuple[Query, Any, Any]:
    """A result after its last run, by what time allowed, with the question and what was run."""
    query = Query(
        "zipf", options=Options(capacity="64MiB"), budget_s=budget_s, units=units, **({"goal": "wa"} | fields)
    )
    finalists = {stack: run(stack) for stack in ("dftl", "page")}
    result = SearchResult(REQUESTS, frozenset(finalists), {}, 1 << 26, finalists=finalists, asked_for=["dftl", "page"])
    result.rungs, result.lengths = [Rung(result.searched, tried=dict(finalists))], [result.searched]
    result.units = [UnitTrial(unit, is_own=unit == units[0], told={"dftl": run("dftl")}) for unit in units]
    made: Any = Endless(lives or {})
    clock = Clock(budget_s, 1000.0)
    GoingOn(query, result, made, made, clock, lambda _: None).run(finalists["dftl"])
    return query, result, made


@pytest.fixture(autouse=True)
def now_s(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which a run may let pass."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("budget_s", "times"), [(10.0, 0), (20.0, 2), (60.0, 5), (90.0, 10), (600.0, 20)])
def test_the_last_run_is_as_long_as_the_budget_has_time_for(
    budget_s: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ftlkit.advice.going_on._has_settled", lambda *_: True)
    _, result, made = gone_on(budget_s)
    # 6 s for as many requests as were searched, both stacks at once, in 70 % of what is left.
    assert made.asked == ([(times * REQUESTS, times * REQUESTS // 2, ["dftl", "page"])] if times else [])
    assert (result.last_run is not None) == bool(times)


def test_a_last_run_that_took_less_than_expected_and_has_not_settled_goes_on(
    now_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Endless.beside

    def passing(self: Endless, stacks: Mapping[int, Sequence[str]], skip: int) -> dict[int, dict[str, Measured]]:
        now_s[0] += 10.0
        return beside(self, stacks, skip)

    monkeypatch.setattr(Endless, "beside", passing)
    # Expected were 30 s, so more can be had, and of that again.
    assert [requests // REQUESTS for requests, *_ in gone_on(60.0)[2].asked] == [5, 20, 50]
    monkeypatch.setattr("ftlkit.advice.going_on._has_settled", lambda *_: True)
    now_s[0] = 1000.0
    assert [requests // REQUESTS for requests, *_ in gone_on(60.0)[2].asked] == [5]


def test_units_go_on_beside_the_last_run_until_they_have_settled(
    now_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, settled = Endless.beside, ("2 0", "2 16384", "5 65536")

    def passing(self: Endless, stacks: Mapping[int, Sequence[str]], skip: int) -> dict[int, dict[str, Measured]]:
        now_s[0] += 12.0
        times = self.asked_times()
        return {
            unit: {stack: with_columns(made, key=f"{times} {unit}") for stack, made in runs.items()}
            for unit, runs in beside(self, stacks, skip).items()
        }

    monkeypatch.setattr(Endless, "beside", passing)
    monkeypatch.setattr("ftlkit.advice.going_on.is_settled", lambda _, run: run.rows[0].get("key") in settled)
    monkeypatch.setattr("ftlkit.advice.going_on._passes", lambda _: 0.5)
    _, result, made = gone_on(45.0, units=(4096, 16_384, 65_536))
    # Expected were 24 s: the unit that has not settled has time for five times as many requests.
    asked = [(requests // REQUESTS, stacks) for requests, _, stacks in made.asked]
    assert asked == [(2, ["dftl", "page", "dftl", "dftl"]), (5, ["dftl"])]
    assert result.last_run.requests == 2 * REQUESTS
    assert [trial.told["dftl"].rows[0]["key"] for trial in result.units] == [*settled]
    # Where there is time for one of two to settle, that is the nearest one.
    monkeypatch.setattr("ftlkit.advice.going_on._passes", lambda _: 0.2)
    now_s[0] = 1000.0
    assert gone_on(58.0, units=(4096, 16_384, 65_536))[2].asked[0][2] == ["dftl", "page", "dftl"]
    # Where none can, the device's own unit goes on alone.
    monkeypatch.setattr("ftlkit.advice.going_on._passes", lambda _: 0.01)
    now_s[0] = 1000.0
    assert gone_on(45.0, units=(4096, 16_384, 65_536))[2].asked[0][2] == ["dftl", "page"]


def test_an_advised_stack_without_time_on_the_held_out_part_goes_on() -> None:
    query, result, made = gone_on(600.0, units=(4096, 16_384))
    made.asked.clear()
    del result.finalists["dftl"]
    GoingOn(query, result, made, made, Clock(600.0, 1000.0), lambda _: None).run(run("dftl"))
    assert made.asked[0][2][:2] == ["dftl", "page"]


def test_units_that_have_all_settled_go_on_no_longer() -> None:
    query, result, made = gone_on(600.0, units=(4096, 16_384))
    before = len(made.asked)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ftlkit.advice.going_on.is_settled", lambda *_: True)
        GoingOn(query, result, made, made, Clock(600.0, 1000.0), lambda _: None).settle_units()
    assert len(made.asked) == before


def test_a_life_goes_on_under_wear_policies_and_the_longest_is_advised() -> None:
    query, result, made = gone_on(600.0, {"dftl+static": 305.0, "dftl": 229.0}, is_by_amplification=True)
    assert {"dftl+static", "dftl+dynamic", "page"} <= {*made.asked[0][2]}
    advice = answer_of(query, result)
    assert advice.advised.stack == "dftl+static"
    assert "life 0.305 kB (0.302 kB to 0.308 kB)" in typed(advice.sentences[0])
    assert "Its lives under other wear policies or none, longest first: dftl (0.229 kB" in typed(
        " ".join(advice.sentences)
    )
    assert "--ftl dftl+static,page" in advice.command
    assert f"--requests {result.last_run.requests} " in advice.command


def test_a_plain_page_that_does_as_well_in_the_last_run_is_advised() -> None:
    query, result, _ = gone_on(600.0)
    finalists = {stack: run(stack) for stack in ("page:victim=cat", "page")}
    result.finalists, result.rungs[0].tried, result.asked_for = finalists, dict(finalists), [*finalists]
    for amplification, best in ((2.0, "page"), (1.98, "page:victim=cat")):
        costs = {"page:victim=cat": amplification, "page": 2.005}
        result.last_run = LastRun(90, 45, {each: run(each, write_amplification=costs[each]) for each in costs})
        assert answer_of(query, result).advised.stack == best


def test_a_wear_policy_that_lives_as_long_is_not_added() -> None:
    query, result, _ = gone_on(600.0, {"dftl+static": 230.0, "dftl": 229.0}, is_by_amplification=True)
    assert answer_of(query, result).advised.stack == "dftl"


def test_figures_are_those_of_the_last_run() -> None:
    query, result, _ = gone_on(600.0)
    result.last_run = LastRun(18_000, 9_000, {stack: run(stack, write_amplification=3.5) for stack in result.finalists})
    text = answer_of(query, result).sentences
    assert "write amplification 3.50 with" in typed(text[0])
    assert typed(text[1]).startswith("These figures are of a longer run: 9,000 requests after 9,000")


def test_the_leader_is_tried_under_each_wear_policy() -> None:
    tails = ("", "+static", "+bet", "+static+lru")
    space = Space([Head("dftl", tails), Head("page", ("", "+static"))], 1 << 16, {})
    turned = space.turned("dftl:cmt=8KiB")
    assert {"dftl:cmt=8KiB+static", "dftl:cmt=8KiB+bet"} <= {*turned}
    assert "dftl:cmt=8KiB" in space.turned("dftl:cmt=8KiB+static")
    assert not any("bet" in stack for stack in space.turned("page"))
    assert with_policies("page+static:threshold=4+lru", ["none", "static", "bet"]) == ["page+lru", "page+bet+lru"]


def test_mapping_units_that_are_asked_for_are_compared_alone() -> None:
    query = question("zipf", Options(capacity="1GiB"), device="qlc-16k-like", vary=["device.mapping_unit=16KiB,64k"])
    assert query.units == (16384, 65536)
    assert query.document()["device"]["mapping_unit"] == "16KiB"
    with pytest.raises(UserError, match=r"mapping units alone.* curve spare .*device\.spare .* ftlkit sweep"):
        question("zipf", Options(), vary=["device.spare=0.1,0.2"])


def test_units_asked_for_are_told_with_their_lives(call: Call, tmp_path: Path) -> None:
    line = "advise randwrite --bs 64k/80:4k/20 --device qlc-16k-like --capacity 1GiB --set device.pages_per_block=16"
    line += " --ftl page --goal wa --trials 1 --seeds 1 --requests 6000 --daily-writes 1GB --threads 1"
    out = call(*line.split(), "--vary", "device.mapping_unit=16k,64k", "--store", str(tmp_path)).stdout
    table = out[out.index("Mapping units") : out.index("Measured on")]
    assert re.findall(r"^(\d+ KiB)", table, re.MULTILINE) == ["16 KiB", "64 KiB"]
    assert re.search(r"64 KiB +page.* \(?[\d.]+ days\)?$", typed(table), re.MULTILINE)
    assert re.search(r"Life at 1\.00 GB per day .*, under even wear\.", " ".join(table.split()))
    (asked,) = re.findall(r"What over-provisioning buys: `ftlkit (.*)`\.", out)
    told = call(*shlex.split(asked), "--spares", "0.1,0.3", "--store", str(tmp_path)).stdout
    assert len(re.findall(r"^page.* 0\.[13] ", told, re.MULTILINE)) == 2


def test_over_provisioning_beside_data_in_use_is_told_by_the_data_in_use() -> None:
    asked = Query("zipf", device="7450-like", goal="life", options=Options(in_use="600GB", daily_writes="1TB"))
    line = over_spare(asked, "page")
    assert line.startswith("ftlkit sweep zipf --ftl page --device 7450-like --daily-writes 1TB")
    assert "--in-use" not in line
    assert line.endswith("--vary run.in_use=0.5..1:+0.1 --goal life")


def test_a_slice_has_no_write_buffers_of_the_drive(call: Call, tmp_path: Path) -> None:
    line = "advise zipf --device 7450-like --goal wa --trials 1 --seeds 1 --requests 300 --precondition none"
    out = " ".join(call(*line.split(), "--threads", "1", "--store", str(tmp_path)).stdout.split())
    left_out = out.partition("Keeps written data in RAM, of which a slice has a larger share")[2]
    assert {"leaftl", "bdb"} <= {*re.findall(r"\w+", left_out.partition(".")[0])}


def test_a_life_without_a_forecast_has_one_by_the_last_run() -> None:
    asked: dict[str, Any] = {"capacity": "32MiB", "requests": 9_000, "ftl": "page", "seeds": 1, "trials": 1}
    advice = fk.advise("zipf", device="slc-small", goal="life", budget=60, **asked)
    told = " ".join(advice.sentences)
    assert "life" in advice.sentences[0]
    assert "These figures are of a longer run: 90,000 requests after 90,000" in told
    assert "The stack was chosen by write amplification, since the searched part has no forecast of a life." in told
    assert re.search(r"That is [\d.]+ \w+ \(.*\) at 33\.\d MB per day", told)
