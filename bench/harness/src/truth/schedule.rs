//! What a perfect client must measure against a server that stalls on a schedule.
//!
//! Pure: a schedule, when requests were planned, and the time of a response without a stall.

/// The stalls of `target-sink --delay stall:LENGTH/PERIOD`: each period starts with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// Start of the first period, nanoseconds of `CLOCK_MONOTONIC`.
    pub origin_ns: u64,
    pub length_ns: u64,
    pub period_ns: u64,
}

impl Stalls {
    /// How long a request that arrives at an instant waits for the end of a stall.
    pub fn wait_ns(&self, at_ns: u64) -> u64 {
        self.length_ns.saturating_sub(self.phase_ns(at_ns))
    }

    /// How far an instant is into its period.
    pub fn phase_ns(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.origin_ns) % self.period_ns
    }

    /// The latencies of requests planned at these instants, in order of size.
    pub fn latencies_ns(
        &self,
        planned_ns: impl IntoIterator<Item = u64>,
        baseline_ns: u64,
    ) -> Vec<u64> {
        let latency = |at_ns| self.wait_ns(at_ns) + baseline_ns;
        let mut latencies: Vec<u64> = planned_ns.into_iter().map(latency).collect();
        latencies.sort_unstable();
        latencies
    }
}

/// When requests at a fixed rate are due, from the first one on.
pub fn grid(first_ns: u64, rate: f64, seconds: u32) -> impl Iterator<Item = u64> {
    let count = (rate * f64::from(seconds)).round() as u64;
    (0..count).map(move |index| first_ns + (index as f64 * 1e9 / rate).round() as u64)
}

/// Start of the grid that fits the first arrivals, all of them before the first stall. The very
/// first one may be late, because everything is cold; the middle one is not.
pub fn grid_begin(arrivals_ns: &[u64], rate: f64) -> Option<u64> {
    const CALM_NS: u64 = 300_000_000;
    let first_ns = *arrivals_ns.first()?;
    let calm = arrivals_ns.iter().take_while(|at_ns| **at_ns < first_ns + CALM_NS);
    let begin = |(index, at_ns): (usize, &u64)| *at_ns as i64 - (index as f64 * 1e9 / rate) as i64;
    let mut begins: Vec<i64> = calm.enumerate().map(begin).collect();
    begins.sort_unstable();
    Some(begins[begins.len() / 2].max(0) as u64)
}

/// The smallest value that a share of all does not exceed; nothing when fewer than ten lie beyond
/// it, as in records of `ceiling`.
pub fn percentile(sorted: &[u64], share: f64) -> Option<u64> {
    const BEYOND: f64 = 10.0;
    let count = sorted.len() as f64;
    if count * (1.0 - share) < BEYOND - 1e-6 {
        return None;
    }
    let rank = (count * share).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// A time with three or four digits and its unit.
pub fn time(ns: Option<u64>) -> String {
    let Some(ns) = ns else { return "-".to_owned() };
    let (value, unit) = match ns {
        0..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 100.0 { 2 } else { 1 };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const STALLS: Stalls = Stalls { origin_ns: 5 * MS, length_ns: 100 * MS, period_ns: 1_000 * MS };

    #[test]
    fn a_request_waits_for_the_rest_of_the_stall() {
        let wait_ms = |after_ms: u64| STALLS.wait_ns(5 * MS + after_ms * MS) / MS;
        assert_eq!([0, 30, 99, 100, 999].map(wait_ms), [100, 70, 1, 0, 0]);
        assert_eq!([1_000, 7_040].map(wait_ms), [100, 60]);
    }

    /// A tenth of all requests waits, evenly spread up to 100 ms: so the percentiles above the
    /// ninetieth lie on a straight line.
    #[test]
    fn percentiles_of_a_stall_lie_on_a_line() {
        for (first_ns, rate) in [(0, 1_000.0), (123_456_789, 1_000.0), (77 * MS, 20_000.0)] {
            let latencies = STALLS.latencies_ns(grid(first_ns, rate, 20), 50_000);
            let at_ms = |share| percentile(&latencies, share).unwrap() as f64 / 1e6;
            assert_eq!(at_ms(0.5), 0.05);
            assert!((at_ms(0.95) - 50.05).abs() < 1.1, "{}", at_ms(0.95));
            assert!((at_ms(0.99) - 90.05).abs() < 1.1, "{}", at_ms(0.99));
            assert!((at_ms(0.999) - 99.05).abs() < 1.1, "{}", at_ms(0.999));
        }
    }

    #[test]
    fn a_grid_has_all_its_requests_and_does_not_drift() {
        let due: Vec<u64> = grid(7, 3.0, 1_000).collect();
        assert_eq!((due.len(), due[0], due[2_997]), (3_000, 7, 999 * 1_000 * MS + 7));
    }

    #[test]
    fn a_grid_is_not_misled_by_a_late_first_request() {
        let mut arrivals: Vec<u64> = grid(5 * MS, 1_000.0, 1).map(|due| due + due % 7).collect();
        arrivals[0] += MS / 2;
        let begin_ns = grid_begin(&arrivals, 1_000.0).unwrap();
        assert!((5 * MS..5 * MS + 7).contains(&begin_ns), "{begin_ns}");
        assert_eq!(grid_begin(&[], 1_000.0), None);
    }

    #[test]
    fn a_percentile_needs_ten_beyond_it() {
        let values: Vec<u64> = (1..=1_000).collect();
        assert_eq!(percentile(&values, 0.5), Some(500));
        assert_eq!(percentile(&values, 0.99), Some(990));
        assert_eq!(percentile(&values, 0.999), None);
        assert_eq!(percentile(&[], 0.5), None);
    }
}
