//! One contender in one slot: counters, and the figures that follow from them.

use super::rows::{Figure, Row};
use serde_json::{Value, json};

/// Raw counters of a successful slot.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Good responses, as counted by the contender.
    pub requests: u64,
    /// CPU time of the client's process and its children.
    pub user_ns: u64,
    pub system_ns: u64,
    /// Responses per second of the window that the contender measured itself.
    pub rate: f64,
    /// The share of TLS handshakes that resumed an earlier session, as the server counted them.
    pub resumed: Option<f64>,
    /// From before the start of the process to after its end.
    pub elapsed_ns: u64,
    /// Time in which the client's CPU was not idle.
    pub client_cpu_busy_ns: u64,
    /// Busy time of all CPUs that neither client, server nor their NAPI threads account for.
    pub foreign_ns: u64,
    /// Of the measured window, if the contender is `ceiling`.
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
}

/// One slot.
#[derive(Debug, Clone)]
pub struct Slot {
    pub round: u32,
    /// Its position in the round, from 0.
    pub turn: u32,
    pub contender: String,
    pub result: Result<Measured, String>,
}

/// A row with all its slots.
pub struct RowResult {
    pub row: &'static Row,
    /// Contenders in the order of the table, with the command line of the first round.
    pub contenders: Vec<(String, String)>,
    pub slots: Vec<Slot>,
    /// Why nothing was measured.
    pub skipped: Option<String>,
    /// The last line of the server.
    pub served: Value,
}

impl Measured {
    /// CPU time of the process, nanoseconds.
    pub fn process_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Nanoseconds of CPU time per request.
    pub fn cost_ns(&self, figure: Figure) -> f64 {
        let charged_ns = match figure {
            Figure::ProcessCpu => self.process_ns(),
            Figure::WholeCpu => self.client_cpu_busy_ns,
        };
        charged_ns as f64 / self.requests as f64
    }

    /// The share of the CPU time of the process in user mode.
    pub fn user_share(&self) -> f64 {
        self.user_ns as f64 / self.process_ns() as f64
    }

    /// Share of one CPU that other programs used.
    pub fn foreign_share(&self) -> f64 {
        self.foreign_ns as f64 / self.elapsed_ns as f64
    }
}

impl Slot {
    /// For bench.json.
    pub fn record(&self) -> Value {
        let mut record = json!({
            "round": self.round,
            "turn": self.turn,
            "contender": self.contender,
        });
        match &self.result {
            Ok(measured) => {
                record["requests"] = json!(measured.requests);
                record["rate"] = json!(measured.rate);
                record["resumed"] = json!(measured.resumed);
                record["cpu_user_ns"] = json!(measured.user_ns);
                record["cpu_system_ns"] = json!(measured.system_ns);
                record["elapsed_ns"] = json!(measured.elapsed_ns);
                record["client_cpu_busy_ns"] = json!(measured.client_cpu_busy_ns);
                record["foreign_cpu_ns"] = json!(measured.foreign_ns);
                record["p50_ns"] = json!(measured.p50_ns);
                record["p99_ns"] = json!(measured.p99_ns);
            }
            Err(reason) => record["failed"] = json!(reason),
        }
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: Measured = Measured {
        requests: 1000,
        rate: 110_000.0,
        resumed: None,
        user_ns: 1_000_000,
        system_ns: 3_000_000,
        elapsed_ns: 10_000_000,
        client_cpu_busy_ns: 5_000_000,
        foreign_ns: 500_000,
        p50_ns: None,
        p99_ns: Some(7),
    };

    #[test]
    fn figures_follow_from_the_counters() {
        assert_eq!(MEASURED.cost_ns(Figure::ProcessCpu), 4000.0);
        assert_eq!(MEASURED.cost_ns(Figure::WholeCpu), 5000.0);
        assert_eq!(MEASURED.user_share(), 0.25);
        assert_eq!(MEASURED.foreign_share(), 0.05);
    }

    #[test]
    fn a_slot_is_recorded_with_its_counters_or_its_reason() {
        let slot = |result| Slot { round: 1, turn: 2, contender: "wrk".into(), result };
        let record = slot(Ok(MEASURED)).record();
        assert_eq!((&record["requests"], &record["p50_ns"]), (&json!(1000), &Value::Null));
        let record = slot(Err("it died".into())).record();
        assert_eq!((&record["failed"], &record["requests"]), (&json!("it died"), &Value::Null));
    }
}
