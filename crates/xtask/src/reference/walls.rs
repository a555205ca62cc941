//! The page of the walls, and their list in `model`, from the headers of their files.

use super::{headers_below, section, text_of, top, wrapped};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};

/// The list of all walls.
pub const LIST: &str = "crates/model/src/wall/list.rs";

const FILES: &str = "crates/judge/src/walls/";

const ABOUT: &str = "\
//! The id and name of each wall, what happens there, and what moves it. Text, page and docs print
//! these, so they are for readers who know their server and no code of ours.
//!
//! `cargo xtask reference` writes the rows of walls that have a file in `judge/src/walls`, from its
//! header. The others, without a test, are written here.

";

/// The parts of the header of a wall, in this order.
const PARTS: [&str; 5] = ["Signals", "Rule", "Mimics", "Confirm", "Source"];
/// The parts at its end, which are printed with a verdict.
const WORDS: [&str; 3] = ["Name", "Reason", "Fix"];
/// The letters of the sides, in the order of the list.
const SIDES: &str = "MCNKSA";

/// What would show the walls that no reading proves.
const WOULD_PROVE: [(&str, &str); 3] = [
    (
        "N3",
        "the bytes of each connection. A run with one connection beside one with four shows it.",
    ),
    (
        "S8",
        "cycles and cache misses of the processor's counters (perf), which most virtual machines \
         do not have. A rate that stays with half of the CPUs (`--confirm --may-touch-server`) \
         points to it.",
    ),
    (
        "S9",
        "throttle counts of the CPUs, and times in their idle states. The lowest clock of each CPU \
         is read, but all CPUs together never reach the highest clock of one. A test of the knobs \
         `cpu-clock` and `cpu-idle` shows it.",
    ),
];

/// A wall.
struct Wall {
    id: String,
    name: String,
    /// What happens there.
    reason: String,
    /// What moves it.
    fix: String,
    /// What its header says besides; nothing without a test.
    docs: Option<String>,
}

/// The list.
pub fn list(tree: &Tree) -> Result<String> {
    let row = |Wall { id, name, reason, fix, .. }: &Wall| {
        format!("    {id} \"{name}\":\n        \"{reason}\" =>\n        \"{fix}\",\n")
    };
    let rows: String = walls(tree)?.iter().map(row).collect();
    Ok(format!("{ABOUT}walls! {{\n{rows}}}\n"))
}

/// The page.
pub fn page(tree: &Tree) -> Result<String> {
    let mut page = top(
        "Walls",
        "The walls that this version can name, and at the end those that it cannot test, which \
         every verdict lists as not tested, with what would show them. Utilisation alone names no \
         wall: a counter, a queue or the shape of a ramp must agree with it.",
    );
    let mut untested = String::new();
    for Wall { id, name, reason, fix, docs } in walls(tree)? {
        let Some(mut docs) = docs else {
            let proof = WOULD_PROVE.iter().find(|(wall, _)| *wall == id);
            let proof = proof.map_or(String::new(), |(_, what)| format!(": {what}"));
            untested += &item(&format!("{id}, {name}{proof}"));
            continue;
        };
        for part in PARTS {
            docs = docs.replace(&format!("\n{part}:"), &format!("\n\n{part}:"));
        }
        let docs = docs.replace("\n\n\n", "\n\n");
        let printed = wrapped(&format!("Printed: {reason}. Fix: {fix}."));
        page += &section(&format!("{id}, {name}"), &format!("{docs}\n\n{printed}"));
    }
    Ok(page + "\n## Walls without a test\n\n" + &untested)
}

/// An item of a list, wrapped.
fn item(text: &str) -> String {
    let mut lines = vec!["-".to_string()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if line.chars().count() + 1 + word.chars().count() > 100 {
            lines.push(format!("  {word}"));
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

/// All walls in the order of the list: those with a file, and the others as the list has them.
fn walls(tree: &Tree) -> Result<Vec<Wall>> {
    let headers = headers_below(tree, FILES)?;
    let mut walls = Vec::new();
    for (file, docs) in &headers {
        walls.extend(with_file(docs).with_context(|| format!("the header of {file}.rs"))?);
    }
    for wall in listed(text_of(tree, LIST).context("the list of walls")?)? {
        if walls.iter().all(|one| one.id != wall.id) {
            walls.push(wall);
        }
    }
    let place = |id: &str| (SIDES.find(&id[..1]), id[1..].parse::<u32>().ok());
    walls.sort_by_key(|wall| place(&wall.id));
    Ok(walls)
}

/// The wall that a header is about, if it is about one.
fn with_file(header: &str) -> Result<Option<Wall>> {
    let Some((id, mut docs)) = header.split_once(": ").filter(|(id, _)| is_id(id)) else {
        return Ok(None);
    };
    for part in PARTS.iter().chain(&WORDS) {
        if !docs.contains(&format!("\n{part}: ")) {
            bail!("it has no part `{part}:`");
        }
    }
    let mut words = WORDS.map(|_| String::new());
    for (part, words) in WORDS.iter().zip(&mut words).rev() {
        let parts = docs.split_once(&format!("\n{part}: "));
        let (before, text) = parts.context("Name, Reason and Fix are its last parts")?;
        (docs, *words) = (before, text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let [name, reason, fix] = words;
    Ok(Some(Wall { id: id.to_string(), name, reason, fix, docs: Some(docs.to_string()) }))
}

/// Whether a text is an id such as `K10`.
fn is_id(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|side| SIDES.contains(side))
        && text.len() > 1
        && letters.all(|letter| letter.is_ascii_digit())
}

/// The walls of a list.
fn listed(source: &str) -> Result<Vec<Wall>> {
    let (_, list) = source.split_once("\nwalls! {").context("the list of walls")?;
    let (list, _) = list.split_once("\n}").context("the end of the list of walls")?;
    let words: Vec<&str> = list.split('"').collect();
    let wall = |words: &[&str]| match words {
        [id, name, _, reason, _, fix] => {
            let id = id.trim_matches(|letter: char| letter == ',' || letter.is_whitespace());
            let [id, name, reason, fix] = [id, name, reason, fix].map(str::to_string);
            Some(Wall { id, name, reason, fix, docs: None })
        }
        _ => None,
    };
    Ok(words.chunks(6).filter_map(wall).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "\nwalls! {\n    K8 \"x\":\n        \"y\" => \"z\",\n    K7 \"ring\":\n\
                         \"r\" =>\n \"f\",\n}\n";
    const HEADER: &str = "//! K8: it is full.\n//!\n//! Signals: s.\n//! Rule: r.\n//! Mimics: m.\n\
                          //! Confirm: c.\n//! Source: o.\n//! Name: link\n//! Reason: it is\n\
                          //! full\n//! Fix: widen\n";

    fn sample(header: &str) -> Tree {
        Tree::sample(&[
            ("crates/judge/src/walls/server_link.rs", header),
            ("crates/judge/src/walls/helper.rs", "//! No wall: a helper.\n"),
            (LIST, KNOWN),
        ])
    }

    #[test]
    fn walls_with_a_file_are_described_and_the_others_listed() {
        let page = page(&sample(HEADER)).unwrap();
        let begin = "## K8, link\n\nIt is full.\n\nSignals: s.\n\nRule: r.\n";
        assert!(page.contains(begin), "{page}");
        assert!(page.contains("Source: o.\n\nPrinted: it is full. Fix: widen.\n"), "{page}");
        assert!(page.ends_with("## Walls without a test\n\n- K7, ring\n"), "{page}");
        assert!(!page.contains("helper"), "{page}");
        for part in ["Mimics", "Reason"] {
            let without = walls(&sample(&HEADER.replace(part, "Looks"))).map(|_| ()).unwrap_err();
            assert!(format!("{without:#}").contains(part), "{without:#}");
        }
    }

    #[test]
    fn the_list_has_the_words_of_each_file_and_keeps_the_other_walls() {
        let list = list(&sample(HEADER)).unwrap();
        let (_, rows) = list.split_once("walls! {\n").unwrap();
        let row = |id: &str, name: &str, reason: &str, fix: &str| {
            format!("    {id} \"{name}\":\n        \"{reason}\" =>\n        \"{fix}\",\n")
        };
        let ring = row("K7", "ring", "r", "f");
        assert_eq!(rows, ring + &row("K8", "link", "it is full", "widen") + "}\n");
    }
}
