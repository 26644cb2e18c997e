"""`fk.curve` and `ftlkit curve cache`: hit ratio over cache size, from one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from typing_extensions import Unpack

from ftlkit import study
from ftlkit._native import Control, UserError, __version__
from ftlkit._util import Json
from ftlkit._util.native_call import watched
from ftlkit._util.options import typed_kwargs
from ftlkit._util.progress import Silent, Watcher
from ftlkit.curves import cache as caches
from ftlkit.curves.accesses import Accesses, accesses
from ftlkit.curves.saved import Saved
from ftlkit.sweeps import values

if TYPE_CHECKING:
    from ftlkit.curves.cache import Curve
    from ftlkit.curves.page import Drawing

_SMALLEST = 1 << 10
"""The smallest default size: no controller has fewer than 128 entries."""
MOST_SIZES = 1_000
"""More points of a curve than a screen has columns."""


@dataclass(frozen=True)
class HitRatios(Saved):
    """Hit ratios of dftl's mapping cache (LRU) by its size."""

    accesses: Accesses
    curve: Curve

    @property
    def frame(self) -> pl.DataFrame:
        """A row per size: `cache_bytes`, `hit_ratio`, `che` (Che's), `cold` (first look-ups)."""
        return pl.DataFrame(
            {
                "cache_bytes": self.curve.sizes,
                "hit_ratio": self.curve.hit_ratios,
                "che": self.curve.che,
                "cold": self.curve.cold,
            },
            schema={"cache_bytes": pl.Int64, "hit_ratio": pl.Float64, "che": pl.Float64, "cold": pl.Float64},
        )

    def drawing(self) -> Drawing:
        """The curve as it is drawn and told."""
        from ftlkit.curves.drawings import cache  # noqa: PLC0415 - the drawing libraries take a second to load

        return cache(self.accesses, self.curve)

    @property
    def document(self) -> Json:
        """Everything as JSON, with the study that was asked."""
        return {
            "ftlkit": __version__,
            "study": self.accesses.study,
            "lookups": self.curve.accesses,
            "logical_pages": round(self.accesses.logical_pages * self.accesses.scale),
            "filled": bool(self.accesses.filled),
            "sampled_share": self.curve.share,
            "sampled_pages": self.curve.pages,
            "points": self.frame.to_dicts(),
        }


class CurveOptions(study.TraceOptions, total=False):
    """What a curve can set beside its workload and device, as in `study.Options`."""

    capacity: str
    addresses: str
    precondition: str


@typed_kwargs(CurveOptions)
def curve(
    workload: study.WorkloadChoice,
    *,
    device: study.DeviceChoice | None = None,
    sizes: str | Sequence[int | str] | None = None,
    sample: float | None = None,
    watcher: Watcher | None = None,
    **options: Unpack[CurveOptions],
) -> HitRatios:
    """The hit ratio of dftl's mapping cache (LRU) over its size, from one pass over a workload.

    `sizes` are bytes, or text as after `--sizes`: `16KiB..4MiB:x2`; without them they go from 1 KiB
    to all entries. `sample` is the share of the pages that is looked at (SHARDS), by default as
    many as are soon done.
    """
    if sample is not None and not 0 < sample <= 1:
        raise UserError(f"--sample {sample}: must be above 0 and at most 1.")
    wanted = None if sizes is None else _asked(sizes)
    document = study.build(workload, "dftl", device, options)  # type: ignore[arg-type] # each is an option of a study
    if "precondition" not in options and document.get("run", {}).get("precondition") == "steady":
        # Only a run tells what a steady state leaves in the cache.
        document["run"]["precondition"] = "fill"

    def work(control: Control) -> HitRatios:
        looked_up = accesses(document, control)
        return HitRatios(looked_up, caches.curve(looked_up, wanted or _sizes(looked_up), sample))

    return watched(work, watcher or Silent(), hands_over=False)


def _asked(sizes: str | Sequence[int | str]) -> list[int]:
    if not isinstance(sizes, str):
        return [_bytes(f"{size}B" if isinstance(size, int) else size) for size in sizes]
    axis = values.axis("sizes", sizes, "--sizes")
    if axis.size > MOST_SIZES:
        raise UserError(
            f"--sizes {sizes}: these are {axis.size:,} sizes; at most {MOST_SIZES:,} are told. Take larger steps."
        )
    return [_bytes(size) for size in axis.values()]


def _bytes(text: str) -> int:
    number = values.size(text)
    if number is None or not 64 <= number < 1 << 40:
        raise UserError(f"--sizes: {text} is no size of a cache; give sizes from 64B to 1TiB, such as 16KiB..4MiB:x2.")
    return number


def _sizes(accesses: Accesses) -> list[int]:
    """Sizes by doubling, until every entry has room."""
    sizes = [_SMALLEST]
    while sizes[-1] < caches.ENTRY_BYTES * accesses.logical_pages * accesses.scale:
        sizes.append(2 * sizes[-1])
    return sizes
