"""What there is to choose from: translation layers and their parts, devices, workloads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ftlkit import _native, sources

if TYPE_CHECKING:
    from ftlkit.results.document import Json


def schemes() -> list[Json]:
    """All translation layers: name, family, idea, source, parameters, and their stories.

    `sources` are the full titles of what the source and the story cite by letter or by name and
    year.
    """
    entries: list[Json] = json.loads(_native.schemes())
    return [scheme | sources.described(scheme) for scheme in entries]


def names() -> list[str]:
    """The names of all translation layers."""
    return [entry["name"] for entry in json.loads(_native.schemes())]


def built_in() -> list[str]:
    """The names of the built-in translation layers: those that every process knows."""
    return [scheme["name"] for scheme in json.loads(_native.schemes()) if scheme["family"] != "python"]


def parts() -> list[Json]:
    """All parts of stacks: `schemes`, then wear policies and buffers; `kind` says which."""
    entries: list[Json] = json.loads(_native.parts())
    return [part | sources.described(part) for part in entries]


def devices() -> list[Json]:
    """All device presets, with every key of a `[device]` table."""
    entries: list[Json] = json.loads(_native.devices())
    return entries


def workloads() -> list[Json]:
    """All workload presets: statistical look-alikes of published traces."""
    entries: list[Json] = json.loads(_native.workload_presets())
    return entries
