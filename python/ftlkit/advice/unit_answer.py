"""Mapping units in an answer: what the map takes per TB, what other units cost, which one is best.

Every figure is of a run with that unit. Skipped runs are named, and those whose write amplification
had not settled, which are not compared.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ftlkit._util import units
from ftlkit.advice import phrasing
from ftlkit.advice.choice import NEAR, NOTHING, ranked
from ftlkit.advice.commands import of_units
from ftlkit.advice.conditions import caches_all
from ftlkit.advice.fitting import generated
from ftlkit.advice.mapping_units import is_settled, is_within
from ftlkit.advice.measure import Measured, ratio
from ftlkit.advice.query import REFERENCE, UNIT, Query
from ftlkit.advice.search_result import SearchResult, UnitTrial
from ftlkit.report import drift
from ftlkit.report import life as report
from ftlkit.report.cautions import more
from ftlkit.results.derived import buffer_ram, program_buffer
from ftlkit.results.outcome import Outcome
from ftlkit.sweeps.goals import TIMELESS
from ftlkit.sweeps.values import plain

_ALIKE = 1.1
"""Slices whose sizes differ by less are of one size: word lines round them."""
_CHEAP = 1.1
"""A unit that saves RAM is named where it costs less than this factor of the goal."""

_LEAST_PASS = 0.1
"""A smaller part of a pass over the data bounds nothing."""

WHOLE = " (whole map in RAM)"
"""Behind the name of a stack whose cache is as large as the map in flash."""


@dataclass(frozen=True)
class UnitRow:
    """A stack with one mapping unit, in the table of units."""

    trial: UnitTrial
    measured: Measured
    is_best: bool
    """Whether no stack with any unit is better for the goal, within the RAM that was asked for."""
    life: str | None = None
    """Its cell of the column of lives; None where there is no such column."""

    @property
    def per_tb(self) -> float | None:
        """By how many bytes the RAM of the stack grows with each TB of the drive."""
        return self.trial.per_tb.get(self.measured.stack)

    @property
    def name(self) -> str:
        """The stack; a cache as large as the map in flash buys nothing that `page` has not."""
        run = json.loads(self.measured.rows[0]["document"])["runs"][0]
        parts = run["footprint"]["structures"]
        cached = sum(part["ram_bytes"] for part in parts) - buffer_ram(run) - (program_buffer(run) or 0)
        return f"{self.measured.stack}{WHOLE if 0 < sum(part['flash_bytes'] for part in parts) <= cached else ''}"

    def cells(self, query: Query) -> list[str]:
        """RAM, RAM per TB, the metrics by which stacks are sifted, and years where life counts."""
        ram = [units.size(self.measured.mean("ram_bytes")), units.size(self.per_tb)]
        lasts = [self.life] if self.life is not None else []
        cells = [*(phrasing.text(metric, self.measured) for metric in query.metrics), *lasts]
        return [*ram, *(cells if is_settled(query, self.measured) else [f"({cell})" for cell in cells])]


def life_of(shown: Sequence[UnitRow]) -> str:
    """What lives of units are told at, behind a space; empty where they are not."""
    if not shown or shown[0].life is None:
        return ""
    first = shown[0].measured.rows[0]
    even = f", {report.EVEN}" if _lives(shown)[1] else ""
    return f" Life at {report.conditions(json.loads(first['document']))}{even}."


def _lives(shown: Sequence[UnitRow]) -> tuple[list[str], bool, list[float | None]]:
    return report.column([[Outcome(json.loads(row["document"])) for row in each.measured.rows] for each in shown])


def rows(query: Query, result: SearchResult) -> list[UnitRow]:
    """The stacks that were measured with each unit, by ascending unit; the best one is marked."""
    best = _best(query, result)
    shown = [
        UnitRow(trial, measured, best is not None and (trial, measured) == best)
        for trial in sorted(result.units, key=lambda trial: trial.unit_bytes)
        for measured in trial.told.values()
        if measured.rows
    ]
    if not query.levels_wear and "daily_writes" not in query.options:
        return shown
    return [replace(row, life=life) for row, life in zip(shown, _lives(shown)[0], strict=True)]


def sentences(query: Query, result: SearchResult, advised: Measured) -> list[str]:
    """What the map takes with the device's own unit and with others, and which unit is best."""
    if not result.units:
        sizes = sorted(query.units)
        return [f"No mapping unit was compared: {_longer(query, result, advised, sizes, [advised])}."] if sizes else []
    own = next(trial for trial in result.units if trial.is_own)
    others = [trial for trial in result.units if not trial.is_own]
    ascending = sorted(others, key=lambda trial: trial.unit_bytes)
    neighbours = [
        *[trial for trial in ascending if trial.unit_bytes > own.unit_bytes][:1],
        *[trial for trial in ascending if trial.unit_bytes < own.unit_bytes][-1:],
    ]
    return [
        *_own(result, own, advised),
        *(_other(query, own, trial, advised) for trial in (ascending if query.units else neighbours)),
        *_verdict(query, result, own),
        *_not_compared(query, result, own.told[advised.stack]),
        *_left_out(own, others, advised),
        *_slices(result),
    ]


def _slices(result: SearchResult) -> list[str]:
    """That slices of automatic size count writes, where they had other sizes for that."""
    measured = {trial.unit_bytes: run for trial in result.units for run in trial.told.values() if run.rows}
    parts = {unit: json.loads(run.rows[0]["document"])["device"].get("slice_bytes") for unit, run in measured.items()}
    if not parts or None in parts.values() or max(parts.values()) < _ALIKE * min(parts.values()):
        return []
    ends = [f"{units.size(parts[unit])} with {units.size(unit)}" for unit in (min(parts), max(parts))]
    return [f"Each unit was measured on a slice of about as many writes: {' to '.join(ends)}."]


def _best(query: Query, result: SearchResult) -> tuple[UnitTrial, Measured] | None:
    """The best stack with the best unit for the goal, of those that were measured."""
    pairs = [pair for pair in _comparable(query, result) if is_within(query, pair[1])]
    best = _first(query, pairs)
    own = [pair for pair in pairs if pair[0].is_own and best is not None and _is_alike(query, pair[1], best[1])]
    return own[0] if own else best


def _comparable(query: Query, result: SearchResult) -> list[tuple[UnitTrial, Measured]]:
    """The runs that have settled, with collections, where that of the device's own unit has."""
    mine = next((run for trial in result.units if trial.is_own for run in _runs(trial)), None)
    if mine is None or not is_settled(query, mine):
        return []
    return [
        (trial, run)
        for trial in result.units
        for run in _runs(trial)
        if not _unerased(run, mine) and is_settled(query, run)
    ]


def _is_alike(query: Query, one: Measured, other: Measured) -> bool:
    """Whether the write amplification of two runs differs no more than within a settled one."""
    costs = [run.mean("write_amplification") or 0.0 for run in (one, other)]
    return one is other or (query.goal in TIMELESS and max(costs) < drift.TREND * min(costs))


def trade(query: Query, result: SearchResult) -> list[str]:
    """The RAM that a larger unit saves for a little of the goal, beside the best or own unit."""
    best = _best(query, result)
    if best is None or query.goal == "ram":
        return []
    (trial, mine), ram = best, best[1].mean("ram_bytes") or 0.0
    less = [
        (run.mean("ram_bytes") or 0.0, other, run)
        for other, run in _comparable(query, result)
        if other.unit_bytes > trial.unit_bytes and is_within(query, run) and (run.mean("ram_bytes") or 0.0) < ram
    ]
    cost = mine.point([query.metric]).costs[query.metric]
    less = [each for each in less if ratio(each[2].point([query.metric]).costs[query.metric], cost) < _CHEAP]
    if not less:
        return []
    least, other, run = min(less, key=lambda each: each[0])
    with_best = f"with {units.size(trial.unit_bytes)}"
    compared = phrasing.against(query.metric, run, mine, with_best)
    return [
        (
            f"Units of {units.size(other.unit_bytes)} ({_key(other)}) would save {units.size(ram - least)} of "
            f"{units.size(ram)} of RAM: {run.stack} then has {phrasing.named(query.metric)} "
            f"{phrasing.text(query.metric, run)}, {compared}, which has {phrasing.text(query.metric, mine)}."
        )
    ]


def _first(query: Query, runs: Iterable[tuple[UnitTrial, Measured]]) -> tuple[UnitTrial, Measured] | None:
    """The best of stacks with units for the goal."""
    by_name = {f"{measured.stack} at {trial.unit_bytes}": (trial, measured) for trial, measured in runs}
    points = [replace(measured.point(query.metrics), stack=name) for name, (_, measured) in by_name.items()]
    return next((by_name[point.stack] for point in ranked(points, query)), None)


def _own(result: SearchResult, own: UnitTrial, advised: Measured) -> list[str]:
    """What the map takes with the unit of the device, and for each TB of a larger drive."""
    grows = own.per_tb.get(advised.stack)
    if grows is None:
        return []
    rest = "The rest does not grow: caches, and buffers of what waits to be programmed."
    if caches_all(advised):
        rest = "Its cache answers all look-ups here, and must grow with the data to do so on a larger drive."
    return [
        (
            f"With units of {units.size(own.unit_bytes)} the RAM of {advised.stack} grows by "
            f"{units.size(grows)} per TB of the drive{_of_reference(own, advised)}; here it has "
            f"{units.written(result.capacity)}. {rest}"
        )
    ]


def _of_reference(trial: UnitTrial, advised: Measured) -> str:
    """What the reference takes per TB with a unit, beside another stack."""
    grows = trial.per_tb.get(REFERENCE)
    return "" if grows is None or advised.stack == REFERENCE else f" ({REFERENCE}: {units.size(grows)})"


def _other(query: Query, own: UnitTrial, trial: UnitTrial, advised: Measured) -> str:
    """What another unit would take, and what it would cost on this workload."""
    size = units.size(trial.unit_bytes)
    if trial.refusal:
        return f"Units of {size} are not possible here: {trial.refusal.rstrip('.')}."
    per_tb = trial.per_tb.get(advised.stack)
    grows = "" if per_tb is None else f" {units.size(per_tb)} per TB{_of_reference(trial, advised)}"
    measured = trial.told.get(advised.stack)
    if measured is None:
        return f"Units of {size} would take{grows or ' another map'}; there was no time to measure what they cost."
    if not measured.rows:
        return (
            f"Units of {size} would take{grows or ' another map'}; {advised.stack} failed with them: {measured.error}"
        )
    beside = own.told[advised.stack]
    metrics = dict.fromkeys((query.metric, query.response, "write_amplification"))
    is_known, size_of_own = is_settled(query, measured), units.size(own.unit_bytes)
    rival = beside if is_known and is_settled(query, beside) else None
    costs = [text for metric in metrics if (text := _cost(metric, measured, rival, size_of_own))]
    costs += [] if is_known else ["this had not settled"]
    ram = units.size(measured.mean("ram_bytes"))
    over = "" if query.ram_bytes is None or is_within(query, measured) else ", more than was asked for"
    takes = f"Units of {size} would take{grows} ({ram} in all{over})" if grows else f"Units of {size} take {ram}{over}"
    return f"{takes}; {advised.stack} then has {' and '.join(costs)}.{_unerased(measured, beside)}"


def _unerased(measured: Measured, beside: Measured) -> str:
    """That the run of one unit collected nothing, as a sentence behind a space, if it is so."""
    if measured.rows[0]["erases"] or not beside.rows[0]["erases"]:
        return ""
    return " No block was erased in that run, so collections with that unit were not measured."


def _cost(metric: str, measured: Measured, beside: Measured | None, own: str) -> str:
    """A metric with a unit, against that with the device's own unit where both are known."""
    if measured.mean(metric) is None:
        return ""
    compared = "" if beside is None else phrasing.against(metric, measured, beside, f"with {own}")
    return f"{phrasing.named(metric)} {phrasing.text(metric, measured)}{compared and f' ({compared})'}"


def _verdict(query: Query, result: SearchResult, own: UnitTrial) -> list[str]:
    """Which unit is best for the goal within the RAM that was asked for."""
    best, comparable = _best(query, result), _comparable(query, result)
    sizes = list(dict.fromkeys(trial.unit_bytes for trial, _ in comparable))
    if best is None or len(sizes) < 2:
        return []
    trial, measured = best
    within = "" if query.ram_bytes is None else f" within {units.size(query.ram_bytes)}"
    told = f"{phrasing.named(query.metric)} {phrasing.text(query.metric, measured)}"
    ram = units.size(measured.mean("ram_bytes"))
    mine = next(iter(_runs(own)))
    if trial.is_own:
        rivals = [(other, run) for other, run in comparable if not other.is_own and is_within(query, run)]
        names = _listed(map(units.size, sizes))
        nearest = _first(query, rivals)
        if nearest is not None and _is_alike(query, measured, nearest[1]):
            alike = _listed(units.size(each.unit_bytes) for each in (own, nearest[0]))
            return [f"Units of {alike} do alike for this goal{within}: they differ by less than settled runs may."]
        next_best = _nearest(query, nearest)
        return [f"Of units of {names} those of {units.size(own.unit_bytes)} are best for this goal{within}{next_best}."]
    compared = phrasing.against(query.metric, measured, mine, f"{mine.stack} with {units.size(own.unit_bytes)}")
    return [
        (
            f"Units of {units.size(trial.unit_bytes)} {_better(query, mine, measured)} for this goal{within}: "
            f"{measured.stack} has {told} with {ram} of RAM{compared and f', {compared}'}. The figures that are told, "
            f"of one seed, chose among the units. To search with these: {_key(trial)}."
        )
    ]


def _not_compared(query: Query, result: SearchResult, mine: Measured) -> list[str]:
    """The units whose runs have not settled or collected nothing, so that none is called best."""
    open_runs: dict[int, list[Measured]] = {}
    new = set()
    for trial in result.units:
        if (runs := _runs(trial)) and all(_unerased(run, mine) for run in runs):
            new.add(trial.unit_bytes)
        elif runs and not any(is_settled(query, run) for run in runs):
            open_runs[trial.unit_bytes] = runs
    told = []
    if open_runs:
        every = sorted(trial.unit_bytes for trial in result.units if any(_runs(trial)))
        runs = [run for runs in open_runs.values() for run in runs]
        costs = {
            trial.unit_bytes: [_long_run(query, run) for run in _runs(trial) if is_within(query, run)]
            for trial in result.units
        }
        most = min((most for some in costs.values() for _, most in some), default=0.0)
        rivals = costs if mine in runs else open_runs
        able = [unit for unit in rivals if any(least <= most for least, _ in costs[unit])]
        so = f", so {_sizes(able)} may be best" if able else ", but none of these comes near the best"
        longer = f": {_longer(query, result, mine, every, runs)}" if able else ""
        told.append(f"Write amplification had not settled with units of {_sizes(open_runs)}{so}{longer}.")
    if new:
        told.append(f"With units of {_sizes(new)} no block was erased, so none of them is called best.")
    return told


def _long_run(query: Query, run: Measured) -> tuple[float, float]:
    """The least and the most that a stack may cost in longer runs, for all that a run tells.

    Write amplification may go on as far as it went, and beyond that as far as that of settled runs;
    in a part of a pass over the data as often as such parts make a pass.
    """
    cost = run.point([query.metric], is_exact=True).costs.get(query.metric)
    outcome = Outcome(json.loads(run.rows[0]["document"]))
    (mine,) = outcome.document["runs"]
    part = drift.parts(mine)
    is_new, passes = drift.is_in_first_turn(mine) or drift.is_filling(outcome, mine), drift.passes(outcome, mine)
    if cost is None or not part or min(part) <= 0 or is_new or passes < _LEAST_PASS:
        return 0.0, math.inf
    went, parts = part[-1] / part[0], max(1.0, 1 / passes)
    last = cost * part[-1] / (run.mean("write_amplification") or part[-1])
    return last * (min(1.0, went) / drift.APART) ** parts, last * (max(1.0, went) * drift.APART) ** parts


def _sizes(sizes: Iterable[int]) -> str:
    return _listed(map(units.size, sorted(sizes)))


def _longer(query: Query, result: SearchResult, mine: Measured, sizes: Sequence[int], runs: Iterable[Measured]) -> str:
    """About how many requests settle runs, with the command where the workload has that many."""
    outcomes = [Outcome(json.loads(run.rows[0]["document"])) for run in runs]
    requests = max(drift.enough(outcome, outcome.document["runs"][0], is_forecast=False) for outcome in outcomes)
    least = f"at least {units.count(requests)} requests are needed"
    if not generated(query.document()["workload"]):
        return f"{least} ({more(outcomes[0])})"
    return f"{least}, `{of_units(query, result.capacity, mine.stack, sizes, requests)}`"


def headline(query: Query, result: SearchResult) -> str:
    """What follows the advice in its sentence, where another unit is better: which, and how."""
    best = _best(query, result)
    if best is None or best[0].is_own:
        return ""
    trial, measured = best
    mine = next(run for other in result.units if other.is_own for run in _runs(other))
    told = f"{phrasing.named(query.metric)} {phrasing.text(query.metric, measured)}"
    return (
        f"; units of {units.size(trial.unit_bytes)} {_better(query, mine, measured)} ({_key(trial)}): "
        f"{measured.stack}, {told} with {units.size(measured.mean('ram_bytes'))} of RAM"
    )


def _key(trial: UnitTrial) -> str:
    """The option that sets a unit."""
    return f"--set device.mapping_unit={plain(f'{trial.unit_bytes}B')}"


def _better(query: Query, mine: Measured, measured: Measured) -> str:
    """How much better a stack with another unit is, as a predicate."""
    costs = [each.point([query.metric]).costs.get(query.metric) for each in (mine, measured)]
    is_less = (measured.mean("ram_bytes") or 0.0) < (mine.mean("ram_bytes") or 0.0)
    if query.goal == "ram" or costs[0] is None or costs[1] is None:
        return "do with less RAM" if query.goal == "ram" and is_less else "are better"
    if ratio(costs[0], costs[1]) < NOTHING:
        return "do as well with less RAM" if is_less else "do as well"
    return "are a little better" if ratio(costs[0], costs[1]) <= 1 + NEAR else "are better"


def _nearest(query: Query, best: tuple[UnitTrial, Measured] | None) -> str:
    """The best of other units."""
    if best is None:
        return ""
    trial, measured = best
    told = f"{phrasing.named(query.metric)} {phrasing.text(query.metric, measured)}"
    ram = units.size(measured.mean("ram_bytes"))
    return f"; next come {units.size(trial.unit_bytes)} with {measured.stack}: {told} with {ram} of RAM"


def _left_out(own: UnitTrial, others: list[UnitTrial], advised: Measured) -> list[str]:
    """The units that were not measured, for want of time, and the option that compares fewer."""
    late = [trial for trial in others if not trial.refusal and advised.stack not in trial.told]
    if not late:
        return []
    sizes = _listed(units.size(trial.unit_bytes) for trial in sorted(late, key=lambda trial: trial.unit_bytes))
    fewer = ",".join(plain(f"{trial.unit_bytes}B") for trial in (own, late[0]))
    return [f"There was no time to run {advised.stack} with units of {sizes}; --vary {UNIT}={fewer} compares two."]


def _runs(trial: UnitTrial) -> list[Measured]:
    return [measured for measured in trial.told.values() if measured.rows]


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
