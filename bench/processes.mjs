// What the measurements here do with programs: start them, and leave none behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

const running = new Set();
process.on("exit", () => { for (const child of running) child.kill("SIGKILL"); });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.exit(130));
}

// Starts a program that does not outlive this one. Its outputs are pipes.
export function started(program, words, options = {}) {
  const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"], ...options });
  running.add(child);
  child.on("exit", () => running.delete(child));
  return child;
}

export async function collected(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

export async function freePort() {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address();
  listener.close();
  return port;
}
