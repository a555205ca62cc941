//! What `ceiling tune` changed stays as it was written.
//!
//! A value that somebody else changes in the window makes two hosts of one: what was measured
//! before and after it does not belong together, nor to the name of the change.
//! Of an interrupt, where the kernel really sends it counts. Usual suspects are irqbalance, which
//! moves interrupts every ten seconds, tuned, udev rules and network managers, which set devices up
//! again when a link comes back.

use super::Outcome;
use crate::case::Case;
use crate::observe::TuningSeen;
use model::tuning::Row;

const BOUND: &str = "every value that ceiling tune wrote is as written";

/// Whether anything was changed on this host.
pub fn is_asked(case: &Case<'_>) -> bool {
    let known = case.host.tuned.as_ref().is_some_and(|tuned| !tuned.is_empty());
    known || looks(case).next().is_some()
}

/// What was seen on the generator's host, and on the server's when a probe looks there.
fn looks<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a TuningSeen> {
    let far = case.observed.far.as_deref().and_then(|far| far.tuning.as_ref());
    case.observed.tuning.iter().chain(far)
}

pub fn check(case: &Case<'_>) -> Outcome {
    let seen: Vec<_> = looks(case).collect();
    if seen.is_empty() {
        return Outcome::unchecked(BOUND, "nobody looked at it in the window");
    }
    let drifted: usize = seen.iter().map(|seen| seen.drifted.len()).sum();
    let why = match seen.iter().find_map(|seen| seen.drifted.first()) {
        None => {
            let places: u64 = seen.iter().map(|seen| u64::from(seen.places)).sum();
            let reads = seen.iter().map(|seen| seen.reads).min().unwrap_or(0);
            format!("{places} places as written, looked at {reads} times")
        }
        Some(row) => {
            let more = drifted - 1;
            let more = if more == 0 { String::new() } else { format!("; and {more} more") };
            let (place, note) = (&row.place, &row.note);
            format!("{place}: {note}{more}; it may be {}", suspects(row))
        }
    };
    let (ok, measured) = (Some(drifted == 0), Some(drifted as f64));
    Outcome { ok, measured, bound: BOUND.to_string(), why }
}

/// Who is known to change such a place.
fn suspects(row: &Row) -> &'static str {
    if row.place.starts_with("/proc/irq/") {
        return "irqbalance";
    }
    if row.place.starts_with("/proc/sys/") {
        return "tuned, sysctl at a restart of systemd-sysctl, or a container runtime";
    }
    "tuned, a udev rule or a network manager"
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;
    use crate::gates;
    use crate::observe::Observed;
    use model::facts::TunedValue;
    use model::reading::{Data, Reading, TuningNow};
    use model::tuning::{Fate, Row, Scope, TakesEffect};
    use model::wall::WallId;

    fn row(place: &str) -> Row {
        Row {
            knob: "T1".to_string(),
            name: "irq-affinity".to_string(),
            place: place.to_string(),
            scope: Scope::Device,
            takes_effect: TakesEffect::Now,
            is_disruptive: false,
            now: Some("0-1".to_string()),
            wanted: Some("1".to_string()),
            fate: Fate::Drifted,
            note: "it may go to CPUs 1, and it goes to 0".to_string(),
            risk: String::new(),
            prediction: None,
        }
    }

    /// Two looks of which the second found this.
    fn seen(drifted: Vec<Row>) -> Fixture {
        let look = |drifted| Reading {
            begin_ns: 0,
            end_ns: 0,
            data: Data::Tuning(TuningNow { places: 3, drifted }),
        };
        let mut fixture = Fixture::good();
        let looks = [look(Vec::new()), look(drifted.clone()), look(drifted)];
        fixture.observed.tuning = Observed::of(looks, 1).tuning;
        fixture
    }

    #[test]
    fn a_drift_makes_the_measurement_void_and_names_the_suspect() {
        let mut fixture = seen(vec![row("/proc/irq/27/smp_affinity_list")]);
        fixture.check_gates();
        assert_eq!(gates::broken(&fixture.point.gates), Some(WallId::M3));
        let why = super::check(&fixture.case()).why;
        assert!(why.contains("goes to 0; it may be irqbalance"), "{why}");
        let other = seen(vec![row("/sys/class/net/eth0/queues/rx-0/rps_cpus"), row("/x")]);
        let why = super::check(&other.case()).why;
        assert!(why.contains("and 1 more; it may be tuned, a udev rule"), "{why}");
    }

    #[test]
    fn what_stays_as_written_holds_and_what_nobody_saw_is_not_known() {
        let outcome = super::check(&seen(Vec::new()).case());
        assert_eq!((outcome.ok, outcome.measured), (Some(true), Some(0.0)));
        assert_eq!(outcome.why, "3 places as written, looked at 3 times");
        let mut fixture = Fixture::good();
        assert!(!super::is_asked(&fixture.case()), "nothing is tuned");
        fixture.host.tuned = Some(vec![TunedValue {
            knob: "T1".to_string(),
            place: "/proc/irq/27/smp_affinity_list".to_string(),
            wanted: "1".to_string(),
            now: None,
        }]);
        assert!(super::is_asked(&fixture.case()));
        assert_eq!(super::check(&fixture.case()).ok, None);
    }
}
