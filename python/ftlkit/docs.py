"""Writes the reference pages that are made and never edited: `python -m ftlkit.docs docs`.

One page a scheme, from the story at the head of its source file, where its author keeps it true;
the page of all columns, from the table of metrics and the frames; and the page of sources.
"""

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from textwrap import fill

from ftlkit._util import Json, units
from ftlkit._util.outputs import write as write_file
from ftlkit.api import catalogue
from ftlkit.api.catalogue import TITLES
from ftlkit.report.causes import CAUSES, CONTROLLER, LINK
from ftlkit.results.columns import METRICS, PARTS
from ftlkit.results.frames import FRAMES
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

Columns of the frames of results, and of the files of `--csv`, `--parquet` and `--series`. In
Python, `results.runs`, `results.series` and so on are Polars frames (`results.save` writes one).
Times are virtual nanoseconds, sizes bytes, shares 0 to 1. Missing values are null.

*From* names the keys of a run in the JSON results (`--json`), if they differ from the column's
name. `read_…_ns` and `write_…_ns` have the figures of `response_…_ns` for reads and writes alone.
"""


def columns() -> str:
    """The page of all columns and metrics."""
    metrics = METRICS.values()
    parts = [_COLUMNS_HEAD, "## `runs`: one row per run", "", *_metrics(filter(_has_row, metrics))]
    for name, frame in FRAMES.items():
        if name != "runs":
            parts += [
                "",
                f"## `{name}`",
                "",
                fill(f"One row per {frame.row}.", 100, break_on_hyphens=False),
                "",
                "| column | type | meaning |",
                "|---|---|---|",
            ]
            alike = groupby(frame.columns.items(), key=lambda column: column[1])
            parts += [
                f"| {', '.join(f'`{key}`' for key, _ in columns)} | {_TYPES[kind]} | {_cell(meaning)} |"
                for (kind, meaning), columns in alike
            ]
    parts += [
        "",
        "## The log of requests",
        "",
        "`--requests-out FILE.parquet` writes one row per run and request.",
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


_TYPES = {str: "text", int: "integer", float: "number", bool: "boolean"}
"""What a type of Polars is called."""

_REQUEST_COLUMNS = {
    "label": ("text", "the run"),
    "kind": ("text", "`read`, `write`, `trim` or `flush`"),
    "request": ("integer", "its place in the order of issue, from 1"),
    "arrival_ns": ("integer", "its arrival in the workload; a closed loop ignores it"),
    "begin_ns": (
        "integer",
        "when the host sent it (open loop: at its arrival); response times start here",
    ),
    "end_ns": ("integer", "completion of its last page"),
    "pages": ("integer", "pages covered, whole or in part"),
    "CAUSE_operations": (
        "integer",
        "flash operations per cause since the last request, background included",
    ),
    "waiting_CAUSE_ns": (
        "integer",
        "wait behind operations of each cause; needs `run.waiting`",
    ),
    "service_CAUSE_ns": ("integer", "time of its own operations per cause; needs `run.waiting`"),
    "controller_ns": ("integer", "time at the controller and between operations; needs `run.waiting`"),
    "link_ns": ("integer", "time on the host link, waiting included; needs `run.waiting`"),
}


def request_columns() -> list[str]:
    """The columns of the log of requests."""
    causes = [cause for cause in CAUSES if cause not in (CONTROLLER, LINK)]
    return [
        name.replace("CAUSE", cause) for name in _REQUEST_COLUMNS for cause in (causes if "CAUSE" in name else [""])
    ]


def _metrics(metrics: Iterable[Metric]) -> list[str]:
    head = ["| column | type | meaning | better | from |", "|---|---|---|---|---|"]
    return head + [
        f"| `{metric.name}` | {metric.unit or _TYPES[metric.type]} | {_cell(metric.meaning)} | {metric.better} "
        f"| {'' if metric.source == metric.name else _keys(metric.source)} |"
        for metric in metrics
    ]


def _has_row(metric: Metric) -> bool:
    """Whether it is a column, and not one of reads or writes alone beside one of both."""
    kind, _, figure = metric.name.partition("_")
    return metric.is_column and not (kind in ("read", "write") and f"response_{figure}" in METRICS)


def _keys(source: str) -> str:
    return ", ".join(f"`{key}`" for key in source.split(", "))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m ftlkit.docs FOLDER")
    for written in write(Path(sys.argv[1])):
        sys.stdout.write(f"{written}\n")
