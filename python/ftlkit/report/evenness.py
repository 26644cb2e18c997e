"""Who wears most evenly, and at what price: runs that differ only in the wear policy.

Spreads of different mappings are not compared: one that erases ten times as much spreads further at
the same evenness.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ftlkit import _native
from ftlkit._util import units
from ftlkit.results.derived import flash_time_per_request_ns, levelling_time_share

if TYPE_CHECKING:
    from ftlkit.results.document import Run

CLOSE = 1.05
"""Spreads within five per cent are said to be level, as response times are."""

_POLICIES = frozenset(part["name"] for part in json.loads(_native.parts()) if part["kind"] == "wear policy")


def evenness(runs: list[Run]) -> list[str]:
    """A sentence for each mapping that ran under several wear policies, all with erases."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(_beside(run), []).append(run)
    return [
        _sentence(group)
        for group in groups.values()
        if len({run["ftl"] for run in group}) > 1 and all(run["erases"]["total"] for run in group)
    ]


def _beside(run: Run) -> tuple[str, ...]:
    """What runs must share to be compared: mapping and buffer with their parameters."""
    parts = [part for part in run["ftl"].split("+") if part not in _POLICIES]
    settings = [f"{key}={value}" for key, value in run["parameters"].items() if key.partition(".")[0] not in _POLICIES]
    return (*parts, *sorted(settings))


def _has_policy(run: Run) -> bool:
    return any(part in _POLICIES for part in run["ftl"].split("+"))


def _sentence(runs: list[Run]) -> str:
    mapping = runs[0]["ftl"].partition("+")[0]
    ranked = sorted(runs, key=_spread)
    best, worst = ranked[0], ranked[-1]
    if _spread(best) * CLOSE >= _spread(worst):
        spreads = f"{units.digits(_spread(best))} to {units.digits(_spread(worst))}"
        return f"Over {mapping}, all wear alike: σ of the blocks' erases {spreads}."
    base = next((run for run in runs if not _has_policy(run)), worst)
    if units.digits(_spread(best)) == units.digits(_spread(base)):
        start = f"Over {mapping}, no wear policy is more even than none"
        next_ = next(run for run in ranked if run is not base)
        return f"{start}: σ of the blocks' erases {_beside_spread(base, next_)}."
    leading = [run["label"] for run in ranked if units.digits(_spread(run)) == units.digits(_spread(best))]
    wear = "wears" if len(leading) == 1 else "wear"
    return (
        f"Over {mapping}, {' and '.join(leading)} {wear} most evenly: σ of the blocks' erases "
        f"{_beside_spread(best, base)}{_price(best, base)}."
    )


def _beside_spread(run: Run, other: Run) -> str:
    return f"{units.digits(_spread(run))} against {units.digits(_spread(other))} for {other['label']}"


def _price(run: Run, other: Run) -> str:
    """How much more flash time a request takes, and the share of the policy's own moves."""
    mine, base = flash_time_per_request_ns(run), flash_time_per_request_ns(other)
    if not mine or not base:
        return ""
    way = "more" if mine >= base else "less"
    own = units.share(levelling_time_share(run))
    return (
        f", at {units.share(abs(mine / base - 1))} {way} flash time for each request; moving blocks is {own} of its "
        "flash time"
    )


def _spread(run: Run) -> float:
    return run["erases"]["std"]
