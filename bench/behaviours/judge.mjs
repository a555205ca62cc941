// Marks figures that are wrong, with the reason. Each mark is a short sentence; a figure without a
// mark is right within these bounds.

export const RATE_OFF = 0.05;
// The server's clock includes neither the network time nor the client's wait for a CPU.
const LATENCY = { p50: { share: 0.05, ns: 1e6 }, p99: { share: 0.1, ns: 3e6 },
  mean: { share: 0.05, ns: 1e6 } };
const FAILURES_MIN = 0.005;
const SILENT_MIN_S = 0.3;
// The bound of every objective in rows.mjs.
const FIND_FAILURES = 0.01;

const isNear = (said, true_, bound) =>
  // A rank beyond all good responses has no time to compare with.
  Number.isFinite(true_) && Math.abs(said - true_) <= Math.max(bound.ns, bound.share * true_);
const percentOff = (said, true_) => {
  const off = (said / true_ - 1) * 100;
  return `${off < 0 ? "" : "+"}${off.toFixed(0)} %`;
};

function rateMark(said, truth) {
  if (said.rate === null) return ["prints no rate"];
  const isRight = (rate) => Math.abs(said.rate - rate) <= Math.max(1, RATE_OFF * rate);
  if (isRight(truth.rate)) return [];
  if ([truth.answeredRate, truth.endedRate].some(isRight)) return ["rate counts failures"];
  return [truth.rate > 0 ? `rate ${percentOff(said.rate, truth.rate)}` : "rate of nothing"];
}

function failureMark(said, truth) {
  const died = truth.statuses.died ?? 0;
  if (died > 0) return said.failedShare === 0 ? ["hides that the server died"] : [];
  if (truth.failedShare === null || said.failedShare === null) return [];
  const isMuch = truth.failedShare > FAILURES_MIN;
  if (isMuch && said.failedShare < truth.failedShare / 2) return ["hides failures"];
  if (isMuch && said.success > 1 - truth.failedShare / 2) {
    return [`calls ${(said.success * 100).toFixed(0)} % a success`];
  }
  const most = Math.max(2 * truth.failedShare, truth.failedShare + FAILURES_MIN);
  return said.failedShare > most ? ["reports failures that did not happen"] : [];
}

function latencyMark(name, said, truth) {
  const value = said[name];
  if (value === null || truth.ended === 0) return [];
  const bound = LATENCY[name];
  // All these are honest: over good responses, or over all requests with failures last; over
  // requests that ended in the window, or that were sent in it.
  const honest = name === "mean" ? [truth.goodMean] :
    [truth.good, truth.all, truth.sent, truth.sentAll].map((ranks) => ranks[name]);
  if (honest.some((true_) => isNear(value, true_, bound))) return [];
  const mixed = name === "mean" ? truth.answeredMean : truth.answered[name];
  if (truth.failedShare > 0 && isNear(value, mixed, bound)) return [`${name} of failures too`];
  return [`${name} ${percentOff(value, honest[0])}`];
}

// A client that lost its connections and stopped sending measures itself.
function silenceMark(truth) {
  if ((truth.statuses.died ?? 0) > 0 || truth.silentSeconds < SILENT_MIN_S) return [];
  return [`asked nothing for the last ${truth.silentSeconds.toFixed(1)} s`];
}

// The marks of one run, or of one point.
export function marks(said, truth) {
  return [...rateMark(said, truth), ...failureMark(said, truth),
    ...["p50", "p99", "mean"].flatMap((name) => latencyMark(name, said, truth)),
    ...silenceMark(truth)];
}

// The marks of a ramp, which should end with the capacity where there is one within reach, else
// with the best of its levels and no ceiling.
export function rampMarks(ceiling, levels, capacity) {
  if (!ceiling) return ["names no rate"];
  const best = Math.max(...levels.map((level) => level.truth.rate));
  const true_ = capacity || best;
  const found = [];
  const isNearRate = Math.abs(ceiling.rate - true_) <= RATE_OFF * true_;
  const holds = ceiling.low !== null && ceiling.low <= true_ && true_ <= ceiling.high;
  if (!isNearRate && !holds) found.push(`rate ${percentOff(ceiling.rate, true_)}`);
  const claims = ceiling.kind === "ceiling";
  if (!capacity && claims) found.push("a ceiling where none is");
  return found;
}

// If the server's log of a trial has too many failures, the trial was rightly missed, even where
// evenly spaced requests would have met the objective.
const isTrueMiss = (rate, levels) => levels.some(({ said, truth }) =>
  said.asked.rate === rate && truth.failedShare >= FIND_FAILURES);

// The marks of a search.
export function findMarks(answer, wanted, range, levels) {
  const none = !answer || answer.rate === null || answer.kind === "none";
  if (wanted === "none") return none ? [] : [`says ${answer.rate.toFixed(0)}/s where none holds`];
  if (none) return ["finds no rate"];
  if (wanted === "top") {
    return answer.rate >= range.highest * (1 - RATE_OFF) ? [] : ["ends below the top of its range"];
  }
  const isBound = answer.kind === "at-least" && answer.rate < wanted * (1 - RATE_OFF);
  if (isBound) return [`only "at least ${answer.rate.toFixed(0)}/s"`];
  const above = answer.misses_at ?? answer.rate;
  const reaches = above >= wanted * (1 - RATE_OFF) || isTrueMiss(above, levels);
  const holds = answer.rate <= wanted * (1 + RATE_OFF) && reaches;
  return holds ? [] : [`rate ${percentOff(answer.rate, wanted)}`];
}
