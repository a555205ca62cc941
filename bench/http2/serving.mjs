// Starts the servers of bench/http2/servers.mjs, each on CPU 0, and loads on CPU 1.
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync }
  from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { collected, freePort, started } from "../processes.mjs";

export const CEILING = process.env.CEILING ?? "bin/ceiling";
const SCHEMA = ["--proto", "crates/schema/fixtures/shop.proto"];

const start = (cpu, words, options) => started("taskset", ["-c", cpu, ...words], options);

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

async function listens(port) {
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise((done) => {
      socket.on("connect", () => done(true));
      socket.on("error", () => done(false));
    });
    socket.destroy();
    if (isOpen) return;
    await pause(50);
  }
  throw new Error("it does not listen");
}

// Starts a server; its end returns how many requests it logged.
export async function serve(server) {
  const dir = mkdtempSync(join(tmpdir(), "http2-"));
  // Apache serves as another user.
  chmodSync(dir, 0o755);
  const port = await freePort();
  const behind = await freePort();
  writeFileSync(join(dir, "index.html"), "hello, world\n");
  writeFileSync(join(dir, "message"), new Uint8Array(5));
  const children = server.start({ dir, port, behind, bench: resolve("bench") })
    .map((words) => start("0", words, { cwd: dir, env: { ...process.env, HOME: dir } }));
  for (const child of children) child.stdout.resume();
  let errors = "";
  for (const child of children) child.stderr.on("data", (data) => { errors += data; });
  try {
    await listens(port);
  } catch (error) {
    throw new Error(`${error.message}: ${errors.trim().split("\n").at(-1)}`);
  }
  const stop = async () => {
    // Logs are written in pieces.
    await pause(500);
    for (const child of [...children].reverse()) child.kill("SIGTERM");
    await Promise.race([Promise.all(children.map((child) => once(child, "exit"))), pause(3000)]);
    for (const child of children) child.kill("SIGKILL");
    const log = join(dir, "access.log");
    // lighttpd logs the first bytes of a connection as a request, PRI.
    const isRequest = (line) => line && !line.includes('"PRI ');
    const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(isRequest) : null;
    rmSync(dir, { recursive: true, force: true });
    return lines?.length ?? null;
  };
  return { url: `http://127.0.0.1:${port}/${server.call ?? "index.html"}`, dir, stop };
}

// The output of a program that makes a load.
export async function drive(words) {
  const child = start("1", words);
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [stdout, stderr] = await Promise.all([collected(child.stdout), collected(child.stderr)]);
  clearTimeout(timer);
  return { stdout, stderr };
}

// The record of a load of ours on a server that runs.
export async function recorded(server, url, [command, ...words]) {
  const asked = server.call ? [url.replace("http:", "grpc:"), ...(server.schema ?? SCHEMA)]
    : [url, "--http2-prior-knowledge"];
  const ran = await drive([CEILING, command, ...asked, "-t", "1", "--warmup", "0", "--runs",
    "none", "--json", ...words]);
  if (!ran.stdout.trim()) throw new Error(ran.stderr.trim().split("\n").at(-1));
  return JSON.parse(ran.stdout);
}

// What a table says of the servers that have no row.
export function withoutRow(absent, failed) {
  const said = [["Not there", absent], ["Failed", failed]].filter(([, names]) => names.length);
  return said.map(([what, names]) => `\n\n${what}: ${names.join(", ")}.`).join("");
}
