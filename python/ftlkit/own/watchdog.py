"""Ends calls of an FTL that hang: an exception is raised in their threads."""

import ctypes
import threading
import time

from ftlkit._native import overdue_calls

EVERY_S = 0.25
"""How often it looks."""


class CallTooLong(Exception):
    """A call of an FTL took longer than its `call_seconds`."""

    def __str__(self) -> str:
        return "the call took longer than the FTL's call_seconds: does it wait or loop forever?"


_started = threading.Event()


def start() -> None:
    """Watch from now on, once a process."""
    if not _started.is_set():
        _started.set()
        threading.Thread(target=_watch, name="ftlkit-watchdog", daemon=True).start()


def _watch() -> None:
    while True:
        time.sleep(EVERY_S)
        for thread in overdue_calls():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(CallTooLong))
