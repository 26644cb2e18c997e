"""Writes requirements.lock: the newest versions for the oldest supported Python.

Resolving for the oldest Python gives pins that later ones take as well, so that one lock serves
all.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

OLDEST = "3.10"
ROOT = Path(__file__).parent.parent
ONLY_OLDEST = {"exceptiongroup": "1.3.1", "tomli": "2.5.0"}
"""Needed by pytest and mypy below Python 3.11 alone, so a later resolver misses them."""

HEADER = """\
# Exact versions of everything the Python side needs, for running, testing and linting.
# Resolved for the oldest supported Python (3.10); every pin also installs on later ones.
# `make lock` writes this file anew.
"""


def wanted() -> list[str]:
    """The requirements of pyproject.toml, those of the dev extra included."""
    command = [
        sys.executable,
        "-c",
        "import tomllib, sys, json; print(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))['project']))",
    ]
    text = subprocess.run([*command, str(ROOT / "pyproject.toml")], check=True, capture_output=True, text=True).stdout
    project = json.loads(text)
    return [*project["dependencies"], *project["optional-dependencies"]["dev"]]


def resolve(requirements: list[str]) -> list[dict[str, Any]]:
    """What pip would install for the oldest Python."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:", "--python-version", OLDEST]
        command = [sys.executable, "-m", "pip", "install", *options, "--target", folder, "--report", str(report)]
        subprocess.run([*command, *requirements], check=True)
        packages: list[dict[str, Any]] = json.loads(report.read_text())["install"]
    return packages


def main() -> None:
    """Write the lock."""
    pins = {
        package["metadata"]["name"].lower().replace("_", "-"): package["metadata"]["version"]
        for package in resolve(wanted())
    }
    lines = {name: f"{name}=={version}" for name, version in pins.items()}
    lines |= {name: f'{name}=={version} ; python_version < "3.11"' for name, version in ONLY_OLDEST.items()}
    text = HEADER + "".join(f"{lines[name]}\n" for name in sorted(lines))
    (ROOT / "requirements.lock").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
