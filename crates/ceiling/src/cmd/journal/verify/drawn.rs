//! The outcome for an archive, as text and as a document.

use super::super::signature::Signed;
use super::Verified;
use journal::{Line, Outcome};
use model::units::show_bytes;
use pack::total_bytes;
use report::page::{Banner, Block, Column, Fact, Mark, Page, Table, Tone};
use serde_json::{Value, json};

/// The schema of the document.
const SCHEMA: &str = "ceiling.verified/1";

/// As one document.
pub fn document(of: &Verified) -> Value {
    let opened = &of.opened;
    let (state, words) = match &of.signed {
        Signed::No => ("none", None),
        Signed::Good(words) => ("good", Some(words)),
        Signed::Unknown(words) => ("unknown_key", Some(words)),
        Signed::Other(words) => ("other_key", Some(words)),
        Signed::Bad(words) => ("bad", Some(words)),
    };
    json!({
        "schema": SCHEMA,
        "slug": opened.folder,
        "files": opened.files.len(),
        "bytes": total_bytes(&opened.files),
        "changed": opened.changed,
        "signature": { "state": state, "said": words },
        "runs": of.remade.runs,
        "figures": of.remade.figures,
        "findings": of.remade.findings,
    })
}

/// As a page.
pub fn page(of: &Verified) -> Page {
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
    let files = &of.opened.files;
    let subtitle = format!("{} files, {}", files.len(), show_bytes(total_bytes(files) as f64));
    Page { title: of.opened.folder.clone(), subtitle, blocks }
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
    let files = match &opened.changed[..] {
        [] => format!("all {} are as SHA256SUMS lists them", opened.files.len()),
        changed => format!("changed since they were packed: {}", changed.join(", ")),
    };
    let signature = match &of.signed {
        Signed::No => "none".to_string(),
        Signed::Good(words) => format!("good: {words}"),
        Signed::Unknown(words) => format!("valid: {words}; --pub KEY names the keys you accept"),
        Signed::Other(words) => format!("valid, but by a key that --pub does not name: {words}"),
        Signed::Bad(words) => format!("bad: {words}"),
    };
    vec![Fact::new("files", files), Fact::new("signature", signature)]
}

fn table(first: &str, second: &str, lines: &[Line]) -> Table {
    let mut table = Table::new([first, second, "made again"].map(Column::words).into());
    for line in lines {
        let (mark, words) = match &line.outcome {
            Outcome::Same => (Mark::None, "same".to_string()),
            Outcome::Differs { now } => (Mark::Broken, format!("differs: {now}")),
            Outcome::CannotBe { why } => (Mark::Caution, format!("cannot be: {why}")),
        };
        table.push(mark, vec![line.about.clone(), line.value.clone(), words]);
    }
    table
}
