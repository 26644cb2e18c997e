"""Studies: what they can be asked, how they are built and checked, and their TOML."""

from __future__ import annotations

from ftlkit.study.builder import (
    build,
    device_table,
    filled,
    generator,
    image,
    is_of,
    mapped_bytes,
    named,
    number,
    parameters,
    parts,
    placed,
    refuse_unreadable,
    scheme,
    source,
    workload,
)
from ftlkit.study.options import (
    FORMATS,
    SECTIONS,
    DeviceChoice,
    FtlChoice,
    Options,
    ReadingOptions,
    TraceOptions,
    WorkloadChoice,
)
from ftlkit.study.toml import load, text, tomllib, written

__all__ = [
    "FORMATS",
    "SECTIONS",
    "DeviceChoice",
    "FtlChoice",
    "Options",
    "ReadingOptions",
    "TraceOptions",
    "WorkloadChoice",
    "build",
    "device_table",
    "filled",
    "generator",
    "image",
    "is_of",
    "load",
    "mapped_bytes",
    "named",
    "number",
    "parameters",
    "parts",
    "placed",
    "refuse_unreadable",
    "scheme",
    "source",
    "text",
    "tomllib",
    "workload",
    "written",
]
