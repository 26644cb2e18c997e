"""Responses with the requests of a coarse tick spread inside it, beside those as recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ftlkit._util import Json
from ftlkit.report.load import arrives_in_steps

if TYPE_CHECKING:
    from ftlkit.results.document import Document

COMPARED = 20_000
"""Requests that are served both ways, at most: seconds of work at the usual rate."""
PREPARED = 10_000_000
"""Pages that a preparation may write before each of them, at most: about a second."""


def compare(study: Json, document: Document, serve: Callable[[Json], Document]) -> None:
    """Add to `document`, what came of `study`, the mean responses of its first FTL both ways."""
    ticks = document["workload"].get("ticks")
    if ticks is None or ticks["tick_ns"] is None or document["cancelled"] or not arrives_in_steps(document):
        return
    chosen: Mapping[str, Any] = document.get("precondition_chosen") or {}
    if (chosen.get("live_pages") or 0) > PREPARED:
        return
    first = document["runs"][0]
    workload = {**study["workload"], "requests": COMPARED + study.get("run", {}).get("skip", 0)}
    short = {**study, "ftl": study["ftl"][:1], "workload": workload}
    recorded = first if document["workload"]["requests"] <= COMPARED else serve(short)["runs"][0]
    spread = serve({**short, "workload": {**workload, "tick": f"{ticks['tick_ns']}ns"}})["runs"][0]
    before, after = (run["response_ns"]["all"] for run in (recorded, spread))
    if before["mean"] is None or after["mean"] is None:
        return
    ticks["compared"] = {
        "label": first["label"],
        "requests": before["count"],
        "recorded_mean_ns": round(before["mean"]),
        "spread_mean_ns": round(after["mean"]),
    }
