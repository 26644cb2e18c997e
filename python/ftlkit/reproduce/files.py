"""File workloads of a reproduction: each is recorded once, and all layers serve that trace."""

import json
from collections.abc import Callable
from pathlib import Path

from ftlkit._native import UserError
from ftlkit._util import Json
from ftlkit._util.progress import Silent, Watcher
from ftlkit.api import traces

SCALED = ("operations", "files", "volume_bytes", "interval")
"""What `scale` multiplies: on a device that shrinks along, blocks are erased as often as before."""


class Recordings:
    """Traces of file workloads in a folder, with the analyzer's results for file types."""

    def __init__(self, folder: Path, watch: Callable[[], Watcher] = Silent) -> None:
        """Nothing is recorded yet. The folder must exist, and its files must outlive the runs."""
        self._folder = folder
        self._watch = watch
        self._done: dict[str, tuple[Path, list[Json]]] = {}

    def trace(self, files: Json, seed: int) -> Path:
        """The trace of a file workload: a table of `ftlkit.generate_files`, maybe with `scale`."""
        return self._recorded(files, seed)[0]

    def series(self, files: Json, seed: int, file_type: str) -> dict[str, list[float]]:
        """A file type's results, such as of `.c`, by interval, from the first with φ above 0.

        `request` counts the writes that programs have asked for until the interval's end;
        `f_over_phi` is the predicted update frequency over the one that came, 1 where the
        prediction was right; `increase` is |s|, the share by which the active files grew or shrank.
        """
        spec, intervals = _spec(files), self._recorded(files, seed)[1]
        columns: dict[str, list[float]] = {"request": [], "f_over_phi": [], "increase": []}
        for interval in intervals:
            (mine,) = [rated for rated in interval["types"] if rated["file_type"] == file_type] or [None]
            if mine and mine["phi"] > 0:
                columns["request"].append((interval["n"] + 1) * spec.get("interval", 10_000))
                columns["f_over_phi"].append(mine["f"] / mine["phi"])
                columns["increase"].append(abs(mine["s"]))
        if len(columns["request"]) < 2:
            raise UserError(
                f"the file workload {spec} has {len(intervals)} intervals, and in fewer than two of them files of the "
                f"type {file_type} were rewritten: give more operations, a shorter interval, or another file_type."
            )
        return columns

    def _recorded(self, files: Json, seed: int) -> tuple[Path, list[Json]]:
        spec = _spec(files)
        key = json.dumps([spec, seed], sort_keys=True)
        if key not in self._done:
            path = self._folder / f"{len(self._done)}.parquet"
            done = traces.generate_files(spec, path, seed=seed, watcher=self._watch())
            self._done[key] = path, done["intervals"]
        return self._done[key]


def _spec(files: Json) -> Json:
    """The table of a file workload with the study's scale worked in."""
    spec = {key: value for key, value in files.items() if key != "scale"}
    if "scale" not in files:
        return spec
    scale = files["scale"]
    if not isinstance(scale, (int, float)) or scale <= 0:
        raise UserError(f"files.scale = {scale}: must be a number above 0; leave it out for the workload as it stands.")
    for key in SCALED:
        if key not in spec:
            raise UserError(f"files.scale multiplies {', '.join(SCALED)}: say files.{key}, too.")
        spec[key] = max(round(spec[key] * scale), 1)
    return spec


def later_half(series: dict[str, list[float]]) -> dict[str, float]:
    """Metrics of a file type: means over the later half of its intervals."""
    half = len(series["request"]) // 2
    ratios, increases = series["f_over_phi"][half:], series["increase"][half:]
    return {
        "f_over_phi_mean": sum(ratios) / len(ratios),
        "f_over_phi_off": max(abs(ratio - 1) for ratio in ratios),
        "increase_mean": sum(increases) / len(increases),
        "increase_max": max(increases),
    }
