"""The advice of random search results: what it says holds in the figures that it shows.

Figures are few and near each other, so that ties, stacks that fall behind, and stacks that were not
measured on the held-out part are frequent.
"""

import copy
import json
import math
import random
import re
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

import sample
from advice import answer_of
from ftlkit._util import units
from ftlkit.advice import phrasing
from ftlkit.advice.answer import Answer, StackResult
from ftlkit.advice.choice import MARGIN, NEAR, NOTHING, is_decided_on_held_out_part, is_within_noise, ranking
from ftlkit.advice.measure import Measured
from ftlkit.advice.query import Query
from ftlkit.advice.search_result import Rung, SearchResult
from ftlkit.cli.advise import show
from ftlkit.results.columns import COLUMNS

SEEDS = range(120)
REQUESTS, FEW = 9_000, 1_800
"""Of many searches, and of some: few held-out requests may be lucky for a stack."""
METRICS = ("response_mean_ns", "write_amplification")
LITTLE_WORSE = 1.05
"""Up to this factor nothing is called worse beside the goal."""
DOCUMENT = json.dumps(sample.document(runs=sample.document()["runs"][:1]))


def run(stack: str, chance: random.Random, overloaded: float) -> Measured:
    """A run with random figures, which falls behind the arrivals with this probability."""
    row = dict.fromkeys(COLUMNS, 1) | {
        "label": stack,
        "event_hash": stack,
        "ram_bytes": chance.choice((7_055, 16_384, 65_536, 77_824, 1 << 18)),
        "response_mean_ns": chance.choice((1e6, 1.0005e6, 1.004e6, 1.03e6, 1.2e6, 1.24e6, 9e6, 26e9)),
        "response_p99_ns": 1e7,
        "write_amplification": chance.choice((1.0, 1.0004, 1.17, 4.9)),
        "life_bytes": None,
        "is_overloaded": chance.random() < overloaded,
        "end_of_life_request": None,
        "document": DOCUMENT,
    }
    return Measured(stack, [row])


def again(measured: Measured, chance: random.Random) -> Measured:
    """The stack on the held-out part, where another may be best."""
    moved = {
        metric: measured.rows[0][metric] * chance.choice((1.0, 1.0, 1.0004, 0.994, 0.97, 1.3)) for metric in METRICS
    }
    return Measured(measured.stack, [measured.rows[0] | moved])


@dataclass
class Case:
    """A search and its answer."""

    advice: Answer
    first: dict[str, Measured]
    """What was run on the searched part."""

    @property
    def metric(self) -> str:
        """The goal's."""
        return self.advice.query.metric

    @property
    def said(self) -> str:
        """All sentences, with ordinary spaces."""
        return units.typed(" ".join((*self.advice.sentences, *self.advice.doubts, *self.advice.cautions)))

    @property
    def candidates(self) -> list[StackResult]:
        """Stacks with figures that may be advised."""
        most = self.advice.query.ram_bytes or 1 << 40
        return [stack for stack in self.advice.stacks if (stack.measured.mean("ram_bytes") or 0) <= most]


@cache
def cases() -> list[Case]:
    """Random searches that were ended by a budget."""
    made = []
    for seed in SEEDS:
        chance = random.Random(seed)  # noqa: S311 - a test's numbers
        stacks = ["page", *(f"dftl:cmt={size}KiB" for size in chance.sample(range(1, 200), chance.randint(1, 9)))]
        overloaded = chance.choice((0.1, 0.1, 0.1, 1.0))
        first = {stack: run(stack, chance, overloaded) for stack in stacks}
        goal = chance.choice(("mean", "wa"))
        ram_bytes = chance.choice((None, 1 << 20))
        query = Query("fin1", budget_s=60.0, ram_bytes=ram_bytes, seeds=1, goal=goal, options={"clock": True})
        requests = REQUESTS if seed % 4 else FEW
        result = SearchResult(requests, frozenset({"page", "dftl"}), {}, 1 << 30, is_surveyed=True)
        result.whole = first["page"]
        # Now and then the time is out for the whole searched part.
        result.rungs = [Rung(result.searched if chance.random() < 0.7 else result.searched // 3, tried=first)]
        order = sorted(first, key=lambda stack: (first[stack].is_behind, first[stack].rows[0][query.metric]))
        result.asked_for = order
        tried = order[: chance.randint(1, len(order))] if chance.random() < 0.5 else order
        result.finalists = {stack: again(first[stack], chance) for stack in tried}
        made.append(Case(answer_of(query, result), first))
    return made


def complete() -> Case:
    """A search in which nothing was left out."""
    advised = (
        case for case in cases() if not case.advice.result.missed and case.advice.sentences[0].startswith("Take")
    )
    return copy.deepcopy(next(advised))


def cost(measured: Measured, metric: str) -> float:
    value = measured.mean(metric)
    assert value is not None
    return value


def ram(measured: Measured) -> float:
    return measured.mean("ram_bytes") or 0.0


def test_the_first_sentence_has_the_figures_of_the_advised_row() -> None:
    for case in cases():
        advised = case.advice.advised
        assert re.search(
            rf"(take|Take|so far.*|them is) {re.escape(advised.stack)}[ :]", case.advice.sentences[0] + ":"
        )
        assert phrasing.text(case.metric, advised.measured) in case.advice.sentences[0]
        assert units.size(ram(advised.measured)) in case.advice.sentences[0]


def test_none_is_advised_that_another_beats_with_no_more_ram() -> None:
    for case in cases():
        mine, metric = case.advice.advised.measured, case.metric
        for other in (stack.measured for stack in case.candidates):
            here = cost(other, metric) / cost(mine, metric)
            if other is mine or other.is_behind > mine.is_behind or ram(other) > ram(mine):
                continue
            assert here * NOTHING >= 1, case.said
            if ram(other) * NOTHING < ram(mine):
                assert here >= 1, case.said


def test_the_advised_row_is_the_best_of_its_table_and_a_lead_within_the_noise_is_a_tie() -> None:
    seen = dict.fromkeys(("but lost", "ties", "A tie", "0 to"), 0)
    for seed in range(60):
        case, chance = copy.deepcopy(cases()[seed % len(SEEDS)]), random.Random(seed)  # noqa: S311 - a test's numbers
        result, noise = case.advice.result, chance.choice((0.001, 0.3, 2.0))
        result.seeds = chance.choice((1, 3))
        for stack, measured in list(result.finalists.items()):
            row = measured.rows[0] | {"is_overloaded": False}
            rows = [
                row
                | {"event_hash": str(number)}
                | {name: row[name] * math.exp(noise * chance.random()) for name in METRICS}
                for number in range(result.seeds)
            ]
            result.finalists[stack] = Measured(stack, rows)
        query = replace(case.advice.query, seeds=result.seeds)
        told = answer_of(query, result)
        mine = told.advised.measured
        # By few requests a stack that takes more may have been lucky.
        most = ram(mine) if result.requests == FEW else query.ram_bytes or 1 << 40
        for other in (each.measured for each in told.stacks if ram(each.measured) <= most):
            # More RAM has to win by more than the noise.
            is_noise = ram(other) > ram(mine) and is_within_noise(case.metric, other, mine)
            limit = NOTHING * (1 + NEAR if is_noise else NOTHING)
            assert cost(mine, case.metric) <= limit * cost(other, case.metric), told.sentences
        text = units.typed(" ".join(told.sentences))
        chosen = re.search(r"(\S+) won the search (but lost on held-out requests|and ties)", text)
        if chosen:
            within = is_within_noise(case.metric, result.finalists[chosen[1]], mine)
            assert within == (chosen[2] == "and ties"), text
        if "A tie" in text:
            tie, size = re.findall(r"noise of the seeds: (\S+) \((.*?) of RAM\)", text)[0]
            assert units.typed(units.size(ram(result.finalists[tie]))) == size
            assert "Between ties RAM decides, then fewer settings; more --seeds may part them." in text
        for number, half in re.findall(r"(\d+(?:\.\d+)?)(?: [µm]?s)? ± (\d+(?:\.\d+)?)", text):
            assert float(half) < float(number), text
        for word in seen:
            seen[word] += word in text
    assert all(seen.values()), seen


def test_ram_that_bought_something_on_the_part_that_was_searched_alone_is_told() -> None:
    seen = 0
    for case in cases():
        mine, metric = case.advice.advised.measured, case.metric
        for found in re.finditer(r"With less RAM, (\S+) takes [^;]*(; on the searched part )?", case.said):
            there = cost(case.first[found[1]], metric) / cost(case.first[mine.stack], metric)
            less = next(stack.measured for stack in case.candidates if stack.stack == found[1])
            assert ram(less) < ram(mine)
            if cost(less, metric) < NOTHING * cost(mine, metric):
                seen += 1
                assert bool(found[2]) == (there >= NOTHING), case.said
    assert seen


def test_whoever_beats_a_figure_in_brackets_is_shown() -> None:
    for case in cases():
        shown = case.advice.table
        for stack in shown:
            for metric in case.advice.metrics:
                beaters = [
                    other
                    for other in shown
                    if other is not stack
                    and ram(other.measured) <= ram(stack.measured)
                    and cost(other.measured, metric) <= NOTHING * cost(stack.measured, metric)
                ]
                assert metric in stack.fronts or beaters
        out = StringIO()
        show(case.advice, Console(file=out, width=200))
        assert all(f" {stack.stack} " in out.getvalue() for stack in shown)
        table, _, notes = out.getvalue().partition("* the advised stack.")
        assert ("(…) = dominated" in notes) == (" (" in table.rpartition("stack ")[2])


def test_what_was_left_out_and_may_be_as_good_is_said_first() -> None:
    for case in cases():
        best, missed = case.advice.advised.stack, case.advice.result.missed
        is_behind = case.first[best].is_behind
        rivals = [
            stack
            for stack in missed
            if cost(case.first[stack], case.metric) <= MARGIN * cost(case.first[best], case.metric)
            and case.first[stack].is_behind <= is_behind
        ]
        first = case.advice.sentences[0]
        # So is a stack for which the held-out part alone speaks: the choice of the search is worse.
        query, result = case.advice.query, case.advice.result
        order = [stack for stack in ranking(query, result, result.last) if stack in result.finalists]
        chosen, there = (cost(result.finalists[stack], case.metric) for stack in (order[0], best))
        is_alone = chosen > (1 + NEAR) * there and not is_decided_on_held_out_part(query, result)
        is_open = first.startswith("Not enough time") or "ot certain; " in first
        assert is_open == (bool(rivals) or is_alone) or " not enough time" in first
        assert (f"ake {best}: " in first) <= (not rivals)
        if rivals:
            assert f"{len(rivals)} of {len(case.advice.result.asked_for)} stacks that may be as good" in first


def test_every_superlative_holds_in_the_rows_that_it_is_of() -> None:
    seen = dict.fromkeys(("them is", "there is", "Not best", "was better"), 0)
    for case in cases():
        metric, first, mine = case.metric, case.first, case.advice.advised.measured
        figures = {stack.stack: stack.measured for stack in case.candidates}
        for found in re.finditer(r"; (among )?the best of them is (\S+): ", case.said):
            seen["them is"] += 1
            assert all(each.is_behind for each in figures.values())
            least = min(cost(each, metric) for each in figures.values())
            assert bool(found[1]) == (cost(figures[found[2]], metric) > least), case.said
        late = "(?:, though it does not keep up with the arrivals)?"
        there = rf"the best of them there is (\S+), with (.+?){late} \(the advised stack had (.+?) there\)\."
        for found in re.finditer(there, case.said):
            seen["there is"] += 1
            missed = [first[stack] for stack in case.advice.result.missed]
            best = min((each.is_behind, cost(each, metric)) for each in missed)
            assert (first[found[1]].is_behind, cost(first[found[1]], metric)) == best, case.said
            assert found[2] == units.typed(phrasing.text(metric, first[found[1]]))
            assert found[3] == units.typed(phrasing.text(metric, first[mine.stack]))
        other = next(each for each in METRICS if each != metric)
        beside = re.search(
            r"Not best in everything: (\S+) has a [a-z ]+ of ([^;]*); the advised stack's is ", case.said
        )
        leads = [each for each in figures.values() if not each.is_behind] or list(figures.values())
        least = min(cost(each, other) for each in leads)
        assert bool(beside) == (cost(mine, other) > LITTLE_WORSE * least), case.said
        if beside:
            seen["Not best"] += 1
            assert cost(figures[beside[1]], other) == least
            assert beside[2] == units.typed(phrasing.text(other, figures[beside[1]]))
            assert beside[1] in [stack.stack for stack in case.advice.table], "the table has its name"
        for found in re.finditer(r"on the held-out part (\S+) was better", case.said):
            seen["was better"] += 1
            assert cost(figures[found[1]], metric) < cost(mine, metric)
    assert all(seen.values()), seen


def test_a_range_is_all_in_percent_or_all_in_factors() -> None:
    low, high = (Measured(name, [row]) for name, row in (("low", {"response_mean_ns": 1.0}), ("high", {})))
    for ends in ((8.5, 11.0), (2.0, 3.0), (9.9, 10.2), (12.0, 14.0)):
        slow = Measured(high.stack, [{"response_mean_ns": end} for end in (*ends, sum(ends) / 2)])
        quick = Measured(low.stack, low.rows * 3)
        for one, two in ((slow, quick), (quick, slow)):
            told = phrasing.against("response_mean_ns", one, two, two.stack)
            assert ("%" in told) != ("×" in told), told


def test_what_differs_by_less_than_a_thousandth_is_as_fast() -> None:
    for case in cases():
        for sentence in case.advice.sentences:
            for match in re.finditer(r"([\d.]+)\N{NO-BREAK SPACE}% (faster|slower|higher|lower)", sentence):
                assert float(match[1]) >= 0.1 - 1e-9
            assert "less than 0.1" not in sentence


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"is_surveyed": False}, "not every mapping was tried with all of the RAM"),
        (
            {"candidates": frozenset({"page", "dftl", "fast"})},
            "2 of 3 mappings were tried)",
        ),
        ({"wear_policies": ("static", "bet")}, "no wear policy was tried"),
        ({"is_turned": False}, "not every other setting of the best was tried"),
        ({"is_rivalled": False}, "page with a write buffer of as much RAM was not tried"),
        ({"is_shared": False}, "not every way to share the RAM between caches and buffers was tried"),
        ({"finalists": {}}, "nothing was measured on the held-out part"),
    ],
)
def test_a_search_that_was_cut_says_so_first(change: dict[str, Any], reason: str) -> None:
    case = complete()
    for key, value in change.items():
        setattr(case.advice.result, key, value)
    advice = answer_of(case.advice.query, case.advice.result)
    assert advice.sentences[0].startswith("Not enough time; best so far: ")
    assert f"({reason}" in advice.sentences[0]
    case.advice.result.interrupted = True
    advice = answer_of(case.advice.query, case.advice.result)
    assert advice.sentences[0].startswith("The search was stopped; best so far: ")


def test_a_prefix_that_was_not_seen_to_be_like_the_whole_is_told_first() -> None:
    case = complete()
    result, (whole,) = case.advice.result, case.advice.result.rungs

    def first() -> str:
        return answer_of(case.advice.query, result).sentences[0]

    result.rungs = [Rung(2_000, tried=whole.tried), whole]
    result.whole = None
    assert "(stacks were sifted by the first 2,000 requests, and it was not seen whether these are like" in first()
    result.whole = whole.tried["page"]
    assert first().startswith("Take ")
    result.unlike = ["fast"]
    assert "(stacks were sifted by the first 2,000 requests, which are not like the whole)" in first()


def test_sentences_name_each_stack_shortly_and_none_by_the_name_of_another() -> None:
    for seed in range(40):
        chance = random.Random(seed)  # noqa: S311 - a test's numbers
        settings = [f"{key}={chance.choice(('1KiB', '7680B', 'cost-benefit', 'true'))}" for key in "abcdef"]
        stacks = {
            "+".join(
                ":".join([part, *(setting for setting in settings if chance.random() < 0.6)])
                for part in ("dftl", "lru", "rejuvenator")[: chance.randint(1, 3)]
            )
            for _ in range(12)
        }
        said = [f"Take {stack}: it is faster than {other}." for stack in stacks for other in stacks]
        names = phrasing.short_names(said, stacks, ["page"])
        assert names.keys() == {stack for stack in stacks if len(stack) > 40}
        told = phrasing.shortened(said, names)
        assert len(set(told)) == len(set(said)), "each name is of one stack"
        assert all(name.partition(":")[0].partition("+")[0] == "dftl" for name in names.values())
        assert sum(map(len, told)) < sum(map(len, said)) or not names
    long = "dftl:cmt=90KiB:gc=cost-benefit:window=8+bplru:ram=160KiB"
    names = phrasing.short_names([f"Take {long}."], [long, f"{long}:order=x"], ["page", "dftl:cmt=90KiB"])
    assert phrasing.shortened([f"Take {long}.", f"`ftlkit sweep {long}`"], names) == [
        "Take dftl:cmt=90KiB:…+bplru:ram=160KiB.",
        f"`ftlkit sweep {long}`",
    ]
