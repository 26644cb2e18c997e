"""What the workloads of a study can show: the locality of their writes.

Logs are made for pages that are rewritten while they hold them, and block maps for pages written in
runs. A claim `needs` the share that equals its paper's effect: a convention, and no measured bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit._util import Json, units
from ftlkit._util.progress import Silent, Watcher
from ftlkit.api.traces import trace_info
from ftlkit.reproduce.claims import SHARES
from ftlkit.reproduce.runs import planned, study_of

if TYPE_CHECKING:
    from ftlkit.reproduce.plan import Plan

REQUESTS = 250_000
"""Requests that are looked over, from the first: a second of one core."""

WINDOWS = {"rewritten_soon": 2 << 20, "rewritten": 128 << 20, "runs": 128 << 20, "hot": 128 << 20}
"""The window of each share, bytes written: reuse in a small buffer, and in a log's round."""

COLUMNS = {"rewritten_soon": "rewritten", "rewritten": "rewritten", "runs": "run_page", "hot": "top"}
"""Their columns among the statistics of locality."""


@dataclass(frozen=True)
class Shown:
    """What a workload can show: shares of its written pages, by the names of `SHARES`."""

    workload: str
    requests: int
    shares: dict[str, float]


def shown(plan: Plan, watch: Callable[[], Watcher] = Silent) -> list[Shown]:
    """The workloads of a study, each at its longest; not those of files or without writes."""
    longest: dict[str, Json] = {}
    for _, workload, (point, *_) in planned(plan):
        study, files = study_of(plan, workload, point)
        own: Json = study["workload"]
        if point.seed == 0 and own and not files:
            known = longest.get(point.workload, own)
            longest[point.workload] = max(known, own, key=_requests)
    return list(_shown(longest, watch))


def _requests(workload: Json) -> int:
    """The requests of a workload that are looked over; of a recorded trace the most."""
    asked = workload.get("requests") or workload.get("generator", {}).get("requests", REQUESTS)
    return min(int(asked), REQUESTS)


def _shown(workloads: dict[str, Json], watch: Callable[[], Watcher]) -> Iterator[Shown]:
    for name, workload in workloads.items():
        statistics = trace_info(workload | {"requests": _requests(workload)}, watcher=watch())["statistics"]
        locality, total = statistics["locality"], statistics["total"]
        if not locality:
            continue
        rows = {row["pages"] * locality["page_bytes"]: row for row in locality["windows"]}
        all_written = rows[max(rows)]
        shares = {
            share: rows.get(window, all_written)[f"{COLUMNS[share]}_percent"] / 100 for share, window in WINDOWS.items()
        }
        shares["touched"] = all_written["logical_blocks"] * locality["block_bytes"] / (1e9 * total["span_gb"])
        yield Shown(name, total["requests"], shares)


def lacking(plan: Plan, workloads: list[Shown]) -> list[str]:
    """What claims need and a workload that they are judged on lacks, a sentence each."""
    points = [point for _, _, group in planned(plan) for point in group]
    lacks = []
    for claim in (claim for claim in plan.claims if claim.needs):
        used = {point.workload for point in points if claim.uses(point)}
        for one, (share, least) in itertools.product(workloads, claim.needs.items()):
            if one.workload in used and one.shares[share] < least:
                has, needs = units.share(one.shares[share]), units.share(least)
                lacks.append(f"{claim.id}: {one.workload} has {has} {SHARES[share]}; the claim needs {needs}.")
    return lacks
