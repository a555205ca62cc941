// How long `ceiling journal build` takes for a journal of many entries. Each has a copy of one
// result by hard links, so the result is on disk once and the build reads it every time.
//
//   node bench/site.mjs RESULT [COUNT]
//
// RESULT is a folder that `ceiling run` kept (it has experiment.json), COUNT the number of entries
// (200). The program is $CEILING, or bin/ceiling.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const [given, count = "200"] = process.argv.slice(2);
if (!given || !existsSync(join(given, "experiment.json")) || !(Number(count) > 0)) {
  console.error("usage: node bench/site.mjs RESULT [COUNT]; RESULT has an experiment.json");
  process.exit(2);
}
const result = resolve(given);
const program = process.env.CEILING ?? "bin/ceiling";
// Hard links need the same file system.
const folder = mkdtempSync(join(dirname(result), ".journal-of-many-"));

const entry = (nth) => `schema = "ceiling.entry/1"
title = "Entry ${nth}"
date = 2026-${String(1 + (nth % 12)).padStart(2, "0")}-${String(1 + (nth % 28)).padStart(2, "0")}
tags = ["tag ${nth % 7}", "all"]
status = "done"
question = "What does the server do in entry ${nth}?"
answer = "It does what it did."
`;
const paragraph = "The rate of this cell is what the wall lets through. ".repeat(20);

try {
  const journal = join(folder, "journal");
  mkdirSync(journal);
  writeFileSync(join(journal, "journal.toml"), 'title = "Many"\nurl = "https://example.org"\n');
  for (let nth = 0; nth < Number(count); nth += 1) {
    const own = join(journal, `entry-${nth}`);
    mkdirSync(join(own, "results"), { recursive: true });
    writeFileSync(join(own, "entry.toml"), entry(nth));
    writeFileSync(join(own, "notes.md"), `${paragraph}word${nth}\n\n${paragraph}\n`);
    execFileSync("cp", ["-al", result, join(own, "results", basename(result))]);
  }
  const begin = performance.now();
  const out = execFileSync(program, ["journal", "build", "--journal", journal, "-o",
    join(folder, "site")], { encoding: "utf8" });
  const took_s = (performance.now() - begin) / 1000;
  console.log(`${out.trim()}\n${took_s.toFixed(2)} s for ${count} entries`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
