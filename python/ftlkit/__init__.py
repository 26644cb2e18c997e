"""ftlkit compares flash translation layers on a workload.

>>> import ftlkit as fk
>>> results = fk.compare("fin1", "page,dftl", device="slc-small", requests=10_000)
>>> results.runs.select("label", "response_mean_ns", "write_amplification")  # doctest: +SKIP
>>> results.report("report.html")  # doctest: +SKIP
"""

from __future__ import annotations

from ftlkit._native import FtlBug, FtlkitError, UserError, __version__
from ftlkit.api import (
    check_study,
    compare,
    devices,
    generate_files,
    parts,
    run,
    run_study,
    schemes,
    trace_convert,
    trace_generate,
    trace_info,
    workloads,
)
from ftlkit.checking import TortureReport, replay, torture
from ftlkit.engine import Interrupted
from ftlkit.live import Device, check_image, create_image, fault, image_info, serve, stat, upgrade_image
from ftlkit.mounting import Mounted, mount
from ftlkit.results import RUN_COLUMNS, Results, load

__all__ = [
    "RUN_COLUMNS",
    "Device",
    "FtlBug",
    "FtlkitError",
    "Interrupted",
    "Mounted",
    "Results",
    "TortureReport",
    "UserError",
    "__version__",
    "check_image",
    "check_study",
    "compare",
    "create_image",
    "devices",
    "fault",
    "generate_files",
    "image_info",
    "load",
    "mount",
    "parts",
    "replay",
    "run",
    "run_study",
    "schemes",
    "serve",
    "stat",
    "torture",
    "trace_convert",
    "trace_generate",
    "trace_info",
    "upgrade_image",
    "workloads",
]
