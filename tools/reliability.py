"""Write docs/reliability.md's table from a report: `tools/reliability.py out/torture.json`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftlkit.api.torture import SchemeReport, TortureReport

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- torture -->", "<!-- /torture -->"


def number(value: int) -> str:
    """Digits in groups of three."""
    return f"{value:,}".replace(",", " ")


def trials(scheme: SchemeReport) -> str:
    """Trials by kind, in the order of the page's first table."""
    counts = scheme["trials"]
    kinds = (counts["conformance"], counts["power_cuts"], counts["failing_flash"], counts["combined"])
    return " + ".join(number(kind) for kind in kinds)


def of(tried: int, among: int) -> str:
    """How many, of how many."""
    return f"{number(tried)} of {number(among)}"


def pairs(scheme: SchemeReport) -> str:
    """Pairs of choices tried, of those that the scheme does not refuse."""
    covered = scheme["covered"]
    return of(covered["pairs"], covered["pairs_of"] - covered["pairs_refused"])


def triples(scheme: SchemeReport) -> str:
    """Triples of choices tried, of all."""
    return of(scheme["covered"]["triples"], scheme["covered"]["triples_of"])


ROWS: tuple[tuple[str, Callable[[SchemeReport], str]], ...] = (
    ("trials, by kind", trials),
    ("different combinations of choices", lambda scheme: number(scheme["covered"]["combinations"])),
    ("pairs of choices tried", pairs),
    ("triples of choices tried", triples),
    ("states reached", lambda scheme: of(scheme["states"], scheme["states_of"])),
    ("host requests", lambda scheme: number(scheme["requests"])),
    ("flash operations", lambda scheme: number(scheme["flash_operations"])),
    ("cut points", lambda scheme: number(scheme["cut_points"])),
    ("power cuts: before", lambda scheme: number(scheme["cuts"]["before"])),
    ("power cuts: unseen", lambda scheme: number(scheme["cuts"]["unseen"])),
    ("power cuts: torn", lambda scheme: number(scheme["cuts"]["torn"])),
    ("power cuts: after", lambda scheme: number(scheme["cuts"]["after"])),
    ("of them on top of another", lambda scheme: number(scheme["second_cuts"])),
    ("recoveries", lambda scheme: number(scheme["recoveries"])),
    ("failed programs", lambda scheme: number(scheme["faults"]["failed_programs"])),
    ("failed erases", lambda scheme: number(scheme["faults"]["failed_erases"])),
    ("failed reads", lambda scheme: number(scheme["faults"]["failed_reads"])),
    ("corrected reads", lambda scheme: number(scheme["faults"]["corrected_reads"])),
    ("grown bad blocks", lambda scheme: number(scheme["grown_bad_blocks"])),
    ("runs to the end of the spares", lambda scheme: number(scheme["read_only"])),
    ("pages that decayed, and were reported so", lambda scheme: number(scheme["lost_pages"])),
    ("broken promises", lambda scheme: f"**{len(scheme['findings'])}**"),
)


def table(report: TortureReport) -> str:
    """The command, how long it took, and a column a scheme."""
    options, schemes = report["options"], report["schemes"]
    swarm = " --swarm" if options["swarm"] else ""
    command = f"ftlkit torture --ftl all --minutes {options['seconds'] / 60:g} --seed {options['seed']}{swarm}"
    ended = ", stopped before its time" if report["cancelled"] else ""
    took = f"{report['elapsed_s'] / 60:.1f} minutes on {report['threads']} threads{ended}"
    lines = [f"`{command}`: {took}.", "", f"| | {' | '.join(scheme['scheme'] for scheme in schemes)} |"]
    lines.append("|---|" + "---:|" * len(schemes))
    lines += [f"| {name} | {' | '.join(text(scheme) for scheme in schemes)} |" for name, text in ROWS]
    return "\n".join(lines)


def main() -> None:
    """Replace what stands between the marks."""
    report: TortureReport = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(report)}\n{END}{after}", encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
