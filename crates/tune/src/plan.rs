//! The changes that would be made, and their effect: knobs compared with a host, a wish and a run.

use crate::advise;
use crate::host::{Host, Wish};
use crate::knob::{Act, Ask, Knob, Proposal};
use crate::knobs::{REGISTRY, find};
use crate::place::{Place, Seen};
use model::tuning::{Fate, Prediction, Row, Signals};

/// A row of a plan, and the change to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The row to show.
    pub row: Row,
    /// What would be written; nothing when there is nothing to do.
    pub change: Option<Change>,
}

/// One value to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The place of the value.
    pub place: Place,
    /// The value to write, normalised.
    pub wanted: String,
    /// The value when it was planned.
    pub seen: Seen,
}

/// What would be done on a host, one row for each place and piece of advice, in the order of the
/// catalogue. Without signals no row has a prediction.
pub fn plan(host: &Host, wish: &Wish, signals: Option<&Signals>) -> Vec<Planned> {
    let is_meant = |knob: &&&Knob| {
        let mut words = wish.only.iter();
        wish.only.is_empty()
            || words.any(|word| find(word).is_some_and(|found| found.id == knob.id))
    };
    let knobs = REGISTRY.iter().filter(is_meant);
    let predicted = |knob: &Knob| signals.map(|signals| advise::prediction(knob, signals));
    knobs.flat_map(|knob| of_knob(host, wish, knob, predicted(knob))).collect()
}

fn of_knob(host: &Host, wish: &Wish, knob: &Knob, prediction: Option<Prediction>) -> Vec<Planned> {
    let blank = Row {
        knob: knob.id.to_string(),
        name: knob.name.to_string(),
        place: String::new(),
        scope: knob.scope,
        takes_effect: knob.takes_effect,
        is_disruptive: knob.is_disruptive,
        now: None,
        wanted: None,
        fate: Fate::Absent,
        note: "this host has none".to_string(),
        risk: knob.risk.to_string(),
        prediction,
    };
    match &knob.act {
        Act::Advice { now, advice } => {
            let note = (*advice).to_string();
            let row = Row { now: now(host), fate: Fate::Advice, note, ..blank };
            vec![Planned { row, change: None }]
        }
        Act::Settable { places, propose, .. } => {
            let places = places(host, wish);
            if places.is_empty() {
                return vec![Planned { row: blank, change: None }];
            }
            let count = places.len();
            let at = |(index, place): (usize, &Place)| {
                let row = Row { place: place.show(), ..blank.clone() };
                match place.read(host) {
                    Ok(None) => Planned { row: of_absent(row, place), change: None },
                    Err(error) => refused(row, error.to_string()),
                    Ok(Some(seen)) => {
                        let now = &seen.value;
                        let proposal = propose(&Ask { host, wish, place, index, count, now });
                        of_place(row, place, seen, proposal)
                    }
                }
            };
            places.iter().enumerate().map(at).collect()
        }
    }
}

/// A daemon or timer that does not run does nothing, which is what its knob wants; any other place
/// that is absent is one that this host does not have.
fn of_absent(row: Row, place: &Place) -> Row {
    match place {
        Place::Daemon { .. } | Place::Timer { .. } => {
            Row { fate: Fate::Already, note: "it does not run".to_string(), ..row }
        }
        _ => row,
    }
}

fn refused(row: Row, why: String) -> Planned {
    Planned { row: Row { fate: Fate::Refused, note: why, ..row }, change: None }
}

fn of_place(row: Row, place: &Place, seen: Seen, proposal: Proposal) -> Planned {
    let row = Row { now: Some(seen.value.clone()), note: String::new(), ..row };
    match proposal {
        Proposal::Leave(why) => {
            Planned { row: Row { fate: Fate::Already, note: why, ..row }, change: None }
        }
        Proposal::Refuse(why) => refused(row, why),
        Proposal::Set(wanted) => {
            let row = Row { wanted: Some(wanted.clone()), ..row };
            if place.is_same(&place.settles_to(&wanted), &seen.value) {
                return Planned { row: Row { fate: Fate::Already, ..row }, change: None };
            }
            let change = Some(Change { place: place.clone(), wanted, seen });
            Planned { row: Row { fate: Fate::Proposed, ..row }, change }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::RunCommands;
    use crate::testing::{self, MadeUp};
    use model::step::Step;
    use model::verdict::Named;
    use model::wall::WallId;
    use std::collections::BTreeMap;

    fn wish(only: &str) -> Wish {
        Wish { only: vec![only.to_string()], ..Wish::default() }
    }

    #[test]
    fn what_is_not_as_meant_is_proposed_and_the_rest_is_not() {
        let made = MadeUp::new("plan", 4).device("eth0", 2);
        made.write("/sys/class/net/eth0/queues/rx-1/rps_cpus", "f");
        let planned = plan(&made.host(), &wish("RPS"), None);
        let fates: Vec<_> = planned.iter().map(|planned| planned.row.fate).collect();
        assert_eq!(fates, [Fate::Proposed, Fate::Already]);
        let change = planned[0].change.as_ref().unwrap();
        assert_eq!((change.wanted.as_str(), change.seen.value.as_str()), ("0-3", ""));
        assert_eq!(planned[0].row.prediction, None, "no run, no prediction");
        assert!(planned[1].change.is_none());
    }

    #[test]
    fn a_plan_predicts_what_the_advice_predicts() {
        let made = MadeUp::c6in_8xlarge();
        let none = || Step::command([""; 0]);
        let commands = RunCommands {
            run: String::new(),
            command: none(),
            longer: none(),
            confirmed: none(),
            probed: none(),
        };
        let mut inside = testing::at(WallId::K4, 1.0, 0.9);
        (inside.wall, inside.is_inside) = (Some(Named::Unknown), true);
        let mut loopback = testing::one_full_cpu(1);
        loopback.server.link = Some("lo".to_string());
        let none = Signals { wall: Some(Named::None), ..testing::at(WallId::K4, 1.0, 0.9) };
        for signals in [testing::seeds(), inside, loopback, none, testing::one_full_cpu(1)] {
            let advice = advise::advise(&signals, &commands);
            let all = advice.worth.iter().chain(&advice.unknown).chain(&advice.not_now);
            let advised: BTreeMap<_, _> = all.map(|one| (&*one.knob, &one.prediction)).collect();
            for planned in plan(&made.host(), &Wish::default(), Some(&signals)) {
                let Row { knob, prediction, .. } = &planned.row;
                assert_eq!(prediction.as_ref(), Some(advised[&**knob]), "{knob}");
            }
        }
    }

    #[test]
    fn a_host_without_the_place_has_one_row() {
        let planned = plan(&MadeUp::new("plan", 4).host(), &wish("T29"), None);
        assert_eq!(planned.len(), 1);
        assert_eq!(planned[0].row.fate, Fate::Absent);
        assert!(find("no such knob").is_none());
    }

    #[test]
    fn a_daemon_that_does_not_run_is_as_its_knob_wants_it() {
        let planned = plan(&MadeUp::new("plan", 4).host(), &wish("irqbalance"), None);
        let [Planned { row, change: None }] = &planned[..] else { panic!("{planned:?}") };
        assert_eq!((row.fate, row.note.as_str()), (Fate::Already, "it does not run"));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_and_not_guessed() {
        let made = MadeUp::new("plan", 4);
        made.write("/proc/sys/net/core/somaxconn", "many");
        let planned = plan(&made.host(), &wish("somaxconn"), None);
        assert_eq!(planned[0].row.fate, Fate::Refused);
        assert!(planned[0].row.note.contains("'many' is not an integer"), "{:?}", planned[0].row);
    }
}
