"""Write the tables of claims in docs: `tools/claims.py STUDY…`, of runs in ftlkit-results."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ftlkit import reproduce
from ftlkit.reproduce.factorial import effects
from ftlkit.reproduce.judge import VERDICTS, Row, counts, verdict_within
from ftlkit.results.store import DEFAULT, Store

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- claims -->", "<!-- /claims -->"
HEAD = ["| claim | verdict | paper | ours | without | turns at | decided by |", "|---|---|---|---|---|---|---|"]


def figures(rows: Sequence[Row]) -> str:
    """Lowest and highest number of all rows and seeds."""
    rows = [row for row in rows if row.values]
    if not rows:
        return ""
    numbers = [value for row in rows for value in row.values]
    low, high = (rows[0].shown(number) for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def ours(judgement: reproduce.Judgement) -> str:
    """The figures, and how many rows hold, with a control or without."""
    rows = [row for row in judgement.rows if row.values]
    held = sum(row.verdict in ("reproduced", "no control", "without") for row in rows)
    return (figures(rows) or judgement.rows[0].note) + (f"; {held} of {len(rows)}" if len(rows) > 1 else "")


def without(judgement: reproduce.Judgement) -> str:
    """The mechanism that was taken out, and the figures without it."""
    shown = figures([row.without for row in judgement.rows if row.without])
    return f"{judgement.claim.mechanism}: {shown}" if shown else ""


def over(judgement: reproduce.Judgement) -> str:
    """Values of unprinted constants at which a row has another verdict, with the figures there."""
    return "; ".join(filter(None, (over_key(judgement, key) for key in judgement.claim.ranged)))


def over_key(judgement: reproduce.Judgement, key: str) -> str:
    """Those of one constant."""
    at_value: dict[str, list[Row]] = {}
    turned: set[str] = set()
    for row in (row for row in judgement.rows if row.values):
        for at in row.over.get(key, []):
            at_value.setdefault(at.label, []).append(at)
            if at.verdict != verdict_within(judgement.claim, row.values):
                turned.add(at.label)
    shown = [f"{value}: {figures(rows) or 'no result'}" for value, rows in at_value.items() if value in turned]
    return f"{key} {', '.join(shown)}" if shown else ""


def printed(text: str) -> str:
    """A text whose negative numbers have a minus sign."""
    return re.sub(r"(?<=[ :])-(?=\d)", "−", text)


def line(judgement: reproduce.Judgement) -> str:
    """A claim's row of the table."""
    claim, verdict = judgement.claim, judgement.verdict
    held = verdict in ("reproduced", "no control", "without")
    condition = "" if held else re.sub(" decides?$", "", claim.condition)
    cells = (claim.id, verdict, claim.paper, ours(judgement), without(judgement), over(judgement), condition)
    return printed(f"| {' | '.join(cells)} |")


def table(judgements: Sequence[reproduce.Judgement]) -> str:
    """A row per claim; calibrated claims and identities that hold are only named."""
    rows = [line(judgement) for judgement in judgements if judgement.verdict != "holds"]
    for kind in ("calibrated", "identity"):
        held = [found.claim.id for found in judgements if found.verdict == "holds" and found.claim.kind == kind]
        rows += [f"| {'; '.join(held)} | {kind} | | | | | |"] if held else []
    return "\n".join([*HEAD, *rows])


def factorial(plan: reproduce.Plan, points: Sequence[reproduce.Point]) -> str:
    """The effects of mechanisms over the workloads, for each factorial of a study."""
    lines: list[str] = []
    for of in plan.factorials:
        found = effects(of, points)
        lines += ["", f"| mechanism: {of.metric} | alone | mean of all subsets |", "|---|---|---|"]
        for mechanism in of.mechanisms:
            mine = [effect for effect in found if effect.mechanism == mechanism]
            columns = ([effect.alone for effect in mine], [effect.mean for effect in mine])
            shares = (f"{100 * min(values):+.1f} to {100 * max(values):+.1f} %" for values in columns if values)
            lines.append(f"| {' | '.join([mechanism, *shares])} |")
    return printed("\n".join(lines))


SHOWN = ("reproduced", "no control", "without", "partly", "not", "open")
"""Verdicts with a column in the table of all studies."""


def summary(name: str, judgements: Sequence[reproduce.Judgement]) -> str:
    """A study's row of the table of all."""
    of_group = counts(judgements)
    measured = [str(of_group.get("measured", {}).get(VERDICTS[word], 0)) for word in SHOWN]
    own = of_group.get("ours", {}).values()
    fitted, defined = (
        f"{found['holds']} of {sum(found.values())}" if found else ""
        for found in (of_group.get(group) for group in ("calibrated", "identity"))
    )
    return f"| {' | '.join([f'[`{name}`](reproduce/{name}.md)', *measured, str(sum(own) or ''), fitted, defined])} |"


def main() -> None:
    """Judge each study, and replace its table and its row of the table of all."""
    for name in sys.argv[1:]:
        plan = reproduce.load(reproduce.find(name))
        done = reproduce.reproduce(plan, store=Store(DEFAULT, create=True))
        page, index = DOCS / "reproduce" / f"{name}.md", DOCS / "reproduce.md"
        text = page.read_text(encoding="utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        written = "\n".join(filter(None, [table(done.judgements), factorial(plan, done.points)]))
        page.write_text(f"{before}{BEGIN}\n{written}\n{END}{after}", encoding="utf-8")
        row = re.compile(rf"^\| \[`{name}`\].*$", re.MULTILINE)
        index.write_text(row.sub(summary(name, done.judgements), index.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
