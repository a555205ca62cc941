#!/usr/bin/env node
// A server of HTTP/2 without TLS whose truth is known. `--delay 10` milliseconds each; `--streams
// 10` at once on a connection; `--goaway 1000` requests on a connection, after which it ends;
// `--grpc 12` answers each call with this status of gRPC, `--grpc 8 --every 10` each tenth one, and
// the others with 0; `--status 503` responds with that and a body.
// `--port 0` and `--log FILE`: where it listens, and where it writes a line for each request.
//
// It prints its address, and when it is told to end what it counted.
import { createWriteStream } from "node:fs";
import http2 from "node:http2";
import { parseArgs } from "node:util";

const names = ["delay", "streams", "goaway", "grpc", "every", "port", "status"];
const { values } = parseArgs({
  options: Object.fromEntries([...names, "log"].map((name) => [name, { type: "string" }])) });
const log = values.log && createWriteStream(values.log);
const [delay, streams, goaway, grpc, every, port, status] =
  names.map((name) => Number(values[name] ?? 0));

const counted = { requests: 0, answered: 0, connections_accepted: 0, grpc: {}, at_once_max: 0 };
let atOnce = 0;

const server = http2.createServer({
  settings: streams ? { maxConcurrentStreams: streams } : {} });
server.on("session", (session) => {
  counted.connections_accepted += 1;
  session.seen = 0;
  session.on("error", () => {});
});
server.on("stream", (stream) => {
  counted.requests += 1;
  log?.write("request\n");
  counted.at_once_max = Math.max(counted.at_once_max, ++atOnce);
  stream.on("close", () => { atOnce -= 1; });
  stream.on("error", () => {});
  stream.resume();
  const { session } = stream;
  if (goaway && ++session.seen === goaway) session.goaway(0, stream.id);
  const answer = () => {
    if (stream.destroyed) return;
    counted.answered += 1;
    if (values.grpc === undefined) {
      stream.respond({ ":status": status || 200, "content-type": "text/plain" });
      stream.end("hello, world\n");
    } else {
      call(stream);
    }
    if (goaway && session.seen >= goaway) session.close();
  };
  if (delay) setTimeout(answer, delay);
  else answer();
});

function call(stream) {
  const fails = !every || counted.answered % every === 0;
  const status = fails ? grpc : 0;
  counted.grpc[status] = (counted.grpc[status] ?? 0) + 1;
  const head = { ":status": 200, "content-type": "application/grpc" };
  if (status !== 0) {
    stream.respond({ ...head, "grpc-status": status, "grpc-message": "no" }, { endStream: true });
    return;
  }
  stream.respond(head, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": 0 }));
  // An empty message.
  stream.end(Buffer.alloc(5));
}

server.listen(port, "127.0.0.1", () => {
  console.log(JSON.stringify({ addr: `127.0.0.1:${server.address().port}` }));
});
process.on("SIGTERM", () => {
  console.log(JSON.stringify(counted));
  process.exit(0);
});
