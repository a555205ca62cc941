// Opens reports in headless Chromium and checks what only a browser can show: that every chart was
// drawn, that no script failed, that no link is broken, that the page made no network requests, and
// that nothing is cut off on a phone. It prints the size of each page and the time to draw it.
//
//   REPORT_PAGES=/tmp/pages cargo test -p report files_are_left
//   node crates/report/tests/browser.mjs /tmp/pages/*.html
//
// With --screenshots FOLDER it writes screenshots in light, dark, phone width and print. With
// --picture FILE it only writes a picture of a page, down to its evidence, for a document.
// The browser is $CHROMIUM, or the first of the usual names that exists.

import { statSync, writeFileSync, mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, READY_WITHIN_MS, Tab, findBrowser, inspect } from "./chromium.mjs";

// Runs in the page: checks rows of dots, which need no scripts. A row must be high enough to read,
// its drawing must stay inside its figure, and the words next to it must not be cut.
const inspectDots = () => {
  const faults = [];
  for (const figure of document.querySelectorAll("figure.dotted")) {
    const { left, right } = figure.getBoundingClientRect();
    const rows = [...figure.querySelectorAll("svg.marks")];
    const isNarrow = (row) => row.getBoundingClientRect().width < 110;
    if (rows.length === 0 || rows.some(isNarrow)) faults.push(`${figure.id} has no room`);
    const drawn = [...figure.querySelectorAll("svg.marks circle, svg.marks path, .axis text")];
    const leaves = (one) => {
      const place = one.getBoundingClientRect();
      return place.width === 0 || place.left < left || place.right > right;
    };
    if (drawn.length === 0 || drawn.some(leaves)) faults.push(`${figure.id} is cut`);
    const region = figure.querySelector(".scroll");
    if (region.scrollWidth > region.clientWidth + 1) faults.push(`${figure.id} has to be scrolled`);
  }
  return faults;
};

// Runs in the page: checks that a dot leads to its visit and unfolds it.
const followDot = async () => {
  const link = document.querySelector("svg.marks a");
  if (!link) return [];
  const visit = document.getElementById(link.getAttribute("href").slice(1));
  const wasOpen = visit.open;
  link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  await new Promise((done) => setTimeout(done, 100));
  return wasOpen || !visit.open ? ["a dot does not lead to its visit"] : [];
};

// Runs in the page: links to what is folded unfold it; then everything is unfolded.
const unfoldAll = async () => {
  const faults = [];
  for (const folded of document.querySelectorAll("section > details.part[id^=in-]")) {
    if (folded.open) faults.push(`${folded.id} is open at first`);
    const target = folded.querySelector("figure[id]") ?? folded.closest("section");
    location.hash = `#${target.id}`;
    await new Promise((done) => setTimeout(done, 50));
    if (!folded.open) faults.push(`a link to ${target.id} does not unfold ${folded.id}`);
    folded.open = true;
  }
  return faults;
};

// Runs in the page while it is laid out for print.
const inspectPaper = () => {
  const root = document.documentElement;
  const isShown = (element) => element.getClientRects().length > 0;
  const isCut = (element) => element.getBoundingClientRect().right > root.clientWidth + 1;
  const live = [...document.querySelectorAll("nav, button, .hint, .more, .values")];
  const wide = [...document.querySelectorAll("canvas, table, figure.flame > svg, .grid svg")];
  return {
    live: live.filter(isShown).map((element) => element.className || element.tagName),
    cut: wide.filter(isShown).filter(isCut).map((one) => one.closest("section").id),
    paper: getComputedStyle(root).getPropertyValue("--paper").trim(),
  };
};

// Runs in the page: operates every control with the keyboard alone.
const operate = () => {
  const press = (target, key) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const faults = [];
  for (const picker of document.querySelectorAll(".picker select")) {
    for (let index = 0; index < picker.options.length; index += 1) {
      picker.value = String(index);
      picker.dispatchEvent(new Event("change"));
      if (picker.value !== String(index)) faults.push("a picker does not keep its choice");
    }
  }
  for (const plot of document.querySelectorAll(".plot")) {
    if (plot.tabIndex !== 0) faults.push("a plot cannot be reached");
    ["End", "ArrowLeft", "Home", "ArrowRight", "Escape"].forEach((key) => press(plot, key));
    const name = plot.querySelector(".u-series th[role=switch]");
    const before = name.getAttribute("aria-checked");
    press(name, "Enter");
    press(name, " ");
    if (name.getAttribute("aria-checked") !== before) faults.push("a switch does not come back");
  }
  for (const details of document.querySelectorAll("details")) details.open = true;
  document.getElementById("save-record").click();
  return faults;
};

// Checks what a browser without scripts shows: everything except charts.
const withoutScripts = async (tab) => {
  const dots = "document.querySelectorAll('svg.marks circle').length";
  const before = await tab.evaluate(dots);
  await tab.send("Emulation.setEmulatedMedia", { media: "screen", features: [] });
  await tab.size(1280, 1000);
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.send("Page.reload");
  const until = Date.now() + READY_WITHIN_MS;
  const loaded = "document.readyState === 'complete' && !document.documentElement.dataset.charts";
  while (!(await tab.evaluate(loaded)) && Date.now() < until) {
    await new Promise((done) => setTimeout(done, 50));
  }
  const faults = await tab.evaluate(`(${inspectDots})()`);
  const after = await tab.evaluate(dots);
  if (after !== before) faults.push(`${after} of ${before} dots`);
  return faults.map((fault) => `without scripts: ${fault}`);
};

const check = async (browser, file, pictures) => {
  const faults = [];
  const tab = await Tab.open(browser, pathToFileURL(resolve(file)).href);
  (await tab.evaluate(`(${unfoldAll})()`)).forEach((fault) => faults.push(fault));
  const look = async (where) => {
    await tab.settle();
    const seen = await tab.evaluate(`(${inspect})()`);
    const expect = (holds, what) => holds || faults.push(`${where}: ${what}`);
    expect(seen.state === "ready", `page is '${seen.state}'`);
    expect(seen.errors === "0", `${seen.errors} errors, last '${seen.error}'`);
    expect(seen.figures === seen.counted, `${seen.figures} figures, ${seen.counted} charts`);
    expect(seen.blank.length === 0, `not drawn: ${seen.blank.join(", ")}`);
    expect(seen.overflow <= 0, `${seen.overflow} pixels too wide`);
    expect(seen.hints === 0, `${seen.hints} tables with a wrong hint at more columns`);
    expect(seen.lost.length === 0, `broken links: ${seen.lost.join(", ")}`);
    expect(!seen.pwned, "a string of the run became markup");
    expect(seen.policy, "no content security policy");
    const dots = await tab.evaluate(`(${inspectDots})()`);
    dots.forEach((fault) => faults.push(`${where}: ${fault}`));
    return seen;
  };
  const picture = (name) =>
    pictures && tab.picture(join(pictures, `${basename(file, ".html")}-${name}.png`));
  const colours = (value) =>
    tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });

  await colours("light");
  const drawn = await tab.drawn();
  const { figures } = await look("light");
  await picture("light");
  await colours("dark");
  await look("dark");
  await picture("dark");
  await colours("light");
  await tab.size(400, 800);
  await look("phone");
  await picture("phone");
  await tab.size(1280, 1000);
  (await tab.evaluate(`(${followDot})()`)).forEach((fault) => faults.push(fault));
  (await tab.evaluate(`(${operate})()`)).forEach((fault) => faults.push(`keyboard: ${fault}`));
  await look("after use");
  // A4 without its margins, with a dark colour scheme.
  const features = [{ name: "prefers-color-scheme", value: "dark" }];
  await tab.send("Emulation.setEmulatedMedia", { media: "print", features });
  await tab.size(703, 1000);
  await tab.settle();
  const paper = await tab.evaluate(`(${inspectPaper})()`);
  if (paper.live.length > 0) faults.push(`print: has ${[...new Set(paper.live)].join(", ")}`);
  if (paper.cut.length > 0) faults.push(`print: something is cut in ${paper.cut.join(", ")}`);
  if (paper.paper !== "#ffffff") faults.push(`print: paper is ${paper.paper}`);
  if (pictures) {
    await picture("print");
    const { data } = await tab.send("Page.printToPDF", { printBackground: true });
    const path = join(pictures, `${basename(file, ".html")}.pdf`);
    writeFileSync(path, Buffer.from(data, "base64"));
  }
  faults.push(...await withoutScripts(tab));
  // A blob is part of the page: the record, when it is saved.
  const elsewhere =
    tab.requests.filter((url) => url !== tab.address && !url.startsWith("blob:null/"));
  elsewhere.forEach((url) => faults.push(`network: asked for ${url.slice(0, 100)}`));
  tab.complaints.forEach((text) => faults.push(`console: ${text}`));
  await tab.close();
  return { figures, drawn, faults };
};

// Verdict, levels and curves: the part a reader sees first.
const show = async (browser, file, path) => {
  const tab = await Tab.open(browser, pathToFileURL(resolve(file)).href);
  await tab.size(1120, 1000);
  // As wide as a page of text on the usual sites.
  await tab.picture(path, { end: "document.getElementById('evidence').offsetTop", scale: 0.75 });
  await tab.close();
};

const usage =
  "usage: node browser.mjs [--screenshots FOLDER] FILE.html...\n" +
  "       node browser.mjs --picture FILE.png FILE.html";
const files = process.argv.slice(2);
const taken = (name) => {
  const flag = files.indexOf(name);
  return flag < 0 ? null : files.splice(flag, 2)[1] ?? "";
};
const [pictures, one] = [taken("--screenshots"), taken("--picture")];
if (files.length === 0 || [pictures, one].includes("") || (one && files.length > 1)) {
  console.error(usage);
  process.exit(2);
}
if (pictures) mkdirSync(pictures, { recursive: true });

const browser = new Browser(findBrowser());
await browser.send("Browser.setDownloadBehavior", { behavior: "deny" });
let failed = 0;
try {
  if (one) await show(browser, files[0], one);
  for (const file of one ? [] : files) {
    const { figures, drawn, faults } = await check(browser, file, pictures);
    failed += faults.length > 0 ? 1 : 0;
    const size = `${(statSync(file).size / 1e6).toFixed(2)} MB`;
    const seen = `${figures} charts, ${size}, ${drawn}`;
    console.log(`${faults.length > 0 ? "FAILED" : "ok"}  ${basename(file)}: ${seen}`);
    faults.forEach((fault) => console.log(`        ${fault}`));
  }
} finally {
  await browser.close();
}
process.exit(failed > 0 ? 1 : 0);
