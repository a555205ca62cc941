// The load for each behaviour, and the right result of `find`. Names and construction are those of
// `target-behave --list`; the bench stops if the two lists differ.

// Closed loop: enough to reach every capacity, so that the server decides the rate.
export const CONNECTIONS = 32;
export const SECONDS = 3;
export const RAMP = "4..32";
export const FIND = { lowest: 50, highest: 800, connections: 200 };

// An open loop finds a free connection for each request, unless the row says so.
const usual = { rate: 400, openConnections: 200, slo: "p95<100ms,errors<1%" };

// The right result of `find`: a rate, TOP (every rate of the range holds) or NONE.
export const TOP = "top";
export const NONE = "none";

export const ROWS = [
  { ...usual, name: "slow-constant", finds: TOP },
  { ...usual, name: "exponential", finds: TOP },
  { ...usual, name: "bimodal", finds: TOP },
  { ...usual, name: "heavy-tail", finds: TOP },
  { ...usual, name: "shedding-fast", rate: 800, finds: 400 },
  { ...usual, name: "failing-late", finds: NONE },
  { ...usual, name: "resetting", finds: NONE },
  { ...usual, name: "closing", finds: TOP },
  { ...usual, name: "stray-bytes", finds: TOP },
  // Right is to say so: a response may be that to another request, or to a part of one.
  { ...usual, name: "double-answer", finds: NONE, breaks: "bytes" },
  { ...usual, name: "early-answer", finds: NONE, breaks: "early", rate: 100 },
  { ...usual, name: "chunked", finds: TOP },
  { ...usual, name: "no-content", finds: TOP },
  { ...usual, name: "head", finds: TOP },
  { ...usual, name: "large-bodies", rate: 150, slo: "p95<60ms,errors<1%", finds: 200 },
  { ...usual, name: "slow-bytes", finds: TOP },
  // Three requests in ten wait for up to 300 ms: one in twenty for 250 ms and more.
  { ...usual, name: "stalls", finds: NONE },
  // Its first requests take 100 ms, later ones 10 ms.
  { ...usual, name: "slow-start", slo: "p95<150ms,errors<1%", finds: TOP },
  // Above its capacity: 480/s of 400/s.
  { ...usual, name: "pool", rate: 480, openConnections: 800, slo: "p95<50ms,errors<1%",
    finds: 400 },
  { ...usual, name: "rate-limit", rate: 1000, finds: 500 },
  { ...usual, name: "keep-alive-cap", finds: TOP },
  // One request in twenty is closed without a byte; each second as many as there are connections.
  { ...usual, name: "idle-close", finds: NONE },
  { ...usual, name: "reload", finds: NONE },
  // At most one trial has the pause, and less than half of its requests wait for it.
  { ...usual, name: "paused", slo: "p50<100ms,errors<1%", finds: TOP },
  { ...usual, name: "hung", finds: NONE, exits: 5 },
  // Exit 5 means that the target does not respond.
  { ...usual, name: "dead", finds: NONE, exits: 5 },
];
