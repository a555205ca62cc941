// Fastify, whose requests sleep SLEEP_MS in a pool of THREADS worker threads (Piscina).
const { PORT, THREADS } = process.env;
const { Piscina } = require("piscina");
const app = require("fastify")();
const pool = new Piscina({
  filename: require.resolve("./sleep.js"),
  minThreads: +THREADS,
  maxThreads: +THREADS,
  concurrentTasksPerWorker: 1,
});
app.get("/", () => pool.run());
app.listen({ port: +PORT, host: "0.0.0.0" });
