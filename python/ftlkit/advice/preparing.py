"""The cost of filling a device in each run of a search, for errors about too little time.

A device as large as the span of a trace may take most of the time that a run of a short trace
takes. How fast it is filled on this machine is measured on a part of its blocks, in processor time:
other programs come and go, and the same question is to get the same answer.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import Json, units
from ftlkit._util.native_call import TimeIsUp, watched
from ftlkit._util.progress import PRECONDITION, State, Watcher
from ftlkit.advice.clock import slowness
from ftlkit.advice.footprints import one_request, with_blocks
from ftlkit.advice.life import WIDE
from ftlkit.advice.query import REFERENCE, Query, duration, enough
from ftlkit.api import catalogue

SHARES = (64, 32, 16)
"""The part of the blocks that is filled: few enough to be done at once, enough for a device.

Drives with few large blocks need the larger parts.
"""
PATIENCE_S = 2.0
"""How long that may take."""
_WORTH = 0.02
"""The share of the budget from which on a fill is worth naming: a search makes dozens of runs."""
_SLOWER = 3.0
"""Upper bound of the time to fill a device, as a multiple of that of page: dftl took 2.4 times."""
_STEADY = 6
"""Fills that take as long as reaching a steady state, about."""
_ROUNDS, _FIRST = 2, 0.35
"""So often every mapping is tried on the first prefix, and the least share of time that it has."""


@dataclass(frozen=True)
class Preparing:
    """What preparing the device costs each run."""

    device: Json
    info: Json
    """What the workload asks for, counted; empty if it was not looked over."""
    query: Query
    checks: int
    """Runs at once."""

    def advice(self, budget_s: float) -> tuple[str, str]:
        """That filling takes too long for a budget, as sentences, and what to do: both or neither.

        What to do stands behind *Give*.
        """
        fill_s, is_least = self._fill_s
        if fill_s < _WORTH * budget_s:
            return "", ""
        when = "" if self._mode() != "auto" else " where the workload reads what it has not written"
        pages = int(self.device.get("slice") or self.device["capacity"]) // study.mapped_bytes(self.device)
        about = "at least" if is_least else "about"
        why = (
            f"Each run first fills the device{when}: {pages:,} pages, which takes {about} "
            f"{units.typed(duration(float(f'{fill_s:.1g}')))} of processor time with {REFERENCE} here, by a fill of a "
            "part of its blocks."
        )
        enough_s = self._enough_s(fill_s)
        enough_s = enough_s if enough_s > budget_s else 2 * budget_s
        return why, f"{enough(enough_s)} on a free machine{self._dense()}"

    def missing(self) -> str | None:
        """What a budget cannot buy: every mapping; None where it can."""
        budget_s = self.query.budget_s
        enough_s = 0.0 if budget_s is None else self._enough_s(self._fill_s[0])
        if budget_s is None or enough_s <= budget_s:
            return None
        return (
            f"In {units.typed(duration(budget_s))} not every mapping may be tried, since each run prepares the device: "
            f"{enough(enough_s)} tries all on a free machine. What is measured is answered."
        )

    def _enough_s(self, fill_s: float) -> float:
        """How long it takes to try every mapping, each run with a fill."""
        mappings = len(self.query.stacks()) or len(catalogue.built_in())
        turns = _STEADY if self._mode() == "steady" else 1
        return _ROUNDS * _SLOWER * mappings * turns * fill_s / (self.checks * _FIRST)

    def _mode(self) -> str:
        """How the device is prepared, as asked."""
        return str(self.query.document().get("run", {}).get("precondition", "auto"))

    @property
    def _fill_s(self) -> tuple[float, bool]:
        """How long filling the device takes by the reference, and whether that is the least.

        0 if it is not filled, or where no part of it is a device.
        """
        return (0.0, False) if self._mode() == "none" else _fills_s(json.dumps(self.device))

    def _dense(self) -> str:
        """A device for what the workload touches, where its span is much wider."""
        options = self.query.options
        if not self.info or "slice" in self.device or "addresses" in options:
            return ""
        if "trace" not in self.query.document()["workload"]:
            return ""
        touched = touched_bytes(self.info)
        capacity = int(self.device["capacity"])
        if "capacity" in options or capacity < WIDE * touched:
            return ""
        return (
            f", or --addresses dense: the workload touches {units.typed(units.size(touched))}, and the answer is then "
            "of so small a device, with its RAM and its life"
        )


@lru_cache(maxsize=64)
def _fills_s(text: str) -> tuple[float, bool]:
    """How long filling a device takes, measured once: what is told of it first and last agrees."""
    device = json.loads(text)
    blocks = device["blocks_per_plane"]
    for share in (1,) if "slice" in device else SHARES:
        some = max(1, blocks // share)
        with suppress(UserError):
            fill_s, is_least = _filled_s(device if share == 1 else with_blocks(device, some))
            return fill_s * blocks / some, is_least
    return 0.0, False


class Pace(Watcher):
    """Notes when parts of some work are done."""

    def __init__(self, label: str, now_s: Callable[[], float]) -> None:
        self._label, self._now_s = label, now_s
        self._seen: list[tuple[float, int, int]] = []

    def show(self, state: State) -> None:
        """Note how far it is."""
        self._seen += [(self._now_s(), done, total) for label, done, total in state if label == self._label and done]

    def whole_s(self) -> float:
        """How long all of it takes, by the pace of what was seen; 0 where too little was."""
        if not self._seen or self._seen[0][1] == self._seen[-1][1]:
            return 0.0
        (first_s, first, _), (last_s, last, total) = self._seen[0], self._seen[-1]
        return (last_s - first_s) * total / (last - first)


def _filled_s(device: Json) -> tuple[float, bool]:
    """How long a device is filled by the reference, and whether that is the least.

    Of a fill that takes too long the first part tells.
    """
    document = {
        "device": device,
        "workload": one_request(),
        "run": {"precondition": "fill"},
        "ftl": [study.scheme(REFERENCE)],
    }
    text, began_s, worked_s = json.dumps(document), time.monotonic(), time.process_time()
    fill = Pace(REFERENCE + PRECONDITION, time.process_time)
    try:
        results = watched(lambda control: _native.run_study(text, control, 0), fill, until_s=began_s + PATIENCE_S)
    except TimeIsUp:
        whole_s = fill.whole_s()
        return whole_s or time.process_time() - worked_s, not whole_s
    run = json.loads(results)["runs"][0]
    return float(run["wall_s"] - run["measured_wall_s"]) / slowness(began_s, worked_s), False


def touched_bytes(info: Json) -> int:
    """How much a workload touches, in whole pages of 4 KiB."""
    return 4096 * int(info["statistics"]["total"]["footprint"]["touched_pages"])
