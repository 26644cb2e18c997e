"""Why there may be no figure for a goal, and what would help."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from ftlkit._util import units

if TYPE_CHECKING:
    from ftlkit.advice.measure import Measured
    from ftlkit.advice.query import Query
    from ftlkit.results.document import Json

ENOUGH_ERASES = 4.0
"""Below so many erases of a block on average no life is forecast (docs/endurance.md)."""
_MARGIN = 1.5
"""So many times what is wanting is advised, since other mappings may erase less."""

_SMALLER = "take a smaller device (--capacity; --addresses dense --capacity auto is the smallest that holds it)"


def lacking(query: Query, requests: int, measured: Measured, erases: float, survey_s: float) -> str:
    """Why the goal has no figure in the part that is searched of a workload of so many requests.

    `measured` is a run that has none, and `erases` how often it would erase a block there on
    average. Trying every mapping there takes about `survey_s`.
    """
    if query.goal == "life":
        return _no_life(query, requests, measured, erases, survey_s)
    if query.goal == "wa":
        return "the workload writes nothing in the part that is searched, so there is none. Give another goal."
    return (
        "the workload neither reads nor writes in the part that is searched, so there is no response time. Give a "
        "workload that does, or more of its requests."
    )


def wear(row: Json) -> float:
    """How often a run erases a block on average, or would if all that it programs had to be freed.

    A device that was new has room for its first writes, which a longer run has not.
    """
    device = json.loads(row["document"])["device"]
    pages = device["physical_bytes"] / device["geometry"]["page_size_bytes"]
    programmed = float(row["pages_programmed"] / pages)
    return max(float(row["erases_mean"] or 0), programmed)


def _no_life(query: Query, requests: int, measured: Measured, erases: float, survey_s: float) -> str:
    """That no life is forecast, and how much more of the workload would do."""
    workload = query.document()["workload"]
    refusal = json.loads(measured.rows[0]["document"])["runs"][0]["endurance"].get("refusal")
    times = math.ceil(_MARGIN * ENOUGH_ERASES / erases) if 0 < erases < ENOUGH_ERASES else None
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
        else f"since with {measured.stack} {refusal}"
    )
    takes_s = (times or 1) * survey_s
    longer = ""
    if query.budget_s is not None and takes_s > query.budget_s:
        longer = f" To try every mapping on so much takes about --budget {math.ceil(takes_s / 60)}min here."
    return (
        f"no life is forecast from the part that is searched, {few}. {more}, or {_SMALLER}.{longer} Or give another "
        "goal."
    )
