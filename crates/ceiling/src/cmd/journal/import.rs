//! `ceiling journal import SLUG FILE`: copies what another tool printed into an entry, audited.

use super::words::{Place, RunName, SlugWord, ToolOutput};
use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use model::audit::{Given, Outcome};
use plan::values::Count;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

/// Bytes of a file at most.
const BYTES_MAX: u64 = 64 << 20;

/// Copies what wrk, hey, k6 and other tools printed into foreign/ of an entry, as it is, with an
/// audit of each figure. Figures are foreign.NAME.rate and so on, and foreign.NAME.rate.outcome is
/// holds, cannot_tell or cannot_be. A result that is there already is not replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 copied, 2 no tool that is known, or the name is taken.

Examples:
  wrk -c 100 http://127.0.0.1:8080/ > wrk.txt
  ceiling journal import gzip-helps wrk.txt
  ceiling journal import gzip-helps hey.txt --name published --connections 512")]
pub struct Import {
    /// The entry
    slug: SlugWord,

    /// What the tool printed or wrote
    file: ToolOutput,

    /// What it is called in the entry [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    name: Option<RunName>,

    /// Connections of the load, where the file does not tell them
    #[arg(long, value_name = "N")]
    connections: Option<Count>,

    /// Requests in flight on one connection, where the file does not tell them
    #[arg(long, value_name = "N")]
    depth: Option<Count>,

    #[command(flatten)]
    place: Place,
}

pub fn run(command: &Import) -> Result<Code, Failure> {
    let entry = super::entry(&command.place, &command.slug)?;
    let name = match &command.name {
        Some(name) => name.0.clone(),
        None => stem(&command.file),
    };
    let name = RunName::parse(&name).map_err(Failure::Usage)?;
    let folder = entry.path.join("foreign");
    let (copy, audited) =
        (folder.join(format!("{name}.txt")), folder.join(format!("{name}.audit.json")));
    for path in [&copy, &audited] {
        if fs::symlink_metadata(path).is_ok() {
            return Err(Failure::Usage(format!(
                "{}: it is there already, and is left as it is; give --name another-name",
                path.display()
            )));
        }
    }
    let bytes = read(&command.file)?;
    let given = Given {
        connections: command.connections.as_ref().map(|count| count.0),
        depth: command.depth.as_ref().map(|count| count.0),
        ..Given::default()
    };
    let foreign = audit::read(&mut &bytes[..], &given).map_err(|why| wrong(&command.file, &why))?;
    let place = format!("foreign/{name}.txt");
    let audit = audit::audit(vec![(place, String::new(), foreign)], &given);
    fs::create_dir_all(&folder).map_err(|error| wrong(&folder, &error))?;
    write(&copy, &bytes)?;
    write(&audited, &report::json::json(&audit))?;
    let claims = || audit.accounts.iter().flat_map(|account| &account.claims);
    let cannot = claims().filter(|claim| claim.outcome == Outcome::CannotBe).count();
    to_stdout(&format!(
        "{}  {} figures, of which {cannot} cannot be; they are foreign.{name}.rate, ..\n",
        copy.display(),
        claims().count()
    ))?;
    Ok(Code::Good)
}

/// A name made of that of a file.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    stem.chars().map(plain).collect::<String>().trim_matches('-').to_string()
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(path, &error))?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| wrong(path, &error))?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(wrong(path, &format!("it has more than {BYTES_MAX} bytes"))),
        false => Ok(bytes),
    }
}

/// Writes a new file whole, or nothing.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&draft);
    let written = made.and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| fs::rename(&draft, path)).map_err(|error| {
        let _ = fs::remove_file(&draft);
        Failure::File(format!("{}: {error}", path.display()))
    })
}

fn wrong(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}
