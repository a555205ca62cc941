//! Where on the tape each connection starts.
//!
//! If all connections started at the same position, a mix would come in waves: every connection's
//! first request, then every connection's second. So each connection starts at another position,
//! spread evenly from a seeded first one (the fractional parts of multiples of the golden ratio
//! spread most evenly over a circle). A connection that is opened again continues where it was, so
//! that one request per connection still covers the whole tape.

use crate::job::Job;

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The first position of connection `number`, counted over all workers.
pub fn position(job: &Job, number: u32) -> u32 {
    // From the seed to the first position: one step of splitmix64 (Steele, Lea and Flood 2014).
    let mut first = job.seed.wrapping_add(GOLDEN);
    first = (first ^ (first >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    first = (first ^ (first >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let turn = first.wrapping_add(GOLDEN.wrapping_mul(u64::from(number)));
    ((u128::from(turn) * u128::from(job.tape.period())) >> 64) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::load::{DriverKind, Request};
    use wire::tape::Tape;

    fn job(seed: u64, period: usize) -> Job {
        let request =
            Request { method: "GET".to_string(), path: "/".to_string(), ..Request::default() };
        Job {
            driver: DriverKind::Null,
            timeout_ns: 1,
            connect_timeout_ns: 1,
            seed,
            ..Job::for_tests(Tape::new(&vec![request; period], 1).unwrap())
        }
    }

    #[test]
    fn connections_begin_evenly_spread_over_the_tape() {
        for (seed, period, connections) in [(1, 10, 100), (2, 100, 100), (3, 7, 1000)] {
            let job = job(seed, period);
            let mut begun = vec![0u32; period];
            (0..connections).for_each(|number| begun[position(&job, number) as usize] += 1);
            let fair = connections as f64 / period as f64;
            let off = begun.iter().map(|count| (f64::from(*count) - fair).abs());
            assert!(off.fold(0.0, f64::max) <= 3.0, "{begun:?}");
        }
        let firsts: Vec<_> = (0..20).map(|seed| position(&job(seed, 1000), 0)).collect();
        assert!(firsts.windows(2).any(|pair| pair[0] != pair[1]), "the seed decides: {firsts:?}");
        assert_eq!(position(&job(9, 1), 77), 0);
    }
}
