"""A release: one command sets the version everywhere, and closes the list of changes.

A workflow builds what is published.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The repository as it was committed, with the tool as it is."""
    if not (ROOT / ".git").exists():
        pytest.skip("there is no repository to clone")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
    (clone / "tools" / "release.py").write_bytes((ROOT / "tools" / "release.py").read_bytes())
    return clone


def release(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the tool says and does in a clone."""
    command = [sys.executable, "tools/release.py", *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)


def changed(clone: Path) -> set[str]:
    """The files that differ from what was committed, but for the tool."""
    command = ["git", "diff", "--name-only"]
    names = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout.split()
    return set(names) - {"tools/release.py"}


def test_a_release_sets_one_version_everywhere_and_cargo_takes_it(clone: Path) -> None:
    done = release(clone, "7.8.9")
    assert done.returncode == 0, done.stderr
    assert "cargo publish --workspace --dry-run" in done.stdout
    assert changed(clone) == {"CHANGELOG.md", "CITATION.cff", "Cargo.lock", "Cargo.toml"}
    manifest = (clone / "Cargo.toml").read_text()
    versions = re.findall(r'(?m)^(?:version = |\w+ = \{ .*path = "crates/.*version = )"(.*?)"', manifest)
    assert len(versions) > 10
    assert set(versions) == {"7.8.9"}
    assert "\nversion: 7.8.9\n" in (clone / "CITATION.cff").read_text()
    changes = (clone / "CHANGELOG.md").read_text()
    assert re.search(r"## Unreleased\n\n## 7\.8\.9 \(\d{4}-\d\d-\d\d\)\n\n### ", changes)
    lock = (clone / "Cargo.lock").read_text()
    assert re.search(r'name = "ftlkit"\nversion = "7\.8\.9"', lock)
    tree = ["cargo", "tree", "--locked", "--offline", "--depth", "0", "--package", "ftlkit"]
    taken = subprocess.run(tree, cwd=clone, capture_output=True, text=True, check=False)
    assert "ftlkit v7.8.9" in taken.stdout, taken.stderr


def test_what_cannot_be_released_is_refused_and_nothing_is_changed(clone: Path) -> None:
    for version, words in [("1.0", "three numbers"), ("0.0.9", "already"), ("v1.0.0", "three numbers")]:
        done = release(clone, version)
        assert done.returncode == 2
        assert words in done.stderr
    assert release(clone).returncode == 2
    assert changed(clone) == set()
    assert release(clone, "7.8.9").returncode == 0
    again = release(clone, "7.9.0")
    assert again.returncode == 2
    assert "nothing is listed under Unreleased" in again.stderr


def test_the_workflow_builds_wheels_for_four_systems_and_the_sdist_without_secrets() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    # YAML takes the key `on` for a truth value.
    assert workflow[True] == "workflow_dispatch"
    assert "secrets" not in text
    wheels = workflow["jobs"]["wheel"]["strategy"]["matrix"]["include"]
    assert {system["only"]: system["machine"] for system in wheels} == {
        "cp310-manylinux_x86_64": "ubuntu-24.04",
        "cp310-manylinux_aarch64": "ubuntu-24.04-arm",
        "cp310-macosx_x86_64": "macos-15-intel",
        "cp310-macosx_arm64": "macos-15",
    }
    kept = {job: tasks["steps"][-1]["with"]["path"] for job, tasks in workflow["jobs"].items()}
    assert kept == {"wheel": "wheelhouse/*.whl", "sdist": "dist/*.tar.gz"}


def test_the_oldest_python_and_compiler_are_the_same_everywhere() -> None:
    def said(pattern: str, *path: str) -> set[str]:
        return set(re.findall(pattern, ROOT.joinpath(*path).read_text(encoding="utf-8")))

    assert said(r'requires-python = ">=(.*)"', "pyproject.toml") == {"3.10"}
    assert said(r"Python (?:≥ )?(3\.\d+)", "README.md") == {"3.10"}
    assert said(r"Python (3\.\d+)", "Makefile") == {"3.10"}
    assert said(r"abi3-(\w+)", "crates", "py", "Cargo.toml") == {"py310"}
    assert said(r'build = "(\w+)-', "pyproject.toml") == {"cp310"}
    assert said(r"\b(cp\d+)-", ".github", "workflows", "release.yml") == {"cp310"}
    for path in ("Cargo.toml", "examples/my-ftl/Cargo.toml", "README.md", "Makefile"):
        assert said(r'(?:rust-version = "|Rust (?:≥ )?)(1\.\d+)', path) == {"1.90"}, path
