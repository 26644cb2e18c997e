"""The command: what each subcommand prints and writes, in wide, narrow and no terminals."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import ftlkit as fk
from conftest import Call, Start, traces
from ftlkit import docs
from ftlkit import study as studies
from ftlkit._util import Json
from ftlkit.api.fit_validation import STACKS
from ftlkit.cli.show import show
from ftlkit.report.look_alike import preset_toml, verdict
from ftlkit.study import builder

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL = "compare fin1 --requests 2000 --addresses dense --precondition fill"


@pytest.mark.parametrize("capacity", ["1KiB", "256MiB", "4GiB"])
def test_a_refused_capacity_is_answered_with_one_that_fits(capacity: str, call: Call, tmp_path: Path) -> None:
    """By whatever command, and however far the least capacity is from the asked one."""
    run = ["randwrite", "--requests", "10", "--precondition", "none", "--addresses", "wrap"]
    for command in (["image", "create", tmp_path / "d.img"], ["compare", *run]):
        words = [*command, "--ftl", "page", "--device", "sata-tlc-1t", "--capacity"]
        refused = call(*words, capacity, exits=2).stderr
        call(*words, refused.split("--capacity ")[1].split()[0])


def test_version(call: Call) -> None:
    assert call("--version").stdout == f"ftlkit {fk.__version__}\n"


def test_compare_shows_and_writes_everything_and_a_report_drawn_later_is_the_same(call: Call, tmp_path: Path) -> None:
    result = call(
        *SMALL.split(),
        *["--report", "r.html", "--json", "r.json", "--csv", "r.csv", "--parquet", "r.parquet", "--title", "Mine"],
    )
    for words in ("page", "block", "fast", "dftl", "answers fastest", "sentences more (--report FILE)"):
        assert words in result.stdout
    assert result.stderr.splitlines()[-4:] == [f"wrote r.{kind}" for kind in ("json", "csv", "parquet", "html")]
    report = (tmp_path / "r.html").read_text()
    assert "<h1>Mine</h1>" in report
    assert "Flash work" in report
    assert pl.read_csv(tmp_path / "r.csv").height == pl.read_parquet(tmp_path / "r.parquet").height == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.html", "r.json", "r.parquet"]
    call("report", "r.json", "--out", "again.html")
    assert (tmp_path / "again.html").read_text() == report


def test_whoever_stops_reading_the_table_loses_no_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ftlkit", *SMALL.split(), "--json", "r.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    process.stdout.close()
    process.wait(120)
    assert len(json.loads((tmp_path / "r.json").read_text())["runs"]) == 4


def test_options_reach_the_study(call: Call, tmp_path: Path) -> None:
    options = (
        "compare fin1 --ftl dftl --device slc-small --capacity auto --set dftl.cmt=96KiB --set device.spare=0.2 "
        "--set run.warranty_years=3 "
        "--requests 500 --align-offset 4096 --addresses dense --loop closed --queue-depth 4 --precondition fill "
        "--samples 10 --seed 9 --verify --classes --threads 1 --json r.json"
    )
    call(*options.split())
    study = json.loads((tmp_path / "r.json").read_text())["study"]
    assert study["ftl"][0]["cmt"] == "96KiB"
    assert (study["seed"], study["host"], study["device"]["spare"]) == (9, {"loop": "closed", "queue_depth": 4}, 0.2)
    settings = {"precondition": "fill", "samples": 10, "verify": True, "classes": True}
    assert study["run"] == settings | {"clock": True, "skip": 0, "waiting": True, "warranty_years": 3.0}
    assert (study["workload"]["requests"], study["workload"]["align_offset"]) == (500, 4096)
    faster = "compare fin1 --ftl page --requests 500 --speedup 2 --loop open --json o.json"
    call(*faster.split())
    assert json.loads((tmp_path / "o.json").read_text())["study"]["workload"]["speedup"] == 2.0


def test_trace_options_reach_the_reader(call: Call, msr: Path, tmp_path: Path) -> None:
    text = msr.read_text() + "garbage\n"
    msr.write_text(text)
    options = "--format msr --skip-bad --time-backwards clamp --trace-device host_0 --ftl page --json r.json"
    call("compare", msr, *options.split())
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["study"]["workload"]["skip_bad"]
    assert "skipped 1 bad record" in document["workload"]["facts"]


def test_every_run_names_its_device_first(call: Call, tmp_path: Path) -> None:
    few = ("compare", "fin1", "--ftl", "page", "--requests", 200, "--addresses", "dense")
    first = call(*few, "--report", tmp_path / "r.html").stdout
    first = " ".join(first.split())
    assert first.startswith("Device client-tlc, the default since no device was named: 238 MiB for the host")
    assert "on 256 MiB of flash, 8 dies of TLC, spare 7.00 % (OP 7.53 %); capacity auto: the workload spans" in first
    assert "the default since no device was named" in (tmp_path / "r.html").read_text(encoding="utf-8")
    named = call(*few, "--device", "slc-small", "--capacity", "64MiB").stdout.partition("Addresses")[0]
    assert named.startswith("Device slc-small: 64 MiB for the host")
    assert "4 dies of SLC, spare" in " ".join(named.split())
    assert "of SLC" not in call(*few, "--device", "tlc-nvme").stdout
    assert "auto" not in named


@pytest.mark.parametrize("columns", ["", ",stream", ",device", ",stream,device", ",temperature"])
def test_a_csv_needs_no_hints_and_no_device(columns: str, call: Call, tmp_path: Path) -> None:
    cells = ",".join("1" for _ in columns.split(",")[1:])
    row = f",{cells}" if cells else ""
    (tmp_path / "t.csv").write_text(f"time_ns,op,offset,length{columns}\n0,write,0,4096{row}\n2000,read,0,4096{row}\n")
    shown = json.loads(call("trace", "info", "t.csv", "--json").stdout)
    assert shown["statistics"]["total"]["writes"] == 1
    assert shown["statistics"]["total"]["duration_s"] == 2e-6


def test_an_ability_of_a_preset_is_turned_off_in_one_setting(call: Call) -> None:
    line = ("compare", "randwrite", "--device", "7450", "--requests", 100, "--ftl", "page", "--precondition", "none")
    for setting in ("device.suspend=off", "device.multi_plane=false", "device.planes_per_die=1"):
        call(*line, "--set", setting)


def test_conditions_reach_the_reader_and_are_counted(call: Call, tmp_path: Path) -> None:
    text = "time,kind,op,offset,size\n" + "".join(
        f"{at},{kind},W,{4096 * at},4096\n" for at in range(50) for kind in ("Q", "D")
    )
    (tmp_path / "e.txt").write_text(text, encoding="utf-8")
    columns = "time:us, -, op, offset:B, size:B"
    where = (tmp_path / "e.txt", "--columns", columns, "--where", "kind=D", "--where", "op!=R|S")
    output = call("trace", "info", *where).stdout
    assert "50 requests, 50 rows outside --where left out" in output
    assert fk.trace_info(tmp_path / "e.txt", columns=columns, where="kind=D")["requests"] == 50
    run = call("compare", *where, "--ftl", "page").stdout
    assert "Skipped 50 rows not matching kind=D and op!=R|S." in run
    refused = call("compare", *where[:3], "--where", "kin=D", exits=2).stderr
    assert "no column called kin; its columns are time, op, offset, size, kind" in " ".join(refused.split())


@pytest.mark.parametrize(
    ("workload", "line"),
    [
        pytest.param("fin1", "generated, a look-alike of the published trace of this name; 100 requests", id="preset"),
        pytest.param("randwrite", "generated; 100 requests", id="one line"),
    ],
)
def test_trace_info_says_that_a_preset_is_no_trace(workload: str, line: str, call: Call) -> None:
    assert call("trace", "info", workload, "--requests", 100).stdout.splitlines()[1] == line


def test_a_trace_shorter_than_asked_is_named(call: Call, msr: Path) -> None:
    output = call("compare", msr, "--ftl", "page", "--requests", 1_000_000).stdout
    assert "1000000 requests were asked for, but the workload ends after 200; all of them are served, once" in output


def test_one_of_a_kind_is_told_in_the_singular(call: Call, tmp_path: Path) -> None:
    rows = ["time,kind,op,offset,size", "0,Q,W,0,4096", "1,D,W,0,4096"]
    (tmp_path / "e.txt").write_text("\n".join(rows), encoding="utf-8")
    where = (tmp_path / "e.txt", "--columns", "time:us, -, op, offset:B, size:B", "--where", "kind=D")
    info = call("trace", "info", *where).stdout
    assert "1 request, 1 row outside --where left out" in info
    assert re.search(r"1 \(0 reads, 1 write, 0 trims, 0 flushes\)", info), info
    told = " ".join(call("compare", *where, "--ftl", "page", "--capacity", "64MiB").stdout.split())
    assert ", 1 request over 0 ns" in told, told
    assert not re.search(r"\b1 \w+s (over|read|written|were)\b", told), told


def test_a_trace_is_served_several_times(call: Call, msr: Path, tmp_path: Path) -> None:
    assert fk.trace_info(msr)["requests"] == 200
    info = fk.trace_info(msr, repeat=3)
    assert (info["requests"], info["statistics"]["total"]["writes"]) == (600, 3 * 133)
    assert fk.trace_info(msr, repeat=3, requests=450)["requests"] == 450
    output = call("trace", "info", msr, "--repeat", 3).stdout
    assert "600 requests" in output
    call("compare", msr, "--ftl", "page", "--repeat", 3, "--json", "r.json")
    workload = json.loads((tmp_path / "r.json").read_text())["workload"]
    assert (workload["requests"], workload["duration_ns"]) == (600, 599_000_000)
    assert "the 200 requests of the trace are served 3 times, one after another" in workload["facts"]
    assert "--repeat 0: must be at least 1" in call("trace", "info", msr, "--repeat", 0, exits=2).stderr
    refused = call("trace", "info", "fin1", "--repeat", 2, exits=2)
    assert "this workload is generated" in " ".join(refused.stderr.split())


def test_run_takes_a_study(call: Call, msr: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        f'name = "Two"\n[device]\ncapacity = "auto"\n[workload]\ntrace = "{msr.name}"\n'
        '[[ftl]]\nname = "page"\n[[ftl]]\nname = "dftl"\nlabel = "small"\ncmt = "64KiB"\n'
    )
    call("run", "s.toml", "--json", "r.json")
    assert [run["label"] for run in json.loads((tmp_path / "r.json").read_text())["runs"]] == ["page", "small"]


@pytest.mark.parametrize(("kind", "name"), [("schemes", "page"), ("devices", "slc-small"), ("workloads", "fin1")])
def test_catalogues_list_and_show(kind: str, name: str, call: Call) -> None:
    listed, shown = call(kind), call(kind, name)
    assert f"\n{name} " in f"\n{listed.stdout}"
    assert shown.stdout.startswith(name)


def test_a_scheme_is_shown_with_ranges_and_defaults(call: Call) -> None:
    text = call("schemes", "dftl").stdout
    assert re.search(r"cmt = 64KiB", text)
    assert "one of" in text


def test_trace_info_convert_and_generate(call: Call, msr: Path) -> None:
    assert "200 requests" in call("trace", "info", msr).stdout
    assert json.loads(call("trace", "info", msr, "--json").stdout)["format"] == "msr"
    converted = call("trace", "convert", msr, "c.parquet")
    assert converted.stderr.splitlines() == [f"read {msr} as msr: 200 requests", "wrote c.parquet"]
    assert "parquet" in call("trace", "info", "c.parquet").stdout
    assert "300 requests" in call("trace", "generate", "fin1", "g.parquet", "--requests", 300, "--seed", 2).stderr
    assert "300 requests" in call("trace", "info", "g.parquet").stdout


def test_trace_info_shows_locality_by_window(call: Call) -> None:
    shown = call("trace", "info", "fin1", "--requests", 3000).stdout
    locality = fk.trace_info("fin1", requests=3000)["statistics"]["locality"]
    assert (locality["page_bytes"], locality["block_bytes"]) == (2048, 131072)
    lengths = [row["pages"] for row in locality["windows"]]
    assert lengths == [1024 * 4**n for n in range(len(lengths))]
    assert locality["windows"][0]["windows"] == locality["written_pages"] // 1024
    assert locality["windows"][-1]["windows"] == 0
    rows = [line.split() for line in shown.splitlines() if line.startswith(("2 MiB", "all"))]
    for row, line in zip((locality["windows"][0], locality["windows"][-1]), rows, strict=True):
        assert f"{row['rewritten_percent']:.1f}" in line
        assert str(round(row["logical_blocks"])) in line


@pytest.mark.full
def test_a_look_alike_is_a_study_with_what_it_rests_on_as_the_terminal_says(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[Json] = []
    fits = fk.trace_fit

    def noted(*asked: Any, **options: Any) -> Json:  # noqa: ANN401 - as asked
        made.append(fits(*asked, **options))
        return made[-1]

    monkeypatch.setattr("ftlkit.api.traces.trace_fit", noted)
    completed = call("trace", "fit", "iozone-80", "like.toml", "--requests", 1500)
    (fit,) = made
    told = list(verdict(fit["validation"]))
    assert completed.stderr.splitlines()[-len(told) - 1 :] == [
        *told,
        f"wrote like.toml: 1,500 requests, misfit {fit['misfit']:.2f}",
    ]
    text = (tmp_path / "like.toml").read_text(encoding="utf-8")
    assert text == preset_toml(fit)
    assert text.startswith("# A look-alike of iozone-80 (read as ")
    for comment in (
        "searched: pages rewritten",
        "logical blocks written",
        "counted",
        *(f"# {line}\n" for line in told),
    ):
        assert comment in text
    assert text.count("mean response, µs") == len(STACKS)
    assert "1,500 requests" in call("trace", "generate", "like.toml", "g.parquet").stderr
    total = fk.trace_info("g.parquet")["statistics"]["total"]
    assert total["write_percent"] == 100
    call("run", "like.toml")
    assert {row["figure"] for row in fit["residuals"]} >= {"rewritten_percent", "logical_blocks"}


def test_the_workload_of_a_study_is_generated(call: Call, tmp_path: Path) -> None:
    generator = '[workload.generator]\nrequests = 70\nspan = "1MiB"\n[workload.generator.pattern.zipf]\ntheta = 0.9\n'
    (tmp_path / "g.toml").write_text(f"seed = 5\n{generator}")
    assert "70 requests" in call("trace", "generate", "g.toml", "g.parquet").stderr


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int, results: fk.Results) -> None:
    console = Console(width=width, file=None, record=True, force_terminal=False)
    with console.capture() as captured:
        show(results, console)
    lines = captured.get().splitlines()
    assert max(len(line) for line in lines) <= width
    for words in ("page", "mean", "merges"):
        assert any(words in line for line in lines)


def test_narrow_help_is_readable(start: Start) -> None:
    out, _ = start("compare", "--help", COLUMNS="40").communicate(timeout=60)
    assert max(len(line) for line in out.splitlines()) <= 40


def test_no_colour_codes_without_a_terminal(start: Start) -> None:
    process = start(*SMALL.split())
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "\x1b" not in out + err


def test_docs_have_a_page_a_scheme(tmp_path: Path) -> None:
    written = docs.write(tmp_path)
    parts = [part for part in fk.parts() if part["family"] != "python"]
    assert {path.stem for path in written} == {part["name"] for part in parts} | {"index", "columns", "sources"}
    for scheme in parts:
        text = (tmp_path / "schemes" / f"{scheme['name']}.md").read_text()
        assert text.startswith(f"# {scheme['name']}")
        for heading in ("Idea", "Source", "State", "Costs", "## Parameters"):
            assert heading in text, f"{scheme['name']} has no {heading}"


INDEX = {
    "cloudPhysicsIO.vscsi": ("vscsi", 113_872, 58.7, 36.1, {}),
    "DTRS1K.trace": ("ssdsim", 127_043, 11.0, 55.3, {"format": "ssdsim", "time_unit": "us"}),
    "financial1_first10k.ssdsim.ascii": ("ssdsim", 10_000, 59.2, 5.4, {}),
    "msr-cambridge1-sample.csv": ("msr", 1_000, 49.2, 9.5, {}),
    "tpcc-small.trace": ("mqsim", 6_999, 37.4, 8.3, {"format": "mqsim"}),
    "wsrch-small.trace": ("mqsim", 24_783, 0.02, 15.1, {"format": "mqsim"}),
    "disksim-valid-ascii.trace": ("disksim", 100_000, 20.4, 5.1, {}),
    "java-ext4.blkparse.txt": (
        "blkparse",
        9_886,
        8.6,
        128.4,
        {"blkparse_action": "D", "time_backwards": "sort:4096", "skip_bad": True},
    ),
}
"""Of real traces, counted independently: format, requests, writes, mean KB, remarks."""


@pytest.mark.parametrize("name", INDEX)
def test_real_traces_have_their_known_figures(name: str) -> None:
    folder = traces()
    if folder is None:
        pytest.skip("no folder of real traces: set FTLKIT_TRACES")
    kind, requests, writes, kilobytes, options = INDEX[name]
    info = fk.trace_info(folder / name, **options)  # type: ignore[arg-type]
    total = info["statistics"]["total"]
    assert (info["format"], total["requests"]) == (kind, requests)
    assert total["write_percent"] == pytest.approx(writes, abs=0.06)
    assert total["mean_size_kib"] == pytest.approx(kilobytes, abs=0.06)


RUNNABLE = ["demo", "fdp", "idle", "mapping-cache", "own-trace", "phases", "player", "timeline", "wear"]


@pytest.mark.parametrize("name", RUNNABLE)
def test_examples_can_be_run(name: str, msr: Path) -> None:
    """Each with few requests, unprepared, without oracle; `own-trace` with a trace in its place."""
    study = studies.load(EXAMPLES / f"{name}.toml")
    if "trace" in study["workload"]:
        study["workload"]["trace"] = str(msr)
    study["workload"]["requests"] = 100
    study["run"] |= {"precondition": "none", "skip": 0, "verify": False}
    assert len(fk.run_study(study).labels) == len(study["ftl"])


def test_the_example_of_a_sweep_can_be_run(call: Call, tmp_path: Path) -> None:
    """As it stands, but for fewer requests."""
    text = (EXAMPLES / "sweep.toml").read_text().replace("requests = 100_000", "requests = 100")
    (tmp_path / "sweep.toml").write_text(text, encoding="utf-8")
    told = call("sweep", "sweep.toml").stderr
    assert "54 runs: 0 were in ftlkit-results" in told
    assert "Runs are kept in ftlkit-results, and reused from there (--store)." in told


def test_all_examples_are_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == {*RUNNABLE, "sweep"}


@pytest.mark.parametrize("text", ["1e-5", "1E-5", "+1e-05", ".00001", "1.0e-5", "0.001%"])
def test_numbers_of_settings_may_be_spelled_as_in_toml(text: str) -> None:
    assert builder.value("device.spare", text) == pytest.approx(1e-5)


@pytest.mark.parametrize("text", ["1000000", "1_000_000", "1e6", "1E+6", "1M", "1.0e6", "1000k"])
def test_whole_numbers_of_settings_stay_whole_however_spelled(text: str) -> None:
    value = builder.value("workload.requests", text)
    assert (value, type(value)) == (1_000_000, int)


@pytest.mark.parametrize("text", ["", ".", "e5", "1e", "1__0", "_1", "1_", "nan", "inf", "0x10", "64KiB", "1,5", "-1x"])
def test_settings_that_are_no_numbers_stay_text(text: str) -> None:
    assert builder.value("device.spare", text) == builder.value("workload.requests", text) == text
