// The command line of each tool, and how its figures are read. Nothing is corrected here: the rate
// is the one that the tool prints as its rate.
import { CONNECTIONS, FIND, RAMP, SECONDS } from "./rows.mjs";

// The body of a POST, which the bench writes: more than the kernel takes at once.
export const UPLOAD = { file: "out/behaviours/upload", bytes: 8 << 20 };
const upload = (method, words) => (method === "POST" ? words : []);

// What a tool reported. A figure that it does not report is null.
const silent = { rate: null, failedShare: null, success: null, p50: null, p99: null, mean: null };

const UNITS = { us: 1e3, ms: 1e6, s: 1e9, m: 60e9 };
const nanoseconds = (text) => {
  const found = /^([\d.]+)(us|ms|s|m)$/.exec(text ?? "");
  return found ? Number(found[1]) * UNITS[found[2]] : null;
};
const share = (part, all) => (all > 0 ? part / all : null);
const isBad = (status) => Number(status) >= 400;

export function readWrk(text) {
  const number = (pattern) => Number(pattern.exec(text)?.[1] ?? 0);
  const requests = number(/(\d+) requests in /);
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(text);
  if (!rate) return silent;
  const socket = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text);
  const broken = socket ? socket.slice(1).reduce((sum, one) => sum + Number(one), 0) : 0;
  const bad = number(/Non-2xx or 3xx responses: (\d+)/);
  const time = (at) => nanoseconds(new RegExp(`^\\s+${at}%\\s+(\\S+)`, "m").exec(text)?.[1]);
  return {
    ...silent, rate: Number(rate[1]), failedShare: share(bad + broken, requests + broken),
    p50: requests ? time(50) : null, p99: requests ? time(99) : null,
  };
}

export function readOha(text) {
  const said = JSON.parse(text);
  const sum = (counts) => counts.reduce((all, [, count]) => all + count, 0);
  const statuses = Object.entries(said.statusCodeDistribution ?? {});
  // Requests in flight when the time was over are not failures.
  const errors = Object.entries(said.errorDistribution ?? {})
    .filter(([text]) => text !== "aborted due to deadline");
  const bad = sum(statuses.filter(([status]) => isBad(status))) + sum(errors);
  const scaled = (seconds) => (seconds === null || seconds === undefined ? null : seconds * 1e9);
  return {
    ...silent, rate: said.summary.requestsPerSec,
    failedShare: share(bad, sum(statuses) + sum(errors)), success: said.summary.successRate,
    p50: scaled(said.latencyPercentiles.p50), p99: scaled(said.latencyPercentiles.p99),
  };
}

export function readH2load(text) {
  const rate = /finished in \S+, ([\d.]+) req\/s/.exec(text);
  if (!rate) return silent;
  const count = (what) => Number(new RegExp(`(\\d+) ${what}`).exec(text)[1]);
  // Its failed count includes errored and timed out ones.
  const [total, succeeded, failed] = ["total,", "succeeded,", "failed,"].map(count);
  const mean = /time for request:\s+\S+\s+\S+\s+(\S+)/.exec(text)?.[1];
  return {
    ...silent, rate: Number(rate[1]), failedShare: share(failed, succeeded + failed),
    mean: total ? nanoseconds(mean) : null,
  };
}

// A point of a record of `ceiling`.
export function readPoint(point) {
  const { completed, failed, unanswered, unsent } = point.requests;
  return {
    ...silent, rate: point.rate,
    failedShare: share(failed, completed + failed),
    p50: point.latency_ns?.p50 ?? null, p99: point.latency_ns?.p99 ?? null,
    window: point.window_ns, asked: point.load, unanswered, unsent,
    broken: point.gates.filter((gate) => gate.ok === false).map((gate) => gate.id),
  };
}

// The headline of the text, which its last line repeats.
export const headline = (text) => {
  const lines = text.split("\n"), isSaid = (line) => line.startsWith("\u258c");
  const said = lines.slice(Math.max(lines.findIndex(isSaid), 0));
  const end = said.findIndex((line) => !isSaid(line));
  return said.slice(0, end < 0 ? said.length : end).map((line) => line.slice(1).trim());
};

const wrk = (row, url, method) => ["-t1", `-c${CONNECTIONS}`, `-d${SECONDS}s`, "--latency",
  ...(method === "HEAD" ? ["-s", "bench/behaviours/head.lua"] : []),
  ...upload(method, ["-s", "bench/behaviours/upload.lua"]), url];
const oha = (row, url, method) => ["--no-tui", "--output-format", "json", "-m", method,
  "-c", `${CONNECTIONS}`, "-z", `${SECONDS}s`, ...upload(method, ["-D", UPLOAD.file]), url];
const h2load = (row, url, method) => ["--h1", "-t", "1", "-c", `${CONNECTIONS}`,
  "-D", `${SECONDS}`, ...(method === "HEAD" ? ["-H", ":method: HEAD"] : []),
  ...upload(method, ["-d", UPLOAD.file]), url];

const ours = (command, more) => (row, url, method, file) => [command, url, "-X", method, "-t", "1",
  "--cpus", "1", "--warmup", "500ms", "--runs", "none", "--no-color", "--seed", "1",
  "-o", file, ...upload(method, ["-f", UPLOAD.file]), ...more(row)];

export const PEERS = [
  { name: "wrk", program: "wrk", version: ["-v"], words: wrk, read: readWrk },
  { name: "oha", program: "oha", version: ["--version"], words: oha, read: readOha },
  { name: "h2load", program: "h2load", version: ["--version"], words: h2load, read: readH2load },
];

export const OURS = [
  { name: "load", words: ours("load", () => ["-c", `${CONNECTIONS}`, "-d", `${SECONDS}s`]) },
  { name: "load -R", words: ours("load", (row) => ["-R", `${row.rate}`,
    "-c", `${row.openConnections}`, "-d", `${SECONDS}s`]) },
  { name: "ramp", words: ours("ramp", () => ["-c", RAMP, "-d", "1s"]) },
  { name: "find", words: ours("find", (row) => ["--slo", row.slo,
    "-R", `${FIND.lowest}..${FIND.highest}`, "-c", `${FIND.connections}`,
    "--budget", "15s", "--trial", "1s"]) },
];
