"""Advice in Python: the same answer as the command's, as frames and files."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperOption

import ftlkit as fk
from conftest import Call
from ftlkit.advice.query import Query
from ftlkit.cli.advise import advise

ASKED: dict[str, Any] = {"ftl": "page,dftl", "trials": 2, "seeds": 2, "ram": 100 << 10}
SMALL: dict[str, Any] = {"requests": 3_000, "settings": ["workload.span=64MiB"]}
TYPED = "--ftl page,dftl --trials 2 --seeds 2 --ram 100KiB --requests 3000 --set workload.span=64MiB"


def test_the_answer_is_that_of_the_command(call: Call, tmp_path: Path) -> None:
    messages: list[str] = []
    advice = fk.advise("fin1", **ASKED, **SMALL, tell=messages.append)
    assert list(tmp_path.iterdir()) == [], "without a store nothing is kept"
    assert any("measured on the first" in message for message in messages)
    result = call("advise", "fin1", *TYPED.split(), "--json", "a.json")
    advice.save(tmp_path / "b.json")
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert document == json.loads((tmp_path / "b.json").read_text(encoding="utf-8")) == advice.document
    assert " ".join(result.stdout.split()).startswith(advice.sentences[0])
    assert advice.doubts + advice.cautions == document["sure"] + document["cautions"]
    assert (advice.advised, advice.command, advice.is_cancelled) == (document["advised"], document["command"], False)
    assert repr(advice) == f"<ftlkit.Advice for fin1: {advice.advised}>"
    shown = advice._repr_html_()
    assert shown.count("<tr>") == 1 + len(advice.stacks)
    assert advice.advised in shown
    assert "<script" not in shown


GIVEN: dict[str, tuple[str, Any]] = {
    "device": ("tlc-nvme", "tlc-nvme"),
    "ram": ("300KiB", "300KiB"),
    "goal": ("wa", "wa"),
    "budget": ("90s", "90s"),
    "trials": ("7", 7),
    "ftl": ("page,dftl", "page,dftl"),
    "seeds": ("5", 5),
    "vary": ("device.mapping_unit=4k,16k", ["device.mapping_unit=4k,16k"]),
    "threads": ("2", 2),
    "set": ("workload.span=64MiB", ["workload.span=64MiB"]),
    "requests": ("3000", 3000),
    "repeat": ("2", 2),
    "seed": ("9", 9),
    "where": ("x", ["x"]),
    "queue-depth": ("4", 4),
    "speedup": ("2.5", 2.5),
}
"""Options with a value, as it is typed and as Python takes it; of others a word will do."""
OWN = {"store", "report", "json", "install-completion", "show-completion"}
"""Options of what becomes of the answer."""


def options_of_the_command() -> list[TyperOption]:
    """The options that `ftlkit advise` takes."""
    own = typer.Typer()
    own.command()(advise)
    return [option for option in typer.main.get_command(own).params if isinstance(option, TyperOption)]


def test_every_option_of_the_command_reaches_the_question_of_python(
    call: Call, monkeypatch: pytest.MonkeyPatch, msr: Path
) -> None:
    """Each alone, so that none is lost or stands in for another."""
    queries: list[tuple[Query, Any]] = []

    def note(query: Query, _store: Path, threads: int | None, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - as it has them
        queries.append((query, threads))
        raise fk.UserError("enough.")

    monkeypatch.setattr("ftlkit.advice.run.answered", note)
    changed, plain = set(), None
    for option in [None, *options_of_the_command()]:
        name = "" if option is None else option.opts[0].removeprefix("--")
        # A trace has its own sizes and shares.
        if name in OWN or name in ("bs", "write-share", "theta"):
            continue
        text, value = ("", True) if option is None or option.is_flag else GIVEN.get(name, ("x", "x"))
        typed = [f"--{name}", *([text] if text else [])] if name else []
        result = call("advise", msr, *typed, exits=2)
        assert "enough." in result.stderr, (name, result.output)
        given: dict[str, Any] = {"settings" if name == "set" else name.replace("-", "_"): value} if name else {}
        with pytest.raises(fk.UserError, match="enough"):
            fk.advise(msr, **given)
        assert queries[-2] == queries[-1], name
        plain = plain or queries[-1]
        assert not name or queries[-1] != plain, f"{name} changes nothing"
        changed.add(name)
    assert changed >= {"", "ram", "goal", "budget", "trials", "ftl", "seeds", "device", "set", "precondition", "seed"}


def test_the_stacks_are_a_frame(tmp_path: Path) -> None:
    advice = fk.advise("fin1", **ASKED, **SMALL, store=tmp_path / "store")
    frame = advice.stacks
    assert frame["ram_bytes"].is_sorted()
    assert frame.filter("is_advised")["stack"].to_list() == [advice.advised]
    page = frame.filter(frame["stack"] == "page")
    runs = [fk.run(workload="fin1", skip=2_000, seed=seed, **SMALL).runs for seed in (1, 2)]
    assert page["response_mean_ns"][0] == sum(run["response_mean_ns"][0] for run in runs) / 2
    assert page["response_mean_ns_half_width"][0] > 0
    assert page["life_bytes"].to_list() == [None]
    before = sorted((tmp_path / "store" / "points").iterdir())
    again = fk.advise("fin1", **ASKED, **SMALL, store=tmp_path / "store")
    assert sorted((tmp_path / "store" / "points").iterdir()) == before
    assert again.document == advice.document
    again.report(tmp_path / "a.html")
    assert "Which translation layer for fin1?" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"ram": "lots"}, "ram lots: is no size"),
        ({"ram": 0}, "ram = 0: must be 1 byte or more"),
        ({"budget": 0}, "budget 0.000000s: must be above 0"),
        ({"budget": "soon"}, "budget soon"),
        ({"seeds": 0}, "--seeds 0"),
        ({"goal": "speed"}, "--goal speed: there is no such goal"),
        ({"skip": 5}, "skip: the search sets it itself"),
        ({"spam": "1GiB"}, "spam"),
        ({"ftl": "dfttl"}, "dfttl"),
        ({"workload": {"preset": "fin1"}}, "a preset's name or a trace's path"),
    ],
)
def test_what_cannot_be_answered_is_refused(wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"workload": "fin1", "requests": 3_000, "trials": 2}
    with pytest.raises(fk.UserError) as caught:
        fk.advise(**(given | wrong))
    assert words in str(caught.value)
