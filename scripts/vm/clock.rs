//! Prints the frequency of this processor's time stamp counter, in kHz. An emulated processor shows
//! the host's counter, and the guest kernel cannot calibrate it while this host is busy: it was off
//! by a factor of six.

use std::arch::x86_64::_rdtsc;
use std::time::{Duration, Instant};

/// A time and the counter at that time: the fastest of many pairs of reads.
fn now() -> (Instant, u64) {
    let pair = |_| {
        let begin = Instant::now();
        // SAFETY: every x86_64 processor has the counter.
        let counter = unsafe { _rdtsc() };
        (begin.elapsed(), (begin, counter))
    };
    (0..1000).map(pair).min_by_key(|(took, _)| *took).expect("1000 pairs").1
}

fn main() {
    let begin = now();
    std::thread::sleep(Duration::from_millis(300));
    let end = now();
    let seconds = (end.0 - begin.0).as_secs_f64();
    println!("{:.0}", (end.1 - begin.1) as f64 / seconds / 1000.0);
}
