//! A token bucket: a rate of requests, and how requests above it are treated.

use clap::ValueEnum;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How a request above the limit is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Overflow {
    /// It gets 429 at once.
    Reject,
    /// It waits for its turn.
    Delay,
}

/// Requests that can be saved up, as time at the rate.
const SAVED: Duration = Duration::from_millis(20);

/// See the module.
#[derive(Debug)]
pub struct Limiter {
    overflow: Overflow,
    gap: Duration,
    /// When the next request is admitted if requests keep coming.
    next: Mutex<Instant>,
}

impl Limiter {
    /// Admits `rate` requests per second.
    pub fn new(rate: f64, overflow: Overflow) -> Self {
        let gap = Duration::from_secs_f64(1.0 / rate);
        Self { overflow, gap, next: Mutex::new(Instant::now()) }
    }

    /// How long a request that arrives now has to wait; nothing when it is refused.
    pub fn admit(&self, now: Instant) -> Option<Duration> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = now.checked_sub(SAVED.max(self.gap)).unwrap_or(now);
        let turn = (*next).max(saved);
        let wait = turn.saturating_duration_since(now);
        if !wait.is_zero() && self.overflow == Overflow::Reject {
            return None;
        }
        *next = turn + self.gap;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one request per millisecond for a second, the number admitted and the longest wait.
    fn let_through(overflow: Overflow) -> (usize, Duration) {
        let limiter = Limiter::new(250.0, overflow);
        let begin = Instant::now() + Duration::from_secs(1);
        let waits: Vec<_> =
            (0..1000).filter_map(|ms| limiter.admit(begin + Duration::from_millis(ms))).collect();
        (waits.len(), waits.into_iter().max().unwrap_or_default())
    }

    #[test]
    fn more_than_the_rate_is_refused_or_waits() {
        let (count, wait) = let_through(Overflow::Reject);
        assert!((250..=256).contains(&count) && wait.is_zero(), "{count}");
        let (count, wait) = let_through(Overflow::Delay);
        assert!(count == 1000 && wait > Duration::from_secs(2), "{wait:?}");
    }
}
