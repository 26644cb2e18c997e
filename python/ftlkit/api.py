"""What a Python user calls: run and compare translation layers, look into traces.

Thin over the simulator: each function builds or reads JSON and hands the work to a thread, so that
Ctrl-C works in a notebook as well. After Ctrl-C, `Interrupted.finished` holds the results of the
runs that were done.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from ftlkit import _native, sources, study
from ftlkit._native import UserError
from ftlkit.engine import Interrupted, watched
from ftlkit.outputs import check_writable, replacing
from ftlkit.progress import Silent, Watcher
from ftlkit.results import Results
from ftlkit.seeds import check_seed
from ftlkit.signatures import takes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ftlkit.document import Json


@takes(study.Options)
def run(
    *,
    workload: study.WorkloadChoice,
    ftl: study.FtlChoice = "page",
    device: study.DeviceChoice | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Results:
    """Run one translation layer over a workload.

    `workload` is a preset's name, a trace's path, or a `[workload]` table; `device` a preset's name
    or a `[device]` table; `ftl` a name, `"dftl:cmt=64KiB"`, or an `[[ftl]]` table. The options are
    those of `study.Options`. Raises `UserError` with advice when the input is at fault.
    """
    return compare(workload, [ftl], device=device, watcher=watcher, **options)


@takes(study.Options)
def compare(
    workload: study.WorkloadChoice,
    ftls: study.FtlChoice | Iterable[study.FtlChoice] = "page,block,fast,dftl",
    *,
    device: study.DeviceChoice | None = None,
    threads: int | None = None,
    requests_out: str | Path | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[study.Options],
) -> Results:
    """Run translation layers over one workload, `threads` at once (by default one a core).

    `requests_out` is the path of a Parquet file that gets a row for every request of every run. The
    other arguments are those of `run`. Results do not depend on `threads`.
    """
    document = study.build(workload, ftls, device, options)
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
    document = _document(source)
    if requests_out is not None:
        check_writable([Path(requests_out)], [document.get("workload", {}).get("trace")])
    text = json.dumps(document)
    try:
        return Results(
            json.loads(
                watched(lambda control: _native.run_study(text, control, threads, requests_out), watcher or Silent())
            )
        )
    except Interrupted as stop:
        raise Interrupted(Results(json.loads(stop.finished)) if stop.finished else None) from None


def check_study(source: str | Path | Mapping[str, object], *, watcher: Watcher | None = None) -> Json:
    """Check a study and its workload without running it; returns it with every key filled in."""
    text = json.dumps(_document(source))
    found: Json = json.loads(watched(lambda control: _native.check_study(text, control), watcher or Silent()))
    return found


def _document(source: str | Path | Mapping[str, object]) -> Json:
    found = study.load(Path(source)) if isinstance(source, (str, Path)) else dict(source)
    study.refuse_unreadable(found)
    return found


def schemes() -> list[Json]:
    """All translation layers: name, family, idea, source, parameters, and their stories.

    `sources` are the full titles of what the source and the story cite by letter or by name and
    year.
    """
    found: list[Json] = json.loads(_native.schemes())
    return [scheme | sources.described(scheme) for scheme in found]


def parts() -> list[Json]:
    """All parts of stacks: `schemes`, then wear policies and buffers; `kind` says which."""
    found: list[Json] = json.loads(_native.parts())
    return [part | sources.described(part) for part in found]


def devices() -> list[Json]:
    """All device presets, with every key of a `[device]` table."""
    found: list[Json] = json.loads(_native.devices())
    return found


def workloads() -> list[Json]:
    """All workload presets: statistical look-alikes of published traces."""
    found: list[Json] = json.loads(_native.workload_presets())
    return found


@takes(study.TraceOptions)
def trace_info(
    workload: study.WorkloadChoice, *, watcher: Watcher | None = None, **options: Unpack[study.TraceOptions]
) -> Json:
    """Statistics of a workload: a preset's name, a trace's path, or a `[workload]` table."""
    text, seed = json.dumps(study.workload(workload, options)), options.get("seed", 1)
    check_seed(seed)
    found: Json = json.loads(watched(lambda control: _native.trace_info(text, seed, control), watcher or Silent()))
    return found


@takes(study.ReadingOptions)
def trace_convert(
    source: str | Path, target: str | Path, *, watcher: Watcher | None = None, **options: Unpack[study.ReadingOptions]
) -> Json:
    """Convert a trace to Parquet, which reads fastest, or CSV, by `target`'s suffix."""
    _check_suffix(target, ".parquet", ".csv")
    text = json.dumps(options)
    with replacing(Path(target), [source]) as whole:
        done: Json = json.loads(
            watched(lambda control: _native.trace_convert(str(source), str(whole), text, control), watcher or Silent())
        )
    return done


def trace_generate(
    spec: str | Path | Mapping[str, object],
    target: str | Path,
    *,
    requests: int | None = None,
    seed: int | None = None,
    watcher: Watcher | None = None,
) -> Json:
    """Write a generated workload as Parquet, as a study of the same seed would generate it.

    `spec` is a workload preset's name, a study file, or a `generator` table; `requests` and `seed`
    override its own.
    """
    _check_suffix(target, ".parquet")
    table, own_seed = study.generator(spec)
    text = json.dumps(table if requests is None else table | {"requests": requests})
    chosen = next((each for each in (seed, own_seed) if each is not None), 1)
    check_seed(chosen)
    with replacing(Path(target), [spec] if isinstance(spec, (str, Path)) else []) as whole:
        done: Json = json.loads(
            watched(lambda control: _native.trace_generate(text, chosen, str(whole), control), watcher or Silent())
        )
    return done


def generate_files(
    spec: str | Mapping[str, object],
    target: str | Path,
    *,
    operations: int | None = None,
    seed: int = 1,
    watcher: Watcher | None = None,
) -> Json:
    """Write a file workload as a Parquet trace: reads, writes with hints, trims and flushes.

    `spec` is a personality, `postmark`, `fileserver`, `varmail` or `webserver`, or a table with
    `personality` and what differs from its defaults (docs/workloads.md lists the keys);
    `operations` is how many transactions or rounds there are. Returns `requests`, `operations`, and
    `intervals`, each with `types`: the counts of a type of file, `phi`, `f`, `s` (None where it is
    infinite, for a type that is new) and `degree`.
    """
    _check_suffix(target, ".parquet")
    table = {"personality": spec} if isinstance(spec, str) else dict(spec)
    text = json.dumps(table if operations is None else table | {"operations": operations})
    check_seed(seed)
    with replacing(Path(target), []) as whole:
        done: Json = json.loads(
            watched(lambda control: _native.generate_files(text, seed, str(whole), control), watcher or Silent())
        )
    return done


def _check_suffix(target: str | Path, *suffixes: str) -> None:
    if Path(target).suffix.lower() not in suffixes:
        raise UserError(f"cannot tell what to write: {target} must end in {' or '.join(suffixes)}.")
