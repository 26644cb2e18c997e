"use strict";
// The flash as a picture: a panel for each die, a small grid of pages for each block. The colours
// are those of the style sheet. A page has a mark as well, for those who see no hue.

const GAP = 3;
const TITLE = 18;
const NUMBER = 11;
const DIGIT = 6;
const TALLEST = 560;
const SHORTEST = 260;
const LARGEST_PAGE = 16;

class Layout {
  // The largest pages with which all dies fit the width, and the height if that can be.
  constructor(recording, width, tallest = TALLEST) {
    Object.assign(this, { recording, width });
    for (this.size = LARGEST_PAGE; this.size > 1; this.size--) {
      const places = [1, 2, 4, 8].filter((columns) => columns <= recording.dies);
      if (places.some((columns) => this.arrange(columns) && this.height <= tallest)) return;
    }
    this.arrange(1);
  }

  // Whether a block fits a panel when so many dies stand side by side.
  arrange(columns) {
    const { dies, blocksPerDie, pagesPerBlock } = this.recording;
    this.columns = columns;
    this.pagesAcross = Math.ceil(Math.sqrt(pagesPerBlock));
    this.pagesDown = Math.ceil(pagesPerBlock / this.pagesAcross);
    this.blockWidth = this.pagesAcross * this.size + GAP;
    this.number = this.blockWidth > DIGIT * `${dies * blocksPerDie - 1}`.length ? NUMBER : 0;
    this.blockHeight = this.number + this.pagesDown * this.size + GAP;
    this.panelWidth = Math.floor(this.width / columns);
    this.blocksAcross = Math.floor((this.panelWidth - GAP) / this.blockWidth);
    if (this.blocksAcross < 1) return false;
    this.panelHeight = TITLE + Math.ceil(blocksPerDie / this.blocksAcross) * this.blockHeight + GAP;
    this.height = Math.ceil(dies / columns) * this.panelHeight;
    return true;
  }

  panel(die) {
    return [(die % this.columns) * this.panelWidth, Math.floor(die / this.columns) * this.panelHeight];
  }

  // Left, top, width and height of a block.
  block(block) {
    const { blocksPerDie } = this.recording;
    const [left, top] = this.panel(Math.floor(block / blocksPerDie));
    const place = block % blocksPerDie;
    const x = left + GAP + (place % this.blocksAcross) * this.blockWidth;
    const y = top + TITLE + this.number + Math.floor(place / this.blocksAcross) * this.blockHeight;
    return [x, y, this.blockWidth - GAP, this.blockHeight - this.number - GAP];
  }

  // Left and top of a page.
  page(page) {
    const { pagesPerBlock } = this.recording;
    const [x, y] = this.block(Math.floor(page / pagesPerBlock));
    const place = page % pagesPerBlock;
    return [x + (place % this.pagesAcross) * this.size, y + Math.floor(place / this.pagesAcross) * this.size];
  }

  // The page at a point, or -1.
  pageAt(x, y) {
    const { dies, blocksPerDie, pagesPerBlock } = this.recording;
    const across = Math.floor(x / this.panelWidth);
    const die = Math.floor(y / this.panelHeight) * this.columns + across;
    if (across >= this.columns || die >= dies) return -1;
    const [left, top] = this.panel(die);
    const column = Math.floor((x - left - GAP) / this.blockWidth);
    const row = Math.floor((y - top - TITLE) / this.blockHeight);
    const block = row * this.blocksAcross + column;
    if (column < 0 || row < 0 || column >= this.blocksAcross || block >= blocksPerDie) return -1;
    const [blockLeft, blockTop] = this.block(die * blocksPerDie + block);
    const offset = Math.floor((x - blockLeft) / this.size);
    const page = Math.floor((y - blockTop) / this.size) * this.pagesAcross + offset;
    const isInside = y >= blockTop && offset >= 0 && offset < this.pagesAcross && page >= 0 && page < pagesPerBlock;
    return isInside ? (die * blocksPerDie + block) * pagesPerBlock + page : -1;
  }
}

class Grid {
  constructor(side, still, moving) {
    Object.assign(this, { side, still, moving });
    this.resize();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const place = this.still.parentElement;
    const below = window.innerHeight - (place.getBoundingClientRect().top + window.scrollY);
    const tallest = Math.max(SHORTEST, Math.min(TALLEST, below));
    this.layout = new Layout(this.side.recording, place.clientWidth, tallest);
    for (const canvas of [this.still, this.moving]) {
      canvas.width = Math.round(this.layout.width * ratio);
      canvas.height = Math.round(this.layout.height * ratio);
      canvas.style.height = `${this.layout.height}px`;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.repaint();
  }

  // Takes the colours from the style sheet, which knows light and dark.
  readColours() {
    const style = getComputedStyle(this.still);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    this.fills = Object.entries(STATE_OF_NAME).map(([name]) => colour(`page-${name}`));
    this.marks = Object.entries(STATE_OF_NAME).map(([name]) => colour(`mark-${name}`));
    [this.ink, this.soft, this.line, this.paper] = ["ink", "soft", "line", "paper"].map(colour);
    this.read = colour("read");
    this.font = `12px ${style.fontFamily}`;
    this.smallFont = `10px ${style.fontFamily}`;
  }

  repaint() {
    this.readColours();
    const context = this.still.getContext("2d");
    const { recording, flash } = this.side;
    context.clearRect(0, 0, this.layout.width, this.layout.height);
    context.font = this.font;
    context.fillStyle = this.soft;
    const { blocksPerDie } = recording;
    for (let die = 0; die < recording.dies; die++) {
      const [left, top] = this.layout.panel(die);
      const blocks = `blocks ${die * blocksPerDie}–${(die + 1) * blocksPerDie - 1}`;
      context.fillText(`die ${die}: ${blocks}`, left + GAP, top + 13, this.layout.panelWidth - GAP);
    }
    if (this.layout.number) this.paintNumbers(context);
    for (let page = 0; page < flash.pages; page++) this.paintPage(context, page);
    flash.changed.clear();
  }

  // The number of each block above it.
  paintNumbers(context) {
    const { dies, blocksPerDie } = this.side.recording;
    context.font = this.smallFont;
    for (let block = 0; block < dies * blocksPerDie; block++) {
      const [left, top] = this.layout.block(block);
      context.fillText(`${block}`, left, top - 2);
    }
  }

  // Paints what has changed since the last time.
  update() {
    const { flash } = this.side;
    const context = this.still.getContext("2d");
    for (const page of flash.changed) this.paintPage(context, page);
    flash.changed.clear();
  }

  paintPage(context, page) {
    const [x, y] = this.layout.page(page);
    const { size } = this.layout;
    const inner = size > 3 ? size - 1 : size;
    const state = this.side.flash.state(page);
    context.clearRect(x, y, size, size);
    context.fillStyle = this.fills[state];
    context.fillRect(x, y, inner, inner);
    if (size >= 6) paintMark(context, state, [x, y, inner], this.marks[state]);
  }

  // Shows the step that was done last: `progress` goes from 0 to 1 while it is under way.
  show(step, before, progress) {
    const context = this.moving.getContext("2d");
    context.clearRect(0, 0, this.layout.width, this.layout.height);
    const { recording } = this.side;
    const operation = recording.steps[step];
    this.outlineVictims(context, step);
    if (step < 0 || operation < 0) return;
    const page = recording.operations.page[operation];
    const kind = recording.kindOf(operation);
    if (kind === ERASE) return this.outline(context, this.layout.block(recording.blockOf(page)), this.ink, 3);
    const { size } = this.layout;
    const place = [...this.layout.page(page), size, size];
    if (kind !== READ) this.paintWay(context, { operation, page, from: before.newest, progress });
    if (kind === READ) this.paintRead(context, place);
    else this.outline(context, place, this.ink, 2);
  }

  // A page that is read: a ring on paper, which shows on every colour.
  paintRead(context, place) {
    this.outline(context, place, this.paper, 5);
    this.outline(context, place, this.read, 3);
  }

  outline(context, [x, y, width, height], colour, thickness) {
    context.lineWidth = thickness;
    context.strokeStyle = colour;
    context.strokeRect(x - thickness / 2, y - thickness / 2, width + thickness - 1, height + thickness - 1);
  }

  // Blocks that the work under way will erase have a dashed outline.
  outlineVictims(context, step) {
    const job = this.side.jobAt(step);
    if (!job) return;
    context.setLineDash([4, 3]);
    const blocks = new Set([...job.erased, ...(job.emptying?.block >= 0 ? [job.emptying.block] : [])]);
    for (const block of blocks) this.outline(context, this.layout.block(block), this.ink, 1.5);
    context.setLineDash([]);
  }

  // A page on its way: from its old copy, or from the host above.
  paintWay(context, { operation, page, from, progress }) {
    const half = this.layout.size / 2;
    const centre = (place) => this.layout.page(place).map((coordinate) => coordinate + half);
    const to = centre(page);
    const isCopy = this.side.recording.has(operation, COPIES) && from >= 0;
    const begin = isCopy ? centre(from) : [to[0], 0];
    const now = begin.map((start, axis) => start + (to[axis] - start) * progress);
    context.lineWidth = 2;
    context.strokeStyle = this.ink;
    context.beginPath();
    context.moveTo(...begin);
    context.lineTo(...now);
    context.stroke();
    const body = Math.max(6, this.layout.size - 2);
    context.fillStyle = this.fills[this.side.flash.state(page)];
    context.fillRect(now[0] - body / 2, now[1] - body / 2, body, body);
    this.outline(context, [now[0] - body / 2, now[1] - body / 2, body, body], this.ink, 1.5);
  }
}

// The mark of a state: nothing for data, a bar for the map, a ring for a log, a cross for stale.
function paintMark(context, state, [x, y, size], colour) {
  const third = size / 3;
  context.fillStyle = colour;
  context.strokeStyle = colour;
  context.lineWidth = Math.max(1, size / 9);
  if (state === MAP) context.fillRect(x + 1, y + third, size - 2, third);
  if (state === RECORD) context.fillRect(x + third, y + third, third, third);
  if (state === LOG) context.strokeRect(x + third - 0.5, y + third - 0.5, third + 1, third + 1);
  if (state === FREE) context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (state !== STALE && state !== UNUSABLE && state !== BAD) return;
  context.beginPath();
  context.moveTo(x + 1.5, y + size - 1.5);
  context.lineTo(x + size - 1.5, y + 1.5);
  if (state !== STALE) {
    context.moveTo(x + 1.5, y + 1.5);
    context.lineTo(x + size - 1.5, y + size - 1.5);
  }
  context.stroke();
}
