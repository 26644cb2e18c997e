"""Studies: from workload, layers and options to the document that the simulator checks.

Only names are known here, no meanings: ranges, defaults and units are checked once, by the
simulator, whose messages name the key and the limit. Thus a key spelled wrong is refused there with
the same words wherever it came from.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from ftlkit import _native
from ftlkit._native import Control, UserError, parse_stack, schemes, workload_presets
from ftlkit._util import Json
from ftlkit._util.lookup import hint, known
from ftlkit._util.trace_files import STANDARD_INPUT, standard_input, trace_files
from ftlkit.own.loading import resolved, settled
from ftlkit.own.plugins import plugins
from ftlkit.own.registry import registered_name
from ftlkit.study import one_line
from ftlkit.study.device_size import fills_in_order
from ftlkit.study.keys import KIND_OF, SECTION_OF
from ftlkit.study.options import SECTIONS, TRACE_KEYS, DeviceChoice, FtlChoice, Options, TraceOptions, WorkloadChoice
from ftlkit.study.toml import load

MOST_SEED = 2**63 - 1
"""The largest seed: the largest whole number of TOML, and of the column `seed` of a store."""

PLACES: dict[str, tuple[str, str]] = {
    key: (SECTION_OF[key], key) for key in Options.__annotations__ if key in SECTION_OF
}
"""The section and the key of a study that an option sets."""


def mapped_bytes(device: Json) -> int:
    """What a translation layer maps on a device with every key filled in, in bytes."""
    return int(device.get("mapping_unit") or device["page_size"])


GENERATOR = "workload.generator"
"""The table that describes a workload."""


def filled(document: Json, control: Control) -> Json:
    """A study with every key filled in, by the simulator, which refuses what cannot be."""
    checked: Json = json.loads(_native.check_study(json.dumps(document), control))
    return checked


def build(
    workload: WorkloadChoice, ftls: FtlChoice | Iterable[FtlChoice], device: DeviceChoice | None, options: Options
) -> Json:
    """The study that runs `ftls` over `workload` on `device`, or on the default device."""
    study = draft(workload, ftls, device, options)
    one_line.fit(study)
    return study


def draft(
    workload: WorkloadChoice, ftls: FtlChoice | Iterable[FtlChoice], device: DeviceChoice | None, options: Options
) -> Json:
    """The same, where the span of a workload in one line may still follow the device."""
    shape = one_line.shape(workload, options)
    study: Json = {"workload": {} if shape else _table_of(workload, options), "ftl": named(ftls)}
    if device is not None:
        study["device"] = device_table(device)
    if "title" in options:
        study["name"] = options["title"]
    if "seed" in options:
        check_seed(options["seed"])
        study["seed"] = options["seed"]
    given: Mapping[str, Any] = options
    for key, (section, name) in PLACES.items():
        if key in given:
            study.setdefault(section, {})[name] = value(name, given[key])
    settings = options.get("settings", ())
    refuse_twice(settings, given)
    for setting in settings:
        apply_setting(setting, study)
    if shape:
        shape.into(study)
    return study


def usual_ftls(*devices: DeviceChoice | None) -> str:
    """The translation layers that are compared where none is named: those that all devices take."""
    tables = [device_table(device) for device in devices if device is not None]
    return "page,dftl" if any(map(fills_in_order, tables)) else "page,block,fast,dftl"


def scheme(choice: FtlChoice) -> Json:
    """The `[[ftl]]` table of a layer: a stack such as `dftl:cmt=32KiB`, a class, or a table."""
    plugins()
    if isinstance(choice, type):
        choice = registered_name(choice)
    if isinstance(choice, str):
        return _ftl(resolved(choice))
    return settled(_table("ftl", choice, "a name such as dftl"))


def _table(section: str, given: object, name: str) -> Json:
    """A section of a study as it was given; what is none is refused."""
    if not isinstance(given, Mapping):
        raise UserError(f"{section} = {given!r}: give {name}, or the [{section}] table of a study.")
    return dict(given)


def device_table(choice: DeviceChoice, beside: Path | None = None) -> Json:
    """The `[device]` table of a preset's name, of a TOML file, or as given.

    The path of a file, which ends in `.toml`, is relative to the folder `beside`, if there is one.
    """
    if not isinstance(choice, str):
        return _table("device", choice, "a preset's name")
    if "," in choice:
        raise UserError(
            f"device.preset = {choice}: one device is taken here. To compare several: ftlkit sweep WORKLOAD --device "
            f"{choice}."
        )
    if not choice.endswith(".toml"):
        return {"preset": _native.device_preset(choice)}
    path = Path(choice) if beside is None else beside / choice
    table: Json = load(path)["device"]
    if not table:
        raise UserError(
            f"{path}: it has no table [device]. Give a file that `ftlkit calibrate --out` wrote, or a study."
        )
    return table


def image(ftl: FtlChoice, device: str | None, capacity: str | None, settings: Sequence[str]) -> tuple[Json, Json]:
    """The `[[ftl]]` and the `[device]` table of a flash image."""
    study: Json = {"device": {}, "ftl": [scheme(ftl)]}
    if device is not None:
        study["device"] |= device_table(device)
    if capacity is not None:
        study["device"]["capacity"] = capacity
    refuse_twice(settings, {} if capacity is None else {"capacity": capacity})
    for setting in settings:
        apply_setting(setting, study)
    for section in SECTIONS[1:]:
        if section in study:
            raise UserError(f"--set {section}: an image has a device and a translation layer, but no {section}.")
    return study["ftl"][0], study["device"]


def workload(choice: WorkloadChoice, options: TraceOptions) -> Json:
    """The `[workload]` table of a preset, a path or a table, with `options`."""
    given: Mapping[str, Any] = options
    shape = one_line.shape(choice, given)
    if shape:
        return shape.alone() | {key: value(key, given[key]) for key in TRACE_KEYS if key in given and key != "span"}
    return _table_of(choice, given) | {key: value(key, given[key]) for key in TRACE_KEYS if key in given}


def _table_of(choice: WorkloadChoice, options: Mapping[str, Any]) -> Json:
    """The table of any other workload: a name that there is not is told before its options."""
    table = source(choice)
    one_line.refuse(options)
    return table


def generator(choice: str | Path | Mapping[str, object]) -> tuple[Json, int | None]:
    """The `generator` table of a preset, of a study file, or as given; with the study's seed."""
    if isinstance(choice, Mapping):
        return dict(choice), None
    if shape := one_line.shape(choice, {}):
        return shape.alone()["generator"], None
    presets = _generators()
    if str(choice) in presets:
        return presets[str(choice)], None
    path = Path(choice)
    if path.suffix != ".toml":
        raise UserError(
            f"{choice} is neither a workload preset ({_listed(presets)}) nor a study file, whose name ends in .toml."
        )
    study = load(path)
    one_line.fit(study)
    workload = study.get("workload", {})
    table = workload.get("generator") or presets.get(workload.get("preset"))
    if table is None:
        raise UserError(
            f"{path}: its workload is not generated; give a study with workload.generator or workload.preset."
        )
    return table | {key: workload[key] for key in ("requests", "span") if key in workload}, study.get("seed")


def _generators() -> dict[str, Json]:
    """The generator of each workload preset, listed or not."""
    return {preset["name"]: preset["generator"] for preset in json.loads(workload_presets())}


@cache
def _preset_names() -> tuple[str, ...]:
    return tuple(_generators())


def _listed(names: Iterable[str]) -> str:
    """The workload presets that are listed: not those whose places were assumed."""
    return ", ".join(name for name in names if not name.endswith("-cold"))


def source(choice: WorkloadChoice) -> Json:
    """Where the requests come from: a trace's path, a preset's name, or a table as given."""
    if not isinstance(choice, (str, Path)):
        return _table("workload", choice, "a trace's path, a preset's name")
    if isinstance(choice, Path) or choice == STANDARD_INPUT:
        return {"trace": str(choice) if isinstance(choice, Path) else standard_input()}
    if shape := one_line.shape(choice, {}):
        return shape.alone()
    if choice.startswith("preset:"):
        return {"preset": choice.removeprefix("preset:")}
    names = [*_preset_names(), *one_line.NAMES]
    is_file = bool(trace_files(choice))
    if choice in names and is_file:
        raise UserError(one_line.ambiguous(choice))
    if choice in names:
        return {"preset": choice}
    if is_file:
        return {"trace": choice}
    meant = hint(choice, names)
    raise UserError(
        f"{choice}: no such file, and no workload preset of that name.{meant} The presets are {', '.join(names)}."
    )


def named(choice: FtlChoice | Iterable[FtlChoice]) -> list[Json]:
    """The `[[ftl]]` tables of translation layers: stacks by commas, or tables as given."""
    choices: list[FtlChoice]
    if isinstance(choice, str):
        choices = [part.strip() for part in choice.split(",") if part.strip()]
    elif isinstance(choice, Mapping | type):
        choices = [choice]
    elif isinstance(choice, Iterable):
        choices = list(choice)
    else:
        raise UserError(f"ftls = {choice!r}: give names by commas, such as page,dftl, or a list of names and tables.")
    if not choices:
        raise UserError("no translation layer was named: give at least one, for example page,dftl.")
    if isinstance(choice, str):
        _refuse_settings_by_commas([str(part) for part in choices])
    return [scheme(one) for one in choices]


def _refuse_settings_by_commas(stacks: list[str]) -> None:
    """Raise a `UserError` for `dftl:cmt=32KiB,victim=fifo`, which would be two stacks."""
    for before, stack in pairwise(stacks):
        if "=" in stack.partition(":")[0]:
            raise UserError(
                f"{stack} stands behind a comma, where another translation layer begins: the settings of one are "
                f"separated by colons; write {before}:{stack}."
            )


def _ftl(text: str) -> Json:
    """`dftl`, or `dftl:cmt=32KiB:victim=fifo` with a label that tells it from its siblings."""
    entry: Json = json.loads(parse_stack(text))
    mapping, *behind = parts(entry["name"])
    mappings, everything = _built_in()
    if mapping not in mappings or not everything.issuperset(behind):
        _refuse_misspelled(mapping, behind)
    return {key: value for key, value in entry.items() if value is not None}


@cache
def _built_in() -> tuple[frozenset[str], frozenset[str]]:
    """The names of the mappings and of all parts that every process knows."""
    entries = [part for part in json.loads(_native.parts()) if part["family"] != "python"]
    mappings = (part["name"] for part in entries if part["kind"] == "mapping")
    return frozenset(mappings), frozenset(part["name"] for part in entries)


def _refuse_misspelled(mapping: str, behind: list[str]) -> None:
    """Raise a `UserError` for a name that there is not, if another is like it."""
    mappings = {layer["name"]: layer for layer in json.loads(schemes())}
    others = {part["name"]: part for part in json.loads(_native.parts()) if part["name"] not in mappings}
    for name, table, kind in (
        (mapping, mappings, "translation layer"),
        *((name, others, "wear policy or write buffer") for name in behind if name not in mappings),
    ):
        # A name like no other is left to the engine, which knows planted bugs, too.
        if name not in table and hint(name, table):
            known(name, table, kind)


def parts(stack: str) -> list[str]:
    """The names of a stack's parts, the mapping first."""
    return [part.partition(":")[0] for part in stack.split("+")]


def apply_setting(setting: str, study: Json) -> None:
    """Set a key, `SCHEME.KEY=VALUE` or one of a section, in a study."""
    place, equals, text = setting.partition("=")
    owner, key = placed(place) if equals else ("", "")
    if not owner:
        section = SECTION_OF.get(place.strip()) if equals else None
        meant = f" Did you mean {section}.{place.strip()}?" if section else ""
        raise UserError(
            f"--set {setting}: not of the form SCHEME.KEY=VALUE.{meant} Write for example dftl.cmt=64KiB, "
            f"or device.spare=0.07 for a key of one of the sections {', '.join(SECTIONS)}."
        )
    if owner in SECTIONS:
        study.setdefault(owner, {})[key] = value(place.strip(), text.strip())
        return
    if owner == GENERATOR:
        _describe(setting, key, text.strip(), study)
        return
    entries = [entry for entry in study["ftl"] if is_of(owner, entry)]
    if not entries:
        raise no_owner(f"--set {setting}", owner, study["ftl"])
    tables = [parameters(owner, entry) for entry in entries]
    if all(key in table for table in tables):
        own = f"{tables[0][key]}" if len(tables) == 1 else "values of their own"
        raise UserError(
            f"--set {setting} would change nothing: {owner}.{key} is given with the translation layer already ({own}). "
            f"Give it once."
        )
    for table in tables:
        # Set for all of a name, kept where one of several was given its own value.
        table.setdefault(key, text.strip())


def _describe(setting: str, key: str, text: str, study: Json) -> None:
    """Set a key of a workload's description."""
    workload = study.setdefault("workload", {})
    if (of := workload.get("trace") or workload.get("preset")) is not None:
        raise UserError(
            f"--set {setting}: {of} is not described by keys. Give a workload in one line, such as randwrite, or a "
            f"study file with a table [{GENERATOR}]."
        )
    read: object = text
    with suppress(UserError, ValueError):
        read = _native.share(text) if text.endswith("%") else json.loads(text)
    workload["generator"] = workload.get("generator", {}) | {key: read}


def placed(place: str) -> tuple[str, str]:
    """Whose key `dftl.cmt` or `device.spare` is, and the key; both empty for other forms."""
    owner, _, key = place.strip().rpartition(".")
    return (owner, key) if owner and key else ("", "")


def no_owner(setting: str, owner: str, entries: Sequence[Json]) -> UserError:
    """The error of a setting whose owner is neither a section nor a part of the layers."""
    names = dict.fromkeys(name for entry in entries for name in parts(entry["name"]))
    if owner.partition(".")[0] in SECTIONS:
        return UserError(
            f"{setting}: {owner} is no section ({', '.join(SECTIONS)}) but a table in one, which a study file can "
            "have. A sweep takes several of them (docs/sweep.md)."
        )
    return UserError(
        f"{setting}: {owner} is neither one of the translation layers compared ({', '.join(names)}) "
        f"nor one of the sections {', '.join(SECTIONS)}.{hint(owner, [*names, *SECTIONS])}"
    )


def is_of(owner: str, entry: Json) -> bool:
    """Whether a translation layer, or a part or the label of it, is called so."""
    return owner in (entry["name"], entry.get("label"), *parts(entry["name"]))


def parameters(owner: str, entry: Json) -> Json:
    """The table of a layer with the parameters of the mapping, or of the named part."""
    if owner not in parts(entry["name"])[1:]:
        return entry
    table: Json = entry.setdefault(owner, {})
    return table


def refuse_twice(settings: Sequence[str], options: Mapping[str, object]) -> None:
    """Raise a `UserError` for a key that two settings give, or a setting and an option."""
    places = [setting.partition("=")[0].strip() for setting in settings]
    for place in places:
        if places.count(place) > 1:
            raise UserError(f"--set {place} was given twice: which value is meant? Give it once.")
    for option, key in PLACES.items():
        if option in options and ".".join(key) in places:
            setting, flag = settings[places.index(".".join(key))], f"--{option.replace('_', '-')}"
            if options[option] is False:
                flag = "--no-clock" if option == "clock" else f"{option}=False"
            if isinstance(options[option], bool):
                raise UserError(f"--set {setting}: {flag} sets {'.'.join(key)} already. Give one of the two.")
            raise UserError(
                f"--set {setting}: {flag} sets {'.'.join(key)} to {options[option]} already. "
                f"Give the value that is meant once, to {flag}."
            )


def refuse_unreadable(document: Mapping[str, Any]) -> None:
    """Raise a `UserError` for a number that is none."""
    for section in SECTIONS:
        for key, value in (document.get(section) or {}).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise UserError(f"{section}.{key} = {value}: must be a finite number; write one, such as 0.5.")


def value(place: str, given: object) -> object:
    """The value of a key such as `device.spare`: text as the number or switch that it is.

    Other text stays as it is, and what is wrong with it the simulator says.
    """
    kind = KIND_OF.get(place.rpartition(".")[2])
    if not isinstance(given, str):
        return given
    if kind in ("bool", "Clock") and given in ("true", "false"):
        return given == "true"
    with suppress(UserError):
        if kind in ("u32", "u64"):
            return _native.read_quantity("count", given)
        if kind in ("f64", "InUse"):
            return _native.share(given)
    return given


def check_seed(given: object, many: int = 1) -> None:
    """Raise a `UserError` if one in this many seeds, from the given one on, is out of range."""
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= MOST_SEED:
        raise UserError(f"seed = {given}: must be a whole number from 0 to {MOST_SEED} (2^63 - 1).")
    if given + many - 1 > MOST_SEED:
        raise UserError(
            f"seed = {given}: with {many} seeds the last one would be {given + many - 1}, and seeds end at {MOST_SEED} "
            f"(2^63 - 1). Give a seed of at most {MOST_SEED - many + 1}."
        )


def of_32_bits(seed: int) -> int:
    """The seed itself below 2^32, else a derived one, for libraries that take no larger one."""
    if seed < 1 << 32:
        return seed
    return int.from_bytes(hashlib.sha256(f"seed {seed}".encode()).digest()[:4], "big")
