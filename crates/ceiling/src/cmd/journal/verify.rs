//! `ceiling journal verify FILE`: checks an archive of another person, and recomputes its figures.

mod drawn;
mod scratch;

use super::words::{Archive, NewFolder, PublicKey};
use crate::exit::{Code, Failure};
use crate::screen::{style, to_stderr, to_stdout};
use ::pack::signature::{Signed, Trusted, check};
use ::pack::{Limits, Opened, read};
use clap::Args;
use journal::{Journal, Outcome, Remade, Slug, remade};
use plan::Colour;
use report::text::draw;
use scratch::Scratch;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

/// Checks an archive: every file against the manifest, and the manifest against its signature. Then
/// judges its runs again from the raw readings, and recomputes its figures and findings: each is
/// the same, differs, or cannot be made again. It writes only to a new folder of its own, and
/// removes that.
#[derive(Debug, Args)]
#[command(after_help = "\
Archives are not trusted: one with links, devices, names that lead out of its
folder, or more files or bytes than its manifest lists is refused.

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

    /// Whose signature to accept: a public key, or a file with one key on each line
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
    /// Whether the bytes are those that were packed and, if `--pub` names keys, one of them signed
    /// the manifest.
    is_authentic: bool,
    remade: Remade,
}

impl Verified {
    fn differs(&self) -> bool {
        self.remade.lines().any(|line| matches!(line.outcome, Outcome::Differs { .. }))
    }
}

pub fn run(command: &Verify) -> Result<Code, Failure> {
    let trusted = command.public.as_ref().map(trusted).transpose()?;
    let scratch = Scratch::new(command.extract.as_ref().map(|folder| folder.as_path()))?;
    let (opened, slug) = open(&command.file, &scratch)?;
    let signed = check(&opened.manifest_bytes, opened.signature.as_deref(), trusted.as_ref());
    let none = |why: &dyn std::fmt::Display| refused(&command.file, why);
    let entry = Journal::open(&scratch.journal()).and_then(|journal| journal.entry(&slug));
    let entry = entry.map_err(|error| none(&scratch.without(&error.to_string())))?;
    let remade = remade(&entry).map_err(|error| none(&scratch.without(&error.to_string())))?;
    let remade = without_place(remade, &scratch);
    let is_signed = match signed {
        Signed::Good { .. } => true,
        Signed::No | Signed::Unknown { .. } => trusted.is_none(),
        Signed::Other { .. } | Signed::Bad { .. } => false,
    };
    let is_authentic = is_signed && opened.is_whole && opened.changed.is_empty();
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

/// The keys of `--pub`: from a file, or from the argument itself.
fn trusted(given: &PublicKey) -> Result<Trusted, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("--pub {}: {why}", given.0));
    let text = match Trusted::parse(&given.0) {
        Ok(trusted) => return Ok(trusted),
        Err(_) => fs::read_to_string(&given.0).map_err(|error| {
            wrong(&format!(
                "it is not a public SSH key, and reading it as a file failed: {error}; for \
                 example --pub ~/.ssh/id_ed25519.pub"
            ))
        })?,
    };
    Trusted::parse(&text).map_err(|none| wrong(&none))
}

fn refused(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}

/// Unpacks an archive as the only entry of a journal in the scratch folder.
fn open(path: &Path, scratch: &Scratch) -> Result<(Opened, Slug), Failure> {
    let none = |why: &dyn std::fmt::Display| refused(path, why);
    let file = File::open(path).map_err(|error| none(&error))?;
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Err(none(
            &"it is not a file; give an archive of ceiling journal pack, for example \
              gzip-helps.tar.zst",
        ));
    }
    let opened = read(BufReader::new(file), &Limits::default(), |name| scratch.create(name));
    let opened = opened.map_err(|why| none(&why))?;
    let slug = Slug::parse(&opened.manifest.slug).map_err(|why| none(&why))?;
    if !opened.manifest.files.iter().any(|file| file.path == "entry.toml") {
        return Err(none(
            &"it has no entry.toml, so there is nothing to recompute; give an archive of ceiling \
              journal pack, for example gzip-helps.tar.zst",
        ));
    }
    scratch.name(slug.as_str())?;
    Ok((opened, slug))
}
