// A neighbour that burns CPU at random: busy and idle periods of exponential length, with the given
// share of busy time. node bench/noise/burn.mjs SHARE SEED SECONDS
const [share, seed, seconds] = process.argv.slice(2).map(Number);

const BUSY_MS = 15;
const idleMs = BUSY_MS * (1 - share) / share;
const end = performance.now() + seconds * 1000;
const never = new Int32Array(new SharedArrayBuffer(4));

// Marsaglia, Xorshift RNGs (2003).
let state = seed * 2654435761 >>> 0 || 1;
function random() {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 2 ** 32;
}
const spell = (meanMs) => -Math.log(1 - random()) * meanMs;

while (performance.now() < end) {
  const until = performance.now() + spell(BUSY_MS);
  while (performance.now() < until);
  Atomics.wait(never, 0, 0, spell(idleMs));
}
