//! Which files of its folder belong to an entry and are copied with it.

use crate::folder::EntryFolder;
use crate::{JournalError, io_error, wrong};
use model::order::OrderBy as _;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// Files and folders of an entry.
const OURS: [&str; 6] = ["entry.toml", "plan.toml", "notes.md", "results", "runs", "foreign"];
/// Most files of one entry.
const FILES_MAX: usize = 100_000;

/// The files of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// Those that belong to it, sorted by name.
    pub files: Vec<Content>,
    /// Names of everything else in the folder: hidden files, and files that no entry has.
    pub left_out: Vec<String>,
}

/// A file of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its name below the folder of the entry, with `/` between folders.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

impl EntryFolder {
    /// The files of the entry. A link is an error and is not followed, because it may lead
    /// anywhere.
    pub fn contents(&self) -> Result<Contents, JournalError> {
        let mut contents = Contents::default();
        contents.add(&self.path, "")?;
        contents.files.order_by(|one, two| one.name.cmp(&two.name));
        contents.left_out.sort();
        Ok(contents)
    }
}

impl Contents {
    /// Adds the content of a folder; `below` is its path inside the entry.
    fn add(&mut self, folder: &Path, below: &str) -> Result<(), JournalError> {
        for entry in fs::read_dir(folder).map_err(io_error(folder))? {
            let entry = entry.map_err(io_error(folder))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(io_error(&path))?;
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(|| wrong(&path, "its name is not UTF-8"))?;
            let is_of_entry = !below.is_empty() || OURS.contains(&name);
            match name.starts_with('.') || !is_of_entry {
                true => self.left_out.push(format!("{below}{name}")),
                false => self.add_one(path, kind, format!("{below}{name}"))?,
            }
        }
        Ok(())
    }

    fn add_one(&mut self, path: PathBuf, kind: FileType, name: String) -> Result<(), JournalError> {
        if kind.is_dir() {
            return self.add(&path, &format!("{name}/"));
        }
        if !kind.is_file() {
            return Err(wrong(&path, "it is a link or not a file; put a copy there, or remove it"));
        }
        if self.files.len() == FILES_MAX {
            return Err(wrong(&path, format!("the entry has more than {FILES_MAX} files")));
        }
        self.files.push(Content { name, path });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Journal, Skeleton, Slug};
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn an_entry_is_its_files_and_no_link() {
        let path = std::env::temp_dir().join(format!("journal-contents-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let journal = Journal::open_or_make(&path).unwrap();
        let slug = Slug::parse("gzip-helps").unwrap();
        let entry = journal.create(&slug, &Skeleton::new(&slug)).unwrap();
        let result = entry.path.join("results/20990101T120000-plan");
        fs::create_dir_all(&result).unwrap();
        for name in ["experiment.json", "plan.toml", ".hidden"] {
            fs::write(result.join(name), "").unwrap();
        }
        fs::write(entry.path.join("draft.txt"), "").unwrap();
        let contents = entry.contents().unwrap();
        let names: Vec<&str> = contents.files.iter().map(|file| &*file.name).collect();
        let result = "results/20990101T120000-plan";
        let (document, plan) = (format!("{result}/experiment.json"), format!("{result}/plan.toml"));
        assert_eq!(names, ["entry.toml", "notes.md", "plan.toml", &document, &plan]);
        assert_eq!(contents.left_out, ["draft.txt".to_string(), format!("{result}/.hidden")]);
        symlink("/etc/passwd", entry.path.join(result).join("log")).unwrap();
        assert!(entry.contents().unwrap_err().to_string().contains("it is a link"));
        fs::remove_dir_all(&path).unwrap();
    }
}
