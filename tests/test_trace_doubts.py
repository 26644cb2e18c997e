"""What a trace's times and hints leave in doubt is said with results, with figures."""

import json
from pathlib import Path

import pytest

import ftlkit as fk
from advice import sought
from ftlkit._util import Json
from ftlkit.results.store import Store
from ftlkit.sweeps import plan as plans
from ftlkit.sweeps import run as runs
from ftlkit.sweeps.local import Local

SECOND = 1_000_000_000


def tencent(path: Path, *, seconds: int = 12, rate: int = 40) -> Path:
    """Writes at random places in whole seconds."""
    rows = (f"{1538323200 + s},{(s * rate + n) * 7919 % 4096 * 8},8,1,7" for s in range(seconds) for n in range(rate))
    path.write_text("\n".join(rows) + "\n")
    return path


def said(results: fk.Results, part: str) -> list[str]:
    """The cautions that have these words."""
    return [caution for caution in results.verdict.cautions if part in caution]


def study(trace: Path, **workload: object) -> Json:
    return {
        "device": {"preset": "slc-small", "capacity": "128MiB"},
        "workload": {"trace": str(trace), **workload},
        "run": {"precondition": "none"},
        "ftl": [{"name": "page"}, {"name": "dftl"}],
    }


def test_coarse_ticks_are_said_with_the_responses_of_both_readings(tmp_path: Path) -> None:
    trace = tencent(tmp_path / "seconds.csv")
    recorded, spread = fk.run_study(study(trace)), fk.run_study(study(trace, tick="1s"))
    means = [results.document["runs"][0]["response_ns"]["all"]["mean"] or 0 for results in (recorded, spread)]
    ticks = recorded.document["workload"].get("ticks")
    assert ticks
    compared = ticks["compared"]
    assert compared
    assert (compared["recorded_mean_ns"], compared["spread_mean_ns"]) == tuple(round(mean) for mean in means)
    assert means[0] > 5 * means[1]
    (caution,) = said(recorded, "in steps of 1s")
    assert "--tick 1s" in caution
    assert spread.document["workload"].get("ticks") is None
    assert not said(spread, "in steps of")


def test_stray_times_leave_the_step_and_both_figures(tmp_path: Path) -> None:
    trace = tmp_path / "strays.csv"
    stamps = [s * SECOND + (317_000_000 if n == 39 and s % 3 == 0 else 0) for s in range(12) for n in range(40)]
    rows = [f"{stamp},write,{n * 7919 % 4096 * 4096},4096,0,a" for n, stamp in enumerate(stamps)]
    trace.write_text("\n".join(["time_ns,op,offset,length,stream,device", *rows]) + "\n")
    (caution,) = said(fk.run_study(study(trace)), "in steps of 1s")
    assert "--tick 1s" in caution
    assert "as recorded, and" in caution


@pytest.mark.parametrize("served", [{}, {"requests": 100}, {"repeat": 2}, {"repeat": 3, "requests": 1000}], ids=str)
def test_requests_of_a_step_are_counted_in_the_trace_whatever_is_served(
    served: dict[str, object], tmp_path: Path
) -> None:
    results = fk.run_study(study(tencent(tmp_path / "seconds.csv"), **served))
    (caution,) = said(results, "in steps of 1s")
    assert caution.startswith("468 of the trace's 480 requests arrive with the one before")


def test_points_of_a_sweep_say_once_how_their_trace_was_read(tmp_path: Path) -> None:
    trace = tencent(tmp_path / "seconds.csv")
    made = plans.with_more(plans.from_options([trace], "page,dftl", None, {"capacity": "128MiB"}), [], 2)
    done = runs.run(made, Store(tmp_path / "store", create=True), Local())
    facts = json.loads(done.rows[0]["document"])["workload"]["facts"]
    assert sum("in steps of 1s" in fact for fact in facts) == 1


@pytest.mark.parametrize(("goal", "says_steps"), [("mean", True), ("wa", False)])
def test_advice_tells_of_its_trace_what_comparisons_do(goal: str, tmp_path: Path, *, says_steps: bool) -> None:
    for trace, part, is_said in [
        (tencent(tmp_path / "seconds.csv", seconds=60), "in steps of 1s", says_steps),
        (streams(tmp_path / "streams.csv", 11), "shared the last stream", True),
    ]:
        advice = sought(tmp_path, trace, goal=goal, ftl="page:streams=hints", trials=1, seeds=1, options={})
        assert any(part in caution for caution in advice.cautions) == is_said


@pytest.mark.parametrize(("loop", "seconds"), [("closed", 12), ("open", 1)])
def test_ticks_that_do_not_matter_are_not_said(loop: str, seconds: int, tmp_path: Path) -> None:
    """In a closed loop times are not used; times that are all alike have no step."""
    document = study(tencent(tmp_path / "seconds.csv", seconds=seconds))
    results = fk.run_study({**document, "host": {"loop": loop}})
    assert not said(results, "in steps of")


def fio_log(path: Path, requests: int = 4000) -> Path:
    """A latency log of fio: a new read when one completes, 45 us in the mean; ends in whole ms."""
    end_ns, lines = 0, []
    for n in range(requests):
        latency_ns = 30_000 + n * 7919 % 30_000
        end_ns += latency_ns + 5_000
        lines.append(f"{end_ns // 1_000_000}, {latency_ns}, 0, 4096, {n * 7919 % 4096 * 4096}, 0")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_arrivals_from_completions_in_whole_milliseconds_are_said_with_both_figures(tmp_path: Path) -> None:
    log = fio_log(tmp_path / "job_lat.1.log")
    with pytest.raises(fk.UserError, match="a latency log of fio") as refused:
        fk.run_study(study(log))
    said_words = str(refused.value)
    assert '" --tick 1ms.' in said_words
    columns = said_words.split('"')[1]
    ways: list[Json] = [study(log, columns=columns, **more) for more in ({}, {"tick": "1ms"})]
    recorded, spread = (fk.run_study({**way, "run": {"precondition": "fill"}}) for way in ways)
    means = [results.document["runs"][0]["response_ns"]["all"]["mean"] or 0 for results in (recorded, spread)]
    assert means[0] > 2 * means[1], "requests of a millisecond waited for each other"
    assert means[1] < 46_000, "as fio saw it: no request waited"
    (caution,) = said(recorded, "in steps of 1ms")
    assert "complete with the one before" in caution
    assert "are off by up to 1ms" in caution
    assert "as recorded, and" in caution
    assert "--tick 1ms" in caution
    assert not said(spread, "in steps of")


def streams(path: Path, first: int) -> Path:
    """Writes of five streams, numbered from `first` on."""
    rows = (f"{n * 1000000},write,{n * 4096},4096,{first + n % 5},0,0,a" for n in range(500))
    path.write_text("\n".join(["time_ns,op,offset,length,stream,temperature,file_type,device", *rows]) + "\n")
    return path


@pytest.mark.parametrize(("first", "streams_kept", "shared"), [(1, 6, 0), (1, 4, 200), (11, 8, 500), (11, 16, 0)])
def test_streams_beyond_those_kept_apart_are_counted(
    first: int, streams_kept: int, shared: int, tmp_path: Path
) -> None:
    trace = streams(tmp_path / "streams.csv", first)
    layers = [f"page:streams=hints:hint_streams={streams_kept}", "page"]
    results = fk.compare(str(trace), layers, device="slc-small", capacity="1GiB", precondition="none")
    assert [run["notes"]["shared_streams"] for run in results.document["runs"]] == [shared, 0]
    assert len(said(results, f"{shared} under page")) == (shared > 0)


def test_trace_info_lists_streams(tmp_path: Path) -> None:
    found = fk.trace_info(streams(tmp_path / "streams.csv", 11))["statistics"]["streams"]
    assert found == [{"stream": 11 + n, "writes": 100, "bytes": 409600} for n in range(5)]
    assert fk.trace_info(tencent(tmp_path / "seconds.csv"))["statistics"]["streams"] == []


@pytest.mark.parametrize("loop", ["open", "closed"])
def test_one_time_is_said_in_an_open_loop(loop: str, tmp_path: Path) -> None:
    """A trace without times arrives as one burst; a closed loop uses no times."""
    trace = tmp_path / "untimed.csv"
    trace.write_text("".join(f"0,web,0,Write,{n * 7919 % 4096 * 4096},4096,0\n" for n in range(400)))
    results = fk.run_study({**study(trace), "host": {"loop": loop}})
    cautions = said(results, "have one time in the trace")
    assert [("time=GAP" in caution, "--loop closed" in caution) for caution in cautions] == (
        [(True, True)] if loop == "open" else []
    )
