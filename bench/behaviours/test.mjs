// The parts of the comparison that could make a tool look wrong, or right: how its output is read,
// how the server's log is summed up over a window, and which figures are marked. node --test
// bench/behaviours/test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { findMarks, marks, rampMarks } from "./judge.mjs";
import { rate, share, time } from "./table.mjs";
import { headline, readH2load, readOha, readPoint, readWrk } from "./tools.mjs";
import { between, parseLog, wholeRun } from "./truth.mjs";

const fixture = (name) =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8");
const MS = 1e6;

test("wrk tells its rate, its failures of both kinds and its percentiles", () => {
  const refused = readWrk(fixture("wrk-404.txt"));
  assert.equal(refused.rate, 108037.82);
  assert.equal(refused.failedShare, 1);
  const reset = readWrk(fixture("wrk-resetting.txt"));
  assert.deepEqual([reset.rate, reset.p50, reset.p99], [1595.12, 16.01 * MS, 55.84 * MS]);
  assert.equal(reset.failedShare, 87 / 1746);
  assert.equal(readWrk("unable to connect").rate, null);
});

test("h2load tells a mean, and fails what is no success", () => {
  const said = readH2load(fixture("h2load-404.txt"));
  assert.deepEqual([said.rate, said.failedShare, said.mean, said.p50], [109467, 1, 456e3, null]);
  assert.equal(readH2load(fixture("h2load.txt")).failedShare, 0);
  assert.equal(readH2load("").rate, null);
});

test("oha calls every response a success, and its statuses tell more", () => {
  const said = readOha(fixture("oha-404.json"));
  assert.deepEqual([said.success, said.failedShare], [1, 1]);
  assert.equal(Math.round(said.rate), 84916);
  assert.equal(readOha(fixture("oha.json")).failedShare, 0);
});

test("a point of ours counts failures of all that ended", () => {
  const gates = [{ id: "errors", ok: false }, { id: "release", ok: null }];
  const requests = { completed: 90, failed: 10, unanswered: 3, unsent: 0 };
  const said = readPoint({ requests, gates, rate: 30, latency_ns: { p50: 5, p99: null },
    window_ns: [1, 2] });
  assert.deepEqual([said.failedShare, said.broken, said.p50, said.p99], [0.1, ["errors"], 5, null]);
  assert.deepEqual(headline("x\n\u258c 5/s\n\u258c No wall.\n"), ["5/s", "No wall."]);
});

const COLUMNS = ["number", "connection", "received_ns", "arrival_ns", "done_ns", "status", "fate",
  "stray_bytes"].join("\t") + "\n";
// Requests of 10 ms, one after the other, from 1000 ms on.
const lines = (fates) => COLUMNS + fates.map(([status, fate], at) => {
  const arrival = (1000 + at * 10) * MS;
  const times = [arrival, arrival + 1, arrival + 10 * MS];
  return `${[at + 1, 1, ...times, status, fate, 0].join("\t")}\n`;
}).join("");
const good = (count) => Array(count).fill([200, "answered"]);

test("the truth of a window is of what ended in it", () => {
  const log = parseLog(lines([...good(50), [503, "answered"], [0, "reset"], [0, "stopped"]]));
  const truth = between(log, 1000 * MS, 2000 * MS);
  const { rate: goodRate, answeredRate, endedRate, ended } = truth;
  assert.deepEqual([goodRate, answeredRate, endedRate, ended], [50, 51, 52, 52]);
  assert.ok(Math.abs(truth.failedShare - 2 / 52) < 1e-9);
  assert.deepEqual(truth.statuses, { 200: 50, 503: 1, reset: 1 });
  assert.deepEqual([truth.good.p99, truth.all.p99], [10 * MS, Infinity]);
  assert.equal(between(log, 1105 * MS, 1125 * MS).rate, 100);
  // The last of 50 started in this window and ended after it.
  const late = between(log, 1485 * MS, 1495 * MS);
  assert.deepEqual([late.good.p50, late.ended, late.sent.p50], [10 * MS, 1, 10 * MS]);
  assert.equal(between(log, 1485 * MS, 1489 * MS).good.p50, Infinity);
  assert.equal(wholeRun(log, 1).rate, 50);
  assert.equal(wholeRun([], 1).rate, 0);
});

// The truth when half of 1000 responses per second are fast failures.
const HALF = { rate: 500, answeredRate: 1000, endedRate: 1100, failedShare: 0.5, ended: 3000,
  silentSeconds: 0,
  statuses: {}, good: { p50: 20 * MS, p99: 40 * MS }, all: { p50: 30 * MS, p99: Infinity },
  sent: { p50: 25 * MS, p99: 60 * MS }, sentAll: { p50: Infinity, p99: Infinity },
  answered: { p50: 1 * MS, p99: 35 * MS }, goodMean: 20 * MS, answeredMean: 10 * MS };
const said = (more) => ({ rate: 500, failedShare: 0.5, success: null, p50: null, p99: null,
  mean: null, ...more });

test("honest figures have no mark, of good responses or of all", () => {
  assert.deepEqual(marks(said({ p50: 20.5 * MS, p99: 42 * MS }), HALF), []);
  assert.deepEqual(marks(said({ p50: 30 * MS, rate: 520, mean: 20 * MS }), HALF), []);
  assert.deepEqual(marks(said({ p50: 25 * MS, p99: 60 * MS }), HALF), []);
});

test("what failures do to a figure is named", () => {
  assert.deepEqual(marks(said({ rate: 1010 }), HALF), ["rate counts failures"]);
  assert.deepEqual(marks(said({ rate: 1110 }), HALF), ["rate counts failures"]);
  assert.deepEqual(marks(said({ rate: 700 }), HALF), ["rate +40 %"]);
  assert.deepEqual(marks(said({ rate: null }), HALF), ["prints no rate"]);
  assert.deepEqual(marks(said({ failedShare: 0 }), HALF), ["hides failures"]);
  assert.deepEqual(marks(said({ success: 1 }), HALF), ["calls 100 % a success"]);
  assert.deepEqual(marks(said({ p50: 1 * MS }), HALF), ["p50 of failures too"]);
  assert.deepEqual(marks(said({ mean: 10 * MS }), HALF), ["mean of failures too"]);
  assert.deepEqual(marks(said({ p50: 10 * MS }), HALF), ["p50 -50 %"]);
});

test("a client that gave up, and a server that died, are reported", () => {
  const quiet = { ...HALF, silentSeconds: 1.9 };
  assert.deepEqual(marks(said({}), quiet), ["asked nothing for the last 1.9 s"]);
  const died = { ...quiet, statuses: { died: 32 } };
  assert.deepEqual(marks(said({}), died), []);
  assert.deepEqual(marks(said({ failedShare: 0 }), died), ["hides that the server died"]);
  const whole = { ...HALF, failedShare: 0 };
  assert.deepEqual(marks(said({}), whole), ["reports failures that did not happen"]);
});

test("ramps and searches are held to the construction", () => {
  const levels = [{ truth: { rate: 200 } }, { truth: { rate: 400 } }];
  const ceiling = (kind, rate) => ({ kind, rate, low: rate * 0.98, high: rate * 1.02 });
  assert.deepEqual(rampMarks(ceiling("ceiling", 395), levels, 400), []);
  assert.deepEqual(rampMarks(ceiling("at-least", 401), levels, 0), []);
  assert.deepEqual(rampMarks(ceiling("ceiling", 401), levels, 0), ["a ceiling where none is"]);
  assert.deepEqual(rampMarks(ceiling("ceiling", 300), levels, 400), ["rate -25 %"]);
  assert.deepEqual(rampMarks(null, levels, 400), ["names no rate"]);
  const range = { lowest: 50, highest: 800 };
  const answer = (rate, more) => ({ rate, kind: "ceiling", misses_at: null, ...more });
  assert.deepEqual(findMarks(answer(800, { kind: "at-least" }), "top", range, []), []);
  assert.deepEqual(findMarks(answer(400), "top", range, []), ["ends below the top of its range"]);
  assert.deepEqual(findMarks(null, "none", range, []), []);
  assert.deepEqual(findMarks(answer(800), "none", range, []), ["says 800/s where none holds"]);
  assert.deepEqual(findMarks(answer(380, { misses_at: 560 }), 400, range, []), []);
  assert.deepEqual(findMarks(answer(800), 400, range, []), ["rate +100 %"]);
  assert.deepEqual(findMarks(answer(300, { kind: "at-least" }), 400, range, []),
    ['only "at least 300/s"']);
  assert.deepEqual(findMarks(null, 400, range, []), ["finds no rate"]);
  const missed = (failedShare) => [{ said: { asked: { rate: 350 } }, truth: { failedShare } }];
  const early = answer(330, { misses_at: 350 });
  assert.deepEqual(findMarks(early, 400, range, missed(0)), ["rate -18 %"]);
  assert.deepEqual(findMarks(early, 400, range, missed(0.04)), []);
});

test("figures are written with their units, and what is not known as a dash", () => {
  assert.deepEqual([rate(12_345), rate(401.2), rate(null)], ["12.3k/s", "401/s", "-"]);
  assert.deepEqual([0, 0.031, 0.5, null].map(share), ["0 %", "3.1 %", "50 %", "-"]);
  assert.deepEqual([time(465e3), time(5.04e6), time(50.2e6), time(1.5e9), time(Infinity)],
    ["465 us", "5.0 ms", "50 ms", "1.50 s", "-"]);
});
