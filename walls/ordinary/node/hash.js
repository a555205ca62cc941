// Computes ROUNDS of a password hash in each request, on the one thread.
const crypto = require("crypto");
const express = require("express");
const { PORT, ROUNDS } = process.env;
const app = express();
app.get("/", (request, response) => {
  response.send(crypto.pbkdf2Sync("password", "salt", +ROUNDS, 32, "sha256").toString("hex"));
});
app.listen(+PORT, "0.0.0.0");
