"""The shape of saved results: one JSON document a study, as the simulator writes it.

Times are nanoseconds, sizes bytes, shares 0..1. `Results` makes frames of it; nothing else touches
the raw document but the report, which needs the nested parts (study, device, workload).
"""

from __future__ import annotations

from typing import Any, TypedDict

from typing_extensions import NotRequired

Json = dict[str, Any]


class Response(TypedDict):
    """Response times of one class of requests, in nanoseconds; null where there was none."""

    mean: float | None
    p50: int | None
    p90: int | None
    p99: int | None
    p99_9: int | None
    p99_99: int | None
    max: int | None
    count: int


class Operation(TypedDict):
    """Flash operations of one kind done for one cause."""

    cause: str
    op: str
    count: int
    time_ns: int


class ClassLatency(TypedDict):
    """Waiting and service times of a class's flash operations, as (nanoseconds, share)."""

    name: str
    waiting_ns: Response
    service_ns: Response
    waiting_cdf: list[tuple[int, float]]
    service_cdf: list[tuple[int, float]]


class Timeline(TypedDict):
    """Flash operations of a window of virtual time, by start: one element an operation."""

    from_ns: int
    to_ns: int
    asked_to_ns: int
    die: list[int]
    op: list[str]
    cause: list[str]
    ready_ns: list[int]
    start_ns: list[int]
    transfer_ns: list[int | None]
    end_ns: list[int]


class Erases(TypedDict):
    """Erase counts over the blocks; histogram rows are (lowest, highest count, blocks)."""

    total: int
    mean: float
    std: float
    min: int
    max: int
    gini: NotRequired[float | None]
    histogram: list[tuple[int, int, int]]


class WearMap(TypedDict):
    """Erases by cells of neighbouring blocks; null where all blocks were bad."""

    planes_per_cell: int
    blocks_per_cell: int
    mean: list[float | None]
    max: list[int | None]
    failed: list[int]


class Spares(TypedDict):
    """Blocks that may fail before the device is read-only, and those that have failed."""

    total: int
    left: int
    grown_bad_blocks: int


class EndOfLife(TypedDict):
    """The request that a worn-out device refused, counted from 1, and what it said."""

    request: int
    host_written_bytes: NotRequired[int]
    message: str


class Lifetime(TypedDict):
    """Bytes that the host writes until something wears out, as expected and between two ends."""

    written_bytes: int
    low_bytes: int
    high_bytes: int
    is_measured: bool
    drive_writes_per_day: float
    years: float | None


class Endurance(TypedDict):
    """How long the device lives if the workload goes on; `refusal` says why nothing is forecast."""

    limit: int
    drift: float | None
    first_block: Lifetime | None
    spares_gone: Lifetime | None
    refusal: str | None


class Merges(TypedDict):
    """Merges by kind."""

    switch: int
    partial: int
    full: int


class Structure(TypedDict):
    """One structure of a mapping and what it takes."""

    name: str
    ram_bytes: int
    flash_bytes: int


class Footprint(TypedDict):
    """What the mapping takes, in all and by structure."""

    ram_bytes: int
    flash_bytes: int
    structures: list[Structure]


class Series(TypedDict):
    """A run over time: one element a point, each about the stretch that the point ends."""

    request: list[int]
    time_ns: list[int]
    mean_response_ns: list[float | None]
    write_amplification: list[float | None]
    erases: list[int]
    erases_std: NotRequired[list[float]]
    erases_max: NotRequired[list[int]]
    host_written_bytes: NotRequired[list[int]]
    mapping_hit_ratio: list[float | None]
    buffer_hit_ratio: NotRequired[list[float | None]]
    gauges: dict[str, list[float]]


class Precondition(TypedDict):
    """How a device was prepared; `settled` is null but for `steady`."""

    mode: str
    pages_written: int
    page_write_amplification: float
    settled: bool | None


class Mount(TypedDict):
    """What mounting the device after a power cut costs."""

    reads: int
    programs: int
    erases: int
    time_ns: int


class Load(TypedDict):
    """What an open loop asked for, and how much of the device that took."""

    offered_iops: float | None
    bottleneck_iops: NotRequired[float | None]
    utilisation_max: float | None
    busiest: NotRequired[str | None]
    outlasts_arrivals_ns: int | None
    backlog_ns: NotRequired[list[float] | None]
    backlog_grows: bool
    is_overloaded: bool


class Run(TypedDict):
    """One translation layer on the workload."""

    label: str
    ftl: str
    stack: NotRequired[str]
    family: str
    parameters: dict[str, str]
    seed: int
    verified: bool | None
    event_hash: str
    requests: dict[str, int]
    skipped_requests: NotRequired[int]
    simulated_ns: int
    wall_s: float
    response_ns: dict[str, Response]
    cdf: dict[str, list[tuple[int, float]]]
    classes: NotRequired[list[ClassLatency] | None]
    timeline: NotRequired[Timeline | None]
    iops: float | None
    throughput_bytes_per_s: float | None
    host_pages_read: int
    host_pages_written: int
    host_written_bytes: NotRequired[int]
    reads_without_flash: NotRequired[float | None]
    write_amplification: float | None
    page_write_amplification: NotRequired[float | None]
    operations: list[Operation]
    controller_ns: int
    notes: dict[str, int]
    mapping_hit_ratio: float | None
    buffer_hit_ratio: NotRequired[float | None]
    merges: Merges
    erases: Erases
    wear_map: NotRequired[WearMap]
    spares: Spares
    end_of_life: EndOfLife | None
    endurance: NotRequired[Endurance]
    footprint: Footprint
    utilisation: dict[str, float | None]
    gauges: dict[str, float]
    series: Series
    precondition: Precondition | None
    mount: Mount | None
    load: NotRequired[Load | None]
    waiting_ns: NotRequired[dict[str, float] | None]
    service_ns: NotRequired[dict[str, float] | None]


class PreconditionChosen(TypedDict):
    """What the study said of preparing devices, what was done, and why where it left the choice."""

    asked: str
    mode: str
    reason: str | None


class TraceDevice(TypedDict):
    """A device of a trace; `base_byte` is its place in the address space, null if left out."""

    name: str
    requests: int
    lowest_byte: int
    end_byte: int
    base_byte: int | None


class ReadAs(TypedDict):
    """How a trace file was read."""

    format: str
    columns: str
    is_guessed: bool
    time_unit: str
    duration_ns: int
    end_byte: int
    devices: list[TraceDevice]


class Workload(TypedDict):
    """What was replayed."""

    name: str
    format: str
    read_as: NotRequired[ReadAs | None]
    facts: list[str]
    requests: int
    bytes: NotRequired[int]
    bytes_written: NotRequired[int]
    pages_read: int
    pages_written: int
    pages_trimmed: int
    duration_ns: int
    span_bytes: int


class Device(TypedDict):
    """The device of the replay; `capacity_reason` says where a default capacity came from."""

    preset: str
    is_default: NotRequired[bool]
    capacity_reason: NotRequired[str | None]
    geometry: Json
    physical_bytes: int
    logical_bytes: int
    spare: float
    utilisation: float
    bad_blocks: int
    latencies: Json


class Document(TypedDict):
    """Results of one study."""

    ftlkit: str
    study: Json
    cancelled: bool
    workload: Workload
    precondition_chosen: NotRequired[PreconditionChosen | None]
    device: Device
    runs: list[Run]
