//! `ceiling journal run SLUG`: runs the plan of an entry into it.

use super::words::{Place, SlugWord};
use crate::cmd::run::{RunOptions, carry_out};
use crate::exit::{Code, Failure};
use crate::screen::to_stderr;
use clap::Args;
use journal::{EntryFolder, KeptRuns, Status};
use model::units::show_bytes;
use plan::values::ExperimentFolder;
use std::fs;

/// Runs plan.toml of an entry as `ceiling run` does, with the same options, and keeps the result in
/// results/ of the entry under a new name. No result is overwritten. While it runs, the status of
/// the entry is running; afterwards a planned or predicted entry is done, and any other status is
/// restored.
/// After an interrupt or a failed cell the old status is restored. The runs are also kept in one
/// small file, runs.tar.zst of the result, from which they are judged again without their readings.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: those of ceiling run: 0 all cells were measured, 3 a wall is not the
one the plan expects, or a cell had no good response, 5 a cell failed, 130
interrupted.

Examples:
  ceiling journal run gzip-helps --dry-run
  ceiling journal run gzip-helps --servers targets/targets.toml
  ceiling journal run gzip-helps --hosts hosts.toml --allow-tune
  ceiling journal run gzip-helps --resume 20260101T120000-gzip-helps")]
pub struct RunEntry {
    /// The entry
    slug: SlugWord,

    #[command(flatten)]
    options: RunOptions,

    #[command(flatten)]
    place: Place,
}

pub fn run(mut command: RunEntry) -> Result<Code, Failure> {
    let entry = super::entry(&command.place, &command.slug)?;
    // A folder that is a link to outside the journal is refused.
    entry.results()?;
    if entry.plan()?.is_none() {
        return Err(Failure::Usage(format!(
            "{}: it has no plan.toml, so there is nothing to run; to add other results, use \
             ceiling journal add or import, for example ceiling journal import gzip-helps wrk.txt",
            entry.path.display()
        )));
    }
    let resumed = command.options.resume.take();
    command.options.resume = resumed.map(|given| of_entry(&entry, given)).transpose()?;
    let results = entry.path.join("results");
    let ended = || carry_out(&entry.path.join("plan.toml"), &command.options, Some(results));
    if command.options.dry_run {
        return ended();
    }
    let (was, before) = (entry.entry.status.clone(), entry.results()?);
    let resumed = command.options.resume.as_ref().and_then(|folder| folder.file_name());
    let resumed = resumed.map(|name| name.to_string_lossy().into_owned());
    if let Some(running) = meanwhile(&was) {
        entry.write_status(running.word())?;
    }
    let ended = ended();
    let is_of_this = |id: &String| !before.contains(id) || resumed.as_ref() == Some(id);
    for id in entry.results()?.iter().filter(|id| is_of_this(id)) {
        keep_runs(&entry, id, command.options.quiet);
    }
    let is_measured = matches!(ended, Ok(Code::Good | Code::Unmet));
    let is_new = matches!(was, Status::Planned | Status::Predicted | Status::Running);
    let status = if is_measured && is_new { Status::Done } else { was };
    let written = entry.write_status(status.word());
    if let (Err(why), Err(_)) = (&written, &ended) {
        // The failure of the run is reported first; a full disk fails both writes.
        to_stderr(&format!("ceiling: the status is still running: {why}"));
        return ended;
    }
    written?;
    if status == Status::Done && entry.entry.answer.is_none() && !command.options.quiet {
        let file = entry.path.join("entry.toml");
        let file = file.display();
        to_stderr(&format!("ceiling: the status is done; write the answer in {file}"));
    }
    ended
}

/// Keeps the runs of a result in one small file. Without it the result is there all the same.
fn keep_runs(entry: &EntryFolder, id: &str, is_quiet: bool) {
    match entry.keep_runs(id) {
        Ok(KeptRuns { runs: 0, .. }) => {}
        Ok(kept) if !is_quiet => to_stderr(&format!(
            "ceiling: {} runs are kept in {}, {}; left out: {}",
            kept.runs,
            kept.path.display(),
            show_bytes(kept.bytes as f64),
            kept.left_out.join("; ")
        )),
        Ok(_) => {}
        Err(why) => to_stderr(&format!("ceiling: the runs are not kept in one file: {why}")),
    }
}

/// The status while the plan runs; `None` if the status stays. A superseded entry names the entry
/// that replaces it, which no other status allows.
fn meanwhile(was: &Status) -> Option<Status> {
    match was {
        Status::Superseded { .. } => None,
        Status::Planned | Status::Predicted | Status::Running | Status::Done => {
            Some(Status::Running)
        }
    }
}

/// A result of this entry, by its name or its folder.
fn of_entry(entry: &EntryFolder, given: ExperimentFolder) -> Result<ExperimentFolder, Failure> {
    let named = given.to_str().map(|name| entry.result_path(name));
    let path = match named.filter(|path| !given.exists() && path.is_dir()) {
        Some(path) => path,
        None => given.0,
    };
    let results = fs::canonicalize(entry.path.join("results")).ok();
    let place = fs::canonicalize(&path).ok();
    let is_own = place.as_ref().and_then(|place| place.parent()) == results.as_deref();
    match is_own && results.is_some() {
        true => Ok(ExperimentFolder(path)),
        false => Err(Failure::Usage(format!(
            "--resume {}: it is not a result of the entry '{}'; give the name of a folder in its \
             results/, for example --resume 20260101T120000-{}",
            path.display(),
            entry.slug,
            entry.slug
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use journal::Slug;

    #[test]
    fn a_superseded_entry_stays_superseded_while_it_runs() {
        let by = Slug::parse("again").unwrap();
        assert_eq!(meanwhile(&Status::Superseded { by }), None);
        assert_eq!(meanwhile(&Status::Done), Some(Status::Running));
    }
}
