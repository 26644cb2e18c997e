"""Types of the compiled module. A test holds this file, the module and its uses in the package together."""

from typing import final

__version__: str

class FtlkitError(Exception):
    """Base of the errors below."""

class UserError(FtlkitError):
    """The input or the request is at fault; the message says what to change."""

class FtlBug(FtlkitError):
    """A translation layer broke a rule of the flash, or returned wrong data; the message says where."""

@final
class Control:
    """Shared between the thread that works and the one that watches: cancels the work and shows how far it is."""

    def __new__(cls) -> Control: ...
    def cancel(self) -> None:
        """Ask the work to stop at the next request."""

    def progress(self) -> list[tuple[str, int, int]]:
        """(label, done, total) of every run; total is 0 while unknown."""

def run_study(study_json: str, control: Control) -> str:
    """Run a study (JSON) and return results (JSON); other threads go on meanwhile."""

def check_study(study_json: str) -> str:
    """Check a study (JSON) without running it and return it with all defaults filled in."""

def parse_study_toml(text: str, path: str) -> str:
    """Turn a study file's text into JSON with the same checks of keys; errors name path and line."""

def schemes() -> str:
    """All translation layers (JSON)."""

def devices() -> str:
    """All device presets (JSON)."""

def workload_presets() -> str:
    """All workload presets (JSON)."""

def trace_info(path: str, options_json: str, control: Control) -> str:
    """Statistics of a trace (JSON)."""

def trace_convert(src: str, dst: str, options_json: str, control: Control) -> str:
    """Write a trace as Parquet; return what was done (JSON)."""

def trace_generate(spec_json: str, seed: int, dst: str, control: Control) -> str:
    """Write a generated workload as Parquet; return what was done (JSON)."""
