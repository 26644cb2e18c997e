"""What a reader must know before trusting a ranking: things in the results that weaken it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit.report.load import arrives_in_steps, fifths, is_overloaded, written_between
from ftlkit.report.work import COPYING
from ftlkit.results.outcome import device_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ftlkit.results.document import Run
    from ftlkit.results.outcome import Outcome

FEW_REQUESTS = 10_000
"""Below this, fewer than a hundred requests lie beyond the 99th percentile."""

FEW_FOR_P99 = 1_000
"""Below this, fewer than ten do, and nothing is ranked by it."""

CACHED_ENTRY_BYTES = 8
"""RAM of an entry of a mapping cache: two page numbers."""

UNWRITTEN = 0.01
"""From this share on, reads that cost nothing move a mean by more than its last digit."""

LARGELY = 0.5
"""From this share on, read times are those of an empty device rather than of the one measured."""

FEW_WRITES = 0.01
"""Below this share of writes, what they lead to is not what a reader looks at."""

CHEAP = 0.05
"""Below this share of copied pages, collected blocks held hardly any data."""

UNTOUCHED = 0.05
"""Above this share of the live data, untouched data change what collections cost."""

STEADY = "--precondition steady, in a study run.precondition"
FILL = "--precondition fill, in a study run.precondition"
IN_USE = "--in-use 80%, in a study run.in_use"
SLOWER = "--speedup below 1, in a study workload.speedup"
CLOSED = "--loop closed, in a study host.loop"
GAP = "time=GAP in --columns, in a study workload.columns"
VERIFY = "--verify, in a study run.verify"
"""Next steps: the option that takes them, and the key of a study that says the same."""

FILLING = 1.25
"""Write amplification that ends this many times higher than it began had not settled."""


@dataclass(frozen=True)
class Caution:
    """A sentence, and the kind of weakness that it tells of."""

    kind: str
    text: str


def all_cautions(results: Outcome) -> list[Caution]:
    """What weakens these results, the gravest first."""
    runs = results.document["runs"]
    sentences = {
        "stopped": _cancelled(results),
        "worn_out": _worn_out(runs),
        "refreshing_over": _refreshing_over(runs),
        "unchecked": _unchecked(runs),
        "overloaded": _overload(results),
        "collections_not_reached": _unreached(results),
        "few_for_p99": _few_for_p99(results),
        "misaligned": _misaligned(results),
        "repeated": _repeated(results),
        "ticks": _ticks(results),
        "shared_streams": _shared_streams(runs),
        "unwritten": _unwritten(runs),
        "untouched": _untouched(results),
        "rising": _filling(results),
        "few_requests": _few(results),
        "nothing_erased": _fresh(results),
        "unsettled": _unsettled(runs),
        "cached_whole": _cached_whole(runs),
    }
    return [Caution(kind, text) for kind, text in sentences.items() if text]


def cautions(results: Outcome) -> list[str]:
    """Sentences, the gravest first."""
    return [caution.text for caution in all_cautions(results)]


def more(results: Outcome) -> str:
    """The options by which more requests are replayed: a workload that is generated has no end."""
    repeats = results.document["study"].get("workload", {}).get("trace") is not None
    return "--requests, or --repeat to serve a trace again" if repeats else "--requests"


def names(runs: list[Run]) -> str:
    """The runs' labels in a sentence."""
    return listed([run["label"] for run in runs])


def listed(words: list[str]) -> str:
    """Words in a sentence: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _cancelled(results: Outcome) -> str | None:
    if not results.cancelled:
        return None
    done = {run["label"] for run in results.document["runs"]}
    labels = [ftl.get("label") or ftl["name"] for ftl in results.document["study"].get("ftl", [])]
    missing = [label for label in labels if label not in done]
    tail = f": {', '.join(missing)} did not finish" if missing else ""
    return f"The study was stopped before its end{tail}."


def _worn_out(runs: list[Run]) -> str | None:
    """Runs that ended before the workload did, each with the device's own words."""
    ends = [(run["label"], run["end_of_life"]) for run in runs]
    worn = [f"{label} at request {units.count(end['request'])} ({end['message']})" for label, end in ends if end]
    if not worn:
        return None
    return f"The device wore out before the workload ended: {'; '.join(worn)}. Figures are of the requests before."


def _refreshing_over(runs: list[Run]) -> str | None:
    """Runs whose data decayed in the end, since nothing could be written any more."""
    over = [run for run in runs if (errors := run.get("bit_errors")) and errors["is_refreshing_over"]]
    if not over:
        return None
    reads = sum(errors["uncorrectable_reads"] for run in over if (errors := run["bit_errors"]))
    return (
        f"In {names(over)} refreshing ended before the workload did, since no spare block was left or no block could "
        f"be moved; {units.count(reads)} page reads were uncorrectable. Give the device more spare blocks, or read "
        "less."
    )


def _unchecked(runs: list[Run]) -> str | None:
    """FTLs in Python whose reads nobody compared: one that returns nothing is a fast one."""
    unchecked = [run for run in runs if run["family"] == "python" and not run.get("proved")]
    if not unchecked:
        return None
    return (
        f"What {names(unchecked)} returned for reads was not checked, and wrong data may be fast. Compare every read "
        f"with the last write ({VERIFY})."
    )


def _overload(results: Outcome) -> str | None:
    """An open loop that asks for more than the device can do: queues grow as long as it lasts."""
    behind = [run for run in results.document["runs"] if is_overloaded(run)]
    if not behind:
        return None
    if not results.document["workload"]["duration_ns"]:
        return f"All requests arrive at once, so response times tell how many there are. Use a closed loop ({CLOSED})."
    return (
        f"More requests arrive than {names(behind)} can serve, so queues grow until the end: these response times "
        f"measure the length of the trace as much as the scheme. Lower the load ({SLOWER}), or use a closed loop "
        f"({CLOSED})."
    )


def cheap(results: Outcome) -> list[Run]:
    """Runs that copied hardly anything and whose host wrote less than the device holds.

    Blocks to collect were then blocks that the workload had overwritten whole. A device in its
    steady state may have just such blocks, so runs on one are left out.
    """
    if _mode(results) == "steady":
        return []
    pages = device_of(results.document)["geometry"]["pages_per_block"]
    return [
        run
        for run in results.document["runs"]
        if writes(run) and _written(results, run) < 1 and _moved(run, "program") < CHEAP * pages * _moved(run, "erase")
    ]


def _written(results: Outcome, run: Run) -> float:
    """What the host wrote while measuring, as a share of the device's logical pages."""
    device = device_of(results.document)
    return run["host_pages_written"] * float(device["geometry"]["page_size_bytes"]) / device["logical_bytes"]


def _moved(run: Run, op: str) -> int:
    """Operations of a kind that collecting, merging and padding asked for."""
    return sum(
        operation["count"] for operation in run["operations"] if operation["cause"] in COPYING and operation["op"] == op
    )


def _unreached(results: Outcome) -> str | None:
    """Collections that were cheap because the run was too short for others."""
    cheap_runs = cheap(results)
    if not cheap_runs:
        return None
    share = units.share(max(_written(results, run) for run in cheap_runs))
    texts = [
        f"{run['label']} copied {units.count(_moved(run, 'program'))} pages for {units.count(_moved(run, 'erase'))} "
        "erases"
        for run in cheap_runs
    ]
    return (
        f"While measuring, the host wrote {share} of the device's logical pages, and collecting and merging copied "
        f"hardly anything ({', '.join(texts)}): what they cost in a steady state was not measured, and the ranking may "
        f"be another there. Precondition the device to a steady state ({STEADY}), or replay more requests "
        f"({more(results)})."
    )


def _unwritten(runs: list[Run]) -> str | None:
    """Reads of pages that hold nothing, which cost nothing."""
    shares = [(run["label"], share) for run in runs if (share := run.get("reads_without_flash") or 0.0) >= UNWRITTEN]
    if not shares:
        return None
    lowest, highest = (units.share(function(share for _, share in shares)) for function in (min, max))
    span = lowest if lowest == highest else f"{lowest} to {highest}"
    filled = all(run["precondition"] for run in runs)
    trims = any(run["requests"]["trim"] for run in runs)
    held = "had been trimmed" if filled and trims else "had never been written"
    if trims and not filled:
        held += " or had been trimmed"
    largely = max(share for _, share in shares) >= LARGELY
    effect = "read times are largely those of an empty device" if largely else "such reads take hardly any time"
    text = f"{span} of page reads found a page that {held}, and read no flash: {effect}."
    return text if filled else f"{text} Fill the device first ({FILL})."


def _untouched(results: Outcome) -> str | None:
    """Data that the preparation wrote, and the workload leaves as they are."""
    chosen: Mapping[str, Any] = results.document.get("precondition_chosen") or {}
    live, touched = chosen.get("live_pages"), chosen.get("touched_pages")
    if not live or touched is None or not any(writes(run) for run in results.document["runs"]):
        return None
    untouched = 1 - touched / live
    if untouched <= UNTOUCHED:
        return None
    page = device_of(results.document)["geometry"]["page_size_bytes"]
    full = units.share(live * page / device_of(results.document)["logical_bytes"])
    return (
        f"The preparation left {full} of the device full of data, {units.share(untouched)} of which the workload never "
        f"touches; they make collections dearer than in a device with more room. Say how full it is ({IN_USE})."
    )


def _filling(results: Outcome) -> str | None:
    """A device measured before its steady state: the longer the run, the worse the mean."""
    series = {run["label"]: run["series"] for run in results.document["runs"]}
    parts = {
        label: fifths(each["write_amplification"], written_between(each["host_written_bytes"]))
        for label, each in series.items()
    }
    filling = {label: part for label, part in parts.items() if part and part[-1] > FILLING * part[0]}
    if not filling:
        return None
    texts = [f"{label} from {units.digits(part[0])} to {units.digits(part[-1])}" for label, part in filling.items()]
    advice = (
        f"Replay more requests ({more(results)})"
        if _mode(results) == "steady"
        else f"Precondition the device to a steady state ({STEADY}), or replay more requests ({more(results)})"
    )
    return (
        f"Write amplification rose during the run ({', '.join(texts)}): means depend on how long the run was. "
        f"{advice} to see what lasts."
    )


def ranks_by_p99(runs: list[Run]) -> bool:
    """Whether runs have enough requests to be ranked by their 99th percentile."""
    return all(run["response_ns"]["all"]["count"] >= FEW_FOR_P99 for run in runs)


def _few_for_p99(results: Outcome) -> str | None:
    """Runs whose 99th percentile is one of the longest few responses."""
    runs = results.document["runs"]
    fewest = min((count for run in runs if (count := run["response_ns"]["all"]["count"])), default=FEW_FOR_P99)
    if fewest >= FEW_FOR_P99:
        return None
    above = fewest // 100
    rests = f"rests on the longest {above} of them" if above > 1 else "is about the longest of them"
    return (
        f"Response times are of {several(fewest, 'request')}: the 99th percentile {rests}, and nothing is ranked by "
        f"it. Replay {units.count(FEW_FOR_P99)} requests or more ({more(results)})."
    )


def _misaligned(results: Outcome) -> str | None:
    """A trace that an offset would put on the pages of the device."""
    misalignment = results.document["workload"].get("misalignment")
    if not misalignment:
        return None
    page = units.size(device_of(results.document)["geometry"]["page_size_bytes"])
    return (
        f"{units.share(misalignment['aligned'])} of the requests start and end on the device's pages of {page}; with "
        f"align_offset = {misalignment['align_offset_bytes']} (--align-offset {misalignment['align_offset_bytes']}) "
        f"{units.share(misalignment['aligned_with_offset'])} do. Pages that are written in part cost more with every "
        "FTL."
    )


def _repeated(results: Outcome) -> str | None:
    """A trace with several rows a request."""
    workload = results.document["workload"]
    repeated = workload.get("repeated")
    if not repeated:
        return None
    share = units.share(repeated["requests"] / max(1, workload["requests"]))
    within = units.duration(repeated["within_ns"])
    given = results.document["study"].get("workload", {})
    if given.get("where") or given.get("blkparse_action", "Q") != "Q":
        way = "Rows were chosen already; those that are left may be requests of their own"
    elif workload["format"] == "blkparse":
        way = "Take one kind of event (--blkparse-action D for dispatched, C for completed), or one process or device"
    else:
        way = "Where a column tells which event a row is of, take one kind (--where, such as --where type=D)"
    return (
        f"{units.count(repeated['requests'])} rows ({share}) ask for what another row asked for within {within}: the "
        f"trace may have several rows a request, which are served as often. {way}."
    )


def _ticks(results: Outcome) -> str | None:
    """Arrivals in steps coarser than responses, whose requests wait for each other."""
    document = results.document
    ticks = document["workload"].get("ticks")
    if ticks is None or not arrives_in_steps(document):
        return None
    if ticks["tick_ns"] is None:
        return (
            f"All {several(document['workload']['requests'], 'request')} have one time in the trace, so they arrive as "
            f"one burst and wait for each other: responses tell how long the trace is. Give times ({GAP}), or use a "
            f"closed loop ({CLOSED})."
        )
    # A power of ten from 1 ms to 1 s.
    step = "1s" if ticks["tick_ns"] == 1_000_000_000 else f"{ticks['tick_ns'] // 1_000_000}ms"
    text = (
        f"{units.count(ticks['shared'])} of {several(document['workload']['requests'], 'request')} arrive with the one "
        f"before, since the trace's times are in steps of {step}: they wait for each other"
    )
    way = f"--tick {step}, in a study workload.tick"
    if not (compared := ticks.get("compared")):
        return f"{text}. Spread the requests of a step evenly over it ({way})."
    return (
        f"{text}. The mean response of {compared['label']} is {units.duration(compared['recorded_mean_ns'])} as "
        f"recorded, and {units.duration(compared['spread_mean_ns'])} with the requests of a step spread evenly over it "
        f"({way})."
    )


def _shared_streams(runs: list[Run]) -> str | None:
    """Host writes with a stream number beyond those that an FTL keeps apart."""
    sharing = [(run["label"], count) for run in runs if (count := run["notes"].get("shared_streams"))]
    if not sharing:
        return None
    counts = ", ".join(f"{units.count(count)} under {label}" for label, count in sharing)
    return (
        f"Writes named streams beyond hint_streams, and shared the last stream: {counts}. Raise hint_streams above the "
        "highest number (`ftlkit trace info` lists them), or number the streams from 1."
    )


def _few(results: Outcome) -> str | None:
    requests = results.document["workload"]["requests"]
    if requests >= FEW_REQUESTS or not ranks_by_p99(results.document["runs"]):
        return None
    replayed = "1 request was" if requests == 1 else f"{units.count(requests)} requests were"
    return f"Only {replayed} replayed: percentiles beyond the 99th rest on a handful of them."


def _fresh(results: Outcome) -> str | None:
    runs = results.document["runs"]
    idle = [run for run in runs if not run["erases"]["total"] and writes(run)]
    if not idle:
        return None
    text = f"No block was erased under {names(idle)}, so garbage collection was not tested"
    if _mode(results) == "steady":
        return f"{text}. Replay more requests ({more(results)}), or give the device less capacity (--capacity)."
    return f"{text}. Precondition the device to a steady state ({STEADY}), or give it less capacity (--capacity)."


def writes(run: Run) -> bool:
    """Whether a run writes enough for collections to matter."""
    return run["requests"]["write"] >= FEW_WRITES * (run["requests"]["read"] + run["requests"]["write"])


def _mode(results: Outcome) -> str:
    """How the devices were prepared: as chosen, where the study left the choice."""
    chosen = results.document.get("precondition_chosen")
    mode: str = chosen["mode"] if chosen else results.document["study"].get("run", {}).get("precondition", "none")
    return mode


def _unsettled(runs: list[Run]) -> str | None:
    unsettled = [run for run in runs if run["precondition"] and run["precondition"]["settled"] is False]
    if not unsettled:
        return None
    return (
        f"Write amplification had not settled under {names(unsettled)} when measuring began: a steady state may differ."
    )


def _cached_whole(runs: list[Run]) -> str | None:
    """Caches of single entries that are larger than the map whose entries they hold."""
    sizes = []
    for run in runs:
        parts = {part["name"]: part for part in run["footprint"]["structures"]}
        if "cached mapping table" in parts and "translation pages" in parts:
            entries = parts["translation pages"]["flash_bytes"] // int(run["parameters"]["mapping_bytes"])
            cache, whole = parts["cached mapping table"]["ram_bytes"], entries * CACHED_ENTRY_BYTES
            if cache > whole:
                sizes.append((run, cache, whole))
    if not sizes:
        return None
    large, cache, whole = max(sizes, key=lambda size: size[1])
    mapping = re.split(r"[:+]", large["stack"])[0]
    return (
        f"The mapping cache is larger than the whole map under {names([run for run, _, _ in sizes])}, so it never "
        f"evicts: {large['label']} has {units.size(cache)} for entries of {units.size(whole)}. Give it less "
        f"(--ftl {mapping}:cmt=SIZE) to measure what a cache of part of the map costs."
    )
