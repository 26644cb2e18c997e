"""What a stored point is by its resolved study, whatever the sweep that ran it called it or varied.

Comparisons choose and pair points by this, and refuse those that differ in what nobody named.
"""

import json
from collections.abc import Collection

from ftlkit import study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.results.store import varied
from ftlkit.sweeps.values import measure

PLACE = ("device", "workload", "ftl")
"""What a sweep gives names to."""

_UNCOUNTED = ("name", "seed", "run.memory_limit", "run.clock", "workload.trace")
"""Keys that change no figure, and two that are looked at apart: seed and trace bytes."""

_DERIVED = ("device.capacity", "device.blocks_per_plane")
"""Keys that may follow from others: from the span of the workload, and from the spare."""


def asked(row: Json) -> Json:
    """The study of a point, with every key filled in."""
    try:
        document = json.loads(row["study"])
        if isinstance(document["ftl"][0]["name"], str):
            return dict(document)
        reason = "its translation layer has no name"
    except (TypeError, ValueError, KeyError, IndexError):
        reason = "it is no study"
    raise UserError(
        f"the study of point {row['key']} cannot be read ({reason}): its file is damaged. Remove it; the sweep will "
        "run it again."
    )


def values(row: Json) -> dict[str, str]:
    """The keys of a point's study with their values as text; the varied ones as they were asked."""
    document = asked(row)
    layer = document["ftl"][0]
    values = {key: _text(value) for key, value in _flat({name: document.get(name, {}) for name in study.SECTIONS})}
    mapping, *others = study.parts(layer["name"])
    for key, value in layer.items():
        if key in others and isinstance(value, dict):
            values |= {f"{key}.{name}": _text(setting) for name, setting in value.items()}
        elif key not in ("name", "label"):
            values[f"{mapping}.{key}"] = _text(value)
    return values | {_of_part(key, layer): value for key, value in varied(row).items()}


def value(row: Json, values_by_key: dict[str, str], key: str) -> str | None:
    """What a point has for a key, if it takes it; `values_by_key` are its values."""
    layer = asked(row)["ftl"][0] | {"label": row["label"]}
    return values_by_key.get(_of_part(key, layer))


def _of_part(key: str, layer: Json) -> str:
    """A key with the name of the layer's part that takes it, not the layer's name or label."""
    owner, name = study.placed(key)
    parts = study.parts(layer["name"])
    if owner in study.SECTIONS or owner in parts or not study.is_of(owner, layer):
        return key
    return f"{parts[0]}.{name}"


def layer_name(row: Json, keys: Collection[str]) -> str:
    """A layer's name without those of its settings that are keys: `dftl` of `dftl:cmt=16KiB`."""
    label = str(row["label"])
    if ":" not in label:
        return label
    made = []
    for part in label.split("+"):
        owner, *settings = part.split(":")
        made.append(
            ":".join([owner, *(setting for setting in settings if f"{owner}.{setting.partition('=')[0]}" not in keys)])
        )
    return "+".join(made)


def is_value(one: str | None, other: str) -> bool:
    """Whether two texts are the same value: 16KiB and 16384B are."""
    return one is not None and (one == other or measure(one) == measure(other))


def differences(one: Json, other: Json, free: Collection[str], *, of_seeds: bool = False) -> list[str]:
    """The keys in which two points differ, beside the free ones; `of_seeds`: seeds differ.

    A whole `device`, `workload` or `ftl` may be free. Of two engines only the keys that both have
    are told.
    """
    rows = (one, other)
    layers = [asked(row)["ftl"][0] | {"label": row["label"]} for row in rows]
    frees = {_of_part(key, layer) for key in free for layer in layers}
    whole = [f"{layer}." for layer in ("device", "workload") if layer in free]
    tables = [values(row) for row in rows]
    if "ftl" in free:
        tables = [{key: text for key, text in table.items() if _is_of_section(key)} for table in tables]
    else:
        for table, layer in zip(tables, layers, strict=True):
            table["ftl"] = layer["name"]
    sized_anew = of_seeds or any(key.partition(".")[0] in ("device", "workload") for key in free)
    ignored = {*_UNCOUNTED, *frees, *(_DERIVED if sized_anew else ())}
    names = list({**tables[0], **tables[1]})
    if one["engine"] != other["engine"]:
        names = [name for name in names if name in tables[0] and name in tables[1]]
    differing = [
        name
        for name in names
        if name not in ignored
        and not name.startswith(tuple(whole))
        and not (name in tables[0] and is_value(tables[1].get(name), tables[0][name]))
    ]
    traces = {row["trace"] for row in rows} - {None}
    if len(traces) > 1 and "workload" not in free and "workload.trace" not in free:
        differing.append("the bytes of workload.trace")
    return differing


def describe(one: Json, other: Json, names: list[str]) -> str:
    """The names of what differs, with the values of the first ones."""
    tables = [values(row) for row in (one, other)]
    several = [
        f"{name} ({tables[0].get(name, 'none')} and {tables[1].get(name, 'none')})"
        if any(name in table for table in tables)
        else name
        for name in names
    ]
    return ", ".join(several[:4]) + (f" and {len(several) - 4} more" if len(several) > 4 else "")


def _is_of_section(key: str) -> bool:
    return study.placed(key)[0].partition(".")[0] in study.SECTIONS


def _flat(node: object, before: str = "") -> list[tuple[str, object]]:
    if isinstance(node, dict):
        return [pair for key, inner in node.items() for pair in _flat(inner, f"{before}.{key}" if before else str(key))]
    return [(before, node)]


def _text(given: object) -> str:
    return given if isinstance(given, str) else json.dumps(given)
