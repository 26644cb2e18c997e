"""The verdict: each sentence follows from the numbers, and changes with them."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
import sample
from ftlkit._util import units
from ftlkit.report import life
from ftlkit.report.cautions import all_cautions, suspension_share
from ftlkit.report.rules import MOST
from ftlkit.report.verdict import verdict
from ftlkit.results.columns import METRICS
from ftlkit.results.document import Document, Endurance, Run
from ftlkit.results.outcome import device_of
from ftlkit.study.device_size import GEOMETRY
from ftlkit.sweeps import statements


def of(document: Document) -> str:
    """All of a verdict's sentences."""
    outcome = verdict(fk.Results(document))
    return str(outcome).replace("\N{NO-BREAK SPACE}", " ")


def by_label(document: Document) -> dict[str, Run]:
    return {run["label"]: run for run in document["runs"]}


def set_mean(run: Run, mean: float, p99: int) -> None:
    """Give a run other response times."""
    for response in run["response_ns"].values():
        response["mean"], response["p99"] = mean, p99


def test_the_leader_and_the_last_are_named_with_factors(document: Document) -> None:
    runs = by_label(document)
    set_mean(runs["page"], 100_000, 500_000)
    set_mean(runs["dftl"], 150_000, 900_000)
    set_mean(runs["fast"], 400_000, 4_000_000)
    set_mean(runs["block"], 6_200_000, 90_000_000)
    text = of(document)
    assert "page answers fastest: 100 µs on average, 1.50 times faster than dftl and 62 times faster than block" in text
    assert "page leads at the 99th percentile too, with 500 µs against up to 90.0 ms" in text


def test_another_leader_of_the_tail_is_named(document: Document) -> None:
    runs = by_label(document)
    set_mean(runs["page"], 100_000, 5_000_000)
    set_mean(runs["dftl"], 150_000, 900_000)
    assert "At the 99th percentile dftl leads instead, with 900 µs against 5.00 ms for page" in of(document)


def test_mounts_are_told_where_they_were_tried(document: Document) -> None:
    assert "Mounting" not in of(document)
    by_label(document)["page"]["mount"] = {"reads": 65_536, "programs": 0, "erases": 40, "time_ns": 37_000_000}
    assert "Mounting after a power cut takes page 37.0 ms (65,536 page reads, 40 erases)." in of(document)
    device = device_of(document)
    device["slice_bytes"] = device["logical_bytes"] // 4
    assert "Mounting the simulated slice, 1/4 of the drive, after a power cut takes page 37.0 ms" in of(document)
    device["slice_bytes"] = None
    table = fk.Results(document).runs.select("label", "mount_reads", "mount_time_ns").rows()
    assert ("page", 65_536, 37_000_000) in table
    assert ("block", None, None) in table
    # 10 MiB of erases, by 5 MB of host writes per day at a write amplification of 2.
    document["write_rate"] = {"bytes_per_day": 40 * 64 * 4096 / 2, "source": "given"}
    by_label(document)["page"]["series"]["write_amplification"] = [2.0] * 200
    assert "one such cut per day shortens them by 50.0 % under page, at 5.24 MB per day" in of(document)
    document["write_rate"] = {"bytes_per_day": 1e12, "source": "given"}
    assert "such cut" not in of(document), "less than a thousandth"


def test_runs_within_five_per_cent_are_level(document: Document) -> None:
    runs = by_label(document)
    set_mean(runs["page"], 100_000, 500_000)
    set_mean(runs["dftl"], 103_000, 500_000)
    assert "page and dftl are level in mean response" in of(document)


def test_three_runs_within_five_per_cent_are_all_level(document: Document) -> None:
    document["runs"] = document["runs"][:3]
    for run, mean in zip(document["runs"], (100_000, 101_000, 102_000), strict=True):
        set_mean(run, mean, 500_000)
    assert "All are level in mean response (100 µs to 102 µs)." in of(document)
    assert "1.0" not in of(document).partition(".")[0]


def test_a_terminal_says_eight_sentences_the_cautions_first_and_how_many_more_there_are() -> None:
    document = sample.document(cancelled=True)
    made = verdict(fk.Results(document))
    parts, left = made.brief
    said = [sentence for _, sentences in parts for sentence in sentences]
    assert len(said) == MOST - 1
    assert len(said) + left == sum(len(sentences) for _, sentences in made.parts)
    assert parts[-1] == made.parts[-1] == ("Caveats", made.cautions)
    document["runs"] = document["runs"][:1]
    assert verdict(fk.Results(document)).brief == (verdict(fk.Results(document)).parts, 0)


def test_flash_work_is_read_off_the_counts() -> None:
    text = of(sample.document())
    assert "block spent 1.36 % of its flash time on host pages and 98.6 % on merges (60.0 pages copied for each" in text
    assert "4,253 merges of" in text, "120 switch merges too: their erases cost as much time"
    assert "hit ratio 87.0 %" in text


def test_copies_are_told_from_translation_pages_that_are_written_anew(document: Document) -> None:
    run = by_label(document)["dftl"]
    for operation in run["operations"]:
        if operation["cause"] not in ("host", "precondition"):
            operation["cause"] = "mapping_collection"
    text = of(document)
    assert "on map updates after a collection (" in text
    assert "pages programmed for each page that the host writes" in text.partition("map updates after a collection")[2]
    assert "pages copied" not in text.partition("on map updates after a collection")[2].partition(")")[0]


def test_there_is_no_reason_without_a_measurement(document: Document) -> None:
    assert "Why" not in of(document)
    for run in document["runs"]:
        run["waiting_ns"], run["service_ns"] = None, None
    assert "Why" not in of(document)


def test_reasons_are_the_parts_of_the_distance_that_were_measured(document: Document) -> None:
    document["runs"] = [by_label(document)[label] for label in ("page", "fast")]
    page, fast = document["runs"]
    set_mean(page, 100_000, 500_000)
    set_mean(fast, 900_000, 9_000_000)
    page["waiting_ns"], page["service_ns"] = {"collection": 20_000.0, "host": 5_000.0}, {"host": 75_000.0}
    fast["waiting_ns"] = {"merge": 400_000.0, "host": 25_000.0}
    fast["service_ns"] = {"host": 75_000.0, "merge": 400_000.0}
    text = of(document)
    assert (
        "A request to page takes 100 µs on average: 75.0 µs on its own host pages and 20.0 µs waiting behind garbage "
        "collection." in text
    )
    assert "fast takes 800 µs longer than page: 400 µs waiting behind merges and 400 µs on its own merges." in text
    page["waiting_ns"] = {"collection": 90_000.0, "host": 5_000.0}
    page["service_ns"] = {"host": 5_000.0}
    assert "and 400 µs on its own merges, less 90.0 µs waiting behind garbage collection." in of(document)


def test_ram_is_weighed_against_response() -> None:
    text = of(sample.document())
    assert "page needs 8 MiB of RAM; dftl needs 70 KiB (0.854 % of that) at 1.50 × the mean" in text


def test_other_criteria_that_would_change_the_ranking(document: Document) -> None:
    by_label(document)["dftl"]["write_amplification"] = 1.1
    assert "Another would lead if what counts were write amplification (dftl: 1.10 against 1.90)" in of(document)


def erase_nothing(run: Run) -> None:
    run["erases"]["total"] = 0


def serve(document: Document, count: int) -> None:
    """Let every run have this many reads and writes."""
    for run in document["runs"]:
        run["response_ns"]["all"]["count"] = count


def rise(run: Run) -> None:
    points = len(run["series"]["request"])
    run["series"]["write_amplification"] = [1.0 + i / points for i in range(points)]


MISALIGNED: Any = {"aligned": 0.009, "align_offset_bytes": 512, "aligned_with_offset": 0.714}
REPEATED: Any = {"requests": 20_000, "within_ns": 1_000_000}
WORN: Any = {"request": 1234, "message": "device is read-only: 9 of 9 spares"}


def told(document: Document, kind: str) -> Any:  # noqa: ANN401 - what the rule said
    """The caution of a kind; None where it is not told."""
    return next((caution for caution in all_cautions(fk.Results(document)) if caution.kind == kind), None)


@pytest.mark.parametrize(
    ("preset", "iops", "write_share", "is_told"),
    [
        pytest.param("7450-like", 8_000, 0.3, False, id="below"),
        pytest.param("7450-like", 16_000, 0.3, True, id="more reads"),
        pytest.param("7450-like", 34_000, 0.9, True, id="more writes"),
        pytest.param("p5520-like", 34_000, 0.9, False, id="another drive"),
        pytest.param("7450-like", 500_000, 0.0, False, id="reads alone"),
        pytest.param("slc-small", 500_000, 0.5, False, id="no drive"),
    ],
)
def test_load_beyond_those_compared_with_a_drive_is_cautioned(
    document: Document, preset: str, iops: float, write_share: float, *, is_told: bool
) -> None:
    """By writes and reads of 4 KiB."""
    device = document["device"]
    assert device is not None
    device["preset"] = preset
    for run in document["runs"]:
        writes = round(1_000 * write_share)
        run["requests"] |= {"read": 1_000 - writes, "write": writes}
        run["host_pages_read"], run["host_pages_written"], run["iops"] = 1_000 - writes, writes, iops
    caution = told(document, "beyond_compared")
    assert (caution is not None) is is_told
    if is_told:
        text = units.typed(caution.text)
        limits = "7450-like was compared with its drive up to 6.00 k reads and 30.0 k writes of 4 KiB per second, but"
        assert text.startswith(limits)
        loads = [(iops * (1 - write_share), 6_000, "reads"), (iops * write_share, 30_000, "writes")]
        kinds = [
            f"{units.rate(load)} {kind}{f' ({units.factor(load / limit)} as many)' if load > limit else ''}"
            for load, limit, kind in loads
        ]
        assert units.typed(f"page has {' and '.join(kinds)}") in text
        assert text.endswith("Figures of this load were compared with no drive.")
        assert "it saturates at 14 % more writes than the drive" in text


def test_points_far_beyond_a_comparison_are_told_how_far(document: Document) -> None:
    device = document["device"]
    assert device is not None
    device["preset"] = "7450-like"
    for run, times in zip(document["runs"], (0.5, 3, 11), strict=False):
        run["requests"] |= {"read": 500, "write": 500}
        run["host_pages_read"], run["host_pages_written"], run["iops"] = 500, 500, times * 12_000
    said = statements.summary("beyond_compared", told(document, "beyond_compared").facts)
    assert ", and these have up to 11 × as many. Beyond" in units.typed(said)


@pytest.mark.parametrize("write_share", ["30%", "70%"])
def test_stops_of_programs_that_set_the_maximum_are_named_with_their_share(write_share: str) -> None:
    shares, served = [], []
    for stop, go_on in (("0us", "0us"), ("25us", "100us"), ("100us", "400us")):
        device = {"preset": "7450-like", "suspend_latency": stop, "resume_latency": go_on}
        results = fk.compare(
            "randrw", "page", device=device, bs="4k", write_share=write_share, requests=10_000, queue_depth=32
        )
        (run,) = results.document["runs"]
        shares.append(suspension_share(results, run))
        served.append(run["iops"] or 0.0)
        caution = told(results.document, "suspended")
        assert (caution is not None) == (shares[-1] >= 0.25)
        assert caution is None or f"take {units.share(shares[-1])} under page of the dies' busy time" in caution.text
    assert shares == sorted(shares)
    assert shares[0] < 0.1, "stops that cost nothing take nothing"
    assert shares[-1] > 0.25
    assert shares[-1] == pytest.approx(1 - served[-1] / served[0], abs=0.2), "what they take is not served"


def go_round(document: Document, laps: float) -> None:
    """Write in order, round after round."""
    document["study"]["workload"] = {"generator": {"pattern": "sequential", "span": 1 << 20}}
    for run in document["runs"]:
        run["host_written_bytes"] = int(laps * (1 << 20))


def test_a_log_that_went_round_five_times_wears_as_in_the_long_run(document: Document) -> None:
    go_round(document, 5)
    assert told(document, "laps") is None


@pytest.mark.parametrize(
    ("kind", "change", "facts"),
    [
        ("stopped", lambda document: document.update(cancelled=True), {"missing": ""}),
        ("few_requests", lambda document: document["workload"].update(requests=900), {"replayed": "900 requests were"}),
        ("unchecked", lambda document: document["runs"][0].update(family="python", proved=None), {"names": "page"}),
        ("few_for_p99", lambda document: serve(document, 999), {"rests": "rests on the longest 9 of them"}),
        ("few_for_p99", lambda document: serve(document, 20), {"rests": "is about the longest of them"}),
        ("misaligned", lambda document: document["workload"].update(misalignment=MISALIGNED), {"page": 4096}),
        ("repeated", lambda document: document["workload"].update(repeated=REPEATED), {"share": 0.4}),
        ("laps", lambda document: go_round(document, 4.5), {"laps": 4.5, "span": 1 << 20}),
        ("rising", lambda document: rise(document["runs"][0]), {"each": "page from 1.10 to 1.90"}),
        ("nothing_erased", lambda document: erase_nothing(document["runs"][0]), {"names": "page"}),
        ("unsettled", lambda document: document["runs"][2]["precondition"].update(settled=False), {"names": "fast"}),
        ("worn_out", lambda document: document["runs"][2].update(end_of_life=WORN), {"names": "fast"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_caution_is_told_with_its_facts(
    kind: str, change: Callable[[Document], None], facts: dict[str, object], document: Document
) -> None:
    assert told(document, kind) is None
    change(document)
    said = told(document, kind)
    assert facts.items() <= said.facts.items()
    assert said.text.replace("\N{NO-BREAK SPACE}", " ") in of(document)


def test_an_ftl_in_python_that_was_checked_is_trusted(document: Document) -> None:
    document["runs"][0]["family"], document["runs"][0]["proved"] = "python", "this run"
    assert told(document, "unchecked") is None


def overload(document: Document, labels: list[str]) -> None:
    """Give every run a load, and let some not bear it."""
    for place, run in enumerate(document["runs"]):
        run["load"] = {
            "offered_iops": 1_000.0,
            "bottleneck_iops": 4_000.0 / (place + 1),
            "utilisation_max": 0.5,
            "busiest": "die 3",
            "outlasts_arrivals_ns": 0,
            "backlog_ns": None,
            "is_overloaded": run["label"] in labels,
        }
        run["iops"] = 3_000.0 / (place + 1)


def test_runs_that_fell_behind_are_not_ranked_by_their_queue(document: Document) -> None:
    overload(document, ["block"])
    set_mean(by_label(document)["block"], 1.0, 1)
    text = of(document)
    assert "page answers fastest" in text, "whatever response times a queue gave"
    assert "Offered load exceeds the throughput of block" in text
    assert "block does not keep up with the arrivals of 1.00 k requests per second." in text
    assert "Requests per second that were served: block 1.50 k." in text


def test_what_falls_behind_below_its_bottleneck_says_why(document: Document) -> None:
    overload(document, ["fast", "dftl"])
    words = "Their busiest die or channel has time for more (fast 1.33 k: IOPS at most), but not in the order in which"
    assert words in of(document)
    load = by_label(document)["fast"]["load"]
    assert load is not None
    load["bottleneck_iops"] = 1_000.0
    assert "IOPS at most" not in of(document), "no more than is asked for"


def test_a_trace_denser_at_its_end_is_no_verdict_on_its_mean(document: Document) -> None:
    overload(document, ["fast", "block"])
    late = [
        "do not keep up with the arrivals at the trace's end.",
        "whether the mean can be served is not known",
        "fell behind in the second half of the requests alone",
    ]
    flat = ["do not keep up with the arrivals of 1.00 k requests per second.", "Offered load exceeds the throughput"]
    for backlog, said, unsaid in [
        ([1e3, 2e3, 3e3, 9e5], late, flat),
        ([0.0, 0.0, 3e5, 9e5], late, flat),
        ([1e5, 3e5, 5e5, 7e5], flat, late),
    ]:
        for label in ("fast", "block"):
            load = by_label(document)[label]["load"]
            assert load is not None
            load["backlog_ns"] = backlog
        text = of(document)
        assert all(words in text for words in said), text
        assert not any(words in text for words in unsaid), text


def test_where_none_keeps_up_what_each_served_decides(document: Document) -> None:
    overload(document, ["page", "block", "fast", "dftl"])
    text = of(document)
    assert text.startswith("No translation layer keeps up with the arrivals of 1.00 k requests per second. Requests ")
    assert "Requests per second that were served: page 3.00 k, block 1.50 k, fast 1.00 k (but its queue kept" in text
    assert "growing), dftl 750." in text
    assert "answers fastest" not in text
    assert "the mean response" not in text
    assert "block needs 128 KiB (1.56 % of that) and serves 0.5 × the requests per second" in text


def test_few_requests_are_not_ranked_by_the_99th_percentile(document: Document) -> None:
    assert "at the 99th percentile" in of(document)
    serve(document, 999)
    text = of(document)
    assert "leads at the 99th percentile" not in text
    assert "Requests are too few to rank by the 99th percentile: see Caveats." in text.partition("\n")[0]
    del document["runs"][1:]
    assert "99 % of requests" not in of(document)
    document["runs"][0]["response_ns"]["all"]["count"] = 1_000
    assert "99 % of requests" in of(document)


def test_rows_that_repeat_a_request_are_told_with_the_option(document: Document) -> None:
    document["workload"]["repeated"] = REPEATED
    assert "--where" in of(document)
    document["workload"]["format"] = "blkparse"
    assert "--blkparse-action D" in of(document)


@pytest.mark.parametrize("given", [{"where": ["type=D"]}, {"blkparse_action": "D"}], ids=["where", "action"])
def test_an_option_that_was_followed_is_not_told_again(given: dict[str, Any], document: Document) -> None:
    document["workload"] |= {"repeated": REPEATED}
    document["study"]["workload"] = {**document["study"].get("workload", {}), **given}
    for name in ("text", "blkparse"):
        document["workload"]["format"] = name
        text = of(document)
        assert "Rows were chosen already; those that are left may be requests of their own." in text
        assert "--where" not in text
        assert "--blkparse-action" not in text


def test_runs_that_differ_by_nothing_are_as_fast(document: Document) -> None:
    document["runs"] = document["runs"][:2]
    page, block = document["runs"]
    for run, mean in ((page, 48_800.0), (block, 48_818.4)):
        set_mean(run, mean, 220_000)
        run["waiting_ns"], run["service_ns"] = {"host": mean - 40_000.0}, {"host": 40_000.0}
    assert "block is as fast as page, within 0.1 %." in of(document)
    set_mean(block, 48_900.0, 220_000)
    assert "block takes 100 ns longer than page" in of(document)


def test_what_helps_against_a_short_run_depends_on_the_preparation_and_the_workload(document: Document) -> None:
    page = by_label(document)["page"]
    rise(page)
    assert "Precondition" not in of(document), "it was preconditioned to a steady state"
    erase_nothing(page)
    page["requests"]["write"], some = 100, page["requests"]["write"]
    assert told(document, "nothing_erased") is None, "who hardly writes does not collect"
    page["requests"]["write"] = some
    assert "Replay more requests (--requests), or give" in of(document), "a generated workload has no end"
    document["study"]["workload"] = {"trace": "fin1.spc"}
    assert "Replay more requests (--requests, or --repeat to serve a trace again), or give" in of(document)
    document["precondition_chosen"] = {"mode": "fill", "requested": "auto", "reason": "it reads what it did not write"}
    for kind in ("rising", "nothing_erased"):
        step = "Precondition the device to a steady state (--precondition steady, in a study run.precondition)"
        assert step in told(document, kind).text


def test_merges_of_all_kinds_are_counted_where_their_time_is_divided(document: Document) -> None:
    fast = by_label(document)["fast"]
    fast["merges"] = {"switch": 958, "partial": 2, "full": 0}
    for operation in fast["operations"]:
        if operation["cause"] == "merge":
            operation["count"], operation["time_ns"] = (
                (960, 1_440_000_000) if operation["op"] == "erase" else (88, 12_000_000)
            )
    assert "960 merges of 1.52 ms" in of(document)
    assert METRICS["merges"].value(fast) == 960


def test_collections_that_hardly_copied_in_a_short_run_are_told_beside_the_verdict(document: Document) -> None:
    page = by_label(document)["page"]
    for operation in page["operations"]:
        if operation["cause"] == "collection":
            operation["count"], operation["time_ns"] = (416, 624_000_000) if operation["op"] == "erase" else (0, 0)
    words = "page copied 0 pages for 416 erases"
    assert words not in of(document), "a device in its steady state may have such blocks"
    document["study"]["run"]["precondition"] = "fill"
    text = of(document)
    assert "the host wrote 25.4 % of the device's logical pages, and GC and merges copied" in text
    assert words in text
    assert "Precondition the device to a steady state (--precondition steady, in a study run.precondition)" in text
    headline = text.partition("\n")[0]
    assert headline.endswith("GC and merges cost page hardly anything yet: see Caveats.")
    page["host_pages_written"] = 480_000
    assert words not in of(document), "the host wrote more than the device holds"


def test_a_trace_that_overwrites_whole_blocks_is_not_ranked_without_caution(tmp_path: Path) -> None:
    trace = tmp_path / "overwrites.spc"
    trace.write_text("".join(f"0,{512 * place},262144,w,{0.5 * place}\n" for place in range(72)))

    def headline(precondition: str) -> str:
        workload = {"trace": str(trace), "format": "spc"}
        return fk.compare(workload, "page,fast", capacity="64MiB", precondition=precondition).verdict.headline

    assert "GC and merges cost page and fast hardly anything yet" in headline("fill")
    assert "hardly anything" not in headline("steady")


def test_waiting_behind_host_pages_may_be_for_pages_of_the_same_request(document: Document) -> None:
    document["runs"] = [by_label(document)["page"]]
    page = document["runs"][0]
    set_mean(page, 100_000, 500_000)
    page["waiting_ns"], page["service_ns"] = {"host": 60_000.0}, {"host": 40_000.0}
    assert "100 µs on average: 60.0 µs waiting behind other host pages and 40.0 µs on its own host pages" in of(
        document
    )


def test_a_workload_of_trims_alone_compares_nothing(document: Document) -> None:
    for run in document["runs"]:
        for response in run["response_ns"].values():
            response["mean"] = response["p99"] = response["max"] = None
            response["count"] = 0
    assert "No read or write was replayed" in of(document)


def test_one_run_alone_is_described(document: Document) -> None:
    document["runs"] = document["runs"][:1]
    assert "page answers in" in of(document)


def test_reads_of_what_was_never_written_are_told(document: Document) -> None:
    for run, share in zip(document["runs"], (0.992, 0.9923, 0.0, 0.004), strict=True):
        run["reads_without_flash"] = share

    def found() -> tuple[str, str, str, bool]:
        facts = told(document, "unwritten").facts
        return units.typed(facts["span"]), facts["held"], facts["effect"], bool(facts["way"])

    empty = ": read times are largely those of an empty device"
    assert found() == ("99.2 %", "had never been written", empty, False), "it was filled"
    document["runs"][0]["requests"]["trim"] = 7
    assert found() == ("99.2 %", "had been trimmed", empty, False)
    for run in document["runs"]:
        run["precondition"] = None
    assert found() == ("99.2 %", "had never been written or had been trimmed", empty, True)
    document["runs"][0]["requests"]["trim"] = 0
    assert "Fill the device first (--precondition fill, in a study run.precondition)." in of(document)
    for run in document["runs"]:
        run["reads_without_flash"] = 0.06
    assert found() == ("6.00 %", "had never been written", ": such reads take hardly any time", True)
    for run in document["runs"]:
        run["reads_without_flash"] = 0.0
    assert told(document, "unwritten") is None


def wear_policies(document: Document) -> list[Run]:
    """Three runs of one mapping: without a wear policy, and with two."""
    runs = [sample.run("fast", "log-buffer", 4e5, 1.0, 3.0, 4096, "merge", place) for place in range(3)]
    for run, ftl, spread in zip(runs, ("fast", "fast+dynamic", "fast+none"), (12.0, 3.0, 2.0), strict=True):
        run["label"] = run["ftl"] = ftl
        run["erases"]["std"] = spread
    document["runs"] = runs
    return runs


def test_the_most_even_wear_policy_is_named_with_its_price(document: Document) -> None:
    _, dynamic, other = wear_policies(document)
    other["ftl"] = "fast+dynamic"
    for operation in other["operations"]:
        operation["time_ns"] = (operation["time_ns"] or 0) * 110 // 100
    other["operations"].append({"cause": "wear_levelling", "op": "program", "count": 5, "time_ns": 10**9})
    text = of(document)
    assert "Over fast, fast+none wears most evenly: σ of the blocks' erases 2.00 against 12.0 for fast, at 10." in text
    assert "% more flash time for each request; moving blocks is" in text
    dynamic["erases"]["std"] = 1.0
    text = of(document)
    assert "fast+dynamic wears most evenly: σ of the blocks' erases 1.00 against 12.0 for fast, at 0" in text


def test_no_policy_is_praised_that_does_not_level(document: Document) -> None:
    none, dynamic, other = wear_policies(document)
    other["ftl"] = "fast+dynamic"
    none["erases"]["std"] = 1.5
    assert "Over fast, no wear policy is more even than none: σ of the blocks' erases 1.50 against 2.00" in of(document)
    for run in (none, dynamic, other):
        run["erases"]["std"] = 2.0
    assert "Over fast, all wear alike: σ of the blocks' erases 2.00 to 2.00." in of(document)
    none["erases"]["total"] = 0
    assert "wear alike" not in of(document), "nothing was erased in one of them, so nothing is compared"


def test_wear_of_different_mappings_is_not_compared(document: Document) -> None:
    assert "σ of the blocks' erases" not in of(document)
    none, dynamic, _ = wear_policies(document)
    document["runs"] = [none, dynamic]
    assert "Over fast, fast+dynamic wears most evenly" in of(document)
    dynamic["parameters"] = {"log_space": "0.2"}
    assert "wears most evenly" not in of(document), "the mappings differ in a parameter"
    dynamic["parameters"] = {"dynamic.threshold": "3"}
    assert "wears most evenly" in of(document), "the policies' own may differ"


def endurance(run: Run) -> Endurance:
    """What a made-up run says of its life."""
    life = run.get("endurance")
    assert life is not None
    return life


def test_who_lives_longest_is_named_with_the_range(document: Document) -> None:
    text = of(document)
    assert (
        "Under page the device lives longest: 5.26 TB (5.00 TB to 5.79 TB) of host writes, 5.26 years at the workload's"
        in text
    )
    assert "years at the workload's own rate; it may" not in text
    assert "It lives shortest under block: 164 GB (156 GB to 180 GB)." in text
    assert "drive writes per day (DWPD) are over 5 years" in text
    document["study"]["run"]["warranty_years"] = 3.0
    assert "are over 3 years" in of(document)
    document["runs"] = document["runs"][:1]
    assert "Under page the device is read-only after 5.26 TB (5.00 TB to 5.79 TB) of host writes" in of(document)


def test_lives_within_the_noise_of_their_runs_are_not_ranked(document: Document) -> None:
    page, dftl = (endurance(by_label(document)[label])["spares_gone"] for label in ("page", "dftl"))
    assert page is not None
    assert dftl is not None
    # One end of the other's range reaches beyond, so it lives as long if blocks wear on that way.
    dftl["high_bytes"] = page["high_bytes"] + 1
    assert "at the workload's own rate; it may live as long under dftl. It lives shortest under block" in of(document)
    document["runs"] = [by_label(document)[label] for label in ("page", "dftl")]
    text = of(document)
    assert "Lives are too close to be ranked: 5.26 TB (5.00 TB to 5.79 TB) of host writes" in text
    assert "lives longest" not in text
    dftl["high_bytes"] = page["high_bytes"]
    assert "Under page the device lives longest" in of(document)


@pytest.mark.parametrize(("share", "is_close"), [(0.9, False), (0.995, True)])
def test_lives_are_close_within_the_rates_of_wear_alone(document: Document, share: float, *, is_close: bool) -> None:
    document["runs"] = [by_label(document)[label] for label in ("page", "dftl")]
    for run, times in zip(document["runs"], (1.0, share), strict=True):
        life = endurance(run)["spares_gone"]
        assert life is not None
        # Wide ranges, as of a forecast that does not know how blocks drift apart.
        life["written_bytes"], life["low_bytes"], life["high_bytes"] = (
            int(times * each) for each in (5e12, 3e12, 7e12)
        )
        many = len(run["series"]["erases"])
        run["series"]["host_written_bytes"] = [1000 * (point + 1) for point in range(many)]
        run["series"]["erases"] = [1000 * point + 20 * max(0, point - 3 * many // 4) for point in range(many)]
    assert ("Lives are too close to be ranked" in of(document)) is is_close


def test_a_life_on_a_scaled_device_is_told_for_its_drive(document: Document) -> None:
    words = "The device is scaled from a drive of 477 GiB, which takes 265 times these writes."
    assert words not in of(document)
    device_of(document)["preset"] = "client-tlc"
    assert of(document).count(f"164 GB (156 GB to 180 GB). {words}") == 1


def test_a_life_that_was_run_out_is_told_as_measured_and_a_short_run_has_none(document: Document) -> None:
    page, *others = document["runs"]
    for run in others:
        measured = endurance(run)
        measured["first_block"] = measured["spares_gone"] = measured["drift"] = None
        measured["refusal"] = f"a block was erased {len(run['label'])}.5 times"
    last = endurance(page)["spares_gone"]
    assert last is not None
    last["is_measured"] = True
    text = of(document)
    assert "Under page the device was read-only after 5.26 TB (measured) of host writes" in text
    assert "No lifetime forecast for block, fast and dftl: a block was erased 5.5, 4.5 and 4.5 times." in text
    assert "Lives are forecast" not in text
    rows = {row["label"]: row["cells"] for row in life.rows(fk.Results(document))}
    assert rows["page"][2] == "measured"
    assert {cell for label in ("block", "fast", "dftl") for cell in rows[label][:-1]} == {"–"}
    last["is_measured"] = False
    del document["runs"][1:]
    document["runs"][0]["endurance"]["spares_gone"] = document["runs"][0]["endurance"]["first_block"] = None
    assert life.rows(fk.Results(document)) == []


def test_even_wear_counts_good_blocks_and_names_filling_runs(document: Document) -> None:
    document["runs"] = document["runs"][:1]
    (page,) = document["runs"]
    mine = endurance(page)
    mine["spares_gone"] = mine["first_block"] = mine["drift"] = None
    mine["refusal"] = "a block was erased 2.5 times"
    document["write_rate"] = {"bytes_per_day": 1e9, "source": "workload"}
    device = device_of(document)
    blocks = math.prod(device["geometry"][key] for key in GEOMETRY[:-1])
    block_bytes = device["geometry"]["pages_per_block"] * device["geometry"]["page_size_bytes"]
    amplification = page["write_amplification"]
    assert amplification is not None
    # What the first half cost, on a device as it was prepared, is no cost of the workload.
    page["series"]["write_amplification"] = [*[3 * amplification] * 100, *[amplification] * 100]
    page["erases"]["total"] = round(amplification * page["host_written_bytes"] / block_bytes)

    def told(part: float) -> str:
        allowed = part * mine["limit"] * device["physical_bytes"] / amplification
        dwpd = units.digits(allowed / (5 * 365 * device["logical_bytes"]))
        return f"{units.written(allowed)} under page ({units.years(allowed / 365e9)}, {dwpd} DWPD)"

    assert f"With even wear, host writes last until {units.typed(told(1.0))}, at" in of(document)
    half = f"That is by the write amplification of the run's second half: {units.digits(amplification)} under page."
    assert half not in of(document)
    page["write_amplification"] = 2 * amplification
    assert half in of(document)
    page["write_amplification"] = amplification
    device["bad_blocks"] = blocks // 10
    assert f"last until {units.typed(told(1 - device['bad_blocks'] / blocks))}, at" in of(document)
    erases = page["erases"]["total"]
    steady, page["precondition"] = page["precondition"], None
    page["erases"]["total"] //= 2
    text = of(document)
    assert "last until at most " in text
    assert "At most: erased blocks were left under page, so" in text
    planes = math.prod(device["geometry"][key] for key in GEOMETRY[:-2])
    for gap, is_filling in ((4 * planes, False), (4 * planes + erases // 50 + 2, True)):
        page["erases"]["total"] = erases - gap
        assert ("at most" in of(document)) == is_filling, gap
    page["series"]["write_amplification"] = [1.0] * 10
    page["series"]["host_written_bytes"] = list(range(1, 11))
    for pattern, is_filling in (("sequential", False), ("uniform", True)):
        document["study"]["workload"] = {"generator": {"pattern": pattern}}
        assert ("will rise" in of(document)) == is_filling, pattern
    document["study"]["workload"]["generator"]["pattern"] = "sequential"
    page["series"]["write_amplification"] = [*[1.0] * 8, 1.2, 1.2]
    assert "will rise" in of(document)
    page["precondition"] = steady
    assert "at most" not in of(document)


def test_years_are_told_where_the_run_wrote_at_the_rate_or_the_rate_is_given(document: Document) -> None:
    document["runs"] = document["runs"][:1]
    (page,) = document["runs"]
    overload(document, ["page"])
    load = page["load"]
    assert load is not None
    for is_forecast in (True, False):
        if not is_forecast:
            endurance(page)["spares_gone"] = endurance(page)["first_block"] = endurance(page)["drift"] = None
            endurance(page)["refusal"] = "a block was erased 2.5 times"
        for is_overloaded in (True, False):
            load["is_overloaded"] = is_overloaded
            for source in ("given", "workload", "drive_write"):
                document["write_rate"] = {"bytes_per_day": 1e9, "source": source}
                told = units.typed(" ".join(life.lives(fk.Results(document)))).replace("over 5 years", "")
                has_years = bool(re.search(r"[\d.,]+ (years|days)", told))
                assert has_years == (not is_overloaded or source != "workload"), (is_forecast, source, told)


def test_a_forecast_above_what_write_amplification_allows_has_a_reason(document: Document) -> None:
    document["runs"] = document["runs"][:1]
    (page,) = document["runs"]
    last = endurance(page)["spares_gone"]
    assert last is not None
    allowed = 3000 * device_of(document)["physical_bytes"] / 1.9
    last["written_bytes"] = round(allowed)
    assert "above the" not in of(document)
    last["written_bytes"] = round(1.1 * allowed)
    series = page["series"]
    series["write_amplification"] = [*[2.1] * 100, *[1.7] * 100]
    erased_bytes = 64 * 4096
    series["erases"] = [round(1.7 * at / erased_bytes) for at in series["host_written_bytes"]]
    assert "page's forecast is above" not in of(document), "both go by the second half"
    last["written_bytes"] = round(1.3 * allowed)
    assert "page's forecast is above the " in of(document)
    series["erases"] = [round(0.5 * at / erased_bytes) for at in series["host_written_bytes"]]
    assert "only 29.4 % of the pages programmed were erased, since erased blocks were left" in of(document)


def test_the_ram_of_a_write_buffer_stands_under_cost(document: Document) -> None:
    assert "write buffer" not in of(document)
    page = by_label(document)["page"]
    page["footprint"]["structures"].append({"name": "write buffer", "ram_bytes": 8 << 20, "flash_bytes": 0})
    assert "Of this RAM the write buffer takes 8 MiB under page." in of(document)


def test_a_life_under_a_run_that_falls_behind_is_given_no_time(document: Document) -> None:
    place = life.COLUMNS.index("life at that rate")
    assert "5.26 years at the workload's own rate" in of(document)
    overload(document, ["page"])
    assert "Under page the device lives longest: 5.26 TB (5.00 TB to 5.79 TB) of host writes. It lives" in of(document)
    cells = {row["label"]: row["cells"] for row in life.rows(fk.Results(document))}
    assert cells["page"][place] == life.NOT_KEPT_UP
    assert units.typed(cells["dftl"][place]).endswith(" years")


@pytest.mark.parametrize(
    ("source", "years", "times"), [("given", 4.5, 1), ("given", 1000.0, 0), ("given", 0.001, 0), ("workload", 4.5, 0)]
)
def test_a_life_short_of_the_warranty_names_the_command_for_spare(
    document: Document, source: str, years: float, times: int
) -> None:
    daily = 5.26e12 / (365 * years)
    document["write_rate"] = {"bytes_per_day": daily, "source": source}
    told = " ".join(life.lives(fk.Results(document)))
    assert told.count("`ftlkit curve spare` tells from which spare on a drive lasts 5 years.") == times


def test_a_life_without_a_clock_says_that_its_rate_was_not_tried(document: Document) -> None:
    unknown = "Without a clock it was not measured whether page, dftl, fast and block can write at that rate, or at the"
    assert unknown not in of(document)
    for run in document["runs"]:
        run["simulated_ns"] = run["load"] = None
    place = life.COLUMNS.index("life at that rate")
    document["write_rate"] = {"bytes_per_day": 1e9, "source": "workload"}
    told = " ".join(life.lives(fk.Results(document)))
    assert unknown in units.typed(told)
    assert re.search(r"years at 1.00 GB per day \(the workload's own rate\) if it keeps up", units.typed(told)), told
    assert all(row["cells"][place].endswith(" if it keeps up") for row in life.rows(fk.Results(document)))
    document["write_rate"] = {"bytes_per_day": 1e9, "source": "given"}
    assert "if it keeps up" not in " ".join(life.lives(fk.Results(document)))


def test_a_ranking_of_lives_names_the_runs_it_leaves_out_that_wear_least(document: Document) -> None:
    runs = by_label(document)
    measured = endurance(runs["page"])
    measured["first_block"] = measured["spares_gone"] = measured["drift"] = None
    measured["refusal"] = "a block was erased 0.10 times"
    for label, erases in (("page", 416), ("block", 9_000), ("fast", 960), ("dftl", 3_000)):
        runs[label]["erases"]["total"] = erases
    words = "leaves out those that wear the device least: erases of page 416 while measuring, against 960 or more"
    assert words in of(document)
    assert "Of those with a forecast, under dftl the device lives longest" in of(document)
    assert [row["cells"][-1] for row in life.rows(fk.Results(document))] == ["416", "9,000", "960", "3,000"]
    device_of(document)["slice_bytes"] = 1 << 30
    assert words.replace("erases of", "erases of the slice of") in of(document)
    assert next(row["cells"][-1] for row in life.rows(fk.Results(document))) == "416 (slice)"
    runs["page"]["erases"]["total"] = 960
    assert "leaves out" not in of(document), "it wears no less than fast"
    runs["page"]["erases"]["total"] = 416
    document["runs"] = [runs["page"], runs["fast"]]
    assert "leaves out" not in of(document), "one forecast is no ranking"


def test_a_mapping_cache_above_the_whole_map_is_told() -> None:
    stacks = "dftl:cmt=1TiB,dftl:cmt=1MiB,dftl"
    results = fk.compare("fin1", stacks, requests=500, addresses="dense", capacity="512MiB")
    told = [text for text in results.verdict.cautions if "whole map" in text]
    assert len(told) == 1
    assert "under dftl:cmt=1TiB, so it never evicts" in units.typed(told[0])
    assert "1 TiB for entries of 1 MiB" in units.typed(told[0])
    assert "(--ftl dftl:cmt=SIZE)" in units.typed(told[0])


def test_live_data_that_the_workload_never_touches_are_told(document: Any) -> None:  # noqa: ANN401 - keys are replaced
    assert told(document, "untouched") is None, "results from before do not know"
    pages = document["device"]["logical_bytes"] // document["device"]["geometry"]["page_size_bytes"]
    chosen = {"mode": "steady", "requested": "steady", "reason": None, "live_pages": pages}
    document["precondition_chosen"] = chosen | {"touched_pages": 0.94 * pages}
    assert told(document, "untouched").facts == pytest.approx(
        {"full": 1.0, "untouched": 0.06, "share": "94%", "is_steady": True}, abs=1e-5
    )
    assert "(--in-use 94%, in a study run.in_use)" in of(document)
    document["precondition_chosen"] = chosen | {"touched_pages": 0.96 * pages}
    assert told(document, "untouched") is None
    document["precondition_chosen"] = chosen | {"touched_pages": 1}
    assert told(document, "untouched").facts["share"] == "1%"
    document["study"]["workload"]["generator"] = {"span": document["device"]["logical_bytes"]}
    assert told(document, "untouched") is None, "a short run of a workload that spans all"
    document["study"]["workload"]["generator"]["span"] //= 2
    assert told(document, "untouched").facts["share"] == "50%"
    for run in document["runs"]:
        run["requests"]["write"] = 0
    assert told(document, "untouched") is None, "nothing is collected"
