"""The commands that an answer names: those that measure it again, and those that ask."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ftlkit.advice.measure import WARM_UP
from ftlkit.advice.query import GOAL, SEEDS, SPARE, UNIT, Query
from ftlkit.own.references import as_typed
from ftlkit.sweeps.values import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ftlkit.advice.search_result import SearchResult
    from ftlkit.study import Options


def command(query: Query, result: SearchResult, names: list[str], *, is_held_out: bool) -> str:
    """The command that measures stacks as the answer does, on the held-out part or on a prefix."""
    options: Options = {**query.options}
    skip, seeds = result.searched, result.seeds
    if result.last_run is not None:
        options["requests"], skip, seeds = result.last_run.requests, result.last_run.skip, 1
    elif not is_held_out:
        rung = result.last
        options["requests"] = rung.requests
        # A prefix may span less than the whole workload, for which the device was made.
        given = {setting.partition("=")[0].strip() for setting in options.get("settings", ())}
        if "capacity" not in options and "device.capacity" not in given:
            options["capacity"] = f"{result.capacity}B"
        if rung.precondition:
            options["precondition"] = rung.precondition
        skip, seeds = rung.requests // WARM_UP, 1
    return _sweep(query, options, names, ["--skip", str(skip), "--seeds", str(seeds)])


def of_units(query: Query, capacity: int, stack: str, sizes: Sequence[int], requests: int) -> str:
    """The command that measures a stack with mapping units over more requests."""
    options = query.with_unit(sizes[0], capacity).options
    options["requests"], options["settings"] = requests, options.get("settings", [])[:-1]
    compared = f"{UNIT}={','.join(plain(f'{size}B') for size in sizes)}"
    return _sweep(query, options, [stack], ["--skip", str(requests // 2), "--seeds", "1", "--vary", compared])


IN_USE = "run.in_use=0.5..1:+0.1"
"""Shares of the drive in use at which over-provisioning is told."""


def over_spare(query: Query, stack: str) -> str:
    """The command that tells write amplification and lives of a stack over spare.

    With data in use it varies these: beside a fixed amount of data, spare is of no effect.
    """
    options: Options = {**query.options}
    options.pop("clock", None)
    if options.pop("in_use", None) is not None:
        return _sweep(query, options, [stack], ["--vary", IN_USE, "--goal", query.goal])
    given = options.get("settings", ())
    options["settings"] = [text for text in given if text.partition("=")[0].strip() not in (SPARE, "device.op")]
    return shlex.join(["ftlkit", "curve", "spare", query.workload, "--ftl", as_typed(stack), *_typed(query, options)])


def _sweep(query: Query, options: Options, names: Iterable[str], more: list[str]) -> str:
    if not query.keeps_time and options.get("clock") is not False:
        options.pop("clock", None)
        options["settings"] = [*options.get("settings", ()), "run.clock=auto"]
    stacks = ",".join(dict.fromkeys(map(as_typed, names)))
    return shlex.join(["ftlkit", "sweep", query.workload, "--ftl", stacks, *_typed(query, options), *more])


def _typed(query: Query, options: Options) -> list[str]:
    """The device and the options as typed."""
    typed = ["--device", query.device] if query.device else []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if name == "settings":
            typed += [word for setting in options["settings"] for word in ("--set", setting)]
        elif value is True:
            typed.append(flag)
        elif value is False:
            typed += ["--no-clock"] if name == "clock" else []
        elif isinstance(value, (list, tuple)):
            typed += [word for item in value for word in (flag, str(item))]
        elif name != "title":
            typed += [flag, str(value)]
    return typed


def question(query: Query) -> str:
    """The command that asks; what is as it is by default is left out."""
    given = {
        "--ftl": query.ftl,
        "--goal": None if query.goal == GOAL else query.goal,
        "--ram": None if query.ram_bytes is None else plain(f"{query.ram_bytes}B"),
        "--budget": None if query.budget_s is None else _time(query.budget_s),
        "--trials": query.trials,
        "--seeds": None if query.seeds == SEEDS else query.seeds,
    }
    own = [word for flag, value in given.items() if value is not None for word in (flag, str(value))]
    own += ["--durable"] if query.durable else []
    own += ["--vary", f"{UNIT}={','.join(plain(f'{unit}B') for unit in query.units)}"] if query.units else []
    return shlex.join(["ftlkit", "advise", query.workload, *own, *_typed(query, query.options)])


def _time(seconds: float) -> str:
    """A time as one types it: 90s, 5min."""
    minutes = seconds / 60
    return f"{minutes:g}min" if minutes == int(minutes) else f"{seconds:g}s"
