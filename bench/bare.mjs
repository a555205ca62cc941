// Prints what bench/bare measured: node bench/bare.mjs FOLDER LIBRARY... The wish is that a target
// of fasthttp and of fiber stays within 5 % of a bare handler. It is asked of the CPU time for each
// request, which a busy machine moves less than the rate.
import { readFileSync } from "node:fs";

const LEAST = 0.95;
const [folder, ...libraries] = process.argv.slice(2);
const sorted = (values) => values.toSorted((left, right) => left - right);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];
const range = (values) =>
  `${median(values).toFixed(3)} (${sorted(values)[0].toFixed(3)}..` +
  `${sorted(values).at(-1).toFixed(3)})`;

console.log("          bare k/s  target k/s  bare us/req  target us/req  rate target/bare     " +
  "  CPU bare/target");
for (const library of libraries) {
  const lines = readFileSync(`${folder}/${library}.txt`, "utf8").trim().split("\n");
  const rounds = lines.map((line) => line.split(" ").map(Number));
  const column = (at) => rounds.map((round) => round[at]);
  const speed = rounds.map(([bare, , target]) => target / bare);
  const cpu = rounds.map(([, bare, , target]) => bare / target);
  const met = library === "nethttp" ? "" : median(cpu) >= LEAST ? "  met" : "  MISSED";
  console.log(library.padEnd(8), (median(column(0)) / 1000).toFixed(1).padStart(9),
    (median(column(2)) / 1000).toFixed(1).padStart(11), median(column(1)).toFixed(2).padStart(12),
    median(column(3)).toFixed(2).padStart(14), "", range(speed), " ", range(cpu) + met);
}
console.log("met: the median of CPU bare/target is at least 0.95");
