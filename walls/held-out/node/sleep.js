// The task of a worker thread: blocks it for SLEEP_MS, like a synchronous call.
const word = new Int32Array(new SharedArrayBuffer(4));
module.exports = () => {
  Atomics.wait(word, 0, 0, +process.env.SLEEP_MS);
  return "slept\n";
};
