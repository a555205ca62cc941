// HTTP/2 without TLS. Each request waits SLEEP_MS. STREAMS limits the streams of a connection, and
// WINDOW the bytes of a body that a client may send before the server has read them.
const http2 = require("http2");
const { PORT, SLEEP_MS, STREAMS, WINDOW } = process.env;
const settings = {};
if (STREAMS) settings.maxConcurrentStreams = +STREAMS;
if (WINDOW) settings.initialWindowSize = +WINDOW;
http2
  .createServer({ settings }, (request, response) => {
    request.resume();
    request.on("end", () => setTimeout(() => response.end("waited\n"), +SLEEP_MS));
  })
  .listen(+PORT, "0.0.0.0");
