"""The tool that compares event hashes reads the rows of the bench out of its source."""

import re
from pathlib import Path

from ftlkit.study import tomllib
from tool_modules import load_tool

ROOT = Path(__file__).parents[1]


def test_every_row_of_the_steady_bench_is_compared() -> None:
    source = (ROOT / "benches" / "src" / "steady.rs").read_text(encoding="utf-8")
    named = re.findall(r'^ {8}name: "|^ {4}log_buffer\("|^ {4}page_mapped\(|\.\.page_mapped\(', source, re.MULTILINE)
    rows = load_tool("compare_hashes").steady_rows()
    assert len(rows) == len(named) > 20
    for name, text in rows.items():
        study = tomllib.loads(text)
        assert study["ftl"], name
        assert study["device"]["channels"] > 1, name
