// Opens the pages of a site in headless Chromium and checks what only a browser can show: that
// nothing is cut off on a phone, that no script failed, that search, filters and keyboard work,
// that nothing leaves the site, and that everything is readable without scripts.
//
//   SITE_PAGES=/tmp/site cargo test -p site files_are_left
//   node crates/site/tests/browser.mjs /tmp/site
//
// With --screenshots FOLDER it writes screenshots in light, dark, phone width and print.

import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser, READY_WITHIN_MS, Tab, findBrowser } from "../../report/tests/chromium.mjs";

// Runs in the page.
const inspect = () => {
  const root = document.documentElement;
  const isSeen = (element) => element.getClientRects().length > 0;
  const regions = ".scroll, pre, svg, canvas, .plot";
  const leaves = (element) => {
    const { right, left } = element.getBoundingClientRect();
    return !element.closest(regions) && (right > root.clientWidth + 1 || left < -1);
  };
  const main = [...document.querySelectorAll("main *, header *")].filter(isSeen);
  return {
    state: root.dataset.report,
    errors: root.dataset.errors,
    error: root.dataset.error,
    overflow: root.scrollWidth - root.clientWidth,
    leaving: main.filter(leaves).map((one) => `${one.tagName}.${one.className}`).slice(0, 3),
    lost: [...document.querySelectorAll("a[href^='#']")]
      .map((link) => decodeURIComponent(link.getAttribute("href").slice(1)))
      .filter((id) => !document.getElementById(id)),
    pwned: Boolean(window.pwned) || document.querySelectorAll("img, iframe, object").length > 0,
    policy: document.querySelector("meta[http-equiv=Content-Security-Policy]") !== null,
    headings: document.querySelectorAll("h1").length,
    blank: [...document.querySelectorAll("figure.chart")]
      .filter((figure) => !figure.querySelector("canvas")).map((figure) => figure.id),
  };
};

// Runs in the page: the readable text, without the parts that scripts added.
const text = () => {
  const copy = document.querySelector("main").cloneNode(true);
  const made = ".more, .hint, .plot, .picker, .u-legend, .values, #count, figure.chart, button";
  copy.querySelectorAll(made).forEach((one) => one.remove());
  copy.querySelectorAll("[hidden]").forEach((one) => one.removeAttribute("hidden"));
  return copy.textContent.replace(/\s+/g, " ").trim();
};

// Runs in the index.
const search = async () => {
  const faults = [];
  const expect = (holds, what) => holds || faults.push(what);
  const shown = () => [...document.querySelectorAll("ol.entries > li")]
    .filter((entry) => !entry.hidden).map((entry) => entry.id.slice("entry-".length));
  const settle = () => new Promise((done) => setTimeout(done, 50));
  const box = document.getElementById("search-for");
  const ask = async (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await settle();
  };
  const all = shown().length;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
  expect(document.activeElement === box, "/ does not go to the search");
  const [first] = document.querySelectorAll("ol.entries > li");
  const words = JSON.parse(document.getElementById("words").textContent);
  const rare = Object.entries(words).map(([id, text]) => [id, text.split(" ").find((word) =>
    word && Object.values(words).filter((other) => other.includes(word)).length === 1)])
    .find(([, word]) => word);
  if (rare) {
    await ask(box, rare[1].toUpperCase());
    expect(shown().join() === rare[0], `'${rare[1]}' finds ${shown().join()}, not ${rare[0]}`);
    const told = document.getElementById("count").textContent;
    expect(told.startsWith("1 of "), `it says '${told}'`);
    expect(location.hash.startsWith("#q="), "the address does not keep what is searched");
  }
  await ask(box, "nothing-has-this-word");
  expect(shown().length === 0, "a word that no entry has finds one");
  box.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  await settle();
  expect(shown().length === all, "Escape does not end the search");
  for (const select of document.querySelectorAll("#filters select")) {
    for (const { value } of select.options) {
      await ask(select, value);
      const some = shown();
      const isOne = (id) => {
        const { status, tags } = document.getElementById(`entry-${id}`).dataset;
        return value === "" || status === value || tags.split("|").includes(value);
      };
      expect(some.every(isOne), `the filter ${value} shows others`);
      const known = select.id === "of-status" ? some.length >= 0 : some.length > 0;
      expect(known, `the filter ${value} shows nothing`);
    }
    await ask(select, "");
  }
  expect(shown().length === all && first, "filters do not come back");
  return faults;
};

// With real key events: the first stop is the link past the header, and focus is visible.
const walk = async (tab) => {
  const faults = [];
  const key = async (name, code, value) => {
    const params = { key: name, code: name, windowsVirtualKeyCode: code, text: value };
    await tab.send("Input.dispatchKeyEvent", { type: "keyDown", ...params });
    await tab.send("Input.dispatchKeyEvent", { type: "keyUp", ...params });
  };
  await tab.evaluate("(() => { document.activeElement.blur(); scrollTo(0, 0); })()");
  const focus = `(() => {
    const one = document.activeElement;
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    const { left, width } = one.getBoundingClientRect();
    return { name: one.className || one.id || one.tagName, seen: left >= 0 && width > 0,
      outline: outlineStyle !== "none" && outlineWidth !== "0px", isBody: one === document.body };
  })()`;
  await key("Tab", 9);
  const first = await tab.evaluate(focus);
  if (first.name !== "skip" || !first.seen) faults.push(`the first key goes to ${first.name}`);
  const seen = new Set();
  for (let step = 0; step < 400; step += 1) {
    const { name, outline, isBody } = await tab.evaluate(focus);
    if (isBody) break;
    seen.add(name);
    if (!outline) faults.push(`the focus on ${name} cannot be seen`);
    await key("Tab", 9);
  }
  if (seen.size < 3) faults.push(`only ${seen.size} things can be reached`);
  await tab.evaluate("document.querySelector('.skip').focus()");
  await key("Enter", 13, "\r");
  const main = await tab.evaluate("document.activeElement.id");
  if (main !== "main") faults.push(`the skip link goes to '${main}'`);
  return [...new Set(faults)].slice(0, 5).map((fault) => `keyboard: ${fault}`);
};

const withoutScripts = async (tab, before) => {
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.send("Page.reload");
  const until = Date.now() + READY_WITHIN_MS;
  const loaded = "document.readyState === 'complete' && !document.documentElement.dataset.report";
  while (!(await tab.evaluate(loaded)) && Date.now() < until) {
    await new Promise((done) => setTimeout(done, 50));
  }
  const faults = [];
  const after = await tab.evaluate(`(${text})()`);
  if (after !== before) {
    const at = [...after].findIndex((letter, nth) => letter !== before[nth]);
    faults.push(`differs at '${after.slice(Math.max(at - 20, 0), at + 60)}'`);
  }
  const hidden = await tab.evaluate(
    "[...document.querySelectorAll('main li, main section, main table')]"
    + ".filter((one) => one.hidden).length");
  if (hidden > 0) faults.push(`${hidden} parts are hidden`);
  const dead = await tab.evaluate(
    "[...document.querySelectorAll('input, select, button')]"
    + ".filter((one) => one.getClientRects().length > 0).length");
  if (dead > 0) faults.push(`${dead} things can be operated and do nothing`);
  return faults.map((fault) => `without scripts: ${fault}`);
};

const addressOf = (folder, file) => pathToFileURL(resolve(folder, file)).href;

const check = async (browser, folder, file, pictures) => {
  const faults = [];
  const tab = await Tab.open(browser, addressOf(folder, file));
  const look = async (where) => {
    await tab.settle();
    const seen = await tab.evaluate(`(${inspect})()`);
    const expect = (holds, what) => holds || faults.push(`${where}: ${what}`);
    expect(seen.state === "ready", `page is '${seen.state}'`);
    expect(seen.errors === "0", `${seen.errors} errors, last '${seen.error}'`);
    expect(seen.overflow <= 0, `${seen.overflow} pixels too wide`);
    expect(seen.leaving.length === 0, `leaves the page: ${seen.leaving.join(", ")}`);
    expect(seen.lost.length === 0, `broken links: ${seen.lost.join(", ")}`);
    expect(!seen.pwned, "a string of the journal became markup");
    expect(seen.policy, "no content security policy");
    expect(seen.headings === 1, `${seen.headings} first headings`);
    expect(seen.blank.length === 0, `not drawn: ${seen.blank.join(", ")}`);
  };
  const picture = (name) => pictures
    && tab.picture(join(pictures, `${file.replaceAll("/", "-").replace(".html", "")}-${name}.png`));
  const media = (scheme, kind = "screen") => tab.send("Emulation.setEmulatedMedia",
    { media: kind, features: [{ name: "prefers-color-scheme", value: scheme }] });

  for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 400], ["dark", 400]]) {
    await media(scheme);
    await tab.size(width, 1000);
    await look(`${scheme}, ${width}`);
    await picture(`${scheme}-${width}`);
  }
  await media("light");
  await tab.size(1280, 1000);
  const before = await tab.evaluate(`(${text})()`);
  if (file === "index.html") faults.push(...await tab.evaluate(`(${search})()`));
  faults.push(...await walk(tab));
  // A4 without its margins, with a dark colour scheme.
  await media("dark", "print");
  await tab.size(703, 1000);
  await tab.settle();
  const paper = await tab.evaluate(
    "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()");
  if (paper !== "#ffffff") faults.push(`print: paper is ${paper}`);
  const cut = await tab.evaluate(`(${inspect})()`);
  if (cut.leaving.length > 0) faults.push(`print: leaves the paper: ${cut.leaving.join(", ")}`);
  await picture("print");
  await media("light");
  await tab.size(1280, 1000);
  faults.push(...await withoutScripts(tab, before));
  const own = pathToFileURL(`${resolve(folder)}/`).href;
  const isElsewhere = (url) => !url.startsWith(own) && !url.startsWith("blob:null/");
  tab.requests.filter(isElsewhere).forEach((url) => faults.push(`asked for ${url.slice(0, 100)}`));
  tab.complaints.forEach((told) => faults.push(`console: ${told}`));
  await tab.close();
  return faults;
};

// Search on the page of an entry opens the index, which then shows the matches.
const searchElsewhere = async (browser, folder, file) => {
  const tab = await Tab.open(browser, addressOf(folder, file));
  const asked = "window.box = document.getElementById('search-for'); box.value = 'http client';"
    + "box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })); 1";
  await tab.evaluate(asked);
  const until = Date.now() + READY_WITHIN_MS;
  const there =
    "document.querySelector('ol.entries') ? document.documentElement.dataset.report : ''";
  while ((await tab.evaluate(there).catch(() => "")) !== "ready" && Date.now() < until) {
    await new Promise((done) => setTimeout(done, 50));
  }
  await tab.settle();
  const value = await tab.evaluate("document.getElementById('search-for')?.value ?? ''");
  await tab.close();
  return value === "http client" ? [] : [`search from ${file} asks for '${value}'`];
};

const pagesOf = (folder) => readdirSync(folder, { recursive: true })
  .map(String).filter((name) => name.endsWith(".html")).sort();

const files = process.argv.slice(2);
const flag = files.indexOf("--screenshots");
const pictures = flag < 0 ? null : files.splice(flag, 2)[1] ?? "";
if (files.length !== 1 || pictures === "") {
  console.error("usage: node browser.mjs [--screenshots FOLDER] SITE");
  process.exit(2);
}
if (pictures) mkdirSync(pictures, { recursive: true });

const browser = new Browser(findBrowser());
await browser.send("Browser.setDownloadBehavior", { behavior: "deny" });
const [folder] = files;
let failed = 0;
try {
  const pages = pagesOf(folder);
  for (const file of pages) {
    const faults = await check(browser, folder, file, pictures);
    const isEntry = relative("entries", file).split("/").length === 1;
    if (isEntry) faults.push(...await searchElsewhere(browser, folder, file));
    failed += faults.length > 0 ? 1 : 0;
    const size = `${(statSync(join(folder, file)).size / 1e6).toFixed(2)} MB`;
    console.log(`${faults.length > 0 ? "FAILED" : "ok"}  ${file}: ${size}`);
    faults.forEach((fault) => console.log(`        ${fault}`));
  }
  if (pages.length === 0) throw new Error(`no pages in ${folder}`);
} finally {
  await browser.close();
}
process.exit(failed > 0 ? 1 : 0);
