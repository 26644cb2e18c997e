"""Numbers of a run that its saved results do not hold as they stand, but from which they follow.

Each function takes the run as saved and returns a number, or null where there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ftlkit._native import UserError

if TYPE_CHECKING:
    from ftlkit.results.document import ClassLatency, Responses, Run, StreamFacts

CLASSES: dict[str, str] = {
    "host_read": "host read",
    "host_write": "host write",
    "mapping_read": "mapping read",
    "mapping_write": "mapping write",
    "collection": "collection",
    "other": "other",
}
"""Classes of flash operations, in the order in which they are shown, with their names in words."""


def parameters(run: Run) -> str:
    """The translation layer's parameters as `key=value`, by spaces."""
    return " ".join(f"{key}={value}" for key, value in run["parameters"].items())


def requests(run: Run) -> int:
    """Requests of all kinds."""
    return sum(run["requests"].values())


def served(run: Run, kind: str) -> Responses | None:
    """The response times of all reads and writes, of reads, of writes, or of flushes, if known."""
    return run.get("flush_ns") if kind == "flush" else run["response_ns"].get(kind)


def percentile(kind: str, name: str) -> Callable[[Run], float | None]:
    """A figure of the response times of such requests; null where there are none."""

    def found(run: Run) -> float | None:
        times = served(run, kind)
        value: float | None = times.get(name) if times and times["count"] else None  # type: ignore[assignment] # by name
        return value

    return found


def mean_with_flushes(run: Run) -> float:
    """The mean response time, with that of flushes added to the requests that they follow."""
    times, flushes = run["response_ns"]["all"], served(run, "flush")
    mean = times["mean"] or 0.0
    return mean + (flushes["mean"] or 0.0) * flushes["count"] / max(1, times["count"]) if flushes else mean


def operations(op: str) -> Callable[[Run], int]:
    """Flash operations of a kind, whatever their cause."""
    return lambda run: sum(operation["count"] for operation in run["operations"] if operation["op"] == op)


def caused(run: Run, cause: str, op: str) -> int:
    """Flash operations of a kind that were done for a cause."""
    return sum(
        operation["count"] for operation in run["operations"] if (operation["cause"], operation["op"]) == (cause, op)
    )


def wrong_prediction_share(run: Run) -> float | None:
    """Share of the host's flash reads that a learned map predicted wrongly; null without any."""
    right, wrong = (run["notes"].get(f"{kind}_predictions", 0) for kind in ("right", "wrong"))
    return wrong / (right + wrong) if right + wrong else None


def cached_pages(run: Run) -> int:
    """Pages that the host wrote to blocks in pSLC mode."""
    return run["notes"].get("cached_pages", 0)


def cached_share(run: Run) -> float | None:
    """Share of the host's pages that went to blocks in pSLC mode; null without writes."""
    written = run["host_pages_written"]
    return cached_pages(run) / written if written else None


def media_written_bytes(run: Run) -> int | None:
    """Bytes programmed for any cause; null without host writes."""
    written, amplification = run.get("host_written_bytes"), run["write_amplification"]
    return None if written is None or amplification is None else round(written * amplification)


def moved_pages(stream: StreamFacts) -> int:
    """Moves of pages that the host had last written to a stream."""
    return sum(stream["moved_for"])


def stream_amplification(stream: StreamFacts) -> float | None:
    """Page write amplification of a stream: its host pages and their moves ÷ the former."""
    written = stream["host_pages"]
    return (written + moved_pages(stream)) / written if written else None


def folded_pages(run: Run) -> int:
    """Pages that folds moved from blocks in pSLC mode to native ones."""
    return caused(run, "fold", "program")


def page_operations(run: Run) -> float:
    """Pages read and programmed in flash, without those of preparing the device."""
    return float(
        sum(
            operation["count"]
            for operation in run["operations"]
            if operation["op"] != "erase" and operation["cause"] != "precondition"
        )
    )


_LEARNED = ("learned segments", "conflict-resolution buffers", "group directory")

MAPS = ("page map", "block map", "log map", "global mapping table", "translation pages", *_LEARNED)
"""Structures of a footprint that say where data lie; all others find or cache these."""


def mapping_table_bytes(run: Run) -> float:
    """The whole mapping table; one by page and by block in proportion to its logical blocks."""
    sizes = {
        structure["name"]: structure["ram_bytes"] + structure["flash_bytes"]
        for structure in run["footprint"]["structures"]
    }
    by_page = float(run["gauges"].get("pmb_share", 1.0))
    return sum(sizes.get(name, 0) * (by_page if name == "translation pages" else 1.0) for name in MAPS)


def time_by_cause(run: Run) -> dict[str, int]:
    """Flash time by cause, in nanoseconds, without that of preparing the device."""
    times: dict[str, int] = {}
    for operation in run["operations"]:
        if operation["cause"] != "precondition" and operation["time_ns"] is not None:
            times[operation["cause"]] = times.get(operation["cause"], 0) + operation["time_ns"]
    return times


def has_clock(run: Run) -> bool:
    """Whether a run kept time."""
    return run["simulated_ns"] is not None


def require_clock(run: Run) -> None:
    """Refuse a figure of time of a run without a clock."""
    if not has_clock(run):
        raise UserError(f"{run['label']}: it has no clock, and so no times; set run.clock = true in the study.")


def flash_time_s(run: Run) -> float:
    """Flash time of all causes but preparation, in seconds."""
    require_clock(run)
    return sum(time_by_cause(run).values()) / 1e9


def flash_time_ns(run: Run) -> int | None:
    """Flash time of all causes but preparation; null without a clock."""
    return sum(time_by_cause(run).values()) if has_clock(run) else None


def flash_time_per_request_ns(run: Run) -> float | None:
    """Flash time of all causes, a read or write that was served; null without a clock."""
    served, whole = run["requests"]["read"] + run["requests"]["write"], flash_time_ns(run)
    return whole / served if served and whole is not None else None


def waiting(run: Run) -> dict[tuple[str, str], float]:
    """Mean nanoseconds a request by part of its response time; empty where that was not measured.

    Parts are (`waiting`, the cause of what was waited for) and (`service`, the cause of the
    request's own operations).
    """
    parts = (("waiting", run.get("waiting_ns")), ("service", run.get("service_ns")))
    return {(kind, cause): time for kind, times in parts for cause, time in (times or {}).items()}


_LEVELLING = "wear_levelling"


def levelling(op: str) -> Callable[[Run], int]:
    """Flash operations of a kind that wear levelling asked for."""
    return lambda run: caused(run, _LEVELLING, op)


def padding(op: str) -> Callable[[Run], int]:
    """Flash operations of a kind that completed blocks for a write buffer."""
    return lambda run: caused(run, "padding", op)


def levelling_time_ns(run: Run) -> int | None:
    """Flash time of what wear levelling asked for; null without a clock."""
    return time_by_cause(run).get(_LEVELLING, 0) if has_clock(run) else None


def levelling_time_share(run: Run) -> float | None:
    """The same, of all flash time but that of preparation."""
    whole = flash_time_ns(run)
    return time_by_cause(run).get(_LEVELLING, 0) / whole if whole else None


def refresh_programs(run: Run) -> int:
    """Pages programmed to refresh blocks."""
    return caused(run, "refresh", "program")


def retried_reads_share(run: Run) -> float | None:
    """Share of the pages read in flash that took a retry or more."""
    facts = run.get("bit_errors")
    counts = facts["reads_by_retries"] if facts else []
    return 1 - counts[0] / sum(counts) if sum(counts) else None


def merges(run: Run) -> int | None:
    """Merges of all kinds; null for a scheme that merges without a log over data blocks."""
    counts = run["merges"]
    done = counts["switch"] + counts["partial"] + counts["full"]
    has_merged = any(operation["cause"] == "merge" for operation in run["operations"])
    return None if not done and has_merged else done


def merge_cost_ms(run: Run) -> float:
    """Flash time of merges for each log block that left the log, in milliseconds."""
    require_clock(run)
    return time_by_cause(run).get("merge", 0) / 1e6 / max(run["notes"]["log_victims"], 1)


def merge_allocation_share(run: Run) -> float:
    """Share of full merges in the blocks taken for merges or new logical blocks."""
    merges, new = (run["notes"][note] for note in ("full_merges", "new_data_blocks"))
    return merges / max(merges + new, 1)


def sequential_share(run: Run) -> float:
    """Of the pages that a detector sorted, those that it found sequential."""
    sequential, random = (run["notes"][f"{order}_pages"] for order in ("sequential", "random"))
    return sequential / max(sequential + random, 1.0)


def prediction_hit_ratio(run: Run) -> float:
    """Of the pages that adapt moved on and whose fate is known, those written; 0 without any."""
    hits, misses = (run["gauges"].get(f"prediction_{kind}", 0.0) for kind in ("hits", "misses"))
    return hits / max(hits + misses, 1.0)


def decision_hit_ratio(run: Run) -> float:
    """Of the pages that adapt moved on or merged, those predicted rightly; 0 without any."""
    hits, misses = (run["gauges"].get(f"prediction_{kind}", 0.0) for kind in ("hits", "misses"))
    merged, rewritten = (run["gauges"].get(name, 0.0) for name in ("merge_decisions", "merged_and_rewritten"))
    return (hits + merged - rewritten) / max(hits + misses + merged, 1.0)


def latencies(run: Run, name: str) -> ClassLatency:
    """Latencies of a class of flash operations."""
    require_clock(run)
    matching = [latency for latency in run["classes"] or [] if latency["name"] == name]
    if not matching:
        raise UserError(f"{run['label']}: there are no latencies of {name}; set run.classes = true in the study.")
    return matching[0]


def latency_us(run: Run, name: str) -> float:
    """Mean time of a class's flash operation from ready to done, in microseconds."""
    latency = latencies(run, name)
    return ((latency["waiting_ns"]["mean"] or 0.0) + (latency["service_ns"]["mean"] or 0.0)) / 1e3


def lookup_us(run: Run) -> float:
    """Mean time of a map look-up in microseconds; copies written side by side count as one."""
    reads, writes = caused(run, "mapping", "read"), caused(run, "mapping", "program")
    copies = int(run["parameters"].get("replicas", 0)) + 1
    time = reads * latency_us(run, "mapping_read") + writes / copies * latency_us(run, "mapping_write")
    return time / max(run["notes"]["mapping_hits"] + run["notes"]["mapping_misses"], 1)


def collection_operations(run: Run) -> int:
    """Pages read and programmed by collections, those of the map included."""
    causes = ("collection", "mapping_collection")
    return sum(caused(run, cause, op) for cause in causes for op in ("read", "program"))


def microseconds(kind: str) -> Callable[[Run], float]:
    """Mean response of a kind of requests in microseconds; 0 without any."""

    def found(run: Run) -> float:
        require_clock(run)
        return (run["response_ns"][kind]["mean"] or 0.0) / 1e3

    return found


def erases_cv(run: Run) -> float | None:
    """Coefficient of variation of the blocks' erase counts; null without erases."""
    wear = run["erases"]
    return wear["std"] / wear["mean"] if wear["mean"] else None


def buffer_ram(run: Run) -> int:
    """RAM that the write buffer takes, in bytes; 0 without one."""
    return _ram_of("write buffer", run) or 0


def program_buffer(run: Run) -> int | None:
    """RAM for units that wait until they are programmed with others; null where none does."""
    return _ram_of("program buffer", run)


def _ram_of(name: str, run: Run) -> int | None:
    """RAM of a structure by its name; null without such a one."""
    sizes = [part["ram_bytes"] for part in run["footprint"]["structures"] if part["name"] == name]
    return sum(sizes) if sizes else None
