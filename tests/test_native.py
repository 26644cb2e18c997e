"""The compiled module, its stub and the package agree: all names are typed and used."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ftlkit
from ftlkit import _native

PACKAGE = Path(ftlkit.__file__).parent
CRATE = Path(__file__).parents[1] / "crates" / "py"


def native_names() -> set[str]:
    """What the compiled module offers."""
    return {name for name in dir(_native) if not name.startswith("_") or name == "__version__"}


def stub() -> ast.Module:
    """The stub, parsed."""
    return ast.parse((PACKAGE / "_native.pyi").read_text(encoding="utf-8"))


def defined(body: list[ast.stmt]) -> set[str]:
    """Names that statements define."""
    functions = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return functions | {
        node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def used() -> set[str]:
    """Native names that the package imports or reaches through the module."""
    names: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "ftlkit._native":
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "_native":
                names.add(node.attr)
    return names


def test_every_native_name_is_typed_and_nothing_else_is() -> None:
    assert defined(stub().body) == native_names()


def test_every_native_name_is_used_by_the_package() -> None:
    assert native_names() <= used()


def test_methods_and_arguments_are_those_of_the_stub() -> None:
    for node in stub().body:
        if isinstance(node, ast.ClassDef) and not issubclass(getattr(_native, node.name), Exception):
            methods = {name for name in dir(getattr(_native, node.name)) if not name.startswith("__")}
            assert {name for name in defined(node.body) if not name.startswith("__")} == methods
        if isinstance(node, ast.FunctionDef):
            signature = getattr(_native, node.name).__text_signature__
            assert [argument.arg for argument in node.args.args] == [
                part.partition("=")[0].strip() for part in signature.strip("()").split(",") if part
            ]


def test_every_native_name_is_documented() -> None:
    assert all(getattr(_native, name).__doc__ for name in native_names())


def test_errors_have_one_base() -> None:
    assert issubclass(_native.UserError, _native.FtlkitError)
    assert issubclass(_native.FtlBug, _native.FtlkitError)


def names_in(source: str) -> list[tuple[str, str]]:
    """Names that a file of the module adds to it."""
    text = (CRATE / "src" / source).read_text(encoding="utf-8")
    return re.findall(r"add_class::<(\w+)>|wrap_pyfunction!\((\w+),", text)


def test_the_simulator_alone_has_all_names() -> None:
    assert sorted(names_in("live_device.rs") + names_in("mounted.rs")) == sorted(names_in("without_live.rs")) != []


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not there")
def test_what_simulates_alone_needs_no_live_device() -> None:
    cargo = ["cargo", "tree", "--offline", "--manifest-path", str(CRATE / "Cargo.toml"), "--edges", "normal"]
    whole, simulator = (
        subprocess.run([*cargo, "--prefix", "none", *options], check=True, capture_output=True, text=True).stdout
        for options in ([], ["--no-default-features"])
    )
    for crate in ("ftlkit-live ", "ftlkit-mount ", "rustls ", "fuser "):
        assert crate in whole
        assert crate not in simulator


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not there")
def test_the_live_device_is_of_linux_alone() -> None:
    """So that `pip install .` compiles elsewhere, too."""
    cargo = ["cargo", "metadata", "--offline", "--no-deps", "--format-version", "1", "--manifest-path"]
    asked = subprocess.run([*cargo, str(CRATE / "Cargo.toml")], check=True, capture_output=True, text=True)
    needed = [
        (package["name"], dependency["name"], dependency["target"])
        for package in json.loads(asked.stdout)["packages"]
        for dependency in package["dependencies"]
        if dependency["name"] in ("ftlkit-live", "ftlkit-mount") and package["name"] in ("ftlkit", "ftlkit-py")
    ]
    linux = 'cfg(target_os = "linux")'
    assert sorted(needed) == [
        ("ftlkit", "ftlkit-live", linux),
        ("ftlkit-py", "ftlkit-live", linux),
        ("ftlkit-py", "ftlkit-mount", linux),
    ]
