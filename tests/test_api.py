"""The Python API: what it runs, what it returns, and that the same study gives the same results."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.main import get_command

import ftlkit as fk
from conftest import Call
from ftlkit import study
from ftlkit.cli import app


def test_runs_have_the_documented_columns(results: fk.Results) -> None:
    assert results.runs.columns == list(fk.RUN_COLUMNS)
    assert results.runs["label"].to_list() == ["page", "block", "fast", "dftl"] == results.labels
    assert set(results.runs["proved"]) == {"this run, one clean cut after a flush"}
    assert all(results.runs["requests"] == 2_000)
    assert all(results.runs["response_mean_ns"] > 0)


def test_every_public_name_is_what_its_module_calls_so() -> None:
    """Also where another module has the same name for something else: the compiled one has."""
    tree = ast.parse(Path(fk.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "__future__"]
    homes = {alias.name: node.module for node in imports for alias in node.names if alias.name != "TYPE_CHECKING"}
    assert sorted(homes) == sorted(fk.__all__)
    # A package of this name may have been loaded before the function; it is called alike (see
    # below).
    for name, home in ((name, home) for name, home in homes.items() if name != "sweep"):
        assert getattr(fk, name) is getattr(importlib.import_module(str(home)), name), name
    assert dir(fk) == sorted(fk.__all__), "nothing but the public names"
    with pytest.raises(AttributeError, match="module ftlkit has no attribute nosuch"):
        _ = fk.nosuch  # type: ignore[attr-defined] # that is the point


def test_operations_add_up_to_what_the_runs_say(results: fk.Results) -> None:
    measured = results.operations.filter(pl.col("cause") != "precondition")
    programs = measured.filter(pl.col("op") == "program").group_by("label").agg(pl.col("count").sum())
    joined = results.runs.join(programs, on="label")
    amplification = joined["count"] / joined["host_pages_written"]
    assert amplification.to_list() == pytest.approx(joined["write_amplification"].to_list())


def test_frames_hold_what_they_describe(results: fk.Results) -> None:
    ends = results.cdf.filter(pl.col("requests") == "all").group_by("label").agg(pl.col("share").max())
    assert ends["share"].to_list() == pytest.approx([1.0] * 4)
    assert set(results.series["label"]) == set(results.labels)
    assert results.series.group_by("label").agg(pl.col("request").max())["request"].to_list() == [2_000] * 4
    blocks = results.erases.group_by("label").agg(pl.col("blocks").sum())["blocks"]
    assert blocks.n_unique() == 1


def test_one_thread_or_many_and_again_give_the_same_events() -> None:
    hashes = [
        fk.compare("fin1", requests=3_000, addresses="dense", threads=threads).runs["event_hash"].to_list()
        for threads in (1, 2, 4, 1)
    ]
    assert hashes[0] == hashes[1] == hashes[2] == hashes[3]
    assert len(set(hashes[0])) == 4


def test_another_seed_gives_other_events() -> None:
    hashes = {
        fk.run(workload="fin1", requests=1_000, addresses="dense", seed=seed).runs["event_hash"][0] for seed in (1, 2)
    }
    assert len(hashes) == 2


def test_a_trace_path_a_table_and_a_study_file_run_alike(msr: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        f'[device]\ncapacity = "auto"\n[workload]\ntrace = "{msr.name}"\n[[ftl]]\nname = "page"\n'
    )
    same = [
        fk.run(workload=msr),
        fk.run(workload=str(msr), ftl={"name": "page"}),
        fk.run(workload={"trace": str(msr)}, device={"capacity": "auto"}),
        fk.run_study(tmp_path / "s.toml"),
    ]
    assert len({results.runs["event_hash"][0] for results in same}) == 1
    assert same[0].runs["requests"][0] == 200


def test_the_resolved_study_of_results_runs_again_to_the_same_events(results: fk.Results) -> None:
    again = fk.run_study(results.document["study"])
    assert again.runs["event_hash"].to_list() == results.runs["event_hash"].to_list()


def test_parameters_of_one_of_several() -> None:
    results = fk.compare("fin1", "dftl,dftl:cmt=128KiB", requests=500, addresses="dense", settings=["dftl.cmt=96KiB"])
    assert results.labels == ["dftl", "dftl:cmt=128KiB"]
    assert results.runs["parameters"].str.extract("cmt=([^ ]+)").to_list() == ["96KiB", "128KiB"]
    ram = results.runs["ram_bytes"].to_list()
    assert ram[0] < ram[1]


def test_check_study_fills_in_what_was_left_out() -> None:
    checked = fk.check_study(
        {"device": {"capacity": "auto"}, "workload": {"preset": "fin1", "requests": 10}, "ftl": [{"name": "dftl"}]}
    )
    assert checked["seed"] == 1
    assert checked["device"]["page_size"] == 4096
    assert "cmt" in checked["ftl"][0]


def test_wrong_types_are_user_errors() -> None:
    with pytest.raises(fk.UserError, match=r"workload\.requests"):
        fk.run(workload={"preset": "fin1", "requests": "many"})
    with pytest.raises(fk.UserError, match="at least one"):
        fk.compare("fin1", [])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workload": 3}, "workload = 3: give a trace's path"),
        ({"ftls": 5}, "ftls = 5: give names by commas"),
        ({"ftls": ["page", 2]}, "ftl = 2: give a name"),
        ({"device": 7}, "device = 7: give a preset's name"),
        ({"speedup": float("nan")}, "workload.speedup = nan: must be a finite number"),
        ({"requests": 10.5}, "workload.requests: must be a whole number, 0 or more, not 10.5"),
        (
            {"precondition": "stead"},
            "run.precondition: there is no `stead`; did you mean steady? Choose from auto, none, fill, steady, work",
        ),
    ],
)
def test_values_of_the_wrong_kind_are_named(wrong: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"workload": "fin1", "ftls": "page", "requests": 10} | wrong
    with pytest.raises(fk.UserError) as caught:
        fk.compare(**options)
    assert message in str(caught.value)
    assert "line 1 column" not in str(caught.value), "the user wrote no such line"


def test_saved_results_load_to_the_same(results: fk.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "r.json")
    loaded = fk.load(tmp_path / "r.json")
    assert loaded.document == results.document
    assert loaded.runs.equals(results.runs)
    results.save(tmp_path / "r.csv")
    results.save(tmp_path / "r.parquet")
    assert pl.read_parquet(tmp_path / "r.parquet").equals(results.runs)
    assert pl.read_csv(tmp_path / "r.csv").columns == results.runs.columns
    with pytest.raises(fk.UserError, match=r"\.json"):
        results.save(tmp_path / "r.xlsx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.json", "r.parquet"]


def test_catalogues_are_whole() -> None:
    assert {"page", "block", "fast", "dftl"} <= {scheme["name"] for scheme in fk.schemes()}
    for scheme in fk.schemes():
        assert scheme["story"]
        assert all(parameter["meaning"] and parameter["source"] for parameter in scheme["parameters"])
    assert {"slc-small", "tlc-nvme"} <= {device["name"] for device in fk.devices()}
    assert all(device["read_latency"] for device in fk.devices())
    assert {"fin1", "fin2", "web_0"} <= {workload["name"] for workload in fk.workloads()}


def test_raw_chip_serves_pages_in_the_times_of_its_data_sheet() -> None:
    """Sensing or programming, and 2112 bytes over the bus."""
    for workload, column, page_us in (("randread", "read_mean_ns", 25), ("seqwrite", "write_mean_ns", 200)):
        runs = fk.compare(workload, "page", device="raw-slc", bs="2k", queue_depth=1, requests=500).runs
        assert runs[column].to_list() == pytest.approx([1_000 * page_us + 20 * 2112])


def test_traces_are_generated_converted_and_described(msr: Path, tmp_path: Path) -> None:
    converted, generated = tmp_path / "c.parquet", tmp_path / "g.parquet"
    assert fk.trace_convert(msr, converted)["requests"] == 200
    assert fk.trace_info(converted)["statistics"]["total"] == fk.trace_info(msr)["statistics"]["total"]
    table = {"requests": 1_000, "span": "1MiB", "pattern": "sequential", "write_share": 1.0}
    assert fk.trace_generate(table, generated)["requests"] == 1_000
    total = fk.trace_info(generated)["statistics"]["total"]
    assert (total["writes"], total["sequential_percent"] > 99) == (1_000, True)


def test_file_workloads_are_traces_with_hints(tmp_path: Path) -> None:
    small = {"personality": "postmark", "files": 200, "volume_bytes": "32MiB", "names": "mix", "interval": 100}
    done = fk.generate_files(small, tmp_path / "f.parquet", operations=2_000)
    frame = pl.read_parquet(tmp_path / "f.parquet")
    assert (len(frame), done["operations"], len(done["intervals"]) > 10) == (done["requests"], 2_000, True)
    assert frame.filter(pl.col("temperature") > 1).height > 100
    assert frame.filter(pl.col("op") == 2).height > 100
    assert any(
        file_type["file_type"] == ".log" and file_type["phi"] > 0 for file_type in done["intervals"][-1]["types"]
    )
    again = fk.generate_files(small, tmp_path / "again.parquet", operations=2_000)
    assert pl.read_parquet(tmp_path / "again.parquet").equals(frame)
    assert again == done
    for wrong, words in (
        ({"personality": "postmarc"}, "postmarc"),
        (small | {"alpha": 2}, "alpha = 2"),
        (small | {"file": 3}, "file"),
    ):
        with pytest.raises(fk.UserError, match=words):
            fk.generate_files(wrong, tmp_path / "wrong.parquet")
    plain = fk.run(workload=tmp_path / "f.parquet", ftl="fast+dynamic", precondition="none")
    hinted = fk.run(workload=tmp_path / "f.parquet", ftl="fast+saw", precondition="none")
    assert plain.runs["event_hash"][0] != hinted.runs["event_hash"][0]


def test_a_generated_trace_is_what_a_study_generates(tmp_path: Path) -> None:
    preset = next(workload for workload in fk.workloads() if workload["name"] == "fin1")
    fk.trace_generate(preset["generator"] | {"requests": 500}, tmp_path / "g.parquet", seed=3)
    written = fk.run(workload=tmp_path / "g.parquet", addresses="dense")
    direct = fk.run(workload="fin1", requests=500, addresses="dense", seed=3)
    assert written.runs["event_hash"][0] == direct.runs["event_hash"][0]


def test_trace_info_takes_one_device_of_several(tmp_path: Path) -> None:
    rows = [f"{128_166_372_000_000_000 + i},h,{i % 2},Write,{i * 4096},4096,1" for i in range(10)]
    (tmp_path / "two.csv").write_text("\n".join(rows))
    both, one = fk.trace_info(tmp_path / "two.csv"), fk.trace_info(tmp_path / "two.csv", trace_device="h_1")
    assert [device["device"] for device in both["statistics"]["devices"]] == ["h_0", "h_1"]
    assert one["statistics"]["total"]["requests"] == 5
    with pytest.raises(fk.UserError, match="h_0, h_1"):
        fk.trace_info(tmp_path / "two.csv", trace_device="h_2")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("device.channels=2", 2), ("device.spare=0.2", 0.2), ("run.verify=true", True), ("device.capacity=8GiB", "8GiB")],
)
def test_settings_of_sections_are_read_as_toml_would(setting: str, value: object) -> None:
    section, key = setting.partition("=")[0].split(".")
    built = study.build("fin1", "page", None, {"settings": [setting]})
    assert built[section][key] == value
    assert json.loads(json.dumps(built)) == built


MISSPELLED = [
    (lambda: fk.compare("fin1", ["page"], precondiiton="steady"), "precondiiton", "precondition"),  # type: ignore[call-arg]
    (lambda: fk.run(workload="fin1", request=3), "request", "requests"),  # type: ignore[call-arg]
    (lambda: fk.trace_info("fin1", fromat="msr"), "fromat", "format"),  # type: ignore[call-arg]
    (lambda: fk.trace_convert("a.csv", "b.csv", skipbad=True), "skipbad", "skip_bad"),  # type: ignore[call-arg]
    (lambda: fk.serve("d.img", sokcet="s"), "sokcet", "socket"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(
    ("call", "wrong", "right"), MISSPELLED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_misspelled_option_is_refused_with_the_near_name(call: Callable[[], object], wrong: str, right: str) -> None:
    with pytest.raises(fk.UserError, match=rf"^{wrong} is no option of \w+\. Did you mean {right}\?"):
        call()


def test_signatures_name_every_option() -> None:
    for function in (fk.run, fk.compare):
        assert {"precondition", "queue_depth", "format", "requests", "verify"} <= set(signature(function).parameters)
    for call in (fk.run, fk.compare, fk.trace_info, fk.trace_convert, fk.trace_generate, fk.torture, fk.serve):
        kinds = {parameter.kind for parameter in signature(call).parameters.values()}
        assert not kinds & {Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL}, call.__name__


def test_the_options_are_those_of_the_command() -> None:
    """What the command line offers, Python offers under the same name, and the other way round."""
    click = get_command(app).commands["compare"].loaded()  # type: ignore[attr-defined] # a group
    outputs = {"report", "json", "csv", "parquet", "series", "timeline", "timeline_window", "ftl", "workload"}
    outputs |= {"player", "player_window"}
    offered = {option.name for option in click.params} - outputs - {"help"}
    named = {"format_": "format", "setting": "settings"}
    python = set(signature(fk.compare).parameters) - {"workload", "ftls", "watcher", "timeline", "flash_trace"}
    assert {named.get(name, name) for name in offered} == python


def test_a_notebook_shows_the_verdict_and_the_table(results: fk.Results) -> None:
    shown = results._repr_html_()
    assert shown.count("<tr>") == 1 + len(results.labels)
    assert "answers fastest" in shown
    assert "<script" not in shown


def test_the_verdict_is_text_and_parts(results: fk.Results) -> None:
    assert str(results.verdict).startswith(results.verdict.headline.replace("\N{NO-BREAK SPACE}", " "))
    for sentence in (*results.verdict.reasons, *results.verdict.costs, *results.verdict.cautions):
        assert sentence.replace("\N{NO-BREAK SPACE}", " ") in str(results.verdict)


WORKLOAD = {"generator": {"requests": 300, "span": "4MiB", "write_share": 1.0}}


def test_a_stack_is_spelled_the_same_everywhere(tmp_path: Path) -> None:
    spelled = "page:gc_threshold=2+dynamic"
    device = {"capacity": "8MiB", "spare": 0.3}
    made = fk.run(workload=WORKLOAD, ftl=spelled, device=device, loop="closed")
    run = made.document["runs"][0]
    assert (run["label"], run["ftl"], run["stack"]) == (spelled, "page+dynamic", spelled)
    assert run["parameters"]["gc_threshold"] == "2"
    again = fk.run(workload=WORKLOAD, ftl={"name": "page+dynamic", "gc_threshold": 2}, device=device, loop="closed")
    assert again.document["runs"][0]["event_hash"] == run["event_hash"]
    resolved = made.document["study"]["ftl"][0]
    assert fk.run(workload=WORKLOAD, ftl=resolved, device=device, loop="closed").labels == [spelled]
    image = fk.create_image(tmp_path / "disk.img", spelled, device=device)
    assert image["stack"].startswith("page:")
    assert image["stack"].endswith("+dynamic:free_blocks=rested")


def test_what_is_wrong_with_a_stack_is_named() -> None:
    for text, words in [
        ("page+dynamicc", "there is no wear policy or write buffer dynamicc. Did you mean dynamic?"),
        ("page+", "behind + there must be"),
        ("page:d", "KEY=VALUE"),
        ("page:d=2:d=3", "page.d is given twice"),
        ("page+fast", "fast is a mapping"),
    ]:
        with pytest.raises(fk.UserError, match=re.escape(words)):
            fk.run(workload=WORKLOAD, ftl=text, loop="closed")


def test_a_sweep_in_python_is_that_of_the_command(call: Call, tmp_path: Path) -> None:
    swept = fk.sweep(
        "fin1", "page,dftl", vary="device.spare=0.1,0.2", store=tmp_path / "s", requests=2_000, addresses="dense"
    )
    assert swept.frame.select("label", "device.spare").rows() == [
        ("page", "0.1"),
        ("page", "0.2"),
        ("dftl", "0.1"),
        ("dftl", "0.2"),
    ]
    assert not swept.failed
    arguments = ("fin1", "--ftl", "page,dftl", "--vary", "device.spare=0.1,0.2", "--requests", 2_000)
    completed = call("sweep", *arguments, "--addresses", "dense", "--store", tmp_path / "s")
    assert "4 points: 4 were in" in completed.stderr
    swept.report(tmp_path / "s.html")
    assert "device.spare" in (tmp_path / "s.html").read_text(encoding="utf-8")
    with pytest.raises(fk.UserError, match="was given beside the study"):
        fk.sweep("x.toml", "page")


def test_a_sweep_can_be_called_whatever_was_loaded_before() -> None:
    code = "import ftlkit as fk, ftlkit.sweeps.plan; fk.sweep('nosuch')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "nosuch: no such file, and no workload preset" in done.stderr


def test_results_and_curves_draw_the_charts_of_their_reports(results: fk.Results) -> None:
    assert "<svg" in results.chart("operations")._repr_html_()
    with pytest.raises(fk.UserError, match=r"no chart flow\. There are response-cdf, tail"):
        results.chart("flow")
    hits = fk.curve("fin1", requests=500, addresses="dense")
    assert "<svg" in hits.chart()._repr_html_()
