"""Plans of sweeps: from a study with several devices, workloads and values to points.

A point is a study of one translation layer. Keys of sections hold for every layer; a key of a
scheme (`dftl.cmt`) makes points only of the layers that have this scheme and do not set the key
themselves, so a page mapping beside a varied DFTL is run once and not once a value.

A key with a dot, such as `host.queue_depth`, is one of the study's sections; one without is a
parameter of translation layers. Reproductions and sweeps of the command line expand alike, here.
"""

import copy
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.lookup import refuse_unknown
from ftlkit.own.loading import beside
from ftlkit.own.references import references
from ftlkit.study import one_line
from ftlkit.study.builder import apply_setting, check_seed, refuse_twice
from ftlkit.sweeps import goals, values
from ftlkit.sweeps.values import Axis

MOST_POINTS = 100_000
"""More would take days on one machine; a slip of the pen asks for billions."""

MOST_OF_MANY = 100
"""Points for each workload of a fleet, whose workloads are not a slip of the pen."""

KEYS = ("devices", "workloads", "seeds", "vary", "goal")
"""Keys of the table `[sweep]`."""

UNNAMED = {"device": "default device", "workload": "generated"}
"""What tables without a label, a preset and a trace are called."""


@dataclass(frozen=True)
class Point:
    """One run: its study, and where it stands in the sweep."""

    study: Json
    """A study of one translation layer."""
    device: str
    workload: str
    ftl: str
    """The translation layer with the settings of the whole sweep, or its label."""
    varied: dict[str, str]
    """The values of the varied keys that it takes."""
    seed: int


@dataclass(frozen=True)
class Plan:
    """The points of a sweep: every device, workload, translation layer and value."""

    study: Json
    """What all points share, and the translation layers."""
    devices: list[tuple[str, Json]]
    """Name and `[device]` table of each."""
    workloads: list[tuple[str, Json]]
    """Name and `[workload]` table of each."""
    axes: list[Axis]
    seeds: int = 1
    """Each point is run with this many seeds, from the study's on."""
    goal: str | None = None
    """One of `goals.GOALS` by which points are ranked; None: by their mean response."""

    @property
    def title(self) -> str:
        """What the sweep is called."""
        return str(self.study.get("name") or f"Sweep over {', '.join(name for name, _ in self.workloads)}")

    @property
    def document(self) -> Json:
        """The study that makes these points again: what all share, and `[sweep]` for the rest."""
        made: Json = {key: value for key, value in self.study.items() if key not in UNNAMED}
        sweep: Json = {}
        for what, tables in (("device", self.devices), ("workload", self.workloads)):
            # What is generated has no name of its own, so one alone does without.
            if len(tables) == 1 and _default_name(tables[0][1], what) in (tables[0][0], UNNAMED["workload"]):
                made[what] = tables[0][1]
            else:
                sweep[f"{what}s"] = [{"label": name} | table for name, table in tables]
        if self.axes:
            sweep["vary"] = {axis.key: axis.spelled() for axis in self.axes}
        if self.seeds > 1:
            sweep["seeds"] = self.seeds
        if self.goal is not None:
            sweep["goal"] = self.goal
        return made | ({"sweep": sweep} if sweep else {})

    def size(self) -> int:
        """How many points there are; none of them is made for it."""
        taken = sum(math.prod(axis.size for axis in self._axes_of(entry)) for entry in self.study["ftl"])
        return taken * len(self.devices) * len(self.workloads) * self.seeds

    def check(self) -> None:
        """Refuse keys that nothing takes, and more points than anyone waits for."""
        if self.seeds < 1:
            raise UserError(f"--seeds {self.seeds}: must be 1 or more.")
        keys = [axis.key for axis in self.axes]
        for key in keys:
            if keys.count(key) > 1:
                raise UserError(f"--vary {key} was given twice: give all its values once, by commas.")
        for axis in self.axes:
            self._check_owner(axis)
        self._check_layers()
        most = max(MOST_POINTS, MOST_OF_MANY * len(self.workloads))
        if self.size() > most:
            counts = ", ".join(f"{axis.key} has {axis.size:,}" for axis in self.axes) or "no key is varied"
            raise UserError(
                f"the sweep has {self.size():,} points; at most {most:,} are run. Take fewer values or larger "
                f"steps ({counts}), fewer seeds ({self.seeds}), or several sweeps into one store."
            )
        check_seed(self.study.get("seed", 1), self.seeds)

    def points(self) -> list[Point]:
        """All points, those that differ in their seed alone next to each other."""
        self.check()
        combined = product(self.devices, self.workloads, self.study["ftl"])
        return [point for device, workload, entry in combined for point in self._points(device, workload, entry)]

    def traces(self) -> list[str]:
        """The trace files that it reads, also those that a varied key names."""
        named = [table["trace"] for _, table in self.workloads if "trace" in table]
        return named + [value for axis in self.axes if axis.key == "workload.trace" for value in axis.values()]

    def _points(self, device: tuple[str, Json], workload: tuple[str, Json], entry: Json) -> Iterator[Point]:
        shared = {key: value for key, value in self.study.items() if key != "ftl"}
        shared |= {"device": device[1], "workload": workload[1]}
        axes = {axis.key: axis.values() for axis in self._axes_of(entry)}
        for varied, seed in product(combinations([axes]), range(self.seeds)):
            sections = {key: study.value(key, value) for key, value in varied.items() if _is_of_section(key)}
            made = placed(shared, sections, seed)
            one_line.fit(made)
            made["ftl"] = [_layer(entry, {key: value for key, value in varied.items() if key not in sections})]
            yield Point(made, device[0], workload[0], _name_of(entry), varied, made["seed"])

    def _axes_of(self, entry: Json) -> list[Axis]:
        return [axis for axis in self.axes if _is_of_section(axis.key) or _takes(entry, axis.key)]

    def _check_layers(self) -> None:
        """Refuse translation layers of one name: their points would be taken as seeds of one."""
        layers = self.study["ftl"]
        for place, entry in enumerate(layers):
            name = _name_of(entry)
            if entry in layers[:place]:
                raise UserError(f"the FTL {name} is there twice. Name each once; --seeds runs it with several seeds.")
            if name in map(_name_of, layers[:place]):
                raise UserError(f'ftl "{name}": two FTLs have this label; give each a label of its own.')

    def _check_owner(self, axis: Axis) -> None:
        owner, key = study.placed(axis.key)
        if owner in study.SECTIONS:
            return
        if key in ("name", "label"):
            raise UserError(f"--vary {axis.key}: {key} is what a layer is called. Give several layers (--ftl) instead.")
        layers = [entry for entry in self.study["ftl"] if study.is_of(owner, entry)]
        if not layers:
            raise study.no_owner(f"--vary {axis.key}", owner, self.study["ftl"])
        if not any(_takes(entry, axis.key) for entry in layers):
            raise UserError(f"--vary {axis.key}: every {owner} here sets {key} itself. Leave it out there, or here.")


def from_study(document: Json, path: Path | None = None) -> Plan:
    """The plan of a study, maybe with `[sweep]`; relative traces are relative to `path`."""
    shared = {key: value for key, value in document.items() if key != "sweep"}
    sweep = document.get("sweep", {})
    if not isinstance(sweep, dict):
        raise UserError(f"sweep = {sweep!r}: must be a table with the keys {', '.join(KEYS)}.")
    refuse_unknown(sweep, KEYS, "key of the table sweep")
    workloads = _several(sweep, "workloads", [shared.get("workload", {})])
    devices = _several(sweep, "devices", [shared.get("device", {})])
    vary, seeds = sweep.get("vary", {}), sweep.get("seeds", 1)
    if not isinstance(vary, dict):
        raise UserError(f'sweep.vary = {vary!r}: must be a table of keys, for example "dftl.cmt" = "16KiB..4MiB:x2".')
    if not isinstance(seeds, int) or isinstance(seeds, bool):
        raise UserError(f"sweep.seeds = {seeds!r}: must be a whole number, 1 or more.")
    layers = study.named(shared.get("ftl", []))
    for entry in layers:
        if "name" not in entry:
            raise UserError(f'[[ftl]] {entry}: it has no name; give one of `ftlkit schemes`, such as name = "dftl".')
    references(layers)
    return Plan(
        shared | {"ftl": _told_apart(layers)},
        _named([_device(name, shared.get("device", {}), path) for name in devices], "device"),
        _named([_workload(name, shared.get("workload", {}), path) for name in workloads], "workload"),
        values.axes(vary),
        seeds,
        sweep.get("goal"),
    )


def load(path: Path) -> Plan:
    """The plan of a TOML file: a study, and a table `[sweep]` beside it."""
    try:
        document = study.tomllib.loads(study.text(path, "study"))
    except study.tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}.") from None
    if "sweeps" in document:
        raise UserError(
            f"{path} is a paper's study, with claims and sweeps of its own: ftlkit reproduce {path} runs it."
        )
    layers = document.get("ftl")
    if isinstance(layers, list):
        document["ftl"] = [beside(layer, path.parent) if isinstance(layer, dict) else layer for layer in layers]
    return from_study(document, path)


def from_options(
    workloads: Sequence[study.WorkloadChoice],
    ftls: study.FtlChoice | Iterable[study.FtlChoice],
    devices: str | None,
    options: study.Options,
) -> Plan:
    """The plan over workloads on device presets by commas, with `ftlkit.compare`'s options."""
    if not workloads:
        raise UserError("no workload was named: give at least one, for example fin1.")
    presets = [name.strip() for name in devices.split(",") if name.strip()] if devices else []
    documents = [study.draft(name, ftls, None, options) for name in workloads]
    shared = documents[0]
    for name, document in zip(workloads, documents, strict=True):
        for section in ("host", "run", "device"):
            if document.get(section) != shared.get(section):
                raise UserError(
                    f"{name} is served or prepared otherwise than {workloads[0]} (table {section}). Sweep them apart, "
                    "or give --loop, --depth, --precondition and --capacity."
                )
    references(shared["ftl"])
    shared = shared | {"ftl": _told_apart(shared["ftl"])}
    own = shared.get("device", {})
    tables = [_device(name, {}, None) | own for name in presets] or [own]
    return Plan(
        shared,
        _named(tables, "device"),
        _named([_labelled(*pair) for pair in zip(workloads, documents, strict=True)], "workload"),
        [],
    )


def _labelled(name: study.WorkloadChoice, document: Json) -> Json:
    """The workload of a study; a generated one is called as it was named."""
    table: Json = document["workload"]
    return {"label": name} | table if isinstance(name, str) and "generator" in table else table


def without_clock(plan: Plan) -> Plan:
    """The plan, with a clock only where a layer decides by time, unless the plan says so itself."""
    return replace(plan, study=plan.study | {"run": {"clock": "auto"} | plan.study.get("run", {})})


def with_goal(plan: Plan, goal: str | None) -> Plan:
    """The plan with a goal, if one is given; without a clock where its goal needs none."""
    plan = replace(plan, goal=plan.goal if goal is None else goal)
    if plan.goal is None:
        return plan
    goals.check(plan.goal)
    if plan.goal in goals.TIMELESS:
        return without_clock(plan)
    if plan.study.get("run", {}).get("clock") is False:
        raise UserError(
            f"--goal {plan.goal}: needs a clock (--no-clock, run.clock = false). Leave that out, or rank by "
            f"{' or '.join(goals.TIMELESS)}."
        )
    return plan


def with_settings(plan: Plan, settings: Sequence[str]) -> Plan:
    """The plan of a study with keys set by `--set` in place of its own, on all its points."""
    refuse_twice(settings, {})
    entries: list[Json] = copy.deepcopy(plan.study["ftl"])
    for setting in settings:
        place = setting.partition("=")[0].strip()
        if place in [axis.key for axis in plan.axes]:
            raise UserError(f"--set {setting}: the study varies {place}. Change its values there.")
        owner, key = study.placed(place)
        for entry in entries:
            if owner not in study.SECTIONS and study.is_of(owner, entry):
                study.parameters(owner, entry).pop(key, None)
    shared: Json = {"ftl": entries, "host": {**plan.study.get("host", {})}, "run": {**plan.study.get("run", {})}}
    named = {what: [(name, dict(table)) for name, table in getattr(plan, f"{what}s")] for what in UNNAMED}
    for setting in settings:
        what = setting.partition(".")[0].strip()
        for made in [{what: table} for _, table in named[what]] if what in named else [shared]:
            apply_setting(setting, made)
    return replace(plan, study=plan.study | shared, devices=named["device"], workloads=named["workload"])


def with_more(plan: Plan, axes: list[Axis], seeds: int | None) -> Plan:
    """The plan with more keys varied, and another number of seeds if one is given."""
    return replace(plan, axes=[*plan.axes, *axes], seeds=plan.seeds if seeds is None else seeds)


def _several(sweep: Json, key: str, otherwise: list[Any]) -> list[Any]:
    given = sweep.get(key, otherwise)
    if not isinstance(given, list) or not given:
        raise UserError(f"sweep.{key} = {given!r}: must be a list of names or tables with at least one.")
    return given


def _device(given: Any, shared: Json, path: Path | None) -> Json:  # noqa: ANN401 - a name or a table, as TOML has it
    label = {"label": Path(given).stem} if str(given).endswith(".toml") else {}
    return shared | label | study.device_table(given, None if path is None else path.parent)


def _workload(given: Any, shared: Json, path: Path | None) -> Json:  # noqa: ANN401 - a name or a table, as TOML has it
    sources = ("trace", "preset", "generator")
    own = given if isinstance(given, dict) else study.source(_beside(str(given), path))
    others = {
        key: value for key, value in shared.items() if key not in sources or not any(key in own for key in sources)
    }
    table = others | own
    if path is not None and "trace" in table and isinstance(given, dict):
        table["trace"] = str(path.parent / table["trace"])
    return table


def _beside(name: str, path: Path | None) -> str:
    """The path of a trace in the study's folder; a name that is no file stays as it is."""
    place = path.parent / name if path is not None else Path(name)
    return str(place) if place.is_file() else name


def _named(tables: list[Json], what: str) -> list[tuple[str, Json]]:
    """Tables by label, preset or trace; equal names are numbered, equal tables refused."""
    names = [_default_name(table, what) for table in tables]
    for place, (name, table) in enumerate(zip(names, tables, strict=True)):
        if table in tables[:place]:
            raise UserError(f"the {what} {name} is there twice. Name each once; --seeds runs it with several seeds.")
    return [
        (
            name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}",
            {key: value for key, value in table.items() if key != "label"},
        )
        for place, (name, table) in enumerate(zip(names, tables, strict=True))
    ]


def _default_name(table: Json, what: str) -> str:
    """The name of a device or a workload in tables: its label, preset or trace."""
    return str(table.get("label") or table.get("preset") or Path(str(table.get("trace", ""))).name or UNNAMED[what])


def _is_of_section(key: str) -> bool:
    return study.placed(key)[0] in study.SECTIONS


def _takes(entry: Json, place: str) -> bool:
    """Whether a translation layer has the scheme of a key, and no value of its own for it."""
    owner, key = study.placed(place)
    own = entry if owner not in study.parts(entry["name"])[1:] else entry.get(owner, {})
    return study.is_of(owner, entry) and key not in own


def _layer(entry: Json, varied: dict[str, str]) -> Json:
    made = {key: dict(value) if isinstance(value, dict) else value for key, value in entry.items()}
    for place, value in varied.items():
        owner, key = study.placed(place)
        study.parameters(owner, made)[key] = value
    return made | {"label": _name_of(entry)}


def _told_apart(layers: list[Json]) -> list[Json]:
    """The layers, with labels by settings where several without a label have the same parts."""
    parts = [study.parts(entry["name"]) for entry in layers if entry.get("label") is None]
    return [
        entry | {"label": _with_settings(entry)}
        if entry.get("label") is None and parts.count(study.parts(entry["name"])) > 1
        else entry
        for entry in layers
    ]


def _with_settings(entry: Json) -> str:
    """A layer's parts with their settings, as on the command line: `dftl:cmt=64KiB+owl`."""
    made = []
    for place, part in enumerate(entry["name"].split("+")):
        own = entry if place == 0 else entry.get(part.partition(":")[0], {})
        settings = {key: value for key, value in own.items() if key not in ("name", "label")}
        settings = {key: value for key, value in settings.items() if not isinstance(value, dict)}
        made.append(":".join([part, *(f"{key}={_spelled(settings[key])}" for key in sorted(settings))]))
    return "+".join(made)


def _spelled(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _name_of(entry: Json) -> str:
    return str(entry.get("label") or entry["name"])


def combinations(tables: Sequence[Json]) -> list[Json]:
    """The points of tables of keys: each combination of listed values; without tables, one."""
    return [
        dict(zip(table, values, strict=True))
        for table in tables or [{}]
        for values in itertools.product(*(given if isinstance(given, list) else [given] for given in table.values()))
    ]


def of_study(keys: Json) -> Json:
    """Those of the varied keys that are keys of the study, such as `host.queue_depth`."""
    return {key: value for key, value in keys.items() if "." in key}


def taken(takes: Iterable[str], keys: Json) -> Json:
    """Those of the varied keys that a translation layer takes."""
    names = set(takes)
    return {key: value for key, value in keys.items() if key in names}


def placed(study: Json, keys: Json, seed: int = 0) -> Json:
    """A copy of a study with the keys that are its own set, and its seed raised by `seed`."""
    made = copy.deepcopy(study)
    for key, value in of_study(keys).items():
        table, _, name = key.partition(".")
        made.setdefault(table, {})[name] = value
    made["seed"] = made.get("seed", 1) + seed
    return made
