"""Where the `ftlkit` command begins; it imports only what the interpreter has loaded.

The rest takes a tenth of a second to load, and the libraries of a command up to a second. Ctrl-C in
that time ends the process at once: nothing was begun, and an exception in the middle of an import
could be caught or turned into another one by the module that is being loaded.
"""

from __future__ import annotations

import os
import signal

_INTERRUPTED = 130
"""As of commands that were interrupted later (`ftlkit.cli.shell`)."""

_STOPPED = b"Stopped. Nothing was written.\n"


def main() -> None:
    """Run the command with the process's arguments."""
    # Shells ignore the signal for commands in the background, and then it stays so.
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, _stop)
    from ftlkit.cli import command  # noqa: PLC0415 - what takes long

    try:
        command()(obj=_hear if is_heard else None)
    finally:
        # Nothing is left to be said, and the interpreter's end cannot answer an exception.
        if is_heard:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _hear() -> None:
    """From now on Ctrl-C is an exception: something may have been begun."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(_number: int, _frame: object) -> None:
    os.write(2, _STOPPED)
    os._exit(_INTERRUPTED)
