"""Errors by what the user typed: `--precondition stead` instead of the key `run.precondition`.

The simulator and Python name a wrong value by its key in a study. Whoever gave it on the command
line has typed an option, or `--set`, and has to find that.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ftlkit.study.builder import PLACES

_OPTIONS = {f"{section}.{key}": option for option, (section, key) in PLACES.items()} | {
    "device.preset": "device",
    "run.timeline": "timeline_window",
    "seed": "seed",
    "workload.generator.unit": "bs",
    "workload.generator.sizes.uniform.max": "bs",
    "workload.generator.write_share": "write_share",
    "workload.generator.pattern.zipf.theta": "theta",
}
"""The option that sets a key of a study, by the name of its parameter in Python."""

_SUBJECT = re.compile(
    r"(?:(?:study|workload|ftl\.name|the [a-z]+)[,:] )?(?P<key>[a-z][a-z_-]*(?:\.[a-z_]+)*)(?: = [^:]*)?: "
)
"""What an error begins with: perhaps a document, then the key, perhaps its value."""


_PERCENT = re.compile(r" Did you mean [\d.]+%\?")

_STACK = "ftl.name: "
"""Beginning of errors about a stack."""


_WAY = re.compile(r"\b(?:or )?([^,.()]+) \([a-z_]+\.[a-z_]+ = [^(),]+, (--[a-z-]+) [^()]*\)(?:, |$)")
"""A way out by a key of a study and its option, among others between commas."""


def possible(error: str, flags: Mapping[str, str]) -> str:
    """An error without the ways out by options that the command does not have."""
    there = set(flags.values())
    kept = _WAY.sub(lambda way: way[0] if way[2] in there else "", error).removesuffix(", ")
    if kept == error:
        return error
    *ways, last = re.sub(r"(?<=\. )[a-z]", lambda first: first[0].upper(), kept).split("), ")
    return "), ".join([*ways, last if last.startswith("or ") or not ways else f"or {last}"])


def as_typed(error: str, given: Mapping[str, Any], flags: Mapping[str, str]) -> str:
    """An error that begins with an option and its value, if one that was given is at fault.

    `given` has values by parameter, and `flags` what each is called on the command line.
    """
    subject = _SUBJECT.match(error)
    if subject is None:
        return error
    key, rest = subject["key"], error[subject.end() :]
    typed = _of_settings(key, given) or _of_option(key, given, flags)
    if not typed:
        # What is wrong with a stack is named by its part and parameter.
        return f"--ftl: {error.removeprefix(_STACK)}" if error.startswith(_STACK) and given.get("ftl") else error
    value = typed.partition(" ")[2]
    # The value is named already.
    for name in (f"{key.rpartition('.')[2]} = ", ""):
        rest = rest.removeprefix(f'{name}"{value}": ').removeprefix(f'{name}"{value.partition("=")[2]}": ')
    if value.endswith("%"):
        # The simulator saw a number alone, and may take it for percent.
        rest = _PERCENT.sub("", rest)
    return f"{typed}: {rest}"


def _of_settings(key: str, given: Mapping[str, Any]) -> str:
    """The `--set` or `--vary` of a key."""
    for flag, settings in (("--set", given.get("settings") or given.get("setting")), ("--vary", given.get("vary"))):
        for setting in settings or ():
            if setting.partition("=")[0].strip() == key:
                return f"{flag} {setting}"
    return ""


def _of_option(key: str, given: Mapping[str, Any], flags: Mapping[str, str]) -> str:
    """The option of a key; where no section is named, of that key in any of them."""
    option = _OPTIONS.get(key) or next((name for place, name in _OPTIONS.items() if place.endswith(f".{key}")), "")
    value = given.get(option)
    if value is None or option not in flags:
        return ""
    if value is False:
        return flags.get(f"no_{option}", "")
    if value is True:
        return flags[option]
    texts: Iterable[object] = value if isinstance(value, list) else [value]
    return " ".join(f"{flags[option]} {text}" for text in texts)


def flags_of(parameters: Sequence[Any]) -> dict[str, str]:
    """What the options of a command are called, by their parameters; off switches as `no_…`."""
    named = [(parameter.name, parameter.opts) for parameter in parameters]
    named += [(f"no_{parameter.name}", parameter.secondary_opts) for parameter in parameters]
    long = {name: [flag for flag in flags if flag.startswith("--")] for name, flags in named}
    return {name: flags[0] for name, flags in long.items() if flags}
