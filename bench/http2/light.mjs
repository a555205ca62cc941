#!/usr/bin/env node
// Which walls ceiling names of healthy servers of HTTP/2 and gRPC at light load, where there are
// none: 200 requests a second, and 30 % of what the server does with 4 requests in flight. The
// server is on CPU 0, the client on CPU 1. The table goes into bench/README.md.
//
// node bench/http2/light.mjs; DRAWS=3 for each load; ONLY=nginx,tonic runs some and writes nothing.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { SERVERS } from "./servers.mjs";
import { CEILING, recorded, serve, withoutRow } from "./serving.mjs";

const DOC = "bench/README.md";
const [BEGIN, END] = ["<!-- light: begin -->", "<!-- light: end -->"];
const DRAWS = Number(process.env.DRAWS ?? 3);
const SHAPE = ["-c", "16", "-p", "4"];
const LOW = 200;
const SHARE = 0.3;
const OF_STREAMS = ["A11", "A12", "A13", "A14"];

// The wall of each draw at a rate; the server is fresh for each.
async function walls(server, rate) {
  const named = [];
  for (let draw = 0; draw < DRAWS; draw += 1) {
    const { url, stop } = await serve(server);
    const load = ["load", ...SHAPE, "-R", `${rate}`, "-d", "3s"];
    const { verdict, points } = await recorded(server, url, load).finally(stop);
    const point = points.at(-1);
    const failed = point.requests.failed + point.requests.unanswered;
    const { wall, confidence, also } = verdict;
    const all = [wall, ...also.map((other) => other.wall ?? other)];
    named.push({ wall, all, confidence, failed, cpus: point.cpu.server_cpus });
    if (process.env.WHY && wall !== "none") console.log(JSON.stringify(verdict));
  }
  return named;
}

async function capacity(server) {
  const { url, stop } = await serve(server);
  const load = ["load", "-c", "4", "-d", "2s"];
  return (await recorded(server, url, load).finally(stop)).points.at(-1).rate;
}

function told(draws) {
  const names = draws.map(({ wall, all, confidence, failed }) =>
    `${all.join("+")}${wall === "none" || wall === "unknown" ? "" : ` (${confidence})`}${
      failed ? `, ${failed} failed` : ""}`);
  const kinds = [...new Set(names)];
  return kinds.map((kind) => `${names.filter((name) => name === kind).length} ${kind}`).join("; ");
}

const line = (cells) => `| ${cells.join(" | ")} |`;
const head = ["server", `-R ${LOW}`, "30 % of its rate", "that is", "CPU of the server"];
const most = (draws) => Math.max(...draws.map(({ cpus }) => cpus ?? NaN));
const only = process.env.ONLY?.split(",");
const [rows, absent, failed, all] = [[], [], [], []];
for (const server of SERVERS.filter((one) => !one.isSick)) {
  if (only && !only.includes(server.name)) continue;
  if (!server.needs.every((path) => existsSync(path))) {
    absent.push(server.name);
    continue;
  }
  try {
    const low = await walls(server, LOW);
    const rate = Math.round(SHARE * await capacity(server));
    const third = await walls(server, rate);
    all.push(...low, ...third);
    const cpu = `${(100 * most(low)).toFixed(0)} %, ${(100 * most(third)).toFixed(0)} %`;
    rows.push([server.name, told(low), told(third), `${rate}/s`, cpu]);
    console.log(line(rows.at(-1)));
  } catch (error) {
    failed.push(`${server.name} (${error.message})`);
    console.log(failed.at(-1));
  }
}
const named = all.filter(({ wall }) => wall !== "none" && wall !== "unknown");
const ofStreams = named.filter(({ wall }) => OF_STREAMS.includes(wall));
const sum = `${rows.length} servers, ${all.length} loads: ${OF_STREAMS[0]} to ${OF_STREAMS.at(-1)} `
  + `named ${ofStreams.length} times, other walls ${named.length - ofStreams.length} times.`;
console.log(sum);
if (!only) {
  const version = execFileSync(CEILING, ["--version"], { encoding: "utf8" }).trim();
  const made = `Made on ${new Date().toISOString().slice(0, 10)} with ${version}.\n${sum}`;
  const text = [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
  const [before, rest] = readFileSync(DOC, "utf8").split(BEGIN);
  const [, after] = rest.split(END);
  const table = `${text}${withoutRow(absent, failed)}`;
  writeFileSync(DOC, `${before}${BEGIN}\n\n${made}\n\n${table}\n\n${END}${after}`);
}
process.exit(failed.length ? 1 : 0);
