#!/usr/bin/env node
// Whether the cost that `ceiling size` takes from one full generator holds for two that share the
// load: one process with all connections, then two with half of them each, in turn on the same CPU,
// in the rate that the two reached. Prints the ratio of CPU time used to CPU time predicted.
// node bench/size.mjs; ROUNDS=7 SECONDS_EACH=2 CONNECTIONS=64
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";

const ROUNDS = Number(process.env.ROUNDS ?? 7);
const SECONDS = Number(process.env.SECONDS_EACH ?? 2);
const CONNECTIONS = Number(process.env.CONNECTIONS ?? 64);
const OUT = "out/size";
// A run that others disturbed is no valid measurement, and no size is told from it.
const NO_MEASUREMENT = 4;

const sum = (values) => values.reduce((left, right) => left + right, 0);
const percent = (ratio) => `${ratio < 1 ? "" : "+"}${((ratio - 1) * 100).toFixed(1)} %`;

const server = spawn("bin/target-sink", ["--threads", "1", "--cpus", "0"],
  { stdio: ["ignore", "pipe", "ignore"] });
process.on("SIGINT", () => process.exit(130));
process.on("exit", () => server.kill("SIGTERM"));
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const [listening] = await once(createInterface({ input: server.stdout }), "line");
const { addr } = JSON.parse(listening);

// One pipelined run of so many connections: its only point.
async function measure(name, connections) {
  const load = ["load", `http://${addr}/`, "-c", String(connections), "-p", "16", "-t", "1",
    "-d", `${SECONDS}s`, "--warmup", "500ms", "--cpus", "1", "-q", "-o", `${OUT}/${name}.json`];
  await once(spawn("bin/ceiling", load, { stdio: "ignore" }), "exit");
  return JSON.parse(readFileSync(`${OUT}/${name}.json`, "utf8")).points[0];
}

const ratios = [];
for (let round = 0; round < ROUNDS; round += 1) {
  await measure("whole", CONNECTIONS);
  const names = ["left", "right"];
  const halves = await Promise.all(names.map((name) => measure(name, CONNECTIONS / 2)));
  const rate = sum(halves.map((point) => point.rate));
  const used = sum(halves.map((point) => point.cpu.client_cpus));
  try {
    const words = ["size", `${OUT}/whole.json`, "--rate", rate.toFixed(0), "--json"];
    const said = execFileSync("bin/ceiling", words, { encoding: "utf8", stdio: "pipe" });
    const predicted = JSON.parse(said).client_cpus.value;
    ratios.push(used / predicted);
    console.log(`at ${rate.toFixed(0)}/s one process predicts ${predicted.toFixed(3)} CPUs, ` +
      `two used ${used.toFixed(3)}: ${percent(used / predicted)}`);
  } catch (error) {
    if (error.status !== NO_MEASUREMENT) throw error;
    console.log(`round ${round}: ${error.stderr.trim()}`);
  }
}
if (ratios.length === 0) throw new Error("no run was a measurement: the machine is too busy");
ratios.sort((left, right) => left - right);
console.log(`median ${percent(ratios[Math.floor(ratios.length / 2)])} of ${ratios.length} rounds ` +
  `(${percent(ratios[0])} to ${percent(ratios.at(-1))})`);
process.exit(0);
