"""Writes the reference pages of the schemes from the stories in their sources: `python -m ftlkit.docs docs`.

The pages are made, never edited: what a scheme does is said once, at the head of its source file, where its author
keeps it true.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit import api, units
from ftlkit.outputs import replacing

if TYPE_CHECKING:
    from ftlkit.document import Json


def write(folder: Path) -> list[Path]:
    """Write the pages and their index below `folder`; return what was written."""
    place = folder / "schemes"
    place.mkdir(parents=True, exist_ok=True)
    schemes = api.schemes()
    pages = {place / f"{scheme['name']}.md": page(scheme) for scheme in schemes}
    pages[place / "index.md"] = index(schemes)
    for path, text in pages.items():
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return list(pages)


def page(scheme: Json) -> str:
    """One scheme's page: its story, whose first line is the title, and its parameters."""
    title, _, story = scheme["story"].strip().partition("\n")
    facts = f"Family: {scheme['family']}. Source: {scheme['source']}."
    return "\n".join([title, "", facts, story, "", "## Parameters", "", *parameters(scheme), ""])


def parameters(scheme: Json) -> list[str]:
    """The table of a scheme's parameters."""
    if not scheme["parameters"]:
        return ["None."]
    head = ["| parameter | default | allowed | meaning | source of the default |", "|---|---|---|---|---|"]
    return head + [_row(each) for each in scheme["parameters"]]


def _row(parameter: Json) -> str:
    name, default = f"`{parameter['name']}`", f"`{parameter['default']}`"
    return (
        f"| {name} | {default} | {allowed(parameter)} | {_cell(parameter['meaning'])} | {_cell(parameter['source'])} |"
    )


def allowed(parameter: Json) -> str:
    """What a parameter may be."""
    if parameter["kind"] == "choice":
        return ", ".join(f"`{word}`" for word in parameter["of"])
    if parameter["kind"] == "switch":
        return "`true`, `false`"
    show = {"bytes": units.size, "ratio": units.plain, "duration": units.duration}.get(parameter["kind"], units.count)
    return f"{show(parameter['min'])} to {show(parameter['max'])}"


def index(schemes: list[Json]) -> str:
    """The page that lists them."""
    rows = [f"| [{each['name']}]({each['name']}.md) | {each['family']} | {_cell(each['source'])} |" for each in schemes]
    return "\n".join(["# Translation layers", "", "| name | family | source |", "|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m ftlkit.docs FOLDER")
    for written in write(Path(sys.argv[1])):
        sys.stdout.write(f"{written}\n")
