//! Files named with `-o`: opened before the run, replaced atomically after it.

use crate::exit::Failure;
use model::run::Run;
use plan::values::OutFile;
use report::Format;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many names are tried for a draft.
const DRAFTS_MAX: u32 = 100;

/// One file that is replaced atomically. An unfinished draft is removed.
pub struct Replaced {
    path: PathBuf,
    /// Where it is written first; `None` for a path that is not a regular file.
    draft: Option<PathBuf>,
    file: File,
}

/// All files of a command.
pub struct Outputs(Vec<(Format, Replaced)>);

impl Outputs {
    /// The first file of a format, as typed.
    pub fn first_of(paths: &[OutFile], format: Format) -> Option<&PathBuf> {
        paths.iter().map(|path| &path.0).find(|path| Format::of(path) == Ok(format))
    }

    /// Opens every file, so that a wrong path fails before any load.
    pub fn open(paths: &[OutFile]) -> Result<Self, Failure> {
        let mut outputs = Self(Vec::new());
        let mut places: Vec<PathBuf> = Vec::new();
        for path in paths {
            let place = place_of(path);
            if places.contains(&place) {
                return Err(Failure::Usage(format!(
                    "-o {}: this file was given twice; give each file once, for example -o \
                     run.json -o run.html",
                    path.display()
                )));
            }
            places.push(place);
            let format = Format::of(path.as_path())
                .map_err(|error| Failure::Usage(format!("-o {}: {error}", path.display())))?;
            outputs.0.push((format, Replaced::open("-o", path)?));
        }
        // Documents come before what is drawn of them.
        outputs.0.sort_by_key(|(format, _)| *format != Format::Json);
        Ok(outputs)
    }

    /// Writes every file of a run.
    pub fn write(self, run: &Run) -> Result<(), Failure> {
        self.write_bytes(&|format| report::render(run, format))
    }

    /// Writes every file with what `render` makes for its format. After a failure the others are
    /// still written; the first failure is returned.
    pub fn write_bytes(self, render: &dyn Fn(Format) -> Vec<u8>) -> Result<(), Failure> {
        let mut all = Ok(());
        for (format, file) in self.0 {
            let written = file.write(&render(format));
            all = all.and(written);
        }
        all
    }
}

impl Replaced {
    /// Opens it, so that a wrong path fails before any load.
    pub fn open(option: &str, path: &Path) -> Result<Self, Failure> {
        let error = |error: std::io::Error| {
            Failure::Usage(format!(
                "{option} {}: cannot write there: {error}; give a file in a folder that can be \
                 written, for example /tmp",
                path.display()
            ))
        };
        let is_special = fs::metadata(path).is_ok_and(|data| !data.is_file());
        if is_special || is_descriptor(path) {
            // A device, a pipe or an open file is written in place, after what is there.
            let file = OpenOptions::new().append(true).open(path).map_err(error)?;
            return Ok(Self { path: path.to_path_buf(), draft: None, file });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A draft that exists already was left by a process with the same id, or was planted.
        for attempt in 0..DRAFTS_MAX {
            let draft =
                path.with_file_name(format!(".{name}.{}-{attempt}.part", std::process::id()));
            match File::create_new(&draft) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    let (path, draft) = (path.to_path_buf(), Some(draft));
                    return Ok(Self { path, draft, file: made.map_err(error)? });
                }
            }
        }
        Err(error(ErrorKind::AlreadyExists.into()))
    }

    /// Writes the whole file, or leaves the old one in place.
    pub fn write(self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_with(|file| file.write_all(bytes))
    }

    /// Writes the whole file with a function that writes in pieces, or leaves the old one in place.
    pub fn write_with(
        mut self,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let written = write(&mut self.file).and_then(|()| self.file.flush());
        let moved = written.and_then(|()| match &self.draft {
            Some(draft) => fs::rename(draft, &self.path),
            None => Ok(()),
        });
        if moved.is_ok() {
            self.draft = None;
        }
        moved.map_err(|error| {
            Failure::File(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = fs::remove_file(draft);
        }
    }
}

/// Whether a path names an open file of a process, as /dev/stdout does. It must not be replaced: as
/// root that would put a file in the place of /dev/stdout for every process of the host.
fn is_descriptor(path: &Path) -> bool {
    let is_link = fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink());
    let place = place_of(path);
    is_link && ["/dev", "/proc"].iter().any(|folder| place.starts_with(folder))
}

/// The canonical place of a path, so that two paths of one file are equal. The last part stays as
/// it is: a link is replaced, not followed.
fn place_of(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    folder.join(path.file_name().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_draft_that_was_planted_is_not_written_through() {
        let folder = std::env::temp_dir().join(format!("outputs-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let victim = folder.join("victim");
        fs::write(&victim, "as it was").unwrap();
        let draft =
            |attempt| folder.join(format!(".run.json.{}-{attempt}.part", std::process::id()));
        symlink(&victim, draft(0)).unwrap();
        let outputs = Outputs::open(&[OutFile(folder.join("run.json"))]).unwrap();
        outputs.write_bytes(&|_| b"ours".to_vec()).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"as it was");
        assert_eq!(fs::read(folder.join("run.json")).unwrap(), b"ours");
        assert!(fs::symlink_metadata(draft(0)).is_ok() && fs::symlink_metadata(draft(1)).is_err());
        (0..DRAFTS_MAX).for_each(|at| drop(symlink(&victim, draft(at))));
        let refused = Outputs::open(&[OutFile(folder.join("run.json"))]).err().unwrap().to_string();
        assert!(refused.contains("cannot write there"), "{refused}");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// `--junit /dev/stdout > junit.xml`
    #[test]
    fn an_open_file_is_written_and_not_replaced() {
        let path = std::env::temp_dir().join(format!("outputs-open-{}", std::process::id()));
        fs::write(&path, "text\n").unwrap();
        let open = OpenOptions::new().write(true).open(&path).unwrap();
        let name = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        Replaced::open("--junit", &name).unwrap().write(b"ours").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text\nours");
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_document_is_written_before_its_page() {
        let folder = std::env::temp_dir().join(format!("outputs-order-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let paths = ["run.html", "run.json"].map(|name| OutFile(folder.join(name)));
        let outputs = Outputs::open(&paths).unwrap();
        let render = |format| {
            assert!(format == Format::Json || folder.join("run.json").exists());
            b"ours".to_vec()
        };
        outputs.write_bytes(&render).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_does_not_keep_others_from_being_written() {
        let folder = std::env::temp_dir().join(format!("outputs-all-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let (first, second) = (folder.join("run.json"), folder.join("run.html"));
        let outputs = Outputs::open(&[OutFile(first.clone()), OutFile(second.clone())]).unwrap();
        // A file does not replace a folder.
        fs::create_dir(&first).unwrap();
        let failed = outputs.write_bytes(&|_| b"ours".to_vec()).err().unwrap().to_string();
        assert!(failed.contains("run.json"), "{failed}");
        assert_eq!(fs::read(&second).unwrap(), b"ours");
        fs::remove_dir_all(&folder).unwrap();
    }
}
