"""Points before they run: the engine checks and completes each study, which gives the key.

Points that differ in their translation layer alone are checked together, so that a workload is
looked over once for all of them. A trace is parsed only to find out how it is read and to lay it
out; all other checks read what was laid out.

A point that is refused is a result with its error; a key that nobody takes, or a sweep of which
nothing can be run, is the user's mistake and ends it.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit.sweeps import key
from ftlkit.sweeps.plan import UNNAMED
from ftlkit.sweeps.traces import over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ftlkit._native import Control
    from ftlkit.results.document import Json
    from ftlkit.sweeps.plan import Plan, Point
    from ftlkit.sweeps.traces import Traces
    from ftlkit.sweeps.work import Executor


@dataclass(frozen=True)
class Prepared:
    """A point with its key, and what is known of it before it is run."""

    point: Point
    key: str
    study: Json
    """The study with every key filled in; as asked, where it was refused."""
    trace: str | None
    """The digest of its trace, if it has one."""
    refusal: str = ""
    """Why it cannot be run."""


def prepare(points: Sequence[Point], traces: Traces, executor: Executor, control: Control) -> list[Prepared]:
    """Points, checked, in their order; traces that are read again and again are laid out for it."""
    for point in points:
        study.refuse_unreadable(point.study)
        traces.digest(point.study["workload"])
    shared = [_shared(point) for point in points]
    # Neighbours in order of these texts share all but their translation layers.
    order = sorted(range(len(points)), key=lambda place: shared[place])
    groups = [[points[place] for place in places] for _, places in groupby(order, key=lambda place: shared[place])]
    checker = _Checker(traces, control)
    checker.lay_out(points, executor.least_readers)
    with ThreadPoolExecutor(executor.checks) as pool:
        checked = [point for group in pool.map(checker.together, groups) for point in group]
    prepared = [point for _, point in sorted(zip(order, checked, strict=True), key=lambda pair: pair[0])]
    return _with_presets(prepared)


def _with_presets(prepared: list[Prepared]) -> list[Prepared]:
    """The points, of which refused ones on the default device name its preset as the others do."""
    presets = {
        point.point.device: point.study["device"]["preset"] for point in prepared if "preset" in point.study["device"]
    }
    return [
        replace(point, study=point.study | {"device": {"preset": presets[point.point.device]} | point.study["device"]})
        if point.refusal and point.point.device == UNNAMED["device"] and point.point.device in presets
        else point
        for point in prepared
    ]


def _shared(point: Point) -> str:
    return json.dumps({name: value for name, value in point.study.items() if name != "ftl"}, sort_keys=True)


class _Checker:
    """Has the engine check studies, over traces that are laid out where it can."""

    def __init__(self, traces: Traces, control: Control) -> None:
        self._traces = traces
        self._control = control
        self._workloads = traces.resolved

    def lay_out(self, points: Sequence[Point], least: int) -> None:
        """Lay out each trace that so many of the points read.

        How it is read, with all defaults, a check tells of the trace as it was given; of one point,
        if that can be run.
        """
        tables: dict[str, list[Point]] = {}
        for point in points:
            if "trace" in point.study["workload"]:
                tables.setdefault(_text(point.study["workload"]), []).append(point)
        for text, readers in tables.items():
            for point in (readers[0], readers[-1]) if text not in self._workloads else ():
                with suppress(UserError):
                    self._workloads[text] = self._check(point.study)["workload"]
                    break
        read = [self._workloads[text] for text, readers in tables.items() if text in self._workloads for _ in readers]
        self._traces.lay_out(read, least, self._control)

    def together(self, group: Sequence[Point]) -> list[Prepared]:
        """Check points that differ in their layers alone; one by one, if refused together."""
        # Numbers tell layers of one name apart; of one alone an error says the name.
        names = [str(place) for place in range(len(group))] if len(group) > 1 else [group[0].ftl]
        layers = [point.study["ftl"][0] | {"label": name} for name, point in zip(names, group, strict=True)]
        try:
            resolved = self._resolved(group[0].study | {"ftl": layers})
        except UserError as error:
            if len(group) == 1:
                study = group[0].study
                name = key.text_digest(json.dumps([key.engine(), study], sort_keys=True))
                return [Prepared(group[0], name, study, self._traces.digest(study["workload"]), str(error))]
            return [one for point in group for one in self.together([point])]
        return [
            self._prepared(point, resolved | {"ftl": [layer | {"label": point.ftl}]})
            for point, layer in zip(group, resolved["ftl"], strict=True)
        ]

    def _prepared(self, point: Point, resolved: Json) -> Prepared:
        trace = self._traces.digest(point.study["workload"])
        return Prepared(point, key.key(resolved, trace, key.engine()), resolved, trace)

    def _resolved(self, document: Json) -> Json:
        """A completed study; its workload says how the original trace is read."""
        described = document["workload"]
        workload = self._workloads.get(_text(described))
        laid_out = None if workload is None else self._traces.laid_out(workload)
        if workload is None or laid_out is None:
            return self._check(document)
        try:
            resolved = self._check(document | {"workload": over(described, str(laid_out.path))})
        except UserError as error:
            raise UserError(str(error).replace(str(laid_out.path), described["trace"])) from None
        return resolved | {"workload": workload}

    def _check(self, document: Json) -> Json:
        checked: Json = json.loads(_native.check_study(json.dumps(document), self._control))
        return checked


def _text(workload: Json) -> str:
    return json.dumps(workload, sort_keys=True)


def refuse_hopeless(plan: Plan, prepared: list[Prepared]) -> None:
    """Raise what all points say, or all that take one of the keys."""
    if all(point.refusal for point in prepared):
        raise UserError(prepared[0].refusal)
    for axis in plan.axes:
        takers = [point for point in prepared if axis.key in point.point.varied]
        if all(point.refusal for point in takers):
            raise UserError(f"{axis.where}: no point with it can be run. {takers[0].refusal}")
