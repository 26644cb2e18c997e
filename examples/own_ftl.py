"""A page map in Python: an FTL of your own in under 100 lines, which survives power cuts.

ftlkit compare fin1 --requests 20000 --addresses dense --ftl page,examples/own_ftl.py:Simple
ftlkit torture --ftl examples/own_ftl.py:Simple --minutes 1
"""

import ftlkit as fk


class Simple(fk.Ftl):
    """A page map in RAM, one open block, greedy collection."""

    def __init__(self, device):
        super().__init__(device)
        self.where = {}  # logical page -> physical page that holds it, or that says it was trimmed
        self.needed = {}  # physical page -> the logical pages that need it
        self.trims = set()  # physical pages that hold a trim
        self.valid = dict.fromkeys(device.good_blocks, 0)  # block -> pages that are needed
        self.free = list(device.good_blocks)
        self.open = None
        if not device.in_use and (len(self.free) - 7) * device.pages_per_block < device.logical_pages:
            raise ValueError("a Simple needs seven blocks more than its data fill: raise the spare")

    def read(self, flash, lpn):
        ppn = self.where.get(lpn)
        return None if ppn is None or ppn in self.trims else flash.read(ppn)

    def write(self, flash, lpn, page):
        ppn = self.next_page(flash)
        flash.program(ppn, page)
        self.point([lpn], ppn)

    def trim(self, flash, lpn, pages):
        ppn = self.next_page(flash)
        flash.program_trim(ppn, lpn, pages)
        self.trims.add(ppn)
        self.point(range(lpn, lpn + pages), ppn)

    def next_page(self, flash, reserve=6):  # each power cut in a collection may cost a free block
        while self.open is None or flash.next_page(self.open) == self.device.pages_per_block:
            if len(self.free) < reserve:
                self.collect(flash)  # may leave an open block
            else:
                self.open = self.free.pop(0)
        return self.device.page(self.open, flash.next_page(self.open))

    def collect(self, flash):
        victim = min((b for b in self.valid if b not in (self.open, *self.free)), key=self.valid.get)
        with flash.background(), flash.cause("collection"):
            for ppn in [ppn for ppn in self.pages_of(victim) if ppn in self.needed]:
                to = self.next_page(flash, reserve=1)
                flash.copy(ppn, to)
                if ppn in self.trims:
                    self.trims.add(to)
                self.point(list(self.needed[ppn]), to)
            flash.erase(victim)
        self.free.append(victim)

    def point(self, lpns, ppn):
        """Let logical pages point to a physical page; what nothing points to is not needed."""
        for lpn in lpns:
            old = self.where.get(lpn)
            if old is not None:
                self.needed[old].discard(lpn)
                if not self.needed[old]:
                    del self.needed[old]
                    self.trims.discard(old)
                    self.valid[self.device.block_of(old)] -= 1
            self.where[lpn] = ppn
        self.needed[ppn] = set(lpns)
        self.valid[self.device.block_of(ppn)] += 1

    def pages_of(self, block):
        first = self.device.page(block, 0)
        return range(first, first + self.device.pages_per_block)

    def recover(self, flash):
        tags = [(flash.scan(ppn), ppn) for block in self.valid for ppn in self.pages_of(block)]
        tags = [(tag.version, tag.seq, ppn, tag) for tag, ppn in tags if tag and tag.role != "unreadable"]
        newest = {}
        for version, _, ppn, tag in sorted(tags, key=lambda found: found[:2]):
            for lpn in range(tag.lpn, tag.lpn + tag.pages):
                if lpn not in newest or newest[lpn][0] < version:  # of copies, the first counts
                    newest[lpn] = (version, ppn, tag.role == "trimmed")
        for lpn, (_, ppn, is_trim) in newest.items():
            if is_trim:
                self.trims.add(ppn)
            if ppn in self.needed:
                self.needed[ppn].add(lpn)
                self.where[lpn] = ppn
            else:
                self.point([lpn], ppn)
        self.free = [block for block, pages in self.valid.items() if pages == 0]
        for block in self.free:
            flash.erase(block)

    def check(self):
        needed = [self.device.block_of(ppn) for ppn in self.needed]
        assert self.valid == {block: needed.count(block) for block in self.valid}, "pages are miscounted"
