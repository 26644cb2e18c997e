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
    this.copied = 0;
    this.translations = 0;
    this.logical = -1;
    this.notes = {};
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
    this.sums = this.sumUp();
  }

  groupNotes() {
    const { step, name, count } = this.recording.notes;
    const grouped = new Map();
    step.forEach((found, index) => {
      const note = this.noteNames[name[index]];
      const at = note.startsWith("mapping_") ? this.beforeMoves(found) : found;
      grouped.set(at, { ...grouped.get(at), [note]: count[index] });
    });
    return grouped;
  }

  // Where moves come before what a request looked up, that is told with the request.
  beforeMoves(step) {
    const { steps, stepOfRequest, operations } = this.recording;
    const isMove = steps[step] >= 0 && this.isMoving[operations.cause[steps[step]]];
    return isMove ? stepOfRequest[lastAtMost(stepOfRequest, step, (begin) => begin)] : step;
  }

  findJobs(roles) {
    const { steps, operations } = this.recording;
    const jobs = [];
    let job = null;
    steps.forEach((operation, step) => {
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

  beginsJob(job, operation, step) {
    const kind = this.recording.kindOf(operation);
    return Boolean(this.notesOfStep.get(step)?.full_merges) || (job.erased.length > 0 && kind !== ERASE);
  }

  addToJob(job, operation, step, roles) {
    const { page, role, logical } = this.recording.operations;
    job.last = step;
    Object.assign(job.notes, this.notesOfStep.get(step));
    if (this.recording.kindOf(operation) === ERASE) job.erased.push(this.recording.blockOf(page[operation]));
    if (!role[operation]) return;
    if (roles[role[operation]] === "translation") job.translations += 1;
    else job.copied += 1;
    if (job.logical < 0) job.logical = logical[operation];
  }

  // Pages written by the host, pages programmed and blocks erased before each step.
  sumUp() {
    const { steps, requests } = this.recording;
    const sums = ["written", "programmed", "erased"].map(() => new Int32Array(steps.length + 1));
    steps.forEach((operation, step) => {
      const isRequest = operation < 0;
      const kind = isRequest ? READ : this.recording.kindOf(operation);
      const isWrite = isRequest && requests.op[~operation] === WRITE_REQUEST;
      const pages = isWrite ? this.recording.extents(~operation).reduce((sum, [, count]) => sum + count, 0) : 0;
      [pages, Number(kind === 1), Number(kind === ERASE)].forEach((more, index) => {
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

  // The moment at which the next collection or merge of any side begins, or null.
  nextJob(position) {
    const moments = this.sides.map((side) => {
      const next = side.jobs[lastAtMost(side.jobs, side.position - 1, (job) => job.first) + 1];
      return next ? this.momentOf(side, next.first) : Infinity;
    });
    const later = Math.min(...moments.filter((moment) => moment > position));
    return Number.isFinite(later) ? later : null;
  }

  // The same before a moment.
  previousJob(position) {
    const moments = this.sides.map((side) => {
      let place = lastAtMost(side.jobs, side.position - 1, (job) => job.first);
      while (place >= 0 && this.momentOf(side, side.jobs[place].first) >= position) place -= 1;
      return place >= 0 ? this.momentOf(side, side.jobs[place].first) : -1;
    });
    const earlier = Math.max(...moments);
    return earlier >= 0 ? earlier : null;
  }
}
