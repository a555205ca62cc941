import assert from "node:assert/strict";
import { test } from "node:test";
import { interval } from "./interval.mjs";

test("an interval is that of the textbook", () => {
  const { mean, low, high } = interval([1, 2, 3, 4, 5]);
  assert.equal(mean, 3);
  assert.ok(Math.abs(high - (3 + 2.776 * Math.sqrt(2.5 / 5))) < 1e-9);
  assert.ok(Math.abs(mean - low - (high - mean)) < 1e-9);
});

test("one pair says nothing about its spread", () => {
  assert.deepEqual(interval([7]), { mean: 7, low: -Infinity, high: Infinity });
});
