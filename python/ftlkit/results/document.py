"""The types of saved results: one JSON document a study, as the simulator writes it.

Times are nanoseconds, sizes bytes, shares 0..1. `Results` makes frames of it; nothing else touches
the raw document but the report, which needs the nested parts (study, device, workload).

`python -m ftlkit.results.schema` writes this file, from the structs of `crates/sim/src/result`.
"""

from __future__ import annotations

from typing import Any, TypedDict

from typing_extensions import NotRequired


class ReadLife(TypedDict):
    """What the host reads until blocks have worn out on the average, if refreshing goes on at
    the rate that was measured. An upper bound: worn blocks are refreshed sooner.
    """

    read_bytes: int
    """Bytes of host reads, counted from the begin of the measurement."""
    years: float | None
    """Years of 365 days in which the workload reads them at its own arrivals, before any speed-
    up; null where all arrive at once.
    """


class BitErrorFacts(TypedDict):
    """Reads of flash that were tried again, and blocks that were moved before their content
    decayed.
    """

    reads_by_retries: list[int]
    """Pages read in flash by the number of retries: those that took none first, up to the most
    that one took.
    """
    mean_retries: float | None
    """Retries of a page read; null where none was read."""
    most_retries: int
    """Most retries of a page read."""
    uncorrectable_reads: int
    """Page reads with more wrong bits than the last retry corrects.

    They were counted, and their data were given all the same.
    """
    refreshed_blocks: int
    """Blocks whose content was moved because it decayed."""
    is_refreshing_over: bool
    """Whether refreshing ended before the workload did, since the device takes no more writes."""
    read_life: ReadLife | None
    """How long a device lives that is only read; null where the host wrote, no block was erased,
    or refreshing ended.
    """


class Responses(TypedDict):
    """Response times of one class in nanoseconds; null where it has no request.

    Percentiles have three significant digits.
    """

    mean: float | None
    """The exact mean, in nanoseconds."""
    p50: int | None
    """The median."""
    p90: int | None
    """90th percentile."""
    p99: int | None
    """99th percentile."""
    p99_9: int | None
    """99.9th percentile."""
    p99_99: int | None
    """99.99th percentile."""
    max: int | None
    """Maximum, exact."""
    count: int
    """How many requests."""


class ClassLatency(TypedDict):
    """Waiting and service times of the flash operations of one class, in nanoseconds.

    Together they make up the time from when an operation is ready until it is done.
    """

    name: str
    """`host_read`, `host_write`, `mapping_read`, `mapping_write`, `collection` or `other`."""
    waiting_ns: Responses
    """For the die and for the channel."""
    service_ns: Responses
    """What the operations take on an idle device."""
    waiting_cdf: list[tuple[int, float]]
    """Distribution: (waiting in nanoseconds, share of operations at or below it), at most 300
    points.
    """
    service_cdf: list[tuple[int, float]]
    """Distribution of the service."""


class SpreadTicks(TypedDict):
    """Responses as the trace was recorded, and with the requests of a time spread evenly over a
    step.
    """

    label: str
    """Label of the run."""
    requests: int
    """Requests that were served both ways: the first of the trace."""
    recorded_mean_ns: int
    """Mean response as recorded."""
    spread_mean_ns: int
    """Mean response of the spread requests."""


class CoarseTicks(TypedDict):
    """Times of a trace in coarse steps."""

    tick_ns: int | None
    """The largest power of ten, at most a second, from one to another of 95 % of the times; null
    where all requests have one time.
    """
    shared: int
    """Requests of the trace that have the time of the one before."""
    requests: NotRequired[int]
    """Requests of the whole trace, of which more or fewer may be served."""
    stamps_completions: NotRequired[bool]
    """Whether times are those of completions, so that arrivals are known to a step only."""
    compared: SpreadTicks | None
    """Responses with requests spread inside the steps; null where it was not tried."""


class DeviceFacts(TypedDict):
    """The simulated device."""

    preset: str
    """The preset that it started from."""
    named_by: NotRequired[str]
    """How the study chose it: `default`, `preset` or `keys`."""
    capacity_reason: NotRequired[str | None]
    """What the capacity was taken from, in a clause; null where the study or the preset gives
    it.
    """
    slice_bytes: NotRequired[int | None]
    """Bytes that the host sees of the slice that was simulated in place of the device, whose
    `geometry` this is; null where it was the whole.
    """
    geometry: dict[str, int]
    """Counts of channels, dies, planes, blocks and pages, as simulated."""
    physical_bytes: int
    """Data bytes of all pages of the whole device."""
    logical_bytes: int
    """Bytes that the host sees of it."""
    spare: float
    """Share of physical pages that the host does not see."""
    utilisation: float
    """Logical ÷ physical pages (ρ)."""
    bad_blocks: int
    """Blocks bad from the factory."""
    latencies: dict[str, Any]
    """What operations take, in nanoseconds.

    A read or a program has a list where it depends on the type of page. `cell` is absent for
    SLC.
    """


class PreconditionChosen(TypedDict):
    """How the devices of a study were to be prepared."""

    requested: str
    """What the study said: `auto`, `none`, `fill`, `steady` or `workload`."""
    mode: str
    """What was done: `none`, `fill`, `steady` or `workload`."""
    reason: str | None
    """Why, in a sentence with its number; null where the study said the mode itself."""
    live_pages: NotRequired[int | None]
    """Logical pages that hold data when measuring begins; null but for `fill` and `steady`."""
    touched_pages: NotRequired[int | None]
    """Those of them that the workload reads or writes; null but for `fill` and `steady`."""


class EndOfLife(TypedDict):
    """The request that a worn-out device refused; nothing after it was measured."""

    request: int
    """Its number, counted from 1."""
    host_written_bytes: NotRequired[int]
    """Bytes that the host had written since measurement began, on a slice as if to the whole."""
    message: str
    """What the device said."""


class Lifetime(TypedDict):
    """Bytes that the host writes until something wears out."""

    written_bytes: int
    """The expected bytes; where it was measured, those that had been written when it was seen."""
    low_bytes: int
    """The low end of the range."""
    high_bytes: int
    """The high end of the forecast."""
    is_measured: bool
    """Whether it happened in the run."""
    drive_writes_per_day: float
    """The expected bytes in drive writes a day over the warranty."""
    years: float
    """Years of 365 days in which the host writes them at `write_rate`."""


class Endurance(TypedDict):
    """How much the host may write before the device wears out, if the workload goes on as it was
    measured. Bytes are counted from the begin of the measurement; what preparation wore is
    worn.
    """

    limit: int
    """Erases that a block survives, without those that it had before the run
    (`device.initial_erases`).
    """
    pslc_limit: NotRequired[int | None]
    """Erases out of pSLC mode that a block survives; null for cells of one bit.

    A forecast counts each of them as the share of the other limit that it wears.
    """
    drift: float | None
    """The power of the mean erase count with which blocks' erase counts drift apart: 1 where
    each keeps a rate of its own, 0 where levelling holds them together; null without a
    forecast.
    """
    first_block: Lifetime | None
    """Until the first block fails; null where that is not known, or where it failed before
    anything was measured.
    """
    spares_gone: Lifetime | None
    """Until the device is read-only, because one block more has failed than there are spares;
    null where that is not known.
    """
    refusal: str | None
    """Why nothing is forecast; null where something is, or where the device wore out."""


class Erases(TypedDict):
    """Erases of blocks that were good when the device was new."""

    total: int
    """Of all blocks; an erase that failed is none of these, but counts among the operations."""
    mean: float
    """Mean over blocks."""
    std: float
    """Standard deviation over blocks."""
    min: int
    """Of the least erased block."""
    max: int
    """Of the most erased block."""
    gini: NotRequired[float | None]
    """Gini coefficient over blocks: 0 where all were erased alike, near 1 where one took all
    erases; null without erases.
    """
    pslc: NotRequired[int]
    """How many of all ended a time of a block in pSLC mode."""
    histogram: list[tuple[int, int, int]]
    """(lowest count, highest count, blocks), at most 40 bins, in order, without gaps between
    counts.
    """


class TracedNote(TypedDict):
    """Something that was counted besides flash operations."""

    request: int | None
    """The number of the request during which it was counted; null for idle time."""
    operations_before: int
    """How many of the operations had been issued before."""
    name: str
    """Its name, as in `notes`."""
    count: int
    """How often it was counted."""


class TracedOperations(TypedDict):
    """Flash operations; one element an operation."""

    request: list[int | None]
    """The number of the request that it was issued for; null for work in idle time."""
    op: list[str]
    """`read`, `program` or `erase`."""
    cause: list[str]
    """Why it was done."""
    die: list[int]
    """Its die, counted over the whole device."""
    block: list[int]
    """Its block, counted over the whole device."""
    page: list[int | None]
    """Its page, counted within the block; null for an erase."""
    role: list[str | None]
    """What a program writes: a role as in `start`; null for others, and for one that failed."""
    logical: list[int | None]
    """The logical page, or translation page, that a program writes; null for others."""
    copies: list[bool]
    """Whether it programs what another page holds."""
    has_failed: list[bool]
    """Whether a program or an erase failed."""
    background: list[int]
    """Which stretch of work that the host does not wait for it belongs to; 0 for none."""
    start_ns: list[int]
    """When its die took it up."""
    end_ns: list[int]
    """When it was done."""


class TracedRequests(TypedDict):
    """Host requests; one element a request."""

    number: list[int]
    """Its number in the workload, counted from 1."""
    op: list[str]
    """`read`, `write`, `trim` or `flush`."""
    begin_ns: list[int]
    """When it began."""
    end_ns: list[int]
    """When its last page was done."""
    extents: list[list[tuple[int, int]]]
    """Its logical pages: (first, how many) of each stretch of neighbours."""
    operations_before: list[int]
    """How many of the operations were issued before it."""


class StoredPages(TypedDict):
    """What the pages of a device hold; those that are not named are erased."""

    page: list[int]
    """Programmed pages, counted over the whole device, in order."""
    role: list[str]
    """What each is for: `data`, `collected`, `sequential_log`, `random_log`, `translation`,
    `trimmed`, `lost` or `summary`.
    """
    logical: list[int]
    """Its logical page, or the number of its translation page."""
    is_valid: list[bool]
    """Whether it holds the newest version of that on flash, and the host has not trimmed it."""
    unusable: list[int]
    """Pages that hold nothing and cannot be programmed before the next erase."""
    bad_blocks: list[int]
    """Blocks that are bad."""


class FlashTraceFacts(TypedDict):
    """The requests that begin in a window of virtual time, their flash operations in the order
    of issue, and what the flash held before the first of them.
    """

    from_ns: int
    """Begin of the window."""
    to_ns: int
    """Its end: everything that was issued before it is here."""
    requested_to_ns: int
    """The end that was asked for; later than `to_ns` where the window held too much."""
    limit: int
    """Flash operations, and requests, that a trace holds at most."""
    start: StoredPages
    """What the flash held when the window began."""
    requests: TracedRequests
    """The requests, in the order in which they began."""
    operations: TracedOperations
    """The flash operations, in the order of issue."""
    notes: list[TracedNote]
    """What was counted between them."""


class StructureFacts(TypedDict):
    """One table or buffer of a mapping."""

    name: str
    """For example `page map`, `GTD`."""
    ram_bytes: int
    """Size in the controller's RAM, in bytes."""
    flash_bytes: int
    """Size on flash, in bytes."""


class FootprintFacts(TypedDict):
    """Memory of a mapping."""

    ram_bytes: int
    """RAM over all structures."""
    flash_bytes: int
    """Flash over all structures."""
    structures: list[StructureFacts]
    """Each table or buffer, with its size."""


class LoadFacts(TypedDict):
    """How much of the device the requests asked, of which reads and writes count."""

    offered_iops: float | None
    """Requests a second that arrive; null for a closed loop, and where all arrive at once."""
    bottleneck_iops: NotRequired[float | None]
    """Requests a second for which the busiest die or channel would be held all the time: an
    upper bound; null where nothing was held.
    """
    utilisation_max: float | None
    """Busy share of the busiest die or channel, from the first request to the last operation."""
    busiest: NotRequired[str | None]
    """Which that is, `die 3` or `channel 0`; with serial pricing `device`."""
    outlasts_arrivals_ns: int | None
    """From the last arrival until the last request is done, in nanoseconds; null for a closed
    loop.
    """
    backlog_ns: NotRequired[list[float] | None]
    """At an arrival, the time until all that was asked before is done: the mean over each
    quarter of the requests, in nanoseconds; null for a closed loop.
    """
    is_overloaded: bool
    """Whether more was asked than the device can do: the run outlasts its arrivals by more than
    1 % of their span, or the part of it in which 20 requests arrive if that is more.
    """


class Merges(TypedDict):
    """Merges by kind."""

    switch: int
    """A log block became a data block as it was."""
    partial: int
    """A log block was completed with copies."""
    full: int
    """A logical block was gathered into a fresh block."""


class MountFacts(TypedDict):
    """What it costs to mount a device whose power was cut when nothing was going on."""

    reads: int
    """Pages read. Reading a tag costs as much as reading its page."""
    programs: int
    """Pages programmed."""
    erases: int
    """Block erases."""
    time_ns: int | None
    """From the first operation until requests can be served, in nanoseconds of virtual time;
    null without a clock.
    """


class OperationCount(TypedDict):
    """Operations of one kind done for one cause."""

    cause: str
    """The name of the cause."""
    op: str
    """`read`, `program` or `erase`."""
    count: int
    """How many operations."""
    time_ns: int | None
    """Their service times, summed, in nanoseconds; null without a clock."""


class PreconditionFacts(TypedDict):
    """How a device was prepared."""

    mode: str
    """`fill`, `steady` or `workload`."""
    pages_written: int
    """Host pages written."""
    page_write_amplification: float
    """Pages programmed ÷ pages written: of the last window of overwrites, of the fill, or of the
    workload.
    """
    settled: bool | None
    """Whether write amplification settled; null but for `steady`."""


class Series(TypedDict):
    """The run over time; one element a point, each about the interval that the point ends."""

    request: list[int]
    """Requests done so far."""
    time_ns: list[int | None]
    """Completion of the last of them; null without a clock."""
    mean_response_ns: list[float | None]
    """Mean response of the interval's reads and writes."""
    write_amplification: list[float | None]
    """Write amplification of the interval."""
    moved_share: NotRequired[list[float | None]]
    """Share of the interval's programmed pages that moved data: collections, merges and the
    like.
    """
    erases: list[int]
    """Erases of all blocks so far."""
    erases_std: NotRequired[list[float]]
    """Standard deviation over blocks of the erases so far."""
    erases_max: NotRequired[list[int]]
    """Erases so far of the block that has most."""
    host_written_bytes: NotRequired[list[int]]
    """Bytes that the host wrote so far."""
    mapping_hit_ratio: list[float | None]
    """Hit ratio of the mapping cache in the interval."""
    buffer_hit_ratio: NotRequired[list[float | None]]
    """Hit ratio of the write buffer in the interval."""
    gauges: dict[str, list[float]]
    """The scheme's gauges at the point."""


class SpareFacts(TypedDict):
    """Spare blocks of a scheme at the end of a run."""

    total: int
    """Blocks that could fail when the device was new."""
    left: int
    """Blocks that may still fail before writes do."""
    grown_bad_blocks: int
    """Blocks that failed and were marked bad, in preparation and measurement."""


class StreamFacts(TypedDict):
    """What was done for the pages that the host wrote to one stream: one of its hints (a reclaim
    unit handle of FDP), or a class of a classifier.
    """

    is_collected: bool
    """Whether its blocks take collected pages alone."""
    host_pages: int
    """Pages that the host wrote to it."""
    moved_for: list[int]
    """Moves of pages that the host had last written to it, by the stream of the host's write
    that needed the room.
    """
    erased_blocks: int
    """Erased blocks of its own; collected pages may lie in those of another."""


class TimelineFacts(TypedDict):
    """The flash operations that are ready before a window of virtual time ends and done after it
    begins, in order of their start; one element an operation.
    """

    from_ns: int
    """Begin of the window."""
    to_ns: int
    """Its end: everything that is ready before it is here."""
    requested_to_ns: int
    """The end that was asked for; later than `to_ns` where the window held too many operations."""
    die: list[int]
    """The die that was held; 0 with serial pricing, which has one resource."""
    op: list[str]
    """`read`, `program` or `erase`."""
    cause: list[str]
    """The cause of each operation."""
    ready_ns: list[int]
    """When the operation could have begun."""
    start_ns: list[int]
    """From when on the die was held."""
    transfer_ns: list[int | None]
    """From when on the channel moved the page; null for an erase, and with serial pricing."""
    end_ns: list[int]
    """When the die was free again."""
    service_ns: NotRequired[list[int | None]]
    """What the operation takes on an idle device; null for the part of one that went on later."""


class WearMap(TypedDict):
    """Where on the device blocks were erased.

    A cell is a stretch of neighbouring blocks of one plane; cells stand in the order channel,
    die, plane, block. A device of more planes than there may be cells has cells of several
    whole planes.
    """

    planes_per_cell: int
    """Planes of a cell; 1 unless there are more planes than cells."""
    blocks_per_cell: int
    """Blocks of a cell in each of its planes; the last cell of a plane may have fewer."""
    mean: list[float | None]
    """Mean erases during measurement of the cell's blocks that were good when the device was
    new; null where none was.
    """
    max: list[int | None]
    """Most erases of such a block."""
    failed: list[int]
    """Blocks of the cell that failed and were marked bad."""


class Run(TypedDict):
    """One run of one translation layer."""

    label: str
    """What the study calls it."""
    ftl: str
    """The names of its parts: `page`, `fast+owl`."""
    stack: NotRequired[str]
    """The stack with what the study sets, as on the command line."""
    family: str
    """How the mapping maps."""
    parameters: dict[str, str]
    """Every parameter with its value; of parts behind the mapping as `part.parameter`."""
    seed: int
    """The study's seed."""
    proved: str | None
    """What `verify` proved, in words: this run, and one clean power cut after a flush at its
    end. Null for a run that was not asked to.
    """
    event_hash: str
    """Hash of every flash operation with its address, cause and completion, in hexadecimal:
    equal runs have equal hashes.
    """
    requests: dict[str, int]
    """Requests by kind, of those measured."""
    skipped_requests: NotRequired[int]
    """Requests at the beginning that were served and not measured."""
    simulated_ns: int | None
    """When the last request was done, counted from when the first measured one arrived; null
    without a clock, as every time of the run.
    """
    wall_s: float
    """Seconds that the simulation took."""
    measured_wall_s: NotRequired[float]
    """Wall-clock time of the measured part, without preparation and verification, in seconds."""
    response_ns: dict[str, Responses]
    """Response times by class."""
    flush_ns: NotRequired[Responses]
    """Response times of flushes, which are no part of `response_ns`."""
    cdf: dict[str, list[tuple[int, float]]]
    """Distributions by class: (response in nanoseconds, share of requests at or below it), at
    most 300 points.
    """
    classes: NotRequired[list[ClassLatency] | None]
    """Latency of flash operations by class; null where the study did not ask for it
    (`run.classes`).
    """
    timeline: NotRequired[TimelineFacts | None]
    """Flash operations of a window; null where the study did not ask for one (`run.timeline`)."""
    flash_trace: NotRequired[FlashTraceFacts | None]
    """The requests of a window with each flash operation and its page; null where the study did
    not ask for one (`run.flash_trace`).
    """
    iops: float | None
    """Reads and writes per second of virtual time."""
    throughput_bytes_per_s: float | None
    """Bytes read and written per second of virtual time."""
    host_pages_read: int
    """Pages that host reads touch."""
    host_pages_written: int
    """Pages that host writes touch."""
    host_written_bytes: NotRequired[int]
    """Bytes of host writes."""
    media_erased_bytes: NotRequired[int]
    """Bytes of erased blocks, all bits of their cells in use."""
    reads_without_flash: NotRequired[float | None]
    """Share of page reads (of the host, and of the rest of pages that it writes in part) whose
    page held no data, never written or trimmed, so that none was read in flash; null without
    page reads.
    """
    write_amplification: float | None
    """Bytes programmed ÷ bytes that the host wrote, as SMART counts."""
    page_write_amplification: NotRequired[float | None]
    """Pages programmed ÷ pages that host writes touch, as theory and papers count."""
    streams: NotRequired[list[StreamFacts] | None]
    """What was done for each stream of the host, or each class of a classifier, by number;
    streams of collected pages follow. Null where nothing is kept apart.
    """
    operations: list[OperationCount]
    """Flash operations by cause and kind; those that occur."""
    controller_ns: int | None
    """Time of requests on the controller's RAM and registers, summed; part of responses, but no
    flash operation. Null without a clock.
    """
    notes: dict[str, int]
    """Events inside the scheme, by name; all of them."""
    mapping_hit_ratio: float | None
    """Hits ÷ look-ups of the mapping cache."""
    buffer_hit_ratio: NotRequired[float | None]
    """Pages written that replaced a version that waited in the write buffer ÷ pages that came
    into it.
    """
    merges: Merges
    """Merges by kind."""
    erases: Erases
    """Erases during measurement of blocks that were good when the device was new."""
    wear_map: NotRequired[WearMap]
    """Where on the device they were."""
    spares: SpareFacts
    """How far the device is from being read-only."""
    bit_errors: NotRequired[BitErrorFacts | None]
    """What bit errors cost; null on a device without any (`device.bit_errors`)."""
    end_of_life: EndOfLife | None
    """Where the run ended because the device had worn out; null for one that lasted."""
    endurance: NotRequired[Endurance]
    """How long the device lives."""
    footprint: FootprintFacts
    """Memory of the mapping."""
    utilisation: dict[str, float | None]
    """Shares of the time for which dies and channels were busy."""
    load: NotRequired[LoadFacts | None]
    """What was asked, and what the device can bear; null without a clock."""
    waiting_ns: NotRequired[dict[str, float] | None]
    """What a read or write waited for: mean nanoseconds a request, by the cause of the
    operations that held its die or channel; causes of nothing are left out. Null where the
    study did not ask (`run.waiting`).
    """
    bus_waiting_ns: NotRequired[dict[str, float] | None]
    """What of `waiting_ns` was waiting for a channel's bus; the rest was waiting for dies."""
    service_ns: NotRequired[dict[str, float] | None]
    """What a read or write took in its own operations: mean nanoseconds a request, by cause;
    `controller` is the time at the controller and between operations, `link` that on the host
    link, waiting for it included. With `waiting_ns` it adds up to the mean response.
    """
    gauges: dict[str, float]
    """The scheme's gauges at the end."""
    series: Series
    """The run over time."""
    precondition: PreconditionFacts | None
    """How the device was prepared; null if it was not."""
    mount: MountFacts | None
    """What mounting the device afterwards cost; null if it was not verified, or has become read-
    only.
    """


class Misalignment(TypedDict):
    """Requests that are off the device's page grid, and the offset that puts most of them on it."""

    aligned: float
    """Share of requests that start and end on the grid."""
    align_offset_bytes: int
    """What `align_offset` would have to be."""
    aligned_with_offset: float
    """Share of requests that would then."""


class TraceDevice(TypedDict):
    """A device of a trace."""

    name: str
    """The name in the trace."""
    requests: int
    """Requests to this device."""
    lowest_byte: int
    """Lowest byte touched."""
    end_byte: int
    """One past the highest byte touched."""
    base_byte: int | None
    """Its place in the address space: what is added to its addresses; null if it is left out."""


class ReadAs(TypedDict):
    """How a trace file was read."""

    format: str
    """The format's name; `columns` where the user named the columns."""
    columns: str
    """What a line holds."""
    is_guessed: bool
    """Whether the format was guessed from the content; false where the user named it."""
    time_unit: str
    """The unit in which the trace's times were read."""
    duration_ns: int
    """From its first request to its last, before speed-up."""
    end_byte: int
    """One past the highest byte of the address space, all devices chosen laid out."""
    devices: list[TraceDevice]
    """Its devices, in order of first appearance."""


class RepeatedRequests(TypedDict):
    """Requests with the operation, address and length of one that has just arrived, as of a
    trace that has a row for each event of a request.
    """

    requests: int
    """How many there are."""
    within_ns: int
    """How long ago the other arrived at most."""


class WorkloadFacts(TypedDict):
    """What a workload asks."""

    name: str
    """File name, preset or `generated`."""
    format: str
    """Trace format, or `generated`."""
    read_as: NotRequired[ReadAs | None]
    """How a trace file was read; null for a generated workload."""
    facts: list[str]
    """What was done to it, in sentences: records left out, addresses changed, arrivals scaled …"""
    requests: int
    """Requests that were measured."""
    bytes: NotRequired[int]
    """Bytes of reads and writes."""
    bytes_written: NotRequired[int]
    """Bytes of writes."""
    pages_read: int
    """Pages that reads touch."""
    pages_written: int
    """Pages that writes touch."""
    pages_trimmed: int
    """Pages that trims cover whole."""
    duration_ns: int
    """Arrival of the last request, after speed-up."""
    span_bytes: int
    """One past the highest byte touched."""
    misalignment: NotRequired[Misalignment | None]
    """The offset that would put many more requests of a trace on whole pages; null if none
    would.
    """
    repeated: NotRequired[RepeatedRequests | None]
    """Rows of a trace that repeat a request which has just arrived; null if they are few."""
    ticks: NotRequired[CoarseTicks | None]
    """The steps of a trace's times, where they are coarse and many requests share one, or all
    do; else null.
    """


class WriteRate(TypedDict):
    """The rate of writes at which years of life are counted."""

    bytes_per_day: float
    """Bytes that the host writes per day."""
    source: str
    """Where it is from: `given` in the study, the `workload`'s own before any speed-up, or one
    `drive_write` where requests do not follow arrivals.
    """


class Document(TypedDict):
    """The results of a study."""

    ftlkit: str
    """Version of ftlkit."""
    study: dict[str, Any]
    """The resolved study; run again, it gives these results."""
    cancelled: bool
    """Whether the study was stopped; `runs` then holds those that were finished."""
    workload: WorkloadFacts
    """The workload, as it was surveyed."""
    precondition_chosen: NotRequired[PreconditionChosen | None]
    """How the device was prepared and why; null if the study was stopped before it was known."""
    device: DeviceFacts | None
    """The device; null if the study was stopped before it was known."""
    write_rate: NotRequired[WriteRate | None]
    """The rate of writes at which lives are counted in years; null as the device."""
    runs: list[Run]
    """The runs, in the order of the study."""
