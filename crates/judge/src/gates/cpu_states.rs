//! The states of every CPU add up to the time that passed.
//!
//! Columns that are left out hide work: the classic report of "85 % busy" leaves 40 % of the
//! machine in columns nobody printed. With tick accounting a CPU that is partly idle may account
//! for less: idle is measured, short bursts of work are missed by the sampling tick (Linux
//! Documentation/admin-guide/cpu-load.rst). More than the time passed is never right.

use super::Outcome;
use crate::case::Case;
use crate::observe::CpuShare;
use model::facts::CpuAccounting;

const MOST: f64 = 1.10;
const LEAST: f64 = 0.90;
/// For CPUs that go idle, where busy time is sampled: bursts between two ticks are not seen.
const LEAST_SAMPLED: f64 = 0.50;
/// A CPU that is busy for more than this share does not go idle.
const ALWAYS_BUSY: f64 = 0.99;

pub fn check(case: &Case<'_>) -> Outcome {
    let is_precise = case.host.cpu_accounting == CpuAccounting::Precise;
    let least = |cpu: &CpuShare| {
        if is_precise || cpu.busy() > ALWAYS_BUSY { LEAST } else { LEAST_SAMPLED }
    };
    let bound = match is_precise {
        true => "90 to 110 % of the time",
        false => "90 to 110 % of the time; 50 % where it goes idle (sampled by tick)",
    };
    let Some(cpus) = &case.observed.cpus else {
        return Outcome::unchecked(bound, "CPU times were not read twice in the window");
    };
    let is_off = |cpu: &&CpuShare| !(least(cpu)..=MOST).contains(&cpu.accounted);
    let distance = |cpu: &CpuShare| (cpu.accounted - 1.0).abs();
    let farthest = |left: &&CpuShare, right: &&CpuShare| distance(left).total_cmp(&distance(right));
    let off = cpus.iter().filter(is_off).max_by(farthest);
    let Some(worst) = off.or_else(|| cpus.iter().max_by(farthest)) else {
        return Outcome::unchecked(bound, "no CPU was read");
    };
    let measured = worst.accounted * 100.0;
    let why = format!("states of CPU {} add up to {measured:.1} % of the time", worst.cpu);
    let (ok, bound) = (Some(off.is_none()), bound.to_string());
    Outcome { ok, measured: Some(measured), bound, why }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use model::facts::CpuAccounting;

    fn holds(accounting: CpuAccounting, busy: f64, accounted: f64) -> Option<bool> {
        let mut fixture = Fixture::good();
        fixture.host.cpu_accounting = accounting;
        fixture.cpu(1, busy);
        if let Some(cpus) = &mut fixture.observed.cpus {
            cpus[1].accounted = accounted;
        }
        super::check(&fixture.case()).ok
    }

    #[test]
    fn missing_time_is_forgiven_only_where_it_is_sampled() {
        let (tick, precise) = (CpuAccounting::Tick, CpuAccounting::Precise);
        assert_eq!(holds(tick, 0.3, 0.7), Some(true));
        assert_eq!(holds(tick, 1.0, 0.7), Some(false), "busy throughout");
        assert_eq!(holds(precise, 0.3, 0.7), Some(false), "nothing is sampled");
        assert_eq!(holds(tick, 0.3, 1.2), Some(false), "more than there is");
        assert_eq!(holds(tick, 0.3, 0.3), Some(false), "far too little");
        assert_eq!(holds(tick, 0.95, 0.80), Some(true), "short bursts");
    }
}
