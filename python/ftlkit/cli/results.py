"""`ftlkit results`: what is in a store of results."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.lookup import refuse_unknown, several
from ftlkit._util.outputs import check_pages, check_writable
from ftlkit.cli import options
from ftlkit.cli.adaptive_table import AdaptiveTable, Row
from ftlkit.cli.options import option
from ftlkit.cli.shell import OUT, Command, Group, save, say
from ftlkit.cli.show import show as show_results
from ftlkit.report.results import Results
from ftlkit.results.columns import COLUMNS
from ftlkit.results.point_state import STATES
from ftlkit.results.store import DEFAULT, PLACE, Store, results, varied
from ftlkit.sweeps.comparison import BETTER, WORSE, Pair, Selection, compare, in_order, select

app = typer.Typer(cls=Group, no_args_is_help=True, help="List, show, compare and export results of sweeps.")

Folder = Annotated[Path, typer.Option("--store", metavar="DIR", help="The store that a sweep wrote.")]

_SHORT = 8
"""Digits of a key that are shown; any that tell it apart are enough to name it."""


@app.command("list", cls=Command)
def list_(
    store: Folder = DEFAULT,
    ftl: Annotated[str | None, option("Only these stacks, or those with these parts.", "NAMES")] = None,
    workload: Annotated[str | None, option("Only of this workload.", "TRACE|PRESET")] = None,
    device: Annotated[str | None, option("Only on this device.", "PRESET")] = None,
    state: Annotated[str | None, option("Only in this state.", "|".join(STATES))] = None,
) -> None:
    """List points: what each is, and whether it has results."""
    if state is not None:
        refuse_unknown([state], STATES, "state of a point")
    rows, damaged = Store(store).readable()
    given = {"ftl": ftl, "workload": workload, "device": device, "state": state}
    wanted = {key: value for key, value in given.items() if value is not None}
    chosen = [row for row in rows if all(_is_wanted(row, key, value) for key, value in wanted.items())]
    if rows and not chosen:
        filters = " ".join(f"--{key} {value}" for key, value in wanted.items())
        raise UserError(f"{filters}: none of the {several(len(rows), 'point')} in {store} is one.")
    made = []
    for row in sorted(chosen, key=in_order):
        settings = ", ".join(f"{key}={value}" for key, value in varied(row).items())
        cells = [COLUMNS[name].text(row[name]) for name in ("write_amplification", "response_mean_ns")]
        place = [row["label"], settings, *cells, row["state"], row["workload"], row["device"], str(row["seed"])]
        made.append(Row("", row["key"][:_SHORT], place))
    headings = ["FTL", "varied", "WA", "mean response", "state", "workload", "device", "seed"]
    if made:
        shown, left_out = AdaptiveTable(("", "key"), headings, made).lines(OUT, len(made))
        OUT.print(shown)
        if left_out:
            say(f"Not shown: {', '.join(left_out)} (a wider terminal, or ftlkit results export FILE.csv, has all).")
    say(f"{f'{len(chosen):,} of ' if wanted else ''}{several(len(rows), 'point')} in {store}")
    if damaged:
        others = ", ".join(f"{name}.parquet" for name in list(damaged)[1:])
        more = f" So are {len(damaged) - 1} more: {others}." if others else ""
        raise UserError(f"{next(iter(damaged.values()))}{more}")


def _is_wanted(row: Json, key: str, value: str) -> bool:
    """Whether a point is one that was asked for."""
    if key == "workload":
        return str(row[key]) == Path(value).name
    if key == "ftl":
        parts = {row["label"], row["ftl"], *(row["ftl"] or "").split("+")}
        return any(name.strip() in parts for name in value.split(","))
    return str(row[key]) == value


@app.command("show", cls=Command)
def show(
    keys: Annotated[list[str], typer.Argument(metavar="KEYS", help="Keys of points, or what they begin with.")],
    store: Folder = DEFAULT,
    report: options.Report = None,
) -> None:
    """Show the whole results of points, as `ftlkit compare` does."""
    points_store = Store(store)
    chosen = [_key(points_store, key) for key in keys]
    if report is not None and len(chosen) > 1:
        raise UserError(f"--report: a report is of one point, and {len(chosen)} were given. Give one key.")
    check_writable([report], points_store.files)
    check_pages(report=report)
    for row in points_store.rows(chosen):
        if row["document"] is None:
            OUT.print(f"{row['key']}: {row['state']}: {row['error']}")
            continue
        results_of_point = Results(results(row).document)
        show_results(results_of_point, OUT)
        if report is not None:
            results_of_point.report(report)
            say(f"wrote {report}")


@app.command("compare", cls=Command)
def compare_(
    before: Annotated[
        str, typer.Argument(metavar="BEFORE", help="A layer, conditions such as dftl.cmt=16KiB, or a store.")
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The same, for the other side of the comparison.")],
    store: Folder = DEFAULT,
) -> None:
    """Show what got better or worse between two selections of points, beyond the noise."""
    sides = select(before, store), select(after, store)
    pairs = compare(*sides)
    metrics = list({change.metric.name: change.metric for pair in pairs for change in pair.changes}.values())
    rows = [Row(pair.place, pair.names, _cells(pair, [metric.name for metric in metrics])) for pair in pairs]
    OUT.print(AdaptiveTable(("of", "change"), [metric.heading for metric in metrics], rows).fitted(OUT))
    for metric in metrics:
        verdicts = [change.verdict for pair in pairs for change in pair.changes if change.metric.name == metric.name]
        counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys([BETTER, WORSE, *verdicts]))
        OUT.print(f"{metric.heading}: {counts}")
    for apart in dict.fromkeys(pair.apart for pair in pairs if pair.apart):
        say(f"The two sides differ in {apart}.")
    _say_counts(pairs, sides)


def _say_counts(pairs: list[Pair], sides: tuple[Selection, Selection]) -> None:
    """Say how many seeds were paired, and how many points have no like on the other side."""
    seeds = sorted({len(pair.before) for pair in pairs})
    seeds_text = several(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    used = ({row["key"] for pair in pairs for row in pair.before}, {row["key"] for pair in pairs for row in pair.after})
    unpaired = [len({row["key"] for row in side.rows} - keys) for side, keys in zip(sides, used, strict=True)]
    names = [f"{count} of {side.text}" for count, side in zip(unpaired, sides, strict=True) if count]
    out = f"; skipped, with no matching point on the other side: {', '.join(names)}" if names else ""
    say(f"{several(len(pairs), 'pair')} of points, {seeds_text} in each{out}")


def _cells(pair: Pair, names: list[str]) -> list[str]:
    texts = {change.metric.name: change.text for change in pair.changes}
    return [texts.get(name, COLUMNS[name].text(None)) for name in names]


@app.command("export", cls=Command)
def export(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write: FILE.csv or FILE.parquet.")],
    store: Folder = DEFAULT,
) -> None:
    """Save one row per point, with a column for each varied key."""
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise UserError(f"{out}: the name must end in .csv or .parquet.")
    points_store = Store(store)
    check_writable([out], points_store.files)
    save(out, lambda: _written(points_store.frame(), out.suffix.lower()), points_store.files)


def _written(frame: pl.DataFrame, suffix: str) -> bytes:
    rows = [varied(row) for row in frame.select("varied").to_dicts()]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    columns: dict[str, Any] = {key: [row.get(key) for row in rows] for key in keys}
    place = [name for name in PLACE if name != "varied"]
    flat = pl.concat(
        [
            frame.select(place),
            pl.DataFrame(columns, schema=dict.fromkeys(keys, pl.String)),
            frame.select(list(COLUMNS)),
        ],
        how="horizontal",
    )
    made = io.BytesIO()
    if suffix == ".csv":
        flat.write_csv(made)
    else:
        flat.write_parquet(made)
    return made.getvalue()


def _key(store: Store, text: str) -> str:
    keys = [key for key in sorted(store.keys()) if key.startswith(text)]
    if len(keys) == 1:
        return keys[0]
    raise UserError(
        f"{several(len(keys), 'point')} of {store.path} begin with {text}: give "
        + ("more digits" if keys else "one of `ftlkit results list`")
        + "."
    )
