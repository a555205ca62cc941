//! Files named with `-o`: known to be writable before the run, replaced whole after it.

use crate::exit::Failure;
use model::run::Run;
use plan::values::OutFile;
use report::Format;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Names that are tried for a draft.
const DRAFTS_MAX: u32 = 100;

/// One file to write.
struct Output {
    path: PathBuf,
    format: Format,
    /// Where it is written first; nothing for a target that is no regular file.
    draft: Option<PathBuf>,
    file: File,
}

/// All files of a command. Drafts that were not finished are removed.
pub struct Outputs(Vec<Output>);

impl Outputs {
    /// The first file of a format, as typed.
    pub fn first_of(paths: &[OutFile], format: Format) -> Option<&PathBuf> {
        paths.iter().map(|path| &path.0).find(|path| Format::of(path) == Ok(format))
    }

    /// Opens every file, so that a wrong path is known before any load runs.
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
            outputs.0.push(open(path, format)?);
        }
        Ok(outputs)
    }

    /// Writes every file of a run.
    pub fn write(self, run: &Run) -> Result<(), Failure> {
        self.write_bytes(&|format| report::render(run, format))
    }

    /// Writes every file with what its format asks for.
    pub fn write_bytes(mut self, render: &dyn Fn(Format) -> Vec<u8>) -> Result<(), Failure> {
        for mut output in std::mem::take(&mut self.0) {
            let bytes = render(output.format);
            let written = output.file.write_all(&bytes).and_then(|()| output.file.flush());
            let moved = written.and_then(|()| match &output.draft {
                Some(draft) => fs::rename(draft, &output.path),
                None => Ok(()),
            });
            if let Err(error) = moved {
                if let Some(draft) = &output.draft {
                    let _ = fs::remove_file(draft);
                }
                let path = output.path.display();
                return Err(Failure::File(format!("cannot write {path}: {error}")));
            }
        }
        Ok(())
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        for draft in self.0.iter().filter_map(|output| output.draft.as_ref()) {
            let _ = fs::remove_file(draft);
        }
    }
}

/// The file a path means, so that one file is known by all its paths. The last part stays as it
/// is: a link is replaced, not followed.
fn place_of(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    folder.join(path.file_name().unwrap_or_default())
}

fn open(path: &Path, format: Format) -> Result<Output, Failure> {
    let error = |error: std::io::Error| {
        Failure::Usage(format!("-o {}: cannot write there: {error}", path.display()))
    };
    let is_special = fs::metadata(path).is_ok_and(|data| !data.is_file());
    if is_special {
        // A device or pipe: nothing to replace.
        let file = OpenOptions::new().write(true).open(path).map_err(error)?;
        return Ok(Output { path: path.to_path_buf(), format, draft: None, file });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Of several that are in the way each was left by a process that had our number, or planted.
    for attempt in 0..DRAFTS_MAX {
        let draft = path.with_file_name(format!(".{name}.{}-{attempt}.part", std::process::id()));
        match File::create_new(&draft) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => {
                let (path, draft, file) = (path.to_path_buf(), Some(draft), made.map_err(error)?);
                return Ok(Output { path, format, draft, file });
            }
        }
    }
    Err(error(ErrorKind::AlreadyExists.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
