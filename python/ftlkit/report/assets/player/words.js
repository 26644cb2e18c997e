"use strict";
// Each step in words: what happens, where, and what becomes of the older version.

const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

const listed = (items) => (items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`);

function duration(nanoseconds) {
  const units = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]];
  const [name, size] = units.find(([, unit]) => nanoseconds >= unit) ?? ["ns", 1];
  return `${(nanoseconds / size).toLocaleString("en", { maximumFractionDigits: 3 })} ${name}`;
}

// A duration to read, of two or three digits.
function roughly(nanoseconds) {
  const size = [1e9, 1e6, 1e3].find((unit) => nanoseconds >= unit) ?? 1;
  const digits = nanoseconds / size >= 10 ? 0 : 1;
  return duration(Number((nanoseconds / size).toFixed(digits)) * size);
}

// A few long stretches; of many, how many pages there are.
function pagesOf(extents) {
  const total = pagesIn(extents);
  const stretch = ([first, count]) => (count === 1 ? `${first}` : `${first} to ${first + count - 1}`);
  if (extents.length > 4) return counted(total, "logical page");
  return `logical ${total === 1 ? "page" : "pages"} ${listed(extents.map(stretch))}`;
}

const COLLECTIONS = ["collection", "mapping_collection"];
const REQUEST_VERBS = ["reads", "writes", "trims"];

class Words {
  constructor(side, page) {
    Object.assign(this, { side, page, recording: side.recording, flash: side.flash });
  }

  place(page) {
    const { pagesPerBlock } = this.recording;
    return `page ${page % pagesPerBlock} of ${this.block(this.recording.blockOf(page))}`;
  }

  block(block) {
    return `block ${block} on die ${Math.floor(block / this.recording.blocksPerDie)}`;
  }

  // The same for lists, in which the die stands behind.
  blockAndDie(block) {
    return `${block} (die ${Math.floor(block / this.recording.blocksPerDie)})`;
  }

  content(content) {
    return content > 0 ? `logical page ${content - 1}` : `translation page ${-content - 1}`;
  }

  // What a step did; the flash is as it is after it.
  step(step, before) {
    if (step < 0) return "Nothing has happened yet.";
    const operation = this.recording.steps[step];
    if (operation < 0) return [this.request(~operation), ...this.notes(step)].join(" ");
    return [...this.notes(step), this.operation(operation, before)].join(" ");
  }

  request(request) {
    const { op } = this.recording.requests;
    const verb = REQUEST_VERBS[op[request]];
    const number = this.recording.firstRequest + request;
    if (!verb) return `Request ${number}: the host asks for all writes to be made durable.`;
    const extents = this.recording.extents(request);
    if (!extents.length) return `Request ${number}: the host ${verb} less than a page; nothing is done.`;
    const stale = op[request] === TRIM_REQUEST ? " Their valid pages are stale now." : "";
    return `Request ${number}: the host ${verb} ${pagesOf(extents)}.${stale}`;
  }

  operation(operation, before) {
    const kind = this.recording.kindOf(operation);
    if (kind === ERASE) return this.erase(operation, before);
    return kind === READ ? this.read(operation) : this.program(operation, before);
  }

  read(operation) {
    const page = this.recording.operations.page[operation];
    const content = this.flash.contentOf(page);
    const what = content ? this.content(content) : "a record";
    const looks = content < 0 ? " It says where logical pages lie." : "";
    return `Reads ${what} from ${this.place(page)}.${looks}`;
  }

  program(operation, before) {
    const { page, role, logical } = this.recording.operations;
    const to = this.place(page[operation]);
    if (this.recording.has(operation, FAILED)) return `A program of ${to} fails.`;
    const state = this.flash.stateOfRole[role[operation]];
    if (state === RECORD) return `Writes a record for recovery to ${to}.`;
    const content = this.content(this.flash.contentOfProgram(role[operation], logical[operation]));
    const log = state === LOG ? ", a log block" : "";
    const old = before.newest;
    if (this.recording.has(operation, COPIES) && old >= 0) {
      return `Copies ${content} to ${to}${log}; its old copy, ${this.place(old)}, is stale now.`;
    }
    const stale = old >= 0 ? `its old version, ${this.place(old)}, is stale now` : "it had no version on flash";
    return `Writes ${content} to ${to}${log}; ${stale}.`;
  }

  erase(operation, before) {
    const block = this.recording.blockOf(this.recording.operations.page[operation]);
    if (this.recording.has(operation, FAILED)) return `An erase of ${this.block(block)} fails.`;
    const { stale, free } = before.block;
    const gained = `${counted(stale, "stale page")} ${stale === 1 ? "becomes" : "become"} free`;
    const already = free ? `; ${free} ${free === 1 ? "was" : "were"} free already` : "";
    return `Erases ${this.block(block)}: ${gained}${already}.`;
  }

  notes(step) {
    const notes = this.side.notesOfStep.get(step) ?? {};
    const job = this.side.jobAt(step);
    const begins = job?.notes.partial_merges && step === job.first ? ["A partial merge begins."] : [];
    const told = Object.entries(notes).flatMap(([name, count]) => {
      const sentence = this.page.noteWords[name];
      return sentence ? [`${sentence}${count > 1 ? ` (${count} times)` : ""}.`] : [];
    });
    return [...begins, ...told];
  }

  // Why a merge is done, and how long the host waits for it and those that belong to it.
  reason(step) {
    const emptying = step < 0 ? undefined : this.side.jobAt(step)?.emptying;
    if (!emptying || emptying.block < 0) return "";
    const { jobs, block } = emptying;
    const place = jobs.length > 1 ? `: merge ${jobs.indexOf(this.side.jobAt(step)) + 1} of ${jobs.length}` : "";
    return `To make room in the log, log block ${block} is emptied${place}.${this.wait(emptying)}`;
  }

  wait({ jobs, last }) {
    const { steps, stepOfRequest, firstRequest, operations } = this.recording;
    const [begin, end] = [steps[jobs[0].first], steps[last]];
    if (this.recording.has(begin, IDLE | BACKGROUND)) return "";
    const request = firstRequest + lastAtMost(stepOfRequest, last, (arrival) => arrival);
    const took = operations.start[end] + operations.took[end] - operations.start[begin];
    return ` Request ${request} waits ${roughly(took)}${jobs.length > 1 ? " for all of them" : " for it"}.`;
  }

  // The work that a step belongs to, in a heading; empty before the first step.
  work(step) {
    if (step < 0) return "";
    const operation = this.recording.steps[step];
    if (operation < 0) return "A request arrives";
    const job = this.side.jobAt(step);
    const idle = this.recording.has(operation, IDLE) ? "In idle time: " : "";
    const words = job ? this.job(job) : this.page.causes[this.recording.operations.cause[operation]].words;
    return idle + words;
  }

  job(job) {
    const { name, words } = this.page.causes[job.cause];
    const isMap = job.copied === 0 && job.translations > 0;
    const copies = isMap ? counted(job.translations, "valid translation page") : counted(job.copied, "valid page");
    const blocks = listed([...new Set(job.erased)].map((block) => this.block(block)));
    if (name === "merge") return this.merge(job, blocks);
    if (COLLECTIONS.includes(name) && job.erased.length === 1) {
      return `garbage collection of ${blocks}: ${copies} to copy${this.updates(job)}, then the erase`;
    }
    return `${words}: ${copies} to copy${blocks ? `, and an erase of ${blocks}` : ""}`;
  }

  // Where moved pages lie is written to the map.
  updates(job) {
    return job.copied && job.translations ? `, ${counted(job.translations, "translation page")} to bring up to date` : "";
  }

  merge(job, blocks) {
    const erases = blocks ? `, then erases ${this.mergedBlocks(job)}` : "";
    const copies = counted(job.copied, "page");
    if (job.notes.switch_merges) return `a switch merge: a log block becomes a data block without a copy${erases}`;
    if (job.notes.partial_merges) return `a partial merge copies ${copies} to complete log block ${job.target}${erases}`;
    if (!job.copied && job.notes.log_victims) return `log block ${job.emptying.block} holds no valid page and is erased`;
    if (!job.copied) return `a merge ends${erases}`;
    if (!job.notes.full_merges) return `a merge copies ${copies}${erases}`;
    const logical = Math.floor(job.logical / this.recording.pagesPerBlock);
    const isWhole = job.copied === this.recording.pagesPerBlock;
    return (
      `a full merge gathers the newest version of ${isWhole ? "each of the " : ""}${copies} of logical block ${logical}` +
      ` in fresh block ${job.target}${erases}`
    );
  }

  // The blocks that a merge erases, log blocks apart from those that held the data before.
  mergedBlocks(job) {
    const all = [...new Set(job.erased)];
    const named = (kind, blocks) => {
      const name = blocks.length === 1 ? kind : `${kind}s`;
      return blocks.length ? [`${name} ${listed(blocks.map((block) => this.blockAndDie(block)))}`] : [];
    };
    const old = all.filter((block) => !job.logErased.includes(block));
    return listed([...named("the old data block", old), ...named("log block", job.logErased)]);
  }

  // When the flash did a step.
  time(step) {
    if (step < 0) return "";
    const operation = this.recording.steps[step];
    const { requests, operations } = this.recording;
    if (operation < 0) return `At ${duration(requests.begin[~operation])}; answered after ${duration(requests.took[~operation])}.`;
    const waits = this.recording.has(operation, BACKGROUND) ? " The host does not wait for it." : "";
    return `From ${duration(operations.start[operation])} on, for ${duration(operations.took[operation])}.${waits}`;
  }

  // What a page holds, for a pointer.
  pointed(page) {
    const [, meaning] = STATES.find(([name]) => STATE_OF_NAME[name] === this.flash.state(page));
    const content = this.flash.contentOf(page);
    const place = this.place(page);
    return `${place[0].toUpperCase()}${place.slice(1)}: ${meaning}${content ? `; ${this.content(content)}` : ""}.`;
  }
}
