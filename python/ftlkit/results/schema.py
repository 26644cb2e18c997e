"""Writes the types of saved results: `python -m ftlkit.results.schema`.

The simulator's structs are where the document is described; the compiled module hands their schema
on, words included. `document.py` is made of it, is checked in, and a test holds it to the schema. A
new number of the results so needs nothing here.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

from ftlkit import _native
from ftlkit._util import Json
from ftlkit._util.outputs import write

HEAD = '''\
"""The types of saved results: one JSON document a study, as the simulator writes it.

Times are nanoseconds, sizes bytes, shares 0..1. `Results` makes frames of it; nothing else touches
the raw document but the report, which needs the nested parts (study, device, workload).

`python -m ftlkit.results.schema` writes this file, from the structs of `crates/sim/src/result`.
"""

from __future__ import annotations

from typing import Any, TypedDict

from typing_extensions import NotRequired
'''

ABSENT = {
    "Document": ("precondition_chosen", "write_rate"),
    "DeviceFacts": ("named_by", "capacity_reason", "slice_bytes"),
    "EndOfLife": ("host_written_bytes",),
    "Endurance": ("pslc_limit",),
    "Erases": ("gini", "pslc"),
    "LoadFacts": ("bottleneck_iops", "busiest", "backlog_ns"),
    "PreconditionChosen": ("live_pages", "touched_pages"),
    "Run": (
        "stack",
        "skipped_requests",
        "measured_wall_s",
        "flush_ns",
        "classes",
        "timeline",
        "flash_trace",
        "host_written_bytes",
        "media_erased_bytes",
        "reads_without_flash",
        "page_write_amplification",
        "streams",
        "buffer_hit_ratio",
        "wear_map",
        "bit_errors",
        "endurance",
        "load",
        "waiting_ns",
        "bus_waiting_ns",
        "service_ns",
    ),
    "CoarseTicks": ("requests", "stamps_completions"),
    "TimelineFacts": ("service_ns",),
    "Series": ("moved_share", "erases_std", "erases_max", "host_written_bytes", "buffer_hit_ratio"),
    "WorkloadFacts": ("read_as", "bytes", "bytes_written", "misalignment", "repeated", "ticks"),
}
"""Keys that results from before them lack, which stay readable: ask for such a key with `get`."""

WIDTH = 100 - len('    """"""')
"""Columns of a docstring's words on one line with its quotes."""


def source(schema: Json) -> str:
    """The text of `document.py` for a JSON schema."""
    structs = {**schema["$defs"], schema["title"]: schema}
    return "\n\n".join([HEAD, *(_struct(name, structs[name]) for name in _ordered(structs))])


def _ordered(structs: dict[str, Json]) -> list[str]:
    """Struct names, each after those that it refers to."""
    names: dict[str, None] = {}

    def place(name: str) -> None:
        for inner in _references(structs[name].get("properties", {})):
            place(inner)
        names.setdefault(name)

    for name in sorted(structs):
        place(name)
    return list(names)


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield _name(node)
        node = list(node.values())
    if isinstance(node, list):
        for inner in node:
            yield from _references(inner)


def _struct(name: str, struct: Json) -> str:
    lines = [f"class {name}(TypedDict):", *_docstring(struct["description"]), ""]
    # The simulator writes every field: the required ones are all, in the order of the struct.
    for key in struct["required"]:
        field = struct["properties"][key]
        kind = _type(field)
        lines.append(f"    {key}: {f'NotRequired[{kind}]' if key in ABSENT.get(name, ()) else kind}")
        lines += _docstring(field["description"])
    return "\n".join(lines) + "\n"


def _docstring(text: str) -> list[str]:
    """A docstring; what is more than its first sentence stands in a paragraph of its own."""
    words = " ".join(text.split())
    if len(words) <= WIDTH:
        return [f'    """{words}"""']
    first, stop, rest = words.partition(". ")
    if not stop or len(first) >= WIDTH:
        first, *others = textwrap.wrap(words, WIDTH)
    else:
        first, others = f"{first}.", ["", *textwrap.wrap(rest, WIDTH)]
    return [f'    """{first}', *(f"    {line}" if line else "" for line in others), '    """']


def _type(node: Json | bool) -> str:  # noqa: FBT001 - `true` is the schema of anything
    if isinstance(node, bool) or not node.keys() - {"description"}:
        return "Any"
    if "$ref" in node:
        return _name(node)
    if "anyOf" in node:
        return " | ".join(_type(choice) for choice in node["anyOf"])
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return " | ".join(_plain(kind, node) for kind in kinds)


def _plain(kind: str, node: Json) -> str:
    """The type of a JSON kind; of an array or a table with what it holds."""
    if kind == "array" and "prefixItems" in node:
        return f"tuple[{', '.join(_type(item) for item in node['prefixItems'])}]"
    if kind == "array":
        return f"list[{_type(node['items'])}]"
    if kind == "object":
        return f"dict[str, {_type(node['additionalProperties'])}]"
    return {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}[kind]


def _name(reference: Json) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


if __name__ == "__main__":
    write(Path(__file__).with_name("document.py"), source(json.loads(_native.results_schema())).encode())
