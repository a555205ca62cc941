//! Uses up a share of some CPUs, so that the generator has that much less.
//!
//! One thread on each CPU runs until it has used its share of each hundredth of a second, by the
//! kernel's account of its CPU time, and sleeps until the next. Next to a worker that uses its CPU
//! fully, the scheduler gives the thread half of the time, so it runs for longer and still gets its
//! share. The share that it actually got is measured.

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time in which each thread gets its share once.
const PERIOD: Duration = Duration::from_millis(10);
/// Turns between two readings of the clock.
const TURNS: u32 = 2_000;

/// Threads that burn CPU time until they are dropped.
pub(crate) struct Burner {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<f64>>,
}

impl Burner {
    /// Starts to use up `share` of each of these CPUs.
    pub(crate) fn start(share: f64, cpus: &[u32]) -> Result<Self, String> {
        let mut burner = Self { over: Arc::default(), threads: Vec::new() };
        for cpu in cpus {
            let mut set = CpuSet::new();
            let cpu = *cpu as usize;
            if cpu >= CpuSet::MAX_CPU {
                return Err(format!("CPU {cpu} does not fit into a CPU mask"));
            }
            set.set(cpu);
            let over = Arc::clone(&burner.over);
            let body = move || match sched_setaffinity(None, &set) {
                Ok(()) => burn(share, &over),
                // It burnt nothing, and reports that.
                Err(_) => 0.0,
            };
            let thread = thread::Builder::new().name(format!("burner-{cpu}")).spawn(body);
            burner.threads.push(thread.map_err(|error| format!("no thread to burn CPU: {error}"))?);
        }
        Ok(burner)
    }

    /// Stops the threads; returns the share of the CPUs that they used.
    pub(crate) fn stop(mut self) -> f64 {
        let threads = std::mem::take(&mut self.threads);
        self.over.store(true, Ordering::Relaxed);
        let count = threads.len().max(1) as f64;
        threads.into_iter().filter_map(|thread| thread.join().ok()).sum::<f64>() / count
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

/// Burns a share of the time until `over` is set; returns the share it got.
fn burn(share: f64, over: &AtomicBool) -> f64 {
    let begin = Instant::now();
    let begin_cpu = cpu_time();
    while !over.load(Ordering::Relaxed) {
        let due = begin.elapsed() + PERIOD;
        while (cpu_time() - begin_cpu).as_secs_f64() < due.as_secs_f64() * share
            && !over.load(Ordering::Relaxed)
        {
            (0..TURNS).for_each(|_| hint::spin_loop());
        }
        thread::sleep(due.saturating_sub(begin.elapsed()));
    }
    (cpu_time() - begin_cpu).as_secs_f64() / begin.elapsed().as_secs_f64().max(f64::MIN_POSITIVE)
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_up_is_measured_and_not_more_than_asked() {
        let allowed = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).unwrap() as u32;
        let burn = |_| {
            let burner = Burner::start(0.2, &[cpu]).unwrap();
            thread::sleep(Duration::from_millis(300));
            burner.stop()
        };
        // A busy machine may give less or nothing, but never more, except in the last period.
        let share = (0..100).map(burn).find(|share| *share > 0.0).expect("CPU time to burn");
        assert!(share < 0.26, "{share}");
        assert!(Burner::start(0.2, &[1 << 20]).is_err());
    }
}
