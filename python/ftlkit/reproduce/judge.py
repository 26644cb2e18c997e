"""Claims against runs: a measure gives a number per row and seed, bounds give the verdict.

A claim that keeps its bounds is reproduced only if at least half of its effect is lost without its
mechanism. It is open unless its verdict holds over more than half of the range of each constant
that the paper does not print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING

from ftlkit.reproduce.claims import GROUPS, Claim
from ftlkit.reproduce.measures import MEASURES, ShareOfNothingError, at_edge, set_against_printed

if TYPE_CHECKING:
    from ftlkit.reproduce.points import Point

VERDICTS = {
    "reproduced": "reproduced",
    "no control": "no control",
    "without": "holds without it",
    "partly": "partly reproduced",
    "not": "not reproduced",
    "holds": "holds",
    "fails": "does not hold",
    "open": "open",
}
"""Verdicts and their words: five for measured claims, two for calibrated and identities.

A measured claim within its bounds is *reproduced* if it falls without its mechanism, *without* if
it does not, and *no control* if the study has no knock-out. The last is for any claim with a run
that gives no verdict (it failed, lacks its recorded trace or was overloaded), or with a verdict
that a constant decides which the paper does not print.
"""

NOISE = 0.01
"""What lies between the seeds with a mechanism and without, up to this, is noise."""


@dataclass(frozen=True)
class Row:
    """What one row of a claim gave."""

    label: str
    """The values of the keys that the claim is judged by apart; empty if there are none."""
    values: list[float]
    """One number a seed; none where it is not judged."""
    verdict: str
    unit: str
    is_signed: bool
    """Whether the number is a difference, so that one above 0 has a sign."""
    parts: dict[str, float] = field(default_factory=dict)
    """What went into a mean, by workload and keys: with the first seed."""
    note: str = ""
    without: Row | None = None
    """The same without the mechanism."""
    over: dict[str, list[Row]] = field(default_factory=dict)
    """The same at each value of the constants that are not printed, by their keys."""

    @property
    def text(self) -> str:
        """The number, its interval over the seeds, and its inputs, as a reader wants them."""
        if not self.values:
            return self.note
        mean, low, high = (self.shown(number) for number in (self.value, min(self.values), max(self.values)))
        interval = f" ({low} to {high}, {len(self.values)} seeds)" if len(self.values) > 1 else ""
        parts = ", ".join(f"{label}: {self.shown(value)}" for label, value in self.parts.items())
        return mean + interval + (f" [{parts}]" if parts else "") + (f"; {self.note}" if self.note else "")

    @property
    def without_text(self) -> str:
        """The number without the mechanism, if there is a knock-out."""
        return self.without.text if self.without else ""

    @property
    def over_text(self) -> str:
        """The number at each value of the constants that are not printed."""
        return "; ".join(
            f"{key} {', '.join(f'{row.label}: {row.text}' for row in rows)}" for key, rows in self.over.items() if rows
        )

    @property
    def value(self) -> float:
        """The mean over the seeds."""
        return sum(self.values) / len(self.values)

    def shown(self, value: float) -> str:
        """A number of this row with its unit."""
        if self.unit != "%":
            number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
            return f"{number} {self.unit}".strip()
        return f"{100 * value:+.1f} %" if self.is_signed else f"{100 * value:.1f} %"


@dataclass(frozen=True)
class Judgement:
    """What became of a claim."""

    claim: Claim
    rows: list[Row]

    @property
    def verdict(self) -> str:
        """The worst of its rows: `reproduced`, `partly`, `not`; unless measured `holds`, `fails`.

        `open` if one of them is.
        """
        return _worst(row.verdict for row in self.rows)

    @property
    def value(self) -> float:
        """The number of a claim that has one row."""
        (row,) = self.rows
        return row.value

    @property
    def text(self) -> str:
        """All rows in a line."""
        return "; ".join(f"{row.label}: {row.text}" if row.label else row.text for row in self.rows)


def _worst(verdicts: Iterable[str]) -> str:
    """The last of them in `VERDICTS`."""
    return max(verdicts, key=list(VERDICTS).index)


MEASURED = ("measured", "ours")
"""Groups of claims that runs decide."""


def counts(judgements: Sequence[Judgement]) -> dict[str, dict[str, int]]:
    """How many claims of each group got which word; groups without a claim are left out."""
    of_group: dict[str, dict[str, int]] = {}
    for group in [group for group in GROUPS if any(judgement.claim.group == group for judgement in judgements)]:
        verdicts = Counter(judgement.verdict for judgement in judgements if judgement.claim.group == group)
        own = ("reproduced", "partly", "not") if group in MEASURED else ("holds", "fails")
        possible = [word for word in VERDICTS if word in own or verdicts[word]]
        of_group[group] = {VERDICTS[word]: verdicts[word] for word in possible}
    return of_group


def counted(judgements: Sequence[Judgement]) -> str:
    """The counts as a line: each group by itself."""
    groups = [
        f"{group}: {', '.join(f'{count} {_of(count, word)}' for word, count in verdicts.items())}"
        for group, verdicts in counts(judgements).items()
    ]
    return "; ".join(groups)


def _of(count: int, word: str) -> str:
    """A verdict's words after a count."""
    return word if count == 1 else {"holds": "hold", "does not hold": "do not hold"}.get(word, word)


def judge(claim: Claim, points: Sequence[Point]) -> Judgement:
    """Measure a claim, row by row and seed by seed, with its mechanism and without."""
    rows = _rows(claim, points)
    without = _rows(claim.without, points) if claim.without else {}
    ranges = {key: _rows(ranged, points) for key, ranged in claim.ranged.items()}
    judged = []
    for label, row in rows.items():
        over = {key: _of_row(label, key, ranged) for key, ranged in ranges.items()}
        judged.append(replace(_controlled(claim, row, _like(without, label)), over=over))
    return Judgement(claim, _ranged(claim, judged))


def _rows(claim: Claim, points: Sequence[Point]) -> dict[str, Row]:
    rows: dict[str, list[Point]] = {}
    for point in (point for point in points if claim.takes(point)):
        rows.setdefault(_label(claim, point, claim.rows), []).append(point)
    if not rows:
        raise claim.wrong(f"no run matches its measure {claim.measure}")
    return {label: _row(claim, label, of_row) for label, of_row in rows.items()}


def _like(without: dict[str, Row], label: str) -> Row | None:
    """The row without the mechanism; a knock-out by workload has one for all rows."""
    return without.get(label) or (next(iter(without.values())) if len(without) == 1 else None)


def _of_row(label: str, key: str, ranged: dict[str, Row]) -> list[Row]:
    """Rows of a range that are of a row, by the constant's value, which ends their labels."""
    of_row = {found: row for found, row in ranged.items() if not label or found.startswith(f"{label}, ")}
    return [replace(row, label=found.rpartition(f"{key} ")[2]) for found, row in of_row.items()]


def _controlled(claim: Claim, row: Row, without: Row | None) -> Row:
    """A row whose verdict stands only if it falls without the mechanism."""
    if row.verdict != "reproduced":
        return replace(row, without=without)
    if without is None:
        return replace(row, verdict="no control")
    if not without.values:
        return replace(row, without=without, verdict="open", note=f"without: {without.note}")
    falls = _falls(claim, row.values, without.values)
    return replace(row, without=without, verdict="reproduced" if falls else "without")


def _falls(claim: Claim, values: Sequence[float], without: Sequence[float]) -> bool:
    """Whether half of an effect is lost, by more than the noise, wherever its bounds lie.

    An effect points from 0 into the bounds. Bounds around 0 say that nothing differs: such a claim
    falls where the number leaves them, doubles or has the other sign, which is as far away.
    """
    low, high = claim.reproduced
    if low <= 0 <= high and not MEASURES[claim.measure["kind"]].from_zero:
        is_apart = max(min(without) - max(values), min(values) - max(without)) > NOISE
        doubles = abs(fmean(without) - fmean(values)) >= abs(fmean(values))
        return is_apart and doubles and verdict_within(claim, without) != "reproduced"
    sign = -1 if high < 0 else 1
    kept, left = ([sign * value for value in numbers] for numbers in (values, without))
    return 2 * fmean(left) <= fmean(kept) and min(kept) - max(left) > NOISE


def _ranged(claim: Claim, rows: list[Row]) -> list[Row]:
    """Rows of a claim, open where a constant decides that is not printed; that it does is noted."""
    deciding: dict[str, list[str]] = {}
    for key in claim.ranged:
        for label in _turned(claim, rows, key):
            deciding.setdefault(label, []).append(key)
    notes = {label: f"{' and '.join(keys)} decide{'' if keys[1:] else 's'}" for label, keys in deciding.items()}
    return [replace(row, verdict="open", note=notes[row.label]) if row.label in notes else row for row in rows]


def _turned(claim: Claim, rows: list[Row], key: str) -> set[str]:
    """Rows that a constant decides: none if the worst has its verdict over more than half of it.

    A claim that fails at each value, by another row each time, is *not*. Where the worst changes
    and each row keeps its own over more than half, all are open. A row without a range says nothing
    of other values, so it is left out.
    """
    own = {row.label: verdict_within(claim, row.values) for row in rows if row.values and row.over[key]}
    at: dict[str, list[str]] = {}
    turned: set[str] = set()
    for row in (row for row in rows if row.label in own):
        for of_value in row.over[key]:
            at.setdefault(of_value.label, []).append(of_value.verdict)
        if not _holds_over((of_value.verdict for of_value in row.over[key]), own[row.label]):
            turned.add(row.label)
    if not at or _holds_over((_worst(found) for found in at.values()), _worst(own.values())):
        return set()
    return turned or set(own)


def _holds_over(verdicts: Iterable[str], verdict: str) -> bool:
    """Whether more than half of these are the verdict, or there are none."""
    same = [found == verdict for found in verdicts]
    return not same or 2 * sum(same) > len(same)


def _label(claim: Claim, point: Point, keys: Sequence[str]) -> str:
    named = point.keys | {"workload": point.workload}
    unknown = [key for key in keys if key not in named]
    if unknown:
        raise claim.wrong(f"no run has the key {unknown[0]} of each; there are {', '.join(named)}")
    return ", ".join(str(named[key]) if key == "workload" else f"{key} {named[key]}" for key in keys)


def _row(claim: Claim, label: str, points: Sequence[Point]) -> Row:
    obstacle = _obstacle([point for point in points if claim.uses(point)])
    if not obstacle:
        try:
            return _measured(claim, label, [point for point in points if not point.error])
        except ShareOfNothingError as error:
            obstacle = str(error)
    return Row(label, [], "open", claim.unit, MEASURES[claim.measure["kind"]].is_difference, note=obstacle)


def _obstacle(asked: Sequence[Point]) -> str:
    """Why these runs give no verdict; empty if they do.

    An overloaded run gives none by any metric: its response times tell how long the workload is,
    and schemes that look at time (what is idle, which die is busy) do other operations in it.
    """
    failed = [point.error for point in asked if point.error and not point.is_absent]
    absent = [point.error for point in asked if point.is_absent]
    overloaded = [point.title for point in asked if point.is_overloaded]
    if failed:
        return f"a run failed: {_shortened(failed)}"
    if absent:
        return f"left out: {_shortened(absent)}"
    return f"overloaded: {_shortened(overloaded)}" if overloaded else ""


def _shortened(of_runs: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(of_runs))
    return distinct[0] + (f", and {len(distinct) - 1} more" if len(distinct) > 1 else "")


def _measured(claim: Claim, label: str, points: Sequence[Point]) -> Row:
    workloads = list(dict.fromkeys(point.workload for point in points))
    measure = MEASURES[claim.measure["kind"]]
    if len(workloads) > 1 and not measure.over_workloads:
        raise claim.wrong(
            f"a number over the workloads {', '.join(workloads)} hides what each gives; "
            "name one of them in only, or judge them apart with each = ['workload']"
        )
    by_seed = [[point for point in points if point.seed == seed] for seed in range(claim.seeds)]
    values = [measure.number(claim.measure, group) for group in by_seed]
    parts: dict[str, list[Point]] = {}
    for point in by_seed[0] if measure.averages else []:
        shown_by = ["workload"] if measure.over_workloads else list(point.keys)
        parts.setdefault(_label(claim, point, shown_by), []).append(point)
    verdict, note = verdict_within(claim, values), ""
    if claim.measure["kind"] == "best" and any(
        at_edge(claim.measure, *pair) for pair in zip(by_seed, values, strict=True)
    ):
        verdict, note = ("partly" if verdict == "reproduced" else verdict), "the sweep's edge"
    if claim.measure["kind"] == "off_by":
        ours, printed = set_against_printed(claim.measure, by_seed[0]), claim.measure["printed"][workloads[0]]
        note = f"{_figure(ours)}, printed {_figure(printed)}"
    shown = {name: measure.number(claim.measure, group) for name, group in parts.items()} if len(parts) > 1 else {}
    return Row(label, values, verdict, claim.unit, measure.is_difference, shown, note)


def _figure(value: float) -> str:
    """A number with four digits, or a whole one."""
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def verdict_within(claim: Claim, values: Sequence[float]) -> str:
    """The first bounds that hold the lowest and the highest of the numbers."""
    measured = claim.kind == "measured"
    bounds_of = (
        {"reproduced": claim.reproduced, "partly": claim.partly, "not": None}
        if measured
        else {"holds": claim.holds, "fails": None}
    )
    for verdict, bounds in bounds_of.items():
        if bounds is None or (bounds and bounds[0] <= min(values) and max(values) <= bounds[1]):
            return verdict
    raise AssertionError
