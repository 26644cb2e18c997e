"""Types of the compiled module, which a test compares with the module and its uses."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import final, overload

__version__: str

class FtlkitError(Exception):
    """Base of the errors below."""

class UserError(FtlkitError):
    """The input or the request is at fault; the message says what to change."""

class FtlBug(FtlkitError):
    """A translation layer broke a rule of the flash or returned wrong data; says where."""

class FlashError(FtlkitError):
    """A flash operation failed or was refused."""

    done: int
    """How many pages of a batch were done before; 0 for an operation on one page."""

class PowerCut(FlashError):
    """The power is gone: nothing can be done any more."""

class ProgramFailed(FlashError):
    """A page could not be programmed; its block is failing."""

class EraseFailed(FlashError):
    """A block could not be erased; it is failing."""

class Uncorrectable(FlashError):
    """A page could not be read: its content is lost."""

class RuleBroken(FlashError):
    """The operation breaks a rule of NAND flash."""

@final
class FlashDevice:
    """The shape of a device, and what the host sees of it."""

    @property
    def blocks(self) -> int:
        """Blocks, bad ones included."""

    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""

    @property
    def pages(self) -> int:
        """Physical pages."""

    @property
    def page_size(self) -> int:
        """Bytes of a page."""

    @property
    def dies(self) -> int:
        """Dies."""

    @property
    def channels(self) -> int:
        """Channels."""

    @property
    def logical_pages(self) -> int:
        """Logical pages that the host sees."""

    @property
    def good_blocks(self) -> list[int]:
        """The blocks that are not bad, upwards."""

    @property
    def in_use(self) -> bool:
        """Whether it holds data already, which `recover` will find: refuse no such device."""

    @property
    def seed(self) -> int:
        """A seed for whatever the scheme draws: the same for the same run."""

    def block_of(self, ppn: int) -> int:
        """The block of a physical page."""

    def page(self, block: int, offset: int) -> int:
        """The physical page at a place of a block."""

    def die_of(self, block: int) -> int:
        """The die of a block."""

    def channel_of(self, die: int) -> int:
        """The channel of a die."""

@final
class Page:
    """A page that was read, or that the host writes; it can be programmed while the call lasts."""

    @property
    def lpn(self) -> int:
        """The logical page in its tag, or the number of a page of the scheme's own."""

    @property
    def bytes(self) -> bytes | None:
        """What `program_bytes` wrote, if this is such a page."""

@final
class Pages:
    """Pages that were read or that the host writes, in order; None where nothing was to be read."""

    @property
    def lpns(self) -> list[int | None]:
        """The logical page of each."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Page | None]: ...
    @overload
    def __getitem__(self, index: int, /) -> Page | None: ...
    @overload
    def __getitem__(self, index: slice, /) -> Pages: ...

@final
class Tag:
    """What a page's tag says."""

    @property
    def lpn(self) -> int:
        """The logical page, or the number of a page of the scheme's own."""

    @property
    def pages(self) -> int:
        """Logical pages that it speaks of: 1, but for a trim."""

    @property
    def role(self) -> str:
        """`data`, `collected`, `log`, `translation`, `trimmed`, `lost`, `other` or `unreadable`."""

    @property
    def seq(self) -> int:
        """The place of the program among all."""

    @property
    def version(self) -> int:
        """The `seq` under which the content was first written: copies keep it."""

@final
class Scope:
    """A `with` block of operations that have something in common."""

    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...

@final
class Flash:
    """Flash, while a call of the scheme lasts."""

    @property
    def device(self) -> FlashDevice:
        """Its shape."""

    def read(self, ppn: int) -> Page:
        """Read a page. Raises `Uncorrectable` if its content is lost."""

    def program(self, ppn: int, page: Page, *, role: str | None = None) -> None:
        """Program a page that was read or that the host writes.

        It keeps its logical page, and a copy its version and, unless another is given, its role.
        Raises `ProgramFailed` if the block fails.
        """

    def copy(self, ppn: int, to: int) -> None:
        """Copy a page as it is.

        One that cannot be read becomes a lost page: reading it goes on being an error.
        """

    def read_many(self, ppns: Iterable[int | None]) -> Pages:
        """Read pages, which start at the same moment.

        None, and in arrays a number below 0, stand for a page that was never written, and are None
        in the answer. This and the two below end at the first page for which `read`, `program` or
        `copy` would raise: they raise the same, and the exception's `done` says how many pages were
        done.
        """

    def program_many(self, ppns: Iterable[int], pages: Iterable[Page | None], *, role: str | None = None) -> None:
        """Program pages, which start at the same moment."""

    def copy_many(self, ppns: Iterable[int], to: Iterable[int]) -> None:
        """Copy pages one after the other, each to the page at its place in `to`."""

    def program_bytes(self, ppn: int, number: int, content: bytes, *, role: str = "translation") -> None:
        """Program a page of the scheme's own, such as a part of its map: at most a page of bytes."""

    def program_trim(self, ppn: int, lpn: int, pages: int) -> None:
        """Program a page which says that logical pages were trimmed, so that recovery knows."""

    def erase(self, block: int) -> None:
        """Erase a block. Raises `EraseFailed` if it fails."""

    def scan(self, ppn: int) -> Tag | None:
        """Read the tag of a page, whatever state it is in: None if it is erased."""

    def retire(self, block: int) -> None:
        """Mark a block bad for good: what it holds can still be read."""

    def next_page(self, block: int) -> int:
        """The lowest page offset of a block that can be programmed next."""

    def erase_count(self, block: int) -> int:
        """How often a block has been erased."""

    def is_bad(self, block: int) -> bool:
        """Whether a block is bad."""

    def estimate_read_ns(self, ppn: int) -> int:
        """How long reading a page would take now, waiting included, in nanoseconds."""

    def cause(self, name: str) -> Scope:
        """Charge the operations of a `with` block to a cause, such as `collection`."""

    def background(self) -> Scope:
        """Make nobody wait for what is done in a `with` block; the flash is busy with it."""

@final
class Block:
    """A closed block that garbage collection may take."""

    number: int
    """Its number."""
    valid_pages: int
    """Pages that collecting it has to move."""
    pages: int
    """Pages of content that a block has."""
    erases: int
    """How often it was erased."""
    class_: int | None
    """The class of its pages; without a classifier, 1 for collected ones. None for the map's."""
    opened_at: int
    """When it was opened, in pages that the host had written."""
    age: int
    """Pages that the host has written since."""
    since_filled: int
    """Changes of any block since it was filled: blocks filled and pages that became invalid."""
    since_changed: int
    """The same since it last lost a valid page, or was filled."""

def register_victims(cls: type, name: str, origin: str) -> None:
    """Register a class as a victim policy, in place of one of Python's of the same name.

    `origin` names its method, with file and line.
    """

def forget_victims(name: str) -> bool:
    """Take a victim policy out of the list again; tells whether it was there."""

@final
class Write:
    """A page that the host writes."""

    lpn: int
    """The logical page."""
    pages: int
    """Pages of its request."""
    stream: int
    """The stream that the host hints at; 0 for none."""
    age: int | None
    """Pages that the host has written since it last wrote this one; None if it never has."""

@final
class Unit:
    """A block that is collected."""

    class_: int
    """Its class."""
    opened_at: int
    """When it was opened, in pages that the host had written."""
    age: int
    """Pages that the host has written since."""
    valid_pages: int
    """Pages that are still valid."""
    pages: int
    """Pages of content that a block has."""

def register_classifier(cls: type, name: str, origins: dict[str, str]) -> None:
    """Register a class as a classifier, in place of one of Python's of the same name.

    `origins` names the methods that the class has of its own, each with file and line.
    """

def forget_classifier(name: str) -> bool:
    """Take a classifier out of the list again; tells whether it was there."""

@final
class Blocks:
    """What is known of all blocks, while a wear policy's next_move runs."""

    def __len__(self) -> int: ...
    def use_of(self, block: int) -> str:
        """What a block is used for.

        `free`, `bad`, or what it was taken for: `data`, `collected`, `translation`, `log`, `merge`,
        `relocated`, `levelled`, `reserve`.
        """

    def erases(self, block: int) -> int:
        """How often a block was erased."""

    def domain_of(self, block: int) -> int:
        """The domain in which a block's content stays when it is moved: its die under a page map."""

def register_eviction(cls: type, name: str, story: str, source: str, origins: dict[str, str]) -> None:
    """Register a class as a write buffer, in place of one of Python's of the same name.

    `origins` names the methods that the class has of its own, each with file and line.
    """

def register_wear(cls: type, name: str, story: str, source: str, origins: dict[str, str]) -> None:
    """Register a class as a wear policy, in place of one of Python's of the same name.

    `origins` names the methods that the class has of its own, each with file and line.
    """

def overdue_calls() -> list[int]:
    """The threads whose calls of an FTL last longer than they may; each call is named once."""

def forget_part(name: str) -> bool:
    """Take a translation layer, wear policy or write buffer out again; tells whether it was there."""

def register_ftl(cls: type, name: str, story: str, source: str, parameters: str) -> None:
    """Register a class as a translation layer, in place of one of Python's of the same name.

    `parameters` (JSON) lists name, default, choices and meaning of each.
    """

@final
class Control:
    """Shared by the working and the watching thread: cancels the work, shows its progress."""

    def __new__(cls) -> Control: ...
    def cancel(self) -> None:
        """Ask the work to stop at the next request."""

    def progress(self) -> list[tuple[str, int, int]]:
        """(label, done, total) of every run; total is 0 while unknown."""

    def share_memory(self, studies: int) -> None:
        """Say that so many studies run at once in processes: together they keep to the limit."""

    def unfinished(self) -> str | None:
        """What a campaign had so far when it was last asked; None for other work."""

def run_study(
    study_json: str, control: Control, threads: int | None = None, requests_out: str | Path | None = None
) -> str:
    """Run a study (JSON) and return results (JSON). `threads`: runs at once; by default one a core.

    `requests_out` is a Parquet file that gets a row for every request.
    """

def results_schema() -> str:
    """The JSON schema of results, from which `ftlkit.results.document` is written."""

def check_study(study_json: str, control: Control) -> str:
    """Check a study (JSON) and its workload, and return it with all defaults filled in."""

def parse_study_toml(text: str, path: str) -> str:
    """Turn a study file's text into JSON; errors name path and line."""

def read_quantity(kind: str, text: str) -> int:
    """A `size` in bytes, a `count`, or a `duration` in nanoseconds."""

def share(text: str) -> float:
    """A share of a whole: `0.28`, `28%`."""

def units() -> list[list[tuple[str, int]]]:
    """Units of sizes and of durations, each with what it stands for."""

def device_preset(name: str) -> str:
    """The name of the device preset that is meant by a part of it."""

def parse_stack(text: str) -> str:
    """Take a stack's text apart: the `[[ftl]]` table (JSON) that says the same."""

def schemes() -> str:
    """All translation layers (JSON)."""

def causes() -> str:
    """All causes of flash operations (JSON), in the order in which charts stack them."""

def parts() -> str:
    """All parts of stacks (JSON): translation layers, wear policies, buffers; `kind` says which."""

def study_keys() -> str:
    """All keys of a study's sections (JSON): section, name, group and row of the manual."""

def device_bytes(device: str, generator: str | None = None) -> list[int]:
    """Bytes that the host sees of a `[device]` table (JSON), and those that are simulated.

    Where the table does not say, a large device is simulated by a slice, long enough for the writes
    of a `generator` table (JSON).
    """

def devices() -> str:
    """All device presets (JSON)."""

def workload_presets() -> str:
    """All workload presets (JSON)."""

def trace_formats() -> list[str]:
    """Name every format of traces that can be read."""

def torture(options_json: str, control: Control, threads: int | None = None) -> str:
    """Try translation layers for a time (JSON: ftl, geometry, seed, seconds, swarm)."""

def replay(line: str, shrink: bool, explains: bool, control: Control) -> str:
    """Run the case of a replay line again; return what came of it (JSON)."""

def trace_info(workload_json: str, master_seed: int, control: Control) -> str:
    """Statistics (JSON) of a workload, given as a `[workload]` table (JSON)."""

def trace_fit(workload_json: str, master_seed: int, control: Control) -> str:
    """Fit a look-alike (JSON) to a workload, given as a `[workload]` table (JSON)."""

def trace_convert(source: str, target: str, options_json: str, control: Control) -> str:
    """Convert a trace to Parquet or CSV, as the target's name says; return what was done (JSON)."""

def trace_split(
    traces: list[str],
    folder: str,
    options_json: str,
    control: Control,
    kept_bytes: int = 0,
    part_requests: int = 0,
    folders: int = 0,
) -> str:
    """Split traces by volume into a folder, or go on with it; return what was read (JSON)."""

def trace_generate(spec_json: str, master_seed: int, target: str, control: Control) -> str:
    """Write a generated workload (JSON: a `generator` table) as Parquet; return a summary."""

def generate_files(spec_json: str, master_seed: int, target: str, control: Control) -> str:
    """Write a file workload (JSON: personality and keys) as Parquet; return a summary."""

@final
class Server:
    """A server of a flash image, in threads of its own from its making until it is stopped."""

    def __new__(cls, options_json: str) -> Server: ...
    def ready(self) -> str:
        """Where it listens and what it serves (JSON)."""

    def wait(self, seconds: float) -> bool:
        """Wait at most so many seconds; whether it has ended by itself."""

    def stop(self) -> str:
        """Stop in good order; what was saved (JSON). Raises why it ended by itself, if it did."""

@final
class Mounted:
    """A flash image that is mounted, in threads of its own from its making until it is stopped."""

    def __new__(cls, options_json: str) -> Mounted: ...
    def ready(self) -> str:
        """Where it is mounted and what there is (JSON)."""

    def wait(self, seconds: float) -> bool:
        """Wait at most so many seconds; whether it has ended by itself, as by an unmount."""

    def notice(self) -> str | None:
        """What has happened since the last call that the user is to be told, if something has."""

    def stop(self) -> str:
        """Unmount, make everything safe, stop; what was saved (JSON). Raises if it ended before."""

def image_create(image_json: str) -> str:
    """Make a flash image (JSON: image, ftl, settings, device, seed); return its description."""

def image_info(path: str) -> str:
    """What an image is (JSON)."""

def image_check(path: str) -> str:
    """What is wrong with an image (JSON). Changes nothing."""

def server_call(image: str, request_json: str) -> str:
    """Ask the server of an image (JSON); return its answer (JSON)."""
