//! Values that a plan gives as they stand.
//!
//! Many knobs have values of several kinds, such as a number of packets and a time. One value is
//! never written to all of them: such a knob takes each value with the name of its file.

use super::knob_of;
use model::tuning::Fate;
use plan::Tune;
use std::collections::BTreeSet;
use tune::{Act, Change, Host, Knob, Place, Planned, Wish};

/// Whether each value is of one kind, on this host.
pub fn check(host: &Host, wish: &Wish, tune: &Tune) -> Result<(), String> {
    for word in tune.values.keys() {
        let knob = knob_of(word)?;
        check_kind(knob, word, &places(knob, host, &of(wish, knob))?)?;
    }
    Ok(())
}

/// Rows of each knob with values: only the named files.
pub fn proposed(tune: &Tune, host: &Host, wish: &Wish) -> Result<Vec<Vec<Planned>>, String> {
    let mut all: Vec<(&str, Vec<Planned>)> = Vec::new();
    for (word, value) in &tune.values {
        let knob = knob_of(word)?;
        let rows = explicit(host, &of(wish, knob), knob, (word, value))?;
        match all.iter_mut().find(|(id, _)| *id == knob.id) {
            Some((_, known)) => known.extend(rows),
            None => all.push((knob.id, rows)),
        }
    }
    Ok(all.into_iter().map(|(_, rows)| rows).collect())
}

fn of(wish: &Wish, knob: &Knob) -> Wish {
    Wish { only: vec![knob.id.to_string()], ..wish.clone() }
}

fn places(knob: &Knob, host: &Host, wish: &Wish) -> Result<Vec<Place>, String> {
    match &knob.act {
        Act::Settable { places, .. } => Ok(places(host, wish)),
        Act::Advice { .. } => Err(format!("tune: {} is not ceiling's to turn", knob.name)),
    }
}

/// The name of a file; all that is no file of a knob is of one kind.
fn kind(place: &Place) -> &str {
    place.path().and_then(|path| path.rsplit('/').next()).unwrap_or_default()
}

fn check_kind(knob: &Knob, word: &str, places: &[Place]) -> Result<(), String> {
    let kinds: BTreeSet<&str> = places.iter().map(kind).collect();
    let all = || kinds.iter().copied().collect::<Vec<_>>().join(", ");
    let example = || kinds.first().copied().unwrap_or_default();
    match word.split_once('/') {
        None if kinds.len() > 1 => Err(format!(
            "tune.values.{word}: {} {} has values of several kinds: {}; say which, for example \
             {{ {} = {{ {} = 1 }} }}",
            knob.id,
            knob.name,
            all(),
            knob.name,
            example()
        )),
        Some((_, meant)) if !kinds.is_empty() && !kinds.contains(meant) => Err(format!(
            "tune.values: {} {} has no '{meant}' here; it has {}",
            knob.id,
            knob.name,
            all()
        )),
        _ => Ok(()),
    }
}

/// A value as it stands, at every place that is meant. What may not be set there stays refused.
fn explicit(
    host: &Host,
    wish: &Wish,
    knob: &Knob,
    (word, value): (&str, &str),
) -> Result<Vec<Planned>, String> {
    let places = places(knob, host, wish)?;
    check_kind(knob, word, &places)?;
    let mut planned = tune::plan(host, wish, None);
    let Some(first) = places.first() else { return Ok(planned) };
    let meant = word.split_once('/').map_or(kind(first), |(_, meant)| meant).to_string();
    let places: Vec<Place> = places.into_iter().filter(|place| kind(place) == meant).collect();
    planned.retain(|one| places.iter().any(|place| place.show() == one.row.place));
    for place in places {
        let shown = place.show();
        let Some(one) = planned.iter_mut().find(|one| one.row.place == shown) else { continue };
        if matches!(one.row.fate, Fate::Refused | Fate::Absent) {
            continue;
        }
        let seen = match place.read(host) {
            Ok(Some(seen)) => seen,
            Ok(None) => continue,
            Err(error) => return Err(format!("tuning: {error}")),
        };
        let is_so = place.settles_to(value) == seen.value;
        one.row.wanted = Some(value.to_string());
        (one.row.fate, one.row.note) =
            (if is_so { Fate::Already } else { Fate::Proposed }, String::new());
        one.change = (!is_so).then(|| Change { place, wanted: value.to_string(), seen });
    }
    Ok(planned)
}
