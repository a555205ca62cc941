// Each request updates the same row in a transaction that takes HOLD_MS.
const seconds = +process.env.HOLD_MS / 1000;
require("./database").serve(async (pool) => {
  const client = await pool.connect();
  await client.query("BEGIN");
  await client.query("UPDATE counters SET value = value + 1 WHERE id = 1");
  await client.query("SELECT pg_sleep($1)", [seconds]);
  await client.query("COMMIT");
  client.release();
});
