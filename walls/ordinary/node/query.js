// Each request is a query that takes HOLD_MS.
const seconds = +process.env.HOLD_MS / 1000;
require("./database").serve((pool) => pool.query("SELECT pg_sleep($1)", [seconds]));
