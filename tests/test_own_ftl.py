"""FTLs written in Python: run like built-in ones, tortured, and refused where they are wrong."""

# ruff: noqa: ARG002, FBT003 (FTLs are written here as users write them)

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import ftlkit as fk
from advice import sought
from conftest import Call
from ftlkit.own import registry
from ftlkit.own.ftl import Ftl
from ftlkit.own.loading import load
from ftlkit.own.registry import registered_name
from own_ftls import EXAMPLE, SMALL, LikePage, found

pytestmark = pytest.mark.usefixtures("own_are_forgotten")


@pytest.fixture
def simple() -> type[Ftl]:
    """The FTL of the example."""
    scheme: type[Ftl] = load(str(EXAMPLE), "Simple")
    return scheme


def test_advice_says_that_reads_of_an_own_ftl_were_not_checked(tmp_path: Path) -> None:
    options: Any = {"capacity": "64MiB", "requests": 600, "precondition": "none"}
    for ftl, is_said in ((f"{EXAMPLE}:Simple", True), ("page", False)):
        advice = sought(tmp_path, "randwrite", ftl=ftl, trials=1, seeds=1, device="slc-small", options=options)
        assert any("were not checked" in caution for caution in advice.cautions) == is_said


def test_a_page_map_in_python_does_what_the_built_in_one_does() -> None:
    results = fk.compare(
        "fin1",
        ["page:victim=fifo", LikePage],
        requests=4_000,
        addresses="wrap",
        capacity="16MiB",
        settings=["device.spare=0.2", "device.channels=1", "device.dies_per_channel=1"],
    )
    runs = results.runs
    assert runs["event_hash"][0] == runs["event_hash"][1]
    assert runs["response_mean_ns"][0] == runs["response_mean_ns"][1]
    assert runs["write_amplification"][0] > 2.0


def test_the_example_runs_beside_built_in_schemes_and_every_read_is_right() -> None:
    results = fk.compare(
        "hm_0",
        f"page,{EXAMPLE}:Simple",
        requests=3_000,
        addresses="wrap",
        capacity="16MiB",
        precondition="fill",
        loop="closed",
        verify=True,
        settings=["device.spare=0.3"],
    )
    runs = results.runs
    assert runs["label"].to_list() == ["page", "simple"]
    page, simple = runs["write_amplification"].to_list()
    assert 1.0 < simple < 2 * page


@pytest.mark.full
def test_the_example_survives_torture_with_cuts_and_failing_flash(simple: type[Ftl]) -> None:
    report = fk.torture([simple], minutes=0.2, seed=1, geometry=[SMALL, "2x1x1x8x5x512"], threads=1)
    scheme = report["schemes"][0]
    assert scheme["findings"] == []
    assert scheme["cut_points"] > 0
    assert scheme["cut_points"] + scheme["cut_points_left_out"] > 100
    assert scheme["faults"]["failed_programs"] > 0


PLANTED = {
    "erases-before-it-copies": """
class Wrong(Simple):
    def collect(self, flash):
        victim = min((b for b in self.valid if b not in (self.open, *self.free)), key=self.valid.get)
        with flash.cause("collection"):
            pages = [(flash.read(ppn), ppn) for ppn in self.pages_of(victim) if ppn in self.needed]
            flash.erase(victim)
            self.free.append(victim)
            for page, ppn in pages:
                to = self.next_page(flash, reserve=1)
                flash.program(to, page)
                if ppn in self.trims:
                    self.trims.add(to)
                self.point(list(self.needed[ppn]), to)
""",
    "loses-the-tag-of-a-trim": """
class Wrong(Simple):
    gone = frozenset()

    def read(self, flash, lpn):
        return None if lpn in self.gone else super().read(flash, lpn)

    def write(self, flash, lpn, page):
        super().write(flash, lpn, page)
        self.gone -= {lpn}

    def trim(self, flash, lpn, pages):
        super().trim(flash, lpn, 1)
        self.gone |= set(range(lpn + 1, lpn + pages))
""",
    "believes-an-old-map-after-a-cut": """
class Wrong(Simple):
    def recover(self, flash):
        for block in self.valid:
            for ppn in self.pages_of(block):
                tag = flash.scan(ppn)
                if tag and tag.role in ("data", "collected") and tag.lpn not in self.where:
                    self.point([tag.lpn], ppn)
        self.free = [block for block, pages in self.valid.items() if pages == 0]
        for block in self.free:
            flash.erase(block)
""",
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_told_with_page_copies_and_rule(
    bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    (tmp_path / "mine.py").write_text("from own_ftl import Simple\n\n" + PLANTED[bug])
    report = fk.torture(f"{tmp_path / 'mine.py'}:Wrong", minutes=0.1, seed=3, geometry=[SMALL], threads=1)
    finding = report["schemes"][0]["findings"][0]
    rule = r"wrong breaks promise (3 \(power cuts|4 \(failing flash) .*\).* at request \d+"
    assert re.search(rule, finding["message"]), finding["message"]
    told = "\n".join(finding["explanation"])
    assert re.search(r"the power was cut (at the|after)|(program|erase) of .* could not be", told), told
    copies = re.search(r"(?:no page|one page|\d+ pages) on flash names? LPN (\d+)", told)
    assert copies is not None, told
    assert f"LPN {copies[1]} should" in finding["message"] or f"(w{copies[1]}+" in finding["message"]
    assert f"what was done with LPN {copies[1]}, in order:" in told


def test_an_exception_is_told_with_the_line_of_its_source(simple: type[Ftl]) -> None:
    class Forgets(simple):  # type: ignore[misc, valid-type]
        def read(self, flash: fk.Flash, lpn: int) -> fk.Page | None:
            return flash.read(self.where[lpn])

    message = found(Forgets)
    assert "KeyError" in message
    assert "test_own_ftl.py" in message
    assert "flash.read(self.where[lpn])" in message


def test_a_broken_rule_of_flash_is_told(simple: type[Ftl]) -> None:
    class Overwrites(simple):  # type: ignore[misc, valid-type]
        def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
            if lpn in self.where:
                flash.program(self.where[lpn], page)
            else:
                super().write(flash, lpn, page)

    message = found(Overwrites)
    assert "a page is programmed only when erased" in message


def test_what_is_left_out_is_said_where_it_is_missed(simple: type[Ftl]) -> None:
    class NoRecovery(simple):  # type: ignore[misc, valid-type]
        recover = fk.Ftl.recover

    assert "NoRecovery has no method recover" in found(NoRecovery)


def test_a_class_that_cannot_write_is_refused_at_once() -> None:
    class NoWrite(fk.Ftl):
        def read(self, flash: fk.Flash, lpn: int) -> None:
            return None

    with pytest.raises(
        fk.UserError, match=r"NoWrite \(test_own_ftl\.py\) has no method write\(self, flash, lpn, page\)"
    ):
        fk.compare("fin1", [NoWrite], requests=20)


def test_a_class_without_a_story_borrows_none() -> None:
    class Silent(fk.Ftl):
        def read(self, flash: fk.Flash, lpn: int) -> None:
            return None

        def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
            raise ValueError("full")

    registered_name(Silent)
    [silent] = [scheme for scheme in fk.schemes() if scheme["name"] == "silent"]
    assert "Derive from it" not in json.dumps(silent)
    assert fk.forget(Silent)


def test_nonsense_is_refused_and_named(simple: type[Ftl]) -> None:
    class ReturnsNumber(simple):  # type: ignore[misc, valid-type]
        def read(self, flash: fk.Flash, lpn: int) -> int:
            return 5

    class KeepsPages(simple):  # type: ignore[misc, valid-type]
        kept: fk.Page | None = None

        def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
            super().write(flash, lpn, self.kept or page)
            self.kept = page

    class OffTheDevice(simple):  # type: ignore[misc, valid-type]
        def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
            flash.program(self.device.pages, page)

    assert "Page" in found(ReturnsNumber)
    assert "only in the call in which it was read" in found(KeepsPages)
    assert "is not on the device" in found(OffTheDevice)


@pytest.mark.parametrize("answer", ["much", {"map": -1}, {"map": "4096"}, {4096: 1}, None])
def test_what_is_no_footprint_is_refused_with_its_line(simple: type[Ftl], answer: object) -> None:
    class NoFootprint(simple):  # type: ignore[misc, valid-type]
        def footprint(self) -> object:
            return answer

    with pytest.raises(fk.UserError, match=r"test_own_ftl\.py, line \d+, in footprint: it returned"):
        fk.compare("fin1", [NoFootprint], requests=100, addresses="wrap", capacity="16MiB")


def test_a_loop_without_end_is_ended_and_told(simple: type[Ftl]) -> None:
    class Hangs(simple):  # type: ignore[misc, valid-type]
        call_seconds = 0.2

        def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
            while True:
                pass

    with pytest.raises(fk.UserError, match=r"in write .*CallTooLong"):
        fk.compare("fin1", [Hangs], requests=20, addresses="wrap", capacity="16MiB", settings=["device.spare=0.3"])


def test_flash_is_used_only_during_a_call(simple: type[Ftl]) -> None:
    kept: list[fk.Flash] = []

    class Keeps(simple):  # type: ignore[misc, valid-type]
        def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
            kept.append(flash)
            super().write(flash, lpn, page)

    fk.compare("fin1", [Keeps], requests=20, addresses="wrap", capacity="16MiB", settings=["device.spare=0.3"])
    with pytest.raises(RuntimeError, match="only while read, write, trim"):
        kept[0].read(0)


def test_a_class_replaces_one_of_its_name_and_never_a_built_in_one(simple: type[Ftl]) -> None:
    class Page(simple):  # type: ignore[misc, valid-type]
        pass

    assert registered_name(simple) == registered_name(simple) == "simple"
    with pytest.raises(fk.UserError, match="page: there is a mapping of this name already"):
        registered_name(Page)


def test_a_class_that_is_forgotten_is_in_no_list(simple: type[Ftl]) -> None:
    assert not fk.forget(simple)
    registered_name(simple)
    assert "simple" in [scheme["name"] for scheme in fk.schemes()]
    assert fk.forget(simple)
    assert "simple" not in [scheme["name"] for scheme in fk.schemes()]
    with pytest.raises(fk.UserError, match="simple"):
        fk.compare("fin1", "simple", requests=20)


def test_parameters_are_set_by_the_stack_and_checked() -> None:
    seen: list[tuple[int, bool, str]] = []

    class Tunable(fk.Ftl):
        """Takes three parameters."""

        parameters = {  # noqa: RUF012 (as a user writes it)
            "window": fk.Parameter(8, "Blocks to look at."),
            "eager": fk.Parameter(False, "Whether it collects early."),
            "victim": fk.Parameter("greedy", "Which block goes.", choices=("greedy", "fifo")),
        }

        def __init__(self, device: fk.FlashDevice, *, window: int, eager: bool, victim: str) -> None:
            super().__init__(device)
            seen.append((window, eager, victim))

        def read(self, flash: fk.Flash, lpn: int) -> None:
            return None

        def write(self, flash: fk.Flash, lpn: int, page: fk.Page) -> None:
            raise ValueError("full")

    registered_name(Tunable)
    with pytest.raises(fk.UserError, match="full"):
        fk.compare("fin1", "tunable:window=3:victim=fifo", requests=20, addresses="wrap", capacity="16MiB")
    assert set(seen) == {(3, False, "fifo")}
    with pytest.raises(fk.UserError, match="choose from greedy, fifo"):
        fk.compare("fin1", "tunable:victim=lru", requests=20)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("", "Simple", "has no class that derives from ftlkit.Ftl"),
        ("class Simple: pass", "Simple", "does not derive from ftlkit.Ftl"),
        ("import ftlkit as fk\nclass Mine(fk.Ftl): pass", "Simple", "it has Mine"),
        ("def f(:", "Simple", "line 1: "),
        ("\n1 / 0", "Simple", "line 2: ZeroDivisionError"),
        ("\nimport nowhere", "Simple", r"mine\.py, line 2: ModuleNotFoundError: No module named 'nowhere'"),
    ],
)
def test_a_file_that_has_no_such_class_is_refused(tmp_path: Path, text: str, name: str, words: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(fk.UserError, match=words):
        fk.compare("fin1", f"{path}:{name}", requests=20)


@pytest.mark.parametrize(
    ("stack", "base", "words"),
    [
        ("{file}", "Ftl", r"name the class: .*mine\.py:Mine\."),
        ("{file}:window=3", "Ftl", r"name the class: .*mine\.py:Mine\."),
        ("page:victim={file}", "VictimPolicy", r"name the class: .*mine\.py:Mine\."),
        ("page+{file}:ram=1MiB", "EvictionPolicy", r"name the class: .*mine\.py:Mine\."),
        ("{file}", "VictimPolicy", r"has no class that derives from ftlkit\.Ftl\."),
    ],
)
def test_a_file_without_a_class_is_told_its_classes(tmp_path: Path, stack: str, base: str, words: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"import ftlkit as fk\nclass Mine(fk.{base}): pass\n", encoding="utf-8")
    with pytest.raises(fk.UserError, match=words):
        fk.compare("fin1", stack.format(file=path), requests=20)


OWN = "import sys\n\nimport ftlkit as fk\n\n\nclass Mine(fk.Ftl):\n"
METHODS = """
    def __init__(self, device):
        super().__init__(device)
        {init}

    def read(self, flash, lpn):
        {read}

    def write(self, flash, lpn, page):
        {write}
"""


@pytest.mark.parametrize(
    ("ends", "raised"),
    [
        ("sys.exit()", "SystemExit"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
@pytest.mark.parametrize("place", ["top", "name", "init", "read", "write"])
def test_code_that_ends_the_program_is_an_error_with_its_line(
    tmp_path: Path, place: str, ends: str, raised: str
) -> None:
    """Whatever is raised, and wherever: never an end without a word."""
    methods = METHODS.format(**{name: ends if name == place else "pass" for name in ("init", "read", "write")})
    name = f"\n    @classmethod\n    def stack_name(cls):\n        {ends}\n" if place == "name" else ""
    file = tmp_path / "mine.py"
    file.write_text(OWN + methods + name + (f"\n\n{ends}\n" if place == "top" else ""))
    line = next(number for number, text in enumerate(file.read_text().splitlines(), 1) if ends in text)
    with pytest.raises((fk.UserError, fk.FtlBug)) as refused:
        fk.compare("randrw", f"{file}:Mine", requests=20, capacity="64MiB", precondition="none")
    said = str(refused.value)
    assert f"mine.py, line {line}" in said
    assert raised in said


def test_a_file_or_module_that_is_not_there_is_refused() -> None:
    with pytest.raises(fk.UserError, match=r"nothing\.py: cannot be read"):
        fk.compare("fin1", "nothing.py:Simple", requests=20)
    with pytest.raises(fk.UserError, match="there is no module nothing_here"):
        fk.compare("fin1", "nothing_here:Simple", requests=20)


def test_a_wear_policy_over_it_is_refused(simple: type[Ftl]) -> None:
    with pytest.raises(fk.UserError, match="leave the wear policy out"):
        fk.compare("fin1", f"{registered_name(simple)}+bet", requests=20)


def test_a_loaded_file_stays_out_of_the_way_of_modules() -> None:
    load(str(EXAMPLE), "Simple")
    assert "own_ftl" not in sys.modules


FORGETFUL = '''
import ftlkit as fk
from own_ftl import Simple


class Forgetful(Simple):
    """Erases a victim before it has copied what the victim holds."""

    def collect(self, flash):
        victim = min((b for b in self.valid if b not in (self.open, *self.free)), key=self.valid.get)
        with flash.background(), flash.cause("collection"):
            kept = [(ppn, flash.read(ppn)) for ppn in self.pages_of(victim) if ppn in self.needed]
            flash.erase(victim)
            for ppn, page in kept:
                to = self.next_page(flash, reserve=1)
                flash.program(to, page)
                if ppn in self.trims:
                    self.trims.add(to)
                self.point(list(self.needed[ppn]), to)
        self.free.append(victim)
'''


def test_a_finding_names_the_cut_and_the_copies_and_replays_elsewhere(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    (tmp_path / "mine.py").write_text(FORGETFUL)
    ftl = ["--ftl", "mine.py:Forgetful"]
    done = call("torture", *ftl, "--geometry", SMALL, "--minutes", "0.5", "--seed", "3", "--threads", "1", exits=1)
    assert "breaks promise 3" in done.stdout
    cut = next(line for line in done.stdout.splitlines() if "the power was cut at the" in line)
    assert re.search(r"(program|erase) of .*PBN \d+.* cause ", cut)
    lpn = done.stdout.partition("LPN ")[2].split()[0]
    assert re.search(rf"(no page|one page|\d+ pages) on flash names? LPN {lpn}", done.stdout)
    pasted = next(line for line in done.stdout.splitlines() if line.startswith("ftlkit torture --ftl"))
    assert fk.forget(registry.registered["", "forgetful"])
    again = call(*shlex.split(pasted)[1:], "--explain", exits=1)
    assert f"What was done with LPN {lpn}, in order:" in again.stdout
    call("torture", "--replay", pasted.partition("--replay '")[2].rstrip("'"), exits=1)


def test_a_study_names_a_class_by_its_file_or_has_it_itself() -> None:
    study = {"workload": {"preset": "fin1", "requests": 200, "addresses": "wrap"}, "device": {"capacity": "16MiB"}}
    layers = [{"name": f"{EXAMPLE}:Simple"}, load(str(EXAMPLE), "Simple")]
    by_file, by_class = (fk.run_study(study | {"ftl": [layer]}).document["runs"][0] for layer in layers)
    assert by_file["event_hash"] == by_class["event_hash"]
