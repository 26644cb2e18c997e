"""Look into traces, convert and generate them; after Ctrl-C no file is left behind."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import Unpack

from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.native_call import asked
from ftlkit._util.options import typed_kwargs
from ftlkit._util.outputs import replacing
from ftlkit._util.progress import Watcher
from ftlkit._util.trace_files import STANDARD_INPUT, standard_input
from ftlkit.api.fit_validation import validate
from ftlkit.fleets.split import split
from ftlkit.report.look_alike import preset_toml
from ftlkit.study.builder import check_seed


@typed_kwargs(study.TraceOptions)
def trace_info(
    workload: study.WorkloadChoice, *, watcher: Watcher | None = None, **options: Unpack[study.TraceOptions]
) -> Json:
    """Statistics of a workload: a preset's name, a trace's path, or a `[workload]` table."""
    text, seed = json.dumps(study.workload(workload, options)), options.get("seed", 1)
    check_seed(seed)
    return asked(lambda control: _native.trace_info(text, seed, control), watcher)


@typed_kwargs(study.TraceOptions)
def trace_fit(
    workload: study.WorkloadChoice,
    target: str | Path | None = None,
    *,
    watcher: Watcher | None = None,
    **options: Unpack[study.TraceOptions],
) -> Json:
    """Fit a look-alike to a trace: a generated workload with its sizes, shares, gaps and locality.

    Returns `generator`, a table for `workload.generator`; `parameters`, each with what it rests on;
    `residuals`, where trace and look-alike differ; `misfit`, their mean square in units; and
    `validation`, the results of six stacks on both (`ftlkit.api.fit_validation`). A
    `target` whose name ends in `.toml` gets the look-alike as a study's workload, with all of this
    as comments.
    """
    if target is not None:
        _check_suffix(target, ".toml")
    table, seed = study.workload(workload, options), options.get("seed", 1)
    text = json.dumps(table)
    check_seed(seed)
    fit = asked(lambda control: _native.trace_fit(text, seed, control), watcher)
    fitted: Json = {("generator" if key == "spec" else key): value for key, value in fit.items()}
    fitted["validation"] = validate(table, fitted["generator"], seed=seed, watcher=watcher)
    if target is not None:
        with replacing(Path(target), [workload] if isinstance(workload, (str, Path)) else []) as whole:
            whole.write_text(preset_toml(fitted), encoding="utf-8")
    return fitted


@typed_kwargs(study.ReadingOptions)
def trace_convert(
    source: str | Path, target: str | Path, *, watcher: Watcher | None = None, **options: Unpack[study.ReadingOptions]
) -> Json:
    """Convert a trace to Parquet, which reads fastest, or CSV, by `target`'s suffix."""
    _check_suffix(target, ".parquet", ".csv")
    text = json.dumps(options)
    source = standard_input() if str(source) == STANDARD_INPUT else source
    with replacing(Path(target), [source]) as whole:
        return asked(lambda control: _native.trace_convert(str(source), str(whole), text, control), watcher)


@typed_kwargs(study.ReadingOptions)
def trace_split(
    traces: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    watcher: Watcher | None = None,
    **options: Unpack[study.ReadingOptions],
) -> Json:
    """Split traces of one format by volume into the folder `out`, Parquet sorted in time.

    One pass in bounded memory; a split that was stopped or killed goes on. Returns the manifest:
    `traces`, each with counts of skipped and changed records, and `volumes`, each with requests,
    footprint, shares and a digest.
    """
    named = [traces] if isinstance(traces, (str, Path)) else list(traces)
    return split(named, Path(out), options, watcher)


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
    chosen = next((given for given in (seed, own_seed) if given is not None), 1)
    check_seed(chosen)
    with replacing(Path(target), [spec] if isinstance(spec, (str, Path)) else []) as whole:
        return asked(lambda control: _native.trace_generate(text, chosen, str(whole), control), watcher)


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
        return asked(lambda control: _native.generate_files(text, seed, str(whole), control), watcher)


def _check_suffix(target: str | Path, *suffixes: str) -> None:
    if Path(target).suffix.lower() not in suffixes:
        raise UserError(f"cannot tell what to write: {target} must end in {' or '.join(suffixes)}.")
