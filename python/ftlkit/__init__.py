"""ftlkit compares flash translation layers on a workload.

>>> import ftlkit as fk
>>> results = fk.compare("fin1", "page,dftl", device="slc-small", requests=10_000)
>>> results.runs.select("label", "response_mean_ns", "write_amplification")  # doctest: +SKIP
>>> results.report("report.html")  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ftlkit._native import (
        EraseFailed,
        Flash,
        FlashDevice,
        FlashError,
        FtlBug,
        FtlkitError,
        Page,
        Pages,
        PowerCut,
        ProgramFailed,
        RuleBroken,
        Scope,
        Tag,
        Uncorrectable,
        UserError,
        __version__,
    )
    from ftlkit._util.native_call import Interrupted
    from ftlkit.api.advise import Advice, advise
    from ftlkit.api.calibrate import CalibratedDevice, calibrate
    from ftlkit.api.catalogue import devices, parts, schemes, workloads
    from ftlkit.api.compare import check_study, compare, run, run_study
    from ftlkit.api.curve import curve_depth, curve_load
    from ftlkit.api.drive import drive_life
    from ftlkit.api.fleet import Fleet, fleet
    from ftlkit.api.live import Device, check_image, create_image, fault, image_info, serve, stat
    from ftlkit.api.mount import Mounted, mount
    from ftlkit.api.sweep import Swept, sweep
    from ftlkit.api.torture import TortureReport, replay, torture
    from ftlkit.api.traces import (
        generate_files,
        trace_convert,
        trace_fit,
        trace_generate,
        trace_info,
        trace_split,
    )
    from ftlkit.curves.hits import HitRatios, curve
    from ftlkit.curves.latency import LatencyCurve
    from ftlkit.own.ftl import Ftl, Parameter
    from ftlkit.own.plugins import Plugin, plugins
    from ftlkit.own.policies import Classifier, EvictionPolicy, VictimPolicy, WearPolicy
    from ftlkit.own.registry import forget
    from ftlkit.report.results import RUN_COLUMNS, Results, load

__all__ = [
    "RUN_COLUMNS",
    "Advice",
    "CalibratedDevice",
    "Classifier",
    "Device",
    "EraseFailed",
    "EvictionPolicy",
    "Flash",
    "FlashDevice",
    "FlashError",
    "Fleet",
    "Ftl",
    "FtlBug",
    "FtlkitError",
    "HitRatios",
    "Interrupted",
    "LatencyCurve",
    "Mounted",
    "Page",
    "Pages",
    "Parameter",
    "Plugin",
    "PowerCut",
    "ProgramFailed",
    "Results",
    "RuleBroken",
    "Scope",
    "Swept",
    "Tag",
    "TortureReport",
    "Uncorrectable",
    "UserError",
    "VictimPolicy",
    "WearPolicy",
    "__version__",
    "advise",
    "calibrate",
    "check_image",
    "check_study",
    "compare",
    "create_image",
    "curve",
    "curve_depth",
    "curve_load",
    "devices",
    "drive_life",
    "fault",
    "fleet",
    "forget",
    "generate_files",
    "image_info",
    "load",
    "mount",
    "parts",
    "plugins",
    "replay",
    "run",
    "run_study",
    "schemes",
    "serve",
    "stat",
    "sweep",
    "torture",
    "trace_convert",
    "trace_fit",
    "trace_generate",
    "trace_info",
    "trace_split",
    "workloads",
]

_HOMES = (
    "api.compare",
    "api.catalogue",
    "api.traces",
    "report.results",
    "_util.native_call",
    "api.torture",
    "api.live",
    "api.mount",
    "api.advise",
    "api.calibrate",
    "api.drive",
    "curves.hits",
    "api.curve",
    "curves.latency",
    "api.sweep",
    "api.fleet",
    "own.ftl",
    "own.registry",
    "own.policies",
    "own.plugins",
    "_native",
)
"""The modules of these names; the compiled one last, whose functions take and give JSON.

They are loaded when a name is asked for: `python -m ftlkit` and the workers of sweeps begin with
this file.
"""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A name of `__all__`, from the module that has it."""
        if name in __all__:
            for home in _HOMES:
                module = importlib.import_module(f"ftlkit.{home}")
                if hasattr(module, name):
                    globals()[name] = getattr(module, name)
                    return globals()[name]
        raise AttributeError(f"module ftlkit has no attribute {name}")

    def __dir__() -> list[str]:
        return sorted(__all__)
