#!/usr/bin/env node
// What each tool reported of one server, next to what the server counted: the tables of README.md.
//
// node experiments/eight-tools/table.mjs FOLDER, a folder that `ceiling run` wrote.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const read = (...path) => JSON.parse(readFileSync(join(folder, ...path), "utf8"));
const experiment = read("experiment.json");
const median = (values) => {
  const sorted = values.filter((value) => value != null).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const scaled = (value, factor) => value == null ? null : value * factor;
const shown = (value, digits = 3) =>
  value == null ? "-" : String(Number(value.toPrecision(digits)).toLocaleString("en-US"));
// The lowest to the highest of six visits is a 97 % interval of the median.
const range = (values, scale = 1) => {
  const known = values.filter((value) => value != null);
  if (known.length === 0) return "-";
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return `${shown(median(known) * scale)} (${shown(low * scale)} to ${shown(high * scale)})`;
};
const counts = (values) => {
  const by = new Map();
  values.forEach((value) => by.set(value, (by.get(value) ?? 0) + 1));
  return [...by].sort((a, b) => b[1] - a[1]).map(([value, many]) => `${value} ${many}`).join(", ");
};

const rows = new Map();
for (const cell of experiment.cells) {
  const row = rows.get(cell.name) ?? [];
  rows.set(cell.name, row);
  if (cell.fate.fate !== "measured" && !cell.fate.run) {
    row.push({ failed: cell.fate.why ?? "not reached" });
    continue;
  }
  const record = read("runs", cell.fate.run, "run.json");
  const { tool } = record;
  const [point] = record.points;
  const told = tool?.account.foreign;
  const percentile = (share) => told?.latencies[0]?.percentiles
    .find((one) => Math.abs(one.share - share) < 1e-9)?.value.value;
  const own = tool ? told.requests?.value
    : point.requests.sent + point.unmeasured.sent;
  row.push({
    rate: tool ? tool.rate : point.rate,
    p50_us: tool ? scaled(percentile(0.5), 1e6) : scaled(point.latency_ns.p50, 1e-3),
    p99_us: tool ? scaled(percentile(0.99), 1e6) : scaled(point.latency_ns.p99, 1e-3),
    counted: own,
    served: cell.stopped?.requests_served,
    client_us: (tool ?? point).cpu.client_us_per_request,
    server_us: (tool ?? point).cpu.server_us_per_request,
    wall: record.verdict.wall,
    cannot: tool ? tool.account.claims.filter((claim) => claim.outcome === "impossible")
      .map((claim) => claim.name) : [],
  });
}
console.log("| | reported rate/s | p50 us | p99 us | its count / server's count " +
  "| client us | server us | wall, by visits | refuted |");
console.log("|---|---|---|---|---|---|---|---|---|");
for (const [name, visits] of rows) {
  const good = visits.filter((visit) => !visit.failed);
  if (good.length === 0) {
    console.log(`| ${name} | not measured: ${visits[0].failed} | | | | | | | |`);
    continue;
  }
  const of = (key) => good.map((visit) => visit[key]);
  const share = good.map(({ counted, served }) => served ? counted / served : null);
  const cannot = counts(good.flatMap((visit) => visit.cannot));
  const times = `${range(of("p50_us"))} | ${range(of("p99_us"))}`;
  console.log(`| ${name} | ${range(of("rate"))} | ${times} ` +
    `| ${shown(median(share), 5)} | ${shown(median(of("client_us")))} ` +
    `| ${shown(median(of("server_us")))} | ${counts(of("wall"))} | ${cannot || "-"} |`);
}
