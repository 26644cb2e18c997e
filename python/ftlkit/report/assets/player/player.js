"use strict";
// The controls: what buttons, keys, the clock and pointers do to the runs that are shown.

const SPEEDS = [0.5, 1, 2, 5, 10, 25, 100, 500, 2500, 10000];
const ANIMATED = 30;
const WAITS = "It waits for the other run to end this request.";
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

// One run: its picture, its counts and its words.
class View {
  constructor(element, page) {
    this.element = element;
    this.page = page;
    this.still = element.querySelector("canvas.still");
    this.moving = element.querySelector("canvas.moving");
    this.choice = element.querySelector("select");
    this.texts = Object.fromEntries(
      ["work", "reason", "step", "time", "sums", "pointed"].map((name) => [name, element.querySelector(`.${name}`)]),
    );
    this.counts = element.querySelectorAll("[data-state]");
    this.moving.addEventListener("pointermove", (event) => this.point(event));
  }

  show(side) {
    this.side = side;
    this.words = new Words(side, this.page);
    this.grid = new Grid(side, this.still, this.moving);
    this.still.setAttribute("aria-label", `The flash of ${side.recording.label}; the text below says what happens.`);
  }

  // Draws the flash; says what the last step did where there is time to read it.
  update(progress, isWaiting) {
    const { side } = this;
    const step = side.position - 1;
    this.grid.update();
    this.grid.show(step, side.before, progress);
    this.isWaiting = isWaiting;
    this.texts.work.textContent = capital(this.words.work(step));
    this.texts.reason.textContent = this.words.reason(step);
    this.texts.step.textContent = this.words.step(step, side.before);
    this.texts.time.textContent = isWaiting ? WAITS : this.words.time(step);
    this.texts.sums.textContent = this.sums();
    for (const count of this.counts) {
      count.textContent = side.flash.count(count.dataset.state).toLocaleString("en");
    }
  }

  sums() {
    const [written, programmed, erased] = this.side.sums.map((sum) => sum[this.side.position]);
    const ratio = written ? ` Write amplification: ${(programmed / written).toFixed(2)}.` : "";
    const flash = `${counted(programmed, "page")} programmed, ${counted(erased, "block")} erased`;
    return `Host: ${counted(written, "page")} written. Flash: ${flash}.${ratio}`;
  }

  // The step in a few sentences, for those who hear the page. Waiting is told once.
  spoken() {
    const { label } = this.side.recording;
    const wasWaiting = this.hasToldWaiting;
    this.hasToldWaiting = this.isWaiting;
    if (this.isWaiting) return wasWaiting ? "" : `${label}: ${WAITS}`;
    const { work, reason, step } = this.texts;
    const isFirst = this.side.jobAt(this.side.position - 1)?.first === this.side.position - 1;
    const sentences = [work.textContent && `${work.textContent}.`, isFirst && reason.textContent, step.textContent];
    return `${label}: ${sentences.filter(Boolean).join(" ")}`;
  }

  point(event) {
    const page = this.grid.layout.pageAt(event.offsetX, event.offsetY);
    this.texts.pointed.textContent = page < 0 ? "" : this.words.pointed(page);
  }
}

const isModified = (event) => event.ctrlKey || event.altKey || event.metaKey;
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

class Player {
  constructor(page, recordings) {
    Object.assign(this, { page, recordings });
    this.root = document.getElementById("player");
    this.seek = document.getElementById("seek");
    this.speed = document.getElementById("speed");
    this.stopAt = document.getElementById("stop-at");
    this.playing = null;
    this.views = [...document.querySelectorAll(".run")].map((element) => new View(element, page));
    this.listen();
    this.choose();
  }

  // Shows the chosen runs, at the request that was shown before.
  choose() {
    this.stop();
    const request = this.position ? this.schedule.requestAt(this.position) : null;
    this.sides = this.views.map((view) => new Side(this.recordings[Number(view.choice?.value ?? 0)], this.page));
    this.views.forEach((view, index) => view.show(this.sides[index]));
    this.schedule = new Schedule(this.sides);
    this.seek.max = this.schedule.length;
    this.goTo(request === null ? 0 : this.schedule.beginOf(request) + 1);
  }

  goTo(position, progress = 1) {
    this.position = Math.max(0, Math.min(position, this.schedule.length));
    for (const side of this.sides) side.moveTo(this.schedule.positionOf(side, this.position));
    this.draw(progress);
    if (!this.playing) this.speak();
  }

  draw(progress) {
    this.views.forEach((view) => view.update(progress, this.schedule.isWaiting(view.side, this.position)));
    this.seek.value = this.position;
    const request = this.schedule.requestAt(this.position);
    const where = `Step ${this.position.toLocaleString("en")} of ${this.schedule.length.toLocaleString("en")}`;
    const text = this.position ? `${where}, request ${request} of ${this.schedule.lastRequest}` : `${where}: the beginning`;
    document.getElementById("where").textContent = text;
    this.seek.setAttribute("aria-valuetext", text);
  }

  // Tells screen readers; not while it plays, which would be a torrent.
  speak() {
    const isBegun = this.position > 0;
    const sentences = this.views.map((view) => view.spoken()).filter(Boolean);
    document.getElementById("spoken").textContent = isBegun ? sentences.join(" ") : this.views[0].texts.step.textContent;
  }

  step(steps) {
    this.stop();
    this.goTo(this.position + steps);
  }

  // To the next request, or to the begin of this one and then the one before.
  stepRequest(direction) {
    this.stop();
    const request = this.schedule.requestAt(this.position);
    const begin = this.schedule.beginOf(request) + 1;
    if (direction > 0) return this.goTo(this.position ? this.schedule.beginOf(request + 1) + 1 : 1);
    return this.goTo(this.position > begin ? begin : this.schedule.beginOf(request - 1) + 1);
  }

  jump(direction) {
    this.stop();
    const sides = this.sides.filter((_, index) => ["both", `${index}`].includes(this.stopAt?.value ?? "both"));
    const { schedule, position } = this;
    const next = direction > 0 ? schedule.nextJob(position, sides) : schedule.previousJob(position, sides);
    if (next !== null) return this.goTo(next);
    document.getElementById("spoken").textContent = `No ${direction > 0 ? "later" : "earlier"} collection or merge.`;
    return undefined;
  }

  toggle() {
    if (this.playing) {
      this.stop();
      this.speak();
    } else {
      this.play();
    }
  }

  play() {
    if (this.position === this.schedule.length) this.goTo(0);
    this.playing = { last: performance.now(), due: 0 };
    this.tellPlaying();
    requestAnimationFrame((now) => this.tick(now));
  }

  stop() {
    if (!this.playing) return;
    this.playing = null;
    this.tellPlaying();
    this.draw(1);
  }

  tellPlaying() {
    document.getElementById("play").textContent = this.playing ? "Pause" : "Play";
  }

  // Lets time pass: whole steps are done, what is left of the time moves the page on its way.
  tick(now) {
    if (!this.playing) return;
    const speed = SPEEDS[Number(this.speed.value)];
    this.playing.due += (Math.min(now - this.playing.last, 250) / 1000) * speed;
    this.playing.last = now;
    const steps = Math.floor(this.playing.due);
    this.playing.due -= steps;
    const progress = speed > ANIMATED || isStill.matches ? 1 : Math.min(1, this.playing.due * 1.5);
    if (steps) this.goTo(this.position + steps, progress);
    else this.views.forEach((view) => view.grid.show(view.side.position - 1, view.side.before, progress));
    if (this.position < this.schedule.length) requestAnimationFrame((next) => this.tick(next));
    else this.toggle();
  }

  listen() {
    const actions = {
      play: () => this.toggle(),
      back: () => this.step(-1),
      forward: () => this.step(1),
      request: () => this.stepRequest(1),
      previous: () => this.jump(-1),
      next: () => this.jump(1),
    };
    for (const [id, action] of Object.entries(actions)) document.getElementById(id).addEventListener("click", action);
    this.seek.addEventListener("input", () => this.step(Number(this.seek.value) - this.position));
    this.speed.addEventListener("input", () => this.tellSpeed());
    this.views.forEach((view) => view.choice?.addEventListener("change", () => this.choose()));
    this.root.addEventListener("keydown", (event) => this.press(event));
    document.addEventListener("keydown", (event) => this.pressAnywhere(event));
    addEventListener("resize", () => this.refit());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refit());
    this.tellSpeed();
  }

  tellSpeed() {
    const text = `${counted(SPEEDS[Number(this.speed.value)], "step")} a second`;
    document.getElementById("pace").textContent = text;
    this.speed.setAttribute("aria-valuetext", text);
  }

  refit() {
    for (const view of this.views) view.grid.resize();
    this.draw(1);
  }

  // Space plays wherever it does not press a button or open a choice.
  pressAnywhere(event) {
    if (event.key !== " " || isModified(event) || event.target.matches("button, select, summary, a")) return;
    event.preventDefault();
    this.toggle();
  }

  changeSpeed(direction) {
    this.speed.value = Number(this.speed.value) + direction;
    this.tellSpeed();
    document.getElementById("spoken").textContent = document.getElementById("pace").textContent;
  }

  press(event) {
    if (isModified(event)) return;
    if (event.key === "+" || event.key === "-") this.changeSpeed(event.key === "+" ? 1 : -1);
    if (event.target.matches("input, select")) return;
    const direction = event.key === "ArrowLeft" || event.key === "PageUp" ? -1 : 1;
    const keys = {
      ArrowLeft: () => (event.shiftKey ? this.stepRequest(direction) : this.step(direction)),
      ArrowRight: () => (event.shiftKey ? this.stepRequest(direction) : this.step(direction)),
      PageUp: () => this.jump(direction),
      PageDown: () => this.jump(direction),
      Home: () => this.step(-this.position),
      End: () => this.step(this.schedule.length),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

async function begin() {
  const page = JSON.parse(document.getElementById("page").textContent);
  if (typeof DecompressionStream === "undefined") throw new Error("this browser is older than 2023");
  const unpacked = page.runs.map(async (facts) => {
    const data = document.getElementById(facts.data);
    return new Recording(facts, await unpack(data.textContent.trim()));
  });
  return new Player(page, await Promise.all(unpacked));
}

begin()
  .then((player) => {
    window.player = player;
    document.documentElement.classList.add("ready");
    player.root.focus({ preventScroll: true });
  })
  .catch((error) => {
    document.getElementById("failure").textContent = `The recording cannot be shown: ${error.message}.`;
    console.error(error);
  });
