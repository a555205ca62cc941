//! The states of every CPU add up to the time that passed.
//!
//! A column that is left out hides work: the classic report of "85 % busy" leaves 40 % of the
//! machine in columns that were not printed. How exact the sum is depends on how the kernel
//! accounts CPU time. If it measures every transition, the states add up. If it samples busy states
//! at the timer tick, only idle time is measured: work in step with the tick is counted too often,
//! work between two ticks not at all, and the sum may be far from the elapsed time on a sound host.
//! In that case the gate checks only the measured part: a CPU is not idle for longer than the
//! elapsed time. Busy shares are then what idle time leaves (Linux
//! Documentation/admin-guide/cpu-load.rst, kernel/sched/cputime.c, kernel/time/tick-sched.c).
//!
//! The gate strikes the CPU states of its host and the evidence taken from them. Rates, latencies
//! and the CPU time of threads (schedstat) come from other counters.

use super::Checked;
use crate::case::Case;
use model::facts::{CpuAccounting, HostFacts};
use model::figure::Figure;
use model::standing::Standing;
use observe::{CpuShare, Observed};

/// The least and the most that precisely accounted states may add up to.
const PRECISE: (f64, f64) = (0.90, 1.10);
/// Share by which idle time may exceed the elapsed time, on top of two ticks: the clock and the
/// counters are not read at the same instant.
const IDLE_OVER: f64 = 0.01;

pub fn check(case: &Case<'_>) -> Checked {
    let near = check_host(case, case.host, case.observed);
    match (case.observed.far.as_deref(), case.server_host) {
        (Some(far), Some(host)) if near.ok != Some(false) => {
            let far = check_host(case, host, far);
            if far.ok == Some(false) { far } else { near }
        }
        _ => near,
    }
}

fn check_host(case: &Case<'_>, host: &HostFacts, observed: &Observed) -> Checked {
    let is_precise = host.cpu_accounting == CpuAccounting::Precise;
    let bound = match is_precise {
        true => "90 to 110 % of the time",
        false => "idle for at most the time that passed (busy states are sampled by tick)",
    };
    let window_ns = (case.point.load.duration_s * 1e9).max(1.0);
    let idle_max = 1.0 + IDLE_OVER + 2.0 * host.clock_tick_ns as f64 / window_ns;
    let Some(cpus) = &observed.cpus else {
        return Checked::unchecked(bound, "CPU times were not read twice in the window");
    };
    let is_off = |cpu: &&CpuShare| match is_precise {
        true => !(PRECISE.0..=PRECISE.1).contains(&cpu.accounted),
        false => cpu.idled > idle_max,
    };
    let distance = |cpu: &CpuShare| (cpu.accounted - 1.0).abs();
    let farthest = |left: &&CpuShare, right: &&CpuShare| distance(left).total_cmp(&distance(right));
    let off = cpus.iter().filter(is_off).max_by(farthest);
    let Some(worst) = off.or_else(|| cpus.iter().max_by(farthest)) else {
        return Checked::unchecked(bound, "no CPU was read");
    };
    let measured = worst.accounted * 100.0;
    let why = format!(
        "states of CPU {} of {} add up to {measured:.1} % of the time, {:.1} % of it idle",
        worst.cpu,
        host.hostname,
        worst.idled * 100.0
    );
    let (ok, bound) = (Some(off.is_none()), bound.to_string());
    Checked { ok, measured: Some(measured), bound, why }
}

/// Nothing for a host whose states do not add up; the other host is sound.
pub fn leaves(case: &Case<'_>, figure: Figure) -> Option<Standing> {
    let (host, observed) = match figure {
        Figure::ServerHost => (case.server_host?, case.far()),
        _ => (case.host, case.observed),
    };
    let holds = check_host(case, host, observed).ok != Some(false);
    holds.then_some(Standing::Sound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    fn holds(accounting: CpuAccounting, idled: f64, accounted: f64) -> Option<bool> {
        let mut fixture = Fixture::good();
        fixture.host.cpu_accounting = accounting;
        if let Some(cpus) = &mut fixture.observed.cpus {
            (cpus[1].idled, cpus[1].accounted) = (idled, accounted);
        }
        check(&fixture.case()).ok
    }

    #[test]
    fn sampled_states_add_up_to_anything_and_measured_ones_to_the_time_that_passed() {
        let (tick, precise) = (CpuAccounting::Tick, CpuAccounting::Precise);
        for sum in [0.3, 0.7, 1.11, 1.37, 1.9] {
            assert_eq!(holds(tick, 0.25, sum), Some(true), "{sum}: sampled");
            assert_eq!(holds(precise, 0.25, sum), Some(false), "{sum}: measured");
        }
        assert_eq!(holds(tick, 1.10, 1.15), Some(false), "idle for longer than time passed");
        assert_eq!(holds(precise, 0.25, 1.0), Some(true));
    }

    #[test]
    fn only_the_states_of_that_host_are_struck() {
        let mut fixture = Fixture::good();
        fixture.apart();
        fixture.host.cpu_accounting = CpuAccounting::Tick;
        fixture.far().cpus.as_mut().expect("CPUs")[0].idled = 1.4;
        fixture.check_gates();
        let standing = &fixture.point.standing;
        assert!(standing.of(Figure::ServerHost).is_not_known());
        for figure in [Figure::ClientHost, Figure::Rate, Figure::P99, Figure::ServerCpu] {
            assert!(standing.of(figure).is_sound(), "{figure:?}");
        }
    }
}
