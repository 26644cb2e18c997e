"""A calibration in words, as TOML and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ftlkit._native import __version__
from ftlkit._util import Json, units
from ftlkit._util.lookup import several
from ftlkit.calibration.certainty import ABSENT, ASSUMED, GIVEN, Parameter, middle
from ftlkit.calibration.model import table
from ftlkit.calibration.points import AMPLIFICATION, LATENCY, LOAD, Point

if TYPE_CHECKING:
    from ftlkit.calibration.calibration import Calibration

_KEYS = {"link_ns_per_byte": "link_bandwidth"}
"""What parameters are called in a `[device]` table, if not by their own names."""


def key(parameter: Parameter) -> str:
    """The key of `[device]`."""
    return _KEYS.get(parameter.key, parameter.key)


def shown(name: str, value: float | None) -> str:
    """A value of a parameter for people."""
    if value is None:
        return ""
    if name.endswith("_latency"):
        return units.duration(value)
    if name == "link_ns_per_byte":
        return f"{units.rate(1e9 / value)}B/s" if value > 0 else "none"
    if name == "spare":
        return units.share(value)
    return units.size(value) if name == "page_size" else units.count(value)


def value_of(parameter: Parameter) -> str:
    """The value for people; of what was not noticed, that it is none."""
    if parameter.state == ABSENT or (parameter.key == "link_ns_per_byte" and not float(parameter.value)):
        return "none"
    return shown(parameter.key, float(parameter.value))


def interval(parameter: Parameter) -> str:
    """The interval at 95 % for people."""
    if parameter.low is None or parameter.high is None or parameter.low == parameter.high:
        return ""
    if parameter.key == "link_ns_per_byte":
        return f"above {shown(parameter.key, parameter.high)}"
    if not parameter.low:
        return f"below {shown(parameter.key, parameter.high)}"
    return f"{shown(parameter.key, parameter.low)} to {shown(parameter.key, parameter.high)}"


def reason(parameter: Parameter) -> str:
    """What a parameter rests on."""
    if parameter.state == GIVEN:
        return "as given"
    texts = [parameter.note, ", ".join(parameter.jobs) if parameter.is_fitted or parameter.state == ABSENT else ""]
    return "; ".join(text for text in texts if text)


def device(made: Calibration) -> Json:
    """The `[device]` table, every key that matters in it: no preset is needed beside it."""
    built = table(made.shape, made.values, made.given)
    for name in ("read_latency", "program_latency", "erase_latency", "transfer_latency", "link_latency"):
        built[name] = f"{made.values[name] / 1e3:.2f}us"
    if not made.values["link_latency"]:
        del built["link_latency"]
    return {
        "capacity": made.shape.capacity,
        "spare": round(made.values["spare"], 4),
        **built,
        "endurance": made.endurance,
    } | {name: value for name, value in made.given.items() if name not in built and name != "spare"}


def toml(made: Calibration) -> str:
    """The `[device]` table as a file, each key with how sure it is."""
    by_key = {key(parameter): parameter for parameter in made.parameters}
    lines = [
        f"# Fitted by ftlkit {__version__} to {', '.join(made.files)}.",
        f"# Use it as a preset's name: ftlkit compare TRACE --device THIS_FILE. Assumed values are from {made.preset}.",
        *([f"# {made.doubt}"] if made.doubt else []),
        "[device]",
    ]
    for name, value in device(made).items():
        text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else value
        comment = _comment(by_key.get(name)) if name in by_key else "assumed" if name == "endurance" else ""
        lines.append(f"{name} = {text}" + (f"  # {units.typed(comment)}" if comment else ""))
    return "\n".join(lines) + "\n"


def _comment(parameter: Parameter | None) -> str:
    if parameter is None:
        return ""
    texts = [parameter.state, interval(parameter), reason(parameter) if parameter.state != GIVEN else ""]
    return "; ".join(text for text in texts if text)


def figure(point: Point, value: float) -> str:
    """A point's figure for people."""
    if point.figure == LATENCY or point.kind == LOAD:
        return units.duration(value)
    return units.digits(value) if point.figure == AMPLIFICATION else f"{units.rate(value)}/s"


def error(modelled: float, measured: float) -> str:
    """How far off the model is, with its sign."""
    return f"{100 * (modelled / measured - 1):+.1f} %"


def sentences(made: Calibration) -> list[str]:
    """What came of it, in sentences."""
    fitted = [(point, modelled) for point, modelled, is_out in made.checked if not is_out]
    out = [(point, modelled) for point, modelled, is_out in made.checked if is_out]
    told = [f"Fitted to {several(len(fitted), 'point')} of {', '.join(made.files)} in {several(made.runs, 'run')}."]
    told.append(f"Of the points that were fitted, {_worst(fitted)}.")
    if out:
        told.append(f"Of {several(len(out), 'point')} held out of the fit, {_worst(out)}.")
    else:
        told.append("No point was held out of the fit, so nothing tests it.")
    if made.doubt:
        told.append(made.doubt)
    assumed = [key(parameter) for parameter in made.parameters if parameter.state == ASSUMED]
    if assumed:
        told.append(
            f"Not determined by these measurements, and assumed: {', '.join(assumed)}. State what you know of the "
            f"drive with --set, for example --set device.{assumed[0]}=VALUE."
        )
    return told


def _worst(checked: Sequence[tuple[Point, float]]) -> str:
    """How far off the model is: typically, and at most."""
    errors = sorted((abs(modelled / point.measured - 1), point.job) for point, modelled in checked)
    farthest, job = errors[-1]
    half = middle([error for error, _ in errors])
    return f"half are within {100 * half:.1f} %, and the farthest is {job} with {100 * farthest:.1f} %"


def document(made: Calibration) -> Json:
    """Everything as JSON."""
    return {
        "ftlkit": __version__,
        "files": list(made.files),
        "preset": made.preset,
        "device": device(made),
        "parameters": [asdict(parameter) | {"jobs": list(parameter.jobs)} for parameter in made.parameters],
        "points": [
            {
                "job": point.job,
                "kind": point.kind,
                "figure": point.figure,
                "measured": point.measured,
                "modelled": modelled,
                "error": modelled / point.measured - 1,
                "is_held_out": is_out,
            }
            for point, modelled, is_out in made.checked
        ],
        "doubt": units.typed(made.doubt),
        "notes": [units.typed(note) for note in made.notes],
        "runs": made.runs,
    }
