"""Asking for advice: look over the workload, make the space fit the device, and search it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util.native_call import TimeIsUp, watched
from ftlkit._util.progress import Silent
from ftlkit.advice.clock import Clock
from ftlkit.advice.compatibility import fitting, floors, heads, one_request
from ftlkit.advice.measure import Runner
from ftlkit.advice.search import Search
from ftlkit.advice.search_result import SearchResult, prefixes
from ftlkit.advice.space import FLOOR_BYTES, Space, wear_policies
from ftlkit.api import catalogue
from ftlkit.report.cautions import FEW_FOR_P99
from ftlkit.sweeps.scratch import scratch
from ftlkit.sweeps.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ftlkit._util.progress import Watcher
    from ftlkit.advice.query import Query
    from ftlkit.results.document import Json
    from ftlkit.results.store import Store
    from ftlkit.sweeps.local import Local

MAP_ENTRY_BYTES = 8
"""A cached entry of a map: with so much RAM for each logical page all of the map is cached."""


def search_stacks(
    query: Query,
    store: Store,
    executor: Local,
    watch: Callable[[], Watcher] = Silent,
    tell: Callable[[str], None] = lambda _: None,
    clock: Clock | None = None,
) -> SearchResult:
    """Search for the stacks that suit, within the time; Ctrl-C ends it with what was found so far.

    `tell` hears a sentence now and then of how far the search is. `clock` counts the time, if not
    from now on.
    """
    clock = clock or Clock(query.budget_s, time.monotonic())
    watch = clock.counting(watch)
    query.check()
    document = query.document()
    study.refuse_unreadable(document)
    try:
        device = _device(query, document, watch, clock.ends_s)
        requests = _requests(document, watch, clock.ends_s)
        _require_enough(query, requests)
        space, into = _space(query, device, requests, clock)
    except TimeIsUp:
        raise clock.too_short("the workload had not been looked over") from None
    with scratch() as folder:
        runner = Runner(query, device, store, executor, Traces(folder))
        runner.watch = watch
        search = Search(query, space, runner, executor, into, clock)
        search.tell = tell
        return search.run()


def _space(query: Query, device: Json, requests: int, clock: Clock) -> tuple[Space, SearchResult]:
    """The stacks to choose from, and the result before any trial; `TimeIsUp` if out of time."""
    fits_device = fitting(device)

    def fits(stack: str) -> str:
        clock.check()
        return fits_device(stack)

    heads_that_fit, refused = heads(query.stacks(), fits, levelled=query.goal == "life")
    if not heads_that_fit:
        raise UserError(next(iter(refused.values())))
    ceiling = query.ram_bytes or 2 * MAP_ENTRY_BYTES * -(-device["capacity"] // device["page_size"])
    # Caches of some bytes are looked at only where nothing else fits.
    for smallest in (FLOOR_BYTES, 1):
        space = Space(heads_that_fit, ceiling, floors(heads_that_fit, fits, smallest))
        least_stacks = space.least()
        too_large = {} if query.ram_bytes is None else space.bound(_least_ram(least_stacks, device, clock.ends_s))
        if space.heads:
            break
    else:
        stack, least = min(too_large.items(), key=lambda pair: pair[1])
        raise query.too_little_ram(least_stacks[stack], least, len(too_large))
    return space, SearchResult(
        requests,
        frozenset(space.heads),
        refused,
        device["capacity"],
        too_large=too_large,
        wear_policies=tuple(wear_policies(list(space.heads.values()))),
    )


def _require_enough(query: Query, requests: int) -> None:
    """Raise a `UserError` if a workload is too short to divide, or for the goal's percentile."""
    held_out = requests - prefixes(requests)[-1]
    if query.goal == "p99" and held_out < FEW_FOR_P99:
        raise UserError(
            f"--goal p99: {held_out:,} of the {requests:,} requests are held out, and a 99th percentile needs "
            f"{FEW_FOR_P99:,}, of which ten lie above it. Give {3 * FEW_FOR_P99:,} requests or more (with a recorded "
            "trace --repeat serves it several times), or another goal."
        )


def _device(query: Query, document: Json, watch: Callable[[], Watcher], until_s: float | None) -> Json:
    """The device that the whole workload asks for, by the reference or another stack that fits."""

    def device(ftl: Json) -> Json:
        text = json.dumps(document | ftl)
        checked: Json = json.loads(
            watched(lambda control: _native.check_study(text, control), watch(), until_s=until_s)
        )
        return checked["device"]  # type: ignore[no-any-return] # a document's table

    try:
        return device({})
    except UserError:
        for stack in query.stacks() or [scheme["name"] for scheme in catalogue.schemes()]:
            with suppress(UserError):
                return device({"ftl": [study.scheme(stack)]})
        raise


def _requests(document: Json, watch: Callable[[], Watcher], until_s: float | None) -> int:
    """How many requests the workload has."""
    text, seed = json.dumps(document["workload"]), document.get("seed", 1)
    info: Json = json.loads(watched(lambda control: _native.trace_info(text, seed, control), watch(), until_s=until_s))
    return int(info["requests"])


def _least_ram(stacks: Mapping[str, str], device: Json, until_s: float | None) -> dict[str, float]:
    """What stacks take of RAM, in bytes, by what they are called: of a run over one request."""
    document = {
        "device": device,
        "workload": one_request(),
        "run": {"precondition": "none"},
        "ftl": [study.scheme(stack) | {"label": text} for text, stack in stacks.items()],
    }
    text = json.dumps(document)
    results: Json = json.loads(watched(lambda control: _native.run_study(text, control, 0), Silent(), until_s=until_s))
    return {run["label"]: float(run["footprint"]["ram_bytes"]) for run in results["runs"]}
