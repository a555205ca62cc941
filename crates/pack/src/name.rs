//! Which names a file in an archive may have.
//!
//! A name must mean the same file on every system: ASCII letters, digits and some signs, no `..`,
//! and no two names that differ only by case. No part is hidden: what an archive puts into `.git`,
//! `.ssh` or `.cargo` could act, and no file of an entry has such a name.

use std::collections::BTreeMap;

/// Most characters of a whole name.
const CHARACTERS_MAX: usize = 240;
/// Most characters of one part of a name.
const PART_CHARACTERS_MAX: usize = 100;
/// Most folders in a name.
const DEPTH_MAX: usize = 16;
/// Characters of a name besides letters and digits.
const SIGNS: &str = "._-+,=@~# ()[]";

/// Why a name may not be in an archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It starts at the root.
    #[error("it is absolute")]
    Absolute,
    /// It has a part that is empty, `.` or `..`.
    #[error("it has a part that is empty, '.' or '..'")]
    Way,
    /// A part of it is hidden: it starts with a dot.
    #[error("a part of it starts with a dot; no file of an entry is hidden")]
    Hidden,
    /// It has a byte that is not allowed.
    #[error("it has the byte 0x{0:02x}; names have ASCII letters and digits, '/' and {SIGNS:?}")]
    Byte(u8),
    /// A part starts or ends with a blank, or ends with a dot.
    #[error("a part of it starts or ends with a blank, or ends with a dot")]
    Edge,
    /// It is too long.
    #[error(
        "it is longer than {CHARACTERS_MAX} characters, {PART_CHARACTERS_MAX} in a part, or deeper \
         than {DEPTH_MAX} folders"
    )]
    Long,
    /// Another file or folder has the same name in a different case.
    #[error("it differs from '{0}' only by case")]
    Case(String),
    /// It occurs twice.
    #[error("it occurs twice")]
    Twice,
    /// One name is both a file and a folder.
    #[error("'{0}' is a file and a folder")]
    FileAndFolder(String),
}

/// Checks a name by itself, without the other names of the archive.
pub fn check(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if name.starts_with('/') {
        return Err(NameFault::Absolute);
    }
    let is_allowed = |byte: &u8| {
        byte.is_ascii_alphanumeric() || *byte == b'/' || SIGNS.as_bytes().contains(byte)
    };
    if let Some(byte) = name.bytes().find(|byte| !is_allowed(byte)) {
        return Err(NameFault::Byte(byte));
    }
    let parts: Vec<&str> = name.split('/').collect();
    if parts.iter().any(|part| ["", ".", ".."].contains(part)) {
        return Err(NameFault::Way);
    }
    if parts.iter().any(|part| part.starts_with('.')) {
        return Err(NameFault::Hidden);
    }
    let has_edge = |part: &&str| part.starts_with(' ') || part.ends_with([' ', '.']);
    if parts.iter().any(has_edge) {
        return Err(NameFault::Edge);
    }
    let is_long = parts.iter().any(|part| part.len() > PART_CHARACTERS_MAX);
    if is_long || name.len() > CHARACTERS_MAX || parts.len() > DEPTH_MAX + 1 {
        return Err(NameFault::Long);
    }
    Ok(())
}

/// The names of one archive.
#[derive(Debug, Default)]
pub struct Names {
    /// Files by their lower-case name.
    files: BTreeMap<String, String>,
    /// Folders likewise.
    folders: BTreeMap<String, String>,
}

impl Names {
    /// Adds the name of a file, or says how it conflicts with the others.
    pub fn add(&mut self, name: &str) -> Result<(), NameFault> {
        check(name)?;
        let folders = name.match_indices('/').map(|(at, _)| &name[..at]);
        for folder in folders {
            let small = folder.to_ascii_lowercase();
            if self.files.contains_key(&small) {
                return Err(NameFault::FileAndFolder(folder.to_string()));
            }
            let known = self.folders.entry(small).or_insert_with(|| folder.to_string());
            if known != folder {
                return Err(NameFault::Case(known.clone()));
            }
        }
        let small = name.to_ascii_lowercase();
        if self.folders.contains_key(&small) {
            return Err(NameFault::FileAndFolder(name.to_string()));
        }
        match self.files.insert(small, name.to_string()) {
            None => Ok(()),
            Some(other) if other == name => Err(NameFault::Twice),
            Some(other) => Err(NameFault::Case(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_an_entry_are_good() {
        for name in
            ["entry.toml", "results/20260101T120000-a/runs/20260101T120000-0000002a/run.json"]
        {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_or_look_like_others_are_refused() {
        let long = "a/".repeat(20) + "b";
        let part = "a".repeat(101);
        let cases = [
            ("", NameFault::Empty),
            ("/etc/passwd", NameFault::Absolute),
            ("../a", NameFault::Way),
            ("a/../../b", NameFault::Way),
            ("a//b", NameFault::Way),
            ("./a", NameFault::Way),
            ("a/", NameFault::Way),
            (".git/config", NameFault::Hidden),
            ("results/.git/hooks/post-checkout", NameFault::Hidden),
            (".bashrc", NameFault::Hidden),
            ("...", NameFault::Hidden),
            ("a\0b", NameFault::Byte(0)),
            ("a\nb", NameFault::Byte(b'\n')),
            ("a\\b", NameFault::Byte(b'\\')),
            ("C:a", NameFault::Byte(b':')),
            ("caf\u{e9}", NameFault::Byte(0xc3)),
            ("a\u{202e}b", NameFault::Byte(0xe2)),
            ("a /b", NameFault::Edge),
            ("a.", NameFault::Edge),
            (&long, NameFault::Long),
            (&part, NameFault::Long),
        ];
        for (name, fault) in cases {
            assert_eq!(check(name), Err(fault), "{name:?}");
        }
    }

    #[test]
    fn names_that_one_system_takes_for_the_same_are_refused() {
        let added = |names: &[&str]| {
            let mut all = Names::default();
            names.iter().map(|name| all.add(name)).collect::<Result<Vec<_>, _>>().map(|_| ())
        };
        assert_eq!(added(&["a", "b", "c/a", "c/b"]), Ok(()));
        assert_eq!(added(&["a", "a"]), Err(NameFault::Twice));
        assert_eq!(added(&["a", "A"]), Err(NameFault::Case("a".into())));
        assert_eq!(added(&["c/a", "C/b"]), Err(NameFault::Case("c".into())));
        assert_eq!(added(&["a", "a/b"]), Err(NameFault::FileAndFolder("a".into())));
        assert_eq!(added(&["a/b", "A"]), Err(NameFault::FileAndFolder("A".into())));
    }
}
