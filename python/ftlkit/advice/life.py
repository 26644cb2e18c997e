"""The life of the device in an answer: what is known of it, and which search would tell it.

A life is forecast where blocks are erased four times on average (docs/endurance.md). Of a run that
erased less this tells how many times as much has to be served for it. The device may be smaller
then, if its size was left open: it is as large as what the workload touches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from ftlkit._util import Json, units
from ftlkit.advice import phrasing
from ftlkit.advice.query import REFERENCE, Query, enough
from ftlkit.report import drift
from ftlkit.report.cautions import more
from ftlkit.report.drift import ENOUGH_ERASES, is_in_first_turn, more_times
from ftlkit.report.life import cycles, even, is_own_rate, lasting, rate, warranty_years, worn_before
from ftlkit.results.outcome import Outcome
from ftlkit.study import Options
from ftlkit.study.device_size import GEOMETRY
from ftlkit.sweeps.goals import TIMELESS

if TYPE_CHECKING:
    from ftlkit.advice.measure import Measured
    from ftlkit.advice.search_result import SearchResult
    from ftlkit.results.document import Document, Lifetime, Run

WIDE = 2.0
"""From this multiple of the touched bytes on, a device counts as much larger."""
_ROUNDS = 2
"""So often every mapping is tried on the searched part."""


def sentences(query: Query, best: Measured, reference: Measured | None) -> list[str]:
    """Known facts about the device's life under the advised stack, if any is."""
    mine = phrasing.of("life_bytes", best)
    if mine is None and query.goal not in TIMELESS:
        return []
    if mine is None:
        bound = "No life is forecast, since its run wrote less than the drive holds."
        if phrasing.is_bound(best):
            bound = "Its life is at least the bytes of its run: the device survived, and there is no forecast."
        return [*([bound] if query.goal == "life" else []), *_even(best, reference)]
    is_measured = all(row["is_life_measured"] for row in best.rows)
    how = "measured: the device wore out" if is_measured else "a forecast from the erases of the run, not measured"
    if query.goal == "life":
        text = f"The advised stack's life is {how}"
    else:
        text = f"The advised stack's life is {phrasing.value('life_bytes', mine)} written by the host"
        if reference is not None and best.stack != REFERENCE:
            text += f" ({REFERENCE}: {phrasing.value('life_bytes', phrasing.of('life_bytes', reference))})"
        text += f", {how}"
    return [f"{text}.", *_at_rate(best, reference)]


def _even(best: Measured, reference: Measured | None) -> list[str]:
    """How long the host can write by write amplification alone, where no life is forecast.

    No time is told where it is that of a device in its first turn, which ends with the first erase
    of each block, or where write amplification was far from settled; else how far it is off by
    parts of the run.
    """
    measured = [best, *([reference] if reference is not None and best.stack != REFERENCE else [])]
    documents = [json.loads(each.rows[0]["document"]) for each in measured]
    runs = {each.stack: document["runs"][0] for each, document in zip(measured, documents, strict=True)}
    together = Outcome(documents[0] | {"runs": list(runs.values())})
    if not (told := even(together)):
        return []
    new = {stack: run["erases"]["mean"] for stack, run in runs.items() if is_in_first_turn(run)}
    far = [run for run in runs.values() if drift.has_trend(drift.parts(run), drift.APART)]
    if not new and far:
        return [f"No years are told: {_unsettled(together, far[0])}."]
    if not new:
        return [*told, _off(together)]
    erased = " and ".join(f"{units.plain(mean)} times under {stack}" for stack, mean in new.items())
    return [
        (
            f"No years are told: each block was filled {erased} while measured, and write amplification is not that of "
            "a device in use before its second time. Give more requests (--requests) or --precondition steady."
        )
    ]


def _off(results: Outcome) -> str:
    """By how much such years are off, or why that is not known, and how many requests would do."""
    told, runs = [], results.document["runs"]
    text = f"These years are no forecast, which takes {ENOUGH_ERASES:.0f} erases per block"
    for run in runs:
        if (between := drift.bounds(results, run)) is None:
            return f"{text}, and their error is not known: {_unsettled(results, run)}."
        ends = [units.share(abs((lasting(run) or 0.0) / each - 1)) for each in reversed(between)]
        told.append(f"{ends[0]} fewer to {ends[1]} more under {run['label']}")
    return f"{text}: write amplification had settled, so they may be {' and '.join(told)}."


def _unsettled(results: Outcome, run: Run) -> str:
    """Why nothing tells the write amplification of longer runs, and how many requests would."""
    part, requests = drift.parts(run), max(drift.enough(results, each) for each in results.document["runs"])
    if drift.has_trend(part):
        why = f"under {run['label']} write amplification went from {units.digits(part[0])} to {units.digits(part[-1])}"
    elif part and drift.is_filling(results, run):
        why = f"erased blocks were left under {run['label']}"
    elif part:
        why = f"the host wrote {units.share(drift.passes(results, run))} of its data under {run['label']}"
    else:
        why = f"the run of {run['label']} is too short"
    return f"{why}. Give about {units.count(requests)} requests ({more(results)})"


def _at_rate(best: Measured, reference: Measured | None) -> list[str]:
    """How long the life lasts at the rate of writes, and its drive writes per day."""
    lasts, writes = _rates(best)
    if not writes:
        return []
    document = json.loads(best.rows[0]["document"])
    years = warranty_years(document)
    times = f"{lasts} at {rate(document)}, or " if lasts else ""
    its = ", or ".join(filter(None, _rates(reference))) if reference is not None and best.stack != REFERENCE else ""
    beside = f" ({REFERENCE}: {its})" if its else ""
    over = f"over {years:g} years"
    told = f"That is {times}{writes} (drive writes per day {over}){beside}, with {cycles(document)}."
    return [told, *worn_before(Outcome(document)), *_unchecked(best)]


def _unchecked(measured: Measured) -> list[str]:
    """That nothing is known of whether the device can write at that rate, without a clock."""
    is_own = is_own_rate(json.loads(measured.rows[0]["document"]))
    if not is_own or all(row["is_overloaded"] is not None for row in measured.rows):
        return []
    return ["Without a clock it was not measured whether the device can write at that rate, or at the DWPD."]


def _rates(measured: Measured) -> tuple[str, str]:
    """The time of a life at the rate of writes, and its drive writes per day."""
    lives = [life for row in measured.rows if (life := _endurance(row).get("spares_gone"))]
    if not lives or len(lives) < len(measured.rows):
        return "", ""
    is_behind = measured.is_behind and is_own_rate(json.loads(measured.rows[0]["document"]))
    lasts = "" if is_behind else f"{units.years(fmean(life['years'] for life in lives))}{_years_range(lives)}"
    return lasts, f"{units.digits(fmean(life['drive_writes_per_day'] for life in lives))} DWPD"


def _years_range(lives: Sequence[Lifetime]) -> str:
    """The range of a forecast in years, of all seeds together; nothing where it was measured."""
    if all(life["is_measured"] for life in lives):
        return ""
    per_byte = [life["years"] / life["written_bytes"] for life in lives]
    low = min(life["low_bytes"] * each for life, each in zip(lives, per_byte, strict=True))
    high = max(life["high_bytes"] * each for life, each in zip(lives, per_byte, strict=True))
    return f" ({units.years(low)} to {units.years(high)})"


def survey_s(result: SearchResult, run_s: float) -> float:
    """About how long trying every mapping takes, by what one run over the searched part takes."""
    return _ROUNDS * len(result.candidates) * run_s / result.cores


def is_wide(result: SearchResult) -> bool:
    """Whether the device is much larger than what the workload touches."""
    return not result.is_slice and 0 < WIDE * result.touched_bytes <= result.capacity


def open_options(query: Query) -> Options:
    """The options with the smallest device for a recorded trace; empty if none is left open."""
    options = query.options
    given = {setting.partition("=")[0].strip() for setting in options.get("settings", ())}
    if "trace" not in query.document()["workload"] or {"device.capacity", "workload.addresses"} & given:
        return Options()
    if options.get("capacity", "auto") != "auto" or options.get("addresses", "dense") != "dense":
        return Options()
    smallest = Options(addresses="dense", capacity="auto")
    is_smallest = smallest.items() <= options.items()
    return Options() if is_smallest else smallest


def missing_options(query: Query) -> list[str]:
    """Of these options those that were not given, as they are typed."""
    return [f"--{name} {value}" for name, value in open_options(query).items() if name not in query.options]


def wear(row: Json) -> float:
    """How often a run erases a block on average, or would if all that it programs had to be freed.

    A device that was new has room for its first writes, which a longer run has not.
    """
    geometry = json.loads(row["document"])["device"]["geometry"]
    pages = math.prod(geometry[key] for key in GEOMETRY)
    programmed = float(row["pages_programmed"] / pages)
    return max(float(row["erases_mean"] or 0), programmed)


def lacking(query: Query, result: SearchResult, measured: Measured, erases: float, run_s: float) -> str:
    """That no life is forecast, and how much more of the workload would do.

    `measured` is a run that has none, `erases` how often the searched part erases a block
    on average by it, and `run_s` how long a run over that part takes.
    """
    requests, workload = result.requests, query.document()["workload"]
    times = more_times(erases) if 0 < erases < ENOUGH_ERASES else None
    if "trace" not in workload:
        more = f"Give more requests (--requests{'' if times is None else f' {times * requests}'})"
    elif "requests" in workload:
        given = "" if times is None else f" {times * requests}"
        more = f"Give more of the requests of the trace (--requests{given}), with --repeat where it has no more"
    else:
        repeat = "" if times is None else f" {times * int(workload.get('repeat', 1))}"
        more = f"Serve the trace several times (--repeat{repeat})"
    seen = f"{measured.stack} would erase each {units.plain(erases)} times at most" if erases else "nothing was erased"
    few = (
        f"since blocks have to be erased four times on average while it is measured (docs/endurance.md), and {seen}"
        if erases < ENOUGH_ERASES
        else f"since with {measured.stack} {_endurance(measured.rows[0]).get('refusal')}"
    )
    takes_s = (times or 1) * survey_s(result, run_s)
    longer = ""
    if query.budget_s is not None and takes_s > query.budget_s:
        longer = f" Trying every mapping on that takes {enough(takes_s)} here."
    return (
        f"no life is forecast from the searched part, {few}. {more}{_or_smaller(query)}.{longer} Or give another goal."
    )


def _or_smaller(query: Query) -> str:
    """The smaller device that may be taken, by options that are not given yet."""
    missing = missing_options(query)
    if missing:
        return f", or take the smallest device that holds it ({' '.join(missing)})"
    is_smallest = query.options.get("capacity") == "auto" and "trace" in query.document()["workload"]
    return "" if is_smallest else ", or take a smaller device (--capacity)"


def bound_beside(
    query: Query, best: Measured, reference: Measured | None, searched: Mapping[str, Measured]
) -> list[str]:
    """That a bound of one life and a figure of the other do not tell which is longer."""
    if query.goal != "life" or reference is None or reference is best:
        return []
    lives = [best.mean("life_bytes"), reference.mean("life_bytes")]
    if lives.count(None) != 1:
        return []
    bound, other = (best, reference) if lives[0] is None else (reference, best)
    known = "only a bound is known, which is no estimate" if phrasing.is_bound(bound) else "nothing is forecast"
    told = [
        (
            f"Of the life of {bound.stack} {known}: whether it lives longer or shorter than {other.stack} does not "
            "follow from these figures."
        )
    ]
    mine, its = searched.get(best.stack), searched.get(REFERENCE)
    compared = "" if mine is None or its is None else phrasing.against("life_bytes", mine, its, REFERENCE)
    if compared and mine is not None and its is not None:
        lives_there = " and ".join(f"{each.stack} {phrasing.text('life_bytes', each)}" for each in (mine, its))
        told.append(f"On the searched part both had a figure: {lives_there}, {compared}.")
    return told


def endurance(document: Document) -> list[str]:
    """How many cycles a block lasts, and who says so."""
    return [f"Endurance: {told}."] if (told := cycles(document)) else []


def _endurance(row: Json) -> Json:
    """What a run tells of the device's life."""
    told: Json = json.loads(row["document"])["runs"][0].get("endurance") or {}
    return told
