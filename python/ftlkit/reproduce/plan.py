"""Study files of reproductions: from TOML to checked plans.

Keys are checked here, the values of the study in it by the simulator.
"""

from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.reproduce.claims import Claim, with_defaults
from ftlkit.reproduce.factorial import FactorialPlan
from ftlkit.reproduce.shorthand import written_out
from ftlkit.study import tomllib
from ftlkit.sweeps.plan import combinations


@dataclass(frozen=True)
class Variant:
    """One line of a figure: a layer or another source, and which varied keys it takes."""

    label: str
    takes: list[str]
    ftl: Json = field(default_factory=dict)
    """A translation layer, as in a study."""
    model: Json = field(default_factory=dict)
    """A `function` of `ftlkit.models` and its arguments, instead of a translation layer."""
    statistics: bool = False
    """The statistics of the workload's requests, in place of a translation layer."""
    file_type: str = ""
    """The analyzer's results for a file type, such as `.c`, in place of a translation layer."""


@dataclass(frozen=True)
class Sweep:
    """Runs of some variants over some workloads, at each combination of the varied keys."""

    id: str
    workloads: list[Json]
    """Each as in a study, perhaps with a `label`, and with `keys` beside the varied ones."""
    variants: list[Variant]
    vary: list[Json]
    """Points, each a table of keys; or one table of lists, of which all combinations are taken.

    A key with a dot, such as `host.queue_depth`, is one of the study.
    """

    def points(self) -> list[Json]:
        """The combinations of varied keys."""
        return combinations(self.vary)


@dataclass(frozen=True)
class FigurePlan:
    """A chart over a sweep's runs, and what the paper shows there."""

    id: str
    title: str
    kind: str
    """`lines`, `ratios`, `bars`, `heat`, `shares`, `series` or `cdf`."""
    sweep: str
    metric: str
    axis: str
    """What y (in a heat map: colour) is called."""
    paper: str = "Not shown."
    x: str = ""
    """A varied key; for `bars` and `shares` a prefix of gauges; for `cdf` what is distributed."""
    y: str = ""
    """The second varied key of a heat map."""
    scale: str = "linear"
    """Of the y axis of `lines` and `series`: `linear`, or `log` for widely spread values."""
    against: str = ""
    """For `ratios`, the variant to divide by; without one, the values themselves."""
    only: Json = field(default_factory=dict)
    """Keys, labels and workloads that a run must have to be drawn."""


@dataclass(frozen=True)
class Plan:
    """A whole reproduction."""

    name: str
    title: str
    source: str
    about: str
    study: Json
    sweeps: list[Sweep]
    figures: list[FigurePlan]
    claims: list[Claim]
    assumptions: list[str]
    factorials: list[FactorialPlan] = field(default_factory=list)
    holds: str = ""
    """What of the paper holds, in a sentence; empty until the study was run."""
    differs: str = ""
    """What does not."""
    decides: str = ""
    """What decides which."""

    def traces(self) -> list[str]:
        """The trace files that it reads."""
        shared = self.study.get("workload", {})
        tables = [shared, *(workload for sweep in self.sweeps for workload in sweep.workloads)]
        return [table["trace"] for table in tables if "trace" in table]


FOLDERS = (Path("studies"), Path(__file__).parents[1] / "studies")
"""Where names are looked up: here, and in the package."""


def find(name: str) -> Path:
    """The study file of a name or a path."""
    if name.endswith(".toml"):
        return Path(name)
    for folder in FOLDERS:
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    known = sorted({path.stem for folder in FOLDERS for path in folder.glob("*.toml")})
    raise UserError(
        f"no study called {name}: there {'are ' + ', '.join(known) if known else 'is no folder studies/ here'}; "
        "or give the path of a .toml file."
    )


def load(path: Path) -> Plan:
    """The plan of a study file; an unknown or a missing key is an error that names it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the study {path}: {error}. Give the path of a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}.") from None
    try:
        table = written_out(table)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    parts: Json = {
        "sweeps": [_made(Sweep, sweep | {"variants": _variants(path, sweep)}, path) for sweep in table["sweeps"]],
        "figures": [_made(FigurePlan, figure, path) for figure in table["figures"]],
        "factorials": [_made(FactorialPlan, factorial, path) for factorial in table["factorials"]],
    }
    titles = {figure.id: figure.title for figure in parts["figures"]}
    claims = [with_defaults(claim, table.get("name", ""), titles) for claim in table["claims"]]
    parts["claims"] = [_made(Claim, claim, path) for claim in claims]
    plan = _made(Plan, table | parts, path)
    _check_references(plan, path)
    spelt = {sweep.id: {one.label: _spelling(one) for one in sweep.variants} for sweep in plan.sweeps}
    for claim in plan.claims:
        claim.check()
        claim.check_knockout(spelt)
    for factorial in plan.factorials:
        factorial.check()
    return plan


def _variants(path: Path, sweep: Json) -> list[Variant]:
    variants = [_made(Variant, variant, path) for variant in sweep["variants"]]
    for variant in variants:
        if [bool(variant.ftl), bool(variant.model), variant.statistics, bool(variant.file_type)].count(True) != 1:
            raise UserError(
                f"{path}: the variant {variant.label} must have one of ftl, model, statistics = true and file_type."
            )
    return variants


def _spelling(variant: Variant) -> Json:
    """A variant without its label."""
    return {key: value for key, value in asdict(variant).items() if key != "label"}


T = TypeVar("T")


def _made(kind: type[T], table: Json, path: Path) -> T:
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type] # all are dataclasses
    unknown = [key for key in table if key not in known]
    if unknown:
        raise UserError(f"{path}: {unknown[0]} is no key of a {_called(kind)}; they are {', '.join(known)}.")
    try:
        return kind(**table)
    except TypeError:
        needed = [key for key, field in known.items() if field.default is MISSING and field.default_factory is MISSING]
        missing = next(key for key in needed if key not in table)
        name = table.get("id", table.get("label", path.name))
        raise UserError(f"{path}: {missing} is missing in the {_called(kind)} {name}.") from None


def _called(kind: type) -> str:
    """What a table of a study file is called."""
    return {Plan: "study", FigurePlan: "figure", FactorialPlan: "factorial"}.get(kind, kind.__name__.lower())


def _check_references(plan: Plan, path: Path) -> None:
    known = [sweep.id for sweep in plan.sweeps]
    named: list[tuple[str, Any]] = [(figure.id, figure.sweep) for figure in plan.figures]
    named += [(factorial.id, factorial.sweep) for factorial in plan.factorials]
    for claim in plan.claims:
        named += [(claim.id, part.measure.get("sweep")) for part in claim.parts]
    for name, sweep in named:
        if sweep not in known:
            raise UserError(f"{path}: {name} names the sweep {sweep}; the sweeps are {', '.join(known)}.")
    for sweep in plan.sweeps:
        alone = [variant.label for variant in sweep.variants if variant.file_type]
        if alone and not all("files" in workload for workload in sweep.workloads):
            raise UserError(
                f"{path}: the variant {alone[0]} has a file_type, so each workload of the sweep {sweep.id} needs "
                'files, a table such as { personality = "postmark" }.'
            )
    without_runs = [
        sweep.id for sweep in plan.sweeps if not any(variant.ftl or variant.file_type for variant in sweep.variants)
    ]
    for claim in plan.claims:
        if claim.kind == "measured" and claim.measure["sweep"] in without_runs:
            raise claim.wrong(
                f"it is measured, but the sweep {claim.measure['sweep']} has only models or statistics, of which no "
                "run decides anything: call it calibrated or an identity"
            )
