// Servers whose truth is known, and the account of each in one line of words.
import { readFileSync } from "node:fs";

// `what` is true by construction; the account adds what the server counted.
export const SERVERS = {
  fast: sink([], "every request is answered at once"),
  steady: sink(["--delay", "fixed:20ms"], "every response takes 20 ms"),
  missing: sink([], "every response is a 404", "status/404"),
  large: sink([], "64 KiB in each body", "bytes/65536"),
  few: sink(["--delay", "fixed:20ms", "--serve-at-once", "8"],
    "8 at a time for 20 ms each: at most 400/s; the others wait"),
  some500: sink(["--status", "500:10%"], "one response in ten, at random, is a 500"),
  frozen: sink(["--delay", "stall:400ms/1s"], "for 400 ms of each second nothing is answered"),
  pool: behave("pool", "8 at a time for 20 ms each: at most 400/s; the others wait"),
  late500: behave("failing-late", "10 ms; every tenth is a 500 after 200 ms"),
  resets: behave("resetting", "10 ms; every twentieth is a reset instead of a response"),
  sheds: behave("shedding-fast", "400/s good at most; 503 at once for the others"),
  limited: behave("rate-limit", "500/s good at most; 429 after 2 ms above"),
  dies: behave("dead", "10 ms; two seconds after the first request all is closed for good"),
  closes: behave("closing", "20 ms, and every response closes its connection"),
  h2: http2([], "HTTP/2; every request is answered at once"),
  h2streams: http2(["--streams", "10", "--delay", "10"],
    "HTTP/2; 10 streams at once on a connection, 10 ms each: at most 1000/s on one"),
  h2goaway: http2(["--goaway", "1000"], "HTTP/2; a connection ends after 1000 requests (GOAWAY)"),
  calls: http2(["--grpc", "0", "--delay", "5"], "gRPC; every call is OK after 5 ms"),
  callsUnknown: http2(["--grpc", "12"], "gRPC; every call fails: UNIMPLEMENTED"),
  callsRefused: http2(["--grpc", "8", "--every", "10", "--delay", "5"],
    "gRPC; every tenth call fails after 5 ms: RESOURCE_EXHAUSTED"),
  callsStreams: http2(["--grpc", "0", "--streams", "10", "--delay", "10"],
    "gRPC; 10 streams at once on a connection, 10 ms each: at most 1000/s on one"),
  // Nothing listens there.
  nobody: { program: null, what: "nothing listens on the port", path: "" },
};

function sink(words, what, path = "simple") {
  return { program: "target-sink", words: ["--port", "0", "--threads", "1", ...words], what, path,
    account: (last) => sinkAccount(last) };
}

function behave(name, what) {
  return { program: "target-behave", words: ["--behaviour", name], what, path: "", isLogged: true,
    account: (last, log) => behaveAccount(last, readFileSync(log, "utf8")) };
}

function http2(words, what) {
  return { program: "http2.mjs", words, what, path: "", account: (last) => http2Account(last) };
}

const ms = (ns) => (ns === null || ns === undefined ? "null" : `${(ns / 1e6).toFixed(3)}ms`);

// What the sink counts: a request is served when the last byte of its response was sent.
function sinkAccount(last) {
  const { service_ns: service } = last;
  return [`served=${last.requests_served}`, `unanswered=${last.requests_unanswered}`,
    `connections=${last.connections_accepted}`, `service_p50=${ms(service.p50)}`,
    `service_p99=${ms(service.p99)}`, `service_max=${ms(service.max)}`];
}

const list = (counts) => Object.entries(counts).map(([key, count]) => `${key}:${count}`).join();

// What the server of HTTP/2 counts.
function http2Account(last) {
  const calls = Object.keys(last.grpc).length ? [`grpc=${list(last.grpc)}`] : [];
  return [`seen=${last.requests}`, `answered=${last.answered}`, ...calls,
    `connections=${last.connections_accepted}`, `at_once_max=${last.at_once_max}`];
}

// The log of target-behave: one line per request.
function behaveAccount(last, text) {
  const lines = text.split("\n").slice(1).filter((line) => line !== "").map((line) => {
    const [, , received, , done, status, fate] = line.split("\t");
    return { received: +received, done: +done, status: +status, fate };
  });
  const good = lines.filter((line) => line.fate === "answered" && line.status < 400);
  const service = good.map((line) => line.done - line.received).sort((a, b) => a - b);
  const at = (share) => service[Math.ceil(share * service.length) - 1];
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const from = least(lines.map((line) => line.received));
  const to = most(lines.map((line) => line.done));
  return [`seen=${last.requests}`, `good=${last.good}`, `statuses=${list(last.statuses)}`,
    `fates=${list(last.fates)}`, `connections=${last.connections_accepted}`,
    `first_to_last=${lines.length ? ((to - from) / 1e9).toFixed(3) : 0}s`,
    `good_service_p50=${ms(at(0.5))}`, `good_service_p99=${ms(at(0.99))}`,
    `good_service_max=${ms(service.at(-1))}`];
}
