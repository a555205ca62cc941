#!/usr/bin/env node
// Compares what load generators report of servers that are slow, fail, close connections or stall
// with the server's own log. Every behaviour of target-behave is measured by ceiling (load, load
// -R, ramp, find), wrk, oha and h2load, one after the other, each against a new server: the server
// on CPU 0, the client on CPU 1. The result goes into docs/what-other-tools-say.md.
//
// node bench/behaviours.mjs; ONLY=pool,stalls reruns these, TOOLS=wrk,find likewise, and both keep
// the rest of out/behaviours/results.json. DRAW=1 runs nothing and writes the tables.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { cpus, release } from "node:os";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { findMarks, marks, rampMarks } from "./behaviours/judge.mjs";
import { FIND, ROWS, SECONDS } from "./behaviours/rows.mjs";
import { page } from "./behaviours/table.mjs";
import { OURS, PEERS, UPLOAD, headline, readPoint } from "./behaviours/tools.mjs";
import { between, parseLog, wholeRun } from "./behaviours/truth.mjs";
import { collected, started } from "./processes.mjs";

const OUT = "out/behaviours";
const RESULTS = `${OUT}/results.json`;
const CEILING = process.env.CEILING ?? "bin/ceiling";
const DOC = "docs/what-other-tools-say.md";
// Other programs on the machine can spoil a figure and cannot improve one: a run with a mark is
// repeated, and the one with the fewest marks counts.
const ATTEMPTS = 2;
// A tool that runs this much longer than its load hangs.
const PATIENCE_MS = { default: 6_000, load: 15_000, "load -R": 15_000, ramp: 60_000, find: 60_000 };

const chosen = (name) => process.env[name]?.split(",");
const isChosen = (list, name) => list === undefined || list.includes(name);

// Both ends get the highest priority where the system allows it, because a neighbour's effect on a
// tool is not a property of the tool.
const IS_ROOT = process.getuid() === 0;
const FIRST = IS_ROOT ? ["nice", "-n", "-20"] : [];

function start(cpu, program, words) {
  const [command, ...rest] = [...FIRST, "taskset", "-c", cpu, program, ...words];
  // A session of its own: with autogroups the kernel weighs only whole sessions.
  const child = started(command, rest,
    { detached: true, env: { ...process.env, GOMAXPROCS: "1" } });
  child.on("spawn", () => putFirst(child.pid));
  return child;
}

function putFirst(pid) {
  if (!IS_ROOT) return;
  try {
    writeFileSync(`/proc/${pid}/autogroup`, "-20");
  } catch (error) {
    // Kernels without autogroups lack this file, and a short command may have ended.
    if (!["ENOENT", "EINVAL", "ESRCH"].includes(error.code)) throw error;
  }
}

// Starts a server of one behaviour. Stopping it returns its log.
async function serve(name) {
  const file = `${OUT}/${name}.tsv`;
  const child = start("0", "bin/target-behave", ["--behaviour", name, "--log", file]);
  const lines = createInterface({ input: child.stdout });
  const [first] = await once(lines, "line");
  const stop = async () => {
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`target-behave ended with ${code}`);
    return parseLog(readFileSync(file, "utf8"));
  };
  return { url: `http://${JSON.parse(first).addr}/`, stop };
}

// Runs a tool to its end, or kills it when it hangs.
async function drive(program, words, patienceMs) {
  const child = start("1", program, words);
  const timer = setTimeout(() => child.kill("SIGKILL"), SECONDS * 1000 + patienceMs);
  const exit = once(child, "exit");
  const [stdout, stderr] = await Promise.all([collected(child.stdout), collected(child.stderr)]);
  const [code] = await exit;
  clearTimeout(timer);
  return { stdout, stderr, code };
}

async function best(attempt) {
  let kept;
  for (let attempts = 1; attempts <= ATTEMPTS; attempts += 1) {
    const result = { ...await attempt(), attempts };
    if (!kept || result.marks.length < kept.marks.length) kept = result;
    if (kept.marks.length === 0) break;
  }
  return kept;
}

async function peer(tool, program, row, method) {
  const server = await serve(row.name);
  const ran = await drive(program, tool.words(row, server.url, method), PATIENCE_MS.default);
  writeFileSync(`${OUT}/${row.name}-${tool.name}.txt`, ran.stdout + ran.stderr);
  const truth = wholeRun(await server.stop(), SECONDS);
  if (ran.code === null) {
    return { exit: null, truth, said: null, marks: ["hangs, and was killed"] };
  }
  if (ran.code !== 0) {
    const why = ran.stderr.trim().split("\n").at(-1);
    return { exit: ran.code, truth, said: null, marks: [`ended with ${ran.code}: ${why}`] };
  }
  const said = tool.read(ran.stdout);
  return { exit: 0, truth, said, marks: marks(said, truth) };
}

async function own(command, row, behaviour) {
  const server = await serve(row.name);
  const file = `${OUT}/${row.name}-${command.name}.json`;
  rmSync(file, { force: true });
  const words = command.words(row, server.url, behaviour.method, file);
  const ran = await drive(CEILING, words, PATIENCE_MS[command.name]);
  writeFileSync(`${OUT}/${row.name}-${command.name}.txt`, ran.stdout + ran.stderr);
  const log = await server.stop();
  const result = { exit: ran.code, headline: headline(ran.stdout), marks: [] };
  if (!existsSync(file)) {
    const why = ran.stderr.trim().split("\n").at(-1);
    return { ...result, points: [], marks: [`no record: ${why}`] };
  }
  const record = JSON.parse(readFileSync(file, "utf8"));
  result.points = record.points.map((point) => {
    const said = readPoint(point);
    const truth = between(log, ...point.window_ns);
    return { said, truth, marks: marks(said, truth) };
  });
  result.broken = [...new Set(result.points.flatMap((point) => point.said.broken))];
  result.ceiling = record.verdict.ceiling ?? null;
  result.answer = record.search?.answer ?? null;
  result.marks = verdictMarks(command.name, result, row, behaviour);
  return result;
}

function verdictMarks(command, result, row, behaviour) {
  if (row.exits !== undefined) {
    const isRight = row.exits === result.exit;
    return isRight ? [] : [`exit ${result.exit}, and the server died`];
  }
  if (row.breaks !== undefined) {
    return result.broken.includes(row.breaks) ? [] : ["calls its figures right"];
  }
  const isGivenUp = [4, 5].includes(result.exit);
  const refused = isGivenUp ? [`exit ${result.exit}: ${result.broken.join(", ")}`] : [];
  if (command === "find") {
    return [...findMarks(result.answer, row.finds, FIND, result.points), ...refused];
  }
  if (command === "ramp") {
    const found = rampMarks(result.ceiling, result.points, behaviour.capacity_per_s);
    return [...found, ...refused];
  }
  return [...(result.points[0]?.marks ?? ["no point"]), ...refused];
}

// The program of a peer and its version; null when it is absent.
function locate(tool) {
  const cached = resolve(".cache/peers/bin", tool.program);
  for (const program of [cached, tool.program]) {
    try {
      return { program, version: versionOf(program, tool) };
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  return null;
}

// wrk prints its version and then exits with 1.
function versionOf(program, tool) {
  try {
    return execFileSync(program, tool.version, { encoding: "utf8", stdio: "pipe" }).split("\n")[0];
  } catch (error) {
    if (error.status === null || error.status === undefined) throw error;
    return error.stdout.split("\n")[0];
  }
}

function tell(row, name, { marks, attempts }) {
  console.log(`${row.name}, ${name}: ${marks.join("; ") || "right"} (run ${attempts})`);
}

const behaviours = JSON.parse(execFileSync("bin/target-behave", ["--list"], { encoding: "utf8" }));
const asked = ROWS.map((row) => row.name).join();
if (asked !== behaviours.map((behaviour) => behaviour.name).join()) {
  throw new Error("rows.mjs and target-behave --list do not have the same behaviours");
}

mkdirSync(OUT, { recursive: true });
writeFileSync(UPLOAD.file, Buffer.alloc(UPLOAD.bytes));
const results = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : {};
const [only, tools] = [chosen("ONLY"), chosen("TOOLS")];
const peers = PEERS.map((tool) => ({ tool, found: locate(tool) }));
for (const [at, row] of ROWS.entries()) {
  if (process.env.DRAW || !isChosen(only, row.name)) continue;
  const behaviour = behaviours[at];
  const of = (results[row.name] ??= {});
  for (const command of OURS.filter((command) => isChosen(tools, command.name))) {
    of[command.name] = await best(() => own(command, row, behaviour));
    tell(row, command.name, of[command.name]);
  }
  for (const { tool, found } of peers.filter(({ tool }) => isChosen(tools, tool.name))) {
    if (!found) {
      delete of[tool.name];
      continue;
    }
    of[tool.name] = await best(() => peer(tool, found.program, row, behaviour.method));
    tell(row, tool.name, of[tool.name]);
  }
  // Infinity is a rank beyond the good responses; in JSON it becomes null.
  writeFileSync(RESULTS, JSON.stringify(results));
}

// Up to the version number: wrk continues with a copyright.
const short = (version) => /^.*?\d+(\.\d+)+/.exec(version)?.[0] ?? version;
const ceiling = execFileSync(CEILING, ["--version"], { encoding: "utf8" });
const versions = [short(ceiling),
  ...peers.map(({ tool, found }) => (found ? short(found.version) : `${tool.name} is absent`))];
const facts = [`Made on ${new Date().toISOString().slice(0, 10)} with ${versions.join(", ")}`,
  `on ${cpus().length} CPUs (${cpus()[0].model}), Linux ${release()}.`];
if (existsSync(DOC)) {
  const tables = page(behaviours, results, facts);
  const begin = "<!-- tables: begin -->\n";
  const end = "<!-- tables: end -->";
  const [before, rest] = readFileSync(DOC, "utf8").split(begin);
  const after = rest.slice(rest.indexOf(end));
  writeFileSync(DOC, `${before}${begin}${tables}${after}`);
}
process.exit(0);
