// One virtual user is one connection with one request in flight; the counters go to stdout.
import http from "k6/http";

export default function () {
  http.get(__ENV.TARGET);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data.metrics) };
}
