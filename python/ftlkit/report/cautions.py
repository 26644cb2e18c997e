"""What a reader must know before trusting a ranking: things in the results that weaken it."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ftlkit._util import units
from ftlkit._util.lookup import several
from ftlkit.report.drift import enough, has_trend, is_filling, is_in_first_turn, parts, passes
from ftlkit.report.load import arrives_in_steps, is_behind_late, is_overloaded, offered
from ftlkit.report.rules import Rule, Told, listed, say, told
from ftlkit.report.work import COPYING
from ftlkit.results.derived import has_clock, percentile
from ftlkit.results.outcome import Outcome, device_of, simulated_bytes
from ftlkit.study.device_size import preset

if TYPE_CHECKING:
    from ftlkit.results.document import Run

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

FILLING = 1.25
"""Write amplification that ends this many times higher than it began had not settled."""

LAPS = 5
"""A log measured for fewer rounds than this may wear otherwise in the long run.

`a-sast:log_space=0.015` on 64 MiB lives for 1.80 GB: forecast were 7.45, 7.33, 0.96 and 2.02 GB
after 1, 2, 5 and 18 rounds; ranges hold the life from 5 on.
"""

FUTURE = (("victims", "opt"), ("streams", "oracle"))
"""Values of parameters that know the future."""

COMPARED_BYTES = 4096
"""Bytes of the requests under which presets were compared with drives."""

CELLS = {"slc": 1, "mlc": 2, "tlc": 3, "qlc": 4}
"""Bits per cell."""

SUSPENDED = 0.25
"""From this share of the dies' busy time on, stops of programs set the most that is served."""

STEPS = {
    "steady": "--precondition steady, in a study run.precondition",
    "fill": "--precondition fill, in a study run.precondition",
    "slower": "--speedup below 1, in a study workload.speedup",
    "closed": "--loop closed, in a study host.loop",
    "gap": "time=GAP in --columns, in a study workload.columns",
    "verify": "--verify, in a study run.verify",
    "few": f"{FEW_FOR_P99:,}",
}
"""Next steps, which templates name: the option that takes them, and the key of a study."""


def all_cautions(results: Outcome) -> list[Told]:
    """What weakens these results, the gravest first."""
    is_steady = _is_steady(results)
    found = told(CAUTIONS, results, steps(more(results), is_steady=is_steady))
    return [replace(caution, facts={**caution.facts, "is_steady": is_steady}) for caution in found]


def steps(more: str, *, is_steady: bool) -> dict[str, str]:
    """Next steps, which templates name; none prepares a device that is in its steady state."""
    again = f"eplay more requests ({more})"
    prepare = f"R{again}" if is_steady else f"Precondition the device to a steady state ({STEPS['steady']})"
    longer = prepare if is_steady else f"{prepare}, or r{again}"
    return STEPS | {"more": more, "prepare": prepare, "longer": longer}


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


def ranks_by_p99(runs: list[Run]) -> bool:
    """Whether runs have enough requests to be ranked by their 99th percentile."""
    return all(run["response_ns"]["all"]["count"] >= FEW_FOR_P99 for run in runs)


def writes(run: Run) -> bool:
    """Whether a run writes enough for collections to matter."""
    return run["requests"]["write"] >= FEW_WRITES * (run["requests"]["read"] + run["requests"]["write"])


def cheap(results: Outcome) -> list[Run]:
    """Runs that copied hardly anything and whose host wrote less than the device holds.

    Blocks to collect were then blocks that the workload had overwritten whole. A device in its
    steady state may have just such blocks, so runs on one are left out.
    """
    if _is_steady(results):
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
    return run["host_pages_written"] * float(device["geometry"]["page_size_bytes"]) / simulated_bytes(device)


def _moved(run: Run, op: str) -> int:
    """Operations of a kind that collecting, merging and padding asked for."""
    return sum(
        operation["count"] for operation in run["operations"] if operation["cause"] in COPYING and operation["op"] == op
    )


def _is_steady(results: Outcome) -> bool:
    """Whether the devices were prepared so, by the study or as chosen where it left the choice."""
    chosen = results.document.get("precondition_chosen")
    mode = chosen["mode"] if chosen else results.document["study"].get("run", {}).get("precondition", "none")
    return bool(mode == "steady")


def _runs(
    facts_of: Callable[[Run], Any], each: str = "", by: str = ", "
) -> Callable[[Outcome], Mapping[str, Any] | None]:
    """Where a run has such facts: the `names` of those that have, and `each` of them in words."""

    def when(results: Outcome) -> dict[str, str] | None:
        found = [(run["label"], facts) for run in results.document["runs"] if (facts := facts_of(run))]
        texts = [say(each, {"label": label, **facts}) for label, facts in found] if each else []
        return {"names": listed([label for label, _ in found]), "each": by.join(texts)} if found else None

    return when


def _stopped(results: Outcome) -> Mapping[str, Any] | None:
    labels = [ftl.get("label") or ftl["name"] for ftl in results.document["study"].get("ftl", [])]
    missing = [label for label in labels if label not in results.labels]
    tail = f": {', '.join(missing)} did not finish" if missing else ""
    return {"missing": tail} if results.cancelled else None


def _refreshing_over(results: Outcome) -> Mapping[str, Any] | None:
    """Runs whose data decayed in the end, since nothing could be written any more."""
    known = {run["label"]: errors for run in results.document["runs"] if (errors := run.get("bit_errors"))}
    over = {label: errors["uncorrectable_reads"] for label, errors in known.items() if errors["is_refreshing_over"]}
    return {"names": listed([*over]), "reads": sum(over.values())} if over else None


def _unreached(results: Outcome) -> Mapping[str, Any] | None:
    """Collections that were cheap because the run was too short for others."""
    runs = cheap(results)
    each = "{label} copied {programs:count} pages for {erases:count} erases"
    texts = [
        say(each, {"label": run["label"], "programs": _moved(run, "program"), "erases": _moved(run, "erase")})
        for run in runs
    ]
    return {"share": max(_written(results, run) for run in runs), "each": ", ".join(texts)} if runs else None


def _few_for_p99(results: Outcome) -> Mapping[str, Any] | None:
    """Runs whose 99th percentile is one of the longest few responses."""
    counts = [count for run in results.document["runs"] if (count := run["response_ns"]["all"]["count"])]
    fewest = min(counts, default=FEW_FOR_P99)
    above = fewest // 100
    rests = f"rests on the longest {above} of them" if above > 1 else "is about the longest of them"
    return {"requests": several(fewest, "request"), "rests": rests} if fewest < FEW_FOR_P99 else None


def _flushes(results: Outcome) -> Mapping[str, Any] | None:
    """Flushes whose mean times differ by more than the shortest mean response."""
    flush_mean = percentile("flush", "mean")
    runs = [(run["label"], mean) for run in results.document["runs"] if (mean := flush_mean(run)) is not None]
    means = [mean for run in results.document["runs"] if (mean := run["response_ns"]["all"]["mean"]) is not None]
    if not runs or not means or max(time for _, time in runs) - min(time for _, time in runs) <= min(means):
        return None
    return {"each": listed([f"{units.duration(time)} under {label}" for label, time in runs if time])}


def _beyond_compared(results: Outcome) -> Mapping[str, Any] | None:
    """Loads above those at which a preset was compared with its drive, of reads among writes."""
    device = device_of(results.document)
    compared = preset(device["preset"]).get("compared")
    if not compared:
        return None
    each, most = [], 0.0
    for run in filter(writes, results.document["runs"]):
        requests, rate = run["requests"], offered(run) or run["iops"] or 0.0
        per_page = device["geometry"]["page_size_bytes"] / COMPARED_BYTES
        per_page *= rate / max(1, requests["read"] + requests["write"])
        reads, written = per_page * run["host_pages_read"], per_page * run["host_pages_written"]
        times = [reads / compared["reads_per_s"], written / compared["writes_per_s"]]
        if max(times) > 1:
            kinds = [f"{units.rate(reads)} reads", f"{units.rate(written)} writes"]
            beyond = [f" ({units.factor(time)} as many)" if time > 1 else "" for time in times]
            each.append(f"{run['label']} has {' and '.join(map(operator.add, kinds, beyond))}")
            most = max(most, *times)
    if not each:
        return None
    return {"preset": device["preset"], "each": listed(each), "most": most, **compared}


def programmed_at_once(results: Outcome) -> float:
    """Mapping units that a die programs together."""
    device, asked = device_of(results.document), results.document["study"].get("device", {})
    bits = CELLS.get(asked.get("cell", ""), 1) if asked.get("programming") == "one_shot" else 1
    planes = asked.get("planes_per_die", 1) if asked.get("multi_plane") else 1
    return float(max(1.0, bits * planes * asked.get("page_size", 0) / device["geometry"]["page_size_bytes"]))


def suspension_share(results: Outcome, run: Run) -> float:
    """Share of the dies' busy time that programs take beyond their latency: stops for reads."""
    device, asked = device_of(results.document), results.document["study"].get("device", {})
    busy, simulated_ns = run["utilisation"].get("dies"), run["simulated_ns"]
    if asked.get("suspend") not in ("program", "both") or not busy or not simulated_ns:
        return 0.0
    programs = [operation for operation in run["operations"] if operation["op"] == "program"]
    taken = sum(operation["time_ns"] or 0 for operation in programs)
    times = sum(operation["count"] for operation in programs) / programmed_at_once(results)
    needed = times * device["latencies"]["program_ns"]
    dies = device["geometry"]["channels"] * device["geometry"]["dies_per_channel"]
    return float(max(0.0, taken - needed) / (dies * busy * simulated_ns))


def _suspended(results: Outcome) -> Mapping[str, Any] | None:
    """Runs whose dies spend much of their time on stops of programs, which a key sets."""
    shares = [(run["label"], suspension_share(results, run)) for run in results.document["runs"]]
    large = [(label, share) for label, share in shares if share >= SUSPENDED]
    if not large:
        return None
    each = [f"{units.share(share)} under {label}" for label, share in large]
    return {"each": listed(each), "most": max(share for _, share in large)}


def _misaligned(results: Outcome) -> Mapping[str, Any] | None:
    """A trace that an offset would put on the pages of the device."""
    found: Any = results.document["workload"].get("misalignment")
    return found and {**found, "page": device_of(results.document)["geometry"]["page_size_bytes"]}


def _repeated(results: Outcome) -> Mapping[str, Any] | None:
    """A trace with several rows per request."""
    workload, given = results.document["workload"], results.document["study"].get("workload", {})
    repeated: Any = workload.get("repeated")
    if not repeated:
        return None
    if given.get("where") or given.get("blkparse_action", "Q") != "Q":
        way = "Rows were chosen already; those that are left may be requests of their own"
    elif workload["format"] == "blkparse":
        way = "Take one kind of event (--blkparse-action D for dispatched, C for completed), or one process or device"
    else:
        way = "Where a column tells which event a row is of, take one kind (--where, such as --where type=D)"
    return {**repeated, "share": repeated["requests"] / max(1, workload["requests"]), "way": way}


def _ticks(results: Outcome) -> dict[str, Any] | None:
    """Arrivals in steps coarser than responses, whose requests wait for each other."""
    document = results.document
    ticks: Any = document["workload"].get("ticks")
    if ticks is None or not arrives_in_steps(document):
        return None
    # A power of ten from 1 ms to 1 s.
    tick = ticks["tick_ns"]
    step = None if tick is None else "1s" if tick == 1_000_000_000 else f"{tick // 1_000_000}ms"
    compared = ticks.get("compared") or {}
    # Of the whole trace, whatever part of it was served, and how often.
    requests = several(ticks.get("requests", document["workload"]["requests"]), "request")
    happen, effect = "arrive", "they wait for each other"
    if ticks.get("stamps_completions"):
        happen, effect = "complete", f"their arrivals, earlier by the latency, are off by up to {step}"
    return {**compared, **ticks, "requests": requests, "step": step, "happen": happen, "effect": effect}


def _unwritten(results: Outcome) -> dict[str, Any] | None:
    """Reads of pages that hold nothing, which cost nothing."""
    runs = results.document["runs"]
    shares = [share for run in runs if (share := run.get("reads_without_flash") or 0.0) >= UNWRITTEN]
    if not shares:
        return None
    lowest, highest = (units.share(end(shares)) for end in (min, max))
    filled, trims = all(run["precondition"] for run in runs), any(run["requests"]["trim"] for run in runs)
    held = "had been trimmed" if filled and trims else "had never been written"
    largely = ": read times are largely those of an empty device"
    hardly = ": such reads take hardly any time"
    effect = largely if max(shares) >= LARGELY else hardly
    return {
        "span": lowest if lowest == highest else f"{lowest} to {highest}",
        "held": f"{held} or had been trimmed" if trims and not filled else held,
        "effect": effect if any(map(has_clock, runs)) else "",
        "way": "" if filled else f" Fill the device first ({STEPS['fill']}).",
    }


def _untouched(results: Outcome) -> Mapping[str, Any] | None:
    """Data that the preparation wrote, and the workload leaves as they are.

    A generated workload reaches all of its span, however few requests of it were replayed.
    """
    chosen: Mapping[str, Any] = results.document.get("precondition_chosen") or {}
    live, touched = chosen.get("live_pages"), chosen.get("touched_pages")
    if not live or touched is None or not any(writes(run) for run in results.document["runs"]):
        return None
    device = device_of(results.document)
    span = results.document["study"].get("workload", {}).get("generator", {}).get("span", 0)
    touched = max(touched, span / device["geometry"]["page_size_bytes"])
    full = live * device["geometry"]["page_size_bytes"] / simulated_bytes(device)
    share = f"{math.ceil(100 * full * touched / live)}%"
    return {"full": full, "untouched": 1 - touched / live, "share": share} if 1 - touched / live > UNTOUCHED else None


def _laps(results: Outcome) -> Mapping[str, Any] | None:
    """Lives of logs whose writes went round too few times while they were measured."""
    generator = results.document["study"].get("workload", {}).get("generator", {})
    if generator.get("pattern") != "sequential" or not generator.get("span"):
        return None
    runs = [run for run in results.document["runs"] if (life := run.get("endurance")) and life["spares_gone"]]
    short = [run for run in runs if run["host_written_bytes"] < LAPS * generator["span"]]
    if not short:
        return None
    laps = max(run["host_written_bytes"] for run in short) / generator["span"]
    return {"names": names(short), "laps": laps, "span": generator["span"]}


def _rising(run: Run) -> Mapping[str, float] | None:
    """A device measured before its steady state: the longer the run, the worse the mean."""
    part = parts(run)
    return {"first": part[0], "last": part[-1]} if part and part[-1] > FILLING * part[0] else None


def _drifting(results: Outcome) -> Mapping[str, Any] | None:
    """Runs whose write amplification had not settled, rising or falling, but those of `_rising`.

    Of less than a pass in a steady state the fifths differ by chance, too: `_under_a_pass`.
    """
    runs = [run for run in results.document["runs"] if has_trend(parts(run)) and writes(run) and not _rising(run)]
    runs = [run for run in runs if not (_is_steady(results) and passes(results, run) < 1)]
    each = [f"{run['label']} from {units.digits(parts(run)[0])} to {units.digits(parts(run)[-1])}" for run in runs]
    return {"each": listed(each), "enough": max(enough(results, run) for run in runs)} if runs else None


def _under_a_pass(results: Outcome) -> Mapping[str, Any] | None:
    """Runs on a device in its steady state that wrote less than the workload has of data."""
    if not _is_steady(results):
        return None
    short = [(run, share) for run in results.document["runs"] if writes(run) and (share := passes(results, run)) < 1]
    each = [f"{units.share(share)} under {run['label']}" for run, share in short]
    return {"each": listed(each), "enough": max(enough(results, run) for run, _ in short)} if short else None


def _still_filling(results: Outcome) -> Mapping[str, Any] | None:
    """Runs that had blocks left which were never used, though they collected some."""
    cheaply = cheap(results)
    runs = [
        run
        for run in results.document["runs"]
        if writes(run) and run["erases"]["total"] and run not in cheaply
        if is_in_first_turn(run) or (run["precondition"] is None and is_filling(results, run))
    ]
    each = [f"{units.plain(run['erases']['mean'])} erases per block under {run['label']}" for run in runs]
    return {"each": listed(each), "enough": max(enough(results, run) for run in runs)} if runs else None


def _few(results: Outcome) -> Mapping[str, Any] | None:
    requests = results.document["workload"]["requests"]
    is_few = requests < FEW_REQUESTS and ranks_by_p99(results.document["runs"])
    return {"replayed": f"{several(requests, 'request')} {'was' if requests == 1 else 'were'}"} if is_few else None


def _cached_whole(results: Outcome) -> Mapping[str, Any] | None:
    """Caches of single entries that are larger than the map whose entries they hold."""
    sizes = []
    for run in results.document["runs"]:
        parts = {part["name"]: part for part in run["footprint"]["structures"]}
        if "cached mapping table" in parts and "translation pages" in parts:
            entries = parts["translation pages"]["flash_bytes"] // int(run["parameters"]["mapping_bytes"])
            cache, whole = parts["cached mapping table"]["ram_bytes"], entries * CACHED_ENTRY_BYTES
            if cache > whole:
                sizes.append((run, cache, whole))
    if not sizes:
        return None
    large, cache, whole = max(sizes, key=lambda size: size[1])
    under = names([run for run, _, _ in sizes])
    mapping = re.split(r"[:+]", large["stack"])[0]
    return {"names": under, "label": large["label"], "cache": cache, "whole": whole, "mapping": mapping}


_BEHIND, _LATE = _runs(is_overloaded), _runs(is_behind_late)
_IN_STEPS = (
    "{shared:count} of the trace's {requests} {happen} with the one before, since its times are in steps of {step}: "
    "{effect}."
)

_COMPARED = (
    "{preset} was compared with its drive up to {reads_per_s:rate} reads and {writes_per_s:rate} writes of 4 KiB per "
    "second"
)

CAUTIONS: tuple[Rule[Outcome], ...] = (
    Rule("stopped", _stopped, "The study was stopped before its end{missing}."),
    Rule(
        "worn_out",
        _runs(lambda run: run["end_of_life"], "{label} at request {request:count} ({message})", "; "),
        "The device wore out before the workload ended: {each}. Figures are of the requests before.",
        of_many="The device wore out before the workload ended, so figures are of the requests before",
    ),
    Rule(
        "refreshing_over",
        _refreshing_over,
        "Under {names} refresh ended before the workload, since no spare block was left or no block could be "
        "moved; {reads:count} page reads were uncorrectable.",
        "Give the device more spare blocks, or read less.",
        "Refresh ended before the workload, since no spare block was left or no block could be moved, so reads "
        "became uncorrectable. Give the device more spare blocks",
    ),
    Rule(
        "unchecked",
        # One that returns nothing is a fast one.
        _runs(lambda run: run["family"] == "python" and not run.get("proved")),
        "Reads of {names} were not checked, and wrong data may be fast.",
        "Compare every read with the last write ({verify}).",
        "Reads of FTLs in Python were not checked, and wrong data may be fast ({verify})",
    ),
    Rule(
        "overloaded",
        lambda results: None if results.document["workload"]["duration_ns"] else _BEHIND(results),
        "All requests arrive at once, so response times only reflect their number.",
        "Use a closed loop ({closed}).",
    ),
    Rule(
        "overloaded",
        lambda results: late if (late := _LATE(results)) == _BEHIND(results) else None,
        "{names} fell behind in the second half of the requests alone, whose arrivals are denser or costlier than the "
        "mean: response times reflect the length of that part as much as the scheme.",
        "Lower the load ({slower}), use a closed loop ({closed}), or measure the parts on their own.",
    ),
    Rule(
        "overloaded",
        _BEHIND,
        "Offered load exceeds the throughput of {names}, so queues grow until the end: response times reflect the "
        "trace's length as much as the scheme.",
        "Lower the load ({slower}), or use a closed loop ({closed}).",
        "Offered load exceeds throughput, so response times reflect the trace's length. Lower the load "
        "({slower}), or use a closed loop ({closed})",
    ),
    Rule(
        "flushes",
        _flushes,
        "Response times leave out flushes, which take {each} on average.",
        of_many="Response times leave out flushes, whose times differ (flush_mean_ns)",
    ),
    Rule(
        "beyond_compared",
        _beyond_compared,
        f"{_COMPARED}, but {{each}}. {{beyond}}. Figures of this load were compared with no drive.",
        of_many=f"{_COMPARED}, and these have up to {{most:factor}} as many. {{beyond}}",
    ),
    Rule(
        "suspended",
        _suspended,
        "Programs that stop for reads and go on take {each} of the dies' busy time beyond their latency: "
        "suspend_latency and resume_latency set the most that the device serves.",
        of_many="Programs that stop for reads and go on take up to {most:share} of the dies' busy time: "
        "suspend_latency and resume_latency set the most that the device serves",
    ),
    Rule(
        "collections_not_reached",
        _unreached,
        "While measuring, the host wrote {share:share} of the device's logical pages, and GC and merges "
        "copied hardly anything ({each}): their steady-state cost was not measured, and the ranking may change "
        "there.",
        "Precondition the device to a steady state ({steady}), or replay more requests ({more}).",
        "The host wrote less than the device holds, and collecting copied hardly anything: its cost in a steady state "
        "was not measured. Take a device in a steady state ({steady}), or replay more requests ({more})",
    ),
    Rule(
        "few_for_p99",
        _few_for_p99,
        "Response times are of {requests}: the 99th percentile {rests}, and nothing is ranked by it.",
        "Replay {few} requests or more ({more}).",
        "Response times are of fewer than {few} requests, so the 99th percentile is one of the longest few",
    ),
    Rule(
        "misaligned",
        _misaligned,
        "{aligned:share} of the requests start and end on the device's pages of {page:size}; with align_offset = "
        "{align_offset_bytes} (--align-offset {align_offset_bytes}) {aligned_with_offset:share} do. Partial "
        "page writes cost more under every FTL.",
        of_many="Most requests are off the device's page grid, and one offset would put them on it: see `ftlkit trace "
        "info`, and set align_offset",
    ),
    Rule(
        "repeated",
        _repeated,
        "{requests:count} rows ({share:share}) repeat another row within {within_ns:duration}: the trace may "
        "have several rows per request, each served as a request.",
        "{way}.",
        "Many rows of the trace repeat a row just before, like several events of one request; "
        "set blkparse_action or where",
    ),
    Rule(
        "ticks",
        lambda results: facts if (facts := _ticks(results)) and not facts["step"] else None,
        "All {requests} have one time in the trace, so they arrive as one burst and wait for each other: response "
        "times only reflect the trace's length.",
        "Give times ({gap}), or use a closed loop ({closed}).",
    ),
    Rule(
        "ticks",
        lambda results: facts if (facts := _ticks(results)) and not facts.get("compared") else None,
        _IN_STEPS,
        "Spread the requests of a step evenly over it (--tick {step}, in a study workload.tick).",
    ),
    Rule(
        "ticks",
        _ticks,
        _IN_STEPS,
        "The mean response of {label} is {recorded_mean_ns:duration} as recorded, and {spread_mean_ns:duration} with "
        "the requests of a step spread evenly over it (--tick {step}, in a study workload.tick).",
        "The trace's times are in coarse steps, or all one, and requests of a time wait for each other: see `ftlkit "
        "trace info`, and set tick, columns or a closed loop",
    ),
    Rule(
        "shared_streams",
        _runs(
            lambda run: (count := run["notes"].get("shared_streams")) and {"count": count},
            "{count:count} under {label}",
        ),
        "Writes named streams beyond hint_streams, and shared the last stream: {each}.",
        "Raise hint_streams above the highest number (`ftlkit trace info` lists them), or number the streams from 1.",
        "Writes named streams beyond hint_streams, and shared the last stream: raise hint_streams, or number the "
        "streams from 1",
    ),
    Rule(
        "unwritten",
        _unwritten,
        "{span} of page reads found a page that {held}, and read no flash{effect}.{way}",
        of_many="Reads found pages that had never been written, or had been trimmed, and cost nothing. Against the "
        "first, fill the device ({fill})",
    ),
    Rule(
        "untouched",
        _untouched,
        "The preparation filled {full:share} of the device, and the requests replayed never touch {untouched:share} "
        "of these data; they make GC cost more than on a device with more room.",
        "If the drive really holds no more, set the share in use (--in-use {share}, in a study run.in_use).",
        "The requests replayed leave more than a twentieth of the prepared data untouched, which makes GC cost more "
        "than on a device with more room. If the drive really holds no more, set the share in use (--in-use, "
        "in a study run.in_use)",
    ),
    Rule(
        "laps",
        _laps,
        "Lives of {names} rest on writes in order that went round {laps:digits} times in {span:size}: wear of later "
        "rounds may be less even.",
        "Replay more requests ({more}).",
        "Lives rest on writes in order that went round less than five times, and wear of later rounds may be less "
        "even: replay more requests (--requests)",
    ),
    Rule(
        "rising",
        _runs(_rising, "{label} from {first:digits} to {last:digits}"),
        "Write amplification rose during the run ({each}): means depend on how long the run was.",
        "{longer} to measure lasting figures.",
        "Write amplification was higher in the last fifth of the run than in the first, so means depend on its "
        "length. {longer}",
    ),
    Rule(
        "drifting",
        _drifting,
        "Write amplification was still changing ({each}): means, lives and their ranges depend on how long the run "
        "was.",
        "Replay about {enough:count} requests ({more}).",
    ),
    Rule(
        "drifting",
        _still_filling,
        "The device was still filling ({each}): write amplification and lives of a longer run may differ.",
        "{longer}, about {enough:count}.",
        "Write amplification was still changing: means, lives and their ranges depend on how long the run was. Replay "
        "about {enough:count} requests ({more})",
    ),
    Rule(
        "under_a_pass",
        _under_a_pass,
        "The host wrote less than one pass of its data ({each}): write amplification and lives of a longer run may "
        "differ.",
        "Replay about {enough:count} requests ({more}).",
        "The host wrote less than one pass of its data: write amplification and lives of a longer run may differ. "
        "Replay about {enough:count} requests ({more})",
    ),
    Rule(
        "few_requests",
        _few,
        "Only {replayed} replayed: percentiles beyond the 99th rest on a handful of them.",
        of_many="Few requests were replayed: percentiles beyond the 99th rest on a handful of them",
    ),
    Rule(
        "nothing_erased",
        _runs(lambda run: not run["erases"]["total"] and writes(run)),
        "No block was erased under {names}, so garbage collection was not tested.",
        "{prepare}, or give the device less capacity (--capacity).",
        "No block was erased, so garbage collection, write amplification and endurance were not tested. "
        "{prepare}, or give it less capacity (--capacity)",
    ),
    Rule(
        "unsettled",
        _runs(lambda run: run["precondition"] and run["precondition"]["settled"] is False),
        "Write amplification had not settled under {names} when measuring began: a steady state may differ.",
        of_many="Write amplification had not settled when measuring began: a steady state may differ",
    ),
    Rule(
        "future",
        _runs(lambda run: {*FUTURE} & {*run["parameters"].items()}),
        "{names} decides by what the host will ask, which no controller knows.",
        of_many="A controller does not know what the host will ask, by which these points decide",
    ),
    Rule(
        "cached_whole",
        _cached_whole,
        "The mapping cache is larger than the whole map under {names}, so it never evicts: {label} has {cache:size} "
        "for entries of {whole:size}.",
        "Give it less (--ftl {mapping}:cmt=SIZE) to measure a partial cache.",
        "The mapping cache is larger than the whole map, so it never evicts: vary sizes below that",
    ),
)
"""The gravest first."""
