// The server's log, cut to the time that a tool reports on.

// The log of target-behave: one line per request.
export function parseLog(text) {
  const lines = text.split("\n").slice(1).filter((line) => line !== "");
  return lines.map((line) => {
    const [number, connection, received, arrival, done, status, fate] = line.split("\t");
    const good = fate === "answered" && Number(status) < 400;
    return { number: +number, connection: +connection, received: +received, arrival: +arrival,
      done: +done, status: +status, fate, good, service: done - received };
  });
}

// The value at a share of sorted values; ranks beyond the end are requests without a good response.
const at = (sorted, share, count) => sorted[Math.ceil(share * count) - 1] ?? Infinity;

function ranks(services, count) {
  const sorted = Float64Array.from(services).sort();
  return { p50: at(sorted, 0.5, count), p99: at(sorted, 0.99, count) };
}

// What happened between two instants: requests that ended there.
export function between(log, from, to) {
  // Requests in flight when the bench stopped the server are not failures.
  const inside = log.filter((line) => line.done >= from && line.done < to &&
    line.fate !== "stopped");
  const good = inside.filter((line) => line.good);
  const answered = inside.filter((line) => line.fate === "answered");
  const services = good.map((line) => line.service);
  // In open loop a latency belongs to the time of its request: requests that ended later count.
  const sent = log.filter((line) => line.received >= from && line.received < to &&
    line.fate !== "stopped");
  const sentServices = sent.filter((line) => line.good).map((line) => line.service);
  const statuses = {};
  for (const line of inside) {
    const what = line.fate === "answered" ? line.status : line.fate;
    statuses[what] = (statuses[what] ?? 0) + 1;
  }
  const seconds = (to - from) / 1e9;
  const lastArrival = log.reduce((last, line) => Math.max(last, line.arrival), 0);
  return {
    seconds,
    ended: inside.length,
    rate: good.length / seconds,
    answeredRate: answered.length / seconds,
    endedRate: inside.length / seconds,
    failedShare: inside.length ? 1 - good.length / inside.length : null,
    statuses,
    good: ranks(services, services.length),
    // A failure is slower than every good response.
    all: ranks(services, inside.length),
    sent: ranks(sentServices, sentServices.length),
    sentAll: ranks(sentServices, sent.length),
    // The percentiles when failed responses are mixed in.
    answered: ranks(answered.map((line) => line.service), answered.length),
    goodMean: services.reduce((sum, ns) => sum + ns, 0) / services.length,
    answeredMean: answered.reduce((sum, line) => sum + line.service, 0) / answered.length,
    // How long before the end the last request arrived.
    silentSeconds: Math.max(0, (to - lastArrival) / 1e9),
  };
}

// The window of a tool that reports none: from the first request, for its requested duration.
export function wholeRun(log, seconds) {
  if (log.length === 0) return between([], 0, seconds * 1e9);
  const first = log.reduce((least, line) => Math.min(least, line.arrival), Infinity);
  return between(log, first, first + seconds * 1e9);
}
