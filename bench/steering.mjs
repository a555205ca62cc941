#!/usr/bin/env node
// Whether what is said before turning a knob comes true: RPS and RFS, predicted from a run and then
// measured, once where one CPU full of receive softirq is the wall and once where it is not.
// As root: node bench/steering.mjs; ROUNDS=4 SECONDS_EACH=3 RULES=6000
//
// Two hosts are namespaces joined by a veth pair of four queues. Packets of the server are all
// taken in by CPU 1, as a card with one queue does it; generator and server have CPU 0. A list of
// filter rules that match nothing makes each packet cost as much as the wall needs, on the CPU that
// takes it in. In the second scene there are no rules, and the server serves eight requests at a
// time for two milliseconds each.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";

const ROUNDS = Number(process.env.ROUNDS ?? 4);
const SECONDS = Number(process.env.SECONDS_EACH ?? 3);
const RULES = Number(process.env.RULES ?? 6000);
const OUT = "out/steering";
const [CLIENT, SERVER] = [`ceiling-steer-${process.pid}-c`, `ceiling-steer-${process.pid}-s`];
const QUEUES = [0, 1, 2, 3];
const IDS = { rps: "T5", rfs: "T6" };

const SCENES = {
  "softirq is the wall": { rules: RULES, sink: [] },
  "a pool is the wall": { rules: 0, sink: ["--serve-at-once", "8", "--delay", "fixed:2ms"] },
};

const running = [];
const run = (program, ...words) => execFileSync(program, words, { encoding: "utf8" });
const within = (namespace, ...words) => run("ip", "netns", "exec", namespace, ...words);
const sorted = (values) => values.toSorted((left, right) => left - right);
const median = (values) => {
  const [half, all] = [Math.floor(values.length / 2), sorted(values)];
  return values.length % 2 ? all[half] : (all[half - 1] + all[half]) / 2;
};

function build(rules) {
  for (const namespace of [CLIENT, SERVER]) run("ip", "netns", "add", namespace);
  const queues = ["numrxqueues", "4", "numtxqueues", "4"];
  run("ip", "link", "add", "vc", ...queues, "netns", CLIENT, "type", "veth", "peer", "name", "vs",
    ...queues, "netns", SERVER);
  run("ip", "-n", CLIENT, "addr", "add", "10.99.0.1/24", "dev", "vc");
  run("ip", "-n", SERVER, "addr", "add", "10.99.0.2/24", "dev", "vs");
  run("ip", "-n", CLIENT, "link", "set", "vc", "up");
  for (const device of ["vs", "lo"]) run("ip", "-n", SERVER, "link", "set", device, "up");
  for (const queue of QUEUES) {
    const file = `/sys/class/net/vs/queues/rx-${queue}/rps_cpus`;
    within(SERVER, "sh", "-c", `echo 2 > ${file}`);
  }
  if (rules === 0) return;
  within(SERVER, "tc", "qdisc", "add", "dev", "vs", "ingress");
  const rule = (_, at) => "filter add dev vs parent ffff: prio 1 protocol ip u32 match ip src " +
    `192.0.2.${(at % 250) + 1}/32 match ip dport ${at % 60000} 0xffff flowid 1:1\n`;
  writeFileSync(`${OUT}/rules`, Array.from({ length: rules }, rule).join(""));
  within(SERVER, "tc", "-batch", `${OUT}/rules`);
}

function takeDown() {
  for (const child of running.splice(0)) child.kill("SIGTERM");
  const there = run("ip", "netns", "list");
  for (const namespace of [CLIENT, SERVER].filter((name) => there.includes(name))) {
    run("ip", "netns", "del", namespace);
  }
}

// Starts a program of the server's host; its first line.
async function start(...words) {
  const child = spawn("ip", ["netns", "exec", SERVER, ...words],
    { stdio: ["ignore", "pipe", "ignore"] });
  running.push(child);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return line;
}

function ceiling(...words) {
  try {
    return within(CLIENT, "taskset", "-c", "0", "bin/ceiling", ...words);
  } catch (error) {
    // 3 and 4 say what a number is worth; the number is there.
    if (error.status === 3 || error.status === 4) return error.stdout;
    throw error;
  }
}

// A busy machine spoils a run now and then, and nothing is predicted from a spoilt one.
function valid(measure) {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const record = measure();
    if (record.verdict.side !== "measurement") return record;
  }
  throw new Error("five runs were no measurements: the machine is too busy");
}

async function scene(name, { rules, sink }) {
  build(rules);
  const address = ["--addr", "10.99.0.2", "--port", "8080"];
  await start("bin/target-sink", ...address, "--cpus", "0", "--threads", "1", ...sink);
  const ready = await start("bin/ceiling", "probe", "serve", "--listen", "10.99.0.2:9200",
    "--token-file", `${OUT}/token`, "--allow-tune", "--journal", `${OUT}/journal`);
  const probe = ready.slice(ready.indexOf("--probe ")).split(/\s+/);
  const load = (...more) => JSON.parse(ceiling("load", "http://10.99.0.2:8080/", "-c", "64", "-d",
    `${SECONDS}s`, "--warmup", "1s", "--cpus", "0", "--json", ...more));
  const tune = (...words) => ceiling("tune", ...words, ...probe);
  const rows = [];
  // RFS works on top of RPS, so its own run is one with RPS.
  for (const [at, knob] of Object.keys(IDS).entries()) {
    const base = valid(() => load("--runs", `${OUT}/runs`, ...probe));
    const advice = JSON.parse(ceiling("advise", `${OUT}/runs/${base.id}`, "--json"));
    const said = Object.values(advice).flat().filter((one) => one?.knob === IDS[knob]);
    const changes = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const measure = { plain: () => load().points[0].rate, turned: () => turned(knob) };
      const order = round % 2 ? ["plain", "turned"] : ["turned", "plain"];
      const rate = {};
      for (const which of order) rate[which] = measure[which]();
      changes.push(rate.turned / rate.plain - 1);
    }
    rows.push({ name, verdict: base.verdict, knob, prediction: said[0].prediction, changes });
    if (at === 0) apply(knob);
  }
  function apply(knob) {
    const out = tune("apply", "--json", "--profile", "seeds", "--only", knob, "--device", "vs",
      "--cpus", "0-1/0");
    return JSON.parse(out).transaction;
  }
  function turned(knob) {
    const transaction = apply(knob);
    try {
      return load().points[0].rate;
    } finally {
      tune("revert", "--transaction", transaction);
    }
  }
  tune("revert");
  takeDown();
  return rows;
}

const percent = (share) => (share === null ? "the next wall" : `${(share * 100).toFixed(1)} %`);

function print(rows) {
  for (const { name, verdict, knob, prediction, changes } of rows) {
    const measured = median(changes);
    const range = `${percent(sorted(changes)[0])} to ${percent(sorted(changes).at(-1))}`;
    const { low, high } = prediction;
    const isInside = low !== null && measured >= low && (high === null || measured <= high);
    const { wall, confidence } = verdict;
    console.log(`${name} (verdict ${wall} ${confidence}), ${knob}: predicted ${percent(low)} to ` +
      `${percent(high)}; measured ${percent(measured)} (${range}): ` +
      `${isInside ? "inside" : "OUTSIDE"}\n  ${prediction.arithmetic}`);
  }
}

process.on("SIGINT", () => process.exit(130));
process.on("exit", takeDown);
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
for (const [name, setting] of Object.entries(SCENES)) print(await scene(name, setting));
process.exit(0);
