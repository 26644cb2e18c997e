"""Two selections of a store's points set against each other: what got better or worse, beyond the noise of seeds.

Points are paired by all that the selections do not fix: device, workload, translation layer, varied keys that both
have, and the seed, so that what a seed does to both sides falls out. What is told of a pair is the mean of the
logarithms of after ÷ before over the seeds, with Student's interval at 95 %; if that holds no change, no difference is
seen. One interval in twenty misses the truth, so of many metrics that do not differ some will look as if they did.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit import units
from ftlkit._native import UserError
from ftlkit.metrics import HIGHER, Metric
from ftlkit.noise import Estimate, estimate
from ftlkit.store import Store, varied
from ftlkit.sweep.summary import shown
from ftlkit.sweep.values import order
from ftlkit.words import hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ftlkit.document import Json

BETTER, WORSE, SAME, UNSEEN, UNKNOWN = "better", "worse", "same", "no difference seen", "one seed"
"""What is said of a change: the last one where noise is not known."""

_PLACE = ("device", "workload", "ftl")


@dataclass(frozen=True)
class Selection:
    """Points of a store, and what was said to choose them."""

    text: str
    conditions: dict[str, str]
    rows: list[Json]


@dataclass(frozen=True)
class Change:
    """What became of a metric."""

    metric: Metric
    before: float
    after: float
    ratio: Estimate | None
    """Of after ÷ before, as logarithms; None where one is not above 0."""
    verdict: str

    @property
    def text(self) -> str:
        """The change as people read it, with its interval and its verdict."""
        if self.verdict == SAME:
            return SAME
        if self.ratio is None:
            return f"{self.metric.text(self.before)} → {self.metric.text(self.after)}, {self.verdict}"
        if self.ratio.half_width is None:
            return f"{_percent(self.ratio.mean)}, {self.verdict}"
        if math.isclose(self.ratio.low, self.ratio.high, abs_tol=1e-9):
            return f"{_percent(self.ratio.mean)} with every seed, {self.verdict}"
        return (
            f"{_percent(self.ratio.mean)} ({_percent(self.ratio.low)} to {_percent(self.ratio.high)}), {self.verdict}"
        )


@dataclass(frozen=True)
class Pair:
    """Points before and after that are the same otherwise, one of each a seed."""

    place: str
    """What both are: device, workload, and what else was paired."""
    names: str
    """What each of them is called."""
    changes: list[Change]


def select(text: str, store: Path) -> Selection:
    """Points of a store: a folder's, or those of `store` that meet conditions by commas.

    A condition is KEY=VALUE with `device`, `workload`, `ftl`, `seed`, `engine` or a varied key, or the name of a
    translation layer alone.
    """
    if Path(text).is_dir() or "/" in text:
        return _chosen(text, {}, Store(Path(text)))
    conditions: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        # The settings of a stack have an equals sign, too, behind a colon.
        is_condition = bool(equals) and ":" not in key
        conditions[key if is_condition else "ftl"] = value if is_condition else part.strip()
    return _chosen(text, conditions, Store(store))


def _chosen(text: str, conditions: dict[str, str], store: Store) -> Selection:
    rows = sorted(store.rows(), key=in_order)
    found = [row for row in rows if all(_meets(row, *condition) for condition in conditions.items())]
    if not found:
        layers = list(dict.fromkeys(row["label"] for row in rows))
        meant = hint(conditions.get("ftl", ""), layers)
        raise UserError(f"{text}: no point of {store.path} is so.{meant} Its layers are {', '.join(layers) or 'none'}.")
    done = [row for row in found if row["state"] == "done"]
    if not done:
        raise UserError(f"{text}: all {len(found)} points failed: {found[0]['error']}")
    return Selection(text, conditions, done)


def in_order(row: Json) -> tuple[object, ...]:
    """Sorts points by what they are, values of a key as numbers."""
    settings = tuple((key, order(value)) for key, value in varied(row).items())
    return row["device"], row["workload"], row["label"], settings, row["seed"]


def _meets(row: Json, key: str, value: str) -> bool:
    if key == "engine":
        return str(row[key]).startswith(value)
    if key == "ftl":
        return value in (row["label"], row["ftl"])
    return str(varied(row).get(key, row.get(key))) == value


def compare(before: Selection, after: Selection) -> list[Pair]:
    """All pairs, in the order of the points after."""
    fixed = {*before.conditions, *after.conditions}
    keys = [{key for row in side.rows for key in varied(row)} for side in (before, after)]
    common = sorted((keys[0] & keys[1]) - fixed)
    olds = _by(before.rows, fixed, common)
    news = _by(after.rows, fixed, common)
    found = [
        _pair(place, (was, olds[place][was]), (now, news[place][now]))
        for place in news
        for now in news[place]
        for was in olds.get(place, {})
        if olds[place][was].keys() & news[place][now].keys()
    ]
    if not found:
        raise UserError(
            f"no point of {before.text} has its like in {after.text}: they must share device, workload, translation "
            "layer and seed, except for what one of them fixes."
        )
    return found


_Place = tuple[tuple[str, str], ...]
_Side = dict[int, "Json"]
"""One variant of one side: its point by seed."""


def _by(rows: Iterable[Json], fixed: set[str], common: list[str]) -> dict[_Place, dict[_Place, _Side]]:
    """Points by what is paired, by what else tells them apart, and by seed."""
    found: dict[_Place, dict[_Place, _Side]] = {}
    for row in rows:
        own = {"device": row["device"], "workload": row["workload"], "ftl": row["label"]} | varied(row)
        names = [name for name in (*_PLACE, *common) if name not in fixed]
        place = tuple((name, own[name]) for name in names if name in own)
        rest = tuple((name, value) for name, value in own.items() if name not in names)
        side = found.setdefault(place, {}).setdefault(rest, {})
        if row["seed"] in side:
            raise UserError(_ambiguous(side[row["seed"]], row))
        side[row["seed"]] = row
    return found


def _ambiguous(one: Json, other: Json) -> str:
    """Why two points cannot be told apart by what they are called."""
    name = f"{one['label']} on {one['workload']} and {one['device']}, seed {one['seed']}"
    if one["engine"] != other["engine"]:
        return f"there are points of two engines of {name}: choose engine={one['engine']} or engine={other['engine']}."
    flat = [dict(_flat(json.loads(row["study"]))) for row in (one, other)]
    differ = [key for key in {**flat[0], **flat[1]} if flat[0].get(key) != flat[1].get(key)]
    return (
        f"there are several points of {name}, which differ in {', '.join(differ[:4])}, though no sweep varied it. "
        "Keep sweeps that differ so in stores of their own."
    )


def _flat(node: object, before: str = "") -> list[tuple[str, object]]:
    if isinstance(node, dict):
        return [pair for key, value in node.items() for pair in _flat(value, f"{before}.{key}" if before else str(key))]
    if isinstance(node, list):
        return [pair for value in node for pair in _flat(value, before)]
    return [(before, node)]


def _pair(place: _Place, before: tuple[_Place, _Side], after: tuple[_Place, _Side]) -> Pair:
    seeds = sorted(before[1].keys() & after[1].keys())
    olds, news = [before[1][seed] for seed in seeds], [after[1][seed] for seed in seeds]
    changes = []
    for metric in shown([*olds, *news]):
        values = [(old[metric.name], new[metric.name]) for old, new in zip(olds, news, strict=True)]
        if metric.better and not any(value is None for pair in values for value in pair):
            changes.append(change(metric, [(float(old), float(new)) for old, new in values]))
    was, now = _named(before[0]), _named(after[0])
    return Pair(_named(place), f"{was} → {now}" if was != now else was, changes)


def _named(place: _Place) -> str:
    return ", ".join(value if key in _PLACE else f"{key} {value}" for key, value in place)


def change(metric: Metric, values: list[tuple[float, float]]) -> Change:
    """What became of a metric, of its values before and after with each seed."""
    before, after = (sum(side) / len(values) for side in zip(*values, strict=True))
    if all(old == new for old, new in values):
        return Change(metric, before, after, None, SAME)
    positive = all(value > 0 for pair in values for value in pair)
    found = estimate([math.log(new / old) if positive else new - old for old, new in values])
    if found.half_width is None:
        verdict = UNKNOWN
    elif found.low <= 0 <= found.high:
        verdict = UNSEEN
    else:
        verdict = BETTER if (found.mean > 0) == (metric.better == HIGHER) else WORSE
    return Change(metric, before, after, found if positive else None, verdict)


def _percent(logarithm: float) -> str:
    share = math.expm1(logarithm)
    return f"{'+' if share > 0 else '−' if share < 0 else ''}{units.share(abs(share))}"
