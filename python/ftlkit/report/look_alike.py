"""A look-alike of a trace as the workload of a study, with what it rests on as comments."""

from collections.abc import Iterator

from ftlkit._util import Json, units
from ftlkit.study import toml

_FIGURES = {
    "rewritten_percent": "pages rewritten, %",
    "top_percent": "writes to the top 1 % of pages, %",
    "logical_blocks": "logical blocks written",
    "run_write_percent": "writes in runs, %",
    "run_page_percent": "pages written in runs, %",
    "sequential_percent": "requests in sequence, %",
    "buffer_hit_percent": "hits of a buffer of 64 MiB, %",
}
"""What residuals are of, in words."""

_METRICS = {
    "write_amplification": "write amplification",
    "mapping_hit_ratio": "mapping hits, %",
    "buffer_hit_ratio": "buffer hits, %",
    "response_mean_ns": "mean response, µs",
}
"""The results that validate it, in words."""

_PAGE = 2048
"""Bytes of a page of the windows."""


def preset_toml(fit: Json) -> str:
    """A study of the look-alike that `ftlkit run` and `ftlkit trace generate` take."""
    study: Json = {
        "device": {"capacity": "auto"},
        "workload": {"generator": fit["generator"]},
        "ftl": [{"name": "page"}],
    }
    if fit["generator"].get("arrivals", "at_once") == "at_once":
        # In an open loop, requests that all arrive at once say nothing of response times.
        study["host"] = {"loop": "closed"}
    body = toml.written(study)
    return "".join(f"{line}\n".replace("# \n", "#\n") for line in (*_comments(fit), "", *body.splitlines()))


def _comments(fit: Json) -> Iterator[str]:
    yield f"# A look-alike of {fit['name']} (read as {fit['format']}), found by `ftlkit trace fit`."
    yield "# It has the figures below and no more: compare by direction, and use the trace where you can."
    yield from (f"# {line}" for line in verdict(fit["validation"]))
    yield "# "
    yield "# What its numbers rest on:"
    names = max(len(row["name"]) for row in fit["parameters"])
    values = max(len(row["value"]) for row in fit["parameters"])
    for row in fit["parameters"]:
        yield f"#   {row['name']:{names}}  {row['value']:{values}}  {row['rests_on']}"
    yield "# "
    yield f"# Where it differs (misfit {fit['misfit']:.2f}: the mean square of the last column):"
    yield f"#   {'':34} {'writes within':>14} {'trace':>9} {'look-alike':>10} {'units':>6}"
    for row in fit["residuals"]:
        pages = row["window_pages"]
        window = "" if pages is None else units.typed(units.size(pages * _PAGE))
        figures = f"{row['target']:9.1f} {row['fitted']:10.1f} {row['units']:+6.1f}"
        yield f"#   {_FIGURES[row['figure']]:34} {window:>14} {figures}"
    if fit["validation"]["rows"]:
        yield "# "
        yield "# Results of stacks, to which it was not fitted, of the draw that is furthest off:"
        yield from (f"#   {line}" for line in _results(fit["validation"]))


def verdict(validation: Json) -> Iterator[str]:
    """For which questions a look-alike is good, in lines: what its own runs have shown."""
    if "reason" in validation:
        yield "It is not validated, as the translation layers did not run on it and on the trace:"
        # A comment has one line.
        yield " ".join(validation["reason"].split())
        return
    good = [words for words, stacks in validation["unmet"].items() if not stacks]
    bad = {words: stacks for words, stacks in validation["unmet"].items() if stacks}
    requests = units.count(validation["requests"])
    yield f"Validated by six stacks on {requests} requests, at the worst of three draws."
    if good:
        yield f"Good for: {', '.join(good)}."
    for words, stacks in bad.items():
        yield f"Not good for: {words} of {', '.join(stacks)}."


def _results(validation: Json) -> Iterator[str]:
    yield f"{'':20} {'':19} {'trace':>9} {'look-alike':>10} {'error':>9} {'aim':>9}"
    for row in validation["rows"]:
        is_share = row["metric"].endswith("ratio")
        unit, scale = (" points", 100.0) if is_share else (" %", 1e-3 if row["metric"].endswith("_ns") else 1.0)
        words = _METRICS[row["metric"]]
        figures = f"{row['trace'] * scale:9.2f} {row['look_alike'] * scale:10.2f}"
        yield f"{words:20} {row['stack']:19} {figures} {row['error']:+9.1f} {row['most']:5.0f}{unit}"
