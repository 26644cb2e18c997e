"""What an advice says of itself: which part decided, what was not measured, and how it is measured again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftlkit.advise.answer import answer
from ftlkit.advise.asked import Asked
from ftlkit.advise.run import advise
from ftlkit.store import Store
from ftlkit.sweep.local import Local

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from ftlkit.advise.answer import Answer

FIN1: dict[str, Any] = {"requests": 6_000, "settings": ["workload.span=256MiB"]}


def sought(folder: Path, **asked: Any) -> Answer:  # noqa: ANN401 - fields of a question
    """The answer to a question on fin1."""
    question = Asked("fin1", **({"options": FIN1} | asked))
    found = answer(question, advise(question, Store(folder / "store", create=True, lazily=True), Local()))
    assert found is not None
    return found


def again(found: Answer) -> Answer:
    """The answer to what a search came to, after that was changed."""
    told = answer(found.asked, found.found)
    assert told is not None
    return told


def test_the_least_ram_is_chosen_by_the_figures_that_are_told(tmp_path: Path) -> None:
    found = sought(tmp_path, ftl="page,dftl,treeftl", trials=20, seeds=2, goal="ram", options={"requests": 3_000})
    there = [each.measured for each in found.told]
    best = min(each.mean("response_mean_ns") or 0 for each in there)
    enough = [each for each in there if (each.mean("response_mean_ns") or 0) <= 1.1 * best]
    assert found.advised.measured.mean("ram_bytes") == min(each.mean("ram_bytes") for each in enough)  # type: ignore[type-var] # each has one
    # Here the part that was searched tells something else.
    assert any("By the search alone it would have been treeftl" in each for each in found.doubts)


def test_without_a_response_there_is_nothing_to_choose_by(call: Callable[..., Result], tmp_path: Path) -> None:
    trims = tmp_path / "trims.csv"
    trims.write_text("".join(f"{row},trim,{row * 4096},4096\n" for row in range(300)))
    for goal in ("mean", "p99", "ram"):
        result = call("advise", trims, "--columns", "time:s, op, offset:B, size:B", "--trials", 2, "--goal", goal)
        assert result.exit_code == 2, result.output
        assert f"--goal {goal}: the workload neither reads nor writes" in " ".join(result.stderr.split())
