"""Every metric of a run, in one table: name, meaning, unit, type, source, better direction.

The table feeds the frame `Results.runs` (and so `--csv` and `--parquet`), the tables of terminal
and report, the verdict's criteria, the measures of reproductions, and the page docs/columns.md. A
test compares it with the results that the simulator writes: a key that is neither the source of a
metric nor one of `PARTS` fails there.
"""

from __future__ import annotations

from ftlkit.results import columns, reproductions
from ftlkit.results.columns import TAIL
from ftlkit.results.metric import HIGHER, LOWER, Metric

__all__ = ["COLUMNS", "HIGHER", "LOWER", "METRICS", "PARTS", "TAIL", "Metric"]

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*columns.ROWS, *reproductions.ROWS)}
"""All metrics by name; the columns of `Results.runs` first and in their order."""

COLUMNS: dict[str, Metric] = {name: metric for name, metric in METRICS.items() if metric.is_column}
"""Those that are columns of `Results.runs`."""

PARTS: dict[str, str] = {
    "operations": "`Results.operations`",
    "waiting_ns": "`Results.waiting`; by request with `--requests-out`",
    "bus_waiting_ns": "`Results.waiting`",
    "service_ns": "`Results.waiting`; by request with `--requests-out`",
    "load": "`offered_iops`, `bottleneck_iops`, `utilisation_max`, `outlasts_arrivals_ns`, `is_overloaded`",
    "skipped_requests": "the study's `run.skip`",
    "cdf": "`Results.cdf`",
    "classes": "`Results.classes` and `Results.class_cdf`",
    "timeline": "`Results.timeline`",
    "series": "`Results.series`",
    "erases.histogram": "`Results.erases`",
    "wear_map": "`Results.wear_map`",
    "response_ns": "the columns whose names begin with `response_`, `read_` and `write_`",
    "requests": "`requests`; by kind in the JSON",
    "parameters": "`parameters`",
    "merges": "`merges`, `merges_switch`, `merges_partial`, `merges_full`",
    "footprint.structures": "the report's table *Memory of the mappings*",
    "notes": "`notes.NAME` in reproductions",
    "gauges": "`gauges.NAME` in reproductions; over time in `Results.series`",
    "end_of_life": "`end_of_life_request`; in the device's own words in the verdict",
    "endurance": "the columns that begin with `first_block_` and `life_`; why nothing is forecast, in the verdict",
    "precondition": "how the device was prepared; the verdict's cautions",
    "mount": "`mount_reads`, `mount_time_ns`; programs and erases in the JSON",
    "seed": "the study's seed",
}
"""Keys of a run with several numbers, or none to compare, and where those are shown."""
