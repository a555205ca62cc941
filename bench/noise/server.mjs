// An ordinary Node server: every response takes 5 ms. It prints what target-sink prints: a first
// line with its address, and after SIGTERM a last one with its service times; it also writes a file
// of arrivals. node bench/noise/server.mjs ARRIVALS_FILE
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";

const WAIT_MS = 5;
const arrivals = [];
const services = [];
const server = createServer((request, response) => {
  const arrivedAt = process.hrtime.bigint();
  arrivals.push(arrivedAt);
  setTimeout(() => {
    response.end("hello\n");
    services.push(Number(process.hrtime.bigint() - arrivedAt));
  }, WAIT_MS);
});

server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ event: "listening", addr: `127.0.0.1:${server.address().port}`,
    pid: process.pid }));
});
process.on("SIGTERM", () => {
  writeFileSync(process.argv[2], BigUint64Array.from(arrivals));
  const sorted = Float64Array.from(services).sort();
  const p50 = sorted[Math.ceil(sorted.length / 2) - 1] ?? null;
  console.log(JSON.stringify({ event: "stopped", service_ns: { p50 } }));
  process.exit(0);
});
