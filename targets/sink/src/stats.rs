//! The record: what this server did, by its own clock. It is the truth against which clients are
//! checked.
//!
//! Each thread writes its own record and locks it once per turn of its loop, not once per request;
//! the lock is free unless a client requests `/stats`. A turn covers the recv, the responses, the
//! send and their recording, which makes a reset exact: see [`Ledger::reset`].

use std::fmt::Write as _;
use std::hint;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use hdrhistogram::Histogram;

use crate::sys::{Usage, now_ns, usage};

/// Longest service time recorded, one hour; longer ones count as this.
const SERVICE_MAX_NS: u64 = 3_600 * 1_000_000_000;
/// A percentile is given only when at least this many values lie beyond it.
const SAMPLES_BEYOND: f64 = 10.0;

/// What one thread did, or all of them together.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Requests whose response was passed to the kernel to its last byte.
    pub requests_served: u64,
    /// Requests refused as malformed or too large.
    pub requests_refused: u64,
    /// Requests that arrived in full and whose connection was lost before the response was sent.
    pub requests_unanswered: u64,
    /// Bytes passed to the kernel.
    pub responses_bytes: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Accepts that failed, mostly because descriptors ran out.
    pub accept_errors: u64,
    /// Times from the arrival of a request to the send of the last byte of its response.
    pub service: ServiceTimes,
}

impl Record {
    /// Adds `count` requests that took `service_ns` each.
    #[inline]
    pub fn serve(&mut self, service_ns: u64, count: u64) {
        self.requests_served += count;
        self.service.record(service_ns, count);
    }

    fn merge(&mut self, other: &Self) {
        self.requests_served += other.requests_served;
        self.requests_refused += other.requests_refused;
        self.requests_unanswered += other.requests_unanswered;
        self.responses_bytes += other.responses_bytes;
        self.bytes_received += other.bytes_received;
        self.connections_accepted += other.connections_accepted;
        self.accept_errors += other.accept_errors;
        self.service.merge(&other.service);
    }

    fn clear(&mut self) {
        let mut service = std::mem::take(&mut self.service);
        service.clear();
        *self = Self { service, ..Self::default() };
    }
}

/// A distribution of times: buckets to three digits, the other figures exact.
#[derive(Debug, Clone)]
pub struct ServiceTimes {
    buckets: Histogram<u64>,
    sum: u128,
    sum_of_squares: f64,
    min: u64,
    max: u64,
}

impl Default for ServiceTimes {
    fn default() -> Self {
        let buckets =
            Histogram::new_with_bounds(1, SERVICE_MAX_NS, 3).expect("constant bounds are valid");
        Self { buckets, sum: 0, sum_of_squares: 0.0, min: u64::MAX, max: 0 }
    }
}

impl ServiceTimes {
    #[inline]
    fn record(&mut self, ns: u64, count: u64) {
        let ns = ns.min(SERVICE_MAX_NS);
        // Cannot fail: the value was clamped to the bounds given above.
        let _ = self.buckets.record_n(ns, count);
        self.sum += u128::from(ns) * u128::from(count);
        self.sum_of_squares += (ns as f64) * (ns as f64) * (count as f64);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("bounds are equal");
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    fn clear(&mut self) {
        self.buckets.reset();
        (self.sum, self.sum_of_squares, self.min, self.max) = (0, 0.0, u64::MAX, 0);
    }

    /// The figures as a JSON object; unknown ones are null.
    fn write_json(&self, out: &mut String) {
        let count = self.buckets.len();
        let known = |value: u64| (count > 0).then_some(value);
        let mean = self.sum as f64 / count as f64;
        let variance = (self.sum_of_squares / count as f64 - mean * mean).max(0.0);
        let percentile = |quantile: f64| {
            let supported = count as f64 * (1.0 - quantile) >= SAMPLES_BEYOND - 1e-6;
            supported.then(|| self.buckets.value_at_quantile(quantile).clamp(self.min, self.max))
        };
        let figures = [
            ("count", Some(count)),
            ("min", known(self.min)),
            ("mean", known(mean.round() as u64)),
            ("stdev", known(variance.sqrt().round() as u64)),
            ("p50", percentile(0.5)),
            ("p75", percentile(0.75)),
            ("p90", percentile(0.9)),
            ("p95", percentile(0.95)),
            ("p99", percentile(0.99)),
            ("p99_9", percentile(0.999)),
            ("p99_99", percentile(0.9999)),
            ("max", known(self.max)),
        ];
        for (index, (name, value)) in figures.into_iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let value = value.map_or("null".to_owned(), |value| value.to_string());
            let _ = write!(out, "{before}\"{name}\":{value}");
        }
        out.push('}');
    }
}

/// Where one thread keeps its record. Aligned so that two threads never share a cache line.
#[repr(align(128))]
#[derive(Debug, Default)]
pub struct Desk {
    record: Mutex<Record>,
    visitors: AtomicU32,
}

impl Desk {
    /// Takes the record for one turn. Visitors go first, so that a busy thread cannot keep them out
    /// forever.
    #[inline]
    pub fn work(&self) -> MutexGuard<'_, Record> {
        while self.visitors.load(Ordering::Acquire) > 0 {
            hint::spin_loop();
            thread::yield_now();
        }
        self.lock()
    }

    /// Waits for the end of the turn and runs `task` on the record. The caller must not hold
    /// another record: two threads that lock each other's would deadlock.
    fn visit(&self, task: impl FnOnce(&mut Record)) {
        self.visitors.fetch_add(1, Ordering::AcqRel);
        task(&mut self.lock());
        self.visitors.fetch_sub(1, Ordering::AcqRel);
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        // A panic ends the whole program, so no thread sees a half-written record.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The records of all threads.
#[derive(Debug)]
pub struct Ledger {
    desks: Vec<Desk>,
    base: Mutex<Base>,
    start_ns: u64,
}

/// The point from which time and CPU time are counted.
#[derive(Debug, Clone, Copy)]
struct Base {
    at_ns: u64,
    usage: Usage,
}

impl Base {
    fn now() -> Self {
        Self { at_ns: now_ns(), usage: usage() }
    }
}

impl Ledger {
    /// One record for each thread. The record has the start time, so that a reader knows when
    /// stalls start.
    pub fn new(threads: usize, start_ns: u64) -> Self {
        let desks = std::iter::repeat_with(Desk::default).take(threads).collect();
        Self { desks, base: Mutex::new(Base::now()), start_ns }
    }

    /// The place of one thread.
    pub fn desk(&self, thread: usize) -> &Desk {
        &self.desks[thread]
    }

    /// Clears everything; returns the monotonic time at which all threads were cleared.
    ///
    /// Exactness: the threads are cleared one after the other, each between two turns of its
    /// loop. A response is recorded in the same turn in which it is sent. So every response that a
    /// client had received before it sent the reset is erased, and every request sent after the
    /// response to the reset is recorded. A request in flight meanwhile is either recorded or
    /// erased, never both.
    pub fn reset(&self) -> u64 {
        for desk in &self.desks {
            desk.visit(Record::clear);
        }
        let base = Base::now();
        *self.base.lock().unwrap_or_else(PoisonError::into_inner) = base;
        base.at_ns
    }

    /// The record as one line of JSON, without its line feed.
    pub fn line(&self, event: &str) -> String {
        let mut total = Record::default();
        for desk in &self.desks {
            desk.visit(|record| total.merge(record));
        }
        let base = *self.base.lock().unwrap_or_else(PoisonError::into_inner);
        let used = usage();
        let mut line = format!("{{\"event\":\"{event}\",\"target\":\"sink\"");
        for (name, value) in [
            ("requests_served", total.requests_served),
            ("requests_refused", total.requests_refused),
            ("requests_unanswered", total.requests_unanswered),
            ("responses_bytes", total.responses_bytes),
            ("bytes_received", total.bytes_received),
            ("connections_accepted", total.connections_accepted),
            ("accept_errors", total.accept_errors),
        ] {
            let _ = write!(line, ",\"{name}\":{value}");
        }
        line.push_str(",\"service_ns\":");
        total.service.write_json(&mut line);
        for (name, value) in [
            ("cpu_user_ns", used.user_ns.saturating_sub(base.usage.user_ns)),
            ("cpu_system_ns", used.system_ns.saturating_sub(base.usage.system_ns)),
            ("start_ns", self.start_ns),
            ("uptime_ns", now_ns().saturating_sub(base.at_ns)),
        ] {
            let _ = write!(line, ",\"{name}\":{value}");
        }
        line.push('}');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn json(ledger: &Ledger) -> Value {
        serde_json::from_str(&ledger.line("stats")).unwrap()
    }

    #[test]
    fn an_empty_record_knows_no_times() {
        let seen = json(&Ledger::new(2, 0));
        assert_eq!(seen["service_ns"]["count"], 0);
        assert_eq!(seen["service_ns"]["mean"], Value::Null);
        assert_eq!(seen["requests_served"], 0);
    }

    #[test]
    fn threads_are_added_up() {
        let ledger = Ledger::new(2, 0);
        ledger.desk(0).work().serve(1_000, 3);
        ledger.desk(1).work().serve(3_000, 1);
        let seen = json(&ledger);
        assert_eq!(seen["requests_served"], 4);
        assert_eq!(seen["service_ns"]["count"], 4);
        assert_eq!(seen["service_ns"]["mean"], 1_500);
        assert_eq!(seen["service_ns"]["stdev"], 866);
        assert_eq!(
            (&seen["service_ns"]["min"], &seen["service_ns"]["max"]),
            (&1_000.into(), &3_000.into())
        );
        assert_eq!(seen["service_ns"]["p50"], Value::Null, "four values are too few");
    }

    #[test]
    fn percentiles_need_ten_values_beyond_them() {
        let ledger = Ledger::new(1, 0);
        for ns in 1..=1_000 {
            ledger.desk(0).work().serve(ns, 1);
        }
        let seen = json(&ledger);
        assert_eq!(seen["service_ns"]["p99"], 990);
        assert_eq!(seen["service_ns"]["p99_9"], Value::Null);
    }

    #[test]
    fn a_reset_forgets_everything_but_keeps_counting() {
        let ledger = Ledger::new(2, 0);
        ledger.desk(1).work().serve(5, 5);
        ledger.desk(1).work().responses_bytes = 9;
        let at_ns = ledger.reset();
        assert!(at_ns <= now_ns());
        ledger.desk(1).work().serve(7, 1);
        let seen = json(&ledger);
        assert_eq!((&seen["requests_served"], &seen["responses_bytes"]), (&1.into(), &0.into()));
        assert_eq!(
            (&seen["service_ns"]["min"], &seen["service_ns"]["max"]),
            (&7.into(), &7.into())
        );
    }

    #[test]
    fn visitors_get_in_while_a_thread_is_busy() {
        let ledger = Ledger::new(1, 0);
        let stop = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    ledger.desk(0).work().serve(1, 1);
                }
            });
            for _ in 0..100 {
                ledger.reset();
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
