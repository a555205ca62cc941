// A pool of POOL connections to PostgreSQL at DOWNSTREAM, for the scripts in this folder.
const express = require("express");
const { Pool } = require("pg");
const { PORT, POOL, DOWNSTREAM } = process.env;
const [host, port] = DOWNSTREAM.split(":");
const pool = new Pool({ host, port: +port, user: "postgres", database: "postgres", max: +POOL });

exports.serve = (ask) => {
  const app = express();
  app.get("/", async (request, response) => {
    await ask(pool);
    response.send("asked\n");
  });
  app.listen(+PORT, "0.0.0.0");
};
