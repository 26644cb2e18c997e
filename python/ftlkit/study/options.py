"""What a study can be asked: the options of every function and command that runs one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from ftlkit._native import trace_formats
from ftlkit._util.options import Option, declared
from ftlkit.own.ftl import Ftl

FtlChoice = str | Mapping[str, object] | type[Ftl]
"""A stack's text, a class of your own, or the `[[ftl]]` table of a study."""

WorkloadChoice = str | Path | Mapping[str, object]
DeviceChoice = str | Mapping[str, object]

FORMATS = tuple(trace_formats())
"""Names of the formats of traces."""

WORKLOAD = "Workload"
DEVICE = "Device and run"
OUTPUTS = "Outputs"
"""The parts of help."""

SEED = Option("Master seed: every random choice derives from it.", "N", DEVICE)


class ReadingOptions(TypedDict, total=False):
    """How a trace file is read."""

    format: Annotated[
        str,
        Option(
            f"The trace's format, instead of the one guessed from its content: {', '.join(FORMATS)}.",
            "NAME",
            WORKLOAD,
            names=lambda: FORMATS,
        ),
    ]
    columns: Annotated[
        str,
        Option(
            'The columns of a delimited text, instead of a format: "time:ms, device, offset:B, size:B, op:1=read".',
            "COLUMNS",
            WORKLOAD,
        ),
    ]
    where: Annotated[
        str | Sequence[str],
        Option(
            "Take the rows of a text whose column holds a value, or with != does not: type=D, op!=R|S; others are "
            "skipped and counted. May be repeated: then all must hold.",
            "COLUMN=VALUE",
            WORKLOAD,
        ),
    ]
    time_unit: Annotated[
        str, Option("Unit of the trace's times, where not the format's own: ns, us, ms, s.", "ns|us|ms|s", WORKLOAD)
    ]
    time_backwards: Annotated[
        str, Option("When time goes backwards: refuse, clamp or sort:N.", "refuse|clamp|sort:N", WORKLOAD)
    ]
    tick: Annotated[
        str,
        Option(
            "Spread requests of one time evenly over this long: 1s for a trace in whole seconds.", "DURATION", WORKLOAD
        ),
    ]
    skip_bad: Annotated[bool, Option("Skip malformed records, and count them.", panel=WORKLOAD)]
    blkparse_action: Annotated[
        str,
        Option(
            "blkparse action to take as a request: one letter.", "LETTER", WORKLOAD, ("--blkparse-action", "--action")
        ),
    ]
    align_offset: Annotated[int | str, Option("Bytes to add to every address, for example 512B.", "SIZE", WORKLOAD)]


class TraceOptions(ReadingOptions, total=False):
    """How a workload is read or generated."""

    trace_device: Annotated[
        str,
        Option("One of the trace's devices, or stacked: each gets its own address range.", "NAME|stacked", WORKLOAD),
    ]
    seed: Annotated[int, SEED]
    requests: Annotated[int, Option("Use the first N requests of a trace, or generate N.", "N", WORKLOAD)]
    bs: Annotated[
        int | str,
        Option(
            "Request size of a workload in one line, such as randwrite, from 1 B; 512..4k: its multiples of 512 B, "
            "equally likely; 64k/80:4k/20: shares, each size at multiples of itself. Default 4k.",
            "SIZE|SIZE..SIZE",
            WORKLOAD,
        ),
    ]
    span: Annotated[int | str, Option("Address range of a generated workload; default: all data.", "SIZE", WORKLOAD)]
    write_share: Annotated[float | str, Option("Share of writes of such a workload: 30% or 0.3.", "SHARE", WORKLOAD)]
    theta: Annotated[float, Option("Exponent of zipf; default 0.99.", "THETA", WORKLOAD)]
    repeat: Annotated[
        int, Option("Serve the trace N times in a row; --requests counts over all rounds.", "N", WORKLOAD)
    ]


class Options(TraceOptions, total=False):
    """What a comparison can set beside its workload, its device and its translation layers."""

    title: Annotated[str, Option("Title of the report.", "TEXT", OUTPUTS)]
    capacity: Annotated[
        str,
        Option(
            "Logical size, for example 8GiB, or auto: the workload's span (the default without --device).",
            "SIZE|auto",
            DEVICE,
        ),
    ]
    addresses: Annotated[
        str, Option("Addresses beyond the device: refuse, dense or wrap.", "refuse|dense|wrap", WORKLOAD)
    ]
    speedup: Annotated[float, Option("Multiply the arrival rate by FACTOR.", "FACTOR", WORKLOAD)]
    loop: Annotated[
        str,
        Option(
            "open: requests arrive at the trace's times; closed: a request is issued when one completes; threads: as "
            "open, with a bound on what each stream has outstanding.",
            "open|closed|threads",
            DEVICE,
        ),
    ]
    queue_depth: Annotated[
        int,
        Option("Outstanding requests of a closed loop, or of each thread.", "N", DEVICE, ("--queue-depth", "--depth")),
    ]
    skip: Annotated[int, Option("Serve N requests before measuring begins, as a warm-up.", "N", DEVICE)]
    precondition: Annotated[
        str,
        Option(
            "Prepare the device before measuring: auto, none, fill, steady or workload.",
            "auto|none|fill|steady|workload",
            DEVICE,
            names=lambda: ("auto", "none", "fill", "steady", "workload"),
        ),
    ]
    """`auto` fills it where the workload reads pages that it has not written; `workload` serves the
    workload's reads and writes once as writes.
    """
    in_use: Annotated[
        float | str,
        Option(
            "Data on the drive when measuring begins, for fill and steady: 80% or 0.8 of the capacity, or 700GB; "
            "default: all.",
            "SHARE|SIZE",
            DEVICE,
        ),
    ]
    daily_writes: Annotated[
        int | str,
        Option(
            "Bytes written per day, for years of life: 200GB, or a rate, 12MB/s; without it the trace's own rate, and "
            "one drive write in a closed loop.",
            "SIZE",
            DEVICE,
        ),
    ]
    memory_limit: Annotated[
        str,
        Option("Memory limit of the runs, for example 16GiB; default: 80 % of the available memory.", "SIZE", DEVICE),
    ]
    samples: Annotated[int, Option("Points of the time series.", "N", DEVICE)]
    verify: Annotated[
        bool, Option("Check every read of this run against an oracle, and one power cut after a flush.", panel=DEVICE)
    ]
    clock: Annotated[
        bool | Literal["auto"] | None,
        Option(
            "Keep time; without: counts alone, and no responses.",
            panel=DEVICE,
            flags=("--clock/--no-clock",),
        ),
    ]
    classes: Annotated[bool, Option("Report waiting and service times of flash operations by class.", panel=DEVICE)]
    timeline: Annotated[str, Option("Window of simulated time to record flash operations in, such as 10ms..12ms.")]
    flash_trace: Annotated[str, Option("Window of simulated time to trace requests to flash pages in.")]
    settings: Annotated[
        Sequence[str],
        Option(
            "Set a scheme's parameter (dftl.cmt=64KiB) or a key of the study (device.spare=0.07); may be repeated.",
            "SCHEME.KEY=VALUE",
            DEVICE,
            ("--set",),
        ),
    ]


SECTIONS = ("device", "workload", "host", "run")

SHAPE = ("bs", "span", "write_share", "theta")
"""What shapes a workload in one line."""

TRACE_KEYS = tuple(key for key in declared(TraceOptions) if key not in {"seed", *SHAPE} or key == "span")
"""The keys of a workload's table that say how it is read or generated."""
