//! A run whose load another tool made: which tool, what it reported, and what our probes add.
//!
//! Such a run has no points: a tool reports few of the counts that our engine keeps, and what it
//! does not report is absent here.

use crate::audit::{self, Account, Counts, Foreign, Latencies, Outcome, RateIs};
use crate::figure::{Figure, OfHost, Whose};
use crate::verdict::Gate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

crate::named! {
    /// A load generator that can run in place of our engine.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Tool {
        /// wrk.
        Wrk = "wrk",
        /// wrk2.
        Wrk2 = "wrk2",
        /// oha.
        Oha = "oha",
        /// hey.
        Hey = "hey",
        /// h2load.
        H2load = "h2load",
        /// vegeta.
        Vegeta = "vegeta",
        /// k6.
        K6 = "k6",
        /// autocannon.
        Autocannon = "autocannon",
        /// ghz, which makes calls of gRPC.
        Ghz = "ghz",
    }
    /// Its name, which is that of its program.
    fn name, parse;
}

/// What a tool left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRun {
    /// Which one made the load.
    pub generator: Tool,
    /// Path of its program.
    pub program: String,
    /// Its command line, word by word, without secrets.
    pub command: Vec<String>,
    /// Its exit code; `null` when a signal killed it.
    pub exit_code: Option<i32>,
    /// Monotonic start and end of its process, nanoseconds.
    pub ran_ns: (u64, u64),
    /// The part of that in which packets flowed, as the probe of this host saw it, to a fifth of a
    /// second: readings of both hosts are of this window.
    pub window_ns: (u64, u64),
    /// What it reported, and what arithmetic says about each figure.
    pub account: Account,
    /// Good responses per second by its own counts; `null` when it does not tell them apart.
    pub rate: Option<f64>,
    /// CPU time of both sides.
    pub cpu: ToolCost,
    /// What was read on the hosts of both sides, as in a point of our own load.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<Figure, f64>,
    /// The checks of our own runs, as far as they apply to it.
    pub gates: Vec<Gate>,
}

/// CPU time in the window, from the threads that the probes saw. Per response of the tool, with any
/// status, microseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCost {
    /// CPUs' worth of time that the tool's process tree used; 1.0 is one CPU.
    pub client_cpus: Option<f64>,
    /// CPUs' worth of time that the server's process tree used.
    pub server_cpus: Option<f64>,
    /// CPU time of the tool.
    pub client_us_per_request: Option<f64>,
    /// CPU time of the server.
    pub server_us_per_request: Option<f64>,
}

impl ToolRun {
    /// Responses of any status, or good ones where it counts no others; nothing when it reports
    /// neither.
    pub fn responses(of: &Foreign) -> Option<f64> {
        let value = |figure: &Option<audit::Figure>| figure.as_ref().map(|one| one.value);
        match of.meaning.counts {
            // Some requests had no response: the responses are the good ones and those with a bad
            // status.
            Counts::Requests => {
                let without: f64 = of.errors.iter().map(|one| one.count.value).sum();
                value(&of.requests).map(|requests| (requests - without).max(0.0))
            }
            _ => value(&of.requests).or(value(&of.good)),
        }
    }

    /// Good responses per second, as the tool counted; nothing when it does not tell them apart.
    pub fn good_rate(of: &Foreign) -> Option<f64> {
        let value = |figure: &Option<audit::Figure>| figure.as_ref().map(|one| one.value);
        if let Some(counted) = counted_rate(of) {
            return Some(counted);
        }
        if let Some(rate) = value(&of.good_rate) {
            return Some(rate);
        }
        if of.meaning.counts == Counts::Good {
            return value(&of.rate);
        }
        let share = match (value(&of.good), value(&of.requests)) {
            (Some(good), Some(requests)) if requests > 0.0 => Some(good / requests),
            (Some(_), Some(_)) => Some(0.0),
            _ => None,
        };
        value(&of.rate).zip(share).map(|(rate, share)| rate * share)
    }

    /// Why its rate cannot be true; nothing where the rate is calculated from its counts and not
    /// the one it prints.
    pub fn rate_refuted(&self) -> Option<&str> {
        let is_printed = counted_rate(&self.account.foreign).is_none();
        self.refuted("rate").filter(|_| is_printed)
    }

    /// A percentile of the latency that the tool prints, nanoseconds.
    pub fn percentile_ns(&self, share: f64) -> Option<f64> {
        self.latency()?.at(share).map(|one| one.value.value * 1e9)
    }

    /// A figure for comparison with other visits; nothing for one that the tool did not report, or
    /// that cannot be true.
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Rate => self.rate.filter(|_| self.rate_refuted().is_none()),
            Figure::ClientCpu => self.cpu.client_us_per_request,
            Figure::ServerCpu => self.cpu.server_us_per_request,
            Figure::Host(OfHost::Cores, Whose::Client) => self.cpu.client_cpus,
            Figure::Host(OfHost::Cores, Whose::Server) => self.cpu.server_cpus,
            Figure::Host(..) => self.hosts.get(&figure).copied(),
            _ => {
                let statistic = figure.statistic().filter(|_| figure.is_latency())?;
                let is_refuted = self.refuted(statistic.key()).is_some();
                self.percentile_ns(statistic.quantile()?).filter(|_| !is_refuted)
            }
        }
    }

    /// Requests that ended, as it counted them, and those without a good response; nothing when it
    /// does not report both.
    pub fn failures(&self) -> Option<(u64, u64)> {
        let reported = &self.account.foreign;
        let (good, failed) = (reported.good.as_ref()?.value, reported.failed.as_ref()?.value);
        Some(((good + failed) as u64, failed as u64))
    }

    /// Why a reported figure cannot be true.
    pub fn refuted(&self, name: &str) -> Option<&str> {
        let claim = self.account.claims.iter().find(|claim| claim.name == name)?;
        let worst = claim.findings.first().filter(|one| one.outcome == Outcome::Impossible)?;
        Some(&worst.arithmetic)
    }

    /// Whether it reported that no response came at all.
    pub fn is_silent(&self) -> bool {
        Self::responses(&self.account.foreign) == Some(0.0)
    }

    /// The latency that it prints.
    pub fn latency(&self) -> Option<&Latencies> {
        self.account.foreign.latency()
    }
}

/// Good responses over the duration, for a tool that prints the mean of its windows instead.
fn counted_rate(of: &Foreign) -> Option<f64> {
    let (good, seconds) = (of.good.as_ref()?.value, of.duration_s.as_ref()?.value);
    let is_mean = of.meaning.rate_is == RateIs::MeanOfWindows;
    (is_mean && seconds > 0.0).then(|| good / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Figure as ReportedFigure, Meaning, Tally};

    fn reported(counts: Counts, [rate, requests, good]: [f64; 3]) -> Foreign {
        let figure = |value| Some(ReportedFigure::exact(value, 1));
        Foreign {
            rate: figure(rate),
            requests: figure(requests),
            good: figure(good),
            meaning: Meaning { counts, ..Meaning::default() },
            ..Foreign::default()
        }
    }

    #[test]
    fn every_tool_is_found_by_its_name() {
        assert!(Tool::ALL.iter().all(|tool| Tool::parse(tool.name()) == Some(*tool)));
        assert_eq!(Tool::parse("ab"), None);
    }

    #[test]
    fn only_good_responses_are_in_the_rate() {
        let half = reported(Counts::Responses, [1000.0, 3000.0, 1500.0]);
        assert_eq!(ToolRun::good_rate(&half), Some(500.0));
        let none = reported(Counts::Responses, [1000.0, 3000.0, 0.0]);
        assert_eq!(ToolRun::good_rate(&none), Some(0.0), "it reported that none was good");
        let untold = Foreign { good: None, ..half };
        assert_eq!(ToolRun::good_rate(&untold), None, "absent is not zero");
    }

    #[test]
    fn a_mean_of_windows_is_no_rate_of_what_was_counted() {
        let mut windows = reported(Counts::Responses, [1100.0, 3000.0, 3000.0]);
        windows.meaning.rate_is = RateIs::MeanOfWindows;
        assert_eq!(ToolRun::good_rate(&windows), Some(1100.0), "it reported no duration");
        windows.duration_s = Some(ReportedFigure::exact(3.0, 1));
        assert_eq!(ToolRun::good_rate(&windows), Some(1000.0));
    }

    #[test]
    fn what_was_lost_is_no_response() {
        let mut of = reported(Counts::Requests, [100.0, 300.0, 200.0]);
        let lost = Tally { name: "refused".into(), count: ReportedFigure::exact(60.0, 1) };
        of.errors.push(lost);
        assert_eq!(ToolRun::responses(&of), Some(240.0));
        of.requests = None;
        assert_eq!(ToolRun::responses(&of), None);
    }
}
