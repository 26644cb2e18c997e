"use strict";
// How runs go side by side: request by request, and within a request operation by operation, so
// that all runs are at the same request. One with fewer operations waits for the others.

// Stretches of work that moves pages: a collection or a merge each.
class Job {
  constructor(first, cause) {
    this.first = first;
    this.last = first;
    this.cause = cause;
    this.erased = [];
    this.logErased = [];
    this.copied = 0;
    this.translations = 0;
    this.logical = -1;
    this.target = -1;
    this.notes = {};
  }
}

// The merges that empty one log block, one after another, so that the log has room.
class Emptying {
  constructor(job) {
    this.jobs = [job];
  }

  get last() {
    return this.jobs.at(-1).last;
  }

  // The log block that is erased when the last merge has taken its pages; -1 if none was.
  get block() {
    return this.jobs.at(-1).logErased.at(-1) ?? -1;
  }
}

class Side {
  constructor(recording, page) {
    this.recording = recording;
    this.flash = new Flash(recording, page.roles);
    this.isMoving = page.causes.map((cause) => cause.work === "moving");
    this.noteNames = page.notes;
    this.position = 0;
    this.before = this.lookBefore();
    this.notesOfStep = this.groupNotes();
    this.jobs = this.findJobs(page.roles);
    this.groupMerges();
    this.sums = this.sumUp();
  }

  groupNotes() {
    const { step, name, count } = this.recording.notes;
    const grouped = new Map();
    step.forEach((found, index) => {
      const note = this.noteNames[name[index]];
      const at = note.startsWith("mapping_") ? this.lookedUpAt(found) : found;
      grouped.set(at, { ...grouped.get(at), [note]: count[index] });
    });
    return grouped;
  }

  // What a request looks up before its first operation, or before moves, is told when it arrives.
  lookedUpAt(step) {
    const { steps, stepOfRequest, operations } = this.recording;
    const arrival = stepOfRequest[lastAtMost(stepOfRequest, step, (begin) => begin)];
    const isMove = steps[step] >= 0 && this.isMoving[operations.cause[steps[step]]];
    return isMove || step === arrival + 1 ? arrival : step;
  }

  findJobs(roles) {
    const { steps, operations } = this.recording;
    const jobs = [];
    let job = null;
    this.logBlocks = this.logBlocksAtStart();
    steps.forEach((operation, step) => {
      if (operation >= 0) this.followLogBlock(operation);
      if (operation < 0 || !this.isMoving[operations.cause[operation]]) {
        job = null;
        return;
      }
      if (job === null || this.beginsJob(job, operation, step)) {
        job = new Job(step, operations.cause[operation]);
        jobs.push(job);
      }
      this.addToJob(job, operation, step, roles);
    });
    return jobs;
  }

  logBlocksAtStart() {
    const { start } = this.recording;
    const inLog = [...start.page].filter((_, index) => this.flash.stateOfRole[start.role[index]] === LOG);
    return new Set(inLog.map((page) => this.recording.blockOf(page)));
  }

  // A log block that gets a page of another kind has become a data block.
  followLogBlock(operation) {
    const { page, role } = this.recording.operations;
    if (!role[operation]) return;
    const block = this.recording.blockOf(page[operation]);
    if (this.flash.stateOfRole[role[operation]] === LOG) this.logBlocks.add(block);
    else this.logBlocks.delete(block);
  }

  // Merges that follow one another belong to the log block that was the last to be chosen.
  groupMerges() {
    let group = null;
    for (const job of this.jobs) {
      if (group && job.first !== group.last + 1) group = null;
      if (job.notes.log_victims) group = new Emptying(job);
      else if (group) group.jobs.push(job);
      if (group) job.emptying = group;
    }
  }

  beginsJob(job, operation, step) {
    const kind = this.recording.kindOf(operation);
    const notes = this.notesOfStep.get(step);
    return Boolean(notes?.full_merges || notes?.log_victims) || (job.erased.length > 0 && kind !== ERASE);
  }

  addToJob(job, operation, step, roles) {
    const { page, role, logical } = this.recording.operations;
    job.last = step;
    Object.assign(job.notes, this.notesOfStep.get(step));
    const block = this.recording.blockOf(page[operation]);
    if (this.recording.kindOf(operation) === ERASE) {
      job.erased.push(block);
      if (this.logBlocks.delete(block)) job.logErased.push(block);
    }
    if (!role[operation]) return;
    if (roles[role[operation]] === "translation") job.translations += 1;
    else job.copied += 1;
    if (job.logical < 0) [job.logical, job.target] = [logical[operation], block];
  }

  // The step that answers each request: its last one that the host waits for.
  findAnswers() {
    const { steps, stepOfRequest } = this.recording;
    const answers = Int32Array.from(stepOfRequest);
    let request = -1;
    steps.forEach((operation, step) => {
      if (operation < 0) request = ~operation;
      else if (request >= 0 && !this.recording.has(operation, IDLE | BACKGROUND)) answers[request] = step;
    });
    return answers;
  }

  // Pages of writes that were answered, pages programmed and blocks erased before each step.
  sumUp() {
    const { steps, requests } = this.recording;
    const sums = ["written", "programmed", "erased"].map(() => new Int32Array(steps.length + 1));
    const answered = new Int32Array(steps.length);
    this.findAnswers().forEach((step, request) => {
      if (requests.op[request] === WRITE_REQUEST) answered[step] = pagesIn(this.recording.extents(request));
    });
    steps.forEach((operation, step) => {
      const kind = operation < 0 ? READ : this.recording.kindOf(operation);
      [answered[step], Number(kind === 1), Number(kind === ERASE)].forEach((more, index) => {
        sums[index][step + 1] = sums[index][step] + more;
      });
    });
    return sums;
  }

  // The job that a step belongs to, or undefined.
  jobAt(step) {
    const job = this.jobs[lastAtMost(this.jobs, step, (one) => one.first)];
    return job && step <= job.last ? job : undefined;
  }

  // Goes to a position, and keeps how things stood before the last step that leads there.
  moveTo(position) {
    this.go(Math.max(0, position - 1));
    this.before = this.lookBefore();
    this.go(position);
  }

  go(position) {
    while (this.position < position) this.flash.forward(this.recording.steps[this.position++]);
    while (this.position > position) {
      this.flash.back();
      this.position -= 1;
    }
  }

  // What the next step is about to change: the newest version of its page, or its block.
  lookBefore() {
    const { steps, operations } = this.recording;
    const operation = steps[this.position];
    const before = { newest: -1, block: null };
    if (operation === undefined || operation < 0) return before;
    const page = operations.page[operation];
    if (this.recording.kindOf(operation) === ERASE) {
      before.block = this.flash.countsOfBlock(this.recording.blockOf(page));
    } else if (operations.role[operation]) {
      before.newest = this.flash.newestOfProgram(operations.role[operation], operations.logical[operation]);
    }
    return before;
  }
}

const pagesIn = (extents) => extents.reduce((sum, [, count]) => sum + count, 0);

// The index of the last element whose value is at most `most`, or -1.
function lastAtMost(list, most, valueOf) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (valueOf(list[middle]) <= most) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

class Schedule {
  constructor(sides) {
    this.sides = sides;
    const ends = sides.map(({ recording }) => recording.firstRequest + recording.requests.op.length);
    this.firstRequest = Math.min(...sides.map(({ recording }) => recording.firstRequest));
    this.lastRequest = Math.max(...ends) - 1;
    this.begins = [];
    this.length = 0;
    for (let request = this.firstRequest; request <= this.lastRequest; request++) {
      this.begins.push(this.length);
      this.length += Math.max(...sides.map((side) => this.stretch(side, request).length));
    }
  }

  // The steps of a side for a request: its first, and how many.
  stretch({ recording }, request) {
    const { stepOfRequest, steps, firstRequest } = recording;
    const index = request - firstRequest;
    if (index < 0) return { first: 0, length: 0 };
    const first = stepOfRequest[index] ?? steps.length;
    return { first, length: (stepOfRequest[index + 1] ?? steps.length) - first };
  }

  // The request of a moment: of the step that was done last.
  requestAt(position) {
    return this.firstRequest + Math.max(0, lastAtMost(this.begins, position - 1, (begin) => begin));
  }

  beginOf(request) {
    return this.begins[request - this.firstRequest] ?? this.length;
  }

  // How many steps a side has done.
  positionOf(side, position) {
    const request = this.requestAt(position);
    const { first, length } = this.stretch(side, request);
    return position ? first + Math.min(position - this.beginOf(request), length) : 0;
  }

  // Whether a side has done all of its request while another has not.
  isWaiting(side, position) {
    const { first, length } = this.stretch(side, this.requestAt(position));
    return position > 0 && position - this.beginOf(this.requestAt(position)) > length && first + length === side.position;
  }

  // The moment at which a side has done a step.
  momentOf(side, step) {
    const { stepOfRequest, firstRequest } = side.recording;
    const index = Math.max(0, lastAtMost(stepOfRequest, step, (begin) => begin));
    return this.beginOf(firstRequest + index) + step - stepOfRequest[index] + 1;
  }

  // The moment at which the next collection or merge of these sides begins, or null.
  nextJob(position, sides) {
    const moments = sides.map((side) => {
      const next = side.jobs[lastAtMost(side.jobs, side.position - 1, (job) => job.first) + 1];
      return next ? this.momentOf(side, next.first) : Infinity;
    });
    const later = Math.min(...moments.filter((moment) => moment > position));
    return Number.isFinite(later) ? later : null;
  }

  // The same before a moment.
  previousJob(position, sides) {
    const moments = sides.map((side) => {
      let place = lastAtMost(side.jobs, side.position - 1, (job) => job.first);
      while (place >= 0 && this.momentOf(side, side.jobs[place].first) >= position) place -= 1;
      return place >= 0 ? this.momentOf(side, side.jobs[place].first) : -1;
    });
    const earlier = Math.max(...moments);
    return earlier >= 0 ? earlier : null;
  }
}
