"""The verdict of random results: each superlative and comparison holds in the table.

Values are few and near each other, so that ties, overload, worn-out devices and runs that served
nothing are frequent.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
import sample
from ftlkit._util import units
from ftlkit.report import life
from ftlkit.report.cautions import FEW_FOR_P99
from ftlkit.report.load import is_overloaded
from ftlkit.report.verdict import CLOSE, ranked, verdict
from ftlkit.results.columns import METRICS
from ftlkit.results.document import Document, Run

SEEDS = range(400)
CRITERIA = {
    "write amplification": "write_amplification",
    "erases": "erases",
    "evenness of wear (σ of erase counts)": "erases_std",
    "the longest response": "response_max_ns",
    "flash time for each request": "flash_time_per_request_ns",
}


def cases() -> Iterator[tuple[Rows, str]]:
    """Random results one after the other, in one document, each with its verdict as plain text."""
    document = sample.document()
    whole = document["runs"]
    for seed in SEEDS:
        chance = random.Random(seed)  # noqa: S311 - a test's numbers
        document["runs"] = whole[: chance.choice((2, 3, 4, 4))]
        for run in document["runs"]:
            draw(run, chance)
        yield Rows(document), str(verdict(fk.Results(document))).replace("\N{NO-BREAK SPACE}", " ")


def draw(run: Run, chance: random.Random) -> None:
    """Give a run random figures."""
    mean = chance.choice((0.0, 2e5, 2.004e5, 2.05e5, 2.3e5, 9e6, 26e9, 34.9e9))
    for response in run["response_ns"].values():
        response["mean"], response["p99"] = mean, chance.choice((220_000, 220_400, 230_000, 9_000_000))
        response["max"] = chance.choice((10**7, 10_010_000, 10**8))
        response["count"] = chance.choice((0, 20, *[50_000] * 7))
    is_behind = chance.random() < 0.3
    run["load"] = {
        "offered_iops": 1_000.0,
        "bottleneck_iops": 2_000.0,
        "utilisation_max": 0.5,
        "busiest": "die 3",
        "outlasts_arrivals_ns": 0,
        "backlog_ns": None,
        "is_overloaded": is_behind,
    }
    run["iops"] = chance.choice((500.0, 999.9, 1_000.0))
    run["write_amplification"] = chance.choice((1.0, 1.001, 1.2, 4.47))
    run["erases"]["std"] = chance.choice((3.39, 3.391, 4.11, 4.47))
    run["erases"]["total"] = chance.choice((100, 100, 900, 5_000))
    run["footprint"]["ram_bytes"] = chance.choice((16_384, 16_390, 65_536, 1 << 20))
    is_worn = chance.random() < 0.1
    run["end_of_life"] = {"request": 1234, "message": "device is read-only"} if is_worn else None
    run["waiting_ns"], run["service_ns"] = {"host": mean / 4}, {"host": mean * 3 / 4}
    run["endurance"]["refusal"] = None
    made: Any = sample.lifetime(1e12)
    run["endurance"]["spares_gone"] = made
    if chance.random() < 0.2:
        run["endurance"]["spares_gone"], run["endurance"]["refusal"] = None, "a block was erased 1.50 times"
    life = run["endurance"]["spares_gone"]
    if life:
        life["written_bytes"] = chance.choice((10**12, 1_001 * 10**9, 2 * 10**12, 9 * 10**12))
        life["low_bytes"] = life["written_bytes"] * 95 // 100
        life["high_bytes"] = life["written_bytes"] * chance.choice((105, 250)) // 100


def mean(run: Run) -> float:
    return run["response_ns"]["all"]["mean"] or 0.0


def p99(run: Run) -> float:
    return run["response_ns"]["all"]["p99"] or 0.0


def ram(run: Run) -> float:
    return run["footprint"]["ram_bytes"]


class Rows:
    """The rows that sentences are held against."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.all = {run["label"]: run for run in document["runs"]}
        self.there = {name: run for name, run in self.all.items() if run["response_ns"]["all"]["count"]}
        self.ahead = {name: run for name, run in self.there.items() if not is_overloaded(run)}

    def named(self, text: str) -> list[Run]:
        """The runs that a sentence names."""
        return [self.all[name] for name in re.split(r", | and ", text)]

    def least(self, runs: list[Run], key: Callable[[Run], float], printed: Callable[[float], str]) -> set[str]:
        """The labels of the runs whose figure reads like the least."""
        best = printed(min(key(run) for run in runs))
        return {run["label"] for run in runs if printed(key(run)) == best}


def plain(tell: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: units.typed(tell(value))


SPAN = plain(units.duration)
SIZE = plain(units.size)
LABELS = r"((?:page|block|fast|dftl)(?:(?:, | and )(?:page|block|fast|dftl))*)"


def test_the_fastest_and_the_slowest_hold_in_the_rows() -> None:
    for rows, text in cases():
        scope = list(rows.ahead.values())
        is_narrowed = "Of those that keep up, " in text
        for match in re.finditer(rf"{LABELS} answers fastest: (.+?) on average", text):
            assert is_narrowed or rows.ahead.keys() == rows.there.keys()
            assert rows.least(scope, mean, SPAN) == {match[1]}
            assert SPAN(mean(rows.all[match[1]])) == match[2]
        for match in re.finditer(rf"(?:faster than|for) {LABELS}, the slowest on average", text):
            assert is_narrowed or rows.ahead.keys() == rows.there.keys()
            worst = SPAN(max(map(mean, scope)))
            assert {run["label"] for run in rows.named(match[1])} == {
                run["label"] for run in scope if SPAN(mean(run)) == worst
            }
            others = [mean(run) for run in scope if SPAN(mean(run)) != worst]
            assert max(others) * CLOSE < max(map(mean, scope)), "another may be as slow"


def test_level_runs_are_all_that_are_level_and_no_other() -> None:
    for rows, text in cases():
        match = re.search(rf"{LABELS} are level in mean response", text)
        if re.search(r"\b[Aa]ll are level", text):
            assert max(map(mean, rows.ahead.values())) <= CLOSE * min(map(mean, rows.ahead.values()))
        if match:
            fastest = min(map(mean, rows.ahead.values()))
            level = {name for name, run in rows.ahead.items() if mean(run) < CLOSE * fastest or mean(run) == fastest}
            assert {run["label"] for run in rows.named(match[1])} == level


def test_the_tail_is_told_by_its_printed_digits() -> None:
    for rows, text in cases():
        scope = list(rows.ahead.values())
        for match in re.finditer(rf"{LABELS} (?:leads|lead|share the lead) at the 99th percentile", text):
            assert {run["label"] for run in rows.named(match[1])} == rows.least(scope, p99, SPAN)
        for match in re.finditer(rf"t the 99th percentile {LABELS} leads? instead", text):
            assert {run["label"] for run in rows.named(match[1])} == rows.least(scope, p99, SPAN)
        for match in re.finditer(rf"{LABELS} have the same 99th percentile, (\S+ \S+)\.", text):
            assert {SPAN(p99(run)) for run in scope} == {match[2]}
        for match in re.finditer(r"with (\S+ \S+) against (?:up to )?(\S+ \S+?)[. ]", text.partition("\n")[0]):
            assert match[1] != match[2]


def test_few_requests_rank_nothing_by_the_99th_percentile() -> None:
    for rows, text in cases():
        few = any(run["response_ns"]["all"]["count"] < FEW_FOR_P99 for run in rows.ahead.values())
        if rows.ahead:
            headline = text.partition("\n")[0]
            assert ("Requests are too few to rank by the 99th percentile" in headline) == few
            assert few <= (" at the 99th percentile" not in headline)


def test_other_criteria_name_the_best_of_all_rows() -> None:
    for rows, text in cases():
        sentence = re.search(r"Another would lead if what counts were (.*)\.\n?", text)
        for words, name in CRITERIA.items() if sentence else ():
            metric = METRICS[name]
            match = re.search(rf"{re.escape(words)} \({LABELS}: (.+?) against (.+?)\)", sentence[1] if sentence else "")
            if match:
                text_of_metric = plain(metric.text)
                best = rows.least(list(rows.there.values()), metric.value, text_of_metric)
                assert {run["label"] for run in rows.named(match[1])} == best, words
                assert match[2] == text_of_metric(min(metric.value(run) for run in rows.there.values()))
                assert match[2] != match[3]


def test_who_takes_least_ram_holds_in_the_rows() -> None:
    for rows, text in cases():
        scope = list(rows.there.values())
        for match in re.finditer(rf"{LABELS} needs? least: (.+? \S+?)[. ]", text):
            assert {run["label"] for run in rows.named(match[1])} == rows.least(scope, ram, SIZE)
        for match in re.finditer(rf"{LABELS} needs no more RAM than the others", text):
            assert match[1] in rows.least(scope, ram, SIZE)
        for match in re.finditer(rf"{LABELS} needs (\S+ \S+) of RAM; {LABELS} needs (\S+ \S+)", text):
            assert ram(rows.all[match[3]]) < ram(rows.all[match[1]])
            assert match[2] != match[4]


def test_the_longest_and_shortest_lives_hold_in_the_rows() -> None:
    for rows, text in cases():
        results = fk.Results(rows.document)
        ends = {name: run["endurance"] for name, run in rows.all.items()}
        known = {name: life["spares_gone"] for name, life in ends.items() if life["spares_gone"]}
        for match in re.finditer(rf"(Of those with a forecast, u|U)nder {LABELS} the device lives longest", text):
            assert known[match[2]]["written_bytes"] == max(life["written_bytes"] for life in known.values())
            assert (match[1] == "U") == (known.keys() == rows.all.keys())
        if "lives longest" in text:
            columns = {row["label"]: dict(zip(life.COLUMNS, row["cells"], strict=True)) for row in life.rows(results)}
            assert columns.keys() == rows.all.keys()
            for name, cells in columns.items():
                assert cells["spares gone"] == units.written(known[name]["written_bytes"] if name in known else None)
            behind = {name for name, run in rows.all.items() if is_overloaded(run)}
            named = re.search(rf"nder {LABELS} the device lives longest: .+? of host writes(, [^,;]+? at )?", text)
            assert named
            assert (named[2] is None) == (named[1] in behind)
        for match in re.finditer(rf"It lives shortest under {LABELS}", text):
            least = known[match[1]]
            for other in (each for name, each in known.items() if name != match[1]):
                assert other["written_bytes"] > least["written_bytes"]
                assert all(other[end] >= least[end] for end in ("low_bytes", "high_bytes"))


def test_runs_that_are_in_no_comparison_are_named() -> None:
    for rows, text in cases():
        headline = text.partition("\n")[0]
        for name, run in rows.all.items() if rows.there else ():
            if name not in rows.there:
                assert re.search(rf"{LABELS} served no read or write", headline)
            elif name not in rows.ahead:
                assert re.search(rf"\b{name}\b", headline)
            if run["end_of_life"] and name in rows.there:
                assert "The device wore out under" in headline
        for match in re.finditer(rf"{LABELS} takes (\S+ \S+) longer than {LABELS}", text):
            assert mean(rows.all[match[1]]) > mean(rows.all[match[3]])


def overloads() -> Iterator[list[Run]]:
    """Small simulated open loops, most of them near or beyond what the device serves."""
    for seed in range(200):
        chance = random.Random(seed)  # noqa: S311 - a test's numbers
        generator = {
            "requests": chance.choice((60, 200, 600)),
            "span": "3MiB",
            "pattern": chance.choice(("uniform", {"zipf": {"theta": 0.9}})),
            "write_share": chance.choice((0.5, 1.0)),
            "sizes": chance.choice(("4KiB", "16KiB")),
            "arrivals": {"poisson": {"mean_gap": f"{chance.choice((40, 80, 120, 200, 400))}us"}},
        }
        device = {"channels": 2, "dies_per_channel": 2, "blocks_per_plane": 32, "pages_per_block": 16, "spare": 0.5}
        layers = chance.sample(("page", "dftl:cmt=512B", "cdftl:cmt=512B", "page+lru:ram=64KiB", "fast"), 3)
        results = fk.compare({"generator": generator}, layers, device=device, precondition="fill", seed=seed)
        yield results.document["runs"]


def is_no_worse(one: Run, other: Run) -> bool:
    """Whether a run has mean, p99 and the end no later than another, and serves no less."""
    ends = [METRICS["outlasts_arrivals_ns"].value(run) or 0 for run in (one, other)]
    served = (one["iops"] or 0) >= (other["iops"] or 0)
    return mean(one) <= mean(other) and p99(one) <= p99(other) and ends[0] <= ends[1] and served


def test_a_run_no_worse_in_any_figure_is_not_ranked_behind() -> None:
    behind, compared = 0, 0
    for runs in overloads():
        ahead, left = ranked(runs)
        behind += len(left)
        order = [run["label"] for run in [*ahead, *left]]
        for one in runs:
            for other in runs:
                if one is not other and is_no_worse(one, other):
                    compared += 1
                    assert bool(is_overloaded(one)) <= bool(is_overloaded(other)), (one["label"], other["label"])
                    is_tie = is_no_worse(other, one)
                    assert is_tie or order.index(one["label"]) < order.index(other["label"])
    assert behind > 50, "many were overloaded"
    assert compared > 200, "many were compared"


def behind(folder: Path, writes: list[tuple[int, int]], skip: int = 0) -> list[bool | None]:
    """Which of two layers fall behind writes, each with a time in us and a size in bytes."""
    rows = [f"{at},write,{place % 1024 * 65536},{size}" for place, (at, size) in enumerate(sorted(writes))]
    (folder / "trace.csv").write_text("\n".join(["time_us,op,offset,length", *rows]))
    columns, layers = "time:us, op, offset:B, size:B", "page,dftl:cmt=1KiB"
    options: Any = {
        "device": "slc-small",
        "capacity": "64MiB",
        "columns": columns,
        "precondition": "fill",
        "skip": skip,
    }
    return [is_overloaded(run) for run in fk.compare(folder / "trace.csv", layers, **options).document["runs"]]


EVEN = [(number * 1_000, 4096) for number in range(1001)]


@pytest.mark.parametrize("burst_us", [0, 500_000, 1_000_000])
def test_a_burst_that_the_device_can_serve_is_no_overload_wherever_it_comes(tmp_path: Path, burst_us: int) -> None:
    assert behind(tmp_path, EVEN + 100 * [(burst_us, 4096)]) == [False, False]
    assert behind(tmp_path, EVEN + 7 * [(burst_us, 65536)]) == [False, False]
    assert behind(tmp_path, [(at // 40, size) for at, size in EVEN]) == [True, True], "25 us apart"


@pytest.mark.parametrize(("gap_us", "says"), [(200, "answers fastest|are level"), (60, "is not known"), (2, "of 50")])
def test_dear_writes_behind_cheap_reads_are_told_as_what_they_are(tmp_path: Path, gap_us: int, says: str) -> None:
    """No overload at a tenth of the device's time, one of the end at a third, one at five times."""
    rows = [f"{n * gap_us},read,{n * 7919 % 4096 * 4096},4096" for n in range(5000)]
    rows += [f"{(5000 + n) * gap_us},write,{n % 256 * 65536},65536" for n in range(50)]
    (tmp_path / "trace.csv").write_text("\n".join(["time_us,op,offset,length", *rows]))
    options: Any = {"columns": "time:us, op, offset:B, size:B", "capacity": "64MiB", "precondition": "fill"}
    options["device"] = "slc-small"
    assert re.search(says, fk.compare(tmp_path / "trace.csv", "page,dftl", **options).verdict.headline)


@pytest.mark.parametrize("skip", [0, 200])
def test_an_overload_until_the_end_is_told_whatever_came_before(tmp_path: Path, skip: int) -> None:
    slow = [(number * 10_000, 4096) for number in range(200)]
    fast = [(2_000_000 + number * 25, 4096) for number in range(10_000)]
    assert behind(tmp_path, slow + fast, skip) == [True, True]
