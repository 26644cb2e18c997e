"""Show that a change of the code changes no result: compare event hashes before and after.

    python tools/compare_hashes.py record before.json       # in the old checkout's environment
    python tools/compare_hashes.py record after.json        # in the new one
    python tools/compare_hashes.py compare before.json after.json

A run's event hash covers each flash operation with its address and its cause, in order. Recorded
are

- every stack of a mapping with at most one other part on three workloads, one of which is `fin1`;
- three mappings with each option of a device that is priced, and with serial pricing;
- mappings and buffers with little RAM, on devices that have been in use;
- each row of the steady-state bench, on the small device of the bench's own tests;
- the examples;
- the regression cases, each with all that its replay tells.

`--studies` adds each point of each study, which takes hours.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

import ftlkit as fk
from ftlkit import reproduce

ROOT = Path(__file__).parents[1]
REGRESSIONS = ROOT / "crates" / "check" / "tests" / "check"


# A small device of four dies, and one with two dies on each of two channels.
WORKLOADS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "small": (
        {"preset": "fin1", "requests": 6_000, "addresses": "wrap"},
        {"preset": "slc-small", "capacity": "32MiB", "spare": 0.35},
    ),
    "two channels": (
        {"preset": "prxy_0-cold", "requests": 6_000, "addresses": "wrap"},
        {"preset": "slc-small", "capacity": "64MiB", "spare": 0.25, "channels": 2, "dies_per_channel": 2},
    ),
}


# What a device can be asked for besides the plain timing, each for itself.
PRICED: dict[str, dict[str, object]] = {
    "serial pricing": {"pricing": "serial"},
    "copy-back": {"copy_back": True},
    "multi-plane": {"multi_plane": True},
    "cache reads": {"cache_read": True},
    "cache programs": {"cache_program": True},
    "suspended erases": {"suspend": "erase", "suspend_latency": "20us", "resume_latency": "20us"},
    "suspended programs": {"suspend": "program", "suspend_latency": "20us", "resume_latency": "20us"},
    "suspended erases and programs": {"suspend": "both"},
    "reads first": {"reads_first": True},
    "collections that yield": {"gc_yields": True},
    "order of classes": {"die_order": "host_read/host_write/erase"},
    "bounds of dies": {"reads_first": True, "suspend": "both", "suspensions": 2, "overtakes": 4},
    "collections of one channel": {"gc_channels": 1},
    "link": {"link_bandwidth": "100MB/s", "link_latency": "5us"},
    "controller": {"controller_latency": "10us", "controller_cores": 2},
    "programs in strict order": {"program_order": "strict"},
    "bad blocks": {"bad_blocks": 0.02},
    "worn flash": {"endurance": 40},
}
PRICED_FTLS = ("page", "dftl", "fast")
PRICED_DEVICE: dict[str, object] = {
    "preset": "slc-small",
    "capacity": "64MiB",
    "spare": 0.25,
    "channels": 2,
    "dies_per_channel": 2,
    "planes_per_die": 2,
}

# Mappings and buffers with far less RAM than their defaults, which hold all of the devices above.
SCARCE = (
    *(f"{name}:ram={ram}" for name in ("treeftl", "aps", "jtl", "leaftl") for ram in ("20KiB", "48KiB", "256KiB")),
    *(f"{name}:cmt={cmt}" for name in ("dftl", "cdftl", "tpftl", "rftl", "bdb", "waftl") for cmt in ("1KiB", "8KiB")),
    *(f"s-ftl:cmt={cmt}" for cmt in ("20KiB", "64KiB")),
    *(f"dftl:cmt=2KiB:cmt_policy={policy}" for policy in ("lru", "clock", "fifo")),
    "waftl:cmt=2KiB:cache_reads=false",
    "superblock:map_cache=2",
    *(
        f"{mapping}+{buffer}:ram=64KiB"
        for mapping in ("page", "dftl:cmt=2KiB", "fast")
        for buffer in ("lru", "fifo", "fab", "bplru")
    ),
)

# The others need a trace, or are sweeps.
EXAMPLES = ("demo.toml", "idle.toml", "mapping-cache.toml", "phases.toml", "player.toml", "timeline.toml", "wear.toml")


def stacks() -> list[str]:
    """Every mapping alone, and with each other part."""
    further = [part["name"] for part in fk.parts() if part["kind"] != "mapping"]
    return [
        name for scheme in fk.schemes() for name in (scheme["name"], *(f"{scheme['name']}+{part}" for part in further))
    ]


def hash_of_run(workload: dict[str, object], device: dict[str, object], stack: str, precondition: str = "auto") -> str:
    """The event hash of one run, or why it was refused."""
    try:
        results = fk.compare(workload, [stack], device=device, seed=1, precondition=precondition)
    except fk.UserError as refused:
        return f"refused: {refused}"
    (run,) = results.document["runs"]
    return run["event_hash"]


def hashes_of_options() -> dict[str, str]:
    """The hashes of some mappings with each priced option."""
    workload = WORKLOADS["two channels"][0]
    return {
        f"priced: {name}: {stack}": hash_of_run(workload, PRICED_DEVICE | options, stack)
        for name, options in PRICED.items()
        for stack in PRICED_FTLS
    }


def hashes_of_scarce_ram() -> dict[str, str]:
    """The hashes of stacks with little RAM on devices that have been in use."""
    return {
        f"scarce RAM: {stack} {name}": hash_of_run(workload, device, stack, precondition="steady")
        for name, (workload, device) in WORKLOADS.items()
        for stack in SCARCE
    }


def steady_rows() -> dict[str, str]:
    """The rows of the steady-state bench: name, and the study of its small device as text."""
    source = (ROOT / "benches" / "src" / "steady.rs").read_text(encoding="utf-8")
    constants = dict(re.findall(r'^const (\w+): &str = "(.*)";$', source, re.MULTILINE))
    text = r'"((?:[^"\\]|\\.)*)"'
    cases = re.findall(
        rf"Case \{{\s+name: {text},\s+ftl: {text},.*?pattern: (\w+),.*?precondition: {text}", source, re.DOTALL
    )
    closed, own_host = constants["CLOSED"], rf"(?:host: {text},\s+\.\.)?"
    cases = [(*case, closed) for case in cases]
    cases += [(name, ftl, "ZIPF", "fill", closed) for name, ftl in re.findall(rf"log_buffer\({text}, {text}\)", source)]
    mapped = re.findall(rf"{own_host}page_mapped\(\s*{text},\s*{text},\s*{text},\s*(\w+),", source)
    cases += [(name, ftl, pattern, "steady", own or closed) for own, name, ftl, _, pattern in mapped]
    (form,) = re.findall(r'format!\(\s+"(seed = 1.*?)",\s', source, re.DOTALL)
    template = re.sub(r"\\\n\s+", "", form).replace("span = {}", "span = {span}").replace("{}", "{host}")
    numbers = dict(re.findall(r"^const (CHANNELS|DIES|PAGES_PER_BLOCK): u32 = (\d+);$", source, re.MULTILINE))
    channels, dies, pages = (int(numbers[name]) for name in ("CHANNELS", "DIES", "PAGES_PER_BLOCK"))
    # Names that the form had before stand beside those of today.
    values: dict[str, object] = {"blocks": 16, "blocks_per_plane": 16, "PAGES_PER_BLOCK": pages}
    values |= {"pages_per_block": pages, "channels": channels, "dies_per_channel": dies // channels}
    values |= {"spare": 0.5, "requests": 10_000, "run": "", "waiting": "true", "span": 16 * dies * pages // 2 * 4096}
    return {
        unescaped(name): unescaped(template).format(
            **values,
            pattern=unescaped(constants[pattern]),
            precondition=precondition,
            ftl=unescaped(ftl),
            host=unescaped(host),
        )
        for name, ftl, pattern, precondition, host in cases
    }


def unescaped(text: str) -> str:
    """The text of a literal of Rust."""
    return text.replace("\\n", "\n").replace('\\"', '"')


def hashes_of_steady_rows() -> dict[str, str]:
    """The hashes of the rows of the steady-state bench."""
    hashes = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in steady_rows().items():
            study = Path(folder) / "steady.toml"
            study.write_text(text, encoding="utf-8")
            (run,) = fk.run_study(study).document["runs"]
            hashes[f"steady: {name}"] = run["event_hash"]
    return hashes


def regressions() -> str:
    """The lines of the regression cases, whatever the file was called in this checkout."""
    (path,) = REGRESSIONS.glob("*.txt")
    return path.read_text(encoding="utf-8")


def hashes_with_hints() -> dict[str, str]:
    """The hashes of all stacks on a mail server's file workload, with hints and trims."""
    device: dict[str, object] = {"preset": "slc-small", "capacity": "64MiB", "spare": 0.25}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "files.parquet"
        fk.generate_files({"personality": "postmark", "trims": True, "files": 400}, trace, operations=4_000)
        workload: dict[str, object] = {"trace": str(trace), "addresses": "wrap"}
        return {f"files: {stack}": hash_of_run(workload, device, stack) for stack in stacks()}


def recorded(*, studies: bool) -> dict[str, str]:
    """All hashes of this checkout, by name."""
    hashes = {
        f"{name}: {stack}": hash_of_run(workload, device, stack)
        for name, (workload, device) in WORKLOADS.items()
        for stack in stacks()
    }
    hashes |= hashes_with_hints() | hashes_of_options() | hashes_of_scarce_ram() | hashes_of_steady_rows()
    for name in EXAMPLES:
        runs = fk.run_study(ROOT / "examples" / name).document["runs"]
        hashes |= {f"{name}: {run['label']}": run["event_hash"] for run in runs}
    lines = [line for line in regressions().splitlines() if line.startswith("check::replay")]
    hashes |= {f"regression {number}": json.dumps(fk.replay(line)) for number, line in enumerate(lines, start=1)}
    if studies:
        for path in sorted((ROOT / "studies").glob("*.toml")):
            for point in reproduce.reproduce(reproduce.load(path)).points:
                name = f"{path.stem}: {point.sweep} {point.workload} {point.variant} {point.keys}"
                hashes[name] = point.error or point.run["event_hash"]
    return hashes


def group(name: str) -> str:
    """The row of the table that a hash counts in."""
    return re.split(r": | \d+$", name)[0]


def compare(before: dict[str, str], after: dict[str, str]) -> int:
    """Print what differs and how many hashes are equal; 1 if anything differs.

    What was refused before and runs now, as with an option that is new, is counted apart.
    """
    allowed = {name for name, text in before.items() if text.startswith("refused") and after.get(name) != text}
    allowed -= {name for name in allowed if after.get(name, "refused").startswith("refused")}
    different = [name for name in before if before[name] != after.get(name) and name not in allowed]
    for name in different:
        print(f"{name}: {before[name]} before, {after.get(name, 'not run')} after")
    heads = ("recorded", "equal", "of them refusals", "different", "refused before alone", "new")
    print("| group | " + " | ".join(heads) + " |")
    print("|---" * (1 + len(heads)) + "|")
    for kind in [*dict.fromkeys(map(group, [*before, *after])), "all"]:
        names, latest = ({name for name in side if kind in ("all", group(name))} for side in (before, after))
        equal = {name for name in names if before[name] == after.get(name)}
        refusals = {name for name in equal if before[name].startswith("refused")}
        counts = (names, equal, refusals, names & set(different), names & allowed, latest - names)
        print(f"| {kind} | " + " | ".join(str(len(counted)) for counted in counts) + " |")
    return 1 if different else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write the hashes of this checkout")
    record.add_argument("out", type=Path)
    record.add_argument("--studies", action="store_true", help="each point of each study as well")
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        hashes = recorded(studies=arguments.studies)
        arguments.out.write_text(json.dumps(hashes, indent=1), encoding="utf-8")
        print(f"{len(hashes)} hashes in {arguments.out}")
        return 0
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (arguments.before, arguments.after))
    return compare(before, after)


if __name__ == "__main__":
    sys.exit(main())
