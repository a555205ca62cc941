//! Are requests released when they were planned? The send delay that `ceiling` reports, and the
//! gaps that the sink saw.

use super::gaps::{self, Distance};
use super::generators::{Arrivals, Ask, line};
use super::schedule::{percentile, time};
use serde_json::{Value, json};

/// Each rate is measured with both.
pub const ARRIVALS: [Arrivals; 2] = [Arrivals::Fixed, Arrivals::Poisson];
/// Enough that one is always free.
pub const CONNECTIONS: u32 = 64;

/// One rate with one kind of arrivals.
pub struct Release {
    pub rate: u32,
    pub arrivals: Arrivals,
    pub measured: Result<Measured, String>,
}

/// The measured send delays.
#[derive(Debug, PartialEq)]
pub struct Measured {
    /// From the planned instant to the send, from the record of `ceiling`.
    pub lag_p50_ns: Option<u64>,
    pub lag_p99_ns: Option<u64>,
    pub gaps: Gaps,
    pub client_us_per_request: Option<f64>,
}

/// Gaps between arrivals at the sink.
#[derive(Debug, PartialEq)]
pub enum Gaps {
    /// Against the exponential distribution.
    Poisson(Option<Distance>),
    /// 99 of 100 gaps differ by no more than this from the planned gap.
    Fixed { p99_ns: Option<u64> },
}

impl Gaps {
    /// Its text in the table.
    pub fn text(&self) -> String {
        match self {
            Self::Poisson(Some(near)) => format!("{:.4}/{:.4}", near.distance, near.chance),
            Self::Poisson(None) => "-".to_owned(),
            Self::Fixed { p99_ns } => format!("p99 +-{}", time(*p99_ns)),
        }
    }

    fn record(&self) -> Value {
        match self {
            Self::Poisson(near) => json!({
                "ks_distance": near.map(|near| near.distance),
                "ks_chance_99": near.map(|near| near.chance),
            }),
            Self::Fixed { p99_ns } => json!({ "apart_p99_ns": p99_ns }),
        }
    }
}

impl Release {
    /// Its name in `--arrivals`.
    pub fn arrivals_name(&self) -> &'static str {
        name(self.arrivals)
    }

    /// For truth.json.
    pub fn record(&self) -> Value {
        let mut record = json!({ "rate": self.rate, "arrivals": self.arrivals_name() });
        match &self.measured {
            Ok(measured) => {
                record["send_delay_p50_ns"] = json!(measured.lag_p50_ns);
                record["send_delay_p99_ns"] = json!(measured.lag_p99_ns);
                record["gaps"] = measured.gaps.record();
                record["client_us_per_request"] = json!(measured.client_us_per_request);
            }
            Err(reason) => record["failed"] = json!(reason),
        }
        record
    }
}

fn name(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::Fixed => "fixed",
        Arrivals::Poisson => "poisson",
    }
}

/// The arguments of `ceiling` for an open loop.
pub fn open_loop(ask: &Ask, arrivals: Arrivals) -> Vec<String> {
    let mut words = closed_loop(ask);
    words.extend(line(ask, &format!("-R {{rate}} --arrivals {}", name(arrivals))));
    words
}

/// The arguments of `ceiling` for a closed loop, whose CPU per request includes no pacer.
pub fn closed_loop(ask: &Ask) -> Vec<String> {
    let how = "load -t 1 -c {connections} -d {seconds}s --warmup 0 --runs none -q --json {url}";
    line(ask, how)
}

/// CPU time of the client per request, in a record of `ceiling`.
pub fn client_us_per_request(record: &str) -> Option<f64> {
    let record: Value = serde_json::from_str(record).ok()?;
    record["points"][0]["cpu"]["client_us_per_request"].as_f64()
}

/// Combines the record of `ceiling` with the arrivals at the sink.
pub fn measured(
    record: &str,
    arrivals_ns: &[u64],
    rate: u32,
    arrivals: Arrivals,
) -> Result<Measured, String> {
    let parsed: Value =
        serde_json::from_str(record).map_err(|error| format!("not one JSON document: {error}"))?;
    let lag = &parsed["points"][0]["send_delay_ns"];
    if lag.is_null() {
        return Err("the record has no send_delay_ns".into());
    }
    let between = gaps::between(arrivals_ns);
    let rate = f64::from(rate);
    let gaps = match arrivals {
        Arrivals::Poisson => Gaps::Poisson(gaps::from_exponential(&between, rate)),
        Arrivals::Fixed => {
            let p99_ns = percentile(&gaps::from_fixed(&between, rate), 0.99);
            Gaps::Fixed { p99_ns }
        }
    };
    let (lag_p50_ns, lag_p99_ns) = (lag["p50"].as_u64(), lag["p99"].as_u64());
    let client_us_per_request = client_us_per_request(record);
    Ok(Measured { lag_p50_ns, lag_p99_ns, gaps, client_us_per_request })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_and_arrivals_give_one_line() {
        let record = r#"{"points":[{"send_delay_ns":{"p50":900,"p99":14000},
                         "cpu":{"client_us_per_request":3.5}}]}"#;
        let arrivals: Vec<u64> = (0..5_000).map(|index| index * 1_000_000).collect();
        let fixed = measured(record, &arrivals, 1_000, Arrivals::Fixed).unwrap();
        assert_eq!((fixed.lag_p50_ns, fixed.lag_p99_ns), (Some(900), Some(14_000)));
        assert_eq!(fixed.gaps, Gaps::Fixed { p99_ns: Some(0) });
        assert_eq!(fixed.client_us_per_request, Some(3.5));
        let poisson = measured(record, &arrivals, 1_000, Arrivals::Poisson).unwrap();
        assert_eq!(poisson.gaps.text(), "0.6321/0.0230");
    }

    #[test]
    fn a_record_without_a_lag_is_no_zero() {
        let record = r#"{"points":[{"send_delay_ns":null}]}"#;
        assert!(measured(record, &[], 1_000, Arrivals::Fixed).is_err());
        assert!(measured("", &[], 1_000, Arrivals::Fixed).is_err());
    }
}
