"""What torture says of an FTL of one's own: leaks, and pages that its own messages name."""

# ruff: noqa: D102 (FTLs are written here as users write them)

import re

import pytest

import ftlkit as fk
from ftlkit.own.loading import load
from own_ftls import EXAMPLE, finding

pytestmark = pytest.mark.usefixtures("own_are_forgotten")

Simple = load(str(EXAMPLE), "Simple")


class Forgets(Simple):  # type: ignore[misc, valid-type]
    """Every third victim is in no list any more when it has been erased."""

    collections = 0

    def collect(self, flash: fk.Flash) -> None:
        super().collect(flash)
        self.collections += 1
        if self.collections % 3 == 0:
            del self.valid[self.free.pop()]


class Keeps(Simple):  # type: ignore[misc, valid-type]
    """Every third victim is given up before it is erased."""

    collections = 0

    def collect(self, flash: fk.Flash) -> None:
        victim = min((b for b in self.valid if b not in (self.open, *self.free)), key=self.valid.get)
        self.collections += 1
        if self.collections % 3:
            super().collect(flash)
            return
        with flash.background(), flash.cause("collection"):
            for ppn in [ppn for ppn in self.pages_of(victim) if ppn in self.needed]:
                to = self.next_page(flash, reserve=1)
                flash.copy(ppn, to)
                if ppn in self.trims:
                    self.trims.add(to)
                self.point(list(self.needed[ppn]), to)
        del self.valid[victim]


@pytest.mark.parametrize(
    ("scheme", "end"),
    [(Forgets, "never programmed again"), (Keeps, "and was never erased")],
)
def test_a_block_leak_is_named_as_such(scheme: type[fk.Ftl], end: str) -> None:
    told = finding(scheme)
    assert told is not None
    first = told["explanation"][0]
    leak = re.match(r"block leak: (PBN \d+) holds no valid page since (operation \d+|the power)", first)
    assert leak is not None, told
    assert end in first
    assert f"what was done with {leak[1]}, in order:" in told["explanation"]


class Asserts(Simple):  # type: ignore[misc, valid-type]
    """Notices that a page was written for the third time, and says so of one of its addresses."""

    says = "LPN {lpn} was written before"
    times = 0

    def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
        before = self.where.get(lpn)
        if before is not None and before not in self.trims:
            self.times += 1
            assert self.times < 3, self.says.format(lpn=lpn, ppn=before)
        super().write(flash, lpn, page)


class AssertsOfPhysical(Asserts):
    """Says so of the physical page."""

    says = "PPN {ppn} is in use"


@pytest.mark.parametrize("scheme", [Asserts, AssertsOfPhysical])
def test_the_page_that_an_assertion_names_is_told_of(scheme: type[fk.Ftl]) -> None:
    told = finding(scheme)
    assert told is not None
    assert "AssertionError: " in told["message"]
    named = re.search(r"AssertionError: (LPN|PPN) (\d+)", told["message"])
    assert named is not None
    lines = "\n".join(told["explanation"])
    about = re.search(r"what was done with LPN (\d+), in order:\n(.*)", lines, re.DOTALL)
    assert about is not None, lines
    assert re.search(r"program of PPN \d+", about[2])
    if named[1] == "LPN":
        assert about[1] == named[2]
    else:
        assert re.search(rf"PPN {named[2]} \(PBN \d+\) holds LPN {about[1]}, ", lines)
