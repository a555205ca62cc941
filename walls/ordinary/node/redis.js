// Sends Redis at DOWNSTREAM a command that holds its one thread for SLOW_MS.
const express = require("express");
const Redis = require("ioredis");
const { PORT, SLOW_MS, DOWNSTREAM } = process.env;
const [host, port] = DOWNSTREAM.split(":");
const redis = new Redis({ host, port: +port });
const app = express();
app.get("/", async (request, response) => {
  await redis.call("DEBUG", "SLEEP", String(+SLOW_MS / 1000));
  response.send("asked\n");
});
app.listen(+PORT, "0.0.0.0");
