//! `ceiling journal verify FILE`: checks an archive of another person, and recomputes its figures.

mod drawn;
mod scratch;

use super::signature::{self, Signed};
use super::words::{Archive, NewFolder, PublicKey};
use crate::exit::{Code, Failure};
use crate::screen::{style, to_stderr, to_stdout};
use ::pack::{Limits, Opened, read};
use clap::Args;
use journal::{Journal, Outcome, Remade, Slug, remade};
use plan::Colour;
use report::text::draw;
use scratch::Scratch;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;

/// Checks an archive against the signature in FILE.sig, and every file against SHA256SUMS. Then
/// judges its runs again from the raw readings, and recomputes its figures and findings: each is
/// the same, differs, or cannot be made again. It writes only to a new folder of its own, and
/// removes that.
#[derive(Debug, Args)]
#[command(after_help = "\
Archives are not trusted: one with links, devices, names that lead out of its
folder, files that SHA256SUMS does not list, or far too many bytes is refused.

Exit codes: 0 everything is as it was packed, 2 it cannot be read or is refused,
3 something differs, was changed, or is not signed by a key of --pub.

Examples:
  ceiling journal verify gzip-helps.tar.zst
  ceiling journal verify gzip-helps.tar.zst --pub ann.pub
  ceiling journal verify gzip-helps.tar.zst --pub 'ssh-ed25519 AAAA.. ann'
  ceiling journal verify gzip-helps.tar.zst --extract journal/gzip-helps")]
pub struct Verify {
    /// The archive
    file: Archive,

    /// Whose signature to accept: a public key, a file with one key on each line, or the allowed
    /// signers of ssh-keygen
    #[arg(long = "pub", value_name = "KEY")]
    public: Option<PublicKey>,

    /// If the archive is as it was packed, keep the entry in this folder, which must not exist yet
    #[arg(long, value_name = "FOLDER")]
    extract: Option<NewFolder>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    colour: Colour,
}

/// The outcome of the checks.
struct Verified {
    opened: Opened,
    signed: Signed,
    /// Whether the bytes are those that were packed and, if `--pub` names keys, signed by one of
    /// them.
    is_authentic: bool,
    remade: Remade,
}

impl Verified {
    fn differs(&self) -> bool {
        self.remade.lines().any(|line| matches!(line.outcome, Outcome::Differs { .. }))
    }
}

pub fn run(command: &Verify) -> Result<Code, Failure> {
    let trusted =
        command.public.as_ref().map(|public| signature::signers(&public.0)).transpose()?;
    let scratch = Scratch::new(command.extract.as_ref().map(|folder| folder.as_path()))?;
    let mut archive = opened_file(&command.file)?;
    let signers = trusted.as_ref().map(|signers| scratch.signers(signers)).transpose()?;
    let signed = signature::check(&command.file, &mut archive, signers.as_deref())?;
    let (opened, slug) = open(&command.file, archive, &scratch)?;
    let none = |why: &dyn std::fmt::Display| refused(&command.file, why);
    let entry = Journal::open(&scratch.journal()).and_then(|journal| journal.entry(&slug));
    let entry = entry.map_err(|error| none(&scratch.without(&error.to_string())))?;
    let remade = remade(&entry).map_err(|error| none(&scratch.without(&error.to_string())))?;
    let remade = without_place(remade, &scratch);
    let is_signed = match signed {
        Signed::Good(_) => true,
        Signed::No | Signed::Unknown(_) => trusted.is_none(),
        Signed::Other(_) | Signed::Bad(_) => false,
    };
    let is_authentic = is_signed && opened.changed.is_empty();
    let verified = Verified { opened, signed, is_authentic, remade };
    let text = match command.json {
        true => model::json::pretty(&drawn::document(&verified)),
        false => draw(&drawn::page(&verified), style(&command.colour)),
    };
    to_stdout(&text)?;
    if let Some(folder) = command.extract.as_ref().filter(|_| is_authentic) {
        scratch.keep(slug.as_str(), folder)?;
    } else if command.extract.is_some() {
        to_stderr("ceiling: --extract: nothing was kept, because the archive failed the checks");
    }
    let is_good = is_authentic && !verified.differs();
    Ok(if is_good { Code::Good } else { Code::Unmet })
}

/// The outcome without the path of the scratch folder, before lines are wrapped.
fn without_place(mut remade: Remade, scratch: &Scratch) -> Remade {
    let Remade { runs, figures, findings } = &mut remade;
    for line in runs.iter_mut().chain(figures).chain(findings) {
        line.value = scratch.without(&line.value);
        match &mut line.outcome {
            Outcome::Same => {}
            Outcome::Differs { now: text } | Outcome::CannotBe { why: text } => {
                *text = scratch.without(text);
            }
        }
    }
    remade
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}

/// The archive, if it is a file.
fn opened_file(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| refused(path, &error))?;
    match file.metadata().is_ok_and(|data| data.is_file()) {
        true => Ok(file),
        false => Err(refused(
            path,
            &"it is not a file; give an archive of ceiling journal pack, for example \
              gzip-helps.tar.zst",
        )),
    }
}

/// Unpacks an archive as the only entry of a journal in the scratch folder.
fn open(path: &Path, mut file: File, scratch: &Scratch) -> Result<(Opened, Slug), Failure> {
    let none = |why: &dyn std::fmt::Display| refused(path, why);
    file.rewind().map_err(|error| none(&error))?;
    let bytes = file.metadata().map_err(|error| none(&error))?.len();
    let limits = Limits::default();
    let keep = |folder: &str, name: &str| scratch.create(folder, name);
    let opened = read(BufReader::new(file), bytes, &limits, keep).map_err(|why| none(&why))?;
    let slug = Slug::parse(&opened.folder).map_err(|why| none(&why))?;
    match opened.files.iter().any(|file| file.path == "entry.toml") {
        true => Ok((opened, slug)),
        false => Err(none(
            &"it has no entry.toml, so there is nothing to recompute; give an archive of ceiling \
              journal pack, for example gzip-helps.tar.zst",
        )),
    }
}
