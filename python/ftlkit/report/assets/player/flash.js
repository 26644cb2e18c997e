"use strict";
// What every page holds. A step forward notes what it overwrites, so a step back is exact.

const FREE = 0;
const VALID = 1;
const LOG = 2;
const MAP = 3;
const RECORD = 4;
const STALE = 5;
const UNUSABLE = 6;
const BAD = 7;
const STATES = [
  ["valid", "valid data"],
  ["log", "valid data in a log block"],
  ["map", "valid translation page"],
  ["record", "record for recovery"],
  ["stale", "stale: a newer version exists, or it was trimmed"],
  ["free", "free: erased"],
  ["unusable", "unusable until it is erased"],
  ["bad", "in a bad block"],
];
const STATE_OF_NAME = { free: FREE, valid: VALID, log: LOG, map: MAP, record: RECORD, stale: STALE, unusable: UNUSABLE, bad: BAD };
const STATE_OF_ROLE = {
  data: VALID,
  collected: VALID,
  cached: VALID,
  lost: VALID,
  sequential_log: LOG,
  random_log: LOG,
  translation: MAP,
  trimmed: RECORD,
  summary: RECORD,
};

class Flash {
  constructor(recording, roles) {
    this.recording = recording;
    this.stateOfRole = roles.map((role) => STATE_OF_ROLE[role] ?? FREE);
    this.pages = recording.dies * recording.blocksPerDie * recording.pagesPerBlock;
    // One array, so that one list of (place, old value) undoes everything: the state of each page,
    // its content, the page of each logical and translation page plus one, and pages by state.
    this.content = this.pages;
    this.data = this.content + this.pages;
    this.map = this.data + recording.logicalPages;
    this.counts = this.map + recording.translationPages;
    this.cells = new Int32Array(this.counts + STATES.length);
    this.overwritten = [];
    this.marks = [];
    this.changed = new Set();
    this.begin();
  }

  begin() {
    const { start, pagesPerBlock } = this.recording;
    this.cells[this.counts + FREE] = this.pages;
    start.page.forEach((page, index) => this.store(page, start.role[index], start.logical[index], start.isValid[index]));
    start.unusable.forEach((page) => this.setState(page, UNUSABLE));
    start.badBlocks.forEach((block) => {
      for (let page = 0; page < pagesPerBlock; page++) this.setState(block * pagesPerBlock + page, BAD);
    });
    this.overwritten = [];
    this.changed.clear();
  }

  set(place, value) {
    this.overwritten.push(place, this.cells[place]);
    this.cells[place] = value;
  }

  setState(page, state) {
    const old = this.counts + this.cells[page];
    this.set(old, this.cells[old] - 1);
    this.set(this.counts + state, this.cells[this.counts + state] + 1);
    this.set(page, state);
    this.changed.add(page);
  }

  state(page) {
    return this.cells[page];
  }

  // What a page holds: a logical page as its number plus one, a translation page as the negative.
  contentOf(page) {
    return this.cells[this.content + page];
  }

  // Where the page of a content is noted.
  placeOf(content) {
    return content > 0 ? this.data + content - 1 : this.map - content - 1;
  }

  // The page that holds the newest version of a content, or -1.
  newest(content) {
    return this.cells[this.placeOf(content)] - 1;
  }

  // The same for what a program is about to write; records have no versions.
  newestOfProgram(role, logical) {
    const isRecord = this.stateOfRole[role] === RECORD;
    return isRecord ? -1 : this.newest(this.contentOfProgram(role, logical));
  }

  contentOfProgram(role, logical) {
    return this.stateOfRole[role] === MAP ? -(logical + 1) : logical + 1;
  }

  store(page, role, logical, isValid) {
    const state = this.stateOfRole[role];
    const content = this.contentOfProgram(role, logical);
    if (state === RECORD || isValid) this.setState(page, state);
    else this.setState(page, STALE);
    this.set(this.content + page, state === RECORD ? 0 : content);
    if (state !== RECORD && isValid) this.set(this.placeOf(content), page + 1);
  }

  // A content has no valid page any more.
  forget(content) {
    const page = this.newest(content);
    if (page < 0) return;
    this.setState(page, STALE);
    this.set(this.placeOf(content), 0);
  }

  program(operation) {
    const { page, role, logical } = this.recording.operations;
    if (this.recording.has(operation, FAILED)) return this.setState(page[operation], UNUSABLE);
    const isRecord = this.stateOfRole[role[operation]] === RECORD;
    if (!isRecord) this.forget(this.contentOfProgram(role[operation], logical[operation]));
    return this.store(page[operation], role[operation], logical[operation], true);
  }

  erase(operation) {
    const first = this.recording.operations.page[operation];
    const left = this.recording.has(operation, FAILED) ? UNUSABLE : FREE;
    for (let page = first; page < first + this.recording.pagesPerBlock; page++) {
      const content = this.contentOf(page);
      if (content && this.newest(content) === page) this.set(this.placeOf(content), 0);
      if (content) this.set(this.content + page, 0);
      if (this.state(page) !== left) this.setState(page, left);
    }
  }

  trim(request) {
    for (const [first, count] of this.recording.extents(request)) {
      for (let logical = first; logical < first + count; logical++) this.forget(logical + 1);
    }
  }

  forward(step) {
    this.marks.push(this.overwritten.length);
    if (step < 0) {
      if (this.recording.requests.op[~step] === TRIM_REQUEST) this.trim(~step);
      return;
    }
    const kind = this.recording.kindOf(step);
    if (kind === ERASE) this.erase(step);
    else if (kind !== READ) this.program(step);
  }

  back() {
    const mark = this.marks.pop();
    while (this.overwritten.length > mark) {
      const value = this.overwritten.pop();
      const place = this.overwritten.pop();
      this.cells[place] = value;
      if (place < this.pages) this.changed.add(place);
    }
  }

  count(name) {
    return this.cells[this.counts + STATE_OF_NAME[name]];
  }

  // Pages of a block by state, by the states' names.
  countsOfBlock(block) {
    const { pagesPerBlock } = this.recording;
    const counts = Object.fromEntries(STATES.map(([name]) => [name, 0]));
    const names = Object.keys(STATE_OF_NAME);
    for (let page = block * pagesPerBlock; page < (block + 1) * pagesPerBlock; page++) {
      counts[names[this.state(page)]] += 1;
    }
    return counts;
  }
}
