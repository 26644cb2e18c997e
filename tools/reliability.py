"""Write docs/reliability.md's table from a report: `tools/reliability.py out/torture.json`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from ftlkit.api.torture import SchemeReport, TortureReport

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
BEGIN, END = "<!-- torture -->", "<!-- /torture -->"


def trials(scheme: SchemeReport) -> int:
    """Trials of all kinds."""
    counts = scheme["trials"]
    return counts["conformance"] + counts["power_cuts"] + counts["failing_flash"] + counts["combined"]


def cuts(scheme: SchemeReport) -> int:
    """Power cuts of all tears."""
    counts = scheme["cuts"]
    return counts["before"] + counts["unseen"] + counts["torn"] + counts["after"]


def pairs(scheme: SchemeReport) -> str:
    """The share of the pairs of choices tried, of those that the scheme does not refuse."""
    covered = scheme["covered"]
    return f"{covered['pairs'] / (covered['pairs_of'] - covered['pairs_refused']) * 100:.0f} %"


def failures(scheme: SchemeReport) -> int:
    """Programs, erases and reads that failed."""
    faults = scheme["faults"]
    return faults["failed_programs"] + faults["failed_erases"] + faults["failed_reads"]


COLUMNS: tuple[tuple[str, Callable[[SchemeReport], str]], ...] = (
    ("trials", lambda scheme: f"{trials(scheme):,}"),
    ("pairs of choices", pairs),
    ("flash operations", lambda scheme: f"{scheme['flash_operations']:,}"),
    ("power cuts", lambda scheme: f"{cuts(scheme):,}"),
    ("recoveries", lambda scheme: f"{scheme['recoveries']:,}"),
    ("failed operations", lambda scheme: f"{failures(scheme):,}"),
    ("broken promises", lambda scheme: f"**{len(scheme['findings'])}**"),
)


def table(report: TortureReport) -> str:
    """The command, how long it took, and a row per scheme."""
    options = report["options"]
    swarm = " --swarm" if options["swarm"] else ""
    command = f"ftlkit torture --ftl all --minutes {options['seconds'] / 60:g} --seed {options['seed']}{swarm}"
    ended = ", stopped before its time" if report["cancelled"] else ""
    took = f"{report['elapsed_s'] / 60:.1f} minutes on {report['threads']} thread{'s' * (report['threads'] > 1)}{ended}"
    lines = [f"`{command}`: {took}.", "", f"| scheme | {' | '.join(name for name, _ in COLUMNS)} |"]
    lines.append("|---|" + "---:|" * len(COLUMNS))
    lines += [
        f"| {scheme['scheme']} | {' | '.join(text(scheme) for _, text in COLUMNS)} |" for scheme in report["schemes"]
    ]
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
