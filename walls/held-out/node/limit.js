// Fastify with its plugin that allows RATE requests per second.
const app = require("fastify")();
app.register(require("@fastify/rate-limit"), { max: +process.env.RATE, timeWindow: 1000 });
app.after(() => app.get("/", async () => "page\n"));
app.listen({ port: +process.env.PORT, host: "0.0.0.0" });
