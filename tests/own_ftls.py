"""FTLs in Python that tests share, and what torture says of one."""

# ruff: noqa: D102 (FTLs are written here as users write them)

from pathlib import Path

import ftlkit as fk
from ftlkit.api.torture import Finding

EXAMPLES = Path(__file__).parents[1] / "examples"
EXAMPLE = EXAMPLES / "own_ftl.py"
SMALL = "1x1x1x12x4x512"


def finding(scheme: type[fk.Ftl], *, minutes: float = 0.1, seed: int = 3) -> Finding | None:
    """What torture finds in a scheme, if it finds something."""
    report = fk.torture([scheme], minutes=minutes, seed=seed, geometry=[SMALL], threads=1)
    findings = report["schemes"][0]["findings"]
    return findings[0] if findings else None


def found(scheme: type[fk.Ftl], *, minutes: float = 0.1, seed: int = 3) -> str:
    """What torture says of a scheme: its finding, or nothing."""
    its = finding(scheme, minutes=minutes, seed=seed)
    return its["message"] if its else ""


class LikePage(fk.Ftl):
    """What page:victim=fifo does on one die."""

    def __init__(self, device: fk.FlashDevice) -> None:
        super().__init__(device)
        self.map: dict[int, int] = {}
        self.owner: dict[int, int] = {}
        self.free = list(device.good_blocks)
        self.closed: list[int] = []
        self.open: dict[str, int | None] = {"data": None, "collected": None}

    def read(self, flash: fk.Flash, lpn: int) -> fk.Page | None:
        return flash.read(self.map[lpn]) if lpn in self.map else None

    def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
        if self.open["data"] is None:
            while len(self.free) <= 2:
                with flash.background():
                    self.collect(flash)
        self.append(flash, page, lpn, "data")

    def append(self, flash: fk.Flash, page: fk.Page, lpn: int, stream: str) -> None:
        block = self.open[stream]
        if block is None:
            block = self.open[stream] = self.free.pop(0)
        offset = flash.next_page(block)
        ppn = self.device.page(block, offset)
        flash.program(ppn, page, role=stream)
        if offset + 1 == self.device.pages_per_block:
            self.open[stream] = None
            self.closed.append(block)
        if lpn in self.map:
            del self.owner[self.map[lpn]]
        self.map[lpn], self.owner[ppn] = ppn, lpn

    def collect(self, flash: fk.Flash) -> None:
        block = self.closed.pop(0)
        first = self.device.page(block, 0)
        with flash.cause("collection"):
            for ppn in range(first, first + self.device.pages_per_block):
                if ppn in self.owner:
                    page = flash.read(ppn)
                    self.append(flash, page, page.lpn, "collected")
            flash.erase(block)
        self.free.append(block)
