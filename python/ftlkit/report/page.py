"""The report: one self-contained HTML file, drawn from saved results alone.

It loads nothing from anywhere: style, scripts and data are inside. Charts are drawn twice, as still
pictures that need no script and, where scripts run, as live ones that follow the page's width.
Colours follow the reader's light or dark setting through CSS; the charts inherit the text colour.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import jinja2
import vl_convert
from markupsafe import Markup, escape

from ftlkit._util import Json, units
from ftlkit.report import facts, figures, life, tables, wear_charts
from ftlkit.report.causes import cause_name
from ftlkit.report.palette import CAUSE_COLOURS, styles
from ftlkit.report.verdict import verdict
from ftlkit.results.columns import METRICS
from ftlkit.study import toml

if TYPE_CHECKING:
    from ftlkit.results.outcome import Outcome


LONGEST_PART = 36
"""Characters that stay together: on a phone a line has room for about this many."""


def page(results: Outcome) -> str:
    """The report's HTML."""
    document = results.document
    seen = {operation["cause"] for run in document["runs"] for operation in run["operations"] if operation["count"]}
    seen |= set(results.waiting["cause"])
    prepared = facts.preparation(document)
    return template("page.html.j2").render(
        title=document["study"].get("name") or f"Translation layers on {facts.workload(document)}",
        document=document,
        verdict=verdict(results),
        results=tables.runs(results),
        operations=tables.operations(results),
        operation_columns=tables.operation_columns(results),
        responses=tables.responses(results),
        response_columns=tables.RESPONSES,
        parts_of_responses=tables.parts(results),
        streams=tables.streams(results),
        stream_columns=tables.stream_columns(results),
        wear=tables.wear(results),
        wear_columns=tables.wear_columns(results),
        wear_meanings=[METRICS[name].meaning for name in tables.wear_columns(results)],
        life=life.rows(results),
        life_columns=life.COLUMNS,
        footprints=tables.footprints(results),
        classes=tables.classes(results),
        class_columns=tables.CLASS_COLUMNS,
        figures=figures.draw(results),
        styles=styles(results.labels),
        causes={cause: cause_name(cause) for cause in CAUSE_COLOURS if cause in seen},
        cause_colours=CAUSE_COLOURS,
        wear_stops=wear_charts.wear_stops(results),
        asked=facts.asked(results),
        workload=facts.workload(document),
        device_line=facts.device_line(document),
        preparation=f"{prepared[0].upper()}{prepared[1:]}",
        downs=_downs(results),
        study=toml.written(document["study"]),
        units=units,
    )


def _downs(results: Outcome) -> Json:
    """The tables with a column per run, for narrow screens."""
    return {
        "responses": tables.down(tables.responses(results), [*tables.RESPONSES.values()], "kind"),
        "streams": tables.down(tables.streams(results), tables.stream_columns(results), "stream"),
        "wear": tables.down(tables.wear(results), [*tables.wear_columns(results).values()]),
        "life": tables.down(life.rows(results), life.COLUMNS),
        "operations": tables.down(tables.operations(results), tables.operation_columns(results), "cause"),
        "classes": tables.down(tables.classes(results), tables.CLASS_COLUMNS, "name"),
    }


def fragment(results: Outcome) -> str:
    """The verdict and the table of results, for a notebook's cell; no style, no script."""
    return template("fragment.html.j2").render(verdict=verdict(results), results=tables.runs(results))


def template(name: str) -> jinja2.Template:
    """One of the package's page templates."""
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {"css": _style, "script": _own_script, "vega": _drawing_script}
    environment.filters["json_script"] = _json_script
    environment.filters["breakable"] = _breakable
    environment.filters["unbroken"] = _unbroken
    environment.filters["coded"] = _coded
    return environment


def _style() -> Markup:
    """The style sheet of all pages."""
    return Markup(_asset("style.css"))  # noqa: S704 - our own file


def _own_script() -> Markup:
    """What all pages do where scripts run."""
    return Markup(_asset("report.js"))  # noqa: S704 - our own file


def _asset(name: str) -> str:
    return (resources.files("ftlkit.report") / "assets" / name).read_text(encoding="utf-8")


def _breakable(name: str) -> Markup:
    """A stack's name that may go on in the next line behind a part or setting alone."""
    parts = re.findall(r"[^:+,\s]*[:+,\s]*", str(name))
    spans = [
        f'<span class="unbroken">{escape(part)}</span>' if len(part) <= LONGEST_PART else str(escape(part))
        for part in parts
        if part
    ]
    return Markup("<wbr>".join(spans))  # noqa: S704 - escaped just here


_UNBROKEN = re.compile(r"--[a-z][a-z0-9-]*|[^\s()]+[:=+][^\s()]*[^\s().,;:]")
"""Options, and stacks with settings."""


def _unbroken(sentence: str) -> Markup:
    """A sentence whose options and stacks go on in the next line only behind a part or setting."""
    pieces: list[str] = []
    end = 0
    for found in _UNBROKEN.finditer(sentence):
        pieces += [str(escape(sentence[end : found.start()])), str(_breakable(found[0]))]
        end = found.end()
    return Markup("".join([*pieces, str(escape(sentence[end:]))]))  # noqa: S704 - escaped just here


def _coded(sentence: str) -> Markup:
    """A sentence whose commands stand between backquotes."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(sentence))))  # noqa: S704 - escaped just here


def _json_script(value: object) -> Markup:
    """JSON that cannot end the script element it stands in."""
    return Markup(json.dumps(value, ensure_ascii=False).replace("<", "\\u003c"))  # noqa: S704 - escaped just here


@cache
def _drawing_script() -> Markup:
    """The drawing libraries, in a scope of their own: their names would become the page's.

    They are put together once: that takes a second.
    """
    source = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
    return Markup(f"(() => {{{source}}})();")  # noqa: S704 - a pinned library
