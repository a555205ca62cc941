// Koa with a pool of POOL connections to MariaDB at DOWNSTREAM. QUERY: sleep, each request is a
// query of HOLD_MS; row, each updates the same row in a transaction that takes HOLD_MS.
const Koa = require("koa");
const mysql = require("mysql2/promise");
const { PORT, POOL, QUERY, HOLD_MS, DOWNSTREAM } = process.env;
const [host, port] = DOWNSTREAM.split(":");
const pool = mysql.createPool({
  host,
  port: +port,
  user: "walls",
  database: "walls",
  connectionLimit: +POOL,
});
const seconds = +HOLD_MS / 1000;
const queries = {
  sleep: () => pool.query("SELECT SLEEP(?)", [seconds]),
  row: async () => {
    const connection = await pool.getConnection();
    try {
      await connection.beginTransaction();
      await connection.query("UPDATE counters SET value = value + 1 WHERE id = 1");
      await connection.query("SELECT SLEEP(?)", [seconds]);
      await connection.commit();
    } finally {
      connection.release();
    }
  },
};
const app = new Koa();
app.use(async (context) => {
  await queries[QUERY]();
  context.body = "stored\n";
});
app.listen(+PORT, "0.0.0.0");
