"use strict";
// What was recorded of a run: packed bytes become arrays, one element a request or an operation.
// The order of the columns is that of report/packing.py.

const READ = 0;
const ERASE = 2;
const COPIES = 4;
const FAILED = 8;
const IDLE = 16;
const BACKGROUND = 32;
const WRITE_REQUEST = 1;
const TRIM_REQUEST = 2;

// Bytes as whole numbers of any size: seven bits a byte, the lowest first.
class ByteReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.place = 0;
  }

  number() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.place++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  numbers(into) {
    for (let index = 0; index < into.length; index++) into[index] = this.number();
    return into;
  }

  // Numbers that are stored as differences to the one before; odd ones are negative.
  differences(into) {
    let last = 0;
    for (let index = 0; index < into.length; index++) {
      const folded = this.number();
      last += folded % 2 ? -(folded + 1) / 2 : folded / 2;
      into[index] = last;
    }
    return into;
  }
}

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new ByteReader(new Uint8Array(await new Response(stream).arrayBuffer()));
}

class Recording {
  constructor(facts, reader) {
    const { sizes } = facts;
    Object.assign(this, facts);
    const differences = (size) => reader.differences(new Int32Array(size));
    const numbers = (size) => reader.numbers(new Int32Array(size));
    this.start = {
      page: differences(sizes.stored),
      role: numbers(sizes.stored),
      logical: differences(sizes.stored),
      isValid: numbers(sizes.stored),
      unusable: differences(sizes.unusable),
      badBlocks: differences(sizes.badBlocks),
    };
    this.requests = {
      op: numbers(sizes.requests),
      begin: reader.differences(new Float64Array(sizes.requests)),
      took: reader.numbers(new Float64Array(sizes.requests)),
      stretches: numbers(sizes.requests),
      before: differences(sizes.requests),
    };
    this.first = differences(sizes.stretches);
    this.pages = numbers(sizes.stretches);
    this.operations = {
      flags: numbers(sizes.operations),
      cause: numbers(sizes.operations),
      page: differences(sizes.operations),
      role: numbers(sizes.operations),
      start: reader.differences(new Float64Array(sizes.operations)),
      took: reader.numbers(new Float64Array(sizes.operations)),
    };
    this.operations.logical = this.spread(differences(sizes.programs));
    this.notes = { step: differences(sizes.notes), name: numbers(sizes.notes), count: numbers(sizes.notes) };
    this.placeStretches();
    this.placeSteps();
  }

  // Programs alone write a logical page.
  spread(logical) {
    let next = 0;
    return this.operations.role.map((role) => (role ? logical[next++] : -1));
  }

  placeStretches() {
    let place = 0;
    this.firstStretch = this.requests.stretches.map((count) => (place += count) - count);
  }

  // A step is a request that arrives (as ~index) or an operation (as its index).
  placeSteps() {
    const { before } = this.requests;
    this.steps = new Int32Array(before.length + this.operations.flags.length);
    this.stepOfRequest = before.map((operations, request) => operations + request);
    this.stepOfRequest.forEach((step, request) => { this.steps[step] = ~request; });
    let operation = 0;
    for (let step = 0; step < this.steps.length; step++) {
      if (this.steps[step] >= 0) this.steps[step] = operation++;
    }
  }

  // The logical pages of a request as [first, how many].
  extents(request) {
    const begin = this.firstStretch[request];
    const places = Array.from({ length: this.requests.stretches[request] }, (_, index) => begin + index);
    return places.map((place) => [this.first[place], this.pages[place]]);
  }

  blockOf(page) {
    return Math.floor(page / this.pagesPerBlock);
  }

  dieOf(page) {
    return Math.floor(this.blockOf(page) / this.blocksPerDie);
  }

  kindOf(operation) {
    return this.operations.flags[operation] & 3;
  }

  has(operation, flag) {
    return (this.operations.flags[operation] & flag) !== 0;
  }
}
