"use strict";
// Widens a box of a flame graph to the full width. Positions are percentages in the markup.
(() => {
  const read = (box) => ({
    box,
    from: parseFloat(box.getAttribute("x")),
    width: parseFloat(box.getAttribute("width")),
    y: parseFloat(box.getAttribute("y")),
  });

  const widen = (places, chosen) => {
    const scale = 100 / chosen.width;
    for (const { box, from, width, y } of places) {
      const isAbove = y < chosen.y && from <= chosen.from && from + width >= chosen.from;
      box.setAttribute("x", isAbove ? "0%" : `${(from - chosen.from) * scale}%`);
      box.setAttribute("width", isAbove ? "100%" : `${width * scale}%`);
      const isInside = from >= chosen.from - 1e-3
        && from + width <= chosen.from + chosen.width + 1e-3;
      box.classList.toggle("away", !isAbove && !isInside);
    }
  };

  for (const graph of document.querySelectorAll("figure.flame > svg")) {
    const places = [...graph.children].map(read);
    graph.addEventListener("click", (event) => {
      const box = event.target.closest("figure.flame > svg > svg");
      const chosen = places.find((place) => place.box === box);
      if (chosen) widen(places, chosen);
    });
  }
})();
