"""The verdict in sentences: who leads, by how much, why, at what cost, with which cautions.

Every sentence is computed from saved results; none states what a scheme "usually" does. A reason is
what was measured request by request (`why.py`); where it was not measured there is none. Sentences
that name a saving are tested by making it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ftlkit._util import units
from ftlkit.report.cautions import cautions, cheap, names, ranks_by_p99
from ftlkit.report.evenness import evenness
from ftlkit.report.life import cuts, lives
from ftlkit.report.load import bottleneck, is_behind_late, is_overloaded, offered
from ftlkit.report.rules import brief, listed
from ftlkit.report.why import reasons
from ftlkit.report.work import cache, work
from ftlkit.results.columns import METRICS
from ftlkit.results.derived import buffer_ram, has_clock, mean_with_flushes
from ftlkit.results.outcome import Outcome, device_of

if TYPE_CHECKING:
    from ftlkit.results.document import Run

CLOSE = 1.05
"""Runs within five per cent count as level: a trace's accidents move a mean by as much."""


_ALL = slice(None)
_WEIGHTS = (
    *(("Caveats", _ALL), ("Why", _ALL), ("Life", slice(1)), ("Cost", _ALL)),
    *(("Life", slice(1, None)), ("Wear", _ALL), ("Flash work", _ALL)),
)
"""Headings with a part of their sentences, those first that a terminal says first.

The longest life comes before costs, remarks on lives after them; the table tells the flash work.
"""

_UNRANKED = "Requests are too few to rank by the 99th percentile: see Caveats."


@dataclass(frozen=True)
class Verdict:
    """The verdict's parts, in the order in which a reader wants them."""

    headline: str
    reasons: list[str] = field(default_factory=list)
    work: list[str] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)
    wear: list[str] = field(default_factory=list)
    life: list[str] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)

    @property
    def parts(self) -> list[tuple[str, list[str]]]:
        """What follows the headline: headings with their sentences, those without any left out."""
        parts = (
            ("Why", self.reasons),
            ("Flash work", self.work),
            ("Cost", self.costs),
            ("Wear", self.wear),
            ("Life", self.life),
            ("Caveats", self.cautions),
        )
        return [(heading, sentences) for heading, sentences in parts if sentences]

    @property
    def brief(self) -> tuple[list[tuple[str, Sequence[str]]], int]:
        """The parts with their weightiest sentences, for a terminal; and how many are left."""
        parts = dict(self.parts)
        ordered = [(heading, parts[heading][part]) for heading, part in _WEIGHTS if heading in parts]
        (_, *kept), left = brief([[self.headline], *(sentences for _, sentences in ordered)])
        told: dict[str, list[str]] = {heading: [] for heading in parts}
        for (heading, _), sentences in zip(ordered, kept, strict=True):
            told[heading] += sentences
        return [(heading, sentences) for heading, sentences in told.items() if sentences], left

    def __str__(self) -> str:
        bullets = [
            f"{heading}\n" + "\n".join(f"- {sentence}" for sentence in sentences) for heading, sentences in self.parts
        ]
        return units.typed("\n\n".join([self.headline, *bullets]))


def verdict(results: Outcome) -> Verdict:
    """Draw the verdict from the numbers."""
    if any(not has_clock(run) for run in results.document["runs"]):
        return _counted(results)
    measured = [run for run in results.document["runs"] if run["response_ns"]["all"]["count"]]
    if results.labels and not measured:
        return Verdict("No read or write was replayed, so there are no response times to compare.")
    if not measured:
        return Verdict("No run finished, so there is nothing to compare.", cautions=cautions(results))
    ahead, behind = ranked(measured)
    runs = [*ahead, *behind]
    return Verdict(
        _headline(ahead, behind) + _reservation(results, measured),
        reasons(ahead, _with_flushes(ahead).replace("with", "without")),
        [work(run) for run in runs],
        [
            *(_costs(runs, ahead) if len(runs) > 1 else [_ram_alone(runs[0])]),
            *_buffers(runs),
            *mounts(results, runs),
            *_otherwise(runs, ahead),
            *[sentence for run in runs if (sentence := cache(run))],
        ],
        evenness(results.document["runs"]),
        lives(results),
        cautions(results),
    )


def _counted(results: Outcome) -> Verdict:
    """The verdict by write amplification, where some run has no clock."""
    runs = results.document["runs"]
    known = sorted((run for run in runs if run["write_amplification"] is not None), key=_amplification)
    others = [run for run in runs if run["write_amplification"] is None]
    first = [*known, *others][0]
    headline = "The host wrote nothing, so there is no write amplification to compare."
    served = [run for run in runs if run["requests"]["read"] + run["requests"]["write"]]
    return Verdict(
        (_least_amplification(known) if known else headline) + _reservation(results, served),
        work=[work(run) for run in [*known, *others]],
        costs=[
            *(_costs([*known, *others], []) if len(runs) > 1 else [_ram_alone(first)]),
            *_buffers(runs),
            *mounts(results, runs),
        ],
        wear=evenness(runs),
        life=lives(results),
        cautions=cautions(results),
    )


def _least_amplification(runs: list[Run]) -> str:
    """Who has the least write amplification of these runs, by ascending write amplification."""
    texts = [METRICS["write_amplification"].text(_amplification(run)) for run in runs]
    level = [run for run in runs if _amplification(run) <= CLOSE * _amplification(runs[0])]
    if len(runs) == 1:
        return f"{runs[0]['label']} has a write amplification of {texts[0]}."
    last = texts[len(level) - 1]
    ends = last if last == texts[0] else f"{texts[0]} {_to(level)} {last}"
    if len(level) == len(runs):
        return f"{names(runs)} are level in write amplification ({ends})."
    if len(level) > 1:
        return f"{names(level)} have the least write amplification: {ends}, against up to {texts[-1]}."
    return f"{runs[0]['label']} has the least write amplification: {texts[0]}, against up to {texts[-1]}."


def _amplification(run: Run) -> float:
    return run["write_amplification"] or 0.0


def ranked(runs: list[Run]) -> tuple[list[Run], list[Run]]:
    """The runs that kept up, by mean response; then the others, by what they served.

    A queue does not change what is served. A run with no figure worse than another's is not behind
    it (`load.rs` tells why).
    """
    ahead = [run for run in runs if not is_overloaded(run)]
    behind = [run for run in runs if is_overloaded(run)]
    return sorted(ahead, key=_waited(ahead)), sorted(behind, key=lambda run: (-_served(run), mean(run)))


def mean(run: Run) -> float:
    """Mean response time over all requests, in nanoseconds."""
    return run["response_ns"]["all"]["mean"] or 0.0


def flushes_weigh(runs: Iterable[Run]) -> bool:
    """Whether flushes take a share of the host's waiting that may change a ranking."""
    return any(mean_with_flushes(run) > CLOSE * mean(run) for run in runs)


def _waited(runs: list[Run]) -> Callable[[Run], float]:
    """What ranks these runs: the mean response, with flushes where they weigh."""
    return mean_with_flushes if flushes_weigh(runs) else mean


def _with_flushes(runs: list[Run]) -> str:
    return " with flushes" if flushes_weigh(runs) else ""


def _served(run: Run) -> float:
    return run["iops"] or 0.0


def _p99(run: Run) -> float:
    return run["response_ns"]["all"]["p99"] or 0


def _headline(ahead: list[Run], behind: list[Run]) -> str:
    """Who leads: by response times among runs that keep up, by service among the others."""
    sentences = [_leader(ahead, is_all=not behind)] if len(ahead) > 1 else [_alone(run) for run in ahead]
    if behind:
        sentences.append(_left_behind(ahead, behind))
    return " ".join(sentences)


def _reservation(results: Outcome, measured: list[Run]) -> str:
    """What the headline must not be read without."""
    silent = [run for run in results.document["runs"] if run not in measured]
    worn = [run for run in measured if run["end_of_life"]]
    text = f" {names(silent)} served no read or write, and {_is(silent)} compared with nothing." if silent else ""
    if worn:
        text += f" The device wore out under {names(worn)} before the workload ended: see Caveats."
    cheap_runs = cheap(results)
    if cheap_runs:
        text += f" GC and merges cost {names(cheap_runs)} hardly anything yet: see Caveats."
    return text


def _is(runs: list[Run]) -> str:
    return "is" if len(runs) == 1 else "are"


def _left_behind(ahead: list[Run], behind: list[Run]) -> str:
    offered_iops = offered(behind[0])
    arriving = f" of {units.rate(offered_iops)} requests per second" if offered_iops else ""
    verb = "does" if len(behind) == 1 else "do"
    who = f"{names(behind)} {verb} not keep" if ahead else "No translation layer keeps"
    late = [run for run in behind if is_behind_late(run)]
    end = " at the trace's end" if late == behind else arriving
    start = f"{who} up with the arrivals{end}"
    loads = ", ".join(f"{run['label']} {_load(run, offered_iops)}" for run in behind)
    text = f"{start}. Requests per second that were served: {loads}."
    if late:
        text += (
            f" {names(late)} had a backlog in the second half of the requests alone, which asks for more than the mean"
            f"{arriving}: whether the mean can be served is not known."
        )
    spare = [run for run in behind if run not in late and offered_iops and (bottleneck(run) or 0.0) > offered_iops]
    if not spare:
        return text
    could = ", ".join(f"{run['label']} {units.rate(bottleneck(run))}" for run in spare)
    return (
        f"{text} Their busiest die or channel has time for more ({could}: IOPS at most), but not in the order in which "
        "requests arrive and wait for one another."
    )


def _load(run: Run, offered_iops: float | None) -> str:
    """What a run served, and, where that reads like the demand, why it is left behind."""
    served = units.rate(_served(run))
    return f"{served} (but its queue kept growing)" if offered_iops and served == units.rate(offered_iops) else served


def _alone(run: Run) -> str:
    if flushes := _with_flushes([run]):
        return f"{run['label']} answers in {units.duration(mean_with_flushes(run))} on average{flushes}."
    usual, rare = units.duration(mean(run)), units.duration(_p99(run))
    if not ranks_by_p99([run]):
        return f"{run['label']} answers in {usual} on average. {_UNRANKED}"
    return f"{run['label']} answers in {usual} on average, and 99 % of requests in {rare} or less."


def _leader(runs: list[Run], *, is_all: bool) -> str:
    """Who answers fastest, slowest, and at the 99th percentile; `is_all`: of all runs shown."""
    first, by, flushes = runs[0], _waited(runs), _with_flushes(runs)
    level = [run for run in runs if _ratio(by(run), by(first)) < CLOSE]
    if len(level) == len(runs) > 2:
        start = (
            f"all are level in mean response{flushes} ({units.duration(by(first))} to {units.duration(by(runs[-1]))})"
        )
    elif len(level) > 1:
        ends = [units.duration(by(run)) for run in (first, level[-1])]
        start = f"{names(level)} are level in mean response{flushes} ({f' {_to(level)} '.join(ends)})"
    else:
        fastest = units.duration(by(first))
        start = f"{first['label']} answers fastest: {fastest} on average{flushes}, {_faster(by, first, runs[1:2])}"
    if len(runs) > max(2, len(level)):
        slowest = [run for run in runs if units.duration(by(run)) == units.duration(by(runs[-1]))]
        start += f" and {_faster(by, first, slowest)}{_slowest(by, runs, slowest)}"
    if flushes:
        return f"{_begun(start)}." if is_all else f"Of those that keep up, {start}."
    if not ranks_by_p99(runs):
        return f"{_begun(start)}. {_UNRANKED}" if is_all else f"Of those that keep up, {start}. {_UNRANKED}"
    if is_all:
        return f"{_begun(start)}. {_begun(_tail(runs))}"
    return f"Of those that keep up, {start}. Of these, {_tail(runs)}"


def _slowest(by: Callable[[Run], float], runs: list[Run], slowest: list[Run]) -> str:
    """That they are slowest: not said where another is so close that an accident may decide."""
    others = [by(run) for run in runs if run not in slowest]
    return ", the slowest on average" if max(others) * CLOSE < by(runs[-1]) else ""


def _to(level: list[Run]) -> str:
    return "and" if len(level) == 2 else "to"


def _begun(text: str) -> str:
    """A sentence's beginning with a capital, unless it is a label, which stays as it is."""
    return text[0].upper() + text[1:] if text.startswith(("all are", "at the")) else text


def _ratio(time: float, least: float) -> float:
    """How many times the least time another is."""
    if least:
        return time / least
    return 1.0 if not time else float("inf")


def _faster(by: Callable[[Run], float], first: Run, runs: list[Run]) -> str:
    """How the first compares with a run, or with several that read alike, the last of them."""
    ratio = _ratio(by(runs[-1]), by(first))
    if ratio == float("inf"):
        return f"against {units.duration(by(runs[-1]))} for {names(runs)}"
    return f"{_times(ratio)} faster than {names(runs)}"


def _times(value: float) -> str:
    return units.factor(value).replace("×", "times")


def _tail(runs: list[Run]) -> str:
    """Who leads at the 99th percentile, by the digits that are printed."""
    first, ranked = runs[0], sorted(runs, key=_p99)
    best, worst = (units.duration(_p99(run)) for run in (ranked[0], ranked[-1]))
    leading = [run for run in runs if units.duration(_p99(run)) == best]
    if best == worst:
        return f"{names(runs)} have the same 99th percentile, {best}."
    if leading == [first]:
        return f"{first['label']} leads at the 99th percentile too, with {best} against up to {worst}."
    if first in leading:
        return f"{names(leading)} share the lead at the 99th percentile, with {best} against up to {worst}."
    lead = "leads" if len(leading) == 1 else "lead"
    its = f"{units.duration(_p99(first))} for {first['label']}"
    return f"at the 99th percentile {names(leading)} {lead} instead, with {best} against {its}."


def _ram(run: Run) -> int:
    return run["footprint"]["ram_bytes"]


def _ram_alone(run: Run) -> str:
    return f"It needs {units.size(_ram(run))} of RAM."


def _costs(runs: list[Run], ahead: list[Run]) -> list[str]:
    """The cost of the lead in RAM, and who gets near with less: by the printed digits."""
    first, least = runs[0], min(runs, key=_ram)
    mine = units.size(_ram(first))
    cheaper = [run for run in runs[1:] if _ram(run) < _ram(first) and units.size(_ram(run)) != mine]
    if not cheaper:
        return [f"{first['label']} needs no more RAM than the others: {mine}."]
    nearest = cheaper[0]
    text = (
        f"{first['label']} needs {mine} of RAM; {nearest['label']} needs "
        f"{units.size(_ram(nearest))} ({units.share(_ram(nearest) / _ram(first))} of that)"
        f"{_beside(nearest, first, ahead)}."
    )
    leanest = [run for run in runs if units.size(_ram(run)) == units.size(_ram(least))]
    if nearest in leanest:
        return [text]
    beside = _beside(least, first, ahead) if len(leanest) == 1 else ""
    needs = "needs" if len(leanest) == 1 else "need"
    return [f"{text} {names(leanest)} {needs} least: {units.size(_ram(least))}{beside}."]


def _beside(run: Run, first: Run, ahead: list[Run]) -> str:
    """A run beside the first: by mean response if both kept up, else by what they served."""
    by, flushes = _waited(ahead), _with_flushes(ahead)
    if run in ahead and by(first):
        factor = units.factor(by(run) / by(first))
        of_it = f"the mean response{flushes}"
        return f" for the same {of_it[4:]}" if factor == units.factor(1.0) else f" at {factor} {of_it}"
    mine, best = _served(run), _served(first)
    return f" and serves {units.factor(mine / best)} the requests per second" if mine and best else ""


def _buffers(runs: list[Run]) -> list[str]:
    """What the write buffers take of the RAM: as much as they are given, whatever the mapping."""
    taken = [f"{units.size(ram)} under {run['label']}" for run in runs if (ram := buffer_ram(run))]
    return [f"Of this RAM the write buffer takes {listed(taken)}."] if taken else []


def mounts(results: Outcome, runs: list[Run]) -> list[str]:
    """The cost of a mount after a power cut, for verified runs; older results have none."""
    times = []
    for run in runs:
        if mount := run.get("mount"):
            counts = f"{units.count(mount['reads'])} page reads"
            counts += f", {units.count(mount['erases'])} erases" if mount["erases"] else ""
            took = counts if mount["time_ns"] is None else f"{units.duration(mount['time_ns'])} ({counts})"
            times.append(f"{run['label']} {took}")
    device, part = device_of(results.document), ""
    if simulated := device.get("slice_bytes"):
        part = f" the simulated slice, 1/{units.count(device['logical_bytes'] / simulated)} of the drive,"
    # In one piece: a terminal shows the first of such sentences.
    return [f"Mounting{part} after a power cut takes {', '.join(times)}.{cuts(results)}"] if times else []


_CRITERIA = {
    "write_amplification": "write amplification",
    "erases": "erases",
    "erases_std": "evenness of wear (σ of erase counts)",
    "response_max_ns": "the longest response",
    "flash_time_per_request_ns": "flash time for each request",
}
"""Metrics by which another run may lead, as named in sentences; lower is better."""


def _otherwise(runs: list[Run], ahead: list[Run]) -> list[str]:
    """What would change the ranking: criteria of the table on which another run leads."""
    sentences = []
    for name, words in _CRITERIA.items():
        metric = METRICS[name]
        known = [run for run in runs if metric.value(run) is not None]
        if not known or known[0] not in ahead[:1]:
            continue
        best, mine = min(metric.value(run) for run in known), metric.value(known[0])
        if best * CLOSE < mine:
            leading = names([run for run in known if metric.text(metric.value(run)) == metric.text(best)])
            sentences.append(f"{words} ({leading}: {metric.text(best)} against {metric.text(mine)})")
    return [f"Another would lead if what counts were {' or '.join(sentences)}."] if sentences else []
