//! The gates, in the order of the record.
//!
//! Written by `cargo xtask reference` from the table in `judge/src/gates.rs`.

gates! {
    Conservation "conservation",
    LittlesLaw "littles_law",
    Bytes "bytes",
    Samples "samples",
    Percentiles "percentiles",
    Resolution "resolution",
    Release "release",
    Window "window",
    CpuStates "cpu_states",
    Connections "connections",
    Checks "checks",
    Steadiness "steadiness",
    Tuning "tuning",
    Subscribers "subscribers",
    Delivery "delivery",
    Agents "agents",
    Start "start",
    Early "early",
}
