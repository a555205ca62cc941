// Checks the record of a run against the server's log.

const RATE_OFF = 0.02;
// The server's clock includes neither the network time nor the client's wait for a CPU.
const P50_OFF = { share: 0.1, ns: 1e6 };

// The requests of the server between two instants, each counted when its response was due.
function arrivedBetween(arrivals, from, to, serviceNs) {
  const isIn = (at) => at + serviceNs >= from && at + serviceNs < to;
  return arrivals.reduce((count, at) => count + (isIn(at) ? 1 : 0), 0);
}

const standing = (point, figure) => point.standing?.[figure] ?? { is: "sound" };

// A figure is right when the truth lies within its bounds, or within the margin that the server
// cannot measure.
function holds(said, { is, low, high }, truth, { below, above }) {
  if (is === "bounded") {
    return truth >= low - above && (high === null || truth <= high + below);
  }
  return is === "sound" && said !== null && said <= truth + above && said >= truth - below;
}

function checkPoint(scene, point, truth) {
  const [from, to] = point.window_ns;
  const seconds = (to - from) / 1e9;
  const count = arrivedBetween(truth.arrivals, from, to, truth.p50 ?? 0);
  const rate = count / seconds;
  // At each end of the window up to the in-flight limit of requests are between client and server.
  const edge = point.in_flight.limit / seconds;
  const off = Math.max(RATE_OFF * rate, edge);
  const isRateRight =
    holds(point.rate, standing(point, "rate"), rate, { below: off, above: off });
  const said = point.latency_ns.p50;
  const below = Math.max(P50_OFF.ns, P50_OFF.share * truth.p50);
  const margin = { below, above: scene.p50 === "least" ? Infinity : below };
  const isP50Right = said === null || truth.p50 === null ||
    holds(said, standing(point, "p50"), truth.p50, margin);
  return { isRateRight, isP50Right, rateOff: Math.abs(point.rate / rate - 1),
    p50Off: said === null || truth.p50 === null ? null : Math.abs(said - truth.p50),
    lateNs: point.generator_delay_ns?.p99 ?? null,
    shown: `${point.load.rate ?? point.load.connections}: ${point.rate.toFixed(1)}/s, true ` +
      `${rate.toFixed(1)}; p50 ${said / 1e6} ms, true ${truth.p50 / 1e6}` };
}

// Gates and verdict in one line, to find the cause.
function tell(record) {
  const points = record.points.map((point) => {
    const broken = point.gates.filter((gate) => gate.ok === false);
    const bad = broken.map((gate) => `${gate.id}: ${gate.why}`).join("; ");
    return `[${point.load.rate ?? point.load.connections} ${point.verdict.wall} ${bad}]`;
  });
  const { wall, name, confidence, side } = record.verdict;
  const { rate, ended, notes } = record.search?.answer ?? {};
  const search = rate === undefined ? "" : `; find ${rate} ${ended} ${notes.join(", ")} ` +
    record.search.trials.map((one) => `${one.rate}:${one.standing}:${one.trust}`).join(" ");
  return `${wall} (${name}), ${side}, ${confidence} ${points.join(" ")}${search}`;
}

// A wall of the server, its kernel or its application that does not exist.
const isBlamed = (scene, { wall }) => /^[SKA]\d/.test(wall) && !scene.allows?.includes(wall);

// The worst of a figure over all points.
const worst = (checked, name) => checked.reduce((most, one) =>
  (one[name] === null ? most : Math.max(most ?? 0, one[name])), null);

export function judge(scene, exit, record, truth) {
  if (record === null || record.points.length === 0) {
    return { exit, isKnown: false, isRateRight: false, isP50Right: false, blames: false,
      rateOff: null, p50Off: null, lateNs: null, faults: [`exit ${exit}, no record`], said: "" };
  }
  const checked = record.points.map((point) => checkPoint(scene, point, truth));
  const answer = record.search?.answer;
  const { least, most } = scene.finds ?? {};
  const isAnswered = scene.finds === undefined ||
    answer?.rate >= least * (1 - RATE_OFF) && answer.rate <= most * (1 + RATE_OFF);
  const isFalseCeiling = scene.words[0] === "ramp" && record.verdict.ceiling?.kind === "ceiling";
  const isKnown = exit === 0 && isAnswered &&
    !record.points.every((point) => standing(point, "rate").is === "not-known");
  const isRateRight = checked.every((one) => one.isRateRight);
  const isP50Right = checked.every((one) => one.isP50Right);
  const blames = isBlamed(scene, record.verdict);
  const wrong = (name) => checked.filter((one) => !one[name]).map((one) => one.shown).join(", ");
  const faults = [
    exit === 0 ? [] : `exit ${exit}`,
    isAnswered ? [] : `find says ${answer?.rate} (${least} to ${most})`,
    isFalseCeiling ? `a ceiling of ${record.verdict.ceiling.rate} where none is` : [],
    isRateRight ? [] : `rate at ${wrong("isRateRight")}`,
    isP50Right ? [] : `p50 at ${wrong("isP50Right")}`,
    blames ? `names ${record.verdict.wall}` : [],
  ].flat();
  return { exit, isKnown, isRateRight, isP50Right, blames, rateOff: worst(checked, "rateOff"),
    p50Off: worst(checked, "p50Off"), lateNs: worst(checked, "lateNs"), faults,
    said: tell(record) };
}
