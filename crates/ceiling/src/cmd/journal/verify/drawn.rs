//! The outcome for an archive, as text and as a document.

use super::Verified;
use journal::{Line, Outcome};
use pack::digest;
use pack::signature::Signed;
use report::page::{Banner, Block, Column, Fact, Mark, Page, Table, Tone};
use serde_json::{Value, json};

/// The schema of the document.
const SCHEMA: &str = "ceiling.verified/1";

/// As one document.
pub fn document(of: &Verified) -> Value {
    let manifest = &of.opened.manifest;
    let (state, key) = match &of.signed {
        Signed::No => ("none", None),
        Signed::Good { key } => ("good", Some(key)),
        Signed::Unknown { key } => ("unknown_key", Some(key)),
        Signed::Other { key } => ("other_key", Some(key)),
        Signed::Bad { why } => ("bad", Some(why)),
    };
    json!({
        "schema": SCHEMA,
        "slug": manifest.slug,
        "version": manifest.version,
        "created": manifest.created,
        "manifest_sha256": digest(&of.opened.manifest_bytes),
        "files": manifest.files.len(),
        "bytes": manifest.total_bytes(),
        "is_whole": of.opened.is_whole,
        "changed": of.opened.changed,
        "signature": { "state": state, "said": key },
        "runs": of.remade.runs,
        "figures": of.remade.figures,
        "findings": of.remade.findings,
    })
}

/// As a page.
pub fn page(of: &Verified) -> Page {
    let manifest = &of.opened.manifest;
    let mut blocks = vec![Block::Banner(banner(of)), Block::Facts(facts(of))];
    let parts = [
        ("Runs, judged again", "run", "the record says", &of.remade.runs),
        ("Figures", "figure", "the entry says", &of.remade.figures),
        ("Findings", "finding", "it was", &of.remade.findings),
    ];
    for (title, first, second, lines) in parts {
        if !lines.is_empty() {
            blocks.push(Block::Heading(title.to_string()));
            blocks.push(Block::Table(table(first, second, lines)));
        }
    }
    let subtitle = format!("made {} by ceiling {}", manifest.created, manifest.version);
    Page { title: manifest.slug.clone(), subtitle, blocks }
}

fn banner(of: &Verified) -> Banner {
    let count =
        |is_it: fn(&Outcome) -> bool| of.remade.lines().filter(|line| is_it(&line.outcome)).count();
    let same = count(|one| matches!(one, Outcome::Same));
    let differ = count(|one| matches!(one, Outcome::Differs { .. }));
    let open = count(|one| matches!(one, Outcome::CannotBe { .. }));
    let is_authentic = of.is_authentic;
    let text = match (is_authentic, differ) {
        (false, _) => "The archive failed the checks.".to_string(),
        (true, 0) if same + open == 0 => "It is as it was packed. It has no result.".to_string(),
        (true, 0) if same == 0 => "Nothing in it could be made again.".to_string(),
        (true, 0) => "All that could be made again is the same.".to_string(),
        (true, _) => "Made again, something differs.".to_string(),
    };
    let tone = if is_authentic && differ == 0 { Tone::Good } else { Tone::Bad };
    let lines = vec![format!("{same} same, {differ} differ, {open} cannot be made again.")];
    Banner { tone, text, lines }
}

fn facts(of: &Verified) -> Vec<Fact> {
    let opened = &of.opened;
    let files = match (&opened.changed[..], opened.is_whole) {
        ([], true) => format!("all {} are as the manifest lists them", opened.manifest.files.len()),
        ([], false) => "as the manifest lists them; the archive was changed elsewhere".to_string(),
        (changed, _) => format!("changed since they were packed: {}", changed.join(", ")),
    };
    let signature = match &of.signed {
        Signed::No => "none".to_string(),
        Signed::Good { key } => format!("good, by {key}"),
        Signed::Unknown { key } => format!("valid, by {key}; --pub KEY names the keys you accept"),
        Signed::Other { key } => format!("valid, but by {key}, which --pub does not name"),
        Signed::Bad { why } => format!("bad: {why}"),
    };
    vec![
        Fact::new("files", files),
        Fact::new("manifest", format!("SHA-256 {}", digest(&opened.manifest_bytes))),
        Fact::new("signature", signature),
    ]
}

fn table(first: &str, second: &str, lines: &[Line]) -> Table {
    let mut table = Table::new([first, second, "made again"].map(Column::words).into());
    for line in lines {
        let (mark, said) = match &line.outcome {
            Outcome::Same => (Mark::None, "same".to_string()),
            Outcome::Differs { now } => (Mark::Broken, format!("differs: {now}")),
            Outcome::CannotBe { why } => (Mark::Caution, format!("cannot be: {why}")),
        };
        table.push(mark, vec![line.about.clone(), line.value.clone(), said]);
    }
    table
}
