//! Judges runs again, from their raw readings, with the rules of this version.

use super::{Kind, Remark, remark};
use crate::data::{StoredRun, unjudged};
use crate::folder::EntryFolder;
use model::claim::Claim;
use model::run::{Point, Record, Run};

/// Runs of the chosen result, and runs that were added, whose gates or verdict change.
pub fn check(entry: &EntryFolder) -> Vec<Remark> {
    // A result that is missing is reported with the entry; its added runs are there.
    let result = entry.chosen().unwrap_or_default();
    let runs = match entry.all_runs(result.as_deref()) {
        Ok(runs) => runs,
        Err(error) => return vec![remark(entry, Kind::Invalid, "results", error.to_string())],
    };
    let (there, gone): (Vec<&StoredRun>, Vec<_>) =
        runs.iter().partition(|kept| kept.path.symlink_metadata().is_ok());
    let about_gone = (!gone.is_empty()).then(|| {
        let why = format!("{} of {} runs are not kept with the result", gone.len(), runs.len());
        remark(entry, Kind::NotJudged, "results", why)
    });
    there.into_iter().flat_map(|kept| of_run(entry, kept)).chain(about_gone).collect()
}

fn of_run(entry: &EntryFolder, kept: &StoredRun) -> Vec<Remark> {
    let about = |more: &str| format!("{}{more}", kept.about);
    match entry.whole_run(kept) {
        Err(error) => vec![remark(entry, Kind::NotJudged, about(""), error.to_string())],
        Ok(run) => {
            if let Some(why) = unjudged(&run) {
                return vec![remark(entry, Kind::NotJudged, about(""), why)];
            }
            let again = match entry.judged_again(kept, &run) {
                Ok(again) => again,
                Err(error) => {
                    return vec![remark(entry, Kind::NotJudged, about(""), error.to_string())];
                }
            };
            let verdict = verdicts(&run, &again);
            let verdict = verdict.map(|why| remark(entry, Kind::Rejudged, about(""), why));
            let gates = gates(&run.record, &again);
            let gates = gates.map(|why| remark(entry, Kind::Gates, about(", gates"), why));
            verdict.into_iter().chain(gates).collect()
        }
    }
}

/// What differs in the verdict: the wall, or the claim on the rate.
pub(crate) fn verdicts(was: &Run, now: &Record) -> Option<String> {
    let (was, version) = (&was.record, env!("CARGO_PKG_VERSION"));
    let claim = |record: &Record| match record.claim() {
        Claim::Known => "its rate is known".to_string(),
        Claim::OfGenerator => "its rate is that of the generator".to_string(),
        Claim::NotKnown(why) => why.to_string(),
    };
    let differs = |one: &str, two: &str| {
        (one != two)
            .then(|| format!("ceiling {} said '{one}', and {version} says '{two}'", was.version))
    };
    let walls = differs(was.verdict.wall.word(), now.verdict.wall.word());
    let is_same_kind = std::mem::discriminant(&was.claim()) == std::mem::discriminant(&now.claim());
    let claims = differs(&claim(was), &claim(now)).filter(|_| !is_same_kind);
    let changes: Vec<String> = walls.into_iter().chain(claims).collect();
    (!changes.is_empty()).then(|| changes.join("; "))
}

/// Gates that hold in one record and not in the other.
pub(crate) fn gates(was: &Record, now: &Record) -> Option<String> {
    let word = |ok: Option<bool>| match ok {
        Some(true) => "holds",
        Some(false) => "is broken",
        None => "was not checked",
    };
    let of_point = |(was, now): (&Point, &Point)| {
        let mut changes = Vec::new();
        for gate in &now.gates {
            let before = was.gates.iter().find(|other| other.id == gate.id);
            let before = before.map_or("was not known", |before| word(before.ok));
            if before != word(gate.ok) {
                changes.push(format!("{}: {before} in the record, {} now", gate.id, word(gate.ok)));
            }
        }
        changes
    };
    let changes: Vec<String> = was.points.iter().zip(&now.points).flat_map(of_point).collect();
    (!changes.is_empty()).then(|| changes.join("; "))
}
