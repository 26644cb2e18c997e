"""Write buffers and wear policies of one's own in Python, behind mappings that are built in."""

# ruff: noqa: ARG002, D102 (policies are written here as users write them)

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ftlkit as fk
from conftest import Call
from ftlkit._native import Blocks
from ftlkit.own import registry
from ftlkit.own.loading import resolved
from ftlkit.study import toml
from own_stacks import compared, forget_own, refused

PAGE = (Path(__file__).parents[1] / "docs" / "write-your-own.md").read_text(encoding="utf-8")


def shown(*names: str) -> str:
    """The classes that the page shows, as a file of one's own."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    return "\n\n".join(["import ftlkit as fk", *(next(b for b in blocks if f"class {name}(" in b) for name in names)])


class Whole(fk.EvictionPolicy):
    """The logical block that was written longest ago leaves, whole: BPLRU without compensation."""

    evicts = "whole_block"

    def __init__(self, device: fk.FlashDevice, room: int) -> None:
        super().__init__(device, room)
        self.waiting: dict[int, int] = {}

    def on_inserted(self, lpn: int, pages: int) -> None:
        block = lpn // self.device.pages_per_block
        self.waiting[block] = self.waiting.pop(block, 0) + 1

    def on_rewritten(self, lpn: int, pages: int) -> None:
        block = lpn // self.device.pages_per_block
        self.waiting[block] = self.waiting.pop(block)

    def on_left(self, lpn: int) -> None:
        block = lpn // self.device.pages_per_block
        self.waiting[block] -= 1
        if self.waiting[block] == 0:
            del self.waiting[block]

    def next_victim(self) -> int:
        return next(iter(self.waiting))


class Youngest(fk.WearPolicy):
    """The least worn free block first."""

    order = "rested"


class Levelled(fk.WearPolicy):
    """What static:threshold=2 does, but that over page maps it takes free blocks by their lives."""

    order = "rested"

    def __init__(self, device: fk.FlashDevice) -> None:
        super().__init__(device)
        self.last = [0] * device.blocks
        self.erases = self.floor = self.moves = 0
        self.due, self.moving = True, False

    def place(self, purpose: str, free: int) -> int:
        return free - 1 if self.moving or purpose in ("levelled", "reserve") else 0

    def on_erased(self, block: int, erases: int) -> None:
        self.erases += 1
        self.last[block] = self.erases
        self.due |= erases > self.floor + 2

    def next_move(self, blocks: Blocks) -> int | None:
        named = self.rests_too_young(blocks) if self.due else None
        self.due = self.moving = named is not None
        return named

    def on_moved(self, block: int, outcome: str) -> None:
        assert outcome == "done"
        self.moving = False

    def rests_too_young(self, blocks: Blocks) -> int | None:
        good = [block for block in range(len(blocks)) if blocks.use_of(block) != "bad"]
        self.floor = min(map(blocks.erases, good))
        widest, named = 3, None
        for domain in sorted({blocks.domain_of(block) for block in good}):
            here = [block for block in good if blocks.domain_of(block) == domain]
            free = [blocks.erases(block) for block in here if blocks.use_of(block) == "free"]
            rests = [block for block in here if blocks.use_of(block) not in ("free", "log") and self.rests(block)]
            least = min(rests, key=blocks.erases, default=None)
            if free and least is not None and max(free) - blocks.erases(least) >= widest:
                widest, named = max(free) - blocks.erases(least), least
        return named

    def rests(self, block: int) -> bool:
        return self.last[block] == 0 or self.erases - self.last[block] >= len(self.last)


@pytest.fixture(autouse=True)
def _parts_are_forgotten() -> Iterator[None]:
    yield
    forget_own()


def buffered(policy: type[fk.EvictionPolicy], mapping: str = "page") -> fk.study.FtlChoice:
    """A mapping behind a buffer of 16 pages whose eviction is this."""
    return {"name": mapping, "buffer": policy, policy.stack_name(): {"ram": "64KiB"}}


@pytest.mark.parametrize("mapping", ["page", "fast"])
def test_the_least_recently_used_page_first_is_lru_to_the_event(tmp_path: Path, mapping: str) -> None:
    (tmp_path / "mine.py").write_text(shown("Recent"))
    lru, own, fifo = compared(
        f"{mapping}+lru:ram=64KiB", f"{mapping}+{tmp_path / 'mine.py'}:Recent:ram=64KiB", f"{mapping}+fifo:ram=64KiB"
    )
    assert own[0] == f"{mapping}+recent:ram=64KiB"
    assert own[1:] == lru[1:]
    assert own[1] != fifo[1]


@pytest.mark.parametrize("mapping", ["page:victim=cost-benefit", "page:gc=paced", "dftl"])
@pytest.mark.parametrize("wear", ["", "+dynamic"])
def test_sepbit_of_the_page_is_the_built_in_one_to_the_event(tmp_path: Path, mapping: str, wear: str) -> None:
    (tmp_path / "mine.py").write_text(shown("SepBit"))
    assert len(shown("SepBit").strip().splitlines()) <= 30
    words = [f"{tmp_path / 'mine.py'}:SepBit", "sepbit", "separate"]
    own, built_in, apart = compared(*(f"{mapping}:streams={word}{wear}" for word in words))
    assert own[1:] == built_in[1:]
    assert own[1] != apart[1]


def test_whole_blocks_leave_as_from_bplru() -> None:
    bplru, own, lru = compared(
        "block+bplru:ram=64KiB:compensation=false", buffered(Whole, "block"), "block+lru:ram=64KiB"
    )
    assert own[0] == "block+whole"
    assert own[1:] == bplru[1:]
    assert own[1] != lru[1]


@pytest.mark.parametrize(("mapping", "distinct"), [("page", 2), ("dftl", 3), ("fast", 3)])
def test_wear_policies_in_python_are_the_built_in_ones_to_the_event(mapping: str, distinct: int) -> None:
    none, dynamic, static, youngest, own = compared(
        mapping,
        f"{mapping}+dynamic",
        f"{mapping}+static:threshold=2",
        {"name": mapping, "wear_policy": Youngest},
        {"name": mapping, "wear_policy": Levelled},
    )
    assert (youngest[0], own[0]) == (f"{mapping}+youngest", f"{mapping}+levelled")
    assert youngest[1:] == dynamic[1:]
    assert own[1:] == static[1:] or mapping in ("page", "dftl")
    assert len({none[1], dynamic[1], own[1]}) == distinct


def test_parts_survive_torture_with_cuts_and_failing_flash(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(shown("Recent", "Even"))
    file = tmp_path / "mine.py"
    for mapping in ("page", "fast"):
        report = fk.torture(f"{mapping}+{file}:Even+{file}:Recent", minutes=0.05, seed=3)
        (scheme,) = report["schemes"]
        assert scheme["findings"] == []
        assert scheme["recoveries"] > 0
        assert scheme["faults"]["failed_programs"] > 0


def test_the_command_line_names_both_by_file(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(shown("Recent", "Even"))
    call(
        "compare", "fin1", "--ftl", "page,page+mine.py:Even+mine.py:Recent:ram=64KiB", "--requests", "500",
        "--capacity", "8MiB", "--set", "device.spare=0.6", "--addresses", "wrap", "--json", "out.json",
    )  # fmt: skip
    results = json.loads((tmp_path / "out.json").read_text())
    _, own = results["runs"]
    printed = toml.written(results["study"])
    assert f'name = "page+{tmp_path}/mine.py:Even+{tmp_path}/mine.py:Recent' in printed, printed
    (tmp_path / "printed.toml").write_text(printed)
    call("run", "printed.toml", "--json", "again.json")
    assert json.loads((tmp_path / "again.json").read_text())["runs"][1]["event_hash"] == own["event_hash"]
    assert own["stack"] == "page+even+recent:ram=64KiB"
    tables = {structure["name"] for structure in own["footprint"]["structures"]}
    assert {"eviction policy", "wear policy", "write buffer"} <= tables


def test_a_study_finds_classes_beside_itself_and_tables_take_the_class(call: Call, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "own.py").write_text((Path(__file__).parents[1] / "examples" / "own_ftl.py").read_text())
    study: dict[str, object] = {
        "workload": {"preset": "fin1", "requests": 500, "addresses": "wrap"},
        "device": {"capacity": "64MiB"},
        "ftl": [{"name": "own.py:Simple"}],
    }
    (tmp_path / "elsewhere" / "study.toml").write_text(toml.written(study))
    call("run", "elsewhere/study.toml", "--json", "out.json")
    (by_file,) = json.loads((tmp_path / "out.json").read_text())["runs"]
    call("sweep", "elsewhere/study.toml")
    (by_class,) = fk.run_study(study | {"ftl": [{"name": registry.registered["", "simple"]}]}).document["runs"]
    assert by_class["event_hash"] == by_file["event_hash"]


class Any(fk.EvictionPolicy):
    """Any page that waits."""

    def __init__(self, device: fk.FlashDevice, room: int) -> None:
        super().__init__(device, room)
        self.waiting: set[int] = set()

    def on_inserted(self, lpn: int, pages: int) -> None:
        self.waiting.add(lpn)

    def on_left(self, lpn: int) -> None:
        self.waiting.remove(lpn)

    def next_victim(self) -> int:
        return min(self.waiting)


@pytest.mark.parametrize("answer", [-1, None, "first", 1 << 30, 0.5])
def test_a_victim_that_does_not_wait_is_refused_with_its_line(answer: object) -> None:
    class Wrong(Any):
        def next_victim(self) -> int:
            return answer  # type: ignore[return-value]

    refused(
        buffered(Wrong),
        r"test_own_parts\.py, line \d+, Wrong\.next_victim: it returned .*, and must return the LPN of a page",
    )


def test_a_buffer_that_raises_or_hangs_is_ended_with_its_line() -> None:
    class RaisesOnRead(Any):
        def on_read(self, lpn: int) -> None:
            raise KeyError(lpn)

    refused(buffered(RaisesOnRead), r"test_own_parts\.py, line \d+, in on_read \(`raise KeyError.*KeyError")

    class Hangs(Any):
        call_seconds = 0.3

        def next_victim(self) -> int:
            while True:
                time.sleep(0.01)

    refused(buffered(Hangs), r"in next_victim .*longer than")

    class Missing(fk.EvictionPolicy):
        pass

    refused(buffered(Missing), r"Missing \(test_own_parts\.py\) has no method next_victim\(self\)")


@pytest.mark.parametrize("answer", [-1, 10**6, None, "last"])
def test_a_free_block_that_there_is_not_is_refused_with_its_line(answer: object) -> None:
    class Wrong(fk.WearPolicy):
        def place(self, purpose: str, free: int) -> int:
            return answer  # type: ignore[return-value]

    refused(
        {"name": "page", "wear_policy": Wrong},
        r"test_own_parts\.py, line \d+, Wrong\.place: it returned .*, and must return the place of one of \d+ free",
    )


@pytest.mark.parametrize("answer", [-1, 10**6, "worn"])
def test_a_block_to_be_emptied_that_there_is_not_is_refused_with_its_line(answer: object) -> None:
    class Wrong(fk.WearPolicy):
        def next_move(self, blocks: Blocks) -> int | None:
            return answer  # type: ignore[return-value]

    refused(
        {"name": "page", "wear_policy": Wrong},
        r"line \d+, Wrong\.next_move: it returned .*, and must return .* or None",
    )


def test_a_wear_policy_that_raises_or_hangs_is_ended_with_its_line() -> None:
    class Raises(fk.WearPolicy):
        def on_erased(self, block: int, erases: int) -> None:
            raise ValueError(erases)

    refused({"name": "page", "wear_policy": Raises}, r"test_own_parts\.py, line \d+, in on_erased \(`raise ValueError")

    class OffTheDevice(fk.WearPolicy):
        def next_move(self, blocks: Blocks) -> int | None:
            return blocks.erases(len(blocks))

    refused({"name": "page", "wear_policy": OffTheDevice}, r"in next_move .*IndexError: block \d+ is not on the device")

    class Hangs(fk.WearPolicy):
        call_seconds = 0.3

        def place(self, purpose: str, free: int) -> int:
            while True:
                time.sleep(0.01)

    refused({"name": "page", "wear_policy": Hangs}, r"in place .*longer than")


def test_what_cannot_be_made_is_the_users_and_named_with_its_line() -> None:
    class TooSmall(fk.WearPolicy):
        def __init__(self, device: fk.FlashDevice) -> None:
            raise ValueError("give the device more blocks")

    refused(
        {"name": "page", "wear_policy": TooSmall}, r"too-small: .*line \d+, in __init__ .*give the device more blocks"
    )

    class Sorted(fk.WearPolicy):
        order = "by_age"

    refused({"name": "page", "wear_policy": Sorted}, r"order = \"by_age\": must be one of first_freed, least_worn")

    class Pages(Any):
        evicts = "pages"

    refused(buffered(Pages), r"evicts = \"pages\": must be one of page, block, whole_block")


def test_blocks_are_known_only_while_a_move_is_asked_for() -> None:
    kept: list[Blocks] = []

    class Keeps(fk.WearPolicy):
        def next_move(self, blocks: Blocks) -> int | None:
            kept.append(blocks)
            return None

    compared({"name": "page", "wear_policy": Keeps})
    with pytest.raises(RuntimeError, match="only while next_move runs"):
        kept[0].erases(0)


def test_what_is_no_part_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(shown("Recent") + "\n\nclass Other:\n    pass\n")
    file = tmp_path / "mine.py"
    with pytest.raises(fk.UserError, match=r"Other does not derive from ftlkit\.WearPolicy or ftlkit\.EvictionPolicy"):
        resolved(f"page+{file}:Other")
    refused({"name": "page", "wear_policy": Any}, r"wear_policy: Any does not derive from ftlkit\.WearPolicy")
    refused(f"page+{file}:Recent+dynamic", "dynamic is a wear policy, which comes before a buffer")

    class Lru(Any):
        pass

    refused({"name": "page", "buffer": Lru}, "lru: there is a buffer of this name already")


def test_a_part_that_is_forgotten_has_no_name() -> None:
    assert not fk.forget(Youngest)
    compared({"name": "page", "wear_policy": Youngest, "buffer": Any})
    assert {part["name"] for part in fk.parts() if part["family"] == "python"} == {"youngest", "any"}
    swept = fk.sweep("fin1", "page+youngest", requests=300, addresses="dense")
    assert [row["state"] for row in swept.rows] == ["done"], "its module is known to workers, too"
    assert fk.forget(Youngest)
    assert fk.forget(Any)
    assert registry.registered == {}
    refused("page+youngest", "youngest")
