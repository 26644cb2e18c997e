"""Texts and comments have at most 100 columns; code has the limits of its formatters."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COLUMNS = 100

FREE = re.compile(r"^[\s/!]*\||\S{70}")
"""A row of a table, and what has no place to break, such as an address."""

WRITTEN_BY_DOCS = ("docs/columns.md", "docs/schemes")


def rust(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are comments, without blocks of code in them."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.match(r"\s*//[/!]? ?(.*)", line)
        is_code = comment is not None and is_code ^ comment[1].startswith("```")
        if comment is not None and not is_code:
            yield number, line


LONG_COMMENT = re.compile(rf"^(?=.{{{COLUMNS + 1}}})\s*#", re.MULTILINE)
"""Perhaps: the line may be of a string."""


def python(source: str) -> Iterator[tuple[int, str]]:
    """Lines that are comments or of docstrings; comments if one may be too long."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source if LONG_COMMENT.search(source) else "").readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            yield token.start[0], token.line.rstrip()
    for node in ast.walk(ast.parse(source)):
        body = node.body if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else []
        for text in (statement.value for statement in body if isinstance(statement, ast.Expr)):
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                for number in range(text.lineno, (text.end_lineno or text.lineno) + 1):
                    yield number, lines[number - 1]


def markdown(text: str) -> Iterator[tuple[int, str]]:
    """Lines outside of tables and blocks of code."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            yield number, line


KINDS = {".rs": rust, ".py": python, ".md": markdown}
PATTERNS = [f"*{suffix}" for suffix in KINDS]


def too_long(name: str, text: str) -> list[str]:
    """The lines over the limit, without rows of tables and what has no place to break."""
    kind = KINDS[Path(name).suffix]
    lines = ((number, line) for number, line in kind(text) if len(line) > COLUMNS)
    return [f"{name}:{number}: {len(line)}" for number, line in lines if not FREE.search(line)]


def test_texts_and_comments_have_at_most_100_columns() -> None:
    """In every file of the repository."""
    listed = subprocess.run(["git", "ls-files", *PATTERNS], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a checkout of git")
    names = [name for name in listed.stdout.split() if not name.startswith(WRITTEN_BY_DOCS)]
    assert len(names) > 500
    assert [line for name in names for line in too_long(name, (ROOT / name).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("a.rs", f"fn a() {{}}\n    // {'word ' * 20}", 2),
        ("a.py", f'"""Short.\n\n{"word " * 21}\n"""\n', 3),
        ("a.py", f"x = 1\n# {'word ' * 21}\n", 2),
        ("a.md", f"| {'word ' * 30} |\n\n{'word ' * 21}", 3),
    ],
)
def test_a_long_line_is_seen(name: str, text: str, number: int) -> None:
    """In each kind of file, and not in code or tables."""
    assert [line.split(":")[1] for line in too_long(name, text)] == [str(number)]
