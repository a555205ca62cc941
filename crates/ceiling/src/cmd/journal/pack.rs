//! `ceiling journal pack SLUG`: one archive of an entry.

use super::signature;
use super::words::{Archive, KeyFile, Place, SlugWord};
use crate::exit::{Code, Failure};
use crate::outputs::Replaced;
use crate::screen::{style, to_stdout};
use ::pack::{Effort, File as Listed, Written, total_bytes};
use clap::Args;
use journal::{Content, Contents, EntryFolder, Journal};
use model::inventory::State;
use model::units::show_bytes;
use plan::Colour;
use report::page::{Block, Column, Fact, Mark, Page, Table};
use report::text::draw;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Packs an entry with all its data: entry, plan, notes, results with records, raw readings and
/// pages, added runs, and outputs of other tools. The archive is a tar compressed with zstd, with
/// the SHA-256 of every file in SHA256SUMS; tar, sha256sum and ssh-keygen can check it. The same
/// entry makes the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Anyone with the archive can read all of it: host names, kernel settings, command
lines, server logs. --dry-run lists the files. A plan that contains a password
or a token is refused.

Exit codes: 0 packed, 2 the entry cannot be packed.

Examples:
  ceiling journal pack gzip-helps --dry-run
  ceiling journal pack gzip-helps --key ~/.ssh/id_ed25519
  ceiling journal pack gzip-helps -o /tmp/gzip.tar.zst")]
pub struct Pack {
    /// The entry
    slug: SlugWord,

    /// The archive [default: SLUG.tar.zst]
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<Archive>,

    /// Sign the archive with this SSH key, in FILE.sig; or with the public half of a key that an
    /// SSH agent has. ssh-keygen makes the signature
    #[arg(long, value_name = "FILE")]
    key: Option<KeyFile>,

    /// List what would be packed, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    colour: Colour,
}

/// The files of an archive, and what it leaves out.
struct Packing {
    entry: EntryFolder,
    files: Vec<Listed>,
    left_out: Vec<String>,
}

/// The archive that was written, and its signature.
struct Made {
    path: PathBuf,
    archive: Written,
    signature: Option<PathBuf>,
}

pub fn run(command: &Pack) -> Result<Code, Failure> {
    let entry = Journal::open(&command.place.journal)?.entry(&command.slug)?;
    refuse_unfinished(&entry)?;
    let packing = gather(entry)?;
    let written = match command.dry_run {
        true => None,
        false => Some(write(command, &packing)?),
    };
    let text = match command.json {
        true => model::json::pretty(&document(&packing, written.as_ref())),
        false => draw(&page(command, &packing, written.as_ref()), style(&command.colour)),
    };
    to_stdout(&text)?;
    Ok(Code::Good)
}

/// Refuses an entry with an unfinished result: the result would change while it is packed.
fn refuse_unfinished(entry: &EntryFolder) -> Result<(), Failure> {
    let results = store::Directory::new(entry.path.join("results")).entries()?;
    match results.iter().find(|result| result.state() == State::BeingWritten) {
        Some(result) => Err(Failure::Usage(format!(
            "{}: it is still being measured; pack the entry after the measurement has ended",
            result.path.display()
        ))),
        None => Ok(()),
    }
}

/// Lists the files of an entry.
fn gather(entry: EntryFolder) -> Result<Packing, Failure> {
    let Contents { files, left_out } = entry.contents()?;
    let files: Vec<Listed> = files.iter().map(listed).collect::<Result<_, _>>()?;
    ::pack::check(&files).map_err(|why| {
        Failure::Usage(format!("{}: it cannot be packed: {why}", entry.path.display()))
    })?;
    Ok(Packing { entry, files, left_out })
}

fn listed(file: &Content) -> Result<Listed, Failure> {
    let unread = |error: io::Error| Failure::File(format!("{}: {error}", file.path.display()));
    if file.name == "plan.toml" || file.name.ends_with("/plan.toml") {
        refuse_secrets(&file.path, &fs::read_to_string(&file.path).map_err(unread)?)?;
    }
    let bytes = fs::metadata(&file.path).map_err(unread)?.len();
    Ok(Listed { path: file.name.clone(), bytes })
}

/// Refuses a plan that contains a secret. Results have `***` in place of secrets, but the plan of
/// the entry is as its author wrote it.
fn refuse_secrets(path: &Path, text: &str) -> Result<(), Failure> {
    match plan::without_secrets(text) == text {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "{}: it contains a secret (a password, a token, or a header with one), which anyone \
             with the archive could read; keep the secret outside the plan, for example with \
             auth-env = \"TOKEN\" (docs/requests.md)",
            path.display()
        ))),
    }
}

fn write(command: &Pack, packing: &Packing) -> Result<Made, Failure> {
    let folder = packing.entry.slug.as_str();
    let path = match &command.out {
        Some(path) => path.0.clone(),
        None => PathBuf::from(format!("{folder}.tar.zst")),
    };
    let beside = signature::path_of(&path);
    let draft = command.key.as_ref().map(|_| Replaced::open("-o", &beside)).transpose()?;
    let (mut archive, mut signed) = (None, None);
    let written = Replaced::open("-o", &path)?.write_with(|file| {
        let open = |listed: &Listed| File::open(packing.entry.path.join(&listed.path));
        let made = ::pack::write(&mut *file, folder, &packing.files, Effort::Quick, open);
        archive = Some(made.map_err(io::Error::other)?);
        signed = command.key.as_ref().map(|key| signature::sign(&key.0, file));
        match &signed {
            Some(Err(failure)) => Err(io::Error::other(failure.to_string())),
            _ => Ok(()),
        }
    });
    let signed = signed.transpose()?;
    written?;
    let archive = archive.expect("it was written");
    let signature = match draft.zip(signed) {
        Some((draft, signed)) => draft.write(&signed).map(|()| Some(beside))?,
        None => remove_old(&beside).map(|()| None)?,
    };
    Ok(Made { path, archive, signature })
}

/// Removes the signature of an archive that was replaced: it is not valid for the new one.
fn remove_old(signature: &Path) -> Result<(), Failure> {
    match fs::remove_file(signature) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::File(format!("cannot remove {}: {error}", signature.display())))
        }
        _ => Ok(()),
    }
}

fn document(packing: &Packing, made: Option<&Made>) -> serde_json::Value {
    let file = |file: &Listed| json!({ "path": file.path, "bytes": file.bytes });
    let signature = made.and_then(|made| made.signature.as_ref());
    json!({
        "schema": "ceiling.packed/1",
        "slug": packing.entry.slug.as_str(),
        "file": made.map(|made| made.path.display().to_string()),
        "bytes": made.map(|made| made.archive.bytes),
        "sha256": made.map(|made| made.archive.sha256.clone()),
        "signature": signature.map(|path| path.display().to_string()),
        "left_out": packing.left_out,
        "files": packing.files.iter().map(file).collect::<Vec<_>>(),
    })
}

fn page(command: &Pack, packing: &Packing, made: Option<&Made>) -> Page {
    let columns = vec![Column::words("file"), Column::numbers("bytes")];
    let mut table = Table::new(columns);
    for (name, bytes) in rows(&packing.files, command.dry_run) {
        table.push(Mark::None, vec![name, show_bytes(bytes as f64)]);
    }
    let mut blocks = vec![Block::Table(table)];
    if !packing.left_out.is_empty() {
        blocks.push(Block::Text(format!("Left out: {}.", packing.left_out.join(", "))));
    }
    blocks.push(match made {
        None => Block::Text("Nothing was written.".to_string()),
        Some(made) => Block::Facts(facts(made)),
    });
    let bytes = show_bytes(total_bytes(&packing.files) as f64);
    let subtitle = format!("{} files, {bytes}", packing.files.len());
    Page { title: packing.entry.slug.to_string(), subtitle, blocks }
}

fn facts(made: &Made) -> Vec<Fact> {
    let signature = made.signature.as_ref().map(|path| path.display().to_string());
    let size = show_bytes(made.archive.bytes as f64);
    vec![
        Fact::new("archive", format!("{}, {size}", made.path.display())),
        Fact::new("SHA-256", made.archive.sha256.clone()),
        Fact::new("signature", signature.unwrap_or_else(|| "none; --key makes one".to_string())),
    ]
}

/// Each file with its size, or the files summed by folder, with one line for each result.
fn rows(files: &[Listed], each: bool) -> Vec<(String, u64)> {
    let mut rows: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for file in files {
        let parts: Vec<&str> = file.path.split('/').collect();
        let name = match &parts[..] {
            [top, second, _, ..] if !each => format!("{top}/{second}/"),
            _ => file.path.clone(),
        };
        let row = rows.entry(name).or_default();
        *row = (row.0 + 1, row.1 + file.bytes);
    }
    let shown = |(name, (files, bytes)): (String, (u64, u64))| match files {
        1 => (name, bytes),
        _ => (format!("{name} ({files} files)"), bytes),
    };
    rows.into_iter().map(shown).collect()
}
