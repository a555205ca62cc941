//! The files of the repository, read once for all checks.
//!
//! Git decides which files belong to the repository: tracked files, and new files that it does not
//! ignore, so that a check reports before the commit and not after it. In a source archive without
//! git, all files count except in the folders that builds fill.

use crate::rust::{Modules, Source};
use anyhow::{Context, Result, bail};
use std::cell::OnceCell;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Larger files are not read; a separate check reports them.
pub const SIZE_MAX_BYTES: u64 = 1 << 20;

/// Every file of the repository, sorted by path.
pub struct Tree {
    files: Vec<File>,
    modules: OnceCell<Modules>,
}

/// One file.
pub struct File {
    /// Path relative to the root of the repository, with forward slashes.
    pub path: String,
    /// Size on disk.
    pub size_bytes: u64,
    /// The content, when it is UTF-8 and not too large.
    pub text: Option<String>,
    rust: OnceCell<Option<syn::Result<Source>>>,
}

impl Tree {
    /// Reads the repository that contains the current folder.
    pub fn here() -> Result<Self> {
        Self::read(&root()?)
    }

    /// Reads the repository at `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let mut paths = match git_paths(root) {
            Some(paths) => paths,
            None => walked_paths(root)?,
        };
        paths.sort();
        paths.dedup();
        if paths.is_empty() {
            bail!("{} has no files", root.display());
        }
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            files.extend(File::read(root, path)?);
        }
        Ok(Self { files, modules: OnceCell::new() })
    }

    /// A tree of samples, for the tests of the checks.
    #[cfg(test)]
    pub fn sample(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::sample(path, text.as_bytes())).collect();
        Self::of(files)
    }

    /// A tree of files made by hand.
    #[cfg(test)]
    pub fn of(files: Vec<File>) -> Self {
        Self { files, modules: OnceCell::new() }
    }

    /// Every file.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// Every file that is text, with its text.
    pub fn texts(&self) -> impl Iterator<Item = (&File, &str)> {
        self.files.iter().filter_map(|file| Some((file, file.text.as_deref()?)))
    }

    /// Every Rust file of ours that can be parsed, with its syntax.
    pub fn sources(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.rust()?.ok()?)))
    }

    /// The file at a path.
    pub fn get(&self, path: &str) -> Option<&File> {
        let at = self.files.iter().position(|file| file.path == path)?;
        self.files.get(at)
    }

    /// Which Rust files are compiled, and which of them only for tests.
    pub fn modules(&self) -> &Modules {
        self.modules.get_or_init(|| Modules::of(self))
    }

    /// Whether a line of a Rust file is compiled for tests or benches only.
    pub fn is_test(&self, file: &File, source: &Source, line: usize) -> bool {
        file.is_beside_src() || self.modules().is_test_only(&file.path) || source.is_test(line)
    }
}

/// The root of the repository that contains the current folder.
pub fn root() -> Result<PathBuf> {
    let start = std::env::current_dir().context("the current folder is not readable")?;
    let root = start
        .ancestors()
        .find(|folder| folder.join("crates/xtask/Cargo.toml").is_file())
        .with_context(|| format!("{} is not inside the repository", start.display()))?;
    Ok(root.to_path_buf())
}

impl File {
    /// Reads one listed file. `None` when it no longer exists, or is a link or a folder.
    fn read(root: &Path, path: String) -> Result<Option<Self>> {
        let on_disk = root.join(&path);
        let Ok(metadata) = fs::symlink_metadata(&on_disk) else { return Ok(None) };
        if !metadata.is_file() {
            return Ok(None);
        }
        let size_bytes = metadata.len();
        let text = if size_bytes > SIZE_MAX_BYTES {
            None
        } else {
            match fs::read(&on_disk) {
                Ok(bytes) => text_of(bytes),
                // An editor has replaced it since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error).with_context(|| format!("{path} is not readable")),
            }
        };
        Ok(Some(Self { path, size_bytes, text, rust: OnceCell::new() }))
    }

    /// A file made by hand, for the tests of the checks.
    #[cfg(test)]
    pub fn sample(path: &str, bytes: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            size_bytes: bytes.len() as u64,
            text: text_of(bytes.to_vec()),
            rust: OnceCell::new(),
        }
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// What follows the last dot of the name.
    pub fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// The folder, empty for a file at the root.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// The syntax of a Rust file of ours, or why it has none.
    pub fn rust(&self) -> Option<Result<&Source, &syn::Error>> {
        let parse = || {
            if self.extension() != "rs" || self.is_foreign() {
                return None;
            }
            self.text.as_deref().map(Source::parse)
        };
        self.rust.get_or_init(parse).as_ref().map(Result::as_ref)
    }

    /// Whether another program or project wrote the file, so that our style does not apply:
    /// vendored code, recorded fixtures, snapshots, lock files.
    pub fn is_foreign(&self) -> bool {
        const FOLDERS: [&str; 7] =
            ["vendor", "fixtures", "corpus", "seeds", "testdata", "snapshots", "node_modules"];
        self.folder().split('/').any(|part| FOLDERS.contains(&part))
            || self.extension() == "lock"
            || matches!(self.name(), "go.sum" | "package-lock.json")
    }

    /// Whether this is test code that cargo finds next to `src`.
    fn is_beside_src(&self) -> bool {
        let above_src = self.folder().split('/').take_while(|part| *part != "src");
        above_src.into_iter().any(|part| matches!(part, "tests" | "benches"))
    }
}

/// Text is UTF-8 without NUL; checks of text skip everything else.
fn text_of(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// The file list of git, or `None` without git or outside a work tree.
fn git_paths(root: &Path) -> Option<Vec<String>> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    if !listing.status.success() {
        return None;
    }
    let text = String::from_utf8(listing.stdout).ok()?;
    let paths: Vec<String> =
        text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    // The list is empty for an archive unpacked below an ignored folder of another repository.
    (!paths.is_empty()).then_some(paths)
}

fn walked_paths(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let on_disk = root.join(&folder);
        let entries = fs::read_dir(&on_disk)
            .with_context(|| format!("{} is not readable", on_disk.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("{} is not readable", on_disk.display()))?;
            let kind = entry.file_type()?;
            let path = folder.join(entry.file_name());
            if kind.is_dir() && !is_built(root, &path) {
                folders.push(path);
            } else if kind.is_file() {
                paths.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(paths)
}

/// Whether a build fills a folder. `bin` and `target` are ordinary names at other places: they
/// count only where a build puts them.
fn is_built(root: &Path, folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    let above = folder.parent().unwrap_or(Path::new(""));
    match name.to_str() {
        Some(".git" | "node_modules") => true,
        Some("bin") => above == Path::new(""),
        Some("target") => root.join(above).join("Cargo.toml").is_file(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_skips_what_builds_fill_and_nothing_else() {
        let root = std::env::temp_dir().join(format!("xtask-walk-{}", std::process::id()));
        let files = [
            "Cargo.toml",
            "bin/ceiling",
            "target/debug/x",
            "node_modules/x/y.js",
            ".git/HEAD",
            "crates/a/src/bin/tool.rs",
            "crates/a/src/target/mod.rs",
        ];
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let mut paths = walked_paths(&root).unwrap();
        paths.sort();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(paths, ["Cargo.toml", "crates/a/src/bin/tool.rs", "crates/a/src/target/mod.rs"]);
    }

    #[test]
    fn foreign_files_are_told_by_their_place() {
        let foreign = |path: &str| File::sample(path, b"").is_foreign();
        assert!(foreign("crates/report/assets/vendor/uPlot.js"));
        assert!(foreign("crates/probe/fixtures/6.8/stat.txt"));
        assert!(foreign("crates/tools/corpus/wrk-pool.txt"));
        assert!(foreign("Cargo.lock") && foreign("targets/go/go.sum"));
        assert!(!foreign("crates/model/src/units.rs"));
        assert!(!foreign("docs/vendor.md"));
    }

    #[test]
    fn test_code_beside_src_is_told_by_its_folder() {
        assert!(File::sample("crates/a/tests/it/main.rs", b"").is_beside_src());
        assert!(!File::sample("crates/a/src/tests/page.rs", b"").is_beside_src());
    }

    #[test]
    fn bytes_with_nul_are_not_text() {
        assert!(File::sample("a.bin", b"a\0b").text.is_none());
        assert!(File::sample("a.bin", &[0xff]).text.is_none());
    }
}
