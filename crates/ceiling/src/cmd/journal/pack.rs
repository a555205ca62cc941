//! `ceiling journal pack SLUG`: one archive of an entry.

mod signing;

use super::words::{Archive, KeyFile, Place, SlugWord};
use crate::exit::{Code, Failure};
use crate::outputs::Replaced;
use crate::screen::{style, to_stdout};
use ::pack::{File as Listed, MANIFEST, Manifest, SCHEMA};
use clap::Args;
use journal::{Content, Contents, EntryFolder, Journal};
use model::inventory::State;
use model::maps::IntoMap;
use model::units::show_bytes;
use plan::Colour;
use report::page::{Block, Column, Fact, Mark, Page, Table};
use report::text::draw;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Packs an entry with all its data: entry, plan, notes, results with records, raw readings and
/// pages, added runs, and outputs of other tools. The archive is a tar compressed with zstd; its
/// manifest has the SHA-256 of every file, and the key signs the manifest. The same entry and key
/// make the same bytes.
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

    /// Sign the manifest with this SSH key (ed25519). If it has a passphrase, or is a public key
    /// whose private half is in an SSH agent, ssh-keygen signs
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

/// The manifest, and where its files are.
struct Packing {
    manifest: Manifest,
    places: BTreeMap<String, PathBuf>,
    left_out: Vec<String>,
}

/// The archive that was written.
struct Written {
    path: PathBuf,
    bytes: u64,
    signed_by: Option<String>,
}

pub fn run(command: &Pack) -> Result<Code, Failure> {
    let entry = Journal::open(&command.place.journal)?.entry(&command.slug)?;
    refuse_unfinished(&entry)?;
    let packing = gather(&entry, entry.contents()?)?;
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

/// Makes the manifest of an entry.
fn gather(entry: &EntryFolder, contents: Contents) -> Result<Packing, Failure> {
    let files: Vec<Listed> = contents.files.iter().map(listed).collect::<Result<_, _>>()?;
    let manifest = Manifest {
        schema: SCHEMA.to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        slug: entry.slug.to_string(),
        created: entry.made_at()?,
        files,
    };
    let refused = |why: &dyn std::fmt::Display| {
        Failure::Usage(format!("{}: it cannot be packed: {why}", entry.path.display()))
    };
    manifest.check(&::pack::Limits::default()).map_err(|why| refused(&why))?;
    let places = contents.files.into_iter().map(|file| (file.name, file.path)).into_map();
    Ok(Packing { manifest, places, left_out: contents.left_out })
}

fn listed(file: &Content) -> Result<Listed, Failure> {
    let unread = |error: io::Error| Failure::File(format!("{}: {error}", file.path.display()));
    if file.name == "plan.toml" || file.name.ends_with("/plan.toml") {
        refuse_secrets(&file.path, &fs::read_to_string(&file.path).map_err(unread)?)?;
    }
    File::open(&file.path).and_then(|from| Listed::of(&file.name, from)).map_err(unread)
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

fn write(command: &Pack, packing: &Packing) -> Result<Written, Failure> {
    let manifest = &packing.manifest;
    let path = match &command.out {
        Some(path) => path.0.clone(),
        None => PathBuf::from(format!("{}.tar.zst", manifest.slug)),
    };
    let signed = command.key.as_ref().map(|key| signing::sign(&key.0, &manifest.to_bytes()));
    let signed = signed.transpose()?;
    let file = Replaced::open("-o", &path)?;
    let mut bytes = 0;
    file.write_with(|file| {
        let open = |listed: &Listed| File::open(&packing.places[&listed.path]);
        let signature = signed.as_ref().map(|signed| signed.text.as_str());
        ::pack::write(&mut *file, manifest, signature, open).map_err(io::Error::other)?;
        bytes = file.metadata()?.len();
        Ok(())
    })?;
    Ok(Written { path, bytes, signed_by: signed.map(|signed| signed.key) })
}

fn document(packing: &Packing, written: Option<&Written>) -> serde_json::Value {
    json!({
        "schema": "ceiling.packed/1",
        "file": written.map(|written| written.path.display().to_string()),
        "bytes": written.map(|written| written.bytes),
        "signed_by": written.and_then(|written| written.signed_by.as_ref()),
        "left_out": packing.left_out,
        "manifest": packing.manifest,
    })
}

fn page(command: &Pack, packing: &Packing, written: Option<&Written>) -> Page {
    let manifest = &packing.manifest;
    let columns = vec![Column::words("file"), Column::numbers("bytes")];
    let mut table = Table::new(columns);
    for (name, bytes) in rows(manifest, command.dry_run) {
        table.push(Mark::None, vec![name, show_bytes(bytes as f64)]);
    }
    let mut blocks = vec![Block::Table(table)];
    if !packing.left_out.is_empty() {
        blocks.push(Block::Text(format!("Left out: {}.", packing.left_out.join(", "))));
    }
    blocks.push(match written {
        None => Block::Text("Nothing was written.".to_string()),
        Some(written) => Block::Facts(facts(written, manifest)),
    });
    let count = manifest.files.len();
    let subtitle = format!("{count} files, {}", show_bytes(manifest.total_bytes() as f64));
    Page { title: manifest.slug.clone(), subtitle, blocks }
}

fn facts(written: &Written, manifest: &Manifest) -> Vec<Fact> {
    let signed = written.signed_by.clone();
    let size = show_bytes(written.bytes as f64);
    vec![
        Fact::new("archive", format!("{}, {size}", written.path.display())),
        Fact::new(MANIFEST, format!("SHA-256 {}", ::pack::digest(&manifest.to_bytes()))),
        Fact::new("signed", signed.unwrap_or_else(|| "no; --key signs it".to_string())),
    ]
}

/// Each file with its size, or the files summed by folder, with one line for each result.
fn rows(manifest: &Manifest, each: bool) -> Vec<(String, u64)> {
    let mut rows: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for file in &manifest.files {
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
