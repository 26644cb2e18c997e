"""Policies of one's own in Python, under engines that are built in."""

# ruff: noqa: ARG002, D102 (policies are written here as users write them)

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit._native import Block, Unit, Write
from ftlkit.own import registry
from ftlkit.own.loading import resolved
from own_stacks import compared, forget_own, refused

OLDEST = '''
import ftlkit as fk


class Oldest(fk.VictimPolicy):
    """Filled longest ago: FIFO."""

    def score(self, block):
        return block.since_filled
'''


class Oldest(fk.VictimPolicy):
    """Filled longest ago."""

    def score(self, block: Block) -> float:
        """Say how old it is."""
        return block.since_filled


@pytest.fixture(autouse=True)
def _policies_are_forgotten() -> Iterator[None]:
    yield
    forget_own()


def test_the_oldest_block_first_is_fifo_to_the_event() -> None:
    fifo, own, greedy = compared("page:victim=fifo", {"name": "page", "victim": Oldest}, "page")
    assert own[0] == "page:victim=oldest"
    assert own[1:] == fifo[1:]
    assert own[1] != greedy[1]


@pytest.mark.parametrize("mapping", ["dftl", "cdftl", "waftl", "treeftl"])
def test_every_engine_with_a_choice_of_victims_takes_a_policy(mapping: str) -> None:
    fifo, own = compared(f"{mapping}:victim=fifo", {"name": mapping, "victim": Oldest})
    assert own[1:] == fifo[1:]


def test_a_policy_that_goes_on_choosing_full_blocks_is_ended_and_named() -> None:
    class FullFirst(fk.VictimPolicy):
        """The sign is wrong."""

        def score(self, block: Block) -> float:
            return block.valid_pages

    wrong = {"name": "page", "victim": FullFirst}
    named = r"victim=full-first, .*test_own_policies\.py, line \d+, FullFirst\.score, chose 80 blocks in a row"
    with pytest.raises(fk.UserError, match=named):
        fk.compare(
            "fin1",
            [wrong],
            device="slc-small",
            requests=3_000,
            addresses="wrap",
            capacity="16MiB",
            settings=["device.spare=0.2"],
            precondition="fill",
        )


def test_a_block_tells_what_it_holds_and_how_worn_it_is() -> None:
    seen: list[Block] = []

    class Watcher(fk.VictimPolicy):
        def score(self, block: Block) -> float:
            seen.append(block)
            return -block.valid_pages

    ((_, _, watcher), (_, _, greedy)) = compared({"name": "page", "victim": Watcher}, "page")
    assert watcher == pytest.approx(greedy, rel=0.02)
    assert {block.pages for block in seen} == {64}
    assert all(0 <= block.valid_pages <= block.pages for block in seen)
    assert all(0 <= block.since_changed <= block.since_filled for block in seen)
    assert max(block.erases for block in seen) > 0
    assert len({block.number for block in seen}) > 10


def test_the_command_line_names_a_class_by_file(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OLDEST)
    call(
        "compare", "fin1", "--ftl", "page:victim=fifo,page:victim=mine.py:Oldest", "--requests", "3000",
        "--capacity", "8MiB", "--set", "device.spare=0.6", "--addresses", "wrap", "--precondition", "fill",
        "--json", "out.json",
    )  # fmt: skip
    fifo, own = json.loads((tmp_path / "out.json").read_text())["runs"]
    assert (own["label"], own["event_hash"]) == ("page:victim=oldest", fifo["event_hash"])
    assert own["parameters"]["victim"] == "oldest"


@pytest.mark.full
def test_a_policy_survives_torture(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OLDEST)
    report = fk.torture(f"page:victim={tmp_path / 'mine.py'}:Oldest", minutes=0.05, seed=3)
    (scheme,) = report["schemes"]
    assert scheme["findings"] == []
    assert scheme["recoveries"] > 0


def test_a_policy_that_raises_is_named_with_its_line() -> None:
    class Raises(fk.VictimPolicy):
        def score(self, block: Block) -> float:
            return 1 / block.valid_pages - self.bonus  # type: ignore[attr-defined,no-any-return]

    refused({"name": "page", "victim": Raises}, r"test_own_policies\.py, line \d+, in score \(`return 1 / block")


@pytest.mark.parametrize("answer", ["soon", None, float("nan"), float("inf")])
def test_nonsense_is_refused_with_the_method_and_the_block(answer: object) -> None:
    class Nonsense(fk.VictimPolicy):
        def score(self, block: Block) -> float:
            return answer  # type: ignore[return-value]

    with pytest.raises(fk.UserError, match=r"test_own_policies\.py, line \d+, Nonsense\.score: .*block \d+") as caught:
        compared({"name": "page", "victim": Nonsense})
    assert "must return a number" in str(caught.value) or "no finite number" in str(caught.value)


def test_a_policy_that_hangs_is_ended() -> None:
    class Hangs(fk.VictimPolicy):
        call_seconds = 0.3

        def score(self, block: Block) -> float:
            while True:
                time.sleep(0.01)

    refused({"name": "page", "victim": Hangs}, "longer than")


def test_a_policy_that_draws_without_a_seed_is_found() -> None:
    draws = iter(range(10**9))

    class Draws(fk.VictimPolicy):
        def score(self, block: Block) -> float:
            # Blocks that gain nothing come last: choosing them for ever would be found before.
            return next(draws) * 0.618 % 1 + (block.valid_pages < block.pages)

    report = fk.torture({"name": "page", "victim": Draws}, minutes=0.05, seed=3)
    assert "promise 5" in report["schemes"][0]["findings"][0]["message"]


def test_what_is_no_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OLDEST + "\n\nclass Other:\n    pass\n")
    file = tmp_path / "mine.py"
    with pytest.raises(fk.UserError, match=r"Other does not derive from ftlkit\.VictimPolicy"):
        resolved(f"page:victim={file}:Other")
    with pytest.raises(fk.UserError, match="has no Odlest; it has Oldest"):
        resolved(f"page:victim={file}:Odlest")
    with pytest.raises(fk.UserError, match="only victim and streams take a class"):
        resolved(f"page:window={file}:Oldest")
    refused("page:victim=oldest", r"greedy, cost-benefit, .*random")


def test_a_name_that_is_built_in_is_refused() -> None:
    class Greedy(Oldest):
        pass

    refused({"name": "page", "victim": Greedy}, "victim = greedy: this name is built in")


def test_labels_of_tables_keep_the_policy_and_tell_siblings_apart(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OLDEST)
    own = {"name": "page", "victim": f"{tmp_path / 'mine.py'}:Oldest"}
    apart = {**own, "gc_idle": 3}
    alone = fk.compare("fin1", own, requests=300, addresses="dense")
    both = fk.compare("fin1", [own, apart], requests=300, addresses="dense")
    assert alone.labels == ["page:victim=oldest"]
    assert both.labels == ["page:victim=oldest", "page:gc_idle=3:victim=oldest"]


def test_sweeps_take_a_policy_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OLDEST)
    ftl = f"page:victim={tmp_path / 'mine.py'}:Oldest"
    swept = fk.sweep("fin1", ftl, requests=300, addresses="dense")
    assert [row["state"] for row in swept.rows] == ["done"]


class Once(fk.Classifier):
    """All that the host writes in one class."""

    classes = 2

    def classify(self, write: Write) -> int:
        return 0


class HotCold(fk.Classifier):
    """Pages that were written lately, and the others."""

    def __init__(self, device: fk.FlashDevice) -> None:
        super().__init__(device)
        self.last: dict[int, int] = {}
        self.writes = 0

    def classify(self, write: Write) -> int:
        self.writes += 1
        before = self.last.get(write.lpn)
        self.last[write.lpn] = self.writes
        return 0 if before and self.writes - before < self.device.logical_pages // 2 else 1

    def ram_bytes(self) -> int:
        return 4 * self.device.logical_pages


def test_a_write_tells_when_its_page_was_last_written() -> None:
    class Checks(HotCold):
        def classify(self, write: Write) -> int:
            before = self.last.get(write.lpn)
            assert write.age == (self.writes + 1 - before if before else None)
            return super().classify(write)

    compared({"name": "page", "streams": Checks}, {"name": "dftl", "streams": Checks})


def test_a_block_tells_its_class_and_age() -> None:
    seen: list[Block] = []

    class Watcher(fk.VictimPolicy):
        def score(self, block: Block) -> float:
            seen.append(block)
            return -block.valid_pages

    compared({"name": "dftl", "streams": "sepbit", "victim": Watcher})
    assert {block.class_ for block in seen} >= {0, 1, 2}
    assert max(block.opened_at for block in seen) > 0
    assert all(block.age >= 0 for block in seen)


def test_one_class_is_page_to_the_event_and_two_are_not() -> None:
    page, once, two = compared("page", {"name": "page", "streams": Once}, {"name": "page", "streams": HotCold})
    assert once[0] == "page:streams=once"
    assert once[1:] == page[1:]
    assert two[1] != page[1]


def test_the_tables_of_a_classifier_are_counted_as_ram() -> None:
    device = {"capacity": "8MiB", "spare": 0.6}
    result = fk.compare(
        "fin1", ["page", {"name": "page", "streams": HotCold}], device=device, requests=50, addresses="wrap"
    )
    structures = result.document["runs"][1]["footprint"]["structures"]
    tables = {structure["name"]: structure["ram_bytes"] for structure in structures}
    assert tables["last writes"] == tables["classifier"] == 4 * (8 << 20) // 4096
    page, own = result.runs["ram_bytes"].to_list()
    assert own - page == tables["last writes"] + tables["classifier"] + tables["openings of blocks"]


@pytest.mark.full
def test_a_classifier_survives_torture_with_a_victim_policy() -> None:
    stack = {"name": "page", "streams": HotCold, "victim": Oldest, "checkpoint": "summaries"}
    report = fk.torture(stack, minutes=0.05, seed=3, geometry=["1x1x1x12x4x512"])
    (scheme,) = report["schemes"]
    assert scheme["findings"] == []
    assert scheme["recoveries"] > 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3, "returned 3"),
        (-1, "returned -1"),
        (None, "returned None"),
        (0.5, "returned 0.5"),
    ],
)
@pytest.mark.parametrize("method", ["classify", "relocate"])
def test_a_class_that_there_is_not_is_refused(method: str, answer: object, words: str) -> None:
    class Wrong(fk.Classifier):
        def classify(self, write: Write) -> int:
            return answer if method == "classify" else 0  # type: ignore[return-value]

        def relocate(self, page: int, age: int | None, from_class: int) -> int:
            return answer  # type: ignore[return-value]

    named = rf"test_own_policies\.py, line \d+, Wrong\.{method}: .*{words}, .*must return a class from 0 to 2"
    refused({"name": "page", "streams": Wrong}, named)


def test_a_classifier_that_raises_or_has_no_classes_is_refused() -> None:
    class Raises(Once):
        def classify(self, write: Write) -> int:
            return write.lpn // (write.pages - write.pages)

    refused({"name": "page", "streams": Raises}, r"line \d+, in classify \(`return write.lpn // .*ZeroDivisionError")

    class RaisesLate(Once):
        def reclaimed(self, unit: Unit) -> None:
            raise ValueError(unit.age)

    refused({"name": "page", "streams": RaisesLate}, r"line \d+, in reclaimed \(`raise ValueError")

    class NoClasses(Once):
        classes = 0

    refused({"name": "page", "streams": NoClasses}, "it has 0 classes; must be from 2 to 17")
    refused({"name": "page", "streams": Oldest}, r"does not derive from ftlkit\.Classifier")


def test_a_policy_that_is_forgotten_has_no_name() -> None:
    assert not fk.forget(Oldest)
    compared({"name": "page", "victim": Oldest, "streams": Once})
    assert fk.forget(Oldest)
    assert fk.forget(Once)
    assert registry.registered == {}
    refused("page:victim=oldest", "oldest")
