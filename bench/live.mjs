#!/usr/bin/env node
// The cost of watchers: the same load without and with watchers of --live, in pairs. Prints the
// ratios of rates and of latencies with their intervals, and the CPU time of the threads that serve
// watchers. node bench/live.mjs; PAIRS=20 WATCHERS=10 SECONDS=10 CEILING=bin/ceiling
// SINK=bin/target-sink
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { interval } from "./live/interval.mjs";
import { started } from "./processes.mjs";

const PAIRS = Number(process.env.PAIRS ?? 20);
const WATCHERS = Number(process.env.WATCHERS ?? 10);
const SECONDS = Number(process.env.SECONDS ?? 10);
const CEILING = process.env.CEILING ?? "bin/ceiling";
const SINK = process.env.SINK ?? "bin/target-sink";

const lineWith = async (stream, pattern) => {
  for await (const line of createInterface({ input: stream })) {
    const found = line.match(pattern);
    if (found) return found[1];
  }
  throw new Error(`no line with ${pattern}`);
};

// CPU time by thread, nanoseconds; ended threads keep their last value.
const threads = (pid, seen) => {
  let names = [];
  try {
    names = readdirSync(`/proc/${pid}/task`);
  } catch {
    return;
  }
  for (const thread of names) {
    try {
      const folder = `/proc/${pid}/task/${thread}`;
      const name = readFileSync(`${folder}/comm`, "utf8").trim();
      const [ns] = readFileSync(`${folder}/schedstat`, "utf8").split(" ");
      seen.set(thread, { name, ns: Number(ns) });
    } catch {
      // The thread ended meanwhile.
    }
  }
};

// A watcher like a browser: it reads everything and discards it.
const watch = (url, counts) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => {
    socket.write(`GET /events HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`);
  });
  socket.on("data", (bytes) => { counts.bytes += bytes.length; });
  socket.on("error", () => {});
};

const load = async (address, watchers) => {
  const words = ["load", `http://${address}/`, "-c", "16", "-d", `${SECONDS}s`, "-t", "1",
    "--json", "--runs", "none"];
  if (watchers > 0) words.push("--live");
  const child = started(CEILING, words);
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text) => { stdout += text; });
  const [seen, counts] = [new Map(), { bytes: 0 }];
  let sampling = null;
  if (watchers > 0) {
    const url = await lineWith(child.stderr, /live at (\S+)/);
    for (let nth = 0; nth < watchers; nth += 1) watch(url, counts);
    sampling = setInterval(() => threads(child.pid, seen), 500);
  }
  child.stderr.resume();
  const begin = process.hrtime.bigint();
  await once(child, "exit");
  clearInterval(sampling);
  const passed = Number(process.hrtime.bigint() - begin);
  const [point] = JSON.parse(stdout).points;
  const cpu = {};
  for (const { name, ns } of seen.values()) cpu[name] = (cpu[name] ?? 0) + ns / passed;
  const { p50, p99 } = point.latency_ns;
  return { rate: point.rate, p50, p99, client_us: point.cpu.client_us_per_request, cpu, counts };
};

const server = started(SINK, ["--port", "0", "--threads", "1"]);
const address = await lineWith(server.stdout, /"addr":"([^"]+)"/);
const pairs = [];
for (let nth = 0; nth < PAIRS; nth += 1) {
  const order = nth % 2 === 0 ? [0, WATCHERS] : [WATCHERS, 0];
  const pair = {};
  for (const watchers of order) {
    pair[watchers > 0 ? "watched" : "alone"] = await load(address, watchers);
  }
  pairs.push(pair);
  const { alone, watched } = pair;
  console.log(`pair ${nth + 1}: ${Math.round(alone.rate)}/s alone, ` +
    `${Math.round(watched.rate)}/s with ${WATCHERS} watchers`);
}
server.kill();

console.log("\nwatched / alone, geometric mean with its interval at 95 %");
for (const figure of ["rate", "p50", "p99", "client_us"]) {
  const known = pairs.filter(({ alone, watched }) => alone[figure] && watched[figure]);
  const logs = known.map(({ alone, watched }) => Math.log(watched[figure] / alone[figure]));
  const { mean, low, high } = interval(logs);
  const [m, l, h] = [mean, low, high].map((value) => Math.exp(value).toFixed(4));
  console.log(`  ${figure.padEnd(10)} ${m}  (${l} to ${h}, ${logs.length} pairs)`);
}
const isServing = (name) => name.startsWith("live ");
const sum = (of, keep) =>
  Object.entries(of).filter(([name]) => keep(name)).reduce((all, [, share]) => all + share, 0);
const percent = (value) => `${(100 * value).toFixed(3)} %`;
const mean = (values) => values.reduce((all, value) => all + value, 0) / values.length;
const watched = pairs.map((pair) => pair.watched);
console.log(`\nof one CPU: threads that serve ${WATCHERS} watchers ` +
  `${percent(mean(watched.map(({ cpu }) => sum(cpu, isServing))))}, the verdict meanwhile ` +
  `${percent(mean(watched.map(({ cpu }) => cpu["present verdict"] ?? 0)))}`);
const names = new Set(watched.flatMap(({ cpu }) => Object.keys(cpu)));
for (const name of [...names].sort()) {
  console.log(`  ${name.padEnd(16)} ${percent(mean(watched.map(({ cpu }) => cpu[name] ?? 0)))}`);
}
const kb = mean(watched.map(({ counts }) => counts.bytes / WATCHERS / SECONDS / 1e3));
console.log(`each watcher reads ${kb.toFixed(1)} kB/s`);
