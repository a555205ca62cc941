// Headless Chromium without npm packages: the DevTools protocol over a pipe, for tests of pages.
// The browser is $CHROMIUM, or the first of the usual names that exists.

import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-default-apps", "--disable-extensions", "--mute-audio", "--hide-scrollbars",
  "--remote-debugging-pipe",
];
export const READY_WITHIN_MS = 20_000;

export const findBrowser = () => {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of NAMES) {
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // Not this name.
    }
  }
  throw new Error(`no browser found; install one of ${NAMES.join(", ")} or set CHROMIUM`);
};

// The DevTools protocol: JSON messages, each ended by a zero byte, on descriptors 3 and 4.
export class Browser {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), "report-browser-"));
    const stdio = ["ignore", "ignore", "ignore", "pipe", "pipe"];
    this.child = spawn(program, [...FLAGS, `--user-data-dir=${this.profile}`], { stdio });
    this.responses = new Map();
    this.listeners = [];
    this.number = 0;
    let rest = "";
    this.child.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.receive(JSON.parse(message)));
    });
  }

  receive(message) {
    if (message.id === undefined) {
      this.listeners.forEach((listener) => listener(message));
      return;
    }
    const { resolve: done, reject } = this.responses.get(message.id);
    this.responses.delete(message.id);
    if (message.error) reject(new Error(message.error.message));
    else done(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    this.number += 1;
    const id = this.number;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((done, reject) => this.responses.set(id, { resolve: done, reject }));
  }

  async close() {
    const gone = new Promise((done) => this.child.once("exit", done));
    await this.send("Browser.close").catch(() => {});
    await gone;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Tab {
  static async open(browser, address) {
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } =
      await browser.send("Target.attachToTarget", { targetId, flatten: true });
    const tab = new Tab(browser, targetId, sessionId);
    browser.listeners.push((message) => message.sessionId === sessionId && tab.notice(message));
    const domains = ["Page", "Runtime", "Network", "Log", "Performance"];
    for (const domain of domains) await tab.send(`${domain}.enable`);
    await tab.size(1280, 1000);
    tab.address = address;
    await tab.send("Page.navigate", { url: tab.address });
    await tab.ready();
    return tab;
  }

  constructor(browser, targetId, sessionId) {
    Object.assign(this, { browser, targetId, sessionId, requests: [], complaints: [] });
  }

  notice({ method, params }) {
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    if (method === "Runtime.exceptionThrown") {
      const { exceptionDetails } = params;
      this.complaints.push(exceptionDetails.exception?.description ?? exceptionDetails.text);
    }
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) {
      this.complaints.push(params.entry.text);
    }
    if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type)) {
      this.complaints.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
    }
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  size(width, height) {
    const params = { width, height, deviceScaleFactor: 1, mobile: width < 500 };
    return this.send("Emulation.setDeviceMetricsOverride", params);
  }

  async evaluate(expression) {
    const params = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", params);
    if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
    return result.value;
  }

  async ready() {
    const until = Date.now() + READY_WITHIN_MS;
    for (;;) {
      const state = await this.evaluate("document.documentElement?.dataset.report ?? ''");
      if (state === "ready" || state === "failed") return;
      if (Date.now() > until) throw new Error(`the page is '${state}' and never became ready`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  // Two frames: observers have run and canvases are painted.
  settle() {
    return this.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
  }

  // Without scripts, no frame callback runs, so such a page is `still`.
  async picture(path, options = {}) {
    const { end = "document.documentElement.scrollHeight", scale = 1, still = false } = options;
    if (!still) await this.settle();
    const height = await this.evaluate(end);
    const width = await this.evaluate("innerWidth");
    const clip = { x: 0, y: 0, width, height: Math.min(height, 12_000), scale };
    const params = { format: "png", captureBeyondViewport: true, clip };
    const { data } = await this.send("Page.captureScreenshot", params);
    writeFileSync(path, Buffer.from(data, "base64"));
  }

  // Scripts are at the end of the page: once they have run, it is parsed, laid out and drawn.
  async drawn() {
    const after_ms = await this.evaluate(
      'Math.round(performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd)');
    const { metrics } = await this.send("Performance.getMetrics");
    const { value: cpu_s } = metrics.find(({ name }) => name === "ThreadTime");
    return `drawn after ${after_ms} ms, ${Math.round(1000 * cpu_s)} ms of CPU time`;
  }

  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.targetId });
  }
}

// Runs in the page. A chart counts as drawn when its canvas holds more than one colour.
export const inspect = () => {
  const figures = [...document.querySelectorAll("figure.chart")];
  const isDrawn = (figure) => {
    const canvas = figure.querySelector(".uplot canvas");
    if (!canvas || canvas.width === 0 || canvas.height === 0) return false;
    const { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    const pixels = new Uint32Array(data.buffer);
    return pixels.some((pixel) => pixel !== pixels[0]);
  };
  const scrolled = "section > .scroll, section > details[open] > .scroll";
  const regions = [...document.querySelectorAll(scrolled)];
  const isCut = (region) => region.scrollWidth > region.clientWidth + 1;
  const hasMore = (region) => region.previousElementSibling?.matches(".more:not([hidden])");
  const root = document.documentElement;
  return {
    state: root.dataset.report,
    errors: root.dataset.errors,
    error: root.dataset.error,
    counted: Number(root.dataset.charts),
    figures: figures.length,
    blank: figures.filter((figure) => !isDrawn(figure)).map((figure) => figure.id),
    overflow: root.scrollWidth - root.clientWidth,
    lost: [...document.querySelectorAll("a[href^='#']")]
      .map((link) => link.getAttribute("href"))
      .filter((hash) => document.getElementById(decodeURIComponent(hash.slice(1))) === null),
    pwned: Boolean(window.pwned) || document.querySelectorAll("img, iframe, object").length > 0,
    hints: regions.filter((region) => hasMore(region) !== isCut(region)).length,
    policy: document.querySelector("meta[http-equiv=Content-Security-Policy]") !== null,
  };
};
