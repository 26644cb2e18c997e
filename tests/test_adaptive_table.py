"""Tables on a terminal: long stacks go on in the next line, and no name breaks within a setting."""

import io
import re

import pytest
from rich.console import Console

from ftlkit.cli import shell
from ftlkit.cli.adaptive_table import AdaptiveTable, Row, folded

LONG = "* treeftl:load_before_write=false:ram=26MiB:victims=latte:write_misses=cache"
STACKS = ["  page", "dftl:cmt=16KiB:cmt_policy=clock+dynamic+fifo:ram=1MiB", LONG]


def printed(headings: list[str], names: list[str], width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    rows = [Row("", name, [f"{len(heading)}.5 ms" for heading in headings]) for name in names]
    console.print(AdaptiveTable(("", "stack"), headings, rows).fitted(console))
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    return text.splitlines()


def test_a_long_stack_stays_in_its_row_and_is_folded() -> None:
    lines = printed(["RAM", "mean", "WA"], STACKS)
    assert lines[0].split() == ["stack", "RAM", "mean", "WA"]
    assert max(map(len, lines)) <= 80
    row = next(place for place, line in enumerate(lines) if line.startswith("* treeftl:"))
    assert lines[row].split()[-1] == "ms"
    assert lines[row + 1].startswith("  victims=latte:")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_lines_end_without_blanks(is_terminal: bool) -> None:  # noqa: FBT001 - a case of the test
    console = type(shell.OUT)(file=io.StringIO(), width=80, force_terminal=is_terminal)
    rows = [Row("", "a", ["1 ms", "–"]), Row("", "a long name", ["", ""])]
    console.print(AdaptiveTable(("", "stack"), ["mean", "a wide heading"], rows).fitted(console))
    console.print("words that wrap " * 8, end="go on ")
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    lines = re.sub(r"\x1b\[\d*m", "", text).split("\n")
    assert lines[:3] == ["stack        mean  a wide heading", "a            1 ms               –", "a long name"]
    assert lines[-1].endswith("go on ")
    assert not [line for line in lines[:-1] if line.endswith(" ")]


@pytest.mark.parametrize("width", [40, 60, 80])
def test_each_point_has_a_line_of_the_columns_that_fit(width: int) -> None:
    headings = [f"heading {place}" for place in range(9)]
    table = AdaptiveTable(("on", "FTL"), headings, [Row("fin1", f"page {n}", ["1.5 ms"] * 9) for n in range(50)])
    console = Console(file=io.StringIO(), width=width)
    lines, left_out = table.lines(console, 40)
    console.print(lines)
    text: str = console.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    shown = text.splitlines()
    assert len(shown) == 41
    assert max(map(len, shown)) <= width
    assert [*re.findall(r"heading \d", shown[0]), *left_out] == headings


def test_long_stacks_over_many_figures_are_folded_in_the_head_of_their_columns() -> None:
    headings = [f"heading {place}" for place in range(11)]
    lines = printed(headings, STACKS[:2])
    assert max(map(len, lines)) <= 80
    assert [line.split()[1] for line in lines if line.startswith("heading")] == [str(place) for place in range(11)]


def test_in_a_list_a_name_has_a_line_of_its_own() -> None:
    lines = [line.rstrip() for line in printed(["mean"] * 3, ["* an-unbreakable-name-of-a-stack"] * 2, width=30)]
    assert lines[0] == "* an-unbreakable-name-of-a-stack"[:30]
    assert lines[1:3] == ["ck", "  mean 4.5 ms"]


@pytest.mark.parametrize("width", range(8, 80, 9))
def test_a_folded_name_breaks_behind_parts_alone_and_keeps_its_letters(width: int) -> None:
    lines = folded(LONG, width).split("\n")
    assert "".join(lines).replace(" ", "") == LONG.replace(" ", "")
    assert all(line[-1] in ":+" for line in lines[:-1])
