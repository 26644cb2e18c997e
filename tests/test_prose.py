"""Pages, comments and messages are written in plain English, and spell each term in one way."""

import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

SENTENCE_WORDS = 30
PARAGRAPH_WORDS = 120
CELL_CHARACTERS = 160

_AMOUNTS = "RAM|pages|blocks|bytes|requests|operations|entries|bits|instructions|rows?|runs?|lines?|at most one|one"
_UNITS = "block|page|plane|die|channel|request|write|read|second|day|TB|core|seed|row|line|run|point|operation|stack"
PHRASES = (
    # "a" for "per"
    rf"(?:{_AMOUNTS}) an? (?:{_UNITS})",
    "(?:reads|writes|erases|programs) a (?:second|day|TB)",
    # a clause for a noun
    "what (?:is|was) (?:safe|left|known|asked|told|said|used)",
    "of which (?:most|each|the)",
    "whoever",
    "in hand that",
    "of the host's that",
    "that is written and not",
    r"what no \w+ write",
    "reasons that were measured",
    "the one to take",
    "the least that is",
    "reads are of pages",
    "up to which",
    # old, vague or colloquial
    "so many",
    "what shall|shall be",
    "sought",
    "heeds?",
    "noise is not known",
    "nothing is known of",
    "than it serves",
    "their like",
    "lie about",
    "in every way it can",
    "makes a disk",
    "unless you say so",
    "when another is done",
    "for the missing",
    "and found again",
    "as good or better",
    "there was no time for",
    "held-out part refutes",
    "for each page written",
    "tells? the length",
    "closer together or further",
    "torn apart",
    "too, as many as",
    "everything was safe",
    "used again last",
    "with all that",
    "you by the hand",
    "rarely much",
    "seen fail",
)
"""Constructions that a reader has to take apart."""

OFFENCE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)

SPELLINGS = {
    "write amplification": r"write-amplification(?!_)",
    "garbage collection": r"garbage-collection|garbage collecting",
    "wear levelling": r"wear[- ]leveling|wear-levelling|wearlevel\w*",
    "over-provisioning": r"over ?provision\w*",
    "out-of-band": r"out of band",
    "utilisation": r"utilization",
    "write buffer": r"write-buffer(?!/)|writebuffer",
    "log block": r"log-blocks?(?! (?:mapping|scheme))|logblocks?",
    "data block": r"data-blocks?|datablocks?",
    "translation page": r"translation-pages?",
    "queue depth": r"queue-depth(?! (?:curve|sweep))|queuedepth",
    "file system": r"file-system|filesystems?",
    "open loop": r"openloop",
    "copy-back": r"copyback",
    "file type": r"filetypes?",
    "block device": r"blockdevices?",
    "bad block": r"badblocks?",
    "flash translation layer": r"flash-translation[- ]layer|flash translation-layer",
}
"""A term as docs/glossary.md spells it, and the spellings that are used in quotations at most."""

OLD_COMMENTS = 195
"""Constructions that comments of sources have. The number may fall, and never rises."""

REVISED_LATER = ("docs/device-truth.md", "docs/timing.md", "docs/calibrate.md")
"""Pages whose constructions are still to be mended."""

NOT_CHECKED = ("CHANGELOG.md", "docs/sources.md")
"""What was said of a release stays as it was said; titles of papers are as the papers have them."""


class Block(NamedTuple):
    """A paragraph, an item of a list or a row of a table, on one line."""

    line: int
    text: str
    is_row: bool


def blocks(page: str) -> Iterator[Block]:
    """What a page says, without code, headings, front matter and rulers of tables."""
    is_code, start, gathered = False, 0, list[str]()
    for number, line in enumerate([*page.splitlines(), ""], 1):
        text = line.strip().lstrip("> ")
        is_fence = text.startswith(("```", "~~~"))
        is_row = text.startswith("|")
        is_item = re.match(r"(?:[-*+]|\d+\.) ", text)
        if gathered and (is_fence or is_row or is_item or not text or text.startswith("#")):
            yield Block(start, " ".join(gathered), is_row=False)
            gathered = []
        is_code ^= is_fence
        if is_code or is_fence or not text or re.match(r"#|<|!!!|---$|\[\^?[\w-]+\]:|[|:\s-]+$", text):
            continue
        if is_row:
            yield Block(number, text, is_row=True)
            continue
        start = start if gathered else number
        gathered.append(re.sub(r"^(?:[-*+]|\d+\.) ", "", text))


def plain(text: str) -> str:
    """A text as it is read: code and formulas are one word each, a link is its words."""
    text = re.sub(r"``[^`]+``|`[^`]+`", "code", text)
    text = re.sub(r"\$[^$]+\$", "formula", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("*", "")


def words(text: str) -> int:
    """The words of a text; signs between spaces are none."""
    return sum(1 for word in text.split() if re.search(r"\w", word))


def sentences(text: str) -> list[str]:
    """A paragraph cut where sentences end: a stop before a capital, a quotation or a number."""
    text = re.sub(r"\b(e\.g|i\.e|cf|pp?|vs)\. ", r"\1 ", text)
    return re.split(r"(?<=[.!?])[\"”)]*\s+(?=[\"“(]?[A-Z0-9]|code|ftlkit)", text)


def offences(page: str) -> list[str]:
    """What a page has against the rules, with its lines."""
    seen = []
    for line, text, is_row in blocks(page):
        said = plain(text)
        if is_row:
            cells = (cell.strip() for cell in re.split(r"(?<!\\)\|", said))
            seen += [f"{line}: a cell of {len(cell)} characters" for cell in cells if len(cell) > CELL_CHARACTERS]
        else:
            counted = ((words(sentence), sentence) for sentence in sentences(said))
            seen += [f"{line}: a sentence of {n} words: {each[:60]}…" for n, each in counted if n > SENTENCE_WORDS]
            if words(said) > PARAGRAPH_WORDS:
                seen.append(f"{line}: a paragraph of {words(said)} words")
        seen += [f"{line}: “{found[0].lower()}”" for found in OFFENCE.finditer(said)]
        own = re.sub(r"[\"“][^\"”]*[\"”]", "", said)
        spelled = [(term, re.findall(rf"\b(?:{others})\b", own, re.IGNORECASE)) for term, others in SPELLINGS.items()]
        seen += [f"{line}: “{other}” is spelled “{term}”" for term, found in spelled for other in found]
    return seen


def tracked(*patterns: str) -> dict[str, str]:
    """The files that the repository keeps, with their texts."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a checkout of git")
    paths = (ROOT / name for name in listed.stdout.splitlines() if name not in NOT_CHECKED)
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths if path.exists()}


def of_rust(source: str) -> tuple[str, list[str]]:
    """Headers and doc comments, and the texts in quotes of a source."""
    lines = [re.match(r"\s*//(?:[/!] ?(.*))?", line) for line in source.splitlines()]
    comments = "\n".join(line[1] or "" if line else "" for line in lines)
    code = "\n".join(text for text, line in zip(source.splitlines(), lines, strict=True) if not line)
    quoted = re.findall(r'"((?:[^"\\]|\\.|\\\n)*)"', code)
    return comments, [re.sub(r"\\\n\s*", "", text) for text in quoted]


def of_python(source: str) -> tuple[str, list[str]]:
    """Docstrings, and the other texts in quotes, without the values that they have."""
    nodes = list(ast.walk(ast.parse(source)))
    texts = {id(node.value): node.value for node in nodes if isinstance(node, ast.Expr)}
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    comments = [node.value for node in texts.values() if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    quoted = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
    ]
    quoted += [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside | set(texts)
    ]
    return "\n\n".join(map(inspect.cleandoc, comments)), quoted


def found_in_sources() -> dict[str, list[str]]:
    """Constructions that comments and messages have, with their files."""
    found: dict[str, list[str]] = {"comments": [], "messages": []}
    for name, source in tracked("*.rs", "*.py").items():
        comments, quoted = (of_rust if name.endswith(".rs") else of_python)(source)
        is_test = name.startswith("tests/") or "/tests/" in name or name.endswith("tests.rs")
        for kind, texts in {"comments": [comments], "messages": [] if is_test else quoted}.items():
            plain_texts = (re.sub(r"\s+", " ", text) for text in texts)
            found[kind] += [f"{name}: {each[0].lower()}" for text in plain_texts for each in OFFENCE.finditer(text)]
    return found


def test_pages_keep_the_rules_of_prose() -> None:
    found = {name: offences(text) for name, text in tracked("*.md").items()}
    assert len(found) > 20
    assert [
        f"{name}:{each}"
        for name, seen in found.items()
        for each in seen
        if not (name in REVISED_LATER and OFFENCE.search(each))
    ] == []


def test_messages_and_comments_have_fewer_constructions_than_before() -> None:
    found = found_in_sources()
    assert found["messages"] == []
    assert len(found["comments"]) <= OLD_COMMENTS


@pytest.mark.parametrize(
    "text",
    [
        "cuts the power at flash operations and lets flash fail in every way it can, under an oracle",
        "makes a disk of flash chips",
        "It names the one to take, and says how sure that is",
        "Nothing is folded, clipped, skipped or guessed unless you say so",
        "The verdict gives only reasons that were measured",
        "Runs at once, by default and at most one a core",
        "closed: one arrives when another is done",
        "Run every combination; run again for the missing",
        "Where results are kept, and found again",
        "What shall be good: mean or p99 response",
        "In brackets: another takes no more RAM and is as good or better",
        "Sought is the most bytes written until the device is read-only",
        "There was no time for the only stack on the held-out part: page",
        "The search had chosen X, which the held-out part refutes",
        "nothing is known of how it does when it has to collect",
        "With one seed the noise is not known",
        "left out, since the other side has not their like",
        "page programs 4.84 with a spare of 0.07 and 1.29 with a spare of 0.28 for each page written",
        "Response times of such a point tell the length of the trace, so they are not drawn",
        "A layer falls behind where more is offered than it serves",
        "Requests arrive at the workload's own times, closer together or further apart",
        "29491 pages are the least that is taken, 128 blocks a plane",
        "1565 of 1644 page reads are of pages that the workload has not written before",
        "numbered in order of first touch, so neighbours may be torn apart",
        "Whether a page that is written and not in RAM is first read from flash",
        "Free blocks of a die beyond gc_threshold up to which idle time is used to collect",
        "Whether free blocks are used in pSLC mode, too, as many as",
        "what was accepted since everything was safe last is lost",
        "Whoever lets go of a mount without stopping it does not care how it ended",
        "Belady's choice: what is used again last leaves",
        "Logical pages of which older copies lie about",
        "What is known of a die beyond that, where it can do more than the plain model",
        "Nanoseconds by cause, of which most are nothing",
        "it reads what no sequential write has filled, which drives answer without flash",
        "All eight ran whole, once, with all that a review had asked for",
        "Tutorials lead you by the hand",
        "A little of everything is rarely much of anything",
        "To advise what one has seen fail helps nobody",
        "RAM a TB",
        "what is safe",
    ],
)
def test_construction_is_seen_in_page_comment_and_message(text: str) -> None:
    assert any("“" in each for each in offences(f"{text}."))
    for comments, quoted in (
        of_rust(f'/// {text}.\nsay("{text}");'),
        of_python(f'"""{text}."""\nsay(f"{text} {{x}}")'),
    ):
        assert OFFENCE.search(comments)
        assert any(OFFENCE.search(each) for each in quoted)


def test_terms_with_one_spelling_are_in_the_glossary() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    assert [term for term in SPELLINGS if term not in glossary] == []


@pytest.mark.parametrize(
    ("page", "offence"),
    [
        pytest.param("word " * 31 + ".", "1: a sentence of 31 words", id="a long sentence"),
        pytest.param("Short.\n\n- One.\n- " + "`a b` " * 31, "4: a sentence of 31 words", id="in a list, with code"),
        pytest.param("Of one word. " * 41, "1: a paragraph of 123 words", id="a long paragraph"),
        pytest.param("> There were\n> so many\n", "1: “so many”", id="a phrase over two lines"),
        pytest.param(f"| a | {'b' * 161} |", "1: a cell of 161 characters", id="a long cell"),
        pytest.param("Its write-amplification is 2.", "1: “write-amplification” is spelled", id="a spelling"),
        pytest.param("| filesystem |", "1: “filesystem” is spelled", id="a spelling in a table"),
    ],
)
def test_an_offence_is_seen(page: str, offence: str) -> None:
    seen = offences(page)
    assert len(seen) == 1
    assert seen[0].startswith(offence)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("word " * 30 + ".", id="a sentence at the limit"),
        pytest.param(f"```sh\n{'word ' * 99}\n```\n# {'word ' * 40}", id="code and headings"),
        pytest.param(f"It is {'good ' * 20}. Is it {'bad ' * 20}?", id="two sentences"),
        pytest.param(f"See [{'x'}]({'a/' * 40}). `write-amplification` is a name.", id="addresses and code"),
        pytest.param("| a |\n|---|\n| " + "b" * 160 + " |", id="a cell at the limit"),
    ],
)
def test_good_prose_is_not_blamed(page: str) -> None:
    assert offences(page) == []
