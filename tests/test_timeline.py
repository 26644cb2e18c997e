"""Timelines and latency by class: from a real run to frames, tables, charts and pages."""

import json
from pathlib import Path

import polars as pl
import pytest

import ftlkit as fk
from conftest import Call
from ftlkit.report import timeline
from ftlkit.report.charts import class_latency
from ftlkit.report.page import page

WINDOW = "0ms..100ms"


@pytest.fixture(scope="module")
def watched() -> fk.Results:
    """A small comparison whose operations were watched."""
    return fk.compare(
        "fin1",
        "page,dftl:cmt=4KiB",
        requests=2_000,
        addresses="dense",
        precondition="fill",
        classes=True,
        timeline=WINDOW,
    )


def test_classes_are_frames_that_add_up(watched: fk.Results) -> None:
    waits = watched.classes.filter(pl.col("part") == "waiting")
    counted = waits.group_by("label", maintain_order=True).agg(pl.col("count").sum())
    operations = watched.operations.group_by("label", maintain_order=True).agg(pl.col("count").sum())
    assert counted.sort("label").equals(operations.sort("label"))
    assert "mapping_read" in waits.filter(pl.col("label") != "page")["class"]
    assert "mapping_read" not in waits.filter(pl.col("label") == "page")["class"]
    ends = watched.class_cdf.group_by("label", "class", "part").agg(pl.col("share").max())
    assert ends["share"].to_list() == pytest.approx([1.0] * ends.height)


def test_the_report_draws_and_tells_classes(watched: fk.Results) -> None:
    html = page(watched)
    assert 'id="class-latency"' in html
    assert "Waiting and service of flash operations by class" in html
    chart = class_latency(watched)
    assert chart is not None
    names = {param["name"]: param["value"] for param in chart.to_dict()["params"]}
    assert names == {"kind": "host reads", "part": "waiting"}
    offered = next(param["bind"]["options"] for param in chart.to_dict()["params"] if param["name"] == "kind")
    assert offered == ["host reads", "host writes", "mapping reads", "mapping writes"]
    [rows] = chart.to_dict()["datasets"].values()
    drawn = {row["label"] for row in rows if (row["class"], row["part"]) == ("host reads", "waiting")}
    assert drawn == set(watched.labels), "a line for each run"


def test_nothing_is_shown_of_what_was_not_asked_for(results: fk.Results, report: str) -> None:
    assert results.classes.is_empty()
    assert results.timeline.is_empty()
    assert class_latency(results) is None
    assert "class-latency" not in report
    assert "by class" not in report
    with pytest.raises(fk.UserError, match="--timeline"):
        timeline.page(results)


def test_a_page_has_a_chart_a_run_with_the_operations_of_the_window(watched: fk.Results) -> None:
    html = timeline.page(watched)
    layers = "page and dftl:cmt=4KiB over time, by channel and die"
    assert f'<p class="sub">Flash operations of fin1: {layers}</p>' in html
    for index, run in enumerate(watched.document["runs"]):
        spec = json.loads(html.partition(f'id="spec-timeline-{index}">')[2].partition("</script>")[0])
        frame = watched.timeline.filter(pl.col("label") == run["label"])
        assert frame.height > 50
        [values] = spec["datasets"].values()
        assert len(values) == frame.height
        axis = spec["layer"][0]["encoding"]["x"]["scale"]
        assert axis["domain"] == [0, 100_000_000]
        lanes = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
        assert lanes[:2] == ["channel 0", "die 0"]
    assert "Who waited longest to begin" in html


def test_longest_waits_name_what_held_the_die() -> None:
    frame = pl.DataFrame(
        {
            "op": ["erase", "read", "program"],
            "cause": ["collection", "mapping", "host"],
            "lane": ["die 0", "die 0", "die 0"],
            "bus": ["channel 0"] * 3,
            "ready_ns": [0, 100_000, 1_545_000],
            "start_ns": [0, 1_500_000, 1_545_000],
            "end_ns": [1_500_000, 1_545_000, 1_765_000],
            "transfer_ns": [None, 1_525_000, 1_545_000],
            "moved_ns": [None, 1_545_000, 1_565_000],
        }
    )
    gap = "\N{NO-BREAK SPACE}"
    [row] = timeline._waits(frame)  # noqa: SLF001 - what the page prints
    assert row == [
        "mapping pages: read",
        "die 0",
        "0.100 ms",
        f"1.40{gap}ms",
        f"garbage collection 1.40{gap}ms",
        "nobody",
    ]


def test_the_command_draws_the_window_that_it_is_given(call: Call, tmp_path: Path) -> None:
    arguments = ("compare", "fin1", "--ftl", "page", "--requests", 500, "--addresses", "dense", "--timeline", "t.html")
    call(*arguments, "--timeline-window", "50ms..80ms", "--json", "r.json")
    results = fk.load(tmp_path / "r.json")
    window = results.document["runs"][0]["timeline"]
    assert window is not None
    assert (window["from_ns"], window["to_ns"]) == (50_000_000, 80_000_000)
    assert (tmp_path / "t.html").read_text().startswith("<!doctype html>")
    again = call("compare", "fin1", "--timeline-window", "1ms..2ms", exits=2)
    assert "--timeline FILE.html" in again.output


def test_a_window_that_makes_no_sense_is_refused(call: Call) -> None:
    for window, words in (("5ms", "10ms..12ms"), ("2ms..1ms", "earlier time first")):
        done = call("compare", "fin1", "--timeline", "t.html", "--timeline-window", window, exits=2)
        assert words in done.output


def test_classes_are_printed_where_they_were_asked_for(call: Call) -> None:
    done = call("compare", "fin1", "--ftl", "page", "--requests", 500, "--addresses", "dense", "--classes")
    assert "Waiting and service of flash operations" in done.output
    assert "host read" in done.output
