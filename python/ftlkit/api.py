"""What a Python user calls: run and compare translation layers, look into traces, list what there is.

Thin over the simulator: each function builds or reads JSON and hands the work to a thread, so that Ctrl-C works in a
notebook as well. After Ctrl-C, `Interrupted.finished` holds the results of the runs that were done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from ftlkit import _native, study
from ftlkit.engine import Interrupted, watched
from ftlkit.outputs import check_writable, replacing
from ftlkit.progress import Silent, Watcher
from ftlkit.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ftlkit.document import Json


def run(
    *,
    workload: study.WorkloadChoice,
    ftl: study.FtlChoice = "page",
    device: study.DeviceChoice | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Results:
    """Run one translation layer over a workload.

    `workload` is a preset's name, a trace's path, or a `[workload]` table; `device` a preset's name or a `[device]`
    table; `ftl` a name, `"dftl:cmt=64KiB"`, or an `[[ftl]]` table. The options are those of `study.Options`.
    Raises `UserError` with advice when the input is at fault.
    """
    return compare(workload, [ftl], device=device, watcher=watcher, **options)


def compare(
    workload: study.WorkloadChoice,
    ftls: study.FtlChoice | Iterable[study.FtlChoice] = "page,block,fast,dftl",
    *,
    device: study.DeviceChoice | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Results:
    """Run several translation layers over one workload on all cores; the arguments are those of `run`."""
    return run_study(study.build(workload, ftls, device, options), watcher=watcher)


def run_study(source: str | Path | Mapping[str, object], *, watcher: Watcher | None = None) -> Results:
    """Run a study: a TOML file's path, or the same as a dict."""
    document = study.load(Path(source)) if isinstance(source, (str, Path)) else dict(source)
    text = json.dumps(document)
    try:
        return Results(json.loads(watched(lambda control: _native.run_study(text, control), watcher or Silent())))
    except Interrupted as stop:
        raise Interrupted(Results(json.loads(stop.finished)) if stop.finished else None) from None


def schemes() -> list[Json]:
    """All translation layers: name, family, source, parameters with ranges and defaults, and the story of each."""
    found: list[Json] = json.loads(_native.schemes())
    return found


def devices() -> list[Json]:
    """All device presets, with every key of a `[device]` table."""
    found: list[Json] = json.loads(_native.devices())
    return found


def workloads() -> list[Json]:
    """All workload presets: statistical look-alikes of published traces."""
    found: list[Json] = json.loads(_native.workload_presets())
    return found


def trace_info(path: str | Path, *, watcher: Watcher | None = None, **options: object) -> Json:
    """Statistics of a trace, or of a workload preset's name; the options are the keys of a `[workload]` table."""
    text = json.dumps(options)
    found: Json = json.loads(watched(lambda control: _native.trace_info(str(path), text, control), watcher or Silent()))
    return found


def trace_convert(src: str | Path, dst: str | Path, *, watcher: Watcher | None = None, **options: object) -> Json:
    """Convert a trace to Parquet, the format that reads fastest; returns what was done."""
    text = json.dumps(options)
    check_writable([Path(dst)])
    with replacing(Path(dst)) as temporary:
        done: Json = json.loads(
            watched(lambda control: _native.trace_convert(str(src), str(temporary), text, control), watcher or Silent())
        )
    return done


def trace_generate(
    spec: str | Mapping[str, object], dst: str | Path, *, seed: int = 1, watcher: Watcher | None = None
) -> Json:
    """Write a generated workload as Parquet; returns what was done.

    `spec` is a workload preset's name or a `generator` table.
    """
    text = json.dumps(spec)
    check_writable([Path(dst)])
    with replacing(Path(dst)) as temporary:
        done: Json = json.loads(
            watched(lambda control: _native.trace_generate(text, seed, str(temporary), control), watcher or Silent())
        )
    return done
