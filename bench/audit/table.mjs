// The table of the corpus: each file, what is true, and what cannot be.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const CORPUS = "crates/tools/corpus";
const TABLE = join(CORPUS, "expected.tsv");
const JUDGED = "bench/audit/judged.tsv";
const COLUMNS = ["file", "tool", "scenario", "command", "truth", "impossible", "given",
  "undecided", "arithmetic", "by reading"];
// The first column that is filled in by hand.
const JUDGED_FROM = COLUMNS.indexOf("impossible");
// The mark of a file that has not been judged.
export const OPEN = "?";

const rowsOf = (file) => {
  if (!existsSync(file)) return [];
  const [head, ...lines] = readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  const names = head.split("\t");
  return lines.map((line) => {
    const cells = line.split("\t");
    return Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ""]));
  });
};

export const readTable = () => rowsOf(TABLE);
export const readJudged = () => rowsOf(JUDGED);

// Twelve digits of SHA-256 are enough to tell that a file changed.
export const digest = (file) =>
  createHash("sha256").update(readFileSync(join(CORPUS, file))).digest("hex").slice(0, 12);

// A judgement holds only for a file with the same bytes.
export function writeTable(rows) {
  const judged = new Map(readJudged().map((row) => [`${row.file} ${row.digest}`, row]));
  const unjudged = Object.fromEntries(COLUMNS.slice(JUDGED_FROM).map((name) => [name, OPEN]));
  const there = rows.filter((row) => existsSync(join(CORPUS, row.file)));
  const lines = there.sort((a, b) => (a.file < b.file ? -1 : 1)).map((row) => {
    const said = { ...row, ...(judged.get(`${row.file} ${digest(row.file)}`) ?? unjudged) };
    return COLUMNS.map((name) => said[name]).join("\t");
  });
  writeFileSync(TABLE, `${COLUMNS.join("\t")}\n${lines.join("\n")}\n`);
}
