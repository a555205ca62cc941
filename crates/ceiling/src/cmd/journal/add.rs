//! `ceiling journal add SLUG RUN..`: copies runs that were made without a plan into an entry.

use super::words::{Place, RunName, SlugWord};
use crate::cmd::runs;
use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use plan::Runs;
use plan::values::RunPath;
use std::fs;
use std::path::Path;
use store::RUN_FILES;

/// Copies runs into runs/ of an entry, unchanged: record, readings and distributions. Notes refer
/// to their figures as runs.NAME.rate and so on. An existing run is not replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 copied, 2 no such run or entry, or the name is taken.

Examples:
  ceiling journal add gzip-helps last
  ceiling journal add gzip-helps 1f3a --name by-hand
  ceiling journal add gzip-helps before.json after.json")]
pub struct Add {
    /// The entry
    slug: SlugWord,

    /// Runs as ceiling show takes them: last, an id or its beginning, a directory, or a record
    /// written with --json
    #[arg(required = true)]
    run: Vec<RunPath>,

    /// Name of the run in the entry; only with one run [default: its id]
    #[arg(long, value_name = "NAME")]
    name: Option<RunName>,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    runs: Runs,
}

pub fn run(command: &Add) -> Result<Code, Failure> {
    let entry = super::entry(&command.place, &command.slug)?;
    // A folder that is a link to outside the journal is refused.
    entry.runs()?;
    if command.name.is_some() && command.run.len() > 1 {
        return Err(Failure::Usage(
            "--name: several runs cannot share one name; add them one by one, for example \
             ceiling journal add gzip-helps last --name by-hand"
                .to_string(),
        ));
    }
    let folder = entry.path.join("runs");
    fs::create_dir_all(&folder).map_err(|error| file_failure(&folder, &error))?;
    // All runs are read before the first one is copied.
    let mut found = Vec::new();
    for asked in &command.run {
        let (path, run) = runs::read(asked, command.runs.directory())?;
        let name = command.name.as_ref().map_or(run.record.id, |name| name.0.clone());
        let name = RunName::parse(&name).map_err(Failure::Usage)?;
        let to = folder.join(&name);
        if fs::symlink_metadata(&to).is_ok() {
            return Err(Failure::Usage(format!(
                "{}: it exists already and is not replaced; give another name, for example --name \
                 by-hand-2",
                to.display()
            )));
        }
        found.push((path, to, name));
    }
    for (from, to, name) in found {
        copy(&from, &to)?;
        to_stdout(&format!("{}  figures are runs.{name}.rate, ..\n", to.display()))?;
    }
    Ok(Code::Good)
}

/// Copies all files of a run, or none.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = to.with_file_name(format!(".{name}.{}.part", std::process::id()));
    fs::create_dir(&draft).map_err(|error| file_failure(&draft, &error))?;
    let copied = match from.is_dir() {
        false => fs::copy(from, draft.join("run.json")).map(|_| ()),
        true => {
            let mut names = RUN_FILES.into_iter().filter(|name| from.join(name).is_file());
            names.try_for_each(|name| fs::copy(from.join(name), draft.join(name)).map(|_| ()))
        }
    };
    copied.and_then(|()| fs::rename(&draft, to)).map_err(|error| {
        let _ = fs::remove_dir_all(&draft);
        file_failure(to, &error)
    })
}

fn file_failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::File(format!("{}: {error}", path.display()))
}
