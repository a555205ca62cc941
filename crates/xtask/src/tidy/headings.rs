//! One title per document.
//!
//! A Markdown file without a title has no name in search results, and a file with two titles is two
//! documents. The notes of a journal have the title of their entry.

use crate::finding::Finding;
use crate::tree::Tree;

/// Counts the headings of the first level.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.texts() {
        if file.is_foreign() || file.extension() != "md" || is_notes(&file.path) {
            continue;
        }
        let titles = title_lines(text);
        if titles.is_empty() {
            let instead = "start it with `# ` and the topic of the document";
            findings.push(Finding::new(&file.path, 1, "the document has no title", instead));
        }
        for line in titles.iter().skip(1) {
            let wrong =
                format!("the document has a second title, the first is in line {}", titles[0]);
            let instead = "make it `## `, or move it to a separate document";
            findings.push(Finding::new(&file.path, *line, wrong, instead));
        }
    }
    findings
}

fn is_notes(path: &str) -> bool {
    path.starts_with("journal/") && path.ends_with("/notes.md")
}

/// The lines of the titles, in all three Markdown notations, outside code.
fn title_lines(text: &str) -> Vec<usize> {
    let mut titles = Vec::new();
    let mut fence: Option<&str> = None;
    let mut above = "";
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.trim();
        let marker = ["```", "~~~"].into_iter().find(|marker| content.starts_with(marker));
        match fence {
            Some(open) if marker == Some(open) => fence = None,
            Some(_) => {}
            None if marker.is_some() => fence = marker,
            None => {
                let is_underline = !content.is_empty() && content.chars().all(|char| char == '=');
                if line.starts_with("# ") || line.starts_with("<h1") {
                    titles.push(number);
                } else if is_underline && !above.is_empty() {
                    titles.push(number - 1);
                }
            }
        }
        above = content;
    }
    titles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        check(&Tree::sample(&[("a.md", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn no_title_and_a_second_title_are_found() {
        assert_eq!(found("text\n## Part\n"), [1]);
        assert_eq!(found("# A\ntext\n# B\n"), [3]);
        assert_eq!(found("<h1 align=\"center\">A</h1>\n\nB\n===\n"), [3]);
    }

    #[test]
    fn one_title_is_silent_and_code_is_not_a_title() {
        assert_eq!(found("# A\n\n```sh\n# a comment\n~~~\n# another\n```\n## Part\n"), [0; 0]);
        assert_eq!(found("A\n=\n\n    # code\n"), [0; 0]);
    }
}
