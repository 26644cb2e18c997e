"""How sure an answer is, and what to be careful about: all of it measured, or said not to be.

Before that, whether a search ended too early: what was not done that could have changed the answer.
"""

import json
import math
from collections.abc import Iterable, Mapping

from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit.advice import conditions, phrasing
from ftlkit.advice.choice import MARGIN, NEAR, NOTHING, is_decided_on_held_out_part, leading, ranked
from ftlkit.advice.measure import WARM_UP, Measured, ratio
from ftlkit.advice.query import RAM_SLACK, REFERENCE, Query
from ftlkit.advice.search_result import Rung, SearchResult
from ftlkit.report.cautions import FEW_FOR_P99, all_cautions
from ftlkit.report.rules import Told
from ftlkit.results.columns import COLUMNS
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.comparison import BETTER, change
from ftlkit.sweeps.goals import TIMELESS

_TENFOLD = 10.0
"""From this value on, a share is shown as a factor."""
_APART = 0.2
"""A stack's gains on two parts of the workload are far apart if their logarithms differ by more."""
_NAMED = 5
"""Most unmeasured stacks to name."""
_COMPARED = ("refreshing_over", "unchecked", "misaligned", "repeated", "ticks", "shared_streams", "untouched", "laps")
"""Kinds of caution of a comparison that no other sentence of advice tells."""
UNCONFIRMED = "on the searched part another was best, so one that was not tried may be better"
"""A shortage that more time alone does not end: two parts of the workload disagree."""
_NUMBERS = {2: "Two", 3: "Three"}
"""Small numbers at the beginning of a sentence."""


def doubts(
    query: Query,
    result: SearchResult,
    chosen: Measured,
    best: Measured,
    figures: Mapping[str, Measured],
    *,
    is_held_out: bool,
    is_refuted: bool,
    is_tied: bool,
) -> list[str]:
    """How sure the answer is; `chosen` is what the search chose, and `best` what is advised."""
    rung = result.last
    sentences = []
    if is_held_out:
        steady = " on a device in a steady state" if rung.precondition else ""
        sentences.append(
            f"Chosen on requests {rung.requests // WARM_UP + 1:,}–{rung.requests:,}{steady}. Measured on the last "
            f"{result.requests - result.searched:,} (the held-out part), after serving all earlier ones. "
            f"{_seeds(query, result, figures)}"
        )
        sentences += _seen_before(query)
        sentences += _chosen_there(query, result, best)
        sentences += _both_parts(query, result, best, figures)
        if chosen is best:
            sentences += _better_there(query, result, best, figures)
        else:
            why = (
                "the choice of the search lost on held-out requests"
                if is_refuted
                else "it does no worse than the choice of the search, within the noise"
                if is_tied
                else "it lives about as long on the held-out part, and responds faster or takes less RAM"
                if query.goal == "life"
                else "it does as well with less RAM on both parts"
            )
            sentences.append(
                f"{best.stack} is advised since {why}. So its figures influenced the choice, and it may gain less on "
                "unseen requests."
            )
    else:
        sentences.append(
            f"Chosen and measured on requests {rung.requests // WARM_UP + 1:,}–{rung.requests:,}, with one seed: "
            f"nothing was measured on the held-out part{_why_not(result)}."
        )
    sentences += _likeness(query, result)
    noise = "Intervals show the noise of the seeds, not differences between workloads."
    if result.seeds == 1 or not is_held_out:
        noise = "One seed was run, so there is no error estimate."
    elif not any(measured.is_drawn for measured in figures.values()):
        noise = "Runs of all seeds are identical, so they show no noise; other workloads may differ."
    dry = " The proposals ended since none was new." if result.dry else ""
    return [*sentences, noise, f"{_tried(result)}; others exist, and one may be better.{dry}"]


def _seen_before(query: Query) -> list[str]:
    """That the requests of the held-out part are those of the searched part again."""
    workload = query.document()["workload"]
    repeat = workload.get("repeat", 1)
    if repeat < 2:
        return []
    are = "may be" if "requests" in workload else "are"
    return [f"The trace is served {repeat} times, so the held-out requests {are} the searched ones again."]


def _tried(result: SearchResult) -> str:
    """How many stacks were measured, with the reference, which runs even if none may take it."""
    stacks, parts = result.tried, [*(rung.tried for rung in result.rungs), result.finalists]
    measured = {stack for part in parts for stack, run in part.items() if run.rows}
    number = "1 stack was measured" if len(measured) == 1 else f"{len(measured):,} stacks were measured"
    failed = len(stacks) - len(measured)
    reference = f", with the reference {REFERENCE}" if REFERENCE in measured else ""
    return f"{number}{reference}{f', and {failed:,} failed' if failed else ''}"


def _seeds(query: Query, result: SearchResult, figures: Mapping[str, Measured]) -> str:
    """With how many seeds the figures were measured, and whether that made a difference."""
    if result.seeds == 1:
        return "One seed was run." if query.seeds == 1 else f"One seed was run: out of time for {query.seeds}."
    fewer = min(len(measured.rows) for measured in figures.values())
    others = "the third was" if (fewer, query.seeds) == (2, 3) else f"the others, up to {query.seeds:,}, were"
    so = f", so {others} skipped" if fewer < query.seeds else ""
    same = [measured for measured in figures.values() if not measured.is_drawn]
    if len(same) == len(figures):
        return f"{_NUMBERS.get(fewer, f'{fewer:,}')} seeds gave identical runs{so}."
    drawn = f"Behind ± stands half of the 95 % interval of {query.seeds:,} seeds."
    return f"{drawn} {len(same)} of {len(figures)} stacks had identical runs{so}." if same else drawn


def _why_not(result: SearchResult) -> str:
    """Why nothing was measured on the held-out part, where that is neither time nor Ctrl-C."""
    worn = [stack for stack, measured in result.finalists.items() if _is_worn(measured)]
    failed = [stack for stack in result.finalists if result.finalists[stack].error and stack not in worn]
    reasons = [f"the device had worn out before it under {_of(worn, result)}"] if worn else []
    if failed:
        reasons.append(f"{len(failed)} failed there ({result.finalists[failed[0]].error.rstrip('.')})")
    return f": {', '.join(reasons)}" if reasons else ""


def _of(stacks: list[str], result: SearchResult) -> str:
    """How many of the stacks that were to be run on the held-out part."""
    return f"{len(stacks)} of {len(result.asked_for)} stacks" if len(result.asked_for) > 1 else "the only stack"


def _is_worn(measured: Measured) -> bool:
    """Whether the device wore out before anything was measured."""
    return "the device wore out" in measured.error or any(
        row["end_of_life_request"] is not None and not row["requests"] for row in measured.rows
    )


def _likeness(query: Query, result: SearchResult) -> list[str]:
    """How like the whole part the first prefix is, by the reference."""
    rung = result.rungs[0]
    measured = rung.tried.get(REFERENCE)
    if rung.requests == result.searched or measured is None or not measured.rows:
        return []
    prepared = " on a device in a steady state" if rung.precondition else ""
    if result.whole is None:
        unseen = "out of time to compare them with the whole searched part."
        return [f"Stacks were first tried on {rung.requests:,} requests; {unseen}"]
    compared = " and ".join(
        f"{phrasing.named(metric)} {phrasing.value(metric, phrasing.of(metric, measured))} "
        f"(on the whole searched part {phrasing.value(metric, phrasing.of(metric, result.whole))})"
        for metric in dict.fromkeys((query.response, "write_amplification"))
        if phrasing.of(metric, result.whole) is not None
    )
    unlike = ""
    if result.unlike:
        stacks = " and ".join(result.unlike)
        unlike = (
            f" {stacks} behaved differently there than on the whole, so the choice may be wrong; out of time to try "
            "all stacks on the whole."
        )
    return [
        f"Stacks were first tried on {rung.requests:,} requests{prepared}. There {REFERENCE} has {compared}.{unlike}"
    ]


def _chosen_there(query: Query, result: SearchResult, best: Measured) -> list[str]:
    """That the held-out figures decided, and what those of the search would have chosen."""
    if not is_decided_on_held_out_part(query, result):
        return []
    searched = ranked([measured.point(query.metrics) for measured in result.of(result.last)], query)
    same = " The search alone would have chosen the same."
    if not searched:
        return []
    other = same if searched[0].stack == best.stack else f" By the search alone it would have been {searched[0].stack}."
    return [f"The held-out figures made the choice, so they are not independent of it.{other}"]


def _both_parts(query: Query, result: SearchResult, best: Measured, figures: Mapping[str, Measured]) -> list[str]:
    """What the choice was made by, beside what came of it."""
    searched = result.last.tried
    if best.stack == REFERENCE or not {best.stack, REFERENCE} <= searched.keys() or REFERENCE not in figures:
        return []
    metric = query.metric
    part = (
        "the searched part"
        if result.last.requests == result.searched
        else f"the first {result.last.requests:,} requests"
    )
    then = phrasing.logarithm(metric, searched[best.stack], searched[REFERENCE])
    now = phrasing.logarithm(metric, best, figures[REFERENCE])
    if then is None or now is None:
        return []
    figure = "time" if COLUMNS[metric].unit == "ns" else phrasing.named(metric)
    shares = [units.share(share) if share < _TENFOLD else units.factor(share) for share in map(math.exp, (then, now))]
    took = "took" if figure == "time" else "had"
    parts = f"{shares[0]} of {REFERENCE}'s {figure} on {part}, {shares[1]} on the held-out part"
    return [f"{best.stack} {took} {parts}.{_apart(abs(then - now))}"]


def _apart(logarithm: float) -> str:
    """That the gains on two parts are far apart, if they are."""
    if logarithm <= _APART:
        return ""
    factor = math.exp(logarithm)
    by = "more than half" if 1.5 < factor <= 2 else f"a factor of {units.digits(factor)}"
    return f" These differ by {by}, so on other parts of the workload the gain may be another again."


def _better_there(query: Query, result: SearchResult, best: Measured, figures: Mapping[str, Measured]) -> list[str]:
    """The sentence about finalists that were better than the advised one on the held-out part."""
    metric, better = query.metric, better_there(query, result, best, figures)
    if not better:
        return []
    named = ", ".join(
        f"{measured.stack} ({phrasing.against(metric, measured, best, best.stack)})" for measured in better
    )
    return [f"On the held-out part these were better, though not where the choice was made: {named}."]


def better_there(query: Query, result: SearchResult, best: Measured, figures: Mapping[str, Measured]) -> list[Measured]:
    """Finalists that were better than the advised one on the held-out part, the best first."""
    if is_decided_on_held_out_part(query, result):
        return []
    metric = query.metric
    if best.mean(metric) is None:
        return []
    better = []
    for other in figures.values():
        ram = other.mean("ram_bytes") or 0.0
        if other is best or other.mean(metric) is None or (query.ram_bytes is not None and ram > query.ram_bytes):
            continue
        pairs = [(float(was), float(now)) for was, now in best.beside(other, metric)]
        verdict = change(COLUMNS[metric], pairs).verdict
        costs = [measured.point([metric]).costs[metric] for measured in (best, other)]
        # A lead counts even within the noise: a reader of the table sees the better row.
        if verdict == BETTER or costs[1] * NOTHING < costs[0]:
            better.append(other)
    return sorted(better, key=lambda measured: measured.point([metric]).costs[metric])


def cautions(query: Query, result: SearchResult, best: Measured, *, is_held_out: bool) -> list[str]:
    """What to be careful about."""
    alone = result.rungs[0].failed.get(REFERENCE)
    sentences = [f"Nothing is compared with {REFERENCE}, which could not be run: {alone}"] if alone else []
    sentences += _few(result, is_held_out=is_held_out)
    sentences += [
        *_unfinished(query, result, best, is_held_out=is_held_out),
        *_of_the_run(best),
        *_prepared(result, best),
    ]
    sentences += [
        caution.text for caution in _of_the_results(best) if caution.kind in (*_COMPARED, *_drifts(query, best))
    ]
    sentences += conditions.of_the_size(query, result, best)
    # Where the device wears in the run, which stack levels it matters.
    if not query.levels_wear and query.ftl is None and best.mean("life_bytes") is not None:
        sentences.append("Wear policies were not searched: they are with --goal life, or where --ftl names them.")
    if result.untried_policies:
        sentences.append(f"Wear policies that were not searched: {', '.join(result.untried_policies)}.")
    return sentences


def _of_the_results(best: Measured) -> list[Told]:
    """What `ftlkit compare` would say of the first run of a stack."""
    return all_cautions(Outcome(json.loads(best.rows[0]["document"])))


def _drifts(query: Query, best: Measured) -> list[str]:
    """The kinds of caution of a run that had not settled, where no other sentence says so."""
    if query.goal in TIMELESS and best.mean("life_bytes") is None:
        return []
    return ["drifting", "under_a_pass", *(["rising"] if conditions.preparation(best.rows[0]) == "steady" else [])]


def _few(result: SearchResult, *, is_held_out: bool) -> list[str]:
    """That the figures are of few requests, whatever the goal."""
    prefix = result.last.requests
    requests = result.requests - result.searched if is_held_out else prefix - prefix // WARM_UP
    if requests >= FEW_FOR_P99:
        return []
    return [
        (
            f"The figures are of {several(requests, 'request')}, fewer than {FEW_FOR_P99:,}: a few others "
            "could change the best stack. Give more of the workload."
        )
    ]


def _unfinished(query: Query, result: SearchResult, best: Measured, *, is_held_out: bool) -> list[str]:
    """What of the search was not done."""
    sentences = ["The search was stopped; this is the best result so far."] if result.interrupted else []
    if result.missed:
        many = f"{_of(result.missed, result)} on the held-out part"
        first = f"It was stopped before {many} were measured" if result.interrupted else f"Out of time for {many}"
        named = ", ".join(result.missed[:_NAMED]) + (", …" if len(result.missed) > _NAMED else "")
        known = f" {_of_the_missed(query, result, best)}" if is_held_out else ""
        sentences.append(f"{first}: {named}.{known}")
    late = sum(len(rung.unfinished) for rung in result.rungs[1:])
    late += sum(len(rung.halved.late) for rung in result.rungs if rung.halved)
    if late and not result.interrupted:
        many = "1 stack that did well on a prefix was" if late == 1 else f"{late} stacks that did well on a prefix were"
        sentences.append(f"{many} not run on the next one, for want of time.")
    if result.was_cut and not result.interrupted:
        sentences.append(
            "Out of time for the whole searched part: stacks were sifted by its first "
            f"{result.last.requests:,} of {result.searched:,} requests."
        )
    return sentences


def _of_the_missed(query: Query, result: SearchResult, advised: Measured) -> str:
    """What the searched part tells of stacks that were not run on the held-out part."""
    best = leading(query.metric, [each for each in result.of(result.last) if each.stack in result.missed])
    if best is None:
        return "They were not measured there."
    known = f"first {result.last.requests:,} requests, which --json has"
    text = phrasing.text(query.metric, best)
    late = "" if not best.is_behind else ", though it does not keep up with the arrivals"
    mine = result.last.tried.get(advised.stack)
    beside = f" (the advised stack had {phrasing.text(query.metric, mine)} there)" if mine and mine.rows else ""
    told = f"the best of them there is {best.stack}, with {text}{late}{beside}"
    return f"Their figures are of the {known}: {told}."


def _prepared(result: SearchResult, best: Measured) -> list[str]:
    """The caution that the device was prepared otherwise where the choice was made.

    `--precondition auto` decides by what is served.
    """
    searched = result.last.tried.get(best.stack)
    modes = [
        conditions.preparation(measured.rows[0])
        for measured in (searched, best)
        if measured is not None and measured.rows
    ]
    # That a prefix is on a device in a steady state is told with the prefix.
    if len(set(modes)) < 2 or result.last.precondition:
        return []
    text = (
        f"The device was prepared by {modes[0]} where the stack was chosen, and by {modes[1]} where it was measured: "
        "--precondition auto depends on the requests served. Set it, such as --precondition fill."
    )
    return [text]


def _of_the_run(best: Measured) -> list[str]:
    """What the runs of the advised stack say of themselves."""
    sentences, rows = [], best.rows
    if any(row["is_overloaded"] for row in rows):
        sentences.append(
            f"{best.stack} was overloaded: requests queue up, and its response times depend on how long the "
            "workload runs."
        )
    if all(not row["erases"] for row in rows):
        sentences.append(
            f"No block was erased in the run of {best.stack}: its garbage-collection cost was not measured."
        )
    if any(row["end_of_life_request"] is not None for row in rows):
        sentences.append(f"The device wore out under {best.stack} in the middle of its run.")
    return sentences


def failures(result: SearchResult) -> dict[str, list[str]]:
    """Why stacks could not be run, each reason with the stacks."""
    reasons: dict[str, list[str]] = {}
    for rung in result.rungs:
        for stack, error in rung.failed.items():
            reasons.setdefault(error.replace(f'ftl "{stack}": ', ""), []).append(stack)
    return reasons


def shortage(query: Query, result: SearchResult, chosen: Measured, best: Measured, *, is_held_out: bool) -> str:
    """Why the search cannot say which stack to take; empty if what is missing cannot change it.

    `chosen` is what the search chose, and `best` what is advised.
    """
    reasons = (
        _mappings(query, result),
        _named(result),
        "" if result.is_surveyed else f"not every mapping was tried with all of the RAM{_would_do(query, result)}",
        _policies(result),
        "" if is_held_out else "nothing was measured on the held-out part",
        "" if query.goal != "ram" or result.is_least_tried else "not every mapping was tried with the least RAM",
        _sifted(result),
        "" if result.is_shared else "not every way to share the RAM between caches and buffers was tried",
        "" if result.is_rivalled else f"{REFERENCE} with a write buffer of as much RAM was not tried",
        "" if result.is_turned else "not every other setting of the best was tried",
        _not_gone_on(query, result, best),
        _unopposed(result),
        _missed(query, result, best),
        _unconfirmed(query, chosen, best),
    )
    return next((reason for reason in reasons if reason), "")


def cause(query: Query, result: SearchResult, short: str) -> str:
    """What ended a search before it had done all that it would have; `short`: what is missing."""
    if result.interrupted:
        return "the search was stopped"
    if short == UNCONFIRMED:
        return "not certain"
    if _is_out_of_trials(query, result):
        return "too few trials"
    others = any(trial.told and not trial.is_own for trial in result.units)
    later = ["mapping units"] if others else []
    later += ["a longer run"] if result.last_run is not None else []
    return f"not enough time beside {' and '.join(later)}" if later else "not enough time"


def _is_out_of_trials(query: Query, result: SearchResult) -> bool:
    """Whether the number of trials ended it; without a budget nothing else does."""
    return result.is_out_of_trials or query.budget_s is None


def _mappings(query: Query, result: SearchResult) -> str:
    tried, all_ = len(result.candidates) - len(result.untried), len(result.candidates)
    if tried == all_:
        return ""
    return f"{tried} of {all_} mappings were tried{_would_do(query, result)}"


def _would_do(query: Query, result: SearchResult) -> str:
    """How many trials would try all mappings, where the number of trials ended the search."""
    is_short = _is_out_of_trials(query, result) and (query.trials or 0) < result.survey_trials
    return f"; --trials {result.survey_trials} tries all of them" if is_short and not result.interrupted else ""


def _named(result: SearchResult) -> str:
    many = len(result.named_untried)
    return f"of the stacks that were named {many} {'was' if many == 1 else 'were'} not tried" if many else ""


def _policies(result: SearchResult) -> str:
    tried, all_ = len(result.wear_policies) - len(result.untried_policies), len(result.wear_policies)
    if tried == all_:
        return ""
    return f"{tried} of {all_} wear policies were tried" if tried else "no wear policy was tried"


def _sifted(result: SearchResult) -> str:
    """Whether stacks were left out by a prefix that is unlike the whole, or may be."""
    first = result.rungs[0]
    if first.requests == result.searched:
        return ""
    sifted = f"stacks were sifted by the first {first.requests:,} requests"
    if result.whole is None:
        return f"{sifted}, and it was not seen whether these are like the whole"
    return f"{sifted}, which are not like the whole" if result.unlike else ""


def _not_gone_on(query: Query, result: SearchResult, best: Measured) -> str:
    """Whether one that could be the best was not run on a longer prefix."""
    dropped = {
        stack
        for rung, longer in zip(result.rungs, [*result.rungs[1:], None], strict=True)
        for stack in [*(rung.halved.late if rung.halved else []), *(longer.unfinished if longer else [])]
        if _may_be_best(query, result, rung, stack, best)
    }
    return f"{several(len(dropped), 'stack')} that did well on a prefix did not go on" if dropped else ""


def _unopposed(result: SearchResult) -> str:
    """Whether the choice was not held against the best of each family and every default."""
    required = dict.fromkeys([*result.required, *result.defaults])
    missed = [stack for stack in required if stack not in result.finalists]
    many = f"{len(missed)} of the {several(len(required), 'stack')}"
    return f"{many} that are defaults or lead a family were not measured on the held-out part" if missed else ""


def _unconfirmed(query: Query, chosen: Measured, best: Measured) -> str:
    """Whether the advised stack leads on the held-out part alone, by more than a little."""
    costs = [measured.point([query.metric]).costs.get(query.metric) for measured in (chosen, best)]
    if costs[0] is None or costs[1] is None or ratio(costs[0], costs[1]) <= 1 + NEAR:
        return ""
    return UNCONFIRMED


def _missed(query: Query, result: SearchResult, best: Measured) -> str:
    """Whether one that could be the best was not measured on the held-out part."""
    candidates = [stack for stack in result.missed if _may_be_best(query, result, result.last, stack, best)]
    if not candidates:
        return ""
    were = "was" if len(candidates) == 1 else "were"
    return (
        f"{len(candidates)} of {several(len(result.asked_for), 'stack')} that may be as good {were} not measured on "
        "the held-out part"
    )


def _may_be_best(query: Query, result: SearchResult, rung: Rung, stack: str, best: Measured) -> bool:
    """Whether a stack's cost on a prefix is near enough to the best there to be best elsewhere."""
    metric, measured = query.metric, rung.tried.get(stack)
    if measured is None or stack in rung.over or stack == best.stack or stack not in _candidates(result, rung):
        return False
    costs = measured.point([metric]).costs
    advised = rung.tried.get(best.stack)
    least = min(_costs([advised] if advised else result.of(rung), metric), default=float("inf"))
    slack = 1 + RAM_SLACK if query.goal == "ram" else 1.0
    is_behind = measured.is_behind and not best.is_behind
    return metric in costs and costs[metric] <= slack * MARGIN * least and not is_behind


def _candidates(result: SearchResult, rung: Rung) -> set[str]:
    return {measured.stack for measured in result.of(rung)}


def _costs(stacks: Iterable[Measured], metric: str) -> list[float]:
    return [costs[metric] for measured in stacks if metric in (costs := measured.point([metric]).costs)]
