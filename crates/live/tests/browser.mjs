// Opens the page of a running measurement in headless Chromium, and checks that its charts grow,
// that a verdict appears before the end, that report and record stay after the run has ended, that
// nothing is cut off on a phone, and that it can be read without scripts. Then it plays the events
// of a longer run and of an experiment of --confirm to that page.
//
//   node crates/live/tests/browser.mjs CEILING TARGET_SINK [--screenshots FOLDER]

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  Browser, READY_WITHIN_MS, Tab, findBrowser, inspect,
} from "../../report/tests/chromium.mjs";

const words = process.argv.slice(2);
const flag = words.indexOf("--screenshots");
const pictures = flag < 0 ? null : words.splice(flag, 2)[1];
const [ceiling, sink] = words;
if (!sink) {
  console.error("usage: node browser.mjs CEILING TARGET_SINK [--screenshots FOLDER]");
  process.exit(2);
}
if (pictures) mkdirSync(pictures, { recursive: true });

const children = new Set();
process.on("exit", () => { for (const child of children) child.kill("SIGKILL"); });
const start = (program, args) => {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  child.on("exit", () => children.delete(child));
  return child;
};

const lineWith = async (stream, pattern) => {
  for await (const line of createInterface({ input: stream })) {
    const found = line.match(pattern);
    if (found) return found[1];
  }
  throw new Error(`no line with ${pattern}`);
};

const faults = [];
const expect = (holds, what) => holds || faults.push(what);

const server = start(sink, ["--port", "0", "--threads", "1", "--delay", "fixed:1ms"]);
const address = await lineWith(server.stdout, /"addr":"([^"]+)"/);

const load = async (time) => {
  const args = ["load", `http://${address}/`, "-c", "8", "-d", time, "-t", "1", "--json", "--live",
    "--runs", "none"];
  const child = start(ceiling, args);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text) => { stdout += text; });
  const url = await lineWith(child.stderr, /live at (\S+)/);
  child.stderr.resume();
  return { child, url, record: () => JSON.parse(stdout) };
};

// A page that reloads itself may be gone while an expression is evaluated.
const asked = async (what, ask) => {
  const end = Date.now() + 3 * READY_WITHIN_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > end) throw new Error(`${what}: ${error.message}`);
    }
  }
};

const until = async (tab, what, expression) => {
  const end = Date.now() + 3 * READY_WITHIN_MS;
  // A page that is being replaced cannot evaluate an expression.
  while (!(await tab.evaluate(expression).catch(() => false))) {
    if (Date.now() > end) throw new Error(`waited for this: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
};

const looked = async (tab, where) => {
  await tab.settle();
  const seen = await tab.evaluate(`(${inspect})()`);
  expect(seen.state === "ready", `${where}: page is '${seen.state}'`);
  expect(seen.errors === "0", `${where}: ${seen.errors} errors, last '${seen.error}'`);
  expect(seen.figures === 5 && seen.counted === 5, `${where}: ${seen.figures} figures`);
  expect(seen.blank.length === 0, `${where}: not drawn: ${seen.blank.join(", ")}`);
  expect(seen.overflow <= 0, `${where}: ${seen.overflow} pixels too wide`);
  expect(!seen.pwned, `${where}: a string became markup`);
  expect(seen.policy, `${where}: no content security policy`);
};

const colours = (tab, value) =>
  tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
const picture = (tab, name, options) =>
  pictures && tab.picture(join(pictures, `${name}.png`), options);

const whileItRuns = async (browser) => {
  const run = await load("12s");
  const tab = await Tab.open(browser, run.url);
  await colours(tab, "light");
  const ticks = "Number(document.documentElement.dataset.ticks ?? 0)";
  await until(tab, "ticks", `${ticks} > 10`);
  const before = await tab.evaluate(ticks);
  await until(tab, "more ticks", `${ticks} > ${before + 3}`);
  await until(tab, "a verdict before the end",
    "document.querySelector('#conclusion .banner') !== null");
  const said = await tab.evaluate("document.getElementById('of-time').textContent");
  expect(said.startsWith("So far"), `before the end it says '${said}'`);
  await until(tab, "the hosts", "document.documentElement.dataset.hosts === '1'");
  const host = await tab.evaluate(`(() => {
    const place = document.querySelector(".host:not([hidden])");
    const text = (of) => place.querySelector(of).textContent;
    const bars = place.querySelectorAll("svg.cpus g").length;
    const busy = document.getElementById("busy.server").textContent;
    return { name: text("h3"), bars, busy, link: text("[data-part=links] td") };
  })()`);
  expect(host.name === "Host of generator and server", `the host is '${host.name}'`);
  expect(host.bars > 0 && /^\d.* %$/.test(host.busy), `CPUs: ${JSON.stringify(host)}`);
  expect(host.link === "lo", `the busiest interface is '${host.link}'`);
  await looked(tab, "light");
  await picture(tab, "live-light");
  await colours(tab, "dark");
  await looked(tab, "dark");
  await picture(tab, "live-dark");
  await colours(tab, "light");
  await tab.size(400, 800);
  await looked(tab, "phone");
  await picture(tab, "live-phone");
  await tab.size(1280, 1000);
  const rate = await tab.evaluate("document.getElementById('rate').textContent");
  expect(/\d.*\/s$/.test(rate), `the rate is '${rate}'`);

  await until(tab, "the end", "document.documentElement.dataset.over === 'yes'");
  await once(run.child, "exit");
  const record = run.record();
  const ended = await tab.evaluate("({ ...document.documentElement.dataset })");
  expect(ended.state === "ended" && ended.run === record.id, `ended as ${JSON.stringify(ended)}`);
  const links = await tab.evaluate("document.querySelectorAll('#files a').length");
  expect(links === 2, `${links} links to report and record`);
  await looked(tab, "ended");
  await picture(tab, "live-ended");
  const sentence =
    await tab.evaluate("document.querySelector('#conclusion .verdict').textContent");
  // The server has ended; the report is opened from the copy that the page has kept.
  tab.complaints.length = 0;
  // The navigation ends the page before it can respond.
  await tab.evaluate("location.href = document.querySelector('#files a').href").catch(() => {});
  await until(tab, "the report", "document.getElementById('record') !== null");
  await tab.ready();
  const kept = await tab.evaluate("JSON.parse(document.getElementById('record').textContent).id");
  expect(kept === record.id, `the report is of ${kept}`);
  const state = await tab.evaluate("({ ...document.documentElement.dataset })");
  expect(state.report === "ready" && state.errors === "0", `report: ${JSON.stringify(state)}`);
  const same = await tab.evaluate("document.querySelector('.banner .verdict').textContent");
  expect(same === sentence, `the page ended with '${sentence}', the report says '${same}'`);
  tab.complaints.forEach((text) => expect(false, `console: ${text}`));
  const origins = new Set([new URL(run.url).origin, "null"]);
  const isOurs = (url) => url.startsWith("blob:") || origins.has(new URL(url).origin);
  tab.requests.filter((url) => !isOurs(url)).forEach((url) => expect(false, `asked for ${url}`));
  await tab.close();
};

const withoutScripts = async (browser) => {
  const run = await load("600s");
  const tab = await Tab.open(browser, run.url);
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.send("Page.reload");
  const value = "document.getElementById('rate')?.textContent ?? ''";
  await until(tab, "a page without scripts",
    `document.readyState === 'complete' && !document.documentElement.dataset.charts`);
  await until(tab, "a rate without scripts", `/\\d/.test(${value})`);
  const first = await asked("when it was loaded", () => tab.evaluate("performance.timeOrigin"));
  await until(tab, "the page again", `performance.timeOrigin > ${first}`);
  await until(tab, "its text", `document.body.innerText.includes('every two seconds')`);
  await asked("a picture", async () => picture(tab, "live-without-scripts", { still: true }));
  run.child.kill("SIGTERM");
  await once(run.child, "exit");
  await tab.close();
};

// Two hosts, one of many CPUs whose link is known, and one of which nothing was read.
const withTwoHosts = async (tab, play) => {
  await play(`[{ kind: "hosts", hosts: [
    { sides: ["client"], figures: { "busy.client": 0.5734, "softirq.drops.client": 0 },
      cpus: Array.from({ length: 64 }, (_, cpu) => [cpu, [cpu, 20, 5, 0, 0, 1]]),
      links: [{ name: "<b>eth0", received: 236e6, sent: 1e6, shares: [0.038, 0.0016] }],
      interrupts: Array.from({ length: 64 }, (_, nth) => ["virtio0-input." + nth, 9000 - nth]) },
    { sides: ["server"], figures: {}, cpus: null, links: null, interrupts: null },
  ] }]`);
  await until(tab, "two hosts", "document.documentElement.dataset.hosts === '2'");
  const is = await tab.evaluate(`(() => {
    const texts = (of) => [...document.querySelectorAll(of)].map((one) => one.textContent).join();
    return {
      names: texts(".host:not([hidden]) h3"), busy: texts("[id='busy.client']"),
      drops: texts("[id='softirq.drops.client']"), unread: texts("[id='softirq.drops.server']"),
      links: texts("#host-client [data-part=links] td"),
      nothing: texts("#host-server [data-part=links] td"),
      bars: document.querySelectorAll("#host-client svg.cpus g").length,
      none: document.querySelector("#host-server svg.cpus").hasAttribute("hidden"),
    };
  })()`);
  const wanted = {
    names: "Generator's host,Server's host", busy: "57.3 %", drops: "0/s", unread: "-",
    links: "<b>eth0,236MB/s,3.8 %,1.00MB/s,0.2 %", nothing: "-", bars: 64, none: true,
  };
  expect(JSON.stringify(is) === JSON.stringify(wanted), `two hosts: ${JSON.stringify(is)}`);
  await looked(tab, "two hosts");
  await picture(tab, "live-two-hosts");
  await tab.size(360, 780, 2);
  await looked(tab, "two hosts on a phone");
  await picture(tab, "live-two-hosts-phone");
  await tab.size(1280, 1000);
};

const withEventsOfALongerRun = async (browser) => {
  const run = await load("600s");
  const tab = await Tab.open(browser, run.url);
  const source = `
    window.EventSource = class { constructor() { window.made = this; } close() {} };
    window.tickAt = (seconds) => ({
      kind: "tick", t_s: seconds, stage: "measuring", done: null, in_flight: 8, open: 8,
      counts: "responses", rate: 8000 + seconds % 7, p50_ns: 1e6, p99_ns: 2e6, client_cpus: 0.5,
      server_cpus: 0.5, client_busy: 0.2, server_busy: null, failures: 0, failed: [],
    });`;
  await tab.send("Page.addScriptToEvaluateOnNewDocument", { source });
  await tab.send("Page.reload");
  await until(tab, "a page that gets no events of the run",
    "window.made?.onmessage != null && document.documentElement.dataset.report === 'ready'");
  const play = (messages) => tab.evaluate(`${messages}.forEach((message) =>
    made.onmessage({ data: JSON.stringify(message), lastEventId: "" }))`);
  const ticks = (count) => until(tab, `${count} ticks`,
    `document.documentElement.dataset.ticks === '${count}'`);
  const seen = () => tab.evaluate(`(() => {
    const { x, series, bands } = ceilingCharts.mounted[0].chart.views[0];
    const [stage, gap] = ["stage", "gap"].map((id) => document.getElementById(id).textContent);
    const ends = [x[0], x[x.length - 1]].join(" to ");
    const isWhole = series.every(({ y }) => y.length === x.length);
    return { count: x.length, ends, isWhole, stage, gap, bands: bands.map(({ to }) => to).join() };
  })()`);
  const same = (is, what, wanted) => Object.entries(wanted).forEach(([key, value]) =>
    expect(is[key] === value, `${what}: ${key} is '${is[key]}', not '${value}'`));

  await play(`[
    { kind: "begin", title: "made up", subtitle: "" },
    { kind: "level", index: 0, of: 1, text: "c8" },
    ...Array.from({ length: 20_000 }, (_, nth) => tickAt(nth / 5)),
  ]`);
  await ticks(20_000);
  const stage = "measuring";
  same(await seen(), "at the limit of ticks", { count: 20_000, gap: "", stage, bands: "3999.8" });
  await play("[tickAt(4000)]");
  await ticks(20_001);
  same(await seen(), "past the limit of ticks", {
    count: 15_001, ends: "0 to 4000", isWhole: true, stage, bands: "4000",
    gap: "5000 older ticks were left out: the run is too long to keep all.",
  });
  await looked(tab, "past the limit of ticks");

  const doing = "half of the server's CPU time, block 1 of 2";
  await play(`[{ kind: "doing", text: ${JSON.stringify(doing)} }, tickAt(4001), tickAt(4002)]`);
  await ticks(20_003);
  same(await seen(), "in a block of an experiment", { stage: doing, bands: "4000" });
  await play(`[{ kind: "level", index: 0, of: 1, text: "c8" }, tickAt(4003)]`);
  await ticks(20_004);
  same(await seen(), "after an experiment", { stage, bands: "4000,4003" });
  await looked(tab, "after an experiment");
  await withTwoHosts(tab, play);
  run.child.kill("SIGTERM");
  await once(run.child, "exit");
  await tab.close();
};

const browser = new Browser(findBrowser());
await browser.send("Browser.setDownloadBehavior", { behavior: "deny" });
try {
  await whileItRuns(browser);
  await withoutScripts(browser);
  await withEventsOfALongerRun(browser);
} catch (error) {
  faults.push(error.message);
} finally {
  await browser.close();
}
console.log(`${faults.length > 0 ? "FAILED" : "ok"}  the page of a run under way`);
faults.forEach((fault) => console.log(`        ${fault}`));
process.exit(faults.length > 0 ? 1 : 0);
