"""Where the `ftlkit` command begins; it imports only what the interpreter has loaded.

The rest takes a tenth of a second to load, and the libraries of a command up to a second. Ctrl-C in
that time ends the process at once: nothing was begun, and an exception in the middle of an import
could be caught or turned into another one by the module that is being loaded. SIGTERM, which job
schedulers send, is answered as Ctrl-C.
"""

from __future__ import annotations

import os
import signal

_INTERRUPTED = 130
"""As of commands that were interrupted later (`ftlkit.cli.shell`)."""

_STOPPED = b"Stopped. Nothing was written.\n"


def main() -> None:
    """Run the command with the process's arguments."""
    # Shells ignore Ctrl-C for commands in the background, and then it stays so.
    usual = (signal.default_int_handler, signal.SIG_DFL)
    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) in usual]
    _answer(heard, _stop)
    from ftlkit.cli import command  # noqa: PLC0415 - what takes long

    try:
        # From here on a signal is an exception: something may have been begun.
        command()(obj=lambda: _answer(heard, signal.default_int_handler))
    finally:
        # Nothing is left to be said, and the interpreter's end cannot answer an exception.
        _answer(heard, signal.SIG_DFL)


def _answer(heard: list[signal.Signals], handler: signal._HANDLER) -> None:
    for number in heard:
        signal.signal(number, handler)


def _stop(_number: int, _frame: object) -> None:
    os.write(2, _STOPPED)
    os._exit(_INTERRUPTED)
