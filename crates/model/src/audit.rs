//! What another tool reported, and what can be said about it.
//!
//! Names in this file are the schema `ceiling.audit/1`. Adding a field is free.

use crate::order::OrderBy as _;
use crate::unit::Unit;
use serde::{Deserialize, Deserializer, Serialize};

/// The schema of this document.
pub const SCHEMA: &str = "ceiling.audit/1";

/// The audit of some files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What the user stated besides the files.
    pub given: Given,
    /// One for each file; for a text, one for each row or paragraph with figures.
    pub accounts: Vec<Account>,
    /// What can be said about all files together; empty for one.
    pub together: Vec<Finding>,
}

/// What a person knows and the files do not contain. It is taken as true.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// The command line that was typed.
    pub command: Option<String>,
    /// Connections.
    pub connections: Option<u64>,
    /// Requests in flight on one connection.
    pub depth: Option<u64>,
    /// Speed of the slowest link between the hosts, bits per second.
    pub link_bits_per_s: Option<f64>,
    /// CPUs of the client's host.
    pub client_cpus: Option<u64>,
    /// When the audit is made, seconds since 1970; no tool measured for longer than it exists.
    /// Left out of the document, so that the same files give the same document.
    #[serde(skip)]
    pub now_s: Option<f64>,
}

/// One account of one load: what was reported, and what can be said about each figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Where it was read: a path, or `-`.
    pub file: String,
    /// Which part of the file, as `line86`; empty when the file holds one account.
    pub name: String,
    /// What was reported.
    pub foreign: Foreign,
    /// What can be said about each figure.
    pub claims: Vec<Claim>,
}

/// A reported figure, with what can be said about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Stable: `rate`, `mean`, `p50`, `p99_9`, `max`, `errors`, `uncorrected.p99`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The figure.
    pub figure: Figure,
    /// The worst of its findings; *undecided* when no check could examine it.
    pub outcome: Outcome,
    /// Where the figure must lie, when a finding says so: lowest and highest.
    pub bound: Option<(Option<f64>, Option<f64>)>,
    /// What each check says.
    pub findings: Vec<Finding>,
}

/// What one check says about some figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of the check.
    pub check: String,
    /// Names of the claims that it is about.
    pub claims: Vec<String>,
    /// What it says.
    pub outcome: Outcome,
    /// The arithmetic, in one line.
    pub arithmetic: String,
    /// What a person can run to settle it; empty when it holds.
    pub settle: String,
    /// Where the figures must lie instead: lowest and highest.
    pub bound: Option<(Option<f64>, Option<f64>)>,
}

crate::named! {
    /// What can be said about a figure, from best to worst.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// It agrees with the other figures. Nothing more is known.
        Holds = "holds",
        /// The other figures leave it open.
        Undecided = "undecided",
        /// The other figures exclude it.
        Impossible = "impossible",
    }
    /// In words.
    fn words;
}

/// A number as printed. The value before rounding lies between `low` and `high`. Tools also print
/// what is no number (`NaN`) or has no end (`inf`); in a document these are null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The number, in its unit.
    #[serde(deserialize_with = "or_nan")]
    pub value: f64,
    /// Least value that can have been printed like this.
    #[serde(deserialize_with = "or_nan")]
    pub low: f64,
    /// Largest value that can have been printed like this.
    #[serde(deserialize_with = "or_nan")]
    pub high: f64,
    /// Line of the file, from 1; 0 when it is a sum over many lines.
    pub line: u64,
    /// The digits as printed in the file.
    pub printed: String,
}

impl Figure {
    /// A number that was counted and not rounded.
    pub fn exact(value: f64, line: u64) -> Self {
        Self { value, low: value, high: value, line, printed: format!("{value}") }
    }
}

/// A number, or NaN for null.
fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// A number of things of one kind, or its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// A status (`200`), a class of statuses (`2xx`, `not 2xx or 3xx`), a class of errors, or a
    /// state of CPUs (`usr`).
    pub name: String,
    /// How many.
    pub count: Figure,
}

/// What a tool or a text reported about one load. Absent: it did not report it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Foreign {
    /// The tool: `wrk`. `text` when figures were taken from free text.
    pub tool: String,
    /// The form that was recognised: `oha-json`.
    pub format: String,
    /// Version of the tool.
    pub version: Option<String>,
    /// Command line.
    pub command: Option<String>,
    /// The URL that was requested.
    pub url: Option<String>,
    /// Connections, or users or workers that send one request after the other.
    pub connections: Option<Figure>,
    /// Requests in flight on one connection. Absent where a script or a flag may have set it.
    pub depth: Option<Figure>,
    /// Threads or processes of the generator.
    pub threads: Option<Figure>,
    /// Requested duration, seconds.
    pub asked_s: Option<Figure>,
    /// Measured duration, seconds.
    pub duration_s: Option<Figure>,
    /// From the end of `duration_s`, at the last send, to the last response, seconds; where the
    /// tool reports it, `good_rate` is over both.
    pub wait_s: Option<Figure>,
    /// What [`Meaning::counts`] says.
    pub requests: Option<Figure>,
    /// Good responses: 2xx and 3xx.
    pub good: Option<Figure>,
    /// Per second.
    pub rate: Option<Figure>,
    /// Good responses per second, where the tool reports them separately.
    pub good_rate: Option<Figure>,
    /// Requested rate, per second.
    pub target_rate: Option<Figure>,
    /// Requests without a good response.
    pub failed: Option<Figure>,
    /// Requests that were due and never sent.
    pub dropped: Option<Figure>,
    /// Share of requests that the tool calls a success, 0 to 1.
    pub success: Option<Figure>,
    /// Bytes received.
    pub bytes: Option<Figure>,
    /// Bytes of bodies received, where the tool reports them beside `bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<Figure>,
    /// Bytes received per second.
    pub bytes_rate: Option<Figure>,
    /// Responses by status.
    pub statuses: Vec<Tally>,
    /// Requests without a response, by class.
    pub errors: Vec<Tally>,
    /// Latencies; the first is the one that the tool prints as its latency.
    pub latencies: Vec<Latencies>,
    /// Thresholds that the tool itself marks as crossed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crossed: Vec<String>,
    /// Shares of the CPUs' time by state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<Tally>,
    /// Share of the link that was used, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_share: Option<Figure>,
    /// Speed of that link, bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_rate: Option<Figure>,
    /// Line of the heading of the table that it is a row of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<u64>,
    /// How much of a text was read; with its first account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Sums that must hold by the tool's own way of counting.
    pub sums: Vec<Sum>,
    /// What the figures of this tool mean.
    pub meaning: Meaning,
}

/// How many figures of a text were read, and which were not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Figures that are in an account, or that an account takes from a command.
    pub read: u64,
    /// The others.
    pub unread: Vec<NotRead>,
}

/// A figure of a text that was not read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotRead {
    /// Line of the file, from 1.
    pub line: u64,
    /// As printed.
    pub printed: String,
    /// Why it was not read.
    pub why: Why,
}

crate::named! {
    /// Why a figure of a text was not read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Why {
        /// Nothing beside it names what it is of.
        Unnamed = "nothing beside it says what it is of",
        /// It is of something that no check asks about.
        Other = "of something that no check asks about",
        /// It names two ends.
        Range = "a range",
        /// Its sentence or row has nothing to check it with.
        Alone = "without a rate, a latency or a share in its sentence or row",
        /// Bits per second: of a link, or of what it carried.
        Bits = "bits per second of a link or of a load",
        /// Columns without a gap between them can be split in several ways.
        Glued = "the columns of its row are not separated",
    }
    /// In words.
    fn words;
}

/// A distribution of times as reported, seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latencies {
    /// Prefix of the names of its claims; empty for what the tool prints first.
    pub name: String,
    /// The instant from which it counts.
    pub since: Since,
    /// Mean.
    pub mean: Option<Figure>,
    /// Standard deviation.
    pub stdev: Option<Figure>,
    /// Least.
    pub min: Option<Figure>,
    /// Largest.
    pub max: Option<Figure>,
    /// Percentiles in the order of their share.
    pub percentiles: Vec<Percentile>,
    /// Number of values in it, when known.
    pub samples: Option<Figure>,
    /// Step of the clock or of the buckets in which values were kept, seconds.
    pub step_s: f64,
    /// A kept value may be off by this share (buckets that grow).
    pub error_share: f64,
    /// The rank of a percentile may be off by this share of the values.
    pub error_rank: f64,
}

/// One percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Share of the values that lie at or below it, 0 to 1.
    pub share: f64,
    /// The value, seconds.
    pub value: Figure,
}

/// The instant from which a latency counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// It is not known.
    #[default]
    Unknown,
    /// From the send.
    Send,
    /// From the instant at which the request was due.
    Plan,
    /// From the send, with values added for requests that were never made.
    SendWithAdded,
    /// It is a time of something other than whole requests: connecting, the first byte.
    Other,
}

/// A sum that must hold by the tool's way of counting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// The claims that it is about.
    pub claims: Vec<String>,
    /// The whole, in words: `requests`.
    pub whole_is: String,
    /// The whole.
    pub whole: Figure,
    /// The parts, in words: `2xx + 3xx + 4xx + 5xx`.
    pub parts_are: String,
    /// The parts.
    pub parts: Vec<Figure>,
    /// How many more or fewer there can be, for example requests in flight at the end.
    pub slack: f64,
}

/// Whether a load waits for its responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loop {
    /// It is not known.
    #[default]
    Unknown,
    /// The next request waits for a response.
    Closed,
    /// Requests are due at planned instants.
    Open,
}

/// What `requests` and `rate` count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// It is not known.
    #[default]
    Unknown,
    /// Good responses.
    Good,
    /// Responses of any status.
    Responses,
    /// Requests, whatever became of them.
    Requests,
}

/// How the rate was calculated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateIs {
    /// It is not known.
    #[default]
    Unknown,
    /// `requests / duration_s`, from the reported figures themselves.
    Quotient,
    /// A mean over windows of time.
    MeanOfWindows,
    /// As a person wrote it, rounded.
    Written,
}

/// What the figures of a tool mean, from its source. An absent fact proves nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meaning {
    /// Whether the load waits for its responses.
    pub load: Loop,
    /// What `requests` and `rate` count.
    pub counts: Counts,
    /// How the rate was calculated.
    pub rate_is: RateIs,
    /// Whether bytes count bodies only.
    pub is_bytes_of_bodies: bool,
    /// Requests may have started this long before the measured window, seconds; absent when
    /// unknown.
    pub edge_s: Option<f64>,
    /// Requests that the tool held back at the end of the load, as it does over HTTP/2 while a
    /// server takes no further stream; no latency has their wait. Absent where it holds none back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<f64>,
    /// Requests in flight at the end of a load that ended with a time; absent when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_end: Option<f64>,
    /// Known defects in the figures of this tool that affect this account.
    pub defects: Vec<Finding>,
}

impl Foreign {
    /// The latencies that the tool prints as its latency.
    pub fn latency(&self) -> Option<&Latencies> {
        self.latencies.first()
    }

    /// Leaves out the figures of some claims.
    pub fn remove(&mut self, is_out: impl Fn(&str) -> bool) {
        let plain = [
            ("rate", &mut self.rate),
            ("good_rate", &mut self.good_rate),
            ("target_rate", &mut self.target_rate),
            ("requests", &mut self.requests),
            ("good", &mut self.good),
            ("errors", &mut self.failed),
            ("dropped", &mut self.dropped),
            ("success", &mut self.success),
            ("duration", &mut self.duration_s),
            ("wait", &mut self.wait_s),
            ("bytes", &mut self.bytes),
            ("bytes_rate", &mut self.bytes_rate),
            ("link_share", &mut self.link_share),
            ("link_rate", &mut self.link_rate),
        ];
        for (_, figure) in plain.into_iter().filter(|(name, _)| is_out(name)) {
            *figure = None;
        }
        self.statuses.retain(|one| !is_out(&format!("status.{}", word(&one.name))));
        self.errors.retain(|one| !is_out(&format!("errors.{}", word(&one.name))));
        self.cpu.retain(|one| !is_out(&format!("cpu.{}", word(&one.name))));
        self.sums.retain(|sum| !sum.claims.iter().any(|claim| is_out(claim)));
        self.latencies.iter_mut().for_each(|latency| latency.remove(&is_out));
    }

    /// Every figure that is audited, by the name of its claim.
    pub fn figures(&self) -> Vec<(String, Unit, &Figure)> {
        let plain = [
            ("rate", Unit::PerSecond, &self.rate),
            ("good_rate", Unit::PerSecond, &self.good_rate),
            ("target_rate", Unit::PerSecond, &self.target_rate),
            ("requests", Unit::Count, &self.requests),
            ("good", Unit::Count, &self.good),
            ("errors", Unit::Count, &self.failed),
            ("dropped", Unit::Count, &self.dropped),
            ("success", Unit::Share, &self.success),
            ("duration", Unit::Seconds, &self.duration_s),
            ("wait", Unit::Seconds, &self.wait_s),
            ("bytes", Unit::Bytes, &self.bytes),
            ("bytes_rate", Unit::BytesPerSecond, &self.bytes_rate),
            ("link_share", Unit::Share, &self.link_share),
            ("link_rate", Unit::BytesPerSecond, &self.link_rate),
        ];
        let plain_figures = plain
            .into_iter()
            .filter_map(|(name, unit, figure)| Some((name.to_string(), unit, figure.as_ref()?)));
        let tallied = self.statuses.iter().map(|one| ("status", Unit::Count, one));
        let tallied = tallied.chain(self.errors.iter().map(|one| ("errors", Unit::Count, one)));
        let tallied = tallied.chain(self.cpu.iter().map(|one| ("cpu", Unit::Share, one)));
        let counted = tallied
            .map(|(prefix, unit, one)| (format!("{prefix}.{}", word(&one.name)), unit, &one.count));
        let latencies = self.latencies.iter().flat_map(Latencies::figures);
        plain_figures.chain(counted).chain(latencies).collect()
    }
}

impl Latencies {
    /// The name of a claim of this distribution.
    pub fn claim(&self, figure: &str) -> String {
        if self.name.is_empty() { figure.into() } else { format!("{}.{figure}", self.name) }
    }

    /// Leaves out the figures of some claims.
    fn remove(&mut self, is_out: &impl Fn(&str) -> bool) {
        let out = |figure: &str| is_out(&self.claim(figure));
        let outs = ["mean", "stdev", "min", "max"].map(out);
        let ranks: Vec<bool> = self.percentiles.iter().map(|one| !out(&one.name())).collect();
        let moments = [&mut self.mean, &mut self.stdev, &mut self.min, &mut self.max];
        for (figure, _) in moments.into_iter().zip(outs).filter(|(_, is_out)| *is_out) {
            *figure = None;
        }
        let mut kept = ranks.into_iter();
        self.percentiles.retain(|_| kept.next() == Some(true));
    }

    /// Every figure with the name of its claim, ordered by size.
    pub fn figures(&self) -> Vec<(String, Unit, &Figure)> {
        let moments = [("mean", &self.mean), ("stdev", &self.stdev), ("min", &self.min)];
        let moments = moments.into_iter().filter_map(|(name, one)| Some((name, one.as_ref()?)));
        let moments = moments.map(|(name, one)| (self.claim(name), Unit::Seconds, one));
        let ranks = self.percentiles.iter();
        let ranks = ranks.map(|one| (self.claim(&one.name()), Unit::Seconds, &one.value));
        let max = self.max.iter().map(|one| (self.claim("max"), Unit::Seconds, one));
        moments.chain(ranks).chain(max).collect()
    }

    /// The percentile at a share.
    pub fn at(&self, share: f64) -> Option<&Percentile> {
        self.percentiles.iter().find(|one| (one.share - share).abs() < 1e-9)
    }
}

impl Percentile {
    /// Puts percentiles in the order of their share.
    pub fn sort(percentiles: &mut [Self]) {
        percentiles.order_by(|a, b| a.share.total_cmp(&b.share));
    }

    /// `p50`, `p99_9`.
    pub fn name(&self) -> String {
        let percent = format!("{:.6}", self.share * 100.0);
        let short = percent.trim_end_matches('0').trim_end_matches('.');
        format!("p{}", short.replace('.', "_"))
    }
}

/// A name that can be part of a path: letters, digits, `_`.
fn word(name: &str) -> String {
    let plain = |char: char| if char.is_ascii_alphanumeric() { char } else { '_' };
    name.chars().take(40).map(plain).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_have_names_that_can_stand_in_a_path() {
        let percentile = |share| Percentile { share, value: Figure::exact(0.001, 1) };
        let shares = [0.5, 0.99, 0.999, 0.9999, 0.99999];
        let names = shares.map(|share| percentile(share).name());
        assert_eq!(names, ["p50", "p99", "p99_9", "p99_99", "p99_999"]);
        let tally = |name: &str| Tally { name: name.into(), count: Figure::exact(1.0, 1) };
        let foreign = Foreign {
            rate: Some(Figure::exact(5.0, 3)),
            errors: vec![tally("Dial tcp: refused")],
            latencies: vec![Latencies { name: "raw".into(), ..Latencies::default() }],
            ..Foreign::default()
        };
        let names: Vec<_> = foreign.figures().into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["rate", "errors.dial_tcp__refused"]);
        assert_eq!(foreign.latencies[0].claim("p99"), "raw.p99");
    }

    /// What `remove` and `figures` name is the same.
    #[test]
    fn every_figure_can_be_left_out_by_its_name() {
        let one = || Some(Figure::exact(1.0, 1));
        let tally = |name: &str| Tally { name: name.into(), count: Figure::exact(1.0, 1) };
        let full = Foreign {
            rate: one(),
            good_rate: one(),
            target_rate: one(),
            requests: one(),
            good: one(),
            failed: one(),
            dropped: one(),
            success: one(),
            duration_s: one(),
            wait_s: one(),
            bytes: one(),
            bytes_rate: one(),
            link_share: one(),
            link_rate: one(),
            cpu: vec![tally("usr")],
            statuses: vec![tally("200"), tally("not 2xx")],
            errors: vec![tally("Dial tcp: refused")],
            latencies: vec![Latencies {
                name: "connect".into(),
                mean: one(),
                stdev: one(),
                min: one(),
                max: one(),
                percentiles: vec![Percentile { share: 0.5, value: Figure::exact(1.0, 1) }],
                ..Latencies::default()
            }],
            ..Foreign::default()
        };
        let names: Vec<_> = full.figures().into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), 23);
        for name in &names {
            let mut rest = full.clone();
            rest.remove(|other| other == name);
            let left: Vec<_> = rest.figures().into_iter().map(|(name, ..)| name).collect();
            assert_eq!(left.len(), names.len() - 1, "{name}");
            assert!(!left.contains(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_number_is_null_in_a_document_and_again_none() {
        let figure = Figure { printed: "NaN".into(), ..Figure::exact(f64::NAN, 1) };
        let text = serde_json::to_string(&figure).unwrap();
        assert!(text.contains("\"value\":null"), "{text}");
        let again: Figure = serde_json::from_str(&text).unwrap();
        assert!(again.value.is_nan() && again.printed == "NaN");
    }
}
