//! Any number of rows, read one after the other in bounded memory.

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

/// Calls back with each line.
pub fn lines(source: &mut dyn BufRead, mut each: impl FnMut(&str)) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut *source).take(ROW_MAX).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        if let Ok(text) = std::str::from_utf8(&line) {
            each(text.trim_end());
        }
    }
}

/// A source of CSV whose rows are bounded: quotes join cells and not lines, and a line longer than
/// [`ROW_MAX`] is an error. A comma between quotes is passed on as a semicolon.
pub struct Bounded<'a> {
    source: &'a mut dyn BufRead,
    row_length: u64,
    is_quoted: bool,
}

impl<'a> Bounded<'a> {
    /// Reads from a source.
    pub fn new(source: &'a mut dyn BufRead) -> Self {
        Self { source, row_length: 0, is_quoted: false }
    }
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        for byte in &mut buffer[..length] {
            self.row_length = if *byte == b'\n' { 0 } else { self.row_length + 1 };
            if self.row_length > ROW_MAX {
                return Err(io::Error::other("a row longer than 1 MiB"));
            }
            match *byte {
                b'\n' => self.is_quoted = false,
                b',' if self.is_quoted => *byte = b';',
                b'"' => {
                    self.is_quoted = !self.is_quoted;
                    *byte = b'\'';
                }
                _ => {}
            }
        }
        Ok(length)
    }
}

/// The totals of all rows.
pub struct Sampled {
    times: Histogram<u64>,
    sum_s: f64,
    sum_squares: f64,
    max_s: f64,
    min_s: f64,
    statuses: BTreeMap<String, u64>,
    good: u64,
    /// First start and last end, seconds.
    span: Option<(f64, f64)>,
}

impl Default for Sampled {
    fn default() -> Self {
        let times = Histogram::new_with_max(LONGEST_NS, DIGITS).expect("bounds that it accepts");
        Self {
            times,
            sum_s: 0.0,
            sum_squares: 0.0,
            max_s: 0.0,
            min_s: f64::INFINITY,
            statuses: BTreeMap::new(),
            good: 0,
            span: None,
        }
    }
}

/// What a tool says of one request.
pub struct Said<'a> {
    /// Its status, or the tool's word for it.
    pub status: &'a str,
    /// Whether the tool calls it good.
    pub is_good: bool,
}

impl Sampled {
    /// Adds one request: how long it took, from when to when, and what the tool says of it.
    pub fn add(&mut self, took_s: f64, span: Option<(f64, f64)>, said: &Said<'_>) {
        let status = said.status;
        self.good += u64::from(said.is_good);
        let ns = (took_s * 1e9).round().clamp(0.0, LONGEST_NS as f64) as u64;
        self.times.saturating_record(ns);
        self.sum_s += took_s;
        self.sum_squares += took_s * took_s;
        self.max_s = self.max_s.max(took_s);
        self.min_s = self.min_s.min(took_s);
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
    pub fn told(&self, since: Since, step_s: f64, meaning: Meaning) -> Foreign {
        let count = self.count() as f64;
        let exact = |value: f64| Some(Figure::exact(value, 0));
        let good = self.good as f64;
        let duration = self.span.map(|(first, last)| last - first).filter(|span| *span > 0.0);
        let tally = |(name, many): (&String, &u64)| Tally {
            name: name.clone(),
            count: Figure::exact(*many as f64, 0),
        };
        Foreign {
            requests: exact(count),
            good: exact(good),
            failed: exact(count - good),
            duration_s: duration.and_then(exact),
            rate: duration.and_then(|duration| exact(count / duration)),
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
            low: value * 0.999,
            high: value * 1.001,
            ..Figure::exact(value, 0)
        };
        let rank = |share: f64| {
            let value = self.times.value_at_quantile(share) as f64 / 1e9;
            // A bucket may end above the largest value.
            Percentile { share, value: kept(value.min(self.max_s)) }
        };
        Latencies {
            since,
            mean: Some(kept(mean)),
            stdev: Some(Figure {
                printed: format!("{:.6}", variance.sqrt()),
                ..kept(variance.sqrt())
            }),
            min: Some(Figure::exact(self.min_s.min(self.max_s), 0)),
            max: Some(Figure::exact(self.max_s, 0)),
            percentiles: [0.5, 0.9, 0.95, 0.99, 0.999].map(rank).to_vec(),
            samples: Some(Figure::exact(count, 0)),
            step_s,
            error_share: 0.001,
            ..Latencies::default()
        }
    }
}
