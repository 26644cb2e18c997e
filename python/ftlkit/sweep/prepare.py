"""Points before they are run: each study is checked and filled in by the engine, which gives the point its key.

Points that differ in their translation layer alone are checked together, so that a workload is looked over once for all
of them. A point that is refused is a result with its error; a key that nobody takes, or a sweep of which nothing can be
run, is the user's mistake and ends it.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit.sweep import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit._native import Control
    from ftlkit.document import Json
    from ftlkit.sweep.plan import Plan, Point
    from ftlkit.sweep.traces import Traces


@dataclass(frozen=True)
class Prepared:
    """A point with its key, and what is known of it before it is run."""

    point: Point
    key: str
    study: Json
    """The study with every key filled in; as it was asked where it was refused."""
    refusal: str = ""
    """Why it cannot be run."""


def prepare(plan: Plan, traces: Traces, at_once: int, control: Control) -> list[Prepared]:
    """All points of a plan, checked, so many `at_once`, in their order."""
    points = plan.points()
    for point in points:
        study.refuse_unreadable(point.study)
        traces.digest(point.study["workload"])
    # Neighbours in order of these texts share all but their translation layers.
    order = sorted(range(len(points)), key=lambda place: _shared(points[place]))
    groups = [
        [points[place] for place in found] for _, found in groupby(order, key=lambda place: _shared(points[place]))
    ]
    places = [place for _, found in groupby(order, key=lambda place: _shared(points[place])) for place in found]
    with ThreadPoolExecutor(at_once) as pool:
        checked = [
            each
            for found in pool.map(lambda group: _checked_together(group, traces, control), groups)
            for each in found
        ]
    found = [each for _, each in sorted(zip(places, checked, strict=True), key=lambda pair: pair[0])]
    _refuse(plan, found)
    return found


def _shared(point: Point) -> str:
    return json.dumps({name: value for name, value in point.study.items() if name != "ftl"}, sort_keys=True)


def _checked_together(group: Sequence[Point], traces: Traces, control: Control) -> list[Prepared]:
    layers = [point.study["ftl"][0] | {"label": str(place)} for place, point in enumerate(group)]
    try:
        resolved = _check(group[0].study | {"ftl": layers}, control)
    except UserError as error:
        if len(group) == 1:
            asked = group[0].study
            name = key.text_digest(json.dumps([key.engine(), asked], sort_keys=True))
            return [Prepared(group[0], name, asked, str(error))]
        return [each for point in group for each in _checked_together([point], traces, control)]
    return [
        _prepared(point, resolved | {"ftl": [layer]}, traces)
        for point, layer in zip(group, resolved["ftl"], strict=True)
    ]


def _prepared(point: Point, resolved: Json, traces: Traces) -> Prepared:
    resolved["ftl"] = [resolved["ftl"][0] | {"label": point.ftl}]
    return Prepared(point, key.key(resolved, traces.digest(point.study["workload"]), key.engine()), resolved)


def _check(document: Json, control: Control) -> Json:
    found: Json = json.loads(_native.check_study(json.dumps(document), control))
    return found


def _refuse(plan: Plan, found: list[Prepared]) -> None:
    """Raise what all points say, or all that take one of the keys."""
    if all(each.refusal for each in found):
        raise UserError(found[0].refusal)
    for axis in plan.axes:
        takers = [each for each in found if axis.key in each.point.varied]
        if all(each.refusal for each in takers):
            raise UserError(f"--vary {axis.key}: no point with it can be run. {takers[0].refusal}")
