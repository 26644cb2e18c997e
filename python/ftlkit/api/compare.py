"""Run translation layers over a workload and compare them.

Thin over the simulator: each function builds or reads JSON and hands the work to a thread, so that
Ctrl-C works in a notebook as well. After Ctrl-C, `Interrupted.finished` holds the results of the
runs that were done.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from ftlkit import _native, study
from ftlkit._util import Json
from ftlkit._util.at_once import at_once
from ftlkit._util.native_call import Interrupted, watched
from ftlkit._util.options import typed_kwargs
from ftlkit._util.outputs import check_writable
from ftlkit._util.progress import Silent, Watcher
from ftlkit.api import ticks
from ftlkit.report.results import Results
from ftlkit.study import one_line

if TYPE_CHECKING:
    from ftlkit.results.document import Document


@typed_kwargs(study.Options)
def run(
    *,
    workload: study.WorkloadChoice,
    ftl: study.FtlChoice = "page",
    device: study.DeviceChoice | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Results:
    """Run one translation layer over a workload.

    `workload` is a preset's name, a trace's path, or a `[workload]` table; `device` a preset's
    name, a TOML file's path (as text) that has a table `[device]`, or that table; `ftl` a name,
    `"dftl:cmt=64KiB"`, or an `[[ftl]]` table. The options are those of `study.Options`. Raises
    `UserError` with advice when the input is at fault.
    """
    return compare(workload, [ftl], device=device, watcher=watcher, **options)


@typed_kwargs(study.Options)
def compare(
    workload: study.WorkloadChoice,
    ftls: study.FtlChoice | Iterable[study.FtlChoice] | None = None,
    *,
    device: study.DeviceChoice | None = None,
    threads: int | None = None,
    requests_out: str | Path | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Results:
    """Run translation layers over one workload, `threads` at once.

    Without `ftls` these are page, block, fast and dftl, or page and dftl where the device leaves no
    gaps in blocks.
    `requests_out` is the path of a Parquet file that gets a row for every request of every run. The
    other arguments are those of `run`. By default and at most one run per core goes on at once;
    results do not depend on `threads`.
    """
    document = study.build(workload, study.usual_ftls(device) if ftls is None else ftls, device, options)
    return run_study(document, threads=threads, requests_out=requests_out, watcher=watcher)


def run_study(
    source: str | Path | Mapping[str, object],
    *,
    threads: int | None = None,
    requests_out: str | Path | None = None,
    watcher: Watcher | None = None,
) -> Results:
    """Run a study: a TOML file's path, or the same as a dict.

    `requests_out` is the path of a Parquet file that gets a row for every request of every run.
    """
    document, runs_at_once = _document(source), at_once(threads)
    if requests_out is not None:
        check_writable([Path(requests_out)], [document.get("workload", {}).get("trace")])

    def serve(study: Json, out: str | Path | None = None, watcher: Watcher | None = None) -> Document:
        text = json.dumps(study)
        document: Document = json.loads(
            watched(lambda control: _native.run_study(text, control, runs_at_once, out), watcher or Silent())
        )
        return document

    try:
        results = serve(document, requests_out, watcher)
        ticks.compare(document, results, serve)
        return Results(results)
    except Interrupted as stop:
        raise Interrupted(Results(json.loads(stop.finished)) if stop.finished else None) from None


def check_study(source: str | Path | Mapping[str, object], *, watcher: Watcher | None = None) -> Json:
    """Check a study and its workload without running it; returns it with every key filled in."""
    document = _document(source)
    return watched(lambda control: study.filled(document, control), watcher or Silent())


def _document(source: str | Path | Mapping[str, object]) -> Json:
    document = study.load(Path(source)) if isinstance(source, (str, Path)) else dict(source)
    if isinstance(layers := document.get("ftl"), list):
        document["ftl"] = [study.scheme(one) if isinstance(one, (Mapping, type)) else one for one in layers]
    study.refuse_unreadable(document)
    one_line.fit(document)
    return document
