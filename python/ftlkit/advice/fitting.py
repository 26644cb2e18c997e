"""As many requests of a generated workload as a budget has time for.

Without a number it has a million. Of large ones, such as 1 MiB, these write more than that.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ftlkit import _native
from ftlkit._native import UserError
from ftlkit._util.native_call import TimeIsUp, watched
from ftlkit._util.sizes import quantity
from ftlkit._util.units import count, typed
from ftlkit.advice.prefixes import ENOUGH, TRYING
from ftlkit.advice.preparing import Pace
from ftlkit.advice.query import REFERENCE, Query, duration
from ftlkit.advice.search_result import SEARCHED
from ftlkit.report.cautions import FEW_FOR_P99
from ftlkit.study.one_line import BS

if TYPE_CHECKING:
    from ftlkit._util import Json

USUAL = 1_000_000
"""Requests of a generated workload that names no number."""
_LEAST = 3 * FEW_FOR_P99
"""The fewest requests served: of these enough for a percentile are held out."""
_STEPS = (1, 2, 5)
"""First digits of a number of requests that is chosen."""
_WORTH = 0.5
"""Above this share of the usual number, that is served: the probe is no finer."""
_PROBED, _PROBE_S = 1 << 28, 2.0
"""Bytes of the run that tells how long requests take, and how long it may take."""


def generated(workload: Json) -> int:
    """The requests of a generated workload, which are alike; 0 of any other, or of phases."""
    generator = workload.get("generator")
    if not isinstance(generator, dict) or "phases" in generator.get("pattern", ()):
        return 0
    return int(workload.get("requests") or generator.get("requests") or USUAL)


def part_of(workload: Json, most_bytes: int) -> int | None:
    """The requests of a generated workload within a number of bytes; None if all are fewer."""
    unit = workload.get("generator", {}).get("unit", BS)
    part = max(1, most_bytes // max(1, quantity("size", "bs", str(unit))))
    return part if part < generated(workload) else None


def fitted(query: Query, device: Callable[[], Json], checks: int) -> Query:
    """The question with as many requests as its budget has time for, if their number is open.

    `device` is asked for the device, and `checks` runs are made at once.
    """
    document = query.document()
    workload, part = document["workload"], part_of(document["workload"], _PROBED)
    if query.budget_s is None or part is None or "requests" in {**workload, **workload["generator"]}:
        return query
    probe = {"workload": workload | {"requests": part}, "run": {"precondition": "none"}}
    try:
        probe["device"] = device()
    except TimeIsUp:
        return query
    text, until_s, pace = json.dumps(document | probe), time.monotonic() + _PROBE_S, Pace(REFERENCE, time.monotonic)
    try:
        results = watched(lambda control: _native.run_study(text, control, 0), pace, until_s=until_s)
        probed_s = float(json.loads(results)["runs"][0]["measured_wall_s"])
    except TimeIsUp:
        # Of which nothing was served in that time, little is.
        probed_s = pace.whole_s() or math.inf
    except UserError:
        return query  # Another stack may fit the device, and the search says why this one does not.
    searched_s = TRYING * query.budget_s * checks / ENOUGH
    most = max(_LEAST, searched_s * SEARCHED[1] / SEARCHED[0] * part / max(probed_s, 1e-6))
    if most >= _WORTH * USUAL:
        return query
    power = 10 ** math.floor(math.log10(most))
    # Coarse steps, so that the question asked again finds its runs in the store.
    requests = max(_LEAST, *(step * power for step in _STEPS if step * power <= most))
    return replace(query, options={**query.options, "requests": requests})


def told(query: Query) -> str:
    """That the requests were chosen."""
    budget = typed(duration(query.budget_s or 0.0))
    return (
        f"{count(query.options['requests'])} of the usual {count(USUAL)} requests are served, since --budget {budget} "
        "has no time for more; --requests gives another number."
    )
