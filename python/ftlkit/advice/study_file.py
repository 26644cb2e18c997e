"""A study file is no workload, but tells the command that asks for advice on what it runs."""

from __future__ import annotations

import shlex
from pathlib import Path

from ftlkit._native import UserError
from ftlkit.study import one_line, toml
from ftlkit.study.options import SECTIONS

_FLAGS = {
    "device.preset": "--device",
    "device.capacity": "--capacity",
    "workload.requests": "--requests",
    "run.precondition": "--precondition",
}
"""Keys with an option; others are set by `--set`."""
_SOURCES = ("trace", "preset", "generator")
_OWN = ("run.skip", "run.clock", "run.verify")
"""What a search sets itself, and what has no part in it."""


def refuse(workload: str) -> None:
    """Raise a `UserError` for a study file, with the command for advice on its workload."""
    path = Path(workload)
    if path.suffix != ".toml" or not path.is_file():
        return
    try:
        study = toml.load(path)
        one_line.fit(study)
    except UserError:
        # What is wrong with it does not matter here.
        raise UserError(
            f"{workload} is a study by its name, and advice takes a workload: give a trace, a fio job file, or one of "
            f"`ftlkit workloads`. Try: ftlkit advise randrw"
        ) from None
    table = study.get("workload", {})
    first, source = "", table.get("trace") or table.get("preset")
    if source is None:
        source = f"{path.stem}.parquet"
        first = f"{shlex.join(['ftlkit', 'trace', 'generate', workload, source])} && "
    typed = ["ftlkit", "advise", source, *([] if "seed" not in study else ["--seed", str(study["seed"])])]
    for section in SECTIONS:
        for key, value in (study.get(section) or {}).items():
            name = f"{section}.{key}"
            if name in _OWN or isinstance(value, (dict, list)) or (section == "workload" and key in _SOURCES):
                continue
            text = str(value).lower() if isinstance(value, bool) else str(value)
            flag = _FLAGS.get(name)
            typed += [flag, text] if flag else ["--set", f"{name}={text}"]
    raise UserError(f"{workload} is a study, and advice takes a workload. Try: {first}{shlex.join(typed)}")
