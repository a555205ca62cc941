#!/usr/bin/env node
// Compares what ceiling and h2load report of real servers of HTTP/2 with what each server logged.
// The server is on CPU 0, the client on CPU 1. The table goes into docs/what-other-tools-say.md.
//
// node bench/http2.mjs; ONLY=nginx,lighttpd runs some and writes no document. A server that is not
// installed is left out and named.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVERS } from "./http2/servers.mjs";
import { CEILING, drive, recorded, serve, withoutRow } from "./http2/serving.mjs";

const DOC = "docs/what-other-tools-say.md";
const [BEGIN, END] = ["<!-- http2: begin -->", "<!-- http2: end -->"];
const C = 4;
const M = 32;
const S = 3;
const RATE = 2000;
// Requests of ours before the load: whether the server answers, and whether it speaks HTTP/2.
const SETUP_MAX = 4;

async function ours(server, words) {
  const { url, stop } = await serve(server);
  let logged = null;
  const record = await recorded(server, url, words).finally(async () => {
    logged = await stop();
  });
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
const [absent, failed] = [[], []];
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
    failed.push(`${server.name} (${error.message})`);
    console.log(failed.at(-1));
  }
}
if (!only) {
  const version = execFileSync(CEILING, ["--version"], { encoding: "utf8" }).trim();
  const text = [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
  const made = `Made on ${new Date().toISOString().slice(0, 10)} with ${version}.`;
  const doc = readFileSync(DOC, "utf8");
  const [before, rest] = doc.split(BEGIN);
  const [, after] = rest.split(END);
  const table = `${text}${withoutRow(absent, failed)}`;
  writeFileSync(DOC, `${before}${BEGIN}\n\n${made}\n\n${table}\n\n${END}${after}`);
}
process.exit(failed.length ? 1 : 0);
