"""The files of a trace: one, or all that a pattern such as `hour*.csv` names."""

from __future__ import annotations

from pathlib import Path


def trace_files(path: str | Path) -> list[Path]:
    """The files by name; none where there is no such file."""
    path = Path(path)
    if path.exists():
        return [path]
    if "*" not in path.name:
        return []
    # Only the star has a meaning in a pattern.
    pattern = path.name.replace("[", "[[]").replace("?", "[?]")
    return sorted(path.parent.glob(pattern))
