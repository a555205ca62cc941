//! Writing a run.

use crate::lock::Lock;
use crate::{
    FILE_MODE, FOLDER_MODE, LATENCIES, POINTS, READINGS, RECORD, Readings, SERVER_READINGS,
    StoreError, io_error,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use model::histogram::Histogram;
use model::json::pretty;
use model::run::{Point, Run};
use serde::Serialize;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A run being written.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    points: File,
    /// Length of the whole lines in it.
    points_length: u64,
    _lock: Lock,
}

impl Writer {
    /// Makes the directory of a run below `parent`, under a free name. Only its owner can read it;
    /// `parent` is unchanged.
    pub fn create(parent: &Path, name: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(parent).map_err(io_error(parent))?;
        let mut directory = parent.join(name);
        for more in 2.. {
            match DirBuilder::new().mode(FOLDER_MODE).create(&directory) {
                Ok(()) => break,
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    directory = parent.join(format!("{name}-{more}"));
                }
                Err(error) => return Err(io_error(&directory)(error)),
            }
        }
        let lock = Lock::hold(&directory);
        let path = directory.join(POINTS);
        let points = create(&path).map_err(io_error(&path))?;
        Ok(Self { directory, points, points_length: 0, _lock: lock })
    }

    /// Where the run is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends a point, so that it survives a crash.
    pub fn add_point(&mut self, point: &Point) -> Result<(), StoreError> {
        let path = self.directory.join(POINTS);
        let mut line = json(&path, point)?;
        line.push(b'\n');
        if let Err(error) = self.points.write_all_at(&line, self.points_length) {
            // A torn line would spoil the next one.
            let _ = self.points.set_len(self.points_length);
            return Err(io_error(&path)(error));
        }
        self.points_length += line.len() as u64;
        Ok(())
    }

    /// The log of the run's readings, still empty.
    pub fn readings(&self) -> Result<Readings, StoreError> {
        Readings::create(&self.directory.join(READINGS))
    }

    /// The log of readings of a probe on the server's host, still empty.
    pub fn server_readings(&self) -> Result<Readings, StoreError> {
        Readings::create(&self.directory.join(SERVER_READINGS))
    }

    /// Keeps a profile under a path below the directory.
    pub fn add_profile(&self, below: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.directory.join(below);
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
            made.map_err(io_error(folder))?;
        }
        write(&path, bytes).map_err(io_error(&path))
    }

    /// Removes the directory of a run that never started.
    pub fn discard_if_empty(self) {
        let path = self.directory.join(POINTS);
        if fs::metadata(&path).is_ok_and(|data| data.len() == 0) {
            // It may be absent; files left behind do no harm.
            let _ = fs::remove_file(self.directory.join(SERVER_READINGS));
            let _ = fs::remove_file(path)
                .and_then(|()| fs::remove_file(self.directory.join(READINGS)))
                .and_then(|()| fs::remove_dir(&self.directory));
        }
    }

    /// Writes everything but points and readings. The record comes last, and appears whole or not
    /// at all, also when the host loses its power: it gets its name when all files are on disk.
    pub fn finish(self, run: &Run) -> Result<PathBuf, StoreError> {
        let path = self.directory.join(LATENCIES);
        let texts: Vec<String> = run.latencies.iter().map(encode).collect();
        write(&path, &json(&path, &texts)?).map_err(io_error(&path))?;

        let path = self.directory.join(RECORD);
        let draft = self.directory.join("run.json.part");
        write(&draft, pretty(&run.record).as_bytes()).map_err(io_error(&draft))?;
        for name in [POINTS, READINGS, SERVER_READINGS, LATENCIES, "run.json.part"] {
            flush(&self.directory.join(name)).map_err(io_error(&self.directory.join(name)))?;
        }
        fs::rename(&draft, &path).map_err(io_error(&path))?;
        // The name is on disk with the folder, which some file systems cannot be asked about.
        let _ = flush(&self.directory);
        Ok(path)
    }
}

/// A new file, for its owner only.
fn create(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(FILE_MODE).open(path)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

/// Waits until a file is on disk, if there is one.
fn flush(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => file.sync_all(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn json<T: Serialize>(path: &Path, value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| crate::malformed(path, error))
}

fn encode(histogram: &Histogram) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram.buckets(), &mut bytes)
        .expect("writing to memory does not fail");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_its_owner_reads_a_run_and_no_link_is_followed() {
        let parent = std::env::temp_dir().join(format!("store-modes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&parent);
        fs::create_dir(&parent).unwrap();
        fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).unwrap();
        let writer = Writer::create(&parent, "run").unwrap();
        let directory = writer.directory().to_path_buf();
        writer.readings().unwrap();
        writer.server_readings().unwrap();
        writer.add_profile("profiles/1/cpu.pb.gz", b"a profile").unwrap();
        assert_eq!(mode(&parent), 0o755);
        for folder in ["", "profiles", "profiles/1"] {
            assert_eq!(mode(&directory.join(folder)), 0o700, "{folder}");
        }
        for file in [POINTS, READINGS, SERVER_READINGS, "profiles/1/cpu.pb.gz"] {
            assert_eq!(mode(&directory.join(file)), 0o600, "{file}");
        }
        let victim = parent.join("victim");
        fs::write(&victim, "as it was").unwrap();
        symlink(&victim, directory.join(LATENCIES)).unwrap();
        assert!(write(&directory.join(LATENCIES), b"owned").is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"as it was");
        fs::remove_dir_all(&parent).unwrap();
    }
}
