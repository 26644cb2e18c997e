"""What filling a device costs each run of a search, for whoever gave it too little time.

A device as large as the span of a trace may take most of the time that a run of a short trace
takes. How fast it is filled on this machine is measured on a part of its blocks.
"""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import units
from ftlkit._util.native_call import TimeIsUp, watched
from ftlkit._util.progress import Silent
from ftlkit.advice.life import WIDE
from ftlkit.advice.query import REFERENCE, duration
from ftlkit.api import catalogue

if TYPE_CHECKING:
    from ftlkit.advice.query import Query
    from ftlkit.results.document import Json

SHARE = 64
"""The part of the blocks that is filled: few enough to be done at once, enough to be timed."""
PATIENCE_S = 2.0
"""How long that may take."""
_WORTH = 0.02
"""The share of the budget from which on a fill is worth naming: a search makes dozens of runs."""
_SLOWER = 3.0
"""So many times as long others take to fill a device, at most: dftl took 2.4 times."""
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
        fill_s = self._fill_s()
        if fill_s < _WORTH * budget_s:
            return "", ""
        when = "" if self._mode() != "auto" else " where the workload reads what it has not written"
        pages = self.device["capacity"] // study.mapped_bytes(self.device)
        why = (
            f"Each run first fills the device{when}: {pages:,} pages, which takes about "
            f"{units.typed(duration(fill_s))} with {REFERENCE} here, by a fill of a part of its blocks."
        )
        mappings = len(self.query.stacks()) or len(catalogue.built_in())
        enough_s = max(2 * budget_s, _ROUNDS * _SLOWER * mappings * fill_s / (self.checks * _FIRST))
        return why, f"about --budget {math.ceil(enough_s / 60)}min{self._dense()}"

    def _mode(self) -> str:
        """How the device is prepared, as asked."""
        return str(self.query.document().get("run", {}).get("precondition", "auto"))

    def _fill_s(self) -> float:
        """About how long filling the device takes by the reference; 0 if it is not filled."""
        if self._mode() == "none":
            return 0.0
        blocks = self.device["blocks_per_plane"]
        some = max(1, blocks // SHARE)
        part = self.device | {"blocks_per_plane": some, "capacity": self.device["capacity"] * some // blocks}
        document = {
            "device": part,
            "workload": {"preset": catalogue.workloads()[0]["name"], "requests": 1, "addresses": "wrap"},
            "run": {"precondition": "fill"},
            "ftl": [study.scheme(REFERENCE)],
        }
        text = json.dumps(document)
        # Where so small a part is no device, or is not filled soon, nothing is said of it.
        with suppress(UserError, TimeIsUp):
            results = watched(
                lambda control: _native.run_study(text, control, 0),
                Silent(),
                until_s=time.monotonic() + PATIENCE_S,
            )
            run = json.loads(results)["runs"][0]
            return float((run["wall_s"] - run["measured_wall_s"]) * blocks / some)
        return 0.0

    def _dense(self) -> str:
        """A device for what the workload touches, where its span is much wider."""
        options = self.query.options
        if not self.info or "addresses" in options or "trace" not in self.query.document()["workload"]:
            return ""
        touched = touched_bytes(self.info)
        capacity = int(self.device["capacity"])
        if "capacity" in options or capacity < WIDE * touched:
            return ""
        return (
            f", or --addresses dense: the workload touches {units.typed(units.size(touched))}, and the answer is then "
            "of so small a device, with its RAM and its life"
        )


def touched_bytes(info: Json) -> int:
    """How much a workload touches, in whole pages of 4 KiB."""
    return 4096 * int(info["statistics"]["total"]["footprint"]["touched_pages"])
