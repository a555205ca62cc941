//! `ceiling journal import SLUG FILE`: copies the output of another tool into an entry, and audits
//! it.

use super::words::{Place, RunName, SlugWord};
use crate::cmd::audit::Beside;
use crate::exit::{Code, Failure};
use crate::screen::to_stdout;
use clap::Args;
use model::audit::Outcome;
use plan::values::ForeignFile;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write, stdin};
use std::path::{Path, PathBuf};

/// Size limit of a file in bytes.
const BYTES_MAX: u64 = 64 << 20;

/// Copies the output of wrk, hey, k6 and other tools, unchanged, into foreign/ of an entry, and
/// audits each figure as ceiling audit does. Notes refer to the figures as foreign.NAME.rate and so
/// on; foreign.NAME.rate.outcome is holds, undecided or impossible. With --text and several
/// accounts in one text, they are foreign.NAME.PART.rate. An existing result is not replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 copied, 2 the tool is not known, or the name is taken.

Examples:
  wrk -c 100 http://127.0.0.1:8080/ > wrk.txt
  ceiling journal import gzip-helps wrk.txt
  ceiling journal import gzip-helps hey.txt --name published --connections 512
  ceiling journal import story-12 page.md --text --depth 100")]
pub struct Import {
    /// The entry
    slug: SlugWord,

    /// Output of the tool
    file: ForeignFile,

    /// Name of the result in the entry [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    name: Option<RunName>,

    #[command(flatten)]
    beside: Beside,

    #[command(flatten)]
    place: Place,
}

pub fn run(command: &Import) -> Result<Code, Failure> {
    let entry = super::entry(&command.place, &command.slug)?;
    // A folder that is a link to outside the journal is refused.
    entry.foreign()?;
    let name = command.name.as_ref().map_or_else(|| stem(&command.file), |name| name.0.clone());
    let name = RunName::parse(&name).map_err(Failure::Usage)?;
    let folder = entry.path.join("foreign");
    let (copy, audited) =
        (folder.join(format!("{name}.txt")), folder.join(format!("{name}.audit.json")));
    refuse_taken(&[&copy, &audited])?;
    let bytes = read(&command.file)?;
    let accounts =
        command.beside.read(&mut &bytes[..]).map_err(|why| wrong(&command.file, &why))?;
    let place = format!("foreign/{name}.txt");
    let accounts = accounts.into_iter().map(|(part, foreign)| (place.clone(), part, foreign));
    let audit = tools::audit::audit(accounts.collect(), &command.beside.given());
    fs::create_dir_all(&folder).map_err(|error| wrong(&folder, &error))?;
    write(&copy, &bytes)?;
    write(&audited, model::json::pretty(&audit).as_bytes()).inspect_err(|_| {
        // Both files or none: otherwise a second attempt would find the name taken.
        let _ = fs::remove_file(&copy);
    })?;
    let claims = || audit.accounts.iter().flat_map(|account| &account.claims);
    let impossible = claims().filter(|claim| claim.outcome == Outcome::Impossible).count();
    let first = audit.accounts.first().map_or("", |account| account.name.as_str());
    let part = if first.is_empty() { String::new() } else { format!("{first}.") };
    to_stdout(&format!(
        "{}  {} figures, {impossible} of them impossible; they are foreign.{name}.{part}rate, ..\n",
        copy.display(),
        claims().count()
    ))?;
    Ok(Code::Good)
}

fn refuse_taken(paths: &[&PathBuf]) -> Result<(), Failure> {
    match paths.iter().find(|path| fs::symlink_metadata(path).is_ok()) {
        None => Ok(()),
        Some(path) => Err(Failure::Usage(format!(
            "{}: it exists already and is not replaced; give another name, for example --name \
             published-2",
            path.display()
        ))),
    }
}

/// The default name, made from the name of a file.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    stem.chars().map(plain).collect::<String>().trim_matches('-').to_string()
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(stdin().lock()),
        false => Box::new(File::open(path).map_err(|error| wrong(path, &error))?),
    };
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| wrong(path, &error))?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(wrong(path, &format!("it is larger than the limit of {BYTES_MAX} bytes"))),
        false => Ok(bytes),
    }
}

/// Writes a complete new file, or nothing.
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
