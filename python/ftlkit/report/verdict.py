"""The verdict: what the numbers say, in sentences. Who leads, by how much, why, at what cost, with what cautions.

Every sentence is computed from saved results; none states what a scheme "usually" does. The reason for a difference is
read off the counts: the cause on which a run spent most flash time beyond the leader's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ftlkit import units
from ftlkit.report.cautions import cautions

if TYPE_CHECKING:
    from ftlkit.document import Run
    from ftlkit.results import Results

CLOSE = 1.05
"""Runs within five per cent are said to be level: a trace's own accidents move a mean by as much."""


@dataclass(frozen=True)
class Verdict:
    """The verdict's parts, in the order in which a reader wants them."""

    headline: str
    reasons: list[str] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = (("Why", self.reasons), ("Cost", self.costs), ("Read with care", self.cautions))
        bullets = [f"{heading}\n" + "\n".join(f"- {each}" for each in found) for heading, found in parts if found]
        return units.typed("\n\n".join([self.headline, *bullets]))


def verdict(results: Results) -> Verdict:
    """Draw the verdict from the numbers."""
    runs = ranked(results)
    if results.labels and not runs:
        return Verdict("No read or write was replayed, so there are no response times to compare.")
    if not runs:
        return Verdict("No run finished, so there is nothing to compare.", cautions=cautions(results))
    if len(runs) == 1:
        return Verdict(_alone(runs[0]), _reasons(runs), [_ram_alone(runs[0]), *_mounts(runs)], cautions(results))
    return Verdict(
        _headline(runs), _reasons(runs), [*_costs(runs), *_mounts(runs), *_otherwise(runs)], cautions(results)
    )


def ranked(results: Results) -> list[Run]:
    """The runs that answered any read or write, the shortest mean response first."""
    return sorted((run for run in results.document["runs"] if run["response_ns"]["all"]["count"]), key=mean)


def mean(run: Run) -> float:
    """Mean response time over all requests, in nanoseconds."""
    return run["response_ns"]["all"]["mean"] or 0.0


def _p99(run: Run) -> float:
    return run["response_ns"]["all"]["p99"] or 0


def _alone(run: Run) -> str:
    usual, rare = units.duration(mean(run)), units.duration(_p99(run))
    return f"{run['label']} answers in {usual} on average, and 99 % of requests in {rare} or less."


def _headline(runs: list[Run]) -> str:
    first, second, last = runs[0], runs[1], runs[-1]
    lead = mean(second) / mean(first) if mean(first) else 1.0
    fastest = units.duration(mean(first))
    if lead < CLOSE:
        both = f"{first['label']} and {second['label']}"
        start = f"{both} are level in mean response ({fastest} and {units.duration(mean(second))})"
    else:
        start = f"{first['label']} answers fastest: {fastest} on average, {_times(lead)} faster than {second['label']}"
    if len(runs) > 2 and mean(first):
        start += f" and {_times(mean(last) / mean(first))} faster than {last['label']}, the slowest"
    return f"{start}. {_tail(runs)}"


def _times(value: float) -> str:
    return units.factor(value).replace("×", "times")


def _tail(runs: list[Run]) -> str:
    best = min(runs, key=_p99)
    worst = max(runs, key=_p99)
    if best is runs[0]:
        leads = f"{best['label']} leads at the 99th percentile too"
        return f"{leads}, with {units.duration(_p99(best))} against up to {units.duration(_p99(worst))}."
    return (
        f"At the 99th percentile {best['label']} leads instead, with {units.duration(_p99(best))} against "
        f"{units.duration(_p99(runs[0]))} for {runs[0]['label']}."
    )


def _reasons(runs: list[Run]) -> list[str]:
    """Why: the leader's own flash work, then for each other run the cause on which it spends most beyond the leader."""
    first = runs[0]
    return [_own_work(first), *(_excess(run, first) for run in runs[1:])]


def _own_work(run: Run) -> str:
    times = _time_by_cause(run)
    total = sum(times.values())
    if not total:
        return f"{run['label']} did no flash operation."
    text = f"{run['label']} spends {units.share(times.get('host', 0) / total)} of its flash time on host pages"
    rest = {cause: time for cause, time in times.items() if cause != "host"}
    largest = max(rest, key=lambda cause: rest[cause], default=None)
    if largest is None or rest[largest] < 0.01 * total:
        return f"{text}: there is hardly any overhead to save."
    return f"{text}; {units.share(rest[largest] / total)} goes to {_described(run, largest)}."


def _excess(run: Run, leader: Run) -> str:
    times, base = _time_by_cause(run), _time_by_cause(leader)
    beyond = {cause: time - base.get(cause, 0) for cause, time in times.items()}
    cause = max(beyond, key=lambda key: beyond[key], default=None)
    total = sum(times.values())
    if cause is None or beyond[cause] <= 0.01 * total:
        if mean(run) < CLOSE * mean(leader):
            return f"{run['label']} does about the same flash work as {leader['label']}."
        return (
            f"{run['label']} does no more flash work than {leader['label']}; it loses by waiting: its busiest dies and "
            "channels overlap less."
        )
    return f"{run['label']} spends {units.share(times[cause] / total)} of its flash time on {_described(run, cause)}."


def _time_by_cause(run: Run) -> dict[str, int]:
    times: dict[str, int] = {}
    for operation in run["operations"]:
        if operation["cause"] != "precondition":
            times[operation["cause"]] = times.get(operation["cause"], 0) + operation["time_ns"]
    return times


_NAMES = {
    "host": "host pages",
    "read_modify_write": "pages written in part",
    "mapping": "mapping pages",
    "mapping_collection": "mapping pages of moved data",
    "collection": "garbage collection",
    "merge": "merges",
    "relocation": "emptying blocks that fail",
    "recovery": "recovery after power cuts",
    "checkpoint": "summaries for recovery",
}


def cause_name(cause: str) -> str:
    """What a cause is, in words."""
    return _NAMES.get(cause, cause.replace("_", " "))


def _described(run: Run, cause: str) -> str:
    """A cause in words, with its counts, and how long one piece of it takes."""
    counts = {each["op"]: each["count"] for each in run["operations"] if each["cause"] == cause}
    parts = [_pages(run, cause, counts)]
    pieces = _pieces(run, cause, counts)
    if pieces:
        each = units.duration(_time_by_cause(run)[cause] / pieces[0])
        parts.append(f"{units.count(pieces[0])} {pieces[1]} of {each}")
    ratio = run["mapping_hit_ratio"]
    if cause == "mapping" and ratio is not None:
        parts.append(f"hit ratio {units.share(ratio)}")
    known = [part for part in parts if part]
    return f"{cause_name(cause)} ({', '.join(known)})" if known else cause_name(cause)


def _pages(run: Run, cause: str, counts: dict[str, int]) -> str:
    """The pages that a cause reads or programs, whichever are more."""
    read, programmed, written = counts.get("read", 0), counts.get("program", 0), run["host_pages_written"]
    if written and programmed and 2 * programmed >= read:
        verb = "copied" if cause in ("merge", "collection") else "programmed"
        return f"{units.digits(programmed / written)} pages {verb} for each page that the host writes"
    served = run["requests"]["read"] + run["requests"]["write"]
    return f"{units.digits(read / served)} pages read for each request" if read and served else ""


def _pieces(run: Run, cause: str, counts: dict[str, int]) -> tuple[int, str] | None:
    """How often the work that a cause stands for was done; a request that meets one waits for it."""
    merges = run["merges"]["partial"] + run["merges"]["full"]
    if cause == "merge" and merges:
        return merges, "merges"
    if cause in ("collection", "mapping_collection") and counts.get("erase"):
        return counts["erase"], "collections"
    return None


def _ram(run: Run) -> int:
    return run["footprint"]["ram_bytes"]


def _ram_alone(run: Run) -> str:
    return f"Its mapping takes {units.size(_ram(run))} of RAM."


def _costs(runs: list[Run]) -> list[str]:
    """What the lead costs in RAM, and who gets how near with less."""
    first = runs[0]
    cheaper = [run for run in runs[1:] if _ram(run) < _ram(first)]
    if not cheaper:
        return [f"{first['label']} takes no more RAM than the others: {units.size(_ram(first))} for its mapping."]
    nearest = min(cheaper, key=mean)
    text = (
        f"{first['label']} pays with {units.size(_ram(first))} of RAM for its mapping; {nearest['label']} needs "
        f"{units.size(_ram(nearest))} ({units.share(_ram(nearest) / _ram(first))} of it) at "
        f"{units.factor(mean(nearest) / mean(first))} the mean response."
    )
    leanest = min(runs, key=_ram)
    if leanest is not nearest:
        times = units.factor(mean(leanest) / mean(first))
        text += f" The leanest is {leanest['label']} with {units.size(_ram(leanest))}, at {times}."
    return [text]


def _mounts(runs: list[Run]) -> list[str]:
    """What a mount after a power cut costs, for the runs that were verified; older saved results do not say."""
    times = [
        f"{run['label']} {units.duration(mount['time_ns'])} ({units.count(mount['reads'])} page reads)"
        for run in runs
        if (mount := run.get("mount"))
    ]
    return [f"Mounting after a power cut takes {', '.join(times)}."] if times else []


_CRITERIA: tuple[tuple[str, Any, Any], ...] = (
    ("write amplification", lambda run: run["write_amplification"], units.plain),
    ("erases", lambda run: run["erases"]["total"], units.count),
    ("evenness of wear (σ of erase counts)", lambda run: run["erases"]["std"], units.plain),
    ("longest response", lambda run: run["response_ns"]["all"]["max"], units.duration),
)


def _otherwise(runs: list[Run]) -> list[str]:
    """What would change the ranking: criteria on which another run leads."""
    first = runs[0]
    found = []
    for name, value, text in _CRITERIA:
        known = [run for run in runs if value(run) is not None]
        if first not in known:
            continue
        best = min(known, key=value)
        if value(best) * CLOSE < value(first):
            found.append(f"{name} ({best['label']}: {text(value(best))} against {text(value(first))})")
    sentences = [f"The ranking would change if what counts were {' or '.join(found)}."] if found else []
    sentences += [sentence for run in runs if (sentence := _cache_sentence(run))]
    return sentences


def _cache_sentence(run: Run) -> str | None:
    """What a larger mapping cache could save at most, where misses cost a tenth of the flash time or more."""
    times = _time_by_cause(run)
    total, ratio = sum(times.values()), run["mapping_hit_ratio"]
    cost = times.get("mapping", 0) / total if total else 0.0
    if ratio is None or cost < 0.1:
        return None
    missed, spent = units.share(1 - ratio), units.share(cost)
    return (
        f"{run['label']} misses its mapping cache on {missed} of lookups, which costs {spent} of its flash time: "
        "more RAM for the cache can save at most that."
    )
