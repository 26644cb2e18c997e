"""Claims of a study file: what each says, how it is measured, which bounds are empty."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.reproduce.measures import MEASURES
from ftlkit.reproduce.shorthand import over

if TYPE_CHECKING:
    from ftlkit.reproduce.points import Point

KINDS = {
    "measured": "a run decides it, and it can fail",
    "calibrated": "the study was fitted to the paper's number",
    "identity": "it follows from how the metric is counted",
}
"""Kinds of claims. Only a measured one can be reproduced; others hold or fail."""

GROUPS = KINDS | {"ours": "measured too, but a question or a baseline that the paper does not have"}
"""What is counted apart: the kinds, and of measured claims those that are ours."""

EFFECTS = ("lower", "higher", "similar")
"""What a claim about a difference says: below 0 is *lower*."""

FIGURES = ("value", "best")
"""Measures of no effect, so none is lost in a knock-out."""

SHARES = {
    "rewritten_soon": "rewritten within 2 MiB written",
    "rewritten": "rewritten within 128 MiB",
    "runs": "in runs of writes above 4 KiB",
    "hot": "to the hottest 1 %",
    "touched": "logical blocks within 512 MiB",
}
"""Shares of the written pages of 2 KiB, in words; the last is of all logical blocks of 128 KiB."""

COMMON = ("kind", "sweep", "only", "each")
"""Keys that every measure may have."""


def with_defaults(table: Json, study: str, titles: dict[str, str]) -> Json:
    """A claim's table with what goes without saying: its unit, its effect, where a reason shows.

    `study` is the study's name, and `titles` are those of its figures by their names.
    """
    shared = {key: table[key] for key in ("sweep", "metric") if key in table}
    measure = shared | table.get("measure", {})
    full = {key: value for key, value in table.items() if key not in (*shared, "figures")} | {"measure": measure}
    kind = MEASURES.get(measure.get("kind", ""))
    if kind:
        full = {"unit": kind.unit, "effect": "lower" if kind.is_change else ""} | full
    if full.get("effect") == "lower" and full.get("kind", "measured") == "measured":
        full = {"partly": LOWER} | full
    if isinstance(full.get("unprinted"), dict):
        full["unprinted"] = [full["unprinted"]]
    if "figures" in table:
        full = {"command": _shown(table["figures"], study, titles)} | full
    return full


LOWER = [-1.0, 0.0]
"""What partly reproduces that something is lower, unless a claim says more: not above."""


def _shown(names: list[str], study: str, titles: dict[str, str]) -> str:
    """The command that draws these figures."""
    unknown = [name for name in names if name not in titles]
    if unknown:
        raise UserError(f"{unknown[0]} is no figure; there are {', '.join(titles)}.")
    *others, last = (f'"{titles[name]}"' for name in names)
    shown = f"figures {', '.join(others)} and {last}" if others else f"figure {last}"
    return f"ftlkit reproduce {study} ({shown})"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, how to measure it, and when it counts as reproduced."""

    id: str
    text: str
    source: str
    measure: Json
    paper: str
    """The paper's figure, as text."""
    kind: str = "measured"
    """`measured`, `calibrated` or `identity`."""
    mechanism: str = ""
    """The paper's reason, which the knock-out takes out."""
    knockout: Json = field(default_factory=dict)
    """Keys of the measure that differ without the mechanism: variants, workloads or the sweep."""
    needs: dict[str, float] = field(default_factory=dict)
    """Shares of `SHARES`, those that equal the paper's effect; workloads with less are named."""
    unprinted: list[Json] = field(default_factory=list)
    """Keys of the measure over the range of each constant that is not printed, its `key`."""
    partly: list[float] = field(default_factory=list)
    """Bounds for *partly*, around those for *reproduced*; of a measured claim."""
    reproduced: list[float] = field(default_factory=list)
    """Lowest and highest value that count as reproduced; none if the claim is too vague."""
    holds: list[float] = field(default_factory=list)
    """Lowest and highest value with which a calibrated claim or an identity holds."""
    effect: str = ""
    """`lower`, `higher` or `similar`: the claimed change. The first two exclude 0."""
    seeds: int = 1
    """Runs with as many seeds; the lowest and the highest number must be within bounds."""
    unit: str = ""
    """`%` shows the value in percent."""
    why: str = ""
    """What explains a difference, shown where there is one."""
    command: str = ""
    """The experiment that could have refuted `why`: a command to run it."""
    ours: bool = False
    """Whether the question, or the baseline, is this study's and not the paper's."""

    @property
    def group(self) -> str:
        """What it is counted with: its kind, or `ours`."""
        return "ours" if self.ours else self.kind

    @property
    def condition(self) -> str:
        """The beginning of `why`, up to a stop or colon: what decides."""
        return re.split(r"[.:;](?:\s|$)", self.why, maxsplit=1)[0]

    @property
    def rows(self) -> list[str]:
        """Keys by which it is judged apart: one number for each of their combinations."""
        return list(self.measure.get("each", []))

    @property
    def without(self) -> Claim | None:
        """The same claim of runs without the mechanism, if there is a knock-out."""
        return self._changed(self.knockout) if self.knockout else None

    @property
    def ranged(self) -> dict[str, Claim]:
        """The same claim over the range of each constant that is not printed, a row per value."""
        own = {keys.get("key", ""): {k: v for k, v in keys.items() if k != "key"} for keys in self.unprinted}
        return {key: self._changed(keys | {"each": [*self.rows, key]}) for key, keys in own.items()}

    @property
    def parts(self) -> list[Claim]:
        """The claim with the mechanism, without it, and over its ranges."""
        return [self, *filter(None, [self.without]), *self.ranged.values()]

    def _changed(self, keys: Json) -> Claim:
        # Another sweep has other keys, so its runs are chosen anew.
        base = self.measure if "sweep" not in keys else {k: v for k, v in self.measure.items() if k != "only"}
        return replace(self, measure=over(base, keys), knockout={}, unprinted=[], mechanism="")

    def asks_for(self, point: Point) -> bool:
        """Whether it is judged by this run, with the mechanism, without it or over a range."""
        return any(claim.uses(point) for claim in self.parts)

    def uses(self, point: Point) -> bool:
        """Whether its number uses this run, of its sweep and seeds and a variant that it names."""
        keys = ("of", "against") if self._orders_workloads else ("of", "against", "rising")
        variants = [self.measure[key] for key in keys if key in self.measure]
        named = {name for variant in variants for name in (variant if isinstance(variant, list) else [variant])}
        return point.seed < self.seeds and self.takes(point) and (not named or point.variant in named)

    def takes(self, point: Point) -> bool:
        """Whether a run is of its sweep and has the keys that it wants."""
        return point.matches(self.measure["sweep"], self.measure.get("only", {}))

    def check(self) -> None:
        """Refuse keys that are unknown or contradict each other, and bounds that cannot fail."""
        if self.kind not in KINDS:
            raise self.wrong(f"no kind {self.kind}; there are {', '.join(KINDS)}")
        if self.seeds < 1:
            raise self.wrong(f"seeds = {self.seeds}: must be 1 or more")
        if self.ours and self.kind != "measured":
            raise self.wrong(f"ours = true is for measured claims, and its kind is {self.kind}: leave ours out")
        if self.why and not self.command:
            raise self.wrong("its why needs a command, the experiment that could have refuted it")
        self._check_controls()
        self._check_needs()
        self.check_measure()
        self._check_bounds()
        self._check_effect()

    def _check_controls(self) -> None:
        if bool(self.mechanism) != bool(self.knockout):
            raise self.wrong("mechanism names what its knockout takes out: give both, or neither")
        if self.knockout and self.kind != "measured":
            raise self.wrong(f"a claim of the kind {self.kind} has no knockout: only measured ones can fall")
        if self.knockout and self.measure.get("kind") in FIGURES:
            raise self.wrong(f"the measure {self.measure['kind']} is a figure, of which no mechanism takes a part")
        if "" in self.ranged or len(self.ranged) < len(self.unprinted):
            raise self.wrong(
                "unprinted lacks the key of the constant that varies, such as device.page_size, or repeats it"
            )
        for claim in self.parts[1:]:
            claim.check_measure()

    def _check_needs(self) -> None:
        for share, least in self.needs.items():
            if share not in SHARES:
                raise self.wrong(f"{share} is no share of a workload; there are {', '.join(SHARES)}")
            if not 0 < least <= 1:
                raise self.wrong(f"needs.{share} = {least}: must be above 0 and at most 1, such as 0.26")

    def check_knockout(self, variants: dict[str, dict[str, Json]]) -> None:
        """Refuse a knock-out that compares a variant with itself; `variants` are those by sweep."""
        without = self.without
        if without is None:
            return
        keys = ("of", "against") if self._orders_workloads else ("of", "against", "rising")
        before, after = ({key: claim.spelt(key, variants) for key in keys} for claim in (self, without))
        rising = after.get("rising", [])
        if any(one in rising[:place] for place, one in enumerate(rising)):
            raise self.wrong(f"its knockout has a variant twice in rising = {without.measure['rising']}")
        if any(one in before["against"] + after["against"] for one in after["of"]):
            raise self.wrong("its knockout compares a variant with itself, or is a rival: give one not in against")
        others = [key for key in (*self.measure, *without.measure) if key not in keys]
        if before == after and all(self.measure.get(key) == without.measure.get(key) for key in others):
            raise self.wrong("its knockout has the variants of the claim itself: give one without the mechanism")

    def spelt(self, key: str, variants: dict[str, dict[str, Json]]) -> list[Json]:
        """The variants that a key of the measure names, as they are spelt."""
        named = self.measure.get(key, [])
        of_sweep = variants.get(self.measure["sweep"], {})
        return [of_sweep.get(name, {"label": name}) for name in (named if isinstance(named, list) else [named])]

    @property
    def _orders_workloads(self) -> bool:
        """Whether `rising` names workloads, not variants."""
        return bool(self.measure["kind"] == "workload_order")

    def wrong(self, what: str) -> UserError:
        """An error that names the claim."""
        return UserError(f"claim {self.id}: {what}.")

    def check_measure(self) -> None:
        """Refuse a measure that lacks a key or has one that it does not know."""
        kind = self.measure.get("kind")
        if kind not in MEASURES:
            raise self.wrong(f"no measure {kind}; there are {', '.join(MEASURES)}")
        known = [*COMMON, *MEASURES[kind].keys, *MEASURES[kind].optional]
        unknown = [key for key in self.measure if key not in known]
        if unknown:
            raise self.wrong(f"{unknown[0]} is no key of the measure {kind}; they are {', '.join(known)}")
        missing = [key for key in ("sweep", *MEASURES[kind].keys) if key not in self.measure]
        if missing:
            raise self.wrong(f"the measure {kind} lacks the key {missing[0]}")

    def _check_bounds(self) -> None:
        needed, refused = ("partly", ["holds"]) if self.kind == "measured" else ("holds", ["reproduced", "partly"])
        if not getattr(self, needed):
            raise self.wrong(f"a claim of the kind {self.kind} needs the bounds {needed}")
        for name in refused:
            if getattr(self, name):
                raise self.wrong(f"a claim of the kind {self.kind} has no bounds {name}: its bounds are {needed}")
        for name in ("reproduced", "partly", "holds"):
            bounds = getattr(self, name)
            if bounds and not (len(bounds) == 2 and bounds[0] <= bounds[1]):
                raise self.wrong(f"{name} = {bounds}: must be the lowest and the highest value")
        if self.reproduced and not self.partly[0] <= self.reproduced[0] <= self.reproduced[1] <= self.partly[1]:
            raise self.wrong(f"partly = {self.partly}: must enclose reproduced = {self.reproduced}")

    def _check_effect(self) -> None:
        measure = MEASURES[self.measure["kind"]]
        if self.effect not in (EFFECTS if measure.is_change else ("",)):
            raise self.wrong(
                f"effect = {self.effect!r}: the measure {self.measure['kind']} takes "
                + (f"one of {', '.join(EFFECTS)}" if measure.is_change else "none")
            )
        for bounds in (self.reproduced, self.holds):
            above = measure.above_zero or self.effect == "higher"
            if bounds and ((self.effect == "lower" and bounds[1] >= 0) or (above and bounds[0] <= 0)):
                raise self.wrong(f"the bounds {bounds} must leave out 0, which is no difference at all")
            if bounds and measure.from_zero and bounds[0] < 0:
                raise self.wrong(f"the bounds {bounds} must not go below 0, where the order is another")
