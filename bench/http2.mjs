#!/usr/bin/env node
// Compares what ceiling and h2load report of real servers of HTTP/2 with what each server logged.
// The server is on CPU 0, the client on CPU 1. The table goes into docs/what-other-tools-say.md.
//
// node bench/http2.mjs; ONLY=nginx,lighttpd runs some and writes no document. A server that is not
// installed is left out and named.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync }
  from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SERVERS } from "./http2/servers.mjs";
import { collected, freePort, started } from "./processes.mjs";

const CEILING = process.env.CEILING ?? "bin/ceiling";
const DOC = "docs/what-other-tools-say.md";
const [BEGIN, END] = ["<!-- http2: begin -->", "<!-- http2: end -->"];
const C = 4;
const M = 32;
const S = 3;
const RATE = 2000;
// Requests of ours before the load: whether the server answers, and whether it speaks HTTP/2.
const SETUP_MAX = 4;
const SCHEMA = ["--proto", "crates/schema/fixtures/shop.proto"];

const start = (cpu, words, options) => started("taskset", ["-c", cpu, ...words], options);

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function listens(port) {
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise((done) => {
      socket.on("connect", () => done(true));
      socket.on("error", () => done(false));
    });
    socket.destroy();
    if (isOpen) return;
    await pause(50);
  }
  throw new Error("it does not listen");
}

// Starts a server of its own for each load; its end returns how many requests it logged.
async function serve(server) {
  const dir = mkdtempSync(join(tmpdir(), "http2-"));
  // Apache serves as another user.
  chmodSync(dir, 0o755);
  const port = await freePort();
  const behind = await freePort();
  writeFileSync(join(dir, "index.html"), "hello, world\n");
  writeFileSync(join(dir, "message"), new Uint8Array(5));
  const children = server.start({ dir, port, behind, bench: resolve("bench") })
    .map((words) => start("0", words, { cwd: dir, env: { ...process.env, HOME: dir } }));
  for (const child of children) child.stdout.resume();
  let errors = "";
  for (const child of children) child.stderr.on("data", (data) => { errors += data; });
  try {
    await listens(port);
  } catch (error) {
    throw new Error(`${error.message}: ${errors.trim().split("\n").at(-1)}`);
  }
  const stop = async () => {
    // Logs are written in pieces.
    await pause(500);
    for (const child of [...children].reverse()) child.kill("SIGTERM");
    await Promise.race([Promise.all(children.map((child) => once(child, "exit"))), pause(3000)]);
    for (const child of children) child.kill("SIGKILL");
    const log = join(dir, "access.log");
    // lighttpd logs the first bytes of a connection as a request, PRI.
    const isRequest = (line) => line && !line.includes('"PRI ');
    const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(isRequest) : null;
    rmSync(dir, { recursive: true, force: true });
    return lines?.length ?? null;
  };
  return { url: `http://127.0.0.1:${port}/${server.call ?? "index.html"}`, dir, stop };
}

async function drive(words) {
  const child = start("1", words);
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [stdout, stderr] = await Promise.all([collected(child.stdout), collected(child.stderr)]);
  clearTimeout(timer);
  return { stdout, stderr };
}

async function ours(server, words) {
  const { url, stop } = await serve(server);
  const asked = server.call ? [url.replace("http:", "grpc:"), ...SCHEMA]
    : [url, "--http2-prior-knowledge"];
  const ran = await drive([CEILING, words[0], ...asked, "-t", "1", "--warmup", "0", "--runs",
    "none", "--json", ...words.slice(1)]);
  const logged = await stop();
  if (!ran.stdout.trim()) throw new Error(ran.stderr.trim().split("\n").at(-1));
  const record = JSON.parse(ran.stdout);
  const sum = (read) => record.points.reduce((all, point) => all + (read(point) ?? 0), 0);
  return { record, logged, rate: record.points.at(-1).rate,
    sent: sum((point) => point.requests.sent), done: sum((point) => point.requests.completed),
    refused: sum((point) => point.errors.refused), reopened: sum((p) => p.connections.reopened),
    failed: sum((point) => point.requests.failed), p99: record.points.at(-1).latency_ns.p99 };
}

async function theirs(server) {
  const { url, dir, stop } = await serve(server);
  const call = server.call ? ["-H", "content-type: application/grpc", "-d", join(dir, "message")]
    : [];
  const ran = await drive(["h2load", "-t1", `-c${C}`, `-m${M}`, `-D${S}`, ...call, url]);
  const logged = await stop();
  const number = (pattern) => Number(ran.stdout.match(pattern)?.[1] ?? NaN);
  return { logged, rate: number(/, ([\d.]+) req\/s/), done: number(/, (\d+) done/),
    succeeded: number(/, (\d+) succeeded/),
    errored: number(/, (\d+) errored/), started: number(/, (\d+) started/),
    mean: ran.stdout.match(/time for request: +\S+ +\S+ +(\S+)/)?.[1] ?? "-" };
}

const rate = (value) => (value >= 10_000 ? `${(value / 1000).toFixed(1)}k/s`
  : `${value.toFixed(0)}/s`);

// Every request that the server logged was sent, and every one that completed was logged.
function judged(run) {
  if (run.logged === null) return "not logged";
  const isSound = run.logged >= run.done && run.logged <= run.sent + SETUP_MAX;
  return `${isSound ? "yes" : "**no**"}: ${run.done}..${run.sent}, logged ${run.logged}`;
}

function row(name, limit, { load, open, ramp, peer }) {
  const notes = [load.refused && `${load.refused} refused`,
    load.reopened && `${load.reopened} connections opened again`,
    load.failed - load.refused > 0 && `${load.failed - load.refused} failed`].filter(Boolean);
  const true_ = peer.logged === null ? ""
    : ` (logged ${peer.logged}, says ${peer.done}, ${peer.succeeded} of them good)`;
  const wall = ramp.record.verdict?.wall ?? "none";
  return [name, limit, judged(load), `${rate(load.rate)}${notes.length ? `; ${notes}` : ""}`,
    `${rate(open.rate)}, ${judged(open)}`, `${wall}, ${judged(ramp)}`,
    `${rate(peer.rate)}, mean ${peer.mean}${true_}`];
}

const head = ["server", "streams", `load -c ${C} -p ${M}: completed..sent`, "rate",
  `load -R ${RATE}`, "ramp: wall", `h2load -c${C} -m${M}`];
const line = (cells) => `| ${cells.join(" | ")} |`;
const only = process.env.ONLY?.split(",");
const rows = [];
const absent = [];
mkdirSync("out", { recursive: true });
for (const server of SERVERS) {
  if (only && !only.includes(server.name)) continue;
  if (!server.needs.every((path) => existsSync(path))) {
    absent.push(server.name);
    continue;
  }
  try {
    const load = await ours(server, ["load", "-c", `${C}`, "-p", `${M}`, "-d", `${S}s`]);
    const open = await ours(server, ["load", "-c", `${C}`, "-p", `${M}`, "-R", `${RATE}`,
      "-d", `${S}s`]);
    const ramp = await ours(server, ["ramp", "-c", "1..16*4", "-p", `${M}`, "-d", "1s"]);
    const peer = await theirs(server);
    rows.push(row(server.name, server.streams, { load, open, ramp, peer }));
    console.log(line(rows.at(-1)));
  } catch (error) {
    absent.push(server.name);
    console.log(`${server.name}: ${error.message}`);
  }
}
if (!only) {
  const version = execFileSync(CEILING, ["--version"], { encoding: "utf8" }).trim();
  const left = absent.length ? `\n\nNot there: ${absent.join(", ")}.` : "";
  const text = [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
  const made = `Made on ${new Date().toISOString().slice(0, 10)} with ${version}.`;
  const doc = readFileSync(DOC, "utf8");
  const [before, rest] = doc.split(BEGIN);
  const [, after] = rest.split(END);
  writeFileSync(DOC, `${before}${BEGIN}\n\n${made}\n\n${text}${left}\n\n${END}${after}`);
}
process.exit(0);
