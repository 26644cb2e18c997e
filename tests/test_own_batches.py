"""FTLs in Python that take whole requests: the same as page by page, and refused as clearly."""

# ruff: noqa: ARG002, D102 (FTLs are written here as users write them)

import array
import re
from collections.abc import Callable, Iterable

import numpy as np
import pytest

import ftlkit as fk
from ftlkit.own.ftl import Ftl
from ftlkit.own.loading import load
from own_ftls import EXAMPLES, SMALL, LikePage, found

pytestmark = pytest.mark.usefixtures("own_are_forgotten")


@pytest.fixture
def batched() -> type[Ftl]:
    """The FTL of the example."""
    scheme: type[Ftl] = load(str(EXAMPLES / "own_ftl_batched.py"), "Batched")
    return scheme


def as_they_are(ppns: list[int]) -> Iterable[int]:
    """A list, as FTLs have it without further ado."""
    return ppns


class InBatches(LikePage):
    """LikePage with a call a request."""

    numbers: Callable[[list[int]], Iterable[int]] = staticmethod(as_they_are)

    def read_pages(self, flash: fk.Flash, lpn: int, count: int) -> fk.Pages:
        return flash.read_many(self.numbers([self.map.get(page, -1) for page in range(lpn, lpn + count)]))

    def write_pages(self, flash: fk.Flash, lpn: int, pages: fk.Pages) -> None:
        while pages:
            if self.open["data"] is None:
                while len(self.free) <= 2:
                    with flash.background():
                        self.collect(flash)
            room = self.append_many(flash, pages, lpn, "data")
            lpn, pages = lpn + room, pages[room:]

    def append_many(self, flash: fk.Flash, pages: fk.Pages, lpn: int, stream: str) -> int:
        block = self.open[stream]
        if block is None:
            block = self.open[stream] = self.free.pop(0)
        offset = flash.next_page(block)
        pages = pages[: self.device.pages_per_block - offset]
        first, end = self.device.page(block, offset), self.device.page(block, offset) + len(pages)
        flash.program_many(self.numbers(list(range(first, end))), pages, role=stream)
        if offset + len(pages) == self.device.pages_per_block:
            self.open[stream] = None
            self.closed.append(block)
        for ppn in range(first, end):
            self.owner.pop(self.map.get(lpn, -1), None)
            self.map[lpn], self.owner[ppn] = ppn, lpn
            lpn += 1
        return len(pages)

    def collect(self, flash: fk.Flash) -> None:
        block = self.closed.pop(0)
        first = self.device.page(block, 0)
        needed = [ppn for ppn in range(first, first + self.device.pages_per_block) if ppn in self.owner]
        with flash.cause("collection"):
            while needed:
                needed = needed[self.copy_many(flash, needed) :]
            flash.erase(block)
        self.free.append(block)

    def copy_many(self, flash: fk.Flash, needed: list[int]) -> int:
        block = self.open["collected"]
        if block is None:
            block = self.open["collected"] = self.free.pop(0)
        offset = flash.next_page(block)
        needed = needed[: self.device.pages_per_block - offset]
        to = [self.device.page(block, offset + i) for i in range(len(needed))]
        flash.copy_many(self.numbers(needed), self.numbers(to))
        if offset + len(needed) == self.device.pages_per_block:
            self.open["collected"] = None
            self.closed.append(block)
        for old, new in zip(needed, to, strict=True):
            lpn = self.owner.pop(old)
            self.map[lpn], self.owner[new] = new, lpn
        return len(needed)


def compared(*ftls: str | type[Ftl], requests: int = 2_000, spare: float = 0.2) -> fk.Results:
    """FTLs on a small device of one die."""
    return fk.compare(
        "fin1",
        list(ftls),
        requests=requests,
        addresses="wrap",
        capacity="16MiB",
        settings=[f"device.spare={spare}", "device.channels=1", "device.dies_per_channel=1"],
        threads=1,
    )


def test_batches_do_what_single_calls_do() -> None:
    runs = compared("page:victim=fifo", LikePage, InBatches, requests=4_000).runs
    assert runs["event_hash"].n_unique() == 1
    assert runs["write_amplification"][0] > 2.0
    assert runs["pages_read"].n_unique() == 1


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(tuple, id="tuple"),
        pytest.param(iter, id="iterator"),
        pytest.param(lambda ppns: array.array("i", ppns), id="array"),
        pytest.param(lambda ppns: memoryview(array.array("h", ppns)), id="memoryview"),
        pytest.param(lambda ppns: np.array(ppns, dtype=np.int64), id="int64"),
        pytest.param(lambda ppns: np.array(ppns, dtype=np.int32), id="int32"),
        pytest.param(lambda ppns: np.array([ppns, ppns], dtype=np.int16).T[:, 0], id="strided"),
        pytest.param(lambda ppns: np.array(ppns, dtype=">i4"), id="swapped"),
        pytest.param(lambda ppns: [None if ppn < 0 else np.uint32(ppn) for ppn in ppns], id="scalars"),
    ],
)
def test_numbers_come_in_any_sequence(numbers: Callable[[list[int]], Iterable[int]]) -> None:
    class Numbered(InBatches):
        pass

    Numbered.numbers = staticmethod(numbers)
    runs = compared(InBatches, Numbered, requests=600).runs
    assert runs["event_hash"].n_unique() == 1


def on_flash(work: Callable[[fk.Flash, fk.Pages], None]) -> None:
    """Does something with flash and the pages of a request of four, on an empty device."""

    class Tries(LikePage):
        def write_pages(self, flash: fk.Flash, lpn: int, pages: fk.Pages) -> None:
            work(flash, pages)

    fk.compare(
        {"generator": {"requests": 1, "span": "1MiB", "write_share": 1.0, "sizes": "16KiB"}},
        [Tries],
        capacity="16MiB",
        precondition="none",
        loop="closed",
        settings=["device.spare=0.2"],
    )


@pytest.mark.parametrize("numbers", [list, np.array], ids=["list", "numpy"])
@pytest.mark.parametrize(
    ("ppns", "done", "error", "words"),
    [
        pytest.param([0, 1, 1, 2], 2, fk.RuleBroken, "programmed only when erased", id="programmed-twice"),
        pytest.param([0, 10**6, 1, 2], 1, fk.RuleBroken, "page 1000000 is not on the device", id="off-the-device"),
        pytest.param([0, 1, 2, -1], 3, fk.RuleBroken, "page -1 is not on the device", id="negative"),
        pytest.param([0, 1, 2], 0, ValueError, "3 and 4 pages", id="too-few"),
    ],
)
def test_a_program_that_is_refused_leaves_what_was_done(
    numbers: Callable[[list[int]], Iterable[int]], ppns: list[int], done: int, error: type[Exception], words: str
) -> None:
    def work(flash: fk.Flash, pages: fk.Pages) -> None:
        with pytest.raises(error, match=words) as raised:
            flash.program_many(numbers(ppns), pages)
        assert getattr(raised.value, "done", 0) == done
        assert flash.next_page(0) == done
        assert flash.read_many(range(done)).lpns == pages[:done].lpns

    on_flash(work)


@pytest.mark.parametrize("wrong", ["x", None, 1.5], ids=["word", "none", "float"])
def test_what_is_no_number_ends_a_batch_where_it_stands(wrong: object) -> None:
    def work(flash: fk.Flash, pages: fk.Pages) -> None:
        with pytest.raises(TypeError) as raised:
            flash.program_many([0, wrong, 1, 2], pages)  # type: ignore[list-item]
        assert raised.value.done == 1  # type: ignore[attr-defined]
        assert flash.next_page(0) == 1

    on_flash(work)


def test_reads_and_copies_end_at_the_first_that_fails() -> None:
    def work(flash: fk.Flash, pages: fk.Pages) -> None:
        flash.program_many(range(4), pages)
        with pytest.raises(fk.RuleBroken, match="only programmed pages are read") as raised:
            flash.read_many([2, None, 9, 1])
        assert raised.value.done == 2
        second = flash.device.page(1, 0)
        with pytest.raises(fk.RuleBroken) as raised:
            flash.copy_many([0, 1, 2], [second, second + 1, second + 1])
        assert raised.value.done == flash.next_page(1) == 2
        tags = [flash.scan(ppn) for ppn in (0, second)]
        assert tags[0] is not None
        assert tags[1] is not None
        assert (tags[0].lpn, tags[0].version) == (tags[1].lpn, tags[1].version)

    on_flash(work)


def test_pages_are_a_sequence() -> None:
    def work(flash: fk.Flash, pages: fk.Pages) -> None:
        first = pages.lpns[0]
        assert first is not None
        assert len(pages) == 4
        assert pages.lpns == [page.lpn for page in pages if page] == list(range(first, first + 4))
        assert pages[-1] is not None
        assert pages[-1].lpn == first + 3
        assert pages[::-2].lpns == [first + 3, first + 1]
        assert not pages[4:]
        for outside in (4, -5):
            with pytest.raises(IndexError):
                pages[outside]
        assert list(flash.read_many([None, None])) == [None, None]

    on_flash(work)


def test_a_page_that_cannot_be_programmed_is_named() -> None:
    kept: list[fk.Pages] = []

    def work(flash: fk.Flash, pages: fk.Pages) -> None:
        kept.append(pages)
        with pytest.raises(TypeError, match="None") as raised:
            flash.program_many([0, 1], [pages[0], None])
        assert raised.value.done == 1  # type: ignore[attr-defined]
        with pytest.raises(TypeError, match="None is no page"):
            flash.program_many([1], flash.read_many([None]))

    def works_later(flash: fk.Flash, pages: fk.Pages) -> None:
        with pytest.raises(RuntimeError, match="only in the call in which it was read") as raised:
            flash.program_many([0, 1], [*pages[:1], *kept[0][:1]])
        assert raised.value.done == 1  # type: ignore[attr-defined]

    on_flash(work)
    on_flash(works_later)


class TooFew(InBatches):
    """Answers with less than is asked for."""

    def read_pages(self, flash: fk.Flash, lpn: int, count: int) -> fk.Pages:
        return super().read_pages(flash, lpn, count)[1:]


class NoPages(InBatches):
    """Answers with a list of numbers."""

    def read_pages(self, flash: fk.Flash, lpn: int, count: int) -> list[int]:  # type: ignore[override]
        return [5] * count


class Nothing(InBatches):
    """Answers with nothing."""

    def read_pages(self, flash: fk.Flash, lpn: int, count: int) -> None:  # type: ignore[override]
        pass


class Raises(InBatches):
    """Raises in the middle of a request."""

    def write_pages(self, flash: fk.Flash, lpn: int, pages: fk.Pages) -> None:
        super().write_pages(flash, lpn, pages[:1])
        raise KeyError(lpn)


class Hangs(InBatches):
    """Never comes back."""

    call_seconds = 0.2

    def write_pages(self, flash: fk.Flash, lpn: int, pages: fk.Pages) -> None:
        while True:
            pass


@pytest.mark.parametrize(
    ("ftl", "words"),
    [
        pytest.param(TooFew, r"line \d+, in TooFew.read_pages: it must return (\d+) pages; it returned", id="too-few"),
        pytest.param(NoPages, r"in NoPages.read_pages: it must return a Page .*; it returned int", id="no-pages"),
        pytest.param(Nothing, r"in Nothing.read_pages: .* a list of Page and None; it returned None", id="nothing"),
        pytest.param(Raises, r"test_own_batches\.py, line \d+, in write_pages \(`raise KeyError", id="raises"),
        pytest.param(Hangs, r"in write_pages .*CallTooLong", id="hangs"),
    ],
)
def test_a_method_that_goes_wrong_is_named_with_its_line(ftl: type[Ftl], words: str) -> None:
    with pytest.raises(fk.UserError, match=words):
        compared(ftl, requests=200)


@pytest.mark.full
def test_the_example_survives_torture_with_cuts_and_failing_flash(batched: type[Ftl]) -> None:
    report = fk.torture([batched], minutes=0.1, seed=1, geometry=[SMALL], threads=1)
    scheme = report["schemes"][0]
    assert scheme["findings"] == []
    assert scheme["cut_points"] > 0
    assert scheme["cut_points"] + scheme["cut_points_left_out"] > 100
    assert scheme["faults"]["failed_programs"] > 0


def test_torture_finds_bugs_planted_in_batches(batched: type[Ftl]) -> None:
    class ForgetsCopies(batched):  # type: ignore[misc, valid-type]
        def move(self, ppn: int, to: int) -> None:
            if ppn % 4 != 3:
                super().move(ppn, to)

    class ErasesFirst(batched):  # type: ignore[misc, valid-type]
        def collect(self, flash: fk.Flash) -> None:
            victim = min(self.closed, key=self.valid.__getitem__)
            self.closed.remove(victim)
            needed = [ppn for ppn in self.pages_of(victim) if self.owner[ppn] != -1]
            with flash.background(), flash.cause("collection"):
                pages = flash.read_many(needed)
                flash.erase(victim)
                self.free.append(victim)
                for ppn, page in zip(needed, pages, strict=True):
                    assert page is not None
                    self.room(flash, reserve=1)
                    flash.program(self.next, page)
                    self.move(ppn, self.next)
                    self.next += 1

    assert "breaks promise" in found(ForgetsCopies)
    assert re.search(r"breaks promise [34] .*LPN \d+ should", found(ErasesFirst))


def test_examples_amplify_writes_like_a_page_map_of_one_stream() -> None:
    examples = [f"{EXAMPLES / 'own_ftl.py'}:Simple", f"{EXAMPLES / 'own_ftl_batched.py'}:Batched"]
    # Each keeps five blocks free.
    runs = compared("page:streams=shared:gc_threshold=5", *examples, requests=10_000, spare=0.1).runs
    page, *own = runs["write_amplification"]
    assert page > 3.0
    assert own == pytest.approx([page, page], rel=0.04)


def test_example_that_counts_moved_pages_twice_breaks_its_check(batched: type[Ftl]) -> None:
    class CountsTwice(batched):  # type: ignore[misc, valid-type]
        def move(self, ppn: int, to: int) -> None:
            super().move(ppn, to)
            self.valid[ppn // self.size] += 1

    assert "breaks its own invariants" in found(CountsTwice)


def test_numpy_batches_run_the_example(batched: type[Ftl]) -> None:
    class InArrays(batched):  # type: ignore[misc, valid-type]
        def read_pages(self, flash: fk.Flash, lpn: int, count: int) -> fk.Pages:
            return flash.read_many(np.array(self.where[lpn : lpn + count]))

    settings = ["device.spare=0.2"]
    runs = fk.compare(
        "fin1", [batched, InArrays], requests=500, settings=settings, addresses="wrap", capacity="16MiB", verify=True
    ).runs
    assert runs["event_hash"].n_unique() == 1
