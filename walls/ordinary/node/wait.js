// Waits SLEEP_MS in each request, without a limit.
const http = require("http");
const { PORT, SLEEP_MS } = process.env;
http
  .createServer((request, response) => setTimeout(() => response.end("waited\n"), +SLEEP_MS))
  .listen(+PORT, "0.0.0.0");
