"""Studies: from a workload, some translation layers and options to the document that the simulator checks and runs.

Only names are known here, no meanings: ranges, defaults and units are checked once, by the simulator, whose messages
name the key and the limit. Thus a key spelled wrong is refused there with the same words wherever it came from.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ftlkit._native import UserError, check_study, parse_study_toml, workload_presets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ftlkit.document import Json

    FtlChoice = str | Mapping[str, object]
    WorkloadChoice = str | Path | Mapping[str, object]
    DeviceChoice = str | Mapping[str, object]


class Options(TypedDict, total=False):
    """What a comparison can set beside its workload, its device and its translation layers."""

    title: str
    """Shown above the results."""
    seed: int
    """Every random choice derives from it."""
    capacity: str
    """Logical bytes that the host sees, for example `8GiB`, or `auto`: sized to the workload's span."""
    requests: int
    """Stop after so many requests; generated workloads make so many."""
    format: str
    """The trace's format instead of the one guessed from its content."""
    time_unit: str
    """Unit of the trace's time stamps where its format leaves it open: `ns`, `us`, `ms`, `s`."""
    trace_device: str
    """Which device of a trace of several, or `stacked`: each gets its own address range."""
    addresses: str
    """What to do with addresses beyond the device: `refuse`, `dense` or `wrap`."""
    time_backwards: str
    """What to do when the trace's time runs backwards."""
    skip_bad: bool
    """Count malformed lines instead of refusing them."""
    speedup: float
    """Divide the gaps between arrivals by this."""
    align_offset: int | str
    """Bytes added to every address, for example 512 or `512B`."""
    blkparse_action: str
    """Which action of a blkparse trace is a request: one letter."""
    loop: str
    """`open`: requests come at the trace's times; `closed`: as soon as one of `queue_depth` is done."""
    queue_depth: int
    """Requests under way at once in a closed loop."""
    precondition: str
    """What is done to the device before measuring: `none`, `fill` or `steady`."""
    samples: int
    """Points of the time series."""
    verify: bool
    """Check every read against an oracle and the scheme's invariants."""
    threads: int
    """Runs at once; results do not depend on it."""
    settings: Sequence[str]
    """`SCHEME.KEY=VALUE` or `SECTION.KEY=VALUE`, as after `--set`."""


SECTIONS = ("device", "workload", "host", "run")

_PLACES: dict[str, tuple[str, str]] = {
    "capacity": ("device", "capacity"),
    **{
        key: ("workload", key)
        for key in (
            "requests", "format", "time_unit", "trace_device", "addresses", "time_backwards", "skip_bad", "speedup",
            "align_offset", "blkparse_action",
        )
    },
    "loop": ("host", "loop"),
    "queue_depth": ("host", "queue_depth"),
    **{key: ("run", key) for key in ("precondition", "samples", "verify", "threads")},
}  # fmt: skip


def build(
    workload: WorkloadChoice, ftls: FtlChoice | Iterable[FtlChoice], device: DeviceChoice | None, options: Options
) -> Json:
    """The study that runs `ftls` over `workload` on `device`."""
    study: Json = {"workload": _workload(workload), "ftl": _ftls(ftls)}
    if device is not None:
        study["device"] = {"preset": device} if isinstance(device, str) else dict(device)
    if "title" in options:
        study["name"] = options["title"]
    if "seed" in options:
        study["seed"] = options["seed"]
    given: Mapping[str, Any] = options
    for key, (section, name) in _PLACES.items():
        if key in given:
            study.setdefault(section, {})[name] = given[key]
    for setting in options.get("settings", ()):
        _apply(setting, study)
    return study


def load(path: Path) -> Json:
    """The study of a TOML file; relative trace paths in it become relative to the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"cannot read the study {path}: {reason}. Give the path of a TOML study file.") from None
    study: Json = json.loads(parse_study_toml(text, str(path)))
    return study


def resolved(study: Json) -> Json:
    """The study with every default filled in; raises `UserError` when it cannot be run."""
    document: Json = json.loads(check_study(json.dumps(study)))
    return document


def _workload(choice: WorkloadChoice) -> Json:
    if isinstance(choice, Path):
        return {"trace": str(choice)}
    if not isinstance(choice, str):
        return dict(choice)
    if choice.startswith("preset:"):
        return {"preset": choice.removeprefix("preset:")}
    names = [preset["name"] for preset in json.loads(workload_presets())]
    there = Path(choice).exists()
    if choice in names and there:
        raise UserError(
            f"{choice} is both a workload preset and a file here: write preset:{choice} or ./{choice} to say which."
        )
    if choice in names:
        return {"preset": choice}
    if there:
        return {"trace": choice}
    near = difflib.get_close_matches(choice, names, n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UserError(
        f"{choice}: no such file, and no workload preset of that name.{hint} The presets are {', '.join(names)}."
    )


def _ftls(choice: FtlChoice | Iterable[FtlChoice]) -> list[Json]:
    choices: list[FtlChoice]
    if isinstance(choice, str):
        choices = [part.strip() for part in choice.split(",") if part.strip()]
    elif isinstance(choice, Mapping):
        choices = [choice]
    else:
        choices = list(choice)
    if not choices:
        raise UserError("no translation layer was named: give at least one, for example page,dftl.")
    return [_ftl(one) if isinstance(one, str) else dict(one) for one in choices]


def _ftl(text: str) -> Json:
    """`dftl`, or `dftl:cmt=32KiB:victim=fifo` with a label that tells it from its siblings."""
    name, *settings = text.split(":")
    entry: Json = {"name": name}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UserError(f"{text}: {setting} is not KEY=VALUE; write for example dftl:cmt=32KiB.")
        entry[key] = value
    if settings:
        entry["label"] = " ".join((name, *settings))
    return entry


def _apply(setting: str, study: Json) -> None:
    place, equals, value = setting.partition("=")
    owner, dot, key = place.strip().rpartition(".")
    if not (equals and dot and owner and key):
        raise UserError(f"--set {setting}: not of the form SCHEME.KEY=VALUE; write for example dftl.cmt=64KiB.")
    if owner in SECTIONS:
        study.setdefault(owner, {})[key] = _number(value.strip())
        return
    entries = [entry for entry in study["ftl"] if owner in (entry["name"], entry.get("label"))]
    if not entries:
        names = ", ".join(dict.fromkeys(entry["name"] for entry in study["ftl"]))
        raise UserError(
            f"--set {setting}: {owner} is neither one of the translation layers compared ({names}) "
            f"nor one of the sections {', '.join(SECTIONS)}."
        )
    for entry in entries:
        # Set for all of a name, kept where one of several was given its own value.
        entry.setdefault(key, value.strip())


def _number(text: str) -> object:
    """A section's value as TOML would read it: a number or a switch where it looks like one, else text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?", text) else text
