"""`fk.sweep` and `ftlkit sweep`: every combination of devices, workloads, layers, values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from typing_extensions import Unpack

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.lookup import several
from ftlkit._util.native_call import Interrupted
from ftlkit._util.options import declared, typed_kwargs
from ftlkit._util.outputs import check_writable, write
from ftlkit._util.progress import Silent, Watcher
from ftlkit.results.columns import COLUMNS
from ftlkit.results.store import Store, files, varied
from ftlkit.study.builder import PLACES
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.executors import LOCAL, executor
from ftlkit.sweeps.traces import scratch

if TYPE_CHECKING:
    from ftlkit.report.chart import Chart
    from ftlkit.sweeps.plan import Plan
    from ftlkit.sweeps.run import Sweep

_PLACE = ("device", "workload", "seed", "state", "error")


@dataclass(frozen=True)
class Swept:
    """Points of a sweep with their results."""

    plan: Plan
    done: Sweep

    @property
    def rows(self) -> list[Json]:
        """A row per point, with the columns of a store (docs/sweep.md), in the order asked."""
        return self.done.rows

    @property
    def frame(self) -> pl.DataFrame:
        """A row per point: its names, a column a varied key, its state, and `RUN_COLUMNS`."""
        settings = [varied(row) for row in self.rows]
        keys = list(dict.fromkeys(key for setting in settings for key in setting))
        columns: dict[str, Any] = {name: [row[name] for row in self.rows] for name in _PLACE}
        columns |= {key: [setting.get(key) for setting in settings] for key in keys}
        kinds = pl.Schema({name: metric.type for name, metric in COLUMNS.items() if name not in columns})
        return pl.DataFrame(
            columns | {name: [row.get(name) for row in self.rows] for name in kinds},
            schema_overrides={"error": pl.String(), **dict.fromkeys(keys, pl.String()), **kinds},
        )

    @property
    def failed(self) -> list[Json]:
        """Points that have an error in place of results."""
        return self.done.failed

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML file with table, charts, and how to repeat the sweep."""
        from ftlkit.sweeps.page import page  # noqa: PLC0415 - the drawing libraries take a second to load

        write(Path(path), page(self.plan, self.done).encode(), self.plan.traces())

    def chart(self, name: str | None = None) -> Chart:
        """One chart of the report, for a notebook; the first unless named."""
        from ftlkit.sweeps.charts import chosen  # noqa: PLC0415 - as for the report
        from ftlkit.sweeps.page import figures  # noqa: PLC0415 - as for the report

        return chosen(figures(self.plan, self.done), name)

    def _repr_html_(self) -> str:
        """What a notebook shows: what the sweep says, and its table."""
        from ftlkit.sweeps.page import fragment  # noqa: PLC0415 - as for the report

        return fragment(self.plan, self.done)

    def __repr__(self) -> str:
        return f"<ftlkit.Swept of {several(len(self.rows), 'point')}, {len(self.failed)} failed>"


@typed_kwargs(study.Options)
def sweep(  # noqa: PLR0913 - as many as there are options
    workloads: str | Path | Sequence[str | Path],
    ftls: str | None = None,
    *,
    device: str | None = None,
    vary: str | Sequence[str] = (),
    seeds: int | None = None,
    goal: str | None = None,
    store: str | Path | None = None,
    on: str = LOCAL,
    threads: int | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Swept:
    """Run every combination of devices, workloads, translation layers and values of keys.

    `workloads` are presets' names and traces' paths, or one study file (`.toml`), which then says
    all but `settings`, `vary`, `seeds` and `goal`. `ftls` and `device` are names by commas, `vary`
    values of keys as after `--vary`, `seeds` how many seeds each point is run with. `goal` ranks
    them: mean, p99, p99-read, p99-write, wa or life, the last two without a clock. `store` is a
    result cache; without it nothing is kept. `on` says where points run. The options are those of
    `study.Options`. A point that cannot be run does not end the sweep: it is in `failed`. Ctrl-C
    raises `Interrupted`, whose `finished` holds the points that were done.
    """
    named = [workloads] if isinstance(workloads, (str, Path)) else list(workloads)
    axes = [vary] if isinstance(vary, str) else list(vary)
    plan = planned([str(workload) for workload in named], ftls, device, options, axes, seeds, goal)
    watch = lambda: watcher or Silent()  # noqa: E731 - one for each part of the work
    if store is None:
        with scratch() as folder:
            return swept(plan, folder / "store", on, threads, watch)
    check_writable([], [*plan.traces(), *files(Path(store))])
    return swept(plan, Path(store), on, threads, watch)


def planned(
    workloads: list[str],
    ftls: str | None,
    device: str | None,
    options: Any,  # noqa: ANN401 - the options that were given
    vary: Sequence[str],
    seeds: int | None,
    goal: str | None,
) -> Plan:
    """The plan of a sweep, checked."""
    plan = plans.with_goal(_plan(workloads, ftls, device, options), goal)
    plan = plans.with_more(plan, [values.parse(axis) for axis in vary], seeds)
    plan.check()
    return plan


def _plan(workloads: list[str], ftls: str | None, device: str | None, options: Any) -> Plan:  # noqa: ANN401 - as above
    studies = [name for name in workloads if name.endswith(".toml")]
    if not studies:
        devices = [name.strip() for name in (device or "").split(",") if name.strip()]
        return plans.from_options(workloads, study.usual_ftls(*devices) if ftls is None else ftls, device, options)
    given = [
        *(["--ftl"] if ftls is not None else []),
        *(["--device"] if device else []),
        *(_flag(key, value) for key, value in options.items() if key != "settings"),
    ]
    if len(workloads) > 1:
        raise UserError(f"{studies[0]} is a study, which names its own workloads: give it alone, or workloads alone.")
    if given:
        keys = [(*PLACES[key], value) for key, value in options.items() if key in PLACES]
        lines = [f"--set {section}.{key}={str(value).lower()}" for section, key, value in keys]
        way = f"Give {' '.join(lines)}, or change it" if len(lines) == len(given) else "Change it"
        raise UserError(
            f"{given[0]} was given beside the study {studies[0]}, whose keys are set by --set. {way} there."
        )
    return plans.with_settings(plans.load(Path(studies[0])), options.get("settings", ()))


def _flag(option: str, value: object) -> str:
    """What an option is called on the command line."""
    flags = declared(study.Options)[option][1].flags or (f"--{option.replace('_', '-')}",)
    on, _, off = flags[0].partition("/")
    return off if value is False and off else on


def swept(
    plan: Plan, store: Path, on: str = LOCAL, threads: int | None = None, watch: Callable[[], Watcher] = Silent
) -> Swept:
    """Run the points of a plan that a store has not, and keep them there."""
    where = executor(on, threads)
    result_store = Store(store, create=True, lazily=True)
    result_store.tidy()
    try:
        return Swept(plan, runs.run(plan, result_store, where, watch))
    except Interrupted as stop:
        finished = stop.finished
        raise Interrupted(Swept(plan, finished) if finished is not None else None) from None
