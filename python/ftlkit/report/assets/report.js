"use strict";
// Sorting: each heading of a sortable table becomes a button; the state is told to screen readers by aria-sort.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const key = (row, index) => {
    const text = row.cells[index].dataset.sort;
    return text === "" ? null : Number(text);
  };
  headings.forEach((heading, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a, index), key(b, index)];
        // Rows without a value stay last either way.
        if (x === null || y === null) return (x === null) - (y === null);
        return ascending ? x - y : y - x;
      });
      body.append(...rows);
    });
  });
}

// Filtering: rows that lack one of the words are hidden, and the number of the others is told to screen readers.
for (const search of document.querySelectorAll("input[data-filters]")) {
  const rows = [...document.getElementById(search.dataset.filters).tBodies[0].rows];
  const place = search.closest("p");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    rows.forEach((row) => { row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word)); });
    place.querySelector("[role=status]").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  });
  place.hidden = false;
}

// A timeline moves and zooms by buttons as by dragging: what it shows is a signal of its chart.
function moveByButtons(plot, view) {
  const buttons = plot.parentElement.querySelector(".moves");
  const name = plot.dataset.time;
  const [first, last] = view.scale("x").domain();
  const shown = () => (view.signal(name)?.length ? view.signal(name) : [first, last]);
  const move = (shift, zoom) => {
    const [begin, end] = shown();
    const width = Math.min(Math.max((end - begin) * zoom, 1000), last - first);
    const middle = (begin + end) / 2 + shift * (end - begin);
    const from = Math.min(Math.max(middle - width / 2, first), last - width);
    view.signal(name, [from, from + width]).runAsync();
  };
  const say = () => {
    const [begin, end] = shown().map((time) => `${(time / 1e6).toLocaleString("en", { maximumFractionDigits: 3 })} ms`);
    buttons.querySelector("[role=status]").textContent = `${begin} to ${end}`;
  };
  buttons.addEventListener("click", ({ target }) => {
    if (target.dataset.shift || target.dataset.zoom) move(Number(target.dataset.shift ?? 0), Number(target.dataset.zoom ?? 1));
  });
  view.addSignalListener(name, say);
  say();
  buttons.hidden = false;
}

// Charts: the still picture of each figure gives way to a live one that follows the page's width. Printing shows the
// width of the paper, so the live ones are scaled by CSS there.
for (const plot of document.querySelectorAll(".plot")) {
  const spec = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
  const still = [...plot.childNodes];
  const width = plot.clientWidth;
  if (typeof vegaEmbed === "undefined" || !width) continue;
  vegaEmbed(plot, spec, { mode: "vega-lite", renderer: plot.dataset.renderer ?? "svg", actions: false, tooltip: { theme: "custom" } })
    .then(({ view }) => {
      if (plot.dataset.time) moveByButtons(plot, view);
      plot.classList.add("live");
    })
    .catch((error) => {
      console.error(error);
      plot.replaceChildren(...still);
    });
}

// Paper cannot be opened: print everything.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
