"""Bad input: one paragraph with the next step, exit code 2, no traceback, nothing left."""

import gzip
import json
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import sample
from conftest import LINES, LONG, Call, Start, write_msr

START = 128_166_372_000_000_000


@dataclass(frozen=True)
class Bad:
    """One way to go wrong: the files it needs, the arguments, words of the message."""

    name: str
    arguments: str
    words: tuple[str, ...]
    make: Callable[[Path], object] = lambda _: None


def _vscsi(folder: Path) -> None:
    record = struct.pack("<IIIHHQQ", 1, 4096, 1, 0x2A, 1 << 8, 8, 1_000_000)
    (folder / "cut.vscsi").write_bytes(record * 50 + record[:13])


def _gzip(folder: Path) -> None:
    whole = gzip.compress(write_msr(folder / "whole.csv", 5000).read_bytes())
    (folder / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])


def _line(number: int, text: str, lines: int = LINES) -> Callable[[Path], object]:
    return lambda folder: write_msr(folder / "t.csv", lines, {number: text})


def _toml(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "s.toml").write_text(text)


def _good(folder: Path) -> None:
    write_msr(folder / "t.csv", LINES)


COMPARE = "compare t.csv --ftl page --report r.html --json r.json"
STUDY = '[workload]\npreset = "fin1"\nrequests = 1000\n[[ftl]]\nname = "page"\n'

BAD = [
    Bad("missing file", "compare nosuch.csv", ("nosuch.csv", "no such file")),
    Bad("study without an end", "run /dev/zero", ("/dev/zero: has more than 16,777,216 characters",)),
    Bad("missing study", "run nosuch.toml", ("nosuch.toml", "No such file")),
    Bad("misspelled preset", "compare fin11", ("fin11", "fin1")),
    Bad("empty file", COMPARE, ("t.csv", "empty"), lambda folder: (folder / "t.csv").touch()),
    Bad(
        "binary garbage",
        COMPARE,
        ("t.csv", "--format"),
        lambda folder: (folder / "t.csv").write_bytes(bytes(i * 197 % 251 for i in range(9999))),
    ),
    Bad("wrong format forced", f"{COMPARE} --format blkparse", ("line 1", "blkparse"), _good),
    Bad("unknown format", f"{COMPARE} --format tape", ("tape", "msr"), _good),
    Bad("malformed line", COMPARE, ("line 70000", "t.csv"), _line(70_000, "what,is,this", 70_010)),
    Bad("truncated vscsi", "compare cut.vscsi --ftl page --report r.html", ("cut.vscsi", "13"), _vscsi),
    Bad("truncated gzip", "compare cut.csv.gz --ftl page --report r.html", ("cut.csv.gz",), _gzip),
    Bad("negative number", COMPARE, ("line 9", "-4096"), _line(9, f"{START + 90_000},host,0,Write,-4096,4096,5")),
    Bad(
        "overflowing number",
        COMPARE,
        ("line 9", "99999999999999999999999"),
        _line(9, f"{START + 90_000},host,0,Write,99999999999999999999999,4096,5"),
    ),
    Bad("no length", COMPARE, ("line 9",), _line(9, f"{START + 90_000},host,0,Write,4096,0,5")),
    Bad(
        "time backwards",
        COMPARE,
        ("line 9", "--time-backwards"),
        _line(9, f"{START - 90_000},host,0,Write,4096,4096,5"),
    ),
    Bad(
        "address beyond the device",
        f"{COMPARE} --device slc-small",
        ("request 9", "capacity", "dense", "wrap"),
        _line(9, f"{START + 90_000},host,0,Write,{1 << 40},4096,5"),
    ),
    Bad(
        "several devices",
        COMPARE,
        ("--trace-device", "stacked"),
        _line(9, f"{START + 90_000},host,7,Write,4096,4096,5"),
    ),
    Bad("device that is not there", f"{COMPARE} --trace-device 7", ("7",), _good),
    Bad(
        "option nearly right",
        f"{COMPARE} --precondition stead",
        ("--precondition stead: there is no `stead`; did you mean steady?",),
        _good,
    ),
    Bad("addresses nearly right", f"{COMPARE} --addresses dens", ("--addresses dens:", "did you mean dense?"), _good),
    Bad("format nearly right", f"{COMPARE} --format msrr", ("--format msrr:", "did you mean msr?"), _good),
    Bad(
        "device nearly right", f"{COMPARE} --device slc-smol", ("--device slc-smol:", "did you mean slc-small?"), _good
    ),
    Bad("negative option", f"{COMPARE} --requests -4", ("--requests -4: must be a whole number, 0 or more",), _good),
    Bad("option above its limit", f"{COMPARE} --queue-depth 0", ("--queue-depth 0: an open loop",), _good),
    Bad(
        "capacity without a unit",
        f"{COMPARE} --capacity big",
        ("--capacity big: not a number; write a number of bytes",),
        _good,
    ),
    Bad(
        "setting out of range",
        "compare fin1 --ftl dftl --set dftl.cmt=16 --json r.json",
        ("--set dftl.cmt=16: out of range; must be from 64B to 1TiB", "without a unit is bytes"),
    ),
    Bad(
        "stack out of range",
        "compare fin1 --ftl dftl:cmt=16 --json r.json",
        ("--ftl: dftl.cmt = 16: out of range; must be from 64B to 1TiB",),
    ),
    Bad(
        "setting of a device",
        f"{COMPARE} --set device.channels=-1",
        ("--set device.channels=-1: must not be negative",),
        _good,
    ),
    Bad(
        "image with a setting out of range",
        "image create r.img --set device.channels=-1",
        ("--set device.channels=-1: must not be negative",),
    ),
    Bad("image with an odd spare", "image create r.img --set device.spare=nan", ("--set device.spare=nan: must be a",)),
    Bad(
        "key of a generator nearly right",
        "compare randwrite --ftl page --set workload.generator.wirte_share=0.3",
        (
            "did you mean write_share?",
            "Try: ftlkit compare randwrite --ftl page --set workload.generator.write_share=0.3",
        ),
    ),
    Bad(
        "key of a generator for a preset",
        "compare fin1 --ftl page --set workload.generator.runs=2",
        ("--set workload.generator.runs=2: fin1 is not described by keys", "[workload.generator]"),
    ),
    Bad(
        "key of a generator varied",
        "sweep randwrite --ftl page --vary workload.generator.runs=2,3",
        ("--vary workload.generator.runs: workload.generator is no section", "docs/sweep.md"),
    ),
    Bad(
        "part behind a mapping nearly right",
        "compare fin1 --ftl page+dynamc+lru",
        ("no wear policy or write buffer dynamc. Did you mean dynamic?", "--ftl page+dynamic+lru"),
    ),
    Bad("clients below their limit", "serve d.img --clients -1", ("--clients -1: must be from 1 to 1024",)),
    Bad("streams above their limit", "mount d.img . --streams 300", ("--streams 300: must be from 0 to 15",)),
    Bad("fault that never comes", f"fault d.img cut --after {10**20}", (f"--after {10**20}: must be from 0 to",)),
    Bad(
        "script without an end",
        "serve d.img --fault /dev/zero",
        ("--fault /dev/zero: has more than 1048576 bytes",),
    ),
    Bad("image that is a pipe", "image check pipe", ("a regular file",), lambda folder: os.mkfifo(folder / "pipe")),
    Bad("unknown scheme", "compare fin1 --ftl page,pagee --json r.json", ("pagee", "page, block, bast, fast")),
    Bad("scheme nearly right", "compare fin1 --ftl page,waftll --json r.json", ("waftll", "Did you mean waftl?")),
    Bad(
        "settings by commas",
        "compare fin1 --ftl waftl:threshold=0.5,zone=10% --json r.json",
        ("zone=10%", "separated by colons", "waftl:threshold=0.5:zone=10%"),
    ),
    Bad("no scheme", "compare fin1 --ftl , --json r.json", ("at least one",)),
    Bad("unknown parameter", "compare fin1 --ftl dftl --set dftl.cmtt=1KiB", ("cmtt", "cmt")),
    Bad("setting of nobody", "compare fin1 --ftl page --set dftl.cmt=1KiB", ("dftl", "page")),
    Bad("setting without a section", "compare fin1 --set foo=1", ("foo=1", "SCHEME.KEY=VALUE", "sections device")),
    Bad("speedup that is no number", "compare fin1 --speedup nan", ("--speedup nan", "such as 0.5")),
    Bad("setting without value", "compare fin1 --set dftl.cmt", ("dftl.cmt", "VALUE")),
    Bad("setting twice", "compare fin1 --ftl dftl --set dftl.cmt=64KiB --set dftl.cmt=128KiB", ("dftl.cmt", "twice")),
    Bad("unknown unit", "compare fin1 --ftl dftl --set dftl.cmt=64KB", ("64KB", "KiB")),
    Bad("unknown duration", "compare fin1 --ftl page --set device.read_latency=25parsec", ("read_latency", "25parsec")),
    Bad("unknown device", "compare fin1 --ftl page --device floppy", ("floppy", "slc-small")),
    Bad(
        "unknown key", "run s.toml --json r.json", ("s.toml", "capcity"), _toml(f'[device]\ncapcity = "1GiB"\n{STUDY}')
    ),
    Bad("broken TOML", "run s.toml --json r.json", ("s.toml", "line 1"), _toml("[device")),
    Bad("study without scheme", "run s.toml --json r.json", ("ftl",), _toml('[workload]\npreset = "fin1"\n')),
    Bad(
        "no blocks",
        "compare fin1 --ftl page --device slc-small --set device.blocks_per_plane=0",
        ("blocks_per_plane", "0"),
    ),
    Bad("no spare", "compare fin1 --ftl page --set device.spare=0", ("spare",)),
    Bad("all spare", "compare fin1 --ftl page --set device.spare=1", ("spare",)),
    Bad("log space larger than the spare", "compare fin1 --ftl fast --set fast.log_space=0.5", ("fast", "log space")),
    Bad("count that is no number", "compare fin1 --threads x", ("--threads x: is no whole number", "such as 4.")),
    Bad("large count that is no number", "compare fin1 --requests x", ("--requests x: not a number", "10k")),
    Bad("CMT too small", "compare fin1 --ftl dftl --set dftl.cmt=1", ("cmt", "1")),
    Bad("no requests", "compare fin1 --ftl page --requests 0", ("requests", "0")),
    Bad("report into a missing folder", "compare fin1 --report no/r.html", ("no/r.html", "does not exist")),
    Bad("report onto a folder", "compare fin1 --report d", ("d", "folder"), lambda folder: (folder / "d").mkdir()),
    Bad("report by another ending", "compare fin1 --report r.pdf", ("--report r.pdf", "HTML", "--report r.html")),
    Bad("page without an ending", "curve cache fin1 --report r", ("--report r:", "--report r.html")),
    Bad(
        "option beside its setting",
        "compare fin1 --capacity 512MiB --set device.capacity=1GiB",
        ("--set device.capacity=1GiB", "--capacity sets device.capacity to 512MiB already", "once"),
    ),
    Bad(
        "capacity of an image twice",
        "image create r.img --capacity 64MiB --set device.capacity=1GiB",
        ("--set device.capacity=1GiB", "to 64MiB already"),
    ),
    Bad("two outputs in one", "compare fin1 --json r.json --parquet r.json", ("r.json", "two outputs")),
    Bad("wrong suffix", "compare fin1 --csv r.txt", ("r.txt", ".csv")),
    Bad("report from nothing", "report nosuch.json", ("nosuch.json",)),
    Bad("report from garbage", "report t.csv", ("t.csv", "JSON"), _good),
    Bad(
        "report from other JSON",
        "report s.toml",
        ("s.toml", "no ftlkit results"),
        lambda folder: (folder / "s.toml").write_text("[1, 2]"),
    ),
    Bad("unknown scheme shown", "schemes pge", ("pge", "page")),
    Bad("info on nothing", "trace info nosuch", ("nosuch",)),
    Bad("conversion to nothing known", "trace convert t.csv t.xyz", ("t.xyz", ".parquet"), _good),
    Bad("conversion onto itself", "trace convert t.csv t.csv", ("t.csv",), _good),
    Bad("conversion of a broken trace", "trace convert t.csv o.parquet", ("line 9",), _line(9, "what")),
    Bad("generation of nothing", "trace generate nosuch o.parquet", ("nosuch", "fin1")),
]


SHAPED = ("compare", "sweep", "advise --budget 1s", "curve cache", "curve spare", "curve load", "curve depth")
"""The commands that take a workload in one line."""

WRONG = {
    "--bs": ("0", "-4k", "1TiB", "1e30"),
    "--span": ("0", "4095", "-1", "1TiB", "1e19", "1e30"),
    "--write-share": ("-1", "1.5", "1e9"),
    "--theta": ("-1.5", "17.5", "1e+300"),
    "--requests": ("0", "-1", "1e30"),
    "--capacity": ("0", "-1", "1e19", "1e30"),
    "--in-use": ("0", "-1", "180%", "1e9"),
    "--queue-depth": ("0", "-1", "70000", "1e30"),
    "--seed": ("-1", "1e30"),
    "--skip": ("-1", "100000000", "1e30"),
    "--daily-writes": ("0", "-1", "1e30"),
}
WRONG_LINES = [(command, flag, value) for command in SHAPED for flag, values in WRONG.items() for value in values]


@pytest.mark.parametrize(("command", "flag", "value"), WRONG_LINES[:: 1 if LONG else 6])
def test_a_value_out_of_range_is_named_by_its_option(command: str, flag: str, value: str, call: Call) -> None:
    usual = {"--requests": "1k", "--capacity": "64m"} | {flag: value}
    options = [word for option in usual.items() for word in option]
    result = call(*command.split(), "zipf", *options, exits=2)
    if "No such option" not in result.stderr:
        assert f"\nError: {flag} {value}: " in f"\n{result.stderr}"


def test_a_unit_that_a_study_leaves_out_is_the_usual_one(call: Call, tmp_path: Path) -> None:
    generator = '[workload.generator]\npattern = "uniform"\nwrite_share = 1\nspan = "device"\n'
    ends = 'requests = 100\n[device]\ncapacity = "64MiB"\n[[ftl]]\nname = "page"\n[host]\nloop = "closed"\n'
    for unit, code in (("", 0), ("unit = 4096\n", 0), ("unit = 0\n", 2)):
        (tmp_path / "s.toml").write_text(f"[workload]\n{generator}{unit}{ends}")
        call("sweep", "s.toml", exits=code)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_bad_input_ends_in_one_paragraph(bad: Bad, call: Call, tmp_path: Path) -> None:
    bad.make(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = call(*bad.arguments.split(), exits=2)
    assert isinstance(result.exception, SystemExit)
    assert "\nError: " in f"\n{result.stderr}", "on a busy machine lines of progress come first"
    assert "Traceback" not in result.output
    for word in bad.words:
        assert word in result.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("command", "option", "takes"),
    [
        ("compare fin1 --requests 10", "--ftl", "NAMES"),
        ("compare fin1 --ftl page", "--device", "NAME|FILE.toml"),
        ("compare fin1 --ftl page", "--report", "FILE.html"),
        ("compare fin1 --ftl page", "--set", "SCHEME.KEY=VALUE"),
        ("compare fin1 --ftl page", "--threads", "N"),
        ("sweep fin1 --requests 10", "--ftl", "NAMES"),
        ("advise fin1", "--ftl", "NAMES"),
        ("torture", "--ftl", "NAMES"),
        ("image create d.img", "--ftl", "NAME"),
        ("trace info t.csv", "--columns", "COLUMNS"),
    ],
    ids=str,
)
def test_an_empty_value_is_refused_and_no_default(command: str, option: str, takes: str, call: Call) -> None:
    for empty in ([option, ""], [option, " "], [f"{option}="]):
        refused = call(*command.split(), *empty, exits=2)
        assert f"Error: {option} is empty: give {takes}" in refused.stderr
    assert "an argument is empty" in call(*command.split(), "", exits=2).stderr


def test_usage_errors_have_the_same_exit_code(call: Call) -> None:
    call("compare", exits=2)
    call("compare", "fin1", "--frobnicate", exits=2)
    call("compare", "fin1", "--threads", "0", exits=2)


def test_unwritable_folder_is_found_before_the_work(call: Call) -> None:
    """A file system that takes no files is found beforehand, even for root."""
    result = call("compare", "fin1", "--requests", 10**9, "--report", "/proc/r.html", exits=2)
    assert "/proc/r.html" in result.stderr


def test_a_process_says_the_same(start: Start, tmp_path: Path) -> None:
    process = start("compare", "nosuch.csv")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("held", "says"),
    [
        (sample.document(), "r.json holds results, not a study. `ftlkit report r.json` draws"),
        ({"study": {}, "points": []}, "r.json holds results, not a study: its key study is"),
        ({"device": {}}, "r.json is JSON, and a study is TOML"),
    ],
    ids=["results", "curve", "study"],
)
def test_json_in_place_of_a_study_is_refused_by_what_it_holds(
    held: object, says: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "r.json").write_text(json.dumps(held, indent=2))
    refused = call("run", "r.json", exits=2)
    assert says in " ".join(refused.stderr.split())
