"""Answering a question: look over the workload, make the space fit the device, and search it.

What fits a device, and with how much RAM, is asked of the simulator: mappings, what goes with each,
and why others do not.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted, TimeIsUp, watched
from ftlkit._util.outputs import check_writable
from ftlkit._util.progress import Silent, Watcher
from ftlkit.advice import going_on
from ftlkit.advice.answer import Answer, answer
from ftlkit.advice.clock import Clock, slowness
from ftlkit.advice.fitting import fitted, generated, part_of, told
from ftlkit.advice.footprints import Builds, checked
from ftlkit.advice.going_on import GoingOn, may_go_on
from ftlkit.advice.mapping_units import ASKED_SHARE, SHARE, UnitSearch, has_units, in_use, of_less_ram
from ftlkit.advice.measure import WARM_UP, Runner
from ftlkit.advice.preparing import Preparing, touched_bytes
from ftlkit.advice.query import PERCENTILES, REFERENCE, NoLifeError, Query, TooLittleRamError, TooShortError
from ftlkit.advice.search import Search
from ftlkit.advice.search_result import FEW, SEARCHED, SLICED, VOLATILE, Rung, SearchResult, prefix_lengths
from ftlkit.advice.space import FLOOR_BYTES, Head, Space, holders, is_log, is_ram, log_shares, wear_policies
from ftlkit.api import catalogue
from ftlkit.report.cautions import FEW_FOR_P99
from ftlkit.results.store import Store, files
from ftlkit.study.device_size import GEOMETRY
from ftlkit.sweeps.goals import TIMELESS
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.traces import Traces, scratch

PATIENCE_S = 15.0
"""Where a budget is too short: the processor time that the first run may take, whatever is left."""

_LOOKED = 1 << 30
"""Bytes of a generated workload that are looked over: a second, and its requests are alike."""

MAP_ENTRY_BYTES = 4
"""An entry of the reference's map, which has one for each logical page."""


def answered(
    query: Query,
    store: Path,
    threads: int | None,
    clock: Clock,
    watch: Callable[[], Watcher] = Silent,
    tell: Callable[[str], None] = lambda _: None,
) -> Answer:
    """Answer a question, with runs from a store and into it.

    Ctrl-C ends the search with the answer so far. Where the time is too short for a search, stacks
    are measured over few requests, one in any case. Raises `UserError` with advice where the input
    is at fault or no stack suits, and `Interrupted` if Ctrl-C came before anything was measured.
    """
    check_writable([], [query.trace(), *files(store)])
    result_store = Store(store, create=True, lazily=True)
    result_store.tidy()
    unknown, served, asked, once = [], [], query, _once(tell)
    by_amplification = "So this is by write amplification, by which lives differ where wear is even."
    try:
        if clock.is_scarce:
            raise clock.too_short("too little time was left to look over the device and the workload")
        query = fitted(query, lambda: _device(query, query.document(), watch, clock.ends_s), Local(threads).checks)
        served = [] if query is asked else [told(query)]
        try:
            result = search_stacks(query, result_store, Local(threads), watch, once, clock)
        except NoLifeError as error:
            unknown.append(f"{error} {by_amplification}")
            query = replace(query, goal="wa", is_by_amplification=True)
            tell(unknown[-1])
            result = search_stacks(query, result_store, Local(threads), watch, once, clock)
    except TooShortError as error:
        tell("The budget is too short for a search: few requests are measured, under one stack in any case.")
        query, served = replace(query, options={**query.options, "requests": _few(query)}), []
        clock.keep(0.0)
        result = _few_stacks(query, result_store, Local(threads), clock)
        if (only := answer(query, result)) is None:
            raise
        stacks = [measured.stack for measured in result.of(result.last)]
        alone = f"{stacks[0]} alone was" if len(stacks) == 1 else f"{several(len(stacks), 'stack')} were"
        unknown.append(
            f"{error.budget}: too short for a search; {alone} measured over {result.last.span}.{error.advice}"
        )
        if query.goal == "life" and only.advised.measured.mean("life_bytes") is None:
            unknown.append(f"--goal life: that erases too little for a forecast. {by_amplification}")
            query = replace(query, goal="wa", is_by_amplification=True)
    if (advised := answer(query, result)) is not None:
        return replace(advised, sentences=[*advised.sentences, *_unknown(unknown, result), *served])
    if result.interrupted:
        raise Interrupted(None)
    if clock.is_running and clock.left_s <= 0:
        raise clock.too_short("no stack that may be taken had been run")
    raise UserError(
        f"no stack that was tried meets --goal {query.goal} within the limits. Give more time, or another goal."
    )


def _unknown(sentences: list[str], result: SearchResult) -> list[str]:
    """Sentences about an unknown life; few where the last run has a forecast."""
    known = "The stack was chosen by write amplification, since the searched part has no forecast of a life."
    return [known] if sentences and going_on.is_forecast(result) else sentences


def _once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """One that tells each sentence once, though a question is searched again for another goal."""
    heard: set[str] = set()

    def once(text: str) -> None:
        if text not in heard:
            tell(text)
        heard.add(text)

    return once


def _few(query: Query) -> int:
    """So few requests that a run over them takes seconds."""
    return min(int(query.options.get("requests", FEW)), FEW)


def _few_stacks(query: Query, store: Store, executor: Local, clock: Clock) -> SearchResult:
    """Stacks on the searched part of few requests: the first one in any case, others in time.

    The first is one of those named, else the reference, else the one of least RAM of the first
    mapping. Others are the rest of those named, else all mappings, some of each family soonest.
    """
    document, began_s, worked_s = query.document(), time.monotonic(), time.process_time()
    device = _device(query, document, Silent, None)
    info, timeless = _look_over(document, Silent, None), Clock(None, began_s)
    try:
        space, result = _space(query if query.ftl else replace(query, ftl=REFERENCE), device, info, timeless)
        result.candidates |= set() if query.ftl else {*_mappings()}
    except UserError:
        space, result = _space(query, device, info, timeless)
    stacks = list(result.defaults) or [*space.least().values()][:1]
    rung = Rung(result.searched)
    result.lengths, result.rungs = [rung.requests], [rung]
    executor.until_s = patience_s = time.monotonic() + PATIENCE_S * slowness(began_s, worked_s)
    with scratch() as folder:
        runner = Runner(query, device, store, executor, Traces(folder))
        while stacks and (clock.left_s if result.of(rung) else patience_s - time.monotonic()) > 0:
            # The first alone: nothing else delays it.
            many = executor.checks if rung.begun else 1
            some, stacks = stacks[:many], stacks[many:]
            rung.begun |= dict.fromkeys(some)
            rung.note(runner.prefix(some, rung.requests), query.ram_bytes)
            if result.of(rung):
                clock.limit(executor, 0.0)
            if rung.begun.keys() == {REFERENCE} and not query.ftl:
                # Those that do not fit are refused by their runs: asking first takes seconds.
                every = Space([Head(name, ("",)) for name in _mappings() if not holders(name)], 1, {})
                stacks = [name for name in dict.fromkeys((*every.pioneers(), *every.heads)) if name != REFERENCE]
    return result


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
        clock.keep_half()
        device = _device(query, document, watch, clock.ends_s)
        clock.explain = Preparing(device, {}, query, executor.checks).advice
        info = _look_over(document, watch, clock.ends_s)
        preparing = Preparing(device, info, query, executor.checks)
        clock.explain = preparing.advice
        if (missing := preparing.missing()) is not None:
            tell(missing)
        _require_enough(query, info)
        try:
            space, into = _space(query, device, info, clock)
        except TooLittleRamError as error:
            raise _with_units(error, query, device, clock) from None
        into.host_erases, into.cores = _host_erases(info, device), executor.checks
        into.touched_bytes = touched_bytes(info)
        clock.keep(0.0)
    except TimeIsUp:
        raise clock.too_short("the device and the workload had not been looked over") from None
    with scratch() as folder:
        runner = Runner(query, device, store, executor, Traces(folder))
        runner.watch = watch
        search = Search(query, space, runner, executor, into, clock)
        search.tell = tell
        is_last = may_go_on(query)
        search.later = (ASKED_SHARE if query.units else SHARE) * has_units(device) + going_on.SHARE * is_last
        try:
            result = search.run()
        except TooLittleRamError as error:
            raise _with_units(error, query, device, clock) from None
        clock.keep(going_on.SHARE * is_last)
        advised = None if result.interrupted or not search.later else answer(query, result)
        if advised is not None:
            unit_search = UnitSearch(query, device, space, runner, executor, clock, tell) if has_units(device) else None
            goes_on = (
                GoingOn(query, result, runner, executor, clock, tell)
                if is_last and (advised.is_held_out or query.units)
                else None
            )
            _compare_units(result, advised, unit_search, goes_on, clock)
        return result


def _compare_units(
    result: SearchResult, advised: Answer, unit_search: UnitSearch | None, goes_on: GoingOn | None, clock: Clock
) -> None:
    """Try other mapping units and make the last run.

    Units that were asked for go on before other stacks are tried with them.
    """
    measured, is_asked = advised.advised.measured, bool(advised.query.units)
    if unit_search is not None:
        unit_search.run(result, measured, is_held_out=advised.is_held_out)
    if unit_search is not None and not is_asked:
        unit_search.search(result, measured.stack, is_held_out=advised.is_held_out)
    clock.keep(0.0)
    if goes_on is not None and not result.interrupted:
        goes_on.run(measured)
    if unit_search is not None and is_asked and not result.interrupted:
        unit_search.search(result, measured.stack, is_held_out=advised.is_held_out)
        if goes_on is not None:
            goes_on.settle_units()


def _with_units(error: TooLittleRamError, query: Query, device: Json, clock: Clock) -> UserError:
    """An error about too little RAM that also tells of larger mapping units, if there is time."""
    text = f"{error}{in_use(device)}"
    stacks = dict.fromkeys([error.stack, *([REFERENCE] if query.ftl is None else [])])
    with suppress(TimeIsUp):
        text += of_less_ram(query, device, list(stacks), clock.ends_s)
    return UserError(text)


def _space(query: Query, device: Json, info: Json, clock: Clock) -> tuple[Space, SearchResult]:
    """The stacks to choose from, and the result before any trial; `TimeIsUp` if out of time."""
    flushes = int(info["statistics"]["total"]["flushes"])
    # A write buffer would lead by the time of flushes, which responses leave out.
    is_durable = query.durable or (flushes > 0 and query.ftl is None and query.goal not in TIMELESS)
    # What fits a drive, and its RAM, a slice for small writes tells sooner.
    is_auto = query.document().get("device", {}).get("slice") == "auto"
    builds = Builds(device | {"slice": "auto"} if is_auto else device, clock.check, clock.ends_s)
    fits = builds.exact_refusal if query.stacks() else builds.refusal
    for mapping in [] if query.stacks() else _mappings():
        builds.look_at([mapping, *(f"{mapping}+{name}" for name in _names("buffer"))])
    left_out = VOLATILE if is_durable else SLICED if "slice" in device and query.ftl is None else ""
    allowed = (lambda stack: (left_out if holders(stack) else "") or fits(stack)) if left_out else fits
    heads_that_fit, refused = heads(query.stacks(), allowed, levelled=query.goal == "life")
    if not heads_that_fit:
        stack, reason = next(iter(refused.items()))
        raise UserError(f"{stack} {reason} (--durable)" if reason == VOLATILE else reason)
    map_bytes = MAP_ENTRY_BYTES * -(-device["capacity"] // study.mapped_bytes(device))
    ceiling = query.ram_bytes or map_bytes
    logs = log_sizes(heads_that_fit, builds)
    # Caches of some bytes are looked at only where nothing else fits.
    for smallest in (FLOOR_BYTES, 1):
        space = Space(heads_that_fit, ceiling, floors(heads_that_fit, builds, smallest), logs, map_bytes)
        least_stacks = space.least()
        least = builds.ram(least_stacks.values(), query.ram_bytes or math.inf)
        by_head = {head: least[stack] for head, stack in least_stacks.items()}
        too_large = {} if query.ram_bytes is None else space.bound(by_head)
        if space.heads:
            break
    else:
        exact = builds.ram(least_stacks.values(), 0.0)
        stack, ram = min(exact.items(), key=lambda pair: pair[1])
        raise query.too_little_ram(stack, ram, len(too_large))
    heads_left = dict.fromkeys(head.text + tail for head in space.heads.values() for tail in _untouched(head, query))
    defaults = builds.ram(heads_left, query.ram_bytes or math.inf)
    most = query.ram_bytes or (math.inf if query.ftl else defaults.get(REFERENCE, math.inf))
    return space, SearchResult(
        int(info["requests"]),
        frozenset(space.heads),
        refused,
        device["capacity"],
        flushes=flushes,
        is_slice="slice" in device,
        too_large=too_large,
        defaults=tuple(stack for stack, ram in defaults.items() if ram <= most),
        wear_policies=tuple(wear_policies(list(space.heads.values()))),
    )


def _untouched(head: Head, query: Query) -> tuple[str, ...]:
    """What is behind a mapping in the stacks that one has without a search."""
    return head.tails if query.ftl is not None else head.tails[:1]


def _require_enough(query: Query, info: Json) -> None:
    """Raise a `UserError` if a workload is too short to divide, or for the goal's percentile."""
    requests = int(info["requests"])
    held_out = requests - prefix_lengths(requests)[-1]
    if (kind := PERCENTILES.get(query.goal)) is None:
        return
    total = info["statistics"]["total"]
    all_of_kind = requests if kind == "requests" else int(total[kind])
    held_out = held_out * all_of_kind // requests
    if held_out < FEW_FOR_P99:
        raise UserError(
            f"--goal {query.goal}: {held_out:,} of the {all_of_kind:,} {kind} are held out, and a 99th percentile "
            f"needs {FEW_FOR_P99:,}, of which ten lie above it. Give {3 * FEW_FOR_P99:,} {kind} or more (with a "
            "recorded trace --repeat serves it several times), or another goal."
        )


def _device(query: Query, document: Json, watch: Callable[[], Watcher], until_s: float | None) -> Json:
    """The device that the whole workload asks for, by the reference or another stack that fits."""

    def device(ftl: Json) -> Json:
        return checked(document | ftl, watch(), until_s)["device"]  # type: ignore[no-any-return] # a document's table

    try:
        return device({})
    except UserError as error:
        # What is not the stack's fault no other stack mends.
        others = (query.stacks() or catalogue.built_in()) if str(error).startswith("ftl ") else []
        for stack in others:
            with suppress(UserError):
                return device({"ftl": [study.scheme(stack)]})
        raise


def _look_over(document: Json, watch: Callable[[], Watcher], until_s: float | None) -> Json:
    """What the workload asks for, counted; of a long generated one a part is, and stands for it."""
    workload, part, seed = document["workload"], part_of(document["workload"], _LOOKED), document.get("seed", 1)
    text = json.dumps(workload if part is None else workload | {"requests": part})
    info: Json = json.loads(watched(lambda control: _native.trace_info(text, seed, control), watch(), until_s=until_s))
    if part is None:
        return info
    total, requests = info["statistics"]["total"], generated(workload)
    for key in ("reads", "writes", "flushes"):
        total[key] = round(total[key] * requests / info["requests"])
    # At most, since requests of the rest may come to the same pages.
    total["footprint"]["touched_pages"] = round(total["footprint"]["touched_pages"] * requests / info["requests"])
    return info | {"requests": requests}


def _host_erases(info: Json, device: Json) -> float:
    """How often the host's writes erase a block on average where the searched part is measured.

    Collecting and merging erase more.
    """
    total = info["statistics"]["total"]
    written_bytes = total["writes"] * 1024 * (total["mean_write_size_kib"] or 0.0)
    measured = SEARCHED[0] / SEARCHED[1] * (1 - 1 / WARM_UP)
    pages = math.prod(int(device[key]) for key in GEOMETRY)
    scale = device["capacity"] / device.get("slice", device["capacity"])
    return float(measured * written_bytes * scale / (pages * device["page_size"]))


MOST_FLOOR_BYTES = 1 << 24
"""Where the least RAM of a part is not looked for any further."""

_UNREADABLE = "ftl.name: "
"""Beginning of errors about a stack that cannot be on any device; else it does not fit this one."""


def heads(stacks: Sequence[str], fits: Callable[[str], str], *, levelled: bool) -> tuple[list[Head], dict[str, str]]:
    """The stacks to choose from, and the mappings that do not fit the device, each with the reason.

    If there are `stacks`, of these alone. Else every mapping alone and with each write buffer in
    front of it; where `levelled`, with each wear policy too. `fits` says why a stack cannot be; it
    is empty for one that can. A `UserError` is raised for one of `stacks` that no device has: a
    name, a key or a value that does not exist.
    """
    refused: dict[str, str] = {}
    tails_by_head: dict[str, list[str]] = {}
    if stacks:
        for stack in stacks:
            head, plus, rest = stack.partition("+")
            reason = fits(stack)
            if reason.startswith(_UNREADABLE):
                raise UserError(f"--ftl {stack}: {reason.removeprefix(_UNREADABLE)}")
            if reason:
                refused[stack] = reason
            else:
                tails_by_head.setdefault(head, []).append(plus + rest)
        return [Head(head, tuple(tails)) for head, tails in tails_by_head.items()], refused
    wear = ["", *(f"+{name}" for name in _names("wear policy") if name != "none")] if levelled else [""]
    for mapping in _mappings():
        reason = fits(mapping)
        if reason:
            refused[mapping] = reason
            continue
        policies = [policy for policy in wear if not policy or not fits(mapping + policy)]
        buffers = ["", *(f"+{name}" for name in _names("buffer") if not fits(f"{mapping}+{name}"))]
        tails_by_head[mapping] = [policy + buffer for buffer in buffers for policy in policies]
    return [Head(head, tuple(tails)) for head, tails in tails_by_head.items()], refused


def _names(kind: str) -> list[str]:
    """The parts of a kind that are built in."""
    return [part["name"] for part in catalogue.parts() if part["kind"] == kind and part["family"] != "python"]


def _mappings() -> list[str]:
    return _names("mapping")


def floors(heads: Sequence[Head], builds: Builds, smallest: int = FLOOR_BYTES) -> dict[str, int]:
    """The least RAM of each parameter with which its part fits, by doubling from `smallest` on."""
    least = {}
    parts = {part["name"]: part for part in catalogue.parts()}
    for name, over in {part.partition(":")[0]: head.text for head in heads for part in _parts_of(head)}.items():
        for parameter in filter(is_ram, parts[name]["parameters"]):
            size = max(smallest, parameter["min"])
            setting = f"{name}:{parameter['name']}"
            before = "" if parts[name]["kind"] == "mapping" else f"{over}+"
            while size < MOST_FLOOR_BYTES and builds.refuses(f"{before}{setting}={size}B"):
                size *= 2
            least[f"{name}.{parameter['name']}"] = size
    return least


def log_sizes(heads: Sequence[Head], builds: Builds) -> dict[str, dict[str, float]]:
    """By mapping the sizes that its log may have on a device, each with the mapping's RAM.

    Of a large device two sizes are built. Each block of a log takes as much, so the others lie on a
    line, but the smallest, which no log goes below.
    """
    parts = {part["name"]: part for part in catalogue.parts()}
    logs: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(head.text.partition(":")[0] for head in heads):
        for parameter in filter(is_log, parts[name]["parameters"]):
            default = parameter["default"]
            shares = {
                share: name if share == default else f"{name}:{parameter['name']}={share}"
                for share in log_shares(parameter)
            }
            # From the largest one down: what fits leaves room for a smaller one.
            over = ""
            while shares and builds.refusal(list(shares.values())[-1]):
                over, _ = shares.popitem()
            if over and shares and not builds.is_large:
                largest = _largest_log(f"{name}:{parameter['name']}", list(shares)[-1], over, builds)
                shares.setdefault(largest, f"{name}:{parameter['name']}={largest}")
            logs[name] = shares
    ends = {
        name: (next(iter(shares)), next((share for share in shares if shares[share] == name), list(shares)[-1]))
        for name, shares in logs.items()
        if shares
    }
    if not builds.is_large:
        ram = builds.ram(stack for shares in logs.values() for stack in shares.values())
        return {name: {share: ram[stack] for share, stack in shares.items()} for name, shares in logs.items()}
    ram = builds.ram(logs[name][share] for name, pair in ends.items() for share in pair)
    return {
        name: {
            share: _on_line(float(share), [(float(end), ram[logs[name][end]]) for end in pair]) for share in logs[name]
        }
        for name, pair in ends.items()
    }


def _largest_log(setting: str, fits: str, over: str, builds: Builds) -> str:
    """The largest size of a log that fits a device, to two digits, above one that does.

    Where the log is the spare space, the last part of a step may gain as much as a step.
    """
    while (middle := f"{math.sqrt(float(fits) * float(over)):.2g}") not in (fits, over):
        fits, over = (fits, middle) if builds.refusal(f"{setting}={middle}") else (middle, over)
    return fits


def _on_line(at: float, ends: Sequence[tuple[float, float]]) -> float:
    """A figure on the line through two points."""
    (low, first), (high, last) = ends
    return first + (last - first) * (at - low) / (high - low) if high > low else first


def _parts_of(head: Head) -> list[str]:
    return [part for tail in head.tails for part in (head.text + tail).split("+")]
