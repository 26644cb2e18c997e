"""What a trace of flash leaves on every page: a second, plain replay beside the player's script."""

from collections import Counter

from ftlkit._util import Json
from ftlkit.results.document import FlashTraceFacts

RECORDS = ("trimmed", "summary")
"""Roles of pages that hold no data of the host and no map."""


class Replay:
    """Pages that hold something, by number: (role, logical page), and the valid ones."""

    def __init__(self, trace: FlashTraceFacts, pages_per_block: int) -> None:
        self.trace = trace
        self.pages_per_block = pages_per_block
        start = trace["start"]
        rows = list(zip(start["page"], start["role"], start["logical"], start["is_valid"], strict=True))
        self.held = {page: (role, logical) for page, role, logical, _ in rows}
        self.newest = {
            self.name(role, logical): page for page, role, logical, is_valid in rows if is_valid and role not in RECORDS
        }

    @staticmethod
    def name(role: str, logical: int) -> tuple[bool, int]:
        """What a page is a version of."""
        return role == "translation", logical

    def run(self) -> None:
        """Serve all requests and do all operations, in order."""
        requests, operations = self.trace["requests"], self.trace["operations"]
        befores = [*requests["operations_before"][1:], len(operations["op"])]
        for operation in range(requests["operations_before"][0]):
            self.do(operation)
        for request, end in enumerate(befores):
            if requests["op"][request] == "trim":
                self.trim(requests["extents"][request])
            for operation in range(requests["operations_before"][request], end):
                self.do(operation)

    def trim(self, extents: list[tuple[int, int]]) -> None:
        """Forget logical pages."""
        for first, count in extents:
            for logical in range(first, first + count):
                self.newest.pop((False, logical), None)

    def do(self, operation: int) -> None:
        """Do one operation; a read of the host must find a valid page."""
        columns: Json = dict(self.trace["operations"])
        kind, block, page = (columns[name][operation] for name in ("op", "block", "page"))
        assert not columns["has_failed"][operation]
        first = block * self.pages_per_block
        if kind == "erase":
            for erased in range(first, first + self.pages_per_block):
                if erased in self.held and self.newest.get(self.name(*self.held[erased])) == erased:
                    del self.newest[self.name(*self.held[erased])]
                self.held.pop(erased, None)
        elif kind == "program":
            role, logical = columns["role"][operation], columns["logical"][operation]
            assert first + page not in self.held
            self.held[first + page] = (role, logical)
            if role not in RECORDS:
                self.newest[self.name(role, logical)] = first + page
        elif columns["cause"][operation] == "host":
            assert self.newest[self.name(*self.held[first + page])] == first + page

    def state(self, page: int) -> str:
        """The state of a page, as the player names it."""
        if page not in self.held:
            return "free"
        role, logical = self.held[page]
        if role in RECORDS:
            return "record"
        if self.newest.get(self.name(role, logical)) != page:
            return "stale"
        return {"translation": "map", "sequential_log": "log", "random_log": "log"}.get(role, "valid")

    def blocks(self, count: int) -> list[dict[str, int]]:
        """Pages of each block by state."""
        starts = range(0, count * self.pages_per_block, self.pages_per_block)
        return [dict(Counter(self.state(page) for page in range(at, at + self.pages_per_block))) for at in starts]
