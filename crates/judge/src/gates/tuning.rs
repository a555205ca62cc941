//! Every value that `ceiling tune` changed stays as written, and nothing else changes.
//!
//! If another program changes a value during the window, the host before and the host after are
//! different, and the measurement belongs to neither. The same holds when a change is reverted
//! during the run, by `ceiling tune revert` or by the watchdog, or is applied during it. For an
//! interrupt, the CPU to which the kernel really sends it counts. On the generator's host the probe
//! reads the values once more when the window has ended, so that a busy host hides no change. The
//! usual causes are irqbalance (moves interrupts every ten seconds), tuned, udev rules, and network
//! managers (configure devices again when a link comes back).
//!
//! If the journal of changes cannot be read, it is unknown whether there are any changes.

use super::Checked;
use crate::case::Case;
use model::facts::Unreadable;
use model::reading::TuningNow;
use model::tuning::{Fate, Row};
use observe::{Observed, TuningSeen};

const BOUND: &str = "every value that ceiling tune wrote is as written";

/// Whether anything was changed, or may have been.
pub fn is_asked(case: &Case<'_>) -> bool {
    let known = case.host.tuned.as_ref().is_some_and(|tuned| !tuned.is_empty());
    known || looks(case).next().is_some() || unread(case).is_some()
}

/// The generator's host, and the server's if a probe runs there.
fn hosts<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a Observed> {
    std::iter::once(case.observed).chain(case.observed.far.as_deref())
}

/// The state of the changes as seen on these hosts.
fn looks<'a>(case: &Case<'a>) -> impl Iterator<Item = &'a TuningSeen> {
    hosts(case).filter_map(|observed| observed.tuning.as_ref())
}

/// Why it is unknown whether anything is changed.
fn unread<'a>(case: &Case<'a>) -> Option<&'a Unreadable> {
    let mut all = hosts(case).flat_map(|observed| &observed.unreadable);
    all.find(|what| what.source == TuningNow::SOURCE)
}

pub fn check(case: &Case<'_>) -> Checked {
    let seen: Vec<_> = looks(case).collect();
    let drifted: usize = seen.iter().map(|seen| seen.drifted.len()).sum();
    if let Some(row) = seen.iter().find_map(|seen| seen.drifted.first()) {
        let more = drifted - 1;
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        let (place, note) = (&row.place, &row.note);
        return broken(drifted, format!("{place}: {note}{more}; it may be {}", suspects(row)));
    }
    if let Some((one, other)) = numbers(case) {
        let why = format!("{one} places were changed at one read and {other} at another");
        return broken(one.abs_diff(other) as usize, why);
    }
    if let Some(Unreadable { why, .. }) = unread(case) {
        let why = format!("could not read whether anything is changed: {why}");
        return Checked::unchecked(BOUND, &why);
    }
    let Some(reads) = seen.iter().map(|seen| seen.reads).min() else {
        return Checked::unchecked(BOUND, "the settings were not read in the window");
    };
    let places: u64 = seen.iter().map(|seen| u64::from(seen.places)).sum();
    let why = format!("{places} places as written, read {reads} times");
    Checked { ok: Some(true), measured: Some(0.0), bound: BOUND.to_string(), why }
}

fn broken(drifted: usize, why: String) -> Checked {
    Checked { ok: Some(false), measured: Some(drifted as f64), bound: BOUND.to_string(), why }
}

/// Two differing numbers of changed places on one host: within the window, or since the start of
/// the run.
fn numbers(case: &Case<'_>) -> Option<(u32, u32)> {
    let differ = |one: u32, other: u32| (one != other).then_some((one, other));
    let begun = case.host.tuned.as_ref().map(|tuned| tuned.len() as u32);
    let near = begun.zip(case.observed.tuning.as_ref());
    looks(case)
        .find_map(|seen| differ(seen.places, seen.fewest))
        .or_else(|| near.and_then(|(begun, seen)| differ(begun, seen.places)))
}

/// What usually changes such a place.
fn suspects(row: &Row) -> &'static str {
    match row.fate {
        Fate::Reverted => {
            return "ceiling tune revert, or the watchdog of a change that was not kept";
        }
        Fate::Applied => return "another ceiling tune apply",
        _ => {}
    }
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
    use model::facts::{TunedValue, Unreadable};
    use model::reading::{Data, Reading, TuningNow};
    use model::tuning::{Fate, Row, Scope, TakesEffect};
    use model::verdict::GateId;
    use observe::Observed;

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

    fn look(places: u32, drifted: Vec<Row>) -> Reading {
        let data = Data::Tuning(TuningNow { places, drifted });
        Reading { begin_ns: 0, end_ns: 0, data }
    }

    /// Three reads, of which the second and the third found this.
    fn seen(drifted: Vec<Row>) -> Fixture {
        of([look(3, Vec::new()), look(3, drifted.clone()), look(3, drifted)])
    }

    fn of(looks: [Reading; 3]) -> Fixture {
        let mut fixture = Fixture::good();
        fixture.observed.tuning = Observed::of(looks, 1).tuning;
        fixture
    }

    fn tuned(places: usize) -> Option<Vec<TunedValue>> {
        let value = |at| TunedValue {
            knob: "T1".to_string(),
            place: format!("/proc/irq/{at}/smp_affinity_list"),
            wanted: "1".to_string(),
            now: None,
        };
        Some((0..places).map(value).collect())
    }

    #[test]
    fn a_drift_makes_the_measurement_void_and_names_the_suspect() {
        let mut fixture = seen(vec![row("/proc/irq/27/smp_affinity_list")]);
        fixture.check_gates();
        assert!(gates::is_broken(&fixture.point, GateId::Tuning));
        let why = super::check(&fixture.case()).why;
        assert!(why.contains("goes to 0; it may be irqbalance"), "{why}");
        let other = seen(vec![row("/sys/class/net/eth0/queues/rx-0/rps_cpus"), row("/x")]);
        let why = super::check(&other.case()).why;
        assert!(why.contains("and 1 more; it may be tuned, a udev rule"), "{why}");
    }

    #[test]
    fn values_as_written_hold_and_unread_ones_are_not_known() {
        let outcome = super::check(&seen(Vec::new()).case());
        assert_eq!((outcome.ok, outcome.measured), (Some(true), Some(0.0)));
        assert_eq!(outcome.why, "3 places as written, read 3 times");
        let mut fixture = Fixture::good();
        assert!(!super::is_asked(&fixture.case()), "nothing is tuned");
        fixture.host.tuned = tuned(1);
        assert!(super::is_asked(&fixture.case()));
        assert_eq!(super::check(&fixture.case()).ok, None);
    }

    #[test]
    fn what_is_put_back_in_order_or_changed_only_meanwhile_has_drifted_too() {
        let gone = Row { fate: Fate::Reverted, note: "it was put back".to_string(), ..row("/x") };
        let mut fixture = of([look(3, vec![]), look(0, vec![gone.clone()]), look(0, vec![gone])]);
        fixture.host.tuned = tuned(3);
        fixture.check_gates();
        assert!(gates::is_broken(&fixture.point, GateId::Tuning));
        let why = super::check(&fixture.case()).why;
        assert!(why.contains("put back; it may be ceiling tune revert"), "{why}");
        // Without a report from the watch, in this window and in a later one.
        for (looks, begun) in [([3, 3, 0], 3), ([0, 0, 0], 3), ([3, 3, 3], 0), ([3, 4, 4], 3)] {
            let mut fixture = of(looks.map(|places| look(places, Vec::new())));
            fixture.host.tuned = tuned(begun);
            assert_eq!(super::check(&fixture.case()).ok, Some(false), "{looks:?} {begun}");
        }
        let mut fixture = of([3, 3, 3].map(|places| look(places, Vec::new())));
        fixture.host.tuned = tuned(3);
        assert_eq!(super::check(&fixture.case()).ok, Some(true));
    }

    #[test]
    fn a_journal_that_cannot_be_read_is_asked_about_and_not_checked() {
        let what = Unreadable { source: TuningNow::SOURCE.to_string(), why: "denied".to_string() };
        let mut near = Fixture::good();
        near.observed.unreadable.push(what.clone());
        let mut far = Fixture::good();
        far.observed.far =
            Some(Box::new(Observed { unreadable: vec![what], ..Observed::default() }));
        for fixture in [&mut near, &mut far] {
            fixture.check_gates();
            let gate =
                fixture.point.gates.iter().find(|gate| gate.id == GateId::Tuning).expect("asked");
            assert_eq!(gate.ok, None, "{gate:?}");
            assert!(
                gate.why.contains("could not read whether anything is changed: denied"),
                "{}",
                gate.why
            );
        }
        let mut drifted = seen(vec![row("/x")]);
        drifted.observed.unreadable = near.observed.unreadable;
        assert_eq!(super::check(&drifted.case()).ok, Some(false), "a seen change counts");
    }
}
