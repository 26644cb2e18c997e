"""Write the tables of claims in docs: `tools/claims.py STUDY…`, of runs in ftlkit-results."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ftlkit import reproduce
from ftlkit.reproduce.judge import counts
from ftlkit.results.store import DEFAULT, Store

if TYPE_CHECKING:
    from collections.abc import Sequence

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- claims -->", "<!-- /claims -->"
HEAD = ["| claim | verdict | paper | ours | decided by |", "|---|---|---|---|---|"]


def ours(judgement: reproduce.Judgement) -> str:
    """Lowest and highest number of all rows and seeds, and how many rows are reproduced."""
    rows = [row for row in judgement.rows if row.values]
    if not rows:
        return judgement.rows[0].note
    numbers = [value for row in rows for value in row.values]
    low, high = (rows[0].shown(number) for number in (min(numbers), max(numbers)))
    held = sum(row.verdict == "reproduced" for row in rows)
    return (low if low == high else f"{low.removesuffix(' %')} to {high}") + (
        f"; {held} of {len(rows)}" if len(rows) > 1 else ""
    )


def line(judgement: reproduce.Judgement) -> str:
    """A claim's row of the table."""
    claim, verdict = judgement.claim, judgement.verdict
    condition = "" if verdict == "reproduced" else re.sub(" decides?$", "", claim.condition)
    return f"| {' | '.join((claim.id, verdict, claim.paper, ours(judgement), condition))} |"


def table(judgements: Sequence[reproduce.Judgement]) -> str:
    """A row per claim; calibrated claims and identities that hold are only named."""
    held = [judgement.claim.id for judgement in judgements if judgement.verdict == "holds"]
    rows = [line(judgement) for judgement in judgements if judgement.verdict != "holds"]
    return "\n".join([*HEAD, *rows, *([f"| {'; '.join(held)} | holds | | | fit or definition |"] if held else [])])


def summary(name: str, judgements: Sequence[reproduce.Judgement]) -> str:
    """A study's row of the table of all."""
    of_group = counts(judgements)
    measured, own = (", ".join(map(str, of_group.get(group, {}).values())) for group in ("measured", "ours"))
    fitted, defined = (
        f"{found['holds']} of {sum(found.values())}" if found else ""
        for found in (of_group.get(group) for group in ("calibrated", "identity"))
    )
    return f"| [`{name}`](reproduce/{name}.md) | {measured} | {own} | {fitted} | {defined} |"


def main() -> None:
    """Judge each study, and replace its table and its row of the table of all."""
    for name in sys.argv[1:]:
        done = reproduce.reproduce(reproduce.load(reproduce.find(name)), store=Store(DEFAULT, create=True))
        page, index = DOCS / "reproduce" / f"{name}.md", DOCS / "reproduce.md"
        text = page.read_text(encoding="utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n{table(done.judgements)}\n{END}{after}", encoding="utf-8")
        row = re.compile(rf"^\| \[`{name}`\].*$", re.MULTILINE)
        index.write_text(row.sub(summary(name, done.judgements), index.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
