"""Other mapping units of the device: what they take of RAM, and what they cost on this workload.

A map of units of 16 KiB has a quarter of the entries of one of 4 KiB. But a request that covers a
unit in part reads and programs all of it. So a larger unit may let a map into the RAM that there
is, and may cost more than that buys; which of both it is only runs tell.

With each other unit the advised stack is run as it is. Then the best stacks of the search are tried
there with the RAM that was asked for: caches are cut to it, and what a smaller map leaves is shared
out as in the search. The part that was searched says which of them is best with that unit, and the
held-out part what it costs. Devices that do not name a unit map pages, and nothing is tried.

Write amplification of a short run may be off by more than units differ, so of a workload that can
go on (`going_on`) these runs do, and only those that have settled are compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.native_call import TimeIsUp
from ftlkit._util.stacks import mapping
from ftlkit.advice.choice import ranked, ranking
from ftlkit.advice.fitting import generated
from ftlkit.advice.footprints import least_ram, ram_per_tb, with_unit
from ftlkit.advice.query import REFERENCE, Query
from ftlkit.advice.search_result import SearchResult, UnitTrial
from ftlkit.report import drift
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.goals import TIMELESS
from ftlkit.sweeps.values import plain

if TYPE_CHECKING:
    from ftlkit.advice.clock import Clock
    from ftlkit.advice.measure import Measured, Runner
    from ftlkit.advice.space import Space
    from ftlkit.sweeps.local import Local

UNITS = tuple(4096 << power for power in range(5))
"""4 to 64 KiB: what drives map at a time."""
SHARE, ASKED_SHARE = 0.25, 0.5
"""The share of a budget that is kept for other units: four more of them, or those asked for."""
_LEADERS = 4
"""Mappings that are tried with each unit, each by its best stack."""
_FINALISTS = 2
"""This many of these are run on the part that is told: the better one there counts."""
_REFILLED = 2
"""Number of these that are tried with their unused RAM shared otherwise."""


def has_units(device: Json) -> bool:
    """Whether a device with every key filled in names its unit, or programs word lines."""
    return bool(device.get("mapping_unit")) or device.get("programming") == "one_shot"


def in_use(device: Json) -> str:
    """What a stack takes more once its device is in use, as a sentence behind a space, if it does.

    Program units that gather several mapping units wait in RAM until they are full.
    """
    bits = {"slc": 1, "mlc": 2, "tlc": 3, "qlc": 4}[device["cell"]] if device.get("programming") == "one_shot" else 1
    are_together = device.get("multi_plane") and device.get("superblock", "plane") != "plane"
    at_once = bits * device["page_size"] * (device["planes_per_die"] if are_together else 1)
    if at_once <= study.mapped_bytes(device):
        return ""
    size, buffer = units.typed(units.size(at_once)), device.get("program_buffer")
    of_host = f"a program buffer of {units.typed(units.size(buffer))}, and " if buffer else ""
    return f" In use {of_host}a program unit of {size} for each block that is being filled come to that."


def of_less_ram(query: Query, device: Json, stacks: Sequence[str], until_s: float | None) -> str:
    """Which larger unit lets a stack into the RAM that was asked for, or that none does.

    It is a sentence behind a space; empty where the device does not name its unit.
    """
    own, least, largest = study.mapped_bytes(device), ("", float("inf"), 0), 0
    given = query.document()["device"]
    for unit in (unit for unit in UNITS if unit > own and has_units(device)):
        for stack in stacks:
            try:
                taken = least_ram({"": stack}, with_unit(device, unit, given), until_s)[""]
            except UserError:
                continue
            least, largest = min(least, (stack, taken, unit), key=lambda found: found[1]), unit
        if least[1] <= (query.ram_bytes or 0):
            break
    stack, taken, unit = least
    if not stack:
        return ""
    takes = f"{stack} takes {units.typed(units.size(taken))} or more"
    key = f"--set device.mapping_unit={plain(f'{unit}B')}"
    if taken <= (query.ram_bytes or 0):
        return f" With a larger mapping unit less would do: {takes} with {key}."
    return f" Nor does a mapping unit up to {units.typed(units.size(largest))} suffice: {takes} with {key}."


class UnitSearch:
    """Tries a device's other mapping units once a stack is advised with its own."""

    def __init__(
        self,
        query: Query,
        device: Json,
        space: Space,
        runner: Runner,
        executor: Local,
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self._query, self._device, self._space = query, device, space
        self._runner, self._executor, self._clock = runner, executor, clock
        self._given = query.document()["device"]
        self._tell = tell

    def run(self, result: SearchResult, advised: Measured, *, is_held_out: bool) -> None:
        """Fill in trials of the advised stack with all units, those near the device's own first."""
        own = study.mapped_bytes(self._device)
        apart = {unit: max(unit, own) / min(unit, own) for unit in {own, *(self._query.units or UNITS)}}
        result.units = [UnitTrial(unit) for unit in sorted(apart, key=lambda unit: (apart[unit], unit))]
        result.units[0].is_own = True
        # Other units are run with one seed, so one of the device's own stands beside them.
        result.units[0].told[advised.stack] = replace(advised, rows=advised.rows[:1])
        with self._in_time(result):
            for trial in result.units:
                self._grow(trial, advised.stack)
            possible = [trial for trial in result.units if not (trial.is_own or trial.refusal)]
            sizes = " and ".join(units.size(trial.unit_bytes) for trial in possible)
            self._tell(f"now {advised.stack} with units of {sizes}")
            # Units that were asked for have all of the time that is kept for them.
            self._limit(1, 1.0 if self._query.units else 0.5)
            part = _Part(result, is_held_out=is_held_out)
            for trial, told in part.measure(self._runner, {trial: [advised.stack] for trial in possible}):
                trial.told |= told

    def search(self, result: SearchResult, advised: str, *, is_held_out: bool) -> None:
        """Fill in trials of other stacks with each unit."""
        with self._in_time(result):
            self._search_units(result, advised, _Part(result, is_held_out=is_held_out))

    @contextmanager
    def _in_time(self, result: SearchResult) -> Iterator[None]:
        """Keeps all results when the time is over, or after Ctrl-C."""
        try:
            yield
        except TimeIsUp:
            pass
        except KeyboardInterrupt:
            result.interrupted = True

    def _search_units(self, result: SearchResult, advised: str, part: _Part) -> None:
        others = [trial for trial in result.units if not trial.is_own]
        leaders = self._leaders(result, advised)
        if leaders != [advised] or self._query.ram_bytes is not None:
            for place, trial in enumerate(others):
                self._search(trial, leaders, part, len(others) - place)
        for trial in result.units:
            if REFERENCE not in trial.per_tb:
                with suppress(UserError):
                    trial.per_tb |= self._per_tb(trial, REFERENCE)

    def _limit(self, waiting: int, share: float) -> None:
        """Let runs go on for a share of the time that is left, divided among those that wait."""
        left_s = self._clock.left_s
        if self._clock.is_running:
            self._clock.limit(self._executor, left_s - share * left_s / waiting)

    def _grow(self, trial: UnitTrial, stack: str) -> None:
        """Note what a stack takes a TB with a unit, or why it cannot be there."""
        try:
            trial.per_tb |= self._per_tb(trial, stack)
        except UserError as error:
            trial.refusal = str(error)

    def _per_tb(self, trial: UnitTrial, stack: str) -> dict[str, float]:
        device = with_unit(self._device, trial.unit_bytes, self._given)
        grows = ram_per_tb(stack, device, self._clock.ends_s)
        return {} if grows is None else {stack: grows}

    def _leaders(self, result: SearchResult, advised: str) -> list[str]:
        """The stacks to try with each unit: the best of each mapping, and what was too large."""
        by_mapping = {mapping(advised): advised}
        for stack in ranking(self._query, result, result.last):
            by_mapping.setdefault(mapping(stack), stack)
        large = sorted(result.too_large, key=lambda stack: (stack != REFERENCE, result.too_large[stack]))
        return list(dict.fromkeys([*list(by_mapping.values())[:_LEADERS], *large[:_LEADERS]]))

    def _search(self, trial: UnitTrial, leaders: Sequence[str], part: _Part, waiting: int) -> None:
        """Find the best stacks with a unit by the searched part, and run them on the told one."""
        stacks = self._within_ram(leaders, with_unit(self._device, trial.unit_bytes, self._given))
        if not stacks:
            return
        runner = self._runner.with_unit(trial.unit_bytes)
        self._tell(f"now the best stacks with units of {units.size(trial.unit_bytes)}")
        self._limit(waiting, 0.4)
        trial.searched |= part.sift(runner, stacks)
        self._limit(waiting, 0.5)
        trial.searched |= part.sift(runner, self._refilled(trial))
        best: dict[str, str] = {}
        for stack in best_first(self._query, trial.searched):
            best.setdefault(mapping(stack), stack)
        self._limit(waiting, 1.0)
        for stack in list(best.values())[:_FINALISTS]:
            self._grow(trial, stack)
            for _, told in part.measure(self._runner, {trial: [stack]}) if stack not in trial.told else ():
                trial.told |= told

    def _within_ram(self, stacks: Sequence[str], device: Json) -> list[str]:
        """Those stacks that fit a device within the RAM that was asked for, caches cut to it."""
        most, fitting = self._query.ram_bytes, []
        for stack in stacks:
            try:
                taken = least_ram({"": stack}, device, self._clock.ends_s)[""]
            except UserError:
                continue
            cut = stack if most is None or taken <= most else self._space.fitted(stack, int(taken - most))
            fitting += [cut] if cut is not None else []
        return list(dict.fromkeys(fitting))

    def _refilled(self, trial: UnitTrial) -> list[str]:
        """Stacks with their RAM changed to what was asked for; none without a limit.

        What took more, since buffers fill in use, is cut. What the best leave unused is shared out.
        """
        most, changed = self._query.ram_bytes, []
        if most is None:
            return []
        for stack, measured in trial.searched.items():
            taken = int(measured.mean("ram_bytes") or 0.0)
            if taken > most and (cut := self._space.fitted(stack, taken - most)) is not None:
                changed.append(cut)
        best = best_first(self._query, trial.searched) if self._query.goal != "ram" else []
        for stack in best[:_REFILLED]:
            unused = int(most - (trial.searched[stack].mean("ram_bytes") or 0.0))
            changed += [sizes[0] for sizes in self._space.refilled(stack, unused)]
        return [stack for stack in dict.fromkeys(changed) if stack not in trial.searched]


class _Part:
    """The parts of the workload on which other units are tried: those of the search itself."""

    def __init__(self, result: SearchResult, *, is_held_out: bool) -> None:
        self._result, self._is_held_out = result, is_held_out

    def sift(self, runner: Runner, stacks: Sequence[str]) -> Mapping[str, Measured]:
        """Stacks on the last prefix of the search, which chose there, too."""
        return runner.prefix(stacks, self._result.last.requests, self._result.last.precondition)

    def measure(
        self, runner: Runner, stacks: Mapping[UnitTrial, Sequence[str]]
    ) -> Iterator[tuple[UnitTrial, Mapping[str, Measured]]]:
        """Stacks with units on the part that the answer tells of, with one seed."""
        if self._is_held_out:
            by_unit = {trial.unit_bytes: some for trial, some in stacks.items()}
            told = runner.beside(by_unit, self._result.searched)
            yield from ((trial, told.get(trial.unit_bytes, {})) for trial in stacks)
        else:
            for trial, some in stacks.items():
                yield trial, self.sift(runner.with_unit(trial.unit_bytes), some)


def is_within(query: Query, measured: Measured) -> bool:
    """Whether a stack has figures for the goal, within the RAM that was asked for."""
    ram = measured.mean("ram_bytes")
    return (
        ram is not None
        and measured.least(query.metric) is not None
        and (query.ram_bytes is None or ram <= query.ram_bytes)
    )


def is_settled(query: Query, measured: Measured) -> bool:
    """Whether a longer run would have about the write amplification that a run has.

    Responses to a trace are those of the trace itself: there is no more of it.
    """
    if query.goal not in TIMELESS and not generated(query.document()["workload"]):
        return True
    outcome = Outcome(json.loads(measured.rows[0]["document"]))
    return drift.bounds(outcome, outcome.document["runs"][0]) is not None


def best_first(query: Query, runs: Mapping[str, Measured]) -> list[str]:
    """The stacks of some runs that may be advised, the best for the goal first."""
    points = [measured.point(query.metrics) for measured in runs.values() if is_within(query, measured)]
    return [point.stack for point in ranked(points, query)]
