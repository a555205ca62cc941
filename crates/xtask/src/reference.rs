//! `cargo xtask reference`: writes the pages of docs/reference from the code they describe.
//!
//! Module docs describe gates, walls and knobs; the definitions of the record are a table in
//! `figures`. The pages repeat these texts for readers without the code, and tidy reports stale
//! pages. The ids of gates and walls are lists in `model`, for readers of records without the
//! judge; they are written here too, so that a gate or a wall is one file and one row.

mod gates;
mod knobs;
mod walls;

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
    Page { path: walls::LIST, text: walls::list },
    Page { path: gates::LIST, text: gates::list },
    Page { path: "docs/reference/walls.md", text: walls::page },
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
