"""The table of metrics against the simulator's output and all that is made from it."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ftlkit as fk
from ftlkit import _native, docs
from ftlkit._util import units
from ftlkit.report import tables
from ftlkit.report.causes import CAUSES
from ftlkit.report.load import fifths, written_between
from ftlkit.results import document, schema
from ftlkit.results.columns import COLUMNS, METRICS, PARTS
from ftlkit.results.document import Run
from ftlkit.results.frames import FRAMES
from ftlkit.results.outcome import device_of

DOCS = Path(__file__).parent.parent / "docs"

ELSEWHERE = {"merge_cost_ms": "fast", "mapping_read_us": "dftl", "mapping_write_us": "dftl", "lookup_us": "dftl"}
"""Metrics that only a scheme of a kind has, and one of that kind."""


@pytest.fixture(scope="module")
def full() -> fk.Results:
    """A run that holds everything that results can hold."""
    return fk.compare(
        "fin1",
        "page:streams=hints,fast,dftl",
        device={"dies_per_channel": 2, "bit_errors": "tlc-72l"},
        requests=1_000,
        precondition="fill",
        verify=True,
        classes=True,
        timeline="0ms..1ms",
        flash_trace="0ms..1ms",
        addresses="dense",
        capacity="256MiB",
    )


def keys(node: Any, prefix: str = "") -> list[str]:  # noqa: ANN401 - JSON
    """The dotted keys of all that is no table."""
    if not isinstance(node, dict):
        return [prefix]
    return [key for name, value in node.items() for key in keys(value, f"{prefix}.{name}" if prefix else name)]


def stands_for(source: str, key: str) -> bool:
    return key == source or key.startswith(f"{source}.")


def sources() -> list[str]:
    return [source for metric in METRICS.values() for source in metric.source.split(", ")]


def test_every_number_of_the_simulator_is_a_metric_or_a_named_part(full: fk.Results) -> None:
    known = [*sources(), *PARTS]
    for run in full.document["runs"]:
        unknown = [key for key in keys(run) if not any(stands_for(source, key) for source in known)]
        assert unknown == [], (
            "name it in ftlkit/results/columns.py: as a metric, or in PARTS with the place where it is shown"
        )


def test_every_source_is_something_that_the_simulator_writes(full: fk.Results) -> None:
    written = [key for run in full.document["runs"] for key in keys(run)]
    for source in [*sources(), *PARTS]:
        # A device that did not wear out has no end of life, and its request no number.
        assert any(stands_for(source, key) or stands_for(key, source) for key in written), source


def test_values_have_the_type_and_the_unit_that_the_table_says(full: fk.Results) -> None:
    for run in full.document["runs"]:
        for metric in METRICS.values():
            if metric.name in ELSEWHERE and run["ftl"] != ELSEWHERE[metric.name]:
                continue
            value = metric.value(run)
            assert value is None or isinstance(value, (int, float) if metric.type is float else metric.type), (
                metric.name
            )
            if metric.unit == "share" and value is not None:
                assert 0 <= float(str(value)) <= 1, metric.name


def test_times_and_sizes_carry_their_unit_in_the_name() -> None:
    for metric in METRICS.values():
        if metric.unit in ("ns", "µs", "ms", "s"):
            assert metric.name.endswith(f"_{metric.unit.replace('µ', 'u')}"), metric.name
        if metric.unit == "B":
            assert metric.name.endswith("_bytes"), metric.name


def test_the_frame_the_files_and_the_table_of_results_are_made_of_it(full: fk.Results, tmp_path: Path) -> None:
    full.save(tmp_path / "r.csv")
    assert full.runs.columns == pl.read_csv(tmp_path / "r.csv").columns == list(COLUMNS) == list(fk.RUN_COLUMNS)
    assert full.runs.schema == pl.DataFrame(schema={name: metric.type for name, metric in COLUMNS.items()}).schema
    shown = [metric.heading for metric in tables.runs(full)["columns"]]
    assert shown[:4] == ["mean response", "p99 response", "IOPS", "MB/s"]
    assert set(shown) <= {metric.heading for metric in COLUMNS.values()}


def test_reads_and_writes_have_their_own_tails(full: fk.Results) -> None:
    row = full.runs.row(0, named=True)
    run: Run = full.document["runs"][0]
    for kind in ("read", "write"):
        for key in ("p50", "p90", "p99", "p99_9", "p99_99", "max"):
            assert row[f"{kind}_{key}_ns"] == run["response_ns"][kind][key]
    cells = {(row["label"], row["kind"]): row["cells"] for row in tables.responses(full)}
    assert len(cells) == 3 * 3
    assert len(cells[full.labels[0], "reads"]) == len(tables.RESPONSES) == 7


def test_frames_have_the_columns_that_are_documented(full: fk.Results) -> None:
    for name, frame in FRAMES.items():
        made = full.frame(name)
        assert made.columns[: len(frame.columns)] == list(frame.columns), name
        assert made.height > 0, name
        for column, (kind, _) in frame.columns.items():
            assert made.schema[column] == pl.DataFrame(schema={column: kind}).schema[column], (name, column)
        if name != "series":
            assert len(made.columns) == len(frame.columns), name
        assert getattr(full, name).equals(made)


def test_the_log_of_requests_has_the_columns_that_are_documented(tmp_path: Path) -> None:
    fk.compare("fin1", "page,dftl", requests=100, addresses="dense", requests_out=tmp_path / "r.parquet")
    log = pl.read_parquet(tmp_path / "r.parquet")
    assert set(log.columns) == set(docs.request_columns())
    assert log["label"].unique(maintain_order=True).to_list() == ["page", "dftl"]


def test_frames_of_no_run_have_their_columns() -> None:
    empty = fk.Results({"runs": []})  # type: ignore[typeddict-item] # only the runs are looked at
    for name, frame in FRAMES.items():
        assert empty.frame(name).columns == list(frame.columns)


def test_any_frame_can_be_saved(full: fk.Results, tmp_path: Path) -> None:
    full.save(tmp_path / "s.parquet", frame="series")
    assert pl.read_parquet(tmp_path / "s.parquet").equals(full.series)
    with pytest.raises(fk.UserError, match=r"no frame serie\. Did you mean series\?"):
        full.save(tmp_path / "t.csv", frame="serie")
    assert not (tmp_path / "t.csv").exists()


def test_types_of_results_are_those_of_the_simulator() -> None:
    written = Path(schema.__file__).with_name("document.py").read_text(encoding="utf-8")
    assert written == schema.source(json.loads(_native.results_schema())), "make docs writes it anew"


def test_results_hold_what_their_types_say(full: fk.Results) -> None:
    saved = json.loads(full.written(".json"))
    assert list(saved) == list(document.Document.__annotations__)
    for run in saved["runs"]:
        assert list(run) == list(document.Run.__annotations__)
        assert list(run["load"]) == list(document.LoadFacts.__annotations__)
    assert list(saved["workload"]) == list(document.WorkloadFacts.__annotations__)


def test_every_key_that_older_results_lack_is_one_that_there_is() -> None:
    for struct, keys in schema.ABSENT.items():
        assert set(keys) <= set(getattr(document, struct).__annotations__), struct


def test_the_page_of_all_columns_is_made_of_it() -> None:
    assert (DOCS / "columns.md").read_text(encoding="utf-8") == docs.columns(), "make docs writes it anew"
    assert (DOCS / "sources.md").read_text(encoding="utf-8") == docs.titles(), "make docs writes it anew"


def test_the_coefficient_of_variation_is_that_of_the_erase_counts(full: fk.Results) -> None:
    for run in full.runs.iter_rows(named=True):
        expected = run["erases_std"] / run["erases_mean"] if run["erases"] else None
        assert run["erases_cv"] == expected
    assert any(full.runs["erases"] > 0), "nothing was erased, so nothing was shown"


def test_merges_that_are_none_of_a_log_with_data_blocks_are_not_counted_as_zero() -> None:
    done = fk.compare("fin1", "page,fast,waftl:zone_blocks=8", requests=3_000, addresses="dense", precondition="fill")
    page, fast, waftl = done.runs["merges"]
    assert page == 0, "it merges nothing"
    assert fast == done.runs.select("merges_switch", "merges_partial", "merges_full").sum_horizontal()[1] > 0
    assert any(operation["cause"] == "merge" for operation in done.document["runs"][2]["operations"])
    assert waftl is None, "its migrations are merges of the zone"
    row = tables.runs(done)["rows"][2]
    assert row["cells"][-1]["text"] == "\N{EN DASH}"


def test_moved_shares_add_up_to_the_programs_that_moved_data(full: fk.Results) -> None:
    page_bytes = device_of(full.document)["geometry"]["page_size_bytes"]
    moving = {cause.name for cause in CAUSES.values() if cause.work == "moving"}
    for run in full.document["runs"]:
        series, programs = run["series"], [row for row in run["operations"] if row["op"] == "program"]
        written = written_between(series["host_written_bytes"])
        stretches = zip(series["moved_share"], series["write_amplification"], written, strict=True)
        moved = sum(share * wa * bytes_ / page_bytes for share, wa, bytes_ in stretches if share is not None and wa)
        expected = sum(row["count"] for row in programs if row["cause"] in moving)
        assert moved == pytest.approx(expected, rel=0.05, abs=5), run["label"]


def test_stretches_that_hardly_write_hardly_count() -> None:
    # Two samples a fifth. In the last, one copies much for the few bytes that the host wrote.
    samples = [1.0] * 9 + [11.0]
    weights = [100.0] * 9 + [1.0]
    assert fifths(samples)[-1] == 6.0
    assert fifths(samples, weights)[:4] == [1.0] * 4
    assert 1.09 < fifths(samples, weights)[-1] < 1.1


def test_a_series_that_is_too_short_or_has_no_weight_is_not_divided() -> None:
    assert fifths([1.0] * 9) == []
    assert fifths([1.0] * 10, [0.0] * 10) == []
    assert fifths([None] * 3 + [2.0] * 10) == [2.0] * 5


def test_what_was_written_in_a_stretch_is_what_was_written_up_to_its_end_less_what_was_before() -> None:
    assert written_between([4.0, 4.0, 9.0]) == [4.0, 0.0, 5.0]


def test_flushes_are_timed_apart_where_a_buffer_writes_in_them() -> None:
    options: Any = {"device": "slc-small", "capacity": "32MiB", "requests": 2_000}
    results = fk.compare("log", ["page", "page+lru:ram=32KiB"], **options)
    page, buffered = results.runs.iter_rows(named=True)
    assert max(page["flush_mean_ns"], buffered["response_mean_ns"]) < 10_000
    assert min(buffered["flush_mean_ns"], buffered["flush_p99_ns"], page["response_mean_ns"]) > 200_000
    assert page["response_mean_ns"] == page["write_mean_ns"]
    assert [row["kind"] for row in tables.responses(results)] == ["writes", "flushes"] * 2
    told = "Response times leave out flushes, which take [0-9]+ µs under page.lru:ram=32KiB on average."
    assert re.search(told, str(results.verdict)), "those of page take none"
    headline = results.verdict.headline
    assert "page and page+lru:ram=32KiB are level in mean response with flushes (" in headline, "their sums"
    assert "99th percentile" not in headline
    assert any(" on average without flushes" in sentence for sentence in results.verdict.reasons)
    results.document["runs"][1]["flush_ns"]["mean"] = 998_000.0
    mean = units.typed(units.duration(page["response_mean_ns"]))
    told = f"page answers fastest: {mean} on average with flushes, 4."
    assert told in units.typed(fk.Results(results.document).verdict.headline)
    alone = fk.compare("log", ["page+lru:ram=32KiB"], **options).verdict.headline
    assert " on average with flushes." in alone
    without = fk.compare("log", ["page"], clock=False, **options).runs
    assert without["flush_mean_ns"].to_list() == [None]
    assert fk.compare("randwrite", ["page"], **options).runs["flush_mean_ns"].to_list() == [None]


@pytest.mark.parametrize(("share", "is_kept_up"), [(0.9, True), (1.1, False)])
def test_years_are_left_out_where_the_busiest_die_cannot_write_as_much(share: float, *, is_kept_up: bool) -> None:
    options: Any = {"device": "slc-small", "capacity": "32MiB", "requests": 2_000}
    (run,) = fk.compare("randwrite", ["page"], **options).document["runs"]
    load: Any = run.get("load")
    most = 86_400 * load["bottleneck_iops"] * run["host_written_bytes"] / run["requests"]["write"]
    told = str(fk.compare("randwrite", ["page"], daily_writes=round(share * most), **options).verdict)
    assert bool(re.search(r"under page \([^)]*, [^)]* DWPD\)", told)) == is_kept_up, "a time beside DWPD"
    limit = f"at most {units.typed(units.written(most))} under page per day"
    assert (limit in told) != is_kept_up
