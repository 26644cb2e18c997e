"""Sweeps: their points equal single runs, and nothing finished is lost or repeated."""

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import conftest
import ftlkit as fk
from conftest import Call, Start
from ftlkit import _native, study
from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.api.sweep import planned
from ftlkit.cli import app
from ftlkit.results import store as stores
from ftlkit.results.point_state import LOST
from ftlkit.results.store import Store
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps import values
from ftlkit.sweeps.local import Local
from ftlkit.sweeps.plan import Plan
from ftlkit.sweeps.summary import groups
from ftlkit.sweeps.traces import Traces, scratch
from ftlkit.sweeps.work import TRIES, Answer, Job

STUDY: dict[str, Any] = {
    "workload": {"preset": "fin1", "requests": 1_000, "addresses": "dense"},
    "ftl": [{"name": "page"}, {"name": "dftl"}],
}
POINTS = "fin1 --ftl page,dftl --vary dftl.cmt=16KiB,64KiB --requests 1000 --addresses dense --seeds 2"
EACH = [(spare, seed) for spare in (0.1, 0.2, 0.3) for seed in (1, 2)]
LONG = "fin1 --ftl page --vary device.spare=0.1..0.2:+0.01 --seeds 2 --requests 30000 --addresses dense"
ONE = "[workload]\npreset = 'fin1'\n[[ftl]]\nname = 'page'\n"


def plan(**sweep: object) -> Plan:
    """A small sweep."""
    return plans.from_study(STUDY | {"sweep": sweep})


def hashes(done: runs.Sweep) -> list[str]:
    """What the flash did in every point."""
    return [json.loads(row["document"])["runs"][0]["event_hash"] for row in done.rows]


class Counting(Local):
    """An executor that remembers how many points it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    def run(self, jobs: Sequence[Job]) -> Generator[Answer, None, None]:
        """Count, and run."""
        self.given += len(jobs)
        yield from super().run(jobs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16KiB..64KiB:x2", ["16KiB", "32KiB", "64KiB"]),
        ("1KiB..2KiB:+512B", ["1KiB", "1536B", "2KiB"]),
        ("25us..1ms:x4", ["25us", "100us", "400us"]),
        ("0.1..0.4:+0.1", ["0.1", "0.2", "0.3", "0.4"]),
        ("0..2:+1, 8", ["0", "1", "2", "8"]),
        ("1..1000:x10", ["1", "10", "100", "1000"]),
        ("greedy,fifo", ["greedy", "fifo"]),
    ],
)
def test_values_are_lists_and_ranges(text: str, expected: list[str]) -> None:
    axis = values.parse(f"a.b={text}")
    assert axis.values() == expected
    assert axis.size == len(expected)


@pytest.mark.parametrize("exponent", range(1, 30))
def test_a_range_by_a_factor_ends_at_its_last_value(exponent: int) -> None:
    axis = values.parse(f"a.b=3..{3 * 7**exponent}:x7")
    assert axis.size == len(axis.values()) == exponent + 1


def test_a_layer_has_points_for_the_values_that_it_takes() -> None:
    made = plan(vary={"dftl.cmt": "16KiB..64KiB:x2", "device": {"spare": [0.1, 0.2]}}, seeds=2)
    points = made.points()
    assert len(points) == made.size() == 2 * 2 + 3 * 2 * 2
    assert {tuple(point.varied) for point in points if point.ftl == "page"} == {("device.spare",)}
    last = points[-1]
    assert last.varied == {"dftl.cmt": "64KiB", "device.spare": "0.2"}
    assert last.study["ftl"] == [{"name": "dftl", "cmt": "64KiB", "label": "dftl"}]
    assert last.study["device"] == {"spare": 0.2}
    assert [point.seed for point in points[-2:]] == [1, 2]


def drawn(chance: random.Random) -> str | Json:
    """A stack as a text or a table, with settings in the name or as keys, some with a label."""
    settings = {"cmt": chance.choice(["16KiB", "64KiB"])} if chance.random() < 0.7 else {}
    settings |= {"victim": chance.choice(["fifo", "greedy"])} if chance.random() < 0.4 else {}
    spelled = ":".join(["dftl", *(f"{key}={value}" for key, value in settings.items())])
    others = chance.choice(["", "", "+owl", "+none:pages=64"])
    label = {"label": chance.choice(["one", "dftl", "dftl:cmt=16KiB"])} if chance.random() < 0.4 else {}
    forms: list[str | Json] = [spelled + others, {"name": spelled + others} | label]
    return chance.choice([*forms, {"name": "dftl"} | settings | label])


@pytest.mark.parametrize("seed", range(200))
def test_two_stacks_are_never_one_row(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test's numbers
    stacks = [drawn(chance) for _ in range(chance.choice([2, 2, 3]))]
    try:
        made = plans.from_study(STUDY | {"ftl": stacks, "sweep": {"vary": {"device.spare": "0.1,0.2"}, "seeds": 2}})
        points = made.points()
    except fk.UserError as refusal:
        assert re.search("is there twice|two FTLs have this label", str(refusal))  # noqa: PT017
        return
    rows = [
        {"state": "done", "device": point.device, "workload": point.workload, "label": point.ftl, "seed": point.seed}
        | {"varied": [{"key": key, "value": value} for key, value in point.varied.items()]}
        | {"study": json.dumps(point.study)}
        for point in points
    ]
    found = groups(rows)
    assert len(found) == 2 * len(stacks) == len({group.name for group in found})
    assert all([row["seed"] for row in group.rows] == [1, 2] for group in found)


def test_points_of_one_label_from_several_sweeps_are_told_apart() -> None:
    layers = [{"name": "dftl", "cmt": "16KiB"}, {"name": "dftl", "cmt": "64KiB"}, {"name": "page"}]
    place: dict[str, Any] = {"state": "done", "device": "d", "workload": "w", "varied": [], "label": "mine"}
    rows = [place | {"seed": seed, "study": json.dumps({"ftl": [layer]})} for seed in (1, 2) for layer in layers]
    names = [group.name for group in groups(rows)]
    assert names == ["mine (name dftl, cmt 16KiB)", "mine (name dftl, cmt 64KiB)", "mine (name page)"]


def test_tables_without_labels_are_rows_of_their_own(call: Call, tmp_path: Path) -> None:
    tables = [f"[[ftl]]\nname = 'dftl'\ncmt = '{size}'\n" for size in ("16KiB", "64KiB")]
    file = tmp_path / "two.toml"
    file.write_text("[workload]\npreset = 'fin1'\nrequests = 1000\naddresses = 'dense'\n" + "".join(tables))
    done = call("sweep", str(file), "--goal", "wa", "--store", str(tmp_path / "store"), "--csv", "-")
    labels = [
        line.split(",")[done.stdout.splitlines()[0].split(",").index("label")] for line in done.stdout.splitlines()
    ]
    assert labels == ["label", "dftl:cmt=16KiB", "dftl:cmt=64KiB"]
    assert "wide intervals" not in done.stderr


def test_devices_and_workloads_are_combined() -> None:
    made = plan(
        devices=["slc-small", {"preset": "slc-small", "label": "roomy", "spare": 0.3}], workloads=["fin1", "fin2"]
    )
    names = [(point.device, point.workload, point.ftl) for point in made.points()]
    assert len(set(names)) == 8
    assert made.points()[0].study["workload"] == {"preset": "fin1", "requests": 1_000, "addresses": "dense"}
    assert {point.study["device"].get("spare") for point in made.points() if point.device == "roomy"} == {0.3}


def test_a_point_is_a_run_of_its_own(tmp_path: Path) -> None:
    done = runs.run(plan(vary={"dftl.cmt": "16KiB,64KiB"}, seeds=2), Store(tmp_path / "s", create=True), Local(2))
    alone = [
        fk.run(workload="fin1", ftl=ftl, requests=1_000, addresses="dense", seed=seed)
        for ftl in ("page", "dftl:cmt=16KiB", "dftl:cmt=64KiB")
        for seed in (1, 2)
    ]
    assert hashes(done) == [results.document["runs"][0]["event_hash"] for results in alone]
    assert [row["response_mean_ns"] for row in done.rows] == [results.runs["response_mean_ns"][0] for results in alone]


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    store, counting = Store(tmp_path / "s", create=True), Counting()
    first = runs.run(plan(vary={"dftl.cmt": "16KiB,64KiB"}), store, counting)
    assert (counting.given, first.reused) == (3, 0)
    more = runs.run(plan(vary={"dftl.cmt": "16KiB..64KiB:x2"}), store, counting)
    assert (counting.given, more.reused) == (4, 3)
    assert [row["key"] for row in first.rows] == [more.rows[place]["key"] for place in (0, 1, 3)]


def test_the_default_spelled_out_is_the_same_point(tmp_path: Path) -> None:
    store, counting = Store(tmp_path / "s", create=True), Counting()
    runs.run(plans.from_study(STUDY | {"ftl": [{"name": "page"}]}), store, counting)
    spelled = STUDY | {"name": "Other", "seed": 1, "ftl": [{"name": "page", "label": "mine", "victim": "greedy"}]}
    again = runs.run(plans.from_study(spelled), store, counting)
    assert counting.given == 1
    assert again.rows[0]["label"] == "mine"


def test_a_changed_trace_is_another_point(tmp_path: Path, msr: Path) -> None:
    store, counting = Store(tmp_path / "s", create=True), Counting()
    made = plans.from_options([msr], "page", None, {})
    runs.run(made, store, counting)
    runs.run(made, store, counting)
    assert counting.given == 1
    conftest.write_msr(msr, conftest.LINES + 1)
    runs.run(made, store, counting)
    assert counting.given == 2


def test_a_trace_that_is_laid_out_once_gives_the_same_points(tmp_path: Path) -> None:
    trace = conftest.write_msr(tmp_path / "t.csv", 300, {7: "broken"})
    options: Any = {"skip_bad": True, "align_offset": "4KiB", "speedup": 2.0, "requests": 200}
    made = plans.from_options([trace], "page,dftl", None, options)
    done = runs.run(made, Store(tmp_path / "s", create=True), Local())
    alone = fk.compare(trace, "page,dftl", **options).document
    assert hashes(done) == [run["event_hash"] for run in alone["runs"]]
    document: Any = json.loads(done.rows[0]["document"])
    assert document["workload"]["name"] == "t.csv"
    assert "skipped 1 bad record" in document["workload"]["facts"]
    for key in ("format", "requests", "bytes", "span_bytes", "duration_ns"):
        assert document["workload"][key] == alone["workload"][key]
    assert document["study"]["workload"] == alone["study"]["workload"]


def test_a_trace_is_parsed_no_more_often_for_more_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once to find out how it is read and once to lay it out; all else reads what was laid out."""
    trace = conftest.write_msr(tmp_path / "t.csv", 300)
    requests: list[Any] = []
    check = _native.check_study

    def remembering(text: str, control: _native.Control) -> str:
        requests.append(json.loads(text))
        return check(text, control)

    monkeypatch.setattr("ftlkit._native.check_study", remembering)
    made = plans.with_more(plans.from_options([trace], "page", None, {}), [values.parse("device.spare=0.1,0.2,0.3")], 2)
    done = runs.run(made, Store(tmp_path / "s", create=True), Local())
    assert [request["workload"]["trace"] == str(trace) for request in requests].count(True) == 1
    assert len(requests) == 7
    alone = [fk.run(workload=trace, ftl="page", device={"spare": spare}, seed=seed) for spare, seed in EACH]
    assert hashes(done) == [results.document["runs"][0]["event_hash"] for results in alone]


def test_several_plans_over_a_trace_lay_it_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = conftest.write_msr(tmp_path / "t.csv", 300)
    read: list[str] = []
    convert, check = _native.trace_convert, _native.check_study

    def converting(source: str, target: str, options: str, control: _native.Control) -> str:
        read.append("laid out")
        return convert(source, target, options, control)

    def checking(text: str, control: _native.Control) -> str:
        if json.loads(text)["workload"]["trace"] == str(trace):
            read.append("looked over")
        return check(text, control)

    monkeypatch.setattr("ftlkit._native.trace_convert", converting)
    monkeypatch.setattr("ftlkit._native.check_study", checking)
    traces, store = Traces(tmp_path), Store(tmp_path / "s", create=True)
    for layers in ("page,dftl", "fast,bast", "page,rftl"):
        assert not runs.run_points(
            plans.from_options([trace], layers, None, {}).points(), store, Local(), traces
        ).failed
    assert sorted(read) == ["laid out", "looked over"]


def test_a_plan_among_several_may_be_refused_as_a_whole(tmp_path: Path) -> None:
    made = plan(vary={"device.spare": ["1.5"]})
    store = Store(tmp_path / "s", create=True)
    done = runs.run_points(made.points(), store, Local(), Traces(tmp_path))
    assert [row["state"] for row in done.rows] == ["refused", "refused"]
    with pytest.raises(fk.UserError, match="spare"):
        runs.run(made, store, Local())


def test_points_that_are_not_finished_in_time_are_given_up(tmp_path: Path) -> None:
    executor = Local(1)
    executor.until_s = time.monotonic()
    long = {"workload": {"preset": "fin1", "requests": 10_000_000, "addresses": "dense"}, "ftl": [{"name": "page"}]}
    assert list(executor.run([Job(0, long, None)])) == []
    done = runs.run(plan(), Store(tmp_path / "s", create=True), executor)
    assert (len(done.rows), done.cancelled) == (0, True)
    executor.until_s = None
    assert len(runs.run(plan(), Store(tmp_path / "s"), executor).rows) == 2


def test_a_point_that_a_laid_out_trace_does_not_fit_names_the_trace(tmp_path: Path) -> None:
    trace = conftest.write_msr(tmp_path / "t.csv", 300)
    made = plans.from_options([trace], "page", None, {})
    made = plans.with_more(made, [values.parse("device.capacity=64MiB,512KiB,auto")], None)
    done = runs.run(made, Store(tmp_path / "s", create=True), Local())
    assert [row["state"] for row in done.rows] == ["done", "refused", "done"]
    assert "parquet" not in done.failed[0]["error"]


def test_a_point_that_fails_is_a_result_with_its_error(tmp_path: Path) -> None:
    store, counting = Store(tmp_path / "s", create=True), Counting()
    made = plan(vary={"device.spare": [0.1, 1.5]})
    done = runs.run(made, store, counting)
    assert [row["state"] for row in done.rows] == ["done", "refused"] * 2
    assert "spare" in done.failed[0]["error"]
    assert not done.cancelled
    assert store.frame()["error"].null_count() == 2


def test_a_point_whose_worker_dies_is_begun_again_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = 0

    def dying(process: subprocess.Popen[str], _text: str) -> str:
        nonlocal attempts
        attempts += 1
        process.kill()
        return ""

    monkeypatch.setattr("ftlkit.sweeps.local._asked", dying)
    answer = next(Local(1).run([Job(0, STUDY, None)]))
    assert (answer.state, attempts) == (LOST, TRIES)
    assert "SIGKILL" in answer.text


def test_a_worker_that_dies_once_costs_no_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from ftlkit.sweeps import local  # noqa: PLC0415 - what is replaced

    ask, first = local._asked, [True]  # noqa: SLF001 - the place where a worker is asked

    def dying(process: subprocess.Popen[str], text: str) -> str:
        if first:
            first.clear()
            process.kill()
        return ask(process, text)

    monkeypatch.setattr("ftlkit.sweeps.local._asked", dying)
    study = STUDY | {"ftl": [{"name": "page"}]}
    assert [answer.state for answer in Local(1).run([Job(0, study, None), Job(1, study, None)])] == ["done", "done"]


def test_workers_wait_for_the_next_run_and_end_with_their_executor() -> None:
    study = STUDY | {"ftl": [{"name": "page"}]}
    executor, before = Local(2), set(children(os.getpid()))

    def workers() -> set[int]:
        return set(children(os.getpid())) - before

    assert [answer.state for answer in executor.run([Job(place, study, None) for place in range(2)])] == ["done"] * 2
    first = workers()
    assert len(first) == 2
    assert [answer.state for answer in executor.run([Job(0, study, None)])] == ["done"]
    assert workers() == first
    # One that ended meanwhile is replaced.
    ended = min(first)
    os.kill(ended, signal.SIGKILL)
    assert [answer.state for answer in executor.run([Job(place, study, None) for place in range(2)])] == ["done"] * 2
    # The other may have done both before a new one was begun.
    assert 1 <= len(workers() - {ended}) <= 2
    del executor
    assert workers() == set()


def test_an_error_of_ours_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftlkit.sweeps.local._asked", lambda *_: "no JSON\n")
    with pytest.raises(ValueError, match="Expecting value"):
        next(Local(1).run([Job(0, STUDY, None)]))


def test_two_sweeps_may_share_a_store(start: Start, tmp_path: Path) -> None:
    both = [start("sweep", *POINTS.split()) for _ in range(2)]
    for process in both:
        assert process.wait(60) == 0, process.stderr and process.stderr.read()
    store = Store(tmp_path / stores.DEFAULT)
    assert store.frame()["state"].to_list() == ["done"] * 6
    assert list((store.path / "begun").iterdir()) == []


def long_sweep(start: Start, tmp_path: Path) -> tuple[subprocess.Popen[str], Store]:
    """A sweep of 22 points, and its store when some of them are there."""
    process = start("sweep", *LONG.split())
    until = time.monotonic() + 60
    while not (tmp_path / stores.DEFAULT / "ftlkit-store.json").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    store = Store(tmp_path / stores.DEFAULT)
    while len(store.keys()) < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    return process, store


@pytest.mark.full
def test_a_killed_sweep_is_resumed(start: Start, tmp_path: Path) -> None:
    process, store = long_sweep(start, tmp_path)
    process.kill()
    process.wait()
    before = {name: (store.path / "points" / f"{name}.parquet").stat().st_mtime_ns for name in sorted(store.keys())}
    assert store.frame()["state"].to_list() == ["done"] * len(before)
    made = plans.from_options(["fin1"], "page", None, {"requests": 30_000, "addresses": "dense"})
    made = plans.with_more(made, [values.parse("device.spare=0.1..0.2:+0.01")], 2)
    counting = Counting()
    done = runs.run(made, store, counting)
    assert (done.reused, counting.given) == (len(before), 22 - len(before))
    for name, written in before.items():
        assert (store.path / "points" / f"{name}.parquet").stat().st_mtime_ns == written


def test_the_workers_of_a_killed_sweep_end(start: Start, tmp_path: Path) -> None:
    process, _ = long_sweep(start, tmp_path)
    workers = children(process.pid)
    assert workers
    process.kill()
    until = time.monotonic() + 60
    while any(_state(worker)[:1] not in ([], ["Z"]) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_what_killed_sweeps_laid_out_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("killed", "early", "new"):
        folder = tmp_path / f"ftlkit-sweep-{name}"
        folder.mkdir()
        if name != "early":
            (folder / "lock").touch()
        if name != "new":
            os.utime(folder, (0, 0))
    (tmp_path / "ftlkit-else").mkdir()
    os.utime(tmp_path / "ftlkit-else", (0, 0))
    with scratch() as mine:
        os.utime(mine, (0, 0))
        with scratch() as other:
            names = {path.name for path in tmp_path.iterdir()}
    assert names == {mine.name, other.name, "ftlkit-sweep-new", "ftlkit-else"}
    assert {path.name for path in tmp_path.iterdir()} == {"ftlkit-sweep-new", "ftlkit-else"}


def test_a_refused_point_is_called_as_it_was_asked(tmp_path: Path) -> None:
    done = runs.run(
        plan(vary={"device.spare": [0.1, 1.5], "dftl.cmt": "1B,16KiB"}), Store(tmp_path / "s", create=True), Local()
    )
    assert {row["device"] for row in done.rows} == {"client-tlc"}
    refused = [row["error"] for row in done.failed if row["label"] == "dftl" and "1B" in str(row["varied"])]
    assert refused
    assert not any('"0"' in error or '"1"' in error for error in refused)


def test_errors_and_help_are_printed_as_they_are(call: Call) -> None:
    result = call("sweep", "fin1", "--ftl", "page", "--vary", "run.skip=1..1e9:+1:+1", exits=2)
    assert ":+1:+1" in result.stderr
    assert "pip install 'ftlkit[ray]'" in " ".join(call("sweep", "--help").stdout.replace("│", " ").split())


def test_it_is_printed_what_points_were_run_on(call: Call, msr: Path, tmp_path: Path) -> None:
    result = call("sweep", msr, "--ftl", "page,dftl", "--seeds", 2, "--store", tmp_path / "store")
    compared = call("compare", msr, "--ftl", "page,dftl")
    text, same = (" ".join(completed.stdout.split()) for completed in (result, compared))
    device = same[: same.index("; capacity auto")]
    assert device.startswith("Device client-tlc, the default since no device was named: ")
    prepared = same[same.index("Preconditioning: fill") : same.index("an erased device).")]
    for fact in (device, "read as msr, guessed from its content: times in 100ns, 200 requests", prepared):
        assert text.count(fact) == 1, (fact, text)
    assert ", guessed" not in call("sweep", msr, "--ftl", "page", "--format", "msr", "--device", "slc-small").stdout
    keys = call("sweep", msr, "--ftl", "page", "--set", "device.channels=2").stdout
    assert "Device given by its keys" in " ".join(keys.split())


def test_a_point_is_stored_before_ctrl_c_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add = Store.add

    def interrupted(store: Store, row: dict[str, Any]) -> None:
        signal.raise_signal(signal.SIGINT)
        add(store, row)

    monkeypatch.setattr(Store, "add", interrupted)
    store = Store(tmp_path / "s", create=True)
    with pytest.raises(fk.Interrupted) as stopped:
        runs.run(plan(vary={"device.spare": "0.1,0.2"}), store, Local())
    assert len(store.keys()) == 1
    assert stopped.value.finished is not None
    assert [row["key"] for row in stopped.value.finished.rows] == [*store.keys()]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_shows_and_keeps_finished_points(stop: signal.Signals, start: Start, tmp_path: Path) -> None:
    process, store = long_sweep(start, tmp_path)
    process.send_signal(stop)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "page" in out
    assert f"{22 - len(store.keys())} not finished" in errors


@pytest.mark.parametrize("command", ["compare", "curve cache"])
def test_several_devices_where_one_is_taken_name_the_sweep_of_them(command: str, call: Call) -> None:
    refused = call(*command.split(), "fin1", "--device", "slc-small,tlc-nvme", exits=2)
    assert "ftlkit sweep WORKLOAD --device slc-small,tlc-nvme" in " ".join(refused.stderr.split())


def children(parent: int) -> list[int]:
    """The processes that a process started."""
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    known = {int(folder.name): _state(int(folder.name)) for folder in folders}
    return [process for process, state in known.items() if state and int(state[1]) == parent]


def _state(process: int) -> list[str]:
    """What /proc says of a process behind its name: state, parent, more; empty if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


def test_points_at_once_keep_to_the_memory_limit_together(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two take more than the limit, one does not; so does one of two on one worker."""
    monkeypatch.setattr("ftlkit._util.at_once.cores", lambda: 2)
    limited = ["fin1", "--requests", 500, "--addresses", "dense", "--set", "run.memory_limit=600KiB"]
    refused = call("sweep", *limited, "--ftl", "page,dftl", "--threads", 2, exits=2)
    for word in ("2 runs at once", "run.memory_limit allows 600.0 KiB", "run fewer at once (threads)"):
        assert word in " ".join(refused.stderr.split()), refused.stderr
    call("sweep", *limited, "--ftl", "page,dftl", "--threads", 1)
    call("sweep", *limited, "--ftl", "page", "--threads", 2)


def test_a_limit_that_is_stated_is_shared_while_points_run() -> None:
    assert Job(0, STUDY, None).sharers(4) == 1
    assert Job(0, STUDY | {"run": {"memory_limit": 1 << 30}}, None).sharers(4) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--vary", "dftl.cmtt=16KiB,32KiB"], ["dftl.cmtt", "no point with it can be run", "cmt"]),
        (["--vary", "device.sparee=0.1,0.2"], ["sparee"]),
        (["--vary", "fast.log_blocks=4"], ["fast", "neither", "page, dftl"]),
        (["--vary", "cmt=16KiB"], ["--vary cmt=16KiB", "not of the form"]),
        (["--vary", "dftl.cmt=64KiB..16KiB:x2"], ["empty", "64KiB is above 16KiB"]),
        (["--vary", "dftl.cmt="], ["empty"]),
        (["--vary", "dftl.cmt=16KiB..64KiB"], ["needs its step"]),
        (["--vary", "dftl.cmt=16KiB..64:x2"], ["one kind of unit"]),
        (["--vary", "dftl.cmt=1KiB..8KiB:x1"], ["above 1"]),
        (["--vary", "dftl.cmt=16KiB", "--vary", "dftl.cmt=32KiB"], ["given twice"]),
        (["--vary", "dftl.cmt=16KiB,16KiB"], ["16KiB is there twice"]),
        (["--vary", "dftl.cmt=1..1000000000:+1"], ["1,000,000,001 points", "at most 100,000", "larger steps"]),
        (["--vary", f"dftl.cmt=1..{10**60}:+1"], [f"{10**60 + 1:,} points"]),
        (["--vary", "dftl.cmt=1B..1TiB:x1.0000001"], ["points; at most 100,000"]),
        (["--vary", "dftl.cmt=16KiB,16384B"], ["16384B is there twice", "as 16KiB"]),
        (["--vary", f"run.skip=1..{'9' * 200}:x2"], ["--vary run.skip", "a range ends below 10,000,000"]),
        (["--vary", f"run.skip={'9' * 40}..{'9' * 40}:+1"], ["--vary run.skip", "a range ends below 10,000,000"]),
        (["--vary", "dftl.label=a,b"], ["--vary dftl.label", "--ftl"]),
        (["--seeds", "0"], ["--seeds 0"]),
        (["fin1"], ["the workload fin1 is there twice", "--seeds"]),
        (["--device", "slc-small,slc-small"], ["the device slc-small is there twice"]),
        (["--seeds", "1000000000"], ["points", "fewer seeds"]),
        (["--seed", f"{2**63}"], [f"--seed {2**63}: must be a whole number from 0 to {2**63 - 1}"]),
        (["--seed", f"{2**63 - 2}", "--seeds", "3"], [f"--seed {2**63 - 2}: with 3 seeds", f"at most {2**63 - 3}"]),
        (["--threads", "0"], ["--threads"]),
        (["--store", "full"], ["full", "not empty"]),
        (["--store", "full/other"], ["full/other is no folder"]),
        (["--store", "/proc/store"], ["cannot make a store at /proc/store"]),
    ],
)
def test_bad_input_is_answered(arguments: list[str], words: list[str], call: Call, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other").touch()
    result = call("sweep", "fin1", "--ftl", "page,dftl", "--requests", 500, "--addresses", "dense", *arguments, exits=2)
    for word in words:
        assert word in " ".join(result.stderr.split())
    assert not (tmp_path / stores.DEFAULT).exists()
    assert list((tmp_path / "full").iterdir()) == [tmp_path / "full" / "other"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[sweep]\nseed = 3", ["seed is no key of the table sweep", "seeds"]),
        ("[sweep]\nseeds = true", ["sweep.seeds"]),
        ("seed = 'x'\n" + ONE, ["seed = x: must be a whole number from 0"]),
        ("[sweep]\ndevices = []", ["sweep.devices", "at least one"]),
        (ONE + "[sweep.vary]\n'device.spare' = []", ["there is no value"]),
        (ONE + "[sweep.vary]\n'device.spare' = [{}]", ["no value"]),
        ("[[ftl]]\nlabel = 'x'", ["has no name"]),
        ("[[sweeps]]\nid = 'x'", ["ftlkit reproduce"]),
        ("[sweep", ["study.toml"]),
        ("[workload]\ntrace = 'none.csv'\n[[ftl]]\nname = 'page'", ["none.csv"]),
        ("[workload]\npreset = 'fin1'", ["no translation layer"]),
    ],
)
def test_bad_study_files_are_answered(text: str, words: list[str], call: Call, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    result = call("sweep", "study.toml", exits=2)
    for word in words:
        assert word in " ".join(result.stderr.split())


def test_settings_go_over_a_study_on_every_point(tmp_path: Path) -> None:
    text = (
        '[device]\nspare = 0.2\n[workload]\ngenerator = { requests = 9, span = "1MiB" }\n[run]\nclock = true\n'
        '[[ftl]]\nname = "dftl"\ncmt = "64KiB"\n[sweep]\nseeds = 2\n[sweep.vary]\n"run.skip" = [0, 1]\n'
    )
    file = tmp_path / "study.toml"
    file.write_text(text)
    settings = ["run.clock=false", "device.spare=0.3", "dftl.cmt=32KiB", "workload.repeat=2", "host.loop=closed"]
    settings.append("workload.generator.write_share=1")
    points = planned([str(file)], None, None, {"settings": settings}, [], None, None).points()
    assert len(points) == 4
    for point in points:
        made = point.study
        assert (made["run"]["clock"], made["device"]["spare"], made["ftl"][0]["cmt"]) == (False, 0.3, "32KiB")
        assert (made["workload"]["repeat"], made["host"]["loop"]) == (2, "closed")
        assert made["workload"]["generator"]["write_share"] == 1
    with pytest.raises(UserError, match=r"--set run.skip=2: the study varies run.skip"):
        planned([str(file)], None, None, {"settings": ["run.skip=2"]}, [], None, None)


@pytest.mark.parametrize("name", study.Options.__annotations__)
def test_an_option_beside_a_study_is_called_as_it_is_typed(name: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('[workload]\npreset = "fin1"\nrequests = 9\n[[ftl]]\nname = "page"\n')
    flags = {flag: one for one in _sweep_options() if one.name == name for flag in (*one.opts, *one.secondary_opts)}
    for flag, one in flags.items():
        if name != "settings":
            error = call("sweep", "study.toml", flag, *([] if one.is_flag else ["1"]), exits=2).stderr
            same = one.secondary_opts if flag in one.secondary_opts else one.opts
            assert any(f"Error: {other} was given" in error for other in same)
            known = {typed for other in _sweep_options() for typed in (*other.opts, *other.secondary_opts)}
            assert set(re.findall(r"--[a-z][a-z-]+", error)) <= known


def _sweep_options() -> list[Any]:
    """The options of the command."""
    return list(get_command(app).commands["sweep"].loaded().params)  # type: ignore[attr-defined] # of a group


def test_options_beside_a_study_file_are_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("", encoding="utf-8")
    for more in (["--time-unit", "ms"], ["--ftl", "page"], ["--device", "slc-small"], ["fin1"]):
        call("sweep", "study.toml", *more, exits=2)


def test_a_missing_trace_is_named(call: Call) -> None:
    result = call("sweep", "none.csv", "--ftl", "page", exits=2)
    assert "none.csv: no such file" in result.stderr


def test_a_report_has_table_charts_and_failures(call: Call, tmp_path: Path) -> None:
    vary = ["--vary", "dftl.cmt=16KiB,64KiB", "--vary", "device.spare=0.1,1.5"]
    call("sweep", *POINTS.split()[:3], *vary, "--requests", 1000, "--addresses", "dense", "--report", "r.html")
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "6 points: 3 of 6 runs are done, 3 failed" in html
    assert html.count("<figure") == html.count("data-spec=") >= 2
    assert "device.spare = 1.5" in html
    assert "64KiB" in html
    call("sweep", "fin1", "--report", "no/r.html", exits=2)


def test_a_band_holds_the_noise_of_the_seeds(tmp_path: Path) -> None:
    from ftlkit.sweeps.charts import panels  # noqa: PLC0415 - the drawing libraries take a second to load
    from ftlkit.sweeps.page import page  # noqa: PLC0415
    from ftlkit.sweeps.summary import groups  # noqa: PLC0415

    done = runs.run(plan(vary={"dftl.cmt": ["16KiB", "64KiB"]}, seeds=3), Store(tmp_path / "s", create=True), Local())
    assert "3 points × 3 seeds: all 9 runs are done" in page(plan(vary={"dftl.cmt": ["16KiB", "64KiB"]}, seeds=3), done)
    drawn = {panel.name: panel for panel in panels(groups(done.rows), "dftl.cmt")}
    rows = [row for data in drawn["response_mean_ns-0"].spec["datasets"].values() for row in data]
    dftl = next(row for row in rows if (row["line"], row["x"]) == ("dftl", "16KiB"))
    means = [row["response_mean_ns"] for row in done.rows if row["varied"] == [{"key": "dftl.cmt", "value": "16KiB"}]]
    assert len(means) == 3
    assert dftl["mean"] == pytest.approx(sum(means) / 3)
    assert dftl["low"] < min(means) < max(means) < dftl["high"]
    assert next(row["x"] for row in rows if row["line"] == "page") is None


@pytest.mark.skipif(not os.environ.get("FTLKIT_LONG"), reason="two hundred points; set FTLKIT_LONG=1")
def test_two_hundred_points_survive_being_killed_again_and_again(start: Start, tmp_path: Path) -> None:
    """Killed after every thirty points or so; stored points stay, and none runs twice."""
    vary = "--vary dftl.cmt=16KiB..256KiB:x2 --vary device.spare=0.07..0.25:+0.02 --seeds 4"
    command = ["sweep", *f"fin1 --ftl dftl --requests 20000 --addresses dense {vary}".split()]
    points = tmp_path / stores.DEFAULT / "points"
    written: dict[str, int] = {}
    kills = 0
    while True:
        process = start(*command)
        target = len(written) + 30
        while process.poll() is None and (not points.is_dir() or len(list(points.iterdir())) < target):
            time.sleep(0.01)
        process.kill()
        process.wait()
        now = {path.name: path.stat().st_mtime_ns for path in points.iterdir()}
        assert written.items() <= now.items()
        written = now
        if process.returncode == 0:
            break
        kills += 1
    assert (len(written), kills > 3) == (200, True)
    assert set(Store(tmp_path / stores.DEFAULT).frame()["state"]) == {"done"}
