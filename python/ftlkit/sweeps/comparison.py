"""Two selections of a store's points compared: what got better or worse, beyond the noise.

Points are paired by all that the selections do not fix: device, workload, translation layer, varied
keys that both have, and the seed, so that what a seed does to both sides falls out. Points that
would be paired, or taken as seeds of one another, and differ in what is neither fixed nor varied
are refused. What is told of a pair is the mean of the logarithms of after ÷ before over the seeds,
with Student's interval at 95 %; if that holds no change, no difference is seen. Below 0.1 % the
sides are the same, whatever the noise. One interval in
twenty misses the truth, so of many metrics that do not differ some will look as if they did.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.lookup import hint
from ftlkit.results.metric import HIGHER, Metric
from ftlkit.results.noise import LITTLE, Estimate, estimate
from ftlkit.results.store import Store, named, varied
from ftlkit.sweeps import identity
from ftlkit.sweeps.summary import shown
from ftlkit.sweeps.values import measure, order, plain

BETTER, WORSE, SAME, UNSEEN, UNKNOWN = "better", "worse", "same", "no difference seen", "one seed"
"""Verdicts on a change; the last one if there is no error estimate."""

_NONE = "none"
"""What a condition gives for a key that a point has no value of, as differences are told."""

_NAMES = (*identity.PLACE, "seed", "engine")
"""What a condition may name beside the keys of a study."""


@dataclass(frozen=True)
class Selection:
    """Points of a store, and the conditions that chose them."""

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
    before: list[Json]
    """Its points before, one per seed, in the order of the seeds."""
    after: list[Json]
    apart: str = ""
    """The keys in which they differ, neither fixed nor paired; only two stores may differ so."""


def select(text: str, store: Path) -> Selection:
    """Points of a store: a folder's, or those of `store` that meet conditions by commas.

    A condition is KEY=VALUE with `device`, `workload`, `ftl`, `seed`, `engine` or a varied key, or
    the name of a translation layer alone.
    """
    if Path(text).is_dir() or ("/" in text and "=" not in text):
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
    matching = [row for row in rows if all(_meets(row, key, value) for key, value in conditions.items())]
    if not matching or _unknown(conditions, rows):
        raise UserError(_nothing(text, conditions, store, rows))
    done = [row for row in matching if row["state"] == "done"]
    if not done:
        raise UserError(f"{text}: all {len(matching)} points failed: {matching[0]['error']}")
    return Selection(text, conditions, done)


def _nothing(text: str, conditions: dict[str, str], store: Store, rows: list[Json]) -> str:
    """Why no point meets the conditions."""
    key = _unknown(conditions, rows)
    if key:
        return (
            f"{text}: {key} is no key of the points of {store.path}.{hint(key, _keys(rows))} Give one of "
            f"{', '.join(_NAMES)}, or a key of a study such as device.spare."
        )
    layers = list(dict.fromkeys(row["label"] for row in rows))
    meant = hint(conditions.get("ftl", ""), layers)
    return f"{text}: no point of {store.path} is so.{meant} Its layers are {', '.join(layers) or 'none'}."


def _keys(rows: list[Json]) -> list[str]:
    """What conditions on these points may name."""
    return list(dict.fromkeys([*_NAMES, *(key for row in rows for key in (*varied(row), *identity.values(row)))]))


def _unknown(conditions: dict[str, str], rows: list[Json]) -> str:
    """The first key of the conditions that no point has; empty if there is none, or no point."""
    if not rows or not set(conditions) - set(_NAMES):
        return ""
    names = _keys(rows)
    missing = (key for key in conditions if key not in names and all(_value(row, key) is None for row in rows))
    return next(missing, "")


def in_order(row: Json) -> tuple[object, ...]:
    """Sorts points by what they are, values of a key as numbers."""
    settings = tuple((key, order(value)) for key, value in varied(row).items())
    return row["device"], row["workload"], row["label"], settings, row["seed"]


def _meets(row: Json, key: str, value: str) -> bool:
    if key == "engine":
        return str(row[key]).startswith(value)
    if key == "ftl":
        return value in (row["label"], row["ftl"])
    if key in _NAMES:
        return str(row[key]) == value
    own = _value(row, key)
    if value == _NONE and own in (None, "null") and study.placed(key)[0]:
        return True
    return identity.is_value(own, value) or identity.is_value(varied(row).get(key), value)


def _value(row: Json, key: str) -> str | None:
    return identity.value(row, identity.values(row), key)


def compare(before: Selection, after: Selection) -> list[Pair]:
    """All pairs, in the order of the points after."""
    _check_seeds(before, after)
    fixed = {*before.conditions, *after.conditions}
    keys = {key for side in (before, after) for row in side.rows for key in varied(row)}
    keys |= {key for key in fixed if study.placed(key)[0]}
    sides = [_Side(selection.rows, sorted(keys)) for selection in (before, after)]
    common = sorted((sides[0].keys & sides[1].keys) - fixed)
    free = (fixed | keys) - {*common}
    olds, news = (side.by(fixed, common) for side in sides)
    pairs = [
        _pair(place, (was, olds[place][was]), (now, news[place][now]))
        for place in news
        for now in news[place]
        for was in olds.get(place, {})
        if olds[place][was].keys() & news[place][now].keys()
    ]
    if not pairs:
        raise UserError(
            f"no point of {before.text} has its like in {after.text}: they must share device, workload, translation "
            "layer, varied keys and seed, except for what one of them fixes."
        )
    # Two stores are of two settings or engines, which is why they are two; what they are is told.
    are_stores = not before.conditions and not after.conditions
    for pair in pairs:
        _check_seeds_alike(pair)
        if not are_stores:
            _check_pair(pair, free)
    return [replace(pair, apart=_apart(pair, free)) for pair in pairs] if are_stores else pairs


def _check_seeds(before: Selection, after: Selection) -> None:
    """Refuse sides without a seed in common, since points are paired by it."""
    seeds = [sorted({row["seed"] for row in side.rows}) for side in (before, after)]
    if not set(seeds[0]) & set(seeds[1]):
        texts = [", ".join(str(seed) for seed in side[:5]) for side in seeds]
        raise UserError(
            f"points are paired by seed, and {before.text} and {after.text} have none in common ({texts[0]} and "
            f"{texts[1]}). Choose points by something else than their seeds, or run both sides with the same ones."
        )


_Place = tuple[tuple[str, str], ...]
_Seeds = dict[int, "Json"]
"""One variant of one side: its point by seed."""


class _Side:
    """The points of a side with what they have for the keys that are varied or fixed anywhere."""

    def __init__(self, rows: Iterable[Json], keys: list[str]) -> None:
        self._found: list[tuple[Json, dict[str, str]]] = []
        for row in rows:
            values = identity.values(row)
            own = {key: identity.value(row, values, key) for key in keys}
            mine = {key: value for key, value in own.items() if value is not None}
            name = {"device": row["device"], "workload": row["workload"], "ftl": identity.layer_name(row, keys)}
            self._found.append((row, name | mine))
        self.keys = {key for _, own in self._found for key in own if key in keys}
        """Those that one of the points takes."""

    def by(self, fixed: set[str], common: list[str]) -> dict[_Place, dict[_Place, _Seeds]]:
        """Points by what is paired, by what else tells them apart, and by seed."""
        sides: dict[_Place, dict[_Place, _Seeds]] = {}
        for row, own in self._found:
            names = [name for name in (*identity.PLACE, *common) if name not in fixed]
            place = tuple((name, _same(own[name])) for name in names if name in own)
            rest = tuple((name, _same(value)) for name, value in own.items() if name not in names)
            side = sides.setdefault(place, {}).setdefault(rest, {})
            if row["seed"] in side:
                raise UserError(_ambiguous(side[row["seed"]], row))
            side[row["seed"]] = row
        return sides


def _same(value: str) -> str:
    """One text for all spellings of a value."""
    number = measure(value)
    return value if isinstance(number, str) else plain(value)


def _ambiguous(one: Json, other: Json) -> str:
    """Why two points cannot be told apart by what they are called."""
    if one["engine"] != other["engine"]:
        return (
            f"there are points of two engines of {named(one)}: choose engine={one['engine']} or "
            f"engine={other['engine']}."
        )
    differ = identity.differences(one, other, ()) or ["the bytes of workload.trace"]
    return (
        f"there are several points of {named(one)}, which differ in {identity.describe(one, other, differ)}, though no "
        "sweep varied it. Say which are meant (KEY=VALUE), or keep sweeps that differ so in stores of their own."
    )


def _check_seeds_alike(pair: Pair) -> None:
    """Refuse points that are taken as seeds of each other and differ in more than their seed."""
    for side in (pair.before, pair.after):
        for row in side[1:]:
            _refuse(side[0], row, identity.differences(side[0], row, (), of_seeds=True), "are seeds of each other")
            if side[0]["engine"] != row["engine"]:
                raise UserError(_ambiguous(side[0], row))


def _check_pair(pair: Pair, free: set[str]) -> None:
    """Refuse compared points that differ in a key which is neither fixed nor paired."""
    for old, new in zip(pair.before, pair.after, strict=True):
        _refuse(old, new, identity.differences(old, new, free), "are set against each other")
        if old["engine"] != new["engine"] and "engine" not in free:
            raise UserError(
                f"{named(old)} and {named(new)} are of two engines, {old['engine']} and {new['engine']}. Choose one "
                "on both sides (engine=…), or one on each."
            )


def _apart(pair: Pair, free: set[str]) -> str:
    """What the points of a pair differ in, beside what is fixed or paired; empty if in nothing."""
    old, new = pair.before[0], pair.after[0]
    differing = identity.describe(old, new, identity.differences(old, new, free))
    engines = f"the engine ({old['engine']} and {new['engine']})" if old["engine"] != new["engine"] else ""
    return ", ".join(difference for difference in (differing, engines) if difference)


def _refuse(one: Json, other: Json, differ: list[str], what: str) -> None:
    if differ:
        raise UserError(
            f"{named(one)} and {named(other)} {what}, and differ in {identity.describe(one, other, differ)}, which the "
            "sides do not fix. Fix it on each side (KEY=VALUE), or keep sweeps that differ so in stores of their own."
        )


def _pair(place: _Place, before: tuple[_Place, _Seeds], after: tuple[_Place, _Seeds]) -> Pair:
    seeds = sorted(before[1].keys() & after[1].keys())
    olds, news = [before[1][seed] for seed in seeds], [after[1][seed] for seed in seeds]
    changes = []
    for metric in shown([*olds, *news]):
        values = [(old[metric.name], new[metric.name]) for old, new in zip(olds, news, strict=True)]
        if metric.better and not any(value is None for pair in values for value in pair):
            changes.append(change(metric, [(float(old), float(new)) for old, new in values]))
    was, now = _named(before[0]), _named(after[0])
    return Pair(_named(place), f"{was} → {now}" if was != now else was, changes, olds, news)


def _named(place: _Place) -> str:
    return ", ".join(value if key in identity.PLACE else f"{key} {value}" for key, value in place)


def change(metric: Metric, values: list[tuple[float, float]]) -> Change:
    """What became of a metric, of its values before and after with each seed."""
    before, after = (sum(side) / len(values) for side in zip(*values, strict=True))
    if all(old == new for old, new in values):
        return Change(metric, before, after, None, SAME)
    positive = all(value > 0 for pair in values for value in pair)
    estimated = estimate([math.log(new / old) if positive else new - old for old, new in values])
    if positive and max(abs(estimated.low), abs(estimated.high)) < LITTLE:
        return Change(metric, before, after, None, SAME)
    if estimated.half_width is None:
        verdict = UNKNOWN
    elif estimated.low <= 0 <= estimated.high:
        verdict = UNSEEN
    else:
        verdict = BETTER if (estimated.mean > 0) == (metric.better == HIGHER) else WORSE
    return Change(metric, before, after, estimated if positive else None, verdict)


def _percent(logarithm: float) -> str:
    share = math.expm1(logarithm)
    return f"{'+' if share > 0 else '−' if share < 0 else ''}{units.share(abs(share))}"
