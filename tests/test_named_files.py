"""The pages for contributors name files, programs and types of the sources that exist."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "DESIGN.md")
SOURCES = ("*.rs", "*.py", "*.toml", "Makefile")
# Where a page may leave out the beginning of a path, since it speaks of that crate or folder.
BELOW = ("", "crates/ftl/src/", "crates/sim/src/", "crates/check/src/", "crates/live/src/", "python/ftlkit/", "docs/")


def tracked(*patterns: str) -> list[str]:
    """Files of the repository, by path."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in listed.splitlines() if (ROOT / path).exists()]


def quoted(page: str) -> list[str]:
    """What a page sets as code, and the targets of its links."""
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.findall(r"`([^`]+)`", text) + re.findall(r"\]\(([^)#:]+)", text)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    """By its path, by one below a crate that the page speaks of, or by a name within a folder."""
    files = tracked()
    known = {f"/{path}" for path in files} | {f"/{folder}" for path in files for folder in Path(path).parents}
    words = {word.rstrip("/") for code in quoted(page) for word in re.findall(r"[\w./-]+", code)}
    named = {word for word in words if re.search(r"\w\.(rs|py|md|toml|txt)$", word) or word.startswith("crates/")}
    named = {word for word in named if not re.search(r"NAME|FILE|study\.toml", word)}
    assert {word for word in named if not any(path.endswith(f"/{word}") for path in known)} == set()


def test_every_type_and_function_that_contributing_names_exists() -> None:
    """A name in code with a capital, or a call or path of Rust, is in some source."""
    text = "\n".join((ROOT / path).read_text(encoding="utf-8") for path in tracked(*SOURCES))
    names = {
        name
        for code in quoted("CONTRIBUTING.md")
        if not re.search(r"[/ ]", code)
        for name in re.findall(r"\b(?:[A-Z][a-z]+[A-Z]?\w*|[a-z]\w+(?=\())", code)
    }
    missing = {name for name in names if not re.search(rf"\b{name}\b", text)}
    assert names
    assert missing == set()


def test_every_target_of_make_and_package_that_a_page_names_exists() -> None:
    """A command that a page gives can be given."""
    code = [code for page in PAGES for code in quoted(page)]
    code += [line for page in PAGES for line in re.findall(r"```.*?```", (ROOT / page).read_text(), flags=re.DOTALL)]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {target for text in code for target in re.findall(r"\bmake ([a-z][a-z-]*)", text)}
    assert targets
    assert {target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()
    packages = {name for text in code for name in re.findall(r"-p (ftlkit-[a-z]+)", text)}
    assert packages
    assert {name for name in packages if not (ROOT / "crates" / name.removeprefix("ftlkit-")).is_dir()} == set()
    programs = {name for text in code for name in re.findall(r"--example (\w+)", text)}
    examples = {Path(path).stem for path in tracked("crates/*/examples/*.rs")}
    assert programs - examples == set()
