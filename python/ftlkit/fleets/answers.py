"""What the points of a fleet say: distributions over volumes, and the one stack for all of them.

A *cost* is the figure of a goal, the lower the better (a life counts as its inverse). A stack's
cost on the fleet is the mean, the 95th percentile or the worst of its costs on the volumes.
*Regret* is how much more that is than with the best stack for each volume. Runs that differ in
their seed alone are one point, of their means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, harmonic_mean
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.fleets.choice import AIMS, FOLDS, Margin, Numbers, chosen, held_out, least, margin, tie
from ftlkit.fleets.kinds import LEAST, Kinds, kinds
from ftlkit.fleets.run import EVEN_LIFE, FIGURES, WRITTEN, Points, Volume
from ftlkit.report.facts import spare_text
from ftlkit.report.rules import listed
from ftlkit.results.columns import COLUMNS
from ftlkit.results.noise import LITTLE, estimate
from ftlkit.results.point_state import DONE
from ftlkit.sweeps.goals import GOALS, Goal
from ftlkit.sweeps.statements import KINDS, largest, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit.results.metric import Metric

SHARES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "most": 1.0}
"""Quantiles over volumes that are told."""

DISTRIBUTION = [*SHARES, "total"]
"""Headings of a figure's distribution: a volume weighs by its bytes in the total alone."""

MEAN = "mean"
ONE, BY_KIND = "the one stack", "a stack per kind"

DEFAULT, DEFAULT_SPARE = "page", 0.07
"""The layer that advice has to beat, and its spare space."""

ALONE = tuple(f"{DEFAULT}, device.{key} " for key in ("spare", "op"))
"""How its stacks begin where spare space alone is varied."""

NAMED = 3
"""More volumes than this are counted instead of named."""


@dataclass(frozen=True)
class Choice:
    """The one stack with the least cost on the fleet, by one aim."""

    aim: str
    stack: str
    tie: str
    """What decided where others are as good; else empty."""
    value: float
    """What the goal is with it."""
    half_width: float | None
    """Of its 95 % interval over seeds; None with one seed."""
    own: float
    """The same with the best stack for each volume."""
    regret: float
    median: float
    """Regret of the median volume, and of the volume at 95 %."""
    high: float
    worst: float
    worst_volume: str

    @property
    def name(self) -> str:
        """The stack, and what decided a tie."""
        return f"{self.stack} ({self.tie})" if self.tie else self.stack


@dataclass(frozen=True)
class Held:
    """What advice is worth on volumes that had no part in it."""

    advice: str
    aim: str
    baseline: str
    margin: Margin
    agreeing: int
    """Of `FOLDS`, how many choose as all volumes together."""


@dataclass(frozen=True)
class Kind:
    """Volumes that are alike, and their stack by the mean."""

    volumes: int
    medians: dict[str, float | None]
    """Of each feature."""
    stack: str
    value: float
    """What the mean of the goal is with it."""
    one: float
    """The same with the one stack."""


@dataclass(frozen=True)
class Answers:
    """The answers of a fleet."""

    fleet: Sequence[Volume]
    points: Points
    goal: Goal

    @cached_property
    def metric(self) -> str:
        """The figure that decides: a life under even wear where some have no forecast."""
        if self.goal is GOALS["life"] and any(row[self.goal.metric] is None for row in self._runs):
            return EVEN_LIFE
        return self.goal.metric

    def text(self, value: float | None) -> str:
        """A value of the goal as people read it."""
        return COLUMNS[self.goal.metric].text(value)

    def interval(self, choice: Choice) -> str:
        """What the goal is with the one stack, with its interval over seeds."""
        return units.with_interval(self.text, choice.value, choice.half_width)

    @property
    def _runs(self) -> list[Json]:
        return [row for row in self.points.rows if row["state"] == DONE]

    @cached_property
    def _done(self) -> list[Json]:
        """Points of which all seeds are done, each the means of its seeds."""
        points: dict[tuple[str, str], list[Json]] = {}
        for row in self._runs:
            points.setdefault((row["volume"], row["stack"]), []).append(row)
        return [_mean(rows) for rows in points.values() if len(rows) == self.points.seeds]

    @cached_property
    def _is_collected(self) -> bool:
        """Whether some run erased a block, or none has write amplification as its goal."""
        erases = [row["erases"] for row in self._runs if row["write_amplification"]]
        return self.goal is not GOALS["wa"] or not erases or any(count != 0 for count in erases)

    @cached_property
    def _uncollected(self) -> int:
        """Volumes whose least write amplification, if that is the goal, is without an erase."""
        least: dict[str, tuple[float, float]] = {}
        for row in self._runs if self.goal is GOALS["wa"] else ():
            if row["write_amplification"] and row["erases"] is not None:
                name, found = row["volume"], (row["write_amplification"], row["erases"])
                least[name] = min(found, least.get(name, found))
        return sum(not erases for _, erases in least.values())

    @cached_property
    def _costs(self) -> Numbers:
        """A row per volume, a column per stack; NaN where a point is not ranked."""
        return self._costs_of(self._done)

    def _costs_of(self, rows: list[Json]) -> Numbers:
        costs = np.full((len(self.fleet), len(self.points.stacks)), np.nan)
        for row in rows if self._is_collected else ():
            value = row[self.metric]
            if value and not set(row["cautions"]) & set(self.goal.barring):
                costs[self._places[row["volume"]], self._columns[row["stack"]]] = self._cost(value)
        return costs

    @cached_property
    def _ram(self) -> Numbers:
        ram = np.full(self._costs.shape, np.inf)
        for row in self._done:
            ram[self._places[row["volume"]], self._columns[row["stack"]]] = row["ram_bytes"] or 0
        return ram

    @cached_property
    def _places(self) -> dict[str, int]:
        return {volume.name: place for place, volume in enumerate(self.fleet)}

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {stack: place for place, stack in enumerate(self.points.stacks)}

    def _cost(self, value: float) -> float:
        return 1 / value if self.goal.is_most else float(value)

    @cached_property
    def _ranked(self) -> Numbers:
        """The places of volumes that have a ranked point."""
        return np.flatnonzero(np.isfinite(self._costs).any(axis=1))

    @cached_property
    def best(self) -> dict[str, str]:
        """The best stack of each volume that has a ranked point; of equals, the least RAM."""
        names = self.points.stacks
        return {self.fleet[place].name: names[least(self._costs[place], self._ram[place])] for place in self._ranked}

    @cached_property
    def _serving(self) -> Numbers:
        """The columns of stacks that are ranked on all volumes that have a best."""
        costs = self._costs[self._ranked]
        return np.flatnonzero(np.isfinite(costs).all(axis=0)) if costs.size else np.array([], int)

    def _of(self, numbers: Numbers) -> Numbers:
        """The part of them that a choice is made of: ranked volumes, and stacks ranked on all."""
        part: Numbers = numbers[np.ix_(self._ranked, self._serving)]
        return part

    @cached_property
    def choices(self) -> list[Choice]:
        """The one stack by each aim, of those that are ranked on all volumes that have a best."""
        return [self._choice(aim) for aim in AIMS] if self._serving.size else []

    def _choice(self, aim: str) -> Choice:
        own = np.nanmin(self._costs[self._ranked], axis=1)
        place = self._serving[chosen(self._of(self._costs), self._of(self._ram), aim)]
        mine = self._costs[self._ranked, place]
        regrets = mine / own - 1
        worst = int(np.argmax(regrets))
        cost, best = float(AIMS[aim](mine)), float(AIMS[aim](own))
        return Choice(
            aim,
            self.points.stacks[place],
            tie(self._of(self._costs), self._of(self._ram), aim),
            self._cost(cost),
            self._half_width(aim, place),
            self._cost(best),
            cost / best - 1,
            float(np.median(regrets)),
            float(np.quantile(regrets, 0.95)),
            float(regrets[worst]),
            self.fleet[self._ranked[worst]].name,
        )

    def _half_width(self, aim: str, place: int) -> float | None:
        """Half of the interval over seeds of what the goal is with a stack."""
        by_seed: dict[int, list[Json]] = {}
        for row in self._runs:
            by_seed.setdefault(row["seed"], []).append(row)
        fleets = [self._costs_of(rows)[self._ranked, place] for rows in by_seed.values()]
        return estimate([self._cost(float(AIMS[aim](costs))) for costs in fleets]).half_width

    @cached_property
    def default(self) -> str | None:
        """The page mapping with the usual over-provisioning, if it is there and ranked."""
        spares = {row["stack"]: row["spare"] for row in self._runs}
        names = [self.points.stacks[place] for place in self._serving]
        plain = [name for name in names if name == DEFAULT or (name.startswith(ALONE) and name.count(", ") == 1)]
        # A share of user space such as 7.53 % is rounded.
        return next((name for name in plain if math.isclose(spares[name], DEFAULT_SPARE, abs_tol=1e-4)), None)

    @cached_property
    def _kinds(self) -> Kinds | None:
        if not self._serving.size or len(self._ranked) < FOLDS:
            return None
        return kinds([self.fleet[place].features for place in self._ranked])

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kinds of the ranked volumes, if there are several."""
        if self._kinds is None or self._kinds.count == 1:
            return []
        return [self._kind(self._kinds.labels == label) for label in range(self._kinds.count)]

    def _kind(self, mine: Numbers) -> Kind:
        costs, ram = self._of(self._costs), self._of(self._ram)
        place, one = chosen(costs[mine], ram[mine], MEAN), chosen(costs, ram, MEAN)
        features = [self.fleet[place].features for place in self._ranked[mine]]
        known = {name: [value for each in features if (value := each[name]) is not None] for name in features[0]}
        return Kind(
            int(mine.sum()),
            {name: float(np.median(values)) if values else None for name, values in known.items()},
            self.points.stacks[self._serving[place]],
            *(self._cost(float(AIMS[MEAN](costs[mine, column]))) for column in (place, one)),
        )

    @property
    def kind_columns(self) -> list[str]:
        """Headings of the cells of `kind_rows`."""
        medians = self.kinds[0].medians if self.kinds else {}
        return ["volumes", *medians, f"mean {self.goal.words}", "with the one stack"]

    def kind_rows(self) -> Iterator[tuple[str, list[str]]]:
        """The stack of each kind, and its cells."""
        for kind in self.kinds:
            medians = [FEATURES[name](value) for name, value in kind.medians.items()]
            yield kind.stack, [f"{kind.volumes:,}", *medians, self.text(kind.value), self.text(kind.one)]

    @cached_property
    def held(self) -> list[Held]:
        """What the one stack, and the stack by kind, are worth on held-out volumes."""
        if not self._serving.size or len(self._ranked) < FOLDS:
            return []
        costs, ram = self._of(self._costs), self._of(self._ram)
        found = []
        for choice in self.choices[:2] if self.default else ():
            advice = held_out(costs, ram, choice.aim)
            baseline = self._costs[self._ranked, self._columns[str(self.default)]]
            worth = margin(advice.costs, baseline, choice.aim)
            found.append(Held(choice.stack, choice.aim, str(self.default), worth, advice.agreeing))
        if len({kind.stack for kind in self.kinds}) > 1 and self._kinds is not None:
            one, advice = held_out(costs, ram, MEAN), held_out(costs, ram, MEAN, self._kinds.labels)
            found.append(Held(BY_KIND, MEAN, ONE, margin(advice.costs, one.costs, MEAN), advice.agreeing))
        return found

    @cached_property
    def metrics(self) -> list[Metric]:
        """The figures whose distributions are told: those that some point has."""
        names = ("write_amplification", "response_p99_ns", "ram_bytes", "life_bytes", "life_years")
        named = dict.fromkeys([self.goal.metric, *names])
        return [COLUMNS[name] for name in named if any(row[name] is not None for row in self._done)]

    def values(self, metric: str, stack: str) -> list[float]:
        """A figure of a stack on all volumes that have it, ascending."""
        mine = (row[metric] for row in self._done if row["stack"] == stack)
        return sorted(float(value) for value in mine if value is not None)

    def of_all(self, count: int) -> str:
        """A number of volumes; of all of them, if some lack."""
        return f"{count:,}" if count == len(self.fleet) else f"{count:,} of {len(self.fleet):,}"

    def total(self, metric: str, stack: str) -> float | None:
        """RAM of all volumes; write amplification of all their bytes; other figures have none."""
        if metric == "ram_bytes":
            return sum(self.values(metric, stack))
        programmed, written = (sum(self.values(name, stack)) for name in WRITTEN)
        return programmed / written if metric == "write_amplification" and written else None

    def quantiles(self) -> Iterator[tuple[Metric, str, str, list[float | None]]]:
        """Each figure of each stack: on how many volumes, and its `DISTRIBUTION`."""
        for metric in self.metrics:
            for stack in self.points.stacks:
                values = self.values(metric.name, stack)
                if values:
                    quantiles = [float(np.quantile(values, share)) for share in SHARES.values()]
                    yield metric, stack, self.of_all(len(values)), [*quantiles, self.total(metric.name, stack)]

    @property
    def head(self) -> list[str]:
        """The devices of the volumes, how they were prepared, and cut traces."""
        said = []
        for device in dict.fromkeys(row["device"] for row in self._runs):
            sizes = [row["capacity_bytes"] for row in self._runs if row["device"] == device]
            size = " to ".join(dict.fromkeys([units.size(min(sizes)), units.size(max(sizes))]))
            spares = sorted({row["spare"] or 0.0 for row in self._runs if row["device"] == device})
            told = listed([spare_text(spare) for spare in spares])
            said.append(f"Device {device}, {size} for the host (by volume), {told}.")
        modes: dict[str, dict[str, None]] = {}
        for row in self._runs:
            modes.setdefault(row["preparation"], {})[row["volume"]] = None
        counted = ", ".join(f"{mode} ({self.of_all(len(mine))})" for mode, mine in modes.items())
        said += [f"Preconditioning, by volumes: {counted}."] if counted else []
        limits = {row["volume"]: row["most_requests"] for row in self._runs if row["most_requests"]}
        cut = [limit for volume in self.fleet if (limit := limits.get(volume.name, math.inf)) < volume.requests]
        if cut:
            said.append(f"Of {self.of_all(len(cut))} volumes the first {units.count(cut[0])} requests were run.")
        return said

    @property
    def sentences(self) -> list[str]:
        """The answer in words: the one stack by its mean, and how often which stack is best."""
        if not self._ranked.size:
            return [*self._uncollected_sentences] or [f"No volume can be ranked: each is {self.goal.unranked}."]
        said = [*self._uncollected_sentences]
        ranked = several(len(self._ranked), "volume")
        if len(self._ranked) < len(self.fleet):
            ranked += f" that can be ranked (of {len(self.fleet):,})"
        if not self.choices:
            counts = np.isfinite(self._costs).sum(axis=0)
            most = int(np.argmax(counts))
            said.append(
                f"No stack is ranked on all {ranked}; {self.points.stacks[most]} is on {counts[most]}. "
                f"The others are {self.goal.unranked}, or failed."
            )
        said += [
            f"Of one stack for all {ranked}, {choice.name} has the {self.goal.ends[0]} mean {self.goal.words}, "
            f"{self.interval(choice)}. {self._regret_sentence(choice)}"
            for choice in self.choices[:1]
        ]
        if self.choices and (
            missing := [f"{stack}{told}" for stack in self._columns if (told := self._missing(stack))]
        ):
            said.append(f"No candidates for all: {', '.join(missing)}.")
        counted = {stack: list(self.best.values()).count(stack) for stack in self.points.stacks}
        leading = sorted((stack for stack in counted if counted[stack]), key=lambda stack: -counted[stack])
        told = ", ".join(f"{stack} on {counted[stack]:,}{self._missing(stack)}" for stack in leading)
        said.append(f"Best stack per volume (of those within {share(LITTLE)}, the least RAM): {told}.")
        if self.choices and len(self._ranked) < FOLDS:
            said.append(f"What that is worth on held-out volumes is not known: it takes {FOLDS} ranked volumes.")
        elif self.choices and self.default is None:
            spare = units.share(DEFAULT_SPARE)
            said.append(
                f"The stack is compared with no default: {DEFAULT} at {spare} spare is not ranked on all of these "
                f"volumes. Run it, too: {DEFAULT} in --ftl, {DEFAULT_SPARE} in --vary device.spare."
            )
        return [*said, *map(self._held_sentence, self.held), *self._kinds_sentences]

    @property
    def _uncollected_sentences(self) -> Iterator[str]:
        """That write amplification says nothing of GC, if so on half of the volumes or more."""
        if 2 * self._uncollected < len(self.fleet):
            return
        counts = "counts only rounding to pages and map writes"
        enough = "enough requests (--repeat)"
        ways = (
            enough
            if all(row["preparation"] == "steady" for row in self._runs)
            else f"--precondition steady and {enough}"
        )
        smaller = "a smaller --capacity and --addresses dense"
        way_out = f"Measure GC with {ways}, or with {smaller}; or rank by --goal p99."
        if self._is_collected:
            where = f"on {self._uncollected:,} of {several(len(self.fleet), 'volume')}"
            yield f"The least write amplification is without an erase {where}: there it {counts}. {way_out}"
        else:
            yield f"No block was erased: write amplification {counts}, so stacks are not ranked by it. {way_out}"
            taken = {stack: values for stack in self.points.stacks if (values := self.values("ram_bytes", stack))}
            ordered = sorted((float(np.median(values)), stack) for stack, values in taken.items())
            if ordered and ordered[0][0] < ordered[-1][0]:
                least, most = (f"{stack}, {units.size(size)}" for size, stack in (ordered[0], ordered[-1]))
                yield f"Least RAM on the median volume: {least}; most: {most}."

    def _regret_sentence(self, choice: Choice) -> str:
        if share(choice.worst) == share(0):
            return "No volume has a better stack."
        return (
            f"With the best stack for each volume it is {self.text(choice.own)}: the regret is {share(choice.regret)}, "
            f"and {share(choice.worst)} on the worst volume, {choice.worst_volume}."
        )

    def _missing(self, stack: str) -> str:
        """On how many volumes a stack is not ranked, if there are some."""
        missing = int(np.isnan(self._costs[self._ranked, self._columns[stack]]).sum())
        return f" (not ranked on {missing:,})" if missing else ""

    def _held_sentence(self, held: Held) -> str:
        """What held-out volumes say of advice, also where they do not confirm it."""
        if held.advice == held.baseline:
            return f"By the {held.aim}, no stack is better than {held.baseline}, the default."
        gains = [self._gain(share) for share in (held.margin.share, held.margin.low, held.margin.high)]
        if {share(gain) for gain in gains} == {share(0)}:
            return f"On held-out volumes {held.advice} and {held.baseline} are level in {held.aim} {self.goal.words}."
        end = self.goal.ends[gains[0] < 0].removesuffix("est")
        told, low, high = (share(gain) for gain in (gains if gains[0] >= 0 else [-gains[0], -gains[2], -gains[1]]))
        verdict = "beats" if held.margin.is_better else "is worse than" if held.margin.is_worse else "does not beat"
        return (
            f"On held-out volumes {held.advice} {verdict} {held.baseline}: the {held.aim} of {self.goal.words} is "
            f"{told} {end}er (95 % interval {low} to {high}). {held.agreeing} of {FOLDS} folds agree."
        )

    def _gain(self, lower: float) -> float:
        """A margin of costs as one of values."""
        return 1 / (1 - lower) - 1 if self.goal.is_most else lower

    @property
    def _kinds_sentences(self) -> list[str]:
        found = self._kinds
        if found is None:
            return []
        silhouette = f"silhouette {found.silhouette:.2f}"
        if found.count == 1:
            return [f"The volumes are of one kind: no division into more is clear ({silhouette}, below {LEAST})."]
        stacks = {kind.stack for kind in self.kinds}
        alike = f"; {stacks.pop()} is the stack of each" if len(stacks) == 1 else ""
        return [f"The volumes are of {found.count} kinds ({silhouette}), shown by medians over their volumes{alike}."]

    @property
    def cautions(self) -> list[str]:
        """Volumes and points that are left out, and what weakens the others."""
        unranked = [volume.name for volume in self.fleet if volume.name not in self.best]
        said = []
        if unranked and self.best:
            said.append(f"{named(unranked)} cannot be ranked: {self.goal.unranked}, or failed.")
        errors: dict[tuple[str, str], dict[str, None]] = {}
        for row in self.points.failed:
            errors.setdefault((row["state"], row["stack"]), {})[row["volume"]] = None
        for (state, stack), mine in errors.items():
            first = next(row["error"] for row in self.points.failed if (row["state"], row["stack"]) == (state, stack))
            said.append(f"{stack} failed ({state}) on {named([*mine])}: {first}")
        return [*said, *self._shared_cautions]

    @property
    def _shared_cautions(self) -> Iterator[str]:
        """Each kind of caution about points once, the gravest first, with its volumes."""
        found: dict[str, list[Json]] = {}
        for row in self._done:
            for kind in row["cautions"]:
                found.setdefault(kind, []).append(row)
        for kind in (kind for kind in KINDS if kind in found and (self._is_collected or kind != "nothing_erased")):
            mine = list(dict.fromkeys(row["volume"] for row in found[kind]))
            stacks = list(dict.fromkeys(row["stack"] for row in found[kind]))
            under = f" under {listed(stacks)}" if len(stacks) < len(self.points.stacks) else ""
            where = f"all {len(mine):,} volumes" if 1 < len(mine) == len(self.fleet) else named(mine)
            facts = largest(row["cautions"][kind] for row in found[kind])
            yield f"{where[0].upper()}{where[1:]}{under}: {summary(kind, facts)}."

    def table(self) -> pl.DataFrame:
        """A row per volume: its facts, kind and best stack, the regret of the one, all stacks."""
        one = self.choices[0].stack if self.choices else None
        rows = []
        by_volume: dict[str, dict[str, Json]] = {}
        for row in self._done:
            by_volume.setdefault(row["volume"], {})[row["stack"]] = row
        kinds = {}
        if self._kinds is not None and self._kinds.count > 1:
            kinds = dict(zip(self._ranked, self._kinds.labels, strict=True))
        for place, volume in enumerate(self.fleet):
            mine = by_volume.get(volume.name, {})
            one_of: Json = next(iter(mine.values()), {})
            best = self.best.get(volume.name)
            least = mine[best][self.metric] if best else None
            regret = None
            if one and best and least is not None:
                regret = self._cost(mine[one][self.metric]) / self._cost(least) - 1
            facts = {
                "volume": volume.name,
                "requests": volume.requests,
                "requests_run": one_of.get("requests"),
                "capacity_bytes": one_of.get("capacity_bytes"),
                "host_written_bytes": one_of.get("host_written_bytes"),
                "write_share": volume.write_share,
                "footprint_bytes": volume.footprint_bytes,
                **({"volumes": " ".join(volume.members)} if volume.members else {}),
                "kind": 1 + int(kinds[place]) if place in kinds else None,
                "best": best,
                f"best_{self.metric}": least,
                "regret": regret,
            }
            for name in dict.fromkeys([self.metric, "ram_bytes"]):
                facts |= {f"{name} {stack}": mine.get(stack, {}).get(name) for stack in self._columns}
            rows.append(facts)
        return pl.DataFrame(rows, infer_schema_length=None)


def _mean(rows: list[Json]) -> Json:
    """A point by the means of its seeds, harmonic of lives; what one lacks it has not."""
    means: Json = {}
    for name in (*FIGURES, EVEN_LIFE) if len(rows) > 1 else ():
        values = [row[name] for row in rows]
        if isinstance(values[0], int | float) and None not in values:
            means[name] = (harmonic_mean if name.endswith("life_bytes") else fmean)(values)
        else:
            means[name] = None
    kinds = {kind for row in rows for kind in row["cautions"]}
    cautions = {kind: largest(row["cautions"][kind] for row in rows if kind in row["cautions"]) for kind in kinds}
    return rows[0] | means | {"cautions": cautions}


def heading(metric: Metric) -> str:
    """What a figure is called in tables: a life and times of reads and writes have no heading."""
    return metric.heading or metric.name.removesuffix("_bytes").removesuffix("_ns").replace("_", " ")


FEATURES: dict[str, Callable[[float | None], str]] = {
    "requests": units.count,
    "writes": units.share,
    "footprint": units.size,
    "sequential": units.share,
    "write size": units.size,
    "writes per page": units.plain,
    "skew": units.plain,
}
"""Features of a volume as people read them."""


def share(value: float) -> str:
    """A regret as people read it."""
    return f"{round(value, 3) + 0.0:.1%}".replace("%", " %")


def named(volumes: Sequence[str]) -> str:
    """Volumes by name, or the first ones of many."""
    if len(volumes) == 1:
        return f"volume {volumes[0]}"
    more = f" and {len(volumes) - NAMED:,} more" if len(volumes) > NAMED else ""
    return f"{len(volumes):,} volumes ({', '.join(volumes[:NAMED])}{more})"
