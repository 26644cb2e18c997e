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

// Charts: the still picture of each figure gives way to a live one that follows the page's width. Printing shows the
// width of the paper, so the live ones are scaled by CSS there.
for (const plot of document.querySelectorAll(".plot")) {
  const spec = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
  const still = [...plot.childNodes];
  const width = plot.clientWidth;
  if (typeof vegaEmbed === "undefined" || !width) continue;
  vegaEmbed(plot, spec, { mode: "vega-lite", renderer: plot.dataset.renderer ?? "svg", actions: false, tooltip: { theme: "custom" } })
    .then(() => plot.classList.add("live"))
    .catch((error) => {
      console.error(error);
      plot.replaceChildren(...still);
    });
}

// Paper cannot be opened: print everything.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
