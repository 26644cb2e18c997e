"""Writes the reference pages that are made and never edited: `python -m ftlkit.docs docs`.

One page a scheme, from the story at the head of its source file, where its author keeps it true;
the page of all columns, from the table of metrics and the frames; and the page of sources.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from ftlkit._util import units
from ftlkit._util.outputs import write as write_file
from ftlkit.api import catalogue
from ftlkit.api.catalogue import TITLES
from ftlkit.report.causes import CAUSES, CONTROLLER, LINK
from ftlkit.results.columns import METRICS, PARTS
from ftlkit.results.frames import FRAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from ftlkit.results.document import Json
    from ftlkit.results.metric import Metric


def write(folder: Path) -> list[Path]:
    """Write the pages and their index below `folder`; return what was written."""
    place = folder / "schemes"
    place.mkdir(parents=True, exist_ok=True)
    parts = [part for part in catalogue.parts() if part["family"] != "python"]
    pages = {place / f"{part['name']}.md": page(part) for part in parts}
    pages[place / "index.md"] = index(parts)
    pages[folder / "columns.md"] = columns()
    pages[folder / "sources.md"] = titles()
    for path, text in pages.items():
        write_file(path, text.encode())
    return list(pages)


def page(scheme: Json) -> str:
    """One scheme's page: its story, whose first line is the title, and its parameters."""
    title, _, story = scheme["story"].strip().partition("\n")
    facts = f"Family: {scheme['family']}. Source: {scheme['source']}."
    cited = [f"- {source}" for source in scheme["sources"]]
    return "\n".join(
        [title, "", facts, story, "", "## Parameters", "", *parameters(scheme), "", "## Cited", "", *cited, ""]
    )


def parameters(scheme: Json) -> list[str]:
    """The table of a scheme's parameters."""
    if not scheme["parameters"]:
        return ["None."]
    head = ["| parameter | default | allowed | meaning | source of the default |", "|---|---|---|---|---|"]
    return head + [_row(parameter) for parameter in scheme["parameters"]]


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
    rows = [
        f"| [{scheme['name']}]({scheme['name']}.md) | {scheme['family']} | {_cell(scheme['idea'])} |"
        for scheme in schemes
    ]
    head = ["# Translation layers and their parts", "", "| name | family | idea |", "|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def titles() -> str:
    """The page of what is cited, each by its short name."""
    head = ["# Sources", "", "What the sources, stories and studies cite, by short name.", ""]
    return "\n".join([*head, "| name | title |", "|---|---|", *(f"| {name} | {TITLES[name]} |" for name in TITLES), ""])


_COLUMNS_HEAD = """\
# Every column

The columns of the frames that results are read as, and of the files that `--csv`, `--parquet` and
`--series` write. In Python, `results.runs` is a Polars frame with one row a run, and
`results.series`, `results.operations` and so on are the others;
`results.save(path, frame="series")` writes one of them. Times are virtual nanoseconds unless the
name says otherwise, sizes are bytes, shares go from 0 to 1. What does not exist is null: the mean
response time of no read, the hit ratio of a scheme without a mapping cache.

*From* names the key of a run in the JSON results (`--json`), part by part; a column with several is
computed from these. *Better* says which way is better where one is.
"""


def columns() -> str:
    """The page of all columns and metrics."""
    metrics = METRICS.values()
    parts = [_COLUMNS_HEAD, "## `runs`: one row a run", "", *_metrics(metric for metric in metrics if metric.is_column)]
    for name, frame in FRAMES.items():
        if name != "runs":
            parts += [
                "",
                f"## `{name}`",
                "",
                fill(f"One row {frame.row}.", 100, break_on_hyphens=False),
                "",
                "| column | type | meaning |",
                "|---|---|---|",
            ]
            parts += [
                f"| `{key}` | {_type(kind)} | {_cell(meaning)} |" for key, (kind, meaning) in frame.columns.items()
            ]
    parts += [
        "",
        "## The log of requests",
        "",
        "What `--requests-out FILE.parquet` writes: one row a run and request.",
        "",
    ]
    parts += ["| column | type | meaning |", "|---|---|---|"]
    parts += [f"| `{name}` | {kind} | {meaning} |" for name, (kind, meaning) in _REQUEST_COLUMNS.items()]
    parts += ["", "## Causes", "", "| `cause` | in reports | kind of work | meaning |", "|---|---|---|---|"]
    parts += [
        f"| `{cause.name}` | {cause.words} | {cause.work} | {_cell(cause.meaning)} |" for cause in CAUSES.values()
    ]
    parts += [
        "",
        "## Metrics for reproductions",
        "",
        "[Reproductions](reproduce.md) may use every number above, and these:",
        "",
    ]
    parts += _metrics(metric for metric in metrics if not metric.is_column)
    parts += ["", "## What else the JSON holds", "", "| key of a run | where it is shown |", "|---|---|"]
    parts += [f"| `{key}` | {_cell(where)} |" for key, where in PARTS.items()]
    return "\n".join([*parts, ""])


_REQUEST_COLUMNS = {
    "label": ("text", "the run"),
    "kind": ("text", "`read`, `write`, `trim` or `flush`"),
    "request": ("whole number", "its place in the workload, from 1"),
    "arrival_ns": ("whole number", "when it arrives, says the workload; a closed loop ignores that"),
    "begin_ns": (
        "whole number",
        "when the host sent it, in an open loop at its arrival: the response time counts from here",
    ),
    "end_ns": ("whole number", "when its last page was done"),
    "pages": ("whole number", "pages that it covers, whole or in part"),
    "CAUSE_operations": (
        "whole number",
        "flash operations of each cause since the request before it, in the background, too",
    ),
    "waiting_CAUSE_ns": (
        "whole number",
        "time that it waited behind operations of each cause; not without `run.waiting`",
    ),
    "service_CAUSE_ns": ("whole number", "time of its own operations of each cause; not without `run.waiting`"),
    "controller_ns": ("whole number", "its time at the controller and between operations; not without `run.waiting`"),
    "link_ns": ("whole number", "its time on the host link, waiting included; not without `run.waiting`"),
}


def request_columns() -> list[str]:
    """The columns of the log of requests."""
    causes = [cause for cause in CAUSES if cause not in (CONTROLLER, LINK)]
    return [
        name.replace("CAUSE", cause) for name in _REQUEST_COLUMNS for cause in (causes if "CAUSE" in name else [""])
    ]


def _metrics(metrics: Iterable[Metric]) -> list[str]:
    head = ["| column | type | unit | meaning | better | from |", "|---|---|---|---|---|---|"]
    return head + [
        f"| `{metric.name}` | {_type(metric.type)} | {metric.unit} | {_cell(metric.meaning)} | {metric.better} "
        f"| {_keys(metric.source)} |"
        for metric in metrics
    ]


def _type(kind: pl.DataType) -> str:
    return {"String": "text", "Int64": "whole number", "Float64": "number", "Boolean": "true, false"}[str(kind)]


def _keys(source: str) -> str:
    return ", ".join(f"`{key}`" for key in source.split(", "))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m ftlkit.docs FOLDER")
    for written in write(Path(sys.argv[1])):
        sys.stdout.write(f"{written}\n")
