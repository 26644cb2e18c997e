"""Every metric of a run, in one table: name, meaning, unit, type, source, better direction.

The table feeds the frame `Results.runs` (and so `--csv` and `--parquet`), the tables of terminal
and report, the verdict's criteria, the measures of reproductions, and the page docs/columns.md. A
test compares it with the results that the simulator writes: a key that is neither the source of a
metric nor one of `PARTS` fails there.
"""

from ftlkit.results import derived, reproductions
from ftlkit.results.metric import HIGHER, LOWER, Metric

_TEXT, _SWITCH = ("", str), ("", bool)
_WHOLE, _NS, _BYTES, _REQUESTS, _PAGES, _BLOCKS, _ERASES, _MERGES = (
    (unit, int) for unit in ("", "ns", "B", "requests", "pages", "blocks", "erases", "merges")
)
_REAL, _MEAN_NS, _SECONDS, _SHARE, _RATE, _THROUGHPUT = (
    (unit, float) for unit in ("", "ns", "s", "share", "1/s", "B/s")
)
"""Units with the types of their columns."""

TAIL = (
    ("p50", "median", "median"),
    ("p90", "90th percentile", "p90"),
    ("p99", "99th percentile", "p99"),
    ("p99_9", "99.9th percentile", "p99.9"),
    ("p99_99", "99.99th percentile", "p99.99"),
    ("max", "longest", "longest"),
)
"""Figures of response times beside their mean: key, meaning, heading."""


def _responses(kind: str, requests: str) -> list[Metric]:
    """The response times of reads or of writes."""
    null = f"null without {requests}"
    source = f"response_ns.{kind}"
    mean = Metric(
        f"{kind}_mean_ns",
        f"mean response time of {requests}; {null}",
        *_MEAN_NS,
        f"{source}.mean",
        LOWER,
        compute=derived.percentile(kind, "mean"),
    )
    rest = [
        Metric(
            f"{kind}_{key}_ns",
            f"{meaning} response time of {requests}; {null}",
            *_NS,
            f"{source}.{key}",
            LOWER,
            compute=derived.percentile(kind, key),
        )
        for key, meaning, _ in TAIL
    ]
    return [mean, *rest]


_WHO = (
    Metric("label", "name of the run in tables and charts", *_TEXT, "label"),
    Metric("ftl", "translation layer: the names of its parts", *_TEXT, "ftl"),
    Metric("stack", "the translation layer with its settings, as on the command line", *_TEXT, "stack"),
    Metric("family", "how it maps: page, block, log-buffer, demand-paged", *_TEXT, "family"),
    Metric(
        "parameters",
        "all parameters as key=value, of further parts as part.key=value",
        *_TEXT,
        "parameters",
        compute=derived.parameters,
    ),
)
_TIMES = (
    Metric("requests", "requests served, of any kind", *_REQUESTS, "requests", compute=derived.requests),
    Metric("simulated_ns", "from the first arrival to the last completion", *_NS, "simulated_ns"),
    Metric(
        "response_mean_ns",
        "mean response time",
        *_MEAN_NS,
        "response_ns.all.mean",
        LOWER,
        "mean response",
        "mean",
    ),
    *(
        Metric(
            f"response_{key}_ns",
            f"{meaning} response time",
            *_NS,
            f"response_ns.all.{key}",
            LOWER,
            "p99 response" if key == "p99" else "",
            heading if key == "p99" else "",
        )
        for key, meaning, heading in TAIL
    ),
    *_responses("read", "reads"),
    *_responses("write", "writes"),
    Metric(
        "flush_mean_ns",
        "mean response time of flushes, which others leave out",
        *_MEAN_NS,
        "flush_ns.mean",
        LOWER,
        compute=derived.percentile("flush", "mean"),
    ),
    Metric(
        "flush_p99_ns",
        "99th percentile of the same",
        *_NS,
        "flush_ns.p99",
        LOWER,
        compute=derived.percentile("flush", "p99"),
    ),
    Metric("iops", "reads and writes served per second of simulated time", *_RATE, "iops", HIGHER, "IOPS"),
    Metric(
        "throughput_bytes_per_s",
        "bytes read and written per second of simulated time",
        *_THROUGHPUT,
        "throughput_bytes_per_s",
        HIGHER,
        "MB/s",
    ),
    Metric("offered_iops", "arriving reads and writes per second; null for a closed loop", *_RATE, "load.offered_iops"),
    Metric(
        "bottleneck_iops",
        "reads and writes per second that would keep the busiest die or channel busy: an upper bound",
        *_RATE,
        "load.bottleneck_iops",
        HIGHER,
        "IOPS at most",
        "at most",
        when="is_overloaded",
    ),
    Metric("utilisation_max", "busy share of the busiest die or channel", *_SHARE, "load.utilisation_max"),
    Metric(
        "outlasts_arrivals_ns",
        "from the last arrival until the last request is done; null for a closed loop",
        *_NS,
        "load.outlasts_arrivals_ns",
        LOWER,
    ),
    Metric("is_overloaded", "whether the offered load exceeds the throughput", *_SWITCH, "load.is_overloaded"),
    Metric(
        "flash_time_per_request_ns",
        "flash time per read or write served, without preparation and waiting",
        *_MEAN_NS,
        "operations, requests",
        LOWER,
        compute=derived.flash_time_per_request_ns,
    ),
)
_WORK = (
    Metric("host_pages_read", "pages read by the host", *_PAGES, "host_pages_read"),
    Metric(
        "reads_without_flash",
        "share of page reads of unwritten or trimmed pages, which cost no flash time",
        *_SHARE,
        "reads_without_flash",
        heading="reads without flash",
        short="no flash",
        when="reads_without_flash",
    ),
    Metric(
        "host_pages_written",
        "pages written by the host, until the device wore out",
        *_PAGES,
        "host_pages_written",
        HIGHER,
        "pages written",
        when="grown_bad_blocks",
    ),
    Metric("host_written_bytes", "bytes written by the host", *_BYTES, "host_written_bytes", HIGHER),
    Metric(
        "media_written_bytes",
        "bytes programmed",
        *_BYTES,
        "write_amplification, host_written_bytes",
        LOWER,
        compute=derived.media_written_bytes,
    ),
    Metric("media_erased_bytes", "bytes of erased blocks", *_BYTES, "media_erased_bytes", LOWER),
    Metric(
        "write_amplification",
        "bytes programmed per byte written by the host, as in SMART",
        *_REAL,
        "write_amplification",
        LOWER,
        "write amp.",
        "WA",
    ),
    Metric(
        "page_write_amplification",
        "pages programmed per page that host writes touch, as in theory; lower where writes cover pages in part",
        *_REAL,
        "page_write_amplification",
        LOWER,
        "page write amp.",
        "page WA",
    ),
    Metric(
        "pages_read",
        "flash pages read, for any cause",
        *_PAGES,
        "operations",
        LOWER,
        compute=derived.operations("read"),
    ),
    Metric(
        "pages_programmed",
        "flash pages programmed, for any cause",
        *_PAGES,
        "operations",
        LOWER,
        compute=derived.operations("program"),
    ),
    Metric(
        "wrong_prediction_share",
        "share of page reads from flash for which a learned map named another page first",
        *_SHARE,
        "notes.right_predictions, notes.wrong_predictions",
        LOWER,
        compute=derived.wrong_prediction_share,
    ),
    Metric(
        "pslc_pages_written",
        "pages written to the pSLC cache",
        *_PAGES,
        "notes.cached_pages",
        compute=derived.cached_pages,
    ),
    Metric(
        "pslc_share",
        "share of written pages that went to the pSLC cache",
        *_SHARE,
        "notes.cached_pages, host_pages_written",
        compute=derived.cached_share,
    ),
    Metric(
        "pages_folded",
        "pages folded from the pSLC cache to native blocks",
        *_PAGES,
        "operations",
        LOWER,
        compute=derived.folded_pages,
    ),
    Metric("controller_ns", "total time on the controller's RAM and registers", *_NS, "controller_ns"),
)
_WEAR = (
    Metric(
        "erases",
        "blocks erased; failed erases count only as operations",
        *_ERASES,
        "erases.total",
        LOWER,
        "erases",
    ),
    Metric(
        "erases_pslc",
        "erases that ended pSLC mode",
        *_ERASES,
        "erases.pslc",
        LOWER,
        compute=lambda run: run["erases"].get("pslc", 0),
    ),
    Metric("erases_mean", "mean erase count per block", *_REAL, "erases.mean", LOWER),
    Metric(
        "erases_std",
        "standard deviation of erase counts",
        *_REAL,
        "erases.std",
        LOWER,
        "σ of erases",
        "σ erases",
    ),
    Metric(
        "erases_cv",
        "coefficient of variation of erase counts: `erases_std` ÷ `erases_mean`",
        *_REAL,
        "erases.std, erases.mean",
        LOWER,
        compute=derived.erases_cv,
    ),
    Metric(
        "erases_gini",
        "Gini coefficient of erase counts: 0 for equal ones, near 1 if one block took all",
        *_REAL,
        "erases.gini",
        LOWER,
    ),
    Metric("erases_min", "lowest erase count of a block", *_ERASES, "erases.min"),
    Metric("erases_max", "highest erase count of a block", *_ERASES, "erases.max", LOWER),
    *(
        Metric(
            f"levelling_{what}",
            f"{words} for wear levelling",
            *unit,
            "operations",
            LOWER,
            compute=derived.levelling(op),
        )
        for what, op, words, unit in (
            ("programs", "program", "pages programmed", _PAGES),
            ("erases", "erase", "blocks erased", _ERASES),
        )
    ),
    Metric(
        "levelling_time_ns",
        "flash time of all operations for wear levelling",
        *_NS,
        "operations",
        LOWER,
        compute=derived.levelling_time_ns,
    ),
    Metric(
        "levelling_time_share",
        "share of the flash time for wear levelling, without preparation",
        *_SHARE,
        "operations",
        LOWER,
        compute=derived.levelling_time_share,
    ),
    Metric("spare_blocks", "spare blocks of the new device", *_BLOCKS, "spares.total"),
    Metric(
        "spare_blocks_left",
        "blocks that may still fail before writes are refused",
        *_BLOCKS,
        "spares.left",
        HIGHER,
        "spares left",
        when="grown_bad_blocks",
    ),
    Metric("grown_bad_blocks", "failed blocks, marked bad", *_BLOCKS, "spares.grown_bad_blocks", LOWER),
    Metric(
        "end_of_life_request",
        "first request refused by a worn-out device",
        *_REQUESTS,
        "end_of_life.request",
        HIGHER,
        "worn out at",
        when="end_of_life_request",
    ),
    Metric(
        "end_of_life_bytes",
        "bytes written by then",
        *_BYTES,
        "end_of_life.host_written_bytes",
        HIGHER,
        "written until then",
        when="end_of_life_request",
    ),
)


def _lifetime(name: str, source: str, until: str) -> list[Metric]:
    """The bytes until something wears out, with the ends of their range, and what they come to."""
    source = f"endurance.{source}"
    ends = (("", "written_bytes", "expected"), ("_low", "low_bytes", "low end"), ("_high", "high_bytes", "high end"))
    return [
        *(
            Metric(
                f"{name}{end}_bytes",
                f"bytes written until {until}, from the start of measuring: {words}",
                *_BYTES,
                f"{source}.{key}",
                HIGHER,
            )
            for end, key, words in ends
        ),
        Metric(
            f"{name}_dwpd",
            "the same in drive writes per day over `run.warranty_years`",
            *_REAL,
            f"{source}.drive_writes_per_day",
            HIGHER,
        ),
        Metric(
            f"{name}_years",
            f"years until {until} at the study's rate of writes",
            *_REAL,
            f"{source}.years",
            HIGHER,
        ),
    ]


_LIFE = (
    *_lifetime("first_block", "first_block", "the first block fails"),
    *_lifetime("life", "spares_gone", "the device is read-only"),
    Metric(
        "is_life_measured",
        "whether the device wore out in the run; else forecast",
        *_SWITCH,
        "endurance.spares_gone.is_measured",
    ),
    Metric(
        "is_first_block_measured",
        "whether the first block failed in the run",
        *_SWITCH,
        "endurance.first_block.is_measured",
    ),
    Metric(
        "wear_drift",
        "exponent of the growth of differences between erase counts: 0 (level) to 1",
        *_REAL,
        "endurance.drift",
        LOWER,
    ),
    Metric("endurance", "erases per block", *_ERASES, "endurance.limit"),
    Metric(
        "pslc_endurance",
        "erases per block in pSLC mode; null for cells of one bit",
        *_ERASES,
        "endurance.pslc_limit",
    ),
)
_BIT_ERRORS = (
    Metric(
        "read_retries_mean",
        "mean retries per page read; null without `device.bit_errors`",
        *_REAL,
        "bit_errors.mean_retries",
        LOWER,
        "retries a read",
        when="read_retries_max",
    ),
    Metric(
        "read_retries_max",
        "most retries of a page read",
        *_WHOLE,
        "bit_errors.most_retries",
        LOWER,
    ),
    Metric(
        "retried_reads_share",
        "share of page reads with a retry",
        *_SHARE,
        "bit_errors.reads_by_retries",
        LOWER,
        compute=derived.retried_reads_share,
    ),
    Metric(
        "uncorrectable_reads",
        "pages with more wrong bits than the last retry corrects; their data are returned",
        *_PAGES,
        "bit_errors.uncorrectable_reads",
        LOWER,
        "uncorrectable reads",
        when="uncorrectable_reads",
    ),
    Metric(
        "refreshed_blocks",
        "blocks refreshed because of decay, by reads or by time",
        *_BLOCKS,
        "bit_errors.refreshed_blocks",
        LOWER,
        "refreshed blocks",
        when="refreshed_blocks",
    ),
    Metric(
        "refresh_programs",
        "pages programmed to refresh blocks",
        *_PAGES,
        "operations",
        LOWER,
        "refresh writes",
        when="refreshed_blocks",
        compute=derived.refresh_programs,
    ),
    Metric(
        "read_life_bytes",
        "bytes read until blocks have worn out on average, an upper bound; null with writes or without erases",
        *_BYTES,
        "bit_errors.read_life.read_bytes",
        HIGHER,
        "reads until worn out",
        when="read_life_bytes",
    ),
    Metric(
        "read_life_years",
        "years until then at the workload's rate",
        *_REAL,
        "bit_errors.read_life.years",
        HIGHER,
    ),
)
_MAPPING = (
    Metric(
        "ram_bytes",
        "RAM of the translation layer, with caches, write buffer and program buffer, without the state of blocks",
        *_BYTES,
        "footprint.ram_bytes",
        LOWER,
        "RAM",
    ),
    Metric(
        "program_buffer_bytes",
        "the part of `ram_bytes` for units that wait for their program unit",
        *_BYTES,
        "footprint.structures",
        LOWER,
        compute=derived.program_buffer,
    ),
    Metric("flash_bytes", "flash of the mapping", *_BYTES, "footprint.flash_bytes", LOWER),
    Metric(
        "mapping_hit_ratio",
        "share of map look-ups for host pages that RAM answered, one per page; null if the whole map is in RAM",
        *_SHARE,
        "mapping_hit_ratio",
        HIGHER,
        "hit ratio",
        "hits",
    ),
    Metric(
        "buffer_hit_ratio",
        "share of pages written that replace a version waiting in RAM",
        *_SHARE,
        "buffer_hit_ratio",
        HIGHER,
        "buffer hits",
        "buffered",
        when="buffer_hit_ratio",
    ),
    *(
        Metric(
            f"padding_{what}",
            f"pages {words} to write logical blocks whole",
            *_PAGES,
            "operations",
            LOWER,
            compute=derived.padding(op),
        )
        for what, op, words in (("reads", "read", "read"), ("programs", "program", "programmed"))
    ),
    Metric(
        "merges",
        "merges of log with data blocks; null for other kinds, as of waftl's zone",
        *_MERGES,
        "merges",
        heading="merges",
        compute=derived.merges,
    ),
    Metric("merges_switch", "switch merges", *_MERGES, "merges.switch"),
    Metric("merges_partial", "partial merges", *_MERGES, "merges.partial"),
    Metric("merges_full", "full merges", *_MERGES, "merges.full", LOWER),
)
_RUN = (
    Metric(
        "dies_busy",
        "mean busy share of dies; with serial pricing, of the device",
        *_SHARE,
        "utilisation.dies",
    ),
    Metric(
        "channels_busy",
        "mean busy share of channels; null with serial pricing",
        *_SHARE,
        "utilisation.channels",
    ),
    Metric(
        "link_busy",
        "busy share of the host link, in its busier direction; null without a link",
        *_SHARE,
        "utilisation.link",
    ),
    Metric(
        "controller_busy",
        "mean busy share of controller cores; null without `device.controller_cores`",
        *_SHARE,
        "utilisation.controller",
    ),
    Metric(
        "proved",
        "scope of --verify: this run, and one clean power cut after a flush",
        *_TEXT,
        "proved",
    ),
    Metric(
        "mount_reads",
        "pages read to mount after the power cut of --verify",
        *_PAGES,
        "mount.reads",
        LOWER,
    ),
    Metric("mount_time_ns", "simulated time of that mount", *_NS, "mount.time_ns", LOWER),
    Metric("event_hash", "hash of all flash operations; equal runs have equal hashes", *_TEXT, "event_hash"),
    Metric("wall_s", "wall time of the run", *_SECONDS, "wall_s"),
    Metric("measured_wall_s", "wall time of its measured part", *_SECONDS, "measured_wall_s"),
)

ROWS = (*_WHO, *_TIMES, *_WORK, *_WEAR, *_LIFE, *_BIT_ERRORS, *_MAPPING, *_RUN)
"""The columns in their order."""

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*ROWS, *reproductions.ROWS)}
"""All metrics by name; the columns of `Results.runs` first and in their order."""

COLUMNS: dict[str, Metric] = {name: metric for name, metric in METRICS.items() if metric.is_column}
"""Those that are columns of `Results.runs`."""

PARTS: dict[str, str] = {
    "operations": "`Results.operations`",
    "streams": "`Results.streams`",
    "waiting_ns": "`Results.waiting`; by request with `--requests-out`",
    "bus_waiting_ns": "`Results.waiting`",
    "service_ns": "`Results.waiting`; by request with `--requests-out`",
    "load": "`offered_iops`, `bottleneck_iops`, `utilisation_max`, `outlasts_arrivals_ns`, `is_overloaded`",
    "skipped_requests": "the study's `run.skip`",
    "cdf": "`Results.cdf`",
    "classes": "`Results.classes` and `Results.class_cdf`",
    "timeline": "`Results.timeline`",
    "flash_trace": "`Results.flash_trace`; the requests, and what the flash held before, in the JSON",
    "series": "`Results.series`",
    "erases.histogram": "`Results.erases`",
    "wear_map": "`Results.wear_map`",
    "response_ns": "the columns whose names begin with `response_`, `read_` and `write_`",
    "flush_ns": "`flush_mean_ns`, `flush_p99_ns`",
    "requests": "`requests`; by kind in the JSON",
    "parameters": "`parameters`",
    "merges": "`merges`, `merges_switch`, `merges_partial`, `merges_full`",
    "footprint.structures": "the report's table *Memory of the mappings*",
    "notes": "`notes.NAME` in reproductions",
    "gauges": "`gauges.NAME` in reproductions; over time in `Results.series`",
    "end_of_life": "`end_of_life_request`; in the device's own words in the verdict",
    "endurance": "the columns that begin with `first_block_` and `life_`; why nothing is forecast, in the verdict",
    "bit_errors": "`read_retries_mean` and the following; reads by their retries in the JSON",
    "precondition": "how the device was prepared; the verdict's cautions",
    "mount": "`mount_reads`, `mount_time_ns`; programs and erases in the JSON",
    "seed": "the study's seed",
}
"""Keys of a run with several numbers, or none to compare, and where those are shown."""
