"""Torture: test translation layers with every kind of fault, and run a found case again.

Conformance cases, power cuts, flash that fails, and both together take turns;
docs/reliability.md says what was tried. The reports are plain data, as `--json` saves them: counts,
and seconds where a name ends in `_s`.
"""

import json
import math
from collections.abc import (
    Iterable,
    Sequence,
)
from dataclasses import replace
from typing import Annotated, Any, TypedDict

from typing_extensions import Unpack

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.at_once import at_once
from ftlkit._util.native_call import Interrupted, watched
from ftlkit._util.options import Option, typed_kwargs
from ftlkit._util.progress import Silent, Watcher
from ftlkit.own.plugins import plugins
from ftlkit.study.options import SEED

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
    cut_points_left_out: int
    cuts: Tears
    second_cuts: int
    recoveries: int
    faults: Faults
    grown_bad_blocks: int
    read_only: int
    lost_pages: int
    shortened: int
    covered: Covered
    states: int
    states_of: int
    findings: list[Finding]


class LeftOut(TypedDict):
    """A scheme that accepts none of the devices."""

    scheme: str
    reason: str


class TortureReport(TypedDict):
    """The request and its results, by scheme; `devices` is empty where they are random."""

    ftlkit: str
    options: Json
    threads: int
    elapsed_s: float
    cancelled: bool
    devices: list[str]
    left_out: list[LeftOut]
    schemes: list[SchemeReport]


class Replayed(TypedDict):
    """The outcome of a replayed case; `replay` is its line, or that of a smaller case."""

    passes: bool
    message: str | None
    replay: str
    flash_operations: int | None
    explanation: str | None


class TortureOptions(TypedDict, total=False):
    """How long translation layers are tried, and on what."""

    minutes: Annotated[float, Option("How long; 5 by default.", "N", default=5.0)]
    seed: Annotated[int, replace(SEED, default=1)]
    geometry: Annotated[
        Sequence[str],
        Option(
            "Device: channels x dies x planes x blocks x pages x bytes, then perhaps ,strict or ,any, "
            ",bad:0:3, ,refresh:2, ,volatile:4 or ,together:4, ,units:2 and ,paired:mlc; may be repeated. Random small "
            "devices by default.",
            "CxDxPxBxPxS",
            default=(),
        ),
    ]
    swarm: Annotated[bool, Option("Leave a random part of operations and faults out of each trial.")]
    threads: Annotated[int | None, Option("Parallel trials (default and maximum: one per core).", "N")]


@typed_kwargs(TortureOptions)
def torture(
    ftl: study.FtlChoice | Iterable[study.FtlChoice] = ALL,
    *,
    device: study.DeviceChoice | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[TortureOptions],
) -> TortureReport:
    """Try translation layers for some minutes, `threads` trials at once.

    `ftl` is `"all"`, or names as for `compare`; settings that are given are kept in all trials.
    Geometries are those of replay lines, such as `1x2x1x8x5x512`. A `device`, given as for
    `compare`, is scaled down: it keeps its program order, units, superblocks and exposure to power
    cuts, has at most 1,200 pages of 512 bytes, and no clock. Schemes of `"all"` that refuse the
    devices are `left_out`. Each trial takes a bounded number of flash operations and follows from
    the seed; how many there are depends on the time. After Ctrl-C, `Interrupted.finished` is the
    report so far. Raises `UserError` when the input is at fault.
    """
    minutes, seed = options["minutes"], options["seed"]
    if not (minutes > 0 and math.isfinite(minutes)):
        raise UserError(f"torture: minutes = {minutes}: must be above 0; 5 finds most faults.")
    if seed < 0:
        raise UserError(f"torture: seed = {seed}: must be 0 or more.")
    trials_at_once = at_once(options.get("threads"))
    plugins()
    request = json.dumps(
        {
            "ftl": [] if ftl == ALL else study.named(ftl),
            "geometry": list(options["geometry"]),
            "device": None if device is None else study.device_table(device),
            "seed": seed,
            "seconds": 60.0 * minutes,
            "swarm": options.get("swarm", False),
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
            lambda control: _native.replay(line, shrink, explain, control), watcher or Silent(), keeps_unfinished=shrink
        )
    except Interrupted as stop:
        raise Interrupted(_so_far(stop)) from None
    done: Replayed = json.loads(text)
    return done


def _so_far(stop: Interrupted[str]) -> Any:  # noqa: ANN401 - a report, or a case
    """What stopped work handed over, or what it had when it last told."""
    text = stop.finished or stop.unfinished
    return json.loads(text) if text else None
