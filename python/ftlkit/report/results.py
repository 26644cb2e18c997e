"""Results of a study as Polars frames, saved and loaded as one JSON document.

Everything that is shown (tables, verdict, charts, reports) is drawn from here alone (`outcome.py`),
so a saved file can be shown again without a new run. Frames keep plain numbers: times in
nanoseconds, sizes in bytes, shares 0..1, the unit last in the name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util.outputs import check_writable, write
from ftlkit.results.columns import COLUMNS
from ftlkit.results.outcome import Outcome

if TYPE_CHECKING:
    import polars as pl

    from ftlkit.report.chart import Chart
    from ftlkit.report.verdict import Verdict

SUFFIXES = (".json", ".csv", ".parquet")
"""What results can be saved as."""

RUN_COLUMNS: dict[str, str] = {name: metric.meaning for name, metric in COLUMNS.items()}
"""The columns of `Results.runs` with their meanings; docs/columns.md has units and types."""


class Results(Outcome):
    """Results of one study: the finished runs and the request, with tables and reports."""

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict in sentences: a headline, reasons, costs and cautions; `str()` joins them."""
        from ftlkit.report.verdict import verdict  # noqa: PLC0415 - only who asks needs it

        return verdict(self)

    def draw_timeline(self, path: str | Path) -> None:
        """Write one self-contained HTML file with the operations of the study's window."""
        from ftlkit.report.timeline import page  # noqa: PLC0415 - as for the report

        self._draw(path, page)

    def draw_player(self, path: str | Path) -> None:
        """Write one self-contained HTML file that plays the flash operations of a window."""
        from ftlkit.report.player import page  # noqa: PLC0415 - as for the report

        self._draw(path, page)

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML file that explains the results and works offline."""
        from ftlkit.report.page import page  # noqa: PLC0415 - drawing libraries take a second to load, and only reports need them

        self._draw(path, page)

    def _draw(self, path: str | Path, page: Callable[[Outcome], str]) -> None:
        """Write a page; refuse the path before seconds of drawing."""
        check_writable([Path(path)], self._read())
        write(Path(path), page(self).encode(), self._read())

    def save(self, path: str | Path, *, frame: str = "runs") -> None:
        """Save the results: everything as `.json`, one frame as `.csv` or `.parquet`.

        `frame` names it: `runs` has one row per run, `series` one per run and point in time, and so
        on as in `ftlkit.results.frames.FRAMES`.
        """
        path = Path(path)
        if path.suffix.lower() not in SUFFIXES:
            raise UserError(f"cannot tell how to save {path}: its name must end in one of {', '.join(SUFFIXES)}.")
        table = self.frame(frame)
        write(path, self.written(path.suffix.lower(), table), self._read())

    def written(self, suffix: str, table: pl.DataFrame | None = None) -> bytes:
        """What `save` writes by suffix: `.json` the document, `.csv` and `.parquet` a frame."""
        if suffix == ".json":
            return json.dumps(self.document, ensure_ascii=False).encode()
        frame, out = self.runs if table is None else table, io.BytesIO()
        if suffix == ".csv":
            frame.write_csv(out)
        else:
            frame.write_parquet(out)
        return out.getvalue()

    def _read(self) -> list[str | Path | None]:
        """What these results were made of, which nothing may overwrite."""
        return [self.document["study"].get("workload", {}).get("trace"), self.source]

    def __repr__(self) -> str:
        state = ", cancelled" if self.cancelled else ""
        return f"<ftlkit.Results of {', '.join(self.labels) or 'no run'} on {self.document['workload']['name']}{state}>"

    def chart(self, name: str | None = None) -> Chart:
        """One chart of the report, for a notebook; `response-cdf`, the first, unless named."""
        from ftlkit.report.chart import of_results  # noqa: PLC0415 - as for the report

        return of_results(self, name)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict and the table of the report."""
        from ftlkit.report.page import fragment  # noqa: PLC0415 - as for the report

        return fragment(self)


def load(path: str | Path) -> Results:
    """Results that were saved as JSON."""
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}. Give a file that --json or Results.save wrote."
        ) from None
    except ValueError:
        raise UserError(f"{path} is not a JSON document. Give a file that --json or Results.save wrote.") from None
    missing = [key for key in ("ftlkit", "study", "workload", "device", "runs") if key not in _keys(document)]
    if missing:
        raise UserError(f"{path} holds no ftlkit results: {missing[0]} is missing. Give a file that --json wrote.")
    return Results(document, path)


def _keys(document: object) -> Iterator[str]:
    if isinstance(document, dict):
        yield from document
