"""The page map of own_ftl.py for speed: one call a request, batches of pages, and flat tables.

ftlkit compare fin1 --ftl page,examples/own_ftl.py:Simple,examples/own_ftl_batched.py:Batched
ftlkit torture --ftl examples/own_ftl_batched.py:Batched --minutes 1
"""

import ftlkit as fk

NOTHING, TRIM = -1, -2


class Batched(fk.Ftl):
    """A page map in RAM that takes whole requests, one open block, greedy collection."""

    def __init__(self, device):
        super().__init__(device)
        self.where = [NOTHING] * device.logical_pages  # logical page -> physical page that holds it
        self.owner = [NOTHING] * device.pages  # physical page -> logical page that needs it, or TRIM
        self.trimmed = {}  # trimmed logical page -> physical page that says so
        self.trims = {}  # that physical page -> the logical pages that need it
        self.valid = [0] * device.blocks  # block -> pages that are needed
        self.free, self.closed = list(device.good_blocks), []
        self.size = device.pages_per_block
        self.next = self.end = 0  # what is erased of the open block
        if not device.in_use and (len(self.free) - 7) * self.size < device.logical_pages:
            raise ValueError("a Batched needs seven blocks more than its data fill: raise the spare")

    def read_pages(self, flash, lpn, count):
        return flash.read_many(self.where[lpn : lpn + count])

    def write_pages(self, flash, lpn, pages):
        count, done = len(pages), 0
        while done < count:
            now = min(self.room(flash), count - done)
            places = range(self.next, self.next + now)
            try:
                flash.program_many(places, pages if now == count else pages[done : done + now])
            except fk.FlashError as error:
                self.point(lpn + done, places[: error.done])
                raise
            self.point(lpn + done, places)
            done, self.next = done + now, places.stop

    def trim(self, flash, lpn, pages):
        self.room(flash)
        ppn, lpns = self.next, range(lpn, lpn + pages)
        flash.program_trim(ppn, lpn, pages)
        self.forget(lpns)
        self.trims[ppn], self.owner[ppn] = set(lpns), TRIM
        self.trimmed.update(dict.fromkeys(lpns, ppn))
        self.valid[ppn // self.size] += 1
        self.next += 1

    def room(self, flash, reserve=6):  # each power cut in a collection may cost a free block
        """How many pages of the open block are erased: at least one."""
        while self.next == self.end:
            if self.end:
                self.closed.append(self.end // self.size - 1)
                self.next = self.end = 0
            if len(self.free) < reserve:
                self.collect(flash)  # may leave an open block
            else:
                self.next = self.free.pop(0) * self.size
                self.end = self.next + self.size
        return self.end - self.next

    def collect(self, flash):
        victim = min(self.closed, key=self.valid.__getitem__)
        self.closed.remove(victim)
        first = victim * self.size
        needed = [ppn for ppn in range(first, first + self.size) if self.owner[ppn] != NOTHING]
        with flash.background(), flash.cause("collection"):
            while needed:
                room = self.room(flash, reserve=1)
                now, needed = needed[:room], needed[room:]
                flash.copy_many(now, range(self.next, self.next + len(now)))
                for ppn in now:
                    self.move(ppn, self.next)
                    self.next += 1
            flash.erase(victim)
        self.free.append(victim)

    def move(self, ppn, to):
        lpn = self.owner[to] = self.owner[ppn]
        self.owner[ppn] = NOTHING
        self.valid[ppn // self.size] -= 1
        if lpn == TRIM:
            self.trims[to] = self.trims.pop(ppn)
            self.trimmed.update(dict.fromkeys(self.trims[to], to))
        else:
            self.where[lpn] = to
        self.valid[to // self.size] += 1

    def point(self, lpn, ppns):
        """Let logical pages from `lpn` on lie in pages of one block."""
        lpns = range(lpn, lpn + len(ppns))
        self.forget(lpns)
        self.where[lpn : lpns.stop] = ppns
        self.owner[ppns.start : ppns.stop] = lpns
        self.valid[ppns.start // self.size] += len(ppns)

    def forget(self, lpns):
        """Forget logical pages."""
        for old in self.where[lpns.start : lpns.stop]:
            if old != NOTHING:
                self.owner[old] = NOTHING
                self.valid[old // self.size] -= 1
        self.where[lpns.start : lpns.stop] = [NOTHING] * len(lpns)
        for lpn in self.trimmed.keys() & lpns if self.trimmed else ():
            ppn = self.trimmed.pop(lpn)
            self.trims[ppn].discard(lpn)
            if not self.trims[ppn]:
                del self.trims[ppn]
                self.owner[ppn] = NOTHING
                self.valid[ppn // self.size] -= 1

    def recover(self, flash):
        newest = {}
        tags = [(flash.scan(ppn), ppn) for block in self.free for ppn in self.pages_of(block)]
        tags = [(tag.version, tag.seq, ppn, tag) for tag, ppn in tags if tag and tag.role != "unreadable"]
        for version, _, ppn, tag in sorted(tags, key=lambda found: found[:2]):
            for lpn in range(tag.lpn, tag.lpn + tag.pages):
                if lpn not in newest or newest[lpn][0] < version:  # of copies, the first counts
                    newest[lpn] = (version, ppn, tag.role == "trimmed")
        for lpn, (_, ppn, is_trim) in newest.items():
            if not is_trim:
                self.point(lpn, range(ppn, ppn + 1))
                continue
            self.trimmed[lpn] = ppn
            self.trims.setdefault(ppn, set()).add(lpn)
            self.valid[ppn // self.size] += self.owner[ppn] == NOTHING
            self.owner[ppn] = TRIM
        self.closed = [block for block in self.free if self.valid[block]]
        self.free = [block for block in self.free if not self.valid[block]]
        for block in self.free:
            flash.erase(block)

    def pages_of(self, block):
        return range(block * self.size, (block + 1) * self.size)

    def check(self):
        for block, valid in enumerate(self.valid):
            first = block * self.size
            needed = sum(owner != NOTHING for owner in self.owner[first : first + self.size])
            assert valid == needed, f"block {block} has {needed} needed pages, and {valid} are counted"
