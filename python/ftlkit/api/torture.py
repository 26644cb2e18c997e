"""Torture: test translation layers with every kind of fault, and run a found case again.

Conformance cases, power cuts at every operation, flash that fails, and both together take turns;
docs/reliability.md says what was tried. The reports are plain data, as `--json` saves them: counts,
and seconds where a name ends in `_s`.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypedDict

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util.at_once import at_once
from ftlkit._util.native_call import Interrupted, watched
from ftlkit._util.progress import Silent, Watcher
from ftlkit.own.plugins import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ftlkit.results.document import Json

ALL = "all"


class Trials(TypedDict):
    """Trials by kind."""

    conformance: int
    power_cuts: int
    failing_flash: int
    combined: int


class Tears(TypedDict):
    """Power cuts by how far the operation got."""

    before: int
    unseen: int
    torn: int
    after: int


class Faults(TypedDict):
    """Faults of the flash by kind."""

    failed_programs: int
    failed_erases: int
    failed_reads: int
    corrected_reads: int


class Finding(TypedDict):
    """A broken promise: what was broken, the line that replays it, and what that run showed.

    `explanation` are the lines that matter of what `replay(line, explain=True)` tells.
    """

    kind: str
    message: str
    replay: str
    reproduced: bool
    explanation: list[str]


class Covered(TypedDict):
    """Combinations of settings, device, workload and faults that the trials tried."""

    combinations: int
    pairs: int
    pairs_refused: int
    pairs_of: int
    triples: int
    triples_of: int


class SchemeReport(TypedDict):
    """What was tried on one translation layer, over the trials that it passed."""

    scheme: str
    stack: str
    busy_s: float
    trials: Trials
    requests: int
    pages_written: int
    flash_operations: int
    cut_points: int
    cuts: Tears
    second_cuts: int
    recoveries: int
    faults: Faults
    grown_bad_blocks: int
    read_only: int
    lost_pages: int
    covered: Covered
    states: int
    states_of: int
    findings: list[Finding]


class TortureReport(TypedDict):
    """What was asked, and what came of it, scheme by scheme."""

    ftlkit: str
    options: Json
    threads: int
    elapsed_s: float
    cancelled: bool
    schemes: list[SchemeReport]


class Replayed(TypedDict):
    """The outcome of a replayed case; `replay` is its line, or that of a smaller case."""

    passes: bool
    message: str | None
    replay: str
    flash_operations: int | None
    explanation: str | None


def torture(
    ftl: study.FtlChoice | Iterable[study.FtlChoice] = ALL,
    *,
    minutes: float = 5.0,
    seed: int = 1,
    geometry: Sequence[str] = (),
    swarm: bool = False,
    threads: int | None = None,
    watcher: Watcher | None = None,
) -> TortureReport:
    """Try translation layers for some minutes, `threads` trials at once.

    `ftl` is `"all"`, or names as for `compare`; settings that are given are kept in all trials.
    `geometry` names devices in the form of replay lines: `1x2x1x8x5x512` (channels, dies, planes,
    blocks, pages, bytes), then perhaps `,strict` or `,any`, `,bad:0:3`, `,refresh:2`, `,volatile:4`
    and `,paired:mlc`; by default devices are drawn at random. `swarm` leaves a random part of
    operations and faults out of each trial. By default and at most one trial a core goes on at
    once. Each trial follows from `seed`; how many there are depends on the time. After Ctrl-C,
    `Interrupted.finished` is the report so far. Raises `UserError` when the input is at fault.
    """
    if not (minutes > 0 and math.isfinite(minutes)):
        raise UserError(f"torture: minutes = {minutes}: must be above 0; 5 finds most of what there is to find.")
    if seed < 0:
        raise UserError(f"torture: seed = {seed}: must be 0 or more.")
    trials_at_once = at_once(threads)
    plugins()
    request = json.dumps(
        {
            "ftl": [] if ftl == ALL else study.named(ftl),
            "geometry": list(geometry),
            "seed": seed,
            "seconds": 60.0 * minutes,
            "swarm": swarm,
        }
    )
    try:
        text = watched(
            lambda control: _native.torture(request, control, trials_at_once),
            watcher or Silent(),
            keeps_unfinished=True,
        )
    except Interrupted as stop:
        raise Interrupted(_so_far(stop)) from None
    report: TortureReport = json.loads(text)
    return report


def replay(line: str, *, shrink: bool = False, explain: bool = False, watcher: Watcher | None = None) -> Replayed:
    """Run the case of a replay line again; with `shrink`, make it small, which may take minutes.

    With `explain`, a failing case comes with what befell the flash, every page that names the
    logical page in question, what was done with that, and what each die holds. After Ctrl-C,
    `Interrupted.finished` is the smallest case so far. Raises `UserError` when the line cannot be
    read, or names a scheme or device that there is not.
    """
    plugins()
    try:
        text = watched(
            lambda control: _native.replay(line, shrink, explain, control),
            watcher or Silent(),
            keeps_unfinished=shrink,
        )
    except Interrupted as stop:
        raise Interrupted(_so_far(stop)) from None
    done: Replayed = json.loads(text)
    return done


def _so_far(stop: Interrupted[str]) -> Any:  # noqa: ANN401 - a report, or a case
    """What stopped work handed over, or what it had when it last told."""
    text = stop.finished or stop.unfinished
    return json.loads(text) if text else None
