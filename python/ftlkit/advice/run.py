"""Asking for advice: the workload is looked over, the space made to fit the device, and searched."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ftlkit import _native, api, study
from ftlkit._native import UserError
from ftlkit.advice.found import Found, prefixes
from ftlkit.advice.measure import Runner
from ftlkit.advice.search import Search
from ftlkit.advice.space import Space, fitting, floors, heads
from ftlkit.engine import watched
from ftlkit.progress import Silent
from ftlkit.sweep.scratch import scratch
from ftlkit.sweep.traces import Traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftlkit.advice.asked import Asked
    from ftlkit.document import Json
    from ftlkit.progress import Watcher
    from ftlkit.store import Store
    from ftlkit.sweep.local import Local

MAP_ENTRY_BYTES = 8
"""A cached entry of a map: with so much RAM for each logical page all of the map is cached."""


def advise(
    asked: Asked,
    store: Store,
    executor: Local,
    watch: Callable[[], Watcher] = Silent,
    tell: Callable[[str], None] = lambda _: None,
) -> Found:
    """Search for the stacks that suit, within the time; Ctrl-C ends the search with what was found so far.

    `tell` hears a sentence now and then of how far the search is.
    """
    begun_s = time.monotonic()
    asked.check()
    document = asked.document()
    study.refuse_unreadable(document)
    device = _device(asked, document, watch)
    requests = _requests(document, watch)
    prefixes(requests)
    fits = fitting(device)
    found, refused = heads(asked.stacks(), fits, levelled=asked.goal == "life")
    if not found:
        raise UserError(next(iter(refused.values())))
    names = frozenset(head.text for head in found)
    with scratch() as folder:
        runner = Runner(asked, device, store, executor, Traces(folder))
        runner.watch = watch
        ceiling = asked.ram_bytes or 2 * MAP_ENTRY_BYTES * -(-device["capacity"] // device["page_size"])
        space = Space(found, ceiling, floors(found, fits))
        search = Search(asked, space, runner, executor, Found(requests, names, refused, device["capacity"]), begun_s)
        search.tell = tell
        return search.run()


def _device(asked: Asked, document: Json, watch: Callable[[], Watcher]) -> Json:
    """The device that the whole workload asks for, by a stack that fits: the reference, or another that is searched."""
    try:
        found: Json = api.check_study(document, watcher=watch())["device"]
    except UserError:
        for stack in asked.stacks() or [scheme["name"] for scheme in api.schemes()]:
            with suppress(UserError):
                other: Json = api.check_study(document | {"ftl": [study.scheme(stack)]}, watcher=watch())["device"]
                return other
        raise
    return found


def _requests(document: Json, watch: Callable[[], Watcher]) -> int:
    """How many requests the workload has."""
    workload, seed = document["workload"], document.get("seed", 1)
    text = json.dumps(workload)
    found: Json = json.loads(watched(lambda control: _native.trace_info(text, seed, control), watch()))
    return int(found["requests"])
