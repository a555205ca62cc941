// The code that could make a run wrongly look right or wrong: node --test bench/noise/test.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "./judge.mjs";

const SERVICE_NS = 5e6;
// 1000 requests per second for three seconds; the window is the middle one.
const arrivals = Float64Array.from({ length: 3000 }, (_, at) => at * 1e6);
const truth = { arrivals, p50: SERVICE_NS };
const point = (change = {}) => ({ window_ns: [1e9, 2e9], rate: 1000, in_flight: { limit: 5 },
  load: { rate: null, connections: 5 }, latency_ns: { p50: 5.2e6 }, generator_delay_ns: null,
  gates: [], verdict: { wall: "unknown" }, ...change });
const record = (points, verdict = {}, search = null) => ({ points, search,
  verdict: { wall: "unknown", side: "unknown", confidence: "unknown", ...verdict } });
const load = { words: ["load"] };
const faults = (scene, exit, of) => judge(scene, exit, of, truth).faults;

test("a run that says what the server wrote has no fault", () => {
  assert.deepEqual(faults(load, 0, record([point()])), []);
});

test("an exit code, a wall of the server and an absent record are faults", () => {
  assert.deepEqual(faults(load, 4, record([point()])), ["exit 4"]);
  for (const wall of ["S6", "K14", "A1"]) {
    assert.deepEqual(faults(load, 0, record([point()], { wall })), [`names ${wall}`]);
  }
  assert.deepEqual(faults(load, 0, record([point()], { wall: "C4" })), [], "not the server");
  const busy = { ...load, allows: ["S2"] };
  assert.deepEqual(faults(busy, 0, record([point()], { wall: "S2" })), []);
  assert.deepEqual(faults(busy, 0, record([point()], { wall: "A2" })), ["names A2"]);
  assert.deepEqual(faults(load, 1, null), ["exit 1, no record"]);
});

test("a rate is held against arrivals in its own window", () => {
  const said = (rate, standing) => faults(load, 0, record([point({ rate, standing })])).length;
  assert.equal(said(1019), 0);
  assert.equal(said(1030), 1);
  assert.equal(said(970), 1);
  const bounded = { rate: { is: "bounded", low: 900, high: 1100 } };
  assert.equal(said(1090, bounded), 0, "the truth is within its bounds");
  assert.equal(said(950, { rate: { is: "bounded", low: 900, high: 960 } }), 1);
});

test("a median is held against that of the server, within its bounds if it has any", () => {
  const said = (p50, standing) =>
    faults(load, 0, record([point({ latency_ns: { p50 }, standing })])).length;
  assert.equal(said(5.9e6), 0, "a millisecond is the way and the waiting for a CPU");
  assert.equal(said(6.1e6), 1);
  assert.equal(said(9e6, { "p50": { is: "bounded", low: 4.9e6, high: 9e6 } }), 0);
  assert.equal(said(9e6, { "p50": { is: "bounded", low: 6.5e6, high: 9e6 } }), 1);
  assert.equal(said(4.5e6), 0);
  assert.equal(said(3.9e6), 1, "faster than the server");
  const least = { ...load, p50: "least" };
  const above = (p50) => faults(least, 0, record([point({ latency_ns: { p50 } })])).length;
  assert.equal(above(9e6), 0, "it waited for a CPU before its clock began");
  assert.equal(above(3.9e6), 1);
});

test("a search that ends too low and a ceiling where none is are faults", () => {
  const find = { words: ["find"], finds: { least: 1600, most: 1600 } };
  const searched = (rate) => record([point()], {}, { trials: [],
    answer: { rate, ended: "narrowed", notes: [] } });
  assert.deepEqual(faults(find, 0, searched(1600)), []);
  assert.equal(faults(find, 0, searched(800)).length, 1);
  assert.equal(faults(find, 0, searched(2000)).length, 1);
  const ramp = { words: ["ramp"] };
  const of = (kind) => record([point()], { ceiling: { rate: 1000, kind } });
  assert.deepEqual(faults(ramp, 0, of("at-least")), []);
  assert.equal(faults(ramp, 0, of("ceiling")).length, 1);
});
