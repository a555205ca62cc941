//! No characters that a reader cannot see.
//!
//! Control characters and marks that change the direction of text make a file read differently from
//! what it does. Only tabs and line feeds are allowed.

use crate::finding::Finding;
use crate::tree::{File, SIZE_MAX_BYTES, Tree};

/// Files with these endings are always text; anything else may be binary.
const TEXT: [&str; 15] = [
    "rs", "go", "mod", "js", "mjs", "css", "html", "json", "toml", "md", "yml", "yaml", "sh",
    "txt", "csv",
];

/// Reads every character of our files.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let ours = tree.files().filter(|file| !file.is_foreign());
    ours.flat_map(|file| match &file.text {
        Some(text) => in_text(file, text),
        None => not_text(file).into_iter().collect(),
    })
    .collect()
}

fn in_text(file: &File, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')) {
        if let Some(char) = line.chars().find(|char| is_unseen(*char)) {
            let wrong = format!("the line has the invisible character U+{:04X}", char as u32);
            let instead = "delete it, or write it as an escape";
            findings.push(Finding::new(&file.path, number, wrong, instead));
        }
    }
    findings
}

/// Control characters, the byte order mark, and invisible marks that reorder or join text.
fn is_unseen(char: char) -> bool {
    let turns_text = matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let has_no_width = matches!(char, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    char.is_control() && char != '\t' || turns_text || has_no_width
}

fn not_text(file: &File) -> Option<Finding> {
    if file.size_bytes > SIZE_MAX_BYTES || !TEXT.contains(&file.extension()) {
        return None;
    }
    let wrong = "the file is not UTF-8 text, or has a NUL";
    Some(Finding::new(&file.path, 1, wrong, "save it as UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unseen_character_is_found_at_its_line() {
        for char in ['\u{7}', '\r', '\u{1b}', '\u{7f}', '\u{85}', '\u{202e}', '\u{feff}'] {
            let found = check(&Tree::sample(&[("a.rs", &format!("a\nb{char}c\n"))]));
            assert_eq!(found.iter().map(|f| f.line).collect::<Vec<_>>(), [2], "{char:?}");
        }
    }

    #[test]
    fn ordinary_text_is_silent() {
        let tree =
            Tree::sample(&[("a.go", "a\tb\n\u{e9} \u{2014} \u{4e16}\n"), ("fixtures/a", "\r\n")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn binary_is_found_only_where_text_is_due() {
        let binary = |path| Tree::of(vec![File::sample(path, b"a\0b")]);
        assert_eq!(check(&binary("a.rs")).len(), 1);
        assert_eq!(check(&binary("docs/picture.png")), []);
    }
}
