//! The page of knobs: first the rules, then the header of every knob with its constants.

use super::{headers_below, section, text_of, top};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};

/// Where the knobs are.
const FOLDER: &str = "crates/tune/src/knobs/";
/// The introduction of the page, written by hand.
const INTRODUCTION: &str = "crates/xtask/src/reference/knobs.md";

/// The start of the constant of a knob.
const START: &str = "pub const ";

/// The parts of the header of a knob, in this order.
const PARTS: [&str; 7] = ["Path", "Matters when", "Predicts", "Risk", "Verify", "With", "Source"];

/// The whole page.
pub fn page(tree: &Tree) -> Result<String> {
    let mut page = top("Knobs", "The settings of a host, and what each can do to a rate.");
    let introduction = text_of(tree, INTRODUCTION).context("the introduction")?;
    // The first line is the title of the file, not of the page.
    page += introduction.split_once('\n').map_or("", |(_, rest)| rest);
    page += "\n## Every knob\n\n| Id | Name | What | Scope | Takes effect | |\n\
             |---|---|---|---|---|---|\n";
    let mut knobs = Vec::new();
    for (file, header) in headers_below(tree, FOLDER)? {
        let source = text_of(tree, &format!("{FOLDER}{file}.rs")).context("its source")?;
        let (mut above, mut below) = source.split_once(START).context("no knob")?;
        loop {
            let (constant, rest) = below.split_once(": Knob = Knob {").context("no knob")?;
            // A constant with its own name has its docs above it; else the file has the docs.
            let (name, docs) = match constant {
                "KNOB" => (file.clone(), header.clone()),
                _ => (constant.to_lowercase(), docs_at_the_end(above)),
            };
            let knob = Constants::of(rest).with_context(|| name.clone())?;
            if knob.name.replace('-', "_") != name {
                bail!("{name} holds {}", knob.name);
            }
            knobs.push((number(&knob.id)?, knob, parted(&name, &docs)?));
            match rest.split_once(START) {
                Some(next) => (above, below) = next,
                None => break,
            }
        }
    }
    knobs.sort_by_key(|(number, ..)| *number);
    for (_, knob, _) in &knobs {
        let Constants { id, name, about, scope, effect, act } = knob;
        page += &format!("| {id} | `{name}` | {about} | {scope} | {effect} | {act} |\n");
    }
    for (_, knob, docs) in &knobs {
        let docs = docs.trim_start_matches(&format!("{}: ", knob.id));
        let Constants { id, name, scope, effect, act, .. } = knob;
        let last = format!("Scope: {scope}. Takes effect: {effect}. {act}.");
        page += &section(&format!("{id}, `{name}`"), &format!("{docs}\n\n{last}"));
    }
    Ok(page)
}

/// The doc comment at the end of a text.
fn docs_at_the_end(text: &str) -> String {
    let docs = |line: &str| line.strip_prefix("///").map(|line| line.trim_start().to_string());
    let mut lines: Vec<String> = text.lines().rev().map_while(docs).collect();
    lines.reverse();
    lines.join("\n")
}

fn number(id: &str) -> Result<u32> {
    id.trim_start_matches('T').parse().with_context(|| format!("{id} is no id of a knob"))
}

/// The header with a paragraph for each part; all parts must be present, in order.
fn parted(file: &str, docs: &str) -> Result<String> {
    let mut from = 0;
    let mut text = docs.to_string();
    for part in PARTS {
        let start = format!("\n{part}: ");
        let Some(at) = text[from..].find(&start) else {
            bail!("the docs of {file} have no part `{part}:` at its place");
        };
        text.insert(from + at, '\n');
        from += at + start.len();
    }
    Ok(text.replace("\n\n\n", "\n\n"))
}

/// The fields of the constant of a knob, in words.
struct Constants {
    id: String,
    name: String,
    about: String,
    scope: String,
    effect: String,
    act: String,
}

impl Constants {
    fn of(source: &str) -> Result<Self> {
        let (body, _) = source.split_once("\n};").context("the end of the constant")?;
        let after = |field: &str| {
            let start = format!("\n    {field}: ");
            let (_, rest) = body.split_once(&start).with_context(|| format!("no `{field}`"))?;
            Ok::<_, anyhow::Error>(rest)
        };
        let text = |field: &str| {
            let rest = after(field)?.trim_start().strip_prefix('"');
            let (text, _) = rest.and_then(|rest| rest.split_once('"')).context("no text")?;
            Ok::<_, anyhow::Error>(text.to_string())
        };
        let word = |field: &str| {
            let (word, _) = after(field)?.split_once(',').context("no end of the field")?;
            let word = word.rsplit("::").next().unwrap_or(word).to_string();
            Ok::<_, anyhow::Error>(word)
        };
        let effect = match word("takes_effect")?.as_str() {
            "Now" => "at once",
            "NewSockets" => "for new sockets",
            "NewListen" => "at the next listen()",
            "Restart" => "when the process restarts",
            "Reboot" => "when the host restarts",
            other => bail!("`{other}` is not a known time of effect"),
        };
        let act = match (word("is_disruptive")?.as_str(), after("act")?) {
            (_, act) if act.starts_with("Act::Advice") => "Advice only",
            ("true", _) => "Set by ceiling with consent: it can cut connections",
            _ => "Set by ceiling",
        };
        Ok(Self {
            id: text("id")?,
            name: text("name")?,
            about: text("about")?,
            scope: word("scope")?.to_lowercase(),
            effect: effect.to_string(),
            act: act.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOB: &str = "//! T5: it steers.\n//!\n//! Path: p.\n//! Matters when: m.\n\
                        //! Predicts: q.\n//! Risk: r.\n//! Verify: v.\n//! With: w.\n\
                        //! Source: s.\n\npub const KNOB: Knob = Knob {\n    id: \"T5\",\n    \
                        name: \"rps\",\n    about: \"steering\",\n    scope: Scope::Device,\n    \
                        takes_effect: TakesEffect::Now,\n    is_disruptive: false,\n    \
                        act: Act::Settable { places },\n};\n";

    fn sample(knob: &str) -> Tree {
        Tree::sample(&[
            ("crates/tune/src/knobs/rps.rs", knob),
            (INTRODUCTION, "# Title\n\nRules first.\n"),
        ])
    }

    #[test]
    fn a_knob_is_a_row_and_a_section() {
        let page = page(&sample(KNOB)).unwrap();
        let row = "| T5 | `rps` | steering | device | at once | Set by ceiling |";
        assert!(page.contains(row), "{page}");
        assert!(
            page.contains("## T5, `rps`\n\nIt steers.\n\nPath: p.\n\nMatters when: m."),
            "{page}"
        );
        assert!(!page.contains("# Title"), "{page}");
        assert!(page.find("Rules first.").unwrap() < page.find(row).unwrap());
    }

    #[test]
    fn a_file_of_several_has_the_page_of_each_above_it() {
        let (header, constant) = KNOB.split_once("\n\n").unwrap();
        let docs = header.replace("//!", "///");
        let one = format!("{docs}\n{}", constant.replace("KNOB:", "RPS:"));
        let two = one.replace("RPS", "RFS").replace("\"rps\"", "\"rfs\"").replace("T5", "T6");
        let both = format!("//! Some.\n\n{one}\nfn f() {{}}\n\n{two}");
        let found = page(&sample(&both)).unwrap();
        assert!(found.contains("## T5, `rps`\n\nIt steers.\n\nPath: p."), "{found}");
        assert!(found.contains("## T6, `rfs`\n\nIt steers."), "{found}");
        assert!(page(&sample(&both.replace("/// Risk", "/// Else"))).is_err());
    }

    #[test]
    fn a_header_without_one_of_its_words_is_told() {
        let without = |part: &str| page(&sample(&KNOB.replace(part, "Else:"))).unwrap_err();
        for part in PARTS {
            let error = without(&format!("{part}:")).to_string();
            assert!(error.contains(part) && error.contains("rps"), "{error}");
        }
        let swapped = KNOB.replace("Risk: r", "X").replace("//! With", "//! Risk: r.\n//! With");
        assert!(page(&sample(&swapped)).is_err(), "the words keep their order");
        assert!(page(&sample(&KNOB.replace("\"rps\"", "\"rfs\""))).is_err());
    }
}
