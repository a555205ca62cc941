"use strict";
// Starts the page: reads the data, draws the charts, follows the theme, and marks the root element
// as ready.
(() => {
  const root = document.documentElement;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);

  const figures = [...document.querySelectorAll("figure.chart")];
  // A page without charts has no script for them.
  const canDraw = typeof ceilingCharts !== "undefined";
  const states = canDraw ? ceilingCharts.mountAll(figures, read("charts")) : [];
  const redraw = () => canDraw && ceilingCharts.drawAll(states);

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Canvases keep their colours, so they are redrawn for print.
  const print = (theme) => {
    root.dataset.theme = theme;
    redraw();
  };
  addEventListener("beforeprint", () => print("paper"));
  addEventListener("afterprint", () => print(""));

  // A link to a folded element, to something inside one or to a section unfolds it.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const within = target?.querySelector(":scope > h2 + details.part");
    if (within) within.open = true;
    let folded = target?.closest("details");
    if (!folded) return;
    for (; folded; folded = folded.parentElement.closest("details")) folded.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();

  // A region that scrolls sideways also says so in words, until its end has been seen.
  const places = ["section", "section > details", "section > details > details"];
  const regions = places.map((place) => `${place} > .scroll`).join(", ");
  for (const region of document.querySelectorAll(regions)) {
    const more = document.createElement("p");
    more.className = "more";
    more.textContent = "more columns \u2192";
    region.before(more);
    const tell = () => {
      const rest = region.scrollWidth - region.clientWidth;
      more.hidden = rest <= 1;
      more.classList.toggle("seen", region.scrollLeft >= rest - 1);
    };
    tell();
    region.addEventListener("scroll", tell, { passive: true });
    new ResizeObserver(() => requestAnimationFrame(tell)).observe(region);
  }

  const save = document.getElementById("save-record");
  if (save) save.hidden = false;
  save?.addEventListener("click", () => {
    // The text as it is, not parsed and reserialized: integers may be too large for scripts.
    const text = document.getElementById("record").textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text, "\n"], { type: "application/json" }));
    const name = String(read("record").id ?? "record");
    link.download = `${name.replace(/[^A-Za-z0-9._-]/g, "_")}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  root.dataset.charts = String(states.length);
  if (root.dataset.report === "loading") root.dataset.report = "ready";
})();
