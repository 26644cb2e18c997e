"""What every curve can do: be saved, as JSON with its study or as CSV with its points."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.outputs import write

if TYPE_CHECKING:
    import polars as pl

    from ftlkit.curves.page import Drawing
    from ftlkit.report.chart import Chart


class Saved(ABC):
    """A curve that can be saved."""

    @property
    @abstractmethod
    def frame(self) -> pl.DataFrame:
        """A row per point."""

    @property
    @abstractmethod
    def document(self) -> Json:
        """Everything as JSON, with the study that was asked."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """The curve as it is drawn and told."""

    def chart(self, name: str | None = None) -> Chart:
        """One chart of the report, for a notebook; the first unless named."""
        from ftlkit.curves.page import figures  # noqa: PLC0415 - the drawing libraries take a second to load
        from ftlkit.sweeps.charts import chosen  # noqa: PLC0415 - as above

        return chosen(figures(self.drawing()), name)

    def written(self, suffix: str) -> bytes:
        """What `save` writes for `.json` or `.csv`."""
        if suffix == ".json":
            return json.dumps(self.document, ensure_ascii=False).encode()
        out = io.BytesIO()
        self.frame.write_csv(out)
        return out.getvalue()

    def save(self, path: str | Path) -> None:
        """Save it as `.json`, or its points as `.csv`."""
        suffix = Path(path).suffix.lower()
        if suffix not in (".json", ".csv"):
            raise UserError(f"cannot tell how to save {path}: its name must end in .json or .csv.")
        write(Path(path), self.written(suffix), self.inputs())

    def inputs(self) -> list[str | None]:
        """The files that it was made of, which no output may replace."""
        return [self.document["study"]["workload"].get("trace")]
