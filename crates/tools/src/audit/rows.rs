//! Any number of rows, read one after the other in bounded memory.
//!
//! A row whose time cannot be read is refused with its line, not skipped. A time that no
//! measurement gives, such as one below zero, is kept, so that it refutes itself.

use crate::audit::unread::Unread;
use hdrhistogram::Histogram;
use model::audit::{Figure, Foreign, Latencies, Meaning, Percentile, Since, Tally};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

/// The most bytes of one row; the rest of a longer row is dropped.
const ROW_MAX: u64 = 1 << 20;
/// The most statuses that are told apart; the others are counted together.
const STATUSES_MAX: usize = 64;
/// Longest time that is kept, nanoseconds: one day.
const LONGEST_NS: u64 = 86_400_000_000_000;
const DIGITS: u8 = 3;

/// A line of a file.
pub struct Line<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its number, from 1.
    pub number: u64,
}

/// Calls back with each line, until one is refused. A last line without its end, as a run that was
/// killed leaves it, is left out if it cannot be read.
pub fn lines(
    source: &mut dyn BufRead,
    mut each: impl FnMut(&Line<'_>) -> Result<(), Unread>,
) -> Result<(), Unread> {
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let length = (&mut *source).take(ROW_MAX).read_until(b'\n', &mut bytes)?;
        if length == 0 {
            return Ok(());
        }
        number += 1;
        let is_cut = !bytes.ends_with(b"\n");
        let text = String::from_utf8_lossy(&bytes);
        match each(&Line { text: text.trim_end(), number }) {
            Err(Unread::Row { .. }) if is_cut => {}
            result => result?,
        }
    }
}

/// A source of CSV whose rows are bounded: a row longer than [`ROW_MAX`] is an error. A cell in
/// quotes may have several lines.
pub struct Bounded<R> {
    source: R,
    separator: u8,
    row_length: u64,
    is_quoted: bool,
    last: u8,
}

impl<R: Read> Bounded<R> {
    /// Reads cells between separators from a source.
    pub fn new(source: R, separator: u8) -> Self {
        Self { source, separator, row_length: 0, is_quoted: false, last: b'\n' }
    }

    /// Whether the last line has its end.
    pub fn is_ended(&self) -> bool {
        self.last == b'\n'
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        for byte in &buffer[..length] {
            let begins_cell = self.last == self.separator || self.last == b'\n';
            let ends_row = *byte == b'\n' && !self.is_quoted;
            self.row_length = if ends_row { 0 } else { self.row_length + 1 };
            if self.row_length > ROW_MAX {
                return Err(io::Error::other("a row longer than 1 MiB; is a quote not closed?"));
            }
            if *byte == b'"' && (self.is_quoted || begins_cell || self.last == b'"') {
                self.is_quoted = !self.is_quoted;
            }
            self.last = *byte;
        }
        Ok(length)
    }
}

/// The totals of all rows.
pub struct Sampled {
    times: Histogram<u64>,
    sum_s: f64,
    sum_squares: f64,
    max: Longest,
    min: Longest,
    statuses: BTreeMap<String, u64>,
    good: u64,
    /// First start and last end, seconds.
    span: Option<(f64, f64)>,
    /// The step of starts and ends, seconds.
    pub span_step_s: f64,
}

/// A time at an end of all, and its line.
#[derive(Clone, Copy)]
struct Longest {
    seconds: f64,
    line: u64,
}

impl Longest {
    fn figure(self) -> Option<Figure> {
        Some(Figure::exact(self.seconds, self.line))
    }
}

impl Default for Sampled {
    fn default() -> Self {
        let times = Histogram::new_with_max(LONGEST_NS, DIGITS).expect("bounds that it accepts");
        Self {
            times,
            sum_s: 0.0,
            sum_squares: 0.0,
            max: Longest { seconds: f64::NEG_INFINITY, line: 0 },
            min: Longest { seconds: f64::INFINITY, line: 0 },
            statuses: BTreeMap::new(),
            good: 0,
            span: None,
            span_step_s: 0.0,
        }
    }
}

/// What a tool says of one request.
pub struct RequestOutcome<'a> {
    /// Its status, or the tool's word for it.
    pub status: &'a str,
    /// Whether the tool calls it good.
    pub is_good: bool,
    /// The line that says so.
    pub line: u64,
}

impl Sampled {
    /// Adds one request: how long it took, from when to when, and what the tool says of it.
    pub fn add(&mut self, took_s: f64, span: Option<(f64, f64)>, outcome: &RequestOutcome<'_>) {
        let status = outcome.status;
        self.good += u64::from(outcome.is_good);
        let ns = (took_s * 1e9).round().clamp(0.0, LONGEST_NS as f64) as u64;
        self.times.saturating_record(ns);
        self.sum_s += took_s;
        self.sum_squares += took_s * took_s;
        let this = Longest { seconds: took_s, line: outcome.line };
        if took_s > self.max.seconds {
            self.max = this;
        }
        if took_s < self.min.seconds {
            self.min = this;
        }
        let is_known = self.statuses.contains_key(status);
        let has_room = self.statuses.len() < STATUSES_MAX;
        let name = if is_known || has_room { status } else { "others" };
        let name: String = name.chars().take(40).collect();
        *self.statuses.entry(name).or_insert(0) += 1;
        if let Some((start, end)) = span {
            let (first, last) = self.span.unwrap_or((start, end));
            self.span = Some((first.min(start), last.max(end)));
        }
    }

    /// How many were added.
    pub fn count(&self) -> u64 {
        self.times.len()
    }

    /// The account that the rows make.
    pub fn foreign(&self, since: Since, step_s: f64, meaning: Meaning) -> Foreign {
        let count = self.count() as f64;
        let exact = |value: f64| Some(Figure::exact(value, 0));
        let good = self.good as f64;
        let span = self.span.map(|(first, last)| last - first).filter(|span| *span > 0.0);
        let step_of = self.span_step_s;
        let duration = span.map(|span| Figure {
            low: (span - step_of).max(0.0),
            high: span + step_of,
            ..Figure::exact(span, 0)
        });
        let rate = duration.as_ref().filter(|duration| duration.low > 0.0).map(|duration| Figure {
            low: count / duration.high,
            high: count / duration.low,
            ..Figure::exact(count / duration.value, 0)
        });
        let tally = |(name, many): (&String, &u64)| Tally {
            name: name.clone(),
            count: Figure::exact(*many as f64, 0),
        };
        Foreign {
            requests: exact(count),
            good: exact(good),
            failed: exact(count - good),
            duration_s: duration,
            rate,
            statuses: self.statuses.iter().map(tally).collect(),
            latencies: vec![self.latencies(since, step_s)],
            meaning,
            ..Foreign::default()
        }
    }

    fn latencies(&self, since: Since, step_s: f64) -> Latencies {
        let count = self.count() as f64;
        let mean = self.sum_s / count.max(1.0);
        let variance = (self.sum_squares / count.max(1.0) - mean * mean).max(0.0);
        let kept = |value: f64| Figure {
            low: value - value.abs() * 0.001,
            high: value + value.abs() * 0.001,
            ..Figure::exact(value, 0)
        };
        let rank = |share: f64| {
            let value = self.times.value_at_quantile(share) as f64 / 1e9;
            // A bucket may end above the largest value.
            Percentile { share, value: kept(value.min(self.max.seconds.max(0.0))) }
        };
        Latencies {
            since,
            mean: Some(kept(mean)),
            stdev: Some(Figure {
                printed: format!("{:.6}", variance.sqrt()),
                ..kept(variance.sqrt())
            }),
            min: self.min.figure(),
            max: self.max.figure(),
            percentiles: [0.5, 0.9, 0.95, 0.99, 0.999].map(rank).to_vec(),
            samples: Some(Figure::exact(count, 0)),
            step_s,
            error_share: 0.001,
            ..Latencies::default()
        }
    }
}
