//! Judges runs again, by the rules of this version, from what was read in their windows.

use super::{Again, Counts, Kind, Remark, remark};
use crate::JournalError;
use crate::data::StoredRun;
use crate::folder::EntryFolder;
use crate::remade::{self, Line, Outcome};
use model::claim::Claim;
use model::run::{Point, Record, Run};

/// The runs of the chosen result, what follows from them, and the runs that were added: what is the
/// same, and remarks on the rest.
pub fn check(entry: &EntryFolder) -> (Again, Vec<Remark>) {
    let (mut again, mut remarks) = (Again::default(), Vec::new());
    // A result that is missing is reported with the entry; its added runs are there.
    let result = entry.chosen().unwrap_or_default();
    let checked = result.map_or(Ok(()), |id| of_result(entry, &id, &mut again, &mut remarks));
    let checked = checked.and_then(|()| {
        let added = entry.added_runs()?;
        for run in added.iter().filter(|run| run.is_there()) {
            of_run(entry, &remade::again(entry, run), &mut again.runs, &mut remarks);
        }
        Ok(())
    });
    if let Err(error) = checked {
        remarks.push(remark(entry, Kind::Invalid, "results", error.to_string()));
    }
    (again, remarks)
}

fn of_result(
    entry: &EntryFolder,
    id: &str,
    again: &mut Again,
    remarks: &mut Vec<Remark>,
) -> Result<(), JournalError> {
    let visits: Vec<StoredRun> = entry.visits(id)?.into_iter().flatten().collect();
    let there = visits.iter().filter(|run| run.is_there()).count();
    let not_kept = |why: String| remark(entry, Kind::NotJudged, "results", why);
    match (there, visits.len()) {
        (_, 0) => return Ok(()),
        (0, _) => {
            let why = "its runs are not kept, so it cannot be judged again".to_string();
            remarks.push(not_kept(why));
            return Ok(());
        }
        (there, all) if there < all => {
            remarks.push(not_kept(format!(
                "{} of {all} runs are not kept, so its figures cannot be made again",
                all - there
            )));
        }
        _ => {}
    }
    let result = remade::of_result(entry, id)?;
    for run in result.runs.iter().flatten() {
        of_run(entry, run, &mut again.runs, remarks);
    }
    if there == visits.len() {
        for line in result.figures() {
            again.figures.add(&line.outcome);
            remarks.extend(of_figure(entry, line));
        }
    }
    Ok(())
}

fn of_run(
    entry: &EntryFolder,
    again: &remade::Again,
    counts: &mut Counts,
    remarks: &mut Vec<Remark>,
) {
    counts.add(&again.line.outcome);
    let about = &again.line.about;
    if let Outcome::CannotBe { why } = &again.line.outcome {
        remarks.push(remark(entry, Kind::NotJudged, about, why.clone()));
    }
    for (kind, why) in &again.changes {
        let more = if *kind == Kind::Gates { ", gates" } else { "" };
        remarks.push(remark(entry, *kind, format!("{about}{more}"), why.clone()));
    }
}

/// A figure that is another one now. That it cannot be made again is said of its runs.
fn of_figure(entry: &EntryFolder, line: Line) -> Option<Remark> {
    let Outcome::Differs { now } = line.outcome else { return None };
    let is_conclusion = line.about.ends_with(".conclusion");
    let kind = if is_conclusion { Kind::Rejudged } else { Kind::Figures };
    Some(remark(entry, kind, line.about, format!("{} in the document, {now} now", line.value)))
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
