//! Numbers in the one line of arithmetic.

use model::units::{show_count, show_ns};

/// Seconds in a suitable unit.
pub fn time(seconds: f64) -> String {
    show_ns(seconds * 1e9)
}

/// A number of things.
pub fn number(value: f64) -> String {
    show_count(value)
}

/// A rate.
pub fn rate(value: f64) -> String {
    format!("{}/s", show_count(value))
}

/// Bytes.
pub fn bytes(value: f64) -> String {
    model::units::show_bytes(value)
}

/// Bits per second.
pub fn bits(value: f64) -> String {
    format!("{}bit/s", show_count(value))
}

/// A share as a percentage, with as many digits as it takes to see it.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        value if value == 0.0 || value >= 10.0 => format!("{percent:.0} %"),
        value if value >= 0.1 => format!("{percent:.1} %"),
        _ => format!("{percent:.4} %"),
    }
}
