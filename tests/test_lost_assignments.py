"""The tool that finds values which optimised programs read and never compute."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import LONG

if TYPE_CHECKING:
    from types import ModuleType

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


def tool() -> ModuleType:
    """`tools/lost_assignments.py` as a module."""
    spec = importlib.util.spec_from_file_location("lost_assignments", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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
    mir = tool()
    found = [each for head, body in mir.bodies(listing.splitlines()) for each in mir.lost(head, body)]
    assert [each.statement for each in found] == statements


@pytest.mark.skipif(not LONG, reason="compiles all crates; set FTLKIT_LONG=1")
def test_no_value_of_a_release_is_lost() -> None:
    said = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
