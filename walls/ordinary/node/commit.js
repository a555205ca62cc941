// Each request inserts a row and commits it.
require("./database").serve((pool) => pool.query("INSERT INTO events DEFAULT VALUES"));
