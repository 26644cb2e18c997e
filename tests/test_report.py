"""The report: self-contained, whole, safe against labels, honest about what is missing."""

import csv
import html
import json
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from altair.utils.schemapi import SchemaValidationError

import ftlkit as fk
import sample
from ftlkit import study as studies
from ftlkit._native import causes, parse_study_toml
from ftlkit._util import units
from ftlkit.report import facts, figures, tables
from ftlkit.report.causes import CAUSES
from ftlkit.report.charts import ram as ram_chart
from ftlkit.report.page import page
from ftlkit.report.palette import styles
from ftlkit.report.wear_charts import price, wear_stops
from ftlkit.results.document import Document
from ftlkit.results.outcome import device_of
from ftlkit.study import toml

WEAR_CHARTS = ["erases", "wear-map", "erases-over-time", "price-of-evenness"]
CHARTS = [
    *("response-cdf", "tail", "operations", "flash-time", "ram"),
    *WEAR_CHARTS,
    *("mean-over-time", "amplification-over-time", "moved-over-time"),
]
LOG_CHARTS = ["log-utilisation", "associativity"]
"""Only where a log-buffer scheme ran, as among real results."""
LOADING = {"src", "href", "data", "srcset", "poster", "action", "xlink:href"}


class Page(HTMLParser):
    """What the tests look at: elements with their attributes, the texts of cells, and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        """Note a text by the element it stands in."""
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


NASTY = "</script><script>alert('1')</script> \"'&<b>"


@pytest.fixture(scope="module")
def text() -> str:
    return page(fk.Results(sample.document()))


@pytest.fixture(scope="module")
def drawn() -> dict[str, figures.Figure]:
    """The figures of the same results, drawn once more."""
    return {figure.name: figure for figure in figures.draw(fk.Results(sample.document()))}


@pytest.fixture(scope="module")
def other() -> str:
    """A page of a device with priced options and times by type of page, whose names break out."""
    document = sample.document()
    device = document["device"]
    assert device is not None
    device["latencies"] |= {"cell": "tlc", "read_ns": [56_500, 77_500, 106_000]}
    document["study"]["device"] |= {
        "gc_yields": True,
        "copy_back": False,
        "cache_read": True,
        "suspend": "both",
        "gc_channels": 2,
    }
    document["runs"][0]["label"] = document["study"]["name"] = NASTY
    return page(fk.Results(document)).replace("\N{NO-BREAK SPACE}", " ")


def test_nothing_is_loaded_from_anywhere(text: str) -> None:
    html = Page(text)
    for tag, attributes in html.elements:
        for name in LOADING & attributes.keys():
            value = attributes[name] or ""
            assert value.startswith(("data:", "#")), f"<{tag} {name}={value}>"
    assert not html.all("iframe")
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert "@import" not in style
    assert "url(" not in style


def test_it_is_small_enough_to_send(text: str) -> None:
    assert len(text.encode()) < 2_000_000


def test_all_charts_are_there_still_and_live(text: str) -> None:
    html = Page(text)
    assert [figure["id"] for figure in html.all("figure")] == CHARTS
    plots = [element for element in html.all("div") if element.get("class") == "plot"]
    assert len(plots) == len(CHARTS)
    assert all(plot["aria-label"] for plot in plots)
    assert len([element for element in html.all("svg") if element.get("class") == "marks"]) == len(CHARTS)
    specs = [element for element in html.all("script") if element.get("type") == "application/json"]
    assert [spec["id"] for spec in specs] == [f"spec-{name}" for name in CHARTS]


def test_ids_are_unique(text: str) -> None:
    ids = [attributes["id"] for _, attributes in Page(text).elements if attributes.get("id")]
    assert len(ids) == len(set(ids))


def test_the_table_holds_every_run_with_values_to_sort_by(text: str) -> None:
    html = Page(text)
    rows = [row for row in html.all("th") if row.get("scope") == "row" and "data-sort" in row]
    assert len(rows) == 4
    sorted_by = [cell["data-sort"] for cell in html.all("td") if "data-sort" in cell]
    assert len(sorted_by) == 4 * 11
    assert all(value == "" or float(str(value)) >= 0 for value in sorted_by)


def test_what_was_asked_is_told(text: str) -> None:
    for words in (
        "fin1",
        "slc-small",
        "seed 1",
        "preconditioning: steady",
        "ftlkit 0.1.0",
        "cmt = 65536",
        "look-alike",
    ):
        assert words in text


def test_priced_options_are_told_where_there_are_any(text: str, other: str) -> None:
    assert "<li>options:" not in text
    assert "options: cache_read, suspend both, gc_channels 2, gc_yields" in other


def test_times_by_type_of_page_are_told_with_the_cells(other: str) -> None:
    assert "read 56.5 µs/77.5 µs/106 µs, program 200 µs" in other
    assert "cell tlc" in other


def test_the_state_of_blocks_is_told_as_no_part_of_ram(results: fk.Results) -> None:
    geometry = device_of(results.document)["geometry"]
    blocks = geometry["channels"] * geometry["dies_per_channel"] * geometry["planes_per_die"]
    blocks *= geometry["blocks_per_plane"]
    for lines in (facts.intro(results.document), dict(facts.asked(results))["Device"]):
        assert any(f"about 8 B per block, {units.size(8 * blocks)}" in line for line in lines), lines


def test_the_head_says_on_what_device_and_after_what_preparation(text: str) -> None:
    head = text.partition("<header>")[2].partition("</header>")[0].replace("\N{NO-BREAK SPACE}", " ")
    for words in ("50,000 requests of fin1", "Device slc-small", "for the host on", "spare", "Preconditioning: steady"):
        assert words in head


def test_a_legend_names_what_has_a_mark_and_nothing_else(results: fk.Results) -> None:
    drawn = {figure.name: figure for figure in figures.draw(results)}
    assert drawn["response-cdf"].entries == results.labels
    assert drawn["log-utilisation"].entries == ["fast"], "page has no log"
    for figure in drawn.values():
        field = "cause" if figure.legend == "causes" else "label"
        rows = [row for data in figure.spec["datasets"].values() if isinstance(data, list) for row in data]
        if rows:
            assert set(figure.entries) == {row[field] for row in rows if field in row}


def test_the_tail_goes_as_far_as_the_requests_tell(drawn: dict[str, figures.Figure]) -> None:
    (text,) = drawn["tail"].spec["datasets"].values()
    rows = list(csv.DictReader(text.splitlines()))
    for run in range(4):
        places = [float(row["nines"]) for row in rows if row["run"] == str(run)]
        assert places == sorted(places)
        assert min(places) >= 0.3, "from the median on"
        assert max(places) == pytest.approx(4.699, abs=0.001), "of 50,000 requests the longest is at 99.998 %"


def test_a_phone_has_a_column_a_run_and_at_most_four() -> None:
    rows: list[dict[str, Any]] = [
        {"label": f"run {run}", "kind": kind, "cells": [f"{run} {kind} {name}" for name in ("mean", "p99")]}
        for run in range(5)
        for kind in ("all", "reads")
        if (run, kind) != (4, "reads")
    ]
    first, second = tables.down(rows, ["mean", "p99"], "kind")
    assert first["labels"] == ["run 0", "run 1", "run 2", "run 3"]
    assert [group["name"] for group in first["groups"]] == ["all", "reads"]
    assert first["groups"][1]["lines"][1] == ("p99", [f"{run} reads p99" for run in range(4)])
    assert [group["name"] for group in second["groups"]] == ["all"], "run 4 has no reads"


def test_the_same_results_give_the_same_page(
    text: str, drawn: dict[str, figures.Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "draw", lambda _: [*drawn.values()])
    assert page(fk.Results(sample.document())) == text


def test_real_results_are_drawn(report: str) -> None:
    html = Page(report)
    assert [figure["id"] for figure in html.all("figure")] == [*CHARTS[:2], "response-parts", *CHARTS[2:], *LOG_CHARTS]


def test_a_log_that_divides_itself_is_drawn_with_what_decides() -> None:
    settings = "interval=100:log_blocks=8:sequential_share=0.5"
    done = fk.compare("spc1-cold", f"faster,adapt:{settings}", requests=2_000, addresses="dense", precondition="fill")
    drawn = {name: figures.draw(done, name)[0] for name in ("sequential-blocks", "delta", "phi")}
    for gauge in ("delta", "phi"):
        (points,) = drawn[gauge].spec["datasets"].values()
        assert {point["line"] for point in points} == {gauge, f"{gauge}_threshold"}
        assert {point["label"] for point in points} == {f"adapt:{settings}"}, "faster has none"
        assert gauge == "delta" or any(point["value"] > 0 for point in points)


def test_the_study_in_the_page_runs_again(results: fk.Results, report: str, tmp_path: Path) -> None:
    study = html.unescape(report.partition('aria-label="The study"><code>')[2].partition("</code></pre>")[0])
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    again = fk.run_study(tmp_path / "study.toml")
    assert again.runs["event_hash"].to_list() == results.runs["event_hash"].to_list()


def test_labels_cannot_break_out(other: str) -> None:
    assert "<script>alert" not in other
    assert "<b>" not in other.replace("<body>", "")
    assert len(Page(other).all("script")) == len(CHARTS) + 2


def test_charts_without_data_are_left_out(document: Document) -> None:
    for run in document["runs"]:
        run["erases"] = {"total": 0, "mean": 0.0, "std": 0.0, "min": 0, "max": 0, "histogram": [(0, 0, 1000)]}
        run["series"] = {key: [] for key in run["series"]} | {"gauges": {}}  # type: ignore[typeddict-item]
    shown = [figure["id"] for figure in Page(page(fk.Results(document))).all("figure")]
    assert shown == CHARTS[:5]


def test_a_study_stopped_before_any_run_finished_is_still_told() -> None:
    text = page(fk.Results(sample.document(runs=[], cancelled=True)))
    assert "No run finished" in text
    assert "page, block, fast, dftl did not finish" in text
    assert "<figure" not in text


@pytest.mark.parametrize("count", [1, 9])
def test_any_number_of_runs_is_drawn(count: int, document: Document) -> None:
    document["runs"] = [
        sample.run(f"run {i}", "page", 2e5 * (i + 1), 0.5, 1.5, 4096, "collection", i) for i in range(count)
    ]
    results = fk.Results(document)
    drawn = figures.draw(results)
    # One run alone has no price beside another's.
    assert len(drawn) == len(CHARTS) - (count == 1)
    colours = styles(results.labels)
    assert len({(style.colour, style.dash) for style in colours.values()}) == count


def test_every_part_of_a_figure_is_what_vega_lite_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "debug_mode", lambda _: nullcontext())
    monkeypatch.setattr(figures, "still", lambda *_: "")
    assert len(figures.draw(fk.Results(sample.document()))) == len(CHARTS)
    with pytest.raises(SchemaValidationError):
        alt.Axis(ticks="wide")  # type: ignore[arg-type]


def test_a_run_has_the_same_colour_in_every_chart(drawn: dict[str, figures.Figure]) -> None:
    scales = []

    def collect(node: Any) -> None:  # noqa: ANN401 - JSON
        if isinstance(node, dict):
            colour = node.get("color")
            if isinstance(colour, dict) and colour.get("field") == "label":
                scales.append(json.dumps(colour["scale"]))
            for value in node.values():
                collect(value)
        if isinstance(node, list):
            for value in node:
                collect(value)

    for figure in drawn.values():
        collect(figure.spec)
    assert len(scales) >= 5
    assert len(set(scales)) == 1


@pytest.mark.parametrize("name", ["demo", "mapping-cache"])
def test_a_study_printed_is_read_as_it_was(name: str) -> None:
    study = studies.load(Path(__file__).parent.parent / "examples" / f"{name}.toml")
    assert json.loads(parse_study_toml(toml.written(study), "")) == study


def test_a_study_printed_leaves_out_what_is_null() -> None:
    study = {
        "run": {"samples": 10, "verify": None},
        "ftl": [{"cmt": "64KiB", "name": "dftl"}, {"name": "page", "dynamic": {"pace": 2}}],
        "workload": {"generator": {"requests": 9, "phases": [{"share": 0.5}]}},
        "name": 'An "example" – 1',
        "seed": None,
    }
    text = toml.written(study)
    assert text.startswith('name = "An \\"example\\" – 1"')
    assert text.index("[workload.generator]") < text.index("[run]")
    assert studies.tomllib.loads(text) == {
        "name": 'An "example" – 1',
        "workload": study["workload"],
        "run": {"samples": 10},
        "ftl": study["ftl"],
    }


def test_results_without_a_device_are_not_drawn(tmp_path: Path) -> None:
    results = fk.Results(sample.document(device=None, runs=[], cancelled=True))
    with pytest.raises(fk.UserError, match="stopped before its device was known"):
        results.report(tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_each_cause_of_the_simulator_has_words_and_a_colour_of_its_own_that_stands_out() -> None:
    known = [cause["name"] for cause in json.loads(causes())]
    assert list(CAUSES) == [*known, "controller", "link"], "in the order in which charts stack them"
    assert len({cause.colour for cause in CAUSES.values()}) == len(CAUSES)
    assert len({cause.words for cause in CAUSES.values()}) == len(CAUSES)
    for cause in CAUSES.values():
        for paper in ("#ffffff", "#12161d"):
            dark, light = sorted((luminance(cause.colour), luminance(paper)))
            assert (light + 0.05) / (dark + 0.05) >= 3, (cause, paper)


def test_the_scale_of_the_wear_map_goes_as_far_as_its_cells_do(document: Document) -> None:
    run = document["runs"][0]
    document["runs"] = [run]
    cells = len(run["wear_map"]["mean"])
    run["erases"]["mean"] = 10.0
    run["wear_map"]["mean"] = [10.0] * cells
    even = [value for value, _ in wear_stops(fk.Results(document)).values()]
    assert even == pytest.approx([0.9, 1.0, 1.1**0.5, 1.1]), "noise is not made to look like wear"
    run["wear_map"]["mean"] = [0.0, 90.0, *[10.0] * (cells - 2)]
    assert [value for value, _ in wear_stops(fk.Results(document)).values()] == pytest.approx([0.0, 1.0, 3.0, 9.0])
    assert list(wear_stops(fk.Results(document))) == [
        "0 × the mean",
        "the run's mean",
        "3.00 × the mean",
        "9.00 × the mean",
    ]
    run["erases"]["total"] = 0
    assert wear_stops(fk.Results(document)) == {}


def test_points_that_lie_together_share_a_label(document: Document) -> None:
    for run, spread in zip(document["runs"], (5.0, 5.01, 5.02, 40.0), strict=True):
        run["operations"] = document["runs"][0]["operations"]
        run["erases"]["std"] = spread
    drawn = price(fk.Results(document))
    assert drawn is not None
    assert labels_of(drawn) == {"page\nblock\nfast", "dftl"}


def test_a_label_that_would_cover_another_point_is_left_out(document: Document) -> None:
    for run, ram, mean in zip(document["runs"], (180, 256, 260, 330), (3.10e6, 3.26e6, 3.19e6, 3.26e6), strict=True):
        run["footprint"]["ram_bytes"] = ram << 10
        run["response_ns"]["all"]["mean"] = mean
    drawn = ram_chart(fk.Results(document))
    assert drawn is not None
    assert labels_of(drawn) == {"page", "dftl"}, (
        "the text of block would run over fast or dftl, that of fast over block"
    )


def labels_of(drawn: Any) -> set[str]:  # noqa: ANN401 - altair's charts share no typed base
    """The texts beside a chart's points."""
    return {row["text"] for data in drawn.to_dict()["datasets"].values() for row in data if "text" in row}


@pytest.mark.parametrize(
    ("workload", "kinds"),
    [
        ("randwrite", ["writes"]),
        ("randread", ["reads"]),
        ("randrw", ["all", "reads", "writes"]),
        ("log", ["writes", "flushes"]),
    ],
)
def test_response_times_of_one_kind_are_told_once(workload: str, kinds: list[str]) -> None:
    results = fk.compare(workload, "page", requests=200, capacity="64MiB", precondition="fill")
    assert [row["kind"] for row in tables.responses(results)] == kinds
