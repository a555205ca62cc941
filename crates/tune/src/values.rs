//! Values that a plan gives explicitly, next to knobs whose values are proposed here.
//!
//! Many knobs have values of several kinds, such as a number of packets and a time. One value is
//! never written to all of them: such a knob takes each value with the name of its file.

use crate::host::{Host, Wish};
use crate::knob::{Act, Knob};
use crate::knobs::find;
use crate::place::Place;
use crate::plan::{Change, Planned, plan};
use model::tuning::Fate;
use std::collections::BTreeSet;

/// What would be written on a host for a wish that may have values. Rows of one knob follow each
/// other. An error when a value is not of one kind.
pub fn planned(host: &Host, wish: &Wish) -> Result<Vec<Planned>, String> {
    if wish.values.is_empty() {
        return Ok(plan(host, wish, None));
    }
    let valued: BTreeSet<&str> = wish
        .values
        .keys()
        .map(|word| knob_of(word).map(|knob| knob.id))
        .collect::<Result<_, _>>()?;
    let is_other = |word: &&String| find(word).is_none_or(|knob| !valued.contains(knob.id));
    let only: Vec<String> = wish.only.iter().filter(is_other).cloned().collect();
    let mut all = match only.is_empty() {
        true => Vec::new(),
        false => plan(host, &Wish { only, ..wish.clone() }, None),
    };
    for id in valued {
        for (word, value) in &wish.values {
            let knob = knob_of(word)?;
            if knob.id == id {
                all.extend(explicit(host, &of(wish, knob), knob, (word, value))?);
            }
        }
    }
    Ok(all)
}

/// Whether each value is of one kind, on this host.
pub fn check_values(host: &Host, wish: &Wish) -> Result<(), String> {
    for word in wish.values.keys() {
        let knob = knob_of(word)?;
        check_kind(knob, word, &places(knob, host, &of(wish, knob))?)?;
    }
    Ok(())
}

/// The knob of a word, which may end with a slash and the name of a file.
fn knob_of(word: &str) -> Result<&'static Knob, String> {
    let name = word.split_once('/').map_or(word, |(name, _)| name);
    find(name)
        .ok_or_else(|| format!("tune: there is no knob '{name}'; for example only = [\"rps\"]"))
}

fn of(wish: &Wish, knob: &Knob) -> Wish {
    Wish { only: vec![knob.id.to_string()], ..wish.clone() }
}

fn places(knob: &Knob, host: &Host, wish: &Wish) -> Result<Vec<Place>, String> {
    match &knob.act {
        Act::Settable { places, .. } => Ok(places(host, wish)),
        Act::Advice { .. } => Err(format!("tune: {} cannot be changed by ceiling", knob.name)),
    }
}

/// The name of the file; all places that are not files of a knob are of one kind.
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

/// The given value, at every place that is meant. Places that may not be set stay refused.
fn explicit(
    host: &Host,
    wish: &Wish,
    knob: &Knob,
    (word, value): (&str, &str),
) -> Result<Vec<Planned>, String> {
    let places = places(knob, host, wish)?;
    check_kind(knob, word, &places)?;
    let mut planned = plan(host, wish, None);
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
        let is_so = place.is_same(&place.settles_to(value), &seen.value);
        one.row.wanted = Some(value.to_string());
        (one.row.fate, one.row.note) =
            (if is_so { Fate::Already } else { Fate::Proposed }, String::new());
        one.change = (!is_so).then(|| Change { place, wanted: value.to_string(), seen });
    }
    Ok(planned)
}
