//! The messages to watchers: the same for a browser, for the terminal, and for another process that
//! passes them on.

use model::host_now::HostNow;
use serde::{Deserialize, Serialize};

/// The longest message that is passed on, bytes; most of it is blocks of a page.
pub const BYTES_MAX: usize = 4 << 20;

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Message {
    /// Earlier messages belong to another process, or were left out: clear the state.
    Reset,
    /// An experiment of several visits starts.
    Experiment {
        /// Its question.
        title: String,
    },
    /// A visit of a cell starts.
    Visit {
        /// Index of the visit, from 0.
        index: usize,
        /// The number of visits.
        of: usize,
        /// The cell.
        name: String,
    },
    /// A run starts.
    Begin(Begin),
    /// A level starts.
    Level {
        /// Index of the level, from 0.
        index: usize,
        /// The number of levels; 0 if not known.
        of: usize,
        /// The load of the level, in words.
        text: String,
        /// Seconds since the start of the run.
        t_s: f64,
    },
    /// Progress of the level.
    Tick(Tick),
    /// What the hosts did in the last second. Only the latest counts.
    Hosts {
        /// The generator's host, then the server's, or one where they share it.
        hosts: Vec<HostNow>,
    },
    /// An activity other than a level.
    Doing {
        /// The activity, in words.
        text: String,
    },
    /// A notice for the user.
    Notice {
        /// The text.
        text: String,
    },
    /// A level has ended, with its result.
    Point {
        /// The result, in words.
        text: String,
        /// Seconds since the start of the run.
        t_s: f64,
    },
    /// The conclusion if the run ended now. Only the latest counts.
    Present {
        /// Its time, seconds since the start of the run.
        t_s: f64,
        /// The conclusion.
        conclusion: Conclusion,
    },
    /// The run has ended.
    End {
        /// The id of the stored run.
        id: String,
        /// Seconds since the start of the run.
        t_s: f64,
        /// The conclusion.
        conclusion: Conclusion,
    },
    /// There is no result, or the run failed.
    Failed {
        /// Why.
        why: String,
    },
    /// No message follows. The files can be fetched now.
    Over {
        /// Whether there are a report and a record.
        has_report: bool,
    },
    /// Some of the ticks that the watcher has missed were left out.
    Gap {
        /// How many.
        dropped: u64,
    },
}

/// The start of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// The title, as in a report.
    pub title: String,
    /// When it started, and the version of ceiling.
    pub subtitle: String,
}

/// The latest interval of a level. A value that is not known is null, and never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Seconds since the start of the run.
    pub t_s: f64,
    /// The stage: `connecting`, `warm-up`, `measuring`, `draining`.
    pub stage: String,
    /// Share of the stage that is done, 0 to 1.
    pub done: Option<f64>,
    /// Requests in flight.
    pub in_flight: Option<u64>,
    /// Connections open.
    pub open: u64,
    /// What the rate counts: `responses`, `connections` or `events`.
    pub counts: Counts,
    /// The rate of the last interval, per second.
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
    /// Share of the server's host that was busy, 0 to 1, if that is another host.
    pub server_busy: Option<f64>,
    /// Failed requests and connection attempts since the start of the level.
    pub failures: u64,
    /// Failures by status code and class, most first.
    pub failed: Vec<(String, u64)>,
}

/// What a rate counts.
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

/// The conclusion of a run, as on the page of its report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// Its tone: `good`, `neutral`, `caution` or `bad`.
    pub tone: String,
    /// The sentence.
    pub text: String,
    /// Further lines.
    pub lines: Vec<String>,
    /// The blocks of the report, as markup.
    pub html: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::made_up;
    use model::figure::Whose;
    use model::host_now::LinkNow;

    /// Most bytes that a host may add to a tick for each of its CPUs.
    const BYTES_OF_A_CPU: f64 = 200.0;
    /// There are two messages about hosts in a second, and five ticks.
    const HOSTS_PER_TICK: f64 = 0.4;

    #[test]
    fn hosts_come_back_as_they_went_out() {
        let message = Message::Hosts { hosts: vec![made_up(&[Whose::Server], 2)] };
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
        insta::assert_snapshot!(text);
    }

    /// Long names, four interfaces, and a queue for each CPU.
    #[test]
    fn hosts_are_short_however_many_cpus_they_have() {
        for cpus in [2, 4, 16, 64, 128] {
            let mut host = made_up(&[Whose::Server], cpus);
            let long = "virtio1-virtqueues-12345".to_string();
            let share = 0.1234;
            let link = LinkNow {
                name: long.clone(),
                received: 9_876_543_210.0,
                sent: 9_876_543_210.0,
                shares: Some([share; 2]),
            };
            host.links = Some(vec![link; 4]);
            host.interrupts = Some(vec![(long, 123_456.7); cpus.max(4) as usize]);
            host.cpus.iter_mut().flatten().for_each(|(_, states)| *states = [19; 6]);
            let text = serde_json::to_string(&Message::Hosts { hosts: vec![host] }).unwrap();
            let each = text.len() as f64 * HOSTS_PER_TICK / f64::from(cpus);
            assert!(each <= BYTES_OF_A_CPU, "{each} bytes for each of {cpus} CPUs");
        }
    }

    #[test]
    fn a_message_comes_back_as_it_went_out() {
        let tick = Tick { t_s: 1.2, rate: 5.0, ..Tick::default() };
        let text = serde_json::to_string(&Message::Tick(tick.clone())).unwrap();
        assert!(text.contains("\"kind\":\"tick\"") && text.contains("\"p50_ns\":null"), "{text}");
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), Message::Tick(tick));
        assert_eq!(serde_json::to_string(&Message::Reset).unwrap(), "{\"kind\":\"reset\"}");
    }
}
