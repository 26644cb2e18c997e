"""A worker process: runs the studies that it reads, a line each, and answers in lines.

A line is a list (JSON): the study, how many points share the memory limit, and the classes of one's
own that it names.

It ends when whoever started it does, however that ended: then there is nothing more to read. It
works in a thread, so that it notices in the middle of a run.
"""

import json
import os
import sys
import threading
from queue import SimpleQueue

from ftlkit.sweeps.work import perform


def main() -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    # Whatever else is printed must not stand among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    texts: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(texts,), daemon=True).start()
    while True:
        answers.write(json.dumps(perform(*json.loads(texts.get()))) + "\n")
        answers.flush()


def _listen(texts: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        texts.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
