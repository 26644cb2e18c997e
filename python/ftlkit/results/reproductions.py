"""Metrics that reproductions of papers measure besides the columns of `Results.runs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ftlkit.results import derived
from ftlkit.results.metric import LOWER, Metric

if TYPE_CHECKING:
    from ftlkit.results.document import Run


def _of_reproductions(
    name: str, meaning: str, unit: str, source: str, compute: Callable[[Run], float], better: str = LOWER
) -> Metric:
    return Metric(name, meaning, unit, float, source, better, compute=compute, is_column=False)


ROWS = (
    _of_reproductions(
        "flash_time_s",
        "flash time, without preparation",
        "s",
        "operations",
        derived.flash_time_s,
    ),
    _of_reproductions(
        "log_victims",
        "log blocks that left the log",
        "blocks",
        "notes",
        lambda run: run["notes"]["log_victims"],
    ),
    _of_reproductions(
        "merge_allocation_share",
        "share of blocks taken for data that are for full merges",
        "share",
        "notes",
        derived.merge_allocation_share,
        "",
    ),
    _of_reproductions(
        "merge_cost_ms",
        "flash time of merges per leaving log block",
        "ms",
        "operations, notes",
        derived.merge_cost_ms,
    ),
    *(
        _of_reproductions(
            f"mean_{word}response_us",
            f"mean response time of {requests}; 0 without any",
            "µs",
            f"response_ns.{kind}.mean",
            derived.microseconds(kind),
        )
        for word, kind, requests in (
            ("", "all", "reads and writes"),
            ("read_", "read", "reads"),
            ("write_", "write", "writes"),
        )
    ),
    _of_reproductions(
        "moved_pages",
        "pages programmed by collections of data",
        "pages",
        "operations",
        lambda run: derived.caused(run, "collection", "program"),
    ),
    _of_reproductions(
        "collection_operations",
        "pages read and programmed by collections, those of the map included",
        "pages",
        "operations",
        derived.collection_operations,
    ),
    _of_reproductions(
        "page_operations",
        "pages read and programmed in flash, for any cause but preparation",
        "pages",
        "operations",
        derived.page_operations,
    ),
    _of_reproductions(
        "mapping_table_bytes",
        "the whole mapping table wherever it lies, without caches and directories; unmapped logical blocks count as "
        "mapped by page as often as the mapped ones",
        "B",
        "footprint.structures, gauges",
        derived.mapping_table_bytes,
    ),
    _of_reproductions(
        "sequential_share",
        "of the pages that the detector of bdb sorted, those that it found sequential",
        "share",
        "notes",
        derived.sequential_share,
        "",
    ),
    _of_reproductions(
        "prediction_hit_ratio",
        "of the pages that adapt moved on because of a recent request, those that the host wrote before they came "
        "around again or were merged; 0 without any",
        "share",
        "gauges",
        derived.prediction_hit_ratio,
        "",
    ),
    _of_reproductions(
        "decision_hit_ratio",
        "the same of all pages that adapt decided on, merged ones being right if the host did not write them within "
        "one round of the log; 0 without any",
        "share",
        "gauges",
        derived.decision_hit_ratio,
        "",
    ),
    _of_reproductions(
        "mapping_miss_ratio",
        "share of mapping lookups that were not answered from RAM",
        "share",
        "mapping_hit_ratio",
        lambda run: 1.0 - (run["mapping_hit_ratio"] or 0.0),
    ),
    *(
        _of_reproductions(
            f"mapping_{op}_us",
            f"mean time of a flash {op} of the map, waiting included; needs `run.classes`",
            "µs",
            "classes",
            lambda run, op=op: derived.latency_us(run, f"mapping_{op}"),  # type: ignore[misc] # the loop's op
        )
        for op in ("read", "write")
    ),
    _of_reproductions(
        "mapping_writes",
        "translation pages programmed for the host",
        "pages",
        "operations",
        lambda run: derived.caused(run, "mapping", "program"),
    ),
    _of_reproductions(
        "mapping_programs",
        "the same and those that collections program",
        "pages",
        "operations",
        lambda run: sum(derived.caused(run, cause, "program") for cause in ("mapping", "mapping_collection")),
    ),
    _of_reproductions(
        "lookup_us",
        "mean time of a lookup in the map, where copies written side by side count as one; needs `run.classes`",
        "µs",
        "operations, classes, notes",
        derived.lookup_us,
    ),
)
