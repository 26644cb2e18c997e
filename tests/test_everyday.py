"""What people type: everyday units and names, workloads in one line, the line that was meant."""

import inspect
import io
import json
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import ftlkit as fk
import reproduction
from conftest import LONG, Call
from ftlkit import reproduce, study
from ftlkit._native import UserError
from ftlkit._util import trace_files, units
from ftlkit.advice.run import heads
from ftlkit.advice.space import holders
from ftlkit.cli import app
from ftlkit.cli.everyday import corrected
from ftlkit.report.tables import ram, stream_columns, streams
from ftlkit.study import Options, bare_sizes, builder, fio_job, one_line, slices
from ftlkit.sweeps import values

QUICK = ("--requests", "1k", "--capacity", "64m", "--ftl", "page")


def built(workload: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - options of any type
    """The study of a workload on a small device."""
    return study.build(workload, "page", None, {"capacity": "64m", **options})  # type: ignore[typeddict-item]


def test_everyday_numbers_and_names_are_taken(call: Call) -> None:
    shown = call("compare", "fin1", "--requests", "1e3", "--addresses", "dense", "--ftl", "PAGE", "DFTL:cmt=4k")
    assert "dftl:cmt=4k" in shown.stdout
    assert "dftl.cmt = 4k is 4 KiB" in shown.stdout, "the header says what a bare letter is"


def test_options_in_python_take_the_same_texts() -> None:
    assert built("fin1", requests="10k")["workload"]["requests"] == 10_000
    assert built("fin1", settings=["host.queue_depth=1e1"])["host"]["queue_depth"] == 10
    assert built("fin1", settings=["device.spare=7%"])["device"]["spare"] == pytest.approx(0.07)
    assert builder.device_table("7450") == {"preset": "7450-like"}
    with pytest.raises(UserError, match="970-pro-like"):
        builder.device_table("like")


def test_varied_values_with_letters_have_the_unit_of_their_key() -> None:
    assert values.axis("dftl.cmt", "16k..64k:x2,1m").values() == ["16KiB", "32KiB", "64KiB", "1MiB"]
    assert values.axis("host.queue_depth", "1k,2k").values() == ["1000", "2000"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("compare fin1 --ftl dftk --requests 100", "ftlkit compare fin1 --ftl dftl --requests 100"),
        ("compare fin1 --precondition stead", "ftlkit compare fin1 --precondition steady"),
        ("compare fin1 --preconditon fill", "ftlkit compare fin1 --precondition fill"),
        ("compar fin1", "ftlkit compare fin1"),
        ("compare fin11 --ftl page", "ftlkit compare fin1 --ftl page"),
        (
            "compare fin1 --capacity 64MIB --ftl dftl:cmt=4KB",
            "ftlkit compare fin1 --capacity 64MIB --ftl dftl:cmt=4KiB",
        ),
        ("compare randwrite --in-use 80", "ftlkit compare randwrite --in-use 80%"),
        ("advise randrw --write-share 30", "ftlkit advise randrw --write-share 30%"),
        ("compare randwrite --reprt", "ftlkit compare randwrite --report FILE.html"),
        ("compare randwrite --reprt p.html", "ftlkit compare randwrite --report p.html"),
        ("compare fin1 --verfy --ftl page", "ftlkit compare fin1 --verify --ftl page"),
        ("compare fin1 --set device.spares=0.1", "ftlkit compare fin1 --set device.spare=0.1"),
        ("compare fin1 --ftl dftl:cmtt=32KiB", "ftlkit compare fin1 --ftl dftl:cmt=32KiB"),
        ("compare fin1 --ftl page:victm=fifo", "ftlkit compare fin1 --ftl page:victim=fifo"),
        ("compare fin1 --ftl page:victim=gredy", "ftlkit compare fin1 --ftl page:victim=greedy"),
        ("compare fin1 --ftl page+lru:rem=1MiB", "ftlkit compare fin1 --ftl page+lru:ram=1MiB"),
        ("sweep fin1 --vary run.in_us=0.5,1", "ftlkit sweep fin1 --vary run.in_use=0.5,1"),
        ("compare fin1 --set devce.spare=0.1", "ftlkit compare fin1 --set device.spare=0.1"),
        ("compare fin1 --set mapping_unit=64k", "ftlkit compare fin1 --set device.mapping_unit=64k"),
        ("compare fin1 --ftl page,dftl --set dtl.cmt=4k", "ftlkit compare fin1 --ftl page,dftl --set dftl.cmt=4k"),
        ("compare zipf --skip 80 --in-use 80", "ftlkit compare zipf --skip 80 --in-use 80%"),
        ("compare zipff --bs 16k", "ftlkit compare zipf --bs 16k"),
        ("advise zipf --goal life --goal WA", "ftlkit advise zipf --goal wa"),
        ("advise zipf --goal WA --ram 1KiB --ram=32KB --goal life", "ftlkit advise zipf --ram=32KiB --goal life"),
        (
            "compare zipf --ftl dftk --set host.loop=open --set run.skip=1",
            "ftlkit compare zipf --ftl dftl --set host.loop=open --set run.skip=1",
        ),
        ("compare zipf --flt page", "ftlkit compare zipf --ftl page"),
        ("compare randrw --read-share 70%", "ftlkit compare --help"),
        ("compare randrw --no-report", "ftlkit compare --help"),
        ("curve cache zipf --in-use 80%", "ftlkit curve cache --help"),
    ],
    ids=lambda text: text.split()[-1],
)
def test_an_error_ends_with_the_line_that_was_meant(typed: str, meant: str, call: Call) -> None:
    result = call(*typed.split(), exits=2)
    assert result.stderr.splitlines()[-1] == f"Try: {meant}"


def test_an_error_of_the_module_names_the_command() -> None:
    ended = CliRunner().invoke(app, ["curve", "cache", "zipf", "--in-use", "80%"], prog_name="python -m ftlkit")
    assert ended.stderr.splitlines()[-1] == "Try: ftlkit curve cache --help"


@pytest.mark.parametrize(
    ("size", "options", "meant"),
    [
        ("size=800G", "--in-use 80%", "--in-use 89.4%"),
        ("filesize=800G", "--in-use 700GB", "--in-use 89.4%"),
        ("size=2T", "--in-use=80%", "--in-use=80% --span 715GiB"),
        ("size=2T", "", "--span 894GiB"),
    ],
)
def test_a_job_larger_than_the_drive_is_refused_before_any_work(
    size: str, options: str, meant: str, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tmp_path / "db.fio"
    job.write_text(f"[db]\nrw=randrw\nbs=4k\n{size}\n", encoding="utf-8")
    monkeypatch.setattr("ftlkit._native.check_study", None)
    typed = f"advise {job} --device 7450-like {options}".split()
    last = call(*typed, exits=2).stderr.splitlines()[-1]
    assert last == f"Try: ftlkit advise {job} --device 7450-like {meant}"


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--spare", "It is a key of the study: --set device.spare=VALUE"),
        ("--mapping-unit", "It is a key of the study: --set device.mapping_unit=VALUE"),
        ("--op", "It is a key of the study: --set device.op=VALUE"),
    ],
)
def test_a_key_typed_as_an_option_is_told_with_set(flag: str, said: str, call: Call) -> None:
    stderr = " ".join(call("advise", "zipf", flag, "7%", exits=2).stderr.split())
    assert f"No such option: {flag}. {said}" in stderr


def test_an_option_of_other_commands_is_not_taken_for_another(call: Call) -> None:
    assert "--theta x" not in call("curve", "cache", "fin1", "--threads", "x", exits=2).stderr


GOOD = (
    "compare zipf --ftl page,dftl --requests 200 --capacity 64m --set dftl.cmt=64KiB --set host.loop=open",
    "compare randrw --device slc-small --ftl page --requests 200 --in-use 80% --write-share 30% --set run.verify=true",
    "sweep zipf --ftl page --vary device.spare=0.1,0.2 --requests 200 --capacity 64m --no-clock",
    "curve spare randwrite --requests 200 --capacity 64m --spares 0.1,0.2",
    "curve depth zipf --requests 200 --capacity 64m --depths 1,4 --span 32m --theta 0.9",
    "trace info randrw --bs 8k --write-share 30% --requests 200",
    "devices 7450-like",
    "workloads zipf",
)
"""Lines that are mistyped below: a letter left out, doubled, swapped with the next or replaced."""


def mistyped() -> list[tuple[str, str]]:
    """All lines with one mistake each, or some of them, beside those that were meant."""
    rng = random.Random(7)  # noqa: S311 - a test's numbers
    made = set()
    for line in GOOD:
        for word in re.finditer(r"[A-Za-z_]{3,}", line):
            at = rng.randrange(word.start() + 1, word.end() - 1)
            start, here, after, end = line[:at], line[at], line[at + 1], line[at + 2 :]
            letters = (after, here + here + after, after + here, rng.choice("aeioxst") + after)
            made |= {(f"{start}{other}{end}", line) for other in letters}
    every = sorted(pair for pair in made if pair[0] not in GOOD)
    return every if LONG else rng.sample(every, 20)


@pytest.mark.parametrize(("typed", "good"), mistyped())
def test_a_line_to_try_is_accepted(typed: str, good: str, call: Call) -> None:
    *_, last = call(*typed.split(), exits=2).stderr.splitlines()
    if last.startswith("Try: ") and not last.endswith(" --help"):
        meant = last.removeprefix("Try: ftlkit ")
        call(*meant.split())
        assert meant == good


def test_a_verified_run_says_what_was_checked(call: Call) -> None:
    reads = fk.compare("randrw", "page", requests=1000, capacity="64m").document["runs"][0]["host_pages_read"]
    line = ("compare", "randrw", *QUICK)
    shown = " ".join(call(*line, "--verify").stdout.split())
    assert f"Verified by the oracle: {reads:,} page reads of the workload" in shown
    assert "Verified" not in call(*line).stdout


def test_a_verified_run_tells_its_mount_and_the_ram_for_it(call: Call) -> None:
    line = ("compare", "randwrite", "--requests", "2000", "--capacity", "128m", "--verify")
    shown = call(*line, "--ftl", "page:checkpoint=summaries").stdout
    *_, table = shown.partition("Mount after a power cut\n")
    run = fk.compare("randwrite", "page:checkpoint=summaries", requests=2000, capacity="128m", verify=True).document
    (measured,) = run["runs"]
    mount = measured["mount"]
    assert mount is not None
    assert measured["footprint"]["structures"][1]["name"] == "block summaries"
    kept = measured["footprint"]["structures"][1]["ram_bytes"]
    for cell in (units.duration(mount["time_ns"]), units.count(mount["reads"]), units.size(kept)):
        assert units.typed(cell) in units.typed(table.partition("Verified")[0])
    assert "Mount after" not in call("compare", "randrw", *QUICK).stdout


def test_an_option_of_other_commands_is_told_with_them(call: Call) -> None:
    told = call("compare", "zipf", "--goal", "life", exits=2).stderr
    assert "No such option: --goal here. Commands that have it: sweep, fleet, advise\n" in told


def test_no_percent_is_guessed_of_a_percentage(call: Call) -> None:
    assert "Did you mean" not in call("compare", "zipf", "--in-use", "180%", exits=2).stderr


@pytest.mark.parametrize("command", [("trace", "info"), ("compare", "--ftl", "page")], ids=lambda words: words[0])
def test_several_files_of_a_trace_are_answered_with_a_quoted_pattern(
    command: tuple[str, ...], call: Call, tmp_path: Path
) -> None:
    files = [tmp_path / f"lun{number}.csv" for number in (0, 1, 10)]
    for file in files:
        file.write_text("")
    result = call(*command, *files, exits=2)
    assert result.stderr.splitlines()[-1] == f"Try: ftlkit {' '.join(command)} '{tmp_path}/lun*.csv'"
    assert "pattern" in result.stderr
    other = call(*command, *files[:2], exits=2)
    assert "--help" in other.stderr.splitlines()[-1], "the pattern would name a third file"


def test_nothing_is_corrected_without_a_likely_word() -> None:
    assert corrected("there is no such file", ["compare", "x"]) is None
    assert corrected("Did you mean dftl?", ["compare", "--ftl", "zzz"]) is None


def test_help_has_short_forms(call: Call) -> None:
    assert call("-h").stdout == call("--help").stdout == call("help").stdout
    assert call("help", "devices").stdout == call("devices", "-h").stdout


def test_standard_input_is_a_trace(msr: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Piped:
        buffer = io.BytesIO(msr.read_bytes())

        def isatty(self) -> bool:
            return False

    trace_files.standard_input.cache_clear()
    monkeypatch.setattr(sys, "stdin", Piped())
    piped = fk.trace_info("-")
    trace_files.standard_input.cache_clear()
    assert piped["statistics"] == fk.trace_info(msr)["statistics"]


def test_a_bare_number_of_few_bytes_is_told() -> None:
    document = study.build("fin1", "dftl:cmt=64", None, {"capacity": "64MiB"})
    assert "dftl.cmt = 64 is 64" in (bare_sizes.told(document, {}) or "")
    assert bare_sizes.told(built("fin1", capacity="64MiB"), {}) is None


def test_a_workload_in_one_line_is_a_table_of_a_study() -> None:
    made = built("randrw", bs="8k", queue_depth=4, write_share="30%", in_use="50%")
    generator = made["workload"]["generator"]
    assert (generator["unit"], generator["write_share"], generator["span"]) == (8192, "30%", 32 << 20)
    assert made["host"] == {"loop": "closed", "queue_depth": 4}
    assert made["run"] == {"precondition": "steady", "in_use": 0.5}
    assert built("seqread")["run"]["precondition"] == "fill"
    assert built("log")["workload"]["generator"]["flush_every"] == 1
    assert built("log")["host"] == {"loop": "closed", "queue_depth": 1}, (
        "an append waits for the flush of the one before"
    )
    assert built("log", queue_depth=8)["host"]["queue_depth"] == 8
    assert built("zipf", theta=1.2)["workload"]["generator"]["pattern"] == {"zipf": {"theta": 1.2}}


def test_the_writers_of_a_flash_cache_have_streams_that_isolate_them() -> None:
    stacks = "page:streams=hints:hint_streams=3,page:streams=shared"
    results = fk.compare("cachelib", stacks, capacity="64m", requests=60_000, clock=False)
    hinted, shared = results.runs["page_write_amplification"]
    assert hinted < 1.1
    assert shared > 1.3
    _, small, large = results.streams["host_pages"][:3]
    assert small / large == pytest.approx(1, rel=0.05)
    rows = {row["stream"]: row["cells"] for row in streams(results)}
    assert stream_columns(results)[-2:] == ["for 1", "for 2"]
    assert [*rows] == ["0", "1", "2", "3, collected"]
    (moved, mine, for_others), frame = (int(rows["1"][place].replace(",", "")) for place in (1, 4, 5)), results.streams
    assert moved == mine + for_others == frame["moved_pages"][1]
    assert for_others == frame["moved_for_others"][1] > 0


def test_the_span_of_a_named_device_is_what_is_in_use_of_it() -> None:
    made = study.build("randwrite", "page", "7450", {"in_use": 0.5})
    assert made["device"] == {"preset": "7450-like", "slice": "auto"}
    _, size = slices.sizes(made["device"]) or (0, 0)
    assert size
    assert made["workload"]["generator"]["span"] == pytest.approx(0.5 * size, rel=0.01)


def drawn_shares() -> list[tuple[str | float, int, int]]:
    """Shares in use, bytes of a request and blocks of a plane."""
    rng = random.Random(8)  # noqa: S311 - a test's numbers
    units_of_requests = [512, 3000, 4096, 8192, 20_000, 65_536]
    return [
        (
            f"{rng.randint(300, 900) / 10}%" if rng.random() < 0.5 else round(rng.uniform(0.3, 0.9), rng.randint(1, 4)),
            rng.choice(units_of_requests),
            rng.randint(60, 200),
        )
        for _ in range(200 if LONG else 15)
    ]


@pytest.mark.parametrize(("share", "unit", "blocks"), drawn_shares(), ids=str)
def test_a_span_that_follows_from_the_share_in_use_is_accepted(share: str | float, unit: int, blocks: int) -> None:
    """Also where it ends within a page: the last requests of a whole pass touch that."""
    shape = {"channels": 1, "dies_per_channel": 1, "planes_per_die": 1, "pages_per_block": 64, "page_size": "16KiB"}
    device = {**shape, "blocks_per_plane": blocks, "slice": "all"}
    generator = {"pattern": "sequential", "unit": unit, "span": "device"}
    document: dict[str, Any] = {
        "device": device,
        "workload": {"generator": generator},
        "host": {"loop": "closed"},
        "run": {"in_use": share, "precondition": "fill"},
        "ftl": [{"name": "page"}],
    }
    fitted = {**document}
    one_line.fit(fitted)
    requests = fitted["workload"]["generator"]["span"] // unit
    fk.check_study(document | {"workload": {"generator": generator | {"requests": requests}}})


def test_a_size_in_use_is_the_same_bytes_whatever_the_spare(call: Call) -> None:
    device = ("--device", "slc-small", "--set", "device.blocks_per_plane=128", "--requests", 30_000, "--ftl", "page")
    found = []
    for spare in ("0.1", "0.2"):
        shown = call(
            "compare", "randwrite", *device, "--in-use", "60MB", "--set", f"device.spare={spare}", "--json", "-"
        )
        document = json.loads(shown.stdout)
        found.append(document["study"]["run"]["in_use"] * document["device"]["logical_bytes"])
    assert found == pytest.approx([60e6, 60e6])
    curve = call(
        "curve", "spare", "randwrite", *device, "--in-use", "60MB", "--spares", "0.1,0.2", "--daily-writes", "1GB"
    )
    assert "they shrink" not in curve.stderr
    assert "Life: 1.00 GB per day, 100,000 erases per block" in " ".join(curve.stderr.split())
    assert re.search(r"uniform, greedy +life.*\n.* years\n", curve.stdout)
    error = call("compare", "randwrite", *device, "--in-use", "200MB", exits=2).stderr
    assert "--in-use 200MB: the drive has " in error


@pytest.mark.parametrize(
    ("workload", "options", "is_told"),
    [
        ("randwrite", ("--span", "16m"), True),
        ("randwrite", ("--span", "16m", "--in-use", "50%"), False),
        ("randwrite", (), False),
        ("randwrite", ("--span", "16m", "--precondition", "none"), False),
        ("fin1", ("--addresses", "dense", "--precondition", "fill"), True),
    ],
    ids=str,
)
def test_the_header_says_that_all_is_in_use_where_the_workload_spans_less(
    workload: str, options: tuple[str, ...], *, is_told: bool, call: Call
) -> None:
    shown = " ".join(call("compare", workload, *QUICK, *options).stdout.split())
    assert ("all of the capacity in use (no --in-use given)" in shown) == is_told


@pytest.mark.parametrize("unit", ["KB", "Kb", "kb", "mb", "Mb", "mB", "gb", "Gb", "gB", "tb", "pb"])
def test_units_are_one_grammar_wherever_a_size_is_given(unit: str, call: Call, tmp_path: Path) -> None:
    """What may be a power of 1024 or of 1000 is refused with both, in options, files and Python."""
    letter = unit[0].upper()
    readings = f"did you mean 32{letter}iB or 32{'k' if letter == 'K' else letter}B"
    text = f"32{unit}"
    for line in (
        ("advise", "zipf", "--trials", "1", "--requests", "100", "--ram", text),
        ("compare", "zipf", "--capacity", text),
        ("compare", "zipf", "--span", text),
        ("compare", "zipf", "--in-use", text),
        ("compare", "zipf", "--daily-writes", text),
        ("compare", "zipf", "--ftl", f"dftl:cmt={text}"),
    ):
        assert readings in " ".join(call(*line, exits=2).stderr.split()), line
    (tmp_path / "s.toml").write_text(
        f'[device]\ncapacity = "{text}"\n[workload]\npreset = "fin1"\n[[ftl]]\nname = "page"\n'
    )
    assert readings in " ".join(call("run", "s.toml", exits=2).stderr.split())
    with pytest.raises(UserError, match=readings):
        fk.check_study(study.build("fin1", "page", None, {"capacity": text}))


def test_span_of_the_device_works_in_files_and_reproductions(tmp_path: Path) -> None:
    generator = 'span = "device", requests = 100, write_share = 1.0, pattern = "uniform"'
    file = tmp_path / "s.toml"
    file.write_text(
        f'[device]\ncapacity = "64MiB"\n[workload]\ngenerator = {{ {generator} }}\n'
        '[host]\nloop = "closed"\n[run]\nin_use = 0.5\n[[ftl]]\nname = "page"\n'
    )
    assert fk.run_study(file).document["study"]["workload"]["generator"]["span"] == 32 << 20
    workload = '{ preset = "fin1", requests = 4000, addresses = "wrap" }'
    text = reproduction.STUDY.replace(workload, f'{{ label = "all", generator = {{ {generator} }} }}')
    file.write_text(text.partition("[figures")[0] + "[claims" + text.partition("[claims")[2], encoding="utf-8")
    points = reproduce.reproduce(reproduce.load(file)).points
    assert points
    assert not any(point.error for point in points)


def test_a_span_that_is_given_holds_with_and_without_a_device() -> None:
    assert study.workload("zipf", {"span": "64MiB"})["generator"]["span"] == 64 << 20
    assert built("zipf", span="64MiB")["workload"]["generator"]["span"] == 64 << 20
    made = study.build("zipf", "page", "7450", {"span": "89.5GiB"})
    assert "span" not in made["workload"]
    drive, size = slices.sizes(made["device"]) or (0, 0)
    assert made["workload"]["generator"]["span"] == pytest.approx(89.5 * (1 << 30) * size / drive, rel=1e-4)


@pytest.mark.parametrize("capacity", [{}, {"capacity": "auto"}], ids=["none", "auto"])
def test_a_device_without_a_size_is_as_large_as_a_large_span(capacity: Options) -> None:
    made = study.build("zipf", "page", None, {"span": "3GiB", **capacity})
    assert made["device"]["capacity"] == made["workload"]["generator"]["span"] == 3 << 30
    assert study.build("zipf", "page", None, {"span": "64MiB", **capacity})["device"]["capacity"] == one_line.SPAN
    with pytest.raises(UserError, match=r"^device\.capacity: .* need \d+ physical pages"):
        fk.check_study(study.build("zipf", "page", None, {"span": "90TiB", "requests": 10, **capacity}))


def test_shapes_are_refused_where_they_say_nothing() -> None:
    for workload, options, part in (
        ("fin1", {"bs": "4k"}, "--bs 4k: only workloads in one line"),
        ("randwrite", {"theta": 1.0}, "only zipf"),
        ("log", {"write_share": 0.5}, "a log only writes"),
        ("cachelib", {"write_share": 0.5}, "a cachelib only writes"),
        ("randwrite", {"bs": "4KB"}, "did you mean 4KiB"),
        ("randwrite", {"bs": "4"}, "--bs 4: is less than a sector. Did you mean 4k"),
        ("randwrite", {"bs": "511"}, "need their unit: 511B"),
    ):
        with pytest.raises(UserError, match=part):
            built(workload, **options)


@pytest.mark.parametrize("name", ["db.fio", "t.csv", "s.toml"])
def test_a_file_among_workloads_is_answered_with_its_facts(name: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert f"For its facts: ftlkit trace info {name}" in call("workloads", name, exits=2).stderr


def test_a_file_of_the_name_of_a_workload_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("randwrite").touch()
    with pytest.raises(UserError, match=r"write preset:randwrite or \./randwrite"):
        built("randwrite")
    assert "generator" in built("preset:randwrite")["workload"]
    assert built("./randwrite")["workload"] == {"trace": "./randwrite"}


@pytest.mark.parametrize("name", ["randwrite", "randread", "randrw", "seqwrite", "seqread", "zipf", "log"])
def test_each_workload_in_one_line_runs(name: str, call: Call) -> None:
    assert name in call("workloads").stdout
    call("workloads", name)
    call("compare", name, *QUICK, "--json", "-")
    requests = fk.trace_info(name, requests=1000)["statistics"]["total"]
    assert (requests["writes"] > 0) == (name not in ("randread", "seqread"))


JOB = """
[global]
ioengine=libaio
iodepth=16
numjobs=2
[mix]
rw=randrw
rwmixread=70
bs=4kb
size=32m
fsync=8
zonesize=1m
[other]
rw=read
"""


def test_a_fio_job_is_read_and_what_is_not_is_named(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    with pytest.warns(RuntimeWarning, match=r"not read: zonesize=1m\.$"):
        made = built(f"{path}:mix")
    generator = made["workload"]["generator"]
    assert generator["write_share"] == pytest.approx(0.3)
    assert (generator["unit"], generator["span"], generator["flush_every"]) == (4096, 32 << 20, 8)
    assert generator["pattern"] == "permutation", "fio keeps a map of what it has visited"
    assert made["host"] == {"loop": "closed", "queue_depth": 32}
    with pytest.raises(UserError, match="has no job none"):
        built(f"{path}:none")


FIO_VALUES = {"rw": "randrw", "random_distribution": "zipf:1.2", "ioengine": "libaio", "bsrange": "4k-8k"}


def test_keys_of_fio_jobs_that_are_listed_are_those_read(call: Call, tmp_path: Path) -> None:
    keys = ", ".join(fio_job.KEYS).split(", ")
    taken = r'(?:_take|_count|_keys\.get)\("(\w+)"'
    assert {*re.findall(taken, inspect.getsource(fio_job))} <= {*keys}
    listed = call("workloads", "fio").stdout
    assert all(key in listed for key in (*keys, *fio_job.OTHER_NAMES, *fio_job.HARMLESS))
    path = tmp_path / "one.fio"
    for key in (*keys, *fio_job.OTHER_NAMES):
        value = FIO_VALUES.get(fio_job.OTHER_NAMES.get(key, key), "4")
        path.write_text(f"[one]\nrw=randrw\n{key}={value}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fio_job.load(str(path))


JOBS = """
[global]
ioengine=libaio
size=32m
[data]
rw=randwrite
bs=16k
rate_iops=300
[log]
rw=write
bs=4k
size=16m
rate_iops=600
[scan]
rw=read
bs=64k
rate_iops=100
random_distribution=zoned:80/20:20/80
"""


def test_jobs_that_run_together_are_parts_of_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text(JOBS.replace("rw=read\n", "rw=randread\n"))
    made = built(str(path), capacity="128m")
    generator = made["workload"]["generator"]
    assert (generator["span"], generator["unit"]) == (80 << 20, 4096)
    assert (generator["arrivals"], made["host"]) == ({"constant": {"gap": "1000000ns"}}, {"loop": "open"})
    data, log, *scan = generator["pattern"]["mixed"]
    assert (data["weight"], data["unit"], data["region"], data["write_share"]) == (300, 16384, [0, 0.4], 1)
    assert (log["weight"], log["unit"], log["region"], log["pattern"]) == (
        600,
        4096,
        [0.4, pytest.approx(0.6)],
        "sequential",
    )
    assert [part["weight"] for part in scan] == pytest.approx([80, 20])
    assert sum(part["region"][1] - part["region"][0] for part in scan) == pytest.approx(0.4)
    assert {part["stream"] for part in scan} == {3}
    total = fk.trace_info(str(path), requests=3000)["statistics"]["total"]
    assert total["writes"] / 3000 == pytest.approx(0.9, abs=0.03)


def test_jobs_without_rates_share_by_their_depth(tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text(
        "[global]\nioengine=libaio\nfilename=/dev/x\nsize=64m\n[a]\nrw=randread\niodepth=4\n[b]\nrw=write\niodepth=12\n"
    )
    with pytest.warns(RuntimeWarning, match="as large a share of the requests as of the queue depth"):
        made = built(str(path))
    assert made["host"] == {"loop": "closed", "queue_depth": 16}
    parts = made["workload"]["generator"]["pattern"]["mixed"]
    assert [(part["weight"], part["region"]) for part in parts] == [(4, [0, 1]), (12, [0, 1])], "one file"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("[a]\nsize=1m\n[b]\nsize=1m\nstonewall\n", "run one after the other"),
        ("[a]\nsize=1m\n[b]\n", "only some have a size"),
        ("[a]\nrate_iops=9\n[b]\n", "only some have a rate"),
        ("[a]\nfsync=1\n[b]\n", "flush unlike"),
    ],
    ids=["stonewall", "size", "rate", "fsync"],
)
def test_jobs_that_are_no_single_workload_are_refused_with_the_reason(more: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.fio"
    path.write_text(more)
    with pytest.raises(UserError, match=rf"2 jobs \(a, b\), .*{why}.*: name one. Did you mean {path}:a\?"):
        built(str(path))


@pytest.mark.parametrize(
    ("rw", "keys", "share", "units", "gap"),
    [
        ("randrw", "bs=4k,16k\nrwmixwrite=25", 0.25, [4096, 16384], None),
        ("randwrite", "bs=4k,16k", 1, [16384], None),
        ("randread", "bs=4k,16k,8k", 0, [4096], None),
        ("randwrite", "bs=,16k", 1, [16384], None),
        ("randrw", "rate_iops=3000,1000", 0.25, [4096], "250000ns"),
        ("randwrite", "rate_iops=3000,1000", 1, [4096], "1000000ns"),
        ("randread", "rate_iops=2000,", 0, [4096], "500000ns"),
        ("randrw", "bssplit=4k/50:8k/50,16k/100", 0.5, [4096, 16384], None),
        ("randwrite", "rate=8000k,4000k", 1, [4096], "1000000ns"),
        ("randread", "rate=8000k,4000k", 0, [4096], "500000ns"),
        ("randrw", "rate=2400k,1600k", 0.5, [4096], "1000000ns"),
        ("randwrite", "rate=4000k", 1, [4096], "1000000ns"),
    ],
    ids=str,
)
def test_values_of_a_fio_job_by_direction_are_read(
    rw: str, keys: str, share: float, units: list[int], gap: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "pair.fio"
    path.write_text(f"[one]\nrw={rw}\nsize=32m\n{keys}\n")
    generator = built(str(path))["workload"]["generator"]
    assert generator["write_share"] == share
    pattern = generator["pattern"]
    parts = pattern["mixed"] if isinstance(pattern, dict) else [generator]
    assert [part["unit"] for part in parts] == units
    if gap:
        assert generator["arrivals"] == {"constant": {"gap": gap}}
    if len(parts) == 2:
        assert [(part["weight"], part["write_share"]) for part in parts] == [(1 - share, 0), (share, 1)]


def test_more_values_than_directions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pair.fio"
    path.write_text("[one]\nrw=randrw\nbs=1k,2k,3k,4k\n")
    with pytest.raises(UserError, match="bs=1k,2k,3k,4k: give one value, or those of reads, writes and trims"):
        built(str(path))


def test_sizes_with_shares_lie_at_multiples_of_themselves() -> None:
    made = study.build("randwrite", "page", None, {"bs": "64k/80:4k/20", "requests": 2_000})["workload"]
    (large, small) = made["generator"]["pattern"]["mixed"]
    assert (large["unit"], large["weight"], small["unit"], small["weight"]) == (65536, 80, 4096, 20)
    results = fk.compare("randwrite", "page", bs="64k/80:4k", requests=2_000, capacity="64MiB", clock=False)
    # 80 % of 16 pages and 20 % of one.
    assert results.document["runs"][0]["host_pages_written"] == pytest.approx(26_000, rel=0.05)
    in_turn = study.build("seqwrite", "page", None, {"bs": "64k/80:4k"})["workload"]["generator"]
    assert [one["size"] for one in in_turn["sizes"]["choice"]] == [65536, 4096]


@pytest.mark.parametrize("bs", ["200..2048", "200-2k"])
def test_a_range_of_request_sizes_is_of_multiples_of_the_least(bs: str) -> None:
    generator = built("randwrite", bs=bs)["workload"]["generator"]
    assert (generator["unit"], generator["sizes"]) == (200, {"uniform": {"min": 200, "max": 2048, "step": 200}})
    total = fk.trace_info("randwrite", bs=bs, requests=2000)["statistics"]["total"]
    assert total["mean_size_kib"] == pytest.approx(1100 / 1024, rel=0.05)
    assert "--bs 200 is 200 B" in units.typed(bare_sizes.told({}, {"bs": bs}) or "")


@pytest.mark.parametrize(("bs", "meant"), [("2k..512", "512..2k"), ("0..4k", "1..4k"), ("4k-512", "512-4k")], ids=str)
def test_a_range_of_request_sizes_from_the_larger_is_corrected(bs: str, meant: str, call: Call) -> None:
    result = call("compare", "log", "--bs", bs, "--ftl", "page", exits=2)
    assert f"ftlkit compare log --bs {meant} --ftl page" in " ".join(result.stderr.split())


def test_zones_of_a_fio_job_are_parts_of_the_data(tmp_path: Path) -> None:
    path = tmp_path / "zones.fio"
    job = "[one]\nrw=randwrite\nsize=32m\nnumber_ios=20k\nrandom_distribution=zoned:"
    path.write_text(f"{job}80/20:20/80\n")
    assert built(str(path))["workload"]["generator"]["pattern"]["mixed"] == [
        {"weight": 80, "pattern": "uniform", "region": [0, 0.2]},
        {"weight": 20, "pattern": "uniform", "region": [0.2, 1]},
    ]
    assert fk.trace_info(str(path), requests=2000)["statistics"]["total"]["writes"] == 2000
    for zones in ("80:20", "0/100", "80/0", "50/60:50/x", "80/nan"):
        path.write_text(f"{job}{zones}\n")
        with pytest.raises(UserError, match=r"is no zone. Give shares .* zoned:80/20:20/80"):
            built(str(path))


@pytest.mark.parametrize(
    ("key", "least", "mean"),
    [
        ("bsrange=4k-16k", 4, 10),
        ("blocksize_range=8k-20k", 8, 12),
        ("bsrange=1-16m", 2**-10, 2**13 + 2**-11),
        ("bssplit=4k/60:16k/40", 4, 8.8),
        ("bssplit=4k/10:8k/:16k/", 4, 11.2),
    ],
)
def test_sizes_of_a_fio_job_are_read(key: str, least: float, mean: float, tmp_path: Path) -> None:
    path = tmp_path / "sizes.fio"
    path.write_text(f"[one]\nrw=randrw\nbs=64k\n{key}\nsize=32m\nio_size=48m\n")
    generator = built(str(path))["workload"]["generator"]
    assert (generator["unit"], generator["requests"]) == (least * 1024, int(48 * 2**10 / mean))
    requests = fk.trace_info(str(path), requests=2000)["statistics"]["total"]
    assert requests["mean_size_kib"] == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize(
    "key",
    ["bsrange=16k-4k", "bsrange=4k", "bsrange=0-4k", "bssplit=4k/0:8k/0", "bssplit=4k/x:8k/40", "bssplit=4/a/b"],
)
def test_sizes_of_a_fio_job_that_say_nothing_are_refused(key: str, tmp_path: Path) -> None:
    path = tmp_path / "sizes.fio"
    path.write_text(f"[one]\nrw=randwrite\n{key}\n")
    with pytest.raises(UserError, match=re.escape(key.partition("=")[0])):
        built(str(path))


def test_ram_is_told_apart_where_buffers_have_some() -> None:
    results = fk.compare("fin1", "page,page+lru:ram=1m", requests=500, addresses="dense")
    page, buffered = ram(results)
    assert page["cells"][1] == "0\N{NO-BREAK SPACE}B"
    assert buffered["cells"][1].startswith("1.0")
    assert buffered["cells"][-1] == units.size(results.document["runs"][1]["footprint"]["ram_bytes"])
    assert ram(fk.compare("fin1", "page", requests=500, addresses="dense")) == []


def test_durable_stacks_hold_no_written_data_in_ram() -> None:
    assert not holders("dftl:cmt=16KiB+dynamic")
    assert holders("page+lru")
    allowed, refused = heads([], lambda stack: "+".join(holders(stack)), levelled=False)
    assert set(refused) == {"bdb", "treeftl", "aps", "jtl", "leaftl"}
    assert {head.tails for head in allowed} == {("",)}


def test_devices_are_a_table_that_fits_sixty_columns(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = call("devices").stdout.splitlines()
    row = next(line for line in shown if line.startswith("7450-like"))
    assert "GB" in row
    assert "TLC" in row
    assert max(map(len, shown)) <= 60


def test_presets_and_goals_are_completed() -> None:
    command = Path(sys.executable).with_name("ftlkit")
    for line, place, words in (
        ("ftlkit compare randw", "2", ["randwrite"]),
        ("ftlkit compare fin1 --precondition st", "4", ["steady"]),
        ("ftlkit advise fin1 --goal p", "4", ["p99", "p99-read", "p99-write"]),
    ):
        variables = {"_FTLKIT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": place}
        done = subprocess.run([command], env=variables, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.split() == words
