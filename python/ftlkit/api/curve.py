"""`fk.curve_load` and `fk.curve_depth`: what layers serve over load and over queue depth."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from typing_extensions import Unpack

from ftlkit import study
from ftlkit._util.options import typed_kwargs
from ftlkit._util.outputs import check_writable
from ftlkit._util.progress import Silent, Watcher
from ftlkit.curves import latency
from ftlkit.curves.latency import DEPTHS, FTLS, LatencyCurve
from ftlkit.results.store import Store, files
from ftlkit.sweeps.plan import Plan
from ftlkit.sweeps.traces import scratch


@typed_kwargs(study.Options)
def curve_load(
    workload: study.WorkloadChoice,
    ftls: str = FTLS,
    *,
    device: str | None = None,
    loads: str | None = None,
    seeds: int | None = None,
    store: str | Path | None = None,
    threads: int | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> LatencyCurve:
    """Response times over offered load: a run at each, at the workload's own times, scaled.

    `device` names presets or files by commas; layers of several are called `page on 7450-like`.
    `loads` are requests per second, as after `--loads`: `500..4000:+500`. Without them they go from
    1/1280 of what a closed loop serves to just above it, and closer to each limit. `store` is a
    result cache; without it nothing is kept. The options are those of `study.Options`, without
    `loop`, `queue_depth` and `speedup`.
    """
    plan = latency.planned(workload, ftls, device, options, seeds)
    with _opened(store, plan) as result_store:
        return latency.over_load(plan, loads, result_store, threads, lambda: watcher or Silent())


@typed_kwargs(study.Options)
def curve_depth(
    workload: study.WorkloadChoice,
    ftls: str = FTLS,
    *,
    device: str | None = None,
    depths: str = DEPTHS,
    seeds: int | None = None,
    store: str | Path | None = None,
    threads: int | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> LatencyCurve:
    """Requests served and response times over queue depth: a run in a closed loop at each.

    `depths` are outstanding requests, as after `--depths`: `1..128:x2`. The other arguments are
    those of `curve_load`.
    """
    plan = latency.planned(workload, ftls, device, options, seeds)
    with _opened(store, plan) as result_store:
        return latency.over_depth(plan, depths, result_store, threads, lambda: watcher or Silent())


@contextmanager
def _opened(store: str | Path | None, plan: Plan) -> Iterator[Store]:
    """The store that was named, or one that is thrown away."""
    if store is not None:
        check_writable([], [*plan.traces(), *files(Path(store))])
        yield Store(Path(store), create=True, lazily=True)
        return
    with scratch() as folder:
        yield Store(folder / "store", create=True, lazily=True)
