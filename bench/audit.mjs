#!/usr/bin/env node
// Real outputs of load generators on servers with known truth: the corpus of `ceiling audit`.
// Server on CPU 0, client on CPU 1. Each load writes its files into crates/tools/corpus and its
// rows into expected.tsv, with what the server itself counted.
//
// node bench/audit.mjs; ONLY=wrk,k6 regenerates those of some tools, NEW=1 makes only missing
// files; ONLY=none writes the table alone. Figures that cannot be true are judged by hand in
// bench/audit/judged.tsv, which has a digest of each file: a regenerated file must be judged again.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync }
  from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { CASES } from "./audit/cases.mjs";
import { SERVERS } from "./audit/servers.mjs";
import { cut, scrubbed } from "./audit/scrub.mjs";
import { CORPUS, readTable, writeTable } from "./audit/table.mjs";
import { collected, freePort, started } from "./processes.mjs";

const BIN = process.env.BIN ?? "bin";
const PEERS = resolve(".cache/peers");
process.env.PATH = [join(PEERS, "bin"), join(PEERS, "node_modules/.bin"), process.env.PATH]
  .join(delimiter);
// A tool that runs longer than this hangs.
const PATIENCE_S = 120;
// The exit code of a shell that cannot find the program.
const NOT_FOUND = 127;

const start = (cpu, words) => started("taskset", ["-c", cpu, ...words],
  { env: { ...process.env, GOMAXPROCS: "1" } });

async function serve(server, scratch) {
  if (!server.program) return { url: `http://127.0.0.1:${await freePort()}/`, stop: () => [] };
  const log = join(scratch, "server.tsv");
  const isScript = server.program.endsWith(".mjs");
  const program = isScript ? ["node", join("bench/audit", server.program)]
    : [join(BIN, server.program)];
  const words = [...program, ...server.words];
  const child = start("0", server.isLogged ? [...words, "--log", log] : words);
  const lines = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(JSON.parse(line)));
  await once(reader, "line");
  const closed = once(reader, "close");
  const stop = async () => {
    child.kill("SIGTERM");
    await closed;
    return server.account(lines.at(-1), log);
  };
  return { url: `http://${lines[0].addr}/${server.path}`, stop };
}

// Runs a tool; returns its output, its CPU time and how long it took.
async function drive(words) {
  const timed = 'TIMEFORMAT="%R %U %S"; { time timeout "$@" 2>&3; } 3>&2 2>"$TIMES"';
  const times = join(tmpdir(), `times-${process.pid}`);
  process.env.TIMES = times;
  const child = start("1", ["bash", "-c", timed, "bash", `${PATIENCE_S}`, ...words]);
  const exit = once(child, "exit");
  const [stdout, stderr] = await Promise.all([collected(child.stdout), collected(child.stderr)]);
  const [code] = await exit;
  const [real, user, system] = readFileSync(times, "utf8").trim().split("\n").at(-1).split(" ");
  rmSync(times);
  return { stdout, stderr, both: stdout + stderr, code,
    cpu: `client_cpu=${(Number(user) + Number(system)).toFixed(2)}s/${Number(real).toFixed(2)}s` };
}

const filled = (words, values) => words.split(/\s+/).filter((word) => word !== "")
  .map((word) => word.replace(/\{(\w+)\}/g, (_, name) => values[name]));

// What a user would type, without paths of this machine.
const typed = (words) => words.split(/\s+/).join(" ").replace(/\{scratch\}\/?/g, "")
  .replace(/\{gatling\}/g, "GATLING").replace(/\{url\}/g, "URL")
  .replace(/\{address\}/g, "HOST:PORT");

function content(source, ran, values) {
  if (["stdout", "stderr", "both"].includes(source)) return ran[source];
  if (source.includes(" ")) {
    const [program, ...words] = filled(source, values);
    return execFileSync(program, words, { encoding: "utf8" });
  }
  // A star stands for the only folder there.
  const step = (path, part) => join(path, part === "*" ? readdirSync(path)[0] : part);
  return readFileSync(source.split("/").reduce(step, values.scratch), "utf8");
}

async function make(one, scratch) {
  const server = SERVERS[one.server];
  const { url, stop } = await serve(server, scratch);
  writeFileSync(join(scratch, "target.txt"), `GET ${url}\n`);
  writeFileSync(join(scratch, "call"), Buffer.alloc(5));
  const address = url.replace(/^http:..|\/.*/g, "");
  const values = { url, address, scratch, gatling: gatling(one, scratch) };
  const burners = Array.from({ length: one.burners ?? 0 },
    () => start("1", ["bash", "-c", "while :; do :; done"]));
  let ran, account;
  try {
    ran = await drive(filled(one.words, values));
  } finally {
    for (const burner of burners) burner.kill("SIGKILL");
    account = await stop();
  }
  if (ran.code === NOT_FOUND) throw new Error("it is not installed");
  const beside = burners.length ? [`busy_beside_client=${burners.length}`] : [];
  const truth = [server.what, [...account, ran.cpu, `exit=${ran.code}`, ...beside].join(" ")];
  return Object.entries(one.files).map(([file, source]) => {
    const text = scrubbed(content(source, ran, values), scratch);
    const kept = cut(text);
    writeFileSync(join(CORPUS, file), kept);
    const isCut = kept.length < text.length ? ["the file is cut short"] : [];
    return { file, tool: one.tool, scenario: one.scenario, command: typed(one.words),
      truth: [...truth, ...isCut].join("; ") };
  });
}

// Gatling runs only compiled classes.
function gatling(one, scratch) {
  if (one.tool !== "gatling") return "";
  const path = readFileSync(join(PEERS, "gatling.classpath"), "utf8").trim();
  execFileSync("javac", ["-cp", path, "-d", scratch, "bench/audit/Load.java"]);
  return path;
}

mkdirSync(CORPUS, { recursive: true });
const only = process.env.ONLY?.split(",");
const rows = new Map(readTable().map((row) => [row.file, row]));
for (const one of CASES) {
  if (only && !only.includes(one.tool)) continue;
  if (process.env.NEW && Object.keys(one.files).every((file) => existsSync(join(CORPUS, file)))) {
    continue;
  }
  const scratch = mkdtempSync(join(tmpdir(), "audit-"));
  try {
    for (const row of await make(one, scratch)) {
      rows.set(row.file, row);
      console.log(`${row.file}: ${row.truth}`);
    }
  } catch (error) {
    console.log(`${one.tool}, ${one.scenario}: left out: ${error.message}`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  writeTable([...rows.values()]);
}
writeTable([...rows.values()]);
process.exit(0);
