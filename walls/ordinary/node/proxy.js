// Calls DOWNSTREAM in each request, over an agent with SOCKETS sockets.
const http = require("http");
const express = require("express");
const { PORT, SOCKETS, DOWNSTREAM } = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: +SOCKETS });
const app = express();
app.get("/", (request, response) => {
  http.get(`http://${DOWNSTREAM}/`, { agent }, (answer) => answer.pipe(response));
});
app.listen(+PORT, "0.0.0.0");
