// Fastify: hashes ROUNDS times in each request.
const { pbkdf2Sync } = require("crypto");
const { PORT, ROUNDS } = process.env;
const app = require("fastify")();
app.get("/", async () => pbkdf2Sync("word", "salt", +ROUNDS, 32, "sha256").toString("hex"));
app.listen({ port: +PORT, host: "0.0.0.0" });
