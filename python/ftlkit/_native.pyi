"""Types of the compiled module, which a test compares with the module and its uses."""

from pathlib import Path
from typing import final

__version__: str

class FtlkitError(Exception):
    """Base of the errors below."""

class UserError(FtlkitError):
    """The input or the request is at fault; the message says what to change."""

class FtlBug(FtlkitError):
    """A translation layer broke a rule of the flash or returned wrong data; says where."""

@final
class Control:
    """Shared by the working and the watching thread: cancels the work, shows its progress."""

    def __new__(cls) -> Control: ...
    def cancel(self) -> None:
        """Ask the work to stop at the next request."""

    def progress(self) -> list[tuple[str, int, int]]:
        """(label, done, total) of every run; total is 0 while unknown."""

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

def parse_stack(text: str) -> str:
    """Take a stack's text apart: the `[[ftl]]` table (JSON) that says the same."""

def schemes() -> str:
    """All translation layers (JSON)."""

def causes() -> str:
    """All causes of flash operations (JSON), in the order in which charts stack them."""

def parts() -> str:
    """All parts of stacks (JSON): translation layers, wear policies, buffers; `kind` says which."""

def devices() -> str:
    """All device presets (JSON)."""

def workload_presets() -> str:
    """All workload presets (JSON)."""

def trace_formats() -> list[str]:
    """Name every format of traces that can be read."""

def torture(options_json: str, control: Control, threads: int | None = None) -> str:
    """Try translation layers for a time (JSON: ftl, geometry, seed, seconds, swarm)."""

def replay(line: str, shrink: bool) -> str:
    """Run the case of a replay line again; return what came of it (JSON)."""

def trace_info(workload_json: str, master_seed: int, control: Control) -> str:
    """Statistics (JSON) of a workload, given as a `[workload]` table (JSON)."""

def trace_fit(workload_json: str, master_seed: int, control: Control) -> str:
    """Fit a look-alike (JSON) to a workload, given as a `[workload]` table (JSON)."""

def trace_convert(source: str, target: str, options_json: str, control: Control) -> str:
    """Convert a trace to Parquet or CSV, as the target's name says; return what was done (JSON)."""

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

def image_upgrade(image: str, to: str | None, accept_damage: bool) -> str:
    """Convert an image of an older version, into another file or in place; a summary (JSON)."""

def server_call(image: str, request_json: str) -> str:
    """Ask the server of an image (JSON); return its answer (JSON)."""
