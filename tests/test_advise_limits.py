"""What advice says of a trace over a wide span: how long filling takes, and dense addresses."""

import json
import re
import shlex
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from advice import answer_of
from conftest import Call
from ftlkit._native import UserError
from ftlkit._util.native_call import TimeIsUp
from ftlkit._util.progress import Silent, Watcher
from ftlkit._util.units import typed
from ftlkit.advice import fitting, preparing
from ftlkit.advice.clock import Clock
from ftlkit.advice.footprints import checked
from ftlkit.advice.preparing import Preparing, _filled_s
from ftlkit.advice.query import Query, enough, question
from ftlkit.advice.run import _device, _look_over, search_stacks
from ftlkit.advice.search import Search
from ftlkit.results.store import Store
from ftlkit.study import Options
from ftlkit.sweeps.local import Local


def wide(folder: Path, requests: int) -> Path:
    """A trace that writes few pages at both ends of 16 GiB."""
    path = folder / "wide.csv"
    offsets = [(i % 50) * 4096 + (i % 2) * (16 << 30) for i in range(requests)]
    lines = [f"{i * 100_000},write,{offset},4096,0,0" for i, offset in enumerate(offsets)]
    path.write_text("\n".join(["time_ns,op,offset,length,stream,device", *lines]))
    return path


@pytest.mark.parametrize(
    ("precondition", "when"), [("fill", ""), ("auto", " where the workload reads what it has not")]
)
def test_a_budget_that_filling_uses_up_says_so_and_what_would_do(tmp_path: Path, precondition: str, when: str) -> None:
    query = Query(str(wide(tmp_path, 100)), options=Options(precondition=precondition), budget_s=1.0)
    document = query.document()
    device, info = _device(query, document, Silent, None), _look_over(document, Silent, None)
    clock = Clock(1.0, time.monotonic())
    clock.explain = Preparing(device, info, query, 1).advice
    error = str(clock.too_short("nothing was run"))
    assert f"Each run first fills the device{when}" in error
    assert re.search(r": 4,194,\d+ pages, which takes about [0-9.]+ m?s of processor time with page here", error), error
    assert re.search(
        r"Give about --budget \d+min on a free machine, or --addresses dense: the workload touches 200 KiB", error
    ), error
    unfilled = replace(query, options=Options(precondition="none"))
    assert Preparing(device, info, unfilled, 1).advice(1.0) == ("", "")


@pytest.mark.parametrize(
    ("budget_s", "error"),
    [
        (None, r"--trials 2: no stack within 8 KiB of RAM was tried\. --trials \d+ tries every mapping\."),
        (60.0, r"--budget 60.0 s: too short .*no stack within 8 KiB of RAM had been run"),
    ],
)
def test_mappings_that_were_not_tried_are_not_said_to_need_more_ram(
    budget_s: float | None, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As page needs more, which runs first in any case."""
    monkeypatch.setattr(Search, "_try", lambda *_: None)
    options = Options(requests=600, capacity="auto")
    query = Query("fin1", "slc-small", options=options, ram_bytes=8 << 10, trials=2, budget_s=budget_s)
    with pytest.raises(UserError) as raised:
        search_stacks(query, Store(tmp_path / "store", create=True, lazily=True), Local())
    assert re.match(error, typed(str(raised.value))), raised.value


def test_of_dense_addresses_both_sizes_are_told(tmp_path: Path) -> None:
    query = Query(str(wide(tmp_path, 1_200)), options=Options(addresses="dense"), ftl="page", trials=1, seeds=1)
    advice = answer_of(query, search_stacks(query, Store(tmp_path / "store", create=True, lazily=True), Local()))
    (told,) = [caution for caution in advice.cautions if caution.startswith("--addresses dense: ")]
    assert re.search(
        r"has 238\sMiB for the host, and the trace's addresses reach 16.0\sGiB.* about 69\s× as large", told
    ), told


def test_a_life_that_there_is_no_time_to_forecast_names_the_requests_that_would_do(call: Call) -> None:
    arguments = ["zipf", "--device", "slc-small", "--capacity", "64MiB", "--goal", "life", "--budget", "1ms"]
    text = " ".join(call("advise", *arguments).stdout.split())
    assert re.match(r"Not enough time; best so far: page \(.*?\): write amplification ", text), text
    assert re.search(r"No years are told: under page write amplification went from .* Give about [\d,]+ requests", text)
    assert "life at least" not in text


def probed(_call: object, _watcher: object, **_: object) -> str:
    """What a run of 256 MiB tells where requests of 1 MiB take 0.1 ms."""
    return '{"runs": [{"measured_wall_s": 0.0256}]}'


@pytest.mark.parametrize(("budget_s", "requests"), [(60.0, 20_000), (120.0, 50_000), (0.1, 3_000), (7_200.0, None)])
def test_large_requests_are_as_many_as_the_budget_has_time_for(
    budget_s: float, requests: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "watched", probed)
    query = Query("seqwrite", "qlc", Options(bs="1m", capacity="4TB"), "ram", budget_s=budget_s)
    fitted = fitting.fitted(query, dict, 2)
    assert fitted.options.get("requests") == requests
    given = replace(query, options=Options(bs="1m", capacity="4TB", requests=200_000))
    assert fitting.fitted(given, dict, 2) is given
    assert fitting.fitted(replace(query, budget_s=None), dict, 2).budget_s is None


def test_of_many_large_requests_a_part_is_looked_over() -> None:
    query = Query("log", options=Options(bs="1m", capacity="4TB"))
    info = _look_over(query.document(), Silent, time.monotonic() + 60)
    total = info["statistics"]["total"]
    assert info["requests"] == total["writes"] + total["flushes"] == 1_000_000
    assert abs(total["writes"] - total["flushes"]) <= 1_000


STUDIES = {
    '[device]\npreset = "slc-small"\n[workload]\npreset = "fin1"\nrequests = 300\n[run]\nverify = true\n': (
        "ftlkit advise fin1 --device slc-small --requests 300"
    ),
    'seed = 4\n[workload]\ntrace = "my.csv"\naddresses = "dense"\n': (
        "ftlkit advise {folder}/my.csv --seed 4 --set workload.addresses=dense"
    ),
    '[workload.generator]\npattern = "uniform"\nrequests = 900\nspan = "1MiB"\n': (
        "ftlkit trace generate {folder}/s.toml s.parquet && ftlkit advise s.parquet"
    ),
}


@pytest.mark.parametrize("text", STUDIES, ids=["preset", "trace", "generator"])
def test_a_study_is_refused_with_the_command_for_its_workload(text: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'{text}[[ftl]]\nname = "page"\n')
    with pytest.raises(UserError) as raised:
        question(str(path), Options())
    assert str(raised.value).endswith(f"Try: {STUDIES[text].format(folder=tmp_path)}")
    path.write_text("[sweep]\n")
    with pytest.raises(UserError, match="is a study by its name, and advice takes a workload: give a trace"):
        question(str(path), Options())


PROPOSED = {
    "device": (
        '[device]\ncapacity = "64MiB"\n[workload]\n'
        'generator = { span = "device", requests = 900, pattern = "uniform" }\n'
    ),
    "slice": (
        '[device]\npreset = "7450-like"\n[workload]\n[workload.generator]\nspan = "device"\nrequests = 900\n'
        'pattern = "uniform"\n[run]\nin_use = 0.5\nprecondition = "fill"\n'
    ),
    "preset": '[workload]\npreset = "fin1"\nrequests = 900\naddresses = "dense"\n',
    "generator": '[workload.generator]\npattern = "uniform"\nrequests = 900\nspan = "1MiB"\n[host]\nloop = "closed"\n',
}


@pytest.mark.parametrize("name", PROPOSED)
def test_the_command_for_the_workload_of_a_study_is_accepted(name: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f'{PROPOSED[name]}[[ftl]]\nname = "page"\n')
    error = " ".join(call("advise", "s.toml", exits=2).stderr.split())
    for line in error.partition("Try: ")[2].split(" && "):
        words = shlex.split(line)[1:]
        if words[0] == "trace":
            call(*words)
        else:
            question(words[1], _options(words[2:]), device=_after("--device", words)).document()


def _after(flag: str, words: list[str]) -> str | None:
    return words[words.index(flag) + 1] if flag in words else None


def _options(words: list[str]) -> Options:
    """The options of a typed line."""
    settings = [word for flag, word in pairwise(words) if flag == "--set"]
    flags = {flag: word for flag, word in pairwise(words) if flag in ("--capacity", "--requests", "--precondition")}
    made: dict[str, Any] = {flag.removeprefix("--"): word for flag, word in flags.items()} | {"settings": settings}
    return cast("Options", made)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("dwpd", "life"), ("WAF", "wa"), ("latency", "mean"), ("lif", "life"), ("WA", "wa"), ("P99-Raed", "p99-read")],
)
def test_another_name_for_a_goal_is_told_with_the_goal(typed: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"--goal {typed}: there is no such goal. Did you mean {meant}?"):
        question("zipf", Options(), goal=typed)


def test_the_first_and_the_last_estimate_of_a_budget_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(((5.0, False), (9.0, False)))
    monkeypatch.setattr(preparing, "_filled_s", lambda _: next(times))
    query = Query("zipf", "7450", budget_s=60.0)
    device = _device(query, query.document(), Silent, None) | {"label": "filled by no other test"}
    first, last = Preparing(device, {}, query, 2).missing(), Preparing(device, {"requests": 1}, query, 2).advice(60.0)
    assert first is not None
    assert re.findall(r"--budget \d+min", first) == re.findall(r"--budget \d+min", last[1]) != []


def estimated(monkeypatch: pytest.MonkeyPatch, share: float, worked_s: float) -> tuple[float, bool]:
    """How long a fill is said to take on a machine that gives it a share of a core."""
    now = {"wall": 100.0, "work": 10.0}

    def watched(_call: object, watcher: Watcher, until_s: float) -> str:
        for done in range(1, 101):
            now["wall"], now["work"] = now["wall"] + worked_s / 100 / share, now["work"] + worked_s / 100
            watcher.show([("page (precondition)", done, 100), ("page", 0, 1)])
            if now["wall"] > until_s:
                raise TimeIsUp
        return json.dumps({"runs": [{"wall_s": worked_s / share, "measured_wall_s": 0.0}]})

    monkeypatch.setattr(preparing, "watched", watched)
    monkeypatch.setattr(time, "monotonic", lambda: now["wall"])
    monkeypatch.setattr(time, "process_time", lambda: now["work"])
    return _filled_s({})


def test_an_estimate_of_a_fill_is_the_same_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for worked_s in (0.5, 6.0):
        for share in (1.0, 0.4, 0.08):
            fill_s, is_least = estimated(monkeypatch, share, worked_s)
            assert fill_s == pytest.approx(worked_s)
            assert not is_least
    assert estimated(monkeypatch, 0.01, 1e3)[1], "of which hardly anything was seen"


def test_budgets_that_would_do_are_in_round_minutes() -> None:
    told = [enough(60 * minutes) for minutes in (0.01, 1.0, 1.1, 3.1, 5.5, 10.0, 14.0, 19.0, 51.0)]
    assert told == [f"about --budget {minutes}min" for minutes in (1, 1, 2, 5, 10, 10, 20, 20, 100)]


@pytest.mark.parametrize(("share", "requests"), [(1.0, 100_000), (0.2, 20_000), (0.001, 3_000)])
def test_a_probe_that_does_not_end_tells_by_its_first_part(
    share: float, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 65,536 requests that take a second of a core."""
    now_s = [100.0]

    def watched(_call: object, watcher: Watcher, until_s: float) -> str:
        for done in range(1, 65):
            now_s[0] += 1 / 64 / share
            if now_s[0] > until_s:
                raise TimeIsUp
            watcher.show([("page", 1024 * done, 65_536)])
        return json.dumps({"runs": [{"measured_wall_s": 1 / share}]})

    monkeypatch.setattr(fitting, "watched", watched)
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    query = Query("randwrite", "qlc", Options(capacity="4TB"), budget_s=60.0)
    assert fitting.fitted(query, dict, 2).options["requests"] == requests


def test_a_study_that_no_stack_can_have_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def noted(*given: Any) -> Any:  # noqa: ANN401 - as `checked` has them
        asked.append(given)
        return checked(*given)

    monkeypatch.setattr("ftlkit.advice.run.checked", noted)
    query = Query("fin1", options=Options(requests=900, settings=["device.spare=7"]))
    with pytest.raises(UserError, match="spare"):
        _device(query, query.document(), Silent, None)
    assert len(asked) == 1
