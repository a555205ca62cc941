"use strict";
// Search and filters of a journal. Every page has the search box; the index has the entries, and
// their words in a JSON document. The query is in the fragment of the address, which also works for
// file: addresses.
(() => {
  const header = document.querySelector("header.site");
  const box = document.getElementById("search-for");
  const filters = document.getElementById("filters");
  const isText = (element) => element.matches("input, textarea, select, [contenteditable]");

  box.closest("[hidden]").hidden = false;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !isText(event.target)) {
      event.preventDefault();
      box.focus();
      box.select();
    }
  });

  // On other pages, a search opens the index.
  if (!filters) {
    box.addEventListener("keydown", (event) => {
      const asked = new URLSearchParams({ q: box.value });
      if (event.key === "Enter") location.href = `${header.dataset.index}#${asked}`;
    });
    return;
  }

  const words = JSON.parse(document.getElementById("words").textContent);
  const entries = [...document.querySelectorAll("ol.entries > li")];
  const count = document.getElementById("count");
  const all = count.textContent;
  const fields = { q: box, tag: document.getElementById("of-tag"),
    status: document.getElementById("of-status") };

  const fits = (entry, asked) => {
    const { tag, status } = fields;
    if (status.value && entry.dataset.status !== status.value) return false;
    if (tag.value && !entry.dataset.tags.split("|").includes(tag.value)) return false;
    // The anchor of an entry is `entry-` and its name.
    const name = entry.id.slice("entry-".length);
    return asked.every((word) => words[name].includes(word));
  };

  const filter = () => {
    const asked = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const entry of entries) entry.hidden = !fits(entry, asked);
    const shown = entries.filter((entry) => !entry.hidden).length;
    count.textContent = shown === entries.length ? all : `${shown} of ${all}`;
  };

  const remember = () => {
    const asked = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) {
      if (field.value) asked.set(name, field.value);
    }
    const hash = asked.toString();
    if (location.hash.slice(1) !== hash) location.replace(`#${hash}`);
  };

  const recall = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (location.hash.length > 1 && !location.hash.includes("=")) return;
    for (const [name, field] of Object.entries(fields)) field.value = asked.get(name) ?? "";
    // No entry has this tag.
    for (const field of [fields.tag, fields.status]) field.value ||= "";
    filter();
  };

  for (const field of Object.values(fields)) {
    field.addEventListener("input", filter);
    field.addEventListener("change", remember);
  }
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    box.value = "";
    filter();
    remember();
  });
  addEventListener("hashchange", recall);
  filters.hidden = false;
  recall();
})();
