"""Tools: one compares event hashes, one finds values that programs read and never compute."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import LONG
from ftlkit.study import tomllib
from tool_modules import load_tool

ROOT = Path(__file__).parents[1]
TOOL = ROOT / "tools" / "lost_assignments.py"

# As Rust 1.95 optimised `if ghosts.take(lpn) { … }`, cut down: `_4` was whether a page was there.
WITHOUT_VALUE = """\
fn on_inserted(_1: &mut Ghosts, _2: &mut dyn Iterator<Item = u32>, _3: u32) -> () {
    let mut _0: ();
    let mut _4: bool;
    scope 1 (inlined Ghosts::take) {
    }

    bb0: {
        StorageLive(_4);
        _6 = copy ((*_1).0: &mut dyn Iterator<Item = u32>);
        _5 = copy (*_6);
        (*_6) = const 0_u32;
        _8 = copy _4 as usize (IntToInt);
        ((*_1).2: usize) = Sub(copy ((*_1).2: usize), move _8);
        switchInt(move _5) -> [0: bb2, otherwise: bb1];
    }
}
"""
WITH_VALUE = WITHOUT_VALUE.replace("        _8 =", "        _4 = Ne(copy _5, const 0_u32);\n        _8 =")


@pytest.mark.parametrize(
    ("listing", "statements"),
    [
        (WITHOUT_VALUE, ["_8 = copy _4 as usize (IntToInt);"]),
        (WITH_VALUE, []),
        (WITHOUT_VALUE.replace("_5 = copy (*_6)", 'asm!("cpuid", out(_4))'), []),
    ],
    ids=["lost", "kept", "assembly"],
)
def test_a_value_that_is_read_and_never_written_is_found(listing: str, statements: list[str]) -> None:
    mir = load_tool("lost_assignments")
    found = [each for head, body in mir.bodies(listing.splitlines()) for each in mir.lost(head, body)]
    assert [each.statement for each in found] == statements


@pytest.mark.skipif(not LONG, reason="compiles all crates; set FTLKIT_LONG=1")
def test_no_value_of_a_release_is_lost() -> None:
    said = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_every_row_of_the_steady_bench_is_compared() -> None:
    source = (ROOT / "benches" / "src" / "steady.rs").read_text(encoding="utf-8")
    named = re.findall(r'^ {8}name: "|^ {4}log_buffer\("|^ {4}page_mapped\(|\.\.page_mapped\(', source, re.MULTILINE)
    rows = load_tool("compare_hashes").steady_rows()
    assert len(rows) == len(named) > 20
    for name, text in rows.items():
        study = tomllib.loads(text)
        assert study["ftl"], name
        assert study["device"]["channels"] > 1, name


def test_an_answer_is_held_against_what_other_answers_found() -> None:
    tool = load_tool("advice_regret")
    # Of a default of 1: the grid's best costs 0.9, and another answer's stack 0.6.
    first = tool.Case("own-log", "mean", 0.0, 1, "kast", 0.0, -0.1, is_hedged=False, best="kast", trials=60)
    second = tool.replace(first, stack="adapt", over_default=-0.4, trials=20)
    other = tool.replace(first, seed=2)
    refused = tool.replace(first, stack="", over_default=0.0, is_hedged=True)
    found = tool.beside_all([first, second, other, refused])
    assert [case.regret for case in found] == pytest.approx([0.5, 0.0, 0.0, 0.0])
    row = next(line for line in tool.table([first, second, other, refused]).splitlines() if "60 trials" in line)
    cells = [cell.strip().replace("\N{NO-BREAK SPACE}", " ") for cell in row.split("|")[1:-1]]
    assert cells == ["mean", "60 trials", "3", "1", "1", "25.0 %", "0 %", "50.0 %"]
    page = tool.written(f"before\n{tool.BEGIN}\nold\n{tool.END}\nbehind\n", row)
    assert page == f"before\n{tool.BEGIN}\n\n{row}\n\n{tool.END}\nbehind\n"
