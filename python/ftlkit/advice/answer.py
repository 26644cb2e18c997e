"""The answer: which stack to take, how sure that is, and how to repeat it.

It also tells what the stack costs beside others, and what was tried. Every sentence tells what was
measured, on which part of the workload, or that something was not.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit._util.stacks import mapping
from ftlkit.advice import conditions, going_on, life, phrasing, unit_answer
from ftlkit.advice.choice import (
    MARGIN,
    NEAR,
    NOTHING,
    frugal,
    halve,
    is_decided_on_held_out_part,
    is_lucky,
    is_tied_life,
    is_within_noise,
    leading,
    quickest,
    ranked,
    ranking,
    refuting,
    searched_ratio,
    thrifty,
    unbeaten,
)
from ftlkit.advice.commands import command, over_spare
from ftlkit.advice.confidence import better_there, cause, cautions, doubts, shortage
from ftlkit.advice.measure import Measured, front, ratio
from ftlkit.advice.query import FINALISTS, FRONTS, GOALS, REFERENCE, Query
from ftlkit.advice.search_result import SearchResult
from ftlkit.advice.space import holders, is_ram
from ftlkit.api import catalogue
from ftlkit.report.cautions import programmed_at_once
from ftlkit.report.facts import blocks_bytes, intro
from ftlkit.report.verdict import flushes_weigh, mounts
from ftlkit.results.columns import COLUMNS
from ftlkit.results.derived import buffer_ram, mean_with_flushes
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.comparison import UNKNOWN, WORSE, change
from ftlkit.sweeps.goals import TIMELESS

_NAMED = 2
"""Most ties to name."""
_COLLECTING = ("victim", "gc", "streams")
"""Parameters that say how garbage is collected."""
_MUCH = 0.05
"""From this share of the limit of RAM on, the state of blocks is told beside it."""


@dataclass(frozen=True)
class StackResult:
    """A stack with its figures."""

    measured: Measured
    is_advised: bool
    fronts: frozenset[str]
    """The metrics on whose front of RAM it is, among the stacks that are told."""

    @property
    def stack(self) -> str:
        """The stack, as on the command line."""
        return self.measured.stack


@dataclass(frozen=True)
class Answer:
    """What is answered."""

    query: Query
    result: SearchResult
    stacks: list[StackResult]
    """The stacks with figures, by ascending RAM."""
    is_held_out: bool
    """Whether the figures are of the held-out part; else of the searched part."""
    sentences: list[str]
    """The advice, the first sentence alone if need be."""
    doubts: list[str]
    """How sure it is."""
    cautions: list[str]
    command: str
    """Measures the advised stack and the reference again, on the same part with the same seeds."""
    named: frozenset[str] = frozenset()
    """The stacks that the sentences set beside the advised one: the table shows them, too."""

    @property
    def advised(self) -> StackResult:
        """The stack to take."""
        return next(stack for stack in self.stacks if stack.is_advised)

    @property
    def facts(self) -> list[str]:
        """The device, how the trace was read and how the device was prepared, as `compare` says."""
        document, given = json.loads(self.advised.measured.rows[0]["document"]), self.query.document()
        device, *others = intro(document, given)
        return [device, *life.endurance(document), *others]

    @property
    def seeds(self) -> int:
        """With how many seeds the figures were measured: fewer where all runs are the same."""
        if not self.is_held_out or self.result.seeds == 1:
            return 1
        rows = [len(stack.measured.rows) for stack in self.stacks]
        return min(rows) if not any(stack.measured.is_drawn for stack in self.stacks) else self.result.seeds

    @property
    def metrics(self) -> list[str]:
        """What RAM buys, if measured: the response asked for, write amplification and life.

        A life that was not asked for is told only if that of the advised stack is known.
        """
        wanted = list(dict.fromkeys((self.query.response, "write_amplification", "life_bytes")))
        if self.query.goal != "life" and self.advised.measured.mean("life_bytes") is None:
            wanted.pop()
        return [metric for metric in wanted if any(metric in stack.fronts for stack in self.stacks)]

    @property
    def table(self) -> list[StackResult]:
        """The stacks of a short table: the front of the goal's metric, and what belongs beside it.

        Beside it belong the advised stack, the reference, and what beats a figure of the table.
        A figure shown as beaten comes with the stack that beats it.
        """
        metric = self.query.metric
        shown = [
            stack
            for stack in self.stacks
            if stack.is_advised or metric in stack.fronts or stack.stack in (REFERENCE, *self.named)
        ]
        for stack in shown:
            for name in self.metrics:
                beater = self._beater(stack, name, shown)
                if beater is not None:
                    # It is looked at, too, in its turn.
                    shown.append(beater)
        return [stack for stack in self.stacks if stack in shown]

    def _beater(self, stack: StackResult, metric: str, shown: Sequence[StackResult]) -> StackResult | None:
        """What beats a figure of a stack, if none of those that are shown does."""
        mine = self._costs(stack, metric)
        if metric in stack.fronts or mine is None:
            return None
        less = [other for other in self.stacks if self._ram(other) <= self._ram(stack) and other is not stack]
        beaters = {
            other.stack: cost
            for other in less
            if (cost := self._costs(other, metric)) is not None and cost <= NOTHING * mine
        }
        if any(other.stack in beaters for other in shown):
            return None
        on_front = [other for other in less if other.stack in beaters and metric in other.fronts]
        return min(on_front, key=lambda other: beaters[other.stack], default=None)

    def _costs(self, stack: StackResult, metric: str) -> float | None:
        return stack.measured.point([metric], is_exact=self.query.goal != "life").costs.get(metric)

    def _ram(self, stack: StackResult) -> float:
        return stack.measured.mean("ram_bytes") or 0.0


def answer(query: Query, result: SearchResult) -> Answer | None:
    """The answer to what was found; None if nothing was measured that could be advised."""
    if not result.rungs:
        return None
    figures, is_held_out = _figures(query, result)
    candidates = {stack: measured for stack, measured in figures.items() if _may_be(query, result, measured)}
    if not candidates:
        return None
    chosen = candidates[next(iter(candidates))]
    better = better_there(query, result, chosen, figures) if is_held_out else []
    rivals = [measured for measured in candidates.values() if not is_lucky(query.metric, chosen, measured, result)]
    searched = result.last.tried
    refuter = refuting(query.metric, chosen, [measured for measured in better if measured in rivals])
    best = leader = refuter or chosen
    if is_held_out and query.goal != "ram":
        best = leader = unbeaten(query, best, list(candidates.values()))
        refuter = None if best is chosen else best
        rivals = [rival for rival in rivals if unbeaten(query, rival, list(candidates.values())) is rival]
        by_response = query.goal == "life"
        best = quickest(query, best, rivals) if by_response else thrifty(query.metric, best, rivals, searched)
    if is_decided_on_held_out_part(query, result):
        # The held-out figures chose: there was no other choice that they could correct.
        chosen = best
    if best is not chosen or best is not leader:
        better = []
    last, reference = best, figures.get(REFERENCE)
    if (longer := result.last_run) is not None and best.stack in longer.runs:
        last, reference = going_on.chosen(query, result, longer, best), longer.runs.get(REFERENCE)
        figures = {last.stack: last} | figures
    is_known = query.is_by_amplification and None not in (
        each and each.mean("life_bytes") for each in (last, reference)
    )
    aim = replace(query, goal="life") if is_known else query
    is_tied = _is_tie(query, chosen, best) or (refuter is not None and is_within_noise(query.metric, chosen, best))
    is_refuted = refuter is not None and not is_tied
    fronts = {
        metric: {point.stack for point in front(points, metric, NOTHING)}
        for metric, points in (
            # A life whose end the run does not tell is compared only where life was asked for.
            (metric, [measured.point([metric], is_exact=query.goal != "life") for measured in figures.values()])
            for metric in dict.fromkeys((*FRONTS, query.metric))
        )
    }
    short = shortage(query, result, chosen, best, is_held_out=is_held_out)
    beside = _Beside(query, best, candidates, better)
    stack_results = [
        StackResult(
            measured,
            measured.stack == last.stack,
            frozenset(metric for metric, stacks in fronts.items() if measured.stack in stacks),
        )
        for measured in sorted(figures.values(), key=lambda measured: measured.mean("ram_bytes") or 0)
    ]
    lives = life.sentences(aim, last, reference)
    sentences = [
        f"{_advice(aim, result, last, reference, candidates, short)}{unit_answer.headline(query, result)}.",
        *unit_answer.trade(query, result),
        *(going_on.told(query, longer, last) if longer is not None and last.stack in longer.runs else []),
        *conditions.without_responses(query, last),
        *conditions.durably(query, result, last),
        *(lives if query.goal in TIMELESS else []),
        *conditions.in_ram(query, result, last),
        *_without_buffers(query, best, beside.durable),
        *life.bound_beside(query, last, reference, searched if is_held_out else {}),
        *conditions.of_a_new_device(query, result, last, reference),
        *_refuted(query, chosen, best, is_refuted=is_refuted, is_tied=is_tied),
        *(_ties(query.metric, leader, best) if leader is not chosen and _is_tie(query, leader, best) else []),
        *(_tied(query.metric, best, chosen, candidates) if is_held_out and result.seeds > 1 else []),
        *_better(query.metric, best, better, searched if is_held_out else {}),
        *_besides(query, best, beside, searched if is_held_out else {}),
        *(text for name in aim.besides if name != aim.metric for text in _also(name, last, reference)),
        *_of_the_run(last),
        *(lives if query.goal not in TIMELESS else []),
        *_settings(last.stack),
        *(_collecting(result, last) if query.goal in TIMELESS else []),
        *unit_answer.sentences(query, result, best),
        *([f"What over-provisioning buys: `{over_spare(query, last.stack)}`."] if query.goal in TIMELESS else []),
    ]
    sure = doubts(query, result, chosen, best, figures, is_held_out=is_held_out, is_refuted=is_refuted, is_tied=is_tied)
    careful = cautions(query, result, last, is_held_out=is_held_out)
    names = phrasing.short_names((*sentences, *sure, *careful), {*result.tried, *figures}, figures)
    told, sure, careful = (phrasing.shortened(texts, names) for texts in (sentences, sure, careful))
    return Answer(
        query,
        result,
        stack_results,
        is_held_out,
        told,
        sure,
        careful,
        command(query, result, [last.stack, *([REFERENCE] if REFERENCE in figures else [])], is_held_out=is_held_out),
        frozenset(measured.stack for measured in (*better[:1], *beside.all)),
    )


def _figures(query: Query, result: SearchResult) -> tuple[dict[str, Measured], bool]:
    """The figures to tell, the best stack for the goal first, and whether they are held-out ones.

    Otherwise they are of the longest prefix. The best is the one of the search, unless
    `is_decided_on_held_out_part`: what the goal `ram` promises is a comparison of figures that are
    told, so the held-out ones decide there.
    """
    rung = result.last
    points = result.points(rung, query.metrics)
    best = ranking(query, result, rung)
    finished = {stack: measured for stack, measured in result.finalists.items() if measured.rows}
    candidates = [measured.point(query.metrics) for measured in finished.values() if _may_be(query, result, measured)]
    if candidates:
        # RAM that buys nothing there may buy something on the searched part.
        chosen = best
        if is_decided_on_held_out_part(query, result):
            chosen = [point.stack for point in ranked(candidates, query, slack=1.0)]
        order = [stack for stack in (*chosen, *result.asked_for) if stack in finished]
        return {stack: finished[stack] for stack in dict.fromkeys(order)}, True
    order = [*best[:1], REFERENCE, *(point.stack for point in halve(points, query.metrics, FINALISTS).kept)]
    return {stack: rung.tried[stack] for stack in order if stack in rung.tried and rung.tried[stack].rows}, False


def _may_be(query: Query, result: SearchResult, measured: Measured) -> bool:
    """Whether a stack may be advised: searched for, with figures, and within the RAM asked for."""
    ram = measured.mean("ram_bytes")
    if ram is None or measured.least(query.metric) is None or (query.ram_bytes is not None and ram > query.ram_bytes):
        return False
    return measured.stack != REFERENCE or REFERENCE in result.candidates


def _take(query: Query, result: SearchResult, best: Measured, others: Mapping[str, Measured], short: str) -> str:
    """The beginning of the advice: the stack to take, or that it is unknown and the best so far."""
    within, behind, risk = _within(query, best), best.is_behind, ""
    if holders(best.stack):
        loses = "nothing that a flush acknowledged" if result.flushes else "unflushed writes"
        risk = f", where a power cut loses {loses}"
    if short:
        so_far = "best so far, though it does not keep up with the arrivals" if behind else "best so far"
        why = cause(query, result, short)
        return f"{within}{why if within else why[0].upper() + why[1:]}; {so_far}: {best.stack} ({short}){risk}"
    if behind:
        many = f"{'none' if within else 'None'} of the {len(others)} stacks that were measured keeps"
        many = many if len(others) > 1 else f"{'the' if within else 'The'} only stack that was measured does not keep"
        leader = leading(query.metric, list(others.values()))
        among = "" if leader is None or leader.stack == best.stack else "among "
        return f"{within}{many} up with the arrivals; {among}the best of them is {best.stack}{risk}"
    return f"{within}{'take' if within else 'Take'} {best.stack}{risk}"


def _within(query: Query, best: Measured) -> str:
    """The limit of RAM, if any, with the state of blocks that it leaves out."""
    if query.ram_bytes is None:
        return ""
    state = blocks_bytes(json.loads(best.rows[0]["document"]))
    beside = f" (and {units.size(state)} for the state of blocks)" if state >= _MUCH * query.ram_bytes else ""
    return f"With {units.size(query.ram_bytes)}{beside} "


def _with_flushes(measured: Measured) -> Measured:
    """A stack with flushes in its mean response."""
    rows = [
        row | {"response_mean_ns": mean_with_flushes(json.loads(row["document"])["runs"][0])} for row in measured.rows
    ]
    return replace(measured, rows=rows)


def _advice(
    query: Query,
    result: SearchResult,
    best: Measured,
    reference: Measured | None,
    others: Mapping[str, Measured],
    short: str,
) -> str:
    metric, take = query.metric, _take(query, result, best, others, short)
    ram, flushes = units.size(best.mean("ram_bytes")), ""
    if result.flushes and metric == "response_mean_ns":
        stacks = [each for each in (best, reference) if each is not None]
        if flushes_weigh(json.loads(row["document"])["runs"][0] for each in stacks for row in each.rows):
            best, reference, flushes = _with_flushes(best), reference and _with_flushes(reference), " with flushes"
    first = f"{take}: {phrasing.named(metric)}{flushes} {phrasing.text(metric, best)} with {ram} of RAM"
    if reference is not None and best.stack != REFERENCE:
        needs = units.size(reference.mean("ram_bytes"))
        is_open = metric == "life_bytes" and phrasing.overlaps(best, reference)
        aside = f"{REFERENCE} needs {needs}" if is_open else ""
        compared = phrasing.against(metric, best, reference, REFERENCE, aside)
        is_told = reference.mean(metric) is not None or (reference.least(metric) and phrasing.is_bound(reference))
        its = f"has {phrasing.text(metric, reference)} and " if is_told else ""
        than = f", {compared}{'' if aside else f', which needs {needs}'}"
        first += than if compared else f"; {REFERENCE} {its}needs {needs}"
        first += _mean_beside(query, best, reference)
    return first


def _mean_beside(query: Query, best: Measured, reference: Measured) -> str:
    """The mean response, where another goal was asked for and it is much worse."""
    name = "response_mean_ns"
    costs = [measured.point([name]).costs.get(name) for measured in (best, reference)]
    is_told = query.keeps_time and query.metric != name
    if not is_told or costs[0] is None or costs[1] is None or ratio(costs[0], costs[1]) <= MARGIN:
        return ""
    mine, its = (phrasing.text(name, measured) for measured in (best, reference))
    return f"; but its mean response is {mine}, and that of {REFERENCE} is {its}"


def _tied(metric: str, best: Measured, chosen: Measured, others: Mapping[str, Measured]) -> list[str]:
    """The best of each other mapping that does as well within the noise of the seeds."""
    order = sorted(
        (other for other in others.values() if other.is_behind <= best.is_behind and other.mean(metric) is not None),
        key=lambda other: other.point([metric]).costs[metric],
    )
    mine = mapping(best.stack)
    by_mapping: dict[str, Measured] = {}
    for other in order:
        by_mapping.setdefault(mapping(other.stack), other)
    ties = [
        f"{other.stack} ({units.size(other.mean('ram_bytes'))} of RAM)"
        for name, other in by_mapping.items()
        if name != mine
        and other is not chosen
        and other.is_drawn
        and is_within_noise(metric, other, best)
        # Far apart by their means is no tie, however wide the noise is.
        and ratio(other.point([metric]).costs[metric], best.point([metric]).costs[metric]) <= MARGIN
    ]
    more = f" and {several(len(ties) - _NAMED, 'other mapping')}" if len(ties) > _NAMED else ""
    decides = "Between ties RAM decides, then fewer settings; more --seeds may part them"
    return [f"A tie within the noise of the seeds: {', '.join(ties[:_NAMED])}{more}. {decides}."] if ties else []


def _refuted(query: Query, chosen: Measured, best: Measured, *, is_refuted: bool, is_tied: bool) -> list[str]:
    """That the search's choice lost or tied on the held-out part, or that its RAM buys nothing."""
    metric = query.metric
    if chosen is best:
        return []
    if is_tied:
        return _ties(metric, chosen, best, " won the search and")
    if not is_refuted and query.goal == "life":
        lives = f"{phrasing.named(metric)} {phrasing.text(metric, chosen)}"
        slower = phrasing.against(query.response, chosen, best, best.stack)
        response = f"{phrasing.named(query.response)} {phrasing.text(query.response, chosen)}"
        return [
            (
                f"{chosen.stack} won the search and lives about as long on the held-out part: {lives} with "
                f"{units.size(chosen.mean('ram_bytes'))}, {response}{slower and f', {slower}'}."
            )
        ]
    if not is_refuted:
        buys = "RAM buys" if (best.mean("ram_bytes") or 0.0) < (chosen.mean("ram_bytes") or 0.0) else "settings buy"
        more = f"{phrasing.named(metric)} {phrasing.text(metric, chosen)} with {units.size(chosen.mean('ram_bytes'))}"
        compared = phrasing.against(metric, chosen, best, best.stack)
        start = f"{chosen.stack} won the search, but its {buys} nothing on either part: {more}"
        return [f"{start}{compared and f', {compared}'}."]
    against = phrasing.against(metric, chosen, best, best.stack)
    ram = units.size(chosen.mean("ram_bytes"))
    its = f"{phrasing.named(metric)} is {phrasing.text(metric, chosen)} with {ram} of RAM{against and f', {against}'}"
    return [f"{chosen.stack} won the search but lost on held-out requests: there its {its}."]


def _is_tie(query: Query, other: Measured, best: Measured) -> bool:
    """Whether a stack is better by more than nothing with more RAM, but within the noise."""
    if query.goal == "ram" or other is best:
        return False
    costs = [measured.point([query.metric]).costs[query.metric] for measured in (best, other)]
    if query.goal == "life":
        return ratio(*costs) >= NOTHING and is_tied_life(query, other, best)
    return ratio(*costs) >= NOTHING and is_within_noise(query.metric, other, best)


def _ties(metric: str, other: Measured, best: Measured, also: str = "") -> list[str]:
    """That a stack ties with the advised one, which has less RAM or was better."""
    told = phrasing.against(metric, other, best, best.stack)
    ram = units.size(other.mean("ram_bytes"))
    text = f"{phrasing.named(metric)} {phrasing.text(metric, other)} with {ram} of RAM{told and f', {told}'}"
    if metric == "life_bytes":
        return [f"{other.stack}{also} has a forecast that overlaps with it on the held-out part: {text}."]
    less = "; less RAM decides" if (best.mean("ram_bytes") or 0.0) * NOTHING < (other.mean("ram_bytes") or 0.0) else ""
    return [f"{other.stack}{also} ties with it on the held-out part: {text}{less}."]


class _Beside:
    """The stacks that the sentences set beside the advised one."""

    def __init__(
        self, query: Query, best: Measured, others: Mapping[str, Measured], better: Sequence[Measured]
    ) -> None:
        metric = query.metric
        points = [measured.point([metric]) for measured in others.values()]
        # A life of which only a bound is known is nothing to be near to.
        point = None if best.mean(metric) is None else frugal(points, best.point([metric]), metric)
        is_new = point is not None and point.stack not in {measured.stack for measured in better[:1]}
        self.frugal = others[point.stack] if point is not None and is_new else None
        """One that does nearly as well with less RAM."""
        self.leaders = _leaders_beside(query, best, others)
        """By metric the best one, where it is better than the advised one."""
        durable = [others[stack].point(query.metrics) for stack in others if not holders(stack)]
        first = next(iter(ranked(durable, query)), None)
        self.durable = others[first.stack] if first is not None and holders(best.stack) else None
        """The best one that keeps no acknowledged write in RAM, where the advised one does."""

    @property
    def all(self) -> list[Measured]:
        """All of them."""
        return [each for each in (self.frugal, self.durable, *self.leaders.values()) if each is not None]


def _without_buffers(query: Query, best: Measured, durable: Measured | None) -> list[str]:
    """The best stack that keeps no acknowledged write in RAM, where the advised one does."""
    if not holders(best.stack):
        return []
    if durable is None:
        only = "" if query.ftl else "; --durable searches those alone"
        return [f"No stack without such RAM was measured{only}."]
    metric = query.metric
    compared = phrasing.against(metric, durable, best, best.stack)
    cost = f"{phrasing.text(metric, durable)} with {units.size(durable.mean('ram_bytes'))} of RAM"
    return [f"Without such RAM {durable.stack} is best: {phrasing.named(metric)} {cost}{compared and f', {compared}'}."]


def _besides(query: Query, best: Measured, beside: _Beside, searched: Mapping[str, Measured]) -> list[str]:
    """Who does nearly as well with less RAM, and which is better by another metric."""
    metric, sentences = query.metric, []
    if (near := beside.frugal) is not None:
        compared = phrasing.against(metric, near, best, best.stack)
        sentences.append(
            f"With less RAM, {near.stack} takes {units.size(near.mean('ram_bytes'))}: {phrasing.named(metric)} "
            f"{phrasing.text(metric, near)}{compared and f', {compared}'}{_bought_there(metric, near, best, searched)}."
        )
    return [*sentences, *_not_best(best, beside.leaders)]


def _of_the_run(best: Measured) -> list[str]:
    """What the write buffer takes of the RAM of the advised stack, and what a mount takes."""
    document = json.loads(best.rows[0]["document"])
    (run,) = document["runs"]
    taken = buffer_ram(run)
    buffer = [f"The write buffer takes {units.size(taken)} of the advised stack's RAM."] if taken else []
    return buffer + mounts(Outcome(document), [run])


def _bought_there(metric: str, less: Measured, best: Measured, searched: Mapping[str, Measured]) -> str:
    """What the RAM of the best bought on the searched part, where it bought more there."""
    there = searched_ratio(metric, less, best, searched, unknown=1.0)
    here = ratio(less.point([metric]).costs[metric], best.point([metric]).costs[metric])
    if there < NOTHING or (there <= 1 + NEAR and here >= NOTHING):
        return ""
    compared = phrasing.against(metric, searched[less.stack], searched[best.stack], best.stack)
    return f"; on the searched part {compared}" if compared else ""


def _leaders_beside(query: Query, best: Measured, others: Mapping[str, Measured]) -> dict[str, Measured]:
    """By metrics that are not the goal the best stack, where the advised one is clearly worse."""
    keeping_up = [other for other in others.values() if other.is_behind <= best.is_behind]
    leaders = {}
    for name in (*query.besides, "life_bytes"):
        known = [other for other in keeping_up if other.mean(name) is not None]
        leader = leading(name, known)
        if name == query.metric or leader is None or leader is best or best.mean(name) is None:
            continue
        costs = [measured.point([name]).costs[name] for measured in (best, leader)]
        pairs = [(float(was), float(now)) for was, now in leader.beside(best, name)]
        if ratio(*costs) > 1 + NEAR and change(COLUMNS[name], pairs).verdict in (WORSE, UNKNOWN):
            leaders[name] = leader
    return leaders


def _not_best(best: Measured, leaders: Mapping[str, Measured]) -> list[str]:
    """What the goal costs: the metrics in which another stack is better, and by how much."""
    said = []
    for metric, leader in leaders.items():
        # Of a figure that is 0 none is a multiple.
        mine = phrasing.against(metric, best, leader) if leader.mean(metric) else phrasing.text(metric, best)
        said.append(
            f"{leader.stack} has a {phrasing.named(metric)} of {phrasing.text(metric, leader)}; the advised stack's "
            f"is {mine}"
        )
    return [f"Not best in everything: {'. '.join(said)}."] if said else []


def _better(metric: str, best: Measured, better: Sequence[Measured], searched: Mapping[str, Measured]) -> list[str]:
    """That another stack was better on the held-out part, though not where the choice was made."""
    if not better:
        return []
    other, many = better[0], len(better) - 1
    more = f", and so {'was' if many == 1 else 'were'} {many} more" if many else ""
    ram = units.size(other.mean("ram_bytes"))
    return [
        (
            f"It was chosen on the searched part; on the held-out part {other.stack} was better: "
            f"{phrasing.named(metric)} {phrasing.text(metric, other)} with {ram} of RAM, "
            f"{phrasing.against(metric, other, best, best.stack)}{_bought_there(metric, other, best, searched)}{more}."
        )
    ]


def _collecting(result: SearchResult, best: Measured) -> list[str]:
    """How the advised stack collects garbage, and how else its mapping was tried."""
    document, name = json.loads(best.rows[0]["document"]), mapping(best.stack)
    used = {key: value for key, value in document["runs"][0]["parameters"].items() if key in _COLLECTING}
    if not used:
        return []
    known = [parameter for part in catalogue.parts() if part["name"] == name for parameter in part["parameters"]]
    usual = used | {parameter["name"]: parameter["default"] for parameter in known}
    tried = set()
    for stack in (stack for stack in result.tried if mapping(stack) == name):
        written = dict(setting.split("=", 1) for setting in stack.partition("+")[0].split(":")[1:])
        tried |= {(key, written.get(key, usual[key])) for key in used}
    others = ", ".join("=".join(pair) for pair in sorted(tried - used.items()))
    if used.get("gc") == "auto":
        used["gc"] = f"auto ({'paced' if programmed_at_once(Outcome(document)) > 1 else 'whole'})"
    told = f"GC of the advised stack: {', '.join('='.join(pair) for pair in sorted(used.items()))}."
    ask = f"No other was tried with {name}; --ftl names some: {name},{name}:victim=cost-benefit"
    return [f"{told} {f'With {name} these were tried, too: {others}' if others else ask}."]


def _settings(stack: str) -> list[str]:
    """What the settings of a stack mean that are no RAM, by the registry."""
    parts = {
        part["name"]: {parameter["name"]: parameter for parameter in part["parameters"]} for part in catalogue.parts()
    }
    meanings = []
    for part in stack.split("+"):
        name, *settings = part.split(":")
        for setting in settings:
            parameter = parts[name][setting.partition("=")[0]]
            if not is_ram(parameter):
                meaning = _meaning(parameter, setting.partition("=")[2])
                meanings.append(f"{name}:{setting} (default {parameter['default']}): {meaning}")
    return meanings


def _meaning(parameter: Json, value: str) -> str:
    """What a parameter means with a value: where each value has a sentence of its own, that one."""
    meaning = " ".join(parameter["meaning"].split())
    values = parameter.get("of") or []
    start, *rest = re.split(rf" (?=(?:{'|'.join(map(re.escape, values))}): )", meaning) if values else [meaning]
    of_values = {sentence.partition(":")[0]: sentence for sentence in rest}
    return f"{start} {of_values[value]}" if values and of_values.keys() == {*values} else meaning


def _also(metric: str, best: Measured, reference: Measured | None) -> list[str]:
    """Another metric of the advised stack."""
    mine = phrasing.of(metric, best)
    if mine is None:
        return (
            ["The workload writes nothing, so there is no write amplification."] if metric.startswith("write") else []
        )
    text = f"The advised stack's {phrasing.named(metric)} is {phrasing.value(metric, mine)}"
    if reference is not None and best.stack != REFERENCE:
        text += f" ({REFERENCE}: {phrasing.value(metric, phrasing.of(metric, reference))})"
    return [f"{text}."]


def goal(query: Query) -> str:
    """The goal as a sentence."""
    limit = "" if query.ram_bytes is None else f", with at most {units.size(query.ram_bytes)} of RAM"
    return f"Goal: {GOALS[query.goal].words}{limit}."
