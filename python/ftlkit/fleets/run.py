"""Runs of a fleet: each volume a workload with a device of its own, as points of a sweep.

The largest volumes go first, so that no long run is left for the end. Points are run some volumes
at a time, and what a row holds beside the figures that answers are made of is left in the store: a
fleet has more points than memory has room for results.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.native_call import Interrupted
from ftlkit._util.progress import Silent, Watcher
from ftlkit.fleets.split import check_unchanged, manifest, volume_workload
from ftlkit.report import facts
from ftlkit.report.cautions import all_cautions
from ftlkit.report.life import even_bytes
from ftlkit.results.outcome import Outcome, device_of
from ftlkit.results.point_state import DONE
from ftlkit.results.store import Store, varied
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps.goals import GOALS
from ftlkit.sweeps.run import refuse_hopeless, run_points
from ftlkit.sweeps.statements import told_facts
from ftlkit.sweeps.traces import Traces, scratch

if TYPE_CHECKING:
    from ftlkit import study
    from ftlkit._util.progress import State
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.work import Executor

AT_ONCE = 2_000
"""Points that are checked and run before the next volumes are looked at. Their whole results, some
100 KB each, are in memory; at the end of 2,000, few processors wait for the last one."""

WRITTEN = ("media_written_bytes", "host_written_bytes")
"""Whose sums give the write amplification of all volumes together."""

_BESIDE = ("ram_bytes", "life_years", "erases", "requests", "event_hash")

FIGURES = tuple(dict.fromkeys([*(goal.metric for goal in GOALS.values()), *WRITTEN, *_BESIDE]))
"""Columns of a point that are kept."""

PLACE = ("device", "capacity_bytes", "preparation", "most_requests")
"""Facts of a point beside its columns: its device in words, the mode of preconditioning, and of how
many requests of its trace it was asked for."""

EVEN_LIFE = "even_life_bytes"


@dataclass(frozen=True)
class Volume:
    """A volume as a workload."""

    name: str
    workload: Json
    requests: int
    write_share: float | None
    footprint_bytes: int
    traits: Json
    """Further features by name: of its trace's survey, or the figures it was drawn from."""
    digest: str | None = None
    """Of its trace, as the split wrote it."""
    end_byte: int = 0
    """One past the highest byte of its trace."""
    number: int | None = None
    """Of its requests in a trace that it shares."""
    members: tuple[str, ...] = ()
    """The volumes that share it, if it is a drive of several."""

    @property
    def features(self) -> dict[str, float | None]:
        """What kinds of volumes are told by."""
        mine = {"requests": self.requests, "writes": self.write_share, "footprint": self.footprint_bytes}
        return mine | self.traits


def volumes(folder: Path) -> list[Volume]:
    """The volumes of a split, the largest first."""
    found = [
        Volume(
            entry["name"],
            volume_workload(folder, entry),
            entry["requests"],
            None if entry["write_percent"] is None else entry["write_percent"] / 100,
            4096 * entry["footprint"]["touched_pages"],
            _traits(entry),
            entry["digest"],
            entry["end_byte"] or 0,
            entry.get("number"),
        )
        for entry in manifest(folder)["volumes"]
    ]
    return sorted(found, key=lambda volume: -volume.requests)


def _traits(entry: Json) -> Json:
    # Manifests of before December 2026 call it KB.
    sequential, size = entry["sequential_percent"], entry.get("mean_write_size_kib", entry.get("mean_write_size_kb"))
    return {
        "sequential": None if sequential is None else sequential / 100,
        "write size": None if size is None else 1024 * size,
        "writes per page": entry["overwrite_factor"],
    }


def planned(fleet: Sequence[Volume], ftls: Any, device: str | None, options: study.Options) -> Plan:  # noqa: ANN401 - as in a study
    """The plan over all volumes; without another size, each device is as large as its volume."""
    if "," in (device or ""):
        raise UserError(f"--device {device}: a fleet has one kind of device. Name one; --vary device.KEY varies it.")
    shared = plans.from_options([fleet[0].workload], ftls, device, {"capacity": "auto", **options})
    own = shared.workloads[0][1]
    return replace(shared, workloads=[(volume.name, own | volume.workload) for volume in fleet])


@dataclass(frozen=True)
class Points:
    """The points of a fleet that are finished."""

    rows: list[Json]
    """`volume`, `stack`, `seed`, `spare`, `key`, `state`, `error`, `cautions` (with the facts of
    their summaries), `PLACE` and `FIGURES` of each."""
    total: int
    reused: int
    seeds: int = 1
    """Rows of each volume and stack."""

    @property
    def stacks(self) -> list[str]:
        """All stacks with their varied values, in order."""
        return list(dict.fromkeys(row["stack"] for row in self.rows))

    @property
    def failed(self) -> list[Json]:
        """Points that have an error in place of figures."""
        return [row for row in self.rows if row["state"] != DONE]


def run(
    fleet: Sequence[Volume], plan: Plan, store: Store, executor: Executor, watch: Callable[[], Watcher] = Silent
) -> Points:
    """Run the points that a store lacks; Ctrl-C ends it with `Interrupted` and what is finished."""
    plan.check()
    total, reused = plan.size(), 0
    rows: list[Json] = []
    digests = {volume.name: volume.digest for volume in fleet}
    with scratch() as folder:
        # What Ray ships to other machines is laid out; here a volume is read where it is.
        traces = Traces(folder, in_place=executor.least_readers > 1)
        for part in _parts(plan, total):
            _check_unchanged(part, traces, digests)
            overall = lambda: _Overall(watch(), len(rows), total)  # noqa: B023, E731 - called at once
            # A key that nobody takes is told before other volumes are run.
            refuse = lambda prepared: None if rows else refuse_hopeless(part, prepared)  # noqa: B023, E731 - as above
            try:
                done = run_points(part.points(), store, executor, traces, overall, check=refuse)
            except Interrupted as stop:
                finished = [] if stop.finished is None else map(_kept, stop.finished.rows)
                raise Interrupted(Points([*rows, *finished], total, reused, plan.seeds)) from None
            rows += map(_kept, done.rows)
            reused += done.reused
    if all(row["state"] != DONE for row in rows):
        raise UserError(str(rows[0]["error"]))
    return Points(rows, total, reused, plan.seeds)


def _parts(plan: Plan, total: int) -> Iterator[Plan]:
    """The plan, some volumes after the other."""
    step = max(1, AT_ONCE * len(plan.workloads) // max(1, total))
    for place in range(0, len(plan.workloads), step):
        yield replace(plan, workloads=plan.workloads[place : place + step])


def _check_unchanged(part: Plan, traces: Traces, digests: dict[str, str | None]) -> None:
    for name, table in part.workloads:
        check_unchanged(name, digests[name], functools.partial(traces.digest, table))


def _kept(row: Json) -> Json:
    """What of a point's row answers are made of."""
    stack = ", ".join([row["label"], *(f"{key} {value}" for key, value in varied(row).items())])
    study = json.loads(row["study"])
    device = study["device"]
    # As asked: each device rounds it to whole blocks.
    spare = device["op"] / (1 + device["op"]) if "op" in device else device.get("spare")
    kept = {"volume": row["workload"], "stack": stack, "spare": spare} | dict.fromkeys(PLACE)
    kept["most_requests"] = study["workload"].get("requests")
    kept |= {name: row[name] for name in ("seed", "key", "state", "error")}
    kept |= {name: row.get(name) for name in FIGURES} | {EVEN_LIFE: None, "cautions": {}}
    if row["state"] == DONE:
        document = json.loads(row["document"])
        outcome, device = Outcome(document), device_of(document)
        chosen = document.get("precondition_chosen")
        kept["device"] = f"{facts.device_name(device)}, {facts.dies(document)}"
        kept["capacity_bytes"] = device["logical_bytes"]
        kept["preparation"] = chosen["mode"] if chosen else "none"
        kept[EVEN_LIFE] = even_bytes(outcome)
        kept["cautions"] = {caution.kind: told_facts(caution) for caution in all_cautions(outcome)}
    return kept


class _Overall(Watcher):
    """Shows the points of one part as some of all."""

    def __init__(self, watcher: Watcher, before: int, total: int) -> None:
        self._watcher, self._before, self._total = watcher, before, total

    def __enter__(self) -> Self:
        self._watcher.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._watcher.__exit__(*error)

    def show(self, state: State) -> None:
        """Add the points of earlier parts."""
        self._watcher.show(
            [
                (label, done + self._before, self._total) if label == "points" else (label, done, total)
                for label, done, total in state
            ]
        )

    def stopping(self) -> None:
        """Pass it on."""
        self._watcher.stopping()
