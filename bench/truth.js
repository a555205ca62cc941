// A fixed rate of arrivals; prints the compared percentiles on stdout.
import http from "k6/http";

export const options = {
  summaryTrendStats: ["p(50)", "p(90)", "p(99)", "p(99.9)", "max"],
  scenarios: {
    fixed: {
      executor: "constant-arrival-rate",
      rate: Number(__ENV.RATE),
      timeUnit: "1s",
      duration: `${__ENV.SECONDS}s`,
      preAllocatedVUs: Number(__ENV.USERS),
    },
  },
};

export default function () {
  http.get(__ENV.TARGET);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data.metrics) };
}
