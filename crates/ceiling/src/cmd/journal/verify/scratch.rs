//! A new, private folder for the contents of an archive, which is removed afterwards.

use crate::exit::Failure;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How many names are tried.
const NAMES_MAX: u32 = 100;
/// Access for the owner only.
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The file of the keys to trust, which no entry can have.
const SIGNERS: &str = ".signers";

/// A folder that is removed on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it next to the folder of `--extract`, otherwise in the directory for temporary files.
    pub fn new(kept: Option<&Path>) -> Result<Self, Failure> {
        let parent = match kept {
            Some(folder) if fs::symlink_metadata(folder).is_ok() => {
                return Err(Failure::Usage(format!(
                    "--extract {}: it exists already; give a folder that does not, for example \
                     --extract journal/gzip-helps",
                    folder.display()
                )));
            }
            Some(folder) => match folder.parent() {
                Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
                Some(parent) if parent.is_dir() => parent.to_path_buf(),
                _ => {
                    return Err(Failure::Usage(format!(
                        "--extract {}: the parent folder does not exist; make it first, for \
                         example a journal with ceiling journal new SLUG",
                        folder.display()
                    )));
                }
            },
            None => std::env::temp_dir(),
        };
        let make = |path: &Path| DirBuilder::new().mode(FOLDER_MODE).create(path);
        for attempt in 0..NAMES_MAX {
            let path = parent.join(format!(".ceiling-verify-{}-{attempt}", std::process::id()));
            match make(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map(|()| Self(path.clone())).map_err(file_error(&path)),
            }
        }
        Err(file_error(&parent)(ErrorKind::AlreadyExists.into()))
    }

    /// The folder as a journal.
    pub fn journal(&self) -> PathBuf {
        self.0.clone()
    }

    /// Writes the keys to trust to a file.
    pub fn signers(&self, keys: &str) -> Result<PathBuf, Failure> {
        let path = self.0.join(SIGNERS);
        fs::write(&path, keys).map_err(file_error(&path))?;
        Ok(path)
    }

    /// A new file of the entry; both names have been checked.
    pub fn create(&self, entry: &str, name: &str) -> io::Result<File> {
        let path = self.0.join(entry).join(name);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
        }
        File::options().write(true).create_new(true).mode(FILE_MODE).open(&path)
    }

    /// Moves the entry to a folder that does not exist yet.
    pub fn keep(&self, slug: &str, folder: &Path) -> Result<(), Failure> {
        // A plain rename would silently replace an empty folder.
        fs::create_dir(folder).map_err(file_error(folder))?;
        fs::rename(self.0.join(slug), folder).map_err(file_error(folder))
    }

    /// A text without the path of this folder, which means nothing to a reader.
    pub fn without(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::File(format!("{path}: {error}"))
}
