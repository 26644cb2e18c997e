"""Sets the version of everything, and closes the list of changes: `make release VERSION=0.2.0`.

The version stands in Cargo.toml, for all crates, and with the dependencies of the crates on each
other; in Cargo.lock; in CITATION.cff. The Python package takes it from its crate. CHANGELOG.md gets
the version and the day as the heading of what was unreleased, and an empty list on top.

Nothing is committed or published: the next steps are printed.
"""

import datetime as dt
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSION = r"\d+\.\d+\.\d+"
NEXT_STEPS = """\
{version} is set. Look at the changes (git diff), then:
  git commit -am "Release {version}" && git tag v{version}
  cargo publish --workspace --dry-run     # all crates, in the order in which they need each other
  cargo publish --workspace
  # Run the workflow `release` at the tag: it builds wheels for all systems, and the sdist."""


class ReleaseError(Exception):
    """The release cannot be made; says what to change."""


def released(version: str, root: Path, day: dt.date) -> dict[Path, str]:
    """The files that change, with their new text. Raises `ReleaseError` and changes nothing."""
    if not re.fullmatch(VERSION, version):
        raise ReleaseError(f"VERSION = {version!r}: must be three numbers, such as 0.2.0.")
    manifest, lock, citation, changes = (
        root / name for name in ("Cargo.toml", "Cargo.lock", "CITATION.cff", "CHANGELOG.md")
    )
    before = _match(rf'\[workspace\.package\]\nversion = "({VERSION})"', manifest)[1]
    if _numbers(version) < _numbers(before):
        raise ReleaseError(f"VERSION = {version}: the version is {before} already; give a later one.")
    return {
        manifest: _with_dependencies(manifest.read_text(encoding="utf-8"), before, version),
        lock: _locked(lock.read_text(encoding="utf-8"), before, version),
        citation: _replaced(
            rf"(?m)^version: {VERSION}\ndate-released: .*$", f"version: {version}\ndate-released: {day}", citation
        ),
        changes: _closed(changes, version, day),
    }


def _with_dependencies(text: str, before: str, version: str) -> str:
    """The manifest: the version of the workspace, and of each dependency that lies in it."""
    old = re.escape(before)
    text = re.sub(rf'(?m)^(\w+ = \{{ .*path = "crates/.*version = )"{old}"', rf'\g<1>"{version}"', text)
    return re.sub(rf'(\[workspace\.package\]\nversion = )"{old}"', rf'\g<1>"{version}"', text)


def _locked(text: str, before: str, version: str) -> str:
    """The lock file: packages without a source are those of the workspace."""
    head, *packages = text.split("[[package]]\n")
    own = f'version = "{before}"\n'
    packages = [
        package if "\nsource = " in package else package.replace(own, f'version = "{version}"\n', 1)
        for package in packages
    ]
    return "[[package]]\n".join([head, *packages])


def _closed(changes: Path, version: str, day: dt.date) -> str:
    """The list of changes, whose part on top is what this version brings."""
    heading = _match(r"(?m)^## Unreleased.*$", changes)
    text = changes.read_text(encoding="utf-8")
    if not text[heading.end() :].partition("\n## ")[0].strip():
        raise ReleaseError(f"{changes.name}: nothing is listed under Unreleased, so there is nothing to release.")
    return text[: heading.start()] + f"## Unreleased\n\n## {version} ({day})" + text[heading.end() :]


def _match(pattern: str, path: Path) -> re.Match[str]:
    found = re.search(pattern, path.read_text(encoding="utf-8"))
    if found is None:
        raise ReleaseError(f"{path.name}: has nothing like {pattern}, where the version or its changes stand.")
    return found


def _replaced(pattern: str, by: str, path: Path) -> str:
    found = _match(pattern, path)
    text = path.read_text(encoding="utf-8")
    return text[: found.start()] + by + text[found.end() :]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def main() -> int:
    """Release the version that is asked for."""
    if len(sys.argv) != 2:
        print("usage: python tools/release.py VERSION, for example 0.2.0", file=sys.stderr)
        return 2
    try:
        files = released(sys.argv[1], ROOT, dt.datetime.now(tz=dt.timezone.utc).date())
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 2
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    print(NEXT_STEPS.format(version=sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
