// Properties of the corpus: each file has its row, and nothing identifies the machine. node --test
// bench/audit/test.mjs
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { test } from "node:test";
import { LONGEST, cut, scrubbed } from "./scrub.mjs";
import { CORPUS, OPEN, digest, readJudged, readTable } from "./table.mjs";

const OWN = ["expected.tsv", "README.md"];
const files = readdirSync(CORPUS).filter((name) => !OWN.includes(name));
const rows = readTable();

test("every file has one row, and every row a file", () => {
  assert.deepEqual(rows.map((row) => row.file).sort(), [...files].sort());
});

test("every file was judged as it is now", () => {
  const judged = new Set(readJudged().map((row) => `${row.file} ${row.digest}`));
  assert.deepEqual(files.filter((file) => !judged.has(`${file} ${digest(file)}`)), []);
  assert.deepEqual(rows.filter((row) => row.impossible === OPEN), []);
});

test("a figure that cannot be comes with its arithmetic", () => {
  const bare = rows.filter((row) => row.impossible !== "" && row.arithmetic === "");
  assert.deepEqual(bare, []);
});

test("files are small", () => {
  const sizes = files.map((file) => statSync(`${CORPUS}/${file}`).size);
  // In bytes; files are cut by characters.
  assert.ok(Math.max(...sizes) < 2 * LONGEST);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) < 1e6);
});

test("no file names a home, a user or another machine", () => {
  for (const file of files) {
    const text = readFileSync(`${CORPUS}/${file}`, "utf8");
    assert.doesNotMatch(text, /\/(home|root|work|tmp|Users)\//, file);
    assert.doesNotMatch(text, /\b(?!127\.0\.0\.1|0\.0\.0\.0)(\d{1,3}\.){3}\d{1,3}:\d+/, file);
  }
});

test("what is of this machine is replaced, and whole lines are kept", () => {
  assert.equal(scrubbed("wrote /tmp/audit-x/out.json", "/tmp/audit-x"), "wrote SCRATCH/out.json");
  const line = `${"x".repeat(LONGEST - 3)}\n`;
  assert.ok(cut(`${line}yy\nzz\n`) === line);
  assert.equal(cut("short"), "short");
});
