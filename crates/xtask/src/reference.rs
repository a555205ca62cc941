//! `cargo xtask reference`: writes the pages of docs/reference from the code they describe.
//!
//! Module docs describe gates, walls and knobs; the definitions of the record are a table in
//! `figures`.
//! The pages repeat these texts for readers without the code, and tidy reports stale pages.

mod gates;
mod knobs;

use crate::finding::Finding;
use crate::tree::{self, Tree};
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::{Command, ExitCode};

/// One line for the usage text.
pub const ABOUT: &str = "write docs/reference from the code it describes";

const NOTE: &str = "Written by `cargo xtask reference`; edit the code, not this page.";

/// A page: its path, and the function that makes its text.
struct Page {
    path: &'static str,
    text: fn(&Tree) -> Result<String>,
}

const PAGES: &[Page] = &[
    Page { path: "docs/reference/gates.md", text: gates_page },
    Page { path: "docs/reference/knobs.md", text: knobs::page },
    Page { path: "docs/reference/walls.md", text: walls },
    Page { path: "docs/reference/record.md", text: record },
];

/// Writes every page.
pub fn run(arguments: &[String]) -> Result<ExitCode> {
    if let Some(argument) = arguments.first() {
        bail!("takes no arguments, found `{argument}`");
    }
    let (root, tree) = (tree::root()?, Tree::here()?);
    for page in PAGES {
        let path = root.join(page.path);
        fs::create_dir_all(path.parent().context("a page has a folder")?)?;
        fs::write(&path, (page.text)(&tree)?).with_context(|| page.path.to_string())?;
        println!("wrote {}", page.path);
    }
    // The program itself writes these pages, and one of its tests reports when they are stale.
    for page in ["cli", "figures"] {
        let cargo = ["run", "-q", "-p", "ceiling", "--", "reference", page];
        let made = Command::new("cargo").args(cargo).current_dir(&root).output()?;
        if !made.status.success() {
            bail!("ceiling reference {page}: {}", String::from_utf8_lossy(&made.stderr));
        }
        fs::write(root.join(format!("docs/reference/{page}.md")), made.stdout)?;
        println!("wrote docs/reference/{page}.md");
    }
    Ok(ExitCode::SUCCESS)
}

/// Pages that do not match the code.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let finding = |page: &Page| {
        let wrong = match ((page.text)(tree), text_of(tree, page.path)) {
            (Ok(text), there) if there == Some(text.as_str()) => return None,
            (Ok(_), _) => "the page does not match the code".to_string(),
            // Without the page and its code, the tree is a sample of a test.
            (Err(_), None) => return None,
            (Err(why), Some(_)) => format!("the page cannot be made: {why:#}"),
        };
        Some(Finding::new(page.path, 1, wrong, "run `cargo xtask reference`"))
    };
    PAGES.iter().filter_map(finding).collect()
}

fn text_of<'a>(tree: &'a Tree, path: &str) -> Option<&'a str> {
    tree.get(path)?.text.as_deref()
}

/// The top of a page.
fn top(title: &str, about: &str) -> String {
    format!("# {title}\n\n{NOTE}\n\n{}\n", wrapped(about))
}

fn gates_page(tree: &Tree) -> Result<String> {
    let mut page = top(
        "Gates",
        "A gate compares accounts that must agree. A failed gate strikes the figures that it \
         lists, and no others: each is then not known, or keeps a bound. The record has the \
         standing of each figure in `points[].standing`. A command exits with code 4 only when \
         its main figure is not known or is that of the generator; with `--strict`, when any gate \
         failed. A gate that could not be checked gives the reason and is `null` in the \
         record; one that does not apply to a point is absent.",
    );
    let source = text_of(tree, "crates/judge/src/gates.rs").context("the list of gates")?;
    let keys = text_of(tree, "crates/model/src/figure.rs").context("the figures")?;
    for (name, docs) in headers_below(tree, "crates/judge/src/gates/")? {
        let listed = gates::listed(source, keys, &name)
            .with_context(|| format!("gate {name} is not listed in GATES"))?;
        let listed: String = listed.iter().map(|line| format!("\n{}\n", wrapped(line))).collect();
        let listed = listed.trim_end();
        page += &section(&format!("`{name}`"), &format!("{docs}\n{listed}"));
    }
    Ok(page)
}

fn walls(tree: &Tree) -> Result<String> {
    let mut page = top(
        "Walls",
        "The walls that this version can name, and at the end those that it cannot test, which \
         every verdict lists as not tested. Utilisation alone names no wall: a counter, a queue or \
         the shape of a ramp must agree with it.",
    );
    let mut headers = headers_below(tree, "crates/judge/src/walls/")?;
    let all = walls_of(text_of(tree, "crates/model/src/wall.rs").context("the list of walls")?)?;
    let mut untested = Vec::new();
    for Wall { id, name, reason, fix } in &all {
        let is_it = |(_, docs): &(String, String)| docs.starts_with(&format!("{id}: "));
        let Some(at) = headers.iter().position(is_it) else {
            untested.push((id, name));
            continue;
        };
        let (file, docs) = headers.swap_remove(at);
        let mut docs = docs.trim_start_matches(&format!("{id}: ")).to_string();
        for part in PARTS {
            if !docs.contains(&format!("\n{part}: ")) {
                bail!("the header of {file}.rs has no part `{part}:`");
            }
            docs = docs.replace(&format!("\n{part}:"), &format!("\n\n{part}:"));
        }
        let docs = docs.replace("\n\n\n", "\n\n");
        let printed = wrapped(&format!("Printed: {reason}. Fix: {fix}."));
        page += &section(&format!("{id}, {name}"), &format!("{docs}\n\n{printed}"));
    }
    page += "\n## Walls without a test\n\n";
    for (id, name) in untested {
        page += &format!("- {id}, {name}\n");
    }
    Ok(page)
}

/// The parts of the header of a wall, in this order.
const PARTS: [&str; 5] = ["Signals", "Rule", "Mimics", "Confirm", "Source"];

/// A wall as the list in the source of `model` has it.
struct Wall {
    id: String,
    name: String,
    /// What happens there.
    reason: String,
    /// What moves it.
    fix: String,
}

/// All walls, from the list in the source of `model`.
fn walls_of(source: &str) -> Result<Vec<Wall>> {
    let (_, list) = source.split_once("\nwalls! {").context("the list of walls")?;
    let (list, _) = list.split_once("\n}").context("the end of the list of walls")?;
    let words: Vec<&str> = list.split('"').collect();
    let wall = |words: &[&str]| match words {
        [id, name, _, reason, _, fix] => {
            let id = id.trim_matches(|letter: char| letter == ',' || letter.is_whitespace());
            let [id, name, reason, fix] = [id, name, reason, fix].map(str::to_string);
            Some(Wall { id, name, reason, fix })
        }
        _ => None,
    };
    Ok(words.chunks(6).filter_map(wall).collect())
}

fn record(tree: &Tree) -> Result<String> {
    let mut page = top(
        "The record",
        "`--json` prints one document; `run.json` of a run directory holds the same. Times are \
         whole nanoseconds, rates are per second, `null` means \"not measured\" and never zero. \
         Every record contains these definitions under `definitions`.",
    );
    let source = text_of(tree, "crates/figures/src/definitions.rs").context("the definitions")?;
    for (path, text) in pairs_of(source)? {
        page += &format!("\n## `{path}`\n\n{}\n", wrapped(&text));
    }
    Ok(page)
}

/// A heading with the docs below it; the first sentence starts with a capital.
fn section(heading: &str, docs: &str) -> String {
    let mut letters = docs.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("\n## {heading}\n\n{first}{}\n", letters.as_str())
}

/// Name and module docs of every file in a folder.
fn headers_below(tree: &Tree, folder: &str) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (file, text) in tree.texts().filter(|(file, _)| file.path.starts_with(folder)) {
        let name = file.path[folder.len()..].trim_end_matches(".rs").to_string();
        let docs: Vec<_> = text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        found.push((name, docs.join("\n").replace("[`", "`").replace("`]", "`")));
    }
    if found.is_empty() {
        bail!("{folder} holds no files");
    }
    Ok(found)
}

/// The string pairs of the first array in a source file.
fn pairs_of(source: &str) -> Result<Vec<(String, String)>> {
    let file = syn::parse_file(source)?;
    let table = file.items.iter().find_map(|item| match item {
        syn::Item::Const(item) => Some(&*item.expr),
        _ => None,
    });
    let Some(syn::Expr::Reference(table)) = table else { bail!("the table is a const slice") };
    let syn::Expr::Array(rows) = &*table.expr else { bail!("the table is an array") };
    let text = |expression: &syn::Expr| match expression {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    };
    let pair = |row: &syn::Expr| match row {
        syn::Expr::Tuple(row) if row.elems.len() == 2 => {
            Some((text(&row.elems[0])?, text(&row.elems[1])?))
        }
        _ => None,
    };
    rows.elems.iter().map(|row| pair(row).context("a row is a pair of strings")).collect()
}

/// Text in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 100 {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(page: &str) -> Tree {
        Tree::sample(&[
            ("crates/judge/src/gates/sum.rs", "//! It adds up.\n//!\n//! See [`x`].\nfn f() {}\n"),
            (
                "crates/judge/src/gates.rs",
                "pub const GATES: &[Listed] = &[\n    \
                 gate(GateId::Sum, W, sum::check, &[Figure::Rate], Leaves::Nothing),\n];\n",
            ),
            ("crates/model/src/figure.rs", "fn facts( Self::Rate => facts(\"rate\",\n"),
            ("docs/reference/gates.md", page),
        ])
    }

    #[test]
    fn a_page_is_red_until_it_says_what_the_code_says() {
        let fresh = gates_page(&tree("")).unwrap();
        assert!(fresh.contains("## `sum`\n\nIt adds up.\n\nSee `x`.\n"), "{fresh}");
        assert!(fresh.contains("\nStrikes: `rate`.\n\nLeaves: nothing.\n"), "{fresh}");
        let stale = |page: &str| {
            check(&tree(page)).iter().any(|finding| finding.path == "docs/reference/gates.md")
        };
        assert!(stale("# Gates\n"));
        assert!(!stale(&fresh));
    }

    #[test]
    fn a_page_that_cannot_be_made_is_told() {
        let tree = Tree::sample(&[("docs/reference/knobs.md", "# Knobs\n")]);
        let found = check(&tree).pop().unwrap().to_string();
        assert!(found.contains("the page cannot be made"), "{found}");
    }

    const WALLS: &str = "\nwalls! {\n    K7 \"ring\":\n        \"r\" => \"f\",\n    K8 \"link\":\n\
                         \"full\" =>\n \"widen\",\n}\n";

    #[test]
    fn walls_with_a_file_are_described_and_the_others_listed() {
        let header = "//! K8: it is full.\n//!\n//! Signals: s.\n//! Rule: r.\n//! Mimics: m.\n\
                      //! Confirm: c.\n//! Source: o.\n";
        let sample = |header: &str| {
            Tree::sample(&[
                ("crates/judge/src/walls/server_link.rs", header),
                ("crates/judge/src/walls/helper.rs", "//! No wall.\n"),
                ("crates/model/src/wall.rs", WALLS),
            ])
        };
        let page = walls(&sample(header)).unwrap();
        assert!(page.contains("## K8, link\n\nIt is full.\n\nSignals: s.\n\nRule: r.\n"), "{page}");
        assert!(page.contains("Source: o.\n\nPrinted: full. Fix: widen.\n"), "{page}");
        assert!(page.ends_with("## Walls without a test\n\n- K7, ring\n"), "{page}");
        assert!(!page.contains("No wall"), "{page}");
        let without = walls(&sample(&header.replace("Mimics", "Looks"))).unwrap_err();
        assert!(without.to_string().contains("Mimics"), "{without}");
    }

    #[test]
    fn definitions_are_read_from_their_table() {
        let source = "const D: &[(&str, &str)] = &[(\"a.b\", \"one \\\n two\")];";
        assert_eq!(pairs_of(source).unwrap(), [("a.b".to_string(), "one two".to_string())]);
    }

    #[test]
    fn long_text_is_wrapped() {
        assert!(wrapped(&"word ".repeat(60)).lines().all(|line| line.len() <= 100));
    }
}
