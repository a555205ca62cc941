#!/usr/bin/env node
// How often figures are right on a shared host: load, load -R, ramp and find against healthy
// servers while one neighbour on each CPU burns 30 % of it at random. Counts exit codes, known
// figures, figures that agree with the server's own log, and runs that blame the server. node
// bench/noise.mjs; RUNS=40 ONLY=load,find NOISE=0 SEED=1 MINUTES=14
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { cpus, loadavg } from "node:os";
import { createInterface } from "node:readline";
import { judge } from "./noise/judge.mjs";
import { started } from "./processes.mjs";

const RUNS = Number(process.env.RUNS ?? 40);
const SEED = Number(process.env.SEED ?? 1);
const MINUTES = Number(process.env.MINUTES ?? 14);
const CEILING = process.env.CEILING ?? "bin/ceiling";
const IS_NOISY = process.env.NOISE !== "0";
const OUT = `out/noise/${IS_NOISY ? "noisy" : "quiet"}`;
const SHARE = 0.3;
// A command that takes longer than this hangs.
const PATIENCE_MS = 60_000;

const sleeps = (file) => ["bin/target-sink", "--port", "0", "--threads", "1", "--delay",
  "fixed:5ms", "--log-arrivals", file, "--log-capacity", "1000000"];
const node = (file) => [process.execPath, "bench/noise/server.mjs", file];
const works = (file) => ["bin/target-sink", "--port", "0", "--threads", "1", "--burn", "200us",
  "--log-arrivals", file, "--log-capacity", "1000000"];

const OF_CPU = ["S1", "S2", "S6"];
const OPEN = ["-R", "500", "-c", "16", "-d", "1s"];
const SLO = "p95<30ms,errors<1%";
const search = (rates) => ["find", "-R", rates, "-c", "100", "--slo", SLO, "--budget", "15s",
  "--trial", "500ms"];
// `works` has one thread, which each request keeps busy for 200 us: at 1000/s it has headroom, in
// closed loop and in a search it has none, so its CPU is a wall. `p50: "least"` marks a server that
// may wait for a CPU before its clock starts.
const SCENES = [
  { name: "load", server: sleeps, words: ["load", "-c", "16", "-d", "1s"] },
  { name: "load -R", server: sleeps, words: ["load", ...OPEN] },
  { name: "load -R node", server: node, words: ["load", ...OPEN] },
  { name: "load -R works", server: works, p50: "least",
    words: ["load", "-R", "1000", "-c", "16", "-d", "1s"] },
  { name: "load busy", server: works, p50: "least", allows: OF_CPU,
    words: ["load", "-c", "16", "-d", "1s"] },
  { name: "ramp", server: sleeps, words: ["ramp", "-c", "8..32", "-d", "1s"] },
  { name: "find", server: sleeps, finds: { least: 1600, most: 1600 },
    words: search("400..1600") },
  { name: "find busy", server: works, p50: "least", allows: OF_CPU, finds: { least: 1, most: 5000 },
    words: search("1k..8k") },
];

function start(program, words, stdio) {
  // A session of its own: with autogroups each neighbour weighs as much as this process.
  return started(program, words, { detached: true, stdio });
}

function burn(cpu) {
  const words = ["-c", `${cpu}`, process.execPath, "bench/noise/burn.mjs", `${SHARE}`,
    `${SEED + cpu}`, `${MINUTES * 60 + 120}`];
  return start("taskset", words, "ignore");
}

async function serve(scene) {
  const file = `${OUT}/arrivals`;
  const [program, ...words] = scene.server(file);
  const child = start(program, words, ["ignore", "pipe", "inherit"]);
  const lines = createInterface({ input: child.stdout });
  const gone = once(child, "exit").then(() => { throw new Error(`${program} has ended`); });
  const { addr } = JSON.parse((await Promise.race([once(lines, "line"), gone]))[0]);
  gone.catch(() => {});
  const stop = async () => {
    const [last] = await Promise.all([once(lines, "line"), once(child, "exit"),
      child.kill("SIGTERM")]);
    const bytes = readFileSync(file);
    const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const arrivals = Float64Array.from(new BigUint64Array(copy), Number);
    return { arrivals, p50: JSON.parse(last[0]).service_ns.p50 };
  };
  return { url: `http://${addr}/`, stop };
}

async function run(scene, round) {
  const server = await serve(scene);
  const file = `${OUT}/${scene.name.replaceAll(" ", "_")}-${round}.json`;
  rmSync(file, { force: true });
  const [command, ...more] = scene.words;
  const words = [command, server.url, ...more, "-q", "--runs", "none", "-o", file];
  const begun = performance.now();
  const child = start(CEILING, words, ["ignore", "ignore", "inherit"]);
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const [exit] = await once(child, "exit");
  clearTimeout(timer);
  const truth = await server.stop();
  const seconds = (performance.now() - begun) / 1000;
  let record = null;
  try {
    record = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const result = { scene: scene.name, round, seconds, ...judge(scene, exit, record, truth) };
  if (result.faults.length === 0) rmSync(file);
  return result;
}

const ms = (ns) => (ns / 1e6).toFixed(2);
const percent = (share) => `${(share * 100).toFixed(1)} %`;
function spread(values, show) {
  const known = values.filter((value) => value !== null).toSorted((left, right) => left - right);
  if (known.length === 0) return "-";
  return `${show(known[Math.floor(known.length / 2)])} (${show(known.at(-1))})`;
}

function table(results) {
  const rows = [["", "runs", "right", "exit 0", "known", "rate right", "p50 right", "blame server",
    "rate off", "p50 off ms", "late p99 ms"]];
  for (const { name } of SCENES) {
    const of = results.filter((result) => result.scene === name);
    if (of.length === 0) continue;
    const count = (test) => `${of.filter(test).length}`;
    rows.push([name, `${of.length}`, count((one) => one.faults.length === 0),
      count((one) => one.exit === 0), count((one) => one.isKnown), count((one) => one.isRateRight),
      count((one) => one.isP50Right), count((one) => one.blames),
      spread(of.map((one) => one.rateOff), percent), spread(of.map((one) => one.p50Off), ms),
      spread(of.map((one) => one.lateNs), ms)]);
  }
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)));
  const pad = (cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]));
  return rows.map((row) => row.map(pad).join("  ")).join("\n");
}

const only = process.env.ONLY?.split(",");
const chosen = SCENES.filter(({ name }) => only === undefined || only.includes(name));
if (chosen.length === 0) throw new Error(`ONLY takes ${SCENES.map(({ name }) => name).join(", ")}`);
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
if (IS_NOISY) cpus().forEach((_, cpu) => burn(cpu));

const results = [];
const loads = [];
const begun = performance.now();
const isLate = () => performance.now() - begun > MINUTES * 60_000;
for (let round = 0; round < RUNS && !isLate(); round += 1) {
  loads.push(loadavg()[0]);
  for (const scene of chosen) {
    const result = await run(scene, round);
    results.push(result);
    for (const fault of result.faults) console.log(`${scene.name} ${round}: ${fault}`);
    if (result.faults.length > 0) console.log(`    ${result.said}`);
  }
  writeFileSync(`${OUT}/results.json`, JSON.stringify(results));
}
const host = `${cpus().length} CPUs (${cpus()[0].model})`;
const noise = IS_NOISY ? `a neighbour of ${percent(SHARE)} on each` : "no neighbour of ours";
console.log(`\n${host}, ${noise}, seed ${SEED}; load average ${Math.min(...loads).toFixed(1)} to ` +
  `${Math.max(...loads).toFixed(1)}. Off and late: median (worst).\n${table(results)}`);
if (results.length < RUNS * chosen.length) {
  console.log(`ended after ${MINUTES} minutes, with ${results.length} runs of ` +
    `${RUNS * chosen.length}`);
}
process.exit(0);
