//! What watchers are told, one message after the other: the same for a browser, for the
//! terminal, and for another process that passes it on.

use serde::{Deserialize, Serialize};

/// The longest message that is passed on, bytes: blocks of a page are most of it.
pub const BYTES_MAX: usize = 4 << 20;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Message {
    /// What was sent before belongs to another process, or is left out: begin anew.
    Reset,
    /// An experiment of several visits begins.
    Experiment {
        /// What is done.
        title: String,
    },
    /// A visit of a cell begins.
    Visit {
        /// Which of the visits, from 0.
        index: usize,
        /// How many there are.
        of: usize,
        /// The cell.
        name: String,
    },
    /// A run begins.
    Begin(Begin),
    /// A level begins.
    Level {
        /// Which of the levels, from 0.
        index: usize,
        /// How many there are; 0 when that is not known.
        of: usize,
        /// What is applied, in words.
        text: String,
        /// Seconds since the run began.
        t_s: f64,
    },
    /// Progress of the level.
    Tick(Tick),
    /// Something other than a level is done.
    Doing {
        /// What, in words.
        text: String,
    },
    /// A notice for the user.
    Notice {
        /// In words.
        text: String,
    },
    /// A level has ended; how it stands.
    Point {
        /// In words.
        text: String,
        /// Seconds since the run began.
        t_s: f64,
    },
    /// What the run would say if it ended now. Only the latest counts.
    Present {
        /// Of which time, seconds since the run began.
        t_s: f64,
        /// The conclusion.
        conclusion: Conclusion,
    },
    /// The run has ended.
    End {
        /// Its name, by which it is kept.
        id: String,
        /// Seconds since the run began.
        t_s: f64,
        /// The conclusion.
        conclusion: Conclusion,
    },
    /// There is no result, or the run failed.
    Failed {
        /// Why.
        why: String,
    },
    /// Nothing follows. What is there to keep can be fetched now.
    Over {
        /// Whether there is a report and a record.
        has_report: bool,
    },
    /// Of what the watcher has missed, so many ticks are no longer known.
    Gap {
        /// How many.
        dropped: u64,
    },
}

/// A run that begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// What is done, as in the title of a report.
    pub title: String,
    /// When it began, and by which version.
    pub subtitle: String,
}

/// The last moments of a level. What is not known is null, and never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Seconds since the run began.
    pub t_s: f64,
    /// What happens now: `connecting`, `warm-up`, `measuring`, `draining`.
    pub stage: String,
    /// Share of the stage that is over, 0 to 1.
    pub done: Option<f64>,
    /// Requests in flight.
    pub in_flight: Option<u64>,
    /// Connections open.
    pub open: u64,
    /// What is counted as the rate: `responses`, `connections` or `events`.
    pub counts: Counts,
    /// So many per second, of the last interval.
    pub rate: f64,
    /// Median latency of the last interval, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the last interval, nanoseconds.
    pub p99_ns: Option<u64>,
    /// CPUs' worth of time the generator used.
    pub client_cpus: Option<f64>,
    /// CPUs' worth of time the server used.
    pub server_cpus: Option<f64>,
    /// Share of the generator's host that was busy, 0 to 1.
    pub client_busy: Option<f64>,
    /// The same of the server's host, when that is another one.
    pub server_busy: Option<f64>,
    /// Failed requests and connection attempts since the level began.
    pub failures: u64,
    /// The same by status code and class, most first.
    pub failed: Vec<(String, u64)>,
}

/// What a rate is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// Good responses.
    #[default]
    Responses,
    /// Connections that were established.
    Connections,
    /// Events that arrived.
    Events,
}

/// What a run says, as the page of its report does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// How to take it: `good`, `neutral`, `caution` or `bad`.
    pub tone: String,
    /// The sentence.
    pub text: String,
    /// What belongs to it.
    pub lines: Vec<String>,
    /// The blocks of the report, as markup.
    pub html: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_as_it_went_out() {
        let tick = Tick { t_s: 1.2, rate: 5.0, ..Tick::default() };
        let text = serde_json::to_string(&Message::Tick(tick.clone())).unwrap();
        assert!(text.contains("\"kind\":\"tick\"") && text.contains("\"p50_ns\":null"), "{text}");
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), Message::Tick(tick));
        assert_eq!(serde_json::to_string(&Message::Reset).unwrap(), "{\"kind\":\"reset\"}");
    }
}
