//! What CPUs, and the limits on them, did between two readings.

use crate::ends::Pair;
use model::reading::{CpuShares, CpuTimes, QuotaUse};
use serde::{Deserialize, Serialize};

/// How one CPU spent the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShare {
    /// CPU number.
    pub cpu: u32,
    /// Shares by state.
    pub shares: CpuShares,
    /// Time accounted for over time passed; 1 when the states add up.
    pub accounted: f64,
    /// The part of it that was idle or waited for input and output.
    pub idled: f64,
}

impl CpuShare {
    /// Everything but idle.
    pub fn busy(&self) -> f64 {
        self.shares.busy()
    }
}

/// CPU states in the order they are shown. Together they are the whole time.
pub const STATES: [&str; 7] = CpuShares::STATES;

/// Shares of CPU time by state, percent, in the order of [`STATES`].
pub type Shares = [f64; STATES.len()];

/// Mean shares over CPUs with equal weights; none without a CPU.
pub fn mean_shares(cpus: &[CpuShare]) -> Option<Shares> {
    let mut sum = [0.0; STATES.len()];
    for CpuShare { shares: of, .. } in cpus {
        sum.iter_mut().zip(of.by_state()).for_each(|(sum, share)| *sum += 100.0 * share);
    }
    (!cpus.is_empty()).then(|| sum.map(|share| share / cpus.len() as f64))
}

/// What one control group's CPU limit did in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QuotaShare {
    /// Path of the group.
    pub group: String,
    /// CPUs' worth of time it allows; absent when unlimited.
    pub allowed_cpus: Option<f64>,
    /// Share of periods in which it throttled.
    pub throttled_periods: f64,
    /// Throttled time over window; can exceed 1 with many threads.
    pub throttled_time: f64,
}

pub(crate) fn cpu_shares(pair: &Pair<'_, Vec<CpuTimes>>, clock_tick_ns: u64) -> Vec<CpuShare> {
    let passed_ns = pair.seconds * 1e9;
    let share = |last: &CpuTimes| {
        let first = pair.first.iter().find(|first| first.cpu == last.cpu)?;
        let total_ns = last.total().saturating_sub(first.total()) as f64 * clock_tick_ns as f64;
        let idle = |cpu: &CpuTimes| cpu.idle.saturating_add(cpu.iowait);
        let idle_ns = idle(last).saturating_sub(idle(first)) as f64 * clock_tick_ns as f64;
        Some(CpuShare {
            cpu: last.cpu,
            shares: last.shares_since(first, passed_ns, clock_tick_ns)?,
            accounted: total_ns / passed_ns,
            idled: idle_ns / passed_ns,
        })
    };
    pair.last.iter().filter_map(share).collect()
}

pub(crate) fn quota_shares(pair: &Pair<'_, Vec<QuotaUse>>) -> Vec<QuotaShare> {
    let share = |last: &QuotaUse| {
        let first = pair.first.iter().find(|first| first.group == last.group)?;
        // One that is made again, as when its service restarts, begins anew: its growth is unknown.
        let periods = last.periods.checked_sub(first.periods)?;
        let throttled = last.throttled_periods.checked_sub(first.throttled_periods)?;
        let throttled_ns = last.throttled_ns.checked_sub(first.throttled_ns)?;
        let allowed = last.quota_us.zip(last.period_us).filter(|(_, period_us)| *period_us > 0);
        Some(QuotaShare {
            group: last.group.clone(),
            allowed_cpus: allowed.map(|(quota_us, period_us)| quota_us as f64 / period_us as f64),
            throttled_periods: if periods > 0 { throttled as f64 / periods as f64 } else { 0.0 },
            throttled_time: throttled_ns as f64 / 1e9 / pair.seconds,
        })
    };
    pair.last.iter().filter_map(share).collect()
}
