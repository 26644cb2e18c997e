"""The package's imports make no circles, those for types and in functions included."""

import ast
from pathlib import Path

import ftlkit

ROOT = Path(__file__).parents[1] / "python"


def modules() -> dict[str, str]:
    """Every module of the package with its text; a stub stands for what is compiled."""
    files = {}
    for path in sorted([*ROOT.rglob("*.pyi"), *ROOT.rglob("*.py")]):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return files


def imported(text: str, known: dict[str, str]) -> set[str]:
    """The modules that a text imports anywhere in it, each by its longest name."""
    imports = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imports |= {name if name in known else node.module for name in names}
    return {name for name in imports if name in known}


def circular(known: dict[str, str]) -> dict[str, set[str]]:
    """What is left after removing, again and again, modules without imports or importers."""
    graph = {name: imported(text, known) - {name} for name, text in known.items()}
    while True:
        wanted = set().union(*graph.values())
        done = {name for name, others in graph.items() if not others or name not in wanted}
        if not done:
            return graph
        graph = {name: others - done for name, others in graph.items() if name not in done}


def test_no_files_import_each_other_in_a_circle() -> None:
    files = modules()
    assert "ftlkit.report.page" in files
    assert circular(files) == {}


def both_ways(known: dict[str, str]) -> set[tuple[str, str]]:
    """Pairs of folders that import from each other, whatever file does."""
    arrows = {
        (name.split(".")[1], other.split(".")[1])
        for name, text in known.items()
        for other in imported(text, known)
        if "." in name and "." in other
    }
    return {(one, other) for one, other in arrows if one < other and (other, one) in arrows}


def test_no_folders_import_from_each_other() -> None:
    # Both ask the public catalogue for schemes and presets.
    assert both_ways(modules()) <= {("advice", "api"), ("api", "calibration")}
    assert both_ways({"p.a.x": "from p.b.y import z", "p.b.y": "", "p.b.u": "import p.a.x"}) == {("a", "b")}


def test_circles_are_seen_wherever_an_import_stands() -> None:
    lazy = "def f():\n    from p.a import x"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a"
    for back in ("import p.a", lazy, typed):
        assert circular({"p": "", "p.a": "from p.b import y", "p.b": back}) == {"p.a": {"p.b"}, "p.b": {"p.a"}}
    assert circular({"p": "from p.a import x", "p.a": "from p.b import y", "p.b": "import json"}) == {}


def test_no_module_has_the_name_of_a_public_function() -> None:
    # Loading `ftlkit.sweep` would put a module where `fk.sweep` is the function.
    assert not {name for name in ftlkit.__all__ if f"ftlkit.{name}" in modules()}
