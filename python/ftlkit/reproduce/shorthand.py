"""What a study file may leave out: tables over others, names for repeated values, running text.

This is all of it; what comes out has every table in full.
"""

from collections.abc import Collection, Sequence
from typing import Any

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit.sweeps.plan import combinations


def written_out(table: Json) -> Json:
    """The tables of a study file as if nothing had been left out."""
    for name in ("let", "variants"):
        if not isinstance(table.get(name, {}), dict):
            raise UserError(f"{name} is no table: write [{name}] above its keys.")
    let: Json = {}
    for name, value in table.get("let", {}).items():
        let[name] = _filled(value, let)
    full = {key: _filled(value, let) for key, value in table.items() if key not in ("let", "variants")}
    stacks: Json = {}
    for label, stack in _filled(table.get("variants", {}), let).items():
        own = stack if isinstance(stack, dict) else {"ftl": stack}
        stacks[label] = _variant(own, stacks) | {"label": label}
    sweeps = full.get("sweeps", {})
    for part in ("sweeps", "figures", "claims", "factorials"):
        full[part] = _named(part, full.get(part, []), sweeps if part == "figures" else ())
    for sweep in full["sweeps"]:
        if "workloads" in sweep:
            sweep["workloads"] = [load for given in _list(sweep["workloads"]) for load in combinations([given])]
        takes = sweep.pop("takes", [])
        variants = [_variant(given, stacks) for given in sweep.get("variants", [])]
        sweep["variants"] = [variant | {"takes": [*variant.get("takes", []), *takes]} for variant in variants]
        sweep["vary"] = _list(sweep.get("vary", []))
    # Each sweep gets copies of its own of what it shares with others.
    return full | {"sweeps": [_filled(sweep, {}) for sweep in full["sweeps"]]}


def over(base: Json, own: Json) -> Json:
    """A table with the keys of its own, and those of another that it lacks; so in its tables."""
    both = {key: over(base[key], own[key]) for key in base.keys() & own.keys() if _are_tables(base[key], own[key])}
    return base | own | both


def _are_tables(*values: object) -> bool:
    return all(isinstance(value, dict) for value in values)


def _filled(value: Any, let: Json) -> Any:  # noqa: ANN401 - of any TOML type
    """A copy in which `$NAME` is what `let` says, and a text is one line."""
    if isinstance(value, dict):
        full = {key: _filled(entry, let) for key, entry in value.items()}
        is_over = isinstance(full.get("base"), dict)
        return over(full.pop("base"), full) if is_over else full
    if isinstance(value, list):
        return [item for entry in value for item in _items(entry, let)]
    if isinstance(value, str) and value.startswith("$"):
        return _filled(_found(let, value[1:], "value in [let]"), let)
    return " ".join(value.split()) if isinstance(value, str) and "\n" in value else value


def _items(entry: Any, let: Json) -> list[Any]:  # noqa: ANN401 - of any TOML type
    """What an entry of a list stands for: all items of a list that it names, or itself."""
    full = _filled(entry, let)
    return full if isinstance(entry, str) and isinstance(full, list) else [full]


def _named(part: str, tables: Json | Sequence[Json], sweeps: Collection[str]) -> list[Json]:
    """The tables of `[part.NAME]` with what `[part]` itself says for all; a list as it stands.

    One that is called like one of `sweeps` is over that sweep.
    """
    if not isinstance(tables, dict):
        return list(tables)
    shared = {key: value for key, value in tables.items() if not isinstance(value, dict)}
    full: Json = {}
    for name, own in ((name, own) for name, own in tables.items() if isinstance(own, dict)):
        otherwise = shared | ({"sweep": name} if name in sweeps else {})
        full[name] = _based(own, full, f"{part[:-1]} above {name}", otherwise) | {"id": name}
    return list(full.values())


def _based(own: Json, others: Json, what: str, otherwise: Json) -> Json:
    base = _found(others, own["base"], what) if "base" in own else otherwise
    return over(base, {key: value for key, value in own.items() if key != "base"})


def _variant(given: str | Json, stacks: Json) -> Json:
    """A variant: the label of one, or a table, perhaps over one; its `ftl` may be a name."""
    full = _based({"base": given} if isinstance(given, str) else given, stacks, "variant in [variants]", {})
    return full | {"ftl": {"name": full["ftl"]}} if isinstance(full.get("ftl"), str) else full


def _list(given: Any) -> list[Any]:  # noqa: ANN401 - of any TOML type
    return given if isinstance(given, list) else [given]


def _found(tables: Json, name: str, what: str) -> Any:  # noqa: ANN401 - of any TOML type
    if name not in tables:
        raise UserError(f"{name} is no {what}; there are {', '.join(tables) or 'none'}.")
    return tables[name]
