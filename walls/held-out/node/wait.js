// Fastify: waits SLEEP_MS in each request, without a limit.
const app = require("fastify")();
app.get("/", () => new Promise((done) => setTimeout(done, +process.env.SLEEP_MS, "waited\n")));
app.listen({ port: +process.env.PORT, host: "0.0.0.0" });
