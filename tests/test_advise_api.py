"""Advice in Python: the same answer as the command's, as frames and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import ftlkit as fk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

ASKED: dict[str, Any] = {"ftl": "page,dftl", "trials": 2, "seeds": 2, "ram": 100 << 10}
SMALL: dict[str, Any] = {"requests": 3_000, "settings": ["workload.span=64MiB"]}
TYPED = "--ftl page,dftl --trials 2 --seeds 2 --ram 100KiB --requests 3000 --set workload.span=64MiB"


def test_the_answer_is_that_of_the_command(call: Callable[..., Result], tmp_path: Path) -> None:
    heard: list[str] = []
    advice = fk.advise("fin1", **ASKED, **SMALL, tell=heard.append)
    assert list(tmp_path.iterdir()) == [], "without a store nothing is kept"
    assert any("measured on the first" in each for each in heard)
    result = call("advise", "fin1", *TYPED.split(), "--json", "a.json")
    assert result.exit_code == 0, result.output
    advice.save(tmp_path / "b.json")
    told = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert told == json.loads((tmp_path / "b.json").read_text(encoding="utf-8")) == advice.document
    assert " ".join(result.stdout.split()).startswith(advice.sentences[0])
    assert advice.doubts + advice.cautions == told["sure"] + told["cautions"]
    assert (advice.advised, advice.command, advice.is_cancelled) == (told["advised"], told["command"], False)
    assert repr(advice) == f"<ftlkit.Advice for fin1: {advice.advised}>"


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
    ("asked", "words"),
    [
        ({"ram": "lots"}, "ram lots: must be a size"),
        ({"ram": 0}, "ram = 0: must be 1 byte or more"),
        ({"budget": 0}, "budget 0.000000s: must be a time"),
        ({"budget": "soon"}, "budget soon"),
        ({"seeds": 0}, "--seeds 0"),
        ({"goal": "speed"}, "there is no goal speed"),
        ({"skip": 5}, "skip: the search sets it itself"),
        ({"span": "1GiB"}, "span"),
        ({"ftl": "dfttl"}, "dfttl"),
        ({"workload": {"preset": "fin1"}}, "a preset's name or a trace's path"),
    ],
)
def test_what_cannot_be_answered_is_refused(asked: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"workload": "fin1", "requests": 3_000, "trials": 2}
    with pytest.raises(fk.UserError) as caught:
        fk.advise(**(given | asked))
    assert words in str(caught.value)
