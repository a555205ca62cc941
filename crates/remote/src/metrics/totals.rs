//! Counters that only grow, as Prometheus reads them.
//!
//! It takes each step back for a new begin at zero, and adds the whole value once more. A counter
//! of 32 bits that wraps is not a new begin: in a sum over CPUs the other CPUs' counts would be
//! added. Nor is a state of a CPU that the kernel corrects by a few ticks, as `iowait`.
//!
//! In: the values of one scrape after the other. Out: the same, without such steps.

use model::metric::Kind;
use model::unit::Unit;
use std::collections::BTreeMap;

/// A CPU's state that steps back by up to this was corrected; by more, it began anew.
const CORRECTED_NS: f64 = 3e9;
/// Scrapes after which a series that is gone is forgotten.
const FORGOTTEN_AFTER: u64 = 1000;

/// The counters shown so far.
#[derive(Default)]
pub struct Totals {
    scrapes: u64,
    by_series: BTreeMap<String, Total>,
}

/// One series.
struct Total {
    /// As read last.
    read: f64,
    /// As shown last.
    shown: f64,
    /// In which scrape.
    scrape: u64,
}

impl Totals {
    /// Starts a scrape.
    pub fn scrape(&mut self) {
        self.scrapes += 1;
        let oldest = self.scrapes.saturating_sub(FORGOTTEN_AFTER);
        self.by_series.retain(|_, total| total.scrape >= oldest);
    }

    /// What to show for a value of a series; `unit_ns` is the length of its unit.
    pub fn shown(&mut self, series: String, kind: (Kind, Unit), unit_ns: f64, read: f64) -> f64 {
        let scrape = self.scrapes;
        let new = Total { read, shown: read, scrape };
        let total = self.by_series.entry(series).or_insert(new);
        let grown = read - total.read;
        let wrapped = grown + 2f64.powi(32);
        match kind {
            _ if grown >= 0.0 => (total.read, total.shown) = (read, total.shown + grown),
            // As in a window: between two reads no counter grows by half of its range.
            (Kind::Counter32, _) if (0.0..2f64.powi(31)).contains(&wrapped) => {
                (total.read, total.shown) = (read, total.shown + wrapped);
            }
            // It goes on once it is above what was shown.
            (_, Unit::Ticks) if -grown * unit_ns <= CORRECTED_NS => {}
            _ => (total.read, total.shown) = (read, read),
        }
        total.scrape = scrape;
        total.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<const N: usize>(kind: (Kind, Unit), reads: [f64; N]) -> [f64; N] {
        let mut totals = Totals::default();
        reads.map(|read| {
            totals.scrape();
            totals.shown("a".to_string(), kind, 1e7, read)
        })
    }

    #[test]
    fn a_wrap_of_one_cpu_is_no_new_begin_of_all() {
        // Four CPUs have 10 billion together when one of them wraps.
        let wraps = 10e9 + 500.0 - 2f64.powi(32);
        let kind = (Kind::Counter32, Unit::Count);
        let reads = [10e9, wraps, wraps + 7.0];
        assert_eq!(shown(kind, reads), [10e9, 10e9 + 500.0, 10e9 + 507.0]);
        assert_eq!(shown(kind, [10e9, 3.0, 5.0]), [10e9, 3.0, 5.0], "a device that came again");
        let kind = (Kind::Counter, Unit::Bytes);
        assert_eq!(shown(kind, [4e9, 100.0, 200.0]), [4e9, 100.0, 200.0]);
    }

    #[test]
    fn a_state_of_a_cpu_that_is_corrected_waits() {
        let kind = (Kind::Counter, Unit::Ticks);
        assert_eq!(shown(kind, [900.0, 880.0, 899.0, 905.0]), [900.0, 900.0, 900.0, 905.0]);
        assert_eq!(shown(kind, [900.0, 10.0, 20.0]), [900.0, 10.0, 20.0], "it began anew");
    }

    #[test]
    fn a_series_that_is_gone_is_forgotten_after_a_while() {
        let mut totals = Totals::default();
        totals.shown("gone".to_string(), (Kind::Counter, Unit::Count), 1.0, 1.0);
        (0..FORGOTTEN_AFTER).for_each(|_| totals.scrape());
        assert_eq!(totals.by_series.len(), 1);
        totals.scrape();
        assert_eq!(totals.by_series.len(), 0);
    }
}
