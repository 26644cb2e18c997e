"""The tool that compares event hashes reads the rows of the bench out of its source."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit.study import tomllib

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[1]


def tool() -> ModuleType:
    """`tools/compare_hashes.py` as a module."""
    spec = importlib.util.spec_from_file_location("compare_hashes", ROOT / "tools" / "compare_hashes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_row_of_the_steady_bench_is_compared() -> None:
    source = (ROOT / "benches" / "src" / "steady.rs").read_text(encoding="utf-8")
    named = re.findall(r'^ {8}name: "|^ {4}log_buffer\("|^ {4}page_mapped\(|\.\.page_mapped\(', source, re.MULTILINE)
    rows = tool().steady_rows()
    assert len(rows) == len(named) > 20
    for name, text in rows.items():
        study = tomllib.loads(text)
        assert study["ftl"], name
        assert study["device"]["channels"] > 1, name
