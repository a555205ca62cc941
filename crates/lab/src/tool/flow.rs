//! When a tool made load: like any program it takes time to start and to end, and sends nothing
//! then. Packets show it.

use model::reading::{Data, Reading, Values};

/// Below this share of the busiest interval nothing counts as flowing.
const FLOWS: f64 = 0.10;
/// With fewer intervals nothing can be said.
const INTERVALS_MIN: usize = 4;

/// The part of a span in which packets flowed, monotonic nanoseconds: from the first to the last
/// pair of readings that counted enough of them. The whole span if that is not known.
pub fn window(readings: impl Iterator<Item = Reading>, ran_ns: (u64, u64)) -> (u64, u64) {
    let counts: Vec<(u64, u64)> = readings.filter_map(counted).collect();
    let rate = |pair: &[(u64, u64)]| {
        let passed_ns = pair[1].0.saturating_sub(pair[0].0).max(1) as f64;
        pair[1].1.saturating_sub(pair[0].1) as f64 / passed_ns
    };
    let rates: Vec<f64> = counts.windows(2).map(rate).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    if rates.len() < INTERVALS_MIN || most <= 0.0 {
        return ran_ns;
    }
    let flows = |rate: &f64| *rate >= FLOWS * most;
    match (rates.iter().position(flows), rates.iter().rposition(flows)) {
        (Some(first), Some(last)) => (counts[first].0, counts[last + 1].0),
        _ => ran_ns,
    }
}

/// Segments that this network namespace had received, and when.
fn counted(reading: Reading) -> Option<(u64, u64)> {
    let Data::Values(Values { source, values }) = &reading.data else { return None };
    let count = values.get("Tcp.InSegs").filter(|_| source == Values::TCP)?.count()?;
    Some((reading.at_ns(), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(counts: &[u64]) -> impl Iterator<Item = Reading> {
        let read = |(nth, count): (usize, &u64)| {
            let at_ns = nth as u64 * 200;
            let data = Data::values(Values::TCP, [("Tcp.InSegs".to_string(), *count)]);
            Reading { begin_ns: at_ns, end_ns: at_ns, data }
        };
        counts.iter().enumerate().map(read).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn the_start_and_the_end_of_a_program_are_no_load() {
        let counts = [0, 2, 3, 1003, 2003, 2004, 3004, 3006];
        assert_eq!(window(readings(&counts), (0, 2000)), (400, 1200), "a stall is inside");
    }

    #[test]
    fn without_enough_readings_it_is_all_of_its_time() {
        assert_eq!(window(readings(&[0, 10, 20]), (5, 900)), (5, 900));
        assert_eq!(window(readings(&[7; 9]), (5, 900)), (5, 900), "nothing flowed");
    }
}
